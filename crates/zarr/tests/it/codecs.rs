//! Codecs that not every dialect has are converted where they can be, and refused where they cannot.
#![cfg(feature = "full")]

use std::sync::Arc;

use zarr::grid::RectilinearGrid;
use zarr::tools::CopyOptions;
use zarr::{Array, Dialect, ErrorKind, Hierarchy, Json, Node, NodePath, Object, Result};

fn hierarchy(dialect: Dialect) -> Hierarchy {
    zarr::create("memory://", dialect).expect("a new hierarchy")
}

fn path() -> NodePath {
    NodePath::new("/a").expect("a good path")
}

/// An array of 3 × 4 numbers, 0 to 11, in chunks of 2 × 3.
fn array(dialect: Dialect, data_type: &str, codecs: &[&str]) -> Result<Array> {
    let hierarchy = hierarchy(dialect);
    let mut builder = hierarchy.create_array(path()).shape(&[3, 4]).chunks(&[2, 3]);
    for codec in codecs {
        builder = builder.codec(zarr::tools::codec(codec)?);
    }
    let array = builder.data_type_named(data_type).create()?;
    let numbers: Vec<u8> = (0..12).collect();
    match data_type {
        "uint8" => array.write(.., &numbers)?,
        "int32" => array.write(.., &numbers.into_iter().map(i32::from).collect::<Vec<_>>())?,
        _ => array.write(.., &numbers.into_iter().map(f64::from).collect::<Vec<_>>())?,
    }
    Ok(array)
}

fn copy(array: &Array, dialect: Dialect, codecs: Option<&[&str]>) -> Result<Array> {
    let target = hierarchy(dialect);
    let codecs = codecs.map(|codecs| codecs.iter().map(|&text| text.to_owned()).collect());
    let options = CopyOptions { codecs, ..CopyOptions::default() };
    zarr::tools::copy(&Node::Array(array.clone()), &target, path(), &options)?;
    target.array(path())
}

fn names(array: &Array) -> Vec<String> {
    array.metadata().codecs.iter().map(|spec| spec.name.clone()).collect()
}

/// Blocks of N5.
const BLOCKS: &str = r#"{"name":"n5_default","configuration":{"codecs":[{"name":"transpose","configuration":{"order":[1,0]}},{"name":"bytes","configuration":{"endian":"big"}}]}}"#;

/// F-104, T-53, Z2-090: it makes bytes of arrays in final v3, and is a filter or compressor in v2.
#[test]
fn pcodec_passes_between_v2_and_final_v3() -> Result<()> {
    for (codecs, there, back) in [
        (&["pcodec"][..], &["numcodecs.pcodec"][..], &["bytes", "pcodec"][..]),
        (
            &["delta", "pcodec:3", "gzip:1"],
            &["numcodecs.delta", "numcodecs.pcodec", "gzip"],
            &["bytes", "delta", "pcodec", "gzip"],
        ),
    ] {
        for first in [Dialect::V2, Dialect::V3] {
            let array = array(first, "int32", codecs)?;
            let elements = array.read::<i32>(..)?;
            let in_v3 = copy(&array, Dialect::V3, None)?;
            assert_eq!(names(&in_v3), there);
            let in_v2 = copy(&in_v3, Dialect::V2, None)?;
            assert_eq!(names(&in_v2), back);
            let again = copy(&in_v2, Dialect::V3, None)?;
            for copy in [in_v3, in_v2, again] {
                assert_eq!(copy.read::<i32>(..)?, elements);
                assert_eq!(copy.read::<i32>((1..3, 2..4))?, [6, 7, 10, 11]);
            }
        }
    }
    Ok(())
}

/// What stood in the place of `bytes` goes with the other codecs, and comes where it is asked for.
#[test]
fn other_codecs_are_taken_for_those_that_make_bytes() -> Result<()> {
    let whole = r#"{"name":"cast_value","configuration":{"data_type":"uint8"}}"#;
    for codecs in [&["pcodec"][..], &[whole, "gzip:1"], &["packbits"], &[BLOCKS]] {
        let array = array(Dialect::V3, "float64", codecs)?;
        for dialect in [Dialect::V3, Dialect::V2, Dialect::Draft] {
            let plain = copy(&array, dialect, Some(&["gzip"]))?;
            let [bytes, gzip] = &names(&plain)[..] else { panic!("{codecs:?}") };
            assert!(bytes == "bytes" && gzip.contains("gzip"), "{codecs:?}");
            assert_eq!(plain.read::<f64>(..)?, array.read::<f64>(..)?);
        }
        let numbers = copy(&array, Dialect::V3, Some(&["pcodec:1"]))?;
        assert_eq!(names(&numbers), ["numcodecs.pcodec"]);
        assert_eq!(numbers.read::<f64>(..)?, array.read::<f64>(..)?);
    }
    Ok(())
}

