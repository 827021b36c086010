//! Refuses a write through a handle whose array another writer has shortened, erased or replaced, and a read through one whose array is
//! gone.
//!
//! What is written then would be lost, or damage another array. So each write first gets the array's document, once for
//! all its chunks, and compares it with the one it saw last (docs/internals/design/concurrency.md). With the guard off
//! nothing is compared.

use std::sync::atomic::{AtomicBool, Ordering};

use super::chunk_store::ChunkStore;
use super::layout::ChunkLayout;
use crate::dialect::Dialect;
use crate::error::{AccessError, Error, Result};
use crate::format::Documents;
use crate::metadata::{ArrayMetadata, NodeKind, NodeMetadata};
use crate::options::Guard;
use crate::selection::ResolvedSelection;
use crate::store::StoreKey;
use crate::sync::lock;

const GONE: &str =
    "the array was erased or renamed after it was opened, or its file system is no longer mounted";
const HINT: &str = "another writer resized the array after it was opened; refresh it";

/// An error if the array's document is gone. It is looked for where none of the chunks that a call needs is stored: either the array is
/// empty there, or there is no array any more, and its elements would all read as fill. `was_stored` says whether the store is known
/// to have had the document.
pub(super) async fn check_not_gone(store: ChunkStore<'_>, was_stored: &AtomicBool) -> Result<()> {
    let ChunkStore { context, path, .. } = store;
    // A format without documents has nothing to look for.
    let Ok(place) = context.format.shape_member(path) else { return Ok(()) };
    let was_there = was_stored.load(Ordering::Relaxed);
    match context.size(&place.key).await {
        Ok(Some(_)) => {
            was_stored.store(true, Ordering::Relaxed);
            return Ok(());
        }
        // The caller brought the metadata.
        Ok(None) if !was_there && context.options.documents_are_stored => {
            if has_document_above(store).await {
                return Ok(());
            }
        }
        _ if !was_there => return Ok(()),
        Err(e) => return Err(e.at_key(&place.key)),
        Ok(None) => {}
    }
    // Of some nodes only the copy is stored.
    if let Some(holder) = &context.holder
        && context.size(holder).await.map_err(|e| e.at_key(holder))?.is_some()
    {
        return Ok(());
    }
    let looked_for = format!("`{}`", place.key);
    Err(Error::from(AccessError::NotFound { looked_for }).with_hint(GONE))
}

/// The error of a read, or that of the array if a chunk is missing because the whole array is gone.
pub(super) async fn missing_or_gone(
    store: ChunkStore<'_>,
    was_stored: &AtomicBool,
    error: Error,
) -> Error {
    if !error.is_missing_chunk() {
        return error;
    }
    match check_not_gone(store, was_stored).await {
        Ok(()) => error,
        Err(gone) => gone,
    }
}

/// Whether the hierarchy, or a group above the array, has a document, or copies of documents; so it counts if the store does not say.
async fn has_document_above(store: ChunkStore<'_>) -> bool {
    let context = store.context;
    let format = &store.context.format;
    let entry_point = format.entry_point().unwrap_or_default();
    let mut keys: Vec<StoreKey> = entry_point.into_iter().map(|(key, _)| key).collect();
    for path in store.path.ancestors() {
        keys.extend(format.document_keys(&path).unwrap_or_default());
        if format.dialect() == Dialect::V2 {
            let copies = format.children_prefix(&path).and_then(|prefix| prefix.key(".zmetadata"));
            keys.extend(copies);
        }
    }
    for key in &keys {
        if !matches!(context.size(key).await, Ok(None)) {
            return true;
        }
    }
    false
}

/// An error if the part of the array as a handle knows it is not part of the array as it is now.
pub(super) async fn check_still_there(
    store: ChunkStore<'_>,
    layout: &ChunkLayout,
    part: &ResolvedSelection,
) -> Result<()> {
    let ChunkStore { context, path, options } = store;
    if options.guard == Guard::Off || !context.store.capabilities().read {
        return Ok(());
    }
    // A format without documents has nothing to compare.
    let Ok(place) = context.format.shape_member(path) else { return Ok(()) };
    let found = context.document(&place.key).await?;
    let (seen, known) = (&layout.state().seen, layout.metadata());
    if found.is_some() && *lock(seen) == found {
        return Ok(());
    }
    let documents = match (&found, context.format.dialect()) {
        // Attributes may describe the elements, and are in another document.
        (_, Dialect::V2) | (None, _) => context.documents(path).await?,
        (Some(bytes), _) => Documents::from([(place.key.clone(), bytes.clone())]),
    };
    let now = match context.parse(path, &documents)? {
        Some(NodeMetadata::Array(now)) => now,
        Some(NodeMetadata::Group(_)) => {
            return Err(wrong_kind(NodeKind::Group).into());
        }
        None => {
            let looked_for = format!("`{}`", place.key);
            let hint = "the array was erased since it was opened";
            return Err(Error::from(AccessError::NotFound { looked_for }).with_hint(hint));
        }
    };
    if !is_same(known, &now) {
        return Err(AccessError::Replaced.into());
    }
    if !known.has_grid_of(&now) {
        // Its elements have other coordinates, and are stored where they were.
        return Ok(());
    }
    for (axis, (range, &len)) in part.bounds().intervals().iter().zip(&now.shape).enumerate() {
        if range.end > len && !part.is_empty() {
            let (start, end) = (range.start, range.end);
            let error = AccessError::OutOfBounds { axis, start, end, len };
            return Err(Error::from(error).with_hint(HINT));
        }
    }
    // A document with a shorter shape than this handle's is compared before each write.
    if now.shape.iter().zip(&known.shape).all(|(now, known)| now >= known) {
        *lock(seen) = found;
    }
    Ok(())
}

/// Whether both arrays have the same elements, where both have any.
fn is_same(known: &ArrayMetadata, now: &ArrayMetadata) -> bool {
    known.shape.len() == now.shape.len()
        && known.stores_elements_as(now)
        && known.chunk_shape() == now.chunk_shape()
        && (known.has_grid_of(now) || can_move(known) && can_move(now))
}

/// Whether the array can grow before its first element, so that coordinates change.
fn can_move(array: &ArrayMetadata) -> bool {
    array
        .grid
        .as_ref()
        .is_some_and(|grid| (0..array.shape.len()).any(|axis| grid.grown_before(axis, 1).is_some()))
}

pub(crate) fn wrong_kind(is: NodeKind) -> AccessError {
    let wanted = if is == NodeKind::Group { NodeKind::Array } else { NodeKind::Group };
    AccessError::NodeKind { is: is.phrase(), wanted: wanted.phrase() }
}
