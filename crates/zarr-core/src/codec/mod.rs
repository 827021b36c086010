//! Defines the codec traits: how a chunk becomes bytes, and bytes a chunk.
//!
//! A codec is a pure function on bytes: it never sees a store. Three kinds follow each other in a
//! [`CodecChain`]: array to array, array to bytes, bytes to bytes (F-070). v2 and the drafts know only the
//! last kind; their filters and compressor come after an implied `bytes` (docs/internals/design/codecs.md).

mod array_metadata;
mod blocks;
pub(crate) mod budget;
pub mod buffer_pool;
mod chain;
mod convert;
pub(crate) mod missing;
mod partial;
mod spec;
mod threads;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

pub use self::blocks::Blocks;
#[doc(hidden)]
pub use self::budget::limited;
pub use self::budget::most_encoded;
pub use self::chain::CodecChain;
pub use self::convert::{bytes_codec, convert_codecs, dropped_in_v3};
pub(crate) use self::convert::{order_codecs, reversing_codec, stored_endian};
pub use self::missing::check_missing_inner_chunk;
pub use self::partial::{
    ChunkIndex, EncodedParts, PartialDecoder, PartialEncoder, PartialRead, PartialWrite, Splice,
    SplicePart,
};
pub use self::spec::{CodecSpec, Names, Parameters};
pub use self::threads::Threads;

use crate::data_type::{DataType, FillValue};
use crate::dialect::Dialect;
use crate::error::{CodecError, MetadataError, Unsupported};
use crate::region::Region;
use crate::selection::ResolvedSelection;
use crate::view::{View, ViewMut};

/// Describes the chunks that a codec will see; given to the codec when it is built.
///
/// A codec on arrays sees native elements. One on bytes sees elements least significant byte first; those
/// in the other order are raw bytes to it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ChunkContext {
    /// The type of the chunk's elements at this place of the chain.
    pub data_type: DataType,
    /// The shape of a chunk at this place of the chain. Edge chunks of other grids may differ.
    pub shape: Vec<u64>,
    /// The bytes of the fill value, where the elements are still those of the array.
    pub fill: Option<FillValue>,
}

impl ChunkContext {
    /// Chunks of this type and shape, their fill value not known.
    pub fn new(data_type: impl Into<DataType>, shape: impl Into<Vec<u64>>) -> Self {
        ChunkContext { data_type: data_type.into(), shape: shape.into(), fill: None }
    }

    /// The same chunks, with this fill value.
    #[must_use]
    pub fn with_fill(mut self, fill: Option<FillValue>) -> Self {
        self.fill = fill;
        self
    }

    /// Bytes in an element.
    ///
    /// # Errors
    /// [`MetadataError::Unsupported`] when the data type is unknown here.
    pub fn element_size(&self) -> Result<usize, MetadataError> {
        self.data_type.repr().map(|r| r.size()).ok_or_else(|| {
            let name = self.data_type.to_string();
            Unsupported { what: "data type", name, hint: "register an extension for it".into() }
                .into()
        })
    }

    /// Axes of a chunk.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Bytes of a chunk; `None` if they cannot be counted.
    pub fn size(&self) -> Option<u64> {
        crate::region::byte_count(&self.shape, self.data_type.repr()?.size())
    }
}

/// How many bytes decoding may give. The caller always knows at least a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodedSize {
    /// Exactly `n` bytes; any other size means damage.
    Exactly(u64),
    /// At most `n` bytes.
    AtMost(u64),
}

impl DecodedSize {
    /// The most that may come out.
    pub fn limit(self) -> u64 {
        match self {
            DecodedSize::Exactly(n) | DecodedSize::AtMost(n) => n,
        }
    }

    /// The limit for decoding `encoded` bytes when nothing else is known: 1000 times as many, between
    /// 64 MiB and 2 GiB.
    pub fn unknown(encoded: usize) -> DecodedSize {
        DecodedSize::AtMost((encoded as u64).saturating_mul(1000).clamp(64 << 20, 2 << 30))
    }

    /// The limit of the first attempt when the size is unknown: 32 times as many bytes, and at least 1 MiB.
    pub(crate) fn few(encoded: usize) -> u64 {
        let few = (encoded as u64).saturating_mul(32).max(1 << 20);
        few.min(Self::unknown(encoded).limit())
    }

