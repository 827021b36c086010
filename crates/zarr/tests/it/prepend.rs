//! Arrays grow and shrink at both ends, and no writer takes away what is another's.
#![cfg(feature = "memory")]

use std::sync::{Arc, Mutex};
use std::thread;

use crate::common::{DIALECTS, document, hierarchy, keys, knowing, offset, path};
use zarr::data_type::CoreType;
use zarr::store::{
    SnapshotOptions, Store, StoreKey, SyncSnapshot, SyncStore, from_sync, from_sync_arc,
};
use zarr::stores::MemoryStore;
use zarr::{Array, Dialect, ErrorKind, Guard, Hierarchy, Json, Result, StoreError};

#[test]
fn chunks_of_negative_index_have_keys_and_are_counted() -> Result<()> {
    for (dialect, separator, expected) in [
        (Dialect::V3, '/', "a/c/-2/1"),
        (Dialect::V3, '.', "a/c.-2.1"),
        (Dialect::Draft, '/', "data/root/a/c-2/1"),
        (Dialect::Draft, '.', "data/root/a/c-2.1"),
    ] {
        let (store, hierarchy) = hierarchy(dialect);
        let array = hierarchy.create_array(path("/a")).shape(&[5, 7]).data_type(CoreType::Int32);
        let array = array.separator(separator).grid(offset(&[2, 3], &[-3, 4], &[5, 7])).create()?;
        array.write(.., &[1i32; 35])?;
        let chunks: Vec<_> = array.chunks(..)?.collect();
        assert_eq!(chunks.len(), 9);
        assert_eq!(chunks[0].indices(), [-2, 1]);
        assert_eq!(chunks[0].region().shape(), [1, 2]);
        assert_eq!(chunks[0].key()?.as_str(), expected);
        assert_eq!(chunks[0].read::<i32>()?, [1; 2]);
        assert_eq!(chunks[8].indices(), [0, 3]);
        assert!(keys(&store).iter().any(|key| key == expected));
        assert_eq!(keys(&store).iter().filter(|key| key.contains("-1")).count(), 3);
        assert_eq!(array.chunk(&[1, 2])?.indices(), [-1, 3]);
        let plan = array.write_plan(.., 3)?;
        assert_eq!(plan.iter().map(|part| part.shape()[0]).collect::<Vec<_>>(), [1, 2, 2]);
        hierarchy.erase(path("/a"))?;
        assert!(!keys(&store).iter().any(|key| key.contains("-2") || key.contains("-1")));
    }
    Ok(())
}

/// A row of what an array of one axis should hold, and where it begins on the lattice.
struct Model {
    begin: i64,
    elements: Vec<i32>,
}

/// Every step is compared with a list, in a handle that took it and in one that is opened anew.
#[test]
fn growing_and_shrinking_at_both_ends_follows_a_list() -> Result<()> {
    for dialect in DIALECTS {
        for origin in [-4, -1, 0, 2, 7] {
            let (store, hierarchy) = hierarchy(dialect);
            let array = hierarchy.create_array(path("/a")).shape(&[6]).fill_value(-1i64);
            let array = array.data_type(CoreType::Int32).grid(offset(&[4], &[origin], &[6]));
            let array = array.create()?;
            let mut model = Model { begin: origin, elements: vec![-1; 6] };
            let mut state = 12345u64 + origin.unsigned_abs();
            let mut next = |below: u64| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (state >> 33) % below
            };
            for round in 0..150i32 {
                let len = model.elements.len();
                let some: Vec<i32> = (0..next(7) as i32).map(|n| round * 100 + n).collect();
                match next(5) {
                    0 if len < 40 => {
                        array.prepend(0, &some)?;
                        model.begin -= some.len() as i64;
                        model.elements.splice(..0, some);
                    }
                    1 if len < 40 => {
                        assert_eq!(array.append(0, &some)?, len as u64);
                        model.elements.extend(some);
                    }
                    2 => {
                        let new = (len as u64 + 3).saturating_sub(next(9));
                        array.resize(&[new])?;
                        model.elements.resize(new as usize, -1);
                    }
                    _ => {
                        let from = next(len as u64 + 1) as usize;
                        let part = &some[..some.len().min(len - from)];
                        array.write(from as u64..(from + part.len()) as u64, part)?;
                        model.elements[from..from + part.len()].copy_from_slice(part);
                    }
                }
                let again = Hierarchy::open(store.clone(), &knowing())?.array(path("/a"))?;
                assert_eq!(array.read::<i32>(..)?, model.elements, "round {round}");
                assert_eq!(again.read::<i32>(..)?, model.elements, "round {round}");
                let words = again.metadata().grid.as_ref().and_then(|g| g.to_metadata(Dialect::V3));
                let origin = format!("\"origin\":[{}]", model.begin);
                assert!(words.is_some_and(|words| words.to_string().contains(&origin)));
            }
        }
    }
    Ok(())
}

