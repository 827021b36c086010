//! The way of a write, from top to bottom: memory of the caller to chunks of an array.
//!
//! 1. [`Writer::write`] cuts the elements into a part for each chunk that is touched. To a local store a thread of the pool
//!    encodes each chunk and stores it ([`Writer::write_lent`]). To a remote store, and for async callers, many chunks are under way
//!    at the same time: store calls wait in the caller's future, encoding runs on the pool ([`Writer::write_shared`]).
//! 2. [`Writer::write_chunk`] sets a chunk that the selection covers; a chunk of nothing but the fill value is erased. Small
//!    neighbours are set in one call of the store ([`Writer::write_together`]).
//! 3. Of another chunk ([`needs_stored_chunk`]) it gets the bytes that stay, merges the elements into them ([`merge`]), and sets the
//!    result if no other writer changed the chunk; else again ([`compare_and_swap`]).

use std::borrow::Cow;
use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use futures::stream::TryStreamExt;

use super::elements::{Elements, Memory, SharedElements};
use super::encode::{encode_whole, is_stored};
use super::merge::{merge, needs_stored_chunk};
use super::swap::{ATTEMPTS_WITHOUT_QUEUE, MAX_ATTEMPTS, compare_and_swap, unless_given_up};
use super::write_key::write_key;
use crate::array::chunk_store::{ChunkStore, chunk_error, max_stored_bytes};
use crate::array::encode_threads::encode_threads;
use crate::array::layout::{ChunkLayout, FieldBytes};
use crate::array::work::work_on_chunks;
use crate::codec::{Threads, buffer_pool};
use crate::control::Counter;
use crate::error::{Error, Result, StoreError};
use crate::grid::{ChunkProjection, ChunkProjections};
use crate::options::Guard;
use crate::runtime::pool::{self, Work};
use crate::runtime::tuning::MAX_BYTES_PER_BATCH;
use crate::selection::ResolvedSelection;
use crate::store::{NotSet, Payload, Precondition, StoreKey};
use crate::sync::lock;
use crate::var_buffer::VarBuffer;
use crate::view::View;

/// Shards of fewer bytes are written by a thread each.
const MIN_LARGE_SHARD_BYTES: u64 = 1 << 23;

/// Small chunks that are set in one call of a store that has such a call.
const MAX_CHUNKS_SET_TOGETHER: u64 = 16;

/// Chunks of a row that one thread writes.
const MAX_CHUNKS_OF_ROW: u64 = 256;

/// The elements that a call writes.
pub(in crate::array) enum WriteInput<'a> {
    /// Lent by a caller that may block where the store is local, in memory with any strides that has the shape of the part.
    Lent(View<'a>),
    /// Handed over by an async caller.
    Owned(Arc<dyn Memory>),
}

/// Writes chunks of one array.
pub(in crate::array) struct Writer<'a> {
    store: ChunkStore<'a>,
    layout: &'a ChunkLayout,
    /// The bytes of each element that are written.
    span: FieldBytes,
    /// Where elements of variable length are.
    var_buffer: Option<&'a Arc<VarBuffer>>,
}

