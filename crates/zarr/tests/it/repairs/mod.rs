//! What the tests of repairs share: stores of every kind, a hierarchy to damage, and kinds of damage.

#![cfg(all(
    feature = "memory",
    feature = "filesystem",
    feature = "zip",
    feature = "lmdb",
    feature = "sharding"
))]
#![allow(dead_code, reason = "each test file uses its own part")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tempfile::TempDir;
use zarr::store::{Payload, Store, StoreKey, SyncStore};
use zarr::tools::Level;
use zarr::tools::repair::{RepairOptions, RepairReport, RepairStep};
use zarr::tools::validate::{Problem, ValidateOptions};
use zarr::{Dialect, Hierarchy, OpenOptions, Result};

pub type Values = BTreeMap<String, Vec<u8>>;

pub fn options() -> OpenOptions {
    OpenOptions::new(zarr::standard()).read_write()
}

pub fn key(text: &str) -> StoreKey {
    StoreKey::new(text).expect("a good key")
}

/// A place for a store, which goes with it.
pub struct Place {
    pub url: String,
    _folder: TempDir,
}

pub const KINDS: [&str; 4] = ["memory", "folder", "zip", "lmdb"];

impl Place {
    pub fn new(kind: &str) -> Place {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let folder = tempfile::tempdir().expect("a folder");
        let within = folder.path().display();
        let url = match kind {
            "memory" => format!("memory://repair {}", NEXT.fetch_add(1, Ordering::Relaxed)),
            "folder" => format!("{within}/x.zarr"),
            "zip" => format!("zip://{within}/x.zip"),
            _ => format!("lmdb://{within}/x.lmdb"),
        };
        Place { url, _folder: folder }
    }

    pub fn store(&self) -> Arc<dyn Store> {
        options().store(&self.url).expect("a store")
    }

    /// Every key and its value.
    pub fn values(&self) -> Values {
        values(&*self.store().to_sync())
    }

    /// Changes the store by its keys.
    pub fn change(&self, change: impl FnOnce(&dyn SyncStore)) {
        let store = self.store().to_sync();
        change(&*store);
        store.flush().expect("flushed");
    }

    /// Makes a hierarchy with two arrays of four integers; returns the keys of their documents.
    pub fn with_arrays(&self, dialect: Dialect, names: [&str; 2]) -> [String; 2] {
        let format = zarr::format::of_dialect(dialect);
        let hierarchy =
            Hierarchy::create(self.store(), format, &options().read_write()).expect("created");
        for name in names {
            let array = hierarchy.create_array(name).shape(&[4]).chunks(&[2]);
            let array = array.data_type_named("int32").create().expect("created");
            array.write(.., &[1, 2, 3, 4]).expect("written");
        }
        hierarchy.flush().expect("flushed");
        let document = if dialect == Dialect::V2 { ".zarray" } else { "zarr.json" };
        names.map(|name| format!("{name}/{document}"))
    }

    pub fn repair(&self, how: &RepairOptions<'_>) -> (RepairReport, Vec<RepairStep>) {
        self.repair_through(&options(), how).expect("repaired")
    }

    pub fn repair_through(
        &self,
        open: &OpenOptions,
        how: &RepairOptions<'_>,
    ) -> Result<(RepairReport, Vec<RepairStep>)> {
        let mut steps = Vec::new();
        let mut told = |step: &RepairStep| steps.push(step.clone());
        let report = zarr::tools::repair::repair(&self.url, "/", open, how, &mut told)?;
        Ok((report, steps))
    }

    /// What is wrong, without notes.
    pub fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        let how = ValidateOptions::new(Level::Data);
        zarr::tools::validate::validate(&self.url, "/", &options(), &how, &mut |problem| {
            if !problem.kind.is_note() {
                problems.push(problem.clone());
            }
        })
        .expect("validated");
        problems
    }
}

pub fn values(store: &dyn SyncStore) -> Values {
    let value = |key: StoreKey| {
        let bytes = store.value(&key).expect("readable").expect("there");
        (key.to_string(), bytes.to_vec())
    };
    store.list().expect("listed").into_iter().map(value).collect()
}

pub fn set(store: &dyn SyncStore, name: &str, bytes: &[u8]) {
    store.set(&key(name), Payload::new(bytes)).expect("set");
}

/// A change of the bytes of a value.
pub fn edit(store: &dyn SyncStore, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
    let bytes = store.value(&key(name)).expect("readable");
    let mut bytes = bytes.unwrap_or_else(|| panic!("{name} is there")).to_vec();
    change(&mut bytes);
    set(store, name, &bytes);
}

/// The prefix of the chunks of the array `/g/a`, and the name of its chunk.
pub fn chunk(dialect: Dialect, row: u64, column: u64) -> String {
    match dialect {
        Dialect::V3 => format!("g/a/c/{row}/{column}"),
        Dialect::V2 => format!("g/a/{row}/{column}"),
        _ => format!("data/root/g/a/c{row}/{column}"),
    }
}

/// A key that looks like a chunk of the array, and is none.
pub fn stray(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::V3 => "g/a/c/7/7/7",
        Dialect::V2 => "g/a/7/7/7",
        _ => "data/root/g/a/c7/7/7",
    }
}

pub fn document(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::V3 => "g/a/zarr.json",
        Dialect::V2 => "g/a/.zarray",
        _ => "meta/root/g/a.array.json",
    }
}

/// Two groups and two arrays of compressed chunks, consolidated.
pub fn fill(place: &Place, dialect: Dialect) {
    let hierarchy = zarr::create_with(&place.url, dialect, &options()).expect("created");
    hierarchy.create_group("/g", zarr::Object::new().with("a", "b")).expect("created");
    for name in ["/g/a", "/b"] {
        let array = hierarchy.create_array(name).shape(&[6, 6]).chunks(&[2, 2]);
        let array =
            array.data_type_named("int32").codec(zarr::tools::codec("gzip").expect("known"));
        let numbers: Vec<i32> = (1..=36).collect();
        array.create().expect("created").write(.., &numbers).expect("written");
    }
    hierarchy.consolidate().expect("consolidated");
    hierarchy.flush().expect("flushed");
}

/// The array `/s` of shards, with elements that compress to different lengths.
pub fn fill_shards(place: &Place, codec: Option<&str>) -> Hierarchy {
    let hierarchy = zarr::create_with(&place.url, Dialect::V3, &options()).expect("created");
    let builder = hierarchy.create_array("/s").shape(&[8, 8]).chunks(&[2, 2]).shards(&[4, 4]);
    let builder = builder.data_type_named("int32");
    let builder = match codec {
        Some(codec) => builder.codec(zarr::tools::codec(codec).expect("known")),
        None => builder,
    };
    let array = builder.create().expect("created");
    array.write(.., &shard_numbers()).expect("written");
    hierarchy.flush().expect("flushed");
    hierarchy
}

pub fn shard_numbers() -> Vec<i32> {
    (0..64).map(|n: i32| if n % 3 == 0 { n + 1 } else { n * 7919 + 100_003 }).collect()
}
