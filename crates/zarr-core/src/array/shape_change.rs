//! What a change of an array's shape does to its chunks: clears what leaves the array, and writes where it has grown.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use super::array_core::ArrayCore;
use super::calls::write;
use super::layout::ChunkLayout;
use super::request::{Input, Request, Strided, check_element_size, check_values, check_view};
use super::state::ArrayState;
use super::{stored, write as writing};
use crate::element::Element;
use crate::error::{AccessError, Result};
use crate::format::Layout;
use crate::grid::ChunkGrid;
use crate::region::Region;
use crate::view::View;

/// The places of the chunks inside the grid of `shape` that may be stored and for which `is_selected` is true.
/// With `among`, only chunks of those ordinals on that axis can be. Where they are few, the store is not asked.
pub(crate) async fn maybe_stored(
    array: &ArrayCore,
    state: &ArrayState,
    grid: &dyn ChunkGrid,
    shape: &[u64],
    is_selected: impl Fn(&[u64]) -> bool,
    among: Option<(usize, Range<u64>)>,
) -> Result<Vec<Vec<u64>>> {
    let found = stored::maybe_stored(&array.context, state, grid, shape, is_selected, among);
    found.await.map_err(|e| array.at(e))
}

/// Makes the elements of one chunk outside `inside` fill, if the document has this layout; `false` if it has another.
/// A chunk without elements inside is erased.
pub(crate) async fn clear_outside(
    array: &ArrayCore,
    known: &ChunkLayout,
    grid_index: &[u64],
    inside: &Region,
    layout: &Layout,
) -> Result<bool> {
    let document = array.document()?.key;
    let store = array.chunk_store();
    let cleared = writing::clear_outside(store, known, grid_index, inside, &document, layout).await;
    cleared.map_err(|e| array.at(e))
}

/// Refuses elements of another type than the array's, and bytes that are no element of it.
pub(crate) fn check_elements<T: Element>(array: &ArrayCore, elements: &[T]) -> Result<()> {
    let state = array.state();
    state.supported().map_err(|e| array.at(e))?;
    let data_type = &state.metadata.data_type;
    if !T::is(data_type) {
        let found = data_type.to_string();
        return Err(array.at(AccessError::ElementType { array: found, asked: T::NAME }));
    }
    check_values(data_type, elements).map_err(|e| array.at(e))
}

/// Refuses native elements that cannot make the array longer along `axis`.
pub(crate) fn check_appended(array: &ArrayCore, axis: usize, elements: &View<'_>) -> Result<()> {
    // One state: another thread may change the shape at any time.
    let layout = array.layout()?;
    let shape = &layout.metadata().shape;
    let found = elements.shape();
    let fits = shape.len() == found.len()
        && (0..shape.len()).all(|other| other == axis || shape[other] == found[other]);
    if !fits {
        let wrong = (0..shape.len())
            .filter(|other| *other != axis)
            .find(|&other| found.get(other).is_some_and(|len| *len != shape[other]));
        let expected = match wrong {
            _ if found.len() != shape.len() => {
                let axes = if shape.len() == 1 { "axis" } else { "axes" };
                format!("expected {} {axes}", shape.len())
            }
            Some(other) => format!("expected length {} along axis {other}", shape[other]),
            None => String::new(),
        };
        let why = format!(
            "cannot append elements of shape {found:?} along axis {axis} of an array of shape {shape:?}: {expected}"
        );
        return Err(array.at(AccessError::Argument(why)));
    }
    check_element_size(&layout, elements.element_size()).map_err(|e| array.at(e))?;
    check_view(&layout.metadata().data_type, elements).map_err(|e| array.at(e))
}

/// Writes elements where an array has just grown.
pub(crate) async fn write_grown<T: Element>(
    array: &ArrayCore,
    state: &Arc<ArrayState>,
    place: &Region,
    elements: Cow<'_, [T]>,
) -> Result<()> {
    let layout = ChunkLayout::from_state(state.clone()).map_err(|e| array.at(e))?;
    let request = Request::from_region(layout, place);
    let input = Input::from_elements(&request, elements).map_err(|e| array.at(e))?;
    write(array.chunk_store(), &request, input).await
}

/// Writes native elements where an array has just grown.
pub(crate) async fn write_appended(
    array: &ArrayCore,
    state: &Arc<ArrayState>,
    place: &Region,
    elements: Strided<'_>,
) -> Result<()> {
    if place.shape() != elements.view().shape() {
        // Another writer has changed the shape.
        let (expected, found) = (place.element_count(), elements.view().len() as u64);
        let expected = expected.unwrap_or(u64::MAX);
        return Err(array.at(AccessError::Count { expected, found }));
    }
    let layout = ChunkLayout::from_state(state.clone()).map_err(|e| array.at(e))?;
    let request = Request::from_region(layout, place);
    write(array.chunk_store(), &request, Input::from_strided(&request, elements)).await
}
