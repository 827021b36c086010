//! What a store may demand is bounded.
#![cfg(all(feature = "filesystem", feature = "gzip"))]

use std::fs;
use std::path::Path;

use tempfile::tempdir;
use zarr::{Dialect, ErrorKind, Limits};

fn array_of_rank(folder: &Path, rank: usize) {
    let ones = vec!["1"; rank].join(",");
    let document = format!(
        r#"{{"zarr_format":3,"node_type":"array","shape":[{ones}],"data_type":"uint8","fill_value":0,
        "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[{ones}]}}}},
        "chunk_key_encoding":{{"name":"default"}},"codecs":[{{"name":"bytes"}}]}}"#
    );
    fs::write(folder.join("zarr.json"), document).unwrap();
}

fn limited(change: impl FnOnce(&mut Limits)) -> zarr::OpenOptions {
    let mut limits = Limits::default();
    change(&mut limits);
    zarr::OpenOptions::new(zarr::standard()).limits(limits)
}

/// Arrays of 1,024 axes are read, and no more unless the caller says so.
#[test]
fn an_array_of_more_axes_than_the_limit_is_refused_in_few_words() {
    let folder = tempdir().unwrap();
    let url = folder.path().to_str().unwrap();
    array_of_rank(folder.path(), 1024);
    let array = zarr::open(url).unwrap().into_array().unwrap();
    assert_eq!(array.read::<u8>(..).unwrap(), [0]);
    array_of_rank(folder.path(), 1025);
    let error = zarr::open(url).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(error.to_string().contains("the rank is 1025, above the limit of 1024"), "{error}");
    assert!(error.to_string().len() < 300, "{error}");
    let array = zarr::open_with(url, &limited(|limits| limits.rank = 1025)).unwrap();
    assert_eq!(array.into_array().unwrap().shape().len(), 1025);
}

/// Arrays of 64 axes are created, and no more unless the caller says so.
#[test]
fn an_array_of_more_axes_than_others_read_is_not_created() {
    for dialect in [Dialect::V3, Dialect::V2, Dialect::Draft] {
        let folder = tempdir().unwrap();
        let url = folder.path().to_str().unwrap();
        let hierarchy = zarr::create(url, dialect).unwrap();
        let create = |name: &str, rank: usize| {
            let builder = hierarchy.create_array(name);
            builder.shape(&vec![1; rank]).data_type_named("uint8").create()
        };
        create("/most", 64).unwrap();
        let error = create("/more", 65).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    }
}

