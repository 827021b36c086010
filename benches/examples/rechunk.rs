//! Measures copies into other chunks with a bound on memory and without: seconds, their ratio, peak of memory.
//!
//! The source has 20 GiB and is made on the fly: a few chunks are stored, and every chunk of the array reads as one of
//! them; where a case says so, nine of ten chunks are not stored. The target takes the chunks as a store does, and throws
//! them away. Each copy runs in a separate process, whose peak (Linux only) is that copy's:
//! `cargo run --release -p zarr-benches --example rechunk [FOLDER [CASE]]`. FOLDER is made if it is absent; the source
//! is in a folder in it for as long as it is measured. It takes 200 MiB of disk, and a temporary file of some GiB in
//! TMPDIR. `ZARR_BENCH_GIB` is another size, `ZARR_BENCH_ROUNDS` another number of rounds than 3, `ZARR_BENCH_MEMORY`
//! another bound in MiB than 256.

use std::env;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use zarr::format::of_dialect;
use zarr::store::{
    Capabilities, GetOptions, Got, Listing, Payload, Precondition, SnapshotOptions, StoreKey,
    StorePrefix, SyncSnapshot, SyncStore, from_sync,
};
use zarr::stores::{FilesystemStore, MemoryStore};
use zarr::tools::CopyOptions;
use zarr::{Dialect, Hierarchy, OpenOptions, StoreError};
use zarr_benches::field;

const MIB: u64 = 1 << 20;
/// Chunks that are stored.
const STORED: u64 = 4;

/// A copy to measure.
struct Case {
    name: &'static str,
    data_type: &'static str,
    codec: &'static str,
    from: [u64; 3],
    to: [u64; 3],
    /// Inner chunks of the target.
    inner: Option<[u64; 3]>,
    /// Whether most chunks are not stored.
    is_sparse: bool,
    /// Whether nothing of the elements can be compressed.
    is_noise: bool,
}

const fn case(
    name: &'static str,
    data_type: &'static str,
    codec: &'static str,
    from: [u64; 3],
    to: [u64; 3],
) -> Case {
    Case { name, data_type, codec, from, to, inner: None, is_sparse: false, is_noise: false }
}

const CASES: &[Case] = &[
    case("zstd slabs to 64³", "float32", "zstd:3", [1, 2048, 2048], [64, 64, 64]),
    case("zstd slabs to 128³", "float32", "zstd:3", [1, 2048, 2048], [128, 128, 128]),
    case("zstd slabs of 4 to 256³", "float32", "zstd:3", [4, 1024, 1024], [256, 256, 256]),
    Case {
        inner: Some([64, 64, 64]),
        ..case("zstd slabs to shards", "float32", "zstd:3", [1, 2048, 2048], [256, 256, 256])
    },
    Case {
        is_noise: true,
        ..case("zstd noise, slabs of 4 to 64³", "float32", "zstd:3", [4, 2048, 2048], [64, 64, 64])
    },
    case("blosc slabs to 64³", "uint16", "blosc", [1, 2048, 2048], [64, 64, 64]),
    case("plain slabs to 64³", "float32", "none", [1, 2048, 2048], [64, 64, 64]),
    case("zstd 64³ to slabs", "float32", "zstd:3", [64, 64, 64], [1, 2048, 2048]),
    case("blosc 128³ to slabs of 4", "uint16", "blosc", [128, 128, 128], [4, 1024, 1024]),
    Case {
        is_sparse: true,
        ..case("sparse zstd slabs to 64³", "float32", "zstd:3", [1, 2048, 2048], [64, 64, 64])
    },
];

impl Case {
    fn shape(&self, gib: u64) -> [u64; 3] {
        let size = if self.data_type == "float32" { 4 } else { 2 };
        [(gib << 30) / size / (2048 * 2048), 2048, 2048]
    }

    fn create(
        &self,
        store: Arc<dyn zarr::store::Store>,
        shape: &[u64],
        chunks: &[u64],
    ) -> zarr::Result<zarr::Array> {
        let hierarchy = Hierarchy::create(store, of_dialect(Dialect::V3), &options())?;
        let mut new = hierarchy.create_array("/a").shape(shape).chunks(chunks);
        if self.codec != "none" {
            new = new.codec(zarr::tools::codec(self.codec)?);
        }
        new.data_type_named(self.data_type).create()
    }
}

