//! Checks the predictions of `zarr tune` on whole copies: `cargo run --release -p zarr-benches --example tune FOLDER`.
//!
//! FOLDER has arrays as `NAME.zarr`, such as `benches/tune_data.py` makes. Of each array the layouts that are reported are copied
//! whole into a temporary folder. A size is wrong if it is more than 5 % off, a request count if it is not that of a store that
//! counts. Times are those of reads from the disk, which are compared by their order (Kendall's tau) with the modelled ones. Regret is how much
//! larger the product of time and bytes is, both measured, of the layout that is advised than of the best of those that are reported and the
//! present one. The present one is that of zarr-python's defaults if `benches/tune_data.py` made the arrays. Each array is sampled twice: as it
//! is by default, and an eighth of it.

use std::env;
use std::error::Error;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use zarr::store::{ByteRange, Call, ObservedStore, Observer, Store, async_trait, coalesce};
use zarr::tools::tune::{Candidate, Service, TuneOptions, TuneReport, stored_layout, tune};
use zarr::tools::{CopyOptions, copy};
use zarr::{Array, Dialect, Hierarchy, Node, OpenOptions, Region, StoreError};

/// Places at which each read is tried.
const PLACES: usize = 5;
const SEED: u64 = 20_261_129;
/// How often each place is read for its time.
const TIMES: usize = 3;
/// What the regret of advice is to be at most.
const MAX_REGRET: f64 = 0.1;
/// What the order of times is to have at least.
const MIN_TAU: f64 = 0.8;

/// How far off a size may be.
const MAX_OFF: f64 = 0.05;

/// Counts requests for chunks as a store of objects bills them: ranges that lie close together are one.
#[derive(Clone, Default)]
struct Requests(Arc<AtomicU64>);

#[async_trait]
impl Observer for Requests {
    async fn after(&self, call: &Call<'_>) -> Result<(), StoreError> {
        if call.key.ends_with(".json") {
            return Ok(());
        }
        let bounded = call.ranges.iter().filter_map(|range| match range {
            ByteRange::Bounded { start, len } => Some(*start..start + len),
            _ => None,
        });
        let bounded: Vec<Range<u64>> = bounded.collect();
        let others = call.ranges.len() - bounded.len();
        let count = coalesce(bounded, Service::S3.gap).len() + others;
        self.0.fetch_add(count.max(1) as u64, Ordering::Relaxed);
        Ok(())
    }

    fn is_remote(&self) -> bool {
        true
    }
}

/// The array at a place, whose shards' indices nobody knows yet.
fn opened(store: &Arc<dyn Store>) -> zarr::Result<Array> {
    Hierarchy::open(store.clone(), &OpenOptions::new(zarr::standard()))?.array("/a")
}

/// What was found of one layout.
#[derive(Default)]
struct Found {
    /// How far off its size was, as a share.
    off: f64,
    /// Requests that were counted, and those that were predicted.
    counted: u64,
    predicted: f64,
    /// Reads of which both were the same, of how many.
    equal: (usize, usize),
    /// Seconds of a read from the disk, by the reads' weights.
    seconds: f64,
    /// Bytes that are stored.
    bytes: u64,
}

impl Found {
    /// What advice goes by.
    fn product(&self) -> f64 {
        self.seconds * self.bytes as f64
    }
}

/// Seconds of a read from the disk, by the reads' weights: of each place the least of [`TIMES`] tries.
fn seconds_of(report: &TuneReport, open: &dyn Fn() -> zarr::Result<Array>) -> zarr::Result<f64> {
    let weights: f64 = report.patterns.iter().map(|read| read.weight).sum();
    let shape = open()?.shape();
    let mut seconds = 0.0;
    for read in &report.patterns {
        let places = read.places(&shape, PLACES, SEED);
        for place in &places {
            let mut least = f64::INFINITY;
            for _ in 0..TIMES {
                let array = open()?;
                let start = Instant::now();
                array.read_bytes(Region::new(place.iter().cloned()))?;
                least = least.min(start.elapsed().as_secs_f64());
            }
            seconds += least * read.weight / weights / places.len() as f64;
        }
    }
    Ok(seconds)
}

fn check(array: &Array, report: &TuneReport, it: &Candidate, folder: &Path) -> zarr::Result<Found> {
    let place = folder.join("copy.zarr");
    let _ = fs::remove_dir_all(&place);
    let target = zarr::create(place.clone(), Dialect::V3)?;
    let options = CopyOptions {
        chunks: Some(it.chunks.clone()),
        shards: it.shards.clone(),
        codecs: Some(it.codecs.clone()),
        ..CopyOptions::default()
    };
    copy(&Node::Array(array.clone()), &target, "/a", &options)?;
    let made = target.array("/a")?;
    let size = made.stored_size()?;
    let layout = stored_layout(&made, size.bytes)?;
    let mut found = Found {
        off: it.stored_bytes as f64 / size.bytes.max(1) as f64 - 1.0,
        bytes: size.bytes,
        ..Found::default()
    };
    for read in &report.patterns {
        let places = read.places(&array.shape(), PLACES, SEED);
        for place in &places {
            let requests = Requests::default();
            let counting = ObservedStore::new(target.store().clone(), requests.clone());
            let counting: Arc<dyn Store> = Arc::new(counting);
            opened(&counting)?.read_bytes(Region::new(place.iter().cloned()))?;
            let (counted, predicted) =
                (requests.0.load(Ordering::Relaxed), layout.count(place, &Service::S3).requests);
            found.counted += counted;
            found.predicted += predicted;
            found.equal.0 += usize::from(counted as f64 == predicted);
            found.equal.1 += 1;
        }
    }
    found.seconds = seconds_of(report, &|| opened(target.store()))?;
    Ok(found)
}

