//! Stores variable-length elements as bytes (F-095, Z2-041).
//!
//! `vlen-utf8`, `vlen-bytes` and `vlen-array` differ in what an element is, not in how it is stored: how
//! many elements there are, then each after its length, every number a little-endian u32.

use std::borrow::Cow;

use zarr_core::codec::{ArrayToBytes, ChunkContext, Codec, CodecResult, CodecSpec, Parameters};
use zarr_core::data_type::DataType;
use zarr_core::region::element_count;
use zarr_core::var_buffer::{VAR_REF_SIZE, VarBuffer};
use zarr_core::view::{View, ViewMut};
use zarr_core::{CodecError, Dialect, MetadataError, Object, Region};

use zarr_core::codec::buffer_pool::{self, zeroed};

const NUMBER: usize = size_of::<u32>();

/// The three codecs.
#[derive(Clone, Debug)]
struct Vlen {
    name: &'static str,
    /// The parameters, which only `vlen-array` has.
    configuration: Object,
    data_type: DataType,
}

/// Makes the codec.
pub(crate) fn build(spec: &CodecSpec, context: &ChunkContext) -> Result<Codec, MetadataError> {
    let data_type = context.data_type.clone();
    let mut parameters = Parameters::new(spec);
    let mut configuration = Object::new();
    let (name, is_stored) = match spec.name.as_str() {
        "vlen-utf8" => ("vlen-utf8", data_type == DataType::String),
        "vlen-bytes" => ("vlen-bytes", data_type == DataType::Bytes),
        _ => {
            if let Some(dtype) = parameters.string("dtype")? {
                configuration.insert("dtype", dtype);
            }
            ("vlen-array", matches!(data_type, DataType::List(_)))
        }
    };
    // A third party's type says itself which codec stores it.
    let is_foreign = matches!(data_type, DataType::Extension(_)) && data_type.is_variable();
    if !is_stored && !is_foreign {
        return Err(parameters.invalid("data type", format!("`{data_type}` is stored otherwise")));
    }
    parameters.finish()?;
    Ok(Codec::array_to_bytes(Vlen { name, configuration, data_type }))
}

impl Vlen {
    fn var_buffer<'a>(
        &self,
        var_buffer: Option<&'a VarBuffer>,
    ) -> Result<&'a VarBuffer, CodecError> {
        var_buffer.ok_or_else(|| CodecError::corrupt(self.name, "the elements have no lengths"))
    }

    /// The number at the beginning of `bytes`, and what follows.
    fn number<'a>(&self, bytes: &'a [u8], of: &str) -> Result<(u32, &'a [u8]), CodecError> {
        match bytes.split_first_chunk::<NUMBER>() {
            Some((number, rest)) => Ok((u32::from_le_bytes(*number), rest)),
            None => Err(CodecError::corrupt(self.name, format!("the bytes end within {of}"))),
        }
    }
}

