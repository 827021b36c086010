//! `sync` waits for the disk when docs/reliability.md says so, and in the order that keeps a value whole; without it nothing waits.
//!
//! A child process changes a store, with `record_calls.c` between it and the system, which writes each call in a log.

#![cfg(all(target_os = "linux", feature = "filesystem", feature = "zip", feature = "lmdb"))]

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::path::Path;
use std::process::Stdio;

use crate::traced::{Event, by_note, note, record, syncs};
use zarr::store::{Payload, Precondition, StoreKey, StorePrefix, SyncStore};
use zarr::{OpenOptions, standard};

const WITHIN: &str = "ZARR_DURABLE_IN";
const SYNC: &str = "ZARR_DURABLE_SYNC";

fn key(text: &str) -> StoreKey {
    StoreKey::new(text).expect("a key")
}

/// Changes a store in every way, with a note after each call.
fn change(store: &dyn SyncStore) -> zarr::store::Result<()> {
    let (one, two) = (Payload::new(b"one"), Payload::new(b"two"));
    store.set(&key("a/b/k"), one.clone())?;
    note("first");
    store.set(&key("a/b/k"), two.clone())?;
    note("again");
    store.set(&key("a/c/k"), one.clone())?;
    note("beside");
    assert!(store.put(&key("a/b/new"), Some(two.clone()), Precondition::Absent)?);
    note("absent");
    assert_eq!(
        store.create(&key("n/zarr.json"), one, &[key("n/.zarray")], &[key("a/b/new")])?,
        None
    );
    note("create");
    store.erase(&key("a/b/k"))?;
    note("erase");
    store.erase_prefix(&StorePrefix::new("a/").expect("a prefix"))?;
    note("erase_prefix");
    store.flush()?;
    note("flush");
    store.set(&key("a/b/k"), two)?;
    note("afterwards");
    store.flush()
}

