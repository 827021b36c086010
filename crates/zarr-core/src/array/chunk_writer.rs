//! Writes the chunks that a part of an array touches: each as a whole, or merged into the stored chunk by
//! [`compare_and_swap`].
//!
//! To a local store a thread of the pool encodes each chunk and stores it. To a remote store, and for async callers, many
//! chunks are under way at the same time; store calls wait in the caller's future, encoding runs on the pool.

use std::borrow::Cow;
use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use futures::stream::TryStreamExt;

use super::compare_and_swap::{
    ATTEMPTS_WITHOUT_QUEUE, Edited, MAX_ATTEMPTS, compare_and_swap, unless_given_up, whole,
};
use super::executor::{self, TOGETHER};
use super::given_elements::{Elements, Memory, Shared, Typed};
use super::segments::{has_index, outside};
use super::transfer::Transfer;
use super::{ArrayCore, ChunkLayout, FieldBytes, zeroed};
use crate::codec::{PartialWrite, SplicePart, Threads, buffer_pool};
use crate::control::Counter;
use crate::data_type::Repr;
use crate::element::Element;
use crate::error::{CodecError, Error, MetadataError, Result, StoreError};
use crate::grid::{ChunkKeys, ChunkProjection};
use crate::options::{Guard, Options};
use crate::path::NodePath;
use crate::region::Region;
use crate::selection::ResolvedSelection;
use crate::store::{Bytes, Capabilities, NotSet, Payload, Precondition, Snapshot, StoreKey};
use crate::sync::{into_inner, lock};
use crate::var_buffer::VarBuffer;
use crate::view::{View, ViewMut};

/// Shards of fewer bytes are written by a thread each.
const MIN_LARGE_SHARD_BYTES: u64 = 1 << 23;

/// The bytes of a stored chunk that a change needs.
enum ExistingChunk {
    /// All of it; `None` if it is not stored.
    Whole(Option<Bytes>),
    /// Only those that the codecs need.
    ResolvedSelection(PartialWrite),
}

