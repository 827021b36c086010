//! The same names for callers that wait.
//!
//! Planning, documents and codecs are those of the blocking handles; only the two loops over tiles are
//! written again. Fetches are in flight as many at a time as the store likes, (de)compression runs on
//! the pool. Handles own their memory: data go in and come out as vectors, so a dropped future leaves
//! nothing half-read behind, and nothing is stored before a chunk's final `set`.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures::stream::{self, StreamExt, TryStreamExt};

use super::elements::Cells;
use super::fields::Span;
use super::opened::{Opened, State, zeroed};
use super::options::{OpenOptions, Options};
use super::part::assembled;
use super::room::Room;
use super::update;
use super::{ArrayBuilder, Chunk, Ground, change_attributes, wrong_kind};
use crate::dialect::{Dialect, Warning};
use crate::element::Element;
use crate::error::{AccessError, Error, Result};
use crate::format::{Child, Format};
use crate::grid::{Tile, tiles};
use crate::heap::{CELL, Heap};
use crate::json::Object;
use crate::metadata::{ArrayMetadata, GroupMetadata, NodeKind, NodeMetadata};
use crate::path::NodePath;
use crate::region::{IntoRegion, Region};
use crate::store::aio::{Pinned, Store};
use crate::view::{View, ViewMut};

pub use crate::store::Offloaded;

/// A tree of groups and arrays in a store that waits. See [`crate::Hierarchy`].
#[derive(Clone, Debug)]
pub struct Hierarchy {
    room: Arc<Room>,
}

/// A group or an array. See [`crate::Node`].
#[derive(Clone, Debug)]
pub enum Node {
    /// An array.
    Array(Array),
    /// A group.
    Group(Group),
}

/// A group. See [`crate::Group`].
#[derive(Clone, Debug)]
pub struct Group {
    room: Arc<Room>,
    path: NodePath,
    metadata: Arc<GroupMetadata>,
}

/// An array. See [`crate::Array`].
#[derive(Clone, Debug)]
pub struct Array {
    pub(super) opened: Arc<Opened>,
}

impl Hierarchy {
    /// See [`crate::Hierarchy::open`].
    ///
    /// # Errors
    /// As there.
    pub async fn open(store: Arc<dyn Store>, options: &OpenOptions) -> Result<Hierarchy> {
        let name = store.name();
        match Room::open(store, options, None).await? {
            Some(room) => Ok(Hierarchy { room: Arc::new(room) }),
            None => {
                let looked_for =
                    "`zarr.json`, `.zarray`, `.zgroup`, `.zattrs`, `.zmetadata`".into();
                Err(Error::from(AccessError::NotFound { looked_for }).at_store(name))
            }
        }
    }

    /// See [`crate::Hierarchy::create`].
    ///
    /// # Errors
    /// As there.
    pub async fn create(
        store: Arc<dyn Store>,
        format: Arc<dyn Format>,
        options: &OpenOptions,
    ) -> Result<Hierarchy> {
        let name = store.name();
        if Room::probe(store.clone(), &options.clone().any_dialect()).await?.is_some() {
            return Err(Error::from(AccessError::Exists("a hierarchy")).at_store(name));
        }
        let room = Room::new(store, format, options, Vec::new());
        room.create_entry_point().await.map_err(|e| e.at_store(name))?;
        if room.format.groups_are_explicit() {
            let root = NodeMetadata::Group(GroupMetadata::default());
            room.create(&NodePath::root(), &root, Ground::default()).await?;
        }
        Ok(Hierarchy { room: Arc::new(room) })
    }

    /// The same hierarchy as a blocking one, its store's calls made on other threads.
    pub fn from_blocking(hierarchy: &crate::Hierarchy) -> Hierarchy {
        let there = &hierarchy.room;
        let mut options = OpenOptions::new(there.registry.clone());
        options.access = there.access;
        options.options = there.options.clone();
        let store = Arc::new(Offloaded::new(super::guardable(hierarchy.store().clone()).0));
        let mut room = Room::new(store, there.format.clone(), &options, hierarchy.warnings());
        let draft_copies = there.draft_copies.load(Ordering::Relaxed);
        room.draft_copies.store(draft_copies, Ordering::Relaxed);
        if let Some(copied) = &there.copied {
            room = room.out_of(copied.clone());
        }
        Hierarchy { room: Arc::new(room) }
    }

    /// See [`crate::Hierarchy::locate`]; the store's calls are made on other threads.
    ///
    /// # Errors
    /// As there.
    pub async fn locate(url: &str, options: &OpenOptions) -> Result<(Hierarchy, NodePath)> {
        let (url, options) = (url.to_owned(), options.clone());
        let found = elsewhere(move || crate::Hierarchy::locate(&url, &options)).await?;
        Ok((Hierarchy::from_blocking(&found.0), found.1))
    }

