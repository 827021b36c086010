//! Grows and shrinks an array without losing or reviving elements.
//!
//! Shrinking: document first, then forget what lies outside. Growing: forget first what lies where the
//! array is to be, since another library, or a shrinking that was cut short, may have left something
//! there (decision 0106). A chunk is changed only while the document still has the shape from which the
//! change was worked out, and the grid, so that it cannot wipe what another writer has appended meanwhile.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::chunk_writer::whole;
use super::compare_and_swap::{Edited, MAX_ATTEMPTS, compare_and_swap, unless_given_up};
use super::known::MOST_READINGS;
use super::{ArrayCore, ArrayState, ChunkLayout, wrong_kind};
use crate::error::{AccessError, Cause, Error, MetadataError, Result, StoreError};
use crate::format::{Layout, Place};
use crate::grid::ChunkGrid;
use crate::hierarchy::{Guard, document};
use crate::json::Json;
use crate::metadata::{NodeKind, NodeMetadata};
use crate::region::{Region, element_count};
use crate::store::{Snapshot, StoreKey};

/// The most chunks that are looked for one by one where the store cannot list.
const MOST_PROBES: u64 = 1_000_000;
/// Looking for so many chunks one by one is cheaper than listing all.
const FEW_PROBES: u64 = 4096;

/// What of an array is stored. See [`crate::Array::stored_size`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredSize {
    /// How many chunks, or shards, where the array has those.
    pub chunks: u64,
    /// How many bytes they have.
    pub bytes: u64,
}

/// The hint of an error after which the array is as it was.
pub(super) const NOT_COPIED: &str =
    "nothing is added: the consolidated copies of the array's document could not be made again";

/// What came of a change of the shape.
struct Reshaped {
    state: Arc<ArrayState>,
    old: Vec<u64>,
    /// Whether what lies outside could be forgotten, too.
    cut_off: Result<()>,
    /// Whether the consolidated copies could be made again.
    copied: Result<()>,
}

impl ArrayCore {
    /// Gives the array a new shape.
    pub async fn resize(&self, shape: &[u64]) -> Result<()> {
        self.reshape(|_| Ok(shape.to_vec())).await.map(|_| ())
    }

    /// Makes the array longer along `axis` by what `count` elements fill; returns the array as it is
    /// then, and the place of the new elements.
    pub async fn grow(&self, axis: usize, count: usize) -> Result<(Arc<ArrayState>, Region)> {
        let longer = |old: &[u64]| {
            let mut shape = old.to_vec();
            let more = extent_of(old, axis, count)?;
            let too_long = || {
                AccessError::Argument(format!("axis {axis} would be longer than 64 bits can count"))
            };
            shape[axis] = old[axis].checked_add(more).ok_or_else(too_long)?;
            Ok(shape)
        };
        let Reshaped { state, old, copied, .. } = self.reshape_and_cut(longer).await?;
        let more = extent_of(&old, axis, count).map_err(|e| self.at(e))?;
        let place = old
            .iter()
            .enumerate()
            .map(|(a, &len)| if a == axis { len..len + more } else { 0..len });
        let place = Region::new(place);
        match copied {
            Ok(()) => Ok((state, place)),
            Err(e) => Err(self.give_back(axis, &place, e.with_hint(NOT_COPIED)).await),
        }
    }

    /// Takes back what [`ArrayCore::grow`] added along `axis`, since its elements could not be written because of `error`;
    /// unless the shape is no longer the one that it made (decision 0140). Returns the error.
    pub async fn give_back(&self, axis: usize, place: &Region, error: Error) -> Error {
        let added = &place.intervals()[axis];
        let grown: Vec<u64> = place.intervals().iter().map(|range| range.end).collect();
        let mut old = grown.clone();
        old[axis] = added.start;
        let back = |now: &[u64]| Ok(if now == grown { old.clone() } else { now.to_vec() });
        // The document comes first: what then could not be erased lies outside the array.
        let given_back =
            self.reshape_and_cut(back).await.is_ok_and(|reshaped| reshaped.old == grown);
        if given_back { error } else { left_as_fill(error, axis, added) }
    }