impl ArrayCore {
    /// Writes elements that the caller lends, in memory with any strides that has the shape of `part`. Where the store is local, the calling thread must be one that may block.
    pub fn write<'a>(
        self: &'a Arc<Self>,
        transfer: &'a Transfer,
        elements: View<'a>,
        var_buffer: Option<&'a Arc<VarBuffer>>,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let (layout, span, chunks) = (&transfer.layout, transfer.span, || transfer.chunks());
            self.writeable(layout)?;
            let elements = elements.with_var_buffer(var_buffer.map(|var_buffer| &**var_buffer));
            if self.is_remote() {
                // Each chunk copies its elements when it begins.
                let share = |tile: ChunkProjection| {
                    let (shape, mut copy) = (tile.within.shape(), Vec::new());
                    let memory = elements.select(&tile.output, &mut copy).to_bytes().into_owned();
                    let tile = ChunkProjection { output: ResolvedSelection::all(&shape), ..tile };
                    let (memory, var_buffer) = (Arc::new(memory), var_buffer.cloned());
                    (tile, Shared { memory, var_buffer, shape, span, is_alone: false })
                };
                return self.write_shared(transfer, share).await;
            }
            let mut kind = transfer.work();
            let count = executor::threads(&self.options, kind.size).count;
            // Of few large shards each is encoded by all threads.
            kind.many &= kind.size < MIN_LARGE_SHARD_BYTES
                || chunks().take(count).count() == count
                || !chunks().all(|tile| self.replaces(&tile, span) && is_shard(layout, &tile));
            let counter = Counter::new(&self.options.progress, || chunks().count());
            // Chunks that other writers change all the time: the calling thread writes them, never one of the pool
            // (docs/internals/design/concurrency.md).
            let contended: Mutex<Vec<ChunkProjection>> = Mutex::default();
            let write = async |tile: &Arc<ChunkProjection>, copy: &mut Vec<u8>, attempts: u32| {
                let elements = Elements::Lent(elements.select(&tile.output, copy));
                let is_done = self.write_chunk(layout, tile, span, &elements, attempts).await?;
                if is_done {
                    counter.chunk_done(&tile.within, span.size);
                }
                Ok::<_, Error>(is_done)
            };
            // Neighbours of few bytes go to the store in one call, if there are enough of them for all threads. A thread takes
            // whole rows, which mostly have separate folders: threads that change the same folder wait for each other.
            let neighbours = (TOGETHER / 4).min(kind.total / (4 * count as u64)) / kind.size.max(1);
            let together = if self.context.store.capabilities().set_all { 16 } else { 1 };
            let each = neighbours.clamp(1, together);
            kind.row = (kind.row * (each / kind.row).max(1)).min(256);
            let rows = in_groups(chunks(), kind.row);
            let groups = rows.map(|row| in_groups(row.into_iter(), each));
            let write_group = async |copy: &mut Vec<u8>, group: Vec<ChunkProjection>| {
                let replaced = |tile: &ChunkProjection| self.replaces(tile, span);
                let (whole, mut parts): (Vec<_>, Vec<_>) = group.into_iter().partition(replaced);
                if let [_, _, ..] = &whole[..] {
                    self.write_together(layout, &whole, &elements, copy).await?;
                    whole.iter().for_each(|tile| counter.chunk_done(&tile.within, span.size));
                } else {
                    parts.extend(whole);
                }
                for tile in parts {
                    let tile = Arc::new(tile);
                    if !write(&tile, copy, ATTEMPTS_WITHOUT_QUEUE).await? {
                        lock(&contended).push(Arc::unwrap_or_clone(tile));
                    }
                }
                Ok(())
            };
            executor::for_each_async(&self.options, kind, groups, write_group)
                .map_err(|e| self.at(e))?;
            for tile in into_inner(contended) {
                let is_done = write(&Arc::new(tile), &mut Vec::new(), MAX_ATTEMPTS).await?;
                unless_given_up(is_done).map_err(|e| self.at(e))?;
            }
            Ok(())
        })
    }

    /// Replaces chunks in one call of the store.
    async fn write_together(
        &self,
        layout: &ChunkLayout,
        tiles: &[ChunkProjection],
        elements: &View<'_>,
        copy: &mut Vec<u8>,
    ) -> Result<()> {
        let (mut stored, mut keys, mut encoded) = (Vec::new(), Vec::new(), Vec::new());
        for tile in tiles {
            self.options.check_cancelled()?;
            let key = self.write_key(layout, &tile.key_index, &tile.chunk_shape).await?;
            let part = elements.select(&tile.output, copy);
            match encode_whole(&self.options, layout, tile, &part) {
                Ok(Some(chunk)) => {
                    stored.push(tile);
                    keys.push(key);
                    encoded.push(chunk.into_owned());
                }
                Ok(None) => {
                    let erased = self.set_whole(&key, None).await;
                    erased.map_err(|e| self.at_chunk(tile, &key, e))?;
                }
                Err(e) => return Err(self.at_chunk(tile, &key, e)),
            }
        }
        let values: Vec<(StoreKey, &[u8])> =
            keys.into_iter().zip(encoded.iter().map(Vec::as_slice)).collect();
        let guarded = self.options.guard == Guard::On;
        let set = self.writeable(layout)?.set_all(&values, guarded).await;
        set.map_err(|NotSet { at, error }| match (stored.get(at), values.get(at)) {
            (Some(tile), Some((key, _))) => self.at_chunk(tile, key, error),
            _ => self.at(error),
        })?;
        encoded.into_iter().for_each(|bytes| buffer_pool::release(Cow::Owned(bytes)));
        Ok(())
    }

    /// Writes elements that an async caller hands over.
    pub async fn write_async<T: Element>(
        self: &Arc<Self>,
        transfer: &Transfer,
        elements: Vec<T>,
    ) -> Result<()> {
        let (memory, var_buffer): (Arc<dyn Memory>, _) = match T::as_memory(&elements) {
            Some(Cow::Owned(memory)) => (Arc::new(memory), None),
            Some(Cow::Borrowed(_)) => (Arc::new(Typed(elements)), None),
            None => {
                let contents = elements.iter().map(T::as_bytes);
                let cells = transfer.layout.cells_of(contents).map_err(|e| self.at(e))?;
                (Arc::new(cells.memory), Some(cells.var_buffer))
            }
        };
        self.write_owned(transfer, memory, var_buffer).await
    }

    /// Writes native elements that an async caller hands over.
    pub(super) fn write_owned<'a>(
        self: &'a Arc<Self>,
        transfer: &'a Transfer,
        memory: Arc<dyn Memory>,
        var_buffer: Option<Arc<VarBuffer>>,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.writeable(&transfer.layout)?;
            let (shape, span) = (transfer.part.shape(), transfer.span);
            let shared = Shared { memory, var_buffer, shape, span, is_alone: false };
            self.write_shared(transfer, |tile| (tile, shared.clone())).await
        })
    }

    /// Writes many chunks at the same time.
    async fn write_shared(
        &self,
        transfer: &Transfer,
        share: impl Fn(ChunkProjection) -> (ChunkProjection, Shared),
    ) -> Result<()> {
        let (options, kind, span) = (&self.options, transfer.work(), transfer.span);
        let counter = &Counter::new(&options.progress, || transfer.chunks().count());
        let write = |tile| {
            let (tile, mut shared) = share(tile);
            shared.is_alone = !kind.many;
            async move {
                let (tile, elements) = (Arc::new(tile), Elements::Shared(shared));
                let layout = &transfer.layout;
                let is_done = self.write_chunk(layout, &tile, span, &elements, MAX_ATTEMPTS);
                unless_given_up(is_done.await?)
                    .map_err(|e| self.at(e).at_chunk(&tile.key_index))?;
                counter.chunk_done(&tile.within, span.size);
                Ok(())
            }
        };
        let in_flight = kind.in_flight(self.context.store.capabilities().in_flight);
        let written =
            executor::in_flight(options, in_flight, transfer.chunks(), write).try_collect().await;
        written.map_err(|e| self.at(e))
    }

    /// Writes one chunk. `false`: another writer was faster in each of `attempts`.
    async fn write_chunk(
        &self,
        layout: &ChunkLayout,
        tile: &Arc<ChunkProjection>,
        span: FieldBytes,
        elements: &Elements<'_>,
        attempts: u32,
    ) -> Result<bool> {
        let key = self.write_key(layout, &tile.key_index, &tile.chunk_shape).await?;
        let result = match (self.replaces(tile, span), elements) {
            (true, Elements::Lent(part)) => {
                self.write_whole(layout, tile, &key, part).await.map(|()| true)
            }
            (true, Elements::Shared(_)) => {
                let (layout, at, options) = (layout.clone(), tile.clone(), self.options.clone());
                let encode = move |part: View<'_>| {
                    let chunk = encode_whole(&options, &layout, &at, &part)?;
                    Ok(chunk.map(Cow::into_owned))
                };
                match elements.encode(self, tile, encode).await {
                    Ok(chunk) => self.set_whole(&key, chunk.map(Into::into)).await.map(|()| true),
                    Err(e) => Err(e),
                }
            }
            (false, _) => {
                let edit =
                    |old: Option<Arc<dyn Snapshot>>| self.merged(layout, tile, span, elements, old);
                let most = self.most_stored(layout, Some(&tile.chunk_shape));
                compare_and_swap(&self.context, self.options.guard, &key, most, edit, attempts)
                    .await
            }
        };
        result.map_err(|e| self.at_chunk(tile, &key, e))
    }

    /// The stored chunk with elements merged into it.
    async fn merged(
        &self,
        layout: &ChunkLayout,
        tile: &Arc<ChunkProjection>,
        span: FieldBytes,
        elements: &Elements<'_>,
        old: Option<Arc<dyn Snapshot>>,
    ) -> Result<Edited> {
        self.options.check_cancelled()?;
        let existing = self.existing_chunk(layout, tile, span, old.as_deref()).await?;
        let (keep_fill, options) = (self.keeps_fill(layout), self.options.clone());
        let (layout, at) = (layout.clone(), tile.clone());
        let merge = move |part: View<'_>| {
            let how = (keep_fill, &options);
            let merge = || merge_into_chunk(&layout, &at, span, existing, &part, how);
            crate::codec::budget::limited(options.limits.decoded, merge)
        };
        let edited = match elements.encode(self, tile, merge).await? {
            Some(parts) => Edited::spliced(parts, old).await?,
            None => Edited::Erase,
        };
        self.options.check_cancelled().and(Ok(edited))
    }

    /// The bytes of a stored chunk that are needed to merge a part into the `span` of each element.
    async fn existing_chunk(
        &self,
        layout: &ChunkLayout,
        tile: &ChunkProjection,
        span: FieldBytes,
        old: Option<&dyn Snapshot>,
    ) -> Result<ExistingChunk> {
        let edit = || layout.chunks().chain.edit(&tile.chunk_shape, &tile.within, old.is_some());
        if span.is_whole()
            && let Some(mut write) = self.decoding(edit)
        {
            while let needs @ [_, ..] = &write.needs()[..] {
                let bytes = match old {
                    Some(old) => old.read(needs).await.map_err(outside)?,
                    None => Vec::new(),
                };
                self.decoding(|| write.supply(bytes))?;
            }
            return Ok(ExistingChunk::ResolvedSelection(write));
        }
        whole(old).await.map(ExistingChunk::Whole)
    }

    /// Encodes a whole chunk, part after part if it can be, and sets it or erases it.
    async fn write_whole(
        &self,
        layout: &ChunkLayout,
        tile: &ChunkProjection,
        key: &StoreKey,
        part: &View<'_>,
    ) -> Result<()> {
        let is_all = tile.within.is_all(&tile.chunk_shape);
        let chain = &layout.chunks().chain;
        let has_parts = || chain.encode_in_parts(part.clone(), Threads::ONE).is_some();
        if !is_all || !has_parts() || !self.options.keep_fill_chunks && layout.is_fill(part) {
            let chunk = encode_whole(&self.options, layout, tile, part)?;
            let stored = self.set_whole(key, chunk.as_deref().map(Payload::new)).await;
            chunk.into_iter().for_each(buffer_pool::release);
            return stored;
        }
        // The error of the codec, or that the caller cancelled, is returned, and not that of the store, which got no bytes.
        let refused = Mutex::new(None);
        let refuse = |e: Error| {
            let why = StoreError::Backend(e.to_string().into());
            lock(&refused).get_or_insert(e);
            why
        };
        let check = |made: Result<_, CodecError>| self.options.check_cancelled().and(Ok(made?));
        let threads = executor::threads(&self.options, part.size());
        let parts = || chain.encode_in_parts(part.clone(), threads).into_iter().flatten();
        let stored = executor::with_scope(async |scope| {
            let parts = || executor::made_ahead(scope, threads, parts);
            let make = || parts().map(|made| check(made).map_err(&refuse));
            self.set_whole(key, Some(Payload::default().and_made(make))).await
        });
        lock(&refused).take().map_or(stored, Err)
    }

    /// The key at which a chunk is written. A draft's scalar keeps the key that it has; the writer's profile has the key of a
    /// new one. If it is stored at both, the one that readers pass over is erased (Q2).
    pub async fn write_key(
        &self,
        layout: &ChunkLayout,
        indices: &[i64],
        chunk_shape: &[u64],
    ) -> Result<StoreKey> {
        let key = layout.key(indices);
        layout.index_cache.forget(&key);
        let Some(other) = layout.other_key(indices) else { return Ok(key) };
        let most = self.most_stored(layout, Some(chunk_shape));
        let is_there = async |key: &StoreKey| {
            self.context.get_at_most(key, most).await.map(|value| value.is_some())
        };
        if !is_there(&key).await.map_err(|e| self.at(e))? {
            let to_other =
                matches!(layout.metadata.chunk_keys, ChunkKeys::Draft { scalar_at_c0: true, .. });
            let is_other = is_there(&other).await.map_err(|e| self.at(e))?
                || to_other && !self.is_of_plain_text().await?;
            return Ok(if is_other { other } else { key });
        }
        let erased = self.context.writeable().map_err(|e| self.at(e))?.erase(&other).await;
        erased.map_err(|e| self.at(e).at_key(&other))?;
        Ok(key)
    }

    /// Whether the hierarchy of a draft is one that this library writes in the plain text of 2020: the root group has no
    /// document, which the other form always has, and the array's has its members in another order than zarr-python 2.18
    /// gives them, which may leave out the root group as well.
    async fn is_of_plain_text(&self) -> Result<bool> {
        let format = &self.context.format;
        let limit = self.options.limits.document;
        let get = async |key: &StoreKey| {
            self.context.get_at_most(key, limit).await.map_err(|e| self.at(e).at_key(key))
        };
        for key in format.document_keys(&NodePath::root())? {
            if get(&key).await?.is_some() {
                return Ok(false);
            }
        }
        let Some(key) = format.document_keys(&self.path)?.into_iter().next() else {
            return Ok(false);
        };
        let Some(document) = get(&key).await? else { return Ok(false) };
        let document = format.encoding().decode(&document).map_err(MetadataError::Json)?.0;
        let first = document.as_object().and_then(|members| members.iter().next());
        Ok(first.is_some_and(|(name, _)| name == "shape"))
    }

    /// Whether a chunk may be set without a look at the stored one. An edge chunk may not: another writer may have made the
    /// array longer, and put elements where this handle sees only overhang. Nor may one field of records.
    pub fn replaces(&self, tile: &ChunkProjection, span: FieldBytes) -> bool {
        span.is_whole()
            && tile.whole
            && (tile.covers_stored_chunk() || self.options.guard == Guard::Off)
    }

    /// Whether a chunk is stored although a part made it all fill.
    pub fn keeps_fill(&self, layout: &ChunkLayout) -> bool {
        let keeps = self.options.keep_fill_chunks || layout.metadata.fill_value.is_none();
        keeps || !self.erases()
    }

    /// Whether a chunk can be erased without loss of what another writer did concurrently
    /// (docs/internals/design/concurrency.md).
    pub fn erases(&self) -> bool {
        let Capabilities { swap, swap_erase, .. } = self.context.store.capabilities();
        self.options.guard == Guard::Off || !swap || swap_erase
    }

    /// Sets or erases a whole chunk.
    pub async fn set_whole(&self, key: &StoreKey, chunk: Option<Payload<'_>>) -> Result<()> {
        let writeable = self.options.check_cancelled().and(self.context.writeable())?;
        let only_if = Precondition::always(self.options.guard == Guard::On);
        writeable.put(key, chunk, only_if).await?;
        Ok(())
    }

    /// Erases a chunk at both keys that it may have.
    pub async fn erase_chunk(&self, layout: &ChunkLayout, indices: &[i64]) -> Result<()> {
        let writeable = self.writeable(layout)?;
        let keys = [Some(layout.key(indices)), layout.other_key(indices)];
        for key in keys.into_iter().flatten() {
            layout.index_cache.forget(&key);
            let erased = writeable.erase(&key).await;
            erased.map_err(|e| self.at(e).at_chunk(indices).at_key(&key))?;
        }
        Ok(())
    }

    /// Sets everything of a chunk outside `keep` to the fill value; [`Edited::Keep`] if it is that already.
    pub fn cleared_outside(
        &self,
        layout: &ChunkLayout,
        chunk_shape: &[u64],
        keep: &Region,
        old: &Bytes,
    ) -> Result<Edited> {
        let (chain, repr) = (&layout.chunks().chain, layout.chunks().repr);
        let mut chunk = zeroed(chunk_shape, repr.size(), "a chunk")?;
        let all = ResolvedSelection::all(chunk_shape);
        let var_buffer =
            (repr == Repr::Variable).then(|| VarBuffer::holding(layout.content.clone()));
        let var_buffer = var_buffer.transpose()?.map(|(var_buffer, _)| var_buffer);
        let var_buffer = var_buffer.as_ref();
        let whole = ViewMut::new(&mut chunk, chunk_shape, repr.size()).with_var_buffer(var_buffer);
        self.decoding(|| chain.decode_into(Cow::Borrowed(old), chunk_shape, &all, whole))?;
        let mut clean = zeroed(chunk_shape, repr.size(), "a chunk")?;
        let mut view = ViewMut::new(&mut clean, chunk_shape, repr.size());
        view.fill(&layout.fill);
        view.part(keep).copy_from(&View::new(&chunk, chunk_shape, repr.size()).part(keep));
        let is_clean = match var_buffer {
            Some(var_buffer) => var_buffer.elements().equal(&clean, &chunk),
            None => clean == chunk,
        };
        if is_clean {
            return Ok(Edited::Keep);
        }
        let view = View::new(&clean, chunk_shape, repr.size()).with_var_buffer(var_buffer);
        if layout.is_fill(&view) && self.erases() {
            return Ok(Edited::Erase);
        }
        Ok(Edited::Set(chain.encode(view)?.into_owned().into()))
    }
}

