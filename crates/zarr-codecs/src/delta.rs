//! Stores numbers as differences from their neighbours.
//!
//! numcodecs' `delta`: the first number, then each less the one before it, computed in `dtype` and cast
//! to `astype`; decoding adds them up in `dtype`, floats in the wider of both types. Integers wrap, so
//! that the round trip is exact as long as `astype` has room. Elements are taken in C order.

use zarr_core::codec::{ChunkContext, Codec, CodecSpec, Parameters};
use zarr_core::data_type::{CoreType, Scalar};
use zarr_core::{MetadataError, Object};

use crate::util::arithmetic::{self, Kernel, Types};
use crate::util::number::{Native, cast, each, with_scalar};

/// The delta codec.
#[derive(Clone, Copy, Debug)]
struct Delta;

/// Makes the codec.
pub(crate) fn build(spec: &CodecSpec, context: &ChunkContext) -> Result<Codec, MetadataError> {
    arithmetic::build::<Delta>(spec, context)
}

impl Kernel for Delta {
    const CODEC: &'static str = "delta";

    fn read(_: &CodecSpec, _: &mut Parameters<'_>) -> Result<Self, MetadataError> {
        Ok(Delta)
    }

    fn configuration(&self) -> Object {
        Object::new()
    }

    fn encode(&self, types: Types, mut decoded: Vec<u8>) -> Vec<u8> {
        with_scalar!(types.decoded.core, T => differences::<T>(&mut decoded));
        cast(types.decoded.core, types.encoded.core, decoded)
    }

    fn decode(&self, types: Types, encoded: Vec<u8>) -> Vec<u8> {
        let (own, stored) = (types.decoded.core, types.encoded.core);
        let sum_type = if is_wider_float(stored, own) { stored } else { own };
        let mut out = cast(stored, sum_type, encoded);
        with_scalar!(sum_type, T => sums::<T>(&mut out));
        cast(sum_type, own, out)
    }
}

/// Whether both are floats, and the first has more bits.
fn is_wider_float(one: CoreType, other: CoreType) -> bool {
    let (one, other) = (one.scalar(), other.scalar());
    matches!((one, other), (Scalar::Float(_), Scalar::Float(_))) && one.size() > other.size()
}

/// The first number stays as it is, to the sign of its zero.
fn differences<T: Native>(numbers: &mut [u8]) {
    let mut before: Option<T> = None;
    each::<T>(numbers, |here| {
        let out = before.map_or(here, |before| here.minus(before));
        before = Some(here);
        out
    });
}

