//! How is a part of a chunk read, or changed, without the rest of it?
//!
//! The codecs say which bytes they want, the store gives them out of one version of the chunk. What was learnt
//! of a version is remembered for the next part of it.

use std::borrow::Cow;
use std::sync::Arc;

use super::compare_and_swap::Edited;
use super::fields::Span;
use super::{Opened, State, not_readable, zeroed};
use crate::codec::{PartEdit, PartRead, Piece};
use crate::error::{CodecError, Error, Result, StoreError};
use crate::grid::Tile;
use crate::heap::Heap;
use crate::selection::Part;
use crate::store::aio::Pinned;
use crate::store::{ByteRange, Bytes, Payload, StoreKey};
use crate::view::{View, ViewMut};

/// How often reading begins anew because the chunk was replaced meanwhile.
pub(super) const MOST_ROUNDS: u32 = 100;

/// What of a stored chunk a change needs.
pub(crate) enum Rest {
    /// All of it; `None` if it is not stored.
    Whole(Option<Bytes>),
    /// What the codecs wanted.
    Part(PartEdit),
}

/// A chunk after a change.
pub(crate) enum Overlaid {
    Stored(Vec<Piece>),
    Erased,
}

impl Opened {
    /// Reads a part of a chunk without all its bytes, up to where it can be decoded; `None` if the chunk is
    /// not there. All bytes are of one version of the chunk, and so is what was remembered of it.
    pub async fn fetch_part(
        &self,
        state: &State,
        tile: &Tile,
        mut read: PartRead,
    ) -> Result<Option<(StoreKey, PartRead)>> {
        let key = state.key(&tile.indices).map_err(|e| self.at(e))?;
        let at = |e: Error| self.at_chunk(tile, &key, e);
        let readable = self.room.store.readable().ok_or_else(|| self.at(not_readable()))?;
        let due = state.access()?.0.encoded_size(&tile.chunk_shape);
        let mut remembered = state.memos.get(&key);
        for _ in 0..MOST_ROUNDS {
            let (version, memo) = remembered.take().unzip();
            self.decoding(|| read.begin(memo.as_ref())).map_err(|e| at(e.into()))?;
            let pinned = match &version {
                Some(version) => readable.pin_as(&key, version).await,
                None => readable.pin_for(&key, &read.wants()).await,
            };
            let value = match pinned {
                Ok(Some(value)) => value,
                Ok(None) if version.is_none() => return Ok(None),
                // It is another one by now, of which nothing is known.
                Ok(None) | Err(StoreError::Changed { .. }) => continue,
                Err(e) => return Err(at(e.into())),
            };
            let supplied = self.supply(&*value, &mut read, version.is_some()).await;
            // A chunk of another size is damaged, also where the part is in it.
            let found = value.size();
            match (supplied, due) {
                (Err(Stopped::Changed), _) => continue,
                (_, Some(expected)) if expected != found => {
                    let codec = "codecs";
                    return Err(at(CodecError::Length { codec, expected, found }.into()));
                }
                (Err(Stopped::Failed(e)), _) => return Err(at(e)),
                (Ok(()), _) => {}
            }
            if let Some((version, memo)) = value.version().zip(read.memo()) {
                state.memos.put(&key, version, memo);
            }
            return Ok(Some((key, read)));
        }
        Err(at(StoreError::Changed { key: key.to_string() }.into()))
    }

    /// What is needed of a chunk, as it is now, to lay a part over it: over the `span` of each element.
    pub async fn fetch_rest(
        &self,
        state: &State,
        tile: &Tile,
        span: Span,
        old: Option<&dyn Pinned>,
    ) -> Result<Rest> {
        let (chain, ..) = state.access()?;
        if span.is_whole()
            && let Some(mut edit) = chain.edit(&tile.chunk_shape, &tile.within, old.is_some())
        {
            while let wants @ [_, ..] = &edit.wants()[..] {
                let bytes = match old {
                    Some(old) => old.read(wants).await.map_err(outside)?,
                    None => Vec::new(),
                };
                self.decoding(|| edit.supply(bytes))?;
            }
            return Ok(Rest::Part(edit));
        }
        whole(old).await.map(Rest::Whole)
    }

