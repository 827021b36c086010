//! Finds which chunks of a copy can have elements, where the source has many chunks and few of them are stored.
//!
//! An array of 10¹² chunks of which three are stored is copied like one of three: the others are not even counted through.

use std::collections::BTreeSet;
use std::ops::Range;

use zarr_core::grid::{ChunkGrid, RegularGrid};
use zarr_core::store::{ListOptions, StorePrefix};
use zarr_core::{Array, MissingChunks, Result};

use super::memory::default_memory;

/// Of fewer chunks of the copy each is looked at.
pub(super) const MANY: u64 = 1 << 20;
/// Of fewer blocks that are only read each is looked at.
const MANY_BLOCKS: u64 = 1 << 6;
/// A key is listed for this many of them at least: an array that is full costs little more.
const BLOCKS_A_KEY: u64 = 16;
/// About what a key takes in a listing, and the number of a chunk in a set.
const KEY: u64 = 256;

/// The chunks of a copy.
pub(super) struct Chunks<'a> {
    pub grid: &'a dyn ChunkGrid,
    pub shape: &'a [u64],
    /// How many there are along each axis.
    pub counts: &'a [u64],
}

/// The numbers, in C order, of the blocks of an array in which a chunk may be stored; `None` as of [`touched`], and if a block has no elements.
pub(crate) fn touched_blocks(
    array: &Array,
    shape: &[u64],
    block: &[u64],
    memory: u64,
) -> Result<Option<BTreeSet<u64>>> {
    // NCZarr stores a scalar as an array of one element.
    let Ok(grid) = RegularGrid::new(block, shape) else { return Ok(None) };
    if array.rank() != shape.len() {
        return Ok(None);
    }
    let counts: Vec<u64> =
        shape.iter().zip(block).map(|(len, block)| len.div_ceil(*block)).collect();
    let blocks = Chunks { grid: &grid, shape, counts: &counts };
    let all = counts.iter().fold(1u64, |all, &count| all.saturating_mul(count));
    let memory = memory.min((all / BLOCKS_A_KEY).saturating_mul(8 * KEY));
    touched(array, &vec![0; shape.len()], &blocks, MANY_BLOCKS, Some(memory))
}

/// The numbers, in C order, of the copy's chunks to which a stored chunk of the source belongs. The copy is a box of the source that begins at
/// `start`. `None` if the copy has fewer chunks than `many`, if the source's are not listed, if their
/// keys would take an eighth of the memory, or if chunks that are not stored are errors.
pub(super) fn touched(
    from: &Array,
    start: &[u64],
    copy: &Chunks<'_>,
    many: u64,
    memory: Option<u64>,
) -> Result<Option<BTreeSet<u64>>> {
    // Then a chunk that is not listed must be asked for.
    if from.options().missing == MissingChunks::Error {
        return Ok(None);
    }
    let all = copy.counts.iter().try_fold(1u64, |all, &count| all.checked_mul(count));
    let metadata = from.metadata();
    let (Some(grid), None) = (&metadata.grid, &metadata.shards) else { return Ok(None) };
    let hierarchy = from.hierarchy();
    if all.is_some_and(|all| all < many) || !hierarchy.store().capabilities().list {
        return Ok(None);
    }
    let most =
        usize::try_from(memory.unwrap_or_else(default_memory) / 8 / KEY).unwrap_or(usize::MAX);
    let (store, mut found, mut listed) = (hierarchy.store().to_sync(), BTreeSet::new(), 0);
    let prefix = hierarchy.format().chunk_prefix(from.path())?;
    let mut folders: Vec<StorePrefix> = vec![prefix.clone()];
    while let Some(folder) = folders.pop() {
        let listing = store.list_dir(&folder, ListOptions::default())?;
        listed += listing.keys.len();
        for key in &listing.keys {
            let name = prefix.strip(key).unwrap_or_default();
            let Some(indices) = metadata.chunk_keys.parse(name, metadata.rank()) else { continue };
            let axes = indices.iter().enumerate().map(|(axis, &index)| {
                let first = grid.span(axis, 0).index;
                let ordinal = u64::try_from(index.checked_sub(first)?).ok()?;
                let is_inside = ordinal < grid.count(axis, metadata.shape[axis]);
                let span = is_inside.then(|| grid.span(axis, ordinal))?;
                let within = |at: u64| at.saturating_sub(start[axis]).min(copy.shape[axis]);
                let (from, to) = (within(span.start), within(span.start.saturating_add(span.len)));
                (from < to)
                    .then(|| copy.grid.locate(axis, from)..copy.grid.locate(axis, to - 1) + 1)
            });
            let Some(ordinals) = axes.collect::<Option<Vec<Range<u64>>>>() else { continue };
            let count = ordinals.iter().map(|range| range.end - range.start);
            let count = count.fold(1u64, u64::saturating_mul);
            if count > (most - found.len().min(most)) as u64 {
                return Ok(None);
            }
            let mut numbers = vec![0u64];
            for (range, count) in ordinals.iter().zip(copy.counts) {
                numbers = numbers
                    .into_iter()
                    .flat_map(|at| range.clone().map(move |n| at * count + n))
                    .collect();
            }
            found.extend(numbers);
        }
        folders.extend(listing.prefixes);
        if listed + folders.len() > most {
            return Ok(None);
        }
    }
    Ok(Some(found))
}

/// The numbers of a range that are in a set, as ranges.
pub(super) fn runs(set: &BTreeSet<u64>, range: Range<u64>) -> Vec<Range<u64>> {
    let mut runs: Vec<Range<u64>> = Vec::new();
    for &number in set.range(range) {
        match runs.last_mut() {
            Some(last) if last.end == number => last.end += 1,
            _ => runs.push(number..number + 1),
        }
    }
    runs
}
