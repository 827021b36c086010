//! Grows and shrinks an array without losing or reviving elements.
//!
//! A shrink changes the document first, then clears what is outside the array. A growth first clears what is stored in its
//! new part, since another library or an interrupted shrink may have left elements there
//! (docs/internals/design/crash-safety.md). A chunk is changed only while the document still has the shape and the grid
//! from which the change was worked out, so that the change cannot erase what another writer has appended concurrently.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use futures::future::BoxFuture;

use super::context::HierarchyContext;
use super::{array_document, edit};
use crate::array::swap::MAX_ATTEMPTS;
use crate::array::{ArrayCore, ArrayState, ChunkLayout, Strided, shape_change};
use crate::element::Element;
use crate::error::{AccessError, Error, Result};
use crate::format::Layout;
use crate::json::{Json, Object};
use crate::region::Region;

/// The hint of an error after which the array has its old shape.
pub(super) const NOT_COPIED: &str =
    "nothing was added: the array's copy in the consolidated metadata could not be updated";

/// The result of a change of the shape.
struct Reshaped {
    state: Arc<ArrayState>,
    old: Vec<u64>,
    /// Whether what is outside could be cleared, too.
    cut_off: Result<()>,
    /// Whether the consolidated copies could be made again.
    copied: Result<()>,
}