impl<'a> Writer<'a> {
    pub fn new(
        store: ChunkStore<'a>,
        layout: &'a ChunkLayout,
        span: FieldBytes,
        var_buffer: Option<&'a Arc<VarBuffer>>,
    ) -> Writer<'a> {
        Writer { store, layout, span, var_buffer }
    }

    /// Writes elements to a part of the array.
    pub fn write<'s>(
        &'s self,
        part: &'s ResolvedSelection,
        input: WriteInput<'s>,
    ) -> BoxFuture<'s, Result<()>> {
        Box::pin(async move {
            self.store.writeable(self.layout)?;
            match input {
                WriteInput::Lent(elements) => {
                    let var_buffer = self.var_buffer.map(|var_buffer| &**var_buffer);
                    let elements = elements.with_var_buffer(var_buffer);
                    if self.store.is_remote() {
                        self.write_copies(part, &elements).await
                    } else {
                        self.write_lent(part, &elements).await
                    }
                }
                WriteInput::Owned(memory) => {
                    let shared = self.shared(memory, part.shape());
                    self.write_shared(part, |projection| (projection, shared.clone())).await
                }
            }
        })
    }

    fn shared(&self, memory: Arc<dyn Memory>, shape: Vec<u64>) -> SharedElements {
        let var_buffer = self.var_buffer.cloned();
        SharedElements { memory, var_buffer, shape, span: self.span, is_alone: false }
    }

    /// The chunks that a part touches.
    fn chunks(&self, part: &ResolvedSelection) -> ChunkProjections<'_> {
        let grid = &*self.layout.chunks().grid;
        let shape = &self.layout.metadata().shape;
        ChunkProjections::new(grid, shape, part)
    }

    fn work(&self, part: &ResolvedSelection) -> Work {
        work_on_chunks(&*self.layout.chunks().grid, part, self.span.element)
    }

    /// Writes many chunks of a remote store at the same time. Each copies its elements when it begins.
    async fn write_copies(&self, part: &ResolvedSelection, elements: &View<'_>) -> Result<()> {
        let written = self.write_shared(part, |projection| {
            let shape = projection.within.shape();
            let mut copy = Vec::new();
            let memory = elements.select(&projection.output, &mut copy).to_bytes().into_owned();
            let output = ResolvedSelection::all(&shape);
            let projection = ChunkProjection { output, ..projection };
            (projection, self.shared(Arc::new(memory), shape))
        });
        written.await
    }

    /// Writes many chunks at the same time.
    async fn write_shared(
        &self,
        part: &ResolvedSelection,
        share: impl Fn(ChunkProjection) -> (ChunkProjection, SharedElements),
    ) -> Result<()> {
        let options = self.store.options;
        let work = self.work(part);
        let counter = &Counter::new(&options.progress, || self.chunks(part).count());
        let in_flight = work.in_flight(self.store.store().capabilities().in_flight);
        let written = pool::in_flight(options, in_flight, self.chunks(part), |projection| {
            let (projection, mut shared) = share(projection);
            shared.is_alone = !work.many;
            async move {
                let projection = Arc::new(projection);
                let elements = Elements::Shared(shared);
                let is_done = self.write_chunk(&projection, &elements, MAX_ATTEMPTS).await?;
                unless_given_up(is_done).map_err(|e| e.at_chunk(&projection.key_index))?;
                counter.chunk_done(&projection.within, self.span.size);
                Ok(())
            }
        });
        written.try_collect().await
    }

    /// Writes chunks of a local store on the threads of the pool.
    async fn write_lent(&self, part: &ResolvedSelection, elements: &View<'_>) -> Result<()> {
        let options = self.store.options;
        let mut work = self.work(part);
        let threads = encode_threads(options, work.size).count;
        // Of few large shards each is encoded by all threads.
        if work.size >= MIN_LARGE_SHARD_BYTES
            && self.chunks(part).take(threads).count() < threads
            && self.chunks(part).all(|projection| self.replaces_shard(&projection))
        {
            work.many = false;
        }
        // Neighbours of few bytes go to the store in one call, if there are enough of them for all threads. A thread takes
        // whole rows, which mostly have separate folders: threads that change the same folder wait for each other.
        let neighbours =
            (MAX_BYTES_PER_BATCH / 4).min(work.total / (4 * threads as u64)) / work.size.max(1);
        let set_all = self.store.store().capabilities().set_all;
        let each = neighbours.clamp(1, if set_all { MAX_CHUNKS_SET_TOGETHER } else { 1 });
        work.row = (work.row * (each / work.row).max(1)).min(MAX_CHUNKS_OF_ROW);
        let rows = in_groups(self.chunks(part), work.row);
        let groups = rows.map(|row| in_groups(row.into_iter(), each));
        let lent = LentWrite {
            writer: self,
            elements,
            counter: Counter::new(&options.progress, || self.chunks(part).count()),
            contended: Mutex::default(),
        };
        pool::for_each_async(options, work, groups, async |copy, group| {
            lent.write_group(copy, group).await
        })?;
        lent.write_contended().await
    }

    /// Whether a chunk is a shard, encoded inner chunk by inner chunk, and replaced as a whole.
    fn replaces_shard(&self, projection: &ChunkProjection) -> bool {
        if self.needs_stored_chunk(projection) {
            return false;
        }
        let chain = &self.layout.chunks().chain;
        let shape = &projection.chunk_shape;
        chain.partial(shape, &projection.within).is_some_and(|partial| partial.has_index())
    }

    fn needs_stored_chunk(&self, projection: &ChunkProjection) -> bool {
        needs_stored_chunk(projection, self.span, self.store.options.guard)
    }

    /// Replaces chunks in one call of the store.
    async fn write_together(
        &self,
        projections: &[ChunkProjection],
        elements: &View<'_>,
        copy: &mut Vec<u8>,
    ) -> Result<()> {
        let options = self.store.options;
        let mut stored = Vec::new();
        let mut keys = Vec::new();
        let mut encoded = Vec::new();
        for projection in projections {
            options.check_cancelled()?;
            let key = self.write_key(projection).await?;
            let part = elements.select(&projection.output, copy);
            match encode_whole(options, self.layout, projection, &part) {
                Ok(Some(chunk)) => {
                    stored.push(projection);
                    keys.push(key);
                    encoded.push(chunk.into_owned());
                }
                Ok(None) => {
                    let erased = self.set_whole(&key, None).await;
                    erased.map_err(|e| chunk_error(projection, &key, e))?;
                }
                Err(e) => return Err(chunk_error(projection, &key, e)),
            }
        }
        let values: Vec<(StoreKey, &[u8])> =
            keys.into_iter().zip(encoded.iter().map(Vec::as_slice)).collect();
        let writeable = self.store.writeable(self.layout)?;
        if let Err(NotSet { at, error }) =
            writeable.set_all(&values, options.guard == Guard::On).await
        {
            return Err(match (stored.get(at), values.get(at)) {
                (Some(projection), Some((key, _))) => chunk_error(projection, key, error),
                _ => error.into(),
            });
        }
        encoded.into_iter().for_each(|bytes| buffer_pool::release(Cow::Owned(bytes)));
        Ok(())
    }

    /// Writes one chunk. `false`: another writer was faster in each of `attempts`.
    async fn write_chunk(
        &self,
        projection: &Arc<ChunkProjection>,
        elements: &Elements<'_>,
        attempts: u32,
    ) -> Result<bool> {
        let key = self.write_key(projection).await?;
        let written = if self.needs_stored_chunk(projection) {
            self.merge_chunk(projection, &key, elements, attempts).await
        } else {
            self.replace_chunk(projection, &key, elements).await.map(|()| true)
        };
        written.map_err(|e| chunk_error(projection, &key, e))
    }

    /// Merges elements into the stored chunk. `false`: another writer was faster in each of `attempts`.
    async fn merge_chunk(
        &self,
        projection: &Arc<ChunkProjection>,
        key: &StoreKey,
        elements: &Elements<'_>,
        attempts: u32,
    ) -> Result<bool> {
        let Writer { store, layout, span, .. } = *self;
        let limit = max_stored_bytes(layout, store.options, Some(&projection.chunk_shape));
        compare_and_swap(
            store.context,
            store.options.guard,
            key,
            limit,
            |old| merge(store, layout, projection, span, elements, old),
            attempts,
        )
        .await
    }

    /// Sets a chunk without a look at the stored one.
    async fn replace_chunk(
        &self,
        projection: &Arc<ChunkProjection>,
        key: &StoreKey,
        elements: &Elements<'_>,
    ) -> Result<()> {
        if let Elements::Lent(part) = elements {
            return self.write_whole(projection, key, part).await;
        }
        let options = self.store.options;
        let (layout, here, owned_options) =
            (self.layout.clone(), projection.clone(), options.clone());
        let chunk = elements.encode(options, projection, move |part| {
            let chunk = encode_whole(&owned_options, &layout, &here, &part)?;
            Ok(chunk.map(Cow::into_owned))
        });
        self.set_whole(key, chunk.await?.map(Into::into)).await
    }

    /// Encodes a whole chunk, part after part if it can be, and sets it or erases it.
    async fn write_whole(
        &self,
        projection: &ChunkProjection,
        key: &StoreKey,
        part: &View<'_>,
    ) -> Result<()> {
        let options = self.store.options;
        let chain = &self.layout.chunks().chain;
        let in_parts = projection.within.is_all(&projection.chunk_shape)
            && chain.encode_in_parts(part.clone(), Threads::ONE).is_some()
            && is_stored(options, self.layout, part);
        if !in_parts {
            let chunk = encode_whole(options, self.layout, projection, part)?;
            let stored = self.set_whole(key, chunk.as_deref().map(Payload::new)).await;
            chunk.into_iter().for_each(buffer_pool::release);
            return stored;
        }
        // The error of the codec, or that the caller cancelled, is returned, and not that of the store, which got no bytes.
        let refused = Mutex::new(None);
        let threads = encode_threads(options, part.size());
        let stored = pool::with_scope(async |scope| {
            // Made anew for each attempt of the store to write them.
            let payload = Payload::default().and_made(|| {
                let parts = pool::made_ahead(scope, threads.count, || {
                    chain.encode_in_parts(part.clone(), threads).into_iter().flatten()
                });
                parts.map(|made| {
                    let made = made.map_err(Error::from);
                    made.and_then(|part| options.check_cancelled().map(|()| part)).map_err(|e| {
                        let why = StoreError::Backend(e.to_string().into());
                        lock(&refused).get_or_insert(e);
                        why
                    })
                })
            });
            self.set_whole(key, Some(payload)).await
        });
        lock(&refused).take().map_or(stored, Err)
    }

    async fn write_key(&self, projection: &ChunkProjection) -> Result<StoreKey> {
        let indices = &projection.key_index;
        let shape = &projection.chunk_shape;
        write_key(self.store, self.layout, indices, shape).await
    }

    /// Sets or erases a whole chunk.
    async fn set_whole(&self, key: &StoreKey, chunk: Option<Payload<'_>>) -> Result<()> {
        let options = self.store.options;
        options.check_cancelled()?;
        let precondition = Precondition::always(options.guard == Guard::On);
        self.store.context.writeable()?.put(key, chunk, precondition).await?;
        Ok(())
    }
}