fn options() -> OpenOptions {
    OpenOptions::new(zarr::standard()).read_write()
}

/// An array of many chunks, each of which is one of a few that are stored.
#[derive(Debug)]
struct Synthetic {
    stored: FilesystemStore,
    /// How many chunks along each axis.
    counts: Vec<u64>,
    is_sparse: bool,
}

impl Synthetic {
    /// The key of the stored value; `None` where nothing is.
    fn key(&self, key: &StoreKey) -> Option<StoreKey> {
        let Some(chunk) = key.as_str().strip_prefix("a/c/") else { return Some(key.clone()) };
        let sum: u64 = chunk.split('/').filter_map(|n| n.parse::<u64>().ok()).sum();
        if self.is_sparse && sum % 10 != 3 {
            return None;
        }
        StoreKey::new(format!("a/c/{}/0/0", sum % STORED)).ok()
    }
}

impl SyncStore for Synthetic {
    fn name(&self) -> String {
        "synthetic://".into()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { cheap_ranges: true, ..Capabilities::READ_ONLY }
    }

    fn get(&self, key: &StoreKey, how: GetOptions<'_>) -> Result<Option<Got>, StoreError> {
        self.key(key).map_or(Ok(None), |key| self.stored.get(&key, how))
    }

    fn open(
        &self,
        key: &StoreKey,
        how: SnapshotOptions<'_>,
    ) -> Result<Option<Box<dyn SyncSnapshot>>, StoreError> {
        self.key(key).map_or(Ok(None), |key| self.stored.open(&key, how))
    }

    fn list_prefix(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
        let mut keys = vec![StoreKey::new("a/zarr.json")?, StoreKey::new("zarr.json")?];
        for i in 0..self.counts[0] {
            for j in 0..self.counts[1] {
                for k in 0..self.counts[2] {
                    let key = StoreKey::new(format!("a/c/{i}/{j}/{k}"))?;
                    keys.extend(self.key(&key).map(|_| key));
                }
            }
        }
        keys.retain(|key| prefix.strip(key).is_some());
        keys.sort();
        Ok(Listing { keys, ..Listing::default() })
    }
}

/// Keeps documents, and counts the bytes of chunks.
#[derive(Debug, Default)]
struct Discarding {
    documents: MemoryStore,
    puts: Arc<AtomicU64>,
}

impl SyncStore for Discarding {
    fn name(&self) -> String {
        "file:///discarded".into()
    }

    fn capabilities(&self) -> Capabilities {
        // As a folder does.
        Capabilities { streams: true, ..Capabilities::FULL }
    }

    fn get(&self, key: &StoreKey, how: GetOptions<'_>) -> Result<Option<Got>, StoreError> {
        self.documents.get(key, how)
    }

    fn put(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        only_if: Precondition<'_>,
    ) -> Result<bool, StoreError> {
        if !key.as_str().contains("/c/") {
            return self.documents.put(key, value, only_if);
        }
        if let Some(value) = value {
            for part in value.parts() {
                part?;
            }
            self.puts.fetch_add(1, Ordering::Relaxed);
        }
        Ok(true)
    }

    fn list_prefix(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
        self.documents.list_prefix(prefix)
    }

    fn erase_prefix(&self, prefix: &StorePrefix) -> Result<(), StoreError> {
        self.documents.erase_prefix(prefix)
    }
}

/// Values of random bits.
fn noise(count: usize, seed: u64) -> Vec<f32> {
    let mut random = seed;
    let mut next = || {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        f32::from_bits((random >> 32) as u32)
    };
    (0..count).map(|_| next()).collect()
}

/// Stores the few chunks of a case.
fn prepare(case: &Case, folder: &Path, shape: &[u64]) -> Result<(), Box<dyn Error>> {
    let array = case.create(from_sync(FilesystemStore::new(folder)), shape, &case.from)?;
    let count = case.from.iter().product::<u64>() as usize;
    for n in 0..STORED {
        let region = zarr::Region::new([
            n * case.from[0]..(n + 1) * case.from[0],
            0..case.from[1],
            0..case.from[2],
        ]);
        let values = field(count + n as usize).split_off(n as usize);
        if case.is_noise {
            array.write(region, &noise(count, n))?;
        } else if case.data_type == "float32" {
            let values: Vec<f32> = values.iter().map(|&n| f32::from(n) / 8.0).collect();
            array.write(region, &values)?;
        } else {
            array.write(region, &values)?;
        }
    }
    Ok(())
}

