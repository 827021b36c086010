//! Holds the state of an open array, and reads and writes its chunks.
//!
//! The state behind every handle of one array, for blocking callers and for those that wait: the
//! metadata, the chain, and how one tile is read or written.

pub(crate) mod compare_and_swap;
pub(crate) mod executor;
pub(crate) mod fields;
mod index_cache;
mod inner;
mod known;
pub(crate) mod part;
mod prepend;
mod resize;
pub(crate) mod select;
mod shards;
mod stale;
pub(crate) mod typed;

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use self::compare_and_swap::Edited;
use self::fields::Span;
use self::index_cache::Memos;
use self::inner::ShardPart;
use self::known::Known;
use self::part::assembled;
pub use self::resize::StoredSize;
use self::shards::Shard;
use crate::codec::{Chain, budget, most_encoded, scratch};
use crate::data_type::Repr;
use crate::dialect::Strictness;
use crate::error::{
    AccessError, CodecError, Error, MetadataError, Result, StoreError, Unsupported,
};
use crate::grid::{ChunkGrid, ChunkKeys, Tile};
use crate::heap::{CELL, Heap};
use crate::hierarchy::{Guard, Room};
use crate::metadata::{ArrayMetadata, NodeKind};
use crate::path::NodePath;
use crate::region::Region;
use crate::selection::Part;
use crate::store::aio::{Pinned, WriteableStore, now};
use crate::store::{Payload, StoreKey, StorePrefix, begun};
use crate::view::{View, ViewMut};

/// Bytes in which the handles of an array remember indices, unless told otherwise (decision 0108).
const INDEX_MEMORY: u64 = 64 << 20;

/// Chunks of a known size of at most so many bytes are fetched without asking for it first.
const SMALL: u64 = 1 << 20;

/// An array as it was when it was opened, or last changed through one of its handles.
#[derive(Debug)]
pub(crate) struct State {
    pub metadata: Arc<ArrayMetadata>,
    chain: Result<Chain, Unsupported>,
    prefix: StorePrefix,
    /// The cell of the fill value, as a view shows it.
    pub fill: Vec<u8>,
    /// The bytes of the fill value, which every heap of the array's holds.
    pub content: Bytes,
    /// What is remembered of its chunks.
    pub memos: Memos,
    /// The array's document as a write saw it last, if it said the same.
    pub seen: Mutex<Option<Bytes>>,
}

impl State {
    fn new(room: &Room, path: &NodePath, metadata: ArrayMetadata) -> Result<State> {
        let chain = match metadata.chain(&room.registry, room.format.dialect()) {
            // D-031: a strict reader takes no other byte for a bool than 0 and 1.
            Ok(chain) if room.options.strictness == Strictness::Strict => {
                Ok(chain.mending_bools(false))
            }
            Ok(chain) => Ok(chain),
            Err(MetadataError::Unsupported(unsupported)) => Err(unsupported),
            Err(invalid) => return Err(invalid.into()),
        };
        let content = Bytes::from(metadata.fill_bytes());
        let fill = match metadata.data_type.is_variable() {
            true => Heap::holding(content.clone())?.1.as_bytes().to_vec(),
            false => content.to_vec(),
        };
        Ok(State {
            metadata: Arc::new(metadata),
            chain,
            prefix: room.format.chunk_prefix(path)?,
            fill,
            content,
            memos: Memos::new(room.options.index_memory.unwrap_or(INDEX_MEMORY)),
            seen: Mutex::default(),
        })
    }

    /// The chain and the grid, or why there are none here.
    pub fn access(&self) -> Result<(&Chain, &dyn ChunkGrid, Repr)> {
        let chain = self.chain.as_ref().map_err(|e| MetadataError::from(e.clone()))?;
        let metadata = &self.metadata;
        match (&metadata.grid, metadata.data_type.repr()) {
            (Some(grid), Some(repr)) => Ok((chain, &**grid, repr)),
            _ => unreachable!("an unknown grid or type is an obstacle, and then there is no chain"),
        }
    }

