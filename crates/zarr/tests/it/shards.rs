//! Shards are read and written like any other chunks, and for fewer requests.
#![cfg(all(feature = "memory", feature = "gzip", feature = "sharding"))]

use zarr::format::of_dialect;
use zarr::store::from_sync;
use zarr::stores::{Call, MemoryStore};
use zarr::tools::CopyOptions;
use zarr::{Array, Dialect, Hierarchy, NodePath, OpenOptions, Result};
use zarr_testkit::{Records, record};

fn options() -> OpenOptions {
    OpenOptions::new(zarr::standard()).read_write()
}

/// A hierarchy in memory, and the calls that it makes: what, where, how many bytes.
fn watched() -> (Hierarchy, Records<String>) {
    let note = |call: &Call<'_>| Some(format!("{} {} {}", call.operation, call.key, call.bytes));
    let (store, calls) = record(from_sync(MemoryStore::new()), note);
    let hierarchy = Hierarchy::create(store, of_dialect(Dialect::V3), &options()).unwrap();
    (hierarchy, calls)
}

fn path(text: &str) -> NodePath {
    NodePath::new(text).unwrap()
}

fn sharded(hierarchy: &Hierarchy, f_order: bool) -> Array {
    hierarchy
        .create_array(path("/a"))
        .shape(&[20, 30])
        .chunks(&[2, 5])
        .shards(&[8, 10])
        .data_type_named("uint16")
        .fill_value(7u64)
        .f_order(f_order)
        .codec(zarr::tools::codec("gzip:1").unwrap())
        .create()
        .unwrap()
}

/// F-089: first the index, then the inner chunks that are asked for; neighbours in one request.
#[test]
fn a_part_of_a_shard_is_read_without_the_rest() -> Result<()> {
    let (hierarchy, calls) = watched();
    let array = sharded(&hierarchy, false);
    let elements: Vec<u16> = (0..600).collect();
    array.write(.., &elements)?;
    calls.take();
    assert_eq!(array.read::<u16>((0..1, 0..1))?, [0]);
    let read = calls.take();
    assert_eq!(read.len(), 2, "{read:?}");
    assert_eq!(read[0], "read a/c/0/0 132");
    assert!(read[1].starts_with("read a/c/0/0 "));
    // All of a shard is fetched at once.
    assert_eq!(array.read::<u16>((0..8, 0..10))?.len(), 80);
    let read = calls.take();
    assert!(read.len() == 1 && read[0].starts_with("get a/c/0/0"), "{read:?}");
    Ok(())
}

/// Untouched inner chunks keep their bytes, even such as cannot be decoded.
#[test]
fn a_part_is_written_without_looking_at_the_rest() -> Result<()> {
    let (hierarchy, _) = watched();
    let array = sharded(&hierarchy, false);
    array.write((0..8, 0..10), &[1u16; 80])?;
    let key = zarr::store::StoreKey::new("a/c/0/0")?;
    let store = hierarchy.store();
    let mut shard = store.to_sync().value(&key)?.unwrap().to_vec();
    // The second inner chunk of the first row is damaged.
    let second =
        shard.iter().enumerate().filter(|(_, b)| **b == 0x1f).map(|(at, _)| at).nth(1).unwrap();
    shard[second..second + 4].fill(0xff);
    store.to_sync().set(&key, (&shard[..]).into())?;
    array.write((0..2, 0..5), &[9u16; 10])?;
    assert_eq!(array.read::<u16>((0..2, 0..5))?, [9; 10]);
    assert!(array.read::<u16>((0..2, 5..10)).is_err());
    Ok(())
}

/// Parts of one shard written at once all arrive.
#[test]
fn writers_of_one_shard_lose_nothing() -> Result<()> {
    let (hierarchy, _) = watched();
    let array = sharded(&hierarchy, false);
    std::thread::scope(|scope| {
        for row in 0..8u64 {
            let array = array.clone();
            scope.spawn(move || {
                for column in 0..10u64 {
                    let value = (row * 10 + column + 100) as u16;
                    array.write((row, column), &[value]).unwrap();
                }
            });
        }
    });
    let found = array.read::<u16>((0..8, 0..10))?;
    assert_eq!(found, (100..180).collect::<Vec<u16>>());
    Ok(())
}

/// F-091: a shard of nothing but fill is no object.
#[test]
fn what_becomes_fill_is_not_stored() -> Result<()> {
    let (hierarchy, _) = watched();
    let array = sharded(&hierarchy, false);
    array.write((3, 4), &[1u16])?;
    array.write((3, 4), &[7u16])?;
    let keys = hierarchy.store().to_sync().list()?;
    assert!(keys.iter().all(|key| !key.as_str().contains("/c/")), "{keys:?}");
    Ok(())
}

/// Z2-090: dialects without shards get the inner chunks; back again, shards of any shape.
#[test]
fn shards_come_and_go_when_arrays_are_copied() -> Result<()> {
    let (from, _) = watched();
    for f_order in [false, true] {
        let at = if f_order { "/f" } else { "/c" };
        let elements: Vec<u16> = (0..600).map(|n| n % 91).collect();
        from.create_array(path(at))
            .shape(&[20, 30])
            .chunks(&[2, 5])
            .shards(&[8, 10])
            .data_type_named("uint16")
            .f_order(f_order)
            .create()?
            .write(.., &elements)?;
        for dialect in [Dialect::V2, Dialect::Draft, Dialect::V3] {
            let target = zarr::create("memory://", dialect)?;
            let shards = (dialect == Dialect::V3).then(|| vec![4, 15]);
            let options = CopyOptions { shards, ..CopyOptions::default() };
            zarr::tools::copy(&from.node(path(at))?, &target, path("/a"), &options)?;
            let copy = target.array(path("/a"))?;
            assert_eq!(copy.read::<u16>(..)?, elements, "{dialect}");
            assert_eq!(copy.chunk_shape(), Some(vec![2, 5]), "{dialect}");
            let shards = (dialect == Dialect::V3).then(|| vec![4, 15]);
            assert_eq!(copy.shard_shape(), shards, "{dialect}");
        }
    }
    Ok(())
}

#[test]
fn shards_that_are_not_made_of_chunks_are_refused() {
    let (hierarchy, _) = watched();
    let builder = |shards: &[u64]| {
        let builder = hierarchy.create_array(path("/a")).shape(&[20, 30]).chunks(&[2, 5]);
        builder.shards(shards).data_type_named("uint16").create().unwrap_err().to_string()
    };
    assert!(
        builder(&[3, 10]).contains("not a multiple of the chunk shape"),
        "{}",
        builder(&[3, 10])
    );
    assert!(builder(&[8]).contains("rank"));
    assert!(builder(&[0, 10]).contains("multiple of the chunk shape"));
    let draft = zarr::create("memory://", Dialect::Draft).unwrap();
    let builder = draft.create_array(path("/a")).shape(&[20]).chunks(&[2]).shards(&[10]);
    let error = builder.data_type_named("uint16").create().unwrap_err().to_string();
    assert!(error.contains("sharding_indexed"), "{error}");
}