    /// The chunk with `part` laid over it: over the `span` of each element.
    pub fn overlay(
        &self,
        state: &State,
        tile: &Tile,
        rest: Rest,
        part: &View<'_>,
        span: Span,
    ) -> Result<Overlaid> {
        let (chain, _, repr) = state.access()?;
        let shape = &tile.chunk_shape;
        let keep_fill = self.keeps_fill(state);
        // What was there lies in a heap that goes with this round.
        let heap = part.heap().map(Heap::fork);
        let heap = heap.as_ref();
        let old = match rest {
            Rest::Part(edit) => {
                let patch = self.decoding(|| edit.lay(&part.clone().with_heap(heap)))?;
                return Ok(match patch.is_fill && !keep_fill {
                    true => Overlaid::Erased,
                    false => Overlaid::Stored(patch.pieces),
                });
            }
            Rest::Whole(old) => old,
        };
        let chunk = match old {
            None => self.padded(state, tile, part, span)?,
            Some(old) => {
                let mut chunk = zeroed(shape, repr.size(), "a chunk")?;
                let mut view = ViewMut::new(&mut chunk, shape, repr.size()).with_heap(heap);
                let (old, all) = (Cow::Borrowed(&old[..]), Part::all(shape));
                self.decoding(|| chain.decode_into(old, shape, &all, view.reborrow()))?;
                view.span(span.offset, span.size).scatter(&tile.within, part);
                chunk
            }
        };
        let view = View::new(&chunk, shape, repr.size()).with_heap(heap);
        if !keep_fill && state.is_fill(&view) {
            return Ok(Overlaid::Erased);
        }
        Ok(Overlaid::Stored(vec![Piece::New(chain.encode(view)?.into_owned())]))
    }
}

/// The bytes of a value.
pub(crate) async fn whole(value: Option<&dyn Pinned>) -> Result<Option<Bytes>> {
    match value {
        None => Ok(None),
        Some(value) => Ok(value.read(&[ByteRange::ALL]).await?.pop()),
    }
}

/// What is to become of a chunk, whose kept bytes are those of `old`. A store that never waits copies them
/// while it writes; for others they are fetched.
pub(crate) async fn assembled(overlaid: Overlaid, old: Option<Arc<dyn Pinned>>) -> Result<Edited> {
    let pieces = match overlaid {
        Overlaid::Erased => return Ok(Edited::Erase),
        Overlaid::Stored(pieces) => pieces,
    };
    let kept = |piece: &Piece| match piece {
        Piece::Kept(range) => {
            Some(ByteRange::Bounded { start: range.start, len: range.end - range.start })
        }
        Piece::New(_) => None,
    };
    let kept: Vec<ByteRange> = pieces.iter().filter_map(kept).collect();
    let Some(old) = old.filter(|_| !kept.is_empty()) else {
        let new = |value: Payload<'static>, piece| match piece {
            Piece::New(bytes) => value.and(bytes),
            Piece::Kept(_) => value,
        };
        return Ok(Edited::Set(pieces.into_iter().fold(Payload::default(), new)));
    };
    let size = old.size();
    let taken = kept.iter().try_fold(0u64, |taken, range| {
        let range = range.within(size)?;
        taken.checked_add(range.end - range.start)
    });
    if taken.is_none_or(|taken| taken > size) {
        let why = format!("its inner chunks overlap or leave its {size} bytes");
        return Err(CodecError::corrupt("sharding_indexed", why).into());
    }
    let blocking = old.blocking();
    let fetched = match &blocking {
        Some(_) => Vec::new(),
        None => old.read(&kept).await?,
    };
    let mut fetched = fetched.into_iter();
    let value =
        pieces.into_iter().fold(Payload::default(), |value, piece| match (piece, &blocking) {
            (Piece::New(bytes), _) => value.and(bytes),
            (Piece::Kept(range), Some(old)) => value.and_kept(old, range),
            (Piece::Kept(_), None) => value.and_shared(fetched.next().unwrap_or_default()),
        });
    Ok(Edited::Set(value))
}

/// Why a reading ended early.
enum Stopped {
    Changed,
    Failed(Error),
}

impl Opened {
    /// Gives a reading all that it wants. What is `expected` to be a certain version, and was not looked at so far, is
    /// looked at in any case: what is remembered may be of a value that is gone.
    async fn supply(
        &self,
        value: &dyn Pinned,
        read: &mut PartRead,
        expected: bool,
    ) -> Result<(), Stopped> {
        if expected && value.size() == 0 && read.wants().is_empty() {
            value.read(&[]).await.map_err(|e| match e {
                StoreError::Changed { .. } => Stopped::Changed,
                e => Stopped::Failed(e.into()),
            })?;
        }
        while let wants @ [_, ..] = &read.wants()[..] {
            let bytes = match value.read(wants).await {
                Ok(bytes) => bytes,
                Err(StoreError::Changed { .. }) => return Err(Stopped::Changed),
                Err(e) => return Err(Stopped::Failed(outside(e))),
            };
            self.decoding(|| read.supply(bytes)).map_err(|e| Stopped::Failed(e.into()))?;
        }
        Ok(())
    }
}

/// What a chunk says of its own bytes is damage, if they are not there.
pub(super) fn outside(error: StoreError) -> Error {
    match error {
        StoreError::Range { .. } => CodecError::corrupt("sharding_indexed", error).into(),
        other => other.into(),
    }
}
