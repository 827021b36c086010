//! A copy of a pebibyte into other chunks: planned as a whole, of which single parts are run.

use std::time::{Duration, Instant};

use zarr::format::of_dialect;
use zarr::store::{Bytes, StoreKey};
use zarr::stores::MemoryStore;
use zarr::tools::{CopyOptions, plan_copy};
use zarr::{Dialect, Hierarchy, Result};

use super::bucket::{Bucket, Made, Nothing};
use super::clock;
use super::service::{Bill, Service};
use super::writers::options;

/// An array of float32 whose chunks are all the same.
struct Constant {
    document: Bytes,
    chunk: Bytes,
}

impl Made for Constant {
    fn value(&self, key: &str) -> Option<Bytes> {
        match key {
            "zarr.json" => Some(Bytes::from_static(br#"{"zarr_format":3,"node_type":"group"}"#)),
            "a/zarr.json" => Some(self.document.clone()),
            _ => key.starts_with("a/c/").then(|| self.chunk.clone()),
        }
    }

    fn below(&self, prefix: &str) -> (Vec<String>, Vec<String>) {
        let texts = |texts: &[&str]| texts.iter().map(ToString::to_string).collect();
        match prefix {
            "" => (texts(&["zarr.json"]), texts(&["a/"])),
            "a/" => (texts(&["a/zarr.json"]), texts(&["a/c/"])),
            _ => Default::default(),
        }
    }
}

/// Takes chunks and forgets them.
struct Forgetting;

impl Made for Forgetting {
    fn value(&self, _: &str) -> Option<Bytes> {
        None
    }
    fn below(&self, prefix: &str) -> (Vec<String>, Vec<String>) {
        Nothing.below(prefix)
    }
    fn keeps(&self, key: &str) -> bool {
        !key.contains("/c/")
    }
}

/// A copy.
#[derive(Clone, Debug)]
pub struct Rechunk {
    /// Of the array, in elements of four bytes.
    pub shape: Vec<u64>,
    /// Of the source's chunks.
    pub from: Vec<u64>,
    /// Of the copy's chunks.
    pub to: Vec<u64>,
    /// Into how many parts it is cut; `None` for as many as the library chooses.
    pub parts: Option<u64>,
    /// Bytes of memory that each process has.
    pub memory: u64,
    /// Whether the first part is run.
    pub runs: bool,
}

/// What a simulation found.
#[derive(Clone, Debug)]
pub struct Found {
    /// Chunks of the copy.
    pub chunks: u64,
    /// Parts.
    pub parts: u64,
    /// What planning requested.
    pub planning: Bill,
    /// How long planning took, in real time.
    pub planned: Duration,
    /// Chunks of the first part.
    pub part: u64,
    /// What the source was asked for by the first part, and the target.
    pub bills: (Bill, Bill),
    /// Virtual time of the first part.
    pub time: Duration,
}

impl Rechunk {
    /// Plans it, and runs a part of it.
    ///
    /// # Errors
    /// Those of the library.
    pub fn run(&self, service: Service, seed: u64) -> Result<Found> {
        let (document, chunk) = self.made()?;
        let source = Bucket::new(service, Constant { document, chunk });
        let target = Bucket::new(service, Forgetting);
        let (found, _) = clock::run(seed, async {
            let from = Hierarchy::open(source.client("source"), &options())?;
            let to =
                Hierarchy::create(target.client("target"), of_dialect(Dialect::V3), &options())?;
            let how = CopyOptions {
                chunks: Some(self.to.clone()),
                parts: self.parts,
                memory: Some(self.memory),
                ..CopyOptions::default()
            };
            let begun = Instant::now();
            let plan = plan_copy(&from.node("/a")?, &to, "/a", &how)?;
            let planned = begun.elapsed();
            let planning = source.bill();
            let mut found = Found {
                chunks: plan.chunks(),
                parts: plan.parts().len() as u64,
                planning,
                planned,
                part: plan.parts().first().map_or(0, zarr::tools::Part::chunks),
                bills: Default::default(),
                time: Duration::ZERO,
            };
            if self.runs {
                let plan = plan.begin(&to, &how)?;
                let before = (source.bill(), target.bill());
                let begun = clock::now();
                plan.run(&[0], &from, &to, &how)?;
                found.time = clock::now() - begun;
                found.bills = (source.bill().since(&before.0), target.bill().since(&before.1));
            }
            Ok(found)
        });
        found
    }

    /// The source's document, and a chunk. The checksum keeps readers from reading parts of chunks.
    fn made(&self) -> Result<(Bytes, Bytes)> {
        let make = |shape: &[u64]| {
            let store = zarr::store::from_sync(MemoryStore::new());
            let hierarchy = Hierarchy::create(store, of_dialect(Dialect::V3), &options())?;
            let new = hierarchy.create_array("/a").shape(shape).chunks(&self.from);
            let array =
                new.data_type_named("float32").codec(zarr::tools::codec("crc32c")?).create()?;
            Ok::<_, zarr::Error>((hierarchy, array))
        };
        let (whole, _) = make(&self.shape)?;
        let document = whole.store().to_sync().value(&StoreKey::new("a/zarr.json")?)?;
        let (_, array) = make(&self.from)?;
        let count = self.from.iter().product::<u64>();
        array.write(.., &(0..count).map(|n| n as f32 + 1.0).collect::<Vec<f32>>())?;
        let chunk = array.chunk(&vec![0; self.from.len()])?.encoded()?;
        Ok((document.unwrap_or_default(), chunk.unwrap_or_default()))
    }
}
