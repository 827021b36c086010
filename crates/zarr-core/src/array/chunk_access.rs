//! One chunk of an array, as its handle sees it: its bytes as they are stored, its key, its end.

use std::sync::atomic::AtomicBool;

use bytes::Bytes;

use super::chunk_store::ChunkStore;
use super::layout::ChunkLayout;
use super::read::read_encoded;
use super::stale_handle::check_not_gone;
use super::write::{erase_chunk, write_key};
use crate::error::Result;
use crate::store::StoreKey;

/// One chunk of an array.
pub(crate) struct ChunkAccess<'a> {
    pub(super) store: ChunkStore<'a>,
    pub(super) was_stored: &'a AtomicBool,
    pub(super) layout: &'a ChunkLayout,
    /// Its indices, as its key names them.
    pub(super) indices: &'a [i64],
}

impl ChunkAccess<'_> {
    /// The bytes of the chunk as they are stored; `None` if it is not.
    pub async fn encoded(&self) -> Result<Option<Bytes>> {
        let read = read_encoded(self.store, self.layout, self.indices).await;
        let found = read.map_err(|e| self.store.with_context(e))?;
        if found.is_none() {
            let checked = check_not_gone(self.store, self.was_stored).await;
            checked.map_err(|e| self.store.with_context(e))?;
        }
        Ok(found)
    }

    /// The key at which the chunk, of this shape, is written.
    pub async fn key_to_write(&self, chunk_shape: &[u64]) -> Result<StoreKey> {
        let key = write_key(self.store, self.layout, self.indices, chunk_shape).await;
        key.map_err(|e| self.store.with_context(e))
    }

    /// Erases the chunk at both keys that it may have.
    pub async fn erase(&self) -> Result<()> {
        let erased = erase_chunk(self.store, self.layout, self.indices).await;
        erased.map_err(|e| self.store.with_context(e))
    }
}
