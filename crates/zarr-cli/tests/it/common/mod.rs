//! A folder to work in, and the program run in it.

#![allow(dead_code, reason = "each test file uses its own part")]

pub mod copied;
pub mod image;
pub mod killed;
pub mod stores;

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::thread;

use tempfile::TempDir;
use zarr::Json;

/// The three formats that are written.
pub const FORMATS: [&str; 3] = ["v3", "v2", "draft-2020"];

/// A new folder that goes away with the test.
pub struct Folder(TempDir);

/// What a run of the program gave.
#[derive(Debug)]
pub struct Run {
    pub code: i32,
    pub out: Vec<u8>,
    pub err: String,
}

impl Run {
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.out).unwrap()
    }

    pub fn json(&self) -> Json {
        Json::parse(&self.out).unwrap()
    }
}

impl Folder {
    pub fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_zarr"));
        command.current_dir(self.0.path()).args(words(line));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs the program with the words of `line`, `'…'` being one word.
    pub fn run(&self, line: &str) -> Run {
        done(self.command(line).output().unwrap())
    }

    /// Runs the program with something on its standard input.
    pub fn feed(&self, line: &str, input: &[u8]) -> Run {
        let mut child = self.command(line).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        // The program may well stop reading before the end.
        let feeder = thread::spawn(move || drop(stdin.write_all(&input)));
        let run = done(child.wait_with_output().unwrap());
        feeder.join().unwrap();
        run
    }

    /// Runs the program, which must succeed and say nothing on standard error.
    pub fn good(&self, line: &str) -> Run {
        let run = self.run(line);
        assert_eq!((run.code, &*run.err), (0, ""), "zarr {line}");
        run
    }

    /// Runs the program, which must end with `code` and say why.
    pub fn bad(&self, line: &str, code: i32) -> String {
        let run = self.run(line);
        assert_eq!(run.code, code, "zarr {line}: {}", run.err);
        assert!(!run.err.is_empty(), "zarr {line}");
        run.err
    }

    /// An array of int32, 4 × 5 with chunks of 2 × 3, holding 1 to 20.
    pub fn table(&self, target: &str, format: &str) {
        let shape = "--path /a --shape 4,5 --chunks 2,3";
        self.good(&format!(
            "create {target} {shape} --format {format} --dtype int32 --codec gzip:5"
        ));
        let list: Vec<String> = (1..=20).map(|n| n.to_string()).collect();
        let put = self
            .feed(&format!("put {target} --path a"), format!("[{}]", list.join(",")).as_bytes());
        assert_eq!((put.code, &*put.err), (0, ""));
    }
}

fn words(line: &str) -> Vec<String> {
    let pieces = line.split('\'').enumerate();
    pieces
        .flat_map(|(n, piece)| match n % 2 {
            0 => piece.split_whitespace().map(str::to_owned).collect(),
            _ => vec![piece.to_owned()],
        })
        .collect()
}

fn done(output: Output) -> Run {
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(!err.contains("panicked"), "{err}");
    Run { code: output.status.code().unwrap_or(-1), out: output.stdout, err }
}
