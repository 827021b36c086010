//! A writer that is killed at any moment breaks no promise of docs/reliability.md, in folders, archives and LMDB files.
//!
//! A child process makes changes that a seed gives, and says which are done; the parent kills it, and looks at what is there: each
//! element old or new, documents whole, the place of an append, arrays that are erased gone. Then a writer writes all of it anew, is not
//! blocked, and removes what the killed one left. A sample runs at once; `ZARR_KILLS=500` kills as many of each store
//! (`.ci/full kills`), and prints the figures of the page.

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
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant, SystemTime};

use crate::changes::{ARRAYS, Change, Changes, FILL, Random, Seen, begin, make, options};
use crate::injected::Kind;

/// How many kills of each store.
fn kills() -> u64 {
    env::var("ZARR_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(25)
}

/// Only a flush puts changes in an archive.
fn flush_every(kind: Kind) -> i32 {
    if kind == Kind::Zip { 4 } else { 9 }
}

/// The child: makes changes until it is killed.
fn write(kind: Kind, within: &Path) {
    let seed = env::var("ZARR_KILLS_SEED").expect("a seed").parse().expect("a number");
    let hierarchy = options().store_hierarchy(&kind.url(within, "x")).expect("a hierarchy");
    let mut out = std::io::stdout();
    for change in Changes::new(seed, flush_every(kind)) {
        make(&hierarchy, &change).expect("no fault");
        out.write_all(b"done\n").expect("the parent reads");
        out.flush().expect("the parent reads");
    }
}

/// What came of the kills of one store.
#[derive(Debug, Default)]
struct Figures {
    /// Kills while a change of this kind was made.
    during: BTreeMap<&'static str, u64>,
    changes: u64,
    /// Kills after which a change was made in part.
    partly: u64,
    left: BTreeMap<&'static str, u64>,
}

fn run(test: &str, kind: Kind, seed: u64, figures: &mut Figures) {
    let folder = tempfile::tempdir().expect("a folder");
    let within = folder.path();
    let url = kind.url(within, "x");
    begin(&url, &options().0).expect("no fault");

    let mut command = zarr_testkit::test_command(module_path!(), test);
    command.env("ZARR_KILLS_IN", within).env("ZARR_KILLS_SEED", seed.to_string());
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("a child");
    let mut said = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let mut random = Random::new(!seed);
    let is_done = |line: &std::io::Result<String>| line.as_ref().is_ok_and(|l| l.ends_with("done"));
    // The first change makes sure that it has begun.
    assert!(said.any(|line| is_done(&line)), "the child ended by itself");
    std::thread::sleep(Duration::from_micros(random.below(60_000)));
    child.kill().expect("it runs");
    child.wait().expect("it was killed");
    let done = 1 + said.filter(is_done).count();

    // What the child had made, and was making.
    let mut changes = Changes::new(seed, flush_every(kind));
    let (mut before, mut flushed) = (Seen::default(), Seen::default());
    for change in changes.by_ref().take(done) {
        before.change(&change);
        if change == Change::Flush {
            flushed = before.clone();
        }
    }
    let change = changes.next().expect("they have no end");
    let what =
        format!("{kind:?}, seed {seed}, killed while the change after {done} was made: {change:?}");
    let now = Seen::read(&url).unwrap_or_else(|e| panic!("{what}: {e}"));
    let mut after = before.clone();
    after.change(&change);
    if kind == Kind::Zip {
        // All writes since the last flush arrive together or not at all.
        let is_flush = change == Change::Flush;
        assert!(now == flushed || is_flush && now == before, "{what}: {now:?}");
    } else {
        now.may_be(&before, &change).unwrap_or_else(|e| panic!("{what}: {e}"));
        figures.partly += u64::from(now != before && now != after);
    }
    *figures.during.entry(change.kind()).or_default() += 1;
    figures.changes += done as u64;
    sweep(within, &url, &what, figures);
}

/// Files that the stores themselves keep while they write.
fn own_files(below: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(below).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_dir() {
            found.extend(own_files(&entry.path()));
        } else if own_kind(&name).is_some() {
            found.push(entry.path());
        }
    }
    found
}

