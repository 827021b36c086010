//! Parses the short text by which people name a codec.

use std::str::FromStr;

use crate::codec::CodecSpec;
use crate::error::{AccessError, Error};
use crate::json::{Json, Object};

impl FromStr for CodecSpec {
    type Err = Error;

    /// The codec that `NAME` or `NAME:LEVEL` means, with the defaults that people expect.
    ///
    /// Names are final v3's, with or without `numcodecs.`: `gzip`, `zstd:3`, `blosc` (lz4, byte shuffle),
    /// `blosc-zstd:5`, `lz4`, `bz2`, `lzma`, `zlib`, `crc32c`, `shuffle:4`, `pcodec`. `blosc-CNAME-SHUFFLE:LEVEL` says
    /// the inner codec and one of `noshuffle`, `shuffle`, `bitshuffle`. Any other name, a URI too, is taken as it
    /// is, a level as its `level`. For other parameters, write what a v3 document has:
    /// `{"name": NAME, "configuration": {…}}`.
    ///
    /// # Errors
    /// [`AccessError::Argument`] for a level that is no number, for other parameters after the name, and for an object without a name.
    ///
    /// ```
    /// use zarr_core::codec::CodecSpec;
    ///
    /// let codec: CodecSpec = "zstd:3".parse()?;
    /// assert_eq!(codec.to_string(), r#"zstd {"level":3,"checksum":false}"#);
    /// # Ok::<(), zarr_core::Error>(())
    /// ```
    fn from_str(text: &str) -> Result<CodecSpec, Error> {
        parse(text)
    }
}

impl TryFrom<&str> for CodecSpec {
    type Error = Error;

    fn try_from(text: &str) -> Result<CodecSpec, Error> {
        parse(text)
    }
}

impl TryFrom<String> for CodecSpec {
    type Error = Error;

    fn try_from(text: String) -> Result<CodecSpec, Error> {
        parse(&text)
    }
}

impl TryFrom<&String> for CodecSpec {
    type Error = Error;

    fn try_from(text: &String) -> Result<CodecSpec, Error> {
        parse(text)
    }
}

impl From<&CodecSpec> for CodecSpec {
    fn from(spec: &CodecSpec) -> CodecSpec {
        spec.clone()
    }
}

fn parse(text: &str) -> Result<CodecSpec, Error> {
    let parsed = if text.starts_with('{') { whole(text) } else { named(text) };
    parsed.map_err(|why| AccessError::Argument(format!("codec `{text}`: {why}")).into())
}

/// A name, with a level after a colon or without.
fn named(text: &str) -> Result<CodecSpec, String> {
    if let Some(advice) = advice_on_parameters(text) {
        return Err(advice);
    }
    let (name, level) = match text.rsplit_once(':') {
        None => (text, None),
        Some((name, level)) => match level.parse::<i64>() {
            Ok(level) => (name, Some(level)),
            // A colon of the URI that is the codec's name.
            Err(_) if text.contains("://") => (text, None),
            Err(_) => {
                return Err(format!("invalid level `{level}`, expected a number as in `{name}:3`"));
            }
        },
    };
    Ok(with_level(name.strip_prefix("numcodecs.").unwrap_or(name), level))
}

/// Names that are certainly meant to be those of codecs.
const COMMON_NAMES: [&str; 7] = ["blosc", "bz2", "gzip", "lz4", "none", "zlib", "zstd"];