    /// Whether an element of nothing but fill need not be stored: an undefined fill value is no value.
    pub fn is_fill(&self, elements: &View<'_>) -> bool {
        if self.metadata.fill_value.is_none() {
            return false;
        }
        let Some(heap) = elements.heap() else { return elements.is_all(&self.fill) };
        let texts = heap.elements();
        let cells = elements.to_bytes();
        cells.chunks_exact(CELL).all(|cell| texts.get(cell) == &self.content[..])
    }

    pub fn key(&self, indices: &[i64]) -> Result<StoreKey> {
        Ok(self.prefix.key(&self.metadata.chunk_keys.key(indices))?)
    }

    /// Where else a chunk may lie.
    pub fn other_key(&self, indices: &[i64]) -> Result<Option<StoreKey>> {
        let other = self.metadata.chunk_keys.other_key(indices);
        Ok(other.map(|name| self.prefix.key(&name)).transpose()?)
    }

    pub fn prefix(&self) -> &StorePrefix {
        &self.prefix
    }
}

/// What all handles of one array share.
#[derive(Debug)]
pub(crate) struct Opened {
    pub room: Arc<Room>,
    pub path: NodePath,
    pub(super) known: Known,
}

impl Opened {
    pub fn new(room: Arc<Room>, path: NodePath, metadata: ArrayMetadata) -> Result<Opened> {
        let state = State::new(&room, &path, metadata).map_err(|e| room.at(&path, e))?;
        Ok(Opened { room, path, known: Known::new(state) })
    }

    pub fn state(&self) -> Arc<State> {
        self.known.now()
    }

    /// The state of the array that a document describes.
    pub fn state_of(&self, metadata: ArrayMetadata) -> Result<Arc<State>> {
        State::new(&self.room, &self.path, metadata).map(Arc::new).map_err(|e| self.at(e))
    }

    /// The store's writing side, if chunks of this array may be written.
    pub fn writeable(&self, state: &State) -> Result<&dyn WriteableStore> {
        let writeable = self.room.writeable().map_err(|e| self.at(e))?;
        match &state.metadata.shards {
            None => Ok(writeable),
            Some(_) => {
                let why = "chunks that share objects by the draft's storage transformer are read and not written; copy the array";
                Err(self.at(AccessError::Frozen(why.into())))
            }
        }
    }

    pub fn at(&self, error: impl Into<Error>) -> Error {
        self.room.at(&self.path, error)
    }

    pub fn at_chunk(&self, tile: &Tile, key: &StoreKey, error: impl Into<Error>) -> Error {
        self.at(error).at_chunk(&tile.indices).at_key(key)
    }

