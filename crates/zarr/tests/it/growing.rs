//! Which requests a change of an array's shape sends to the store.
#![cfg(feature = "memory")]

use zarr::store::{StoreKey, from_sync};
use zarr::stores::{Call, MemoryStore};
use zarr::{Array, Dialect, Hierarchy, NodePath, OpenOptions, Result};
use zarr_testkit::{Records, record};

/// An array of 10¹² chunks of two bytes, and the calls that are made for it.
fn immense(dialect: Dialect, options: &OpenOptions) -> Result<(Array, Records<String>)> {
    let note = |call: &Call<'_>| Some(format!("{} {}", call.operation, call.key));
    let (store, calls) = record(from_sync(MemoryStore::new()), note);
    let format = zarr::format::of_dialect(dialect);
    let hierarchy = Hierarchy::create(store, format, options)?;
    let builder = hierarchy.create_array(&NodePath::new("/a")?).shape(&[1_000_000, 2_000_000]);
    let array = builder.chunks(&[1, 2]).data_type_named("uint8").fill_value(9u64).create()?;
    for (row, column) in [(0, 0), (0, 1_999_998), (999_999, 0), (777_777, 1_000_001)] {
        array.write((row, column), &[1u8])?;
    }
    calls.take();
    Ok((array, calls))
}

/// Keys of documents end in letters, and so do prefixes in `/`.
fn is_chunk(text: &str) -> bool {
    text.ends_with(|c: char| c.is_ascii_digit())
}

fn chunks(array: &Array) -> usize {
    let store = array.hierarchy().store().to_sync();
    store.list().expect("memory lists").iter().filter(|key| is_chunk(key.as_str())).count()
}

const DIALECTS: [Dialect; 3] = [Dialect::V3, Dialect::V2, Dialect::Draft];

fn options() -> OpenOptions {
    OpenOptions::new(zarr::standard()).read_write()
}

/// T-64: a few calls, none for a chunk; nothing is stored but the document. Where chunks may lie that another
/// library left there, one listing tells.
#[test]
fn growing_costs_nothing_for_chunks() -> Result<()> {
    for dialect in DIALECTS {
        let (array, calls) = immense(dialect, &options())?;
        array.resize(&[2_000_000, 3_000_000])?;
        let asked = calls.take();
        let of_chunks = asked.iter().filter(|call| is_chunk(call)).count();
        assert!(of_chunks == 0 && asked.len() < 16, "{dialect}: {asked:?}");
        assert_eq!(chunks(&array), 4);
        assert_eq!(array.read::<u8>((0, 1_999_998..2_000_002))?, [1, 9, 9, 9]);
    }
    Ok(())
}

/// T-64, F-114, Z2-026: of the chunks those that lie outside are erased, and the others not looked at.
#[test]
fn shrinking_looks_at_what_is_cut_off() -> Result<()> {
    for dialect in DIALECTS {
        let (array, calls) = immense(dialect, &options())?;
        array.resize(&[1_000_000, 1_500_000])?;
        let asked = calls.take();
        let of_others = |call: &&String| is_chunk(call) && !call.ends_with("999999");
        let of_others = asked.iter().filter(of_others).count();
        assert!(of_others == 0 && asked.len() < 16, "{dialect}: {asked:?}");
        assert_eq!((chunks(&array), array.stored_chunks()?), (3, 3));
        let keys = array.hierarchy().store().to_sync().list()?;
        let hierarchy = array.hierarchy();
        let readable = hierarchy.store().to_sync();
        let size = |key: &StoreKey| readable.value(key).map(|value| value.map_or(0, |v| v.len()));
        let sizes: std::result::Result<Vec<usize>, _> =
            keys.iter().filter(|key| is_chunk(key.as_str())).map(size).collect();
        let (stored, sizes) = (array.stored_size()?, sizes?);
        assert_eq!((stored.chunks, stored.bytes), (3, sizes.iter().sum::<usize>() as u64));
        array.resize(&[1_000_000, 2_000_000])?;
        assert_eq!(array.read::<u8>((0, 1_999_998))?, [9]);
        assert_eq!(array.read::<u8>((777_777, 1_000_000..1_000_002))?, [9, 1]);
    }
    Ok(())
}

