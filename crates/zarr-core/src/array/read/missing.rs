//! Decides what a read does where a chunk, or an inner chunk of a shard, is not stored.

use super::storage_transformer::Shard;
use crate::array::chunk_store::decode_limited;
use crate::array::layout::{ChunkLayout, FieldBytes};
use crate::codec::missing::decoding_for;
use crate::error::{CodecError, Error, Result};
use crate::grid::ChunkProjection;
use crate::options::{MissingChunks, Options};
use crate::view::ViewMut;

/// Fills the place of a chunk that is not stored.
///
/// # Errors
/// [`CodecError::MissingChunk`] if the caller asked for that.
pub(super) fn fill_missing(
    layout: &ChunkLayout,
    options: &Options,
    projection: &ChunkProjection,
    span: FieldBytes,
    mut out: ViewMut<'_>,
) -> Result<()> {
    if options.missing == MissingChunks::Error {
        return Err(missing_chunk(layout, &projection.key_index));
    }
    out.fill(layout.fill_of(span));
    Ok(())
}

fn missing_chunk(layout: &ChunkLayout, indices: &[i64]) -> Error {
    let key = match &layout.metadata().shards {
        Some(per_shard) => layout.key(&Shard::new(indices, per_shard).indices),
        None => layout.key(indices),
    };
    let other_key = layout.other_key(indices).map(|key| key.to_string());
    let missing = CodecError::MissingChunk { inner_chunks: Vec::new(), other_key };
    Error::from(missing).at_chunk(indices).at_key(&key)
}

/// An error for an inner chunk that is not stored, if the caller asked for that.
pub(super) fn check_missing_inner(
    options: &Options,
    projection: &ChunkProjection,
) -> Result<(), CodecError> {
    match options.missing {
        MissingChunks::Fill => Ok(()),
        MissingChunks::Error => Err(CodecError::missing_inner_chunk(&projection.key_index)),
    }
}

/// As [`decode_limited`], of a codec that may find inner chunks which are not stored.
pub(super) fn decode_to_read<T>(options: &Options, decode: impl FnOnce() -> T) -> T {
    decode_limited(options, || decoding_for(options.missing, decode))
}
