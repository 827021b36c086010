//! Compresses bytes as LZMA: an xz file, an older `.lzma` file, or a raw stream.
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
use zarr_core::codec::{
    BytesToBytes, ChunkContext, Codec, CodecResult, CodecSpec, DecodedSize, Parameters,
};
use zarr_core::{CodecError, Dialect, Json, MetadataError, Object};

use self::filter::{Filter, Options, chain, is_preset};
use crate::util::bounded_read::{no_rest, read_all, read_into};
use crate::util::metadata::in_every_dialect;

const CODEC: &str = "lzma";

/// What a decoder may use before it has decoded anything: twice the dictionary of preset 9.
const MAX_DECODER_BYTES: u64 = 128 << 20;

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
    /// The filters as the document writes them.
    configuration: Json,
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
        return Err(parameters.invalid("check", why));
    }
    let preset = parameters.integer("preset", -1..=u32::MAX.into(), Some(-1))?;
    let preset = u32::try_from(preset).ok();
    if preset.is_some_and(|p| !is_preset(p)) {
        return Err(parameters.invalid("preset", "is 0 to 9, or 2147483648 more"));
    }
    let configuration = parameters.get("filters").cloned().unwrap_or(Json::Null);
    let filters = match &configuration {
        Json::Null => Ok(Vec::new()),
        Json::Array(items) => items.iter().map(Filter::read).collect(),
        other => Err(format!("expected a list of objects, found {}", other.kind())),
    };
    let filters: Vec<Filter> = filters.map_err(|why| parameters.invalid("filters", why))?;
    let why = match (format, &filters[..]) {
        (Format::Raw, []) => Some("are missing, and a raw stream needs them"),
        (_, [_, ..]) if preset.is_some() => Some("cannot be combined with a `preset`"),
        _ => None,
    };
    if let Some(why) = why {
        return Err(parameters.invalid("filters", why));
    }
    let lzma = Lzma { format, check, preset, filters, configuration };
    // Chains that liblzma refuses are an error now, not at the first chunk.
    if !lzma.filters.is_empty() && lzma.encoder(0).is_err() {
        return Err(parameters.invalid("filters", "cannot be chained like this for this format"));
    }
    parameters.finish()?;
    Ok(Codec::bytes_to_bytes(lzma))
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
        let preset = [Filter::Lzma { second: true, options }];
        let filters = match &self.filters[..] {
            [] => &preset[..],
            filters => filters,
        };
        let check = check_of(self.check).unwrap_or(Check::Crc64);
        match (self.format, filters) {
            (Format::Xz, _) => Stream::new_stream_encoder(&chain(filters, decoded)?, check),
            (Format::Alone, [Filter::Lzma { second, options }])
                if !second || self.filters.is_empty() =>
            {
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
        let memory = MAX_DECODER_BYTES.saturating_add(most);
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
    fn encode<'a>(&self, decoded: Cow<'a, [u8]>) -> CodecResult<'a> {
        let wrong =
            |e: &dyn std::fmt::Display| CodecError::Value { codec: CODEC, why: e.to_string() };
        let stream = self.encoder(decoded.len() as u64).map_err(|e| wrong(&e))?;
        let mut writer = XzEncoder::new_stream(Vec::new(), stream);
        let written = writer.write_all(&decoded).and_then(|()| writer.finish());
        written.map(Cow::Owned).map_err(|e| wrong(&e))
    }

    fn decode<'a>(&self, encoded: Cow<'a, [u8]>, size: DecodedSize) -> CodecResult<'a> {
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

    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
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
            .with("filters", self.configuration.clone());
        in_every_dialect(dialect, "numcodecs.lzma", "lzma", configuration)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{
        behaves, build, decode, digest, encode, hex, metadata, noise, ramp, refusal,
    };

    const RAW: &str = r#"{"format":3,"filters":[{"id":3,"dist":4},{"id":33,"preset":6}]}"#;
    const RAW_1: &str = r#"{"format":3,"filters":[{"id":4611686018427387905,"dict_size":65536,"lc":3,
        "lp":0,"pb":2,"mode":1,"nice_len":64,"mf":20,"depth":0}]}"#;

    fn lzma(configuration: &str) -> std::sync::Arc<dyn BytesToBytes> {
        build(Dialect::V2, "lzma", configuration)
    }

    #[test]
    fn it_behaves() {
        behaves(&*lzma("{}"));
        behaves(&*lzma(r#"{"format":2,"preset":1}"#));
        behaves(&*lzma(RAW));
    }

    #[test]
    fn every_preset_check_and_filter_decodes() {
        let sparc = r#"{"filters":[{"id":9,"start_offset":16},{"id":33,"dict_size":4096,"mf":3}]}"#;
        let presets = (0..=9).map(|p| format!("{{\"preset\":{p}}}"));
        let checks = [0, 1, 4, 10].map(|c| format!("{{\"check\":{c}}}"));
        let branches = (4..=8).map(|id| format!("{{\"filters\":[{{\"id\":{id}}},{{\"id\":33}}]}}"));
        let others = [sparc.to_owned(), RAW_1.to_owned(), r#"{"preset":2147483657}"#.to_owned()];
        for configuration in presets.chain(checks).chain(branches).chain(others) {
            let codec = lzma(&configuration);
            for decoded in [noise(3000), ramp(3000)] {
                assert_eq!(decode(&*codec, &encode(&*codec, &decoded), 3000), decoded);
            }
        }
    }

    /// zarr-python 2.18 (draft-v3.md 3.1), GDAL 3.6.2 with its `delta`, Python 3.11's `lzma`.
    #[test]
    fn it_reads_what_others_wrote() {
        let numbers =
            "fd377a585a000004e6d6b4460200210116000000742fe5a3010007010002000300040000d96219db
            f49b934800012008bb19d9bb1fb6f37d010000000004595a";
        assert_eq!(decode(&*lzma("{}"), &hex(numbers), 8), hex("0100020003000400"));
        let gdal = "fd377a585a000000ff12d94103c1018b0180040301002101168a5332ade001ff00835d0022aebc184b32
            db5327df89b24a7979454769279453a4738a4ca4bcee1e73207c90d129f805b324af8ed50b354f9bcbdd8eb036bc
            29ef8c84cf817b8a6f14b499bb09b3f198d50e311c26f0c64fa859cbc7656f870ecb2196514d75a72ff6516f9959
            2d6a0ab4a207a858c8488a740b6a09b6ba8626c7487f6f4b83c61b42cb50b70000000000019b01800400000a05c4
            63a8000afc020000000000595a";
        let gdal = gdal.replace("03c1018b01", "03c18b01");
        let draft = build(Dialect::Draft, "lzma", r#"{"preset":6,"delta":1}"#);
        assert_eq!(digest(&decode(&*draft, &hex(&gdal), 512)), 0x90bd_840c_ece4_5dab);

        let decoded = [&(0..16).collect::<Vec<u8>>().repeat(4)[..], b"abc"].concat();
        let one = "00000052500a84f99bb28021a969d627e10423e21e2aa9ec4aa5ffff65e80000";
        let cases = [
            (RAW, "e0004200115d00000052500aa00a54557fe484feed20000000".to_owned()),
            (RAW_1, one.to_owned()),
            (r#"{"format":2}"#, format!("5d00008000ffffffffffffffff{one}")),
            (r#"{"format":2,"preset":9}"#, format!("5d00000004ffffffffffffffff{one}")),
            (
                r#"{"check":10,"preset":2147483657}"#,
                "fd377a585a00000ae1fb0ca1020021011c00000010cf58cce0004200195d00000052500a84f99bb28021a9
                 69d627e10423e21e2aa85abc20000000000f4463847ede8cdf3673d3f89fbc59b3c883e675671dc45853c8
                 92d3ff64a23400014d434994848a189b4b9a01000000000a595a"
                    .to_owned(),
            ),
            (
                "{}",
                "fd377a585a000000ff12d9410201040021010000da33ad03e0004200195d00000052500a84f99bb28021a9
                 69d627e10423e21e2aa85abc200000000000012d43eeff79ef06729e7a010000000000595a"
                    .to_owned(),
            ),
        ];
        for (configuration, encoded) in cases {
            assert_eq!(decode(&*lzma(configuration), &hex(&encoded), 67), decoded);
        }
    }

    /// The xz format: streams follow each other, with zeros in multiples of four between and after.
    #[test]
    fn streams_follow_each_other() {
        let codec = lzma("{}");
        let (one, two) = (encode(&*codec, b"abc"), encode(&*codec, b"defgh"));
        assert_eq!(decode(&*codec, &[&one[..], &two].concat(), 8), b"abcdefgh");
        assert_eq!(decode(&*codec, &[&one[..], &[0; 8], &two, &[0; 4]].concat(), 8), b"abcdefgh");
        let odd = [&one[..], &[0; 3]].concat();
        assert!(codec.decode(odd.into(), DecodedSize::Exactly(3)).is_err());
    }

    /// A dictionary of 4 GiB in a header is not made, megabytes of zeros are not decoded for nothing.
    #[test]
    fn bombs_do_not_go_off() {
        let huge = hex("5d ffffffff ffffffffffffffff 00000052500a84f99bb28021a969d627e10423e2");
        let size = DecodedSize::Exactly(1 << 40);
        assert!(lzma(r#"{"format":2}"#).decode(huge.into(), size).is_err());
        let bomb = encode(&*lzma("{}"), &vec![0; 1 << 24]);
        assert!(bomb.len() < 5000);
        for size in [DecodedSize::Exactly(64), DecodedSize::AtMost(64)] {
            assert!(lzma("{}").decode(Cow::Borrowed(&bomb), size).is_err());
        }
        assert_eq!(decode(&*lzma("{}"), &bomb, 1 << 24).len(), 1 << 24);
    }

    #[test]
    fn words_are_checked() {
        for configuration in [
            r#"{"format":0}"#,
            r#"{"format":4}"#,
            r#"{"check":2}"#,
            r#"{"check":4,"format":2}"#,
            r#"{"preset":10}"#,
            r#"{"preset":-2}"#,
            r#"{"format":3}"#,
            r#"{"format":3,"filters":[]}"#,
            r#"{"filters":{}}"#,
            r#"{"filters":[1]}"#,
            r#"{"filters":[{}]}"#,
            r#"{"filters":[{"id":99}]}"#,
            r#"{"filters":[{"id":33}],"preset":1}"#,
            r#"{"filters":[{"id":33},{"id":3}]}"#,
            r#"{"filters":[{"id":33,"lc":4,"lp":4}]}"#,
            r#"{"filters":[{"id":33,"dict_size":9999999999}]}"#,
            r#"{"filters":[{"id":3,"dist":0},{"id":33}]}"#,
            r#"{"filters":[{"id":3},{"id":3},{"id":3},{"id":3},{"id":33}]}"#,
            r#"{"format":2,"filters":[{"id":33}]}"#,
        ] {
            refusal(Dialect::V2, "lzma", configuration);
        }
    }

    #[test]
    fn all_four_members_are_spelled() {
        assert_eq!(
            metadata(&*lzma("{}")).map(Option::unwrap),
            [
                r#"numcodecs.lzma {"format":1,"check":-1,"preset":null,"filters":null}"#,
                r#"lzma {"format":1,"check":-1,"preset":null,"filters":null}"#,
                "https://purl.org/zarr/spec/codec/lzma/1.0 \
                 {\"format\":1,\"check\":-1,\"preset\":null,\"filters\":null}"
            ]
        );
        let raw = lzma(RAW).to_metadata(Dialect::V3).unwrap().to_string();
        assert!(raw.ends_with(r#""filters":[{"id":3,"dist":4},{"id":33,"preset":6}]}"#), "{raw}");
    }
}