/// One copy, in a process of its own.
fn copy(
    case: &Case,
    folder: &Path,
    shape: &[u64],
    memory: Option<u64>,
) -> Result<(), Box<dyn Error>> {
    let counts = shape.iter().zip(&case.from).map(|(len, chunk)| len.div_ceil(*chunk)).collect();
    let source =
        Synthetic { stored: FilesystemStore::new(folder), counts, is_sparse: case.is_sparse };
    let source = Hierarchy::open(from_sync(source), &options())?;
    let target = Discarding::default();
    let puts = target.puts.clone();
    let target = Hierarchy::create(from_sync(target), of_dialect(Dialect::V3), &options())?;
    let how = CopyOptions {
        chunks: Some(case.inner.unwrap_or(case.to).to_vec()),
        shards: case.inner.map(|_| case.to.to_vec()),
        memory,
        ..CopyOptions::default()
    };
    let begun = Instant::now();
    zarr::tools::copy(&source.node("/a")?, &target, "/a", &how)?;
    println!("{} {} {}", begun.elapsed().as_secs_f64(), peak(), puts.load(Ordering::Relaxed));
    Ok(())
}

/// The most memory that this process ever held, in MiB.
fn peak() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.trim().trim_end_matches("kB").trim().parse().unwrap_or(0.0) / 1024.0
}

/// Seconds, peak and objects of a copy.
fn measure(folder: &Path, case: &Case, memory: &str) -> Result<[f64; 3], Box<dyn Error>> {
    let child =
        Command::new(env::current_exe()?).arg(folder).arg(case.name).arg(memory).output()?;
    if !child.status.success() {
        return Err(String::from_utf8_lossy(&child.stderr).into());
    }
    let text = String::from_utf8(child.stdout)?;
    let mut numbers = text.split_whitespace().map(str::parse);
    let mut next = || numbers.next().ok_or("no number")?.map_err(|_| "no number");
    Ok([next()?, next()?, next()?])
}

fn number(name: &str, or: u64) -> u64 {
    env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(or)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    let folder = Path::new(args.first().map_or(".", String::as_str));
    let gib = number("ZARR_BENCH_GIB", 20);
    let chosen = |case: &&Case| args.get(1).is_none_or(|name| case.name.contains(name.as_str()));
    if let (Some(name), Some(memory)) = (args.get(1), args.get(2)) {
        let case = CASES.iter().find(|case| case.name == name).ok_or("no such case")?;
        return copy(case, folder, &case.shape(gib), memory.parse::<u64>().ok().map(|n| n * MIB));
    }
    fs::create_dir_all(folder)?;
    let folder = &folder.join(format!("rechunk-{}.zarr", std::process::id()));
    let bound = number("ZARR_BENCH_MEMORY", 256);
    println!("{gib} GiB each, with a bound of {bound} MiB and without; medians\n");
    println!(
        "| copy | bound, s | without, s | speed with the bound | peak, MiB | without, MiB | objects |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for case in CASES.iter().filter(chosen) {
        fs::create_dir(folder)?;
        prepare(case, folder, &case.shape(gib))?;
        let (mut with, mut without, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        let (mut peak, mut free, mut objects) = (0f64, 0f64, 0.0);
        for _ in 0..number("ZARR_BENCH_ROUNDS", 3) {
            let one = measure(folder, case, &bound.to_string())?;
            let other = measure(folder, case, "none")?;
            if one[2] != other[2] {
                return Err(format!("{}: {} and {} objects", case.name, one[2], other[2]).into());
            }
            ratios.push(other[0] / one[0]);
            with.push(one[0]);
            without.push(other[0]);
            (peak, free, objects) = (peak.max(one[1]), free.max(other[1]), one[2]);
        }
        println!(
            "| {} | {:.1} | {:.1} | {:.2} | {peak:.0} | {free:.0} | {objects} |",
            case.name,
            median(with),
            median(without),
            median(ratios),
        );
        fs::remove_dir_all(folder)?;
        if peak > bound as f64 {
            let why = format!("{}: {peak:.0} MiB are more than the bound", case.name);
            return Err(why.into());
        }
    }
    Ok(())
}
