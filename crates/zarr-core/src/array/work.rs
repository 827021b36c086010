//! How much work the chunks are that a part of an array touches.

use crate::grid::ChunkGrid;
use crate::runtime::pool::Work;
use crate::runtime::tuning::MAX_BYTES_PER_BATCH;
use crate::selection::ResolvedSelection;

/// The work on the chunks that a part touches, of elements of `element_size` bytes.
pub(super) fn work_on_chunks(
    grid: &dyn ChunkGrid,
    part: &ResolvedSelection,
    element_size: usize,
) -> Work {
    let selected = part.element_count().unwrap_or(u64::MAX);
    let total = selected.saturating_mul(element_size as u64);
    let mut work = Work { many: false, size: element_size as u64, total, row: 1 };
    if part.is_empty() {
        return work;
    }
    for (axis, range) in part.bounds().intervals().iter().enumerate() {
        let first = grid.locate(axis, range.start);
        work.row = grid.locate(axis, range.end - 1).abs_diff(first).saturating_add(1);
        work.many |= work.row > 1;
        work.size = work.size.saturating_mul(grid.span(axis, first).len);
    }
    // Of fewer than 64 rows, threads take chunks.
    if work.size.saturating_mul(work.row) > MAX_BYTES_PER_BATCH.min(total / 64) {
        work.row = 1;
    }
    work
}
