//! Stores some of the bits of each element, as final v3 does (F-098).
//!
//! Bits `first_bit` to `last_bit` of each number follow each other without a gap, the lowest first, into
//! bytes filled from their lowest bit; zeros fill the last one. A byte before or after may say how many. Of
//! signed integers the highest bit that is stored is the sign.

use std::borrow::Cow;

use zarr_core::codec::{
    ArrayToBytes, ChunkContext, Codec, CodecResult, CodecSpec, DecodedSize, Parameters,
};
use zarr_core::data_type::Scalar;
use zarr_core::region::element_count;
use zarr_core::view::{View, ViewMut};
use zarr_core::{CodecError, Dialect, MetadataError, Object, Region};

use zarr_core::codec::buffer_pool::zeroed;

const CODEC: &str = "packbits";

/// Where the count of padding bits stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Count {
    None,
    FirstByte,
    LastByte,
}

/// Final v3's packbits codec.
#[derive(Clone, Debug)]
struct PackBits {
    count: Count,
    first: u32,
    /// Bits stored of a number.
    bits: u32,
    /// Bytes of a number in memory.
    number: usize,
    /// Numbers in an element: two in a complex one.
    numbers: u64,
    signed: bool,
    configuration: Object,
}

/// Makes the codec.
pub(crate) fn build(spec: &CodecSpec, context: &ChunkContext) -> Result<Codec, MetadataError> {
    let mut parameters = Parameters::new(spec);
    let scalar = context.data_type.scalar();
    let Some((numbers, number, all)) = scalar.and_then(numbers) else {
        let why = format!("`{}` has no bits of its own", context.data_type);
        return Err(parameters.invalid("data type", why));
    };
    let first = parameters.integer("first_bit", 0..=all - 1, Some(0))?;
    let last = parameters.integer("last_bit", first..=all - 1, Some(all - 1))?;
    let words =
        [("none", Count::None), ("first_byte", Count::FirstByte), ("last_byte", Count::LastByte)];
    let count = parameters.choice("padding_encoding", &words)?.unwrap_or(Count::None);
    parameters.finish()?;
    Ok(Codec::array_to_bytes(PackBits {
        count,
        first: first as u32,
        bits: (last - first + 1) as u32,
        number,
        numbers,
        signed: matches!(scalar, Some(Scalar::Int(_) | Scalar::Time(_))),
        configuration: spec.configuration.clone(),
    }))
}

/// Numbers in an element, bytes of each in memory, and bits of each.
fn numbers(scalar: Scalar) -> Option<(u64, usize, i64)> {
    let (part, bits) = (scalar.part(), scalar.bits());
    let parts = scalar.size() / part.size();
    matches!(part.size(), 1 | 2 | 4 | 8).then_some((parts as u64, part.size(), bits.into()))
}

impl PackBits {
    /// Bits that a chunk of `shape` stores, and bits that fill the last byte.
    fn sizes(&self, shape: &[u64]) -> Option<(u64, u64)> {
        let numbers = element_count(shape)?.checked_mul(self.numbers)?;
        let bits = numbers.checked_mul(self.bits.into())?;
        Some((bits, bits.wrapping_neg() % 8))
    }

    /// A stored number, as it is in memory.
    fn extended(&self, bits: u64) -> u64 {
        let spare = 64 - self.bits;
        if self.signed {
            (((bits << spare) as i64 >> spare) as u64) << self.first
        } else {
            bits << self.first
        }
    }

    fn mask(&self) -> u64 {
        u64::MAX >> (64 - self.bits)
    }
}

/// A native number, zeros above it.
fn load<const N: usize>(bytes: &[u8; N]) -> u64 {
    let mut wide = [0; 8];
    if cfg!(target_endian = "big") {
        wide[8 - N..].copy_from_slice(bytes)
    } else {
        wide[..N].copy_from_slice(bytes)
    }
    u64::from_ne_bytes(wide)
}

/// The lowest bytes of a number, as a native one.
fn store<const N: usize>(number: u64, bytes: &mut [u8; N]) {
    let wide = number.to_ne_bytes();
    if cfg!(target_endian = "big") {
        bytes.copy_from_slice(&wide[8 - N..])
    } else {
        bytes.copy_from_slice(&wide[..N])
    }
}

impl PackBits {
    fn pack<const N: usize>(&self, numbers: &[u8], out: &mut Vec<u8>) {
        let (mask, mut waiting, mut filled) = (self.mask(), 0u128, 0);
        for number in numbers.as_chunks::<N>().0 {
            waiting |= u128::from(load(number) >> self.first & mask) << filled;
            filled += self.bits;
            let whole = filled / 8;
            out.extend_from_slice(&waiting.to_le_bytes()[..whole as usize]);
            waiting >>= whole * 8;
            filled %= 8;
        }
        if filled > 0 {
            out.push(waiting as u8);
        }
    }

