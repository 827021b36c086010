//! Stores numbers as equal numbers of another type (F-097).
//!
//! Final v3's `cast_value`: some numbers are mapped to others; the rest keep their value, are rounded, and
//! brought into range, each as the configuration says. A number that it says nothing of is an error.

use std::collections::HashMap;

use zarr_core::codec::{ArrayToArray, ChunkContext, Codec, CodecSpec, Parameters};
use zarr_core::data_type::{
    DataType, FillValue, OutOfRange, Rounding, Scalar, load_bits, store_bits,
};
use zarr_core::view::{View, ViewMut};
use zarr_core::{CodecError, Dialect, Json, MetadataError, Object, Registry};

use crate::util::elementwise::{decode_each, element, encode_each, for_each, real};

const CODEC: &str = "cast_value";

/// The cast_value codec.
#[derive(Clone, Debug)]
struct CastValue {
    encoded: DataType,
    encode: Cast,
    decode: Cast,
    configuration: Object,
}

/// How numbers of one type become those of another.
#[derive(Clone, Debug)]
struct Cast {
    from: Scalar,
    to: Scalar,
    rounding: Rounding,
    out_of_range: Option<OutOfRange>,
    /// What some numbers become, before any other rule.
    map: Map,
    /// The type that they become numbers of.
    name: String,
}

/// Numbers by their keys, and the bits of elements.
type Map = HashMap<(bool, u64), u64>;

/// Makes the codec.
pub(crate) fn build(
    spec: &CodecSpec,
    context: &ChunkContext,
    registry: &Registry,
) -> Result<Codec, MetadataError> {
    let mut parameters = Parameters::new(spec);
    let json = parameters.get("data_type");
    let json = json.ok_or_else(|| parameters.invalid("data_type", "is missing"))?;
    let encoded = registry.parse_data_type(json, Dialect::V3)?.data_type;
    ChunkContext::new(encoded.clone(), []).element_size()?;
    let (from, to) =
        (real_numbers(&context.data_type, &parameters)?, real_numbers(&encoded, &parameters)?);
    let words = [
        ("nearest-even", Rounding::NearestEven),
        ("nearest-away", Rounding::NearestAway),
        ("towards-zero", Rounding::TowardsZero),
        ("towards-positive", Rounding::TowardsPositive),
        ("towards-negative", Rounding::TowardsNegative),
    ];
    let rounding = parameters.choice("rounding", &words)?.unwrap_or(Rounding::NearestEven);
    let words = [("clamp", OutOfRange::Clamp), ("wrap", OutOfRange::Wrap)];
    let out_of_range = parameters.choice("out_of_range", &words)?;
    if matches!(out_of_range, Some(OutOfRange::Wrap)) && !to.wraps() {
        let why = format!("`wrap` is for integers, not for `{encoded}`");
        return Err(parameters.invalid("out_of_range", why));
    }
    let scalar_map = parameters.get("scalar_map");
    let map = |way, from: &DataType, to: &DataType| map(scalar_map, way, from, to, &parameters);
    let encode = Cast {
        from,
        to,
        rounding,
        out_of_range,
        map: map("encode", &context.data_type, &encoded)?,
        name: encoded.to_string(),
    };
    // Bits of integers wrap; floats that come back of them do not.
    let out_of_range = out_of_range.filter(|beyond| *beyond == OutOfRange::Clamp || from.wraps());
    let decode = Cast {
        from: to,
        to: from,
        rounding,
        out_of_range,
        map: map("decode", &encoded, &context.data_type)?,
        name: context.data_type.to_string(),
    };
    parameters.finish()?;
    let configuration = spec.configuration.clone();
    Ok(Codec::array_to_array(CastValue { encoded, encode, decode, configuration }))
}

/// The type of real numbers that a data type is.
fn real_numbers(
    data_type: &DataType,
    parameters: &Parameters<'_>,
) -> Result<Scalar, MetadataError> {
    real(data_type).ok_or_else(|| {
        parameters.invalid("data_type", format!("`{data_type}` is not a type of real numbers"))
    })
}

