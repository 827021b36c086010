//! The driver of this library. Its command line and its answer are the peers'; see ../../../README.md.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rayon::prelude::*;
use zarr::stores::ByteCache;
use zarr::{Array, NodePath, OpenOptions, Region, Selection};

type Done<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

#[derive(Default)]
struct Args {
    op: String,
    path: String,
    out: String,
    regions: String,
    store: String,
    threads: usize,
    reps: usize,
    warm: usize,
}

/// What one process measured.
#[derive(Default)]
struct Taken {
    seconds: Vec<f64>,
    cpu: Vec<f64>,
    bytes: u64,
    peak: u64,
    sum: u64,
}

fn args() -> Done<Args> {
    let mut args = Args { threads: 2, reps: 3, warm: 1, ..Default::default() };
    let mut words = std::env::args().skip(1);
    while let Some(name) = words.next() {
        let value = words.next().ok_or_else(|| format!("{name} needs a value"))?;
        match &*name {
            "--op" => args.op = value,
            "--path" => args.path = value,
            "--out" => args.out = value,
            "--regions" => args.regions = value,
            "--store" => args.store = value,
            "--threads" => args.threads = value.parse()?,
            "--reps" => args.reps = value.parse()?,
            "--warm" => args.warm = value.parse()?,
            _ => return Err(format!("unknown argument {name}").into()),
        }
    }
    Ok(args)
}

/// User and system seconds of all threads so far.
fn cpu() -> f64 {
    // SAFETY: the structure is plain numbers, and the call fills it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// The most memory that the process had, in bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()).unwrap_or(0)
        << 10
}

fn checksum(bytes: &[u8]) -> u64 {
    let words =
        || bytes.chunks_exact(2).map(|word| u64::from(u16::from_le_bytes([word[0], word[1]])));
    let sum = words().fold(0u64, u64::wrapping_add);
    let some = words().step_by(997).zip(1u64..);
    sum ^ (some.fold(0u64, |sum, (word, n)| sum.wrapping_add(word.wrapping_mul(n))) << 20)
}

fn ends(bytes: &[u8]) -> u64 {
    let word = |at: usize| u64::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
    word(0) + word(bytes.len() - 2)
}

/// Memory for decoded chunks, where an operation has some.
const CACHE: u64 = 1 << 30;

fn options(args: &Args) -> OpenOptions {
    let (cache, rows) = match &*args.op {
        "read_planes_cached" | "read_planes_aged" => (CACHE, 0),
        "read_planes_ahead" => (CACHE, 1),
        _ => (0, 0),
    };
    let options = OpenOptions::new(zarr::standard()).threads(args.threads);
    let options = options.chunk_cache(cache).read_ahead(rows);
    if args.op != "read_planes_aged" {
        return options;
    }
    let hour = Duration::from_secs(3600);
    let known = ByteCache::new(64 << 20);
    options.wrap(move |store| Arc::new(known.store(store).max_age(hour).largest(64 << 10)))
}

impl Args {
    /// Times `work` after the untimed repetitions; `prepare` makes what it works on, untimed.
    fn time<P>(
        &self,
        taken: &mut Taken,
        mut prepare: impl FnMut() -> Done<P>,
        mut work: impl FnMut(P, &mut Taken) -> Done<()>,
    ) -> Done<()> {
        for repetition in 0..self.warm + self.reps {
            let prepared = prepare()?;
            let (used, began) = (cpu(), Instant::now());
            work(prepared, taken)?;
            let (took, used) = (began.elapsed().as_secs_f64(), cpu() - used);
            if repetition >= self.warm {
                taken.seconds.push(took);
                taken.cpu.push(used);
            }
        }
        taken.peak = taken.peak.max(peak());
        Ok(())
    }
}

/// A new array with the metadata of `array`, at `out` or in a new memory store.
fn like(array: &Array, args: &Args) -> Done<Array> {
    let url = if args.store == "memory" { "memory://" } else { &args.out };
    let _ = std::fs::remove_dir_all(&args.out);
    let hierarchy = zarr::create_with(url, array.hierarchy().dialect(), &options(args))?;
    let builder = hierarchy.create_array(&NodePath::root()).overwrite(true);
    Ok(builder.from_metadata((*array.metadata()).clone()).create()?)
}

