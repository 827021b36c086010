//! Decodes what was fetched of one chunk.

use std::borrow::Cow;

use super::missing::decode_to_read;
use super::segments::SegmentReader;
use super::source::{OpenChunk, not_fetched};
use crate::array::chunk_store::chunk_error;
use crate::array::element_memory::for_overwrite;
use crate::array::layout::{ChunkLayout, FieldBytes};
use crate::codec::{ChunkIndex, PartialRead};
use crate::error::Result;
use crate::grid::ChunkProjection;
use crate::options::Options;
use crate::store::{ByteRange, StoreKey};
use crate::view::{View, ViewMut};

/// How the bytes of chunks become elements.
#[derive(Clone, Copy)]
pub(super) struct Decoding<'a> {
    pub layout: &'a ChunkLayout,
    pub options: &'a Options,
    /// The bytes of each element that are read.
    pub span: FieldBytes,
}

/// One version of one chunk, of which all bytes are at hand that a read needs, or are read as they are decoded.
pub(super) struct FetchedChunk {
    pub key: StoreKey,
    pub chunk: Box<dyn OpenChunk>,
    pub content: Content,
}

/// What of a chunk is decoded.
pub(super) enum Content {
    /// All of it: it is one segment, unless it has inner chunks.
    Whole,
    /// Segments, which are found by the index, if there is one.
    Segments(Option<ChunkIndex>),
}

impl Decoding<'_> {
    /// Decodes what was fetched of a chunk into `out`.
    pub fn decode(
        self,
        projection: &ChunkProjection,
        fetched: &FetchedChunk,
        buffer: &mut Vec<u8>,
        out: ViewMut<'_>,
    ) -> Result<()> {
        let Decoding { layout, .. } = self;
        let partial = layout.chunks().chain.partial(&projection.chunk_shape, &projection.within);
        let decoded = match (&fetched.content, partial) {
            (Content::Segments(index), Some(partial)) => {
                self.decode_segments(&partial, &*fetched.chunk, &fetched.key, index.clone(), out)
            }
            (Content::Segments(_), None) => Err(not_fetched().into()),
            (Content::Whole, Some(partial)) if partial.has_index() => {
                self.decode_segments(&partial, &*fetched.chunk, &fetched.key, None, out)
            }
            (Content::Whole, _) => self.with_records(out, |out| {
                fetched.chunk.read_segment(
                    ByteRange::ALL,
                    projection,
                    out,
                    buffer,
                    &mut |bytes, projection, out| self.decode_whole(projection, bytes, out),
                )
            }),
        };
        decoded.map_err(|e| chunk_error(projection, &fetched.key, e))
    }

    /// Decodes segments of a chunk. Its index is kept if it is read, under the version of the chunk.
    pub fn decode_segments(
        self,
        partial: &PartialRead<'_>,
        chunk: &dyn OpenChunk,
        key: &StoreKey,
        index: Option<ChunkIndex>,
        out: ViewMut<'_>,
    ) -> Result<()> {
        let Decoding { layout, options, .. } = self;
        let segments = SegmentReader { layout, options, chunk };
        self.with_records(out, |out| {
            segments.read(partial, index, |index| keep_index(layout, key, chunk, index), out)
        })
    }

    /// Decodes all bytes of a chunk into memory of whole elements.
    pub fn decode_whole(
        self,
        projection: &ChunkProjection,
        encoded: &[u8],
        out: ViewMut<'_>,
    ) -> Result<()> {
        let chain = &self.layout.chunks().chain;
        let shape = &projection.chunk_shape;
        let encoded = Cow::Borrowed(encoded);
        Ok(decode_to_read(self.options, || {
            chain.decode_into(encoded, shape, &projection.within, out)
        })?)
    }

    /// Has `read` read all bytes of each element; of one field of records it reads those into other memory, and copies the
    /// field.
    pub fn with_records(
        self,
        mut out: ViewMut<'_>,
        read: impl FnOnce(ViewMut<'_>) -> Result<()>,
    ) -> Result<()> {
        let span = self.span;
        if span.is_whole() {
            return read(out);
        }
        let shape = out.shape();
        let mut records = for_overwrite(&shape, span.element, "a chunk")?;
        read(ViewMut::new(&mut records, &shape, span.element))?;
        out.copy_from(&View::new(&records, &shape, span.element).span(span.offset, span.size));
        Ok(())
    }
}

/// Keeps the index of a chunk for later reads, if its version is known.
pub(super) fn keep_index(
    layout: &ChunkLayout,
    key: &StoreKey,
    chunk: &dyn OpenChunk,
    index: &ChunkIndex,
) {
    if let Some(version) = chunk.version() {
        layout.index_cache().put(key, version, index.clone());
    }
}
