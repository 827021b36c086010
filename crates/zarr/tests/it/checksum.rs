//! A checksum is of what a node is: it is equal in every dialect, store and chunking, and differs when anything else does.
#![cfg(all(
    feature = "filesystem",
    feature = "memory",
    feature = "zip",
    feature = "lmdb",
    feature = "s3",
    feature = "gzip",
    feature = "sharding",
    feature = "vlen-utf8"
))]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::server::Server;
use zarr::format::of_dialect;
use zarr::store::{Store, from_sync};
use zarr::stores::{MemoryStore, ObjectStore};
use zarr::tools::{ChecksumOptions, CopyOptions, TreeProgress};
use zarr::{
    Access, Array, CancelToken, DataType, Dialect, ErrorKind, Hierarchy, Json, Node, NodePath,
    Object, OpenOptions, Result,
};

fn options() -> OpenOptions {
    OpenOptions::new(zarr::standard()).read_write()
}

fn begun(dialect: Dialect) -> Result<Hierarchy> {
    let store: Arc<dyn Store> = from_sync(MemoryStore::new());
    Hierarchy::create(store, of_dialect(dialect), &options())
}

fn json(text: &str) -> Json {
    Json::parse(text.as_bytes()).expect("JSON")
}

fn object(text: &str) -> Object {
    json(text).as_object().expect("an object").clone()
}

fn names(names: &[&str]) -> Vec<Option<String>> {
    names.iter().map(|name| Some((*name).to_owned())).collect()
}

