//! What a power cut does to a folder, an archive and an LMDB file: nothing to what returned, with `sync`; without, what docs/reliability.md
//! says.
//!
//! A child process makes changes, with `record_calls.c` between it and the system. From the log of its calls come states that a disk may
//! hold after a cut at any moment (`disk.rs`), and a reader looks at each. A sample runs by default; `ZARR_POWER_CUTS=10000` looks at as
//! many states with and without `sync` (`.ci/full powercut`), and prints the figures of the page.

#![cfg(all(
    target_os = "linux",
    feature = "filesystem",
    feature = "zip",
    feature = "lmdb",
    feature = "sharding",
    feature = "crc32c"
))]

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::Path;
use std::process::Stdio;

use crate::changes::{ARRAYS, Change, Changes, FILL, Random, Seen, begin, make, options};
use crate::disk::{Disk, Loss};
use crate::traced::{Event, note, record, syncs};
use zarr_testkit::sample;

const WITHIN: &str = "ZARR_POWER_CUTS_IN";
/// As many changes in each log.
const CHANGES: usize = 60;
/// As many states of each log.
const STATES: u64 = 400;
const FLUSH_EVERY: i32 = 9;
/// Without `sync`, the system writes what it keeps after about as many calls.
const WRITE_BACK: u64 = 80;

/// How many states are looked at.
fn states() -> u64 {
    env::var("ZARR_POWER_CUTS").ok().and_then(|n| n.parse().ok()).unwrap_or(sample(1, 2) * STATES)
}

/// A store below a folder, of this kind: `file`, `zip` or `lmdb`.
fn url(kind: &str, within: &Path) -> String {
    format!("{kind}://{}/new/deeper/x.zarr", within.display())
}

/// The child: makes changes, with a note after each.
fn write(within: &Path) -> zarr::Result<()> {
    let setting = |name: &str| env::var(name).expect("it is set");
    let seed = setting("ZARR_POWER_CUTS_SEED").parse().expect("a number");
    let options = options().0.store_option("sync", setting("ZARR_POWER_CUTS_SYNC"));
    let hierarchy = begin(&url(&setting("ZARR_POWER_CUTS_OF"), within), &options)?;
    note("begun");
    for change in Changes::new(seed, FLUSH_EVERY).take(CHANGES) {
        make(&hierarchy, &change)?;
        note("done");
    }
    if setting("ZARR_POWER_CUTS_OF") == "zip" {
        // No flush that is not noted.
        std::mem::forget(hierarchy);
    }
    Ok(())
}