impl ArrayToBytes for Vlen {
    fn encode<'a>(&self, chunk: View<'a>) -> CodecResult<'a> {
        let elements = self.var_buffer(chunk.var_buffer())?.elements();
        let number = |n: usize| {
            let limit = CodecError::Limit { codec: self.name, limit: u32::MAX.into() };
            u32::try_from(n).map(u32::to_le_bytes).map_err(|_| limit)
        };
        let references = chunk.to_bytes();
        let lengths = references
            .chunks_exact(VAR_REF_SIZE)
            .map(|reference| NUMBER + elements.get(reference).len());
        let limit = CodecError::Limit { codec: self.name, limit: isize::MAX as u64 };
        let room = buffer_pool::room(lengths.fold(NUMBER, usize::saturating_add));
        let mut out = room.ok_or(limit)?;
        out.extend_from_slice(&number(chunk.len())?);
        for reference in references.chunks_exact(VAR_REF_SIZE) {
            let element = elements.get(reference);
            out.extend_from_slice(&number(element.len())?);
            out.extend_from_slice(element);
        }
        Ok(Cow::Owned(out))
    }

    fn decode_into(
        &self,
        encoded: &[u8],
        shape: &[u64],
        within: &Region,
        mut out: ViewMut<'_>,
    ) -> Result<(), CodecError> {
        let var_buffer = self.var_buffer(out.var_buffer())?;
        let (found, mut rest) = self.number(encoded, "the number of elements")?;
        let expected = element_count(shape);
        if expected != Some(found.into()) {
            let expected = expected.map_or("too many".into(), |expected| expected.to_string());
            return Err(CodecError::corrupt(
                self.name,
                format!("{found} elements are stored, expected {expected}"),
            ));
        }
        if (found as usize).checked_mul(NUMBER).is_none_or(|lengths| lengths > rest.len()) {
            return Err(CodecError::corrupt(
                self.name,
                format!("{} bytes are too short for {found} elements", encoded.len()),
            ));
        }
        let buffer = var_buffer.add(encoded.to_vec().into())?;
        let mut references = zeroed(self.name, (found as usize * VAR_REF_SIZE) as u64)?;
        for reference in references.chunks_exact_mut(VAR_REF_SIZE) {
            let (len, after) = self.number(rest, "a length")?;
            let Some((element, after)) = after.split_at_checked(len as usize) else {
                return Err(CodecError::corrupt(
                    self.name,
                    format!("an element of {len} bytes ends after {}", after.len()),
                ));
            };
            self.data_type.check_element(element)?;
            let offset = (encoded.len() - after.len() - element.len()) as u64;
            reference.copy_from_slice(buffer.reference(offset, len.into())?.as_bytes());
            rest = after;
        }
        if !rest.is_empty() {
            return Err(CodecError::corrupt(
                self.name,
                format!("{} bytes follow the last element", rest.len()),
            ));
        }
        out.copy_from(&View::new(&references, shape, VAR_REF_SIZE).part(within));
        Ok(())
    }

    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
        let is_known =
            dialect == Dialect::V2 || dialect == Dialect::V3 && self.name != "vlen-array";
        is_known.then(|| CodecSpec::new(dialect, self.name, self.configuration.clone()))
    }
}

#[cfg(test)]
mod tests {
    use zarr_core::data_type::{CoreType, DataType};

    use super::*;
    use crate::testing::{Long, build_on, context, hex};

    fn text(len: u64) -> Long {
        Long::new(DataType::String, "vlen-utf8", "{}", &[len])
    }

    fn bytes(len: u64) -> Long {
        Long::new(DataType::Bytes, "vlen-bytes", "{}", &[len])
    }

