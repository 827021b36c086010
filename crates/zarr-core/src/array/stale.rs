//! Finds out, before a write, whether the array is still the one that the handle knows.
//!
//! Another process may have shortened, erased or replaced it since it was opened. What is written then would be
//! forgotten, or damage another array. So each write gets the array's document first, once, however many chunks it
//! covers, and compares it with the one it saw last (decision 0011). With the guard off nothing is compared.

use super::{ArrayCore, ArrayState, wrong_kind};
use crate::dialect::Dialect;
use crate::error::{AccessError, Result};
use crate::format::Documents;
use crate::hierarchy::{Guard, document};
use crate::metadata::{ArrayMetadata, NodeKind, NodeMetadata};
use crate::selection::ResolvedSelection;
use crate::sync::lock;

const HINT: &str = "another writer gave the array another shape since it was opened; refresh it";

impl ArrayCore {
    /// An error if `part` of the array as this handle knows it is no part of the array as it is now.
    pub async fn check_still_there(
        &self,
        state: &ArrayState,
        part: &ResolvedSelection,
    ) -> Result<()> {
        let context = &self.context;
        if context.options.guard == Guard::Off || !context.store.capabilities().read {
            return Ok(());
        }
        // A format that keeps no document of its own has nothing to compare.
        let Ok(place) = context.format.shape_place(&self.path) else { return Ok(()) };
        let at = |e: crate::Error| self.at(e);
        let limits = &context.options.limits;
        let found = document(&*context.store, &place.key, limits).await.map_err(at)?;
        let seen = || lock(&state.seen);
        if found.is_some() && *seen() == found {
            return Ok(());
        }
        let documents = match (&found, context.format.dialect()) {
            // Attributes may say what elements are, and lie apart.
            (_, Dialect::V2) | (None, _) => context.documents(&self.path).await.map_err(at)?,
            (Some(bytes), _) => Documents::from([(place.key.clone(), bytes.clone())]),
        };
        let now = match context.parse(&self.path, &documents).map_err(at)? {
            Some(NodeMetadata::Array(now)) => now,
            Some(NodeMetadata::Group(_)) => return Err(self.at(wrong_kind(NodeKind::Group))),
            None => {
                let looked_for = format!("`{}`", place.key);
                let hint = "the array was erased since it was opened";
                return Err(self.at(AccessError::NotFound { looked_for }).with_hint(hint));
            }
        };
        if !is_same(&state.metadata, &now) {
            return Err(self.at(AccessError::Replaced));
        }
        if has_moved(&state.metadata, &now) {
            // Its elements have other coordinates, and lie where they did.
            return Ok(());
        }
        for (axis, (range, &len)) in part.bounds().intervals().iter().zip(&now.shape).enumerate() {
            if range.end > len && !part.is_empty() {
                let (start, end) = (range.start, range.end);
                let error = AccessError::OutOfBounds { axis, start, end, len };
                return Err(self.at(error).with_hint(HINT));
            }
        }
        // Of a document that allows less than this handle each write is compared.
        if now.shape.iter().zip(&state.metadata.shape).all(|(now, known)| now >= known) {
            *seen() = found;
        }
        Ok(())
    }
}

/// Whether what is stored of one array means the same in the other, if both have the element.
fn is_same(known: &ArrayMetadata, now: &ArrayMetadata) -> bool {
    let words = |array: &ArrayMetadata| format!("{:?} {:?}", array.data_type, array.shards);
    known.shape.len() == now.shape.len()
        && known.codecs == now.codecs
        && known.chunk_keys == now.chunk_keys
        && known.fill_value == now.fill_value
        && known.chunk_shape() == now.chunk_shape()
        && words(known) == words(now)
        && (grids_are_equal(known, now) || can_move(known) && can_move(now))
}

fn grids_are_equal(known: &ArrayMetadata, now: &ArrayMetadata) -> bool {
    format!("{:?}", known.grid) == format!("{:?}", now.grid)
}

/// Whether the array can grow before its first element, so that coordinates change.
fn can_move(array: &ArrayMetadata) -> bool {
    array
        .grid
        .as_ref()
        .is_some_and(|grid| (0..array.shape.len()).any(|axis| grid.grown_before(axis, 1).is_some()))
}

fn has_moved(known: &ArrayMetadata, now: &ArrayMetadata) -> bool {
    !grids_are_equal(known, now)
}
