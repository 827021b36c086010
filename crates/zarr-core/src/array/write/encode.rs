//! Encodes whole chunks.

use std::borrow::Cow;

use crate::array::element_memory::zeroed;
use crate::array::encode_threads::encode_threads;
use crate::array::layout::{ChunkLayout, FieldBytes};
use crate::codec::Threads;
use crate::error::Result;
use crate::grid::ChunkProjection;
use crate::options::Options;
use crate::view::{View, ViewMut};

/// A whole chunk, encoded; `None` if it need not be stored.
pub(super) fn encode_whole<'a>(
    options: &Options,
    layout: &ChunkLayout,
    projection: &ChunkProjection,
    part: &View<'a>,
) -> Result<Option<Cow<'a, [u8]>>> {
    if projection.within.is_all(&projection.chunk_shape) {
        if !is_stored(options, layout, part) {
            return Ok(None);
        }
        return encode(options, layout, part.clone()).map(Some);
    }
    // An edge chunk is stored whole; its overhang is fill (D-043, F-062, Z2-024).
    let padded = pad_edge_chunk(layout, projection, part, layout.span())?;
    let chunk = View::new(&padded, &projection.chunk_shape, layout.chunks().repr.size())
        .with_var_buffer(part.var_buffer());
    if !is_stored(options, layout, &chunk) {
        return Ok(None);
    }
    Ok(Some(Cow::Owned(encode(options, layout, chunk)?.into_owned())))
}

/// Whether a whole chunk is stored: one of nothing but fill need not be.
pub(super) fn is_stored(options: &Options, layout: &ChunkLayout, chunk: &View<'_>) -> bool {
    options.keep_fill_chunks || !layout.is_fill(chunk)
}

/// A chunk, encoded; on all threads, if it has parts that are independent of each other.
pub(super) fn encode<'a>(
    options: &Options,
    layout: &ChunkLayout,
    chunk: View<'a>,
) -> Result<Cow<'a, [u8]>> {
    let chain = &layout.chunks().chain;
    if chain.encode_in_parts(chunk.clone(), Threads::ONE).is_none() {
        return Ok(chain.encode(chunk)?);
    }
    let mut whole = Vec::new();
    let threads = encode_threads(options, chunk.size());
    for part in chain.encode_in_parts(chunk, threads).into_iter().flatten() {
        options.check_cancelled()?;
        whole.extend_from_slice(&part?);
    }
    Ok(whole.into())
}

/// A whole chunk of fill with `part` merged into it.
pub(super) fn pad_edge_chunk(
    layout: &ChunkLayout,
    projection: &ChunkProjection,
    part: &View<'_>,
    span: FieldBytes,
) -> Result<Vec<u8>> {
    let shape = &projection.chunk_shape;
    let size = span.element;
    let mut chunk = zeroed(shape, size, "a chunk")?;
    let mut view = ViewMut::new(&mut chunk, shape, size).with_var_buffer(part.var_buffer());
    if layout.fill().iter().any(|&b| b != 0) {
        view.fill(layout.fill());
    }
    view.span(span.offset, span.size).scatter(&projection.within, part);
    Ok(chunk)
}
