//! Applies a codec on flat bytes to arrays.
//!
//! Final v3 has some of v2's filters as codecs on arrays. They do to the native elements of a chunk, in C
//! order, what they do in v2 to its bytes (docs/internals/design/codecs.md); the codec after them sees what
//! [`BytesToBytes::encoded`] says.

use std::borrow::Cow;
use std::fmt::Debug;

use zarr_core::codec::{ArrayToArray, BytesToBytes, ChunkContext, Codec, CodecSpec, DecodedSize};
use zarr_core::view::{View, ViewMut};
use zarr_core::{CodecError, Dialect, MetadataError};

/// The codec that a dialect asks for: on bytes in v2 and the drafts, on arrays in final v3.
pub(crate) fn in_dialect(codec: impl Flat, dialect: Dialect) -> Codec {
    match dialect {
        Dialect::V3 => Codec::array_to_array(V3Adapter(codec)),
        _ => Codec::bytes_to_bytes(codec),
    }
}

/// A codec on bytes that knows the encoded size of any decoded size.
pub(crate) trait Flat: BytesToBytes + Debug + Sized + 'static {
    const CODEC: &'static str;
}

/// Such a codec, on arrays.
#[derive(Debug)]
struct V3Adapter<F>(F);

impl<F: Flat> ArrayToArray for V3Adapter<F> {
    fn encoded(&self, decoded: &ChunkContext) -> Result<ChunkContext, MetadataError> {
        Ok(self.0.encoded(decoded))
    }

    fn encode(&self, chunk: View<'_>) -> Result<Vec<u8>, CodecError> {
        self.0.encode(chunk.to_bytes()).map(Cow::into_owned)
    }

    fn decode(&self, encoded: &[u8], mut out: ViewMut<'_>) -> Result<(), CodecError> {
        let size = (out.len() * out.element_size()) as u64;
        if let Some(expected) = self.0.encoded_size(size)? {
            DecodedSize::Exactly(expected).check(F::CODEC, encoded.len() as u64)?;
        }
        if let Some(memory) = out.as_bytes_mut() {
            return self.0.decode_into(Cow::Borrowed(encoded), memory);
        }
        let decoded = self.0.decode(Cow::Borrowed(encoded), DecodedSize::Exactly(size))?;
        out.copy_from(&View::new(&decoded, &out.shape(), out.element_size()));
        Ok(())
    }

    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
        self.0.to_metadata(dialect)
    }
}
