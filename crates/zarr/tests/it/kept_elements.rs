//! What a write does not name stays, and what it names is stored, also where it looks like nothing.
#![cfg(all(feature = "memory", feature = "sharding"))]

use std::sync::Arc;

use zarr::store::{Capabilities, Store, StoreKey, SyncStore, from_sync};
use zarr::stores::MemoryStore;
use zarr::{Array, Dialect, Hierarchy, OpenOptions, Result, Selection, steps};

/// How chunks are stored.
#[derive(Clone, Copy, Debug)]
enum Layout {
    Chunks,
    Shards,
}

/// An array of 24 elements in stored chunks of 8, holding 1 to 24.
fn filled(dialect: Dialect, layout: Layout) -> Result<Array> {
    let options = OpenOptions::new(zarr::standard()).read_write();
    let store = from_sync(MemoryStore::new());
    let hierarchy = Hierarchy::create(store, options.format(dialect), &options)?;
    let array = hierarchy.create_array("/a").shape(&[24]).data_type_named("u1");
    let array = match layout {
        Layout::Chunks => array.chunks(&[8]).create()?,
        Layout::Shards => array.chunks(&[4]).shards(&[8]).create()?,
    };
    array.write(.., &(1..=24).collect::<Vec<u8>>())?;
    Ok(array)
}

/// Selections that begin and end where chunks, inner chunks or shards do, and leave elements between out; and which
/// elements they mean.
fn selections() -> Vec<(Selection, Vec<usize>)> {
    let listed = |list: &[u64]| {
        let selection = Selection::outer([list.to_vec()]);
        (selection, list.iter().map(|&n| n as usize).collect())
    };
    let points = |list: &[u64]| {
        let selection = Selection::points([list.to_vec()]);
        (selection, list.iter().map(|&n| n as usize).collect())
    };
    vec![
        (Selection::outer([steps(0..8, 7)]), vec![0, 7]),
        (Selection::outer([steps(0..4, 3)]), vec![0, 3]),
        (Selection::outer([steps(0..22, 7)]), vec![0, 7, 14, 21]),
        listed(&[0, 7, 8, 15]),
        listed(&[0, 1, 2, 3, 4, 5, 7]),
        listed(&[15, 8, 7, 0]),
        points(&[0, 7]),
        points(&[3, 0]),
        // As many as a chunk or an inner chunk has, some of them twice.
        listed(&[0, 0, 2, 3]),
        listed(&[0, 0, 2, 2, 4, 4, 6, 6]),
        points(&[0, 0, 2, 3]),
        points(&[7, 0, 0, 1, 2, 4, 5, 6]),
    ]
}

/// Issue 13, point 5: a write with holes was taken for one that replaces the whole chunk.
#[tokio::test]
async fn a_write_with_holes_keeps_what_is_in_them() -> Result<()> {
    let cases = [
        (Dialect::V3, Layout::Chunks),
        (Dialect::V3, Layout::Shards),
        (Dialect::V2, Layout::Chunks),
        (Dialect::Draft, Layout::Chunks),
    ];
    for (dialect, layout) in cases {
        for (selection, named) in selections() {
            let mut expected: Vec<u8> = (1..=24).collect();
            named.iter().for_each(|&n| expected[n] = 100);
            let elements = vec![100u8; named.len()];
            let array = filled(dialect, layout)?;
            array.write(&selection, &elements)?;
            assert_eq!(array.read::<u8>(..)?, expected, "{dialect}, {layout:?}, {named:?}");
            let array = filled(dialect, layout)?;
            let waiting = array.hierarchy().as_async();
            waiting.array(array.path()).await?.write(&selection, elements).await?;
            assert_eq!(array.read::<u8>(..)?, expected, "{dialect}, {layout:?}, {named:?}");
        }
    }
    Ok(())
}

/// Where the fill value is undefined, zeros are elements like others: they are stored, by whole chunks and by parts.
#[tokio::test]
async fn zeros_are_stored_where_the_fill_value_is_undefined() -> Result<()> {
    for dialect in [Dialect::V2, Dialect::Draft] {
        for waits in [false, true] {
            let options = OpenOptions::new(zarr::standard()).read_write();
            let store: Arc<dyn Store> = from_sync(MemoryStore::new());
            let hierarchy = Hierarchy::create(store.clone(), options.format(dialect), &options)?;
            let array = hierarchy.create_array("/a").shape(&[12]).chunks(&[4]);
            let array = array.data_type_named("u1").undefined_fill().create()?;
            let waiting = array.hierarchy().as_async();
            let waiting = waiting.array(array.path()).await?;
            let write = async |from: u64, to: u64, element: u8| {
                let elements = vec![element; (to - from) as usize];
                if waits {
                    waiting.write(from..to, elements).await
                } else {
                    array.write(from..to, &elements)
                }
            };
            // Never stored before; a part; and a part that makes a stored chunk all zeros.
            write(0, 4, 0).await?;
            write(4, 6, 0).await?;
            write(8, 10, 7).await?;
            write(8, 10, 0).await?;
            assert_eq!(array.stored_chunks()?, 3, "{dialect}, waits: {waits}");
            let chunks = match dialect {
                Dialect::V2 => ["a/0", "a/1", "a/2"],
                _ => ["data/root/a/c0", "data/root/a/c1", "data/root/a/c2"],
            };
            for chunk in chunks {
                let key = StoreKey::new(chunk)?;
                let stored = store.to_sync().value(&key)?;
                assert_eq!(stored.as_deref(), Some(&[0u8; 4][..]), "{dialect}, {chunk}");
            }
        }
    }
    Ok(())
}

/// Memory that compares before it sets, and not before it erases, as many buckets do.
#[derive(Debug, Default)]
struct ErasesUnguarded(MemoryStore);

impl SyncStore for ErasesUnguarded {
    zarr_testkit::forward_calls!(0: name get open put erase_prefix list_prefix list_dir);

    fn capabilities(&self) -> Capabilities {
        Capabilities { create: false, swap_erase: false, ..self.0.capabilities() }
    }
}

/// A part that makes a chunk all fill: the chunk is erased, but not where another writer's elements could go with it, and
/// not where the caller keeps such chunks.
#[test]
fn a_chunk_that_became_fill_is_erased_where_nothing_is_lost_by_it() -> Result<()> {
    for (guarded, keeps, expected) in [(true, false, 2), (true, true, 3), (false, false, 3)] {
        let mut options = OpenOptions::new(zarr::standard()).read_write();
        options.options.keep_fill_chunks = keeps;
        let store: Arc<dyn Store> = if guarded {
            from_sync(MemoryStore::new())
        } else {
            from_sync(ErasesUnguarded::default())
        };
        let hierarchy = Hierarchy::create(store, options.format(Dialect::V3), &options)?;
        let array = hierarchy.create_array("/a").shape(&[12]).chunks(&[4]);
        let array = array.data_type_named("u1").create()?;
        array.write(.., &[7u8; 12])?;
        array.write(0..2, &[0u8; 2])?;
        array.write(2..4, &[0u8; 2])?;
        assert_eq!(array.stored_chunks()?, expected, "guarded: {guarded}, keeps: {keeps}");
        assert_eq!(array.read::<u8>(..)?, [[0; 4], [7; 4], [7; 4]].concat());
    }
    Ok(())
}