    /// Reads one tile of a blocking store into `out`, which has the tile's own shape; `buffer` is reused.
    pub fn read_tile(
        &self,
        state: &State,
        tile: &Tile,
        buffer: &mut Vec<u8>,
        mut out: ViewMut<'_>,
    ) -> Result<()> {
        if state.metadata.shards.is_some() {
            return match now(self.fetch(state, &tile.indices, Some(&tile.chunk_shape)))? {
                Some((key, bytes)) => self.decode_tile(state, tile, &key, &bytes, out),
                None => {
                    out.fill(&state.fill);
                    Ok(())
                }
            };
        }
        let (chain, ..) = state.access().map_err(|e| self.at(e))?;
        let readable = self.room.store.blocking().and_then(|store| store.readable());
        let readable = readable.ok_or_else(|| self.at(not_readable()))?;
        // This way leads past the adapter that waits for dropped calls (decision 0141).
        now(begun::settled(|| self.room.store.name(), state.prefix()));
        if readable.is_near()
            && let Some(inner) = chain.inner(&tile.chunk_shape, &tile.within)
        {
            let key = &state.key(&tile.indices).map_err(|e| self.at(e))?;
            return self.read_inner(state, readable, &ShardPart { tile, key, inner }, out);
        }
        if let Some(read) = chain.read(&tile.chunk_shape, &tile.within) {
            return match now(self.fetch_part(state, tile, read))? {
                Some((key, read)) => {
                    let decoded = self.decoding(|| read.decode_into(out));
                    decoded.map_err(|e| self.at_chunk(tile, &key, e))
                }
                None => {
                    out.fill(&state.fill);
                    Ok(())
                }
            };
        }
        let mut key = state.key(&tile.indices).map_err(|e| self.at(e))?;
        let other = state.other_key(&tile.indices).map_err(|e| self.at(e))?;
        let whole = chain.is_memory() && tile.within.is_all(&tile.chunk_shape);
        if other.is_none()
            && let Some(expected) = chain.plain_size(&tile.chunk_shape)
            && (whole && out.as_bytes_mut().is_some() || expected <= SMALL)
        {
            let at = |e: Error| self.at_chunk(tile, &key, e);
            let mut memory = out.as_bytes_mut().filter(|_| whole);
            let direct = memory.is_some();
            let found = match &mut memory {
                // Nothing stands between the file and the caller's memory.
                Some(memory) => readable.get_exactly(&key, memory),
                None => {
                    buffer.resize(expected as usize, 0);
                    readable.get_exactly(&key, buffer)
                }
            };
            return match found.map_err(|e| at(e.into()))? {
                None => {
                    out.fill(&state.fill);
                    Ok(())
                }
                Some(found) if found != expected => {
                    let codec = "bytes";
                    Err(at(CodecError::Length { codec, expected, found }.into()))
                }
                Some(_) if direct => chain.check(&mut out).map_err(|e| at(e.into())),
                Some(_) => self.decode_tile(state, tile, &key, buffer, out),
            };
        }
        let most = self.most_stored(state, Some(&tile.chunk_shape));
        let mut found =
            readable.get_into(&key, most, buffer).map_err(|e| self.at_chunk(tile, &key, e))?;
        if let Some(other) = other {
            if !found {
                key = other;
                found = readable
                    .get_into(&key, most, buffer)
                    .map_err(|e| self.at_chunk(tile, &key, e))?;
            } else {
                let warned = now(self.warn_if_stored_twice(&key, &other));
                warned.map_err(|e| self.at_chunk(tile, &key, e))?;
            }
        }
        match found {
            true => self.decode_tile(state, tile, &key, buffer, out),
            false => {
                out.fill(&state.fill);
                Ok(())
            }
        }
    }

    /// Bytes that a stored chunk of `shape` may have; see [`most_encoded`]. Where the elements, or the shape, do not
    /// tell, [`crate::Limits::decoded`] (decision 0142).
    pub fn most_stored(&self, state: &State, shape: Option<&[u64]>) -> u64 {
        let size = match (shape, state.access(), state.metadata.data_type.is_variable()) {
            (Some(shape), Ok((_, _, repr)), false) => {
                let count = shape.iter().chain(state.metadata.shards.iter().flatten());
                Some(count.fold(repr.size() as u64, |size, &len| size.saturating_mul(len)))
            }
            _ => None,
        };
        self.decoding(|| most_encoded(size))
    }

    /// Fetches an encoded chunk, of `shape` if that is known, from wherever it lies.
    pub async fn fetch(
        &self,
        state: &State,
        indices: &[i64],
        shape: Option<&[u64]>,
    ) -> Result<Option<(StoreKey, Bytes)>> {
        let readable = self.room.store.readable().ok_or_else(|| self.at(not_readable()))?;
        let most = self.most_stored(state, shape);
        if let Some(per_shard) = &state.metadata.shards {
            let shard = Shard::of(indices, per_shard);
            let key = state.key(&shard.indices)?;
            let at = |e: Error| self.at(e).at_chunk(indices).at_key(&key);
            let Some(object) = readable.get_at_most(&key, most).await.map_err(|e| at(e.into()))?
            else {
                return Ok(None);
            };
            let chunk = shard.chunk(&object).map_err(|e| at(e.into()))?;
            return Ok(chunk.map(|bytes| (key, bytes)));
        }
        let (first, other) = (state.key(indices)?, state.other_key(indices)?);
        for key in [Some(&first), other.as_ref()].into_iter().flatten() {
            let at = |e: Error| self.at(e).at_chunk(indices).at_key(key);
            let found = readable.get_at_most(key, most).await.map_err(|e| at(e.into()))?;
            let Some(bytes) = found else { continue };
            if let (Some(other), true) = (&other, *key == first) {
                self.warn_if_stored_twice(key, other).await.map_err(at)?;
            }
            return Ok(Some((key.clone(), bytes)));
        }
        Ok(None)
    }