fn run(args: &Args) -> Done<Taken> {
    let mut taken = Taken::default();
    if args.op == "open_list" {
        args.time(
            &mut taken,
            || Ok(()),
            |(), taken| {
                let group = zarr::open_with(&args.path, &options(args))?.into_group()?;
                let nodes = group.nodes()?;
                let arrays = nodes.iter().filter_map(|node| node.as_array());
                let arrays = arrays.filter(|array| array.shape().len() == 3).count() as u64;
                taken.sum = arrays;
                Ok(())
            },
        )?;
        return Ok(taken);
    }
    let open = || -> Done<Array> {
        let array = zarr::open_with(&args.path, &options(args))?.into_array()?;
        if args.store != "memory" {
            return Ok(array);
        }
        let copy = like(&array, args)?;
        copy.write_bytes(.., &array.read_bytes(..)?)?;
        Ok(copy)
    };
    // Over a wire opening is in the time of reading all.
    let is_remote = args.op == "read_all" && args.path.starts_with("http");
    let opened = if is_remote { None } else { Some(open()?) };
    let array = || opened.clone().map_or_else(open, Ok);
    if matches!(&*args.op, "read_all" | "far_all") {
        // What was read is dropped before the next reading, and not in its time.
        let last = RefCell::new(Vec::new());
        args.time(
            &mut taken,
            || Ok(drop(last.take())),
            |(), _| Ok(drop(last.replace(array()?.read_bytes(..)?))),
        )?;
        (taken.bytes, taken.sum) = (last.borrow().len() as u64, checksum(&last.borrow()));
        return Ok(taken);
    }
    if args.op.starts_with("read_planes") {
        // Opened anew each time: a cache begins empty.
        args.time(&mut taken, open, |array, taken| {
            (taken.bytes, taken.sum) = (0, 0);
            for plane in 0..array.shape()[0] {
                let read = array.read_bytes((plane, .., ..))?;
                taken.bytes += read.len() as u64;
                taken.sum = taken.sum.wrapping_add(ends(&read));
            }
            Ok(())
        })?;
        return Ok(taken);
    }
    let array = array()?;
    match &*args.op {
        "read_chunks" => args.time(
            &mut taken,
            || Ok(()),
            |(), taken| {
                let total = AtomicU64::new(0);
                let chunks: Vec<_> = array.chunks(..)?.collect();
                chunks.par_iter().try_for_each(|chunk| -> Done<()> {
                    let read = chunk.read::<u16>()?;
                    total.fetch_add(2 * read.len() as u64, Relaxed);
                    Ok(())
                })?;
                taken.bytes = total.into_inner();
                Ok(())
            },
        )?,
        "read_inner" => {
            let inner = (*array.metadata()).clone().unsharded().chunk_shape().unwrap_or_default();
            let counts: Vec<u64> =
                array.shape().iter().zip(&inner).map(|(&n, &len)| n.div_ceil(len)).collect();
            let place = |ordinal: u64| {
                let mut rest = ordinal;
                let place = (0..inner.len()).rev().map(|axis| {
                    let at = rest % counts[axis] * inner[axis];
                    rest /= counts[axis];
                    at..(at + inner[axis]).min(array.shape()[axis])
                });
                let mut place: Vec<_> = place.collect();
                place.reverse();
                Region::new(place)
            };
            args.time(
                &mut taken,
                || Ok(()),
                |(), taken| {
                    let total = AtomicU64::new(0);
                    let all = (0..counts.iter().product::<u64>()).into_par_iter();
                    all.try_for_each(|ordinal| -> Done<()> {
                        let read = array.read::<u16>(place(ordinal))?;
                        total.fetch_add(2 * read.len() as u64, Relaxed);
                        Ok(())
                    })?;
                    taken.bytes = total.into_inner();
                    Ok(())
                },
            )?;
        }
        "read_subset" => {
            let text = std::fs::read(&args.regions)?;
            let regions: Vec<(Vec<u64>, Vec<u64>)> = serde_json::from_slice(&text)?;
            args.time(
                &mut taken,
                || Ok(()),
                |(), taken| {
                    (taken.bytes, taken.sum) = (0, 0);
                    for (start, shape) in &regions {
                        let region =
                            start.iter().zip(shape).map(|(&start, &len)| start..start + len);
                        let read = array.read_bytes(Region::new(region))?;
                        taken.bytes += read.len() as u64;
                        taken.sum = taken.sum.wrapping_add(ends(&read));
                    }
                    Ok(())
                },
            )?;
        }
        "points" => {
            let text = std::fs::read(&args.regions)?;
            let regions: Vec<(Vec<u64>, Vec<u64>)> = serde_json::from_slice(&text)?;
            let axis = |axis: usize| regions.iter().map(|(start, _)| start[axis]).collect();
            let points: Vec<Vec<u64>> = (0..array.shape().len()).map(axis).collect();
            args.time(
                &mut taken,
                || Ok(()),
                |(), taken| {
                    let read = array.read::<u16>(Selection::points(points.clone()))?;
                    taken.bytes = 2 * read.len() as u64;
                    taken.sum = read.into_iter().map(u64::from).sum();
                    Ok(())
                },
            )?;
        }
        "write_all" => {
            let elements = array.read_bytes(..)?;
            taken.bytes = elements.len() as u64;
            args.time(
                &mut taken,
                || like(&array, args),
                |out, _| Ok(out.write_bytes(.., &elements)?),
            )?;
        }
        "roundtrip" => args.time(
            &mut taken,
            || like(&array, args),
            |out, taken| {
                let total = AtomicU64::new(0);
                let chunks: Vec<_> = array.chunks(..)?.collect();
                chunks.par_iter().try_for_each(|chunk| -> Done<()> {
                    let read = chunk.read::<u16>()?;
                    total.fetch_add(2 * read.len() as u64, Relaxed);
                    Ok(out.write(chunk.region().clone(), &read)?)
                })?;
                taken.bytes = total.into_inner();
                Ok(())
            },
        )?,
        other => return Err(format!("unsupported op {other}").into()),
    }
    Ok(taken)
}

fn answer() -> Done<()> {
    let args = args()?;
    rayon::ThreadPoolBuilder::new().num_threads(args.threads).build_global()?;
    let taken = run(&args)?;
    let line = serde_json::json!({
        "op": args.op, "driver": "ours", "version": env!("CARGO_PKG_VERSION"),
        "seconds": taken.seconds, "cpu": taken.cpu, "bytes": taken.bytes, "peak_rss": taken.peak,
        "checksum": format!("{:016x}", taken.sum),
    });
    println!("{line}");
    Ok(())
}

fn main() {
    if let Err(error) = answer() {
        eprintln!("{error}");
        std::process::exit(1);
    }
}
