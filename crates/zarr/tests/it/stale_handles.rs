//! A write through a handle that was opened before another process changed the array is an error where it would be
//! forgotten (issue 13, point 11).
#![cfg(all(feature = "filesystem", feature = "memory", feature = "zip", feature = "lmdb"))]

use std::sync::Arc;

use zarr::store::{Store, from_sync};
use zarr::stores::MemoryStore;
use zarr::{Array, Dialect, ErrorKind, Guard, Hierarchy, OpenOptions, Result};

const DIALECTS: [Dialect; 3] = [Dialect::V2, Dialect::V3, Dialect::Draft];

fn options() -> OpenOptions {
    OpenOptions::new(zarr::standard()).read_write()
}

/// A new store of each kind.
fn stores() -> Result<Vec<(tempfile::TempDir, Arc<dyn Store>)>> {
    let mut stores: Vec<(_, Arc<dyn Store>)> =
        vec![(tempfile::tempdir().expect("a folder"), from_sync(MemoryStore::new()))];
    for name in ["x.zarr", "x.zip", "x.lmdb"] {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(name);
        stores.push((folder, options().store(path.to_str().expect("a plain path"))?));
    }
    Ok(stores)
}

fn create(hierarchy: &Hierarchy, data_type: &str) -> Result<Array> {
    let array = hierarchy.create_array("/a").shape(&[20]).chunks(&[4]);
    array.data_type_named(data_type).create()
}

/// The array, and the handle that another process has of it.
fn two(store: Arc<dyn Store>, dialect: Dialect) -> Result<(Array, Array)> {
    let hierarchy = Hierarchy::create(store.clone(), options().format(dialect), &options())?;
    let array = create(&hierarchy, "u1")?;
    array.write(.., &[1u8; 20])?;
    Ok((array, Hierarchy::open(store, &options())?.array("/a")?))
}

#[tokio::test]
async fn a_write_beyond_the_new_shape_is_an_error() -> Result<()> {
    for dialect in DIALECTS {
        for (_folder, store) in stores()? {
            let (array, stale) = two(store.clone(), dialect)?;
            let waiting = stale.hierarchy().as_async();
            let waiting = waiting.array(stale.path()).await?;
            // Both have written before, and know the document.
            stale.write(0..1, &[1u8])?;
            waiting.write(0..1, vec![1u8]).await?;
            array.resize(&[6])?;
            for region in [8..12, 6..7, 4..8, 0..20] {
                let elements = vec![9u8; (region.end - region.start) as usize];
                let error = stale.write(region.clone(), &elements).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Argument, "{dialect}: {error}");
                assert!(error.to_string().contains("length 6"), "{error}");
                assert!(error.to_string().contains("refresh"), "{error}");
                assert!(stale.write_bytes(region.clone(), &elements).is_err());
                assert!(waiting.write(region, elements).await.is_err());
            }
            // Nothing was stored of it.
            assert_eq!(array.stored_chunks()?, 2);
            assert_eq!(array.read::<u8>(..)?, [1; 6]);
            // What is still there can be written, and after a refresh the rest is out of bounds.
            stale.write(0..6, &[2u8; 6])?;
            waiting.write(0..6, vec![3u8; 6]).await?;
            assert_eq!(array.read::<u8>(..)?, [3; 6]);
            stale.refresh()?;
            assert!(stale.write(6..7, &[9u8]).is_err());
            // The array is longer again: what was refused is not there.
            array.resize(&[20])?;
            stale.write(19..20, &[4u8]).expect_err("it was refreshed when it was short");
            waiting.write(19..20, vec![4u8]).await?;
            assert_eq!(array.read::<u8>(6..)?, [&[0u8; 13][..], &[4]].concat());
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_write_to_an_erased_array_is_an_error() -> Result<()> {
    for dialect in DIALECTS {
        for (_folder, store) in stores()? {
            let (array, stale) = two(store.clone(), dialect)?;
            let waiting = stale.hierarchy().as_async();
            let waiting = waiting.array(stale.path()).await?;
            stale.write(0..1, &[1u8])?;
            array.hierarchy().erase("/a")?;
            let error = stale.write(0..4, &[9u8; 4]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotFound, "{dialect}: {error}");
            assert!(waiting.write(0..4, vec![9u8; 4]).await.is_err());
            // Another array in its place is not damaged.
            let other = create(array.hierarchy(), "i4")?;
            other.write(.., &[7i32; 20])?;
            let error = stale.write(0..4, &[9u8; 4]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Conflict, "{dialect}: {error}");
            assert!(error.to_string().contains("open it again"), "{error}");
            assert_eq!(other.read::<i32>(..)?, [7; 20]);
        }
    }
    Ok(())
}

/// What others may change without harm.
#[test]
fn longer_arrays_and_other_attributes_are_no_obstacle() -> Result<()> {
    for dialect in DIALECTS {
        for (_folder, store) in stores()? {
            let (array, stale) = two(store, dialect)?;
            array.update_attributes(|attributes| drop(attributes.insert("units", "K")))?;
            stale.write(0..4, &[2u8; 4])?;
            array.append(0, &[5u8; 3])?;
            stale.write(18..20, &[3u8; 2])?;
            assert_eq!(array.read::<u8>(16..)?, [1, 1, 3, 3, 5, 5, 5], "{dialect}");
        }
    }
    Ok(())
}

/// With the guard off nothing is compared, and a write costs its chunks alone.
#[test]
fn the_look_goes_with_the_guard() -> Result<()> {
    let (array, _) = two(from_sync(MemoryStore::new()), Dialect::V3)?;
    let mut options = options();
    options.options.guard = Guard::Off;
    let store = array.hierarchy().store().clone();
    let stale = Hierarchy::open(store, &options)?.array("/a")?;
    array.resize(&[6])?;
    stale.write(8..12, &[9u8; 4])
}
