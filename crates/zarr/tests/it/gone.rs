//! A handle of an array that was erased or renamed since it was opened, or whose disk is not mounted any more: reading is an error, and never
//! an array full of fill.
#![cfg(all(feature = "filesystem", feature = "memory", feature = "zip", feature = "lmdb"))]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use zarr::store::{ObservedStore, Store, StoreKey, from_sync};
use zarr::stores::MemoryStore;
use zarr::{
    Array, ChunkPart, Consolidated, Dialect, Error, ErrorKind, Hierarchy, OpenOptions, Result,
    Selection,
};
use zarr_testkit::Counters;

const DIALECTS: [Dialect; 3] = [Dialect::V2, Dialect::V3, Dialect::Draft];

fn options() -> OpenOptions {
    OpenOptions::new(zarr::standard()).read_write()
}

/// A hierarchy with an array of 1s, whose chunks are stored but for the last.
fn made(store: &Arc<dyn Store>, dialect: Dialect) -> Result<Hierarchy> {
    let hierarchy = Hierarchy::create(store.clone(), options().format(dialect), &options())?;
    let array = hierarchy.create_array("/g/a").shape(&[6, 4]).chunks(&[2, 2]);
    let array = array.data_type_named("int32").fill_value(7).create()?;
    array.write((0..4, ..), &[1; 16])?;
    hierarchy.flush()?;
    Ok(hierarchy)
}

/// What each kind of reading gives of an array none of whose chunks can be found, by its name.
fn readings(array: &Array) -> Vec<(&'static str, Result<()>)> {
    let mut out = [0; 24];
    let part = |chunk: [u64; 2]| ChunkPart {
        chunk: chunk.to_vec(),
        within: Selection::from((0..2, 0..2)),
        place: Selection::from((0..2, 0..2)),
    };
    let mut memory = [0u8; 16];
    let view = zarr::ViewMut::new(&mut memory, &[2, 2], 4);
    vec![
        ("whole", array.read::<i32>(..).map(drop)),
        ("one chunk", array.read::<i32>((0..2, 0..2)).map(drop)),
        ("one element", array.read::<i32>((3, 3)).map(drop)),
        ("a missing chunk", array.read::<i32>((5, ..)).map(drop)),
        ("a region", array.read::<i32>((1..5, 1..3)).map(drop)),
        ("points", array.read::<i32>(Selection::points([vec![0, 3], vec![0, 3]])).map(drop)),
        ("into memory", array.read_into(.., &mut out)),
        ("bytes", array.read_bytes(..).map(drop)),
        (
            "chunks",
            array
                .chunks(..)
                .and_then(|mut chunks| chunks.try_for_each(|chunk| chunk.read::<i32>().map(drop))),
        ),
        ("an encoded chunk", array.chunk(&[0, 0]).and_then(|chunk| chunk.encoded().map(drop))),
        ("parts", array.read_chunks_into(&[part([0, 0])], view).map(drop)),
    ]
}

fn is_gone(error: &Error) -> bool {
    error.kind() == ErrorKind::NotFound && error.to_string().contains("erased or renamed")
}

async fn all_are_errors(array: &Array, what: &str) {
    for (reading, read) in readings(array) {
        let error = read.expect_err(&format!("{what}, {reading}"));
        assert!(is_gone(&error), "{what}, {reading}: {error}");
    }
    let waiting = array.as_async();
    for selection in [Selection::from(..), (0..2, 0..2).into(), (5, ..).into()] {
        let error = waiting.read::<i32>(selection).await.expect_err(what);
        assert!(is_gone(&error), "{what}, async: {error}");
    }
    // Memory that the caller gives is given back.
    let (_, read) = waiting.read_into(.., vec![0i32; 24]).await;
    assert!(is_gone(&read.expect_err(what)), "{what}");
}

fn move_away(from: &Path) -> std::path::PathBuf {
    let to = from.with_extension("elsewhere");
    fs::rename(from, &to).expect("a folder");
    to
}

#[tokio::test]
async fn an_array_whose_folder_went_away_is_no_array_of_fill() -> Result<()> {
    for dialect in DIALECTS {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.zarr");
        let store = options().store(path.to_str().expect("a plain path"))?;
        let hierarchy = made(&store, dialect)?;
        let array = hierarchy.array("/g/a")?;
        assert!(readings(&array).iter().all(|(_, read)| read.is_ok()));
        drop(hierarchy);
        // As when what it is stored on is not mounted any more, and comes back.
        let elsewhere = move_away(&path);
        all_are_errors(&array, &format!("{dialect}: the root")).await;
        fs::create_dir(&path).expect("a mount point");
        all_are_errors(&array, &format!("{dialect}: an empty root")).await;
        fs::remove_dir(&path).expect("a mount point");
        fs::rename(elsewhere, &path).expect("a folder");
        assert_eq!(array.read::<i32>((0, ..))?, [1; 4]);
        if dialect != Dialect::Draft {
            let elsewhere = move_away(&path.join("g/a"));
            all_are_errors(&array, &format!("{dialect}: renamed")).await;
            fs::remove_dir_all(elsewhere).expect("a folder");
        }
    }
    Ok(())
}

