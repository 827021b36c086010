//! What the property tests share.

use zarr_core::codec::CodecSpec;
use zarr_core::{Dialect, Json, Registry};

/// Codecs on bytes that take any bytes, with some of their configurations.
pub const WORDS: [(&str, &str); 24] = [
    ("gzip", r#"{"level":1}"#),
    ("gzip", r#"{"level":9}"#),
    ("zlib", r#"{"level":5}"#),
    ("zstd", r#"{"level":1,"checksum":true}"#),
    ("zstd", r#"{"level":0,"checksum":false}"#),
    ("lz4", r#"{"acceleration":1}"#),
    ("bz2", r#"{"level":1}"#),
    ("lzma", r#"{"preset":1}"#),
    ("lzma", r#"{"format":2,"preset":0}"#),
    ("crc32c", "{}"),
    ("crc32", "{}"),
    ("crc32", r#"{"location":"end"}"#),
    ("adler32", "{}"),
    ("fletcher32", "{}"),
    ("jenkins_lookup3", "{}"),
    ("jenkins_lookup3", r#"{"initval":7,"prefix":[1,2,3]}"#),
    ("base64", "{}"),
    ("shuffle", r#"{"elementsize":4}"#),
    ("shuffle", r#"{"elementsize":3}"#),
    ("delta", r#"{"dtype":"|u1"}"#),
    ("blosc", r#"{"cname":"lz4","shuffle":1}"#),
    ("blosc", r#"{"cname":"blosclz","shuffle":2}"#),
    ("blosc", r#"{"cname":"zstd","shuffle":0}"#),
    ("blosc", r#"{"cname":"zlib","shuffle":-1}"#),
];

pub fn spec(dialect: Dialect, name: &str, configuration: &str) -> CodecSpec {
    match Json::parse(configuration.as_bytes()) {
        Ok(Json::Object(object)) => CodecSpec::new(dialect, name, object),
        other => panic!("{configuration}: {other:?}"),
    }
}

pub fn registry() -> Registry {
    Registry::new().with(zarr_codecs::register)
}
