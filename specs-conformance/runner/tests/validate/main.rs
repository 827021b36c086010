//! Finds no problem in what others wrote, and every single damage to it.
//!
//! `sound`: each store is validated as it is; what is found must be in `validate.txt`, with the reason. `damage`: in a sample
//! of the stores, or in all of them with `VALIDATE=all`, every object is cut, lengthened, emptied, removed, flipped and
//! exchanged, and strays are put beside it, one at a time; each damage must be found at its key.
//!
//! A program of its own: its tests are made when it runs, one for each store.

#![forbid(unsafe_code)]

mod damage;
mod sound;
mod stores;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use self::damage::{Count, Outcome, Patient};
use self::stores::Fixture;
use libtest_mimic::{Arguments, Trial};

/// How many stores the ordinary tests damage, and how often each value is flipped there.
const SAMPLE: usize = 60;
const FLIPS: usize = 3;
/// How often each value is flipped where all stores are damaged.
const ALL_FLIPS: usize = 12;
/// Larger stores are not damaged: each damage takes a validation of the whole store.
const MOST_KEYS: usize = 40;
const ALL_MOST_KEYS: usize = 250;
const MOST_BYTES: usize = 4 << 20;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let home = home();
    let mut fixtures =
        stores::of_families(&home.join("families"), scratch.path(), |_| true).expect("families");
    let shared = home.join("../../shared/fixtures");
    if shared.is_dir() {
        let peers = stores::of_families(&shared, scratch.path(), |name| name.starts_with("peer-"));
        fixtures.extend(peers.expect("peers"));
    }
    let all = std::env::var("VALIDATE").is_ok_and(|what| what == "all");
    let step = if all { 1 } else { fixtures.len().div_ceil(SAMPLE) };
    let total: Arc<Mutex<BTreeMap<&'static str, Count>>> = Arc::default();
    let mut trials = Vec::new();
    for fixture in fixtures.iter().step_by(step).cloned() {
        let total = total.clone();
        trials.push(Trial::test(format!("damage {}", fixture.id), move || {
            let outcome = damaged(&fixture, if all { ALL_FLIPS } else { FLIPS }, all)?;
            let mut total = total.lock().expect("no test panics with it");
            for (what, count) in outcome.counts {
                let sum = total.entry(what).or_default();
                sum.tried += count.tried;
                sum.found += count.found;
                sum.harmless += count.harmless;
                sum.noted += count.noted;
                sum.unprotected += count.unprotected;
                sum.not_decoded += count.not_decoded;
            }
            if outcome.missed.is_empty() { Ok(()) } else { Err(outcome.missed.join("\n").into()) }
        }));
    }
    trials.push(Trial::test("sound", move || sound::check(&home, &fixtures).map_err(Into::into)));
    let conclusion = libtest_mimic::run(&arguments, trials);
    for (what, count) in &*total.lock().expect("all tests are done") {
        let Count { tried, found, harmless, noted, unprotected, not_decoded } = count;
        println!(
            "{what:38} {tried:7} tried {found:7} found {noted:5} noted {harmless:6} harmless \
             {unprotected:6} without redundancy {not_decoded:4} not decoded"
        );
    }
    conclusion.exit_code()
}

/// Damages every object of a store.
fn damaged(fixture: &Fixture, flips: usize, all: bool) -> Result<Outcome, String> {
    let values = fixture.values()?;
    let size: usize = values.iter().map(|(_, bytes)| bytes.len()).sum();
    if values.len() > if all { ALL_MOST_KEYS } else { MOST_KEYS } || size > MOST_BYTES {
        return Ok(Outcome::default());
    }
    let mut patient = Patient::new(&fixture.id, values);
    patient.examine(flips);
    Ok(patient.outcome)
}

/// The folder `specs-conformance`.
fn home() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
