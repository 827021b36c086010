//! Hierarchies of very many arrays, whose documents are made when they are read.

use std::time::Duration;

use zarr::aio::Hierarchy;
use zarr::store::Bytes;
use zarr::{Consolidated, Result};

use super::bucket::{Bucket, Made};
use super::clock;
use super::service::{Bill, Service};
use super::writers::options;

/// Groups of arrays below the root. With no groups, all arrays are directly below it.
#[derive(Clone, Copy, Debug)]
pub struct Tree {
    /// How many groups.
    pub groups: u64,
    /// How many arrays in each.
    pub arrays: u64,
    /// Whether reading each array's document gives a warning.
    pub warns: bool,
}

/// What is done with all of a hierarchy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Lists the nodes and their kinds.
    List,
    /// Opens every node.
    Open,
    /// Consolidates the documents.
    Consolidate,
    /// Consolidates, and opens every node from the copies with a new handle.
    OpenConsolidated,
}

/// What a simulation found.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// How many nodes there were.
    pub nodes: u64,
    /// Virtual time.
    pub time: Duration,
    /// What was requested.
    pub bill: Bill,
    /// How many warnings the hierarchy keeps.
    pub warnings: usize,
}

const GROUP: &str = r#"{"zarr_format":3,"node_type":"group"}"#;

impl Tree {
    fn document(&self) -> Bytes {
        // Only a tolerant reader takes a number for a bool.
        let (data_type, fill) = if self.warns { ("bool", "0") } else { ("float32", "0.0") };
        format!(
            r#"{{"zarr_format":3,"node_type":"array","shape":[365,180,360],"data_type":"{data_type}","chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[1,180,360]}}}},"chunk_key_encoding":{{"name":"default"}},"fill_value":{fill},"codecs":[{{"name":"bytes","configuration":{{"endian":"little"}}}},{{"name":"zstd","configuration":{{"level":3,"checksum":false}}}}],"dimension_names":["time","lat","lon"],"attributes":{{"units":"K","long_name":"air temperature"}}}}"#
        )
        .into()
    }

    /// Whether this is the path of an array, and whether it is that of a group.
    fn kind(&self, path: &str) -> Option<bool> {
        let number = |name: &str, letter: char, below: u64| {
            let digits = name.strip_prefix(letter).filter(|digits| digits.len() == 7)?;
            digits.parse::<u64>().ok().filter(|&number| number < below)
        };
        match (path.split_once('/'), self.groups) {
            (None, _) if path.is_empty() => Some(false),
            (None, 0) => number(path, 'a', self.arrays).map(|_| true),
            (None, groups) => number(path, 'g', groups).map(|_| false),
            (Some((group, array)), groups) => {
                number(group, 'g', groups)?;
                number(array, 'a', self.arrays).map(|_| true)
            }
        }
    }
}

impl Made for Tree {
    fn value(&self, key: &str) -> Option<Bytes> {
        let path = key.strip_suffix("zarr.json")?;
        let is_array = self.kind(path.trim_end_matches('/'))?;
        Some(if is_array { self.document() } else { Bytes::from_static(GROUP.as_bytes()) })
    }

    fn below(&self, prefix: &str) -> (Vec<String>, Vec<String>) {
        let path = prefix.trim_end_matches('/');
        let Some(is_array) = self.kind(path) else { return Default::default() };
        let (letter, count) = match (path.is_empty(), self.groups) {
            _ if is_array => ('c', 0),
            (true, 1..) => ('g', self.groups),
            _ => ('a', self.arrays),
        };
        let prefixes = (0..count).map(|number| format!("{prefix}{letter}{number:07}/"));
        (vec![format!("{prefix}zarr.json")], prefixes.collect())
    }
}

impl Task {
    /// Does it, in a bucket of a service.
    ///
    /// # Errors
    /// Those of the library.
    pub fn run(self, tree: Tree, service: Service, seed: u64) -> Result<Found> {
        let bucket = Bucket::new(service, tree);
        let (found, _) = clock::run(seed, async {
            let live = options().consolidated(Consolidated::Ignore);
            let open = async |options| Hierarchy::open(bucket.client("reader"), &options).await;
            let mut hierarchy = open(live).await?;
            if self == Task::OpenConsolidated {
                hierarchy.consolidate().await?;
            }
            let (before, begun) = (bucket.bill(), clock::now());
            let nodes = match self {
                Task::List => {
                    hierarchy = open(options().consolidated(Consolidated::Ignore)).await?;
                    hierarchy.tree("/").await?.len()
                }
                Task::Open => {
                    hierarchy = open(options().consolidated(Consolidated::Ignore)).await?;
                    hierarchy.nodes("/").await?.len()
                }
                Task::Consolidate => hierarchy.consolidate().await?,
                Task::OpenConsolidated => {
                    let mut reading = options().consolidated(Consolidated::Use);
                    reading.access = zarr::Access::ReadOnly;
                    hierarchy = open(reading).await?;
                    hierarchy.nodes("/").await?.len()
                }
            } as u64;
            let (time, bill) = (clock::now() - begun, bucket.bill().since(&before));
            let warnings = hierarchy.warnings().len();
            Ok::<_, zarr::Error>(Found { nodes, time, bill, warnings })
        });
        found
    }
}
