//! Chunks of no array where a new array's are to lie are refused; they are purged, or kept, if asked for. What belongs to
//! other nodes stays.
#![cfg(feature = "memory")]

use std::sync::Arc;

use zarr::store::{Store, StoreKey, from_sync};
use zarr::stores::MemoryStore;
use zarr::{Dialect, ErrorKind, Hierarchy, OpenOptions, Result};

fn begun(dialect: Dialect) -> Result<(Arc<dyn Store>, Hierarchy)> {
    let store: Arc<dyn Store> = from_sync(MemoryStore::new());
    let options = OpenOptions::new(zarr::standard()).read_write();
    let format = zarr::format::of_dialect(dialect);
    let hierarchy = Hierarchy::create(store.clone(), format, &options)?;
    Ok((store, hierarchy))
}

fn key(text: &str) -> StoreKey {
    StoreKey::new(text).expect("a good key")
}

fn set(store: &Arc<dyn Store>, at: &str, value: &[u8]) {
    store.to_sync().set(&key(at), value.into()).expect("set");
}

fn is_there(store: &Arc<dyn Store>, at: &str) -> bool {
    store.to_sync().value(&key(at)).expect("read").is_some()
}

/// V27, row 27.
#[test]
fn leftover_chunks_are_refused_in_every_dialect_and_purged_or_kept_if_asked_for() -> Result<()> {
    // Chunks of rank 2, then what is none: another rank, another separator, no chunk at all.
    let left = [
        (Dialect::V2, ["a/0/1", "a/7/0"], ["a/0.1", "a/0", "a/0/1/2", "a/readme"]),
        (Dialect::V3, ["a/c/0/1", "a/c/7/0"], ["a/c.0.1", "a/c/0", "a/c/0/1/2", "a/readme"]),
        (
            Dialect::Draft,
            ["data/root/a/c0/1", "data/root/a/c7/0"],
            ["data/root/a/c0.1", "data/root/a/c0", "data/root/a/c0/1/2", "data/root/a/readme"],
        ),
    ];
    for (dialect, chunks, others) in left {
        for (overwrite, purge) in
            [(false, Some(false)), (false, None), (false, Some(true)), (true, None)]
        {
            let (store, hierarchy) = begun(dialect)?;
            for at in chunks.into_iter().chain(others) {
                set(&store, at, &[9, 9]);
            }
            let builder = hierarchy
                .create_array("/a")
                .shape(&[1, 4])
                .chunks(&[1, 2])
                .data_type_named("u1")
                .separator('/');
            let builder = builder.overwrite(overwrite);
            let created = match purge {
                Some(purge) => builder.purge(purge).create(),
                None => builder.create(),
            };
            if !overwrite && purge.is_none() {
                let error = created.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::Exists, "{dialect}");
                let message = error.message();
                assert!(message.contains(chunks[0]) && message.contains("2 chunks"), "{message}");
                let hint = error.hint().unwrap_or_default();
                assert!(
                    hint.contains("overwrite(true)") && hint.contains("purge(false)"),
                    "{hint}"
                );
                assert!(chunks.into_iter().chain(others).all(|at| is_there(&store, at)));
                assert_eq!(hierarchy.array("/a").unwrap_err().kind(), ErrorKind::NotFound);
                continue;
            }
            let array = created?;
            let purge = purge.unwrap_or(true);
            let expected = if purge { [0; 4] } else { [0, 0, 9, 9] };
            assert_eq!(array.read::<u8>(..)?, expected, "{dialect}");
            for at in chunks {
                assert_eq!(is_there(&store, at), !purge, "{at}");
            }
            // An overwriting create also erases what else an interrupted erase may have left.
            for at in others.into_iter().filter(|at| !overwrite || at.ends_with("readme")) {
                assert!(is_there(&store, at), "{at}");
            }
        }
    }
    Ok(())
}

/// Files of the user may be called as chunks are. Where no array has them they are no chunks: they stay where a group is
/// erased or overwritten.
#[test]
fn erasing_a_group_spares_numbered_files_of_the_user() -> Result<()> {
    for dialect in [Dialect::V2, Dialect::V3, Dialect::Draft] {
        let data = if dialect == Dialect::Draft { "data/root/" } else { "" };
        let mine = ["g/frames/1", "g/scan.n5/volume/0/0", "g/a/scan.n5/0", "g/7", "g/c/0/0"];
        let mine = mine.map(|name| format!("{data}{name}"));
        for erases in [true, false] {
            let (store, hierarchy) = begun(dialect)?;
            hierarchy.create_group("/g", zarr::Object::new())?;
            let array = hierarchy.create_array("/g/a").shape(&[2, 2]).chunks(&[1, 1]);
            let array = array.data_type_named("u1").separator('/').create()?;
            array.write(.., &[1u8, 2, 3, 4])?;
            // The document of another array is broken; it is one nevertheless.
            let array = hierarchy.create_array("/g/b").shape(&[2]).chunks(&[1]);
            array.data_type_named("u1").separator('/').create()?.write(.., &[1u8, 2])?;
            let document = match dialect {
                Dialect::V2 => "g/b/.zarray",
                Dialect::V3 => "g/b/zarr.json",
                _ => "meta/root/g/b.array.json",
            };
            set(&store, document, b"{");
            for at in &mine {
                set(&store, at, b"my data");
            }
            let mut expected: Vec<StoreKey> = mine.iter().map(|at| key(at)).collect();
            expected.sort();
            assert_eq!(hierarchy.foreign_keys("/g")?, expected, "{dialect}");
            if erases {
                hierarchy.erase("/g")?;
            } else {
                let array = hierarchy.create_array("/g").shape(&[3, 3, 3, 3]).chunks(&[1, 1, 1, 1]);
                array.data_type_named("u1").separator('/').overwrite(true).create()?;
            }
            let left = store.to_sync().list()?;
            let documents = ["g/zarr.json", "g/.zarray"];
            let is_data = |key: &&StoreKey| {
                let name = key.as_str();
                name.starts_with(&format!("{data}g/")) && !documents.contains(&name)
            };
            let left: Vec<&StoreKey> = left.iter().filter(is_data).collect();
            assert_eq!(left, expected.iter().collect::<Vec<_>>(), "{dialect}, erases: {erases}");
        }
    }
    Ok(())
}