/// Final v3's own codecs have no words elsewhere; the refusal says so, and what else there is.
#[test]
fn what_a_dialect_lacks_is_refused_before_anything_is_written() -> Result<()> {
    let cast = r#"{"name":"cast_value","configuration":{"data_type":"float32"}}"#;
    let scale = r#"{"name":"scale_offset","configuration":{"offset":-1}}"#;
    let conditional = r#"{"name":"conditional","configuration":{"codecs":[{"name":"crc32c"}]}}"#;
    for (data_type, codec, name) in [
        ("float64", cast, "cast_value"),
        ("int32", scale, "scale_offset"),
        ("int32", conditional, "conditional"),
        ("int32", BLOCKS, "n5_default"),
        ("int32", r#"{"name":"bitround","configuration":{"keepbits":4}}"#, "bitround"),
        ("int32", r#"{"name":"packbits","configuration":{"last_bit":4}}"#, "packbits"),
    ] {
        let array = array(Dialect::V3, data_type, &[codec])?;
        for (dialect, format) in [(Dialect::V2, "v2"), (Dialect::Draft, "draft-2020")] {
            let refused = copy(&array, dialect, None).expect_err("no words");
            assert_eq!(refused.kind(), ErrorKind::Unsupported, "{refused}");
            let text = refused.to_string();
            assert!(
                text.contains(&format!("{format} cannot represent the codec `{name}`")),
                "{text}"
            );
            assert!(text.contains("--codec gzip"), "{text}");
        }
    }
    Ok(())
}

/// A codec that is only decoded is told before the first chunk, with the way round it.
#[test]
fn a_codec_that_does_not_encode_is_refused_with_a_way_out() -> Result<()> {
    let hierarchy = hierarchy(Dialect::V3);
    let by = |compressor: &str| {
        let configuration = Object::new()
            .with("cname", compressor)
            .with("clevel", 5u64)
            .with("shuffle", "noshuffle")
            .with("blocksize", 0u64);
        let codec = zarr::codec::CodecSpec::v3("blosc", configuration);
        let builder = hierarchy.create_array(path()).shape(&[4]).data_type_named("uint8");
        builder.codec(codec).create()
    };
    let refused = by("snappy").expect_err("not encoded").to_string();
    assert!(refused.contains("snappy is decoded, not encoded"), "{refused}");
    by("lz4")?;
    // Others encode it.
    let key = zarr::store::StoreKey::new("a/zarr.json")?;
    let sync = hierarchy.store().to_sync();
    let document = sync.value(&key)?.expect("the document is there");
    let document = String::from_utf8(document.to_vec()).expect("JSON").replace("lz4", "snappy");
    sync.set(&key, document.into_bytes().into())?;
    let array = hierarchy.array(path())?;
    for shards in [None, Some(vec![4])] {
        let target = self::hierarchy(Dialect::V3);
        let options = CopyOptions { shards, ..CopyOptions::default() };
        let node = Node::Array(array.clone());
        let refused = zarr::tools::copy(&node, &target, path(), &options).expect_err("not encoded");
        let text = refused.to_string();
        assert!(text.contains("snappy is decoded, not encoded"), "{text}");
        assert!(text.contains("--codec gzip"), "{text}");
        assert!(target.array(path()).is_err(), "something is left");
    }
    assert_eq!(copy(&array, Dialect::V2, Some(&["gzip"]))?.read::<u8>(..)?, [0; 4]);
    Ok(())
}

/// Chunks of different shapes are named as what they are, in every dialect that lacks them.
#[test]
fn other_dialects_have_chunks_of_one_shape() -> Result<()> {
    let hierarchy = hierarchy(Dialect::V3);
    let grid = RectilinearGrid::new(&[Json::from(&[1u64, 3][..])], &[4])?;
    let builder = hierarchy.create_array(path()).shape(&[4]).data_type_named("uint8");
    let array = builder.grid(Arc::new(grid)).create()?;
    for dialect in [Dialect::V2, Dialect::Draft] {
        let refused = copy(&array, dialect, None).expect_err("no words").to_string();
        assert!(refused.contains("chunks of different shapes"), "{refused}");
        assert!(refused.contains("choose chunks of one shape, or v3"), "{refused}");
    }
    Ok(())
}
