//! Stores JSON values as MessagePack (Z2-042).
//!
//! The same list as that of `json2`, see [`crate::util::values`]. JSON cannot represent bytes, times and
//! other extensions of MessagePack, nor members without a text as name: such chunks are refused.

use std::borrow::Cow;

use rmp::Marker;
use rmp::decode::bytes::BytesReadError;
use rmp::decode::{self, Bytes, RmpRead, ValueReadError};
use rmp::encode::{self, ByteBuf};
use zarr_core::codec::{ArrayToBytes, ChunkContext, Codec, CodecResult, CodecSpec, Parameters};
use zarr_core::view::{View, ViewMut};
use zarr_core::{CodecError, Dialect, Json, MetadataError, Object, Region};

use crate::util::values::Values;

/// The codecs `msgpack2` and `msgpack`.
#[derive(Clone, Debug)]
struct MsgPack2 {
    values: Values,
    /// Floats are written with four bytes.
    single: bool,
    /// Texts may have a length of one byte: the younger of two specifications.
    young: bool,
    configuration: Object,
}

/// Makes the codec.
pub(crate) fn build(spec: &CodecSpec, context: &ChunkContext) -> Result<Codec, MetadataError> {
    Values::check(spec, context)?;
    let mut parameters = Parameters::new(spec);
    let values = match spec.name.as_str() {
        "msgpack" => Values { codec: "msgpack", has_shape: false },
        _ => Values { codec: "msgpack2", has_shape: true },
    };
    let switches = ["use_single_float", "use_bin_type", "raw"];
    let configuration = Values::said(spec, &switches);
    let single = parameters.boolean("use_single_float", false)?;
    let young = parameters.boolean("use_bin_type", true)?;
    parameters.boolean("raw", false)?;
    parameters.finish()?;
    Ok(Codec::array_to_bytes(MsgPack2 { values, single, young, configuration }))
}

impl ArrayToBytes for MsgPack2 {
    fn encode<'a>(&self, chunk: View<'a>) -> CodecResult<'a> {
        let mut out = ByteBuf::new();
        self.write(&Json::Array(self.values.list(&chunk)?), &mut out)?;
        Ok(Cow::Owned(out.into_vec()))
    }

    fn decode_into(
        &self,
        encoded: &[u8],
        shape: &[u64],
        within: &Region,
        mut out: ViewMut<'_>,
    ) -> Result<(), CodecError> {
        let mut reader = Reader(Bytes::new(encoded));
        let read = reader.value(0).and_then(|list| match reader.rest().len() {
            0 => Ok(list),
            more => Err(format!("{more} bytes follow the list")),
        });
        let list = read.map_err(|why| CodecError::corrupt(self.values.codec, why))?;
        self.values.lay(&list, shape, within, &mut out)
    }

    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
        (dialect == Dialect::V2)
            .then(|| CodecSpec::new(dialect, self.values.codec, self.configuration.clone()))
    }
}

/// Writing to memory does not fail.
impl MsgPack2 {
    fn write(&self, value: &Json, out: &mut ByteBuf) -> Result<(), CodecError> {
        match value {
            Json::Null => {
                let Ok(()) = encode::write_nil(out);
            }
            Json::Bool(value) => {
                let Ok(()) = encode::write_bool(out, *value);
            }
            Json::Number(text) => self.write_number(text, out)?,
            Json::String(text) => self.write_text(text, out)?,
            Json::Array(items) => {
                let Ok(_) = encode::write_array_len(out, self.len(items.len())?);
                items.iter().try_for_each(|item| self.write(item, out))?;
            }
            Json::Object(members) => {
                let Ok(_) = encode::write_map_len(out, self.len(members.len())?);
                for (name, item) in members.iter() {
                    self.write_text(name, out)?;
                    self.write(item, out)?;
                }
            }
        }
        Ok(())
    }

    fn write_text(&self, text: &str, out: &mut ByteBuf) -> Result<(), CodecError> {
        let len = self.len(text.len())?;
        match u16::try_from(len) {
            Ok(len @ 32..256) if !self.young => {
                let bytes = out.as_mut_vec();
                bytes.push(Marker::Str16.to_u8());
                bytes.extend(len.to_be_bytes());
            }
            _ => {
                let Ok(_) = encode::write_str_len(out, len);
            }
        }
        out.as_mut_vec().extend_from_slice(text.as_bytes());
        Ok(())
    }

