//! Reads the chunks that a part of an array touches: all bytes of each, or only some segments.
//!
//! From a local store a thread of the pool reads each chunk into its buffer and decodes it into its piece of the output;
//! segments go to several threads. From a remote store many requests are made at the same time, and the pool decodes the
//! bytes that they fetch. [`SegmentReader`] finds and decodes segments in either case.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use futures::future::{BoxFuture, ready};
use futures::stream::TryStreamExt;

use super::chunk_fetcher::{FetchedBytes, Source};
use super::executor::{self, Work};
use super::segments::{SegmentBytes, SegmentReader, has_index};
use super::transfer::Transfer;
use super::{ArrayCore, ChunkLayout, FieldBytes, unset, zeroed};
use crate::codec::{ChunkIndex, PartialRead, buffer_pool};
use crate::control::Counter;
use crate::error::{Cause, CodecError, Error, Result, StoreError};
use crate::grid::{ChunkProjection, ChunkProjections, SplitOutput, only_projection};
use crate::store::{
    GetOptions, SnapshotOptions, StoreKey, SyncStore, Target, Version, abandoned, may_block,
};
use crate::sync::lock;
use crate::var_buffer::VarBuffer;
use crate::view::{View, ViewMut};

/// Versions of a chunk that a read begins, each of which another writer replaces, before it gives up.
const MOST_VERSIONS: u32 = 100;

/// A chunk of a known size of at most this many bytes is read without a request for its size.
const MAX_BYTES_READ_UNSEEN: u64 = 1 << 20;

