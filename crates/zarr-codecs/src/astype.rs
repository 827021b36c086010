//! Stores numbers as numbers of another type.
//!
//! numcodecs' `astype`: elements are of `decode_dtype`, stored ones of `encode_dtype`; casts are NumPy's.

use zarr_core::codec::{ChunkContext, Codec, CodecSpec, Parameters};
use zarr_core::{MetadataError, Object};

use crate::util::arithmetic::{self, Kernel, Types};
use crate::util::number::cast;

/// The astype codec.
#[derive(Clone, Copy, Debug)]
struct AsType;

/// Makes the codec.
pub(crate) fn build(spec: &CodecSpec, context: &ChunkContext) -> Result<Codec, MetadataError> {
    arithmetic::build::<AsType>(spec, context)
}

impl Kernel for AsType {
    const CODEC: &'static str = "astype";
    const TYPES: Option<[&'static str; 2]> = Some(["decode_dtype", "encode_dtype"]);

    fn read(_: &CodecSpec, parameters: &mut Parameters<'_>) -> Result<Self, MetadataError> {
        match parameters.get("encode_dtype") {
            Some(_) => Ok(AsType),
            None => Err(parameters.invalid("encode_dtype", "is missing")),
        }
    }

    fn configuration(&self) -> Object {
        Object::new()
    }

    fn encode(&self, types: Types, decoded: Vec<u8>) -> Vec<u8> {
        cast(types.decoded.core, types.encoded.core, decoded)
    }

    fn decode(&self, types: Types, encoded: Vec<u8>) -> Vec<u8> {
        cast(types.encoded.core, types.decoded.core, encoded)
    }
}

#[cfg(test)]
mod tests {
    use zarr_core::Dialect;
    use zarr_core::codec::BytesToBytes;
    use zarr_core::data_type::{CoreType, DataType};

    use super::*;
    use crate::testing::{build, build_on, context, decode, encode, hex, metadata, refusal};

    fn flat(stored: &str, elements: &str) -> std::sync::Arc<dyn BytesToBytes> {
        let configuration = format!(r#"{{"encode_dtype":"{stored}","decode_dtype":"{elements}"}}"#);
        build(Dialect::V2, "astype", &configuration)
    }

    /// numcodecs 0.15.2 and 0.16.6: 1, -2, 300, 70000, -1.
    #[test]
    fn casts_are_numpys() {
        let cases = [
            (
                ("<i2", "<i8"),
                "0100000000000000 feffffffffffffff 2c01000000000000 7011010000000000
                 ffffffffffffffff",
                "0100feff2c017011ffff",
                "0100000000000000 feffffffffffffff 2c01000000000000 7011000000000000
                 ffffffffffffffff",
            ),
            (
                ("|u1", "<i4"),
                "01000000feffffff2c01000070110100ffffffff",
                "01fe2c70ff",
                "01000000fe0000002c00000070000000ff000000",
            ),
            (
                ("<f4", "<f8"),
                "000000000000f03f00000000000000c00000000000c07240000000000017f140000000000000f0bf",
                "0000803f000000c00000964300b88847000080bf",
                "000000000000f03f00000000000000c00000000000c07240000000000017f140000000000000f0bf",
            ),
            (
                ("<i4", "<f4"),
                "0000803f000000c00000964300b88847000080bf",
                "01000000feffffff2c01000070110100ffffffff",
                "0000803f000000c00000964300b88847000080bf",
            ),
            (
                (">i2", "<i4"),
                "01000000feffffff2c01000070110100ffffffff",
                "0001fffe012c1170ffff",
                "01000000feffffff2c01000070110000ffffffff",
            ),
            (
                ("<u4", ">f8"),
                "3ff0000000000000c0000000000000004072c0000000000040f1170000000000bff0000000000000",
                "01000000feffffff2c01000070110100ffffffff",
                "3ff000000000000041efffffffc000004072c0000000000040f117000000000041efffffffe00000",
            ),
            (
                ("<i8", "<i2"),
                "0100feff2c017011ffff",
                "0100000000000000 feffffffffffffff 2c01000000000000 7011000000000000
                 ffffffffffffffff",
                "0100feff2c017011ffff",
            ),
        ];
        for ((stored, elements), numbers, cast, again) in cases {
            let (codec, numbers) = (flat(stored, elements), hex(numbers));
            assert_eq!(encode(&*codec, &numbers), hex(cast), "{elements} as {stored}");
            assert_eq!(decode(&*codec, &hex(cast), numbers.len() as u64), hex(again));
        }
    }

    /// Z2-060: what follows sees the other type, or none that it could compute with.
    #[test]
    fn the_next_codec_sees_the_stored_type() {
        let here = context(CoreType::Float64, &[4]);
        let next = flat("<f4", "<f8").encoded(&here);
        assert!(matches!(next.data_type, DataType::Core(CoreType::Float32)));
        let next = flat(">f4", "<f8").encoded(&here);
        assert!(matches!(next.data_type, DataType::Raw { size: 4 }));
        let configuration = r#"{"encode_dtype":">f4"}"#;
        let built = build_on(Dialect::V3, "numcodecs.astype", configuration, &here);
        let Ok(Codec::ArrayToArray(codec)) = built else { panic!("{built:?}") };
        let next = codec.encoded(&here).unwrap();
        assert!(matches!(next.data_type, DataType::Core(CoreType::Float32)));
        let elements: Vec<u8> = [1.5f64, -2.0].iter().flat_map(|x| x.to_ne_bytes()).collect();
        let stored: Vec<u8> = [1.5f32, -2.0].iter().flat_map(|x| x.to_ne_bytes()).collect();
        let view = zarr_core::view::View::new(&elements, &[2], 8);
        assert_eq!(codec.encode(view).unwrap(), stored);
    }

    #[test]
    fn words_are_checked_and_spelled() {
        for bad in [
            "{}",
            r#"{"decode_dtype":"<i4"}"#,
            r#"{"decode_dtype":"<i4","encode_dtype":"|S3"}"#,
            r#"{"decode_dtype":"<i4","encode_dtype":2}"#,
        ] {
            refusal(Dialect::V2, "astype", bad);
        }
        refusal(Dialect::V3, "numcodecs.astype", r#"{"encode_dtype":"<i2","decode_dtype":"<i8"}"#);
        assert_eq!(
            metadata(&*flat(">i2", ">i4")),
            [
                Some(r#"numcodecs.astype {"decode_dtype":"<i4","encode_dtype":"<i2"}"#.into()),
                Some(r#"astype {"decode_dtype":">i4","encode_dtype":">i2"}"#.into()),
                None
            ]
        );
    }
}
