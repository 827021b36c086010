//! Stores elements as bytes, in C order and a byte order (F-080).
//!
//! v2 and the drafts have the byte order in the data type: there this codec is implied and has no metadata.

mod read;

use std::borrow::Cow;

use zarr_core::codec::{
    ArrayToBytes, ChunkContext, Codec, CodecResult, CodecSpec, DecodedSize, Parameters,
    PartialDecoder,
};
use zarr_core::data_type::{ByteSwap, DataType, Endian, Origin};
use zarr_core::region::byte_count;
use zarr_core::selection::ResolvedSelection;
use zarr_core::view::{View, ViewMut};
use zarr_core::{CodecError, Dialect, MetadataError, Object, Region};

use self::read::Slabs;
use zarr_core::codec::buffer_pool::zeroed;

const CODEC: &str = "bytes";

/// The bytes codec.
#[derive(Clone, Debug)]
struct Bytes {
    /// As the document says it; `None` only if no unit has more than one byte.
    endian: Option<Endian>,
    /// Whether elements have a byte order at all.
    ordered: bool,
    /// Whether bytes may be such that they are no element.
    checked: bool,
    plain: Plain,
}

/// Elements one after the other.
#[derive(Clone, Debug)]
struct Plain {
    /// Bytes in an element.
    cell: usize,
    /// What turns stored elements into native ones, and back.
    swap: ByteSwap,
    /// Bytes that are swapped together: 1 if stored elements are native ones; `None` if fields of
    /// records differ.
    unit: Option<usize>,
    /// The type of elements that memory and store have in other forms, and the bits of each byte that are
    /// stored (F-053).
    narrow: Option<(DataType, u8)>,
}

/// Makes the codec.
pub(crate) fn build(spec: &CodecSpec, context: &ChunkContext) -> Result<Codec, MetadataError> {
    let cell = context.element_size()?;
    let ordered = context.data_type.has_byte_order();
    let mut parameters = Parameters::new(spec);
    if context.data_type.is_variable() {
        let why = format!("`{}` has no fixed size; it needs another codec", context.data_type);
        return Err(parameters.invalid("data type", why));
    }
    if !context.data_type.is_stored_whole() {
        let why = format!(
            "elements of `{}` may be missing; it needs `zarrs.optional`",
            context.data_type
        );
        return Err(parameters.invalid("data type", why));
    }
    let words = [("little", Endian::Little), ("big", Endian::Big)];
    let endian = parameters.choice("endian", &words)?;
    if endian.is_none() && ordered {
        let why = format!("is missing, but `{}` needs it", context.data_type);
        return Err(parameters.invalid("endian", why));
    }
    parameters.finish()?;
    let stored = endian.unwrap_or(Endian::NATIVE);
    let swap = ByteSwap::between(&context.data_type, stored, Endian::NATIVE);
    let mask = context.data_type.repr().map_or(0xff, |repr| repr.stored_mask());
    let narrow = (mask != 0xff).then(|| (context.data_type.clone(), mask));
    let plain = Plain { cell, unit: swap.unit(), swap, narrow };
    let checked = context.data_type.needs_check();
    Ok(Codec::array_to_bytes(Bytes { endian, ordered, checked, plain }))
}

impl Plain {
    /// Decodes the part `within` of a chunk of `shape`.
    fn decode(
        &self,
        encoded: &[u8],
        shape: &[u64],
        within: &Region,
        mut out: ViewMut<'_>,
    ) -> Result<(), CodecError> {
        let expected = DecodedSize::Exactly(self.size(shape).unwrap_or(u64::MAX));
        expected.check(CODEC, encoded.len() as u64)?;
        let part = View::new(encoded, shape, self.cell).part(within);
        match (self.unit, &self.narrow) {
            (Some(unit), None) => out.copy_swapped(&part, unit),
            (_, narrow) => {
                let mut elements = part.to_bytes().into_owned();
                self.swap.apply(&mut elements);
                if let Some((data_type, _)) = narrow {
                    data_type.check(&mut elements, Origin::Store)?;
                }
                out.copy_from(&View::new(&elements, &part.shape(), self.cell));
            }
        }
        Ok(())
    }