/// The items in groups of `count`; the last may have fewer.
fn in_groups<T>(mut items: impl Iterator<Item = T>, count: u64) -> impl Iterator<Item = Vec<T>> {
    std::iter::from_fn(move || {
        let group: Vec<_> = items.by_ref().take(count as usize).collect();
        (!group.is_empty()).then_some(group)
    })
}

/// Whether a chunk has parts that are encoded independently of each other.
fn is_shard(layout: &ChunkLayout, tile: &ChunkProjection) -> bool {
    let partial = layout.chunks().chain.partial(&tile.chunk_shape, &tile.within);
    partial.is_some_and(|partial| has_index(&partial))
}

/// A whole chunk, encoded; `None` if it need not be stored.
fn encode_whole<'a>(
    options: &Options,
    layout: &ChunkLayout,
    tile: &ChunkProjection,
    part: &View<'a>,
) -> Result<Option<Cow<'a, [u8]>>> {
    let is_stored = |chunk: &View<'_>| options.keep_fill_chunks || !layout.is_fill(chunk);
    if tile.within.is_all(&tile.chunk_shape) {
        return is_stored(part).then(|| encode(options, layout, part.clone())).transpose();
    }
    // An edge chunk is stored whole; its overhang is fill (D-043, F-062, Z2-024).
    let padded = pad_edge_chunk(layout, tile, part, layout.span())?;
    let chunk = View::new(&padded, &tile.chunk_shape, layout.chunks().repr.size())
        .with_var_buffer(part.var_buffer());
    let encoded = is_stored(&chunk).then(|| encode(options, layout, chunk)).transpose()?;
    Ok(encoded.map(|bytes| Cow::Owned(bytes.into_owned())))
}