/// The calls of a child, or nothing in the child itself.
fn calls(kind: &str, test: &str, seed: u64, sync: bool) -> Option<Vec<Event>> {
    if let Some(within) = env::var_os(WITHIN) {
        write(Path::new(&within)).expect("no fault");
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let within = folder.path().canonicalize().expect("it is there");
    let mut command = zarr_testkit::test_command(module_path!(), test);
    command.stdin(Stdio::null()).env(WITHIN, &within).env("ZARR_POWER_CUTS_SEED", seed.to_string());
    command.env("ZARR_POWER_CUTS_SYNC", sync.to_string()).env("ZARR_POWER_CUTS_OF", kind);
    Some(record(&mut command, &within))
}

/// A moment of a log at which the power fails, and what had returned by then.
struct Cut {
    at: usize,
    loss: Loss,
    /// Whether the hierarchy was begun.
    is_begun: bool,
    before: Seen,
    change: Change,
    /// The state before the last change that had returned, and that change.
    last: Option<(Seen, Change)>,
    /// The state of the last flush that had returned.
    flushed: Seen,
}

/// Looks at states after cuts at random moments of a log. With `write_back`, the system writes all that it keeps after one call of this
/// many, by chance.
fn look(
    kind: &str,
    events: &[Event],
    seed: u64,
    write_back: Option<u64>,
    mut tell: impl FnMut(&Cut, Result<Seen, String>),
) {
    // In memory, where the system has such a folder: thousands of files are made and removed.
    let folder =
        tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a folder");
    let mut random = Random::new(seed ^ 0xc07);
    let mut moments: Vec<usize> =
        (0..STATES).map(|_| random.below(events.len() as u64 + 1) as usize).collect();
    moments.sort_unstable();
    let (mut disk, mut followed) = (Disk::new(), 0);
    let mut changes = Changes::new(seed, FLUSH_EVERY);
    let mut cut = Cut {
        at: 0,
        loss: Loss::All,
        is_begun: false,
        before: Seen::default(),
        change: changes.next().expect("they have no end"),
        last: None,
        flushed: Seen::default(),
    };
    for (n, at) in moments.into_iter().enumerate() {
        for event in &events[followed..at] {
            disk.follow(event);
            if write_back.is_some_and(|calls| random.below(calls) == 0) {
                disk.write_back();
            }
            match event {
                Event::Note(text) if text == "begun" => cut.is_begun = true,
                Event::Note(_) => {
                    cut.last = Some((cut.before.clone(), cut.change.clone()));
                    cut.before.change(&cut.change);
                    if cut.change == Change::Flush {
                        cut.flushed = cut.before.clone();
                    }
                    cut.change = changes.next().expect("they have no end");
                }
                _ => {}
            }
        }
        followed = at;
        cut.at = at;
        cut.loss = [Loss::All, Loss::Content, Loss::Some, Loss::Some][n % 4];
        let within = folder.path().join("disk");
        disk.cut(cut.loss, &mut random, &within).expect("a state is made");
        tell(&cut, Seen::read(&url(kind, &within)));
        fs::remove_dir_all(&within).expect("it was made");
    }
}

/// Whether a state is one that `sync` allows.
fn check(cut: &Cut, seen: &Result<Seen, String>) -> Result<(), String> {
    match seen {
        Ok(seen) => seen.may_be(&cut.before, &cut.change),
        // Nothing had returned yet.
        Err(_) if !cut.is_begun => Ok(()),
        Err(e) => Err(e.clone()),
    }
}

#[test]
fn with_sync_all_that_returned_is_there_and_whole() {
    let test = "with_sync_all_that_returned_is_there_and_whole";
    let (mut moments, mut waited, mut lost) = (0, 0, 0);
    for seed in 0..states() / STATES {
        let Some(events) = calls("file", test, seed, true) else { return };
        (moments, waited) = (moments + events.len(), waited + syncs(&events));
        look("file", &events, seed, None, |cut, seen| {
            let (at, loss) = (cut.at, cut.loss);
            lost += u64::from(seen.is_err() && cut.is_begun);
            check(cut, &seen).unwrap_or_else(|e| {
                panic!("seed {seed}, cut before call {at}, {loss:?}, during {:?}: {e}", cut.change)
            });
        });
        // The model would notice: no log is as good without the waiting for files, or without that for folders.
        if seed < 2 {
            for of_files in [true, false] {
                let files = file_syncs(&events);
                let keeps =
                    |at: usize| !matches!(events[at], Event::Sync(..)) || files[at] != of_files;
                let less: Vec<Event> = (0..events.len())
                    .filter(|at| keeps(*at))
                    .map(|at| events[at].clone())
                    .collect();
                let mut broken = 0;
                look("file", &less, seed, None, |cut, seen| {
                    broken += u64::from(check(cut, &seen).is_err())
                });
                assert!(broken > 0, "without the waiting for files ({of_files}) nothing is lost");
            }
        }
    }
    println!(
        "power cuts: with sync: {} states after {moments} calls, which waited for the disk {waited} times: {lost} with a change lost or a \
         value torn",
        states()
    );
}

/// Which of the events wait for a file.
fn file_syncs(events: &[Event]) -> Vec<bool> {
    let mut files = std::collections::BTreeSet::new();
    events
        .iter()
        .map(|event| match event {
            Event::Create(_, inode) => !files.insert(*inode),
            Event::Sync(_, inode) => files.contains(inode),
            _ => false,
        })
        .collect()
}

/// What a state without `sync` lost of what had returned, in the terms of the page.
fn loss(cut: &Cut, seen: &Result<Seen, String>) -> Vec<&'static str> {
    let seen = match seen {
        Ok(seen) => seen,
        Err(e) if e.contains("not found; looked for") => return vec!["hierarchy absent"],
        Err(e) if e.contains("zarr.json") => return vec!["document unreadable"],
        Err(_) => return vec!["chunk unreadable"],
    };
    let mut found = Vec::new();
    for name in ARRAYS {
        let [is, was] = [seen, &cut.before].map(|seen| seen.arrays.get(name));
        let (is, was) = match (is, was) {
            (None, Some(_)) => {
                found.push("array absent");
                continue;
            }
            (Some(_), None) => {
                found.push("erased array back");
                continue;
            }
            (Some(is), Some(was)) => (is, was),
            (None, None) => continue,
        };
        if is.elements.len() != was.elements.len() || is.attribute != was.attribute {
            found.push("document of an earlier change");
        }
        let known = |value: &i32| *value == FILL || (1..=CHANGES as i32 + 1).contains(value);
        if !is.elements.iter().all(known) {
            found.push(if name == "/p" {
                "garbage despite a checksum"
            } else {
                "garbage without an error"
            });
        } else if is.elements.len() == was.elements.len() && is.elements != was.elements {
            found.push("elements of an earlier change, or fill");
        }
    }
    found
}

