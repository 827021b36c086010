//! After a call of the system has failed, every element has its old value or its new one, in folders, shards,
//! archives and LMDB files.
//!
//! A child process writes with `fail_calls.c` between it and the system, which lets the n-th call of one kind fail,
//! or with a limit to the size of files. Then the parent looks at what is left. A sample of the n runs by default;
//! `ZARR_FAULTS=all` or `ZARR_TEST_ALL=1` runs all of them.

#![cfg(all(
    target_os = "linux",
    feature = "filesystem",
    feature = "zip",
    feature = "lmdb",
    feature = "sharding"
))]

use std::env;
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::injected::{ERRORS, KINDS, Kind, injector, is_whole};
use zarr::{Array, Dialect};
use zarr_testkit::test_name;

const LEN: u64 = 4800;
/// What each write of the child sets: a whole chunk, a part of one, parts and wholes, a part of a chunk again.
const WRITES: [Range<u64>; 4] = [0..400, 500..700, 1000..2200, 600..900];
/// The writes after which the child flushes.
const FLUSHES: [usize; 2] = [1, 3];
fn old(at: u64) -> i32 {
    1000 + at as i32
}

/// What the `n`-th write sets.
fn new(n: usize, at: u64) -> i32 {
    10_000 * (1 + n as i32) + at as i32
}

fn make(kind: Kind, within: &Path) -> zarr::Result<()> {
    let hierarchy = zarr::create(&kind.url(within, "x"), Dialect::V3)?;
    let array = hierarchy.create_array("/a").shape(&[LEN]).data_type_named("int32");
    let array = match kind {
        Kind::Shards => array.chunks(&[400]).shards(&[1600]),
        Kind::SmallChunks => array.chunks(&[50]),
        _ => array.chunks(&[400]),
    };
    let values: Vec<i32> = (0..LEN).map(old).collect();
    array.fill_value(-1i64).create()?.write(.., &values)?;
    hierarchy.flush()
}

fn open(kind: Kind, within: &Path) -> zarr::Result<Array> {
    zarr::open_rw(&kind.url(within, "x"))?.into_group()?.array("a")
}

/// The child: writes, goes on after failures, and tells which writes are done.
fn write(kind: Kind, within: &Path) {
    let Ok(node) = zarr::open_rw(&kind.url(within, "x")) else { return };
    let Ok(array) = node.into_group().and_then(|group| group.array("a")) else { return };
    // Of more threads each would have too few chunks to set several at once.
    let threads = usize::from(kind == Kind::SmallChunks);
    let array = array.with_options(|options| options.threads = threads);
    let (mut done, mut kept) = (Vec::new(), 0);
    for (n, region) in WRITES.into_iter().enumerate() {
        let values: Vec<i32> = region.clone().map(|at| new(n, at)).collect();
        if array.write(region, &values).is_ok() {
            done.push(n);
        }
        if let Ok(now) = array.read::<i32>(..) {
            check(&now, n, &done, "in the process that failed");
        }
        let flushed = FLUSHES.contains(&n) && array.hierarchy().flush().is_ok();
        // What is not flushed to an archive is nowhere.
        if flushed || kind != Kind::Zip {
            kept = done.len();
        }
    }
    let kept: Vec<String> = done[..kept].iter().map(usize::to_string).collect();
    println!("done: {}", kept.join(" "));
}

/// Each element has its old value or one of those that the first `begun` writes and the next one set, no older than
/// what the last write that is `done` set.
fn check(now: &[i32], begun: usize, done: &[usize], when: &str) {
    assert_eq!(now.len() as u64, LEN, "{when}");
    for (at, &value) in (0..LEN).zip(now) {
        let sets = |n: &usize| WRITES[*n].contains(&at);
        let least = done.iter().copied().filter(sets).max();
        let may = (0..=begun).filter(sets).filter(|n| least.is_none_or(|least| *n >= least));
        let allowed: Vec<i32> =
            least.is_none().then(|| old(at)).into_iter().chain(may.map(|n| new(n, at))).collect();
        assert!(allowed.contains(&value), "{when}: element {at} is {value}, not of {allowed:?}");
    }
}

/// The child's part of the work, with these variables; its output.
fn child(test: &str, within: &Path, shell: &str, variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("trap '' XFSZ; {shell} exec \"$0\" \"$@\"")]);
    command.arg(env::current_exe().expect("this program"));
    command.arg(test_name(module_path!(), test));
    command.args(["--exact", "--nocapture", "--test-threads=1"]);
    command.env("ZARR_FAULTS_IN", within).envs(variables.iter().copied());
    command.stdin(Stdio::null()).output().expect("a child")
}

