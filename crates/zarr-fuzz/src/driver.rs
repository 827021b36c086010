//! Runs targets over mutated inputs, and notes which inputs fail: by a panic, by time, or by memory.
//!
//! A worker is a process with one target; its parent saves the input that a worker died of, and begins another. What an input led
//! to, as targets [`note`] it, decides whether other inputs are made of it: a rough measure of which code ran.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read, Seek, SeekFrom, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, exit};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use peak_alloc::PeakAlloc;
use zarr::sync::lock;

use crate::Target;
use crate::mutate::{Random, mutated};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// The exit code of a worker whose input took too long.
const TOO_LONG: i32 = 3;

/// Words of a note that count.
const MOST_WORDS: usize = 12;
/// The most inputs that others are made of.
const MOST_INPUTS: usize = 4000;

static PANIC: Mutex<Option<String>> = Mutex::new(None);

thread_local! {
    static NOTED: RefCell<BTreeSet<u64>> = const { RefCell::new(BTreeSet::new()) };
}

/// Notes what an input led to, such as an error. Numbers and names in it do not count.
pub fn note(what: impl Display) {
    let text = what.to_string();
    let mut hasher = DefaultHasher::new();
    let outside = text.split(['`', '"', '\'']).step_by(2).flat_map(str::split_whitespace);
    let words =
        outside.filter(|word| word.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b','));
    words.take(MOST_WORDS).for_each(|word| word.hash(&mut hasher));
    NOTED.with(|noted| noted.borrow_mut().insert(hasher.finish()));
}

/// Notes an error, if it is one.
pub fn noted<T, E: Display>(result: Result<T, E>) -> Option<T> {
    result.map_err(note).ok()
}

fn take_panic() -> Option<String> {
    lock(&PANIC).take()
}

/// Keeps what a panic says, on whichever thread, and prints nothing.
pub fn keep_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let mut kept = lock(&PANIC);
        kept.get_or_insert_with(|| panic.to_string().replace('\n', " "));
    }));
}

/// Runs a target over an input.
///
/// # Errors
/// What is wrong: a panic on any thread, or too much memory. [`keep_panics`] must have been called.
pub fn check(target: &Target, input: &[u8]) -> Result<(), String> {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let ran = catch_unwind(AssertUnwindSafe(|| (target.run)(input)));
    let held = MEMORY.peak_usage().saturating_sub(before);
    if let Some(panic) = take_panic() {
        return Err(panic);
    }
    if ran.is_err() {
        return Err("a panic that says nothing".to_owned());
    }
    let most = target.memory(input.len());
    if held > most {
        return Err(format!("it holds {held} bytes for {}, more than {most}", input.len()));
    }
    Ok(())
}

/// Where an input is kept while it runs, so that a process that dies of it leaves it.
struct Current(File);

impl Current {
    fn set(&mut self, input: &[u8]) -> std::io::Result<()> {
        self.0.seek(SeekFrom::Start(0))?;
        let mut framed = Vec::with_capacity(input.len() + 8);
        framed.extend((input.len() as u64).to_le_bytes());
        framed.extend_from_slice(input);
        self.0.write_all(&framed)
    }

    fn get(path: &Path) -> Option<Vec<u8>> {
        let mut all = Vec::new();
        File::open(path).ok()?.read_to_end(&mut all).ok()?;
        let (len, rest) = all.split_first_chunk()?;
        let len = usize::try_from(u64::from_le_bytes(*len)).ok()?;
        rest.get(..len).map(<[u8]>::to_vec)
    }
}

/// How long and from where a worker runs.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// How many seconds.
    pub seconds: u64,
    /// Decides which inputs are made.
    pub seed: u64,
}

/// What a worker did.
#[derive(Debug, Default)]
pub struct Done {
    /// How many inputs ran.
    pub executions: u64,
    /// How many inputs others are made of.
    pub inputs: usize,
    /// Each failure's place, what it says, and its first input.
    pub failures: BTreeMap<String, (String, Vec<u8>)>,
}

/// A failure without what is different each time: the place of a panic, or its text without numbers.
fn key_of(failure: &str) -> String {
    match failure.strip_prefix("panicked at ").and_then(|rest| rest.split_once(": ")) {
        Some((place, _)) => place.to_owned(),
        None => failure.split(|letter: char| letter.is_ascii_digit()).collect(),
    }
}

/// Ends this process when an input takes longer than the target may.
fn watch(target: &Target) -> Arc<AtomicU64> {
    let began = Arc::new(AtomicU64::new(0));
    let (seen, most) = (began.clone(), target.seconds);
    thread::spawn(move || {
        let (mut last, mut since) = (u64::MAX, Instant::now());
        loop {
            thread::sleep(Duration::from_millis(200));
            let now = seen.load(SeqCst);
            if now != last {
                (last, since) = (now, Instant::now());
            } else if since.elapsed() > Duration::from_secs(most) {
                exit(TOO_LONG);
            }
        }
    });
    began
}