    fn unpack<const N: usize>(&self, packed: &[u8], out: &mut [u8]) {
        let (mask, mut waiting, mut filled) = (self.mask(), 0u128, 0);
        let mut packed = packed.iter();
        for number in out.as_chunks_mut::<N>().0 {
            while filled < self.bits {
                waiting |= u128::from(packed.next().copied().unwrap_or(0)) << filled;
                filled += 8;
            }
            store(self.extended(waiting as u64 & mask), number);
            waiting >>= self.bits;
            filled -= self.bits;
        }
    }
}

impl ArrayToBytes for PackBits {
    fn encode<'a>(&self, chunk: View<'a>) -> CodecResult<'a> {
        let limit = CodecError::Limit { codec: CODEC, limit: u64::MAX };
        let (bits, padding) = self.sizes(&chunk.shape()).ok_or(limit)?;
        let numbers = chunk.to_bytes();
        let mut out = Vec::with_capacity(bits.div_ceil(8) as usize + 1);
        if self.count == Count::FirstByte {
            out.push(padding as u8);
        }
        match self.number {
            1 => self.pack::<1>(&numbers, &mut out),
            2 => self.pack::<2>(&numbers, &mut out),
            4 => self.pack::<4>(&numbers, &mut out),
            _ => self.pack::<8>(&numbers, &mut out),
        }
        if self.count == Count::LastByte {
            out.push(padding as u8);
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
        let expected = self.encoded_size(shape).unwrap_or(u64::MAX);
        DecodedSize::Exactly(expected).check(CODEC, encoded.len() as u64)?;
        let (_, padding) = self.sizes(shape).expect("a chunk with a size has bits");
        let (found, packed) = match self.count {
            Count::None => (None, encoded),
            Count::FirstByte => (encoded.first(), encoded.get(1..).unwrap_or_default()),
            Count::LastByte => {
                (encoded.last(), encoded.split_last().map_or(&[][..], |(_, packed)| packed))
            }
        };
        if let Some(&found) = found.filter(|&&found| u64::from(found) != padding) {
            let why = format!("{found} bits are said to be padding, but {padding} are");
            return Err(CodecError::corrupt(CODEC, why));
        }
        let size =
            element_count(shape).unwrap_or(u64::MAX).saturating_mul(out.element_size() as u64);
        let mut numbers = zeroed(CODEC, size)?;
        match self.number {
            1 => self.unpack::<1>(packed, &mut numbers),
            2 => self.unpack::<2>(packed, &mut numbers),
            4 => self.unpack::<4>(packed, &mut numbers),
            _ => self.unpack::<8>(packed, &mut numbers),
        }
        out.copy_from(&View::new(&numbers, shape, out.element_size()).part(within));
        Ok(())
    }

    fn encoded_size(&self, shape: &[u64]) -> Option<u64> {
        let (bits, _) = self.sizes(shape)?;
        Some(bits.div_ceil(8) + if self.count == Count::None { 0 } else { 1 })
    }

    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
        (dialect == Dialect::V3).then(|| CodecSpec::v3(CODEC, self.configuration.clone()))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use zarr_core::data_type::{CoreType, DataType, FloatFormat};

    use super::*;
    use crate::testing::{build_on, context, hex};

    fn codec(data_type: impl Into<DataType>, configuration: &str) -> Arc<dyn ArrayToBytes> {
        let context = ChunkContext::new(data_type, vec![4]);
        match build_on(Dialect::V3, CODEC, configuration, &context) {
            Ok(Codec::ArrayToBytes(codec)) => codec,
            other => panic!("{configuration}: {other:?}"),
        }
    }

    fn there_and_back(codec: &dyn ArrayToBytes, cell: usize, numbers: &[u8], packed: &str) {
        let shape = [(numbers.len() / cell) as u64];
        assert_eq!(*codec.encode(View::new(numbers, &shape, cell)).unwrap(), hex(packed));
        assert_eq!(codec.encoded_size(&shape), Some(hex(packed).len() as u64));
        let mut back = vec![0xa5; numbers.len()];
        let out = ViewMut::new(&mut back, &shape, cell);
        codec.decode_into(&hex(packed), &shape, &Region::all(&shape), out).unwrap();
        assert_eq!(back, numbers);
    }

    /// F-098.
    #[test]
    fn the_first_bool_is_the_lowest_bit() {
        let bools = [1, 0, 1, 1, 0, 0, 0, 0, 1];
        there_and_back(&*codec(CoreType::Bool, "{}"), 1, &bools, "0d01");
        let first = codec(CoreType::Bool, r#"{"padding_encoding":"first_byte"}"#);
        there_and_back(&*first, 1, &bools, "070d01");
        let last = codec(CoreType::Bool, r#"{"padding_encoding":"last_byte"}"#);
        there_and_back(&*last, 1, &bools, "0d0107");
        there_and_back(&*last, 1, &[], "00");
    }

    /// F-098, as four bits of a byte: 1, -1, 7. T-50: some bits of others.
    #[test]
    fn some_bits_are_stored() {
        let four = codec(CoreType::Int8, r#"{"last_bit":3}"#);
        there_and_back(&*four, 1, &[1, 0xff, 7], "f107");
        let middle = codec(CoreType::Uint8, r#"{"first_bit":2,"last_bit":5}"#);
        there_and_back(&*middle, 1, &[0b10_0100, 0b11_1100, 0], "f900");
        let all = codec(CoreType::Uint8, r#"{"padding_encoding":"first_byte"}"#);
        there_and_back(&*all, 1, &[1, 2], "000102");
        let numbers: Vec<u8> = [-1i16, 1023, -1024].iter().flat_map(|x| x.to_ne_bytes()).collect();
        let eleven = codec(CoreType::Int16, r#"{"first_bit":null,"last_bit":10}"#);
        // 111_1111_1111, 011_1111_1111, 100_0000_0000, the first lowest.
        there_and_back(&*eleven, 2, &numbers, "ffff1f0001");
        let complex: Vec<u8> = [1.0f32, -2.0].iter().flat_map(|x| x.to_ne_bytes()).collect();
        there_and_back(&*codec(CoreType::Complex64, "{}"), 8, &complex, "0000803f000000c0");
        let parts = codec(CoreType::Complex64, r#"{"first_bit":20}"#);
        there_and_back(&*parts, 8, &complex, "f803c0");
    }

    /// F-098, T-50: the registry's sample, and each width; memory has the sign in all bits above.
    #[test]
    fn narrow_numbers_have_as_many_bits_as_they_need() {
        let of = |narrow: DataType| codec(narrow, "{}");
        there_and_back(&*of(DataType::IntBits(4)), 1, &[1, 0xff, 7], "f107");
        there_and_back(&*of(DataType::IntBits(2)), 1, &[1, 0xfe, 0, 0xff, 1], "c901");
        there_and_back(&*of(DataType::UintBits(2)), 1, &[1, 2, 0, 3, 1], "c901");
        there_and_back(&*of(DataType::UintBits(4)), 1, &[1, 0xf, 7], "f107");
        let format = |name| FloatFormat::from_name(name).unwrap();
        let six = format("float6_e2m3fn");
        there_and_back(&*of(DataType::Minifloat(six)), 1, &[0x3f, 0, 1, 0x20, 1], "3f1080 01");
        there_and_back(
            &*of(DataType::ComplexMinifloat(format("float4_e2m1fn"))),
            2,
            &[1, 2, 15, 7],
            "217f",
        );
        let brain: Vec<u8> = [0x3f80u16, 0xc000].iter().flat_map(|x| x.to_ne_bytes()).collect();
        there_and_back(&*of(DataType::Minifloat(FloatFormat::BFLOAT16)), 2, &brain, "803f00c0");
        let sign = codec(DataType::IntBits(4), r#"{"first_bit":3}"#);
        there_and_back(&*sign, 1, &[0xf8, 0, 0xf8], "05");
        for bad in [r#"{"last_bit":4}"#, r#"{"first_bit":4}"#] {
            let four = ChunkContext::new(DataType::IntBits(4), vec![4]);
            assert!(build_on(Dialect::V3, CODEC, bad, &four).is_err(), "{bad}");
        }
    }

    #[test]
    fn other_padding_is_damage() {
        let codec = codec(CoreType::Bool, r#"{"padding_encoding":"first_byte"}"#);
        let mut bools = [0; 9];
        let mut decode = |packed: &str| {
            let out = ViewMut::new(&mut bools, &[9], 1);
            codec.decode_into(&hex(packed), &[9], &Region::all(&[9]), out)
        };
        assert!(matches!(decode("060d01"), Err(CodecError::Corrupt { .. })));
        assert!(matches!(decode("070d"), Err(CodecError::Length { .. })));
        assert!(matches!(decode("070d0100"), Err(CodecError::Length { .. })));
        decode("070d01").unwrap();
    }

    #[test]
    fn words_are_checked() {
        for bad in [
            r#"{"first_bit":3,"last_bit":2}"#,
            r#"{"last_bit":8}"#,
            r#"{"first_bit":-1}"#,
            r#"{"padding_encoding":"both"}"#,
            r#"{"bits":3}"#,
        ] {
            assert!(build_on(Dialect::V3, CODEC, bad, &context(CoreType::Uint8, &[1])).is_err());
        }
        let built =
            build_on(Dialect::V3, CODEC, r#"{"last_bit":1}"#, &context(CoreType::Bool, &[1]));
        assert!(built.is_err());
        let configuration = r#"{"padding_encoding":"last_byte","first_bit":1}"#;
        let metadata = codec(CoreType::Uint8, configuration).to_metadata(Dialect::V3).unwrap();
        assert_eq!(metadata.to_string(), format!("packbits {configuration}"));
        assert!(codec(CoreType::Uint8, configuration).to_metadata(Dialect::V2).is_none());
    }
}
