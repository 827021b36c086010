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
    /// [`AccessError::Argument`] for a level that is no number, and for an object without a name.
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
    let argument = |why: String| Error::from(AccessError::Argument(why));
    if text.starts_with('{') {
        return whole(text).map_err(|why| argument(format!("codec `{text}`: {why}")));
    }
    let (name, level) = match text.rsplit_once(':') {
        None => (text, None),
        Some((name, level)) => match level.parse::<i64>() {
            Ok(level) => (name, Some(level)),
            // A colon of the URI that is the codec's name.
            Err(_) if text.contains("://") => (text, None),
            Err(_) => {
                let why = format!(
                    "codec `{text}`: invalid level `{level}`, expected a number as in `{name}:3`"
                );
                return Err(argument(why));
            }
        },
    };
    let name = name.strip_prefix("numcodecs.").unwrap_or(name);
    let or = |default: i64| Json::from(level.unwrap_or(default));
    let one = |member: &str, value: Json| Object::new().with(member, value);
    let spec = |name: &str, configuration: Object| Ok(CodecSpec::v3(name, configuration));
    match name {
        "gzip" => spec("gzip", one("level", or(5))),
        "zlib" => spec("numcodecs.zlib", one("level", or(5))),
        "bz2" => spec("numcodecs.bz2", one("level", or(9))),
        "zstd" => spec("zstd", one("level", or(3)).with("checksum", false)),
        "lz4" => spec("numcodecs.lz4", one("acceleration", or(1))),
        "lzma" => {
            spec("numcodecs.lzma", level.map_or_else(Object::new, |n| one("preset", Json::from(n))))
        }
        // Without a size it is that of the array's elements.
        "shuffle" => {
            let size = level.map_or_else(Object::new, |n| one("elementsize", Json::from(n)));
            spec("numcodecs.shuffle", size)
        }
        "pcodec" => spec("numcodecs.pcodec", one("level", or(8))),
        "crc32c" => spec("crc32c", Object::new()),
        name if name == "blosc" || name.starts_with("blosc-") => {
            let mut words = name.split('-').skip(1);
            let cname = words.next().unwrap_or("lz4");
            let shuffle = words.next().unwrap_or("shuffle");
            let configuration = Object::new()
                .with("cname", cname)
                .with("clevel", or(5))
                .with("shuffle", shuffle)
                .with("blocksize", 0u64);
            spec("blosc", configuration)
        }
        name => spec(name, level.map_or_else(Object::new, |n| one("level", Json::from(n)))),
    }
}

/// A codec as a document of final v3 has it.
fn whole(text: &str) -> Result<CodecSpec, String> {
    let json = Json::parse(text.as_bytes())?;
    let member = |name: &str| json.as_object().and_then(|object| object.get(name));
    let name = member("name").and_then(Json::as_str).ok_or("member `name`, a text, is missing")?;
    match member("configuration") {
        None => Ok(CodecSpec::v3(name, Object::new())),
        Some(Json::Object(configuration)) => Ok(CodecSpec::v3(name, configuration.clone())),
        Some(other) => Err(format!("`configuration` is an object, not {}", other.kind())),
    }
}
