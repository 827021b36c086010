//! Reads the next rows of chunks along the first axis into the cache of decoded chunks, while the caller works
//! ([`Options::read_ahead`](crate::Options::read_ahead); docs/internals/design/reading.md).

use std::iter::successors;
use std::ops::Range;
use std::sync::Arc;

use super::transfer::Transfer;
use super::{ArrayCore, ChunkLayout, unset};
use crate::error::Result;
use crate::region::{Region, element_count};
use crate::selection::ResolvedSelection;
use crate::store::spawn;
use crate::view::ViewMut;

impl ArrayCore {
    /// Begins to read ahead if `part` follows the part that was read before it. It never waits.
    pub(super) fn read_ahead(&self, layout: &ChunkLayout, part: &ResolvedSelection) {
        let rows = self.options.read_ahead as u64;
        let Some(region) = part.as_region().filter(|part| rows > 0 && !part.is_empty()) else {
            return;
        };
        let next = || self.next_rows(layout, region.intervals(), rows).unwrap_or_default();
        let Some((rows, reader)) = self.order.follow(region.intervals(), next) else { return };
        let mut core = self.with_options(|options| {
            (options.read_ahead, options.progress) = (0, None);
            options.cancel = Some(self.order.dropped.clone());
        });
        // The last handle drops the order of its reads, which ends this.
        core.order = Arc::default();
        let core = Arc::new(core);
        let (layout, region) = (layout.clone(), region.clone());
        spawn("zarr-read-ahead", move || async move {
            // What fails is read again, and reported, when the caller asks for it.
            _ = core.cache_rows(&layout, &rows, &region).await;
            drop(reader);
        });
    }

    /// The first coordinates of the `rows` of chunks after a region. None if the cache does not keep them, or has no space for them beside
    /// the row that is being read.
    fn next_rows(
        &self,
        layout: &ChunkLayout,
        region: &[Range<u64>],
        rows: u64,
    ) -> Option<Vec<u64>> {
        let (grid, metadata) = (&layout.chunks().grid, &layout.metadata);
        let inner = metadata.inner_chunk_shape().unwrap_or_else(|| metadata.chunk_extent());
        let whole = region.iter().zip(&inner).skip(1).map(|(range, len)| {
            (range.end.div_ceil(*len) - range.start / len).saturating_mul(*len)
        });
        let shape: Vec<u64> = whole.chain([inner[0], rows + 1]).collect();
        let bytes = element_count(&shape)?.checked_mul(layout.span().element as u64)?;
        let kept = !metadata.data_type.is_variable() && metadata.shards.is_none();
        self.context.chunk_cache.as_ref().filter(|cache| kept && bytes <= cache.limit)?;
        let after = |&at: &u64| {
            let chunk = grid.span(0, grid.locate(0, at));
            let len = if metadata.has_shards() { inner[0] } else { chunk.stored };
            let next = ((at - chunk.start + chunk.before) / len + 1) * len - chunk.before;
            Some(chunk.start + next.min(chunk.len)).filter(|next| *next < metadata.shape[0])
        };
        let last = region[0].end.checked_sub(1);
        Some(successors(last, after).skip(1).take(rows as usize).collect())
    }

    /// Reads the first plane of each row, which puts its chunks into the cache.
    async fn cache_rows(
        self: &Arc<Self>,
        layout: &ChunkLayout,
        rows: &[u64],
        region: &Region,
    ) -> Result<()> {
        let others = &region.intervals()[1..];
        for row in rows {
            let plane = std::iter::once(*row..row + 1).chain(others.iter().cloned());
            let plane = Region::new(plane);
            let (shape, transfer) =
                (plane.shape(), Transfer::whole(layout.clone(), (&plane).into()));
            let mut memory = unset(&shape, transfer.span.size, "a plane")?;
            let out = ViewMut::new(&mut memory, &shape, transfer.span.size);
            Box::pin(self.read(&transfer, out, None)).await?;
        }
        Ok(())
    }
}
