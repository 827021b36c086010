//! Erases what a chunk stores outside a region, while the array's document has a given layout.
//!
//! Resizing uses it: elements outside the array must not appear again when it grows (docs/internals/design/crash-safety.md).

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::merge::can_erase;
use super::swap::{Edited, MAX_ATTEMPTS, compare_and_swap, unless_given_up, whole};
use crate::array::chunk_store::{ChunkStore, decode_limited, max_stored_bytes};
use crate::array::element_memory::zeroed;
use crate::array::layout::ChunkLayout;
use crate::context::is_too_large;
use crate::data_type::Repr;
use crate::error::{Error, Result};
use crate::format::Layout;
use crate::grid::extents;
use crate::options::Guard;
use crate::region::Region;
use crate::selection::ResolvedSelection;
use crate::store::{Bytes, Snapshot, StoreKey};
use crate::var_buffer::VarBuffer;
use crate::view::{View, ViewMut};

/// Makes the elements of one chunk outside `inside` fill, if the document, which is at `document`, has this layout; `false` if it has
/// another. A chunk without elements inside is erased.
pub(in crate::array) async fn clear_outside(
    store: ChunkStore<'_>,
    known: &ChunkLayout,
    grid_index: &[u64],
    inside: &Region,
    document: &StoreKey,
    layout: &Layout,
) -> Result<bool> {
    let spans = extents(&*known.chunks().grid, grid_index);
    let indices: Vec<i64> = spans.iter().map(|s| s.index).collect();
    let stored: Vec<u64> = spans.iter().map(|s| s.stored).collect();
    let keep = Region::new(spans.iter().zip(inside.intervals()).map(|(s, inside)| {
        let from = inside.start.saturating_sub(s.start).min(s.len);
        let to = inside.end.saturating_sub(s.start).min(s.len).max(from);
        s.before + from..s.before + to
    }));
    let key = known.key(&indices);
    let with_chunk = |e: Error| e.at_chunk(&indices).at_key(&key);
    let stored = &stored;
    let keep = &keep;
    let is_same = &AtomicBool::new(true);
    let capabilities = store.store().capabilities();
    // Also if the caller has the guard off, where the store can compare: other writers may know the old shape.
    let guard = if capabilities.swap { Guard::On } else { Guard::Off };
    // A chunk that is erased need not be read, whatever its size, if opening it costs nothing; the store erases the
    // version that was opened. A chunk in an archive could be inflated to any size.
    let limit = if keep.is_empty() && capabilities.cheap_ranges && capabilities.swap_erase {
        u64::MAX
    } else {
        max_stored_bytes(known, store.options, Some(stored))
    };
    let swapped = compare_and_swap(
        store.context,
        guard,
        &key,
        limit,
        |old: Option<Arc<dyn Snapshot>>| async move {
            let edited = match old {
                None => return Ok(Edited::Keep),
                Some(_) if keep.is_empty() => Edited::Erase,
                Some(old) => {
                    let old = whole(Some(&*old)).await?.unwrap_or_default();
                    cleared_outside(store, known, stored, keep, &old)?
                }
            };
            // The chunk was read first: if another writer had appended before, the document would show it now.
            if layout_now(store, document).await?.as_ref() == Some(layout) {
                return Ok(edited);
            }
            is_same.store(false, Ordering::Relaxed);
            Ok(Edited::Keep)
        },
        MAX_ATTEMPTS,
    );
    let is_done = swapped.await;
    // A store that cannot compare before an erase fetches no chunk above the limit, which no reader accepts.
    if keep.is_empty() && !capabilities.swap_erase && is_done.as_ref().is_err_and(is_too_large) {
        if layout_now(store, document).await.map_err(with_chunk)?.as_ref() != Some(layout) {
            return Ok(false);
        }
        let writeable = store.context.writeable().map_err(with_chunk)?;
        writeable.erase(&key).await.map_err(|e| with_chunk(e.into()))?;
        return Ok(true);
    }
    unless_given_up(is_done.map_err(with_chunk)?).map_err(with_chunk)?;
    Ok(is_same.load(Ordering::Relaxed))
}

/// The layout that the document has now; `None` if it is absent or broken.
async fn layout_now(store: ChunkStore<'_>, document: &StoreKey) -> Result<Option<Layout>> {
    let context = store.context;
    let Some(bytes) = context.document(document).await? else { return Ok(None) };
    let json = context.format.encoding().decode(&bytes).ok();
    Ok(json.map(|(json, _)| context.format.layout(&json)))
}

/// Sets everything of a chunk outside `keep` to the fill value; [`Edited::Keep`] if it is that already.
fn cleared_outside(
    store: ChunkStore<'_>,
    layout: &ChunkLayout,
    chunk_shape: &[u64],
    keep: &Region,
    old: &Bytes,
) -> Result<Edited> {
    let chain = &layout.chunks().chain;
    let repr = layout.chunks().repr;
    let mut chunk = zeroed(chunk_shape, repr.size(), "a chunk")?;
    let all = ResolvedSelection::all(chunk_shape);
    let var_buffer = match repr {
        Repr::Variable => Some(VarBuffer::holding(layout.fill_content().clone())?.0),
        _ => None,
    };
    let var_buffer = var_buffer.as_ref();
    let whole = ViewMut::new(&mut chunk, chunk_shape, repr.size()).with_var_buffer(var_buffer);
    decode_limited(store.options, || {
        chain.decode_into(Cow::Borrowed(old), chunk_shape, &all, whole)
    })?;
    let mut clean = zeroed(chunk_shape, repr.size(), "a chunk")?;
    let mut view = ViewMut::new(&mut clean, chunk_shape, repr.size());
    view.fill(layout.fill());
    view.part(keep).copy_from(&View::new(&chunk, chunk_shape, repr.size()).part(keep));
    let is_clean = match var_buffer {
        Some(var_buffer) => var_buffer.elements().equal(&clean, &chunk),
        None => clean == chunk,
    };
    if is_clean {
        return Ok(Edited::Keep);
    }
    let view = View::new(&clean, chunk_shape, repr.size()).with_var_buffer(var_buffer);
    if layout.is_fill(&view) && can_erase(store) {
        return Ok(Edited::Erase);
    }
    Ok(Edited::Set(chain.encode(view)?.into_owned().into()))
}
