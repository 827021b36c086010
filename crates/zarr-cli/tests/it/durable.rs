//! `--sync` of every command that writes waits for the disk; without it no folder is waited for.

#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::traced::{Event, record, syncs};

fn run(within: &Path, line: &str, sync: bool) -> Vec<Event> {
    let elements = tempfile::NamedTempFile::new().expect("a file");
    fs::write(elements.path(), "[1,2,3,4,5,6,7,8]").expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_zarr"));
    command.stdin(elements.reopen().expect("it is there"));
    command.args(line.split_whitespace()).args(sync.then_some("--sync")).current_dir(within);
    record(&mut command, within)
}

#[test]
fn every_command_that_writes_has_it() {
    for sync in [false, true] {
        let folder = tempfile::tempdir().expect("a folder");
        let within = folder.path().canonicalize().expect("it is there");
        for line in [
            "create new/x.zarr --shape 8 --chunks 4 --dtype int32",
            "put new/x.zarr",
            "attrs new/x.zarr --set n=1",
            "copy new/x.zarr new/y.zarr",
            "rm new/x.zarr --all",
        ] {
            let events = run(&within, line, sync);
            let changes = |event: &&Event| matches!(event, Event::Rename(..) | Event::Unlink(_));
            assert!(events.iter().filter(changes).count() > 0, "{line}: {events:?}");
            assert_eq!(syncs(&events) > 0, sync, "{line}: {events:?}");
            // What is renamed into its place is on the disk, and its folder after it.
            for (at, event) in events.iter().enumerate() {
                let Event::Rename(from, to) = event else { continue };
                let folder = to.rsplit_once('/').expect("a path").0;
                let is_synced = |events: &[Event], what: &str| {
                    events.iter().any(|event| matches!(event, Event::Sync(path, _) if path == what))
                };
                assert_eq!(is_synced(&events[..at], from), sync, "{line}: {to}");
                assert_eq!(is_synced(&events[at..], folder), sync, "{line}: {to}");
            }
        }
    }
}

/// Archives and LMDB files are flushed at the end of a command, and no command refuses the option.
#[test]
fn other_stores_take_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let within = folder.path().canonicalize().expect("it is there");
    for store in ["x.zip", "x.lmdb"] {
        for sync in [false, true] {
            let line = format!("create {store} --path a{sync} --shape 8 --dtype int32 --no-lock");
            assert!(syncs(&run(&within, &line, sync)) > 0, "{line}");
        }
    }
}