impl ArrayCore {
    /// Reads `part` into native elements, in memory with any strides that has the shape of `part`. Where the store is local, the calling thread must be one that may block.
    ///
    /// Each chunk is decoded into its own piece of the memory, unless its elements are scattered over it, or the caller is
    /// async and the store remote: then it is decoded into other memory and copied.
    pub fn read<'a>(
        self: &'a Arc<Self>,
        transfer: &'a Transfer,
        out: ViewMut<'a>,
        var_buffer: Option<&'a Arc<VarBuffer>>,
    ) -> BoxFuture<'a, Result<()>> {
        let mut out = out.with_var_buffer(var_buffer.map(|var_buffer| &**var_buffer));
        // Large futures inside are boxed for themselves: this one is made for each read, and small enough for the allocator's cache.
        Box::pin(async move {
            let Transfer { layout, part, span } = transfer;
            let (grid, shape, span) = (&*layout.chunks().grid, &layout.metadata.shape, *span);
            let counter = Counter::new(&self.options.progress, || transfer.chunks().count());
            let (any_found, any_missing) = (AtomicBool::new(false), AtomicBool::new(false));
            let done = |tile: &ChunkProjection, found: bool| {
                let which = if found { &any_found } else { &any_missing };
                which.store(true, Ordering::Relaxed);
                counter.chunk_done(&tile.within, span.size);
            };
            let store = self.local();
            let only = store.and_then(|_| only_projection(grid, shape, part));
            let read = if let (Some(store), Some(tile)) = (store, &only) {
                // The elements of one chunk are all of the output.
                self.options.check_cancelled().map_err(|e| self.at(e))?;
                let buffer = &mut Vec::new();
                let read = self.read_chunk(layout, store, tile, span, buffer, &mut out).await;
                read.map(|found| done(tile, found)).map_err(|e| self.at(e))
            } else {
                let kind = transfer.work();
                let split = if store.is_some() || may_block() {
                    let split = SplitOutput::new(grid, shape, part, out);
                    split.map(|pieces| pieces.groups(kind.row > 1))
                } else {
                    Err(Box::new((ChunkProjections::new(grid, shape, part), out)))
                };
                Box::pin(self.read_split(layout, span, kind, split, var_buffer, &done)).await
            };
            if let Err(e) = read {
                return Err(Box::pin(self.missing_or_gone(e)).await);
            }
            if any_missing.into_inner() && !any_found.into_inner() {
                Box::pin(self.check_not_gone()).await?;
            }
            self.read_ahead(layout, part);
            Ok(())
        })
    }

    /// Reads chunks, each into its piece of the memory, or all into the same memory, where the elements of each are
    /// scattered. Calls `done` for each that is read, with whether it is stored.
    pub(super) async fn read_split<'m>(
        self: &Arc<Self>,
        layout: &ChunkLayout,
        span: FieldBytes,
        kind: Work,
        split: Result<
            impl Iterator<
                Item: IntoIterator<Item = (ChunkProjection, ViewMut<'m>), IntoIter: Send> + Send,
            > + Send,
            Box<(impl Iterator<Item = ChunkProjection> + Send, ViewMut<'m>)>,
        >,
        var_buffer: Option<&Arc<VarBuffer>>,
        done: impl Fn(&ChunkProjection, bool) + Sync,
    ) -> Result<()> {
        let options = &self.options;
        let read = match (split, self.local()) {
            (Ok(groups), Some(store)) => {
                let (kind, groups) =
                    self.after_cached(layout, store, span, kind, groups, &done).await?;
                executor::for_each_async(options, kind, groups, async |buffer, (tile, mut out)| {
                    let out = &mut out;
                    let found = self.read_chunk(layout, store, &tile, span, buffer, out).await?;
                    done(&tile, found);
                    Ok(())
                })
            }
            (Err(scattered), Some(store)) => {
                let (tiles, out) = *scattered;
                let (var_buffer, out) = (out.var_buffer(), Mutex::new(out));
                executor::for_each_async(options, kind, tiles.map(Some), async |buffer, tile| {
                    let shape = tile.within.shape();
                    let mut elements = zeroed(&shape, span.size, "the region")?;
                    let here = ViewMut::new(&mut elements, &shape, span.size);
                    let here = &mut here.with_var_buffer(var_buffer);
                    let found = self.read_chunk(layout, store, &tile, span, buffer, here).await?;
                    let elements = View::new(&elements, &tile.output.shape(), span.size);
                    lock(&out).scatter(&tile.output, &elements);
                    done(&tile, found);
                    Ok(())
                })
            }
            (Ok(groups), None) => executor::in_scope(options, async |spawner| {
                let (in_flight, together) = self.in_flight(layout, kind);
                let read =
                    |(tile, out)| self.read_piece(layout, tile, (span, together), out, spawner);
                let chunks = executor::in_flight(options, in_flight, groups.flatten(), read);
                let counted = chunks.try_for_each(|(tile, found)| {
                    done(&tile, found);
                    ready(Ok(()))
                });
                counted.await
            }),
            (Err(scattered), None) => {
                let (tiles, out) = *scattered;
                let (out, (in_flight, groups)) = (Mutex::new(out), self.in_flight(layout, kind));
                let read =
                    |tile| self.fetch_elements(layout, tile, (span, groups), var_buffer, &out);
                let chunks = executor::in_flight(options, in_flight, tiles, read);
                let copied = chunks.try_for_each(|(tile, elements)| {
                    let found = elements.is_some();
                    let copied = match elements {
                        Some(elements) if elements.is_empty() => Ok(()),
                        Some(elements) => {
                            let elements = View::new(&elements, &tile.output.shape(), span.size);
                            lock(&out).scatter(&tile.output, &elements);
                            Ok(())
                        }
                        None => lock(&out).reborrow().fill_with(&tile.output, |piece| {
                            self.fill_missing(layout, &tile, span, piece)
                        }),
                    };
                    done(&tile, found);
                    ready(copied)
                });
                // Boxed: the future of a read from a local store stays small.
                Box::pin(copied).await
            }
        };
        read.map_err(|e| self.at(e))
    }

    /// The segments of a chunk that are read; `None` if all of its bytes are, or it shares an object with other chunks, by
    /// the draft's storage transformer.
    pub(super) fn plan<'a>(
        &self,
        layout: &'a ChunkLayout,
        tile: &ChunkProjection,
    ) -> Option<PartialRead<'a>> {
        if layout.metadata.shards.is_some() {
            return None;
        }
        let partial = layout.chunks().chain.partial(&tile.chunk_shape, &tile.within);
        partial.filter(|partial| has_index(partial) || !self.caches_whole(layout, tile))
    }

    /// Reads one chunk of a local store into `out`; `buffer` is reused. Returns whether it is stored.
    async fn read_chunk(
        &self,
        layout: &ChunkLayout,
        store: &dyn SyncStore,
        tile: &ChunkProjection,
        span: FieldBytes,
        buffer: &mut Vec<u8>,
        out: &mut ViewMut<'_>,
    ) -> Result<bool> {
        // The store is called here, and not by the adapter that waits for dropped calls
        // (docs/internals/design/crash-safety.md).
        abandoned::wait_for(|| self.context.store.name(), layout.prefix()).await;
        if self.read_cached(layout, store, tile, span, out)? {
            return Ok(true);
        }
        let plan = self.plan(layout, tile);
        let found = match &plan {
            Some(partial) if store.capabilities().cheap_ranges => {
                let read = async {
                    let mut source = Source::Local { store, span, out: out.reborrow() };
                    self.read_segments(layout, tile, partial, &mut source).await
                };
                Box::pin(read).await?.map(drop)
            }
            None if layout.metadata.shards.is_none()
                && layout.other_key(&tile.key_index).is_none()
                && !self.caches_whole(layout, tile) =>
            {
                return self.read_whole(layout, store, tile, span, buffer, out);
            }
            _ => match Box::pin(self.fetch(layout, tile, None)).await? {
                Some(fetched) => Some(self.decode(layout, tile, span, &fetched, out.reborrow())?),
                None => None,
            },
        };
        if found.is_none() {
            self.fill_missing(layout, tile, span, out.reborrow())?;
        }
        Ok(found.is_some())
    }

    /// Has `read` read all bytes of each element; of one field of records it reads those into other memory, and copies the
    /// field.
    pub(super) fn with_records(
        &self,
        span: FieldBytes,
        mut out: ViewMut<'_>,
        read: impl FnOnce(ViewMut<'_>) -> Result<()>,
    ) -> Result<()> {
        if span.is_whole() {
            return read(out);
        }
        let shape = out.shape();
        let mut records = unset(&shape, span.element, "a chunk")?;
        read(ViewMut::new(&mut records, &shape, span.element))?;
        out.copy_from(&View::new(&records, &shape, span.element).span(span.offset, span.size));
        Ok(())
    }

    /// Reads or fetches segments of a chunk, again if another writer replaced it: all bytes are of one version of the chunk,
    /// and so is its index, which may be cached. `None` if the chunk is not stored.
    pub(super) async fn read_segments(
        &self,
        layout: &ChunkLayout,
        tile: &ChunkProjection,
        partial: &PartialRead<'_>,
        source: &mut Source<'_>,
    ) -> Result<Option<FetchedBytes>> {
        let key = layout.key(&tile.key_index);
        let at = |e: Error| self.at_chunk(tile, &key, e);
        let first = match source {
            Source::Local { .. } => Vec::new(),
            Source::Remote(..) => self.first_ranges(layout, partial).map_err(at)?,
        };
        let keep = |version: Option<Version>, index: &ChunkIndex| {
            if let Some(version) = version {
                layout.index_cache.put(&key, version, index.clone());
            }
        };
        let expected = layout.chunks().chain.encoded_size(&tile.chunk_shape);
        let mut known = layout.index_cache.get(&key);
        for _ in 0..MOST_VERSIONS {
            self.options.check_cancelled().map_err(at)?;
            let (version, index) = known.take().unzip();
            let how = match &version {
                Some(version) => SnapshotOptions::expect(version),
                None => SnapshotOptions::first(&first),
            };
            let read = match source {
                Source::Local { store, span, out } => self.open(*store, &key, how).map(|value| {
                    let value = value?;
                    let bytes = SegmentBytes::Local(&*value);
                    let cached = self.cached_segments(layout, partial, &key, value.version());
                    let cached = cached.as_ref();
                    let segments = SegmentReader { core: self, layout, bytes, cached };
                    let keep = |index: &ChunkIndex| keep(value.version(), index);
                    let read = |out: ViewMut<'_>| segments.read(partial, index, keep, out);
                    let read = self.with_records(*span, out.reborrow(), read);
                    Some((value.size(), read.map(|()| FetchedBytes::Decoded)))
                }),
                // Boxed: the future of a local chunk stays small.
                Source::Remote(store, large) => {
                    let read = async {
                        let Some(value) = store.open(&key, how).await? else { return Ok(None) };
                        if let Some(large) = large {
                            let read = large.read(layout, tile, partial, &*value, index).await;
                            let read = read.map(|index| {
                                index.iter().for_each(|index| keep(value.version(), index));
                                FetchedBytes::Decoded
                            });
                            return Ok(Some((value.size(), read)));
                        }
                        let cached = self.cached_segments(layout, partial, &key, value.version());
                        let from = (&*value, cached.as_ref());
                        let read = self.fetch_ranges(layout, tile, partial, from, index).await;
                        let read = read.map(|(ranges, index)| {
                            index.iter().for_each(|index| keep(value.version(), index));
                            FetchedBytes::Ranges(ranges, index, cached)
                        });
                        Ok(Some((value.size(), read)))
                    };
                    Box::pin(read).await
                }
            };
            match read {
                Ok(None) if version.is_none() => return Ok(None),
                // The chunk was replaced: its new index is not known.
                Ok(None) | Err(StoreError::Changed { .. }) => {}
                Ok(Some((_, Err(e))))
                    if matches!(e.cause(), Cause::Store(StoreError::Changed { .. })) => {}
                Ok(Some((size, read))) => {
                    // A chunk of another size is damaged, also where the part is in it.
                    let is_known = size > 0 || version.is_none();
                    if let Some(expected) = expected.filter(|&due| is_known && due != size) {
                        let codec = "codecs";
                        let damage = CodecError::Length { codec, expected, found: size };
                        return Err(at(damage.into()));
                    }
                    return read.map(Some).map_err(at);
                }
                Err(e) => return Err(at(e.into())),
            }
        }
        Err(at(StoreError::Changed { key: key.to_string() }.into()))
    }

    /// Reads all bytes of a chunk of a local store that has one key. Returns whether it is stored.
    fn read_whole(
        &self,
        layout: &ChunkLayout,
        store: &dyn SyncStore,
        tile: &ChunkProjection,
        span: FieldBytes,
        buffer: &mut Vec<u8>,
        out: &mut ViewMut<'_>,
    ) -> Result<bool> {
        let (chain, shape) = (&layout.chunks().chain, &tile.chunk_shape);
        let key = layout.key(&tile.key_index);
        let at = |e: Error| self.at_chunk(tile, &key, e);
        let whole = span.is_whole() && chain.is_memory() && tile.within.is_all(shape);
        let mut memory = out.as_bytes_mut().filter(|_| whole);
        let direct = memory.is_some();
        let expected =
            chain.plain_size(shape).filter(|&size| direct || size <= MAX_BYTES_READ_UNSEEN);
        let how = match (&mut memory, expected) {
            // The store reads into the caller's memory.
            (Some(memory), Some(_)) => GetOptions::into(Target::Exact(memory)),
            (None, Some(expected)) => {
                buffer_pool::resize("codecs", buffer, expected).map_err(|e| at(e.into()))?;
                GetOptions::into(Target::Exact(buffer))
            }
            (_, None) => {
                let limit = self.most_stored(layout, Some(shape));
                GetOptions { limit, ..GetOptions::into(Target::Vec(buffer)) }
            }
        };
        let got = store.get(&key, how).map_err(|e| at(e.into()))?;
        match (got.map(|got| got.size), expected) {
            (None, _) => self.fill_missing(layout, tile, span, out.reborrow()).map(|()| false),
            (Some(found), Some(expected)) if found != expected => {
                Err(at(chain.wrong_plain_size(expected, found).into()))
            }
            (Some(_), Some(_)) if direct => {
                chain.check(out).map(|()| true).map_err(|e| at(e.into()))
            }
            _ => {
                let out = out.reborrow();
                self.decode_whole(layout, tile, span, &key, buffer, out).map(|()| true)
            }
        }
    }

    pub(super) fn decode_whole(
        &self,
        layout: &ChunkLayout,
        tile: &ChunkProjection,
        span: FieldBytes,
        key: &StoreKey,
        encoded: &[u8],
        out: ViewMut<'_>,
    ) -> Result<()> {
        let (encoded, shape) = (Cow::Borrowed(encoded), &tile.chunk_shape);
        let decode = |out: ViewMut<'_>| {
            let decode = || layout.chunks().chain.decode_into(encoded, shape, &tile.within, out);
            Ok(self.decoding_to_read(decode)?)
        };
        self.with_records(span, out, decode).map_err(|e| self.at_chunk(tile, key, e))
    }
}