/// Kendall's tau of pairs: 1 if both order alike, -1 if opposite. Pairs that are equal within a tenth in either count for nothing.
fn kendall(pairs: &[(f64, f64)]) -> Option<f64> {
    let (mut alike, mut unlike) = (0.0, 0.0);
    for (n, one) in pairs.iter().enumerate() {
        for other in &pairs[n + 1..] {
            let differ = |a: f64, b: f64| (a - b).abs() > 0.1 * a.max(b);
            if differ(one.0, other.0) && differ(one.1, other.1) {
                if (one.0 < other.0) == (one.1 < other.1) {
                    alike += 1.0;
                } else {
                    unlike += 1.0;
                }
            }
        }
    }
    let all: f64 = alike + unlike;
    (all > 0.0).then(|| (alike - unlike) / all)
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = env::args_os()
        .nth(1)
        .ok_or("give a folder of arrays, as benches/tune_data.py makes them")?;
    let mut arrays: Vec<PathBuf> = fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_, std::io::Error>>()?;
    arrays.retain(|path| path.extension().is_some_and(|ending| ending == "zarr"));
    arrays.sort();
    let (mut layouts, mut good_sizes, mut reads, mut good_reads) = (0, 0, 0, 0);
    let (mut taus, mut regrets) = (Vec::new(), Vec::new());
    for path in &arrays {
        let array = zarr::open_array(path.clone())?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let element = array.data_type().repr().map_or(1, |repr| repr.size() as u64);
        let bytes = array.len().saturating_mul(element);
        for (sampled, memory) in [("default", None), ("an eighth", Some(bytes / 2))] {
            let scratch = tempfile::tempdir()?;
            let start = Instant::now();
            let options = TuneOptions { memory, service: Service::DISK, ..TuneOptions::default() };
            let report = tune(&array, &options)?;
            let took = start.elapsed().as_secs_f64();
            let advised = report.advised.map_or("stay".to_owned(), |n| format!("{}", n + 1));
            println!(
                "{name}: {} MiB, {sampled} ({} MiB in {} boxes), {took:.1} s, advised {advised}: {}",
                bytes >> 20,
                report.sample.bytes >> 20,
                report.sample.boxes,
                report.reason
            );
            let now = Found {
                seconds: seconds_of(&report, &|| zarr::open_array(path.clone()))?,
                bytes: array.stored_size()?.bytes,
                ..Found::default()
            };
            println!(
                "  0 {:?} {:?}: {:.2} ms modelled, {:.2} ms measured",
                report.now.chunks,
                report.now.shards,
                report.now.seconds * 1e3,
                now.seconds * 1e3
            );
            let mut times = vec![(report.now.seconds, now.seconds)];
            let mut products = vec![now.product()];
            for (number, it) in report.candidates.iter().enumerate() {
                let found = check(&array, &report, it, scratch.path())?;
                let is_good = found.off.abs() <= MAX_OFF;
                layouts += 1;
                good_sizes += usize::from(is_good);
                reads += found.equal.1;
                good_reads += found.equal.0;
                times.push((it.seconds, found.seconds));
                products.push(found.product());
                println!(
                    "  {} {:?} {:?} {}: size {:+.2} %{}, requests {} predicted, {} counted, {} of {} equal; {:.2} ms modelled, {:.2} ms measured",
                    number + 1,
                    it.chunks,
                    it.shards,
                    it.codecs.join("+"),
                    found.off * 100.0,
                    if is_good { "" } else { " WRONG" },
                    found.predicted,
                    found.counted,
                    found.equal.0,
                    found.equal.1,
                    it.seconds * 1e3,
                    found.seconds * 1e3,
                );
            }
            match kendall(&times) {
                Some(tau) => {
                    taus.push(tau);
                    println!("  order of times on the disk: tau {tau:.2}");
                }
                None => println!("  order of times on the disk: none differ"),
            }
            let least = products.iter().copied().fold(f64::INFINITY, f64::min);
            let regret = products[report.advised.map_or(0, |n| n + 1)] / least - 1.0;
            regrets.push(regret);
            println!(
                "  regret {:.0} %; {:.2} of the present layout's time times bytes",
                regret * 100.0,
                products[report.advised.map_or(0, |n| n + 1)] / products[0]
            );
        }
    }
    taus.sort_by(f64::total_cmp);
    regrets.sort_by(f64::total_cmp);
    let median = |sorted: &[f64]| sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN);
    println!(
        "tau at least {MIN_TAU} in {} of {}, median {:.2}; regret at most {:.0} % in {} of {}, median {:.0} %",
        taus.iter().filter(|tau| **tau >= MIN_TAU).count(),
        taus.len(),
        median(&taus),
        MAX_REGRET * 100.0,
        regrets.iter().filter(|regret| **regret <= MAX_REGRET).count(),
        regrets.len(),
        median(&regrets) * 100.0
    );
    println!(
        "{} arrays, {layouts} layouts: {good_sizes} sizes within 5 %; {good_reads} of {reads} reads with equal requests",
        arrays.len()
    );
    Ok(())
}
