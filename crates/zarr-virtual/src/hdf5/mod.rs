//! HDF5 and netCDF-4 files (V-030 … V-039, V-050 … V-054).
//!
//! `zarr_hdf5` reads the metadata and the indices of chunks from blocks of the file, which are fetched here as it asks for them.
//! Groups are groups, datasets are arrays; a chunk is a range of the file, or made of one.

mod bitshuffle;
mod chunk_names;
mod lz4;
mod lzf;

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex};

use zarr_core::codec::{ChunkContext, Codec, CodecSpec, DecodedSize};
use zarr_core::data_type::CoreType;
use zarr_core::store::{Bytes, Capabilities, Listing, Result, StoreKey, StorePrefix, async_trait};
use zarr_core::{Registry, StoreError, sync};
use zarr_hdf5::zarr_view::{self, ArrayView, EntryKind, Location, Tree, apply_skipped};
use zarr_hdf5::{Blocks, Fault, File};

use self::chunk_names::ChunkNames;
use crate::source::{Made, NETCDF_TYPES, Reference, Source, capabilities_over};
use crate::target::Target;

const DOCUMENT: &str = "zarr.json";

/// The blocks of a local file, in bytes.
const LOCAL_BLOCK: u64 = 64 << 10;
/// The blocks of a file elsewhere, where a request costs more than a megabyte.
const REMOTE_BLOCK: u64 = 1 << 20;
/// What is fetched first of a file elsewhere: in most files the metadata begin there.
const REMOTE_HEAD: u64 = 8 << 20;
/// How often one step may ask for bytes.
const MAX_FETCHES: usize = 4096;
/// How many described arrays are remembered.
const MAX_ARRAYS: usize = 4096;
/// The bytes of all texts of a chunk.
const MAX_TEXT_BYTES: usize = 256 << 20;
/// How many things that were left out are told.
const MAX_WARNINGS: usize = 1000;

/// Adds the codecs of filters that Zarr has none for.
pub(crate) fn register_codecs(registry: &mut Registry) {
    registry.codec(&lzf::NAMES, lzf::build);
    registry.codec(&lz4::NAMES, lz4::build);
    registry.codec(&bitshuffle::NAMES, bitshuffle::build);
}

/// An HDF5 or netCDF-4 file.
pub struct Hdf5 {
    file: Target,
    /// The codecs that decode chunks of texts, which are made.
    registry: Registry,
    state: Mutex<State>,
}

/// What is known of the file by now.
struct State {
    blocks: Blocks,
    tree: Tree,
    arrays: HashMap<String, Arc<ArrayView>>,
    /// The chunks of the array that was listed last.
    listed: Option<(String, Arc<ChunkNames>)>,
    left_out: BTreeSet<String>,
}

impl fmt::Debug for Hdf5 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hdf5").field("file", &self.file).finish_non_exhaustive()
    }
}

impl Hdf5 {
    /// Finds the root of a file. Chunks of texts are decoded by the codecs of `registry`.
    ///
    /// # Errors
    /// [`StoreError::Backend`] saying what is wrong with the file, and where.
    pub async fn open(file: Target, registry: Registry) -> Result<Hdf5> {
        let length = file.size().await?;
        let is_local = file.store().capabilities().local;
        let mut blocks = Blocks::new(length, if is_local { LOCAL_BLOCK } else { REMOTE_BLOCK });
        if !is_local && length > 0 {
            let head = 0..REMOTE_HEAD.min(length);
            let bytes = file.read(std::slice::from_ref(&head)).await?.pop().unwrap_or_default();
            blocks.insert(0, &bytes).map_err(|fault| failure(&file, &fault))?;
        }
        let mut fetches = 0;
        let parsed = loop {
            let missing = match File::parse(&blocks) {
                Ok(parsed) => break parsed,
                Err(Fault::Missing(missing)) => blocks.plan(&missing),
                Err(fault) => return Err(failure(&file, &fault)),
            };
            fetches += 1;
            if fetches > MAX_FETCHES {
                return Err(endless(&file));
            }
            let bytes = file.read(std::slice::from_ref(&missing)).await?.pop().unwrap_or_default();
            blocks.insert(missing.start, &bytes).map_err(|fault| failure(&file, &fault))?;
        };
        let state = State {
            blocks,
            tree: Tree::new(parsed),
            arrays: HashMap::new(),
            listed: None,
            left_out: BTreeSet::new(),
        };
        Ok(Hdf5 { file, registry, state: Mutex::new(state) })
    }