    fn lists(dtype: &str, items: CoreType, len: u64) -> Long {
        let configuration = format!(r#"{{"dtype":"{dtype}"}}"#);
        Long::new(DataType::List(Box::new(items.into())), "vlen-array", &configuration, &[len])
    }

    fn stands_for<T: AsRef<[u8]>>(codec: &Long, digits: &str, elements: &[T]) {
        let encoded = hex(digits);
        assert_eq!(codec.encode(elements).unwrap(), encoded);
        let expected: Vec<&[u8]> = elements.iter().map(AsRef::as_ref).collect();
        assert_eq!(codec.decode(&encoded).unwrap(), expected);
        codec.survives_damage(&encoded);
    }

    /// F-095.
    #[test]
    fn texts_and_bytes_are_stored_as_zarr_python_3_does() {
        let digits = "04000000 00000000 01000000 61 05000000 68c3a9c3a9 06000000 e697a5e69cac";
        stands_for(&text(4), digits, &["", "a", "héé", "日本"]);
        let digits = "03000000 02000000 0102 00000000 03000000 616263";
        stands_for(&bytes(3), digits, &[&[1, 2][..], b"", b"abc"]);
    }

    /// Z2-041.
    #[test]
    fn objects_are_stored_as_numcodecs_does() {
        let digits = "03000000 03000000 616263 00000000 02000000 c3a9";
        stands_for(&text(3), digits, &["abc", "", "é"]);
        stands_for(&bytes(2), "02000000 03000000 616263 00000000", &[&b"abc"[..], b""]);
        let digits = "02000000 08000000 0100000002000000 00000000";
        let items = hex("0100000002000000");
        stands_for(&lists("<i4", CoreType::Int32, 2), digits, &[&items[..], b""]);
    }

    #[test]
    fn a_chunk_without_elements_is_its_count() {
        stands_for::<&str>(&text(0), "00000000", &[]);
        let scalar = Long::new(DataType::String, "vlen-utf8", "{}", &[]);
        stands_for(&scalar, "01000000 01000000 78", &["x"]);
    }

    /// Z2-041, F-095.
    #[test]
    fn damage_is_told() {
        let expected = text(2);
        let why = |digits: &str| expected.damage(&hex(digits));
        assert_eq!(why(""), "the bytes end within the number of elements");
        assert_eq!(why("020000"), "the bytes end within the number of elements");
        assert_eq!(why("01000000 00000000"), "1 elements are stored, expected 2");
        assert_eq!(why("02000000 00000000"), "8 bytes are too short for 2 elements");
        assert_eq!(why("02000000 09000000 61000000 00"), "an element of 9 bytes ends after 5");
        assert_eq!(why("02000000 05000000 6161616161"), "the bytes end within a length");
        assert_eq!(why("02000000 00000000 00000000 61"), "1 bytes follow the last element");
        assert_eq!(why("02000000 01000000 ff 00000000"), "an element is not a valid string");
        assert_eq!(why("02000000 03000000 eda080 00000000"), "an element is not a valid string");
        let lists = lists("<i4", CoreType::Int32, 1);
        assert_eq!(
            lists.damage(&hex("01000000 02000000 0000")),
            "an element is not a valid array of int32"
        );
    }

    /// No length is believed before the bytes are there.
    #[test]
    fn absurd_counts_and_lengths_cost_nothing() {
        let most = u64::from(u32::MAX);
        for shape in [vec![most], vec![1 << 16, 1 << 16], vec![u64::MAX], vec![u64::MAX; 3]] {
            let absurd = Long::new(DataType::String, "vlen-utf8", "{}", &shape);
            let nothing = Region::new(shape.iter().map(|_| 0..0));
            for digits in
                ["ffffffff", "00000000", "ffffffff ffffffff", "ffffffff 00000000 00000000"]
            {
                assert!(absurd.decode_part(&hex(digits), &nothing).is_err(), "{shape:?}: {digits}");
            }
        }
        assert_eq!(
            text(1).damage(&hex("01000000 ffffffff 61")),
            "an element of 4294967295 bytes ends after 1"
        );
    }

    #[test]
    fn parts_are_those_of_the_whole() {
        let table = Long::new(DataType::String, "vlen-utf8", "{}", &[2, 3]);
        let encoded = table.encode(&["a", "bb", "", "dddd", "é", "f"]).unwrap();
        let part = |region: Region| {
            let part = table.decode_part(&encoded, &region).unwrap();
            part.into_iter().map(|text| String::from_utf8(text).unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(part(Region::new([0..2, 1..2])), ["bb", "é"]);
        assert_eq!(part(Region::new([1..2, 0..3])), ["dddd", "é", "f"]);
        assert!(part(Region::new([1..1, 0..3])).is_empty());
    }

    /// F-045, Z2-040.
    #[test]
    fn each_codec_has_its_own_type() {
        let of = |data_type: DataType| ChunkContext::new(data_type, vec![2]);
        for (name, dialect, context) in [
            ("vlen-utf8", Dialect::V3, context(CoreType::Int32, &[2])),
            ("vlen-utf8", Dialect::V3, of(DataType::Bytes)),
            ("vlen-bytes", Dialect::V3, of(DataType::String)),
            ("vlen-bytes", Dialect::V2, of(DataType::Json)),
            ("vlen-array", Dialect::V2, of(DataType::String)),
        ] {
            let error = build_on(dialect, name, "{}", &context).unwrap_err().to_string();
            assert!(error.contains("is stored otherwise"), "{error}");
        }
        let error = build_on(Dialect::V3, "vlen-utf8", r#"{"level":1}"#, &of(DataType::String));
        assert!(error.unwrap_err().to_string().contains("unknown parameter"));
    }
}
