//! Reads the next rows of chunks along the first axis into the cache of decoded chunks, while the caller works
//! ([`Options::read_ahead`](crate::Options::read_ahead); docs/internals/design/reading.md).

use std::iter::successors;
use std::ops::Range;
use std::sync::Arc;

use super::reader::Reader;
use super::reading_order::ReadingOrder;
use crate::array::chunk_cache::ChunkCache;
use crate::array::chunk_store::ChunkStore;
use crate::array::element_memory::for_overwrite;
use crate::array::layout::ChunkLayout;
use crate::error::Result;
use crate::region::{Region, element_count};
use crate::runtime::spawn_future;
use crate::selection::ResolvedSelection;
use crate::view::ViewMut;

/// Begins to read ahead if `part` follows the part that was read before it. It never waits.
pub(in crate::array) fn read_ahead(
    store: ChunkStore<'_>,
    order: &ReadingOrder,
    layout: &ChunkLayout,
    part: &ResolvedSelection,
) {
    let count = store.options.read_ahead as u64;
    let Some(region) = part.as_region().filter(|part| count > 0 && !part.is_empty()) else {
        return;
    };
    let follows = order.follow(region.intervals(), || {
        let cache = store.cache()?;
        next_rows(cache, layout, region.intervals(), count)
    });
    let Some((rows, reader)) = follows else { return };
    let (context, path, mut options) =
        (store.context.clone(), store.path.clone(), store.options.clone());
    (options.read_ahead, options.progress) = (0, None);
    // The last handle drops the order of its reads, which ends this.
    options.cancel = Some(order.dropped.clone());
    let layout = layout.clone();
    let region = region.clone();
    spawn_future("zarr-read-ahead", move || async move {
        let store = ChunkStore { context: &context, path: &path, options: &options };
        // What fails is read again, and reported, when the caller asks for it.
        _ = cache_rows(store, &layout, &rows, &region).await;
        drop(reader);
    });
}

/// The first coordinates of the `count` rows of chunks after a region. None if the cache does not keep them, or has no space for them beside
/// the row that is being read.
fn next_rows(
    cache: &Arc<ChunkCache>,
    layout: &ChunkLayout,
    region: &[Range<u64>],
    count: u64,
) -> Option<Vec<u64>> {
    let grid = &layout.chunks().grid;
    let metadata = layout.metadata();
    let inner = metadata.inner_chunk_shape().unwrap_or_else(|| metadata.chunk_extent());
    let whole =
        region.iter().zip(&inner).skip(1).map(|(range, len)| {
            (range.end.div_ceil(*len) - range.start / len).saturating_mul(*len)
        });
    let shape: Vec<u64> = whole.chain([inner[0], count + 1]).collect();
    let bytes = element_count(&shape)?.checked_mul(layout.span().element as u64)?;
    let is_kept = !metadata.data_type.is_variable() && metadata.shards.is_none();
    if !is_kept || bytes > cache.limit {
        return None;
    }
    let last = region[0].end.checked_sub(1);
    let rows = successors(last, |&start| {
        let chunk = grid.span(0, grid.locate(0, start));
        let len = if metadata.has_shards() { inner[0] } else { chunk.stored };
        let next = ((start - chunk.start + chunk.before) / len + 1) * len - chunk.before;
        Some(chunk.start + next.min(chunk.len)).filter(|next| *next < metadata.shape[0])
    });
    Some(rows.skip(1).take(count as usize).collect())
}

/// Reads the first plane of each row, which puts its chunks into the cache.
async fn cache_rows(
    store: ChunkStore<'_>,
    layout: &ChunkLayout,
    rows: &[u64],
    region: &Region,
) -> Result<()> {
    let others = &region.intervals()[1..];
    let span = layout.span();
    let reader = Reader::new(store, layout, span, None);
    for row in rows {
        let plane = std::iter::once(*row..row + 1).chain(others.iter().cloned());
        let plane = Region::new(plane);
        let shape = plane.shape();
        let mut memory = for_overwrite(&shape, span.size, "a plane")?;
        let out = ViewMut::new(&mut memory, &shape, span.size);
        reader.read(&(&plane).into(), &mut out.into(), &|_, _| ()).await?;
    }
    Ok(())
}
