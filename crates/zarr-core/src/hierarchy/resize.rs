//! How does an array grow and shrink without losing or reviving elements?
//!
//! Shrinking: document first, then erase what lies outside, then refill what edge chunks overhang.
//! Growing: refill the old overhang first, since another library may have left something there
//! (DECISIONS 6). Every refill happens only while the document still says what it was worked out
//! from, so that it cannot wipe what another writer has appended meanwhile.

use std::sync::Arc;

use bytes::Bytes;

use super::opened::{Opened, State};
use super::update::Edited;
use crate::error::{AccessError, Result, StoreError};
use crate::grid::ChunkGrid;
use crate::json::Json;
use crate::region::{Region, element_count};
use crate::store::StoreKey;

/// The most chunks that are looked for one by one where the store cannot list.
const MOST_PROBES: u64 = 1_000_000;
/// Looking for so many chunks one by one is cheaper than listing all.
const FEW_PROBES: u64 = 256;
const MOST_ROUNDS: u32 = 10_000;

impl Opened {
    /// Gives the array a new shape.
    pub async fn resize(&self, shape: &[u64]) -> Result<()> {
        self.reshape(|_| Ok(shape.to_vec())).await.map(|_| ())
    }

    /// Makes the array longer by `more` along `axis`; returns where the new part begins.
    pub async fn grow(&self, axis: usize, more: u64) -> Result<u64> {
        let old = self
            .reshape(|old| {
                let mut shape = old.to_vec();
                let len = shape
                    .get_mut(axis)
                    .ok_or(AccessError::Rank { expected: old.len(), found: axis + 1 })?;
                let too_long = || {
                    AccessError::Argument(format!(
                        "axis {axis} would be longer than 64 bits can count"
                    ))
                };
                *len = len.checked_add(more).ok_or_else(too_long)?;
                Ok(shape)
            })
            .await?;
        Ok(old[axis])
    }

    /// Changes the shape to what `to` makes of it; returns what it was.
    async fn reshape(
        &self,
        to: impl Fn(&[u64]) -> Result<Vec<u64>, AccessError>,
    ) -> Result<Vec<u64>> {
        let room = &self.room;
        room.writeable().map_err(|e| self.at(e))?;
        let place = room.format.shape_place(&self.path).map_err(|e| self.at(e))?;
        for _ in 0..MOST_ROUNDS {
            let before = room.get(&place.key).await.map_err(|e| self.at(e))?;
            let state = self.refresh().await?;
            let old = state.metadata.shape.clone();
            let new = to(&old).map_err(|e| self.at(e))?;
            if new.len() != old.len() {
                return Err(self.at(AccessError::Rank { expected: old.len(), found: new.len() }));
            }
            if new == old {
                return Ok(old);
            }
            let forget = !room.options.keep_cut_off;
            if forget
                && !self.scrub_overhang(&state, &old, &new, &place.key, before.as_ref()).await?
            {
                continue;
            }
            // Only if nobody changed the document since it was read above.
            let mut same = true;
            let change = |json: Json| {
                same = json == Json::from(&old[..]);
                Ok(if same { Json::from(&new[..]) } else { json })
            };
            room.edit(&self.path, &place, change).await?;
            if !same {
                continue;
            }
            let state = self.refresh().await?;
            let shrinks = (0..old.len()).any(|axis| new[axis] < old[axis]);
            if forget && shrinks && state.metadata.shape == new {
                self.cut_off(&state, &old, &new, &place.key).await?;
            }
            return Ok(old);
        }
        Err(self.at(AccessError::Conflict { rounds: MOST_ROUNDS }))
    }