/// Elements that an append adds.
enum Appended<'a, T: Element> {
    Typed(Cow<'a, [T]>),
    Strided(Strided<'a>),
}

/// The new shape for an old one.
type NewShape<'a> = dyn Fn(&[u64]) -> Result<Vec<u64>, AccessError> + Sync + 'a;

/// Gives the array a new shape.
pub async fn resize(
    hierarchy: &HierarchyContext,
    array: &Arc<ArrayCore>,
    shape: &[u64],
) -> Result<()> {
    reshape(hierarchy, array, |_| Ok(shape.to_vec())).await?;
    Ok(())
}

/// Makes the array longer along `axis` and writes `elements` there; returns the coordinate at which they begin.
pub async fn append<T: Element>(
    hierarchy: &HierarchyContext,
    array: &Arc<ArrayCore>,
    axis: usize,
    elements: Cow<'_, [T]>,
) -> Result<u64> {
    shape_change::check_elements(array, &elements)?;
    append_checked(hierarchy, array, axis, (elements.len(), None), Appended::Typed(elements)).await
}

/// The same with native elements in memory of any strides.
pub async fn append_view(
    hierarchy: &HierarchyContext,
    array: &Arc<ArrayCore>,
    axis: usize,
    elements: Strided<'_>,
) -> Result<u64> {
    let view = elements.view();
    shape_change::check_appended(array, axis, &view)?;
    let count = (view.len(), view.shape().get(axis).copied());
    append_checked::<u8>(hierarchy, array, axis, count, Appended::Strided(elements)).await
}

async fn append_checked<T: Element>(
    hierarchy: &HierarchyContext,
    array: &Arc<ArrayCore>,
    axis: usize,
    (count, along): (usize, Option<u64>),
    elements: Appended<'_, T>,
) -> Result<u64> {
    let reshaped = reshape_and_cut(hierarchy, array, &|old| {
        let (shape, _) = longer_by(old, axis, count, along)?;
        Ok(shape)
    })
    .await?;
    let Reshaped { state, old, copied, .. } = reshaped;
    let (start, end) = (old[axis], state.metadata.shape[axis]);
    let place = slab(&old, axis, start..end);
    let written = match copied {
        Ok(()) => match elements {
            Appended::Typed(elements) => {
                shape_change::write_grown(array, &state, &place, elements).await
            }
            Appended::Strided(elements) => {
                shape_change::write_appended(array, &state, &place, elements).await
            }
        },
        Err(e) => Err(e.with_hint(NOT_COPIED)),
    };
    match written {
        Ok(()) => Ok(start),
        Err(e) => Err(give_back(hierarchy, array, axis, &place, e).await),
    }
}

/// Takes back the place that an append added along `axis`, since its elements could not be written because of `error`;
/// unless the shape was changed again (docs/internals/design/crash-safety.md). Returns the error.
async fn give_back(
    hierarchy: &HierarchyContext,
    array: &Arc<ArrayCore>,
    axis: usize,
    place: &Region,
    error: Error,
) -> Error {
    let added = &place.intervals()[axis];
    let grown: Vec<u64> = place.intervals().iter().map(|range| range.end).collect();
    let mut old = grown.clone();
    old[axis] = added.start;
    // The document comes first: elements that then cannot be erased are outside the array.
    let reshaped = reshape_and_cut(hierarchy, array, &|now| {
        Ok(if now == grown { old.clone() } else { now.to_vec() })
    })
    .await;
    match reshaped {
        Ok(reshaped) if reshaped.old == grown => error,
        _ => left_as_fill(error, axis, added),
    }
}

/// Changes the shape to the result of `to`; returns the array's new state, and its old shape.
pub async fn reshape(
    hierarchy: &HierarchyContext,
    array: &Arc<ArrayCore>,
    to: impl Fn(&[u64]) -> Result<Vec<u64>, AccessError> + Sync,
) -> Result<(Arc<ArrayState>, Vec<u64>)> {
    let Reshaped { state, old, cut_off, copied } = reshape_and_cut(hierarchy, array, &to).await?;
    cut_off?;
    copied?;
    Ok((state, old))
}

/// As [`reshape`]; after an error the shape is not known to have changed.
fn reshape_and_cut<'a>(
    hierarchy: &'a HierarchyContext,
    array: &'a Arc<ArrayCore>,
    to: &'a NewShape<'a>,
) -> BoxFuture<'a, Result<Reshaped>> {
    Box::pin(async move {
        let context = &hierarchy.context;
        context.writeable().map_err(|e| array.at(e))?;
        let place = context.format.shape_member(&array.path).map_err(|e| array.at(e))?;
        let member = place.member.unwrap_or("shape");
        for _ in 0..MAX_ATTEMPTS {
            let (state, seen) = array_document::read_state(array).await?;
            array.writeable(&state)?;
            let old = state.metadata.shape.clone();
            let new = to(&old).map_err(|e| array.at(e))?;
            if new.len() != old.len() {
                let (lengths, axes) = (new.len(), old.len());
                return Err(array.at(AccessError::Argument(format!(
                    "expected a shape of {axes} {}, found {lengths}; give one length for each axis",
                    if axes == 1 { "length" } else { "lengths" }
                ))));
            }
            if new == old {
                return Ok(Reshaped { state, old, cut_off: Ok(()), copied: Ok(()) });
            }
            if let Ok(grid) = state.supported().map(|chunks| &chunks.grid)
                && let Some(axis) =
                    (0..new.len()).find(|&a| grid.reach(a).is_some_and(|reach| new[a] > reach))
            {
                let reach = grid.reach(axis).unwrap_or_default();
                let why = format!(
                    "the chunk grid ends at {reach} along axis {axis}, and cannot be longer"
                );
                return Err(array.at(AccessError::Argument(why)));
            }
            let clears = !context.options.keep_cut_off;
            if clears && !clear_new_part(array, &state, &old, &new, &seen).await? {
                continue;
            }
            let edited = edit_layout(hierarchy, array, &seen, |document| {
                document.insert(member, &new[..]);
                Ok(())
            });
            let Some((layout, copied)) = edited.await? else { continue };
            let settled = array_document::settle(hierarchy, array, &state, |metadata| {
                metadata.shape = new.clone();
            });
            let state = settled.await?;
            let shrinks = (0..old.len()).any(|axis| new[axis] < old[axis]);
            let cut_off = if clears && shrinks {
                clear_cut_off(array, &state, &old, &new, &layout).await
            } else {
                Ok(())
            };
            return Ok(Reshaped { state, old, cut_off, copied });
        }
        Err(array.at(AccessError::Conflict { attempts: MAX_ATTEMPTS }))
    })
}

/// Changes the document if it has the layout `seen`; returns its new layout, and whether the consolidated copies could
/// be made again. `None` if it has another layout.
pub async fn edit_layout(
    hierarchy: &HierarchyContext,
    array: &Arc<ArrayCore>,
    seen: &Layout,
    change: impl Fn(&mut Object) -> Result<()> + Sync,
) -> Result<Option<(Layout, Result<()>)>> {
    let format = &hierarchy.context.format;
    let mut same = true;
    let document = array.document()?;
    let edited = edit::edit_and_refresh(hierarchy, &array.path, &document, |json| {
        same = format.layout(&json) == *seen;
        match json {
            Json::Object(mut document) if same => {
                change(&mut document)?;
                Ok(Json::Object(document))
            }
            other => Ok(other),
        }
    });
    let (after, copied) = edited.await?;
    if !same {
        copied?;
        return Ok(None);
    }
    Ok(Some((format.layout(&after), copied)))
}

