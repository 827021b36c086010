//! How much memory a copy into other chunks takes, of the whole process.
//!
//! The peak of a process never falls, so each copy runs in a child process: this test program again.
#![cfg(all(target_os = "linux", feature = "filesystem", feature = "zstd", feature = "sharding"))]

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::tempdir;
use zarr::{Array, CopyOptions, Dialect, ErrorKind, Hierarchy};

const FOLDER: &str = "ZARR_TEST_COPY_FOLDER";
const MEMORY: &str = "ZARR_TEST_COPY_MEMORY";
const SHARDS: &str = "ZARR_TEST_COPY_SHARDS";

/// 384 MiB of `uint16` in slabs of 2 MiB.
const SHAPE: [u64; 3] = [192, 1024, 1024];
const SLAB: [u64; 3] = [1, 1024, 1024];
const CUBE: [u64; 3] = [64, 64, 64];
const SHARD: [u64; 3] = [64, 256, 256];
const BOUND: u64 = 112 << 20;

/// The most memory this process ever held, in bytes.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap() << 10
}

fn hierarchy(folder: &Path, name: &str) -> Hierarchy {
    let options = zarr::OpenOptions::new(zarr::standard()).threads(4).read_write();
    let url = folder.join(name);
    Hierarchy::open_or_create(url.to_str().unwrap(), Dialect::V3, &options).unwrap()
}

/// The child's part: copies, and tells the peak.
#[test]
fn child() {
    let Some(folder) = env::var_os(FOLDER) else { return };
    let folder = Path::new(&folder);
    let (from, to) = (hierarchy(folder, "from"), hierarchy(folder, "to"));
    let options = CopyOptions {
        chunks: Some(CUBE.to_vec()),
        shards: env::var_os(SHARDS).map(|_| SHARD.to_vec()),
        memory: env::var(MEMORY).ok().map(|text| text.parse().unwrap()),
        ..CopyOptions::default()
    };
    let before = peak();
    assert!(before < BOUND / 3, "the program has {before} bytes before it copies");
    let copied = zarr::copy(&from.node("/a").unwrap(), &to, "/a", &options).unwrap();
    println!("peak {} {}", peak(), copied.spool);
}

/// The peak of a copy, and the size of its temporary file.
fn copied(folder: &Path, memory: u64, is_sharded: bool) -> (u64, u64) {
    let mut child = Command::new(env::current_exe().unwrap());
    child.args(["child", "--exact", "--nocapture"]).env(FOLDER, folder).env("TMPDIR", folder);
    child.env(MEMORY, memory.to_string());
    if is_sharded {
        child.env(SHARDS, "1");
    }
    let output = child.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let told = text.lines().find_map(|line| line.split_once("peak ")).map(|(_, told)| told);
    let (peak, spool) = told.and_then(|told| told.split_once(' ')).unwrap_or_else(|| {
        panic!("{}: {text}{}", output.status, String::from_utf8_lossy(&output.stderr));
    });
    (peak.parse().unwrap(), spool.trim().parse().unwrap())
}

/// Slabs, each of which is one of three.
fn slabs(folder: &Path) -> Array {
    let new = hierarchy(folder, "from").create_array("/a").shape(&SHAPE).chunks(&SLAB);
    let new = new.data_type_named("uint16").codec(zarr::codec("zstd:1").unwrap());
    let array = new.create().unwrap();
    for n in 0..3u64 {
        let count = SLAB.iter().product::<u64>();
        let values: Vec<u16> = (0..count).map(|at| (at / 7 % (200 + n)) as u16 + 1).collect();
        array.write((n..n + 1, .., ..), &values).unwrap();
    }
    let chunk = |n: u64| folder.join(format!("from/a/c/{n}/0/0"));
    for n in 3..SHAPE[0] {
        fs::create_dir_all(chunk(n).parent().unwrap()).unwrap();
        fs::copy(chunk(n % 3), chunk(n)).unwrap();
    }
    array
}

#[test]
fn a_copy_into_other_chunks_stays_within_its_memory() {
    for is_sharded in [false, true] {
        let folder = tempdir().unwrap();
        let from = slabs(folder.path());
        let (peak, spool) = copied(folder.path(), BOUND, is_sharded);
        assert!(peak <= BOUND, "{} MiB", peak >> 20);
        // A row of cubes, or of shards: 64 slabs.
        assert_eq!(spool, 128 << 20);
        let to = hierarchy(folder.path(), "to").array("/a").unwrap();
        assert_eq!(to.stored_chunks().unwrap(), if is_sharded { 3 * 16 } else { 3 * 256 });
        for n in [0, 1, 63, 64, 128, 191] {
            let (a, b): (Vec<u16>, Vec<u16>) =
                (from.read((n..n + 1, .., ..)).unwrap(), to.read((n..n + 1, .., ..)).unwrap());
            assert!(a == b, "slab {n}");
        }
        // Nothing stays in the folder for temporary files.
        let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = names.collect();
        names.sort();
        assert_eq!(names, ["from", "to"]);
    }
    // The bound is one: with more memory the copy takes more.
    let folder = tempdir().unwrap();
    slabs(folder.path());
    let (peak, spool) = copied(folder.path(), 1 << 30, false);
    assert!(peak > 2 * BOUND && spool == 0, "{} MiB", peak >> 20);
}

#[test]
fn what_needs_more_memory_is_refused_before_it_is_written() {
    let folder = tempdir().unwrap();
    let from = hierarchy(folder.path(), "from");
    let new = from.create_array("/a").shape(&[1 << 30]).chunks(&[1 << 28]);
    new.data_type_named("float64").create().unwrap();
    let to = hierarchy(folder.path(), "to");
    let options = CopyOptions { memory: Some(256 << 20), ..CopyOptions::default() };
    let error = zarr::copy(&from.node("/a").unwrap(), &to, "/a", &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument);
    let text = error.to_string();
    assert!(text.contains("256 MiB of memory are too little"), "{text}");
    assert!(text.contains("a stored object of the copy has 2048 MiB"), "{text}");
    assert!(!folder.path().join("to/a").exists());
}
