//! The shared library has no other door than its own functions, and needs no symbol of netcdf-c.

use std::path::PathBuf;
use std::process::Command;

/// The shared library, which cargo builds beside the tests.
fn library() -> Option<PathBuf> {
    let folder = std::env::current_exe().ok()?.parent()?.to_owned();
    let candidates = [folder.join("libzarr_netcdf.so"), folder.parent()?.join("libzarr_netcdf.so")];
    candidates.into_iter().find(|path| path.exists())
}

fn symbols(options: &[&str]) -> Option<Vec<String>> {
    let output = Command::new("nm")
        .args(["-D", "--format=posix"])
        .args(options)
        .arg(library()?)
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let name = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
    output.status.success().then(|| text.lines().map(name).collect())
}

#[test]
fn only_its_own_functions_are_exported() {
    let Some(exported) = symbols(&["--defined-only"]) else {
        return zarr_testkit::skipped(
            "only_its_own_functions_are_exported",
            "no Linux library, or no `nm`",
        );
    };
    let other: Vec<&String> =
        exported.iter().filter(|name| !name.starts_with("zarr_netcdf_")).collect();
    assert_eq!(other, [""; 0]);
    assert_eq!(exported.len(), 11);
    let needed = symbols(&["--undefined-only"]).unwrap();
    let foreign: Vec<&String> =
        needed.iter().filter(|name| name.starts_with("nc") || name.starts_with("NC")).collect();
    assert_eq!(foreign, [""; 0]);
}