/// The calls of a child that runs the test of this name, or nothing in the child itself.
fn calls(test: &str, url: impl Fn(&Path) -> String, sync: bool) -> Option<Vec<Event>> {
    if let Some(within) = env::var_os(WITHIN) {
        let sync = env::var(SYNC).expect("whether it syncs");
        let options = OpenOptions::new(standard()).read_write().store_option("sync", sync);
        let store = options.store(&url(Path::new(&within))).expect("a store").to_sync();
        change(&*store).expect("no fault");
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let within = folder.path().canonicalize().expect("it is there");
    let mut command = zarr_testkit::test_command(module_path!(), test);
    command.env(WITHIN, &within).env(SYNC, sync.to_string()).stdin(Stdio::null());
    Some(record(&mut command, &within))
}

fn above(path: &str) -> String {
    let (above, _) = path.rsplit_once('/').expect("an absolute path");
    if above.is_empty() { "/".into() } else { above.into() }
}

/// Names that no key has: the store's own.
fn is_own(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.starts_with(".zarr-") || name.ends_with(".zarr-part") || name.ends_with("-lock")
}

/// What of the calls so far the disk may not have.
#[derive(Debug, Default)]
struct Unsynced {
    files: BTreeMap<String, u64>,
    data: BTreeSet<u64>,
    names: BTreeSet<String>,
}

impl Unsynced {
    /// Follows a call; a value that is not on the disk gets no name.
    fn follow(&mut self, event: &Event) {
        match event {
            Event::Create(path, inode) => {
                self.files.insert(path.clone(), *inode);
                self.named(path);
            }
            Event::Mkdir(path) => self.named(path),
            Event::Unlink(path) | Event::Rmdir(path) => {
                if let Some(inode) = self.files.remove(path) {
                    self.data.remove(&inode);
                }
                // A folder goes when it is empty: what was in it went before, and the disk has that.
                if matches!(event, Event::Unlink(_)) {
                    self.named(path);
                }
            }
            Event::Rename(from, to) => {
                let inode = self.files.remove(from).expect("a file that was made");
                assert!(
                    !self.data.contains(&inode),
                    "{to} is not on the disk when it gets its name"
                );
                self.files.insert(to.clone(), inode);
                self.named(to);
            }
            Event::Write(inode, ..) | Event::Truncate(inode, _) => drop(self.data.insert(*inode)),
            Event::Sync(path, inode) => {
                self.data.remove(inode);
                self.names.retain(|name| above(name) != *path);
            }
            Event::Note(_) => {}
        }
    }

    fn named(&mut self, path: &str) {
        if !is_own(path) {
            self.names.insert(path.to_owned());
        }
    }
}

#[test]
fn folders_have_on_the_disk_what_returned() {
    let test = "folders_have_on_the_disk_what_returned";
    let url = |within: &Path| format!("{}/new/deeper/x.zarr", within.display());
    let Some(events) = calls(test, url, true) else { return };
    let mut unsynced = Unsynced::default();
    let mut counts = BTreeMap::new();
    for (name, part) in by_note(&events) {
        part.iter().for_each(|event| unsynced.follow(event));
        assert!(unsynced.data.is_empty() && unsynced.names.is_empty(), "{name}: {unsynced:?}");
        counts.insert(name, syncs(part));
    }
    // A value in a folder that is known costs two: its file, and then its folder. So does a folder that was erased a call before.
    for (name, count) in [("again", 2), ("absent", 2), ("erase", 1), ("flush", 0)] {
        assert_eq!(counts[name], count, "{name}: {counts:?}");
    }
    for name in ["first", "beside", "create", "erase_prefix", "afterwards"] {
        assert!(counts[name] > 2, "{name}: {counts:?}");
    }
    // Folders above the store that were made for it are on the disk, too.
    assert!(events.contains(&Event::Mkdir("/new".into())));
}

/// Without, as docs/reliability.md says, a folder is written without waiting at all.
#[test]
fn folders_wait_for_nothing_unless_told() {
    let test = "folders_wait_for_nothing_unless_told";
    let url = |within: &Path| format!("{}/new/x.zarr", within.display());
    let Some(events) = calls(test, url, false) else { return };
    assert_eq!(syncs(&events), 0, "{events:?}");
    assert!(events.iter().filter(|event| matches!(event, Event::Rename(..))).count() > 5);
}

/// The file and then the folder at a flush, whatever `sync` is; nothing between.
fn archive(test: &str, sync: bool) {
    let url = |within: &Path| format!("zip://{}/new/deeper/x.zip", within.display());
    let Some(events) = calls(test, url, sync) else { return };
    for (name, part) in by_note(&events) {
        if name == "first" {
            // The folders that were made.
            let made: Vec<_> =
                part.iter().filter(|event| matches!(event, Event::Mkdir(_))).collect();
            assert_eq!(made.len(), 2, "{part:?}");
            assert_eq!(syncs(part), 2, "{part:?}");
        } else if name == "flush" {
            let at = |is: &dyn Fn(&Event) -> bool| part.iter().rposition(is).expect("it is there");
            let renamed =
                at(&|event| matches!(event, Event::Rename(_, to) if to.ends_with("x.zip")));
            let Event::Rename(from, _) = &part[renamed] else { unreachable!("it was found") };
            let synced = at(&|event| matches!(event, Event::Sync(path, _) if path == from));
            let written = at(&|event| matches!(event, Event::Write(..) | Event::Truncate(..)));
            let folder =
                at(&|event| matches!(event, Event::Sync(path, _) if path == "/new/deeper"));
            assert!(written < synced && synced < renamed && renamed < folder, "{part:?}");
            // Of a copy with gaps, which is copied once more, the disk has both.
            assert_eq!(syncs(part), 3, "{part:?}");
        } else {
            assert_eq!(syncs(part), 0, "{name}: {part:?}");
        }
    }
}

#[test]
fn archives_have_on_the_disk_what_was_flushed() {
    archive("archives_have_on_the_disk_what_was_flushed", true);
}

#[test]
fn archives_sync_at_a_flush_in_any_case() {
    archive("archives_sync_at_a_flush_in_any_case", false);
}

/// How often each call on an LMDB file waits for the disk, and whether the disk has all that was written when it returns.
fn lmdb(test: &str, sync: bool) -> Option<Vec<(String, usize, bool)>> {
    let url = |within: &Path| format!("lmdb://{}/new/x.lmdb", within.display());
    let events = calls(test, url, sync)?;
    let mut unsynced = Unsynced::default();
    let follow = |(name, part): (&str, &[Event])| {
        part.iter().for_each(|event| unsynced.follow(event));
        let lock = unsynced.files.iter().find(|(path, _)| path.ends_with("/lock.mdb"));
        // The file of locks is of no use after a power failure.
        lock.map(|(_, inode)| unsynced.data.remove(inode));
        let is_synced = unsynced.data.is_empty() && unsynced.names.is_empty();
        (name.to_owned(), syncs(part), is_synced)
    };
    Some(by_note(&events).into_iter().map(follow).collect())
}

#[test]
fn lmdb_files_have_on_the_disk_what_returned() {
    let Some(calls) = lmdb("lmdb_files_have_on_the_disk_what_returned", true) else { return };
    for (name, count, is_synced) in calls {
        assert!(is_synced, "{name}");
        // The data, and then the page that makes it the newest; at first three folders, with the file's.
        let expected = match &*name {
            "first" => 5,
            "flush" => 1,
            _ => 2,
        };
        assert_eq!(count, expected, "{name}");
    }
}

#[test]
fn lmdb_files_have_on_the_disk_what_was_flushed() {
    let Some(calls) = lmdb("lmdb_files_have_on_the_disk_what_was_flushed", false) else { return };
    for (name, count, is_synced) in calls {
        assert_eq!(is_synced, name == "flush", "{name}");
        assert_eq!(count, if name == "first" { 4 } else { 1 }, "{name}");
    }
}

/// An option that a store does not have, or a value that is none, is an error that says so; the options open the same store again.
#[test]
fn the_option_is_data() {
    if env::var_os(WITHIN).is_some() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path().display();
    let open = |url: &str, name: &str, value: &str| {
        let options = OpenOptions::new(standard()).read_write().store_option(name, value);
        options.store(url).map(|store| store.public_options())
    };
    for url in [format!("{at}/x.zarr"), format!("file://{at}/x"), format!("lmdb://{at}/x.lmdb")] {
        assert_eq!(open(&url, "sync", "true").unwrap(), [("sync".into(), "true".into())]);
        assert_eq!(open(&url, "SYNC", "false").unwrap(), []);
        let said = open(&url, "sync", "hush").unwrap_err().to_string();
        assert!(
            said.contains("option `sync` must be `true` or `false`") && !said.contains("hush"),
            "{said}"
        );
        let said = open(&url, "region", "x").unwrap_err().to_string();
        assert!(
            said.contains("the options `locking` and `sync`, but `region` was given"),
            "{said}"
        );
    }
    assert_eq!(
        open(&format!("{at}/x.zarr"), "locking", "false").unwrap(),
        [("locking".into(), "false".into())]
    );
    assert!(open(&format!("zip://{at}/x.zip"), "sync", "true").is_ok());
    assert!(open(&format!("zip://{at}/x.zip"), "sync", "x").is_err());
}
