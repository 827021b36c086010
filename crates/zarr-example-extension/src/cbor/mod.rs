//! A metadata encoding: stores a draft's array and group documents as CBOR (RFC 8949).
//!
//! A hierarchy begins with `Draft::new().encoded(Arc::new(Cbor))` as its format. A document is the data
//! item that JSON would be: the same document always gives the same bytes, members in their order, every
//! length and number in its shortest form. Nothing changes its value: a number that is neither an integer
//! of 64 bits nor what a double holds is refused, and so are items that JSON cannot represent.

mod float;
mod read;
mod write;

use zarr_core::format::MetadataEncoding;
use zarr_core::{Json, Oddities};

/// The encoding's name.
pub const URI: &str = "https://example.org/zarr/metadata-encoding/cbor/1.0";

/// The deepest nesting a document may have, as in JSON.
const MAX_DEPTH: usize = 128;

/// Documents in CBOR.
#[derive(Clone, Copy, Debug)]
pub struct Cbor;

impl MetadataEncoding for Cbor {
    fn uri(&self) -> &str {
        URI
    }

    fn key_suffix(&self) -> &str {
        ".cbor"
    }

    fn decode(&self, bytes: &[u8]) -> Result<(Json, Oddities), String> {
        read::document(bytes).map_err(|why| format!("not a CBOR document: {why}"))
    }

    fn encode(&self, document: &Json) -> Result<Vec<u8>, String> {
        write::document(document).map_err(|why| format!("CBOR cannot hold {why}"))
    }
}

#[cfg(test)]
mod tests;
