//! Keeps what the handles of one array share.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::chunk_access::ChunkAccess;
use super::chunk_store::{ChunkStore, SHARED_OBJECTS};
use super::latest_state::LatestState;
use super::layout::ChunkLayout;
use super::read::ReadingOrder;
use super::read_call::ReadCall;
use super::stale_handle::check_not_gone;
use super::state::ArrayState;
use super::stored::{self, StoredChunk, StoredSize};
use crate::context::StoreContext;
use crate::error::{AccessError, Error, Result};
use crate::format::DocumentMember;
use crate::grid::{Pieces, cut_along_borders};
use crate::metadata::ArrayMetadata;
use crate::options::Options;
use crate::path::NodePath;
use crate::primitives::Guard;
use crate::region::Region;
use crate::selection::{Resolved, Selection};
use crate::store::Store;

/// An array of a hierarchy. Cores of one array with different options share its state.
#[derive(Debug)]
pub(crate) struct ArrayCore {
    pub context: Arc<StoreContext>,
    pub path: NodePath,
    /// How the chunks are read and written. Documents are read and written with the options of the context.
    pub options: Options,
    latest: Arc<LatestState>,
    order: Arc<ReadingOrder>,
    /// Whether the store is known to have had the array's document.
    was_stored: Arc<AtomicBool>,
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
        let context = self.context.clone();
        let path = self.path.clone();
        let latest = self.latest.clone();
        let order = self.order.clone();
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
            Some(_) => Err(self.at(AccessError::Frozen(SHARED_OBJECTS.into()))),
        }
    }

    /// The error, at this array.
    pub fn at(&self, error: impl Into<Error>) -> Error {
        self.chunk_store().with_context(error)
    }

    /// Where its chunks are stored.
    pub(super) fn chunk_store(&self) -> ChunkStore<'_> {
        ChunkStore { context: &self.context, path: &self.path, options: &self.options }
    }

    /// What a call needs that reads.
    pub(super) fn read_call(&self) -> ReadCall<'_> {
        ReadCall { store: self.chunk_store(), order: &self.order, was_stored: &self.was_stored }
    }

    /// How many chunks of the array are stored, by one listing.
    pub async fn stored_chunks(&self) -> Result<u64> {
        let stored = self.list_stored().await.map_err(|e| self.at(e))?;
        Ok(stored.len() as u64)
    }

    /// How many chunks of the array are stored, and in how many bytes: by one listing, and one request for each where the listing
    /// has no sizes.
    pub async fn stored_size(&self) -> Result<StoredSize> {
        let stored = self.list_stored().await.map_err(|e| self.at(e))?;
        stored::size_of(&self.context, &stored).await.map_err(|e| self.at(e))
    }

    async fn list_stored(&self) -> Result<Vec<StoredChunk>> {
        self.context.listable()?;
        let state = self.state();
        let grid = &state.supported()?.grid;
        let shape = &state.metadata.shape;
        let stored = stored::stored_chunks(&self.context, &state, &**grid, shape).await?;
        if stored.is_empty() {
            check_not_gone(self.chunk_store(), &self.was_stored).await?;
        }
        Ok(stored)
    }

    /// The latest layout of the array, and what is selected of it.
    pub fn prepare(&self, selection: impl Into<Selection>) -> Result<(ChunkLayout, Resolved)> {
        let layout = self.layout()?;
        let selected = selection.into().of(layout.metadata()).map_err(|e| self.at(e))?;
        Ok((layout, selected))
    }

    /// See [`Array::pieces`](crate::Array::pieces).
    pub fn pieces(&self, selection: impl Into<Selection>, max_bytes: u64) -> Result<Pieces> {
        Pieces::of(selection.into(), &self.state().metadata, max_bytes).map_err(|e| self.at(e))
    }

    /// Cuts `region` along chunk borders into at most `parts` regions.
    pub fn write_plan(&self, region: impl Into<Selection>, parts: usize) -> Result<Vec<Region>> {
        let (layout, selected) = self.prepare(region)?;
        let grid = &layout.chunks().grid;
        let Some(region) = selected.part.as_region().cloned() else {
            let why = "a plan is made of a region, one range of step 1 for each axis";
            return Err(self.at(AccessError::Argument(why.into())));
        };
        Ok(cut_along_borders(&**grid, &region, parts))
    }

    /// The chunk with these indices, as its key names them.
    pub fn chunk<'a>(&'a self, layout: &'a ChunkLayout, indices: &'a [i64]) -> ChunkAccess<'a> {
        let was_stored = &*self.was_stored;
        ChunkAccess { store: self.chunk_store(), was_stored, layout, indices }
    }

    /// Where the document is that has the array's shape, as a whole.
    pub fn document(&self) -> Result<DocumentMember> {
        let place = self.context.format.shape_member(&self.path).map_err(|e| self.at(e))?;
        Ok(DocumentMember { member: None, ..place })
    }
}
