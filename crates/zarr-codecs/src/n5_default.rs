//! Stores a chunk as a block of N5 (F-102).
//!
//! Final v3's `n5_default`: a header tells the block's mode and its own shape, which need not be the chunk's;
//! the elements follow, most significant byte first, the first axis fastest, perhaps compressed.

use std::borrow::Cow;

use zarr_core::codec::{
    ArrayToBytes, ChunkContext, Codec, CodecChain, CodecResult, CodecSpec, DecodedSize, Parameters,
};
use zarr_core::data_type::{CoreType, DataType, FillValue};
use zarr_core::region::byte_count;
use zarr_core::selection::ResolvedSelection;
use zarr_core::view::{View, ViewMut};
use zarr_core::{CodecError, Dialect, Json, MetadataError, Object, Region, Registry};

const CODEC: &str = "n5_default";

/// The types of elements that N5 has.
const TYPES: [CoreType; 10] = [
    CoreType::Int8,
    CoreType::Int16,
    CoreType::Int32,
    CoreType::Int64,
    CoreType::Uint8,
    CoreType::Uint16,
    CoreType::Uint32,
    CoreType::Uint64,
    CoreType::Float32,
    CoreType::Float64,
];

/// The codec of N5's blocks of mode 0.
#[derive(Clone, Debug)]
struct N5Default {
    inner: CodecChain,
    rank: u16,
    /// Bytes in an element.
    element_size: usize,
    /// What elements hold that lie beyond the block.
    fill: FillValue,
    configuration: Object,
}

/// Makes the codec.
pub(crate) fn build(
    spec: &CodecSpec,
    context: &ChunkContext,
    registry: &Registry,
) -> Result<Codec, MetadataError> {
    let element_size = context.element_size()?;
    let mut parameters = Parameters::new(spec);
    let codecs = parameters.codecs("codecs")?;
    parameters.finish()?;
    if !matches!(context.data_type, DataType::Core(core) if TYPES.contains(&core)) {
        let why = format!("N5 has integers and floats of whole bytes, not `{}`", context.data_type);
        return Err(MetadataError::invalid("codecs: n5_default: data type", why));
    }
    let rank = u16::try_from(context.rank()).map_err(|_| wrong("N5 has fewer axes"))?;
    let ([transpose, bytes] | [transpose, bytes, _]) = &codecs[..] else {
        return Err(wrong("expected `transpose`, `bytes` and at most one more"));
    };
    let reversed = match registry.build_codec(transpose, context)? {
        Codec::ArrayToArray(codec) => {
            let order = codec.axis_order();
            order.is_some_and(|order| order.iter().copied().eq((0..context.rank()).rev()))
        }
        _ => false,
    };
    if !reversed {
        return Err(wrong("the first is not a `transpose` that reverses all axes"));
    }
    let endian = bytes.configuration.get("endian");
    let big = endian.is_none() || endian.and_then(Json::as_str) == Some("big");
    if bytes.name != "bytes" || !big {
        return Err(wrong("the second is not `bytes` with the endian `big`"));
    }
    let inner = CodecChain::build(&codecs, context, registry)?;
    let fill = context.fill.clone().unwrap_or_else(|| FillValue::new(vec![0; element_size]));
    let configuration = spec.configuration.clone();
    Ok(Codec::array_to_bytes(N5Default { inner, rank, element_size, fill, configuration }))
}

/// The error of codecs that N5 does not have.
fn wrong(why: &str) -> MetadataError {
    MetadataError::invalid("codecs: n5_default: codecs", why)
}

impl N5Default {
    /// The shape of a block, and the bytes that follow its header.
    fn block<'a>(&self, encoded: &'a [u8]) -> Result<(Vec<u64>, &'a [u8]), CodecError> {
        let (mode, rest) = encoded.split_first_chunk().ok_or_else(|| short(encoded.len()))?;
        let mode = u16::from_be_bytes(*mode);
        if mode != 0 {
            let why = format!("a block of mode {mode}, expected 0");
            return Err(CodecError::corrupt(CODEC, why));
        }
        let (rank, rest) = rest.split_first_chunk().ok_or_else(|| short(encoded.len()))?;
        let rank = u16::from_be_bytes(*rank);
        if rank != self.rank {
            let why = format!("a block of rank {rank}, where the array has rank {}", self.rank);
            return Err(CodecError::corrupt(CODEC, why));
        }
        let (lengths, rest) =
            rest.split_at_checked(usize::from(rank) * 4).ok_or_else(|| short(encoded.len()))?;
        let (lengths, _) = lengths.as_chunks();
        let shape = lengths.iter().map(|length| u32::from_be_bytes(*length).into()).collect();
        Ok((shape, rest))
    }
}

/// The error of bytes that end within the header.
fn short(len: usize) -> CodecError {
    CodecError::corrupt(CODEC, format!("{len} bytes are too short for the header of a block"))
}

