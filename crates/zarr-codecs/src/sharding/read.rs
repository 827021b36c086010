//! Reads a part of a shard without the rest of it.
//!
//! First its index, then the inner chunks that the part touches; neighbours in one request, and nothing
//! between them. An inner chunk that is a shard itself is read in the same way.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use zarr_core::CodecError;
use zarr_core::codec::{ChunkRead, InnerChunks, Memo, PartRead};
use zarr_core::grid::{Tile, tiles};
use zarr_core::selection::Part;
use zarr_core::store::{ByteRange, Bytes};
use zarr_core::view::ViewMut;

use super::index::Index;
use super::{CODEC, Sharding};

/// What is remembered of a shard.
#[derive(Debug)]
pub(super) struct ShardMemo {
    pub index: Index,
    /// What is remembered of inner chunks, by entry.
    nested: Mutex<HashMap<usize, Memo>>,
}

impl ShardMemo {
    pub fn of(index: Index) -> Arc<ShardMemo> {
        Arc::new(ShardMemo { index, nested: Mutex::default() })
    }

    fn nested(&self) -> std::sync::MutexGuard<'_, HashMap<usize, Memo>> {
        self.nested.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn into_memo(self: Arc<Self>) -> Memo {
        let size = self.size();
        Memo::new(self, size)
    }

    fn size(&self) -> u64 {
        let nested = self.nested().values().map(|memo| memo.size() + ENTRY).sum::<u64>();
        self.index.memory() + nested + ENTRY
    }
}

/// About as many bytes go with everything that is remembered.
const ENTRY: u64 = 64;

/// The part of one inner chunk that is read.
pub(super) struct Touched {
    pub tile: Tile,
    pub entry: usize,
    /// Which bytes of the shard the inner chunk is, once the index is known; `None` if it is not stored.
    range: Option<Range<u64>>,
    bytes: Wanted,
}

enum Wanted {
    /// Nothing: all of it is written anew.
    Nothing,
    /// All bytes of the inner chunk, once they are there.
    All(Option<Bytes>),
    /// What the inner chunk's own codecs want.
    Part(PartRead),
}

impl Touched {
    /// Which bytes of the shard are wanted for it now.
    fn wants(&self) -> Result<Vec<Range<u64>>, CodecError> {
        let Some(range) = &self.range else { return Ok(Vec::new()) };
        match &self.bytes {
            Wanted::Nothing | Wanted::All(Some(_)) => Ok(Vec::new()),
            Wanted::All(None) => Ok(vec![range.clone()]),
            Wanted::Part(read) => {
                let inside = |wanted: ByteRange| {
                    let place = wanted.within(range.end - range.start).ok_or_else(|| {
                        let why = format!("{wanted} leave inner chunk {:?}", self.tile.indices);
                        CodecError::corrupt(CODEC, why)
                    })?;
                    Ok(range.start + place.start..range.start + place.end)
                };
                read.wants().into_iter().map(inside).collect()
            }
        }
    }

    /// All bytes of the inner chunk; `None` if it is not stored, or was not wanted.
    pub fn whole(&self) -> Option<&Bytes> {
        match &self.bytes {
            Wanted::All(bytes) => bytes.as_ref().filter(|_| self.range.is_some()),
            _ => None,
        }
    }
}

/// Reading a part of a shard.
pub(super) struct ShardRead {
    pub sharding: Arc<Sharding>,
    pub counts: Vec<u64>,
    /// The inner chunks that the part touches; in C order, once the index is known.
    pub touched: Vec<Touched>,
    /// What is known of the shard; nothing before its index is there.
    memo: Option<Arc<ShardMemo>>,
    /// The bytes that are wanted next, once the index is known.
    wanted: Vec<Range<u64>>,
}

impl ShardRead {
    /// A part that does not touch all of the shard, which else is read as a whole.
    pub fn of_part(sharding: Arc<Sharding>, shape: &[u64], within: &Part) -> Option<ShardRead> {
        let inner = sharding.clone();
        let read = ShardRead::new(sharding, shape, within, |tile| {
            match inner.inner.read(&inner.inner_shape, &tile.within) {
                Some(read) => Wanted::Part(read),
                None => Wanted::All(None),
            }
        })?;
        let all: u64 = read.counts.iter().product();
        let whole = |touched: &Touched| !matches!(touched.bytes, Wanted::Part(_));
        let is_all = read.touched.len() as u64 == all && read.touched.iter().all(whole);
        (!is_all).then_some(read)
    }

    /// What a part that is to be written needs: the inner chunks of which some is left.
    pub fn of_rest(sharding: Arc<Sharding>, shape: &[u64], within: &Part) -> Option<ShardRead> {
        ShardRead::new(sharding, shape, within, |tile| match tile.covers() {
            true => Wanted::Nothing,
            false => Wanted::All(None),
        })
    }

    fn new(
        sharding: Arc<Sharding>,
        shape: &[u64],
        within: &Part,
        wanted: impl Fn(&Tile) -> Wanted,
    ) -> Option<ShardRead> {
        let counts = sharding.counts(shape).ok()?;
        let grid = sharding.grid(shape).ok()?;
        sharding.index.size(&counts)?;
        let touched = |tile: Tile| {
            let bytes = wanted(&tile);
            Touched { tile, entry: 0, range: None, bytes }
        };
        let touched = tiles(&grid, shape, within).map(touched).collect();
        Some(ShardRead { sharding, counts, touched, memo: None, wanted: Vec::new() })
    }

