//! Which requests a selection sends to a store.
#![cfg(all(
    feature = "memory",
    feature = "gzip",
    feature = "sharding",
    feature = "transpose",
    feature = "reshape",
    feature = "vlen-utf8"
))]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::common::selections::{Case, Kind, case, meant, seeds};
use proptest::prelude::*;
use zarr::store::{Store, from_sync};
use zarr::stores::{MemoryStore, Outcome};

/// What was asked for a chunk.
#[derive(Clone, Debug, Default)]
struct Asked {
    reads: u32,
    /// Bytes that came.
    read: u64,
    sets: u32,
}

type Log = Arc<Mutex<BTreeMap<String, Asked>>>;

fn logged() -> (Arc<dyn Store>, Log) {
    let log = Log::default();
    let noted = log.clone();
    let store = zarr::stores::log(from_sync(MemoryStore::new()), move |call| {
        let mut log = noted.lock().expect("no panic");
        let asked = log.entry(call.key.to_owned()).or_default();
        match call.operation {
            "get" | "open" | "read" => {
                asked.reads += 1;
                asked.read += call.bytes;
            }
            _ if matches!(call.outcome, Outcome::Done) => asked.sets += 1,
            _ => {}
        }
    });
    (store, log)
}

/// How large each object is.
fn sizes(store: &Arc<dyn Store>) -> BTreeMap<String, u64> {
    let keys = store.to_sync().list().expect("memory lists");
    let get = |key| store.to_sync().value(key).expect("read").expect("there");
    keys.iter().map(|key| (key.to_string(), get(key).len() as u64)).collect()
}

/// Does something, of which no chunk is asked for more than once, no byte of it comes twice, and no chunk is
/// set more often than said.
fn once(
    case: &Case,
    (store, log): &(Arc<dyn Store>, Log),
    sets: u32,
    act: impl FnOnce(),
) -> Result<(), TestCaseError> {
    let reads = match (case.kind, sets) {
        // Of a shard its index, those of inner shards, then the inner chunks that are touched.
        (Kind::Sharded | Kind::ShardedFOrder, 0) => 2,
        (Kind::Nested, 0) => 3,
        // What stays of a shard is copied piece by piece.
        (Kind::Sharded | Kind::ShardedFOrder | Kind::Nested, _) => u32::MAX,
        _ => 1,
    };
    let sizes = sizes(store);
    log.lock().expect("no panic").clear();
    act();
    let asked = std::mem::take(&mut *log.lock().expect("no panic"));
    // A write looks at the document of the array, too.
    let is_chunk = |key: &str| !key.ends_with(".json") && !key.contains("/.z");
    for (key, asked) in asked.into_iter().filter(|(key, _)| is_chunk(key)) {
        prop_assert!(asked.reads <= reads && asked.sets <= sets, "{key}: {asked:?}");
        let size = sizes.get(&key).copied().unwrap_or(0);
        prop_assert!(asked.read <= size, "{key}: {asked:?}, of {size} bytes");
    }
    Ok(())
}

proptest! {
    #[test]
    fn every_chunk_is_read_once_and_written_once(case in case(), seeds in seeds()) {
        let logged = logged();
        let array = case.create(logged.0.clone(), "<i4");
        let count: u64 = array.shape().iter().product();
        array.write(.., &(1..=count as i32).collect::<Vec<_>>()).expect("written");
        let waiting = array.hierarchy().as_async();
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        for seeds in seeds {
            let meant = meant(&array, seeds);
            let selection = || meant.selection.clone();
            // New handles: they remember no index.
            let array = array.hierarchy().array(array.path()).expect("opened");
            let waiting = runtime.block_on(waiting.array(array.path())).expect("opened");
            let mut elements = Vec::new();
            once(&case, &logged, 0, || elements = array.read::<i32>(selection()).expect("read"))?;
            once(&case, &logged, 0, || {
                runtime.block_on(waiting.read::<i32>(selection())).expect("read");
            })?;
            elements.iter_mut().for_each(|n| *n += 1000);
            once(&case, &logged, 1, || array.write(selection(), &elements).expect("written"))?;
            elements.iter_mut().for_each(|n| *n += 1000);
            once(&case, &logged, 1, || {
                runtime.block_on(waiting.write(selection(), elements)).expect("written");
            })?;
        }
    }
}