impl ArrayToBytes for N5Default {
    fn check_encodes(&self) -> Result<(), CodecError> {
        self.inner.check_encodes()
    }

    fn encode<'a>(&self, chunk: View<'a>) -> CodecResult<'a> {
        let mut block = vec![0; 2];
        block.extend_from_slice(&self.rank.to_be_bytes());
        for length in chunk.shape() {
            let length = u32::try_from(length).map_err(|_| {
                let why = format!("length {length} is more than a block's header can say");
                CodecError::Value { codec: CODEC, why }
            })?;
            block.extend_from_slice(&length.to_be_bytes());
        }
        block.extend_from_slice(&self.inner.encode(chunk)?);
        Ok(Cow::Owned(block))
    }

    fn decode_into(
        &self,
        encoded: &[u8],
        shape: &[u64],
        within: &Region,
        mut out: ViewMut<'_>,
    ) -> Result<(), CodecError> {
        let (block, elements) = self.block(encoded)?;
        // No more is made of the block than its bytes, or the chunk's own size, give reason for.
        let limit = DecodedSize::unknown(elements.len())
            .limit()
            .max(byte_count(shape, self.element_size).unwrap_or(0));
        if byte_count(&block, self.element_size).is_none_or(|size| size > limit) {
            return Err(CodecError::Limit { codec: CODEC, limit });
        }
        let both = within.intervals().iter().zip(&block);
        let inside = Region::new(both.map(|(r, &len)| r.start.min(len)..r.end.min(len)));
        let place = Region::all(&inside.shape());
        if inside != *within {
            out.fill(self.fill.as_bytes());
        }
        let elements = Cow::Borrowed(elements);
        self.inner.decode_into(elements, &block, &ResolvedSelection::from(inside), out.part(&place))
    }

    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
        (dialect == Dialect::V3).then(|| CodecSpec::v3(CODEC, self.configuration.clone()))
    }
}