fn sums<T: Native>(numbers: &mut [u8]) {
    let mut sum: Option<T> = None;
    each::<T>(numbers, |here| {
        let next = sum.map_or(here, |sum| sum.plus(here));
        sum = Some(next);
        next
    });
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use zarr_core::codec::{ArrayToArray, BytesToBytes, DecodedSize};
    use zarr_core::data_type::{DataType, NumpyTime};
    use zarr_core::view::{View, ViewMut};
    use zarr_core::{CodecError, Dialect, Json};

    use super::*;
    use crate::testing::{
        build, build_on, context, decode, encode, heeds_sizes, hex, metadata, ramp, refusal,
        survives_damage,
    };

    fn flat(dtype: &str, astype: &str) -> std::sync::Arc<dyn BytesToBytes> {
        let configuration = format!("{{\"dtype\":\"{dtype}\",\"astype\":\"{astype}\"}}");
        build(Dialect::V2, "delta", &configuration)
    }

    fn typed(core: CoreType, configuration: &str) -> std::sync::Arc<dyn ArrayToArray> {
        match build_on(Dialect::V3, "numcodecs.delta", configuration, &context(core, &[2, 2])) {
            Ok(Codec::ArrayToArray(codec)) => codec,
            other => panic!("{other:?}"),
        }
    }

    /// numcodecs 0.15.1 on NumPy 2.4: type, type of differences, numbers, differences, and the numbers
    /// again where they are not the same.
    #[test]
    fn differences_are_numcodecs() {
        let cases = [
            ("<i4", "<i4", "050000000700000004000000", "0500000002000000fdffffff", ""),
            ("|u1", "<i2", "0504fa00", "0500ff00f6000600", ""),
            ("<u2", "|i1", "010002002c012b01", "01012aff", "010002002c002b00"),
            (
                "<f4",
                "<f4",
                "000000800000c03fcdcccc3df9021550",
                "000000800000c03f3333b3bff9021550",
                "000000800000c03fd0cccc3df9021550",
            ),
            ("<f2", "<f2", "003c003eff67662e", "003c0038fe67ffe7", "003c003e0068003c"),
            (
                "<f8",
                "<f4",
                "9a9999999999b93f333333333333d33f9a9999999999c93f",
                "cdcccc3dcdcc4c3ecdccccbd",
                "000000a09999b93f000000383333d33f000000a09999c93f",
            ),
            (
                "<i8",
                "<i8",
                "0000000000000080ffffffffffffff7f0000000000000000",
                "0000000000000080ffffffffffffffff0100000000000080",
                "",
            ),
            ("<f4", "<i2", "0000c03f9a997940cdcc0cc0", "01000200faff", "0000803f00004040000040c0"),
            (
                "<u8",
                "<u8",
                "ffffffffffffffff00000000000000000500000000000000",
                "ffffffffffffffff01000000000000000500000000000000",
                "",
            ),
        ];
        for (dtype, astype, numbers, differences, again) in cases {
            let codec = flat(dtype, astype);
            let numbers = hex(numbers);
            assert_eq!(encode(&*codec, &numbers), hex(differences), "{dtype} {astype}");
            let again = if again.is_empty() { numbers.clone() } else { hex(again) };
            assert_eq!(decode(&*codec, &hex(differences), numbers.len() as u64), again);
        }
    }

    /// numcodecs 0.15.1 on NumPy 2.4: what is small beside the sum is lost in the type of the numbers, not in the wider one.
    #[test]
    fn floats_are_added_up_in_the_wider_type() {
        let cases = [
            // 1e8, 0.4 four times, -1e8.
            (
                "<f4",
                "<f8",
                "0000000084d797419a9999999999d93f9a9999999999d93f9a9999999999d93f9a9999999999d93f0000000084d797c1",
                "20bcbe4c20bcbe4c20bcbe4c20bcbe4c20bcbe4ccdcccc3f",
            ),
            // 2048, 0.6 three times, -2048.
            ("<f2", "<f4", "000000459a99193f9a99193f9a99193f000000c5", "0068006801680168343f"),
            (
                "<f2",
                "<f8",
                "000000000000a040333333333333e33f333333333333e33f333333333333e33f000000000000a0c0",
                "0068006801680168333f",
            ),
        ];
        for (dtype, astype, differences, sums) in cases {
            let sums = hex(sums);
            let found = decode(&*flat(dtype, astype), &hex(differences), sums.len() as u64);
            assert_eq!(found, sums, "{dtype} {astype}");
        }
    }

    /// The type's own byte order is heeded, whatever the array's is.
    #[test]
    fn flat_bytes_have_their_own_order() {
        let (numbers, differences) = (hex("000180007fff"), hex("00000001ffff7fff0000ffff"));
        let codec = flat(">i2", ">i4");
        // NumPy wraps in 16 bits before it casts: 1, -32769 + 65536, -1.
        let wrapped = hex("0000000100007fffffffffff");
        assert_eq!(encode(&*codec, &numbers), wrapped);
        assert_eq!(decode(&*codec, &wrapped, 6), numbers);
        assert_eq!(decode(&*codec, &differences, 6), numbers);
    }

    #[test]
    fn it_behaves() {
        for (dtype, astype) in [("<i4", "<i4"), ("|u1", "|i1"), (">u2", "<i4")] {
            let codec = flat(dtype, astype);
            for len in [0, 4, 8, 65_536] {
                let encoded = encode(&*codec, &ramp(len));
                assert_eq!(decode(&*codec, &encoded, len as u64), ramp(len));
                let size = codec.encoded_size(len as u64).unwrap();
                assert_eq!(size, Some(encoded.len() as u64));
            }
            heeds_sizes(&*codec, &ramp(64));
        }
        survives_damage(&*flat("<i4", "<i4"), &ramp(64));
    }

    #[test]
    fn its_own_words_make_it_again() {
        let codec = flat(">u2", "<i4");
        let spec = codec.to_metadata(Dialect::V2).unwrap();
        let again = build(Dialect::V2, &spec.name, &Json::from(spec.configuration).to_string());
        assert_eq!(encode(&*again, &ramp(64)), encode(&*codec, &ramp(64)));
    }

    /// A length that is no multiple of the element's.
    #[test]
    fn odd_lengths_are_errors() {
        let codec = flat("<i4", "<i2");
        let result = codec.encode(Cow::Borrowed(&[0; 10]));
        assert!(matches!(result, Err(CodecError::Corrupt { .. })), "{result:?}");
        assert!(matches!(codec.encoded_size(10), Err(CodecError::Length { .. })));
        assert_eq!(codec.encoded_size(12).unwrap(), Some(6));
        let result =
            flat("<i4", "<i4").decode(Cow::Borrowed(&[0x78; 13]), DecodedSize::Exactly(16));
        assert!(matches!(result, Err(CodecError::Corrupt { .. })), "{result:?}");
    }

    /// In final v3 the next codec sees the other type, and elements are taken in C order (T-47).
    #[test]
    fn arrays_change_their_type() {
        let codec = typed(CoreType::Int32, r#"{"dtype":"<i4","astype":"<i2"}"#);
        let context = context(CoreType::Int32, &[2, 2]);
        let encoded = codec.encoded(&context).unwrap();
        assert_eq!(encoded.data_type, DataType::Core(CoreType::Int16));
        let numbers: Vec<u8> = [5i32, 4, 7, 9].iter().flat_map(|v| v.to_ne_bytes()).collect();
        let turned = View::new(&numbers, &[2, 2], 4).transposed(&[1, 0]);
        let stored = codec.encode(turned).unwrap();
        let want: Vec<u8> = [5i16, 2, -3, 5].iter().flat_map(|v| v.to_ne_bytes()).collect();
        assert_eq!(stored, want);
        let mut back = vec![0; 16];
        let out = ViewMut::new(&mut back, &[2, 2], 4).transposed(&[1, 0]);
        codec.decode(&stored, out).unwrap();
        assert_eq!(back, numbers);
        let out = ViewMut::new(&mut back, &[2, 2], 4);
        let result = codec.decode(&stored[1..], out);
        assert!(matches!(result, Err(CodecError::Length { .. })));
        assert!(codec.axis_order().is_none());
    }

    /// zarrita.js 0.7, zarr-python 3 writes `dtype` as NumPy's name there.
    #[test]
    fn names_of_types_are_read() {
        let codec = typed(CoreType::Int32, r#"{"dtype":"int32"}"#);
        let ones: Vec<u8> = [1i32; 4].iter().flat_map(|v| v.to_ne_bytes()).collect();
        let mut out = vec![0; 16];
        codec.decode(&ones, ViewMut::new(&mut out, &[2, 2], 4)).unwrap();
        let sums: Vec<u8> = [1i32, 2, 3, 4].iter().flat_map(|v| v.to_ne_bytes()).collect();
        assert_eq!(out, sums);
        let metadata = codec.to_metadata(Dialect::V3).unwrap().to_string();
        assert_eq!(metadata, r#"numcodecs.delta {"dtype":"<i4","astype":"<i4"}"#);
    }

    /// Of times the counts are subtracted, NaT's too; numcodecs 0.15.2 has the same for `<i8`.
    #[test]
    fn times_are_counts() {
        let time = NumpyTime::from_typestr("<M8[s]").unwrap();
        let data_type = DataType::Time(time);
        let context = ChunkContext::new(data_type, vec![4]);
        let built = build_on(Dialect::V3, "delta", "{}", &context);
        let Ok(Codec::ArrayToArray(codec)) = built else { panic!("{built:?}") };
        let metadata = codec.to_metadata(Dialect::V2).unwrap().to_string();
        assert_eq!(metadata, r#"delta {"dtype":"<i8","astype":"<i8"}"#);
        // 2020-01-01, 2020-01-05, NaT, 1969-01-01.
        let counts = [1_577_836_800, 1_578_182_400, NumpyTime::NAT, -31_536_000];
        let counts: Vec<u8> = counts.iter().flat_map(|count| count.to_ne_bytes()).collect();
        let stored = codec.encode(View::new(&counts, &[4], 8)).unwrap();
        let want = hex("00e10b5e00000000 0046050000000000 00d9eea1ffffff7f 80cc1efeffffff7f");
        let want: Vec<u8> = want
            .chunks(8)
            .flat_map(|b| u64::from_le_bytes(b.try_into().unwrap()).to_ne_bytes())
            .collect();
        let mut back = vec![0; 32];
        codec.decode(&want, ViewMut::new(&mut back, &[4], 8)).unwrap();
        assert_eq!((stored, back), (want, counts));
    }

    #[test]
    fn words_are_checked_and_spelled() {
        let why = |dtype| refusal(Dialect::V2, "delta", &format!("{{\"dtype\":\"{dtype}\"}}"));
        for bad in ["|S3", "i3", "<M8[x]", ""] {
            let due = "`codecs: delta: dtype`: `{}` is not a type of integers or floats";
            assert_eq!(why(bad), due.replace("{}", bad));
        }
        // numcodecs computes with these.
        for other in ["|b1", "bool", "<c8", ">c16", "<M8[s]", "<m8[ns]"] {
            let due = "data type `{}` is not supported; `codecs: delta: dtype`: numbers are integers or floats";
            assert_eq!(why(other), due.replace("{}", other));
        }
        refusal(Dialect::V3, "numcodecs.delta", r#"{"dtype":"<i8"}"#);
        refusal(Dialect::V3, "numcodecs.delta", r#"{"dtype":"<i4","x":1}"#);
        let complex = context(CoreType::Complex64, &[1]);
        assert!(build_on(Dialect::V3, "delta", "{}", &complex).is_err());
        assert_eq!(
            metadata(&*flat(">i2", "<i4")),
            [
                Some(r#"numcodecs.delta {"dtype":"<i2","astype":"<i4"}"#.into()),
                Some(r#"delta {"dtype":">i2","astype":"<i4"}"#.into()),
                None
            ]
        );
    }
}
