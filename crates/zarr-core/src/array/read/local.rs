//! Chunks of a local store: the thread that decodes a segment reads it.

use std::sync::Arc;

use futures::future::{BoxFuture, ready};

use super::source::{ChunkSource, OpenChunk};
use crate::array::chunk_store::read_error;
use crate::error::{Result, StoreError};
use crate::options::Options;
use crate::store::{ByteRange, SnapshotOptions, Store, StoreKey, SyncSnapshot, SyncStore, Version};

/// The chunks of a store whose calls block.
pub(super) struct LocalSource<'a> {
    /// The store of which `blocking` is the other face.
    pub store: &'a dyn Store,
    pub blocking: &'a Arc<dyn SyncStore>,
    pub options: &'a Options,
}

impl ChunkSource for LocalSource<'_> {
    fn open<'a>(
        &'a self,
        key: &'a StoreKey,
        options: SnapshotOptions<'a>,
        _: bool,
    ) -> BoxFuture<'a, Result<Option<Box<dyn OpenChunk>>, StoreError>> {
        let opened = match self.blocking.open(key, options) {
            Ok(Some(value)) => Ok(Some(Box::new(LocalChunk(value)) as Box<dyn OpenChunk>)),
            Ok(None) => Ok(None),
            Err(e) => Err(e),
        };
        Box::pin(ready(opened))
    }

    fn store(&self) -> (&dyn Store, &Options) {
        (self.store, self.options)
    }

    fn is_unchanged<'a>(
        &'a self,
        key: &'a StoreKey,
        version: &'a Version,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(ready(self.blocking.is_unchanged(key, version)))
    }
}

/// A chunk whose bytes are read as they are decoded.
pub(super) struct LocalChunk(pub Box<dyn SyncSnapshot>);

impl OpenChunk for LocalChunk {
    fn size(&self) -> u64 {
        self.0.size()
    }

    fn version(&self) -> Option<Version> {
        self.0.version()
    }

    fn bytes<'b>(&'b self, range: ByteRange, buffer: &'b mut Vec<u8>) -> Result<Option<&'b [u8]>> {
        self.0.read_into(range, buffer).map_err(read_error)?;
        Ok(Some(buffer))
    }
}