/// A chunk, encoded; on all threads, if it has parts that are independent of each other.
fn encode<'a>(options: &Options, layout: &ChunkLayout, chunk: View<'a>) -> Result<Cow<'a, [u8]>> {
    let chain = &layout.chunks().chain;
    if chain.encode_in_parts(chunk.clone(), Threads::ONE).is_none() {
        return Ok(chain.encode(chunk)?);
    }
    let mut whole = Vec::new();
    let threads = executor::threads(options, chunk.size());
    for part in chain.encode_in_parts(chunk, threads).into_iter().flatten() {
        options.check_cancelled()?;
        whole.extend_from_slice(&part?);
    }
    Ok(whole.into())
}

/// A whole chunk of fill with `part` merged into it.
fn pad_edge_chunk(
    layout: &ChunkLayout,
    tile: &ChunkProjection,
    part: &View<'_>,
    span: FieldBytes,
) -> Result<Vec<u8>> {
    let size = span.element;
    let mut chunk = zeroed(&tile.chunk_shape, size, "a chunk")?;
    let mut view =
        ViewMut::new(&mut chunk, &tile.chunk_shape, size).with_var_buffer(part.var_buffer());
    if layout.fill.iter().any(|&b| b != 0) {
        view.fill(&layout.fill);
    }
    view.span(span.offset, span.size).scatter(&tile.within, part);
    Ok(chunk)
}