/// Each loss that the page names can happen; those that it excludes do not.
#[test]
fn without_sync_happens_what_the_page_says() {
    let test = "without_sync_happens_what_the_page_says";
    let mut losses: BTreeMap<&str, u64> = BTreeMap::new();
    let (mut moments, mut whole) = (0, 0);
    for seed in 0..states() / STATES {
        let Some(events) = calls("file", test, seed, false) else { return };
        assert_eq!(syncs(&events), 0);
        moments += events.len();
        look("file", &events, seed, Some(WRITE_BACK), |cut, seen| {
            if check(cut, &seen).is_ok() {
                whole += 1;
                return;
            }
            let mut found = loss(cut, &seen);
            found.sort_unstable();
            found.dedup();
            found.into_iter().for_each(|what| *losses.entry(what).or_default() += 1);
        });
    }
    let list: Vec<String> = losses.iter().map(|(what, count)| format!("{what} {count}")).collect();
    println!(
        "power cuts: without sync: {} states after {moments} calls: {whole} with all that had returned; {}",
        states(),
        list.join(", ")
    );
    for what in ["document unreadable", "chunk unreadable", "document of an earlier change"] {
        assert!(losses.contains_key(what), "{what}: {losses:?}");
    }
    // These are rarer.
    if states() >= 10_000 {
        for what in ["hierarchy absent", "erased array back", "garbage without an error"] {
            assert!(losses.contains_key(what), "{what}: {losses:?}");
        }
    }
    assert!(!losses.contains_key("garbage despite a checksum"), "{losses:?}");
}

/// What the page says of archives and LMDB files: which states a cut may leave. With `syncs`, all that had returned.
fn check_file(
    kind: &str,
    syncs: bool,
    cut: &Cut,
    seen: &Result<Seen, String>,
) -> Result<(), String> {
    let seen = match seen {
        Ok(seen) => seen,
        Err(_) if !cut.is_begun => return Ok(()),
        Err(e) => return Err(e.clone()),
    };
    if kind == "zip" {
        // All writes since the last flush are there together, or none.
        let is_new = cut.change == Change::Flush && *seen == cut.before;
        let is_known = *seen == cut.flushed || is_new;
        return if is_known { Ok(()) } else { Err(format!("it is {seen:?}")) };
    }
    let now = seen.may_be(&cut.before, &cut.change);
    // The last one may be missing.
    let last = cut.last.as_ref().filter(|(_, change)| !syncs && *change != Change::Flush);
    let last = last.map(|(before, change)| seen.may_be(before, change));
    now.or_else(|e| last.unwrap_or(Err(e)))
}

/// Cuts the power of archives or LMDB files, with `sync` and without. Logs without any waiting, and of LMDB those without `sync`, must lose
/// something of what had returned.
fn cut_files(kind: &str, test: &str) {
    let mut figures = Vec::new();
    for sync in [true, false] {
        let (mut moments, mut waited) = (0, 0);
        for seed in 0..states() / STATES {
            let Some(events) = calls(kind, test, seed, sync) else { return };
            (moments, waited) = (moments + events.len(), waited + syncs(&events));
            look(kind, &events, seed, None, |cut, seen| {
                check_file(kind, sync, cut, &seen).unwrap_or_else(|e| {
                    let (at, loss, change) = (cut.at, cut.loss, &cut.change);
                    panic!("{kind}, sync {sync}, seed {seed}, cut before call {at}, {loss:?}, during {change:?}: {e}")
                });
            });
            // The model would notice. A torn LMDB file is not read: that may end the process.
            let keeps = |it: &&Event| kind == "lmdb" || !matches!(it, Event::Sync(..));
            let less: Vec<Event> = events.iter().filter(keeps).cloned().collect();
            let mut broken = 0;
            if kind == "zip" || !sync {
                look(kind, &less, seed, None, |cut, seen| {
                    broken += u64::from(check_file(kind, true, cut, &seen).is_err());
                });
            } else {
                broken = 1;
            }
            assert!(broken > 0, "{kind}: without the waiting nothing is lost");
        }
        let sync = if sync { "with sync" } else { "without sync" };
        figures.push(format!(
            "power cuts of {kind}: {sync}: {} states after {moments} calls, which waited for the disk {waited} times: 0 broken promises",
            states()
        ));
    }
    figures.iter().for_each(|line| println!("{line}"));
}

#[test]
fn an_archive_is_that_of_a_flush() {
    cut_files("zip", "an_archive_is_that_of_a_flush");
}

#[test]
fn an_lmdb_file_loses_the_last_change_at_most() {
    cut_files("lmdb", "an_lmdb_file_loses_the_last_change_at_most");
}