    /// Warns if a chunk that is stored at `key` is stored at `other`, too (V07c).
    async fn warn_if_stored_twice(&self, key: &StoreKey, other: &StoreKey) -> Result<()> {
        if self.room.size(other).await?.is_some() {
            let what =
                format!("the same chunk is stored at `{key}` and at `{other}`; the first is taken");
            self.room.warn(self.path.as_str(), vec![what]);
        }
        Ok(())
    }

    /// The bytes of a chunk as they are stored.
    pub async fn encoded(&self, state: &State, indices: &[i64]) -> Result<Option<Bytes>> {
        Ok(self.fetch(state, indices, None).await?.map(|(_, bytes)| bytes))
    }

    /// Erases a chunk, from wherever it lies.
    pub async fn erase_chunk(&self, state: &State, indices: &[i64]) -> Result<()> {
        let writeable = self.writeable(state)?;
        let keys = [Some(state.key(indices)?), state.other_key(indices)?];
        for key in keys.into_iter().flatten() {
            state.memos.forget(&key);
            let erased = writeable.erase(&key).await;
            erased.map_err(|e| self.at(e).at_chunk(indices).at_key(&key))?;
        }
        Ok(())
    }

    /// Decodes the part of an encoded chunk that a tile touches, into memory of the tile's own shape.
    pub fn decode_tile(
        &self,
        state: &State,
        tile: &Tile,
        key: &StoreKey,
        encoded: &[u8],
        out: ViewMut<'_>,
    ) -> Result<()> {
        let (chain, ..) = state.access().map_err(|e| self.at(e))?;
        let encoded = Cow::Borrowed(encoded);
        let decode = || chain.decode_into(encoded, &tile.chunk_shape, &tile.within, out);
        self.decoding(decode).map_err(|e| self.at_chunk(tile, key, e))
    }

    /// Decodes within the limit that the caller gave (decision 0142).
    pub fn decoding<T>(&self, decode: impl FnOnce() -> T) -> T {
        budget::limited(self.room.options.limits.decoded, decode)
    }

    /// Writes one tile of a blocking store. `false`: others were faster so many `rounds` in a row.
    pub fn write_tile(
        &self,
        state: &State,
        tile: &Tile,
        part: View<'_>,
        span: Span,
        rounds: u32,
    ) -> Result<bool> {
        let key = now(self.write_key(state, tile))?;
        let result = match self.replaces(tile, span) {
            true => self.write_whole(state, tile, &key, part).map(|()| true),
            false => {
                let part = &part;
                let edit = |old: Option<Arc<dyn Pinned>>| async move {
                    let rest = self.fetch_rest(state, tile, span, old.as_deref()).await?;
                    let overlaid = self.overlay(state, tile, rest, part, span)?;
                    assembled(overlaid, old).await
                };
                let most = self.most_stored(state, Some(&tile.chunk_shape));
                now(compare_and_swap::update_for(&self.room, &key, most, edit, rounds))
            }
        };
        result.map_err(|e| self.at_chunk(tile, &key, e))
    }