    /// Runs a step of the parser, fetching what it misses.
    async fn complete<T>(
        &self,
        mut step: impl FnMut(&mut State) -> zarr_hdf5::Result<T> + Send,
    ) -> Result<T> {
        for _ in 0..MAX_FETCHES {
            let range = {
                let mut state = sync::lock(&self.state);
                match step(&mut state) {
                    Ok(value) => {
                        state.blocks.trim();
                        return Ok(value);
                    }
                    Err(Fault::Missing(missing)) => state.blocks.plan(&missing),
                    Err(fault) => return Err(failure(&self.file, &fault)),
                }
            };
            let bytes =
                self.file.read(std::slice::from_ref(&range)).await?.pop().unwrap_or_default();
            let inserted = sync::lock(&self.state).blocks.insert(range.start, &bytes);
            inserted.map_err(|fault| failure(&self.file, &fault))?;
        }
        Err(endless(&self.file))
    }

    async fn kind(&self, path: &str) -> Result<Option<EntryKind>> {
        self.complete(|state| state.tree.kind(&state.blocks, path)).await
    }

    /// The array at a path that is known to lead to one.
    async fn array(&self, path: &str) -> Result<Arc<ArrayView>> {
        if let Some(array) = sync::lock(&self.state).arrays.get(path) {
            return Ok(array.clone());
        }
        let array = self.complete(|state| state.tree.array(&state.blocks, path)).await?;
        let array = Arc::new(array);
        let arrays = &mut sync::lock(&self.state).arrays;
        if arrays.len() >= MAX_ARRAYS {
            arrays.clear();
        }
        arrays.insert(path.to_owned(), array.clone());
        Ok(array)
    }

    async fn document(&self, path: &str) -> Result<Option<Bytes>> {
        match self.kind(path).await? {
            Some(EntryKind::Group) => {
                let attributes =
                    self.complete(|state| state.tree.group(&state.blocks, path)).await?;
                Ok(Some(zarr_view::group_document(attributes).into()))
            }
            Some(EntryKind::Array) => Ok(Some(self.array(path).await?.document().into())),
            Some(EntryKind::Dimension | EntryKind::LeftOut(_) | EntryKind::Damaged(_)) | None => {
                Ok(None)
            }
        }
    }

    /// What netCDF knows of the node at a path, and its document does not say.
    async fn netcdf_types(&self, path: &str) -> Result<Option<Bytes>> {
        match self.kind(path).await? {
            Some(EntryKind::Group | EntryKind::Array) => {
                let types =
                    self.complete(|state| state.tree.netcdf_types(&state.blocks, path)).await?;
                Ok(Some(types.into()))
            }
            Some(EntryKind::Dimension | EntryKind::LeftOut(_) | EntryKind::Damaged(_)) | None => {
                Ok(None)
            }
        }
    }

    /// Where a chunk of the array at a path is.
    async fn chunk(&self, path: &str, coordinates: &[u64]) -> Result<Option<Reference>> {
        let is_known = sync::lock(&self.state).arrays.contains_key(path);
        if !is_known && self.kind(path).await? != Some(EntryKind::Array) {
            return Ok(None);
        }
        let array = self.array(path).await?;
        let location = self
            .complete(|state| array.locate(state.tree.file(), &state.blocks, coordinates))
            .await?;
        if array.is_variable_text() {
            return self.texts(path, &array, location).await;
        }
        Ok(match location {
            Location::Absent => None,
            Location::Inline(bytes) => Some(Reference::Inline(bytes.into())),
            Location::Range { offset, length } => {
                Some(Reference::Part { target: self.file.clone(), offset, length })
            }
            Location::Skipped { offset, length, mask } => {
                let filters = array.dataset.filters.clone();
                let name = format!("{}: {path}", self.file.name());
                let make = Arc::new(move |parts: Vec<Bytes>| {
                    let stored = parts.into_iter().next().unwrap_or_default();
                    let made = apply_skipped(&filters, mask, stored.to_vec());
                    let made =
                        made.map_err(|why| StoreError::Backend(format!("{name}: {why}").into()));
                    made.map(Bytes::from)
                });
                let part = (self.file.clone(), offset..offset.saturating_add(length));
                Some(Reference::Made(Made { parts: vec![part], make }))
            }
        })
    }