    /// The index, once it is there.
    pub fn known(&self) -> Option<&ShardMemo> {
        self.memo.as_deref()
    }

    /// Finds the inner chunks in the index.
    pub fn locate(&mut self, memo: Arc<ShardMemo>) -> Result<(), CodecError> {
        for touched in &mut self.touched {
            touched.entry = memo.index.entry_of(&touched.tile);
            touched.range = self.sharding.range(&memo.index, touched.entry)?;
            match &mut touched.bytes {
                Wanted::Nothing => {}
                Wanted::All(bytes) => *bytes = None,
                Wanted::Part(read) => read.begin(memo.nested().get(&touched.entry))?,
            }
        }
        self.touched.sort_by_key(|touched| touched.entry);
        self.memo = Some(memo);
        self.want()
    }

    /// Makes sure that all is there.
    pub fn check(&self) -> Result<(), CodecError> {
        match self.wants().is_empty() {
            true => Ok(()),
            false => Err(CodecError::corrupt(CODEC, "the shard is not read yet")),
        }
    }

    fn want(&mut self) -> Result<(), CodecError> {
        let ranges: Result<Vec<_>, _> = self.touched.iter().map(Touched::wants).collect();
        self.wanted = merged(ranges?.concat());
        // Inner chunks may each be larger than their elements, not all of them together.
        let sizes = self.wanted.iter().map(|range| range.end - range.start);
        let (size, most) = (sizes.fold(0, u64::saturating_add), self.sharding.most(&self.counts));
        if size > most {
            let why = format!(
                "its inner chunks are said to have {size} bytes, more than the limit of {most}"
            );
            return Err(CodecError::corrupt(CODEC, why));
        }
        Ok(())
    }
}

/// Ranges in order, those that touch or overlap as one.
fn merged(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_by_key(|range| range.start);
    let mut merged: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// Bytes of a shard, out of those that were read, each from its offset on.
fn slice(read: &[(u64, Bytes)], range: &Range<u64>) -> Result<Bytes, CodecError> {
    let before = read.partition_point(|(offset, _)| *offset <= range.start);
    let bytes = before.checked_sub(1).and_then(|at| {
        let (offset, bytes) = &read[at];
        let from = usize::try_from(range.start - offset).ok()?;
        let to = usize::try_from(range.end - offset).ok()?;
        (to <= bytes.len()).then(|| bytes.slice(from..to))
    });
    bytes.ok_or_else(|| CodecError::corrupt(CODEC, format!("the bytes {range:?} are cut short")))
}

impl ChunkRead for ShardRead {
    fn begin(&mut self, memo: Option<&Memo>) -> Result<(), CodecError> {
        match memo.and_then(Memo::get) {
            Some(memo) => self.locate(memo),
            None => {
                self.memo = None;
                self.sharding.index_size(&self.counts).map(drop)
            }
        }
    }

    fn wants(&self) -> Vec<ByteRange> {
        if self.memo.is_none() {
            let size = self.sharding.index.size(&self.counts).unwrap_or(0);
            return vec![self.sharding.index.range(size)];
        }
        let bounded = |range: &Range<u64>| ByteRange::Bounded {
            start: range.start,
            len: range.end - range.start,
        };
        self.wanted.iter().map(bounded).collect()
    }

    fn supply(&mut self, bytes: Vec<Bytes>) -> Result<(), CodecError> {
        let Some(memo) = &self.memo else {
            let index = bytes.first().map(|bytes| &bytes[..]).unwrap_or_default();
            let index = self.sharding.index.decode(index, &self.counts)?;
            return self.locate(ShardMemo::of(index));
        };
        let offsets = self.wanted.iter().map(|range| range.start);
        let read: Vec<(u64, Bytes)> = offsets.zip(bytes).collect();
        for touched in &mut self.touched {
            let wanted = touched.wants()?;
            if wanted.is_empty() {
                continue;
            }
            let mut bytes = wanted.iter().map(|range| slice(&read, range));
            match &mut touched.bytes {
                Wanted::Nothing => {}
                Wanted::All(all) => *all = bytes.next().transpose()?,
                Wanted::Part(part) => {
                    part.supply(bytes.collect::<Result<_, _>>()?)?;
                    if let Some(learnt) = part.memo() {
                        memo.nested().insert(touched.entry, learnt);
                    }
                }
            }
        }
        self.want()
    }

    fn decode_into(&self, mut out: ViewMut<'_>) -> Result<(), CodecError> {
        self.check()?;
        for touched in &self.touched {
            let decode = |piece: ViewMut<'_>| match &touched.bytes {
                Wanted::Part(read) if touched.range.is_some() => read.decode_into(piece),
                _ => {
                    let bytes = touched.whole().map(|bytes| &bytes[..]);
                    self.sharding.decode_inner(&touched.tile.within, bytes, piece)
                }
            };
            touched.tile.place.fill(out.reborrow(), decode)?;
        }
        Ok(())
    }

    fn memo(&self) -> Option<Memo> {
        self.memo.clone().map(ShardMemo::into_memo)
    }
}