#[test]
fn prepending_moves_no_chunk_and_keeps_the_rest_of_the_document() -> Result<()> {
    for (dialect, key) in [(Dialect::V3, "a/zarr.json"), (Dialect::Draft, "meta/root/a.array.json")]
    {
        let (store, hierarchy) = hierarchy(dialect);
        let array = hierarchy.create_array(path("/a")).shape(&[3, 2]).separator('.');
        let array = array.data_type(CoreType::Int16).grid(offset(&[2, 2], &[0, 0], &[3, 2]));
        let array = array.create()?;
        array.write(.., &[1i16, 2, 3, 4, 5, 6])?;
        let before = keys(&store);
        array.update_attributes(|attributes| {
            drop(attributes.insert("big", Json::parse(b"1e99").unwrap()))
        })?;
        let old = document(&store, key);
        array.prepend(0, &[7i16, 8, 9, 10, 11, 12])?;
        assert_eq!(array.read::<i16>(..)?, [7, 8, 9, 10, 11, 12, 1, 2, 3, 4, 5, 6]);
        assert!(before.iter().all(|key| keys(&store).contains(key)));
        assert_eq!(keys(&store).len(), before.len() + 2);
        let text = old.to_string().replace("[3,2]", "[6,2]").replace("[0,0]", "[-3,0]");
        assert_eq!(document(&store, key).to_string(), text);
        array.prepend(1, &[0i16; 6])?;
        assert_eq!(array.read::<i16>((3, ..))?, [0, 1, 2]);
        assert!(array.prepend(2, &[0i16]).is_err());
        assert!(array.prepend(0, &[0i16; 4]).is_err());
        assert_eq!(array.shape(), [6, 3], "what was refused changes nothing");
    }
    let (_store, hierarchy) = hierarchy(Dialect::V3);
    let regular = hierarchy.create_array(path("/r")).shape(&[3]).data_type(CoreType::Int8);
    let error = regular.create()?.prepend(0, &[1i8]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument);
    assert!(error.to_string().contains("cannot grow before the start"), "{error}");
    Ok(())
}

#[test]
fn handles_that_know_an_older_array_write_where_they_did() -> Result<()> {
    let (store, hierarchy) = hierarchy(Dialect::V3);
    let array = hierarchy.create_array(path("/a")).shape(&[4]).data_type(CoreType::Int32);
    let one = array.grid(offset(&[4], &[2], &[4])).create()?;
    let two = Hierarchy::open(store, &knowing())?.array(path("/a"))?;
    two.prepend(0, &[91i32, 92, 93])?;
    // One chunk holds what both write; neither takes away what is the other's.
    one.write(.., &[1i32, 2, 3, 4])?;
    assert_eq!(two.read::<i32>(..)?, [91, 92, 93, 1, 2, 3, 4]);
    assert_eq!(one.read::<i32>(..)?, [1, 2, 3, 4]);
    assert_eq!(one.append(0, &[5i32])?, 7);
    assert_eq!(one.read::<i32>(..)?, [91, 92, 93, 1, 2, 3, 4, 5]);
    two.refresh()?;
    one.resize(&[5])?;
    two.prepend(0, &[90i32])?;
    assert_eq!(two.read::<i32>(..)?, [90, 91, 92, 93, 1, 2]);
    two.append(0, &[7i32])?;
    one.refresh()?;
    assert_eq!(one.read::<i32>(..)?, [90, 91, 92, 93, 1, 2, 7]);
    Ok(())
}

