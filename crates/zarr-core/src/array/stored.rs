//! Finds the chunks of an array that are stored.

use std::iter::repeat;
use std::ops::Range;

use super::state::ArrayState;
use crate::context::StoreContext;
use crate::error::{Error, Result, StoreError};
use crate::grid::ChunkGrid;
use crate::region::element_count;
use crate::store::StoreKey;

/// The most chunks that are looked for one by one where the store cannot list.
const MAX_PROBES: u64 = 1_000_000;
/// Up to this number of chunks, one request for each is cheaper than a listing of all.
const MAX_PROBES_BEFORE_LISTING: u64 = 4096;

/// A stored chunk.
pub(super) struct StoredChunk {
    key: StoreKey,
    grid_index: Vec<u64>,
    /// How many bytes it has, if the listing says it.
    size: Option<u64>,
}

/// What of an array is stored. See [`crate::Array::stored_size`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredSize {
    /// How many chunks, or shards, where the array has those.
    pub chunks: u64,
    /// How many bytes they have.
    pub bytes: u64,
}

/// How many chunks `stored` are, and in how many bytes: one request for each where the listing has no sizes.
pub(super) async fn size_of(context: &StoreContext, stored: &[StoredChunk]) -> Result<StoredSize> {
    let sizes = stored.iter().map(|chunk| async {
        match chunk.size {
            Some(size) => Ok(Some(size)),
            None => context.size(&chunk.key).await.map_err(|e| e.at_key(&chunk.key)),
        }
    });
    let sizes = context.join_bounded(sizes).await?;
    let bytes = sizes.iter().flatten().fold(0, |sum: u64, &size| sum.saturating_add(size));
    Ok(StoredSize { chunks: sizes.iter().flatten().count() as u64, bytes })
}

/// All stored chunks inside the grid of `shape`, by one listing.
pub(super) async fn stored_chunks(
    context: &StoreContext,
    state: &ArrayState,
    grid: &dyn ChunkGrid,
    shape: &[u64],
) -> Result<Vec<StoredChunk>> {
    let listing = context.list_sized(state.prefix()).await?;
    let has_sizes = listing.sizes.len() == listing.keys.len();
    let sizes = if has_sizes { listing.sizes } else { Vec::new() };
    let sizes = sizes.into_iter().map(Some).chain(repeat(None));
    let mut stored = Vec::new();
    for (key, size) in listing.keys.into_iter().zip(sizes) {
        if let Some(grid_index) = grid_index_of(state, grid, shape, &key) {
            stored.push(StoredChunk { key, grid_index, size });
        }
    }
    Ok(stored)
}

/// The place in the grid of the chunk with this key, if it is that of one.
fn grid_index_of(
    state: &ArrayState,
    grid: &dyn ChunkGrid,
    shape: &[u64],
    key: &StoreKey,
) -> Option<Vec<u64>> {
    let key = state.prefix().strip(key)?;
    let indices = state.metadata.chunk_keys.parse(key, shape.len())?;
    (0..shape.len()).map(|axis| ordinal_of(grid, axis, indices[axis], shape[axis])).collect()
}

/// The places of the chunks inside the grid of `shape` that may be stored and for which `is_selected` is true.
/// With `among`, only chunks of those ordinals on that axis can be. Where they are few, the store is not asked.
pub(super) async fn maybe_stored(
    context: &StoreContext,
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
        Some(n) if n <= MAX_PROBES_BEFORE_LISTING => all_of(ranges),
        _ if context.listable().is_ok() => {
            let stored = stored_chunks(context, state, grid, shape).await?;
            stored.into_iter().map(|chunk| chunk.grid_index).collect()
        }
        Some(n) if n <= MAX_PROBES => all_of(ranges),
        _ => {
            let error = StoreError::not_capable("find the chunks to forget", "listable");
            return Err(Error::from(error).with_hint("set `keep_cut_off` to leave them"));
        }
    };
    chunks.retain(|grid_index| is_selected(grid_index));
    Ok(chunks)
}

/// All chunks with ordinals in these ranges, in C order.
fn all_of(ranges: Vec<Range<u64>>) -> Vec<Vec<u64>> {
    let mut all = vec![Vec::new()];
    for range in ranges {
        let mut longer = Vec::new();
        for head in &all {
            for ordinal in range.clone() {
                longer.push([&head[..], &[ordinal]].concat());
            }
        }
        all = longer;
    }
    all
}

/// The ordinal of the chunk with this index. Indices count from the first chunk's.
fn ordinal_of(grid: &dyn ChunkGrid, axis: usize, index: i64, len: u64) -> Option<u64> {
    let first = grid.span(axis, 0).index;
    let ordinal = u64::try_from(index.checked_sub(first)?).ok()?;
    (ordinal < grid.count(axis, len).max(1)).then_some(ordinal)
}
