//! Near stores and far ones are read in different ways. Is what comes the same?
#![cfg(all(
    feature = "memory",
    feature = "gzip",
    feature = "sharding",
    feature = "transpose",
    feature = "reshape",
    feature = "vlen-utf8"
))]

mod common;

use std::sync::Arc;

use common::selections::{case, meant, seeds};
use proptest::prelude::*;
use zarr::store::{Payload, Store, StoreKey};
use zarr::stores::MemoryStore;
use zarr::{ErrorKind, Hierarchy, NodePath, OpenOptions, Selection};

fn read(
    store: &Arc<dyn Store>,
    path: &NodePath,
    selection: Selection,
    threads: usize,
) -> Result<Vec<i32>, ErrorKind> {
    let options = OpenOptions::new(zarr::standard()).threads(threads);
    let hierarchy = Hierarchy::open(store.clone(), &options).map_err(|e| e.kind())?;
    let array = hierarchy.array(path).map_err(|e| e.kind())?;
    array.read(selection).map_err(|e| e.kind())
}

/// The stored chunk that `which` names, with one byte changed or its end cut off.
fn damage(store: &Arc<dyn Store>, which: usize, at: usize, cut: bool) {
    let keys = store.listable().expect("memory lists").list().expect("memory lists");
    let is_chunk =
        |key: &&StoreKey| !key.as_str().contains(".z") && !key.as_str().ends_with("json");
    let chunks: Vec<&StoreKey> = keys.iter().filter(is_chunk).collect();
    let Some(key) = (!chunks.is_empty()).then(|| chunks[which % chunks.len()]) else { return };
    let value = store.readable().expect("readable").get(key).expect("read").expect("there");
    let mut value = value.to_vec();
    let Some(at) = at.checked_rem(value.len()) else { return };
    match cut {
        true => value.truncate(at),
        false => value[at] ^= 0x40,
    }
    store.writeable().expect("writeable").set(key, Payload::from(value)).expect("set");
}

proptest! {
    /// Shards read inner chunk by inner chunk, chunks of a known size fetched at once, and neighbours together:
    /// each gives what the plain way gives, of sound chunks and of damaged ones.
    #[test]
    fn they_give_the_same(
        case in case(),
        seeds in seeds(),
        damaged in proptest::option::of((any::<usize>(), any::<usize>(), any::<bool>())),
    ) {
        let near: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let far = zarr::stores::log(near.clone(), |_| {});
        let array = case.create(near.clone(), "<i4");
        let count: u64 = array.shape().iter().product();
        array.write(.., &(1..=count as i32).collect::<Vec<_>>()).expect("written");
        if let Some((which, at, cut)) = damaged {
            damage(&near, which, at, cut);
        }
        for seeds in seeds {
            let selection = || meant(&array, seeds.clone()).selection;
            let plain = read(&far, array.path(), selection(), 1);
            for threads in [1, 3] {
                prop_assert_eq!(&read(&near, array.path(), selection(), threads), &plain);
            }
        }
    }
}
