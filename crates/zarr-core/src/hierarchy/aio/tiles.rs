//! How are the tiles of a part read and written by callers that wait?

use std::borrow::Cow;
use std::sync::Arc;

use futures::stream::{self, StreamExt, TryStreamExt};

use super::{Array, elsewhere};
use crate::array::fields::Span;
use crate::array::part::assembled;
use crate::array::select::work;
use crate::array::{Opened, State, compare_and_swap, zeroed};
use crate::element::Element;
use crate::error::{AccessError, Error, Result};
use crate::grid::{Tile, tiles};
use crate::heap::Heap;
use crate::hierarchy::options::Options;
use crate::selection::Part;
use crate::store::aio::Pinned;
use crate::view::{View, ViewMut};

impl Array {
    /// Fetches tiles, as many at a time as the store likes, and lays what the pool makes of them into
    /// the memory.
    pub(in crate::hierarchy) async fn read_memory(
        &self,
        state: &Arc<State>,
        part: &Part,
        span: Span,
        memory: &mut [u8],
        heap: Option<Arc<Heap>>,
    ) -> Result<()> {
        let (opened, heap) = (&self.opened, &heap);
        let (_, grid, repr) = state.access().map_err(|e| opened.at(e))?;
        let cell = repr.size();
        let fetched = stream::iter(tiles(grid, &state.metadata.shape, part))
            .map(|tile| async move {
                if let Some(read) = state.access()?.0.read(&tile.chunk_shape, &tile.within) {
                    let elements = match opened.fetch_part(state, &tile, read).await? {
                        None => None,
                        Some((key, read)) => {
                            let shape = tile.within.shape();
                            let (opened, at, heap) = (opened.clone(), tile.clone(), heap.clone());
                            let decode = move || {
                                let mut elements = zeroed(&shape, cell, "the region")?;
                                let out = ViewMut::new(&mut elements, &shape, cell);
                                let out = out.with_heap(heap.as_deref());
                                let decoded = opened.decoding(|| read.decode_into(out));
                                decoded.map_err(|e| opened.at_chunk(&at, &key, e))?;
                                Ok(elements)
                            };
                            Some(on_pool(&opened_options(&self.opened), decode).await?)
                        }
                    };
                    return Ok::<_, Error>((tile, elements));
                }
                let elements =
                    match opened.fetch(state, &tile.indices, Some(&tile.chunk_shape)).await? {
                        None => None,
                        Some((key, encoded)) => {
                            let (opened, state, tile) =
                                (opened.clone(), state.clone(), tile.clone());
                            let heap = heap.clone();
                            let decode = move || {
                                let shape = tile.within.shape();
                                let mut elements = zeroed(&shape, cell, "the region")?;
                                let out = ViewMut::new(&mut elements, &shape, cell);
                                let out = out.with_heap(heap.as_deref());
                                opened.decode_tile(&state, &tile, &key, &encoded, out)?;
                                Ok(elements)
                            };
                            Some(on_pool(&opened_options(&self.opened), decode).await?)
                        }
                    };
                Ok::<_, Error>((tile, elements))
            })
            .buffer_unordered(at_once(opened, state, part, span)?);
        let mut fetched = std::pin::pin!(fetched);
        let mut out = ViewMut::new(memory, &part.shape(), span.size);
        while let Some((tile, elements)) = fetched.try_next().await? {
            match elements {
                Some(elements) => {
                    let elements = View::new(&elements, &tile.within.shape(), cell);
                    out.scatter(&tile.place, &elements.span(span.offset, span.size));
                }
                None => tile.place.fill(out.reborrow(), |mut piece| -> Result<()> {
                    piece.fill(&state.fill[span.offset..span.offset + span.size]);
                    Ok(())
                })?,
            }
        }
        Ok(())
    }

    /// Writes tiles, as many at a time as the store likes, each when the pool has encoded it.
    pub(in crate::hierarchy) async fn write_elements<T: Element>(
        &self,
        state: &Arc<State>,
        part: &Part,
        span: Span,
        elements: Vec<T>,
    ) -> Result<()> {
        self.opened.writeable(state)?;
        let (_, grid, _) = state.access().map_err(|e| self.opened.at(e))?;
        let (mut heap, mut made) = (None, None);
        match T::as_memory(&elements) {
            Some(Cow::Borrowed(_)) => {}
            Some(Cow::Owned(memory)) => made = Some(Arc::new(memory)),
            None => {
                let contents = elements.iter().map(T::as_bytes);
                let cells = state.cells_of(contents).map_err(|e| self.opened.at(e))?;
                (heap, made) = (Some(cells.heap), Some(Arc::new(cells.memory)));
            }
        }
        let data = Data { elements: Arc::new(elements), made, heap, shape: part.shape(), span };
        let data = &data;
        stream::iter(tiles(grid, &state.metadata.shape, part))
            .map(|tile| write_tile(&self.opened, state, Arc::new(tile), data.clone()))
            .buffer_unordered(at_once(&self.opened, state, part, span)?)
            .try_collect()
            .await
    }