/// A document has at most 64 MiB. A larger file is refused by its size, before it is held.
#[test]
fn a_document_beyond_the_limit_is_refused() {
    let folder = tempdir().unwrap();
    let url = folder.path().to_str().unwrap();
    let file = fs::File::create(folder.path().join("zarr.json")).unwrap();
    // It takes no place on the disk, and no machine has the memory.
    file.set_len(1 << 42).unwrap();
    let error = zarr::open(url).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    assert!(error.to_string().contains("more than the limit of 67108864"), "{error}");

    array_of_rank(folder.path(), 1);
    let error = zarr::open_with(url, &limited(|limits| limits.document = 100)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
}

/// Z2-070: nobody needs the copies of v2 documents, so that copies beyond the limit cost a warning.
#[test]
fn copies_beyond_the_limit_are_passed_over_where_the_documents_are_there() {
    let folder = tempdir().unwrap();
    let url = folder.path().to_str().unwrap();
    let hierarchy = zarr::create(url, Dialect::V2).unwrap();
    let array = hierarchy.create_array("/a").shape(&[1]);
    array.data_type_named("uint8").fill_value(7u64).create().unwrap();
    let copies = fs::File::create(folder.path().join(".zmetadata")).unwrap();
    copies.set_len(1 << 42).unwrap();

    let options = || zarr::OpenOptions::new(zarr::standard());
    for options in [options(), options().read_write()] {
        let group = zarr::open_with(url, &options).unwrap().into_group().unwrap();
        let array = group.array("a").unwrap();
        assert_eq!(array.read::<u8>(..).unwrap(), [7]);
        let warnings = group.hierarchy().warnings();
        let [warning] = &warnings[..] else { panic!("{warnings:?}") };
        assert_eq!(warning.place, ".zmetadata");
        assert!(warning.what.contains("ignoring consolidated metadata"), "{warning}");
        assert!(warning.what.contains("more than the limit of 67108864"), "{warning}");
        assert!(!group.hierarchy().is_consolidated().unwrap());
    }
    // A change would leave the copies untrue.
    let group = zarr::open_with(url, &options().read_write()).unwrap().into_group().unwrap();
    let refused = group.create_group("b").unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Limit, "{refused}");
    assert!(!folder.path().join("b").exists());

    // Who is strict, or asks for the copies, is told.
    let error = zarr::open_with(url, &options().strict()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
    let mut asked = options();
    asked.consolidated = zarr::Consolidated::Use;
    assert_eq!(zarr::open_with(url, &asked).unwrap_err().kind(), ErrorKind::Limit);

    // Without the documents there is nothing else to read.
    fs::remove_file(folder.path().join(".zgroup")).unwrap();
    assert_eq!(zarr::open(url).unwrap_err().kind(), ErrorKind::Limit);
}

/// Who changes documents below a root whose copies of them are too large to be read is told that the copies
/// are untrue from then on. The file has holes and takes no room.
#[test]
fn a_change_below_copies_beyond_the_limit_warns() {
    let beyond = |dialect: Dialect, document: &str| {
        let folder = tempdir().unwrap();
        let url = folder.path().to_str().unwrap();
        let hierarchy = zarr::create(url, dialect).unwrap();
        let array = hierarchy.create_array("/g/a").shape(&[1]);
        array.data_type_named("uint8").fill_value(7u64).create().unwrap();
        let mut copies = fs::OpenOptions::new();
        let copies = copies.create(true).append(true).open(folder.path().join(document)).unwrap();
        copies.set_len(1 << 42).unwrap();
        let below = folder.path().join("g/a");
        let options = zarr::OpenOptions::new(zarr::standard());
        let open = |options| zarr::open_with(below.to_str().unwrap(), &options).unwrap();
        let array = open(options.clone().read_write()).into_array().unwrap();
        array.update_attributes(|attributes| drop(attributes.insert("x", 1u64))).unwrap();
        let warnings = array.hierarchy().warnings();
        let [warning] = &warnings[..] else { panic!("{warnings:?}") };
        assert!(warning.to_string().contains(url), "{warning}");
        for part in [
            "more than the limit of 67108864",
            "do not update these consolidated metadata",
            "consolidate again",
        ] {
            assert!(warning.what.contains(part), "{warning}");
        }
        let array = open(options).into_array().unwrap();
        assert_eq!(array.hierarchy().warnings(), [], "a reader changes nothing");
    };
    beyond(Dialect::V2, ".zmetadata");
    beyond(Dialect::V3, "zarr.json");
}

/// A stored chunk has no more bytes than its elements justify, whether it is read, changed in part, or cut
/// when its array shrinks, guarded or not. The file has holes and takes no room.
#[test]
fn a_chunk_beyond_the_limit_is_not_held() {
    let folder = tempdir().unwrap();
    let url = folder.path().to_str().unwrap();
    let hierarchy = zarr::create(url, Dialect::V3).unwrap();
    let array = hierarchy.create_array("/a").shape(&[8]).chunks(&[4]);
    array.data_type_named("uint8").codec(zarr::tools::codec("gzip").unwrap()).create().unwrap();
    fs::create_dir(folder.path().join("a/c")).unwrap();
    for chunk in ["a/c/0", "a/c/1"] {
        fs::File::create(folder.path().join(chunk)).unwrap().set_len(1 << 42).unwrap();
    }
    let options = zarr::OpenOptions::new(zarr::standard()).read_write();
    let mut unguarded = options.clone();
    unguarded.options.guard = zarr::Guard::Off;
    for (options, shorter) in [(options, 6), (unguarded, 5)] {
        let hierarchy = zarr::Hierarchy::locate(url, &options).unwrap().0;
        let array = hierarchy.array("/a").unwrap();
        let read = array.read::<u8>(..).unwrap_err();
        let changed = array.write(1..2, &[1u8]).unwrap_err();
        let cut = array.resize(&[shorter]).unwrap_err();
        for error in [read, changed, cut] {
            assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
            let why = "has 4398046511104 bytes, more than the limit of 67108864";
            assert!(error.to_string().contains(why), "{error}");
        }
    }
    // A whole chunk needs nothing of the old one.
    hierarchy.array("/a").unwrap().write(0..4, &[1u8; 4]).unwrap();
}

/// A chunk that is larger than any that is read goes like others when the array is shortened. Only a chunk that is cut in
/// two must be read: there the error comes after the document has its new shape, and nothing comes back.
#[test]
fn shortening_an_array_erases_chunks_above_the_limit() {
    for (kept, is_erased) in [(2, true), (3, false)] {
        let folder = tempdir().unwrap();
        let hierarchy = zarr::create(folder.path().to_str().unwrap(), Dialect::V3).unwrap();
        let array = hierarchy.create_array("/a").shape(&[4]).chunks(&[2]);
        let array = array.data_type_named("u1").create().unwrap();
        array.write(.., &[1u8, 2, 3, 4]).unwrap();
        let chunk = folder.path().join("a/c/1");
        // A hole takes no space.
        fs::File::create(&chunk).unwrap().set_len((64 << 20) + 1).unwrap();
        let shortened = array.resize(&[kept]);
        assert_eq!((shortened.is_ok(), chunk.exists()), (is_erased, !is_erased), "{shortened:?}");
        assert_eq!(array.shape(), [kept]);
        assert_eq!(array.read::<u8>(..2).unwrap(), [1, 2]);
        let lengthened = array.resize(&[4]);
        assert_eq!(lengthened.is_ok(), is_erased, "{lengthened:?}");
        if is_erased {
            assert_eq!(array.read::<u8>(..).unwrap(), [1, 2, 0, 0]);
        }
    }
}

/// What is written can be read again: a document above the limit is refused before it is stored, by the limit's name.
#[test]
fn no_document_is_written_that_is_above_the_limit() {
    for dialect in [Dialect::V3, Dialect::V2, Dialect::Draft] {
        let folder = tempdir().unwrap();
        let url = folder.path().to_str().unwrap();
        let options = limited(|limits| limits.document = 4_000).read_write();
        let hierarchy = zarr::create_with(url, dialect, &options).unwrap();
        let new = |name: &str| {
            hierarchy.create_array(name).shape(&[2]).data_type_named("uint8").fill_value(7u64)
        };
        let array = new("/a").create().unwrap();
        let long = || zarr::Object::new().with("history", "x".repeat(5_000));
        let group = hierarchy.create_group("/g", zarr::Object::new()).unwrap();
        let refused = [
            array.update_attributes(|attributes| *attributes = long()).unwrap_err(),
            group.update_attributes(|attributes| *attributes = long()).unwrap_err(),
            new("/b").attributes(long()).create().unwrap_err(),
            hierarchy.create_group("/h", long()).unwrap_err(),
        ];
        for error in refused {
            assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
            assert!(error.to_string().contains("`Limits::document`"), "{error}");
        }
        let again = zarr::open_with(url, &options).unwrap().into_group().unwrap();
        assert_eq!(again.array("a").unwrap().read::<u8>(..).unwrap(), [7, 7]);
        assert!(again.group("g").unwrap().attributes().is_empty());
        assert!(again.array("b").is_err() && again.group("h").is_err());
    }
}

/// A chunk that its codec cannot hold, or that no reader decodes, is refused when the array is created.
#[test]
#[cfg(feature = "blosc")]
fn no_array_is_created_whose_chunks_nobody_could_write_or_read() {
    for dialect in [Dialect::V3, Dialect::V2, Dialect::Draft] {
        let folder = tempdir().unwrap();
        let url = folder.path().to_str().unwrap();
        let hierarchy = zarr::create(url, dialect).unwrap();
        let create = |codec: &str, len: u64| {
            let builder = hierarchy.create_array("/a").shape(&[len]).chunks(&[len]);
            builder.data_type_named("uint8").codec(zarr::tools::codec(codec).unwrap()).create()
        };
        let error = create("blosc", (1 << 31) + 100).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Argument, "{error}");
        assert!(error.to_string().contains("2147483631 bytes"), "{error}");
        let error = create("gzip", (1 << 31) + 100).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
        assert!(error.to_string().contains("`Limits::decoded`"), "{error}");
        create("blosc", (1 << 31) - 100).unwrap();
    }
}