    /// Checks that decoding gave the expected number of bytes.
    ///
    /// # Errors
    /// [`CodecError::Length`] or [`CodecError::Limit`].
    pub fn check(self, codec: &'static str, found: u64) -> Result<(), CodecError> {
        match self {
            DecodedSize::Exactly(expected) if found != expected => {
                Err(CodecError::Length { codec, expected, found })
            }
            DecodedSize::AtMost(limit) if found > limit => Err(CodecError::Limit { codec, limit }),
            _ => Ok(()),
        }
    }
}

/// The bytes that a codec made of others, which may be those; or its error.
pub type CodecResult<'a> = Result<Cow<'a, [u8]>, CodecError>;

/// A codec from bytes to bytes.
pub trait BytesToBytes: fmt::Debug + Send + Sync {
    /// Encodes bytes. What need not change may stay borrowed.
    ///
    /// # Errors
    /// When these bytes cannot be encoded.
    fn encode<'a>(&self, decoded: Cow<'a, [u8]>) -> CodecResult<'a>;

    /// Decodes bytes into as many as `size` says, and never holds more than that and a buffer.
    ///
    /// # Errors
    /// [`CodecError::Corrupt`], [`CodecError::Length`], [`CodecError::Limit`].
    fn decode<'a>(&self, encoded: Cow<'a, [u8]>, size: DecodedSize) -> CodecResult<'a>;

    /// Decodes bytes straight into `out`, which they must fill exactly.
    ///
    /// # Errors
    /// As [`BytesToBytes::decode`].
    fn decode_into(&self, encoded: Cow<'_, [u8]>, out: &mut [u8]) -> Result<(), CodecError> {
        let decoded = self.decode(encoded, DecodedSize::Exactly(out.len() as u64))?;
        out.copy_from_slice(&decoded);
        Ok(())
    }

    /// The blocks of which `encoded` consists, if each can be decoded on its own, and all together have the expected size.
    fn blocks<'a>(&'a self, encoded: &'a [u8], size: DecodedSize) -> Option<Blocks<'a>> {
        let _ = (encoded, size);
        None
    }

    /// The first `needed` of the bytes that [`BytesToBytes::decode`] gives, if they can be decoded without those after them;
    /// behind them may be any others. `None` if that takes as long, a checksum of all bytes is to be checked, or these are damaged.
    fn decode_start(&self, encoded: &[u8], size: DecodedSize, needed: usize) -> Option<Vec<u8>> {
        let _ = (encoded, size, needed);
        None
    }

    /// How many zero bytes at the end of `encoded`, which decodes to `decoded` bytes if that is known, are none of what an
    /// encoder writes: [`BytesToBytes::decode`] passes over them.
    fn padding(&self, encoded: &[u8], decoded: Option<u64>) -> usize {
        let _ = (encoded, decoded);
        0
    }

    /// The encoded size of `decoded` bytes, if it does not depend on their values.
    ///
    /// # Errors
    /// [`CodecError::Length`] when `decoded` bytes cannot be encoded.
    fn encoded_size(&self, decoded: u64) -> Result<Option<u64>, CodecError> {
        let _ = decoded;
        Ok(None)
    }

    /// The most bytes that it encodes at once; `None` for as many as memory holds.
    fn most_decoded(&self) -> Option<u64> {
        None
    }

    /// Makes sure that this build encodes at all: there are codecs that are only decoded.
    ///
    /// # Errors
    /// [`CodecError::Value`] saying what to choose instead.
    fn check_encodes(&self) -> Result<(), CodecError> {
        Ok(())
    }

    /// What the next codec sees when this one sees `decoded`: the same, unless this one changes elements
    /// (Z2-060).
    fn encoded(&self, decoded: &ChunkContext) -> ChunkContext {
        decoded.clone()
    }

    /// The codec as metadata of a dialect; `None` if the dialect cannot represent it.
    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec>;
}

