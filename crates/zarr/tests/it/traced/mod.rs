//! What the tests share that record the calls of a child process which change files: the library `record_calls.c`, and its log.

#![cfg(target_os = "linux")]
#![allow(dead_code, reason = "each test file uses its own part")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// A call that succeeded. Files are told apart by their inodes, folders by their paths.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    Mkdir(String),
    Rmdir(String),
    Create(String, u64),
    Unlink(String),
    Rename(String, String),
    Write(u64, usize, Vec<u8>),
    Truncate(u64, usize),
    /// The path, and the inode if it is a file's.
    Sync(String, u64),
    /// What the process put in the log itself.
    Note(String),
}

/// The library that records calls.
fn recorder() -> &'static Path {
    static MADE: OnceLock<(tempfile::TempDir, PathBuf)> = OnceLock::new();
    let (_, path) = MADE.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("record_calls.so");
        let source =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../zarr/tests/it/traced/record_calls.c");
        let made = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .args([&path, &source])
            .args(["-ldl", "-lpthread"])
            .status();
        assert!(made.expect("a C compiler, which LMDB needs as well").success());
        (folder, path)
    });
    path
}

/// Runs the command, and returns the calls that changed files below `within`.
pub fn record(command: &mut Command, within: &Path) -> Vec<Event> {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log");
    command.env("LD_PRELOAD", recorder()).env("RECORD_DIR", within).env("RECORD_LOG", &log);
    let output = command.output().expect("a child");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the child failed: {said}");
    let log = fs::read_to_string(log).unwrap_or_default();
    log.lines().map(parse).collect()
}

/// Puts a note in the log, from the process whose calls are recorded.
pub fn note(text: &str) {
    let _ = fs::create_dir(format!("/record_calls/{text}"));
}

fn parse(line: &str) -> Event {
    let words: Vec<&str> = line.split('\t').collect();
    let number = |word: &str| word.parse::<u64>().expect("a number");
    match words[..] {
        ["mkdir", path] => Event::Mkdir(path.into()),
        ["rmdir", path] => Event::Rmdir(path.into()),
        ["create", path, inode] => Event::Create(path.into(), number(inode)),
        ["unlink", path] => Event::Unlink(path.into()),
        ["rename", from, to] => Event::Rename(from.into(), to.into()),
        ["write", inode, at, hex] => {
            let digit = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex digits");
            let data = (0..hex.len()).step_by(2).map(digit).collect();
            Event::Write(number(inode), number(at) as usize, data)
        }
        ["truncate", inode, size] => Event::Truncate(number(inode), number(size) as usize),
        ["fsync", path, inode] => Event::Sync(path.into(), number(inode)),
        ["note", text] => Event::Note(text.into()),
        _ => panic!("the recorder writes no line like {line}"),
    }
}

/// How often the disk was waited for.
pub fn syncs(events: &[Event]) -> usize {
    events.iter().filter(|event| matches!(event, Event::Sync(..))).count()
}

/// The events before each note, with its text.
pub fn by_note(events: &[Event]) -> Vec<(&str, &[Event])> {
    let (mut parts, mut from) = (Vec::new(), 0);
    for (at, event) in events.iter().enumerate() {
        if let Event::Note(text) = event {
            parts.push((&**text, &events[from..at]));
            from = at + 1;
        }
    }
    parts
}
