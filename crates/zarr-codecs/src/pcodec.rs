//! Compresses numbers with Pcodec.
//!
//! Pcodec's standalone files, as numcodecs' `pcodec` writes them. It needs elements, not bytes: in v2 it is a
//! codec on the bytes of numbers in little-endian order, in final v3 one from arrays to bytes (T-53).

use std::borrow::Cow;

use pco::metadata::DeltaEncoding;
use pco::standalone::{DecompressorItem, FileDecompressor, simple_compress};
use pco::{ChunkConfig, DeltaSpec, ModeSpec, PagingSpec, wrapped};
use zarr_core::codec::{
    ArrayToBytes, BytesToBytes, ChunkContext, Codec, CodecResult, CodecSpec, DecodedSize,
    Parameters,
};
use zarr_core::data_type::CoreType;
use zarr_core::region::byte_count;
use zarr_core::view::{View, ViewMut};
use zarr_core::{CodecError, Dialect, MetadataError, Object, Region};

use crate::util::metadata::numcodecs;
use crate::util::number::{Native, NumberType, with_scalar};

const CODEC: &str = "pcodec";

/// The most numbers that one of its pages holds.
const MAX_NUMBERS_PER_PAGE: i64 = 1 << 24;

/// The most numbers in the window of a page that has fewer; no encoder takes more.
const WINDOW: usize = 1 << 15;

/// The names of its parameters.
const PARAMETERS: [&str; 6] = [
    "level",
    "mode_spec",
    "delta_spec",
    "paging_spec",
    "delta_encoding_order",
    "equal_pages_up_to",
];

/// The pcodec codec.
#[derive(Clone, Debug)]
struct Pcodec {
    numbers: NumberType,
    how: ChunkConfig,
    configuration: Object,
}

/// Makes the codec: on flat bytes in v2 and the drafts, from arrays to bytes in final v3.
pub(crate) fn build(spec: &CodecSpec, context: &ChunkContext) -> Result<Codec, MetadataError> {
    let mut parameters = Parameters::new(spec);
    let numbers = NumberType::of(spec, context).filter(|numbers| numbers.size() > 1);
    let Some(numbers) = numbers else {
        let why = format!(
            "`{}` is not a type of integers or floats of two, four or eight bytes, in \
             little-endian order",
            context.data_type
        );
        return Err(parameters.invalid("data type", why));
    };
    let level = parameters.integer("level", 0..=12, Some(8))?;
    let pages = parameters.integer("equal_pages_up_to", 1..=MAX_NUMBERS_PER_PAGE, Some(1 << 18))?;
    let order = match parameters.get("delta_encoding_order") {
        None => None,
        Some(_) => Some(parameters.integer("delta_encoding_order", 0..=7, None)? as usize),
    };
    let words = [("auto", ModeSpec::Auto), ("classic", ModeSpec::Classic)];
    let mode = parameters.choice("mode_spec", &words)?.unwrap_or(ModeSpec::Auto);
    let delta = match (parameters.string("delta_spec")?.unwrap_or("auto"), order) {
        ("auto", None) => DeltaSpec::Auto,
        ("auto" | "try_consecutive", Some(order)) => DeltaSpec::TryConsecutive(order),
        ("none", None) => DeltaSpec::NoOp,
        ("try_lookback", None) => DeltaSpec::TryLookback,
        ("try_consecutive", None) => {
            return Err(parameters.invalid("delta_encoding_order", "is missing"));
        }
        ("none" | "try_lookback", Some(_)) => {
            return Err(
                parameters.invalid("delta_encoding_order", "is for `try_consecutive` alone")
            );
        }
        (other, _) => {
            let why = format!(
                "unknown value `{other}`; expected one of `auto`, `none`, `try_consecutive`, `try_lookback`"
            );
            return Err(parameters.invalid("delta_spec", why));
        }
    };
    if !matches!(parameters.string("paging_spec")?, None | Some("equal_pages_up_to")) {
        return Err(parameters.invalid("paging_spec", "is `equal_pages_up_to`"));
    }
    parameters.finish()?;
    let how = ChunkConfig::default()
        .with_compression_level(level as usize)
        .with_mode_spec(mode)
        .with_delta_spec(delta)
        .with_paging_spec(PagingSpec::EqualPagesUpTo(pages as usize));
    let said = spec.configuration.iter().filter(|(name, _)| PARAMETERS.contains(name));
    let configuration = said.map(|(name, value)| (name.to_owned(), value.clone())).collect();
    let codec = Pcodec { numbers, how, configuration };
    Ok(match spec.dialect {
        Dialect::V3 => Codec::array_to_bytes(codec),
        _ => Codec::bytes_to_bytes(codec),
    })
}

