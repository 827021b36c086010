//! Changes a part of a shard without decoding the rest of it.
//!
//! The inner chunks that the part touches are encoded anew; the bytes of the others stay as they are, in C
//! order. Where inner chunks share their bytes, they go on sharing them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use zarr_core::CodecError;
use zarr_core::codec::{PartialEncoder, PartialWrite, Splice, SplicePart, Threads};
use zarr_core::grid::{ChunkProjection, chunk_projections};
use zarr_core::selection::ResolvedSelection;
use zarr_core::store::{ByteRange, Bytes, coalesce, slice};
use zarr_core::view::{View, ViewMut};

use super::index::{Index, Location, entry_of};
use super::read::Shard;
use super::{CODEC, Sharding};
use zarr_core::codec::buffer_pool::zeroed;

/// Merging elements into a part of a shard.
pub(super) struct ShardEncoder {
    sharding: Arc<Sharding>,
    counts: Vec<u64>,
    /// The inner chunks that change, in C order.
    touched: Vec<InnerChunkRead>,
    /// The index of the shard, once it is known.
    index: Option<Index>,
    /// The bytes that are needed next, once the index is known.
    needed: Vec<Range<u64>>,
}

/// An inner chunk that changes.
struct InnerChunkRead {
    tile: ChunkProjection,
    entry: usize,
    /// Its bytes as they were, if it is stored and some of its elements stay.
    old: Option<Bytes>,
}

impl ShardEncoder {
    pub fn new(
        sharding: Arc<Sharding>,
        shape: &[u64],
        within: &ResolvedSelection,
        is_stored: bool,
    ) -> Option<ShardEncoder> {
        let Shard { counts, grid, .. } = Shard::new(&sharding, shape).ok()?;
        sharding.index_size(&counts).ok()?;
        let tiles = chunk_projections(&grid, shape, within);
        let mut touched: Vec<InnerChunkRead> = tiles
            .map(|tile| InnerChunkRead { entry: entry_of(&tile, &counts), tile, old: None })
            .collect();
        touched.sort_by_key(|touched| touched.entry);
        let index = if is_stored { None } else { Some(Index::empty(&counts).ok()?) };
        Some(ShardEncoder { sharding, counts, touched, index, needed: Vec::new() })
    }

    /// The stored bytes of each inner chunk of which some elements stay.
    fn kept(&self, index: &Index) -> Result<Vec<Option<Range<u64>>>, CodecError> {
        self.touched
            .iter()
            .map(|touched| {
                if touched.tile.covers_stored_chunk() {
                    Ok(None)
                } else {
                    self.sharding.range(index, touched.entry)
                }
            })
            .collect()
    }
}

/// The pieces of a shard as they are put together.
#[derive(Default)]
struct Pieces(Vec<SplicePart>);

impl Pieces {
    fn keep(&mut self, range: Range<u64>) {
        match self.0.last_mut() {
            Some(SplicePart::Copied(last)) if last.end == range.start => last.end = range.end,
            _ => self.0.push(SplicePart::Copied(range)),
        }
    }

    fn add(&mut self, bytes: Vec<u8>) {
        match self.0.last_mut() {
            Some(SplicePart::New(last)) => last.extend_from_slice(&bytes),
            _ => self.0.push(SplicePart::New(bytes)),
        }
    }
}

impl Sharding {
    /// The bytes of an inner chunk with its part of `part` merged into it; `None` if it is all fill then.
    fn merge(
        &self,
        touched: &InnerChunkRead,
        part: &View<'_>,
    ) -> Result<Option<Vec<u8>>, CodecError> {
        let mut scratch = Vec::new();
        let part = part.select(&touched.tile.output, &mut scratch);
        let (shape, within) = (&self.inner_shape, &touched.tile.within);
        if within.is_all(shape) {
            return self.encoded(part);
        }
        let old = touched.old.as_ref();
        if let Some(edit) = self.inner.edit(shape, within, old.is_some()) {
            return in_memory(edit, old.cloned().unwrap_or_default(), &part);
        }
        let mut memory = zeroed(CODEC, zarr_core::region::byte_count(shape, self.cell))?;
        let mut view =
            ViewMut::new(&mut memory, shape, self.cell).with_var_buffer(part.var_buffer());
        if !touched.tile.covers_stored_chunk() {
            match old {
                None => view.fill(&self.fill_cell()?),
                Some(old) => {
                    let all = ResolvedSelection::all(shape);
                    self.inner.decode_into(Cow::Borrowed(old), shape, &all, view.reborrow())?;
                }
            }
        }
        view.scatter(within, &part);
        let view = View::new(&memory, shape, self.cell).with_var_buffer(part.var_buffer());
        self.encoded(view)
    }