/// A codec from an array to bytes.
pub trait ArrayToBytes: fmt::Debug + Send + Sync {
    /// Encodes a chunk of native elements.
    ///
    /// # Errors
    /// When these elements cannot be encoded.
    fn encode<'a>(&self, chunk: View<'a>) -> CodecResult<'a>;

    /// What [`ArrayToBytes::encode`] gives, part after part, each made when it is asked for; `None` if all is
    /// made at once. `threads` may make several at the same time.
    fn encode_in_parts<'a>(
        &'a self,
        chunk: View<'a>,
        threads: Threads<'a>,
    ) -> Option<EncodedParts<'a>> {
        let _ = (chunk, threads);
        None
    }

    /// Decodes the part `within` of a chunk of `shape` elements into `out`, as native elements.
    ///
    /// `out` has the shape of `within`; it may have any strides.
    ///
    /// # Errors
    /// [`CodecError::Length`] if the chunk is not as long as its shape says.
    fn decode_into(
        &self,
        encoded: &[u8],
        shape: &[u64],
        within: &Region,
        out: ViewMut<'_>,
    ) -> Result<(), CodecError>;

    /// How the part `within` of an encoded chunk is read segment by segment; `None` if it takes all bytes at once.
    fn partial(
        &self,
        shape: &[u64],
        within: &ResolvedSelection,
    ) -> Option<Box<dyn PartialDecoder + '_>> {
        let _ = (shape, within);
        None
    }

    /// How elements are merged into the part `within` of an encoded chunk, where that takes less than decoding and
    /// encoding all of it; `None` if it does not. `is_stored` says whether there is a chunk: one that is not stored is
    /// all fill.
    fn edit(
        self: Arc<Self>,
        shape: &[u64],
        within: &ResolvedSelection,
        is_stored: bool,
    ) -> Option<Box<dyn PartialEncoder>> {
        let _ = (shape, within, is_stored);
        None
    }

    /// How many bytes a chunk of this shape has when encoded, if that does not depend on its elements.
    fn encoded_size(&self, shape: &[u64]) -> Option<u64> {
        let _ = shape;
        None
    }

    /// Makes sure that this build encodes at all: there are codecs that are only decoded.
    ///
    /// # Errors
    /// [`CodecError::Value`] saying what to choose instead.
    fn check_encodes(&self) -> Result<(), CodecError> {
        Ok(())
    }

    /// Whether encoded bytes are the native elements in C order, so that an earlier step may decode
    /// straight into the caller's memory.
    fn is_memory(&self) -> bool {
        false
    }

    /// The codec as metadata of a dialect; `None` if the dialect cannot represent it.
    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec>;
}

/// A codec from an array to an array.
pub trait ArrayToArray: fmt::Debug + Send + Sync {
    /// What the next codec sees when this one sees `decoded`.
    ///
    /// # Errors
    /// When such chunks cannot be encoded.
    fn encoded(&self, decoded: &ChunkContext) -> Result<ChunkContext, MetadataError>;

    /// If all the codec does is turn the axes: out axis `i` is in axis `order[i]`. Then neither
    /// [`ArrayToArray::encode`] nor [`ArrayToArray::decode`] is called.
    fn axis_order(&self) -> Option<&[usize]> {
        None
    }

    /// Encodes a chunk; the result is in C order, in the encoded type and shape.
    ///
    /// # Errors
    /// When these elements cannot be encoded.
    fn encode(&self, chunk: View<'_>) -> Result<Vec<u8>, CodecError>;

    /// Decodes a whole chunk, `encoded` in C order, into `out`.
    ///
    /// # Errors
    /// When these elements cannot be decoded.
    fn decode(&self, encoded: &[u8], out: ViewMut<'_>) -> Result<(), CodecError>;

    /// The codec as metadata of a dialect; `None` if the dialect cannot represent it.
    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec>;
}

/// A codec of any of the three kinds.
#[derive(Clone, Debug)]
pub enum Codec {
    /// From an array to an array.
    ArrayToArray(Arc<dyn ArrayToArray>),
    /// From an array to bytes.
    ArrayToBytes(Arc<dyn ArrayToBytes>),
    /// From bytes to bytes.
    BytesToBytes(Arc<dyn BytesToBytes>),
}

impl Codec {
    /// A codec from bytes to bytes.
    pub fn bytes_to_bytes(codec: impl BytesToBytes + 'static) -> Codec {
        Codec::BytesToBytes(Arc::new(codec))
    }

    /// A codec from an array to bytes.
    pub fn array_to_bytes(codec: impl ArrayToBytes + 'static) -> Codec {
        Codec::ArrayToBytes(Arc::new(codec))
    }

    /// A codec from an array to an array.
    pub fn array_to_array(codec: impl ArrayToArray + 'static) -> Codec {
        Codec::ArrayToArray(Arc::new(codec))
    }

    /// The codec as metadata of a dialect; `None` if the dialect cannot represent it.
    pub fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
        match self {
            Codec::ArrayToArray(codec) => codec.to_metadata(dialect),
            Codec::ArrayToBytes(codec) => codec.to_metadata(dialect),
            Codec::BytesToBytes(codec) => codec.to_metadata(dialect),
        }
    }
}