    /// The length of a text, list or object as MessagePack holds it.
    fn len(&self, len: usize) -> Result<u32, CodecError> {
        let limit = u32::MAX;
        u32::try_from(len)
            .map_err(|_| CodecError::Limit { codec: self.values.codec, limit: limit.into() })
    }

    fn write_number(&self, text: &str, out: &mut ByteBuf) -> Result<(), CodecError> {
        if let Ok(value) = text.parse() {
            let Ok(_) = encode::write_uint(out, value);
            return Ok(());
        }
        // `-0` is a float: there is no such integer.
        if let Some(value) = text.parse().ok().filter(|&value| value != 0) {
            let Ok(_) = encode::write_sint(out, value);
            return Ok(());
        }
        let whole = !text.contains(['.', 'e', 'E']) && text != "-0";
        let is_bare = ["NaN", "Infinity", "-Infinity"].contains(&text);
        let float = text.parse::<f64>().ok();
        let float = float.filter(|value| is_bare || value.is_finite() && !whole);
        let Some(value) = float else {
            let why = format!("{text} is too large for MessagePack");
            return Err(CodecError::Value { codec: self.values.codec, why });
        };
        let Ok(()) = if self.single {
            encode::write_f32(out, value as f32)
        } else {
            encode::write_f64(out, value)
        };
        Ok(())
    }
}

/// Reads MessagePack.
struct Reader<'a>(Bytes<'a>);

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a [u8] {
        self.0.remaining_slice()
    }

    /// One value, at this depth.
    fn value(&mut self, depth: usize) -> Result<Json, String> {
        if depth > Json::MAX_DEPTH {
            return Err(format!("nests deeper than {} levels", Json::MAX_DEPTH));
        }
        let marker = decode::read_marker(&mut self.0).map_err(|e| too_short(e.into()))?;
        let input = &mut self.0;
        let number = match marker {
            Marker::FixPos(value) => Ok(Json::from(u64::from(value))),
            Marker::FixNeg(value) => Ok(Json::from(i64::from(value))),
            Marker::U8 => input.read_data_u8().map(|value| Json::from(u64::from(value))),
            Marker::U16 => input.read_data_u16().map(|value| Json::from(u64::from(value))),
            Marker::U32 => input.read_data_u32().map(|value| Json::from(u64::from(value))),
            Marker::U64 => input.read_data_u64().map(Json::from),
            Marker::I8 => input.read_data_i8().map(|value| Json::from(i64::from(value))),
            Marker::I16 => input.read_data_i16().map(|value| Json::from(i64::from(value))),
            Marker::I32 => input.read_data_i32().map(|value| Json::from(i64::from(value))),
            Marker::I64 => input.read_data_i64().map(Json::from),
            Marker::F32 => input.read_data_f32().map(|value| Json::float(value.into())),
            Marker::F64 => input.read_data_f64().map(Json::float),
            Marker::Null => Ok(Json::Null),
            Marker::False | Marker::True => Ok(Json::Bool(marker == Marker::True)),
            _ => return self.long_value(marker, depth),
        };
        number.map_err(too_short)
    }

    /// A value with a length.
    fn long_value(&mut self, marker: Marker, depth: usize) -> Result<Json, String> {
        let len = match marker {
            Marker::FixStr(len) | Marker::FixArray(len) | Marker::FixMap(len) => Ok(len.into()),
            Marker::Str8 => self.0.read_data_u8().map(u32::from),
            Marker::Str16 | Marker::Array16 | Marker::Map16 => {
                self.0.read_data_u16().map(u32::from)
            }
            Marker::Str32 | Marker::Array32 | Marker::Map32 => self.0.read_data_u32(),
            Marker::Bin8 | Marker::Bin16 | Marker::Bin32 => {
                return Err("a value is bytes, which JSON cannot represent".into());
            }
            Marker::Reserved => return Err("the byte c1 begins no value".into()),
            _ => return Err("a value is an extension, which JSON cannot represent".into()),
        };
        let len = len.map_err(too_short)? as usize;
        match marker {
            Marker::FixArray(_) | Marker::Array16 | Marker::Array32 => self.items(len, depth),
            Marker::FixMap(_) | Marker::Map16 | Marker::Map32 => self.members(len, depth),
            _ => self.text(len),
        }
    }

    fn text(&mut self, len: usize) -> Result<Json, String> {
        let rest = self.rest();
        let (text, rest) = rest
            .split_at_checked(len)
            .ok_or_else(|| format!("expected {len} bytes, found {}", rest.len()))?;
        self.0 = Bytes::new(rest);
        let text = std::str::from_utf8(text);
        text.map(Json::from).map_err(|e| format!("a text is not UTF-8: {e}"))
    }

    /// `len` values, each at least one byte.
    fn items(&mut self, len: usize, depth: usize) -> Result<Json, String> {
        self.holds(len)?;
        (0..len).map(|_| self.value(depth + 1)).collect()
    }

    /// `len` names and values, each pair at least two bytes.
    fn members(&mut self, len: usize, depth: usize) -> Result<Json, String> {
        self.holds(len.saturating_mul(2))?;
        let members: Result<Object, String> = (0..len)
            .map(|_| match (self.value(depth + 1)?, self.value(depth + 1)?) {
                (Json::String(name), value) => Ok((name, value)),
                (name, _) => {
                    Err(format!("{} names a member, where a text is expected", name.brief()))
                }
            })
            .collect();
        members.map(Json::Object)
    }

    fn holds(&self, least: usize) -> Result<(), String> {
        let len = self.rest().len();
        if least > len {
            return Err(format!("{len} bytes are too short for {least}"));
        }
        Ok(())
    }
}

