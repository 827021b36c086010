//! Makes an array longer before its first element, and takes that place back after a failure.
//!
//! No stored element moves: the grid has a new origin. Chunks store fill before the array's first element, since every
//! writer of whole chunks writes it there; so nothing is cleared first, and a place that is given back is cleared before
//! the document changes.

use std::borrow::Cow;
use std::sync::Arc;

use super::array_document;
use super::context::HierarchyContext;
use super::resize::{self, NOT_COPIED, left_as_fill, longer_by, slab};
use crate::array::swap::MAX_ATTEMPTS;
use crate::array::{ArrayCore, ArrayState, ChunkLayout, shape_change};
use crate::element::Element;
use crate::error::{AccessError, Error, Result};
use crate::format::Layout;
use crate::region::Region;

/// An array that grew before its first element.
struct Prepended {
    state: Arc<ArrayState>,
    /// The place of the new elements.
    place: Region,
    axis: usize,
    /// The array before that.
    old: Arc<ArrayState>,
    /// The layout of its document since it grew.
    layout: Layout,
}

/// Makes the array longer before its first element along `axis`, and writes `elements` there. A handle with the old state
/// still writes the old elements.
pub async fn prepend<T: Element>(
    hierarchy: &HierarchyContext,
    array: &Arc<ArrayCore>,
    axis: usize,
    elements: Cow<'_, [T]>,
) -> Result<()> {
    shape_change::check_elements(array, &elements)?;
    let (grown, copied) = grow_before(hierarchy, array, axis, elements.len()).await?;
    let written = match copied {
        Ok(()) => shape_change::write_grown(array, &grown.state, &grown.place, elements).await,
        Err(e) => Err(e.with_hint(NOT_COPIED)),
    };
    match written {
        Ok(()) => Ok(()),
        Err(e) => Err(give_back_before(hierarchy, array, &grown, e).await),
    }
}

/// Makes the array longer by the extent that `count` elements fill, before its first element along `axis`. The second
/// result says whether the consolidated copies could be refreshed.
async fn grow_before(
    hierarchy: &HierarchyContext,
    array: &Arc<ArrayCore>,
    axis: usize,
    count: usize,
) -> Result<(Prepended, Result<()>)> {
    for _ in 0..MAX_ATTEMPTS {
        let (old, seen) = array_document::read_state(array).await?;
        array.writeable(&old)?;
        let grid = &old.supported().map_err(|e| array.at(e))?.grid;
        let longer = longer_by(&old.metadata.shape, axis, count, None);
        let (new, more) = longer.map_err(|e| array.at(e))?;
        let grid = grid.grown_before(axis, more).ok_or_else(|| {
            let why = format!("the chunk grid cannot grow before the start of axis {axis}; append instead, or choose a grid that reaches before its origin");
            array.at(AccessError::Argument(why))
        })?;
        let edited = resize::edit_layout(hierarchy, array, &seen, |document| {
            Ok(hierarchy.context.format.regrid(document, &new, &*grid)?)
        });
        let Some((layout, copied)) = edited.await? else { continue };
        let place = slab(&new, axis, 0..more);
        let settled = array_document::settle(hierarchy, array, &old, |metadata| {
            metadata.shape = new;
            metadata.grid = Some(grid);
        });
        let state = settled.await?;
        return Ok((Prepended { state, place, axis, old, layout }, copied));
    }
    Err(array.at(AccessError::Conflict { attempts: MAX_ATTEMPTS }))
}

/// Takes back the place that a prepend added, since its elements could not be written because of `error`; unless
/// the array was changed again, or not all of the place can be cleared (docs/internals/design/crash-safety.md).
/// Returns the error.
async fn give_back_before(
    hierarchy: &HierarchyContext,
    array: &Arc<ArrayCore>,
    grown: &Prepended,
    error: Error,
) -> Error {
    match shrink_before(hierarchy, array, grown).await {
        Ok(true) => error,
        Ok(false) | Err(_) => left_as_fill(error, grown.axis, &grown.place.intervals()[grown.axis]),
    }
}

/// `false` if the document was changed concurrently.
async fn shrink_before(
    hierarchy: &HierarchyContext,
    array: &Arc<ArrayCore>,
    grown: &Prepended,
) -> Result<bool> {
    let Prepended { state, place, axis, old, layout } = grown;
    let axis = *axis;
    let known = ChunkLayout::from_state(state.clone())?;
    let grid = &*known.chunks().grid;
    let shape = &state.metadata.shape;
    let added = place.intervals()[axis].end;
    if added > 0 {
        // A later prepend takes what is stored before the first element for fill, so the elements are cleared first.
        let last = grid.locate(axis, added - 1) + 1;
        let among = Some((axis, 0..last));
        let chunks =
            shape_change::maybe_stored(array, state, grid, shape, |o| o[axis] < last, among)
                .await?;
        let inside = slab(shape, axis, added..shape[axis]);
        if !resize::clear_all_outside(array, &known, chunks, &inside, layout).await? {
            return Ok(false);
        }
    }
    let was = &old.supported()?.grid;
    let edited = resize::edit_layout(hierarchy, array, layout, |document| {
        Ok(hierarchy.context.format.regrid(document, &old.metadata.shape, &**was)?)
    });
    if edited.await?.is_none() {
        return Ok(false);
    }
    // A new state: one that was replaced never comes back.
    array_document::settle(hierarchy, array, state, |metadata| *metadata = (*old.metadata).clone())
        .await?;
    Ok(true)
}
