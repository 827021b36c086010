//! A damaged plain chunk is reported, also by a read of a part of it.
#![cfg(feature = "memory")]

use zarr::store::{Payload, StoreKey, SyncStore, from_sync};
use zarr::stores::MemoryStore;
use zarr::{Dialect, Error, Hierarchy, NodePath, OpenOptions, Result};

#[test]
fn a_chunk_of_another_size_is_an_error_for_each_part() -> Result<()> {
    let memory = MemoryStore::new();
    let store = from_sync(memory.clone());
    let options = OpenOptions::new(zarr::standard()).read_write();
    let format = zarr::format::of_dialect(Dialect::V3);
    let hierarchy = Hierarchy::create(store, format, &options)?;
    let builder = hierarchy.create_array(NodePath::new("/a").expect("a path")).shape(&[128, 128]);
    let array = builder.chunks(&[128, 128]).data_type_named("uint32").create()?;
    let elements: Vec<u32> = (0..128 * 128).collect();
    array.write(.., &elements)?;
    assert_eq!(array.read::<u32>((5, 7..9))?, [5 * 128 + 7, 5 * 128 + 8]);
    let key = StoreKey::new("a/c/0/0").expect("a key");
    let stored = memory.value(&key).expect("got").expect("it is stored").to_vec();
    for size in [stored.len() - 4, stored.len() + 4, 1000, 0] {
        let mut damaged = stored.clone();
        damaged.resize(size, 0);
        memory.set(&key, Payload::from(damaged)).expect("set");
        for part in [(0..1, 0..1), (127..128, 127..128), (5..6, 0..128)] {
            let error: Error = array.read::<u32>(part.clone()).expect_err("it is damaged");
            let text = error.to_string();
            assert!(text.contains("65536") && text.contains(&size.to_string()), "{part:?}: {text}");
        }
    }
    Ok(())
}