    /// A chunk of texts of variable length: its filters are undone here, and the texts taken from the file's heap.
    async fn texts(
        &self,
        path: &str,
        array: &ArrayView,
        location: Location,
    ) -> Result<Option<Reference>> {
        let range = match location {
            Location::Absent => return Ok(None),
            Location::Inline(bytes) => {
                return self.made_texts(path, &bytes).await.map(Some);
            }
            Location::Range { offset, length } => (offset, length, 0),
            Location::Skipped { offset, length, mask } => (offset, length, mask),
        };
        let (offset, length, mask) = range;
        let end = offset.saturating_add(length);
        let stored = self.file.read(std::slice::from_ref(&(offset..end))).await?.pop();
        let decoded = self.decode(path, array, &stored.unwrap_or_default(), mask)?;
        self.made_texts(path, &decoded).await.map(Some)
    }

    async fn made_texts(&self, path: &str, raw: &[u8]) -> Result<Reference> {
        let texts = self
            .complete(|state| state.tree.file().variable_texts(&state.blocks, raw, MAX_TEXT_BYTES))
            .await?;
        let encoded = zarr_view::vlen_utf8(&texts).map_err(|why| self.damaged(path, &why))?;
        Ok(Reference::Inline(encoded.into()))
    }

    /// Undoes the filters of a chunk, but those that were skipped.
    fn decode(&self, path: &str, array: &ArrayView, stored: &[u8], mask: u32) -> Result<Vec<u8>> {
        let context = ChunkContext::new(CoreType::Uint8, vec![1]);
        let mut bytes = Cow::Borrowed(stored);
        for (number, filter) in array.dataset.filters.iter().enumerate().rev() {
            if number < 32 && mask & (1 << number) != 0 {
                continue;
            }
            let Some(codec) = zarr_view::codec_of(filter) else { continue };
            let configuration = zarr_core::Json::parse(codec.configuration.as_bytes())
                .map_err(|error| self.damaged(path, &error.to_string()))?;
            let configuration = configuration.as_object().cloned().unwrap_or_default();
            let built =
                self.registry.build_codec(&CodecSpec::v3(codec.name, configuration), &context);
            let codec = match built.map_err(|error| self.damaged(path, &error.to_string()))? {
                Codec::BytesToBytes(codec) => codec,
                _ => return Err(self.damaged(path, "a filter's codec is of another kind")),
            };
            let size = DecodedSize::unknown(bytes.len());
            let decoded = codec.decode(bytes, size);
            let decoded = decoded.map_err(|error| self.damaged(path, &error.to_string()))?;
            bytes = Cow::Owned(decoded.into_owned());
        }
        Ok(bytes.into_owned())
    }

    fn damaged(&self, path: &str, why: &str) -> StoreError {
        StoreError::Backend(format!("{}: {path}: {why}", self.file.name()).into())
    }

    /// The stored chunks of an array, for listing.
    async fn chunk_names(&self, path: &str) -> Result<Arc<ChunkNames>> {
        if let Some((listed, names)) = &sync::lock(&self.state).listed
            && listed == path
        {
            return Ok(names.clone());
        }
        let array = self.array(path).await?;
        let mut names = ChunkNames::new(&array);
        while self
            .complete(|state| names.read_more(state.tree.file(), &state.blocks, &array))
            .await?
        {}
        let names = Arc::new(names.finish());
        sync::lock(&self.state).listed = Some((path.to_owned(), names.clone()));
        Ok(names)
    }

    fn note_left_out(&self, path: &str, why: &str) {
        let left_out = &mut sync::lock(&self.state).left_out;
        if left_out.len() < MAX_WARNINGS {
            left_out.insert(format!("`{path}` is left out: {why}"));
        }
    }

    /// The names in a group, each with a `/`.
    async fn group_names(&self, path: &str) -> Result<Vec<String>> {
        let children = self.complete(|state| state.tree.children(&state.blocks, path)).await?;
        let mut names = Vec::new();
        for child in children.unwrap_or_default() {
            let full = zarr_hdf5::walk::join(path, &child.name);
            match child.kind {
                // Nothing of it is lost.
                EntryKind::Dimension => {}
                _ if !is_node_name(&child.name) => {
                    self.note_left_out(&full, "it is not a valid node name");
                }
                EntryKind::LeftOut(why) => self.note_left_out(&full, &why),
                // The others stay readable; opening this one says what is wrong.
                EntryKind::Group | EntryKind::Array | EntryKind::Damaged(_) => {
                    names.push(format!("{}/{DOCUMENT}", child.name));
                }
            }
        }
        Ok(names)
    }
}

