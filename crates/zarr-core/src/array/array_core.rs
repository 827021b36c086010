//! Keeps what the handles of one array share.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::latest_state::LatestState;
use super::reading_order::ReadingOrder;
use super::state::{ArrayState, ChunkLayout};
use crate::codec::{budget, most_encoded};
use crate::context::StoreContext;
use crate::error::{AccessError, CodecError, Error, Result};
use crate::grid::ChunkProjection;
use crate::memory;
use crate::metadata::{ArrayMetadata, NodeKind};
use crate::options::Options;
use crate::path::NodePath;
use crate::primitives::Guard;
use crate::region::{byte_count, element_count};
use crate::store::{Store, StoreKey, SyncStore};

/// An array of a hierarchy. Cores of one array with different options share its state.
#[derive(Debug)]
pub(crate) struct ArrayCore {
    pub context: Arc<StoreContext>,
    pub path: NodePath,
    /// How the chunks are read and written. Documents are read and written with the options of the context.
    pub options: Options,
    latest: Arc<LatestState>,
    pub(super) order: Arc<ReadingOrder>,
    /// Whether the store is known to have had the array's document.
    pub(super) was_stored: Arc<AtomicBool>,
}

/// Who says what an array is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetadataOrigin {
    /// Its document, or a copy of that, was read from the store or written there.
    Store,
    /// The caller, and the store may have no document of it.
    Caller,
}

impl ArrayCore {
    pub fn new(
        context: Arc<StoreContext>,
        path: NodePath,
        metadata: ArrayMetadata,
        origin: MetadataOrigin,
    ) -> Result<ArrayCore> {
        let state = ArrayState::new(&context, &path, metadata)
            .map_err(|e| context.with_context(&path, e))?;
        let options = context.options.clone();
        let latest = Arc::new(LatestState::new(state));
        let was_stored = Arc::new(AtomicBool::new(origin == MetadataOrigin::Store));
        Ok(ArrayCore { context, path, options, latest, order: Arc::default(), was_stored })
    }

    /// The same array with other options.
    pub fn with_options(&self, change: impl FnOnce(&mut Options)) -> ArrayCore {
        let mut options = self.options.clone();
        change(&mut options);
        let (context, path) = (self.context.clone(), self.path.clone());
        let (latest, order) = (self.latest.clone(), self.order.clone());
        let was_stored = self.was_stored.clone();
        ArrayCore { context, path, options, latest, order, was_stored }
    }

    pub fn state(&self) -> Arc<ArrayState> {
        Guard::into_inner(self.latest.get())
    }

    /// The latest layout of the array, if its chunks can be read and written here.
    pub fn layout(&self) -> Result<ChunkLayout> {
        ChunkLayout::new(self.latest.get()).map_err(|e| self.at(e))
    }

    /// Puts `state` in place of `before`, if no other state has replaced that. The document of `state` must have been read
    /// or swapped while `before` was the latest state.
    pub fn replace_state(&self, before: &Arc<ArrayState>, state: &Arc<ArrayState>) -> bool {
        self.latest.replace(before, state)
    }

    /// The state of the array that a document describes.
    pub fn state_of(&self, metadata: ArrayMetadata) -> Result<Arc<ArrayState>> {
        ArrayState::new(&self.context, &self.path, metadata).map(Arc::new).map_err(|e| self.at(e))
    }

    /// The store's writing side, if chunks of this array may be written.
    pub fn writeable(&self, state: &ArrayState) -> Result<&dyn Store> {
        let writeable = self.context.writeable().map_err(|e| self.at(e))?;
        match &state.metadata.shards {
            None => Ok(writeable),
            Some(_) => {
                let why = "chunks that share objects by the draft's storage transformer are read and not written; copy the array";
                Err(self.at(AccessError::Frozen(why.into())))
            }
        }
    }

    pub fn at(&self, error: impl Into<Error>) -> Error {
        self.context.with_context(&self.path, error)
    }

