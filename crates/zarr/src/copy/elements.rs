//! Copies the elements of an array, and counts those that were never stored.

use std::sync::Arc;

use zarr_core::grid::ChunkGrid;
use zarr_core::metadata::ArrayMetadata;
use zarr_core::{Array, ErrorKind, Region, Result};

use super::{CopyOptions, Progress, report};

/// About how many bytes are held at once.
const BLOCK: u64 = 64 << 20;

/// How many bytes an element of variable length is taken to have.
const LONG: u64 = 256;

/// Copies all elements, in blocks of whole chunks of the copy. If it `leaves_holes`, chunks of nothing but the source's
/// fill value are not written.
pub(super) fn copy_elements(
    from: &Array,
    to: &Array,
    leaves_holes: bool,
    options: &CopyOptions<'_>,
    progress: &mut Progress,
) -> Result<()> {
    let metadata = to.metadata();
    let element = metadata.data_type.repr().map_or(1, |repr| repr.size() as u64);
    let Some(grid) = &metadata.grid else {
        return Ok(());
    };
    let guess = if metadata.data_type.is_variable() { LONG } else { element };
    let fill = from.metadata().fill_bytes();
    let at_once = if leaves_holes { 0 } else { BLOCK };
    for block in blocks(grid.clone(), metadata.shape.clone(), guess, at_once) {
        let bytes = from.read_bytes(&block)?;
        if !(leaves_holes && is_all(&fill, &bytes, &metadata)) {
            to.write_bytes(&block, &bytes)?;
        }
        // Of elements of variable length a total can only count the cells.
        progress.bytes_done += block.element_count().unwrap_or(u64::MAX).saturating_mul(element);
        report(options, progress);
    }
    Ok(())
}

/// Whether an array's bytes, as they are read, are nothing but this element.
fn is_all(element: &[u8], bytes: &[u8], metadata: &ArrayMetadata) -> bool {
    let length = (element.len() as u32).to_le_bytes();
    let element = match metadata.data_type.is_variable() {
        true => [&length, element].concat(),
        false => element.to_vec(),
    };
    element.is_empty() || bytes.chunks(element.len()).all(|one| one == element)
}

/// How many chunks of an array hold its fill value because they were never stored.
pub(super) struct Holes {
    /// How many; a lower bound, where there are many.
    pub count: u64,
    /// How many chunks it has.
    pub total: u64,
    /// Whether a copy may write them: at most a quarter of all, or a single one (decision 0136).
    pub few: bool,
}

/// Counts the chunks that were never stored: by one listing, if each has its own key and the store lists; else by
/// reading them until there are too many.
pub(super) fn holes(array: &Array) -> Result<Holes> {
    let metadata = array.metadata();
    let flat = ArrayMetadata::clone(&metadata).unsharded();
    let Some(grid) = &flat.grid else { return Ok(Holes { count: 0, total: 0, few: true }) };
    let count_of = |grid: &Arc<dyn ChunkGrid>| {
        let counts = (0..flat.rank()).map(|axis| grid.count(axis, flat.shape[axis]));
        counts.fold(1u64, |all, count| all.saturating_mul(count))
    };
    let total = count_of(grid);
    let are_few = |count: u64| count <= 1 || count <= total / 4;
    let is_flat = flat.codecs == metadata.codecs && metadata.shards.is_none();
    if is_flat {
        match array.stored_chunks() {
            Ok(stored) => {
                let count = total.saturating_sub(stored);
                return Ok(Holes { count, total, few: are_few(count) });
            }
            Err(e) if e.kind() == ErrorKind::NotCapable => {}
            Err(e) => return Err(e),
        }
    }
    let (mut count, fill) = (0, metadata.fill_bytes());
    for chunk in blocks(grid.clone(), flat.shape.clone(), 1, 0) {
        count += u64::from(is_all(&fill, &array.read_bytes(&chunk)?, &metadata));
        if !are_few(count) {
            break;
        }
    }
    Ok(Holes { count, total, few: are_few(count) })
}

/// Regions of whole chunks that cover an array, each of about `at_once` bytes but at least one chunk, made as they are
/// asked for.
fn blocks(
    grid: Arc<dyn ChunkGrid>,
    shape: Vec<u64>,
    element: u64,
    at_once: u64,
) -> impl Iterator<Item = Region> {
    let rank = shape.len();
    let counts: Vec<u64> = (0..rank).map(|axis| grid.count(axis, shape[axis])).collect();
    // How many chunks of each axis go into one block: all of the inner axes, as far as they fit.
    let mut steps = vec![1u64; rank];
    let mut size = (0..rank).fold(element, |n, axis| n.saturating_mul(grid.span(axis, 0).stored));
    for axis in (0..rank).rev() {
        steps[axis] = (at_once / size.max(1)).clamp(1, counts[axis].max(1));
        size = size.saturating_mul(steps[axis]);
        if steps[axis] < counts[axis] {
            break;
        }
    }
    let mut next = (!counts.contains(&0)).then(|| vec![0u64; rank]);
    std::iter::from_fn(move || {
        let first = next.take()?;
        let end = |axis: usize| first[axis].saturating_add(steps[axis]).min(counts[axis]);
        let region = Region::new((0..rank).map(|axis| {
            let last = grid.span(axis, end(axis) - 1);
            grid.span(axis, first[axis]).start..last.start.saturating_add(last.len).min(shape[axis])
        }));
        let mut following: Vec<u64> = first.clone();
        for axis in (0..rank).rev() {
            following[axis] = end(axis);
            if following[axis] < counts[axis] {
                next = Some(following);
                break;
            }
            following[axis] = 0;
        }
        Some(region)
    })
}
