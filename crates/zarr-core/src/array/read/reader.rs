//! The way of a read, from top to bottom: chunks of an array to memory of the caller.
//!
//! 1. [`Reader::read`] cuts the output into a piece for each chunk that is touched, so that threads share no memory; where the
//!    pieces would overlap, each chunk is decoded into other memory, and copied under a lock.
//! 2. Chunks of a local store are read by threads that may block ([`Reader::read_chunk`]), each into its piece. Of a remote
//!    store many requests are under way at the same time ([`Reader::fetch`]), and the pool decodes what they bring.
//! 3. [`Reader::plan`] says how one chunk is read: as a whole, or segment by segment ([`super::segments`]).
//! 4. A [`ChunkSource`] has the bytes, [`Decoding`] makes elements of them, [`super::missing`] decides about chunks that are
//!    not stored.
//!
//! Before each chunk, each segment and each request the call looks whether its caller cancelled it.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures::future::{BoxFuture, ready};
use futures::stream::TryStreamExt;

use super::cached::CachedSource;
use super::copy_decoded::copy_decoded;
use super::decode::{Content, Decoding, FetchedChunk, keep_index};
use super::large_parts::{LargePart, in_flight};
use super::local::LocalSource;
use super::missing::fill_missing;
use super::remote::{RemoteSource, fetch_segments, first_ranges};
use super::source::{ChunkDone, ChunkSource, OpenChunk, WholeChunk};
use super::whole_chunk::fetch_whole;
use crate::array::chunk_store::{ChunkStore, chunk_error, max_stored_bytes};
use crate::array::element_memory::zeroed;
use crate::array::layout::{ChunkLayout, FieldBytes};
use crate::array::work::work_on_chunks;
use crate::codec::{ChunkIndex, PartialRead, buffer_pool};
use crate::error::{Cause, CodecError, Error, Result, StoreError};
use crate::grid::{ChunkProjection, ChunkProjections, SplitOutput, only_projection};
use crate::runtime::may_block;
use crate::runtime::pool::{self, Spawner, Work};
use crate::selection::ResolvedSelection;
use crate::store::{GetOptions, SnapshotOptions, SyncStore, Target, abandoned};
use crate::sync::{into_inner, lock};
use crate::var_buffer::VarBuffer;
use crate::view::output::Output;
use crate::view::{View, ViewMut};

/// Versions of a chunk that a read begins, each of which another writer replaces, before it gives up.
const MAX_VERSIONS: u32 = 100;

/// A chunk of a known size of at most this many bytes is read without a request for its size.
const MAX_BYTES_READ_UNSEEN: u64 = 1 << 20;

/// Reads chunks of one array.
pub(in crate::array) struct Reader<'a> {
    store: ChunkStore<'a>,
    decoding: Decoding<'a>,
    /// The store, if threads read chunks from it themselves.
    local: Option<&'a dyn SyncStore>,
    source: Source<'a>,
    /// Where elements of variable length go.
    var_buffer: Option<&'a Arc<VarBuffer>>,
}

/// The source of the chunks of an array. Those that most reads use are no objects on the heap: a reader is made for each read, of which
/// there may be one for each small chunk.
enum Source<'a> {
    Local(LocalSource<'a>),
    Remote(RemoteSource<'a>),
    Cached(Box<CachedSource<'a>>),
}

impl<'a> Source<'a> {
    fn new(store: ChunkStore<'a>, layout: &'a ChunkLayout, uses_cache: bool) -> Source<'a> {
        let cheap_local = store.local().filter(|store| store.capabilities().cheap_ranges);
        let local = cheap_local.map(|blocking| LocalSource {
            store: store.store(),
            blocking,
            options: store.options,
        });
        let remote = RemoteSource { store: store.store(), options: store.options };
        match (store.cache().filter(|_| uses_cache), local) {
            (None, Some(local)) => Source::Local(local),
            (None, None) => Source::Remote(remote),
            (Some(cache), local) => {
                let inner: Box<dyn ChunkSource + 'a> = match local {
                    Some(local) => Box::new(local),
                    None => Box::new(remote),
                };
                Source::Cached(Box::new(CachedSource::new(inner, store, layout, cache)))
            }
        }
    }

    fn get(&self) -> &(dyn ChunkSource + 'a) {
        match self {
            Source::Local(source) => source,
            Source::Remote(source) => source,
            Source::Cached(source) => &**source,
        }
    }
}

