//! Chooses the codecs that are tried for a type of elements, and says who reads them.

use zarr_core::data_type::{DataType, Scalar};
use zarr_core::{Dialect, Json, Object};

/// Another implementation that reads Zarr, as the exchanges of docs/interop.md found it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// zarr-python 3 with numcodecs, which brings codecs of its own into v3.
    ZarrPython,
    /// tensorstore.
    Tensorstore,
    /// zarrs.
    Zarrs,
    /// zarrita.js.
    Zarrita,
    /// GDAL 3.6, which reads v2 and no v3.
    Gdal,
}

use Reader::{Gdal, Tensorstore, ZarrPython, Zarrita, Zarrs};

impl Reader {
    /// All that are known.
    pub const ALL: [Reader; 5] = [ZarrPython, Tensorstore, Zarrs, Zarrita, Gdal];

    /// `zarr-python`, `tensorstore`, `zarrs`, `zarrita` or `gdal`.
    pub fn name(self) -> &'static str {
        match self {
            ZarrPython => "zarr-python",
            Tensorstore => "tensorstore",
            Zarrs => "zarrs",
            Zarrita => "zarrita",
            Gdal => "gdal",
        }
    }

    /// Whether it reads this dialect at all.
    fn reads_dialect(self, dialect: Dialect) -> bool {
        match dialect {
            Dialect::V3 => self != Gdal,
            Dialect::V2 => true,
            // zarr-python 2 and GDAL read drafts; of these only GDAL is asked here.
            _ => self == Gdal,
        }
    }
}

impl std::str::FromStr for Reader {
    type Err = String;

    /// The reader of a name.
    ///
    /// # Errors
    /// If there is none of the name.
    fn from_str(name: &str) -> Result<Reader, String> {
        Reader::ALL.into_iter().find(|reader| reader.name() == name).ok_or_else(|| {
            let names = Reader::ALL.map(Reader::name).join(", ");
            format!("unknown reader `{name}`; expected one of {names}")
        })
    }
}

/// Codecs that are tried, in the words of `zarr copy --codec`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CodecCandidate {
    pub texts: Vec<String>,
    /// Bits of the mantissa that are kept, if that loses some.
    pub keepbits: Option<u32>,
    readers: &'static [Reader],
}

const EVERYONE: &[Reader] = &[ZarrPython, Tensorstore, Zarrs, Zarrita, Gdal];
/// Of `numcodecs.lz4`.
const OF_LZ4: &[Reader] = &[ZarrPython, Zarrita, Gdal];
/// Of `numcodecs.shuffle`.
const OF_SHUFFLE: &[Reader] = &[ZarrPython, Zarrs];
/// Of numcodecs' other codecs.
const OF_NUMCODECS: &[Reader] = &[ZarrPython];
/// Of shards whose index is at the end.
const OF_SHARDS: &[Reader] = &[ZarrPython, Tensorstore, Zarrs, Zarrita];

/// What is known of the elements, beside their type.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ElementsKind {
    /// Labels of an image, or flags: numbers that are names.
    pub is_labels: bool,
    /// A single axis of integers that grow or fall all along.
    pub is_sorted: bool,
}

impl CodecCandidate {
    fn new(texts: &[&str], readers: &'static [Reader]) -> CodecCandidate {
        let texts = texts.iter().map(|&text| text.to_owned()).collect();
        CodecCandidate { texts, keepbits: None, readers }
    }

    /// The same codecs behind one that rounds the mantissa to `keepbits` bits.
    pub fn rounded(&self, keepbits: u32) -> CodecCandidate {
        let mut texts = vec![whole("numcodecs.bitround", Object::new().with("keepbits", keepbits))];
        texts.extend(self.texts.iter().cloned());
        CodecCandidate { texts, keepbits: Some(keepbits), readers: OF_NUMCODECS }
    }

    /// Who reads these codecs in a dialect, with shards or without.
    pub fn readers(&self, dialect: Dialect, has_shards: bool) -> Vec<Reader> {
        self.readers
            .iter()
            .copied()
            .filter(|reader| {
                reader.reads_dialect(dialect) && (!has_shards || OF_SHARDS.contains(reader))
            })
            .collect()
    }
}

/// A codec as a document has it, in the words of `--codec`.
fn whole(name: &str, configuration: Object) -> String {
    Json::from(Object::new().with("name", name).with("configuration", configuration)).to_string()
}

