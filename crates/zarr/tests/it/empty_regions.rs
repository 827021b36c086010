//! Every codec reads and writes regions without elements, in any rank.
#![cfg(feature = "memory")]

use zarr::store::from_sync;
use zarr::stores::MemoryStore;
use zarr::{Array, Dialect, Hierarchy, NodePath, OpenOptions, Region, Result};

fn hierarchy(dialect: Dialect) -> Result<Hierarchy> {
    let options = OpenOptions::new(zarr::standard()).read_write();
    let format = zarr::format::of_dialect(dialect);
    Hierarchy::create(from_sync(MemoryStore::new()), format, &options)
}

/// Codecs as final v3 has them, for 16-bit integers, and the data type that they are for.
fn codecs(rank: usize) -> Vec<(&'static str, Vec<String>)> {
    let order: Vec<String> = (0..rank).rev().map(|axis| axis.to_string()).collect();
    let transpose =
        format!(r#"{{"name":"transpose","configuration":{{"order":[{}]}}}}"#, order.join(","));
    let ones = vec!["1"; rank].join(",");
    let shard = |inner: &str| {
        format!(
            r#"{{"name":"sharding_indexed","configuration":{{"chunk_shape":[{ones}],"codecs":[{inner}],
            "index_codecs":[{{"name":"bytes","configuration":{{"endian":"little"}}}}]}}}}"#
        )
    };
    let bytes = r#"{"name":"bytes","configuration":{"endian":"big"}}"#;
    let mut lists = vec![("uint16", vec![]), ("uint16", vec![transpose.clone()])];
    let flat = [
        ("gzip", "gzip:1"),
        ("zlib", "zlib:1"),
        ("zstd", "zstd:1"),
        ("blosc", "blosc-lz4"),
        ("lz4", "lz4"),
        ("bz2", "bz2:1"),
        ("lzma", r#"{"name":"numcodecs.lzma","configuration":{"preset":1}}"#),
        ("crc32c", "crc32c"),
        ("shuffle", r#"{"name":"numcodecs.shuffle","configuration":{"elementsize":2}}"#),
        ("crc32", r#"{"name":"numcodecs.crc32"}"#),
        ("adler32", r#"{"name":"numcodecs.adler32"}"#),
        ("fletcher32", r#"{"name":"numcodecs.fletcher32"}"#),
        ("jenkins_lookup3", r#"{"name":"numcodecs.jenkins_lookup3"}"#),
    ];
    let arrays = [
        ("delta", r#"{"name":"numcodecs.delta","configuration":{"dtype":"<u2"}}"#),
        (
            "astype",
            r#"{"name":"numcodecs.astype","configuration":{"encode_dtype":"<u4","decode_dtype":"<u2"}}"#,
        ),
        ("bitround", r#"{"name":"bitround","configuration":{"keepbits":16}}"#),
        ("packbits", r#"{"name":"packbits"}"#),
        ("reshape", r#"{"name":"reshape","configuration":{"shape":[-1]}}"#),
    ];
    let registry = zarr::standard();
    let known = registry.codec_names(Dialect::V3);
    let is_here = |name: &str| known.iter().any(|known| known.rsplit('.').next() == Some(name));
    for (name, word) in flat.into_iter().chain(arrays).filter(|(name, _)| is_here(name)) {
        lists.push(("uint16", vec![word.to_owned()]));
        lists.push(("uint16", vec![transpose.clone(), word.to_owned()]));
        if name != "packbits" && word.starts_with('{') && arrays.iter().any(|(n, _)| *n == name) {
            lists.push(("uint16", vec![shard(&format!("{word},{bytes}"))]));
        }
    }
    if is_here("sharding_indexed") {
        lists.push(("uint16", vec![shard(bytes)]));
        lists.push(("uint16", vec![transpose, shard(bytes)]));
        lists.push(("uint16", vec![shard(&shard(bytes))]));
        lists.push(("string", vec![shard(r#"{"name":"vlen-utf8"}"#)]));
        lists.push(("variable_length_bytes", vec![shard(r#"{"name":"vlen-bytes"}"#)]));
    }
    lists.extend([("string", vec![]), ("variable_length_bytes", vec![])]);
    lists
}

/// Every region of an array of these lengths that has no elements because of one axis.
fn empty(shape: &[u64]) -> impl Iterator<Item = Region> + '_ {
    (0..shape.len()).flat_map(move |axis| {
        (0..=shape[axis]).map(move |at| {
            let interval = |(a, &len): (usize, &u64)| if a == axis { at..at } else { 0..len };
            Region::new(shape.iter().enumerate().map(interval))
        })
    })
}

fn check(array: &Array, what: &str) -> Result<()> {
    let shape = array.shape();
    for region in empty(&shape) {
        assert!(array.read_bytes(&region)?.is_empty(), "{what}, {region:?}");
        assert!(array.read_le_bytes(&region)?.is_empty(), "{what}, {region:?}");
        array.write_bytes(&region, &[])?;
        array.write_le_bytes(&region, &[])?;
        assert_eq!(array.chunks(&region)?.count(), 0, "{what}, {region:?}");
    }
    Ok(())
}

fn keys(array: &Array) -> usize {
    let store = array.hierarchy().store().to_sync();
    store.list().expect("memory lists").len()
}

/// T-67, F-008, Z2-012: before and after something is stored, and in arrays that have no elements at all; nothing
/// is stored by it.
#[test]
fn nothing_is_read_and_written() -> Result<()> {
    for dialect in [Dialect::V3, Dialect::V2, Dialect::Draft] {
        for rank in 1..=4usize {
            let lists =
                if dialect == Dialect::V3 { codecs(rank) } else { vec![("uint16", vec![])] };
            for (data_type, list) in lists {
                let what = format!("{dialect}, {data_type}, {list:?}, rank {rank}");
                let hierarchy = hierarchy(dialect)?;
                let create = |at: &str, shape: &[u64]| {
                    let builder = hierarchy.create_array(&NodePath::new(at)?).shape(shape);
                    let mut builder = builder.chunks(&vec![2; rank]).data_type_named(data_type);
                    for codec in &list {
                        builder = builder.codec(zarr::tools::codec(codec)?);
                    }
                    builder.create()
                };
                let array = create("/a", &vec![3; rank])?;
                let before = keys(&array);
                check(&array, &what)?;
                assert_eq!(keys(&array), before, "{what}");
                let one = Region::new(vec![1..2; rank]);
                match data_type {
                    "uint16" => array.write(&one, &[7u16])?,
                    "string" => array.write(&one, &["x".to_owned()])?,
                    _ => array.write(&one, &[vec![7u8]])?,
                }
                check(&array, &what)?;
                for axis in 0..rank {
                    let mut shape = vec![3; rank];
                    shape[axis] = 0;
                    let none = create(&format!("/none{axis}"), &shape)?;
                    let before = keys(&none);
                    assert!(none.read_bytes(..)?.is_empty(), "{what}");
                    none.write_bytes(.., &[])?;
                    assert_eq!(none.chunks(..)?.count(), 0);
                    assert_eq!(keys(&none), before, "{what}");
                }
            }
        }
    }
    Ok(())
}

/// T-63, T-67: an axis of no length is one that can grow and shrink again.
#[test]
fn an_axis_of_no_length_grows() -> Result<()> {
    for dialect in [Dialect::V3, Dialect::V2, Dialect::Draft] {
        let hierarchy = hierarchy(dialect)?;
        let builder = hierarchy.create_array(&NodePath::new("/a")?).shape(&[0, 3]);
        let array = builder.chunks(&[2, 3]).data_type_named("int32").create()?;
        assert_eq!(array.read::<i32>(..)?, [0i32; 0]);
        assert_eq!(array.append(0, &[1, 2, 3])?, 0);
        assert_eq!(array.append::<i32>(0, &[])?, 1);
        assert_eq!(array.read::<i32>(..)?, [1, 2, 3]);
        array.resize(&[0, 3])?;
        assert_eq!(array.read::<i32>(..)?, [0i32; 0]);
        array.resize(&[2, 3])?;
        assert_eq!(array.read::<i32>(..)?, [0; 6]);
    }
    Ok(())
}
