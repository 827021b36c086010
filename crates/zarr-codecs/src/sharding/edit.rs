//! Writes a part of a shard without decoding the rest of it.
//!
//! The inner chunks that the part touches are encoded anew; the bytes of the others stay as they are, in C
//! order. Where inner chunks share their bytes, they go on sharing them.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use zarr_core::CodecError;
use zarr_core::codec::{ChunkEdit, ChunkRead, PartEdit, Patch, Piece};
use zarr_core::selection::Part;
use zarr_core::store::{ByteRange, Bytes};
use zarr_core::view::{View, ViewMut};

use super::index::{Index, Location};
use super::read::{ShardMemo, ShardRead, Touched};
use super::{CODEC, Sharding};
use crate::stream::zeroed;

/// Laying elements over a part of a shard.
pub(super) struct ShardEdit(ShardRead);

impl ShardEdit {
    pub fn new(
        sharding: Arc<Sharding>,
        shape: &[u64],
        within: &Part,
        is_there: bool,
    ) -> Option<ShardEdit> {
        let mut rest = ShardRead::of_rest(sharding, shape, within)?;
        if !is_there {
            let nothing = Index::empty(&rest.counts).ok()?;
            rest.locate(ShardMemo::of(nothing)).ok()?;
        }
        Some(ShardEdit(rest))
    }
}

/// The pieces of a shard as they are put together.
#[derive(Default)]
struct Pieces(Vec<Piece>);

impl Pieces {
    fn keep(&mut self, range: Range<u64>) {
        match self.0.last_mut() {
            Some(Piece::Kept(last)) if last.end == range.start => last.end = range.end,
            _ => self.0.push(Piece::Kept(range)),
        }
    }

    fn add(&mut self, bytes: Vec<u8>) {
        match self.0.last_mut() {
            Some(Piece::New(last)) => last.extend_from_slice(&bytes),
            _ => self.0.push(Piece::New(bytes)),
        }
    }
}

impl Sharding {
    /// The bytes of an inner chunk with its part of `part` laid over it; `None` if it is all fill then.
    fn lay_over(&self, touched: &Touched, part: &View<'_>) -> Result<Option<Vec<u8>>, CodecError> {
        let mut room = Vec::new();
        let part = touched.tile.place.of(part, &mut room);
        let (shape, within) = (&self.inner_shape, &touched.tile.within);
        let encoded = |chunk: View<'_>| match self.is_fill(&chunk) {
            true => Ok(None),
            false => Ok(Some(self.inner.encode(chunk)?.into_owned())),
        };
        if within.is_all(shape) {
            return encoded(part);
        }
        let old = touched.whole();
        if let Some(edit) = self.inner.edit(shape, within, old.is_some()) {
            return in_memory(edit, old.cloned().unwrap_or_default(), &part);
        }
        let limit = CodecError::Limit { codec: CODEC, limit: isize::MAX as u64 };
        let count = zarr_core::region::element_count(shape);
        let size = count.and_then(|count| count.checked_mul(self.cell as u64)).ok_or(limit)?;
        let mut memory = zeroed(CODEC, size)?;
        let mut view = ViewMut::new(&mut memory, shape, self.cell).with_heap(part.heap());
        if !touched.tile.covers() {
            self.decode_inner(&Part::all(shape), old.map(|bytes| &bytes[..]), view.reborrow())?;
        }
        view.scatter(within, &part);
        encoded(View::new(&memory, shape, self.cell).with_heap(part.heap()))
    }
}

/// An inner chunk that is a shard itself, after a change.
fn in_memory(
    mut edit: PartEdit,
    old: Bytes,
    part: &View<'_>,
) -> Result<Option<Vec<u8>>, CodecError> {
    let cut = |range: Option<Range<u64>>| {
        let range = range.filter(|range| range.end <= old.len() as u64);
        let range = range.ok_or_else(|| CodecError::corrupt(CODEC, "an inner chunk is cut short"));
        range.map(|range| old.slice(range.start as usize..range.end as usize))
    };
    while let wants @ [_, ..] = &edit.wants()[..] {
        let bytes = wants.iter().map(|range| cut(range.within(old.len() as u64)));
        let bytes = bytes.collect::<Result<_, _>>()?;
        edit.supply(bytes)?;
    }
    let patch = edit.lay(part)?;
    if patch.is_fill {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    for piece in patch.pieces {
        match piece {
            Piece::New(new) => bytes.extend_from_slice(&new),
            Piece::Kept(range) => bytes.extend_from_slice(&cut(Some(range))?),
        }
    }
    Ok(Some(bytes))
}

impl ChunkEdit for ShardEdit {
    fn wants(&self) -> Vec<ByteRange> {
        self.0.wants()
    }

    fn supply(&mut self, bytes: Vec<Bytes>) -> Result<(), CodecError> {
        self.0.supply(bytes)
    }

    fn lay(&self, part: &View<'_>) -> Result<Patch, CodecError> {
        let ShardRead { sharding, counts, .. } = &self.0;
        self.0.check()?;
        let Some(ShardMemo { index: old, .. }) = self.0.known() else {
            return Err(CodecError::corrupt(CODEC, "its index is not read yet"));
        };
        let mut index = Index::empty(counts)?;
        let mut pieces = Pieces::default();
        let mut kept: HashMap<Range<u64>, u64> = HashMap::new();
        let mut end = sharding.index.begin(counts);
        let mut touched = self.0.touched.iter().peekable();
        for entry in 0..old.len() {
            let (start, size) = match touched.next_if(|touched| touched.entry == entry) {
                Some(touched) => {
                    let Some(bytes) = sharding.lay_over(touched, part)? else { continue };
                    let size = bytes.len() as u64;
                    pieces.add(bytes);
                    (end, size)
                }
                None => {
                    let Some(range) = sharding.range(old, entry)? else { continue };
                    let size = range.end - range.start;
                    let start = *kept.entry(range.clone()).or_insert(end);
                    if start == end {
                        pieces.keep(range);
                    }
                    (start, size)
                }
            };
            index.set(entry, start..start + size);
            end = end.max(start + size);
        }
        let is_fill = index.is_empty();
        let bytes = sharding.index.encode(&index)?;
        match sharding.index.location {
            Location::End => pieces.add(bytes),
            Location::Start => pieces.0.insert(0, Piece::New(bytes)),
        }
        Ok(Patch { pieces: pieces.0, is_fill })
    }
}