    /// The dialect of its documents.
    pub fn dialect(&self) -> Dialect {
        self.room.format.dialect()
    }

    /// What tolerant reading has overlooked so far.
    pub fn warnings(&self) -> Vec<Warning> {
        self.room.warnings.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }

    /// See [`crate::Hierarchy::node`].
    ///
    /// # Errors
    /// As there.
    pub async fn node(&self, path: &NodePath) -> Result<Node> {
        let metadata = self.room.node(path).await?;
        self.node_of(path, metadata)
    }

    pub(crate) fn node_of(&self, path: &NodePath, metadata: NodeMetadata) -> Result<Node> {
        Ok(match metadata {
            NodeMetadata::Array(metadata) => Node::Array(self.array_of(path, *metadata)?),
            NodeMetadata::Group(metadata) => Node::Group(self.group_of(path, metadata)),
        })
    }

    fn array_of(&self, path: &NodePath, metadata: ArrayMetadata) -> Result<Array> {
        Ok(Array { opened: Arc::new(Opened::new(self.room.clone(), path.clone(), metadata)?) })
    }

    fn group_of(&self, path: &NodePath, metadata: GroupMetadata) -> Group {
        Group { room: self.room.clone(), path: path.clone(), metadata: Arc::new(metadata) }
    }

    /// See [`crate::Hierarchy::array`].
    ///
    /// # Errors
    /// As there.
    pub async fn array(&self, path: &NodePath) -> Result<Array> {
        self.node(path).await?.into_array()
    }

    /// See [`crate::Hierarchy::group`].
    ///
    /// # Errors
    /// As there.
    pub async fn group(&self, path: &NodePath) -> Result<Group> {
        match self.node(path).await? {
            Node::Group(group) => Ok(group),
            Node::Array(_) => Err(self.room.at(path, wrong_kind(NodeKind::Array))),
        }
    }

    /// See [`crate::Hierarchy::children`].
    ///
    /// # Errors
    /// As there.
    pub async fn children(&self, path: &NodePath) -> Result<Vec<Child>> {
        self.room.members(path).await
    }

    /// See [`crate::Hierarchy::tree`].
    ///
    /// # Errors
    /// As there.
    pub async fn tree(&self, path: &NodePath) -> Result<Vec<Child>> {
        self.room.tree(path).await
    }

    /// See [`crate::Hierarchy::create_group`].
    ///
    /// # Errors
    /// As there.
    pub async fn create_group(&self, path: &NodePath, attributes: Object) -> Result<Group> {
        let metadata = GroupMetadata { attributes, ..GroupMetadata::default() };
        let group = NodeMetadata::Group(metadata.clone());
        self.room.create(path, &group, Ground::default()).await?;
        Ok(self.group_of(path, metadata))
    }

    /// See [`crate::Hierarchy::create_array`].
    pub fn create_array(&self, path: &NodePath) -> ArrayBuilder<Hierarchy> {
        ArrayBuilder::new(self.clone(), self.room.clone(), path.clone())
    }

    /// See [`crate::Hierarchy::erase`].
    ///
    /// # Errors
    /// As there.
    pub async fn erase(&self, path: &NodePath) -> Result<()> {
        self.room.erase(path).await
    }

    /// See [`crate::Hierarchy::flush`].
    ///
    /// # Errors
    /// As there.
    pub async fn flush(&self) -> Result<()> {
        self.room.flush().await
    }

    /// See [`crate::Hierarchy::consolidate`].
    ///
    /// # Errors
    /// As there.
    pub async fn consolidate(&self) -> Result<usize> {
        self.room.consolidate().await
    }

    /// See [`crate::Hierarchy::remove_consolidated`].
    ///
    /// # Errors
    /// As there.
    pub async fn remove_consolidated(&self) -> Result<bool> {
        self.room.remove_consolidated().await
    }

    /// See [`crate::Hierarchy::check_consolidated`].
    ///
    /// # Errors
    /// As there.
    pub async fn check_consolidated(&self) -> Result<Vec<NodePath>> {
        self.room.check_consolidated().await
    }
}

impl Node {
    /// See [`crate::Node::into_array`].
    ///
    /// # Errors
    /// As there.
    pub fn into_array(self) -> Result<Array> {
        match self {
            Node::Array(array) => Ok(array),
            Node::Group(group) => Err(group.room.at(&group.path, wrong_kind(NodeKind::Group))),
        }
    }