/// The parts of a chunk with `part` merged into it, into the `span` of each element; `None` if the chunk need not be stored.
fn merge_into_chunk(
    layout: &ChunkLayout,
    tile: &ChunkProjection,
    span: FieldBytes,
    existing: ExistingChunk,
    part: &View<'_>,
    (keep_fill, options): (bool, &Options),
) -> Result<Option<Vec<SplicePart>>> {
    let (shape, size) = (&tile.chunk_shape, layout.chunks().repr.size());
    // The old elements are in a variable-length buffer that is dropped after this attempt.
    let var_buffer = part.var_buffer().map(VarBuffer::fork);
    let var_buffer = var_buffer.as_ref();
    let old = match existing {
        ExistingChunk::ResolvedSelection(write) => {
            let part = part.clone().with_var_buffer(var_buffer);
            let splice = write.apply(&part, executor::threads(options, part.size()))?;
            let erased = splice.is_fill && !keep_fill;
            return Ok((!erased).then_some(splice.parts));
        }
        ExistingChunk::Whole(old) => old,
    };
    let chunk = match old {
        None => pad_edge_chunk(layout, tile, part, span)?,
        Some(old) => {
            let mut chunk = zeroed(shape, size, "a chunk")?;
            let mut view = ViewMut::new(&mut chunk, shape, size).with_var_buffer(var_buffer);
            let (old, all) = (Cow::Borrowed(&old[..]), ResolvedSelection::all(shape));
            layout.chunks().chain.decode_into(old, shape, &all, view.reborrow())?;
            view.span(span.offset, span.size).scatter(&tile.within, part);
            chunk
        }
    };
    let view = View::new(&chunk, shape, size).with_var_buffer(var_buffer);
    if !keep_fill && layout.is_fill(&view) {
        return Ok(None);
    }
    Ok(Some(vec![SplicePart::New(encode(options, layout, view)?.into_owned())]))
}