/// What to write for a text that has more than a level: `zstd=3`, `blosc:cname=zstd,clevel=5`, `transpose:1,0`.
fn advice_on_parameters(text: &str) -> Option<String> {
    if text.contains("://") {
        return None;
    }
    let at = text.find(['=', ',', ' '])?;
    let whole_name = text[..at].rsplit_once(':').map_or(&text[..at], |(name, _)| name);
    // What is before another colon is the name of an array, in a command that takes one there.
    let name = whole_name.rsplit(':').next().unwrap_or(whole_name);
    let parameters = text[whole_name.len()..].trim_start_matches([':', '=', ',', ' ']);
    if name.starts_with("blosc") {
        return Some(
            "the parameters of Blosc are written `blosc-CNAME-SHUFFLE:LEVEL`, as in `blosc-zstd-bitshuffle:5`".into(),
        );
    }
    let codec_of_array = parameters.split(':').next().unwrap_or_default();
    if text[at..].starts_with('=') && COMMON_NAMES.contains(&codec_of_array) {
        return Some(format!(
            "the codec of one array is written after a colon; did you mean `{name}:{parameters}`?"
        ));
    }
    let level = parameters.strip_prefix("level=").unwrap_or(parameters);
    if let Ok(level) = level.parse::<i64>() {
        return Some(format!("a level is written after a colon; did you mean `{name}:{level}`?"));
    }
    let configuration = if name == "transpose" {
        let axes: Result<Vec<u64>, _> = parameters
            .trim_matches(['[', ']'])
            .split(',')
            .map(|axis| axis.trim().parse())
            .collect();
        let axes = axes.unwrap_or_else(|_| vec![1, 0]);
        let axes: Vec<String> = axes.iter().map(u64::to_string).collect();
        format!("{{\"order\": [{}]}}", axes.join(","))
    } else {
        "{…}".into()
    };
    Some(format!(
        "parameters other than a level are written as JSON: {{\"name\": \"{name}\", \"configuration\": {configuration}}}"
    ))
}

/// The codec of this name. Without a level it has the one that is the default in numcodecs.
fn with_level(name: &str, level: Option<i64>) -> CodecSpec {
    let (name, member, default) = match name {
        "gzip" => ("gzip", "level", Some(5)),
        "zlib" => ("numcodecs.zlib", "level", Some(5)),
        "bz2" => ("numcodecs.bz2", "level", Some(9)),
        "zstd" => ("zstd", "level", Some(3)),
        "lz4" => ("numcodecs.lz4", "acceleration", Some(1)),
        "lzma" => ("numcodecs.lzma", "preset", None),
        // Without a size it is that of the array's elements.
        "shuffle" => ("numcodecs.shuffle", "elementsize", None),
        "pcodec" => ("numcodecs.pcodec", "level", Some(8)),
        "crc32c" => return CodecSpec::v3("crc32c", Object::new()),
        name if name == "blosc" || name.starts_with("blosc-") => return blosc(name, level),
        name => (name, "level", None),
    };
    let mut configuration = Object::new();
    if let Some(level) = level.or(default) {
        configuration.insert(member, level);
    }
    if name == "zstd" {
        configuration.insert("checksum", false);
    }
    CodecSpec::v3(name, configuration)
}

/// `blosc`, `blosc-zstd`, `blosc-zstd-bitshuffle`.
fn blosc(name: &str, level: Option<i64>) -> CodecSpec {
    let mut words = name.split('-').skip(1);
    let cname = words.next().unwrap_or("lz4");
    let shuffle = words.next().unwrap_or("shuffle");
    let configuration = Object::new()
        .with("cname", cname)
        .with("clevel", level.unwrap_or(5))
        .with("shuffle", shuffle)
        .with("blocksize", 0u64);
    CodecSpec::v3("blosc", configuration)
}

/// A codec as a document of final v3 has it.
fn whole(text: &str) -> Result<CodecSpec, String> {
    let json = Json::parse(text.as_bytes())?;
    let name =
        json.get("name").and_then(Json::as_str).ok_or("member `name`, a string, is missing")?;
    match json.get("configuration") {
        None => Ok(CodecSpec::v3(name, Object::new())),
        Some(Json::Object(configuration)) => Ok(CodecSpec::v3(name, configuration.clone())),
        Some(other) => {
            Err(format!("expected `configuration` to be an object, found {}", other.kind()))
        }
    }
}