#[tokio::test]
async fn an_array_that_another_handle_erased_is_no_array_of_fill() -> Result<()> {
    for dialect in DIALECTS {
        for name in ["", "x.zarr", "x.zip", "x.lmdb"] {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join(name);
            let store: Arc<dyn Store> = match name {
                "" => from_sync(MemoryStore::new()),
                _ => options().store(path.to_str().expect("a plain path"))?,
            };
            let hierarchy = made(&store, dialect)?;
            let array = hierarchy.array("/g/a")?;
            Hierarchy::open(store, &options())?.erase("/g/a")?;
            all_are_errors(&array, &format!("{dialect}, `{name}`")).await;
            // A write said so before.
            assert!(array.write((0..2, 0..2), &[1; 4]).is_err());
        }
    }
    Ok(())
}

/// An array that nobody wrote to reads as fill; and so does one whose only document is its consolidated copy.
#[test]
fn what_is_empty_stays_fill() -> Result<()> {
    for dialect in DIALECTS {
        let store: Arc<dyn Store> = from_sync(MemoryStore::new());
        let hierarchy = made(&store, dialect)?;
        let empty = hierarchy.create_array("/g/empty").shape(&[4]).chunks(&[2]);
        empty.data_type_named("int32").fill_value(7).create()?;
        let key = match dialect {
            Dialect::V2 => "g/empty/.zarray",
            Dialect::V3 => "g/empty/zarr.json",
            _ => "meta/root/g/empty.array.json",
        };
        let document = store.to_sync().value(&StoreKey::new(key)?)?.expect("a document");
        let path = zarr::NodePath::new("/g/other")?;
        let of_caller = Array::from_document(store.clone(), &path, &document, &options())?;
        assert_eq!(of_caller.read::<i32>(..)?, [7; 4], "{dialect}: without a document");
        for consolidated in [false, true] {
            let mut open = OpenOptions::new(zarr::standard());
            if consolidated {
                hierarchy.consolidate()?;
                open = open.consolidated(Consolidated::Use);
            }
            let array = Hierarchy::open(store.clone(), &open)?.array("/g/empty")?;
            assert_eq!(array.read::<i32>(..)?, [7; 4], "{dialect}");
            assert_eq!(array.stored_chunks()?, 0);
            if consolidated {
                store.to_sync().erase(&StoreKey::new(key)?)?;
                assert_eq!(array.read::<i32>(..)?, [7; 4], "{dialect}: only the copy is left");
                let holder = match dialect {
                    Dialect::V2 => ".zmetadata",
                    Dialect::V3 => "zarr.json",
                    _ => "meta/root/consolidated/.zmetadata",
                };
                store.to_sync().erase(&StoreKey::new(holder)?)?;
                assert!(is_gone(&array.read::<i32>(..).expect_err("gone")), "{dialect}");
            }
        }
    }
    Ok(())
}

/// The metadata may be the caller's, who knows that the store has them, or a copy of them in a group above.
#[test]
fn an_array_whose_metadata_the_caller_brings_may_be_gone_too() -> Result<()> {
    for dialect in DIALECTS {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.zarr");
        let store = options().store(path.to_str().expect("a plain path"))?;
        drop(made(&store, dialect)?);
        let key = match dialect {
            Dialect::V2 => "g/a/.zarray",
            Dialect::V3 => "g/a/zarr.json",
            _ => "meta/root/g/a.array.json",
        };
        let key = StoreKey::new(key)?;
        let document = store.to_sync().value(&key)?.expect("a document");
        let open = |is_stored: bool| {
            let mut open = options();
            open.options.documents_are_stored = is_stored;
            Array::from_document(store.clone(), &zarr::NodePath::new("/g/a")?, &document, &open)
        };
        let (stored, other) = (open(true)?, open(false)?);
        // Of some nodes only a copy is stored.
        store.to_sync().erase(&key)?;
        assert_eq!(stored.read::<i32>((4.., ..))?, [7; 8], "{dialect}: a group is there");
        move_away(&path);
        assert!(is_gone(&stored.read::<i32>(..).expect_err("gone")), "{dialect}");
        assert_eq!(other.read::<i32>(..)?, [7; 24], "{dialect}");
    }
    Ok(())
}

/// Where a chunk is found, nothing more is asked for; else the document is, once for all chunks of a call.
#[test]
fn the_document_is_looked_for_only_where_no_chunk_is() -> Result<()> {
    for dialect in DIALECTS {
        let store: Arc<dyn Store> = from_sync(MemoryStore::new());
        made(&store, dialect)?;
        let counters = Counters::default();
        let counted = Arc::new(ObservedStore::new(store.clone(), counters.clone()));
        let array = Hierarchy::open(counted, &options())?.array("/g/a")?;
        let calls = |selection: Selection| {
            let before = counters.total().calls;
            array.read::<i32>(selection).map(|_| counters.total().calls - before)
        };
        assert_eq!(calls((0..2, 0..2).into())?, 1, "{dialect}");
        assert_eq!(calls((0..6, ..).into())?, 6, "{dialect}: some are stored");
        assert_eq!(calls((0..0, ..).into())?, 0, "{dialect}: no chunk is touched");
        assert_eq!(calls((4..6, ..).into())?, 2, "{dialect}: what is empty");
        let key = match dialect {
            Dialect::V2 => "g/a/.zarray",
            Dialect::V3 => "g/a/zarr.json",
            _ => "meta/root/g/a.array.json",
        };
        store.to_sync().erase(&StoreKey::new(key)?)?;
        assert_eq!(calls((0..2, 0..2).into())?, 1, "{dialect}");
        assert_eq!(calls((0..6, ..).into())?, 6, "{dialect}: some are stored");
        assert!(is_gone(&calls((4..6, ..).into()).expect_err("gone")), "{dialect}");
    }
    Ok(())
}