fn own_kind(name: &str) -> Option<&'static str> {
    let kinds = [".zarr-lock", ".zarr-tmp-", ".zarr-part", ".zarr-compact"];
    kinds.into_iter().find(|kind| name.contains(kind))
}

/// The next writer is not blocked, finds every array writable, and leaves nothing that is not the store's.
fn sweep(within: &Path, url: &str, what: &str, figures: &mut Figures) {
    let long_ago = SystemTime::now() - Duration::from_secs(7200);
    for file in own_files(within) {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        *figures.left.entry(own_kind(&name).unwrap_or_default()).or_default() += 1;
        // An unfinished file is a dead writer's once it is an hour old.
        let file = fs::File::options().write(true).open(&file).expect("it was listed");
        file.set_modified(long_ago).expect("a time can be set");
    }
    let began = Instant::now();
    let hierarchy = options().store_hierarchy(url).unwrap_or_else(|e| panic!("{what}: {e}"));
    let write = |change: Change| {
        make(&hierarchy, &change).unwrap_or_else(|e| panic!("{what}: then {change:?}: {e}"));
    };
    write(Change::GroupAttributes(7));
    let mut expected = Seen { attribute: 7, ..Seen::default() };
    for (n, name) in ARRAYS.into_iter().enumerate() {
        if hierarchy.array(name).is_err() {
            // Chunks that an interrupted erase left belong to no array, and a new one there is refused. To erase again removes them.
            match hierarchy.erase(name) {
                Err(e) if e.kind() == zarr::ErrorKind::NotFound => {}
                erased => erased.unwrap_or_else(|e| panic!("{what}: {e}")),
            }
            write(Change::Create(n));
            expected.change(&Change::Create(n));
            // Chunks that an interrupted erase left do not come back.
            let array = hierarchy.array(name).and_then(|array| array.read::<i32>(..));
            assert_eq!(array.expect(what), expected.arrays[name].elements, "{what}: {name}");
        }
        // Every chunk that can be there is written, those of the earlier length among them.
        write(Change::Resize(n, 0));
        write(Change::Resize(n, 170));
        let grown = hierarchy.array(name).and_then(|array| array.read::<i32>(..)).expect(what);
        assert_eq!(grown, [FILL; 170], "{what}: {name} was cut to nothing and grew");
        write(Change::Write(n, 0..170, 5));
    }
    write(Change::Flush);
    let now = Seen::of(&hierarchy).unwrap_or_else(|e| panic!("{what}: {e}"));
    assert!(now.arrays.values().all(|array| array.elements == [5; 170]), "{what}: {now:?}");
    drop(hierarchy);
    let took = began.elapsed();
    assert!(took < Duration::from_secs(60), "{what}: the next writer took {took:?}");
    let left = own_files(within);
    assert!(left.is_empty(), "{what}: {left:?}");
}

fn kill(test: &str, kind: Kind) {
    if let Some(within) = env::var_os("ZARR_KILLS_IN") {
        return write(kind, Path::new(&within));
    }
    let base = env::var("ZARR_KILLS_FROM").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    let mut figures = Figures::default();
    for seed in base..base + kills() {
        run(test, kind, seed, &mut figures);
    }
    let list = |of: &BTreeMap<&str, u64>| {
        let all: Vec<String> = of.iter().map(|(name, count)| format!("{name} {count}")).collect();
        all.join(", ")
    };
    println!(
        "kills: {kind:?}: {} kills after {} changes, while one was made: {}; {} left a change made in part; left behind and swept: {}; \
         broken promises: 0",
        kills(),
        figures.changes,
        list(&figures.during),
        figures.partly,
        list(&figures.left),
    );
    assert!(figures.during.len() > 2, "the kills met only {:?}", figures.during);
}

#[test]
fn folders_keep_their_promises() {
    kill("folders_keep_their_promises", Kind::Folder);
}

#[test]
fn archives_keep_their_promises() {
    kill("archives_keep_their_promises", Kind::Zip);
}

#[test]
fn lmdb_files_keep_their_promises() {
    kill("lmdb_files_keep_their_promises", Kind::Lmdb);
}
