//! Measures parts of 1 GiB in shards: bytes fetched, peak of memory, seconds.
//!
//! Each step runs in a separate process, whose peak (Linux only) is that step's:
//! `cargo run --release -p zarr-benches --example large_shards [FOLDER]`. It takes 3 GiB of disk.

use std::env;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use zarr::format::of_dialect;
use zarr::store::{ByteRange, from_sync};
use zarr::stores::{Call, FilesystemStore};
use zarr::{Array, Dialect, Hierarchy, NodePath, OpenOptions};
use zarr_benches::field;

type Done = Result<String, Box<dyn Error>>;

const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;
/// 1 GiB of u16 in 32 shards of 32 MiB, each 1024 inner chunks of 32 KiB before zstd.
const SHAPE: [u64; 2] = [16384, 32768];
const SHARD: u64 = 4096;
const INNER: u64 = 128;

/// Reads of chunks: how many, how many ranges, and the bytes of indices and of inner chunks.
#[derive(Default)]
struct Reads {
    calls: u64,
    ranges: usize,
    index: u64,
    inner: u64,
}

type Log = Arc<Mutex<Reads>>;

fn options() -> OpenOptions {
    OpenOptions::new(zarr::standard()).read_write()
}

fn path(name: &str) -> NodePath {
    NodePath::new(name).expect("a good path")
}

fn create(folder: &Path) -> zarr::Result<()> {
    let store = from_sync(FilesystemStore::new(folder));
    let hierarchy = Hierarchy::create(store, of_dialect(Dialect::V3), &options())?;
    let many = hierarchy.create_array(path("/many")).shape(&SHAPE).chunks(&[INNER, INNER]);
    let many = many.shards(&[SHARD, SHARD]).data_type_named("uint16");
    many.codec(zarr::tools::codec("zstd:1")?).create()?;
    let one = hierarchy.create_array(path("/one")).shape(&[GIB]).chunks(&[MIB]);
    one.shards(&[GIB]).data_type_named("uint8").create().map(drop)
}

fn array(folder: &Path, name: &str) -> zarr::Result<Array> {
    let store = from_sync(FilesystemStore::new(folder));
    Hierarchy::open(store, &options())?.array(path(name))
}

/// The array of many shards, its reads counted.
fn watched(folder: &Path) -> zarr::Result<(Array, Log)> {
    let log = Log::default();
    let reads = log.clone();
    let note = move |call: &Call<'_>| {
        if call.key.contains("/c/") && matches!(call.operation, "get" | "open" | "read") {
            let mut reads = reads.lock().expect("no thread panics");
            reads.calls += 1;
            match call.ranges {
                [ByteRange::Suffix(_)] => reads.index += call.bytes,
                ranges => {
                    reads.ranges += ranges.len();
                    reads.inner += call.bytes;
                }
            }
        }
    };
    let store = zarr::stores::log(from_sync(FilesystemStore::new(folder)), note);
    Ok((Hierarchy::open(store, &options())?.array(path("/many"))?, log))
}

fn told(log: &Log) -> String {
    let reads = std::mem::take(&mut *log.lock().expect("no thread panics"));
    let Reads { calls, ranges, index, inner } = reads;
    format!(
        "{calls} reads: {index} bytes of indices, {inner} bytes of inner chunks in {ranges} ranges"
    )
}

fn write_many(folder: &Path) -> Done {
    let array = array(folder, "/many")?;
    let elements = field((SHARD * SHARD) as usize);
    for row in (0..SHAPE[0]).step_by(SHARD as usize) {
        for column in (0..SHAPE[1]).step_by(SHARD as usize) {
            array.write((row..row + SHARD, column..column + SHARD), &elements)?;
        }
    }
    let files = fs::read_dir(folder.join("many/c"))?.flatten();
    let files = files.filter_map(|row| fs::read_dir(row.path()).ok()).flat_map(Iterator::flatten);
    let stored: u64 = files.filter_map(|file| Some(file.metadata().ok()?.len())).sum();
    Ok(format!("{stored} bytes stored"))
}

fn points(folder: &Path) -> Done {
    let (array, log) = watched(folder)?;
    let mut seed = 7u64;
    let mut random = |end: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % end
    };
    for _ in 0..1000 {
        array.read::<u16>((random(SHAPE[0]), random(SHAPE[1])))?;
    }
    Ok(told(&log))
}

fn row(folder: &Path) -> Done {
    let (array, log) = watched(folder)?;
    array.read::<u16>((5000, ..))?;
    Ok(told(&log))
}

fn column(folder: &Path) -> Done {
    let (array, log) = watched(folder)?;
    array.read::<u16>((.., 5000))?;
    Ok(told(&log))
}

fn write_one(folder: &Path) -> Done {
    let elements: Vec<u8> = (0..GIB as u32).map(|n| (n % 251 + 1) as u8).collect();
    let before = peak();
    array(folder, "/one")?.write(.., &elements)?;
    Ok(format!("the peak grew by {:.1} MiB", peak() - before))
}

fn change_one(folder: &Path) -> Done {
    let before = peak();
    array(folder, "/one")?.write(500 * MIB + 7..500 * MIB + 8, &[0u8])?;
    Ok(format!("the peak grew by {:.1} MiB", peak() - before))
}

/// The most memory that this process ever held, in MiB.
fn peak() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.trim().trim_end_matches("kB").trim().parse().unwrap_or(0.0) / 1024.0
}

type Step = fn(&Path) -> Done;

const STEPS: [(&str, Step); 6] = [
    ("write 32 shards of 32 MiB", write_many),
    ("read 1,000 random points", points),
    ("read a row", row),
    ("read a column", column),
    ("write one shard of 1 GiB", write_one),
    ("change one byte of it", change_one),
];

fn main() -> Result<(), Box<dyn Error>> {
    let folder = env::args().nth(1).unwrap_or_else(|| "large_shards.zarr".into());
    if let Some(name) = env::args().nth(2) {
        let (name, step) =
            STEPS.into_iter().find(|(step, _)| *step == name).ok_or("no such step")?;
        let begun = Instant::now();
        let what = step(Path::new(&folder))?;
        let seconds = begun.elapsed().as_secs_f64();
        println!("{name}: {what}; peak {:.1} MiB, {seconds:.2} s", peak());
        return Ok(());
    }
    fs::create_dir(&folder)?;
    create(Path::new(&folder))?;
    for (name, _) in STEPS {
        let status = Command::new(env::current_exe()?).args([&folder, name]).status()?;
        if !status.success() {
            return Err(name.into());
        }
        // The indices of files that were written this very moment are not remembered.
        thread::sleep(Duration::from_secs(1));
    }
    Ok(fs::remove_dir_all(folder)?)
}