/// Clears what is stored where an array of shape `old` is to grow to `new`; `false` if its layout was changed
/// concurrently.
async fn clear_new_part(
    array: &Arc<ArrayCore>,
    state: &Arc<ArrayState>,
    old: &[u64],
    new: &[u64],
    layout: &Layout,
) -> Result<bool> {
    let Ok(known) = ChunkLayout::from_state(state.clone()) else { return Ok(true) };
    let grid = &*known.chunks().grid;
    let mut chunks: Vec<Vec<u64>> = Vec::new();
    for axis in (0..old.len()).filter(|&axis| new[axis] > old[axis]) {
        // From the chunk that holds the first new coordinate.
        let ordinals = grid.locate(axis, old[axis])..grid.count(axis, new[axis]);
        let first = ordinals.start;
        let among = Some((axis, ordinals));
        chunks.extend(
            shape_change::maybe_stored(array, state, grid, new, |o| o[axis] >= first, among)
                .await?,
        );
    }
    chunks.sort();
    chunks.dedup();
    clear_all_outside(array, &known, chunks, &Region::all(old), layout).await
}

/// Clears what is outside `new`.
async fn clear_cut_off(
    array: &Arc<ArrayCore>,
    state: &Arc<ArrayState>,
    old: &[u64],
    new: &[u64],
    layout: &Layout,
) -> Result<()> {
    let Ok(known) = ChunkLayout::from_state(state.clone()) else { return Ok(()) };
    let grid = &*known.chunks().grid;
    let reaching_out = shape_change::maybe_stored(
        array,
        state,
        grid,
        old,
        |ordinals| {
            (0..new.len()).any(|axis| {
                let span = grid.span(axis, ordinals[axis]);
                new[axis] < old[axis] && span.start.saturating_add(span.len) > new[axis]
            })
        },
        None,
    );
    let chunks = reaching_out.await?;
    // A writer that has given the array another shape has cleared the part into which the array grew.
    clear_all_outside(array, &known, chunks, &Region::all(new), layout).await.map(drop)
}

/// Clears what some chunks store outside `inside`; `false` if the document has another layout than this.
pub fn clear_all_outside<'a>(
    array: &'a Arc<ArrayCore>,
    known: &'a ChunkLayout,
    chunks: Vec<Vec<u64>>,
    inside: &'a Region,
    layout: &'a Layout,
) -> BoxFuture<'a, Result<bool>> {
    Box::pin(async move {
        for ordinals in chunks {
            if !shape_change::clear_outside(array, known, &ordinals, inside, layout).await? {
                return Ok(false);
            }
        }
        Ok(true)
    })
}

/// The part of an array of this shape with these coordinates along `axis`.
pub(super) fn slab(shape: &[u64], axis: usize, range: Range<u64>) -> Region {
    let all = shape.iter().enumerate();
    Region::new(all.map(|(a, &len)| if a == axis { range.clone() } else { 0..len }))
}

/// The error of elements that were not written, and whose place stays.
pub(super) fn left_as_fill(error: Error, axis: usize, place: &Range<u64>) -> Error {
    error.with_hint(format!(
        "elements {}..{} along axis {axis} read as the fill value; write them again",
        place.start, place.end
    ))
}

/// The shape with `count` elements more along `axis`, and how much longer that is: `along`, where elements of another axis of
/// length 0 do not tell.
pub(super) fn longer_by(
    shape: &[u64],
    axis: usize,
    count: usize,
    along: Option<u64>,
) -> Result<(Vec<u64>, u64), AccessError> {
    if axis >= shape.len() {
        return Err(AccessError::Argument(format!("there is no axis {axis}")));
    }
    let others = shape.iter().enumerate().filter(|(a, _)| *a != axis);
    let slice = others.map(|(_, &len)| len).try_fold(1u64, u64::checked_mul).unwrap_or(u64::MAX);
    let found = count as u64;
    let more = match (found.checked_div(slice), along) {
        (Some(more), _) if found.is_multiple_of(slice) => more,
        (None, Some(along)) => along,
        (Some(_), _) => {
            return Err(AccessError::Argument(format!(
                "{found} {} not fill whole slices along axis {axis}; give a multiple of {slice} elements",
                if found == 1 { "element does" } else { "elements do" }
            )));
        }
        (None, None) => {
            let why = "an array with another axis of length 0 takes no elements: resize it";
            return Err(AccessError::Argument(why.into()));
        }
    };
    let mut longer = shape.to_vec();
    longer[axis] = shape[axis].checked_add(more).ok_or_else(|| {
        AccessError::Argument(format!("axis {axis} would be longer than 64 bits can count"))
    })?;
    Ok((longer, more))
}