/// So many chunks that those to be forgotten are found by listing keys, not one by one.
#[test]
fn shrinking_finds_chunks_of_negative_index_by_their_keys() -> Result<()> {
    for (dialect, separator) in
        [(Dialect::V3, '/'), (Dialect::V3, '.'), (Dialect::Draft, '/'), (Dialect::Draft, '.')]
    {
        let (store, hierarchy) = hierarchy(dialect);
        let array = hierarchy.create_array(path("/a")).shape(&[100, 100]).separator(separator);
        let array = array.data_type(CoreType::Int8).grid(offset(&[1, 1], &[-50, -90], &[100, 100]));
        let array = array.create()?;
        let none = keys(&store).len();
        array.write((0..100, 3), &[1i8; 100])?;
        array.resize(&[20, 4])?;
        assert_eq!(keys(&store).len(), none + 20);
        array.resize(&[100, 100])?;
        assert_eq!(array.read::<i8>((.., 3))?, [[1; 20].as_slice(), &[0; 80]].concat());
        array.resize(&[100, 3])?;
        assert_eq!(keys(&store).len(), none);
    }
    Ok(())
}

#[tokio::test]
async fn callers_that_wait_prepend_too() -> Result<()> {
    let (store, hierarchy) = hierarchy(Dialect::Draft);
    let array = hierarchy.create_array(path("/a")).shape(&[2, 2]).data_type(CoreType::Int32);
    let array = array.grid(offset(&[2, 3], &[1, 0], &[2, 2])).create()?;
    array.write(.., &[1i32, 2, 3, 4])?;
    let waiting = zarr::aio::Hierarchy::open(store, &knowing()).await?;
    let waiting = waiting.array(&path("/a")).await?;
    waiting.prepend(0, vec![-3i32, -2, -1, 0]).await?;
    waiting.prepend(1, vec![7i32; 4]).await?;
    let expected = [7, -3, -2, 7, -1, 0, 7, 1, 2, 7, 3, 4];
    assert_eq!(waiting.read::<i32>(..).await?, expected);
    array.refresh()?;
    assert_eq!(array.read::<i32>(..)?, expected);
    Ok(())
}

#[test]
fn without_a_guard_and_with_fill_chunks_kept_prepending_is_the_same() -> Result<()> {
    for (guard, keep_fill_chunks) in [(Guard::Off, false), (Guard::On, true), (Guard::Off, true)] {
        let store: Arc<dyn Store> = from_sync(MemoryStore::new());
        let mut options = knowing().guard(guard);
        options.options.keep_fill_chunks = keep_fill_chunks;
        let format = zarr::format::of_dialect(Dialect::V3);
        let hierarchy = Hierarchy::create(store.clone(), format, &options)?;
        let array = hierarchy.create_array(path("/a")).shape(&[3]).data_type(CoreType::Int32);
        let array = array.grid(offset(&[4], &[2], &[3])).create()?;
        array.write(.., &[1i32, 2, 3])?;
        array.prepend(0, &[-1i32, 0])?;
        array.prepend(0, &[0i32; 4])?;
        array.append(0, &[4i32])?;
        assert_eq!(array.read::<i32>(..)?, [0, 0, 0, 0, -1, 0, 1, 2, 3, 4]);
        let chunks = keys(&store).iter().filter(|key| key.starts_with("a/c/")).count();
        assert_eq!(chunks, if keep_fill_chunks { 3 } else { 2 });
    }
    Ok(())
}

type Prank = Box<dyn FnOnce() + Send>;