/// Chunks of a local store that get elements which the caller lends.
struct LentWrite<'a> {
    writer: &'a Writer<'a>,
    elements: &'a View<'a>,
    counter: Counter<'a>,
    /// Chunks that other writers change all the time: the calling thread writes them, never one of the pool
    /// (docs/internals/design/concurrency.md).
    contended: Mutex<Vec<ChunkProjection>>,
}

impl LentWrite<'_> {
    /// Writes chunks; those that are replaced as a whole in one call of the store, if there are several.
    async fn write_group(&self, copy: &mut Vec<u8>, group: Vec<ChunkProjection>) -> Result<()> {
        let (mut single, whole): (Vec<_>, Vec<_>) =
            group.into_iter().partition(|projection| self.writer.needs_stored_chunk(projection));
        if whole.len() > 1 {
            self.writer.write_together(&whole, self.elements, copy).await?;
            for projection in &whole {
                self.counter.chunk_done(&projection.within, self.writer.span.size);
            }
        } else {
            single.extend(whole);
        }
        for projection in single {
            let projection = Arc::new(projection);
            if !self.write_chunk(&projection, copy, ATTEMPTS_WITHOUT_QUEUE).await? {
                lock(&self.contended).push(Arc::unwrap_or_clone(projection));
            }
        }
        Ok(())
    }

    async fn write_contended(&self) -> Result<()> {
        let contended = std::mem::take(&mut *lock(&self.contended));
        for projection in contended {
            let projection = Arc::new(projection);
            let is_done = self.write_chunk(&projection, &mut Vec::new(), MAX_ATTEMPTS).await?;
            unless_given_up(is_done)?;
        }
        Ok(())
    }

    async fn write_chunk(
        &self,
        projection: &Arc<ChunkProjection>,
        copy: &mut Vec<u8>,
        attempts: u32,
    ) -> Result<bool> {
        let elements = Elements::Lent(self.elements.select(&projection.output, copy));
        let is_done = self.writer.write_chunk(projection, &elements, attempts).await?;
        if is_done {
            self.counter.chunk_done(&projection.within, self.writer.span.size);
        }
        Ok(is_done)
    }
}

/// Erases a chunk at both keys that it may have.
pub(in crate::array) async fn erase_chunk(
    store: ChunkStore<'_>,
    layout: &ChunkLayout,
    indices: &[i64],
) -> Result<()> {
    let writeable = store.writeable(layout)?;
    let keys = [Some(layout.key(indices)), layout.other_key(indices)];
    for key in keys.into_iter().flatten() {
        layout.index_cache().forget(&key);
        let erased = writeable.erase(&key).await;
        erased.map_err(|e| Error::from(e).at_chunk(indices).at_key(&key))?;
    }
    Ok(())
}

/// The items in groups of `count`; the last may have fewer.
fn in_groups<T>(mut items: impl Iterator<Item = T>, count: u64) -> impl Iterator<Item = Vec<T>> {
    std::iter::from_fn(move || {
        let group: Vec<_> = items.by_ref().take(count as usize).collect();
        (!group.is_empty()).then_some(group)
    })
}
