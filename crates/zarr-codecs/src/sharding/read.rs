//! How is a part of a shard read without the rest of it?
//!
//! First its index, then the inner chunks that the part touches; neighbours in one request.

use std::ops::Range;
use std::sync::Arc;

use zarr_core::codec::ChunkRead;
use zarr_core::grid::{Tile, tiles};
use zarr_core::store::{ByteRange, Bytes};
use zarr_core::view::ViewMut;
use zarr_core::{CodecError, Region};

use super::{CODEC, Sharding, indices};

/// How far the reading is.
#[derive(Debug)]
enum Step {
    /// The index is wanted, so many bytes.
    Index(u64),
    /// These bytes are wanted.
    Chunks(Vec<Range<u64>>),
    /// These bytes are there, each from its offset on.
    Done(Vec<(u64, Bytes)>),
}

/// Reading a part of a shard.
#[derive(Debug)]
pub(super) struct ShardRead {
    sharding: Arc<Sharding>,
    counts: Vec<u64>,
    /// The inner chunks that the part touches, each with where it is once that is known.
    tiles: Vec<(Tile, Option<Range<u64>>)>,
    step: Step,
}

impl ShardRead {
    /// Begins; `None` if the part touches all of the shard, which is read as a whole then.
    pub fn new(sharding: Arc<Sharding>, shape: &[u64], within: &Region) -> Option<ShardRead> {
        let counts = sharding.counts(shape).ok()?;
        let grid = sharding.grid(shape).ok()?;
        let all: u64 = counts.iter().product();
        let tiles: Vec<_> = tiles(&grid, shape, within).map(|tile| (tile, None)).collect();
        let size = sharding.index.size(&counts)?;
        let is_part = (tiles.len() as u64) < all;
        is_part.then_some(ShardRead { sharding, counts, tiles, step: Step::Index(size) })
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

impl ChunkRead for ShardRead {
    fn wants(&self) -> Vec<ByteRange> {
        match &self.step {
            Step::Index(size) => vec![self.sharding.index.range(*size)],
            Step::Chunks(ranges) => ranges
                .iter()
                .map(|range| ByteRange::Bounded {
                    start: range.start,
                    len: range.end - range.start,
                })
                .collect(),
            Step::Done(_) => Vec::new(),
        }
    }

    fn supply(&mut self, bytes: Vec<Bytes>) -> Result<(), CodecError> {
        self.step = match &self.step {
            Step::Index(_) => {
                let index = bytes.first().map(|bytes| &bytes[..]).unwrap_or_default();
                let index = self.sharding.index.decode(index, &self.counts)?;
                for (tile, range) in &mut self.tiles {
                    *range = index.get(&indices(tile))?;
                }
                let ranges: Vec<_> =
                    self.tiles.iter().filter_map(|(_, range)| range.clone()).collect();
                match ranges.is_empty() {
                    true => Step::Done(Vec::new()),
                    false => Step::Chunks(merged(ranges)),
                }
            }
            Step::Chunks(ranges) => {
                let offsets = ranges.iter().map(|range| range.start);
                Step::Done(offsets.zip(bytes).collect())
            }
            Step::Done(_) => return Ok(()),
        };
        Ok(())
    }

    fn decode_into(&self, mut out: ViewMut<'_>) -> Result<(), CodecError> {
        let Step::Done(pieces) = &self.step else {
            return Err(CodecError::corrupt(CODEC, "the shard is not read yet"));
        };
        for (tile, range) in &self.tiles {
            let bytes = match range {
                None => None,
                Some(range) => {
                    let before = pieces.partition_point(|(offset, _)| *offset <= range.start);
                    let piece = before.checked_sub(1).map(|at| &pieces[at]);
                    let bytes = piece.and_then(|(offset, bytes)| {
                        let from = usize::try_from(range.start - offset).ok()?;
                        let len = usize::try_from(range.end - range.start).ok()?;
                        bytes.get(from..from.checked_add(len)?)
                    });
                    let why = || format!("inner chunk {:?} is cut short", tile.indices);
                    Some(bytes.ok_or_else(|| CodecError::corrupt(CODEC, why()))?)
                }
            };
            self.sharding.decode_tile(tile, bytes, out.reborrow().part(&tile.place))?;
        }
        Ok(())
    }
}