/// F-114: or nothing is erased, and growing brings it back.
#[test]
fn what_is_cut_off_is_kept_if_asked() -> Result<()> {
    for dialect in DIALECTS {
        let mut options = options();
        options.options.keep_cut_off = true;
        let (array, calls) = immense(dialect, &options)?;
        array.resize(&[1, 2])?;
        let asked = calls.take();
        assert!(!asked.iter().any(|call| is_chunk(call)), "{dialect}: {asked:?}");
        assert_eq!(chunks(&array), 4);
        array.resize(&[1_000_000, 2_000_000])?;
        assert_eq!(array.read::<u8>((999_999, 0))?, [1]);
    }
    Ok(())
}

/// Other libraries store whole chunks, with whatever is behind the array's edge. No growth makes elements of that.
#[test]
fn what_others_left_behind_the_edge_is_no_element() -> Result<()> {
    for dialect in DIALECTS {
        let format = zarr::format::of_dialect(dialect);
        let hierarchy = Hierarchy::create(from_sync(MemoryStore::new()), format, &options())?;
        let builder = hierarchy.create_array("/a").shape(&[3, 5]).chunks(&[2, 4]);
        let array = builder.data_type_named("uint8").fill_value(9u64).create()?;
        let store = hierarchy.store().to_sync();
        // 1 within the array, 2 behind its edge.
        let chunks: [((u64, u64), [u8; 8]); 4] = [
            ((0, 0), [1; 8]),
            ((0, 1), [1, 2, 2, 2, 1, 2, 2, 2]),
            ((1, 0), [1, 1, 1, 1, 2, 2, 2, 2]),
            ((1, 1), [1, 2, 2, 2, 2, 2, 2, 2]),
        ];
        for (indices, chunk) in chunks {
            store.set(&array.chunk(indices)?.key()?, chunk.to_vec().into())?;
        }
        assert_eq!(array.read::<u8>(..)?, [1; 15], "{dialect}");
        array.resize(&[3, 6])?;
        let expected = [1, 1, 1, 1, 1, 9].repeat(3);
        assert_eq!(array.read::<u8>(..)?, expected, "{dialect}, along the last axis");
        array.resize(&[4, 7])?;
        let rows = [[1, 1, 1, 1, 1, 9, 9].repeat(3), vec![9; 7]];
        assert_eq!(array.read::<u8>(..)?, rows.concat(), "{dialect}, along both axes");
    }
    Ok(())
}

/// A shape that is computed from the newest one does not cut off what others appended concurrently.
#[test]
fn a_shape_is_made_of_the_newest_one() -> Result<()> {
    for dialect in [Dialect::V2, Dialect::V3, Dialect::Draft] {
        let format = zarr::format::of_dialect(dialect);
        let options = OpenOptions::new(zarr::standard()).read_write();
        let hierarchy = Hierarchy::create(from_sync(MemoryStore::new()), format, &options)?;
        let path = NodePath::new("/a")?;
        let builder = hierarchy.create_array(&path).shape(&[2]).chunks(&[2]);
        let builder = builder.dimension_names(["x"]);
        let mine = builder.data_type_named("uint8").create()?;
        hierarchy.array(&path)?.append(0, &[1u8, 2, 3])?;
        let at_least = |len: u64| move |old: &[u64]| Ok(vec![old[0].max(len)]);
        assert_eq!(mine.reshape(at_least(4))?, [5]);
        assert_eq!((mine.shape(), mine.read::<u8>(..)?), (vec![5], vec![0, 0, 1, 2, 3]));
        assert_eq!(mine.reshape(at_least(6))?, [5]);
        assert_eq!(hierarchy.array(&path)?.shape(), [6]);
        mine.rename_dimensions(&["y".to_owned()])?;
        let names = Some(vec![Some("y".to_owned())]);
        assert_eq!(mine.metadata().dimension_names, names);
        assert_eq!(hierarchy.array(&path)?.metadata().dimension_names, names);
        assert!(mine.rename_dimensions(&[]).is_err());
    }
    Ok(())
}
