//! How much memory a copy into other chunks takes, of the whole process.
//!
//! The peak of a process never falls, so each copy runs in a child process: this test program again.
#![cfg(all(target_os = "linux", feature = "filesystem", feature = "zstd", feature = "sharding"))]

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::tempdir;
use zarr::tools::CopyOptions;
use zarr::{Array, Dialect, ErrorKind, Hierarchy};
use zarr_testkit::{peak_memory, test_command};

const FOLDER: &str = "ZARR_TEST_COPY_FOLDER";
const MEMORY: &str = "ZARR_TEST_COPY_MEMORY";
const SHARDS: &str = "ZARR_TEST_COPY_SHARDS";

const ROWS: &str = "ZARR_TEST_COPY_ROWS";
const STRINGS: &str = "ZARR_TEST_COPY_STRINGS";

/// 384 MiB of `uint16` in slabs of 2 MiB.
const SHAPE: [u64; 3] = [192, 1024, 1024];
const SLAB: [u64; 3] = [1, 1024, 1024];
const CUBE: [u64; 3] = [64, 64, 64];
const SHARD: [u64; 3] = [64, 256, 256];
const BOUND: u64 = 112 << 20;
/// 256 MiB of `uint32`, each row of noise four times in a chunk.
const ROW_COUNT: u64 = 32768;
const ROWS_BOUND: u64 = 256 << 20;

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
        chunks: Some(match env::var_os(ROWS) {
            Some(_) => vec![ROW_COUNT, 1, 512],
            None if env::var_os(STRINGS).is_some() => vec![5000],
            None => CUBE.to_vec(),
        }),
        shards: env::var_os(SHARDS).map(|_| SHARD.to_vec()),
        memory: env::var(MEMORY).ok().map(|text| text.parse().unwrap()),
        ..CopyOptions::default()
    };
    let before = peak_memory().expect("Linux tells");
    assert!(before < BOUND / 3, "the program has {before} bytes before it copies");
    let copied = zarr::tools::copy(&from.node("/a").unwrap(), &to, "/a", &options).unwrap();
    println!("peak {} {}", peak_memory().expect("Linux tells"), copied.spool);
}

/// The peak of a copy, and the size of its temporary file.
fn copied(folder: &Path, memory: u64, is_sharded: bool) -> (u64, u64) {
    let mut child = test_command(module_path!(), "child");
    child.env(FOLDER, folder).env("TMPDIR", folder);
    child.env(MEMORY, memory.to_string());
    if is_sharded {
        child.env(SHARDS, "1");
    }
    told(&mut child)
}

/// What a child tells: its peak, and the size of its temporary file.
fn told(child: &mut Command) -> (u64, u64) {
    let output = child.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let told = text.lines().find_map(|line| line.split_once("peak ")).map(|(_, told)| told);
    let (peak, spool) = told.and_then(|told| told.split_once(' ')).unwrap_or_else(|| {
        panic!("{}: {text}{}", output.status, String::from_utf8_lossy(&output.stderr));
    });
    (peak.parse().unwrap(), spool.trim().parse().unwrap())
}

/// Chunks of the source are a quarter of their elements; objects of the copy, of 64 MiB, do not get smaller at all.
#[test]
fn a_copy_that_compresses_worse_than_its_source_stays_within_its_memory() {
    let folder = tempdir().unwrap();
    let new = hierarchy(folder.path(), "from").create_array("/a").shape(&[ROW_COUNT, 4, 512]);
    let new = new.chunks(&[16, 4, 512]).data_type_named("uint32");
    let array = new.codec(zarr::tools::codec("zstd:1").unwrap()).create().unwrap();
    let mut random = 7u64;
    let mut row = || -> Vec<u32> {
        let next = |_| {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (random >> 32) as u32
        };
        (0..512).map(next).collect()
    };
    for at in (0..ROW_COUNT).step_by(512) {
        let values: Vec<u32> = (0..512).flat_map(|_| row().repeat(4)).collect();
        array.write((at..at + 512, .., ..), &values).unwrap();
    }
    let mut child = test_command(module_path!(), "child");
    child.env(FOLDER, folder.path()).env(ROWS, "1");
    child.env(MEMORY, ROWS_BOUND.to_string()).env("TMPDIR", folder.path());
    let (peak, _) = told(&mut child);
    assert!(peak <= ROWS_BOUND, "{} MiB", peak >> 20);
    println!("copies of 64 MiB that do not get smaller, within 256 MiB: peak {} MiB", peak >> 20);
    let to = hierarchy(folder.path(), "to").array("/a").unwrap();
    for n in [0, 1, 20_000, ROW_COUNT - 1] {
        let rows = |array: &Array| array.read::<u32>((n..n + 1, .., ..)).unwrap();
        assert!(rows(&array) == rows(&to), "row {n}");
    }
}

/// Slabs, each of which is one of three.
fn slabs(folder: &Path) -> Array {
    let new = hierarchy(folder, "from").create_array("/a").shape(&SHAPE).chunks(&SLAB);
    let new = new.data_type_named("uint16").codec(zarr::tools::codec("zstd:1").unwrap());
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
    // Stored objects go through in pieces, whatever their size.
    let options = CopyOptions { memory: Some(256 << 20), recode: true, ..CopyOptions::default() };
    let error = zarr::tools::copy(&from.node("/a").unwrap(), &to, "/a", &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument);
    let text = error.to_string();
    assert!(text.contains("the limit is 256 MiB"), "{text}");
    assert!(text.contains("a stored object of the copy has 2048 MiB"), "{text}");
    assert!(!folder.path().join("to/a").exists());
}

/// Texts of 4096 bytes: how long they are is seen in some chunks before the copy.
#[test]
fn a_copy_of_long_texts_stays_within_its_memory() {
    const COUNT: u64 = 64_000;
    let folder = tempdir().unwrap();
    let new = hierarchy(folder.path(), "from").create_array("/a").shape(&[COUNT]).chunks(&[1000]);
    let array = new.data_type_named("string").create().unwrap();
    for at in (0..COUNT).step_by(4000) {
        let texts: Vec<String> = (at..at + 4000).map(|n| format!("{n:04096}")).collect();
        array.write(at..at + 4000, &texts).unwrap();
    }
    let mut child = test_command(module_path!(), "child");
    child.env(FOLDER, folder.path()).env(STRINGS, "1");
    child.env(MEMORY, ROWS_BOUND.to_string()).env("TMPDIR", folder.path());
    let (peak, _) = told(&mut child);
    assert!(peak <= ROWS_BOUND, "{} MiB", peak >> 20);
    let to = hierarchy(folder.path(), "to").array("/a").unwrap();
    assert_eq!(to.chunk_shape(), Some(vec![5000]));
    for n in [0, 4999, 5000, COUNT - 1] {
        let text = |array: &Array| array.read::<String>(n..n + 1).unwrap();
        assert_eq!(text(&array), text(&to), "text {n}");
    }
}
