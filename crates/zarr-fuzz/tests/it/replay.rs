//! Runs every target over its seeds and its corpus, and over some mutated inputs.

use std::fs;
use std::path::Path;

use zarr_fuzz::driver::{self, check};
use zarr_fuzz::mutate::{Random, mutated};
use zarr_fuzz::{TARGETS, Target};
use zarr_testkit::sample;

/// The most bytes of all inputs that once failed.
const MOST_BYTES: usize = 2 << 20;

/// What is wrong with some of a target's inputs.
fn failures(target: &Target) -> Vec<String> {
    let (mut failures, seeds) = (Vec::new(), target.seeds());
    assert!(!seeds.is_empty(), "{} has no seeds", target.name);
    let mut run = |input: &[u8]| {
        if let Err(failure) = check(target, input) {
            let input = String::from_utf8_lossy(input).into_owned();
            failures.push(format!("{}: {failure}: {input:?}", target.name));
        }
    };
    target.corpus().iter().for_each(|(_, input)| run(input));
    let step = sample(1 + seeds.len() / 40, 1);
    seeds.iter().step_by(step).for_each(|seed| run(seed));
    let mut random = Random::new(7);
    for _ in 0..sample(40, 2000) {
        run(&mutated(target.kind, &seeds, &mut random));
    }
    failures
}

/// One test, as panics of all threads are kept in one place.
#[test]
fn no_input_fails() {
    driver::keep_panics();
    failures_are_noticed();
    let failures: Vec<String> = TARGETS.iter().flat_map(failures).collect();
    drop(std::panic::take_hook());
    assert!(failures.is_empty(), "{failures:#?}");
}

/// A panic, one on another thread, and too much memory are failures; nothing else is.
fn failures_are_noticed() {
    let of = |run: fn(&[u8])| check(&Target { run, holds: 1 << 20, ..TARGETS[0] }, b"x");
    assert_eq!(of(|_| ()), Ok(()));
    assert!(of(|_| panic!("here")).is_err_and(|why| why.contains("here")));
    let elsewhere = of(|_| drop(std::thread::spawn(|| panic!("there")).join()));
    assert!(elsewhere.is_err_and(|why| why.contains("there")));
    let large = of(|_| drop(std::hint::black_box(vec![1u8; 8 << 20])));
    assert!(large.is_err_and(|why| why.starts_with("it holds 8")));
}

/// What cargo-fuzz finds are the same targets.
#[test]
fn libfuzzer_has_every_target() {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let manifest = fs::read_to_string(home.join("Cargo.toml")).expect("the crate for libFuzzer");
    assert_eq!(manifest.matches("[[bin]]").count(), TARGETS.len());
    for target in TARGETS {
        let path = format!("fuzz_targets/{}.rs", target.name);
        assert!(manifest.contains(&format!("name = \"{}\"\npath = \"{path}\"", target.name)));
        let source = fs::read_to_string(home.join(path)).expect("a target");
        assert!(source.contains(&format!("zarr_fuzz::run(\"{}\", data)", target.name)));
    }
}

#[test]
fn the_corpus_is_small() {
    let inputs = TARGETS.iter().flat_map(Target::corpus);
    assert!(inputs.map(|(_, input)| input.len()).sum::<usize>() < MOST_BYTES);
}
