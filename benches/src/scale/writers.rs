//! Many writers of one array in one bucket.

use std::time::Duration;

use futures::future::try_join_all;
use zarr::aio::Hierarchy;
use zarr::format::of_dialect;
use zarr::{Dialect, OpenOptions, Result};

use super::bucket::{Bucket, Nothing};
use super::clock;
use super::service::{Bill, Service};

/// How the regions of writers lie to stored objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Regions {
    /// Each is a whole chunk.
    Aligned,
    /// Each has the second half of a chunk and the first half of the next.
    Misaligned,
    /// Each is a whole inner chunk of the one shard that all write to.
    OneShard,
    /// All are in one chunk.
    OneChunk,
    /// Each is appended to the array, a chunk at a time: all change one document.
    Append,
}

/// A simulation of writers.
#[derive(Clone, Copy, Debug)]
pub struct Writers {
    /// How many there are.
    pub count: u64,
    /// How many regions each writes, one after the other.
    pub writes: u64,
    /// Where they write.
    pub regions: Regions,
    /// Whether all are threads of one process; else each is a machine.
    pub one_process: bool,
    /// The store.
    pub service: Service,
    /// Elements of a chunk, or of an inner chunk, of four bytes each.
    pub chunk: u64,
}

/// What a simulation found.
#[derive(Clone, Debug)]
pub struct Found {
    /// Virtual time until the last writer ended.
    pub time: Duration,
    /// Of each write.
    pub waits: Vec<Duration>,
    /// Requests of the writers.
    pub bill: Bill,
    /// Elements that are not what their writers wrote.
    pub wrong: u64,
    /// Writers that got an error.
    pub errors: u64,
}

impl Found {
    /// The longest of all writes.
    pub fn longest(&self) -> Duration {
        self.waits.iter().copied().max().unwrap_or_default()
    }
}

/// Options of a simulation's handles.
pub fn options() -> OpenOptions {
    OpenOptions::new(zarr::standard()).read_write().threads(1)
}

impl Writers {
    /// The array's length, and that of a region.
    fn lengths(&self) -> (u64, u64) {
        let regions = self.count * self.writes;
        match self.regions {
            Regions::Aligned | Regions::OneShard => (regions * self.chunk, self.chunk),
            Regions::Misaligned => ((regions + 1) * self.chunk, self.chunk),
            Regions::OneChunk => {
                (regions * (self.chunk / regions).max(1), (self.chunk / regions).max(1))
            }
            Regions::Append => (0, self.chunk),
        }
    }

    fn start(&self, number: u64) -> u64 {
        let (_, len) = self.lengths();
        number * len + if self.regions == Regions::Misaligned { self.chunk / 2 } else { 0 }
    }

    /// Runs the writers, then reads what they wrote.
    ///
    /// # Errors
    /// Those of the library, but for those that writers get.
    pub fn run(&self, seed: u64) -> Result<Found> {
        let bucket = Bucket::new(self.service, Nothing);
        let (len, region) = self.lengths();
        let (found, _) = clock::run(seed, async {
            let (store, options) = (bucket.client("owner"), &options());
            let hierarchy = Hierarchy::create(store, of_dialect(Dialect::V3), options).await?;
            let new = hierarchy.create_array("/a").shape(&[len]).data_type_named("uint32");
            let new = match self.regions {
                Regions::OneShard => new.chunks(&[self.chunk]).shards(&[len]),
                Regions::OneChunk => new.chunks(&[len]),
                _ => new.chunks(&[self.chunk]),
            };
            new.create().await?;
            let handles = (0..self.count).map(async |writer| {
                let name = if self.one_process { 0 } else { writer };
                let store = bucket.client(&format!("machine-{name}"));
                Hierarchy::open(store, options).await?.array("/a").await
            });
            let handles = try_join_all(handles).await?;
            let (before, begun) = (bucket.bill(), clock::now());
            let each = handles.iter().enumerate().map(async |(writer, array)| {
                let mut waits = Vec::new();
                for write in 0..self.writes {
                    let number = writer as u64 * self.writes + write;
                    let begun = clock::now();
                    let elements = vec![number as u32 + 1; region as usize];
                    let start = self.start(number);
                    let done = match self.regions {
                        Regions::Append => array.append(0, elements).await.map(drop),
                        _ => array.write(start..start + region, elements).await,
                    };
                    if done.is_err() {
                        return (waits, 1);
                    }
                    waits.push(clock::now() - begun);
                }
                (waits, 0)
            });
            let each = futures::future::join_all(each).await;
            let (time, bill) = (clock::now() - begun, bucket.bill());
            let errors = each.iter().map(|(_, errors)| errors).sum();
            let waits: Vec<Duration> = each.into_iter().flat_map(|(waits, _)| waits).collect();
            let array = hierarchy.array("/a").await?;
            let elements = array.read::<u32>(..).await?;
            let wrong = self.wrong(&elements);
            Ok::<_, zarr::Error>(Found { time, waits, bill: bill.since(&before), wrong, errors })
        });
        found
    }

    /// How many elements are not what was written.
    fn wrong(&self, elements: &[u32]) -> u64 {
        let (_, region) = self.lengths();
        let regions = self.count * self.writes;
        if self.regions == Regions::Append {
            // In any order, each once.
            let mut found: Vec<u32> = elements.to_vec();
            found.sort_unstable();
            let expected = (1..=regions as u32).flat_map(|n| (0..region).map(move |_| n));
            let wrong = expected.zip(&found).filter(|(expected, found)| expected != *found).count();
            return wrong as u64 + (regions * region).abs_diff(found.len() as u64);
        }
        let is_wrong = |&number: &u64| {
            let start = self.start(number) as usize;
            let part = elements.get(start..start + region as usize).unwrap_or_default();
            part.is_empty() || part.iter().any(|&element| u64::from(element) != number + 1)
        };
        (0..regions).filter(is_wrong).count() as u64
    }
}