/// How one chunk is read.
enum Plan<'a> {
    /// All its bytes.
    Whole,
    /// All of it, because the source keeps it decoded.
    KeptWhole,
    /// Those of its segments that are touched.
    Segments(PartialRead<'a>),
}

/// What is done with the segments of a chunk.
enum SegmentUse<'a> {
    /// They are decoded to this memory.
    Decode(ViewMut<'a>),
    /// Their bytes are fetched; those of a large part are decoded as they come.
    Fetch(Option<&'a LargePart<'a>>),
}

/// What was fetched of a chunk.
enum Fetched {
    /// The chunk is not stored.
    Missing,
    /// It is decoded already.
    Decoded,
    Chunk(FetchedChunk),
}

impl<'a> Reader<'a> {
    #[inline]
    pub fn new(
        store: ChunkStore<'a>,
        layout: &'a ChunkLayout,
        span: FieldBytes,
        var_buffer: Option<&'a Arc<VarBuffer>>,
    ) -> Reader<'a> {
        Reader::of_source(store, layout, span, var_buffer, Source::new(store, layout, true))
    }

    /// A reader for so many bytes of elements. More than the cache of decoded chunks holds would only push out what it keeps, and be
    /// copied once more: they are decoded straight to their place. What is read ahead is looked for in the cache, however.
    #[inline]
    pub fn for_bytes(
        bytes: u64,
        store: ChunkStore<'a>,
        layout: &'a ChunkLayout,
        span: FieldBytes,
        var_buffer: Option<&'a Arc<VarBuffer>>,
    ) -> Reader<'a> {
        let uses_cache = bytes <= store.options.chunk_cache || store.options.read_ahead > 0;
        Reader::of_source(store, layout, span, var_buffer, Source::new(store, layout, uses_cache))
    }

    #[inline]
    fn of_source(
        store: ChunkStore<'a>,
        layout: &'a ChunkLayout,
        span: FieldBytes,
        var_buffer: Option<&'a Arc<VarBuffer>>,
        source: Source<'a>,
    ) -> Reader<'a> {
        let local = store.local().map(|store| &**store);
        let decoding = Decoding { layout, options: store.options, span };
        Reader { store, decoding, local, source, var_buffer }
    }

    /// Reads a part of the array into native elements, in memory with any strides that has the shape of the part and knows the
    /// buffer of variable-length elements. Where the store is local, the calling thread must be one that may block.
    ///
    /// Each chunk is decoded into its own piece of the memory, unless its elements are scattered over it, or the caller is
    /// async and the store remote: then it is decoded into other memory and copied.
    ///
    /// `out` is lent and not moved, so that the futures of callers have room for it once.
    pub async fn read(
        &self,
        part: &ResolvedSelection,
        out: &mut Output<'_>,
        done: &ChunkDone<'_>,
    ) -> Result<()> {
        let Decoding { layout, options, .. } = self.decoding;
        let grid = &*layout.chunks().grid;
        let shape = &layout.metadata().shape;
        let only = self.local.and_then(|_| only_projection(grid, shape, part));
        // By reference: a future has room for what is moved out of it twice.
        if let (Some(store), Some(projection)) = (self.local, &only) {
            // The elements of one chunk are all of the output.
            options.check_cancelled()?;
            let buffer = &mut Vec::new();
            let found = self.read_chunk(store, projection, buffer, out).await?;
            done(projection, found);
            return Ok(());
        }
        self.read_many(part, out.take(), done).await
    }

    /// Reads chunks that each have some of the elements. Boxed: the future of a read of one chunk stays small.
    fn read_many<'s>(
        &'s self,
        part: &'s ResolvedSelection,
        out: Output<'s>,
        done: &'s ChunkDone<'s>,
    ) -> BoxFuture<'s, Result<()>> {
        Box::pin(async move {
            let Decoding { layout, span, .. } = self.decoding;
            let grid = &*layout.chunks().grid;
            let shape = &layout.metadata().shape;
            let work = work_on_chunks(grid, part, span.element);
            let chunks = if self.local.is_some() || may_block() {
                let pieces = SplitOutput::new(grid, shape, part, out);
                // Chunks that are memory are copied over what was there.
                let clear = !layout.chunks().chain.is_memory();
                pieces.map(|pieces| pieces.groups(work.row > 1, clear))
            } else {
                Err(Box::new((ChunkProjections::new(grid, shape, part), out)))
            };
            self.read_chunks(work, chunks, done).await
        })
    }

    /// Reads chunks, each into its piece of the memory, or all into the same memory, where the elements of each are
    /// scattered.
    pub async fn read_chunks<'m>(
        &self,
        work: Work,
        chunks: Result<
            impl Iterator<
                Item: IntoIterator<Item = (ChunkProjection, Output<'m>), IntoIter: Send> + Send,
            > + Send,
            Box<(impl Iterator<Item = ChunkProjection> + Send, Output<'m>)>,
        >,
        done: &ChunkDone<'_>,
    ) -> Result<()> {
        match (chunks, self.local) {
            (Ok(groups), Some(store)) => self.read_pieces(store, work, groups, done).await,
            (Err(scattered), Some(store)) => {
                let (projections, out) = *scattered;
                self.read_scattered(store, work, projections, out.into_view(), done)
            }
            (Ok(groups), None) => self.fetch_pieces(work, groups, done),
            (Err(scattered), None) => {
                let (projections, out) = *scattered;
                // Boxed: the future of a read from a local store stays small.
                Box::pin(self.fetch_scattered(work, projections, out.into_view(), done)).await
            }
        }
    }

    /// Reads chunks of a local store on the threads of the pool, each into its piece.
    async fn read_pieces<'m, G>(
        &self,
        store: &dyn SyncStore,
        work: Work,
        groups: impl Iterator<Item = G> + Send,
        done: &ChunkDone<'_>,
    ) -> Result<()>
    where
        G: IntoIterator<Item = (ChunkProjection, Output<'m>), IntoIter: Send> + Send,
    {
        let Decoding { options, span, .. } = self.decoding;
        let groups = groups.map(|group| group.into_iter().peekable());
        if !self.source.get().keeps_decoded() {
            return self.read_groups(store, work, groups, done);
        }
        self.wait_for_dropped_calls().await;
        let (work, left) = copy_decoded(options, self.source.get(), span, done, work, groups)?;
        self.read_groups(store, work, left, done)
    }

    fn read_groups<'m>(
        &self,
        store: &dyn SyncStore,
        work: Work,
        groups: impl Iterator<Item: IntoIterator<Item = (ChunkProjection, Output<'m>)> + Send> + Send,
        done: &ChunkDone<'_>,
    ) -> Result<()> {
        pool::for_each_async(
            self.decoding.options,
            work,
            groups,
            async |buffer, (projection, mut out)| {
                let found = self.read_chunk(store, &projection, buffer, &mut out).await?;
                done(&projection, found);
                Ok(())
            },
        )
    }

    /// Reads chunks of a local store on the threads of the pool, each into other memory, and copies their elements.
    fn read_scattered(
        &self,
        store: &dyn SyncStore,
        work: Work,
        projections: impl Iterator<Item = ChunkProjection> + Send,
        out: ViewMut<'_>,
        done: &ChunkDone<'_>,
    ) -> Result<()> {
        let size = self.decoding.span.size;
        let var_buffer = out.var_buffer();
        let out = Mutex::new(out);
        pool::for_each_async(
            self.decoding.options,
            work,
            projections.map(Some),
            async |buffer, projection| {
                let shape = projection.within.shape();
                let mut elements = zeroed(&shape, size, "the region")?;
                let here = ViewMut::new(&mut elements, &shape, size);
                let here = &mut here.with_var_buffer(var_buffer).into();
                let found = self.read_chunk(store, &projection, buffer, here).await?;
                let elements = View::new(&elements, &projection.output.shape(), size);
                lock(&out).scatter(&projection.output, &elements);
                done(&projection, found);
                Ok(())
            },
        )
    }

    /// Reads chunks of a remote store for a caller that blocks, each into its piece.
    fn fetch_pieces<'m>(
        &self,
        work: Work,
        groups: impl Iterator<Item: IntoIterator<Item = (ChunkProjection, Output<'m>)>>,
        done: &ChunkDone<'_>,
    ) -> Result<()> {
        let options = self.decoding.options;
        pool::in_scope(options, async |spawner| {
            let (chunks, groups_of_part) = self.in_flight(work);
            let pieces = groups.flatten();
            let read = pool::in_flight(options, chunks, pieces, |(projection, out)| {
                self.fetch_piece(projection, out.into_view(), groups_of_part, spawner)
            });
            let counted = read.try_for_each(|(projection, found)| {
                done(&projection, found);
                ready(Ok(()))
            });
            counted.await
        })
    }

    /// Fetches a chunk and decodes it on the pool into `out`, a piece of memory that the caller lends. Returns whether it is
    /// stored.
    async fn fetch_piece<'s>(
        &'s self,
        projection: ChunkProjection,
        out: ViewMut<'s>,
        in_flight: usize,
        spawner: &Spawner<'_, 's>,
    ) -> Result<(ChunkProjection, bool)> {
        let decoding = self.decoding;
        let memory = Mutex::new(out);
        let large = LargePart {
            decoding,
            in_flight,
            out: &|copy: &mut dyn FnMut(ViewMut<'_>)| copy(lock(&memory).reborrow()),
        };
        let fetched = self.fetch(&projection, Some(&large)).await?;
        let out = into_inner(memory);
        match fetched {
            Fetched::Missing => {
                self.fill_missing(&projection, out)?;
                Ok((projection, false))
            }
            Fetched::Decoded => Ok((projection, true)),
            Fetched::Chunk(chunk) => {
                let decoded = spawner.run(move || {
                    decoding.decode(&projection, &chunk, &mut Vec::new(), out)?;
                    Ok((projection, true))
                });
                decoded.await
            }
        }
    }

    /// Reads chunks of a remote store: each is decoded into other memory on the pool, and copied by the thread that polls.
    async fn fetch_scattered(
        &self,
        work: Work,
        projections: impl Iterator<Item = ChunkProjection> + Send,
        out: ViewMut<'_>,
        done: &ChunkDone<'_>,
    ) -> Result<()> {
        let Decoding { options, span, .. } = self.decoding;
        let out = Mutex::new(out);
        let (chunks, groups_of_part) = self.in_flight(work);
        let fetched = pool::in_flight(options, chunks, projections, |projection| {
            self.fetch_elements(projection, groups_of_part, &out)
        });
        let copied = fetched.try_for_each(|(projection, elements)| {
            let found = elements.is_some();
            let copied = match elements {
                Some(elements) if elements.is_empty() => Ok(()),
                Some(elements) => {
                    let elements = View::new(&elements, &projection.output.shape(), span.size);
                    lock(&out).scatter(&projection.output, &elements);
                    Ok(())
                }
                None => lock(&out)
                    .reborrow()
                    .fill_with(&projection.output, |piece| self.fill_missing(&projection, piece)),
            };
            done(&projection, found);
            ready(copied)
        });
        copied.await
    }

    /// Fetches a chunk and decodes its elements on the pool; `None` if it is not stored. Those of a large part it copies to `out`
    /// and returns none, if they are a box there.
    async fn fetch_elements(
        &self,
        projection: ChunkProjection,
        in_flight: usize,
        out: &Mutex<ViewMut<'_>>,
    ) -> Result<(ChunkProjection, Option<Vec<u8>>)> {
        let decoding = self.decoding;
        let Decoding { layout, options, span } = decoding;
        let elements = Mutex::new(Vec::new());
        let large = LargePart {
            decoding,
            in_flight,
            out: &|copy: &mut dyn FnMut(ViewMut<'_>)| {
                if let Some(region) = projection.output.as_region() {
                    return copy(lock(out).reborrow().part(region));
                }
                let mut elements = lock(&elements);
                let shape = projection.within.shape();
                elements.resize(shape.iter().product::<u64>() as usize * span.size, 0);
                copy(ViewMut::new(&mut elements, &shape, span.size));
            },
        };
        let chunk = match self.fetch(&projection, Some(&large)).await? {
            Fetched::Missing => return Ok((projection, None)),
            Fetched::Decoded => return Ok((projection, Some(into_inner(elements)))),
            Fetched::Chunk(chunk) => chunk,
        };
        let layout = layout.clone();
        let owned_options = options.clone();
        let var_buffer = self.var_buffer.cloned();
        pool::on_pool(options, move || {
            let shape = projection.within.shape();
            let mut elements = zeroed(&shape, span.size, "the region")?;
            let out = ViewMut::new(&mut elements, &shape, span.size)
                .with_var_buffer(var_buffer.as_deref());
            let decoding = Decoding { layout: &layout, options: &owned_options, span };
            decoding.decode(&projection, &chunk, &mut Vec::new(), out)?;
            Ok((projection, Some(elements)))
        })
        .await
    }

    /// How many chunks are under way, and how many groups of a large part of each.
    fn in_flight(&self, work: Work) -> (usize, usize) {
        let requests = self.store.store().capabilities().in_flight;
        in_flight(self.decoding.layout, requests, work)
    }

    /// Reads one chunk of a local store into `out`; `buffer` is reused. Returns whether it is stored.
    async fn read_chunk(
        &self,
        store: &dyn SyncStore,
        projection: &ChunkProjection,
        buffer: &mut Vec<u8>,
        out: &mut Output<'_>,
    ) -> Result<bool> {
        self.wait_for_dropped_calls().await;
        if self.source.get().copy_decoded(projection, self.decoding.span, out)? {
            return Ok(true);
        }
        let plan = self.plan(projection);
        let fetched = match &plan {
            Plan::Segments(partial) if store.capabilities().cheap_ranges => {
                let segments = SegmentUse::Decode(out.view().reborrow());
                Box::pin(self.read_segments(projection, partial, segments)).await?
            }
            Plan::Whole if self.has_one_key(projection) => {
                return self.read_whole(store, projection, buffer, out);
            }
            plan => Box::pin(self.fetch_planned(projection, plan, None)).await?,
        };
        match fetched {
            Fetched::Missing => {
                self.fill_missing(projection, out.view().reborrow())?;
                return Ok(false);
            }
            Fetched::Decoded => {}
            Fetched::Chunk(chunk) => {
                self.decoding.decode(projection, &chunk, buffer, out.view().reborrow())?;
            }
        }
        Ok(true)
    }

    /// Chunks of a local store are read here, and not by the adapter that waits for dropped calls
    /// (docs/internals/design/crash-safety.md).
    async fn wait_for_dropped_calls(&self) {
        if abandoned::is_any() {
            let prefix = self.decoding.layout.prefix();
            // Boxed: the future of a local chunk stays small.
            Box::pin(abandoned::wait_for(|| self.store.store().name(), prefix)).await;
        }
    }

    /// Whether a chunk is the whole value of one key, and of no other.
    fn has_one_key(&self, projection: &ChunkProjection) -> bool {
        let layout = self.decoding.layout;
        layout.metadata().shards.is_none() && layout.other_key(&projection.key_index).is_none()
    }

    /// How a chunk is read. One that shares an object with others, by the draft's storage transformer, is read whole.
    fn plan(&self, projection: &ChunkProjection) -> Plan<'a> {
        let layout = self.decoding.layout;
        if layout.metadata().shards.is_some() {
            return Plan::Whole;
        }
        let partial = layout.chunks().chain.partial(&projection.chunk_shape, &projection.within);
        match partial {
            Some(partial) if partial.has_index() => Plan::Segments(partial),
            _ if self.source.get().keeps_whole(projection) => Plan::KeptWhole,
            Some(partial) => Plan::Segments(partial),
            None => Plan::Whole,
        }
    }

    /// Fetches the bytes of a chunk that a part of it needs.
    async fn fetch(
        &self,
        projection: &ChunkProjection,
        large: Option<&LargePart<'_>>,
    ) -> Result<Fetched> {
        self.fetch_planned(projection, &self.plan(projection), large).await
    }

    async fn fetch_planned(
        &self,
        projection: &ChunkProjection,
        plan: &Plan<'_>,
        large: Option<&LargePart<'_>>,
    ) -> Result<Fetched> {
        match plan {
            // Boxed: the futures of reads without a cache stay small.
            Plan::KeptWhole => Box::pin(self.fetch_kept(projection)).await,
            Plan::Segments(partial) => {
                let keeps_decoded = self.source.get().keeps_decoded();
                let large = large.filter(|large| !keeps_decoded && large.takes(partial));
                if keeps_decoded || large.is_some() || !partial.is_all() {
                    let segments = SegmentUse::Fetch(large);
                    return self.read_segments(projection, partial, segments).await;
                }
                self.fetch_all_bytes(projection).await
            }
            Plan::Whole => self.fetch_all_bytes(projection).await,
        }
    }

    /// Fetches a chunk that the source keeps decoded, unless it has it already.
    async fn fetch_kept(&self, projection: &ChunkProjection) -> Result<Fetched> {
        let Decoding { layout, options, .. } = self.decoding;
        let key = layout.key(&projection.key_index);
        let limit = max_stored_bytes(layout, options, Some(&projection.chunk_shape));
        let chunk = self.source.get().get(&key, limit).await;
        match chunk.map_err(|e| chunk_error(projection, &key, e))? {
            Some(chunk) => Ok(Fetched::Chunk(FetchedChunk { key, chunk, content: Content::Whole })),
            None => Ok(Fetched::Missing),
        }
    }

    async fn fetch_all_bytes(&self, projection: &ChunkProjection) -> Result<Fetched> {
        let indices = &projection.key_index;
        let shape = Some(&projection.chunk_shape[..]);
        match fetch_whole(self.store, self.decoding.layout, indices, shape).await? {
            Some((key, bytes)) => {
                let chunk = Box::new(WholeChunk { bytes, version: None });
                Ok(Fetched::Chunk(FetchedChunk { key, chunk, content: Content::Whole }))
            }
            None => Ok(Fetched::Missing),
        }
    }

    /// Decodes or fetches segments of a chunk, again if another writer replaced it: all bytes are of one version of the chunk,
    /// and so is its index, which may be cached.
    async fn read_segments(
        &self,
        projection: &ChunkProjection,
        partial: &PartialRead<'_>,
        mut segments: SegmentUse<'_>,
    ) -> Result<Fetched> {
        let Decoding { layout, options, .. } = self.decoding;
        let key = layout.key(&projection.key_index);
        let with_chunk = |e: Error| chunk_error(projection, &key, e);
        let first = match &segments {
            SegmentUse::Decode(_) => Vec::new(),
            SegmentUse::Fetch(_) => first_ranges(layout, options, partial).map_err(with_chunk)?,
        };
        let has_inner_chunks = partial.has_index();
        let mut known = layout.index_cache().get(&key);
        for _ in 0..MAX_VERSIONS {
            options.check_cancelled().map_err(with_chunk)?;
            let (version, index) = known.take().unzip();
            let open_options = match &version {
                Some(version) => SnapshotOptions::expect(version),
                None => SnapshotOptions::first(&first),
            };
            let opened = self.source.get().open(&key, open_options, has_inner_chunks).await;
            let mut chunk = match opened {
                Ok(Some(chunk)) => chunk,
                Ok(None) if version.is_none() => return Ok(Fetched::Missing),
                // The chunk was replaced: its new index is not known.
                Ok(None) | Err(StoreError::Changed { .. }) => continue,
                Err(e) => return Err(with_chunk(e.into())),
            };
            let read = match &mut segments {
                SegmentUse::Decode(out) => {
                    let out = out.reborrow();
                    let decoded = self.decoding.decode_segments(partial, &*chunk, &key, index, out);
                    decoded.map(|()| None)
                }
                // Boxed: the future of a local chunk stays small.
                SegmentUse::Fetch(large) => {
                    Box::pin(self.fetch_version(projection, partial, *large, &mut *chunk, index))
                        .await
                }
            };
            if read.as_ref().is_err_and(is_changed) {
                continue;
            }
            // A chunk of another size is damaged, also where the part is in it.
            let size = chunk.size();
            let is_known = size > 0 || version.is_none();
            let expected = layout.chunks().chain.encoded_size(&projection.chunk_shape);
            if let Some(expected) = expected.filter(|&expected| is_known && expected != size) {
                let damage = CodecError::Length { codec: "codecs", expected, found: size };
                return Err(with_chunk(damage.into()));
            }
            let Some(index) = read.map_err(with_chunk)? else { return Ok(Fetched::Decoded) };
            let content = Content::Segments(index);
            return Ok(Fetched::Chunk(FetchedChunk { key, chunk, content }));
        }
        Err(with_chunk(StoreError::Changed { key: key.to_string() }.into()))
    }

    /// Fetches segments of one version of a chunk; returns its index, if it has one. `None`: it was a large part, and is decoded.
    async fn fetch_version(
        &self,
        projection: &ChunkProjection,
        partial: &PartialRead<'_>,
        large: Option<&LargePart<'_>>,
        chunk: &mut dyn OpenChunk,
        index: Option<ChunkIndex>,
    ) -> Result<Option<Option<ChunkIndex>>> {
        let Decoding { layout, options, .. } = self.decoding;
        let key = layout.key(&projection.key_index);
        if let (Some(large), Some(value)) = (large, chunk.remote_value()) {
            let index = large.read(projection, partial, value, index).await?;
            index.iter().for_each(|index| keep_index(layout, &key, &*chunk, index));
            return Ok(None);
        }
        let index = fetch_segments(layout, options, projection, partial, chunk, index).await?;
        index.iter().for_each(|index| keep_index(layout, &key, &*chunk, index));
        Ok(Some(index))
    }

    /// Reads all bytes of a chunk of a local store that has one key. Returns whether it is stored.
    fn read_whole(
        &self,
        store: &dyn SyncStore,
        projection: &ChunkProjection,
        buffer: &mut Vec<u8>,
        out: &mut Output<'_>,
    ) -> Result<bool> {
        let Decoding { layout, options, span } = self.decoding;
        let chain = &layout.chunks().chain;
        let shape = &projection.chunk_shape;
        let key = layout.key(&projection.key_index);
        let with_chunk = |e: Error| chunk_error(projection, &key, e);
        let is_memory = span.is_whole() && chain.is_memory() && projection.within.is_all(shape);
        let in_memory = store.capabilities().in_memory;
        let mut memory = if is_memory && !in_memory { out.as_bytes_mut() } else { None };
        let direct = memory.is_some();
        let expected =
            chain.plain_size(shape).filter(|&size| is_memory || size <= MAX_BYTES_READ_UNSEEN);
        let get_options = match (&mut memory, expected) {
            // The store reads into the caller's memory.
            (Some(memory), Some(_)) => GetOptions::into(Target::Exact(memory)),
            // The store lends the bytes; a wrong size is found below.
            (None, expected) if in_memory => {
                let limit = match expected {
                    Some(_) => u64::MAX,
                    None => max_stored_bytes(layout, options, Some(shape)),
                };
                GetOptions { limit, ..GetOptions::default() }
            }
            (None, Some(expected)) => {
                let resized = buffer_pool::resize("codecs", buffer, expected);
                resized.map_err(|e| with_chunk(e.into()))?;
                GetOptions::into(Target::Exact(buffer))
            }
            (_, None) => {
                let limit = max_stored_bytes(layout, options, Some(shape));
                GetOptions { limit, ..GetOptions::into(Target::Vec(buffer)) }
            }
        };
        let got = store.get(&key, get_options).map_err(|e| with_chunk(e.into()))?;
        let Some(got) = got else {
            self.fill_missing(projection, out.view().reborrow())?;
            return Ok(false);
        };
        if let Some(expected) = expected.filter(|&expected| expected != got.size) {
            return Err(with_chunk(chain.wrong_plain_size(expected, got.size).into()));
        }
        if direct && expected.is_some() {
            chain.check(out.view()).map_err(|e| with_chunk(e.into()))?;
            return Ok(true);
        }
        let encoded = got.bytes.as_deref().unwrap_or(buffer);
        if is_memory && out.overwrite(encoded) {
            chain.check(out.view()).map_err(|e| with_chunk(e.into()))?;
            return Ok(true);
        }
        let decoding = self.decoding;
        let out = out.view().reborrow();
        let decoded =
            decoding.with_records(out, |out| decoding.decode_whole(projection, encoded, out));
        decoded.map_err(with_chunk)?;
        Ok(true)
    }

    fn fill_missing(&self, projection: &ChunkProjection, out: ViewMut<'_>) -> Result<()> {
        let Decoding { layout, options, span } = self.decoding;
        fill_missing(layout, options, projection, span, out)
    }
}

/// The bytes of a chunk as they are stored; `None` if it is not.
pub(in crate::array) async fn read_encoded(
    store: ChunkStore<'_>,
    layout: &ChunkLayout,
    indices: &[i64],
) -> Result<Option<Bytes>> {
    let found = fetch_whole(store, layout, indices, None).await?;
    Ok(found.map(|(_, bytes)| bytes))
}

/// Whether another writer replaced the chunk that was read.
fn is_changed(error: &Error) -> bool {
    matches!(error.cause(), Cause::Store(StoreError::Changed { .. }))
}