    /// Refills what the edge chunks of `old` overhang along growing axes; `false` if the document
    /// changed meanwhile.
    async fn scrub_overhang(
        &self,
        state: &Arc<State>,
        old: &[u64],
        new: &[u64],
        document: &StoreKey,
        before: Option<&Bytes>,
    ) -> Result<bool> {
        let Ok((_, grid, _)) = state.access() else {
            return Ok(true);
        };
        let grows: Vec<usize> = (0..old.len())
            .filter(|&axis| new[axis] > old[axis] && overhangs(grid, axis, old[axis]))
            .collect();
        if grows.is_empty() || old.contains(&0) {
            return Ok(true);
        }
        // The chunks that hold the last coordinate of a growing axis.
        let mut edges: Vec<Vec<u64>> = Vec::new();
        for axis in grows {
            let last = grid.locate(axis, old[axis] - 1);
            edges.extend(
                self.existing(
                    state,
                    grid,
                    old,
                    |ordinals| ordinals[axis] == last,
                    Some((axis, last)),
                )
                .await?,
            );
        }
        edges.sort();
        edges.dedup();
        for ordinals in edges {
            if !self.scrub(state, grid, &ordinals, old, document, before).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Erases the chunks that lie outside `new`, and refills what edge chunks overhang.
    async fn cut_off(
        &self,
        state: &Arc<State>,
        old: &[u64],
        new: &[u64],
        document: &StoreKey,
    ) -> Result<()> {
        let Ok((_, grid, _)) = state.access() else {
            return Ok(());
        };
        let room = &self.room;
        let now = room.get(document).await.map_err(|e| self.at(e))?;
        let outside = |axis: usize, ordinal: u64| grid.span(axis, ordinal).start >= new[axis];
        let rank = new.len();
        let touched = |o: &[u64]| {
            (0..rank).any(|axis| {
                new[axis] < old[axis]
                    && (outside(axis, o[axis]) || straddles(grid, axis, o[axis], new[axis]))
            })
        };
        for ordinals in self.existing(state, grid, old, touched, None).await? {
            let gone = (0..rank).any(|axis| outside(axis, ordinals[axis]));
            let keep = if gone { &vec![0; rank] } else { new };
            if !self.scrub(state, grid, &ordinals, keep, document, now.as_ref()).await? {
                // Somebody changed the array again; what they made of it is theirs.
                return Ok(());
            }
        }
        Ok(())
    }

    /// Refills one chunk outside `shape`, while the document is as it was; `false` if it is not.
    async fn scrub(
        &self,
        state: &State,
        grid: &dyn ChunkGrid,
        ordinals: &[u64],
        shape: &[u64],
        document: &StoreKey,
        before: Option<&Bytes>,
    ) -> Result<bool> {
        let spans: Vec<_> =
            ordinals.iter().enumerate().map(|(axis, &o)| grid.span(axis, o)).collect();
        let indices: Vec<i64> = spans.iter().map(|s| s.index).collect();
        let stored: Vec<u64> = spans.iter().map(|s| s.stored).collect();
        let keep = Region::new(spans.iter().zip(shape).map(|(s, &len)| {
            let end = s.start.saturating_add(s.len).min(len).max(s.start);
            s.before..s.before + (end - s.start)
        }));
        let room = &self.room;
        let key = state.key(&indices).map_err(|e| self.at(e))?;
        let at = |e: crate::Error| self.at(e).at_chunk(&indices).at_key(&key);
        let writeable = room.writeable().map_err(at)?;
        for _ in 0..MOST_ROUNDS {
            let (old, version) = match room.store.conditional() {
                Some(conditional) => {
                    match conditional.get_versioned(&key).await.map_err(|e| at(e.into()))? {
                        Some((bytes, version)) => (bytes, Some(version)),
                        None => return Ok(true),
                    }
                }
                None => match room.get(&key).await.map_err(at)? {
                    Some(bytes) => (bytes, None),
                    None => return Ok(true),
                },
            };
            let edited = match keep.is_empty() {
                true => Edited::Erase,
                false => self.scrubbed(state, &stored, &keep, &old).map_err(at)?,
            };
            // The chunk was read first: had anybody appended before, the document would show it now.
            if room.get(document).await.map_err(at)?.as_ref() != before {
                return Ok(false);
            }
            let value = match edited {
                Edited::Keep => return Ok(true),
                Edited::Erase => None,
                Edited::Set(bytes) => Some(bytes),
            };
            let done = match (room.store.conditional(), &version, value) {
                (Some(conditional), Some(version), value) => {
                    conditional.set_if(&key, value.map(Into::into), Some(version)).await
                }
                (_, _, Some(bytes)) => writeable.set(&key, bytes.into()).await.map(|()| true),
                (_, _, None) => writeable.erase(&key).await.map(|()| true),
            };
            if done.map_err(|e| at(e.into()))? {
                return Ok(true);
            }
        }
        Err(at(AccessError::Conflict { rounds: MOST_ROUNDS }.into()))
    }

    /// The ordinals of stored chunks inside the grid of `shape` that are `wanted`. With `fixed`, only
    /// chunks of that ordinal on that axis can be.
    async fn existing(
        &self,
        state: &State,
        grid: &dyn ChunkGrid,
        shape: &[u64],
        wanted: impl Fn(&[u64]) -> bool,
        fixed: Option<(usize, u64)>,
    ) -> Result<Vec<Vec<u64>>> {
        let ranges: Vec<std::ops::Range<u64>> = (0..shape.len())
            .map(|axis| match fixed {
                Some((a, ordinal)) if a == axis => ordinal..ordinal + 1,
                _ => 0..grid.count(axis, shape[axis]),
            })
            .collect();
        let candidates = element_count(&ranges.iter().map(|r| r.end - r.start).collect::<Vec<_>>());
        let listable = self.room.listable();
        if candidates.is_none_or(|n| n > FEW_PROBES)
            && let Ok(_) = listable
        {
            let keys = self.room.list_prefix(state.prefix()).await.map_err(|e| self.at(e))?;
            let keys = keys.iter().filter_map(|key| {
                let indices =
                    state.metadata.chunk_keys.parse(state.prefix().strip(key)?, shape.len())?;
                let ordinal = |axis: usize| ordinal_of(grid, axis, indices[axis], shape[axis]);
                (0..shape.len()).map(ordinal).collect::<Option<Vec<u64>>>()
            });
            return Ok(keys.filter(|ordinals| wanted(ordinals)).collect());
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
                let error = StoreError::NotCapable {
                    operation: "find the chunks to forget",
                    capability: "listable",
                };
                Err(self.at(error).with_hint("set `keep_cut_off` to leave them"))
            }
        }
    }
}

/// Whether the last chunk of an axis of this length reaches past it.
fn overhangs(grid: &dyn ChunkGrid, axis: usize, len: u64) -> bool {
    len > 0 && straddles(grid, axis, grid.locate(axis, len - 1), len)
}

/// Whether a chunk has coordinates on both sides of `len`.
fn straddles(grid: &dyn ChunkGrid, axis: usize, ordinal: u64, len: u64) -> bool {
    let span = grid.span(axis, ordinal);
    span.start < len && span.start.saturating_add(span.len) > len
}

/// The ordinal of the chunk with this index; indices count from the first chunk's.
fn ordinal_of(grid: &dyn ChunkGrid, axis: usize, index: i64, len: u64) -> Option<u64> {
    let first = grid.span(axis, 0).index;
    let ordinal = u64::try_from(index.checked_sub(first)?).ok()?;
    (ordinal < grid.count(axis, len).max(1)).then_some(ordinal)
}