/// Whether a node can be called that.
fn is_node_name(name: &str) -> bool {
    !name.contains('/') && StoreKey::new(name).is_ok() && name != DOCUMENT
}

fn failure(file: &Target, fault: &Fault) -> StoreError {
    StoreError::Backend(format!("{}: {fault}", file.name()).into())
}

fn endless(file: &Target) -> StoreError {
    let why = format!("{}: reading asked for bytes more than {MAX_FETCHES} times", file.name());
    StoreError::Backend(why.into())
}

/// The path of an array and the coordinates in a key such as `group/array/c/0/3`. There is no chunk of that name otherwise.
fn split_chunk_key(key: &str) -> Option<(String, Vec<u64>)> {
    let mut parts: Vec<&str> = key.split('/').collect();
    let mut coordinates = Vec::new();
    while let Some(last) = parts.pop() {
        if last == "c" {
            coordinates.reverse();
            return Some((format!("/{}", parts.join("/")), coordinates));
        }
        let is_number = last.bytes().all(|byte| byte.is_ascii_digit());
        let is_plain = last == "0" || !last.starts_with('0');
        coordinates.push(last.parse().ok().filter(|_| is_number && is_plain)?);
    }
    None
}

#[async_trait]
impl Source for Hdf5 {
    fn name(&self) -> String {
        format!("hdf5::{}", self.file.name())
    }

    fn public_options(&self) -> Vec<(String, String)> {
        self.file.store().public_options()
    }

    fn warnings(&self) -> Vec<String> {
        sync::lock(&self.state).left_out.iter().cloned().collect()
    }

    async fn places(&self) -> Result<Vec<String>> {
        Ok(vec![self.file.name()])
    }

    fn capabilities(&self) -> Capabilities {
        capabilities_over(self.file.store().capabilities())
    }

    async fn find(&self, key: &StoreKey) -> Result<Option<Reference>> {
        let key = key.as_str();
        if let Some(path) = node_of(key, DOCUMENT) {
            return Ok(self.document(&path).await?.map(Reference::Inline));
        }
        if let Some(path) = node_of(key, NETCDF_TYPES) {
            return Ok(self.netcdf_types(&path).await?.map(Reference::Inline));
        }
        match split_chunk_key(key) {
            Some((path, coordinates)) => self.chunk(&path, &coordinates).await,
            None => Ok(None),
        }
    }

    async fn list_dir(&self, prefix: &StorePrefix) -> Result<Listing> {
        let folder = prefix.as_str();
        let path = format!("/{}", folder.trim_end_matches('/'));
        let names = match self.kind(&path).await? {
            Some(EntryKind::Group) => {
                let mut names = self.group_names(&path).await?;
                names.push(DOCUMENT.to_owned());
                names
            }
            Some(EntryKind::Array) => {
                let chunks = self.chunk_names(&path).await?;
                let mut names = chunks.below(None);
                names.push(DOCUMENT.to_owned());
                names
            }
            // Folders of chunks.
            _ => match split_chunk_key(folder.trim_end_matches('/')) {
                Some((path, coordinates)) if self.kind(&path).await? == Some(EntryKind::Array) => {
                    self.chunk_names(&path).await?.below(Some(&coordinates))
                }
                _ => return Ok(Listing::default()),
            },
        };
        let names: Vec<String> = names.iter().map(|name| format!("{folder}{name}")).collect();
        Ok(Listing::of_names(prefix, names.iter().map(String::as_str)))
    }
}

/// The path of the node whose document of this name has the key.
fn node_of(key: &str, name: &str) -> Option<String> {
    match key.strip_suffix(name)? {
        "" => Some("/".to_owned()),
        path if path.ends_with('/') => Some(format!("/{}", path.trim_end_matches('/'))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::split_chunk_key;

    #[test]
    fn chunk_keys_are_split() {
        assert_eq!(split_chunk_key("a/b/c/0/12"), Some(("/a/b".to_owned(), vec![0, 12])));
        assert_eq!(split_chunk_key("c/c"), Some(("/c".to_owned(), vec![])));
        assert_eq!(split_chunk_key("c"), Some(("/".to_owned(), vec![])));
        for wrong in ["a/0", "a/c/01", "a/c/x", "a/c/-1", "a/c/+1"] {
            assert_eq!(split_chunk_key(wrong), None, "{wrong}");
        }
    }
}