/// A dataset with what dialects write differently: attributes, names of axes, missing values, byte orders, texts, records.
fn dataset(dialect: Dialect) -> Result<Hierarchy> {
    let hierarchy = begun(dialect)?;
    let attributes =
        r#"{"title": "a sea", "levels": [1, 2.5, 1e300], "deep": {"b": 1.0, "a": null}}"#;
    hierarchy.create_group("/sea", object(attributes))?;
    let temp = hierarchy.create_array("/sea/temp").shape(&[30, 21]).chunks(&[7, 8]);
    let temp = temp.data_type_named(if dialect == Dialect::V2 { ">f4" } else { "float32" });
    let temp = temp.fill_value(json("-9.0")).dimension_names(names(&["y", "x"]));
    let temp = temp.attributes(match dialect {
        // What the fill value is in v2, this attribute is in final v3.
        Dialect::V3 => object(r#"{"units": "K", "scale": 0.5, "_FillValue": "AAAAAAAAIsA="}"#),
        _ => object(r#"{"units": "K", "scale": 5e-1}"#),
    });
    let temp = temp.create()?;
    let values: Vec<f32> = (0..630).map(|n| n as f32 / 7.0).collect();
    temp.write((0..20, ..), &values[..420])?;
    let plain = hierarchy.create_array("/counts").shape(&[50]).chunks(&[9]);
    let plain = plain.data_type_named("int64").fill_value(json("7")).create()?;
    plain.write(10..30, &(0..20).map(|n| n << 55).collect::<Vec<i64>>())?;
    let flags = hierarchy.create_array("/sea/flags").shape(&[3, 4, 5]).chunks(&[2, 2, 2]);
    flags.data_type_named("bool").create()?.write((1, .., ..), &[true; 20])?;
    let fixed = hierarchy.create_array("/fixed").shape(&[4]).chunks(&[3]);
    fixed
        .data_type_named("<U3")
        .create()?
        .write_le_bytes(1, &[0x41, 0, 0, 0, 0xe9, 0, 0, 0, 0, 0, 0, 0])?;
    let texts =
        hierarchy.create_array("/texts").shape(&[5]).chunks(&[2]).data_type(DataType::String);
    let texts = texts.fill_value(json("\"\"")).create()?;
    let words = ["a", "", "héé", "d\u{0}", "e"].map(str::to_owned);
    texts.write(.., &words)?;
    let record = zarr::data_type::Record::new([
        zarr::data_type::Field::new("n", zarr::CoreType::Int16.into()),
        zarr::data_type::Field::new("x", zarr::CoreType::Float64.into()),
    ])?;
    let records = hierarchy.create_array("/records").shape(&[6]).chunks(&[4]);
    let records = records.data_type(DataType::from(record)).create()?;
    records.write_le_bytes(0..2, &[3; 20])?;
    hierarchy
        .create_array("/empty")
        .shape(&[0, 3])
        .chunks(&[1, 1])
        .data_type_named("uint8")
        .create()?;
    hierarchy.create_array("/scalar").shape(()).chunks(()).data_type_named("complex64").create()?;
    let times = hierarchy.create_array("/times").shape(&[3]).chunks(&[2]);
    times.data_type_named("<M8[25s]").create()?;
    Ok(hierarchy)
}

fn checksum_of(node: &Node) -> Result<String> {
    Ok(zarr::tools::checksum(node, &ChecksumOptions::default())?.digest.to_string())
}

fn checksum(hierarchy: &Hierarchy) -> Result<String> {
    checksum_of(&hierarchy.node("/")?)
}

fn copied(from: &Hierarchy, to: &Hierarchy, options: &CopyOptions<'_>) -> Result<()> {
    let progress = zarr::tools::copy(&from.node("/")?, to, "/", options)?;
    assert_eq!(progress.not_kept, Vec::<String>::new());
    Ok(())
}

#[test]
fn every_dialect_has_the_same_checksum() -> Result<()> {
    let expected = checksum(&dataset(Dialect::V3)?)?;
    for dialect in [Dialect::V2, Dialect::Draft] {
        assert_eq!(checksum(&dataset(dialect)?)?, expected, "{dialect}");
    }
    let from = dataset(Dialect::V2)?;
    for dialect in [Dialect::V3, Dialect::Draft, Dialect::V2] {
        let to = begun(dialect)?;
        copied(&from, &to, &CopyOptions::default())?;
        assert_eq!(checksum(&to)?, expected, "a copy in {dialect}");
        // And back.
        let back = begun(Dialect::V2)?;
        copied(&to, &back, &CopyOptions::default())?;
        assert_eq!(checksum(&back)?, expected, "a copy of a copy in {dialect}");
    }
    Ok(())
}

/// NCZarr stores texts in elements of one size: the NULs behind a text are not of it, and how many there are says nothing.
#[test]
fn texts_of_netcdf_have_the_same_checksum_whatever_their_padding() -> Result<()> {
    let of = |data_type: &str, is_netcdf: bool, texts: [&str; 3]| -> Result<String> {
        let hierarchy = begun(Dialect::V2)?;
        let array = hierarchy.create_array("/a").shape(&[3]).chunks(&[2]);
        let array = array.data_type_named(data_type).dimension_names(names(&["x"]));
        let says = r#"{"_nczarr_array": {"dimension_references": ["/x"], "storage": "chunked"}}"#;
        let array = array.attributes(object(if is_netcdf { says } else { "{}" })).create()?;
        match data_type {
            "string" => array.write(.., &texts.map(str::to_owned))?,
            _ => {
                let size = array.data_type().repr().expect("it has a size").size();
                let padded = |text: &str| {
                    let wide = |letter: char| (letter as u32).to_le_bytes().to_vec();
                    let mut bytes = if data_type.starts_with("<U") {
                        text.chars().flat_map(wide).collect()
                    } else {
                        text.as_bytes().to_vec()
                    };
                    bytes.resize(size, 0);
                    bytes
                };
                array.write_le_bytes(.., &texts.map(padded).concat())?;
            }
        }
        checksum(&hierarchy)
    };
    let texts = ["a", "", "wörd"];
    let expected = of("|S5", true, texts)?;
    for data_type in ["|S6", "|S40", "<U4", "<U9"] {
        assert_eq!(of(data_type, true, texts)?, expected, "{data_type}");
        assert_ne!(of(data_type, true, ["a", "", "wörs"])?, expected, "{data_type}");
        // A NUL before the end of a text is of it.
        assert_ne!(of(data_type, true, ["\0a", "", "wörd"])?, expected, "{data_type}");
    }
    assert_ne!(of("|S6", false, texts)?, of("|S40", false, texts)?);
    Ok(())
}

#[test]
fn every_store_has_the_same_checksum() -> Result<()> {
    let from = dataset(Dialect::V3)?;
    let expected = checksum(&from)?;
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).display().to_string();
    for url in
        [at("folder.zarr"), format!("zip://{}", at("a.zip")), format!("lmdb://{}", at("a.lmdb"))]
    {
        for dialect in [Dialect::V3, Dialect::V2] {
            let url = format!("{url}-{dialect}");
            let to = zarr::create(&url, dialect)?;
            copied(&from, &to, &CopyOptions::default())?;
            to.flush()?;
            drop(to);
            assert_eq!(checksum_of(&zarr::open(&url)?)?, expected, "{url}");
        }
    }
    // A bucket that is read: its listing is the consolidated metadata.
    let server = Server::start();
    from.consolidate()?;
    let stored = from.store().to_sync();
    for key in stored.list()? {
        server.set(&format!("bucket/data/{key}"), &stored.value(&key)?.expect("it was listed"));
    }
    let endpoint = server.url("");
    let reached = [
        ("endpoint", endpoint.trim_end_matches('/')),
        ("access_key_id", "id"),
        ("secret_access_key", "key"),
        ("region", "us-east-1"),
    ];
    let store = ObjectStore::open("s3://bucket/data", Access::ReadOnly, reached).expect("a bucket");
    let to = Hierarchy::open(Arc::new(store), &OpenOptions::new(zarr::standard()))?;
    assert_eq!(checksum(&to)?, expected, "a bucket");
    Ok(())
}

#[test]
fn every_chunking_has_the_same_checksum() -> Result<()> {
    let from = dataset(Dialect::V3)?;
    let expected = checksum(&from)?;
    for chunks in [[1, 1], [30, 21], [30, 1], [1, 21], [4, 5]] {
        for codec in ["none", "gzip:1"] {
            let to = begun(Dialect::V3)?;
            let codecs = (codec != "none").then(|| vec![codec.to_owned()]);
            let options = CopyOptions {
                chunks: Some(chunks.to_vec()),
                shards: (chunks == [4, 5]).then(|| vec![8, 10]),
                codecs: Some(codecs.unwrap_or_default()),
                ..CopyOptions::default()
            };
            copied(&from, &to, &options)?;
            assert_eq!(checksum(&to)?, expected, "{chunks:?} {codec}");
        }
    }
    Ok(())
}

#[test]
fn any_change_changes_the_checksum() -> Result<()> {
    let expected = checksum(&dataset(Dialect::V3)?)?;
    type Change = fn(&Hierarchy) -> Result<()>;
    let changes: [(&str, Change); 11] = [
        ("an element", |h| h.array("/sea/temp")?.write((0, 0), &[1e-9f32])),
        ("the sign of zero", |h| h.array("/sea/temp")?.write((0, 0), &[-0f32])),
        ("two chunks", |h| {
            let array = h.array("/sea/temp")?;
            let (one, two): (Vec<f32>, Vec<f32>) =
                (array.read((0..7, 0..8))?, array.read((7..14, 0..8))?);
            array.write((0..7, 0..8), &two)?;
            array.write((7..14, 0..8), &one)
        }),
        ("an attribute", |h| {
            h.group("/sea")?.update_attributes(|a| drop(a.insert("title", "a see"))).map(drop)
        }),
        ("an attribute of an array", |h| {
            h.array("/sea/temp")?.update_attributes(|a| drop(a.insert("scale", 0.25))).map(drop)
        }),
        ("the missing value", |h| {
            let array = h.array("/sea/temp")?;
            array.update_attributes(|a| drop(a.remove("_FillValue"))).map(drop)
        }),
        ("the names of dimensions", |h| {
            h.array("/sea/temp")?.rename_dimensions(&["y".into(), "z".into()])
        }),
        ("the shape", |h| h.array("/empty")?.resize(&[0, 4])),
        ("a text", |h| h.array("/texts")?.write(1..2, &["x".to_owned()])),
        ("a name", |h| h.create_group("/see", Object::new()).map(drop)),
        ("a member", |h| h.erase("/times")),
    ];
    for (what, change) in changes {
        let changed = dataset(Dialect::V3)?;
        change(&changed)?;
        assert_ne!(checksum(&changed)?, expected, "{what}");
    }
    Ok(())
}

#[test]
fn the_bits_of_a_nan_count() -> Result<()> {
    let hierarchy = dataset(Dialect::V3)?;
    let mut seen = Vec::new();
    for bits in [0x7fc0_0000, 0x7fc0_0001, 0xffc0_0000] {
        hierarchy.array("/sea/temp")?.write((0, 0), &[f32::from_bits(bits)])?;
        seen.push(checksum(&hierarchy)?);
    }
    assert!(seen[0] != seen[1] && seen[1] != seen[2] && seen[0] != seen[2]);
    Ok(())
}

/// A group without a document is one without attributes.
#[test]
fn implicit_groups_have_the_checksum_of_empty_ones() -> Result<()> {
    let array = |hierarchy: &Hierarchy| {
        hierarchy.create_array("/a/b/c").shape(&[2]).chunks(&[2]).data_type_named("int8").create()
    };
    let (explicit, implicit) = (begun(Dialect::V3)?, begun(Dialect::V3)?);
    array(&explicit)?;
    array(&implicit)?;
    for key in ["a/zarr.json", "a/b/zarr.json"] {
        let key = zarr::store::StoreKey::new(key)?;
        assert!(implicit.store().to_sync().value(&key)?.is_some());
        implicit.store().to_sync().erase(&key)?;
    }
    assert!(implicit.group("/a/b")?.metadata().implicit);
    assert_eq!(checksum(&implicit)?, checksum(&explicit)?);
    Ok(())
}

fn large(shape: &[u64], chunks: &[u64]) -> Result<Array> {
    let array = begun(Dialect::V3)?.create_array("/a").shape(shape).chunks(chunks);
    let array = array.data_type_named("uint16").create()?;
    let count: u64 = shape.iter().product();
    array.write(.., &(0..count).map(|n| ((n * 2654435761) >> 7) as u16).collect::<Vec<_>>())?;
    Ok(array)
}

/// Blocks that cut chunks, chunks that cut blocks, pieces that are parts of chunks, one thread or several.
#[test]
fn the_order_in_which_an_array_is_read_does_not_matter() -> Result<()> {
    let shape = [50, 40, 700];
    let whole = large(&shape, &shape)?;
    let expected = zarr::tools::checksum(
        &Node::Array(whole),
        &ChecksumOptions { regions: true, ..ChecksumOptions::default() },
    )?;
    let blocks = expected.nodes[0].blocks.as_ref().expect("an array has blocks");
    assert_eq!(blocks.block_shape, [32, 32, 512]);
    assert_eq!(blocks.levels.iter().map(Vec::len).collect::<Vec<_>>(), [8, 1]);
    assert_eq!(blocks.region(7).to_string(), "(32..50, 32..40, 512..700)");
    for chunks in [[1, 40, 700], [50, 7, 110], [33, 33, 100], [50, 40, 333]] {
        let node = Node::Array(large(&shape, &chunks)?);
        for (memory, threads) in [(0, 0), (1 << 20, 1), (1 << 16, 3)] {
            let options = ChecksumOptions { memory, threads, regions: true, ..Default::default() };
            let found = zarr::tools::checksum(&node, &options)?;
            assert_eq!(found.digest, expected.digest, "{chunks:?} {memory}");
            assert_eq!(found.nodes[0].blocks, expected.nodes[0].blocks);
        }
    }
    Ok(())
}

/// One changed element changes the hash of its block and of no other.
#[test]
fn the_hashes_of_blocks_tell_where_arrays_differ() -> Result<()> {
    let shape = [40, 40, 600];
    let array = large(&shape, &[20, 20, 100])?;
    let blocks = |array: &Array| -> Result<zarr::tools::Blocks> {
        let options = ChecksumOptions { regions: true, ..ChecksumOptions::default() };
        let found = zarr::tools::checksum(&Node::Array(array.clone()), &options)?;
        Ok(found.nodes[0].blocks.clone().expect("blocks"))
    };
    let before = blocks(&array)?;
    array.write((35, 2, 599), &[1u16])?;
    let after = blocks(&array)?;
    let differ: Vec<u64> = (0..before.levels[0].len() as u64)
        .filter(|&n| before.levels[0][n as usize] != after.levels[0][n as usize])
        .collect();
    assert_eq!(differ.len(), 1);
    let region = after.region(differ[0]);
    let within = |(range, at): (&std::ops::Range<u64>, u64)| range.contains(&at);
    assert!(region.intervals().iter().zip([35, 2, 599]).all(within), "{region}");
    Ok(())
}

#[test]
fn a_checksum_is_cancelled_and_tells_how_far_it_is() -> Result<()> {
    let array = large(&[64, 64, 512], &[8, 64, 512])?;
    let token = CancelToken::new();
    let seen = AtomicU64::new(0);
    let tell = |progress: &TreeProgress| {
        assert_eq!(progress.bytes_total, 4 << 20);
        seen.store(progress.bytes_done, Ordering::Relaxed);
        if progress.bytes_done >= 1 << 20 {
            token.cancel();
        }
    };
    let options = ChecksumOptions {
        memory: 4 << 20,
        cancel: Some(token.clone()),
        progress: Some(&tell),
        ..ChecksumOptions::default()
    };
    let error = zarr::tools::checksum(&Node::Array(array), &options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert_eq!(error.path(), Some(&NodePath::new("/a")?));
    assert!((1 << 20..4 << 20).contains(&seen.load(Ordering::Relaxed)));
    Ok(())
}

/// A node that cannot be read is an error, never left out.
#[test]
fn a_broken_node_has_no_checksum() -> Result<()> {
    let hierarchy = dataset(Dialect::V3)?;
    let key = zarr::store::StoreKey::new("sea/temp/zarr.json")?;
    hierarchy.store().to_sync().set(&key, b"{".to_vec().into())?;
    let error = checksum(&hierarchy).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidMetadata);
    assert_eq!(error.path(), Some(&NodePath::new("/sea/temp")?));
    // It is no part of its siblings.
    hierarchy.create_group("/sea/te", Object::new())?;
    checksum_of(&hierarchy.node("/sea/te")?)?;
    Ok(())
}
