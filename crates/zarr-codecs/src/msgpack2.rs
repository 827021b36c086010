//! Stores JSON values as MessagePack (Z2-042).
//!
//! The same list as that of `json2`, as [`crate::values`] says. JSON has no words for bytes, times and
//! other extensions of MessagePack, nor for members without a text as name: such chunks are refused.

use std::borrow::Cow;

use zarr_core::codec::{ArrayToBytes, ChunkContext, Codec, CodecSpec, Parameters};
use zarr_core::view::{View, ViewMut};
use zarr_core::{CodecError, Dialect, Json, MetadataError, Object, Region};

use crate::values::Values;

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
    fn encode<'a>(&self, chunk: View<'a>) -> Result<Cow<'a, [u8]>, CodecError> {
        let mut out = Vec::new();
        self.write(&Json::Array(self.values.list(&chunk)?), &mut out)?;
        Ok(Cow::Owned(out))
    }

    fn decode_into(
        &self,
        encoded: &[u8],
        shape: &[u64],
        within: &Region,
        mut out: ViewMut<'_>,
    ) -> Result<(), CodecError> {
        let mut reader = Reader { rest: encoded };
        let read = reader.value(0).and_then(|list| match reader.rest.len() {
            0 => Ok(list),
            more => Err(format!("{more} bytes follow the list")),
        });
        let list = read.map_err(|why| CodecError::corrupt(self.values.codec, why))?;
        self.values.lay(&list, shape, within, &mut out)
    }

    fn spelling(&self, dialect: Dialect) -> Option<CodecSpec> {
        let words = || CodecSpec::new(dialect, self.values.codec, self.configuration.clone());
        (dialect == Dialect::V2).then(words)
    }
}

impl MsgPack2 {
    fn write(&self, value: &Json, out: &mut Vec<u8>) -> Result<(), CodecError> {
        match value {
            Json::Null => out.push(0xc0),
            Json::Bool(value) => out.push(0xc2 + u8::from(*value)),
            Json::Number(text) => self.write_number(text, out)?,
            Json::String(text) => self.write_text(text, out)?,
            Json::Array(items) => {
                self.write_head(items.len(), 0x90, 16, 0xdc, out)?;
                items.iter().try_for_each(|item| self.write(item, out))?;
            }
            Json::Object(members) => {
                self.write_head(members.len(), 0x80, 16, 0xde, out)?;
                for (name, item) in members.iter() {
                    self.write_text(name, out)?;
                    self.write(item, out)?;
                }
            }
        }
        Ok(())
    }

    fn write_text(&self, text: &str, out: &mut Vec<u8>) -> Result<(), CodecError> {
        match u8::try_from(text.len()) {
            Ok(len @ 32..) if self.young => out.extend([0xd9, len]),
            _ => self.write_head(text.len(), 0xa0, 32, 0xda, out)?,
        }
        out.extend_from_slice(text.as_bytes());
        Ok(())
    }

    /// A length: in the first byte if it is less than `few`, else in two bytes after `wide`, or in four.
    fn write_head(
        &self,
        len: usize,
        narrow: u8,
        few: u8,
        wide: u8,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        match (u8::try_from(len), u16::try_from(len), u32::try_from(len)) {
            (Ok(len), ..) if len < few => out.push(narrow | len),
            (_, Ok(len), _) => {
                out.push(wide);
                out.extend(len.to_be_bytes());
            }
            (.., Ok(len)) => {
                out.push(wide + 1);
                out.extend(len.to_be_bytes());
            }
            _ => {
                let limit = u32::MAX.into();
                return Err(CodecError::Limit { codec: self.values.codec, limit });
            }
        }
        Ok(())
    }