    /// An inner chunk as it is stored, none if it is all fill value.
    fn encoded(&self, chunk: View<'_>) -> Result<Option<Vec<u8>>, CodecError> {
        if self.is_fill(&chunk) {
            return Ok(None);
        }
        Ok(Some(self.inner.encode(chunk)?.into_owned()))
    }
}

/// An inner chunk that is a shard itself, after a change.
fn in_memory(
    mut edit: PartialWrite,
    old: Bytes,
    part: &View<'_>,
) -> Result<Option<Vec<u8>>, CodecError> {
    let cut = |range: Option<Range<u64>>| {
        let range = range.filter(|range| range.end <= old.len() as u64);
        let range = range.ok_or_else(|| CodecError::corrupt(CODEC, "an inner chunk is cut short"));
        range.map(|range| old.slice(range.start as usize..range.end as usize))
    };
    while let needs @ [_, ..] = &edit.needs()[..] {
        let bytes = needs.iter().map(|range| cut(range.within(old.len() as u64)));
        let bytes = bytes.collect::<Result<_, _>>()?;
        edit.supply(bytes)?;
    }
    let splice = edit.apply(part, Threads::ONE)?;
    if splice.is_fill {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    for piece in splice.parts {
        match piece {
            SplicePart::New(new) => bytes.extend_from_slice(&new),
            SplicePart::Copied(range) => bytes.extend_from_slice(&cut(Some(range))?),
        }
    }
    Ok(Some(bytes))
}

impl PartialEncoder for ShardEncoder {
    fn needs(&self) -> Vec<ByteRange> {
        match self.index {
            None => {
                let size = self.sharding.index.size(&self.counts).unwrap_or(0);
                vec![self.sharding.index.range(size)]
            }
            Some(_) => self.needed.iter().cloned().map(ByteRange::from).collect(),
        }
    }

    fn supply(&mut self, bytes: Vec<Bytes>) -> Result<(), CodecError> {
        let Some(index) = &self.index else {
            let index = bytes.first().map(|bytes| &bytes[..]).unwrap_or_default();
            let index = self.sharding.index.decode(index, &self.counts)?;
            self.needed = coalesce(self.kept(&index)?.into_iter().flatten().collect(), 0);
            // Inner chunks may each be larger than their elements, not all of them together.
            let sizes = self.needed.iter().map(|range| range.end - range.start);
            let size = sizes.fold(0, u64::saturating_add);
            let most = self.sharding.most(&self.counts);
            if size > most {
                let why = format!(
                    "its inner chunks are said to have {size} bytes, more than the limit of {most}"
                );
                return Err(CodecError::corrupt(CODEC, why));
            }
            self.index = Some(index);
            return Ok(());
        };
        let read: Vec<(u64, Bytes)> =
            self.needed.drain(..).map(|range| range.start).zip(bytes).collect();
        let kept = self.kept(index)?.into_iter().map(|range| {
            let Some(range) = range else { return Ok(None) };
            slice(&read, &range).map(Some).ok_or_else(|| {
                CodecError::corrupt(CODEC, format!("the bytes {range:?} are cut short"))
            })
        });
        let kept = kept.collect::<Result<Vec<_>, _>>()?;
        for (touched, old) in self.touched.iter_mut().zip(kept) {
            touched.old = old;
        }
        Ok(())
    }

    fn apply(&self, part: &View<'_>, threads: Threads<'_>) -> Result<Splice, CodecError> {
        let ShardEncoder { sharding, counts, .. } = self;
        let Some(old) = self.index.as_ref().filter(|_| self.needed.is_empty()) else {
            return Err(CodecError::corrupt(CODEC, "the shard is not read yet"));
        };
        let mut index = Index::empty(counts)?;
        let mut pieces = Pieces::default();
        let mut kept: HashMap<Range<u64>, u64> = HashMap::new();
        let mut end = sharding.index.begin(counts);
        let merged = sharding
            .threads(threads)
            .map(self.touched.len(), |n| sharding.merge(&self.touched[n], part));
        let mut merged = self.touched.iter().zip(merged).peekable();
        for entry in 0..old.len() {
            let (start, size) = match merged.next_if(|(touched, _)| touched.entry == entry) {
                Some((_, bytes)) => {
                    let Some(bytes) = bytes? else { continue };
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
            Location::Start => pieces.0.insert(0, SplicePart::New(bytes)),
        }
        Ok(Splice { parts: pieces.0, is_fill })
    }
}