/// The message for a value that continues after the end of the bytes.
fn too_short(error: ValueReadError<BytesReadError>) -> String {
    match error {
        ValueReadError::InvalidMarkerRead(BytesReadError::InsufficientBytes {
            expected,
            actual,
            ..
        })
        | ValueReadError::InvalidDataRead(BytesReadError::InsufficientBytes {
            expected,
            actual,
            ..
        }) => {
            format!("expected {expected} bytes, found {actual}")
        }
        _ => "a value cannot be read".into(),
    }
}

#[cfg(test)]
mod tests {
    use zarr_core::data_type::DataType;

    use crate::testing::{Long, hex};

    fn values(shape: &[u64]) -> Long {
        Long::new(DataType::Json, "msgpack2", "{}", shape)
    }

    fn stands_for(codec: &Long, digits: &str, elements: &[&str]) {
        let encoded = hex(digits);
        assert_eq!(codec.encode(elements).unwrap(), encoded);
        let expected: Vec<&[u8]> = elements.iter().map(|element| element.as_bytes()).collect();
        assert_eq!(codec.decode(&encoded).unwrap(), expected);
        codec.survives_damage(&encoded);
    }

    /// Z2-042; the bytes are those of numcodecs 0.15.2 with msgpack 1.2.4.
    #[test]
    fn a_chunk_is_the_list_of_json2() {
        let digits = "95a3666f6fa3626172a362617aa27c4f9103";
        stands_for(&values(&[3]), digits, &[r#""foo""#, r#""bar""#, r#""baz""#]);
        let digits = "94920102920304a27c4f920202";
        stands_for(&values(&[2, 2]), digits, &["1", "2", "3", "4"]);
    }

    /// The bytes are those of numcodecs 0.15.2 with msgpack 1.2.4.
    #[test]
    fn every_kind_of_value_has_numcodecs_bytes() {
        let (long, longer) =
            (format!("\"{}\"", "x".repeat(40)), format!("\"{}\"", "y".repeat(300)));
        let range: Vec<String> = (0..20).map(|n| n.to_string()).collect();
        let range = format!("[{}]", range.join(","));
        let elements = [
            r#""a""#,
            "null",
            r#"{"b":[1,2]}"#,
            "true",
            "false",
            "-1",
            "-33",
            "-129",
            "-40000",
            "-3000000000",
            "127",
            "128",
            "300",
            "70000",
            "5000000000",
            "18446744073709551615",
            "1.5",
            &long,
            &longer,
            "[]",
            "{}",
            &range,
        ];
        let digits = [
            "dc0018a161c081a162920102c3c2ffd0dfd1ff7fd2ffff63c0d3ffffffff4d2fa2007fcc80cd012cce00011170",
            "cf000000012a05f200cfffffffffffffffffcb3ff8000000000000",
            "d928",
            &"78".repeat(40),
            "da012c",
            &"79".repeat(300),
            "9080dc0014000102030405060708090a0b0c0d0e0f10111213a27c4f9116",
        ];
        stands_for(&values(&[22]), &digits.concat(), &elements);
    }

    /// Z2-042: version 1.
    #[test]
    fn the_first_version_has_no_shape() {
        let old = Long::new(DataType::Json, "msgpack", "{}", &[2]);
        stands_for(&old, "93 01 a162 a27c4f", &["1", r#""b""#]);
    }

    #[test]
    fn parameters_say_how_texts_and_floats_are_written() {
        let configuration = r#"{"use_single_float":true,"use_bin_type":false,"raw":false}"#;
        let codec = Long::new(DataType::Json, "msgpack2", configuration, &[2]);
        let text = format!("\"{}\"", "x".repeat(40));
        let encoded = hex(&["94 ca3fc00000 da0028", &"78".repeat(40), "a27c4f9102"].concat());
        assert_eq!(codec.encode(&["1.5", &text]).unwrap(), encoded);
        assert_eq!(codec.decode(&encoded).unwrap(), [b"1.5", text.as_bytes()]);
    }

    #[test]
    fn numbers_keep_what_they_are() {
        let codec = values(&[1]);
        for text in
            ["0", "-0.0", "1e300", "-32", "-33", "0.1", "5e-324", "1.0", "9223372036854775808"]
        {
            assert_eq!(codec.decode(&codec.encode(&[text]).unwrap()).unwrap(), [text.as_bytes()]);
        }
        for text in ["18446744073709551616", "-9223372036854775809", "1e400"] {
            assert!(codec.encode(&[text]).is_err(), "{text}");
        }
        let special = hex("94 cb7ff8000000000000 ca7f800000 a27c4f 9102");
        assert_eq!(values(&[2]).decode(&special).unwrap(), [&b"NaN"[..], b"Infinity"]);
        let again = values(&[3]).encode(&["NaN", "-Infinity", r#""NaN""#]).unwrap();
        assert_eq!(again, hex("95cb7ff8000000000000cbfff0000000000000a34e614ea27c4f9103"),);
    }

    #[test]
    fn damage_is_told() {
        let why = |digits: &str| values(&[1]).damage(&hex(digits));
        assert_eq!(why(""), "expected 1 bytes, found 0");
        assert_eq!(why("c0"), "it is not a list");
        assert_eq!(why("93 c40101 a27c4f 9101"), "a value is bytes, which JSON cannot represent");
        assert_eq!(
            why("93 d4ff01 a27c4f 9101"),
            "a value is an extension, which JSON cannot represent"
        );
        assert_eq!(why("93 c1 a27c4f 9101"), "the byte c1 begins no value");
        assert_eq!(why("93 810102 a27c4f 9101"), "1 names a member, where a text is expected");
        assert!(why("93 a1ff a27c4f 9101").starts_with("a text is not UTF-8"));
        assert_eq!(why("93 01 a27c4f 9101 00"), "1 bytes follow the list");
    }

    /// No length is believed before the bytes are there.
    #[test]
    fn absurd_lengths_and_depths_cost_nothing() {
        let why = |digits: &str| values(&[1]).damage(&hex(digits));
        assert_eq!(why("ddffffffff"), "0 bytes are too short for 4294967295");
        assert!(why("dfffffffff 00").contains("are too short for"));
        assert!(why("dbffffffff 00").contains("expected 4294967295 bytes"));
        let deep = values(&[1]).damage(&[0x91; 100_000]);
        assert_eq!(deep, "nests deeper than 128 levels");
        let nested = ["ddffffffff", &"dd00000fff".repeat(1000)].concat();
        assert!(why(&nested).contains("are too short for"));
    }
}