    /// Writes tiles of memory that is lent: each copies what it needs of it when its turn comes.
    pub(in crate::hierarchy) async fn write_memory(
        &self,
        state: &Arc<State>,
        part: &Part,
        span: Span,
        memory: &[u8],
        heap: Option<&Arc<Heap>>,
    ) -> Result<()> {
        self.opened.writeable(state)?;
        let (_, grid, _) = state.access().map_err(|e| self.opened.at(e))?;
        let whole = View::new(memory, &part.shape(), span.size);
        let whole = &whole.with_heap(heap.map(|heap| &**heap));
        stream::iter(tiles(grid, &state.metadata.shape, part))
            .map(|tile| async move {
                let shape = tile.within.shape();
                let mut room = Vec::new();
                let made = tile.place.of(whole, &mut room).to_bytes().into_owned();
                let tile = Tile { place: Part::all(&shape), ..tile };
                let made = Some(Arc::new(made));
                let elements = Arc::new(Vec::<u8>::new());
                let data = Data { elements, made, heap: heap.cloned(), shape, span };
                write_tile(&self.opened, state, Arc::new(tile), data).await
            })
            .buffer_unordered(at_once(&self.opened, state, part, span)?)
            .try_collect()
            .await
    }
}

/// How many tiles of a part are under way at once.
fn at_once(opened: &Opened, state: &State, part: &Part, span: Span) -> Result<usize> {
    let (_, grid, _) = state.access().map_err(|e| opened.at(e))?;
    Ok(work(grid, part, span.element).at_once(opened.room.store.in_flight()))
}

/// Elements that several tiles share.
#[derive(Clone)]
struct Data<T> {
    elements: Arc<Vec<T>>,
    /// The memory of elements that lie there otherwise than Rust has them; cells, if they have any length.
    made: Option<Arc<Vec<u8>>>,
    /// What cells speak of.
    heap: Option<Arc<Heap>>,
    shape: Vec<u64>,
    span: Span,
}

impl<T: Element> Data<T> {
    fn part<'a>(&'a self, tile: &Tile, room: &'a mut Vec<u8>) -> View<'a> {
        let view = match &self.made {
            Some(memory) => View::new(memory, &self.shape, self.span.size),
            None => {
                let Some(Cow::Borrowed(memory)) = T::as_memory(&self.elements) else {
                    unreachable!("memory that had to be made was made before")
                };
                View::new(memory, &self.shape, self.span.size)
            }
        };
        tile.place.of(&view.with_heap(self.heap.as_deref()), room)
    }
}

/// Writes one tile: store calls wait here, encoding runs on the pool.
async fn write_tile<T: Element>(
    opened: &Arc<Opened>,
    state: &Arc<State>,
    tile: Arc<Tile>,
    data: Data<T>,
) -> Result<()> {
    let options = opened_options(opened);
    let key = opened.write_key(state, &tile).await?;
    let at = |e: Error| opened.at_chunk(&tile, &key, e);
    let span = data.span;
    let shared = (opened.clone(), state.clone(), tile.clone(), data);
    if opened.replaces(&tile, span) {
        let encode = move || {
            let ((opened, state, tile, data), mut room) = (shared, Vec::new());
            let part = data.part(&tile, &mut room);
            Ok(opened.encode_whole(&state, &tile, part)?.map(|chunk| chunk.into_owned()))
        };
        let chunk = on_pool(&options, encode).await.map_err(at)?;
        return opened.store_whole(&key, chunk.map(Into::into)).await.map_err(at);
    }
    let edit = |old: Option<Arc<dyn Pinned>>| {
        let (shared, options) = (shared.clone(), &options);
        async move {
            let (opened, state, tile, data) = shared;
            let rest = opened.fetch_rest(&state, &tile, span, old.as_deref()).await?;
            let overlay = move || {
                let mut room = Vec::new();
                let part = data.part(&tile, &mut room);
                opened.overlay(&state, &tile, rest, &part, span)
            };
            assembled(on_pool(options, overlay).await?, old).await
        }
    };
    let rounds = u32::MAX;
    let most = opened.most_stored(state, Some(&tile.chunk_shape));
    match compare_and_swap::update_for(&opened.room, &key, most, edit, rounds).await.map_err(at)? {
        true => Ok(()),
        false => Err(at(AccessError::Conflict { rounds }.into())),
    }
}

fn opened_options(opened: &Opened) -> Options {
    opened.room.options.clone()
}

/// What `work` gives, done on the pool.
#[cfg(feature = "rayon")]
async fn on_pool<T: Send + 'static>(
    options: &Options,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let Some(pool) = crate::array::executor::pool(options) else {
        return elsewhere(work).await;
    };
    if pool.current_thread_index().is_some() {
        // This is the pool's own thread: waiting for another might be waiting for itself.
        return work();
    }
    let (send, receive) = futures::channel::oneshot::channel();
    pool.spawn(move || {
        let _ = send.send(work());
    });
    receive.await.unwrap_or_else(|_| Err(super::lost_worker()))
}

/// What `work` gives, done on a thread that may be busy.
#[cfg(not(feature = "rayon"))]
async fn on_pool<T: Send + 'static>(
    _: &Options,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    elsewhere(work).await
}