/// Runs a target over its seeds, and over what is made of them until the time is over.
///
/// # Errors
/// When the file for the current input cannot be written.
pub fn work(target: &Target, plan: Plan, current: &Path) -> std::io::Result<Done> {
    let seeds = target.seeds();
    keep_panics();
    let mut current = Current(File::create(current)?);
    let counter = watch(target);
    let end = Instant::now() + Duration::from_secs(plan.seconds);
    let mut random = Random::new(plan.seed);
    let (mut done, mut known) = (Done::default(), BTreeSet::new());
    let (mut pool, mut waiting) = (seeds.clone(), seeds);
    while Instant::now() < end {
        let (input, is_seed) = match waiting.pop() {
            Some(seed) => (seed, true),
            None => (mutated(target.kind, &pool, &mut random), false),
        };
        current.set(&input)?;
        counter.fetch_add(1, SeqCst);
        let checked = check(target, &input);
        done.executions += 1;
        let noted = NOTED.with(RefCell::take);
        let before = known.len();
        known.extend(noted);
        let is_new = known.len() > before;
        if let Err(failure) = checked {
            done.failures.entry(key_of(&failure)).or_insert((failure, input));
        } else if is_new && !is_seed && pool.len() < MOST_INPUTS {
            pool.push(input);
        }
    }
    done.inputs = pool.len();
    Ok(done)
}

/// A file for an input, named after its target and its bytes.
fn saved(folder: &Path, target: &str, input: &[u8]) -> std::io::Result<PathBuf> {
    let mut hasher = DefaultHasher::new();
    input.hash(&mut hasher);
    let path = folder.join(target).join(format!("{:016x}", hasher.finish()));
    fs::create_dir_all(folder.join(target))?;
    fs::write(&path, input)?;
    Ok(path)
}

/// Runs one target in processes of this program, prints what came of it, and saves inputs that fail in `folder`. Returns whether
/// none did.
///
/// # Errors
/// When processes or files cannot be made.
pub fn run(target: &Target, plan: Plan, folder: &Path) -> std::io::Result<bool> {
    let current = tempfile::NamedTempFile::new()?;
    let began = Instant::now();
    let (mut executions, mut failures, mut restarts, mut inputs) = (0, 0, 0u64, String::new());
    while began.elapsed() < Duration::from_secs(plan.seconds) && restarts < 20 {
        let left = plan.seconds.saturating_sub(began.elapsed().as_secs()).max(1);
        let output = Command::new(std::env::current_exe()?)
            .args(["worker", target.name, &left.to_string(), &(plan.seed + restarts).to_string()])
            .args([current.path(), folder])
            .output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        for line in text.lines() {
            match line.split_once(' ') {
                Some(("executions", count)) => {
                    executions += count.parse::<u64>().unwrap_or_default()
                }
                Some(("inputs", count)) => inputs = format!(", {count} inputs kept"),
                _ => {
                    failures += 1;
                    println!("{line}");
                }
            }
        }
        restarts += 1;
        if output.status.code() == Some(101)
            && text.is_empty()
            && Current::get(current.path()).is_none()
        {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(std::io::Error::other(format!("{}: its seeds: {said}", target.name)));
        }
        if !output.status.success() {
            failures += 1;
            let input = Current::get(current.path()).unwrap_or_default();
            let path = saved(folder, target.name, &input)?;
            let said = String::from_utf8_lossy(&output.stderr);
            println!(
                "{}: {} {}: {}",
                target.name,
                end_of(output.status),
                said.trim(),
                path.display()
            );
        }
    }
    let seconds = began.elapsed().as_secs().max(1);
    println!(
        "{:<13} {executions:>10} executions in {seconds} s, {} a second{inputs}, {failures} failures",
        target.name,
        executions / seconds
    );
    Ok(failures == 0)
}

fn end_of(status: ExitStatus) -> String {
    match status.code() {
        Some(TOO_LONG) => "it takes too long".to_owned(),
        _ => format!("it died ({status})"),
    }
}

/// The part of a worker's process: prints what `run` reads.
///
/// # Errors
/// When files cannot be made.
pub fn worker(target: &Target, plan: Plan, current: &Path, folder: &Path) -> std::io::Result<()> {
    let done = work(target, plan, current)?;
    for (failure, input) in done.failures.values() {
        let path = saved(folder, target.name, &smallest(target, input))?;
        println!("{}: {}: {}", target.name, failure, path.display());
    }
    println!("executions {}\ninputs {}", done.executions, done.inputs);
    Ok(())
}

/// A smaller input that fails in the same way.
pub fn smallest(target: &Target, input: &[u8]) -> Vec<u8> {
    let Err(failure) = check(target, input) else { return input.to_vec() };
    let key = key_of(&failure);
    let fails = |input: &[u8]| check(target, input).is_err_and(|other| key_of(&other) == key);
    let (mut best, end) = (input.to_vec(), Instant::now() + Duration::from_secs(10));
    let mut size = best.len() / 2;
    while size > 0 && Instant::now() < end {
        let mut at = 0;
        while at < best.len() && Instant::now() < end {
            let mut shorter = best.clone();
            drop(shorter.drain(at..(at + size).min(best.len())));
            if fails(&shorter) {
                best = shorter;
            } else {
                at += size;
            }
        }
        size /= 2;
    }
    best
}
