//! Decides what a read does where a chunk, or an inner chunk of a shard, is not stored.

use super::storage_transformer::Shard;
use super::{ArrayCore, ChunkLayout, FieldBytes};
use crate::codec::missing::decoding_for;
use crate::error::{CodecError, Error, Result};
use crate::grid::ChunkProjection;
use crate::options::MissingChunks;
use crate::view::ViewMut;

impl ArrayCore {
    /// Fills the place of a chunk that is not stored.
    ///
    /// # Errors
    /// [`CodecError::MissingChunk`] if the caller asked for that.
    pub(super) fn fill_missing(
        &self,
        layout: &ChunkLayout,
        tile: &ChunkProjection,
        span: FieldBytes,
        mut out: ViewMut<'_>,
    ) -> Result<()> {
        self.check_missing(layout, &tile.key_index)?;
        out.fill(layout.fill_of(span));
        Ok(())
    }

    fn check_missing(&self, layout: &ChunkLayout, indices: &[i64]) -> Result<()> {
        if self.options.missing == MissingChunks::Fill {
            return Ok(());
        }
        let key = match &layout.metadata.shards {
            Some(per_shard) => layout.key(&Shard::of(indices, per_shard).indices),
            None => layout.key(indices),
        };
        let other_key = layout.other_key(indices).map(|key| key.to_string());
        let missing = CodecError::MissingChunk { inner_chunks: Vec::new(), other_key };
        Err(self.at(missing).at_chunk(indices).at_key(&key))
    }

    /// An error for an inner chunk that is not stored, if the caller asked for that.
    pub(super) fn check_missing_inner(&self, at: &ChunkProjection) -> Result<(), CodecError> {
        match self.options.missing {
            MissingChunks::Fill => Ok(()),
            MissingChunks::Error => Err(CodecError::missing_inner_chunk(&at.key_index)),
        }
    }

    /// As [`ArrayCore::decoding`], of a codec that may find inner chunks which are not stored.
    pub(super) fn decoding_to_read<T>(&self, decode: impl FnOnce() -> T) -> T {
        self.decoding(|| decoding_for(self.options.missing, decode))
    }

    /// The error of a read, or that of the array if a chunk is missing because the whole array is gone.
    pub(super) async fn missing_or_gone(&self, error: Error) -> Error {
        if !error.is_missing_chunk() {
            return error;
        }
        match self.check_not_gone().await {
            Ok(()) => error,
            Err(gone) => gone,
        }
    }
}
