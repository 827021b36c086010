//! Copies of the program that are killed: none is taken for complete, and all are gone on with.
#![cfg(unix)]

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use crate::common::Folder;
use crate::common::copied::source;
use crate::common::killed::{Random, kill_after_changes, kills, measure};
use crate::common::stores::{TestStore, stores};

fn start(folder: &Folder, line: &str) -> Child {
    folder.command(line).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// The stores that list, and copies of netCDF's datasets in two of them.
fn kinds(folder: &Folder) -> Vec<TestStore> {
    let at = |name: &str| folder.path(name).display().to_string();
    let (datasets, plain) = (at("nc"), at("pure"));
    let mut kinds = stores(folder);
    kinds.push(TestStore {
        to: "--to nczarr-v2",
        ..TestStore::new("folder, as NCZarr", move |n| format!("{datasets}{n}"))
    });
    kinds.push(TestStore {
        to: "--to zarr-v3",
        ..TestStore::new("lmdb, as a dataset of plain Zarr", move |n| {
            format!("lmdb://{plain}{n}.mdb")
        })
    });
    kinds
}

/// Whether a key is of a chunk of `big`, in any dialect.
fn is_chunk(key: &str) -> bool {
    key.starts_with("big/") && key.ends_with(|last: char| last.is_ascii_digit())
}

/// What killed copies were found to be.
#[derive(Default)]
struct Found {
    /// Nothing was there: the first put had not ended, or an archive had not been flushed.
    absent: u32,
    /// How many chunks were there of each copy that was under way.
    under_way: Vec<usize>,
    /// All documents were there, and the journal was erased or had no meaning any more.
    complete: u32,
    /// Copies that ended before the kill.
    ended: u32,
}

impl Found {
    fn kills(&self) -> u32 {
        self.absent + self.under_way.len() as u32 + self.complete
    }

    fn tell(&mut self, name: &str) {
        self.under_way.sort_unstable();
        let there = match &self.under_way[..] {
            [] => String::new(),
            all => {
                let quarter = |n: usize| all[n * all.len() / 4];
                let [few, some, many] = [1, 2, 3].map(quarter);
                format!(
                    " (a quarter with up to {few} chunks, half with up to {some}, three quarters with up to {many})"
                )
            }
        };
        let (kills, absent, complete) = (self.kills(), self.absent, self.complete);
        println!(
            "kills: copies into {name}: {kills} killed, {absent} of them before anything was there, {} under way{there}, {complete} complete and equal; {} ended before the kill",
            self.under_way.len(),
            self.ended
        );
    }
}

/// Looks at a copy that was killed, goes on with it, and compares: `all` is what `get` prints of `big`, of `chunks` chunks.
fn go_on(
    kind: &TestStore,
    folder: &Folder,
    url: &str,
    (all, chunks): (&str, usize),
    found: &mut Found,
    place: &str,
) {
    let (code, text, err) = kind.run(folder, &format!("get {url} --path big"));
    let is_complete = code == 0;
    if is_complete {
        assert!(text == all, "{place}: an incomplete copy was read");
        found.complete += 1;
    } else {
        assert_eq!(code, 3, "{place}: {err}");
        let is_told = err.contains("copy under way, ") && err.contains("--resume");
        let before = kind.keys(url);
        assert!(is_told || before.is_empty(), "{place}: {before:?}");
        let there = before.iter().filter(|key| is_chunk(key)).count();
        if is_told {
            found.under_way.push(there);
        } else {
            found.absent += 1;
        }
        let again = format!("copy a.zarr {url} --resume --verify --trace");
        let (code, _, err) = kind.run(folder, &again);
        assert_eq!(code, 0, "{place}: {err}");
        let is_put = |line: &&str| {
            let is_put = line.starts_with("trace: put") && line.contains("bytes");
            // Documents end with a letter.
            let mut words = line.split(' ').filter(|word| word.starts_with("big/"));
            is_put && words.any(|word| is_chunk(word.trim_end_matches(':')))
        };
        let puts = err.lines().filter(is_put).count();
        assert!(puts <= chunks - there, "{place}: {there} chunks were there, {puts} were put");
        // A put that was under way at the kill may have come to a server after the keys were listed.
        assert!(puts + there + MOST_UNDER_WAY >= chunks, "{place}: {there} there, {puts} put");
    }
    let left: Vec<_> =
        kind.keys(url).into_iter().filter(|key| key.contains(".zarr-copy")).collect();
    assert!(is_complete || left.is_empty(), "{place}: {left:?}");
    let (_, text, err) = kind.run(folder, &format!("get {url} --path big"));
    assert!(text == all, "{place}: {err}");
}

/// Puts of one process that a server may have before it, when the process is killed.
const MOST_UNDER_WAY: usize = 64;

/// Kills copies into each store after a random number of changes. Each is read, gone on with, and compared.
#[test]
fn killed_copies_are_never_complete_and_always_gone_on_with() {
    let folder = Folder::new();
    let chunks = 240;
    let all = source(&folder, chunks);
    let mut random = Random::new();
    for kind in kinds(&folder) {
        // The server of the tests keeps the folders of keys that were erased, and walks through them for each listing.
        let place = |n: u32| (kind.url)(if kind.name == "bucket" { 0 } else { n });
        let copy = |url: &str| {
            let mut child =
                kind.command(&folder, &format!("copy a.zarr {url} {} --trace", kind.to));
            child.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let (changes, first, end) = measure(copy(&place(u32::MAX)));
        assert!(changes > chunks as u64, "{}: {changes} changes", kind.name);
        kind.erase(&place(u32::MAX));
        let one = (end - first).div_f64(changes as f64).as_nanos() as u64;
        let mut found = Found::default();
        for attempt in 0.. {
            if found.kills() == kills() || found.ended > 20 + 4 * kills() {
                break;
            }
            let url = place(attempt);
            let after = random.below(changes + 1);
            let most = if after == 0 { first.as_nanos() as u64 } else { 4 * one };
            let delay = Duration::from_nanos(random.below(most));
            if kill_after_changes(copy(&url), after, delay) {
                let place =
                    format!("{}, killed {delay:?} after change {after} of {changes}", kind.name);
                go_on(&kind, &folder, &url, (&all, chunks), &mut found, &place);
                let (_, text, err) = kind.run(&folder, &format!("get {url} --path g/small"));
                assert_eq!(text, "[1,2,3,4,5,6,7,8,9]\n", "{place}: {err}");
            } else {
                found.ended += 1;
            }
            // Each copy finds the store as the first one did.
            kind.erase(&url);
        }
        found.tell(kind.name);
        // A small archive arrives as a whole.
        let may_be_none = kind.name == "zip" || kills() < 3;
        assert!(may_be_none || !found.under_way.is_empty(), "{}: none was under way", kind.name);
        assert!(found.kills() == kills(), "{}: too few were killed", kind.name);
    }
}

/// An archive that is being copied to is flushed after 256 MiB of elements, and again after as many as were flushed before: from
/// then on a copy that was killed is gone on with.
#[test]
fn archives_keep_what_was_flushed_of_a_killed_copy() {
    let folder = Folder::new();
    // 600 chunks of a MiB each, all of them links to one.
    let chunks = 600;
    folder.good(&format!("create a.zarr --path big --shape {chunks},1048576 --chunks 1,1048576 --dtype uint8 --codec zstd"));
    folder.good("create one.zarr --shape 1,1048576 --chunks 1,1048576 --dtype uint8 --codec zstd");
    let put = folder.feed("put one.zarr --format raw", &[7; 1 << 20]);
    assert_eq!(put.code, 0, "{}", put.err);
    for n in 0..chunks {
        let chunk = folder.path(&format!("a.zarr/big/c/{n}/0"));
        std::fs::create_dir_all(chunk.parent().unwrap()).unwrap();
        std::fs::hard_link(folder.path("one.zarr/c/0/0"), chunk).unwrap();
    }
    let mut random = Random::new();
    let mut found = Found::default();
    for attempt in 0..kills() {
        let url = format!("zip://{}", folder.path(&format!("z{attempt}.zip")).display());
        let mut child = folder.command(&format!("copy a.zarr {url} --trace"));
        let child = child.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let after = 257 + random.below(340);
        assert!(kill_after_changes(child, after, Duration::ZERO));
        let place = format!("{url}, killed after change {after}");
        let absent = folder.bad(&format!("info {url}"), 3);
        if !absent.contains("copy under way, ") {
            // It was flushing.
            found.absent += 1;
            continue;
        }
        let again = folder.run(&format!("copy a.zarr {url} --resume --trace"));
        assert_eq!(again.code, 0, "{place}: {}", again.err);
        let is_put = |line: &&str| line.starts_with("trace: put") && line.contains(" big/c/");
        let puts = again.err.lines().filter(is_put).count();
        assert!((1..=chunks - 256).contains(&puts), "{place}: {puts} chunks were put");
        found.under_way.push(chunks - puts);
        assert_eq!(folder.run(&format!("diff a.zarr {url}")).code, 0, "{place}");
        std::fs::remove_file(folder.path(&format!("z{attempt}.zip"))).unwrap();
    }
    found.tell("zip, 600 MiB of elements");
    assert!(!found.under_way.is_empty(), "none was flushed");
}

/// Kills a copy with `--trace` once it has put a chunk of `big`; tells whether it had not ended by then.
fn kill_amid(mut child: Child) -> bool {
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let is_put = |line: &String| line.starts_with("trace: put") && line.contains(" big/c/");
    let _ = lines.map_while(Result::ok).find(is_put);
    child.kill().unwrap();
    !child.wait().unwrap().success()
}

/// Eight processes at once, two of which are killed amid their chunks and run again.
#[test]
fn parts_of_eight_processes_are_one_copy() {
    let folder = Folder::new();
    let all = source(&folder, 600);
    // A part may end before it is killed: then all of it again, elsewhere.
    for attempt in 0..50 {
        let target = format!("b{attempt}.zarr");
        let part = |n: u32| format!("copy a.zarr {target} --part {n}/8");
        let killed = [2, 5];
        let spawn = |n: u32| {
            if killed.contains(&n) {
                folder.command(&format!("{} --trace", part(n))).spawn().unwrap()
            } else {
                start(&folder, &part(n))
            }
        };
        let children: Vec<(u32, Child)> = (1..=8).map(|n| (n, spawn(n))).collect();
        let (to_kill, others): (Vec<_>, Vec<_>) =
            children.into_iter().partition(|(n, _)| killed.contains(n));
        let kills: Vec<_> =
            to_kill.into_iter().map(|(_, child)| thread::spawn(|| kill_amid(child))).collect();
        let died: Vec<bool> = kills.into_iter().map(|kill| kill.join().unwrap()).collect();
        for (n, mut child) in others {
            assert!(child.wait().unwrap().success(), "part {n}");
        }
        if died != [true, true] {
            continue;
        }
        let refused = folder.bad(&format!("copy a.zarr {target} --finish"), 2);
        assert!(refused.contains("not all parts are done: 2/8, 5/8"), "{refused}");
        let absent = folder.bad(&format!("info {target}"), 3);
        assert!(absent.contains("copy under way, "), "{absent}");
        let other = folder.bad(&format!("copy a.zarr {target} --part 1/9"), 2);
        assert!(other.contains("it has 8 parts"), "{other}");
        for n in killed {
            let again = folder.run(&part(n));
            assert_eq!(again.code, 0, "{}", again.err);
        }
        let finished = folder.run(&format!("copy a.zarr {target} --finish"));
        assert_eq!(finished.code, 0, "{}", finished.err);
        assert!(folder.good(&format!("get {target} --path big")).text() == all);
        let small = folder.good(&format!("get {target} --path g/small"));
        assert_eq!(small.text(), "[1,2,3,4,5,6,7,8,9]\n");
        assert!(!folder.path(&format!("{target}/.zarr-copy")).exists());
        assert_eq!(folder.run(&format!("diff a.zarr {target}")).code, 0);
        return;
    }
    panic!("two parts were never killed at once before they ended");
}