    /// Bytes of a chunk of `shape`.
    fn size(&self, shape: &[u64]) -> Option<u64> {
        byte_count(shape, self.cell)
    }
}

impl ArrayToBytes for Bytes {
    fn encode<'a>(&self, chunk: View<'a>) -> CodecResult<'a> {
        if self.is_memory() {
            return Ok(chunk.to_bytes());
        }
        if let Some((_, mask)) = &self.plain.narrow {
            return Ok(Cow::Owned(chunk.to_bytes().iter().map(|byte| byte & mask).collect()));
        }
        let Some(unit) = self.plain.unit else {
            let mut out = chunk.to_bytes().into_owned();
            self.plain.swap.apply(&mut out);
            return Ok(Cow::Owned(out));
        };
        let mut out = zeroed(CODEC, (chunk.len() * self.plain.cell) as u64)?;
        ViewMut::new(&mut out, &chunk.shape(), self.plain.cell).copy_swapped(&chunk, unit);
        Ok(Cow::Owned(out))
    }

    fn decode_into(
        &self,
        encoded: &[u8],
        shape: &[u64],
        within: &Region,
        out: ViewMut<'_>,
    ) -> Result<(), CodecError> {
        self.plain.decode(encoded, shape, within, out)
    }

    fn partial(
        &self,
        shape: &[u64],
        within: &ResolvedSelection,
    ) -> Option<Box<dyn PartialDecoder + '_>> {
        let within = within.as_region().filter(|part| !self.checked && !part.is_all(shape))?;
        Slabs::new(&self.plain, shape, within).map(|slabs| Box::new(slabs) as _)
    }

    fn encoded_size(&self, shape: &[u64]) -> Option<u64> {
        self.plain.size(shape)
    }

    fn is_memory(&self) -> bool {
        self.plain.unit == Some(1) && self.plain.narrow.is_none()
    }

    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
        // T-38: no byte order is made up for elements that have none.
        let endian = self.endian.filter(|_| self.ordered);
        let configuration =
            endian.map_or_else(Object::new, |e| Object::new().with("endian", e.name()));
        (dialect == Dialect::V3).then(|| CodecSpec::v3("bytes", configuration))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use zarr_core::data_type::CoreType::{self, *};
    use zarr_core::data_type::{Field, FloatFormat, Record};

    use super::*;
    use crate::testing::{build_on, context, hex};

    fn bytes(core: CoreType, shape: &[u64], configuration: &str) -> Arc<dyn ArrayToBytes> {
        match build_on(Dialect::V3, "bytes", configuration, &context(core, shape)) {
            Ok(Codec::ArrayToBytes(codec)) => codec,
            other => panic!("{other:?}"),
        }
    }

    fn decode(codec: &dyn ArrayToBytes, encoded: &[u8], shape: &[u64], cell: usize) -> Vec<u8> {
        let mut out = vec![0; encoded.len()];
        let view = ViewMut::new(&mut out, shape, cell);
        codec.decode_into(encoded, shape, &Region::all(shape), view).unwrap();
        out
    }

    /// F-080, F-038, Z2-032: elements, the stored bytes, the order.
    #[test]
    fn elements_are_stored_in_their_order() {
        let native = |v: &[i16]| v.iter().flat_map(|v| v.to_ne_bytes()).collect::<Vec<u8>>();
        let floats = |v: &[f32]| v.iter().flat_map(|v| v.to_ne_bytes()).collect::<Vec<u8>>();
        let cases = [
            (Int16, 2, native(&[1, 2, 3, 4, 5, 6]), "little", "010002000300040005000600"),
            (Int16, 2, native(&[1, 2, 3, 4, 5, 6]), "big", "000100020003000400050006"),
            (Complex64, 8, floats(&[1.0, 2.0]), "little", "0000803f00000040"),
            (Complex64, 8, floats(&[1.0, 2.0]), "big", "3f80000040000000"),
            (Bool, 1, vec![1, 0, 1], "big", "010001"),
        ];
        for (core, cell, elements, endian, stored) in cases {
            let shape = [(elements.len() / cell) as u64];
            let codec = bytes(core, &shape, &format!("{{\"endian\":\"{endian}\"}}"));
            let encoded = codec.encode(View::new(&elements, &shape, cell)).unwrap();
            assert_eq!(encoded[..], hex(stored), "{core:?} {endian}");
            assert_eq!(decode(&*codec, &encoded, &shape, cell), elements);
            assert_eq!(codec.encoded_size(&shape), Some(encoded.len() as u64));
        }
    }

    /// F-052, F-053, F-055: what tensorstore 0.1.86 stores; bits above a narrower number count for nothing.
    #[test]
    fn narrow_numbers_have_zeros_above_them() {
        let build = |narrow: DataType| {
            let context = ChunkContext::new(narrow, vec![3]);
            match build_on(Dialect::V3, "bytes", r#"{"endian":"little"}"#, &context) {
                Ok(Codec::ArrayToBytes(codec)) => codec,
                other => panic!("{other:?}"),
            }
        };
        let four = build(DataType::IntBits(4));
        let numbers = [0xff, 7, 0xf8];
        assert_eq!(four.encode(View::new(&numbers, &[3], 1)).unwrap()[..], hex("0f0708"));
        for stored in ["0f0708", "ff0708", "1ff7f8"] {
            assert_eq!(decode(&*four, &hex(stored), &[3], 1), numbers, "{stored}");
        }
        let brain = build(DataType::ComplexMinifloat(FloatFormat::BFLOAT16));
        let numbers: Vec<u8> =
            [0x3f80u16, 0xc000, 0, 1, 2, 3].iter().flat_map(|v| v.to_ne_bytes()).collect();
        let stored = hex("803f00c0 00000100 02000300");
        assert_eq!(brain.encode(View::new(&numbers, &[3], 4)).unwrap()[..], stored);
        assert_eq!(decode(&*brain, &stored, &[3], 4), numbers);
    }

    /// F-039: no byte order turns raw bits round.
    #[test]
    fn raw_bits_are_not_turned_round() {
        let raw = ChunkContext::new(DataType::Raw { size: 3 }, vec![1]);
        let codec = build_on(Dialect::V3, "bytes", r#"{"endian":"big"}"#, &raw);
        let Ok(Codec::ArrayToBytes(codec)) = codec else {
            panic!("{codec:?}");
        };
        assert_eq!(codec.encode(View::new(b"abc", &[1], 3)).unwrap()[..], *b"abc");
    }

    /// Z2-036, F-050, T-48: each field is turned by itself, wherever the records go.
    #[test]
    fn the_fields_of_records_are_turned_one_by_one() {
        let fields = [
            Field::new("id", Int32.into()),
            Field::new("flags", Uint8.into()),
            Field::new("value", Float64.into()),
        ];
        let record: DataType = Record::new(fields).unwrap().into();
        let build = |endian: &str| {
            let context = ChunkContext::new(record.clone(), vec![2, 2]);
            let configuration = format!("{{\"endian\":\"{endian}\"}}");
            match build_on(Dialect::V3, "bytes", &configuration, &context) {
                Ok(Codec::ArrayToBytes(codec)) => codec,
                other => panic!("{other:?}"),
            }
        };
        let one = [&1i32.to_ne_bytes()[..], &[2], &3f64.to_ne_bytes()].concat();
        let elements = [&one[..], &[0; 26], &one].concat();
        for (endian, stored) in
            [("little", "01000000 02 0000000000000840"), ("big", "00000001 02 4008000000000000")]
        {
            let stored = [&hex(&stored.replace(' ', ""))[..], &[0; 26]].concat();
            let stored = [&stored[..], &stored[..13]].concat();
            let codec = build(endian);
            assert_eq!(codec.is_memory(), endian == Endian::NATIVE.name());
            assert_eq!(codec.encode(View::new(&elements, &[2, 2], 13)).unwrap()[..], stored);
            let decoded = decode(&*codec, &stored, &[2, 2], 13);
            assert_eq!(decoded, elements);
            // The right column into the left one of a wider box.
            let mut out = vec![0; 13 * 6];
            let column = Region::new([0..2, 0..1]);
            let part = ViewMut::new(&mut out, &[2, 3], 13).part(&column);
            codec.decode_into(&stored, &[2, 2], &Region::new([0..2, 1..2]), part).unwrap();
            assert_eq!((&out[..39], &out[39..52]), (&[0; 39][..], &one[..]));
        }
        let context = ChunkContext::new(record, vec![1]);
        assert!(build_on(Dialect::V3, "bytes", "{}", &context).is_err());
    }

    /// T-47: what is encoded is C order, however the elements lie; and a part may go anywhere.
    #[test]
    fn strided_elements_are_stored_in_c_order() {
        let elements: Vec<u8> = (0u16..6).flat_map(u16::to_ne_bytes).collect();
        for endian in ["little", "big"] {
            let codec = bytes(Uint16, &[3, 2], &format!("{{\"endian\":\"{endian}\"}}"));
            let turned = View::new(&elements, &[2, 3], 2).transposed(&[1, 0]);
            let encoded = codec.encode(turned).unwrap();
            let order = [0u16, 3, 1, 4, 2, 5];
            let want: Vec<u8> = match endian {
                "little" => order.iter().flat_map(|v| v.to_le_bytes()).collect(),
                _ => order.iter().flat_map(|v| v.to_be_bytes()).collect(),
            };
            assert_eq!(encoded[..], want);
            // The part of rows 1..3, column 1, into a column of a wider box.
            let mut out = vec![0; 12];
            let column = Region::new([0..2, 1..2]);
            let part = ViewMut::new(&mut out, &[2, 3], 2).part(&column);
            let within = Region::new([1..3, 1..2]);
            codec.decode_into(&encoded, &[3, 2], &within, part).unwrap();
            let want: Vec<u8> =
                [0u16, 4, 0, 0, 5, 0].iter().flat_map(|v| v.to_ne_bytes()).collect();
            assert_eq!(out, want);
        }
    }

    /// F-072: neither more nor fewer bytes, and no shape whose size cannot be counted.
    #[test]
    fn a_chunk_of_another_length_is_an_error() {
        let codec = bytes(Int16, &[2], r#"{"endian":"little"}"#);
        let mut out = [0; 4];
        for len in [0, 1, 3, 5, 8] {
            let view = ViewMut::new(&mut out, &[2], 2);
            let result = codec.decode_into(&vec![0; len], &[2], &Region::all(&[2]), view);
            assert!(matches!(result, Err(CodecError::Length { expected: 4, .. })));
        }
        let view = ViewMut::new(&mut [], &[0, 0], 2);
        let none = Region::new([0..0, 0..0]);
        let result = codec.decode_into(&[0; 4], &[u64::MAX, 9], &none, view);
        assert!(matches!(result, Err(CodecError::Length { .. })));
        assert_eq!(codec.encoded_size(&[u64::MAX, 9]), None);
    }

    /// F-080: missing, unknown and superfluous words.
    #[test]
    fn words_are_checked_when_the_codec_is_made() {
        let refused = |core, configuration: &str| {
            build_on(Dialect::V3, "bytes", configuration, &context(core, &[1]))
                .unwrap_err()
                .to_string()
        };
        assert_eq!(
            refused(Uint16, "{}"),
            "`codecs: bytes: endian`: is missing, but `uint16` needs it"
        );
        for configuration in
            [r#"{"endian":"native"}"#, r#"{"endian":1}"#, r#"{"endian":"little","x":1}"#]
        {
            refused(Uint16, configuration);
            refused(Uint8, configuration);
        }
    }

    /// T-38: no byte order is made up where there is none, and v2 and the drafts have no words.
    #[test]
    fn the_codec_is_spelled_as_it_was_meant() {
        let metadata = |core, configuration: &str| {
            let codec = bytes(core, &[1], configuration);
            assert!(
                codec.to_metadata(Dialect::V2).is_none()
                    && codec.to_metadata(Dialect::Draft).is_none()
            );
            codec.to_metadata(Dialect::V3).unwrap().to_string()
        };
        assert_eq!(metadata(Uint8, "{}"), "bytes");
        assert_eq!(metadata(Uint8, r#"{"endian":"big"}"#), "bytes");
        assert_eq!(metadata(Int32, r#"{"endian":"big"}"#), r#"bytes {"endian":"big"}"#);
        let native = format!("{{\"endian\":\"{}\"}}", Endian::NATIVE.name());
        assert!(bytes(Int32, &[1], &native).is_memory());
        assert!(bytes(Bool, &[1], r#"{"endian":"big"}"#).is_memory());
    }
}