/// A store in memory where something happens the next time that a document is about to be changed.
#[derive(Default)]
struct Pranked {
    memory: MemoryStore,
    prank: Mutex<Option<Prank>>,
}

impl std::fmt::Debug for Pranked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.memory.fmt(f)
    }
}

impl SyncStore for Pranked {
    zarr_testkit::forward_calls!(memory: name capabilities get put create erase_prefix list_prefix list_dir);

    fn open(
        &self,
        key: &StoreKey,
        how: SnapshotOptions<'_>,
    ) -> std::result::Result<Option<Box<dyn SyncSnapshot>>, StoreError> {
        if how.for_update && key.as_str() == "a/zarr.json" {
            let prank = self.prank.lock().expect("no prank panics").take();
            prank.into_iter().for_each(|prank| prank());
        }
        self.memory.open(key, how)
    }
}

/// The same length does not mean the same array: what was added before the start may have been cut off
/// at the end.
#[test]
fn a_grid_that_moved_is_noticed_although_the_shape_is_the_same() -> Result<()> {
    for change in [
        |array: &Array| array.append(0, &[9i32, 9]).map(drop),
        |array: &Array| {
            array.resize(&[6])?;
            array.write(4..6, &[9i32, 9])
        },
    ] {
        let store = Arc::new(Pranked::default());
        let format = zarr::format::of_dialect(Dialect::V3);
        let hierarchy = Hierarchy::create(from_sync_arc(store.clone()), format, &knowing())?;
        let array = hierarchy.create_array(path("/a")).shape(&[4]).data_type(CoreType::Int32);
        let array = array.grid(offset(&[3], &[0], &[4])).create()?;
        array.write(.., &[1i32, 2, 3, 4])?;
        let other = hierarchy.array(path("/a"))?;
        *store.prank.lock().expect("no prank panics") = Some(Box::new(move || {
            other.prepend(0, &[-2i32, -1]).expect("nothing stands in the way");
            other.resize(&[4]).expect("nothing stands in the way");
        }));
        change(&array)?;
        for array in [array, hierarchy.array(path("/a"))?] {
            assert_eq!(array.read::<i32>(..)?, [-2, -1, 1, 2, 9, 9]);
        }
    }
    Ok(())
}

/// Each writer's elements arrive once, whole, and in its order.
#[test]
fn writers_at_both_ends_lose_nothing() -> Result<()> {
    const ROUNDS: i32 = 25;
    for dialect in DIALECTS {
        let (store, hierarchy) = hierarchy(dialect);
        let array = hierarchy.create_array(path("/a")).shape(&[1]).fill_value(-1i64);
        let array = array.data_type(CoreType::Int32).grid(offset(&[5], &[3], &[1])).create()?;
        array.write(.., &[-7i32])?;
        let open = || Hierarchy::open(store.clone(), &knowing())?.array(path("/a"));
        thread::scope(|scope| {
            for writer in 0..4 {
                let array = open().expect("it is there");
                scope.spawn(move || {
                    for round in 0..ROUNDS {
                        let some = [writer * 1000 + round; 3];
                        let done = match writer % 2 {
                            0 => array.prepend(0, &some),
                            _ => array.append(0, &some).map(drop),
                        };
                        done.expect("nothing but other writers stands in the way");
                    }
                });
            }
        });
        let found = open()?.read::<i32>(..)?;
        let middle = found.iter().position(|&n| n == -7).expect("the first element is there");
        assert_eq!((middle, found.len()), (150, 301));
        for writer in 0..4 {
            let of = |n: &&i32| **n >= 0 && **n / 1000 == writer;
            let mut of: Vec<i32> = found.iter().filter(of).map(|n| n % 1000).collect();
            if writer % 2 == 0 {
                of.reverse();
            }
            let expected: Vec<i32> = (0..ROUNDS).flat_map(|round| [round; 3]).collect();
            assert_eq!(of, expected, "writer {writer}");
        }
    }
    Ok(())
}
