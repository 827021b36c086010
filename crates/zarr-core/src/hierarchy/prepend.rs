//! Makes an array longer before its first element, and takes that place back after a failure.
//!
//! No stored element moves: the grid has a new origin. Chunks store fill before the array's first element, since every
//! writer of whole chunks writes it there; so nothing is cleared first, and a place that is given back is cleared before
//! the document changes.

use std::borrow::Cow;
use std::sync::Arc;

use super::array_node::ArrayNode;
use super::resize::{NOT_COPIED, left_as_fill, longer_by, slab};
use crate::array::ArrayState;
use crate::array::compare_and_swap::MAX_ATTEMPTS;
use crate::element::Element;
use crate::error::{AccessError, Error, Result};
use crate::format::Layout;
use crate::metadata::ArrayMetadata;
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

impl ArrayNode {
    /// Makes the array longer before its first element along `axis`, and writes `elements` there. A handle with the old state
    /// still writes the old elements.
    pub async fn prepend<T: Element>(&self, axis: usize, elements: Cow<'_, [T]>) -> Result<()> {
        self.check_elements(&self.state(), &elements)?;
        let (grown, copied) = self.grow_before(axis, elements.len()).await?;
        let written = match copied {
            Ok(()) => self.write_grown(&grown.state, &grown.place, elements).await,
            Err(e) => Err(e.with_hint(NOT_COPIED)),
        };
        match written {
            Ok(()) => Ok(()),
            Err(e) => Err(self.give_back_before(&grown, e).await),
        }
    }

    /// Makes the array longer by the extent that `count` elements fill, before its first element along `axis`. The second
    /// result says whether the consolidated copies could be refreshed.
    async fn grow_before(&self, axis: usize, count: usize) -> Result<(Prepended, Result<()>)> {
        for _ in 0..MAX_ATTEMPTS {
            let (old, seen) = self.read_state().await?;
            self.writeable(&old)?;
            let grid = &old.supported().map_err(|e| self.at(e))?.grid;
            let longer = longer_by(&old.metadata.shape, axis, count, None);
            let (new, more) = longer.map_err(|e| self.at(e))?;
            let grid = grid.grown_before(axis, more).ok_or_else(|| {
                let why = format!("the chunk grid cannot grow before the start of axis {axis}; append instead, or choose a grid that reaches before its origin");
                self.at(AccessError::Argument(why))
            })?;
            let regrid =
                |document: &mut _| Ok(self.context.format.regrid(document, &new, &*grid)?);
            let Some((layout, copied)) = self.edit_layout(&seen, regrid).await? else { continue };
            let place = slab(&new, axis, 0..more);
            let grow =
                |metadata: &mut ArrayMetadata| (metadata.shape, metadata.grid) = (new, Some(grid));
            let state = self.settle(&old, grow).await?;
            return Ok((Prepended { state, place, axis, old, layout }, copied));
        }
        Err(self.at(AccessError::Conflict { attempts: MAX_ATTEMPTS }))
    }

    /// Takes back the place that a prepend added, since its elements could not be written because of `error`; unless
    /// the array was changed again, or not all of the place can be cleared (docs/internals/design/crash-safety.md).
    /// Returns the error.
    async fn give_back_before(&self, grown: &Prepended, error: Error) -> Error {
        match self.shrink_before(grown).await {
            Ok(true) => error,
            Ok(false) | Err(_) => {
                left_as_fill(error, grown.axis, &grown.place.intervals()[grown.axis])
            }
        }
    }

    /// `false` if the document was changed concurrently.
    async fn shrink_before(&self, grown: &Prepended) -> Result<bool> {
        let Prepended { state, place, axis, old, layout } = grown;
        let axis = *axis;
        let known = state.clone().layout()?;
        let grid = &*known.chunks().grid;
        let shape = &state.metadata.shape;
        let added = place.intervals()[axis].end;
        if added > 0 {
            // A later prepend takes what is stored before the first element for fill, so the elements are cleared first.
            let last = grid.locate(axis, added - 1) + 1;
            let among = Some((axis, 0..last));
            let chunks = self.maybe_stored(state, grid, shape, |o| o[axis] < last, among).await?;
            let inside = slab(shape, axis, added..shape[axis]);
            if !self.clear_all_outside(&known, chunks, &inside, layout).await? {
                return Ok(false);
            }
        }
        let was = &old.supported()?.grid;
        let regrid = |document: &mut _| {
            Ok(self.context.format.regrid(document, &old.metadata.shape, &**was)?)
        };
        if self.edit_layout(layout, regrid).await?.is_none() {
            return Ok(false);
        }
        // A new state: one that was replaced never comes back.
        self.settle(state, |metadata| *metadata = (*old.metadata).clone()).await?;
        Ok(true)
    }
}