/// Purging, row 27: in v2 and v3 a node below lies among what could be chunks.
#[test]
fn purging_spares_other_nodes() -> Result<()> {
    for dialect in [Dialect::V2, Dialect::V3, Dialect::Draft] {
        let (store, hierarchy) = begun(dialect)?;
        // Below `/a`, which loses its own document as a careless program would take it.
        let below = if dialect == Dialect::V2 { "/a/0" } else { "/a/c" };
        let child = hierarchy
            .create_array(below)
            .shape(&[2])
            .chunks(&[1])
            .data_type_named("u1")
            .separator('/')
            .create()?;
        child.write(.., &[5u8, 6])?;
        for document in ["a/.zgroup", "a/zarr.json"] {
            store.to_sync().erase(&key(document))?;
        }
        let again = || -> Result<_> {
            let array = hierarchy.create_array("/a").shape(&[2, 2]).chunks(&[1, 1]);
            array.data_type_named("u1").separator('/').purge(true).create()
        };
        again()?;
        assert_eq!(hierarchy.array(below)?.read::<u8>(..)?, [5, 6], "{dialect}");
        // What is there is an error before anything is purged.
        let array = hierarchy.array("/a")?;
        array.write(.., &[1u8, 2, 3, 4])?;
        assert_eq!(again().unwrap_err().kind(), ErrorKind::Exists);
        assert_eq!(array.read::<u8>(..)?, [1, 2, 3, 4], "{dialect}");
    }
    Ok(())
}

/// D-047, F-067, Z2-020, T-57: zeros in front, signs, another rank or separator make no chunk of a key. It is not
/// read, not counted, not erased when the array shrinks, and not purged.
#[test]
fn what_is_nearly_a_chunk_is_none() -> Result<()> {
    let bases = [(Dialect::V2, "a/"), (Dialect::V3, "a/c/"), (Dialect::Draft, "data/root/a/c")];
    let names = ["00/1", "0/01", "+0/1", "-0/1", "0/+1", "0/-0", "0/1/0", "0", "0.1", "0/1x"];
    for (dialect, base) in bases {
        let (store, hierarchy) = begun(dialect)?;
        let impostors: Vec<String> = names.iter().map(|name| format!("{base}{name}")).collect();
        let all_there = || impostors.iter().all(|at| is_there(&store, at));
        for at in &impostors {
            set(&store, at, &[9]);
        }
        set(&store, &format!("{base}0/1"), &[8]);
        let builder = || -> Result<_> {
            let array = hierarchy.create_array("/a").shape(&[2, 2]).chunks(&[1, 1]);
            Ok(array.data_type_named("u1").separator('/').purge(true))
        };
        let array = builder()?.create()?;
        assert!(all_there() && !is_there(&store, &format!("{base}0/1")), "{dialect}");
        assert_eq!(array.stored_chunks()?, 0, "{dialect}");
        assert_eq!(array.read::<u8>(..)?, [0; 4], "{dialect}");
        array.write(.., &[1u8, 2, 3, 4])?;
        assert_eq!(array.stored_chunks()?, 4, "{dialect}");
        array.resize(&[1, 1])?;
        assert_eq!(array.stored_chunks()?, 1, "{dialect}");
        assert!(all_there(), "{dialect}");
    }
    Ok(())
}

/// Z2-080, F-112: what other programs leave beside documents and chunks makes no node and no chunk.
#[test]
fn files_of_other_programs_are_no_nodes_and_no_chunks() -> Result<()> {
    let foreign = [
        ".DS_Store",
        "0.0.partial",
        "0/0.partial",
        "c/0/0.partial",
        ".zattrs.~1~",
        ".zarray.swp",
        "zarr.json~",
    ];
    let bases = [
        (Dialect::V2, ["", "g/", "g/a/"]),
        (Dialect::V3, ["", "g/", "g/a/"]),
        (Dialect::Draft, ["meta/root/g/", "data/root/g/", "data/root/g/a/"]),
    ];
    for (dialect, bases) in bases {
        let (store, hierarchy) = begun(dialect)?;
        hierarchy.create_group("/g", zarr::Object::new())?;
        let array = hierarchy.create_array("/g/a").shape(&[2, 2]).chunks(&[1, 1]);
        let array = array.data_type_named("u1").separator('/').create()?;
        array.write(.., &[1u8, 0, 0, 2])?;
        let tree = || -> Result<Vec<String>> {
            let nodes = hierarchy.tree("/")?;
            Ok(nodes.iter().map(|node| node.path.to_string()).collect())
        };
        let (before, stored) = (tree()?, array.stored_chunks()?);
        for base in bases {
            for name in foreign {
                set(&store, &format!("{base}{name}"), b"foreign");
            }
        }
        assert_eq!(array.stored_chunks()?, stored, "{dialect}");
        assert_eq!(hierarchy.array("/g/a")?.read::<u8>(..)?, [1, 0, 0, 2], "{dialect}");
        assert_eq!(tree()?, before, "{dialect}");
    }
    Ok(())
}