    /// Changes the shape to what `to` makes of it; returns the array as it is then, and the shape it had.
    pub async fn reshape(
        &self,
        to: impl Fn(&[u64]) -> Result<Vec<u64>, AccessError>,
    ) -> Result<(Arc<ArrayState>, Vec<u64>)> {
        let Reshaped { state, old, cut_off, copied } = self.reshape_and_cut(to).await?;
        cut_off?;
        copied?;
        Ok((state, old))
    }

    /// As [`ArrayCore::reshape`]; an error says that the shape is not known to have changed.
    async fn reshape_and_cut(
        &self,
        to: impl Fn(&[u64]) -> Result<Vec<u64>, AccessError>,
    ) -> Result<Reshaped> {
        let context = &self.context;
        context.writeable().map_err(|e| self.at(e))?;
        let whole = self.document()?;
        let place = context.format.shape_place(&self.path).map_err(|e| self.at(e))?;
        let member = place.member.unwrap_or("shape");
        for _ in 0..MAX_ATTEMPTS {
            let (state, seen) = self.look().await?;
            self.writeable(&state)?;
            let old = state.metadata.shape.clone();
            let new = to(&old).map_err(|e| self.at(e))?;
            if new.len() != old.len() {
                return Err(self.at(AccessError::Rank { expected: old.len(), found: new.len() }));
            }
            if new == old {
                return Ok(Reshaped { state, old, cut_off: Ok(()), copied: Ok(()) });
            }
            if let Ok(ChunkLayout { grid, .. }) = state.layout()
                && let Some(axis) =
                    (0..new.len()).find(|&a| grid.reach(a).is_some_and(|reach| new[a] > reach))
            {
                let reach = grid.reach(axis).unwrap_or_default();
                let why = format!(
                    "the chunk grid ends at {reach} along axis {axis}, and cannot be longer"
                );
                return Err(self.at(AccessError::Argument(why)));
            }
            let forget = !context.options.keep_cut_off;
            if forget && !self.make_way(&state, &old, &new, &seen).await? {
                continue;
            }
            // Only if nobody changed the shape or the grid since they were read above.
            let mut same = true;
            let change = |json: Json| {
                same = context.format.layout(&json) == seen;
                match json {
                    Json::Object(mut document) if same => {
                        document.insert(member, &new[..]);
                        Ok(Json::Object(document))
                    }
                    other => Ok(other),
                }
            };
            let (after, copied) = context.edit_and_copy(&self.path, &whole, change).await?;
            if !same {
                copied?;
                continue;
            }
            let mut metadata = (*state.metadata).clone();
            metadata.shape = new.clone();
            let before = state;
            let state = self.state_of(metadata)?;
            self.settle(&before, &state).await;
            if forget && (0..old.len()).any(|axis| new[axis] < old[axis]) {
                let cut_off =
                    self.cut_off(&state, &old, &new, &context.format.layout(&after)).await;
                return Ok(Reshaped { state, old, cut_off, copied });
            }
            return Ok(Reshaped { state, old, cut_off: Ok(()), copied });
        }
        Err(self.at(AccessError::Conflict { rounds: MAX_ATTEMPTS }))
    }