    /// See [`crate::Node::into_group`].
    ///
    /// # Errors
    /// As there.
    pub fn into_group(self) -> Result<Group> {
        match self {
            Node::Group(group) => Ok(group),
            Node::Array(array) => Err(array.opened.at(wrong_kind(NodeKind::Array))),
        }
    }
}

impl Group {
    /// Where it is.
    pub fn path(&self) -> &NodePath {
        &self.path
    }

    /// The user's attributes when it was opened.
    pub fn attributes(&self) -> &Object {
        &self.metadata.attributes
    }

    /// See [`crate::Group::children`].
    ///
    /// # Errors
    /// As there.
    pub async fn children(&self) -> Result<Vec<Child>> {
        self.room.children(&self.path).await
    }

    /// See [`crate::Group::array`].
    ///
    /// # Errors
    /// As there.
    pub async fn array(&self, path: &str) -> Result<Array> {
        let path = self.path.join(path).map_err(|e| self.room.at(&self.path, e))?;
        Hierarchy { room: self.room.clone() }.array(&path).await
    }

    /// See [`crate::Group::group`].
    ///
    /// # Errors
    /// As there.
    pub async fn group(&self, path: &str) -> Result<Group> {
        let path = self.path.join(path).map_err(|e| self.room.at(&self.path, e))?;
        Hierarchy { room: self.room.clone() }.group(&path).await
    }

    /// See [`crate::Group::update_attributes`].
    ///
    /// # Errors
    /// As there.
    pub async fn update_attributes(&self, change: impl FnMut(&mut Object)) -> Result<Object> {
        change_attributes(&self.room, &self.path, NodeKind::Group, change).await
    }
}

impl Array {
    /// Where it is.
    pub fn path(&self) -> &NodePath {
        &self.opened.path
    }

    /// See [`crate::Array::metadata`].
    pub fn metadata(&self) -> Arc<ArrayMetadata> {
        self.opened.state().metadata.clone()
    }

    /// How many elements along each axis.
    pub fn shape(&self) -> Vec<u64> {
        self.metadata().shape.clone()
    }

    /// See [`crate::Array::read`].
    ///
    /// # Errors
    /// As there.
    pub async fn read<T: Element>(&self, region: impl IntoRegion) -> Result<Vec<T>> {
        let region = self.opened.prepare(region)?.1;
        let mut elements = self.opened.room_for::<T>(&region)?;
        self.read_elements(region, &mut elements).await?;
        Ok(elements)
    }

    /// Reads a region into memory that is handed over and comes back, whatever happens.
    ///
    /// # Errors
    /// As [`crate::Array::read_into`].
    pub async fn read_into<T: Element>(
        &self,
        region: impl IntoRegion,
        mut out: Vec<T>,
    ) -> (Vec<T>, Result<()>) {
        let result = self.read_elements(region, &mut out).await;
        (out, result)
    }

    async fn read_elements<T: Element>(
        &self,
        region: impl IntoRegion,
        out: &mut [T],
    ) -> Result<()> {
        let (state, region) = self.opened.prepare(region)?;
        self.opened.check_type::<T>(&state)?;
        self.opened.check_count(&region, out.len())?;
        if state.metadata.data_type.is_variable() {
            self.read_cells(&state, &region).await?.to_elements(out);
            return Ok(());
        }
        if let Some(memory) = T::memory(out) {
            return self.read_memory(&state, &region, state.span()?, memory, None).await;
        }
        let bytes = self.read_region(&state, &region, state.span()?).await?;
        for (element, bytes) in out.iter_mut().zip(bytes.chunks_exact(size_of::<T>())) {
            *element = T::from_bytes(bytes);
        }
        Ok(())
    }

    /// See [`crate::Array::read_bytes`].
    ///
    /// # Errors
    /// As there.
    pub async fn read_bytes(&self, region: impl IntoRegion) -> Result<Vec<u8>> {
        let (state, region) = self.opened.prepare(region)?;
        self.read_region(&state, &region, state.span()?).await
    }

    pub(super) async fn read_region(
        &self,
        state: &Arc<State>,
        region: &Region,
        span: Span,
    ) -> Result<Vec<u8>> {
        if state.metadata.data_type.is_variable() {
            return Ok(self.read_cells(state, region).await?.to_stream());
        }
        let mut bytes =
            zeroed(&region.shape(), span.size, "the region").map_err(|e| self.opened.at(e))?;
        self.read_memory(state, region, span, &mut bytes, None).await?;
        Ok(bytes)
    }

