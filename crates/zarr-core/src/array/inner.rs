//! How are the inner chunks of a shard read side by side?
//!
//! The index first, then each inner chunk that is touched on its own, by whichever thread is free: it goes from the
//! store through that thread's buffer to its place, and the shard as a whole is never held.

use std::borrow::Cow;

use super::executor;
use super::part::{MOST_ROUNDS, outside};
use super::select::work;
use super::{Opened, State};
use crate::codec::{InnerPart, Memo};
use crate::error::{Cause, CodecError, Error, Result, StoreError};
use crate::grid::{Cut, Tile, tiles};
use crate::store::{ByteRange, Pinned, ReadableStore, StoreKey};
use crate::view::ViewMut;

/// The part of a shard that is read.
pub(super) struct ShardPart<'a> {
    pub tile: &'a Tile,
    pub key: &'a StoreKey,
    pub inner: InnerPart<'a>,
}

impl Opened {
    /// Reads a part of a shard of a near store into `out`; all bytes are of one version of the shard, and so
    /// is what was remembered of it.
    pub(super) fn read_inner(
        &self,
        state: &State,
        readable: &dyn ReadableStore,
        part: &ShardPart<'_>,
        mut out: ViewMut<'_>,
    ) -> Result<()> {
        let ShardPart { tile, key, .. } = *part;
        let at = |e: Error| self.at_chunk(tile, key, e);
        let mut remembered = state.memos.get(key);
        for _ in 0..MOST_ROUNDS {
            let (version, memo) = remembered.take().unzip();
            let pinned = match &version {
                Some(version) => readable.pin_as(key, version),
                None => readable.pin(key),
            };
            let value = match pinned {
                Ok(Some(value)) => value,
                Ok(None) if version.is_none() => {
                    out.fill(&state.fill);
                    return Ok(());
                }
                // It is another one by now, of which nothing is known.
                Ok(None) | Err(StoreError::Changed { .. }) => continue,
                Err(e) => return Err(at(e.into())),
            };
            match self.read_pinned(state, part, &*value, memo, out.reborrow()) {
                Err(e) if is_changed(&e) => continue,
                read => return read.map_err(at),
            }
        }
        Err(at(StoreError::Changed { key: key.to_string() }.into()))
    }

    fn read_pinned(
        &self,
        state: &State,
        part: &ShardPart<'_>,
        value: &dyn Pinned,
        memo: Option<Memo>,
        out: ViewMut<'_>,
    ) -> Result<()> {
        let InnerPart { chunks, shape, within, order } = &part.inner;
        let memo = match memo {
            Some(memo) => memo,
            None => {
                let range = self.decoding(|| chunks.index_range(shape))?;
                let index = value.read(&[range]).map_err(outside)?.pop();
                let memo = chunks.index(shape, &index.unwrap_or_default())?;
                if let Some(version) = value.version() {
                    state.memos.put(part.key, version, memo.clone());
                }
                memo
            }
        };
        let grid = chunks.grid(shape)?;
        let read = |buffer: &mut Vec<u8>, tile: &Tile, mut out: ViewMut<'_>| -> Result<()> {
            let Some(range) = self.decoding(|| chunks.range(&memo, tile))? else {
                out.fill(&state.fill);
                return Ok(());
            };
            let (start, len) = (range.start, range.end - range.start);
            if let Some(mut read) = chunks.chain().read(&tile.chunk_shape, &tile.within) {
                read.begin(None)?;
                while let wants @ [_, ..] = &read.wants()[..] {
                    let inside = |want: &ByteRange| shifted(*want, start, len, tile);
                    let ranges = wants.iter().map(inside).collect::<Result<Vec<_>, _>>()?;
                    read.supply(value.read(&ranges).map_err(outside)?)?;
                }
                return Ok(self.decoding(|| read.decode_into(out))?);
            }
            value.read_into(ByteRange::Bounded { start, len }, buffer).map_err(outside)?;
            let (shape, within) = (&tile.chunk_shape, &tile.within);
            let encoded = Cow::Borrowed(&buffer[..]);
            Ok(self.decoding(|| chunks.chain().decode_into(encoded, shape, within, out))?)
        };
        let (options, cell) = (&self.room.options, out.cell());
        let out = order.iter().fold(out, |out, order| out.permuted(order));
        match Cut::new(&grid, shape, within, out) {
            Ok(cut) => executor::for_each(
                options,
                work(&grid, within, cell),
                cut,
                |buffer, (tile, out)| read(buffer, &tile, out),
            ),
            Err((_, mut out)) => {
                let mut buffer = Vec::new();
                tiles(&grid, shape, within.clone()).try_for_each(|tile| {
                    tile.place.fill(out.reborrow(), |piece| read(&mut buffer, &tile, piece))
                })
            }
        }
    }
}

fn is_changed(error: &Error) -> bool {
    matches!(error.cause(), Cause::Store(StoreError::Changed { .. }))
}

/// Some bytes of an inner chunk, as bytes of its shard.
fn shifted(want: ByteRange, start: u64, len: u64, tile: &Tile) -> Result<ByteRange, CodecError> {
    let range = want.within(len).ok_or_else(|| {
        let why = format!("{want} leave inner chunk {:?}", tile.indices);
        CodecError::corrupt("sharding_indexed", why)
    })?;
    Ok(ByteRange::Bounded { start: start + range.start, len: range.end - range.start })
}