/// One way of `scalar_map`: pairs of a number of type `from` and the one of type `to` that it becomes. Of
/// pairs for the same number the first counts.
fn map(
    scalar_map: Option<&Json>,
    way: &str,
    from: &DataType,
    to: &DataType,
    parameters: &Parameters<'_>,
) -> Result<Map, MetadataError> {
    const NAME: &str = "scalar_map";
    let Some(json) = scalar_map else {
        return Ok(Map::new());
    };
    let wrong = |why: &str| parameters.invalid(NAME, why);
    let ways = json.as_object().ok_or_else(|| wrong("is an object"))?;
    if let Some((other, _)) = ways.iter().find(|(name, _)| !["encode", "decode"].contains(name)) {
        return Err(wrong(&format!("`{other}` is neither `encode` nor `decode`")));
    }
    let pairs = ways.get(way).map_or(Some(&[][..]), Json::as_array);
    let pairs = pairs.ok_or_else(|| wrong(&format!("`{way}` is a list of pairs")))?;
    let numbers = real(from).ok_or_else(|| wrong("is of numbers"))?;
    let mut map = Map::new();
    for pair in pairs {
        let Some([key, value]) = pair.as_array() else {
            return Err(wrong(&format!("expected a pair of numbers, found {}", pair.brief())));
        };
        let key = numbers.load(element(from, key, NAME, parameters)?.as_bytes());
        let value = load_bits(element(to, value, NAME, parameters)?.as_bytes());
        map.entry(key.key()).or_insert(value);
    }
    Ok(map)
}

impl Cast {
    /// Casts one element.
    fn step(&self, from: &[u8], to: &mut [u8]) -> Result<(), String> {
        let value = self.from.load(from);
        let mapped = if self.map.is_empty() { None } else { self.map.get(&value.key()).copied() };
        let bits = mapped.or_else(|| self.to.cast(value, self.rounding, self.out_of_range));
        let bits =
            bits.ok_or_else(|| format!("{value} cannot be a number of type {}", self.name))?;
        store_bits(bits, to);
        Ok(())
    }

    /// Casts each element.
    fn all(&self, from: &[u8], to: &mut [u8]) -> Result<(), String> {
        let sizes = (self.from.size(), self.to.size());
        for_each((from, sizes.0), (to, sizes.1), |from, to| self.step(from, to))
    }

    /// Casts a single value.
    fn one(&self, from: &[u8]) -> Result<Vec<u8>, String> {
        let mut to = vec![0; self.to.size()];
        self.step(from, &mut to).map(|()| to)
    }
}

impl CastValue {
    /// The fill value as it is stored, if it comes back from there.
    fn fill(&self, fill: &FillValue) -> Result<FillValue, MetadataError> {
        let fill = fill.as_bytes();
        if fill.len() != self.encode.from.size() {
            return Err(wrong_fill("it has another type"));
        }
        let stored = self.encode.one(fill).map_err(|why| wrong_fill(&why))?;
        let again = self.decode.one(&stored).map_err(|why| wrong_fill(&why))?;
        let (before, after) = (self.encode.from.load(fill), self.encode.from.load(&again));
        if before.key() == after.key() {
            Ok(FillValue::new(stored))
        } else {
            Err(wrong_fill(&format!("{before} comes back as {after}")))
        }
    }
}

/// The error of a fill value that cannot be cast and back.
fn wrong_fill(why: &str) -> MetadataError {
    MetadataError::invalid("codecs: cast_value", format!("of the fill value: {why}"))
}

impl ArrayToArray for CastValue {
    fn encoded(&self, decoded: &ChunkContext) -> Result<ChunkContext, MetadataError> {
        let fill = decoded.fill.as_ref().map(|fill| self.fill(fill)).transpose()?;
        Ok(ChunkContext::new(self.encoded.clone(), decoded.shape.clone()).with_fill(fill))
    }

    fn encode(&self, chunk: View<'_>) -> Result<Vec<u8>, CodecError> {
        encode_each(CODEC, &chunk, self.encode.to.size(), &|from: &[u8], to: &mut [u8]| {
            self.encode.all(from, to)
        })
    }

    fn decode(&self, encoded: &[u8], out: ViewMut<'_>) -> Result<(), CodecError> {
        decode_each(CODEC, encoded, self.decode.from.size(), out, &|from: &[u8], to: &mut [u8]| {
            self.decode.all(from, to)
        })
    }

    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
        (dialect == Dialect::V3).then(|| CodecSpec::v3(CODEC, self.configuration.clone()))
    }
}

#[cfg(test)]
mod tests {
    use zarr_core::data_type::CoreType::{self, *};
    use zarr_core::data_type::FloatFormat;