    /// The store for threads that may block, if it is local and can be read.
    pub fn local(&self) -> Option<&dyn SyncStore> {
        let store = self.context.store.as_sync()?;
        store.capabilities().read.then_some(&**store)
    }

    /// Whether the store is remote.
    pub fn is_remote(&self) -> bool {
        self.context.store.as_sync().is_none()
    }

    /// Bytes that a stored chunk of `shape` may have; see [`most_encoded`]. Where the elements, or the shape, do not
    /// tell, [`crate::Limits::decoded`] (docs/internals/design/limits.md).
    pub fn most_stored(&self, layout: &ChunkLayout, shape: Option<&[u64]>) -> u64 {
        let shape = shape.filter(|_| !layout.metadata.data_type.is_variable());
        let size = shape.map(|shape| {
            let count = shape.iter().chain(layout.metadata.shards.iter().flatten());
            count.fold(layout.chunks().repr.size() as u64, |size, &len| size.saturating_mul(len))
        });
        self.decoding(|| most_encoded(size))
    }

    /// Refuses segments of a chunk that have more bytes than the limit: one may be larger than its elements, all of them
    /// together may not.
    pub fn check_stored(
        &self,
        layout: &ChunkLayout,
        tile: &ChunkProjection,
        sizes: impl Iterator<Item = u64>,
    ) -> Result<()> {
        let most = self.most_stored(layout, Some(&tile.chunk_shape));
        let size = sizes.fold(0, u64::saturating_add);
        if size > most {
            let why = format!(
                "its inner chunks are said to have {size} bytes, more than the limit of {most}"
            );
            return Err(CodecError::corrupt("codecs", why).into());
        }
        Ok(())
    }

    /// Decodes within the limit that the caller gave (docs/internals/design/limits.md).
    pub fn decoding<T>(&self, decode: impl FnOnce() -> T) -> T {
        budget::limited(self.options.limits.decoded, decode)
    }

    pub fn at_chunk(
        &self,
        tile: &ChunkProjection,
        key: &StoreKey,
        error: impl Into<Error>,
    ) -> Error {
        self.at(error).at_chunk(&tile.key_index).at_key(key)
    }
}

pub(crate) fn wrong_kind(is: NodeKind) -> AccessError {
    let wanted = if is == NodeKind::Group { NodeKind::Array } else { NodeKind::Group };
    AccessError::NodeKind { is: is.phrase(), wanted: wanted.phrase() }
}

/// Zeroed memory for elements, or an error that says how much it would have been.
pub(crate) fn zeroed(shape: &[u64], element: usize, what: &'static str) -> Result<Vec<u8>> {
    bytes(shape, element, what, memory::zeroed)
}

/// The same, of any value: for elements that are all written before one of them is read.
pub(crate) fn unset(shape: &[u64], element: usize, what: &'static str) -> Result<Vec<u8>> {
    bytes(shape, element, what, memory::unset)
}

fn bytes(
    shape: &[u64],
    element: usize,
    what: &'static str,
    alloc: fn(usize) -> Option<Vec<u8>>,
) -> Result<Vec<u8>> {
    let alloc = |count| alloc(count * element);
    Ok(allocated(shape, element, alloc, (what, "read or write a smaller region"))?)
}

/// The memory that `alloc` gives for that number of elements.
pub(super) fn allocated<T>(
    shape: &[u64],
    element: usize,
    alloc: impl FnOnce(usize) -> Option<Vec<T>>,
    (what, hint): (&'static str, &'static str),
) -> Result<Vec<T>, AccessError> {
    let size = byte_count(shape, element);
    let fits = size.filter(|&size| isize::try_from(size).is_ok()).and(element_count(shape));
    let count = fits.and_then(|count| usize::try_from(count).ok());
    let too_large = AccessError::TooLarge { what, size: size.unwrap_or(u64::MAX), hint };
    count.and_then(alloc).ok_or(too_large)
}
