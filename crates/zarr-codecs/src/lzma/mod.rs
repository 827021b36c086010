//! How are bytes compressed as LZMA: an xz file, an older `.lzma` file, or a raw stream?
//!
//! As Python's `lzma` module does it, on which numcodecs' codec rests. An xz file may be several
//! streams one after another with padding in multiples of four zeros, as its specification allows;
//! nothing may follow the other two formats. A raw stream is decoded by the configuration's filters.

mod filter;

use std::borrow::Cow;
use std::io::Write;

use liblzma::bufread::XzDecoder;
use liblzma::stream::{CONCATENATED, Check, Error, Stream};
use liblzma::write::XzEncoder;
use zarr_core::codec::{BytesToBytes, ChunkContext, Codec, CodecSpec, DecodedSize, Parameters};
use zarr_core::{CodecError, Dialect, Json, MetadataError, Object};

use self::filter::{Filter, Options, chain, is_preset};
use crate::spelling::spelled;
use crate::stream::{no_rest, read_all, read_into};

const CODEC: &str = "lzma";

/// What a decoder may use before it has decoded anything: twice the dictionary of preset 9.
const MEMORY: u64 = 128 << 20;

/// About as many bytes as one byte can stand for: a match of 273 bytes takes a third of a bit.
const BEST_RATIO: u64 = 8192;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Xz,
    Alone,
    Raw,
}

/// The lzma codec.
#[derive(Clone, Debug)]
struct Lzma {
    format: Format,
    /// -1 is the format's own choice.
    check: i64,
    preset: Option<u32>,
    filters: Vec<Filter>,
    /// The filters as the document spells them.
    words: Json,
}

/// Makes the codec.
pub(crate) fn build(spec: &CodecSpec, _: &ChunkContext) -> Result<Codec, MetadataError> {
    let mut parameters = Parameters::new(spec);
    let format = match parameters.integer("format", 1..=3, Some(1))? {
        1 => Format::Xz,
        2 => Format::Alone,
        _ => Format::Raw,
    };
    let check = parameters.integer("check", -1..=10, Some(-1))?;
    if check_of(check).is_none() || (format != Format::Xz && check > 0) {
        let why = format!("{check} is not a check of this format");
        return Err(parameters.wrong("check", why));
    }
    let preset = parameters.integer("preset", -1..=u32::MAX.into(), Some(-1))?;
    let preset = u32::try_from(preset).ok();
    if preset.is_some_and(|p| !is_preset(p)) {
        return Err(parameters.wrong("preset", "is 0 to 9, or 2147483648 more"));
    }
    let words = parameters.get("filters").cloned().unwrap_or(Json::Null);
    let filters = match &words {
        Json::Null => Ok(Vec::new()),
        Json::Array(items) => items.iter().map(Filter::read).collect(),
        other => Err(format!("a list of objects is due, not {}", other.kind())),
    };
    let filters: Vec<Filter> = filters.map_err(|why| parameters.wrong("filters", why))?;
    let why = match (format, &filters[..]) {
        (Format::Raw, []) => Some("are missing, and a raw stream needs them"),
        (_, []) => None,
        _ if preset.is_some() => Some("cannot stand beside a `preset`"),
        (Format::Alone, [Filter::Lzma { second: false, .. }]) => None,
        (Format::Alone, _) => Some("are a single LZMA1 where `format` is 2"),
        // Chains that liblzma refuses are told now, not at the first chunk.
        _ => chain(&filters, 0)
            .and_then(|chain| Stream::new_raw_decoder(&chain))
            .err()
            .map(|_| "cannot be chained like this"),
    };
    if let Some(why) = why {
        return Err(parameters.wrong("filters", why));
    }
    parameters.finish()?;
    Ok(Codec::bytes_to_bytes(Lzma {
        format,
        check,
        preset,
        filters,
        words,
    }))
}