/// Runs the child with one fault and looks at what it left.
fn run(test: &str, kind: Kind, shell: &str, fault: &[(&str, &str)]) -> bool {
    let folder = tempfile::tempdir().expect("a folder");
    let within = folder.path().join("data");
    fs::create_dir(&within).expect("a folder");
    make(kind, &within).expect("no fault yet");
    let (inside, log) = (within.display().to_string(), folder.path().join("struck"));
    let mut variables = fault.to_vec();
    let told = log.display().to_string();
    variables.extend([("FAIL_DIR", &*inside), ("FAIL_LOG", &*told)]);
    let output = child(test, &within, shell, &variables);
    let what = format!("{kind:?} {shell} {fault:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what}: the child failed: {said}");
    assert_eq!(said, "", "{what}: a library prints nothing");

    let said = String::from_utf8_lossy(&output.stdout);
    let done = said.lines().find_map(|line| line.split_once("done:")).map(|(_, done)| done);
    let done: Vec<usize> =
        done.unwrap_or("").split_whitespace().map(|n| n.parse().expect("a number")).collect();
    let now = open(kind, &within).and_then(|array| array.read::<i32>(..));
    let now = now.unwrap_or_else(|e| panic!("{what}: {e}"));
    check(&now, WRITES.len() - 1, &done, &what);
    // Where no lock can be had, or nothing be removed, a file beside the archive stays, and the next writer takes it.
    if kind == Kind::Zip && !what.contains("unlink") && !what.contains("lock") {
        let left = fs::read_dir(&within).expect("a folder").map(|e| e.expect("a file").file_name());
        assert_eq!(left.collect::<Vec<_>>(), ["x.zip"], "{what}");
    }
    log.exists()
}

/// Which n are tried: all, or the first and then fewer and fewer, at other places for each kind of fault.
fn next(n: usize, fault: usize) -> usize {
    if is_whole() { n + 1 } else { 2 * n + fault % 4 }
}

fn sweep(test: &str, kind: Kind) {
    if let Some(within) = env::var_os("ZARR_FAULTS_IN") {
        return write(kind, Path::new(&within));
    }
    let preload = injector().display().to_string();
    let mut struck = 0;
    // Small chunks are read, erased and synchronised as others are.
    let calls = |call: &&str| {
        kind != Kind::SmallChunks || ["write", "open-write", "rename", "lock"].contains(call)
    };
    for (which, call) in KINDS.into_iter().filter(calls).enumerate() {
        for (way, (errno, always)) in ERRORS.into_iter().enumerate() {
            if errno == -1 && !["write", "read"].contains(&call) {
                continue;
            }
            let mut n = 1;
            loop {
                let (at, errno) = (n.to_string(), errno.to_string());
                let mut fault = vec![
                    ("LD_PRELOAD", &*preload),
                    ("FAIL_CALL", call),
                    ("FAIL_AT", &at),
                    ("FAIL_ERRNO", &errno),
                ];
                if always {
                    fault.push(("FAIL_ALWAYS", "1"));
                }
                if !run(test, kind, "", &fault) {
                    break;
                }
                struck += 1;
                n = next(n, kind as usize + which + way);
            }
        }
    }
    assert!(struck > 10, "only {struck} faults struck");
    // A block of `ulimit` has 512 bytes; the largest files here, LMDB's, have fewer than 200.
    let mut blocks = 1;
    while blocks < 200 {
        run(test, kind, &format!("ulimit -f {blocks};"), &[]);
        blocks = next(blocks, kind as usize);
    }
}

/// LMDB calls a write that was cut short an input/output error; on a disk that is full it is one of those.
#[test]
fn a_full_disk_is_called_so() {
    let test = "a_full_disk_is_called_so";
    if let Some(within) = env::var_os("ZARR_FAULTS_IN") {
        let Ok(array) = open(Kind::Lmdb, Path::new(&within)) else { return };
        let mut error: &dyn std::error::Error = &array.write(0..400, &[7; 400]).unwrap_err();
        while let Some(source) = error.source() {
            error = source;
        }
        return println!("because: {error}");
    }
    let folder = tempfile::tempdir().expect("a folder");
    make(Kind::Lmdb, folder.path()).expect("no fault yet");
    let (preload, inside) = (injector().display().to_string(), folder.path().display().to_string());
    let fault = [
        ("LD_PRELOAD", &*preload),
        ("FAIL_CALL", "write"),
        ("FAIL_AT", "1"),
        ("FAIL_SHORT", "1"),
        ("FAIL_ALWAYS", "1"),
        ("FAIL_ERRNO", "28"),
        ("FAIL_DIR", &*inside),
    ];
    let output = child(test, folder.path(), "", &fault);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(said.contains("because: No space left on device"), "{said}");
}

#[test]
fn folders_keep_every_element() {
    sweep("folders_keep_every_element", Kind::Folder);
}

#[test]
fn small_chunks_keep_every_element() {
    sweep("small_chunks_keep_every_element", Kind::SmallChunks);
}

#[test]
fn shards_keep_every_element() {
    sweep("shards_keep_every_element", Kind::Shards);
}

#[test]
fn archives_keep_every_element() {
    sweep("archives_keep_every_element", Kind::Zip);
}

#[test]
fn lmdb_files_keep_every_element() {
    sweep("lmdb_files_keep_every_element", Kind::Lmdb);
}