    fn write_number(&self, text: &str, out: &mut Vec<u8>) -> Result<(), CodecError> {
        if let Ok(value) = text.parse::<u64>() {
            match (u8::try_from(value), u16::try_from(value), u32::try_from(value)) {
                (Ok(value @ 0..=0x7f), ..) => out.push(value),
                (Ok(value), ..) => out.extend([0xcc, value]),
                (_, Ok(value), _) => {
                    out.push(0xcd);
                    out.extend(value.to_be_bytes());
                }
                (.., Ok(value)) => {
                    out.push(0xce);
                    out.extend(value.to_be_bytes());
                }
                _ => {
                    out.push(0xcf);
                    out.extend(value.to_be_bytes());
                }
            }
            return Ok(());
        }
        // `-0` is a float: there is no such integer.
        if let Some(value) = text.parse::<i64>().ok().filter(|&value| value != 0) {
            match (i8::try_from(value), i16::try_from(value), i32::try_from(value)) {
                (Ok(value @ -32..), ..) => out.push(value as u8),
                (Ok(value), ..) => out.extend([0xd0, value as u8]),
                (_, Ok(value), _) => {
                    out.push(0xd1);
                    out.extend(value.to_be_bytes());
                }
                (.., Ok(value)) => {
                    out.push(0xd2);
                    out.extend(value.to_be_bytes());
                }
                _ => {
                    out.push(0xd3);
                    out.extend(value.to_be_bytes());
                }
            }
            return Ok(());
        }
        let whole = !text.contains(['.', 'e', 'E']) && text != "-0";
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() && !whole && self.single => {
                out.push(0xca);
                out.extend((value as f32).to_be_bytes());
            }
            Ok(value) if value.is_finite() && !whole => {
                out.push(0xcb);
                out.extend(value.to_be_bytes());
            }
            _ => {
                let why = format!("{text} is too large for MessagePack");
                return Err(CodecError::Value { codec: self.values.codec, why });
            }
        }
        Ok(())
    }
}

/// Reads MessagePack.
struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn bytes(&mut self, len: usize) -> Result<&'a [u8], String> {
        let (bytes, rest) = self
            .rest
            .split_at_checked(len)
            .ok_or_else(|| format!("{len} bytes are due, where {} are left", self.rest.len()))?;
        self.rest = rest;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        self.bytes(N).map(|bytes| bytes.try_into().expect("as many bytes as were asked for"))
    }

    /// A length of so many bytes.
    fn len(&mut self, size: usize) -> Result<usize, String> {
        let bytes = self.bytes(size)?;
        Ok(bytes.iter().fold(0, |len, &byte| len << 8 | usize::from(byte)))
    }

    /// One value, at this depth.
    fn value(&mut self, depth: usize) -> Result<Json, String> {
        if depth > Json::MAX_DEPTH {
            return Err(format!("nests deeper than {} levels", Json::MAX_DEPTH));
        }
        let [head] = self.array()?;
        let low = usize::from(head);
        Ok(match head {
            0x00..=0x7f => Json::from(u64::from(head)),
            0xe0..=0xff => Json::from(i64::from(head as i8)),
            0xc0 => Json::Null,
            0xc2 | 0xc3 => Json::Bool(head == 0xc3),
            0xcc => Json::from(u64::from(u8::from_be_bytes(self.array()?))),
            0xcd => Json::from(u64::from(u16::from_be_bytes(self.array()?))),
            0xce => Json::from(u64::from(u32::from_be_bytes(self.array()?))),
            0xcf => Json::from(u64::from_be_bytes(self.array()?)),
            0xd0 => Json::from(i64::from(i8::from_be_bytes(self.array()?))),
            0xd1 => Json::from(i64::from(i16::from_be_bytes(self.array()?))),
            0xd2 => Json::from(i64::from(i32::from_be_bytes(self.array()?))),
            0xd3 => Json::from(i64::from_be_bytes(self.array()?)),
            0xca => float(f32::from_be_bytes(self.array()?).into()),
            0xcb => float(f64::from_be_bytes(self.array()?)),
            0xa0..=0xbf => self.text(low & 0x1f)?,
            0xd9..=0xdb => {
                let len = self.len(1 << (head - 0xd9))?;
                self.text(len)?
            }
            0x90..=0x9f => self.items(low & 0x0f, depth)?,
            0xdc | 0xdd => {
                let len = self.len(2 << (head - 0xdc))?;
                self.items(len, depth)?
            }
            0x80..=0x8f => self.members(low & 0x0f, depth)?,
            0xde | 0xdf => {
                let len = self.len(2 << (head - 0xde))?;
                self.members(len, depth)?
            }
            0xc4..=0xc6 => return Err("a value is bytes, for which JSON has no words".into()),
            0xc7..=0xc9 | 0xd4..=0xd8 => {
                return Err("a value is an extension, for which JSON has no words".into());
            }
            0xc1 => return Err("the byte c1 begins no value".into()),
        })
    }

    fn text(&mut self, len: usize) -> Result<Json, String> {
        let text = std::str::from_utf8(self.bytes(len)?);
        text.map(Json::from).map_err(|e| format!("a text is not UTF-8: {e}"))
    }

    /// So many values, each at least one byte.
    fn items(&mut self, len: usize, depth: usize) -> Result<Json, String> {
        self.holds(len)?;
        (0..len).map(|_| self.value(depth + 1)).collect()
    }

    /// So many names and values, each at least two bytes.
    fn members(&mut self, len: usize, depth: usize) -> Result<Json, String> {
        self.holds(len.saturating_mul(2))?;
        let member = |_| match (self.value(depth + 1)?, self.value(depth + 1)?) {
            (Json::String(name), value) => Ok((name, value)),
            (name, _) => Err(format!("{} names a member, where a text is due", name.brief())),
        };
        let members: Result<Object, String> = (0..len).map(member).collect();
        members.map(Json::Object)
    }

    fn holds(&self, least: usize) -> Result<(), String> {
        match least <= self.rest.len() {
            true => Ok(()),
            false => Err(format!("{} bytes do not hold {least}", self.rest.len())),
        }
    }
}