    /// Encodes a whole chunk, part after part if it can be, and sets it or erases it.
    fn write_whole(
        &self,
        state: &State,
        tile: &Tile,
        key: &StoreKey,
        part: View<'_>,
    ) -> Result<()> {
        let (chain, ..) = state.access()?;
        let is_all = tile.within.is_all(&tile.chunk_shape);
        let parts = || chain.encode_in_parts(part.clone());
        if !is_all || parts().is_none() || self.is_left_out(state, &part) {
            let chunk = self.encode_whole(state, tile, part.clone())?;
            let stored = now(self.store_whole(key, chunk.as_deref().map(Payload::new)));
            chunk.into_iter().for_each(scratch::give_back);
            return stored;
        }
        // What a codec says is told as it was said, and not as the store tells that it was not given bytes.
        let refused = Mutex::new(None);
        let refuse = |e: CodecError| {
            let why = StoreError::Backend(e.to_string().into());
            refused.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(e);
            why
        };
        let make = || parts().into_iter().flatten().map(|made| made.map_err(&refuse));
        let stored = now(self.store_whole(key, Some(Payload::default().and_made(make))));
        match refused.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(e) => Err(e.into()),
            None => stored,
        }
    }

    /// A draft's scalar keeps the key it has; a new one lies where the writer's profile says. Never are
    /// both left behind (Q2): of two, the one that readers pass over goes.
    pub async fn write_key(&self, state: &State, tile: &Tile) -> Result<StoreKey> {
        let key = state.key(&tile.indices).map_err(|e| self.at(e))?;
        state.memos.forget(&key);
        let Some(other) = state.other_key(&tile.indices)? else { return Ok(key) };
        let most = self.most_stored(state, Some(&tile.chunk_shape));
        let is_there = async |key: &StoreKey| {
            self.room.get_at_most(key, most).await.map(|value| value.is_some())
        };
        if !is_there(&key).await.map_err(|e| self.at(e))? {
            let to_other =
                matches!(state.metadata.chunk_keys, ChunkKeys::Draft { scalar_at_c0: true, .. });
            let is_other = to_other || is_there(&other).await.map_err(|e| self.at(e))?;
            return Ok(if is_other { other } else { key });
        }
        let erased = self.room.writeable().map_err(|e| self.at(e))?.erase(&other).await;
        erased.map_err(|e| self.at(e).at_key(&other))?;
        Ok(key)
    }

    /// Whether a tile may be set without looking at what is there. An edge chunk may not: another writer
    /// may have made the array longer, and put elements where this handle sees only overhang. Nor may one
    /// field of records.
    pub fn replaces(&self, tile: &Tile, span: Span) -> bool {
        span.is_whole() && tile.whole && (tile.covers() || self.room.options.guard == Guard::Off)
    }

    /// A whole chunk, encoded; `None` if it need not be stored.
    pub fn encode_whole<'a>(
        &self,
        state: &State,
        tile: &Tile,
        part: View<'a>,
    ) -> Result<Option<Cow<'a, [u8]>>> {
        let (chain, _, repr) = state.access()?;
        if tile.within.is_all(&tile.chunk_shape) {
            return match self.is_left_out(state, &part) {
                true => Ok(None),
                false => Ok(Some(chain.encode(part)?)),
            };
        }
        // An edge chunk is stored whole, what overhangs being fill (D-043, F-062, Z2-024).
        let padded = self.padded(state, tile, &part, Span::of(repr))?;
        let chunk = View::new(&padded, &tile.chunk_shape, repr.size()).with_heap(part.heap());
        match self.is_left_out(state, &chunk) {
            true => Ok(None),
            false => Ok(Some(Cow::Owned(chain.encode(chunk)?.into_owned()))),
        }
    }

    /// Whether a whole chunk need not be stored.
    fn is_left_out(&self, state: &State, part: &View<'_>) -> bool {
        !self.room.options.keep_fill_chunks && state.is_fill(part)
    }

    /// Whether a chunk is stored that a part made all fill.
    pub fn keeps_fill(&self, state: &State) -> bool {
        let keeps = self.room.options.keep_fill_chunks || state.metadata.fill_value.is_none();
        keeps || !self.erases()
    }

    /// Whether a chunk can be erased without loss of what another writer did meanwhile (decision 0103).
    pub fn erases(&self) -> bool {
        let conditional = self.room.store.conditional();
        self.room.options.guard == Guard::Off || conditional.is_none_or(|store| store.erases())
    }

    /// Sets or erases a whole chunk.
    pub async fn store_whole(&self, key: &StoreKey, chunk: Option<Payload<'_>>) -> Result<()> {
        let writeable = self.room.writeable()?;
        match (chunk, self.room.options.guard) {
            (Some(chunk), Guard::On) => writeable.set(key, chunk).await?,
            (Some(chunk), Guard::Off) => writeable.set_unguarded(key, chunk).await?,
            (None, Guard::On) => writeable.erase(key).await?,
            (None, Guard::Off) => writeable.erase_unguarded(key).await?,
        }
        Ok(())
    }

    /// A whole chunk of fill with `part` laid over it.
    pub fn padded(
        &self,
        state: &State,
        tile: &Tile,
        part: &View<'_>,
        span: Span,
    ) -> Result<Vec<u8>> {
        let size = span.element;
        let mut chunk = zeroed(&tile.chunk_shape, size, "a chunk")?;
        let mut view = ViewMut::new(&mut chunk, &tile.chunk_shape, size).with_heap(part.heap());
        if state.fill.iter().any(|&b| b != 0) {
            view.fill(&state.fill);
        }
        view.span(span.offset, span.size).scatter(&tile.within, part);
        Ok(chunk)
    }

    /// Sets everything of a chunk outside `keep` to the fill value; [`Edited::Keep`] if it is that already.
    pub fn scrubbed(
        &self,
        state: &State,
        chunk_shape: &[u64],
        keep: &Region,
        old: &Bytes,
    ) -> Result<Edited> {
        let (chain, _, repr) = state.access()?;
        let mut chunk = zeroed(chunk_shape, repr.size(), "a chunk")?;
        let all = Part::all(chunk_shape);
        let heap = (repr == Repr::Variable).then(|| Heap::holding(state.content.clone()));
        let heap = heap.transpose()?.map(|(heap, _)| heap);
        let heap = heap.as_ref();
        let whole = ViewMut::new(&mut chunk, chunk_shape, repr.size()).with_heap(heap);
        self.decoding(|| chain.decode_into(Cow::Borrowed(old), chunk_shape, &all, whole))?;
        let mut clean = zeroed(chunk_shape, repr.size(), "a chunk")?;
        let mut view = ViewMut::new(&mut clean, chunk_shape, repr.size());
        view.fill(&state.fill);
        view.part(keep).copy_from(&View::new(&chunk, chunk_shape, repr.size()).part(keep));
        let is_clean = match heap {
            Some(heap) => heap.elements().equal(&clean, &chunk),
            None => clean == chunk,
        };
        if is_clean {
            return Ok(Edited::Keep);
        }
        let view = View::new(&clean, chunk_shape, repr.size()).with_heap(heap);
        if state.is_fill(&view) && self.erases() {
            return Ok(Edited::Erase);
        }
        Ok(Edited::Set(chain.encode(view)?.into_owned().into()))
    }
}

pub(crate) fn wrong_kind(is: NodeKind) -> AccessError {
    let wanted = if is == NodeKind::Group { NodeKind::Array } else { NodeKind::Group };
    AccessError::NodeKind { is: is.phrase(), wanted: wanted.phrase() }
}

pub(crate) fn not_readable() -> crate::error::StoreError {
    crate::error::StoreError::NotCapable { operation: "read", capability: "readable" }
}

/// Zeroed memory for elements, or an error that says how much it would have been.
pub(crate) fn zeroed(shape: &[u64], element: usize, what: &'static str) -> Result<Vec<u8>> {
    let size = crate::region::element_count(shape).and_then(|n| n.checked_mul(element as u64));
    let memory = size.and_then(|n| usize::try_from(n).ok()).filter(|&n| isize::try_from(n).is_ok());
    memory.and_then(crate::memory::zeroed).ok_or_else(|| {
        let hint = "read or write a smaller region";
        AccessError::TooLarge { what, size: size.unwrap_or(u64::MAX), hint }.into()
    })
}