    use super::*;
    use crate::testing::{build_on, context, hex};

    type Made = std::sync::Arc<dyn ArrayToArray>;

    fn made(from: impl Into<DataType>, configuration: &str) -> Result<Made, String> {
        match build_on(Dialect::V3, CODEC, configuration, &ChunkContext::new(from, [1])) {
            Ok(Codec::ArrayToArray(codec)) => Ok(codec),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error.to_string()),
        }
    }

    fn encode(codec: &Made, elements: &[u8], size: usize) -> Result<Vec<u8>, String> {
        let shape = [(elements.len() / size) as u64];
        codec.encode(View::new(elements, &shape, size)).map_err(|e| e.to_string())
    }

    fn decode(codec: &Made, stored: &[u8], count: u64, size: usize) -> Result<Vec<u8>, String> {
        let mut out = vec![0xa5; count as usize * size];
        let view = ViewMut::new(&mut out, &[count], size);
        codec.decode(stored, view).map(|()| out).map_err(|e| e.to_string())
    }

    fn doubles(values: &[f64]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_ne_bytes()).collect()
    }

    /// F-097: the vector that zarr-python 3.4.2 wrote, and what it says of 128.
    #[test]
    fn values_are_mapped_rounded_and_brought_into_range() {
        let configuration = r#"{"data_type":"uint8","out_of_range":"clamp",
            "scalar_map":{"encode":[["NaN",0]]}}"#;
        let codec = made(Float64, configuration).unwrap();
        let stored = encode(&codec, &doubles(&[0.0, 1.5, 2.5, 300.0, f64::NAN]), 8).unwrap();
        assert_eq!(stored, hex("000202ff00"));
        let back = decode(&codec, &stored, 5, 8).unwrap();
        assert_eq!(back, doubles(&[0.0, 2.0, 2.0, 255.0, 0.0]));
        for (configuration, expected) in [
            (r#"{"data_type":"int8"}"#, None),
            (r#"{"data_type":"int8","out_of_range":"clamp"}"#, Some("7f")),
            (r#"{"data_type":"int8","out_of_range":"wrap"}"#, Some("80")),
        ] {
            let codec = made(Float64, configuration).unwrap();
            let stored = encode(&codec, &doubles(&[128.0]), 8);
            assert_eq!(stored.ok(), expected.map(hex), "{configuration}");
        }
    }

    /// F-097: what the registry says of each way of rounding and of wrapping.
    #[test]
    fn each_rule_is_kept() {
        let values = doubles(&[-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 2.4, -2.6]);
        for (rounding, expected) in [
            ("nearest-even", "fefe0000020202fd"),
            ("nearest-away", "fdfeff01020302fd"),
            ("towards-zero", "feff0000010202fe"),
            ("towards-positive", "feff0001020303fe"),
            ("towards-negative", "fdfeff00010202fd"),
        ] {
            let configuration = format!(r#"{{"data_type":"int8","rounding":"{rounding}"}}"#);
            let codec = made(Float64, &configuration).unwrap();
            assert_eq!(encode(&codec, &values, 8).unwrap(), hex(expected), "{rounding}");
        }
        let wrap = made(Int64, r#"{"data_type":"int16","out_of_range":"wrap"}"#).unwrap();
        let numbers: Vec<u8> = [32768i64, 32769, -32769, 65536 + 7, i64::MIN]
            .iter()
            .flat_map(|n| n.to_ne_bytes())
            .collect();
        let expected: Vec<u8> =
            [-32768i16, -32767, 32767, 7, 0].iter().flat_map(|n| n.to_ne_bytes()).collect();
        assert_eq!(encode(&wrap, &numbers, 8).unwrap(), expected);
        let wrap = made(Float64, r#"{"data_type":"uint64","out_of_range":"wrap"}"#).unwrap();
        let far = doubles(&[-1.0, 1e300, -1e300, 2f64.powi(64) + 4096.0]);
        let expected: Vec<u8> =
            [u64::MAX, 0, 0, 4096].iter().flat_map(|n| n.to_ne_bytes()).collect();
        assert_eq!(encode(&wrap, &far, 8).unwrap(), expected);
        let narrow = made(Int8, r#"{"data_type":"int4","out_of_range":"wrap"}"#).unwrap();
        assert_eq!(encode(&narrow, &[8, 0x80, 7, 0xf7], 1).unwrap(), hex("f8000707"));
    }

    /// F-097: NaN and infinity are no numbers out of range; zero keeps its sign.
    #[test]
    fn what_is_no_number_is_mapped_or_refused() {
        let clamp = r#"{"data_type":"uint8","out_of_range":"clamp"}"#;
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let error = encode(&made(Float64, clamp).unwrap(), &doubles(&[value]), 8).unwrap_err();
            assert!(error.contains("cannot be a number of type uint8"), "{error}");
        }
        let floats = made(Float64, r#"{"data_type":"float32","out_of_range":"clamp"}"#).unwrap();
        let values = doubles(&[1e39, -1e39, f64::NAN, -0.0, f64::NEG_INFINITY]);
        let stored = encode(&floats, &values, 8).unwrap();
        let expected = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, -0.0, f32::NEG_INFINITY];
        assert_eq!(stored, expected.iter().flat_map(|v| v.to_ne_bytes()).collect::<Vec<_>>());
        let strict = made(Float64, r#"{"data_type":"float32"}"#).unwrap();
        assert!(encode(&strict, &doubles(&[1e39]), 8).is_err());
        let without = r#"{"data_type":"float8_e4m3fnuz","out_of_range":"clamp"}"#;
        let without = made(Float32, without).unwrap();
        let of = |value: f32| encode(&without, &value.to_ne_bytes(), 4);
        assert_eq!((of(1e9), of(f32::NAN)), (Ok(vec![0x7f]), Ok(vec![0x80])));
        assert!(of(f32::INFINITY).is_err());
        // Bits of a float are its own, whatever wraps.
        let wide = made(Float16, r#"{"data_type":"uint32","out_of_range":"wrap"}"#).unwrap();
        assert!(decode(&wide, &70_000u32.to_ne_bytes(), 1, 2).is_err());
    }

    /// F-097: the first of pairs counts, NaN is NaN, and what the map gives is exact to the bit.
    #[test]
    fn the_map_comes_first() {
        let configuration = r#"{"data_type":"float32","scalar_map":{
            "encode":[[1.5,"0x7fc00001"],[1.5,2],["+Infinity",3],["NaN",0]],
            "decode":[["NaN",1.5]]}}"#;
        let codec = made(Float64, configuration).unwrap();
        let values = [1.5, f64::INFINITY, f64::NEG_INFINITY, f64::from_bits(0xfff8_0000_0000_0001)];
        let stored = encode(&codec, &doubles(&values), 8).unwrap();
        let bits: Vec<u32> =
            stored.chunks(4).map(|b| u32::from_ne_bytes(*b.first_chunk().unwrap())).collect();
        assert_eq!(bits, [0x7fc0_0001, 3f32.to_bits(), f32::NEG_INFINITY.to_bits(), 0]);
        assert_eq!(decode(&codec, &stored[..4], 1, 8).unwrap(), doubles(&[1.5]));
        let zero =
            made(Float64, r#"{"data_type":"int8","scalar_map":{"encode":[[0,7]]}}"#).unwrap();
        assert_eq!(encode(&zero, &doubles(&[-0.0, 0.0]), 8).unwrap(), [7, 7]);
    }

    /// F-071, F-097: the next codec sees the other type, and a fill value that comes back.
    #[test]
    fn the_fill_value_survives_or_the_array_is_refused() {
        let fill = |configuration: &str, fill: f64| {
            let context =
                context(Float64, &[4]).with_fill(Some(FillValue::new(fill.to_ne_bytes())));
            let next = made(Float64, configuration).unwrap().encoded(&context);
            next.map(|next| {
                assert_eq!(next.data_type, Uint8.into());
                next.fill.unwrap().as_bytes().to_vec()
            })
        };
        let both =
            r#"{"data_type":"uint8","scalar_map":{"encode":[["NaN",0]],"decode":[[0,"NaN"]]}}"#;
        assert_eq!(fill(both, f64::NAN).unwrap(), [0]);
        assert!(fill(both, 0.0).is_err());
        let plain = r#"{"data_type":"uint8"}"#;
        assert_eq!(fill(plain, 7.0).unwrap(), [7]);
        for bad in [0.5, f64::NAN, 256.0] {
            assert!(fill(plain, bad).is_err(), "{bad}");
        }
        let one_way = r#"{"data_type":"uint8","scalar_map":{"encode":[["NaN",0]]}}"#;
        let error = fill(one_way, f64::NAN).unwrap_err().to_string();
        assert_eq!(error, "`codecs: cast_value`: of the fill value: NaN comes back as 0.0");
    }

    #[test]
    fn times_are_counts_and_nat_is_no_number() {
        let configuration = r#"{"data_type":{"name":"numpy.datetime64",
            "configuration":{"unit":"s","scale_factor":1}}}"#;
        let codec = made(Float64, configuration).unwrap();
        let stored = encode(&codec, &doubles(&[10.0, f64::NAN]), 8).unwrap();
        assert_eq!(stored, [10i64, i64::MIN].map(i64::to_ne_bytes).concat());
        let back = decode(&codec, &stored, 2, 8).unwrap();
        assert_eq!(back[..8], doubles(&[10.0]));
        assert!(f64::from_ne_bytes(*back.last_chunk().unwrap()).is_nan());
        assert!(
            made(Float64, &configuration.replace("}}}", r#"}},"out_of_range":"wrap"}"#)).is_err()
        );
    }

    /// Every pair of types, values of the one to the other and back, where they are exact.
    #[test]
    fn what_both_types_have_passes_between_them() {
        let mut types: Vec<DataType> =
            [Int8, Int16, Int32, Int64, Uint8, Uint16, Uint32, Uint64, Float16, Float32, Float64]
                .map(DataType::from)
                .into();
        types.extend([2, 4].map(DataType::IntBits));
        types.extend([2, 4].map(DataType::UintBits));
        types.extend(FloatFormat::ALL.map(DataType::Minifloat));
        for from in &types {
            for to in &types {
                let codec = made(from.clone(), &format!(r#"{{"data_type":"{to}"}}"#)).unwrap();
                let size = from.repr().unwrap().size();
                let one = from.element_from_json(&Json::from(1u64), Dialect::V3).unwrap();
                let stored = encode(&codec, &one.as_bytes().repeat(3), size).unwrap();
                let expected = to.element_from_json(&Json::from(1u64), Dialect::V3).unwrap();
                assert_eq!(stored, expected.as_bytes().repeat(3), "{from} to {to}");
                let back = decode(&codec, &stored, 3, size).unwrap();
                assert_eq!(back, one.as_bytes().repeat(3), "{to} to {from}");
            }
        }
    }

    #[test]
    fn words_and_sizes_are_checked() {
        for bad in [
            "{}",
            r#"{"data_type":"uint9"}"#,
            r#"{"data_type":"bool"}"#,
            r#"{"data_type":"complex64"}"#,
            r#"{"data_type":"string"}"#,
            r#"{"data_type":"uint8","rounding":"up"}"#,
            r#"{"data_type":"uint8","out_of_range":"saturate"}"#,
            r#"{"data_type":"float32","out_of_range":"wrap"}"#,
            r#"{"data_type":"uint8","scalar_map":[]}"#,
            r#"{"data_type":"uint8","scalar_map":{"both":[]}}"#,
            r#"{"data_type":"uint8","scalar_map":{"encode":{}}}"#,
            r#"{"data_type":"uint8","scalar_map":{"encode":[[1]]}}"#,
            r#"{"data_type":"uint8","scalar_map":{"encode":[[1,256]]}}"#,
            r#"{"data_type":"uint8","scalar_map":{"encode":[["nan",0]]}}"#,
            r#"{"data_type":"uint8","spare":1}"#,
        ] {
            assert!(made(Float64, bad).is_err(), "{bad}");
        }
        for other in [Bool, Complex64] {
            assert!(made(other, r#"{"data_type":"uint8"}"#).is_err());
        }
        let unknown = made(Float64, r#"{"data_type":"uint9"}"#).unwrap_err();
        assert!(unknown.contains("data type `uint9` is not supported"), "{unknown}");
        let configuration = r#"{"data_type":"uint8","rounding":"towards-zero"}"#;
        let codec = made(CoreType::Float32, configuration).unwrap();
        assert_eq!(
            codec.to_metadata(Dialect::V3).unwrap().to_string(),
            format!("cast_value {configuration}")
        );
        assert!(codec.to_metadata(Dialect::V2).is_none());
        for stored in [&[][..], &[1], &[1, 2, 3]] {
            let error = decode(&codec, stored, 2, 4).unwrap_err();
            assert!(error.contains("expected 2"), "{error}");
        }
    }
}
