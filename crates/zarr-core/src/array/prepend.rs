//! Makes an array longer before its first element, and takes that place back after a failure.
//!
//! No stored element moves: the grid says where the array begins now. What a chunk stores before the array's first
//! element is fill, since every writer of whole chunks makes it so; so nothing is forgotten first, and a place that
//! is given back is made fill before the document lets go of it.

use std::sync::Arc;

use super::compare_and_swap::MAX_ATTEMPTS;
use super::resize::{NOT_COPIED, extent_of, left_as_fill};
use super::{ArrayCore, ArrayState, ChunkLayout};
use crate::error::{AccessError, Error, Result};
use crate::format::Layout;
use crate::grid::ChunkGrid;
use crate::json::Json;
use crate::region::Region;

/// An array that grew before its first element.
pub(crate) struct Prepended {
    pub state: Arc<ArrayState>,
    /// The place of the new elements.
    pub place: Region,
    axis: usize,
    /// The array as it was.
    old: Arc<ArrayState>,
    /// What its document says since it grew.
    layout: Layout,
}

impl ArrayCore {
    /// Makes the array longer by what `count` elements fill, before its first element along `axis`. A handle that
    /// knows the array as it was still writes where it did.
    pub async fn grow_before(&self, axis: usize, count: usize) -> Result<Prepended> {
        for _ in 0..MAX_ATTEMPTS {
            let (old, seen) = self.look().await?;
            self.writeable(&old)?;
            let ChunkLayout { grid, .. } = old.layout().map_err(|e| self.at(e))?;
            let shape = &old.metadata.shape;
            let more = extent_of(shape, axis, count).map_err(|e| self.at(e))?;
            let grid = grid.grown_before(axis, more).ok_or_else(|| {
                let why = format!("the chunk grid cannot grow before the start of axis {axis}; append instead, or choose a grid that reaches before its origin");
                self.at(AccessError::Argument(why))
            })?;
            let mut new = shape.clone();
            let too_long = || {
                let why = format!("axis {axis} would be longer than 64 bits can count");
                self.at(AccessError::Argument(why))
            };
            new[axis] = shape[axis].checked_add(more).ok_or_else(too_long)?;
            let Some((layout, copied)) = self.regrid(&seen, &new, &*grid).await? else { continue };
            let mut metadata = (*old.metadata).clone();
            (metadata.shape, metadata.grid) = (new.clone(), Some(grid));
            let state = self.state_of(metadata)?;
            self.settle(&old, &state).await;
            let place = new.iter().enumerate();
            let place = place.map(|(a, &len)| if a == axis { 0..more } else { 0..len });
            let grown = Prepended { state, place: Region::new(place), axis, old, layout };
            return match copied {
                Ok(()) => Ok(grown),
                Err(e) => Err(self.give_back_before(&grown, e.with_hint(NOT_COPIED)).await),
            };
        }
        Err(self.at(AccessError::Conflict { rounds: MAX_ATTEMPTS }))
    }

    /// Takes back what [`ArrayCore::grow_before`] added, since its elements could not be written because of `error`; unless
    /// the array is no longer the one that it made, or not all of the place can be made fill (decision 0140). Returns
    /// the error.
    pub async fn give_back_before(&self, grown: &Prepended, error: Error) -> Error {
        match self.shrink_before(grown).await {
            Ok(true) => error,
            Ok(false) | Err(_) => {
                left_as_fill(error, grown.axis, &grown.place.intervals()[grown.axis])
            }
        }
    }

    /// `false` if the document changed meanwhile.
    async fn shrink_before(&self, grown: &Prepended) -> Result<bool> {
        let Prepended { state, place, axis, old, layout } = grown;
        let axis = *axis;
        let known = state.layout()?;
        let grid = &*known.grid;
        let shape = &state.metadata.shape;
        let added = place.intervals()[axis].end;
        if added > 0 {
            // A later prepend takes what lies before the first element for fill, so the elements go first.
            let ordinals = 0..grid.locate(axis, added - 1) + 1;
            let last = ordinals.end;
            let wanted = |o: &[u64]| o[axis] < last;
            let chunks = self.existing(state, grid, shape, wanted, Some((axis, ordinals))).await?;
            let inside = shape.iter().enumerate();
            let inside = inside.map(|(a, &len)| if a == axis { added..len } else { 0..len });
            let inside = Region::new(inside);
            for ordinals in chunks {
                if !self.forget(&known, &ordinals, &inside, layout).await? {
                    return Ok(false);
                }
            }
        }
        let ChunkLayout { grid: was, .. } = old.layout()?;
        if self.regrid(layout, &old.metadata.shape, &*was).await?.is_none() {
            return Ok(false);
        }
        // A state of its own: one that was known is never known again.
        self.settle(state, &self.state_of((*old.metadata).clone())?).await;
        Ok(true)
    }

    /// Gives the document another shape and grid, if it says `seen`; what it says then, and whether the consolidated
    /// copies could be made again. `None` if it says another thing.
    async fn regrid(
        &self,
        seen: &Layout,
        shape: &[u64],
        grid: &dyn ChunkGrid,
    ) -> Result<Option<(Layout, Result<()>)>> {
        let format = &self.context.format;
        let mut same = true;
        let change = |json: Json| {
            same = format.layout(&json) == *seen;
            match json {
                Json::Object(mut document) if same => {
                    format.regrid(&mut document, shape, grid)?;
                    Ok(Json::Object(document))
                }
                other => Ok(other),
            }
        };
        let document = self.document()?;
        let (after, copied) = self.context.edit_and_copy(&self.path, &document, change).await?;
        Ok(same.then(|| (format.layout(&after), copied)))
    }
}