impl Pcodec {
    fn core(&self) -> CoreType {
        self.numbers.core
    }

    /// A file of native numbers.
    fn compress(&self, numbers: &[u8]) -> Result<Vec<u8>, CodecError> {
        with_scalar!(self.core(), T => {
            let numbers: Vec<T> = numbers.chunks_exact(T::SIZE).map(T::load).collect();
            simple_compress(&numbers, &self.how)
                .map_err(|error| CodecError::Value { codec: CODEC, why: error.to_string() })
        })
    }

    /// Native numbers of a file, as many bytes as are expected.
    ///
    /// Memory is asked for page by page, each once its header was read and found to claim no more than is expected. `pco` takes
    /// memory for twice the window of a page before it gives a number, so a window beyond the page is refused first.
    fn decompress(&self, file: &[u8], size: DecodedSize) -> Result<Vec<u8>, CodecError> {
        let (header, mut rest) = FileDecompressor::new(file).map_err(broken)?;
        let version = if header.format_version().major < 4 { 1 } else { 2 };
        let inner = &file[(file.len() - rest.len()).saturating_sub(version)..];
        let (inner, _) = wrapped::FileDecompressor::new(inner).map_err(broken)?;
        let mut out = Vec::new();
        with_scalar!(self.core(), T => loop {
            // A page begins with its type, which is 0 behind the last page, and its count of numbers less one, in three bytes.
            if let [1..=u8::MAX, a, b, c, page @ ..] = rest {
                let n = u32::from_le_bytes([*a, *b, *c, 0]) as usize + 1;
                let found = (out.len() + n * T::SIZE) as u64;
                if found > size.limit() {
                    size.check(CODEC, found)?;
                }
                // Mode 4 has a dictionary: its length in 25 bits behind the mode's four, then its numbers, for which memory is taken first.
                let mode = page.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
                let dictionary = if mode & 15 == 4 { mode >> 4 & 0x01ff_ffff } else { 0 };
                if dictionary as usize > page.len() / T::SIZE {
                    let why = format!("a dictionary of {dictionary} numbers is cut short");
                    return Err(CodecError::corrupt(CODEC, why));
                }
                let (page, _) = inner.chunk_decompressor::<T, _>(page).map_err(broken)?;
                if let DeltaEncoding::Lookback { config, .. } = &page.meta().delta_encoding
                    && 1 << config.window_n_log > n.next_power_of_two().max(WINDOW)
                {
                    let why = format!("a page of {n} numbers has a window of 2^{}", config.window_n_log);
                    return Err(CodecError::corrupt(CODEC, why));
                }
            }
            let item = header.chunk_decompressor::<T, _>(rest).map_err(broken)?;
            let mut page = match item {
                DecompressorItem::Chunk(page) => page,
                DecompressorItem::EndOfData(rest) => {
                    if !rest.is_empty() {
                        let why = format!("{} bytes follow the last page", rest.len());
                        return Err(CodecError::corrupt(CODEC, why));
                    }
                    size.check(CODEC, out.len() as u64)?;
                    return Ok(out);
                }
            };
            let mut numbers = vec![T::of(zarr_core::data_type::ScalarValue::Integer(0)); page.n()];
            if !page.read(&mut numbers).map_err(broken)?.finished {
                return Err(CodecError::corrupt(CODEC, "a page ends before its last number"));
            }
            let start = out.len();
            out.resize(start + numbers.len() * T::SIZE, 0);
            let elements = out[start..].chunks_exact_mut(T::SIZE);
            elements.zip(numbers).for_each(|(element, number)| number.store(element));
            rest = page.into_src();
        })
    }
}

