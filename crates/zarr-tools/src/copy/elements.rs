//! Copies the elements of an array, and counts those that were never stored.

use std::sync::Arc;

use zarr_core::grid::{ChunkGrid, Pieces};
use zarr_core::metadata::ArrayMetadata;
use zarr_core::{Array, ErrorKind, Result};

use super::{CopyOptions, Progress, report};

/// About how many bytes are held at once.
const BLOCK: u64 = 64 << 20;

/// Copies all elements, in pieces of whole chunks of the copy. If it `leaves_holes`, chunks of nothing but the source's
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
    let fill = from.metadata().fill_bytes();
    let at_once = if leaves_holes { 0 } else { BLOCK };
    for piece in to.pieces(.., at_once)? {
        let bytes = from.read_bytes(&piece.selection)?;
        if !(leaves_holes && is_all(&fill, &bytes, &metadata)) {
            to.write_bytes(&piece.selection, &bytes)?;
        }
        // Of elements of variable length a total can only count the cells.
        progress.bytes_done += piece.element_count().unwrap_or(u64::MAX).saturating_mul(element);
        report(options, progress);
    }
    Ok(())
}

/// Whether an array's bytes, as they are read, are nothing but this element.
fn is_all(element: &[u8], bytes: &[u8], metadata: &ArrayMetadata) -> bool {
    let length = (element.len() as u32).to_le_bytes();
    let element = if metadata.data_type.is_variable() {
        [&length, element].concat()
    } else {
        element.to_vec()
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
    for chunk in Pieces::of_shape(grid.clone(), &flat.shape, 1, 0) {
        let bytes = array.read_bytes(&chunk.selection)?;
        count += u64::from(is_all(&fill, &bytes, &metadata));
        if !are_few(count) {
            break;
        }
    }
    Ok(Holes { count, total, few: are_few(count) })
}
