//! Stored chunks that are checked against a manifest whenever they are read, whole or in part.
#![cfg(all(feature = "memory", feature = "sharding"))]

use std::sync::Arc;

use zarr::store::{Store, StoreKey, from_sync};
use zarr::stores::MemoryStore;
use zarr::tools::ChunkManifest;
use zarr::{Dialect, ErrorKind, Hierarchy, Node, OpenOptions, Result};
use zarr_testkit::Remote;

fn options() -> OpenOptions {
    OpenOptions::new(zarr::standard()).read_write()
}

#[test]
fn parts_of_shards_are_checked_as_whole_objects() -> Result<()> {
    let store: Arc<dyn Store> = from_sync(MemoryStore::new());
    let hierarchy = Hierarchy::create(store.clone(), options().format(Dialect::V3), &options())?;
    let array = hierarchy.create_array("/a").shape(&[16]).chunks(&[2]).shards(&[8]);
    let array = array.data_type_named("uint8").create()?;
    let elements: Vec<u8> = (1..=16).collect();
    array.write(.., &elements)?;
    let manifest = ChunkManifest::of_node(&Node::Array(array))?;
    let keys: Vec<&str> = manifest.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["a/c/0", "a/c/1"]);
    let manifest = Arc::new(manifest);
    let openings = || -> Vec<Hierarchy> {
        let stores: [Arc<dyn Store>; 2] = [store.clone(), Arc::new(Remote(store.clone()))];
        let caches = [0, 1 << 20];
        let open = |store: &Arc<dyn Store>, cache: u64| {
            Hierarchy::open(manifest.checked(store), &options().chunk_cache(cache))
                .expect("documents are not in the manifest")
        };
        stores.iter().flat_map(|store| caches.map(|cache| open(store, cache))).collect()
    };
    for hierarchy in openings() {
        let array = hierarchy.array("/a")?;
        assert_eq!(array.read::<u8>(..)?, elements);
        assert_eq!(array.read::<u8>(3..10)?, elements[3..10]);
        manifest.check_keys(&Node::Array(array))?;
    }
    // The last inner chunk of the first shard: the others are as they were.
    let key = StoreKey::new("a/c/0")?;
    let mut bytes = store.to_sync().value(&key)?.expect("it is stored").to_vec();
    bytes[7] ^= 1;
    store.to_sync().set(&key, bytes.into())?;
    for hierarchy in openings() {
        let array = hierarchy.array("/a")?;
        for part in [0..2, 6..8, 0..16] {
            let error = array.read::<u8>(part).expect_err("another shard is stored");
            assert_eq!((error.kind(), error.key()), (ErrorKind::Store, Some(&key)), "{error}");
            assert!(error.to_string().contains("is not the one of the manifest"), "{error}");
        }
        assert_eq!(array.read::<u8>(8..16)?, elements[8..]);
    }
    store.to_sync().erase(&key)?;
    for hierarchy in openings() {
        let array = hierarchy.array("/a")?;
        let error = array.read::<u8>(0..1).expect_err("it is lost");
        assert!(error.to_string().contains("in the manifest and not stored"), "{error}");
        let error = manifest.check_keys(&Node::Array(array)).expect_err("it is lost");
        assert_eq!((error.kind(), error.key()), (ErrorKind::CorruptData, Some(&key)), "{error}");
        assert!(error.hint().is_some_and(|hint| hint.contains("copy it again")), "{error}");
    }
    Ok(())
}
