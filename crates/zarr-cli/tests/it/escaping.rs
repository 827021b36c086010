//! Names and values of strangers' data reach a terminal only as text: none moves its cursor, turns its text around, or hides in it.

#![cfg(unix)]

use std::fs;

use crate::common::{FORMATS, Folder, Run};
use crate::server::Server;

/// What a terminal obeys, or what nobody sees, in the names and values below.
const HOSTILE: [char; 9] = [
    '\u{1b}',
    '\u{7}',
    '\r',
    '\u{9b}',
    '\u{202e}',
    '\u{2066}',
    '\u{200b}',
    '\u{feff}',
    '\u{e0041}',
];

/// A name with all of them.
fn name() -> String {
    let hostile: String = HOSTILE.iter().filter(|letter| **letter != '\r').collect();
    format!("gpj.{hostile}exe")
}

fn is_escaped(run: &Run, line: &str) {
    for shown in [run.text(), &run.err] {
        for letter in HOSTILE {
            assert!(!shown.contains(letter), "zarr {line}: {letter:?} in {shown:?}");
        }
    }
}

#[test]
fn names_and_attributes_are_escaped_in_what_people_read() {
    for format in FORMATS.iter().filter(|format| **format != "draft-2020") {
        let folder = Folder::new();
        folder.table("x.zarr", format);
        folder.good(&format!("attrs x.zarr --path a --set '{0}=line\nfake: line {0}'", name()));
        fs::rename(folder.path("x.zarr/a"), folder.path("x.zarr").join(name())).unwrap();
        let chunk = if *format == "v3" { "c/0/0" } else { "0.0" };
        fs::write(folder.path("x.zarr").join(name()).join(chunk), "cut").unwrap();
        folder.write(&format!("x.zarr/{}/\rnotes", name()), "x");
        let path = format!("--path '{}'", name());
        for line in [
            "tree x.zarr".to_owned(),
            "ls x.zarr".into(),
            "ls -l x.zarr".into(),
            "info x.zarr".into(),
            format!("info x.zarr {path}"),
            format!("get x.zarr {path}"),
            format!("get x.zarr {path} --trace"),
            "stats x.zarr".into(),
            "validate x.zarr".into(),
            "repair x.zarr".into(),
            "copy x.zarr y.zarr --verbose".into(),
            "diff x.zarr y.zarr".into(),
            "checksum x.zarr".into(),
            format!("rename x.zarr {path} '{}2'", name()),
        ] {
            is_escaped(&folder.run(&line), &line);
        }
        // A value of an attribute is on one line, and makes no other.
        let shown = folder.run(&format!("info x.zarr --path '{}2'", name()));
        assert!(shown.text().contains("line\\nfake: line"), "{shown:?}");
        let line = format!("rm x.zarr --path '{}2'", name());
        is_escaped(&folder.run(&line), &line);
    }
}

/// A file of such values that was written on Windows has line ends of its own. The HTTP client panics on them.
#[test]
fn line_ends_in_the_environment_are_dropped_or_refused_by_name() {
    let server = Server::start();
    server.manners(|manners| manners.absent = "404 Not Found");
    let url = server.url("");
    let folder = Folder::new();
    let with = |variables: &[(&str, &str)]| {
        let mut command = folder.command("info s3://bucket/x");
        let usual = [
            ("AWS_REGION", "eu-west-1"),
            ("AWS_ACCESS_KEY_ID", "AKIA"),
            ("AWS_SECRET_ACCESS_KEY", "hush"),
        ];
        command.env("AWS_ENDPOINT_URL", format!("{}\r", url.trim_end_matches('/')));
        command.envs(usual).envs(variables.iter().copied());
        let output = command.output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(!err.contains("panicked") && !err.contains("hush"), "{err}");
        (output.status.code().unwrap_or(-1), err)
    };
    let ends = [
        ("AWS_REGION", "eu-west-1\r"),
        ("AWS_ACCESS_KEY_ID", "AKIA\r\n"),
        ("AWS_SECRET_ACCESS_KEY", "hush\r"),
        ("AWS_SESSION_TOKEN", "token\r\n"),
    ];
    let (code, err) = with(&ends);
    assert!(code == 5 && err.contains("404 Not Found"), "the server was asked: {err}");
    for name in ["AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL"] {
        let (code, err) = with(&[(name, "a\r\nx-header: b")]);
        assert_eq!(code, 2, "{name}: {err}");
        assert!(
            err.contains(&format!("the environment variable `{name}` has a line end")),
            "{err}"
        );
    }
}

/// Sizes have units at every option.
#[test]
fn sizes_take_units() {
    let folder = Folder::new();
    folder.table("x.zarr", "v3");
    for line in [
        "checksum x.zarr --memory 1MiB",
        "diff x.zarr x.zarr --memory 1MiB",
        "stats x.zarr --memory 1MiB",
        "get x.zarr --path a --max-decoded 1MiB --max-document 64KiB",
    ] {
        folder.good(line);
    }
    for line in ["serve x.zarr --memory 1XB", "get x.zarr --max-decoded much"] {
        let error = folder.bad(line, 2);
        assert!(error.contains("as in 256MiB"), "{error}");
    }
}
