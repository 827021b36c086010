//! Finds the chunks of an array that are stored.

use std::iter::repeat;
use std::ops::Range;

use super::{ArrayCore, ArrayState};
use crate::error::{Result, StoreError};
use crate::grid::ChunkGrid;
use crate::region::element_count;
use crate::store::StoreKey;

/// The most chunks that are looked for one by one where the store cannot list.
const MOST_PROBES: u64 = 1_000_000;
/// Up to this number of chunks, one request for each is cheaper than a listing of all.
const FEW_PROBES: u64 = 4096;

/// A stored chunk: its key, its ordinals, and its size if the listing has it.
type Stored = (StoreKey, Vec<u64>, Option<u64>);

/// What of an array is stored. See [`crate::Array::stored_size`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredSize {
    /// How many chunks, or shards, where the array has those.
    pub chunks: u64,
    /// How many bytes they have.
    pub bytes: u64,
}

impl ArrayCore {
    /// How many chunks of the array are stored, by one listing.
    pub async fn stored_chunks(&self) -> Result<u64> {
        Ok(self.all_stored().await?.len() as u64)
    }

    /// How many chunks of the array are stored, and in how many bytes: by one listing, and one request for each where the listing
    /// has no sizes.
    pub async fn stored_size(&self) -> Result<StoredSize> {
        let stored = self.all_stored().await?;
        let sizes = stored.iter().map(|(key, _, size)| async {
            match size {
                Some(size) => Ok(Some(*size)),
                None => self.context.size(key).await.map_err(|e| self.at(e).at_key(key)),
            }
        });
        let sizes = self.context.join_bounded(sizes).await?;
        let bytes = sizes.iter().flatten().fold(0, |sum: u64, &size| sum.saturating_add(size));
        Ok(StoredSize { chunks: sizes.iter().flatten().count() as u64, bytes })
    }

    async fn all_stored(&self) -> Result<Vec<Stored>> {
        self.context.listable().map_err(|e| self.at(e))?;
        let state = self.state();
        let grid = &state.supported().map_err(|e| self.at(e))?.grid;
        let stored = self.stored(&state, &**grid, &state.metadata.shape).await?;
        if stored.is_empty() {
            self.check_not_gone().await?;
        }
        Ok(stored)
    }

    /// All stored chunks inside the grid of `shape`.
    async fn stored(
        &self,
        state: &ArrayState,
        grid: &dyn ChunkGrid,
        shape: &[u64],
    ) -> Result<Vec<Stored>> {
        let listing = self.context.list_sized(state.prefix()).await.map_err(|e| self.at(e))?;
        let ordinals = |key: &StoreKey| {
            let key = state.prefix().strip(key)?;
            let indices = state.metadata.chunk_keys.parse(key, shape.len())?;
            let ordinal = |axis: usize| ordinal_of(grid, axis, indices[axis], shape[axis]);
            (0..shape.len()).map(ordinal).collect::<Option<Vec<u64>>>()
        };
        let has_sizes = listing.sizes.len() == listing.keys.len();
        let sizes = listing.sizes.into_iter().filter(|_| has_sizes).map(Some).chain(repeat(None));
        let keys = listing.keys.into_iter().zip(sizes);
        Ok(keys.filter_map(|(key, size)| ordinals(&key).map(|found| (key, found, size))).collect())
    }

    /// The ordinals of the chunks inside the grid of `shape` that may be stored and for which `is_selected` is true.
    /// With `among`, only chunks of those ordinals on that axis can be. Where they are few, the store is not asked.
    pub async fn maybe_stored(
        &self,
        state: &ArrayState,
        grid: &dyn ChunkGrid,
        shape: &[u64],
        is_selected: impl Fn(&[u64]) -> bool,
        among: Option<(usize, Range<u64>)>,
    ) -> Result<Vec<Vec<u64>>> {
        let ranges: Vec<Range<u64>> = (0..shape.len())
            .map(|axis| match &among {
                Some((a, ordinals)) if *a == axis => ordinals.clone(),
                _ => 0..grid.count(axis, shape[axis]),
            })
            .collect();
        let candidates = element_count(&ranges.iter().map(|r| r.end - r.start).collect::<Vec<_>>());
        let mut chunks: Vec<Vec<u64>> = match candidates {
            Some(n) if n <= FEW_PROBES => all_of(ranges),
            _ if self.context.listable().is_ok() => {
                let stored = self.stored(state, grid, shape).await?;
                stored.into_iter().map(|(_, ordinals, _)| ordinals).collect()
            }
            Some(n) if n <= MOST_PROBES => all_of(ranges),
            _ => {
                let error = StoreError::not_capable("find the chunks to forget", "listable");
                return Err(self.at(error).with_hint("set `keep_cut_off` to leave them"));
            }
        };
        chunks.retain(|ordinals| is_selected(ordinals));
        Ok(chunks)
    }
}

/// All chunks with ordinals in these ranges, in C order.
fn all_of(ranges: Vec<Range<u64>>) -> Vec<Vec<u64>> {
    let mut all = vec![Vec::new()];
    for range in ranges {
        let longer = |head: Vec<u64>| {
            range.clone().map(move |ordinal| head.iter().copied().chain([ordinal]).collect())
        };
        all = all.into_iter().flat_map(longer).collect();
    }
    all
}

/// The ordinal of the chunk with this index. Indices count from the first chunk's.
fn ordinal_of(grid: &dyn ChunkGrid, axis: usize, index: i64, len: u64) -> Option<u64> {
    let first = grid.span(axis, 0).index;
    let ordinal = u64::try_from(index.checked_sub(first)?).ok()?;
    (ordinal < grid.count(axis, len).max(1)).then_some(ordinal)
}
