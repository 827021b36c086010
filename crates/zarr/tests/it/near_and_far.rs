//! Blocking and async calls on local and remote stores give the same elements, errors and warnings.
#![cfg(all(
    feature = "memory",
    feature = "gzip",
    feature = "sharding",
    feature = "transpose",
    feature = "reshape",
    feature = "vlen-utf8"
))]

use std::sync::Arc;

use crate::common::selections::{case, meant, seeds};
use proptest::prelude::*;
use zarr::store::{Payload, Store, StoreKey, from_sync};
use zarr::stores::MemoryStore;
use zarr::{ErrorKind, Hierarchy, NodePath, OpenOptions, Result, Selection, Warning};
use zarr_testkit::{Remote, sample};

/// Elements or the kind of error, and what the hierarchy warned of.
type Outcome = (Result<Vec<i32>, ErrorKind>, Vec<Warning>);

/// Reads with new handles, by either face.
fn read(
    store: &Arc<dyn Store>,
    path: &NodePath,
    selection: Selection,
    threads: usize,
    by_async: bool,
) -> Outcome {
    let options = OpenOptions::new(zarr::standard()).threads(threads);
    let hierarchy = match Hierarchy::open(store.clone(), &options) {
        Ok(hierarchy) => hierarchy,
        Err(e) => return (Err(e.kind()), Vec::new()),
    };
    (read_from(&hierarchy, path, selection, by_async), hierarchy.warnings())
}

fn read_from(
    hierarchy: &Hierarchy,
    path: &NodePath,
    selection: Selection,
    by_async: bool,
) -> Result<Vec<i32>, ErrorKind> {
    let elements = if by_async {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let hierarchy = hierarchy.as_async();
        runtime.block_on(async { hierarchy.array(path).await?.read(selection).await })
    } else {
        hierarchy.array(path).and_then(|array| array.read(selection))
    };
    elements.map_err(|e| e.kind())
}

/// Hierarchies whose chunks are cached: all of them, or few.
fn caching(store: &Arc<dyn Store>) -> Vec<Hierarchy> {
    let open = |limit| {
        let options = OpenOptions::new(zarr::standard()).chunk_cache(limit);
        Hierarchy::open(store.clone(), &options).expect("opened")
    };
    [1 << 24, 4000].map(open).into()
}

/// The stored chunk that `which` names, with one byte changed or its end cut off.
fn damage(store: &Arc<dyn Store>, which: usize, at: usize, cut: bool) {
    let keys = store.to_sync().list().expect("memory lists");
    let is_chunk =
        |key: &&StoreKey| !key.as_str().contains(".z") && !key.as_str().ends_with("json");
    let chunks: Vec<&StoreKey> = keys.iter().filter(is_chunk).collect();
    let Some(key) = (!chunks.is_empty()).then(|| chunks[which % chunks.len()]) else { return };
    let value = store.to_sync().value(key).expect("read").expect("there");
    let mut value = value.to_vec();
    let Some(at) = at.checked_rem(value.len()) else { return };
    if cut {
        value.truncate(at)
    } else {
        value[at] ^= 0x40
    }
    store.to_sync().set(key, Payload::from(value)).expect("set");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sample(48, 256)))]

    /// Of sound chunks and of damaged ones.
    #[test]
    fn four_ways_to_read_give_the_same(
        case in case(),
        seeds in seeds(),
        damaged in proptest::option::of((any::<usize>(), any::<usize>(), any::<bool>())),
    ) {
        let local: Arc<dyn Store> = from_sync(MemoryStore::new());
        let array = case.create(local.clone(), "<i4");
        let count: u64 = array.shape().iter().product();
        array.write(.., &(1..=count as i32).collect::<Vec<_>>()).expect("written");
        if let Some((which, at, cut)) = damaged {
            damage(&local, which, at, cut);
        }
        // Read in the simplest way: one call at a time, and no bytes without a copy.
        let plain = zarr::stores::log(local.clone(), |_| {});
        let remote: Arc<dyn Store> = Arc::new(Remote(local.clone()));
        let cached = [caching(&local), caching(&remote)].concat();
        for seeds in seeds {
            let selection = || meant(&array, seeds.clone()).selection;
            let due = read(&plain, array.path(), selection(), 1, false);
            for (name, store) in [("local", &local), ("remote", &remote)] {
                for by_async in [false, true] {
                    for threads in [1, 3] {
                        let found = read(store, array.path(), selection(), threads, by_async);
                        prop_assert_eq!(&found, &due, "{}, async: {}", name, by_async);
                    }
                }
            }
            for (hierarchy, by_async) in cached.iter().zip([false, true, true, false]) {
                for time in ["first", "second"] {
                    let found = read_from(hierarchy, array.path(), selection(), by_async);
                    prop_assert_eq!(&found, &due.0, "{} time, {:?}", time, hierarchy);
                }
            }
        }
    }
}