    /// Reads elements of any length.
    async fn read_cells(&self, state: &Arc<State>, region: &Region) -> Result<Cells> {
        let mut cells = state.cells(&region.shape()).map_err(|e| self.opened.at(e))?;
        let heap = cells.heap.clone();
        self.read_memory(state, region, state.span()?, &mut cells.memory, Some(heap)).await?;
        Ok(cells)
    }

    /// Fetches tiles, as many at a time as the store likes, and lays what the pool makes of them into
    /// the memory.
    pub(super) async fn read_memory(
        &self,
        state: &Arc<State>,
        region: &Region,
        span: Span,
        memory: &mut [u8],
        heap: Option<Arc<Heap>>,
    ) -> Result<()> {
        let (opened, heap) = (&self.opened, &heap);
        let (_, grid, repr) = state.access().map_err(|e| opened.at(e))?;
        let cell = repr.size();
        let fetched = stream::iter(tiles(grid, &state.metadata.shape, region))
            .map(|tile| async move {
                if let Some(read) = state.access()?.0.read(&tile.chunk_shape, &tile.within) {
                    let elements = match opened.fetch_part(state, &tile, read).await? {
                        None => None,
                        Some((key, read)) => {
                            let shape = tile.place.shape();
                            let (opened, at, heap) = (opened.clone(), tile.clone(), heap.clone());
                            let decode = move || {
                                let mut elements = zeroed(&shape, cell, "the region")?;
                                let out = ViewMut::new(&mut elements, &shape, cell);
                                let out = out.with_heap(heap.as_deref());
                                read.decode_into(out).map_err(|e| opened.at_chunk(&at, &key, e))?;
                                Ok(elements)
                            };
                            Some(on_pool(&opened_options(&self.opened), decode).await?)
                        }
                    };
                    return Ok::<_, Error>((tile, elements));
                }
                let elements = match opened.fetch(state, &tile.indices).await? {
                    None => None,
                    Some((key, encoded)) => {
                        let (opened, state, tile) = (opened.clone(), state.clone(), tile.clone());
                        let heap = heap.clone();
                        let decode = move || {
                            let shape = tile.place.shape();
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
            .buffer_unordered(opened.room.store.in_flight());
        let mut fetched = std::pin::pin!(fetched);
        let mut out = ViewMut::new(memory, &region.shape(), span.size);
        while let Some((tile, elements)) = fetched.try_next().await? {
            let mut piece = out.reborrow().part(&tile.place);
            match elements {
                None => piece.fill(&state.fill[span.offset..span.offset + span.size]),
                Some(elements) => {
                    let elements = View::new(&elements, &tile.place.shape(), cell);
                    piece.copy_from(&elements.span(span.offset, span.size));
                }
            }
        }
        Ok(())
    }

    /// See [`crate::Array::write`]. The elements are taken, so that a dropped future needs nothing of
    /// its caller's.
    ///
    /// # Errors
    /// As there.
    pub async fn write<T: Element>(&self, region: impl IntoRegion, elements: Vec<T>) -> Result<()> {
        let (state, region) = self.opened.prepare(region)?;
        self.opened.check_elements(&state, &elements)?;
        self.opened.check_count(&region, elements.len())?;
        self.write_elements(&state, &region, state.span()?, elements).await
    }

    pub(super) async fn write_elements<T: Element>(
        &self,
        state: &Arc<State>,
        region: &Region,
        span: Span,
        elements: Vec<T>,
    ) -> Result<()> {
        self.opened.writeable(state)?;
        let (_, grid, _) = state.access().map_err(|e| self.opened.at(e))?;
        let cells = match T::as_memory(&elements) {
            Some(_) => None,
            None => {
                let contents = elements.iter().map(T::as_bytes);
                Some(Arc::new(state.cells_of(contents).map_err(|e| self.opened.at(e))?))
            }
        };
        let data = Data { elements: Arc::new(elements), cells, shape: region.shape(), span };
        let data = &data;
        stream::iter(tiles(grid, &state.metadata.shape, region))
            .map(|tile| write_tile(&self.opened, state, Arc::new(tile), data.clone()))
            .buffer_unordered(self.opened.room.store.in_flight())
            .try_collect()
            .await
    }

    /// See [`crate::Array::write_plan`].
    ///
    /// # Errors
    /// As there.
    pub fn write_plan(&self, region: impl IntoRegion, parts: usize) -> Result<Vec<Region>> {
        self.opened.write_plan(region, parts)
    }

    /// See [`crate::Array::chunk`].
    ///
    /// # Errors
    /// As there.
    pub fn chunk(&self, indices: &[u64]) -> Result<Chunk<Array>> {
        Chunk::new(self.clone(), &self.opened, indices)
    }

    /// See [`crate::Array::chunks`].
    ///
    /// # Errors
    /// As there.
    pub fn chunks(&self, region: impl IntoRegion) -> Result<impl Iterator<Item = Chunk<Array>>> {
        let (state, region) = self.opened.prepare(region)?;
        Chunk::all(self.clone(), &self.opened, &state, &region)
    }

    /// See [`crate::Array::append`].
    ///
    /// # Errors
    /// As there.
    pub async fn append<T: Element>(&self, axis: usize, elements: Vec<T>) -> Result<u64> {
        self.opened.check_elements(&self.opened.state(), &elements)?;
        let (state, place) = self.opened.grow(axis, elements.len()).await?;
        self.write_elements(&state, &place, state.span()?, elements).await?;
        Ok(place.intervals()[axis].start)
    }

    /// See [`crate::Array::prepend`].
    ///
    /// # Errors
    /// As there.
    pub async fn prepend<T: Element>(&self, axis: usize, elements: Vec<T>) -> Result<()> {
        self.opened.check_elements(&self.opened.state(), &elements)?;
        let (state, place) = self.opened.grow_before(axis, elements.len()).await?;
        self.write_elements(&state, &place, state.span()?, elements).await
    }

    /// See [`crate::Array::refresh`].
    ///
    /// # Errors
    /// As there.
    pub async fn refresh(&self) -> Result<()> {
        self.opened.refresh().await.map(|_| ())
    }

    /// See [`crate::Array::stored_chunks`].
    ///
    /// # Errors
    /// As there.
    pub async fn stored_chunks(&self) -> Result<u64> {
        self.opened.stored_chunks().await
    }

    /// See [`crate::Array::resize`].
    ///
    /// # Errors
    /// As there.
    pub async fn resize(&self, shape: &[u64]) -> Result<()> {
        self.opened.resize(shape).await
    }

    /// See [`crate::Array::update_attributes`].
    ///
    /// # Errors
    /// As there.
    pub async fn update_attributes(&self, change: impl FnMut(&mut Object)) -> Result<Object> {
        let room = &self.opened.room;
        let attributes = change_attributes(room, self.path(), NodeKind::Array, change).await?;
        self.opened.set_attributes(attributes.clone())?;
        Ok(attributes)
    }
}

/// Elements that several tiles share.
#[derive(Clone)]
struct Data<T> {
    elements: Arc<Vec<T>>,
    /// The cells of elements that have any length.
    cells: Option<Arc<Cells>>,
    shape: Vec<u64>,
    span: Span,
}

impl<T: Element> Data<T> {
    fn part(&self, tile: &Tile) -> View<'_> {
        let view = match &self.cells {
            Some(cells) => View::new(&cells.memory, &self.shape, CELL).with_heap(Some(&cells.heap)),
            None => {
                let memory = T::as_memory(&self.elements).unwrap_or_default();
                View::new(memory, &self.shape, self.span.size)
            }
        };
        view.part(&tile.place)
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
            let (opened, state, tile, data) = shared;
            Ok(opened
                .encode_whole(&state, &tile, data.part(&tile))?
                .map(|chunk| chunk.into_owned()))
        };
        let chunk = on_pool(&options, encode).await.map_err(at)?;
        return opened.store_whole(&key, chunk.map(Into::into)).await.map_err(at);
    }
    let edit = |old: Option<Arc<dyn Pinned>>| {
        let (shared, options) = (shared.clone(), &options);
        async move {
            let (opened, state, tile, data) = shared;
            let rest = opened.fetch_rest(&state, &tile, span, old.as_deref()).await?;
            let overlay = move || opened.overlay(&state, &tile, rest, &data.part(&tile), span);
            assembled(on_pool(options, overlay).await?, old).await
        }
    };
    let rounds = u32::MAX;
    match update::update_for(&opened.room, &key, edit, rounds).await.map_err(at)? {
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
    let Some(pool) = super::parallel::pool(options) else {
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
    receive.await.unwrap_or_else(|_| Err(lost_worker()))
}

/// What `work` gives, done on a thread that may be busy.
#[cfg(not(feature = "rayon"))]
async fn on_pool<T: Send + 'static>(
    _: &Options,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    elsewhere(work).await
}

/// What `work` gives, done on a thread that may block.
///
/// # Errors
/// The work's own; that the thread ended before it was done.
pub async fn elsewhere<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    crate::store::run(work).await.unwrap_or_else(|| Err(lost_worker()))
}

fn lost_worker() -> Error {
    AccessError::Argument("a worker thread ended before its work was done".into()).into()
}
