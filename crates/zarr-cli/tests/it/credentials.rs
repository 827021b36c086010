//! No output of the program shows the password of a URL, whatever fails.

use std::thread;

use crate::common::Folder;

const SECRET: &str = "hush";

/// URLs that lead to nothing, each with a password.
const URLS: [&str; 7] = [
    "https://me:hush@127.0.0.1:1/x",
    "https://hush@127.0.0.1:1/x.zip",
    "zip::https://me:hush@127.0.0.1:1/x.zip",
    "htp://me:hush@host/x",
    "https://me:hush@ho_st:x/a",
    "s3://me:hush@/x?token=hush",
    "https://me:hush/x@127.0.0.1:1/x#mode=nczarr",
];

#[test]
fn no_command_shows_a_password() {
    let folder = Folder::new();
    folder.table("a.zarr", "v3");
    let lines = |url: &str| {
        let lines =
            ["info URL", "info URL --json", "tree URL --trace", "copy a.zarr URL", "dump URL"];
        lines.map(|line| line.replace("URL", url))
    };
    // Most of the time goes by between tries to connect.
    thread::scope(|scope| {
        for line in URLS.into_iter().flat_map(lines) {
            let folder = &folder;
            scope.spawn(move || {
                let output = folder.command(&line).output().unwrap();
                let out = String::from_utf8_lossy(&output.stdout);
                let err = String::from_utf8_lossy(&output.stderr);
                assert!(!output.status.success() && !err.is_empty(), "zarr {line}: {err}");
                let shown = format!("{out}{err}");
                assert!(
                    !shown.contains(SECRET) && !shown.contains("panicked"),
                    "zarr {line}: {shown}"
                );
            });
        }
    });
}