/// The error of a file that pco does not decompress.
fn broken(error: pco::errors::PcoError) -> CodecError {
    CodecError::corrupt(CODEC, error)
}

impl BytesToBytes for Pcodec {
    fn encode<'a>(&self, decoded: Cow<'a, [u8]>) -> CodecResult<'a> {
        self.numbers.count(CODEC, decoded.len() as u64)?;
        let mut numbers = decoded.into_owned();
        self.numbers.byteswap(&mut numbers);
        self.compress(&numbers).map(Cow::Owned)
    }

    fn decode<'a>(&self, encoded: Cow<'a, [u8]>, size: DecodedSize) -> CodecResult<'a> {
        let mut numbers = self.decompress(&encoded, size)?;
        self.numbers.byteswap(&mut numbers);
        Ok(Cow::Owned(numbers))
    }

    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
        numcodecs(dialect, CODEC, self.configuration.clone())
    }
}

impl ArrayToBytes for Pcodec {
    fn encode<'a>(&self, chunk: View<'a>) -> CodecResult<'a> {
        self.compress(&chunk.to_bytes()).map(Cow::Owned)
    }

    fn decode_into(
        &self,
        encoded: &[u8],
        shape: &[u64],
        within: &Region,
        mut out: ViewMut<'_>,
    ) -> Result<(), CodecError> {
        let size = byte_count(shape, self.numbers.size()).unwrap_or(u64::MAX);
        let numbers = self.decompress(encoded, DecodedSize::Exactly(size))?;
        out.copy_from(&View::new(&numbers, shape, self.numbers.size()).part(within));
        Ok(())
    }

    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
        numcodecs(dialect, CODEC, self.configuration.clone())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use zarr_core::data_type::{DataType, NumpyTime, TimeKind, TimeUnit};

    use super::*;
    use crate::testing::{
        build_on, bytes_to_bytes, context, decode, encode, heeds_sizes, hex, noise, ramp,
        survives_damage,
    };

    fn flat(core: CoreType, configuration: &str) -> Arc<dyn BytesToBytes> {
        bytes_to_bytes(build_on(Dialect::V2, CODEC, configuration, &context(core, &[4])))
    }

    fn on_arrays(core: CoreType, configuration: &str) -> Arc<dyn ArrayToBytes> {
        let built = build_on(Dialect::V3, "numcodecs.pcodec", configuration, &context(core, &[4]));
        match built {
            Ok(Codec::ArrayToBytes(codec)) => codec,
            other => panic!("{other:?}"),
        }
    }

    fn le<const N: usize>(numbers: impl IntoIterator<Item = [u8; N]>) -> Vec<u8> {
        numbers.into_iter().flatten().collect()
    }

    /// Files that numcodecs 0.16.6 wrote with pcodec 0.3.6: type, words, numbers, file.
    #[test]
    fn it_reads_and_writes_what_numcodecs_does() {
        let digits = [3u16, 1, 4, 1, 5, 9, 2, 6].repeat(40);
        let cases = [
            (
                CoreType::Int32,
                "{}",
                le((0..12i32).map(|i| (1000 + i * i).to_le_bytes())),
                "70636f2102030303030b0000001000401f00003c0080002101c99062c028390f00",
            ),
            (
                CoreType::Int64,
                r#"{"mode_spec":"classic","delta_spec":"none"}"#,
                le([i64::MIN, 0, i64::MAX, 7].map(i64::to_le_bytes)),
                "70636f2102020103040300000032000000000000000000001000000000000000e080ffffffffffffff7f
                 0098000e00",
            ),
            (
                CoreType::Float64,
                r#"{"level":12}"#,
                le((0..12).map(|i| (f64::from(i) * 0.1).to_le_bytes())),
                "70636f2102030303060b0000a2999999999999fb0b100000000000000000002440000000000000000000
                 10001032547698ba00",
            ),
            (
                CoreType::Float16,
                r#"{"level":0}"#,
                hex("0000 003e 00c0 007c 007e 0100"),
                "70636f210282010309050000001000f8ff810140017e000001bc01be024000",
            ),
            (
                CoreType::Uint16,
                r#"{"delta_spec":"try_lookback"}"#,
                le(digits.into_iter().map(u16::to_le_bytes)),
                "70636f2102085003073f010020089c00c01f0000000000040000008023003cf2ff80abff2f000000c36f
                 0030006ef76c36006068cce76c3589bd4d14e4260a721305b98982dc44416ea2203751909b28c84d14e4
                 260a721305b98982dc44416ea2203751909b2872b95c2e97cbe572b95c2e97cbe572b95c2e97cbe572b9
                 5c2e97cbe5c84d14e4260a42fdfdbf17c8e572b95c2e970300",
            ),
            (
                CoreType::Uint64,
                r#"{"delta_encoding_order":1}"#,
                le((0..12u64).map(u64::to_le_bytes)),
                "70636f2102030303020b000010010180000000000000004000000000000000000000",
            ),
            (
                CoreType::Int16,
                r#"{"delta_spec":"try_consecutive","delta_encoding_order":2,"equal_pages_up_to":5}"#,
                le((0..12i16).map(|i| (3 * i).to_le_bytes())),
                "70636f210203030308030000100201000040000080030008030000100201000040000c80030008030000
                 100201000040001880030000",
            ),
            (
                CoreType::Float32,
                "{}",
                le([0x3fc0_0000u32, 0x8000_0000, 0x7fc0_0000].map(u32::to_le_bytes)),
                "70636f2102c10305020000100300000000c0bfffff3fc0020080bf00",
            ),
            (CoreType::Float32, "{}", vec![], "70636f2102000300"),
        ];
        for (core, configuration, numbers, file) in cases {
            let (codec, size) = (flat(core, configuration), numbers.len() as u64);
            assert_eq!(decode(&*codec, &hex(file), size), numbers, "{core:?} {configuration}");
            assert_eq!(decode(&*codec, &encode(&*codec, &numbers), size), numbers);
            let count = size / core.repr().size() as u64;
            let (arrays, mut out) = (on_arrays(core, configuration), vec![0xa5; numbers.len()]);
            let view = ViewMut::new(&mut out, &[count], core.repr().size());
            arrays.decode_into(&hex(file), &[count], &Region::all(&[count]), view).unwrap();
            NumberType { core, endian: zarr_core::data_type::Endian::Little }.byteswap(&mut out);
            assert_eq!(out, numbers);
        }
    }

    #[test]
    fn a_part_is_that_of_the_whole() {
        let codec = on_arrays(CoreType::Int32, "{}");
        let numbers: Vec<u8> = (0..24i32).flat_map(i32::to_ne_bytes).collect();
        let file = codec.encode(View::new(&numbers, &[4, 6], 4)).unwrap();
        let mut out = vec![0; 16];
        let within = Region::new([1..3, 2..4]);
        codec.decode_into(&file, &[4, 6], &within, ViewMut::new(&mut out, &[2, 2], 4)).unwrap();
        assert_eq!(out, [8, 9, 14, 15].map(i32::to_ne_bytes).concat());
        let mut all = [0; 100];
        for shape in [&[4, 5][..], &[5, 5], &[24 << 32]] {
            let part = Region::new(shape.iter().map(|_| 0..1));
            let view = ViewMut::new(&mut all[..4], &vec![1; shape.len()], 4);
            let error = codec.decode_into(&file, shape, &part, view).unwrap_err();
            assert!(matches!(error, CodecError::Length { .. }), "{error}");
        }
        // Rank 0.
        let one = codec.encode(View::new(&numbers[..4], &[], 4)).unwrap();
        let view = ViewMut::new(&mut out[..4], &[], 4);
        codec.decode_into(&one, &[], &Region::all(&[]), view).unwrap();
    }

    /// `pco` would take 71 MB for a dictionary that this file of 17 bytes does not have.
    #[test]
    fn a_dictionary_that_is_not_there_is_refused() {
        let file = hex("70636f210304060401031700005400ff10");
        let codec = flat(CoreType::Int32, "{}");
        let error = codec.decode(Cow::Borrowed(&file), DecodedSize::AtMost(8 << 20)).unwrap_err();
        assert!(error.to_string().contains("a dictionary of 17821701 numbers"), "{error}");
        // One that is there is read.
        let numbers: Vec<u32> =
            (0..4000u32).map(|n| (n * n % 97).wrapping_mul(2_654_435_761)).collect();
        let how = ChunkConfig::default().with_mode_spec(ModeSpec::TryDict);
        let file = simple_compress(&numbers, &how).unwrap();
        let page = file.windows(4).position(|bytes| bytes == [1, 159, 15, 0]).unwrap();
        assert_eq!(file[page + 4] & 15, 4);
        let numbers = le(numbers.into_iter().map(u32::to_le_bytes));
        assert_eq!(decode(&*flat(CoreType::Uint32, "{}"), &file, numbers.len() as u64), numbers);
    }

    /// `pco` would take 64 MiB for this window, of which 320 numbers need 1 KiB, and decode the file.
    #[test]
    fn a_window_that_no_page_needs_is_refused() {
        let (codec, numbers) = (flat(CoreType::Uint16, r#"{"delta_spec":"try_lookback"}"#), 320);
        let digits: Vec<u8> = [3u16, 1, 4, 1, 5, 9, 2, 6]
            .repeat(numbers / 8)
            .into_iter()
            .flat_map(u16::to_le_bytes)
            .collect();
        let mut file = encode(&*codec, &digits);
        let size = DecodedSize::Exactly(digits.len() as u64);
        // Five bits behind the page's type, count, mode and delta encoding have the logarithm of the window, less one.
        let page = file.windows(4).position(|bytes| bytes == [7, 63, 1, 0]).unwrap();
        assert_eq!((file[page + 4] & 0xf0, file[page + 5] & 0x1f), (0x20, 8));
        for log in [9, 15, 16, 24] {
            file[page + 5] = file[page + 5] & 0xe0 | (log - 1);
            let decoded = codec.decode(Cow::Borrowed(&file), size);
            if log <= 15 {
                assert_eq!(*decoded.unwrap(), digits);
            } else {
                let error = decoded.unwrap_err().to_string();
                assert!(error.contains(&format!("320 numbers has a window of 2^{log}")), "{error}");
            }
        }
    }

    #[test]
    fn it_behaves() {
        for configuration in [
            "{}",
            r#"{"level":0,"delta_spec":"none"}"#,
            r#"{"equal_pages_up_to":7,"delta_encoding_order":2}"#,
            r#"{"delta_spec":"try_lookback","mode_spec":"classic"}"#,
        ] {
            let codec = flat(CoreType::Int32, configuration);
            for len in [0, 4, 1000, 4096] {
                for numbers in [noise(len), ramp(len), vec![0; len]] {
                    let file = encode(&*codec, &numbers);
                    assert_eq!(decode(&*codec, &file, len as u64), numbers);
                }
            }
            for numbers in [noise(96), ramp(400), vec![]] {
                heeds_sizes(&*codec, &numbers);
                survives_damage(&*codec, &numbers);
            }
        }
        assert!(flat(CoreType::Int32, "{}").encode(Cow::Borrowed(&[1, 2, 3])).is_err());
    }

    /// A page that says it holds 2²⁴ numbers, and a header that hints at more than there can be.
    #[test]
    fn absurd_counts_are_not_believed() {
        let codec = flat(CoreType::Uint64, "{}");
        let file = hex("70636f21 02030303 02 ffffff 10010180000000000000004000000000000000000000");
        let small = codec.decode(Cow::Borrowed(&file), DecodedSize::Exactly(96));
        assert!(matches!(small, Err(CodecError::Length { .. })), "{small:?}");
        let limited = codec.decode(Cow::Borrowed(&file), DecodedSize::AtMost(96));
        assert!(matches!(limited, Err(CodecError::Limit { .. })), "{limited:?}");
        let hint = hex("70636f21 03 00 ff ffffffffffffffff 04 01 00");
        let empty = codec.decode(Cow::Borrowed(&hint), DecodedSize::AtMost(1 << 40));
        assert!(empty.is_err() || empty.unwrap().is_empty());
    }

    /// numcodecs refuses other types; times are counts to it.
    #[test]
    fn words_are_checked_and_spelled() {
        for bad in [
            r#"{"level":13}"#,
            r#"{"mode_spec":"fast"}"#,
            r#"{"delta_spec":"try"}"#,
            r#"{"delta_spec":"try_consecutive"}"#,
            r#"{"delta_spec":"none","delta_encoding_order":1}"#,
            r#"{"delta_encoding_order":8}"#,
            r#"{"paging_spec":"exact"}"#,
            r#"{"equal_pages_up_to":0}"#,
            r#"{"equal_pages_up_to":16777217}"#,
        ] {
            assert!(build_on(Dialect::V2, CODEC, bad, &context(CoreType::Int32, &[4])).is_err());
        }
        for other in [CoreType::Int8, CoreType::Uint8, CoreType::Bool, CoreType::Complex64] {
            for dialect in [Dialect::V2, Dialect::V3] {
                assert!(build_on(dialect, CODEC, "{}", &context(other, &[4])).is_err());
            }
        }
        let time = NumpyTime { kind: TimeKind::Datetime, unit: TimeUnit::Second, scale_factor: 1 };
        let times = ChunkContext::new(DataType::Time(time), [4]);
        assert!(build_on(Dialect::V3, CODEC, "{}", &times).is_ok());
        let big = ChunkContext::new(DataType::from(CoreType::Int32).in_other_order(), [4]);
        assert!(build_on(Dialect::V2, CODEC, "{}", &big).is_err());
        let configuration = r#"{"level":3,"delta_encoding_order":null}"#;
        let metadata = |dialect| {
            let codec = flat(CoreType::Float32, configuration).to_metadata(dialect);
            codec.map(|configuration| configuration.to_string())
        };
        assert_eq!(metadata(Dialect::V2), Some(format!("pcodec {configuration}")));
        assert_eq!(metadata(Dialect::V3), Some(format!("numcodecs.pcodec {configuration}")));
        assert_eq!(metadata(Dialect::Draft), None);
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(400))]

        /// Damage to a file is an error, or gives other numbers, as many; never a panic.
        #[test]
        fn damage_is_met(
            numbers in proptest::collection::vec(0u64..500, 0..700),
            configuration in proptest::sample::select(vec![
                r#"{"level":4}"#,
                r#"{"level":2,"delta_spec":"try_lookback"}"#,
                r#"{"mode_spec":"classic","delta_encoding_order":3}"#,
                r#"{"equal_pages_up_to":100,"delta_spec":"none"}"#,
            ]),
            damage in proptest::collection::vec(
                (proptest::prelude::any::<proptest::sample::Index>(), 0u8..=255), 1..6),
            near_start in 4usize..60,
        ) {
            let floats = numbers.iter().flat_map(|&n| (n as f64 * 0.25).to_le_bytes());
            let integers = numbers.iter().flat_map(|n| n.to_le_bytes());
            for (core, bytes) in [
                (CoreType::Float64, floats.collect::<Vec<u8>>()),
                (CoreType::Uint64, integers.collect()),
            ] {
                let codec = flat(core, configuration);
                let mut file = encode(&*codec, &bytes);
                assert_eq!(decode(&*codec, &file, bytes.len() as u64), bytes);
                // What is said of pages stands at the start.
                let reach = near_start.min(file.len());
                for (place, byte) in &damage {
                    file[place.index(reach)] ^= *byte;
                }
                let size = DecodedSize::Exactly(bytes.len() as u64);
                if let Ok(out) = codec.decode(Cow::Borrowed(&file), size) {
                    assert_eq!(out.len(), bytes.len());
                }
            }
        }
    }
}
