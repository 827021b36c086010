//! What the tests share that let system calls fail: the library `fail_calls.c`, the stores, and how many faults are tried.

#![cfg(all(target_os = "linux", feature = "filesystem", feature = "zip", feature = "lmdb"))]
#![allow(dead_code, reason = "each test file uses its own part")]

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The kinds of calls that fail.
pub const KINDS: [&str; 10] = [
    "write",
    "read",
    "open-write",
    "open-read",
    "rename",
    "fsync",
    "ftruncate",
    "unlink",
    "mkdir",
    "lock",
];

/// With these fails a call: EIO once, a full disk that stays full, and a write or a read that is cut short.
pub const ERRORS: [(i32, bool); 3] = [(5, false), (28, true), (-1, false)];

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Folder,
    /// A folder of chunks that go to the store several in one call.
    SmallChunks,
    Shards,
    Zip,
    Lmdb,
}

impl Kind {
    /// The URL of the store `name` in a folder.
    pub fn url(self, within: &Path, name: &str) -> String {
        let within = within.display();
        match self {
            Kind::Folder | Kind::SmallChunks | Kind::Shards => format!("{within}/{name}.zarr"),
            Kind::Zip => format!("zip://{within}/{name}.zip"),
            Kind::Lmdb => format!("lmdb://{within}/{name}.lmdb"),
        }
    }
}

/// The library that lets calls fail.
pub fn injector() -> &'static Path {
    static MADE: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let (_, path) = MADE.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("fail_calls.so");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/faults/fail_calls.c");
        let made = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .args([&path, &source])
            .arg("-ldl")
            .status();
        assert!(made.expect("a C compiler, which LMDB needs as well").success());
        (folder, path)
    });
    path
}

/// Whether all faults are tried: if `ZARR_FAULTS=all` or `ZARR_TEST_ALL=1` asks for them.
pub fn is_whole() -> bool {
    zarr_testkit::sample(false, true)
        || env::var_os("ZARR_FAULTS").is_some_and(|value| value == "all")
}
