//! Numbers narrower than the core's are read and written by their values.
#![cfg(all(feature = "half", feature = "num-complex", feature = "packbits"))]

use zarr::data_type::{FloatFormat, Rounding};
use zarr::store::StoreKey;
use zarr::tools::CopyOptions;
use zarr::{Array, Dialect, ErrorKind, Hierarchy, Node, NodePath, Result};

fn hierarchy(dialect: Dialect) -> Hierarchy {
    zarr::create("memory://", dialect).expect("a new hierarchy")
}

fn array(data_type: &str, codecs: &[&str]) -> Array {
    let hierarchy = hierarchy(Dialect::V3);
    let path = NodePath::new("/a").expect("a good path");
    let mut builder = hierarchy.create_array(&path).shape(&[4]).chunks(&[3]);
    for codec in codecs {
        builder = builder.codec(zarr::tools::codec(codec).expect("a codec"));
    }
    builder.data_type_named(data_type).create().expect("a new array")
}

fn stored(array: &Array, key: &str) -> Vec<u8> {
    let key = StoreKey::new(key).expect("a good key");
    let store = array.hierarchy().store();
    store.to_sync().value(&key).expect("readable").expect("there").to_vec()
}

/// F-053: elements are `i8` and `u8`, stored ones have zeros above them.
#[test]
fn integers_of_four_bits_have_a_sign_in_memory_and_none_above_them_in_a_store() -> Result<()> {
    let four = array("int4", &[]);
    four.write(.., &[-1i8, 7, -8, 3])?;
    assert_eq!(stored(&four, "a/c/0"), [0x0f, 0x07, 0x08]);
    assert_eq!(four.read::<i8>(..)?, [-1, 7, -8, 3]);
    assert_eq!(four.read::<i8>(1..3)?, [7, -8]);
    assert_eq!(four.read_bytes(..)?, [0xff, 7, 0xf8, 3]);
    assert_eq!(four.read_le_bytes(..)?, [0x0f, 7, 0x08, 3]);
    // Whatever stands above them counts for nothing.
    four.write_le_bytes(0..3, &[0xfe, 0x0e, 0x8e])?;
    assert_eq!(four.read::<i8>(..)?, [-2, -2, -2, 3]);
    let refused = four.write(.., &[0i8, 8, 0, 0]).expect_err("8 is too large");
    assert!(refused.to_string().contains("0x08 is not a value of int4"), "{refused}");
    assert!(four.read::<u8>(..).is_err() && four.read::<i16>(..).is_err());

    let two = array("uint2", &["packbits", "gzip:1"]);
    two.write(.., &[3u8, 0, 2, 1])?;
    assert_eq!(two.read::<u8>(..)?, [3, 0, 2, 1]);
    assert!(two.write(.., &[4u8; 4]).is_err());
    Ok(())
}

/// F-052, F-054, F-055.
#[test]
fn short_floats_are_read_as_their_bits_or_as_numbers_of_rust() -> Result<()> {
    let brain = array("bfloat16", &[]);
    let numbers = [1.0, -2.0, f32::NAN, 0.1].map(half::bf16::from_f32);
    brain.write(.., &numbers)?;
    assert_eq!(stored(&brain, "a/c/0")[..4], [0x80, 0x3f, 0x00, 0xc0]);
    let bits = |numbers: &[half::bf16]| numbers.iter().map(|n| n.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&brain.read::<half::bf16>(..)?), bits(&numbers));
    assert!(brain.read::<half::f16>(..).is_err());

    let eight = array("float8_e5m2", &[]);
    let format = FloatFormat::from_name("float8_e5m2").expect("it is known");
    let bits = [1.0, -2.0, 0.1, 1e9].map(|value| {
        let bits = format.from_f64(value, Rounding::NearestEven).unwrap_or(format.limit(value));
        [bits as u8]
    });
    eight.write(.., &bits)?;
    assert_eq!(eight.read::<[u8; 1]>(..)?, [[0x3c], [0xc0], [0x2e], [0x7c]]);

    let pairs = array("complex_bfloat16", &[]);
    let one = num_complex::Complex::new(half::bf16::ONE, half::bf16::NEG_ONE);
    pairs.write(.., &[one; 4])?;
    assert_eq!(stored(&pairs, "a/c/1")[..4], [0x80, 0x3f, 0x80, 0xbf]);
    assert_eq!(pairs.read::<num_complex::Complex<half::bf16>>(3..4)?, [one]);

    // F-054: where there is no zero, elements that were not written are ones.
    let scale = array("float8_e8m0fnu", &[]);
    assert_eq!(scale.read::<[u8; 1]>(..)?, [[0x7f]; 4]);
    Ok(())
}

/// Neither v2 nor the drafts have words for them.
#[test]
fn other_dialects_refuse_them_and_say_why() -> Result<()> {
    for name in ["int4", "bfloat16", "float8_e4m3", "complex_float16"] {
        let narrow = array(name, &[]);
        for dialect in [Dialect::V2, Dialect::Draft] {
            let target = hierarchy(dialect);
            let path = NodePath::new("/b")?;
            let new = target.create_array(&path).shape(&[1]).data_type_named(name).create();
            let new = new.expect_err("no words");
            assert_eq!(new.kind(), ErrorKind::Unsupported, "{new}");
            let whole = Node::Array(narrow.clone());
            let copied = zarr::tools::copy(&whole, &target, &path, &CopyOptions::default());
            for refused in [new.to_string(), copied.expect_err("no words").to_string()] {
                assert!(refused.contains(&format!("the data type `{name}`")), "{refused}");
                assert!(refused.contains("choose another type, or v3"), "{refused}");
            }
        }
    }
    Ok(())
}
