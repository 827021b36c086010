//! The store of one array's chunks, with the options of the calls that read or write them.
//!
//! The errors of what uses it name the chunk and the key; the array adds the store and the path.

use std::sync::Arc;

use super::chunk_cache::ChunkCache;
use super::layout::ChunkLayout;
use crate::codec::{budget, most_encoded};
use crate::context::StoreContext;
use crate::error::{AccessError, CodecError, Error, Result, StoreError};
use crate::grid::ChunkProjection;
use crate::options::Options;
use crate::path::NodePath;
use crate::runtime::may_block;
use crate::store::{Store, StoreKey, SyncStore};

/// Where the chunks of one array are stored.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChunkStore<'a> {
    pub context: &'a Arc<StoreContext>,
    pub path: &'a NodePath,
    pub options: &'a Options,
}

impl<'a> ChunkStore<'a> {
    /// The error, at this array.
    pub fn with_context(self, error: impl Into<Error>) -> Error {
        self.context.with_context(self.path, error)
    }

    pub fn store(self) -> &'a dyn Store {
        &*self.context.store
    }

    /// The store for threads that may block, if it is local and can be read.
    pub fn local(self) -> Option<&'a Arc<dyn SyncStore>> {
        self.context.store.as_sync().filter(|store| store.capabilities().read)
    }

    /// Whether the store is remote.
    pub fn is_remote(self) -> bool {
        self.context.store.as_sync().is_none()
    }

    /// Whether the calling thread reads chunks: the store is remote, or the thread may block.
    pub fn is_read_in_place(self) -> bool {
        self.is_remote() || may_block()
    }

    /// The cache of decoded chunks of the hierarchy, if it has one.
    pub fn cache(self) -> Option<&'a Arc<ChunkCache>> {
        self.context.chunk_cache.as_ref()
    }

    /// The store's writing side, if chunks of this array may be written.
    pub fn writeable(self, layout: &ChunkLayout) -> Result<&'a dyn Store> {
        let writeable = self.context.writeable()?;
        if layout.metadata().shards.is_some() {
            return Err(AccessError::Frozen(SHARED_OBJECTS.into()).into());
        }
        Ok(writeable)
    }
}

/// Why chunks are not written that share objects with others.
pub(super) const SHARED_OBJECTS: &str =
    "chunks in the draft's sharded objects are read-only; copy the array";

/// The error of one chunk, whose value has this key.
pub(super) fn chunk_error(
    projection: &ChunkProjection,
    key: &StoreKey,
    error: impl Into<Error>,
) -> Error {
    error.into().at_chunk(&projection.key_index).at_key(key)
}

/// The error of reading some bytes of a chunk. A range that leaves the chunk comes from a damaged index.
pub(super) fn read_error(error: StoreError) -> Error {
    match error {
        StoreError::Range { .. } => CodecError::corrupt("codecs", error).into(),
        other => other.into(),
    }
}

/// Decodes within the limit that the caller gave (docs/internals/design/limits.md).
pub(super) fn decode_limited<T>(options: &Options, decode: impl FnOnce() -> T) -> T {
    budget::limited(options.limits.decoded, decode)
}

/// Bytes that a stored chunk of `shape` may have; see [`most_encoded`]. Where the elements, or the shape, do not tell,
/// [`crate::Limits::decoded`] (docs/internals/design/limits.md).
pub(super) fn max_stored_bytes(
    layout: &ChunkLayout,
    options: &Options,
    shape: Option<&[u64]>,
) -> u64 {
    let metadata = layout.metadata();
    let size = match shape {
        Some(shape) if !metadata.data_type.is_variable() => {
            let element = layout.chunks().repr.size() as u64;
            let lengths = shape.iter().chain(metadata.shards.iter().flatten());
            Some(lengths.fold(element, |size, &len| size.saturating_mul(len)))
        }
        _ => None,
    };
    decode_limited(options, || most_encoded(size))
}

/// Refuses segments of a chunk that have more bytes than the limit: one may be larger than its elements, all of them
/// together may not.
pub(super) fn check_stored_bytes(
    layout: &ChunkLayout,
    options: &Options,
    projection: &ChunkProjection,
    sizes: impl Iterator<Item = u64>,
) -> Result<()> {
    let limit = max_stored_bytes(layout, options, Some(&projection.chunk_shape));
    let size = sizes.fold(0, u64::saturating_add);
    if size > limit {
        let why = format!(
            "its inner chunks are said to have {size} bytes, more than the limit of {limit}"
        );
        return Err(CodecError::corrupt("codecs", why).into());
    }
    Ok(())
}
