//! Erases what a chunk stores outside a region, while the array's document has a given layout.
//!
//! Resizing uses it: elements outside the array must not appear again when it grows (docs/internals/design/crash-safety.md).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::compare_and_swap::{Edited, MAX_ATTEMPTS, compare_and_swap, unless_given_up, whole};
use super::{ArrayCore, ChunkLayout};
use crate::context::is_too_large;
use crate::error::{Error, Result};
use crate::format::{DocumentMember, Layout};
use crate::grid::extents;
use crate::options::Guard;
use crate::region::Region;
use crate::store::Snapshot;

impl ArrayCore {
    /// Where the document is that has the array's shape, as a whole.
    pub fn document(&self) -> Result<DocumentMember> {
        let place = self.context.format.shape_member(&self.path).map_err(|e| self.at(e))?;
        Ok(DocumentMember { member: None, ..place })
    }

    /// The layout that the document has now; `None` if it is absent or broken.
    async fn layout_now(&self) -> Result<Option<Layout>> {
        let Some(bytes) = self.context.document(&self.document()?.key).await? else {
            return Ok(None);
        };
        let json = self.context.format.encoding().decode(&bytes).ok();
        Ok(json.map(|(json, _)| self.context.format.layout(&json)))
    }

    /// Makes the elements of one chunk outside `inside` fill, if the document has this layout; `false` if it has another.
    /// A chunk without elements inside is erased.
    pub async fn clear_outside(
        &self,
        known: &ChunkLayout,
        ordinals: &[u64],
        inside: &Region,
        layout: &Layout,
    ) -> Result<bool> {
        let spans = extents(&*known.chunks().grid, ordinals);
        let indices: Vec<i64> = spans.iter().map(|s| s.index).collect();
        let stored: Vec<u64> = spans.iter().map(|s| s.stored).collect();
        let keep = Region::new(spans.iter().zip(inside.intervals()).map(|(s, inside)| {
            let from = inside.start.saturating_sub(s.start).min(s.len);
            let to = inside.end.saturating_sub(s.start).min(s.len).max(from);
            s.before + from..s.before + to
        }));
        let key = known.key(&indices);
        let at = |e: Error| self.at(e).at_chunk(&indices).at_key(&key);
        let (stored, keep, is_same) = (&stored, &keep, &AtomicBool::new(true));
        let edit = |old: Option<Arc<dyn Snapshot>>| async move {
            let edited = match old {
                None => return Ok(Edited::Keep),
                Some(_) if keep.is_empty() => Edited::Erase,
                Some(old) => {
                    let old = whole(Some(&*old)).await?.unwrap_or_default();
                    self.cleared_outside(known, stored, keep, &old)?
                }
            };
            // The chunk was read first: if another writer had appended before, the document would show it now.
            if self.layout_now().await?.as_ref() == Some(layout) {
                return Ok(edited);
            }
            is_same.store(false, Ordering::Relaxed);
            Ok(Edited::Keep)
        };
        let capabilities = self.context.store.capabilities();
        // Also if the caller has the guard off, where the store can compare: other writers may know the old shape.
        let guard = if capabilities.swap { Guard::On } else { Guard::Off };
        // A chunk that is erased need not be read, whatever its size, if opening it costs nothing; the store erases the
        // version that was opened. A chunk in an archive could be inflated to any size.
        let most = if keep.is_empty() && capabilities.cheap_ranges && capabilities.swap_erase {
            u64::MAX
        } else {
            self.most_stored(known, Some(stored))
        };
        let is_done = compare_and_swap(&self.context, guard, &key, most, edit, MAX_ATTEMPTS).await;
        // A store that cannot compare before an erase fetches no chunk above the limit, which no reader accepts.
        if keep.is_empty() && !capabilities.swap_erase && is_done.as_ref().is_err_and(is_too_large)
        {
            if self.layout_now().await.map_err(at)?.as_ref() != Some(layout) {
                return Ok(false);
            }
            let writeable = self.context.writeable().map_err(at)?;
            writeable.erase(&key).await.map_err(|e| at(e.into()))?;
            return Ok(true);
        }
        unless_given_up(is_done.map_err(at)?).map_err(at)?;
        Ok(is_same.load(Ordering::Relaxed))
    }
}
