//! Encodes array and group documents as bytes, and decodes them (D-073, D-123, Q18).

use std::fmt::Debug;

use crate::json::{Json, Oddities};

/// The URI of the draft's core protocol, `U` of the specification.
pub(crate) const CORE: &str = "https://purl.org/zarr/spec/protocol/core/3.0";

/// A metadata encoding: JSON, which every dialect has, or one that a draft's `metadata_encoding` names
/// and an extension brings. The entry point `zarr.json` is JSON whatever this is.
///
/// Under another encoding the documents are what JSON would say, told otherwise (D-124).
pub trait MetadataEncoding: Debug + Send + Sync {
    /// The URI that `metadata_encoding` names it by.
    fn uri(&self) -> &str;

    /// What ends the keys of documents so encoded, such as `.json`.
    fn key_suffix(&self) -> &str;

    /// The document that `bytes` hold, and what a strict reader would refuse in it.
    ///
    /// # Errors
    /// A sentence, when they hold none. Bytes come from anywhere: nothing in them is trusted.
    fn decode(&self, bytes: &[u8]) -> Result<(Json, Oddities), String>;

    /// The bytes of a document.
    ///
    /// # Errors
    /// A sentence, when the encoding cannot hold it: a number must keep its value.
    fn encode(&self, document: &Json) -> Result<Vec<u8>, String>;
}

/// The encoding that every dialect has.
#[derive(Clone, Copy, Debug)]
pub struct JsonEncoding;

impl MetadataEncoding for JsonEncoding {
    fn uri(&self) -> &str {
        CORE
    }

    fn key_suffix(&self) -> &str {
        ".json"
    }

    fn decode(&self, bytes: &[u8]) -> Result<(Json, Oddities), String> {
        Json::parse_tolerant(bytes)
    }

    fn encode(&self, document: &Json) -> Result<Vec<u8>, String> {
        Ok(document.to_pretty().into_bytes())
    }
}