    /// Forgets whatever is stored where an array of shape `old` is to grow to `new`; `false` if its layout
    /// changed meanwhile.
    async fn make_way(
        &self,
        state: &Arc<ArrayState>,
        old: &[u64],
        new: &[u64],
        layout: &Layout,
    ) -> Result<bool> {
        let Ok(known) = state.layout() else { return Ok(true) };
        let grid = &*known.grid;
        let mut chunks: Vec<Vec<u64>> = Vec::new();
        for axis in (0..old.len()).filter(|&axis| new[axis] > old[axis]) {
            // From the chunk that holds the first new coordinate.
            let ordinals = grid.locate(axis, old[axis])..grid.count(axis, new[axis]);
            let first = ordinals.start;
            let wanted = |o: &[u64]| o[axis] >= first;
            chunks.extend(self.existing(state, grid, new, wanted, Some((axis, ordinals))).await?);
        }
        chunks.sort();
        chunks.dedup();
        let inside = Region::all(old);
        for ordinals in chunks {
            if !self.forget(&known, &ordinals, &inside, layout).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Forgets what lies outside `new`.
    async fn cut_off(
        &self,
        state: &Arc<ArrayState>,
        old: &[u64],
        new: &[u64],
        layout: &Layout,
    ) -> Result<()> {
        let Ok(known) = state.layout() else { return Ok(()) };
        let grid = &*known.grid;
        let reaches_out = |o: &[u64]| {
            let beyond = |axis: usize| {
                let span = grid.span(axis, o[axis]);
                new[axis] < old[axis] && span.start.saturating_add(span.len) > new[axis]
            };
            (0..new.len()).any(beyond)
        };
        let inside = Region::all(new);
        for ordinals in self.existing(state, grid, old, reaches_out, None).await? {
            if !self.forget(&known, &ordinals, &inside, layout).await? {
                // Somebody gave the array another shape: if it grew, they have made way themselves.
                return Ok(());
            }
        }
        Ok(())
    }

    /// The array's document, as a whole.
    pub(super) fn document(&self) -> Result<Place> {
        let place = self.context.format.shape_place(&self.path).map_err(|e| self.at(e))?;
        Ok(Place { member: None, ..place })
    }

    /// The array as its documents have it now, and what they say of where its elements are: one look tells
    /// both what to change and whether it is still the same then. The handles know that state, or a newer one.
    pub(super) async fn look(&self) -> Result<(Arc<ArrayState>, Layout)> {
        let mut first = None;
        for _ in 0..MOST_READINGS {
            let before = self.state();
            let found = self.look_once().await?;
            if self.learn(&before, &found.0) {
                return Ok(found);
            }
            first.get_or_insert(found);
        }
        Ok(first.expect("the document was read"))
    }

    async fn look_once(&self) -> Result<(Arc<ArrayState>, Layout)> {
        let (context, document) = (&self.context, self.document()?);
        let found = context.documents(&self.path).await.map_err(|e| self.at(e))?;
        let bytes = found.iter().find(|(key, _)| *key == document.key).map(|(_, bytes)| bytes);
        let looked_for = || AccessError::NotFound { looked_for: format!("`{}`", document.key) };
        let bytes = bytes.ok_or_else(|| self.at(looked_for()))?;
        let json = context.format.encoding().decode(bytes).map_err(MetadataError::Json);
        let layout = context.format.layout(&json.map_err(|e| self.at(e))?.0);
        match context.parse(&self.path, &found).map_err(|e| self.at(e))? {
            Some(NodeMetadata::Array(metadata)) => Ok((self.state_of(*metadata)?, layout)),
            _ => Err(self.at(wrong_kind(NodeKind::Group))),
        }
    }

    /// What the document says now of where the elements are; `None` if there is none.
    async fn layout_now(&self) -> Result<Option<Layout>> {
        let key = self.document()?.key;
        let limits = &self.context.options.limits;
        let Some(bytes) = document(&*self.context.store, &key, limits).await? else {
            return Ok(None);
        };
        let json = self.context.format.encoding().decode(&bytes).ok();
        Ok(json.map(|(json, _)| self.context.format.layout(&json)))
    }

    /// Refills one chunk outside `inside`, while the array has this layout; `false` if it has not.
    pub(super) async fn forget(
        &self,
        known: &ChunkLayout,
        ordinals: &[u64],
        inside: &Region,
        layout: &Layout,
    ) -> Result<bool> {
        let spans: Vec<_> =
            ordinals.iter().enumerate().map(|(axis, &o)| known.grid.span(axis, o)).collect();
        let indices: Vec<i64> = spans.iter().map(|s| s.index).collect();
        let stored: Vec<u64> = spans.iter().map(|s| s.stored).collect();
        let keep = Region::new(spans.iter().zip(inside.intervals()).map(|(s, inside)| {
            let from = inside.start.saturating_sub(s.start).min(s.len);
            let to = inside.end.saturating_sub(s.start).min(s.len).max(from);
            s.before + from..s.before + to
        }));
        let key = known.key(&indices).map_err(|e| self.at(e))?;
        let at = |e: Error| self.at(e).at_chunk(&indices).at_key(&key);
        let (stored, keep, is_same) = (&stored, &keep, &AtomicBool::new(true));
        let edit = |old: Option<Arc<dyn Snapshot>>| async move {
            let edited = match old {
                None => return Ok(Edited::Keep),
                Some(_) if keep.is_empty() => Edited::Erase,
                Some(old) => {
                    let old = whole(Some(&*old)).await?.unwrap_or_default();
                    self.scrubbed(known, stored, keep, &old)?
                }
            };
            // The chunk was read first: had anybody appended before, the document would show it now.
            if self.layout_now().await?.as_ref() == Some(layout) {
                return Ok(edited);
            }
            is_same.store(false, Ordering::Relaxed);
            Ok(Edited::Keep)
        };
        // Also for callers who turned the guard off, where the store can do it: writers elsewhere may know the old shape.
        let guard = if self.context.store.capabilities().swap { Guard::On } else { Guard::Off };
        // A chunk that goes as a whole need not be read, whatever its size, where to open one costs nothing; the store erases
        // the version that was opened. Out of an archive it could be inflated to any size.
        let capabilities = self.context.store.capabilities();
        let most = if keep.is_empty() && capabilities.cheap_ranges && capabilities.swap_erase {
            u64::MAX
        } else {
            self.most_stored(known, Some(stored))
        };
        let is_done = compare_and_swap(&self.context, guard, &key, most, edit, MAX_ATTEMPTS).await;
        // A store that cannot guard an erase fetches no chunk that no reader takes.
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

    /// How many chunks of the array are stored, by one listing.
    pub async fn stored_chunks(&self) -> Result<u64> {
        self.context.listable().map_err(|e| self.at(e))?;
        let state = self.state();
        let ChunkLayout { grid, .. } = state.layout().map_err(|e| self.at(e))?;
        Ok(self.stored(&state, &*grid, &state.metadata.shape).await?.len() as u64)
    }

    /// How many chunks of the array are stored, and in how many bytes, by one listing and a look at each.
    pub async fn stored_size(&self) -> Result<StoredSize> {
        self.context.listable().map_err(|e| self.at(e))?;
        let state = self.state();
        let ChunkLayout { grid, .. } = state.layout().map_err(|e| self.at(e))?;
        let stored = self.stored_keys(&state, &*grid, &state.metadata.shape).await?;
        let sizes = stored.iter().map(|(key, _)| async {
            self.context.size(key).await.map_err(|e| self.at(e).at_key(key))
        });
        let sizes = self.context.all(sizes).await?;
        let bytes = sizes.iter().flatten().fold(0, |sum: u64, &size| sum.saturating_add(size));
        Ok(StoredSize { chunks: sizes.iter().flatten().count() as u64, bytes })
    }

    /// The ordinals of all stored chunks inside the grid of `shape`.
    async fn stored(
        &self,
        state: &ArrayState,
        grid: &dyn ChunkGrid,
        shape: &[u64],
    ) -> Result<Vec<Vec<u64>>> {
        let stored = self.stored_keys(state, grid, shape).await?;
        Ok(stored.into_iter().map(|(_, ordinals)| ordinals).collect())
    }

    /// The keys of all stored chunks inside the grid of `shape`, and the chunks' ordinals.
    async fn stored_keys(
        &self,
        state: &ArrayState,
        grid: &dyn ChunkGrid,
        shape: &[u64],
    ) -> Result<Vec<(StoreKey, Vec<u64>)>> {
        let keys = self.context.list_prefix(state.prefix()).await.map_err(|e| self.at(e))?;
        let ordinals = |key: &StoreKey| {
            let key = state.prefix().strip(key)?;
            let indices = state.metadata.chunk_keys.parse(key, shape.len())?;
            let ordinal = |axis: usize| ordinal_of(grid, axis, indices[axis], shape[axis]);
            (0..shape.len()).map(ordinal).collect::<Option<Vec<u64>>>()
        };
        let with_ordinals = |key: StoreKey| ordinals(&key).map(|ordinals| (key, ordinals));
        Ok(keys.into_iter().filter_map(with_ordinals).collect())
    }

    /// The ordinals of stored chunks inside the grid of `shape` that are `wanted`. With `among`, only
    /// chunks of those ordinals on that axis can be.
    pub(super) async fn existing(
        &self,
        state: &ArrayState,
        grid: &dyn ChunkGrid,
        shape: &[u64],
        wanted: impl Fn(&[u64]) -> bool,
        among: Option<(usize, Range<u64>)>,
    ) -> Result<Vec<Vec<u64>>> {
        let ranges: Vec<Range<u64>> = (0..shape.len())
            .map(|axis| match &among {
                Some((a, ordinals)) if *a == axis => ordinals.clone(),
                _ => 0..grid.count(axis, shape[axis]),
            })
            .collect();
        let candidates = element_count(&ranges.iter().map(|r| r.end - r.start).collect::<Vec<_>>());
        let listable = self.context.listable();
        if candidates.is_none_or(|n| n > FEW_PROBES)
            && let Ok(_) = listable
        {
            let stored = self.stored(state, grid, shape).await?;
            return Ok(stored.into_iter().filter(|ordinals| wanted(ordinals)).collect());
        }
        match candidates {
            Some(n) if n <= MOST_PROBES => {
                let mut all = vec![Vec::new()];
                for range in ranges {
                    all = all
                        .into_iter()
                        .flat_map(|head: Vec<u64>| {
                            range.clone().map(move |o| head.iter().copied().chain([o]).collect())
                        })
                        .collect();
                }
                Ok(all.into_iter().filter(|ordinals: &Vec<u64>| wanted(ordinals)).collect())
            }
            _ => {
                let error = StoreError::not_capable("find the chunks to forget", "listable");
                Err(self.at(error).with_hint("set `keep_cut_off` to leave them"))
            }
        }
    }
}

fn is_too_large(error: &Error) -> bool {
    matches!(error.cause(), Cause::Store(StoreError::TooLarge { .. }))
}

/// The error of elements that were not written, and whose place stays.
pub(super) fn left_as_fill(error: Error, axis: usize, place: &Range<u64>) -> Error {
    error.with_hint(format!(
        "elements {}..{} along axis {axis} read as the fill value; write them again",
        place.start, place.end
    ))
}

/// How much longer an array of this shape gets along `axis` when `count` elements are appended.
pub(super) fn extent_of(shape: &[u64], axis: usize, count: usize) -> Result<u64, AccessError> {
    if axis >= shape.len() {
        return Err(AccessError::Argument(format!("there is no axis {axis}")));
    }
    let others = shape.iter().enumerate().filter(|(a, _)| *a != axis);
    let slice = others.map(|(_, &len)| len).try_fold(1u64, u64::checked_mul).unwrap_or(u64::MAX);
    let found = count as u64;
    if slice == 0 || !found.is_multiple_of(slice) {
        let expected = if slice == 0 { 0 } else { found.div_ceil(slice).saturating_mul(slice) };
        return Err(AccessError::Count { expected, found });
    }
    Ok(found / slice)
}

/// The ordinal of the chunk with this index; indices count from the first chunk's.
fn ordinal_of(grid: &dyn ChunkGrid, axis: usize, index: i64, len: u64) -> Option<u64> {
    let first = grid.span(axis, 0).index;
    let ordinal = u64::try_from(index.checked_sub(first)?).ok()?;
    (ordinal < grid.count(axis, len).max(1)).then_some(ordinal)
}