/// The codecs that are tried for elements of a type. The first is what compresses well enough for everybody.
pub(super) fn candidates(
    data_type: &DataType,
    kind: ElementsKind,
    dialect: Dialect,
) -> Vec<CodecCandidate> {
    let mut found = match dialect {
        // Drafts know no filters, and have names for few codecs.
        Dialect::Draft => {
            vec![everyone("gzip:5"), everyone("zstd:3"), everyone("blosc-zstd-shuffle:5")]
        }
        _ => vec![everyone("zstd:3"), everyone("zstd:1"), everyone("zstd:9")],
    };
    if dialect == Dialect::Draft {
        return found;
    }
    let element = data_type.repr().map_or(1, |repr| repr.size());
    match data_type.scalar() {
        _ if data_type.is_variable() || kind.is_labels => found.push(everyone("gzip:5")),
        Some(Scalar::Bool) => {
            found.push(everyone("gzip:5"));
            let packbits = whole("numcodecs.packbits", Object::new());
            found.push(CodecCandidate::new(&[&packbits], OF_NUMCODECS));
            found.push(CodecCandidate::new(&[&packbits, "zstd:3"], OF_NUMCODECS));
        }
        Some(Scalar::Int(_) | Scalar::Uint(_) | Scalar::Time(_)) if element == 1 => {
            found.push(everyone("gzip:5"));
            found.push(everyone("blosc-zstd-bitshuffle:3"));
            found.push(CodecCandidate::new(&["lz4"], OF_LZ4));
        }
        Some(Scalar::Int(_) | Scalar::Uint(_) | Scalar::Time(_) | Scalar::Float(_)) => {
            found.push(everyone("blosc-zstd-shuffle:3"));
            found.push(everyone("blosc-zstd-shuffle:7"));
            found.push(everyone("blosc-zstd-bitshuffle:3"));
            found.push(everyone("blosc-lz4-shuffle:5"));
            found.push(CodecCandidate::new(&["shuffle", "zstd:3"], OF_SHUFFLE));
            found.push(CodecCandidate::new(&["lz4"], OF_LZ4));
            found.push(CodecCandidate::new(&["pcodec"], OF_NUMCODECS));
            if kind.is_sorted
                && let Some(dtype) = numpy_integer(data_type)
            {
                let delta = whole("numcodecs.delta", Object::new().with("dtype", dtype));
                found.push(CodecCandidate::new(&[&delta, "zstd:3"], OF_NUMCODECS));
            }
        }
        // Complex numbers, records, texts of fixed length.
        _ => {
            found.push(everyone("gzip:5"));
            found.push(everyone("blosc-zstd-shuffle:3"));
            found.push(everyone("blosc-lz4-shuffle:5"));
        }
    }
    found
}

/// A codec that every implementation has.
fn everyone(text: &str) -> CodecCandidate {
    CodecCandidate::new(&[text], EVERYONE)
}

/// NumPy's name of a type of integers, as the codec `delta` takes it.
fn numpy_integer(data_type: &DataType) -> Option<String> {
    match data_type.scalar()? {
        Scalar::Int(bits @ (16 | 32 | 64)) => Some(format!("<i{}", bits / 8)),
        Scalar::Uint(bits @ (16 | 32 | 64)) => Some(format!("<u{}", bits / 8)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zarr_core::CoreType;

    #[test]
    fn all_candidates_are_codecs_and_have_readers() {
        for core in [
            CoreType::Bool,
            CoreType::Uint8,
            CoreType::Int16,
            CoreType::Float32,
            CoreType::Complex64,
        ] {
            for dialect in [Dialect::V3, Dialect::V2, Dialect::Draft] {
                let kind = ElementsKind { is_labels: false, is_sorted: true };
                let found = candidates(&core.into(), kind, dialect);
                assert!(found.len() >= 3);
                for candidate in &found {
                    for text in &candidate.texts {
                        crate::codec(text).unwrap_or_else(|error| panic!("{text}: {error}"));
                    }
                    assert!(!candidate.texts.is_empty());
                }
                assert!(!found[0].readers(dialect, false).is_empty());
            }
        }
    }

    #[test]
    fn readers_depend_on_codec_dialect_and_shards() {
        let zstd = CodecCandidate::new(&["zstd:3"], EVERYONE);
        assert_eq!(zstd.readers(Dialect::V3, false), [ZarrPython, Tensorstore, Zarrs, Zarrita]);
        assert_eq!(zstd.readers(Dialect::V2, false).len(), 5);
        assert_eq!(zstd.rounded(7).readers(Dialect::V3, true), [ZarrPython]);
        assert_eq!(
            zstd.rounded(7).texts[0],
            r#"{"name":"numcodecs.bitround","configuration":{"keepbits":7}}"#
        );
        assert_eq!("gdal".parse(), Ok(Gdal));
        assert!("GDAL".parse::<Reader>().unwrap_err().contains("zarr-python, tensorstore"));
    }
}