#[cfg(all(test, feature = "full"))]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::testing::{build_on, context, hex};

    const BYTES: &str = r#"{"name":"bytes","configuration":{"endian":"big"}}"#;

    /// The codec for chunks of `shape`, with one more codec at the end, or none.
    fn n5(core: CoreType, shape: &[u64], last: &str) -> Arc<dyn ArrayToBytes> {
        let order: Json = (0..shape.len() as u64).rev().map(Json::from).collect();
        let transpose = format!(r#"{{"name":"transpose","configuration":{{"order":{order}}}}}"#);
        let configuration = format!(r#"{{"codecs":[{transpose},{BYTES}{last}]}}"#);
        match build_on(Dialect::V3, CODEC, &configuration, &context(core, shape)) {
            Ok(Codec::ArrayToBytes(codec)) => codec,
            other => panic!("{configuration}: {other:?}"),
        }
    }

    fn refused(core: CoreType, shape: &[u64], configuration: &str) -> String {
        build_on(Dialect::V3, CODEC, configuration, &context(core, shape)).unwrap_err().to_string()
    }

    fn encode(codec: &dyn ArrayToBytes, shape: &[u64], elements: &[i16]) -> Vec<u8> {
        let memory: Vec<u8> = elements.iter().flat_map(|v| v.to_ne_bytes()).collect();
        codec.encode(View::new(&memory, shape, 2)).unwrap().into_owned()
    }

    fn decode_part(
        codec: &dyn ArrayToBytes,
        encoded: &[u8],
        shape: &[u64],
        within: &Region,
    ) -> Result<Vec<i16>, CodecError> {
        let mut memory = vec![0xa5; within.element_count().unwrap() as usize * 2];
        let out = ViewMut::new(&mut memory, &within.shape(), 2);
        codec.decode_into(encoded, shape, within, out)?;
        Ok(memory.as_chunks().0.iter().map(|v| i16::from_ne_bytes(*v)).collect())
    }

    fn decode(codec: &dyn ArrayToBytes, encoded: &[u8], shape: &[u64]) -> Vec<i16> {
        decode_part(codec, encoded, shape, &Region::all(shape)).unwrap()
    }

    const GZIP: &str = r#",{"name":"gzip","configuration":{"level":1}}"#;
    const ZSTD: &str = r#",{"name":"zstd","configuration":{"level":0,"checksum":false}}"#;

    /// F-102: blocks of an array of 3 x 5 numbers from 256 on, in chunks of 2 x 3, which tensorstore 0.1.86 wrote.
    #[test]
    fn blocks_of_tensorstore() {
        let shape = &[2, 3];
        let edge = &[259, 260, 0, 264, 265, 0];
        let header = "0000 0002 00000002 00000003";
        let first = &[256, 257, 258, 261, 262, 263];
        for (last, block, elements) in [
            ("", "010001050101010601020107", first),
            ("", "010301080104010900000000", edge),
            (GZIP, "1f8b08000000000000036364606465646464636462640700b79ea3570c000000", first),
            (GZIP, "1f8b0800000000000003636466e4606461e4640002007eb021d30c000000", edge),
            (ZSTD, "28b52ffd200c610000010001050101010601020107", first),
            (ZSTD, "28b52ffd200c610000010301080104010900000000", edge),
        ] {
            let codec = n5(CoreType::Int16, shape, last);
            let block = hex(&format!("{header} {block}"));
            assert_eq!(decode(&*codec, &block, shape), elements);
            if last != GZIP {
                assert_eq!(encode(&*codec, shape, elements), block);
            }
        }
    }

    /// F-102: zarr-python 2.18.7 wrote these blocks of the same array with its axes reversed.
    #[test]
    fn blocks_of_zarr_python() {
        let shape = &[3, 2];
        for (last, block, elements) in [
            ("", "010001010102010501060107", [256, 261, 257, 262, 258, 263]),
            ("", "010d010e0000000000000000", [269, 0, 270, 0, 0, 0]),
            (
                GZIP,
                "1f8b0800fd83016b04ff63646064646462646564636407002a070e7b0c000000",
                [256, 261, 257, 262, 258, 263],
            ),
        ] {
            let codec = n5(CoreType::Int16, shape, last);
            let block = hex(&format!("0000 0002 00000003 00000002 {block}"));
            assert_eq!(decode(&*codec, &block, shape), elements);
        }
    }

    /// The blocks of 1 x 2 x 3 that N5's own specification shows, which its library wrote in Java.
    const SPECIFICATION: [(&str, &str); 4] = [
        ("", "000100020003000400050006"),
        (GZIP, "1f8b08000000000000006360646062606660616065600300aaea6dbf0c000000"),
        (
            r#",{"name":"bz2","configuration":{"level":9}}"#,
            "425a683931415926 5359023e0dd200000040007f002000310c010d31a87394337c5dc914e1424008f83748",
        ),
        (
            r#",{"name":"lzma","configuration":{"preset":6}}"#,
            "fd377a585a000004e6d6b4460200210116000000742fe5a301000b000100020003000400050006
             000d0309ca34ec15a70001240ca618d8d81fb6f37d010000000004595a",
        ),
    ];

    /// F-102: what lies beyond a block that is smaller than the chunk is fill, what lies beyond the chunk is cut.
    #[test]
    fn blocks_are_padded_and_cut() {
        for (last, block) in SPECIFICATION {
            let block = hex(&format!("0000 0003 00000001 00000002 00000003 {block}"));
            let decode_as =
                |shape: &[u64]| decode(&*n5(CoreType::Int16, shape, last), &block, shape);
            assert_eq!(decode_as(&[1, 2, 3]), [1, 3, 5, 2, 4, 6]);
            assert_eq!(decode_as(&[2, 2, 3]), [1, 3, 5, 2, 4, 6, 0, 0, 0, 0, 0, 0]);
            assert_eq!(decode_as(&[1, 1, 2]), [1, 3]);
            assert_eq!(decode_as(&[2, 1, 4]), [1, 3, 5, 0, 0, 0, 0, 0]);
            let (shape, codec) = (&[2, 3, 4], n5(CoreType::Int16, &[2, 3, 4], last));
            let part = |within| decode_part(&*codec, &block, shape, &Region::new(within)).unwrap();
            assert_eq!(part([0..1, 1..3, 2..4]), [6, 0, 0, 0]);
            assert_eq!(part([1..2, 2..3, 3..4]), [0]);
        }
    }

    #[test]
    fn what_is_beyond_a_block_is_fill() {
        let fill = Some(FillValue::new(7i16.to_ne_bytes()));
        let configuration = format!(
            r#"{{"codecs":[{{"name":"transpose","configuration":{{"order":[0]}}}},{BYTES}]}}"#
        );
        let context = context(CoreType::Int16, &[3]).with_fill(fill);
        let built = build_on(Dialect::V3, CODEC, &configuration, &context);
        let Ok(Codec::ArrayToBytes(codec)) = built else { panic!("{built:?}") };
        assert_eq!(decode(&*codec, &hex("0000 0001 00000002 0001 0002"), &[3]), [1, 2, 7]);
        assert_eq!(decode(&*codec, &hex("0000 0001 00000000"), &[3]), [7, 7, 7]);
        let metadata = codec.to_metadata(Dialect::V3).unwrap().to_string();
        assert_eq!(metadata, format!("n5_default {configuration}"));
        assert!(
            codec.to_metadata(Dialect::V2).is_none() && codec.to_metadata(Dialect::Draft).is_none()
        );
    }

    /// F-102: another mode, another number of axes, and too few or too many bytes are damage.
    #[test]
    fn damaged_blocks_are_refused() {
        let shape = &[1, 2, 3];
        for (last, block) in SPECIFICATION {
            let codec = n5(CoreType::Int16, shape, last);
            let block = hex(&format!("0000 0003 00000001 00000002 00000003 {block}"));
            let attempt = |bytes: &[u8]| decode_part(&*codec, bytes, shape, &Region::all(shape));
            for len in 0..block.len() {
                assert!(attempt(&block[..len]).is_err(), "{len}");
            }
            assert!(attempt(&[&block[..], b"\x01"].concat()).is_err());
            for at in 0..block.len() {
                for flip in [0x01, 0x10, 0x80, 0xff] {
                    let mut damaged = block.clone();
                    damaged[at] ^= flip;
                    let result = attempt(&damaged);
                    assert!(at >= 16 || result.is_err(), "{at}: {result:?}");
                }
            }
        }
        let codec = n5(CoreType::Int16, &[1], "");
        let why = |block: &str| {
            decode_part(&*codec, &hex(block), &[1], &Region::all(&[1])).unwrap_err().to_string()
        };
        assert_eq!(
            why("0001 0001 00000001 00000001 0001"),
            "n5_default: a block of mode 1, expected 0"
        );
        assert_eq!(
            why("0000 0002 00000001 00000001 0001"),
            "n5_default: a block of rank 2, where the array has rank 1"
        );
        assert_eq!(
            why("0000 0001 0000"),
            "n5_default: 6 bytes are too short for the header of a block"
        );
        assert_eq!(why(""), "n5_default: 0 bytes are too short for the header of a block");
    }

    /// Whatever a header says, no more memory is taken than bytes are there for.
    #[test]
    fn lengths_are_not_believed() {
        for last in ["", GZIP, ZSTD] {
            for lengths in
                ["ffffffff ffffffff", "ffffffff 00000001", "00400000 00400000", "00008000 00008000"]
            {
                let codec = n5(CoreType::Int16, &[2, 2], last);
                let block = hex(&format!("0000 0002 {lengths} 00010002"));
                let within = Region::all(&[2, 2]);
                let error = decode_part(&*codec, &block, &[2, 2], &within).unwrap_err();
                let limit = matches!(error, CodecError::Limit { .. });
                assert!(limit || lengths.starts_with("00008000"), "{lengths}: {error}");
            }
        }
        let long = n5(CoreType::Int16, &[3], "");
        let memory = [];
        let chunk = View::new(&memory, &[1 << 32, 0], 2);
        assert!(long.encode(chunk.part(&Region::new([0..1 << 32, 0..0]))).is_err());
    }

    /// F-102: all axes are reversed, elements are most significant byte first, one codec may follow.
    #[test]
    fn words_are_checked() {
        let chain = |codecs: &str| {
            refused(CoreType::Int16, &[2, 2], &format!(r#"{{"codecs":[{codecs}]}}"#))
        };
        let transpose =
            |order: &str| format!(r#"{{"name":"transpose","configuration":{{"order":{order}}}}}"#);
        let transposed = transpose("[1,0]");
        assert!(chain(&format!("{},{BYTES}", transpose("[0,1]"))).ends_with("reverses all axes"));
        assert!(chain(&format!("{BYTES},{BYTES}")).ends_with("reverses all axes"));
        let little = r#"{"name":"bytes","configuration":{"endian":"little"}}"#;
        assert!(chain(&format!("{transposed},{little}")).ends_with("with the endian `big`"));
        assert!(chain(&format!(r#"{transposed},"packbits""#)).ends_with("with the endian `big`"));
        let few = "expected `transpose`, `bytes` and at most one more";
        for codecs in ["", &transposed, BYTES, &format!(r#"{transposed},{BYTES}{GZIP},"crc32c""#)] {
            assert!(chain(codecs).ends_with(few), "{codecs}");
        }
        // `bytes` needs an order, and what follows it makes bytes of bytes.
        for codecs in
            [format!(r#"{transposed},"bytes""#), format!("{transposed},{BYTES},{transposed}")]
        {
            chain(&codecs);
        }
        let configuration = format!(r#"{{"codecs":[{transposed},{BYTES}]}}"#);
        for core in [CoreType::Bool, CoreType::Float16, CoreType::Complex64] {
            assert!(refused(core, &[2, 2], &configuration).contains("N5 has integers and floats"));
        }
        refused(
            CoreType::Int16,
            &[2, 2],
            &format!(r#"{{"codecs":[{transposed},{BYTES}],"mode":0}}"#),
        );
        refused(CoreType::Int16, &[2, 2], "{}");
        let single = format!(r#"{{"codecs":[{transposed},"bytes"]}}"#);
        assert!(build_on(Dialect::V3, CODEC, &single, &context(CoreType::Uint8, &[2, 2])).is_ok());
    }
}