/// As in `json2`: JSON has no words for these.
fn float(value: f64) -> Json {
    match value {
        _ if value.is_finite() => Json::Number(format!("{value:?}").into()),
        _ if value.is_nan() => "NaN".into(),
        _ if value > 0.0 => "Infinity".into(),
        _ => "-Infinity".into(),
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
        let due: Vec<&[u8]> = elements.iter().map(|element| element.as_bytes()).collect();
        assert_eq!(codec.decode(&encoded).unwrap(), due);
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
        let words = r#"{"use_single_float":true,"use_bin_type":false,"raw":false}"#;
        let codec = Long::new(DataType::Json, "msgpack2", words, &[2]);
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
        assert_eq!(values(&[2]).decode(&special).unwrap(), [&b"\"NaN\""[..], b"\"Infinity\""]);
    }

    #[test]
    fn damage_is_told() {
        let why = |digits: &str| values(&[1]).damage(&hex(digits));
        assert_eq!(why(""), "1 bytes are due, where 0 are left");
        assert_eq!(why("c0"), "it is no list");
        assert_eq!(why("93 c40101 a27c4f 9101"), "a value is bytes, for which JSON has no words");
        assert_eq!(
            why("93 d4ff01 a27c4f 9101"),
            "a value is an extension, for which JSON has no words"
        );
        assert_eq!(why("93 c1 a27c4f 9101"), "the byte c1 begins no value");
        assert_eq!(why("93 810102 a27c4f 9101"), "1 names a member, where a text is due");
        assert!(why("93 a1ff a27c4f 9101").starts_with("a text is not UTF-8"));
        assert_eq!(why("93 01 a27c4f 9101 00"), "1 bytes follow the list");
    }

    /// No length is believed before the bytes are there.
    #[test]
    fn absurd_lengths_and_depths_cost_nothing() {
        let why = |digits: &str| values(&[1]).damage(&hex(digits));
        assert_eq!(why("ddffffffff"), "0 bytes do not hold 4294967295");
        assert!(why("dfffffffff 00").contains("do not hold"));
        assert!(why("dbffffffff 00").contains("4294967295 bytes are due"));
        let deep = values(&[1]).damage(&[0x91; 100_000]);
        assert_eq!(deep, "nests deeper than 128 levels");
        let nested = ["ddffffffff", &"dd00000fff".repeat(1000)].concat();
        assert!(why(&nested).contains("do not hold"));
    }
}
