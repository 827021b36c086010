//! Fuzzing: one function for each kind of input that comes from others.
//!
//! [`TARGETS`] lists them. libFuzzer runs them by the crate in the folder `fuzz`; the program of this crate runs them with mutated
//! inputs on a stable compiler; the tests of `tests/it/replay.rs` run them over the corpus. A target panics when a promise is broken, and holds
//! at most [`Target::memory`] bytes. `docs/fuzzing.md` says how to run them.

#![forbid(unsafe_code)]

pub mod driver;
pub mod input;
pub mod mutate;
mod seeds;
pub mod targets;

use std::path::{Path, PathBuf};

use targets::{archive, chunk, documents, http, listing, netcdf, program, selection, text};

/// What an input looks like, for those who mutate it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// JSON, or several files of which most are.
    Json,
    /// Lines of text.
    Text,
    /// Bytes.
    Binary,
}

/// A function that reads what others wrote.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name of its corpus, and of its file in `fuzz/fuzz_targets`.
    pub name: &'static str,
    /// Reads an input. Panics if a promise is broken.
    pub run: fn(&[u8]),
    /// What inputs look like.
    pub kind: Kind,
    /// The most bytes that it may hold, besides 64 for each of the input.
    pub holds: usize,
    /// The most seconds that an input may take on a busy machine.
    pub seconds: u64,
}

impl Target {
    /// The most bytes that it may hold for an input of `len` bytes.
    pub fn memory(&self, len: usize) -> usize {
        self.holds + 64 * len
    }

    /// The inputs that a fuzzer begins with: what others wrote, what this library writes, and the corpus.
    pub fn seeds(&self) -> Vec<Vec<u8>> {
        let mut seeds = seeds::of(self.name);
        seeds.extend(self.corpus().into_iter().map(|(_, input)| input));
        seeds.retain(|seed| seed.len() <= mutate::LONGEST);
        seeds.sort();
        seeds.dedup();
        seeds
    }

    /// The folder of the inputs that once failed.
    pub fn folder(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(self.name)
    }

    /// The inputs that once failed, with the names of their files.
    pub fn corpus(&self) -> Vec<(String, Vec<u8>)> {
        let Ok(files) = std::fs::read_dir(self.folder()) else { return Vec::new() };
        let mut found: Vec<_> = files
            .flatten()
            .filter_map(|file| {
                let name = file.file_name().to_string_lossy().into_owned();
                Some((name, std::fs::read(file.path()).ok()?))
            })
            .collect();
        found.sort();
        found
    }
}

const MIB: usize = 1 << 20;

const fn target(name: &'static str, kind: Kind, run: fn(&[u8])) -> Target {
    Target { name, run, kind, holds: 64 * MIB, seconds: 20 }
}

/// Every target.
pub const TARGETS: &[Target] = &[
    target("v3", Kind::Json, documents::v3),
    target("v2", Kind::Json, documents::v2),
    target("draft", Kind::Json, documents::draft),
    target("consolidated", Kind::Json, documents::consolidated),
    target("nczarr", Kind::Json, netcdf::nczarr),
    target("json", Kind::Json, text::json),
    target("data_type", Kind::Json, text::data_type),
    target("codec", Kind::Binary, chunk::codec),
    target("chain", Kind::Json, chunk::chain),
    target("shard", Kind::Binary, chunk::shard),
    target("zip", Kind::Binary, archive::zip),
    target("cdl", Kind::Text, netcdf::cdl),
    target("url", Kind::Text, text::url),
    target("selection", Kind::Binary, selection::selection),
    target("region", Kind::Text, program::region),
    target("elements", Kind::Text, program::elements),
    target("listing", Kind::Text, listing::listing),
    target("http", Kind::Text, http::http),
];

/// The target of this name.
///
/// # Panics
/// If there is none.
pub fn target_of(name: &str) -> &'static Target {
    let found = TARGETS.iter().find(|target| target.name == name);
    found.unwrap_or_else(|| panic!("there is no target `{name}`"))
}

/// Runs the target of this name, as libFuzzer's programs do.
///
/// # Panics
/// If there is none, or a promise is broken.
pub fn run(name: &str, data: &[u8]) {
    let target = target_of(name);
    if let Err(failure) = driver::check(target, data) {
        panic!("{name}: {failure}");
    }
}