fn check_of(check: i64) -> Option<Check> {
    match check {
        0 => Some(Check::None),
        1 => Some(Check::Crc32),
        -1 | 4 => Some(Check::Crc64),
        10 => Some(Check::Sha256),
        _ => None,
    }
}

impl Lzma {
    fn encoder(&self, decoded: u64) -> Result<Stream, Error> {
        let options = Options::of_preset(self.preset.unwrap_or(6));
        let preset = [Filter::Lzma {
            second: true,
            options,
        }];
        let filters = match &self.filters[..] {
            [] => &preset[..],
            filters => filters,
        };
        let check = check_of(self.check).unwrap_or(Check::Crc64);
        match (self.format, filters) {
            (Format::Xz, _) => Stream::new_stream_encoder(&chain(filters, decoded)?, check),
            (Format::Alone, [Filter::Lzma { options, .. }]) => {
                Stream::new_lzma_encoder(&options.to_liblzma(decoded)?)
            }
            (Format::Alone, _) => Err(Error::Options),
            (Format::Raw, _) => Stream::new_raw_encoder(&chain(filters, decoded)?),
        }
    }

    /// A decoder whose dictionary is no larger than what can come out, beyond a fixed allowance.
    fn decoder(&self, encoded: &[u8], size: DecodedSize) -> Result<Stream, CodecError> {
        let most = (encoded.len() as u64).saturating_mul(BEST_RATIO);
        let most = size.limit().min(most);
        let memory = MEMORY.saturating_add(most);
        let stream = match self.format {
            Format::Xz => Stream::new_stream_decoder(memory, CONCATENATED),
            Format::Alone => Stream::new_lzma_decoder(memory),
            Format::Raw => {
                chain(&self.filters, most).and_then(|chain| Stream::new_raw_decoder(&chain))
            }
        };
        stream.map_err(|e| CodecError::corrupt(CODEC, e))
    }
}

impl BytesToBytes for Lzma {
    fn encode<'a>(&self, decoded: Cow<'a, [u8]>) -> Result<Cow<'a, [u8]>, CodecError> {
        let wrong = |e: &dyn std::fmt::Display| CodecError::Value {
            codec: CODEC,
            why: e.to_string(),
        };
        let stream = self.encoder(decoded.len() as u64).map_err(|e| wrong(&e))?;
        let mut writer = XzEncoder::new_stream(Vec::new(), stream);
        let written = writer.write_all(&decoded).and_then(|()| writer.finish());
        written.map(Cow::Owned).map_err(|e| wrong(&e))
    }

    fn decode<'a>(
        &self,
        encoded: Cow<'a, [u8]>,
        size: DecodedSize,
    ) -> Result<Cow<'a, [u8]>, CodecError> {
        let mut reader = XzDecoder::new_stream(&encoded[..], self.decoder(&encoded, size)?);
        let out = read_all(CODEC, &mut reader, size)?;
        no_rest(CODEC, reader.into_inner())?;
        Ok(Cow::Owned(out))
    }

    fn decode_into(&self, encoded: Cow<'_, [u8]>, out: &mut [u8]) -> Result<(), CodecError> {
        let size = DecodedSize::Exactly(out.len() as u64);
        let mut reader = XzDecoder::new_stream(&encoded[..], self.decoder(&encoded, size)?);
        read_into(CODEC, &mut reader, out)?;
        no_rest(CODEC, reader.into_inner())
    }

    fn spelling(&self, dialect: Dialect) -> Option<CodecSpec> {
        let format = match self.format {
            Format::Xz => 1u64,
            Format::Alone => 2,
            Format::Raw => 3,
        };
        let preset = self.preset.map_or(Json::Null, |p| Json::from(u64::from(p)));
        let configuration = Object::new()
            .with("format", format)
            .with("check", self.check)
            .with("preset", preset)
            .with("filters", self.words.clone());
        spelled(dialect, "numcodecs.lzma", "lzma", configuration)
    }
}
