//! Reads and writes the elements of one array.
//!
//! # A read
//! 1. A handle checks the selection and takes the newest [`ArrayState`] of the array ([`select`]). A [`ChunkLayout`] says how its
//!    chunks are stored: the chain of codecs, the grid, the representation of elements.
//! 2. [`chunk_reader`] cuts the output into one piece for each chunk that the selection touches. No two pieces overlap, so
//!    several threads fill them at the same time ([`executor`]).
//! 3. Each chunk is read in one of three ways: out of an object that it shares with others (a draft's storage transformer),
//!    whole, or segment by segment. Segments are the inner chunks of a shard, or the rows of a plain chunk; the chain of
//!    codecs says which bytes they are. A shard's index is read first and kept under the version of the shard
//!    ([`index_cache`]). A segment that is a shard itself is read in the same way.
//! 4. From a local store the thread that decodes a chunk or a segment reads it, too. From a remote store the bytes of many
//!    chunks are requested at the same time, those of one chunk together, and decoded on the pool as they come.
//!
//! # A write
//! 1. The array's document is compared with the one that the handle knows ([`stale_handle`]).
//! 2. [`chunk_writer`] encodes a chunk that the selection covers, and sets it. A chunk of nothing but the fill value is
//!    erased.
//! 3. Of another chunk it gets the bytes that stay, merges the elements into them, and sets the result if the chunk still
//!    is what it was; else again ([`compare_and_swap`]). Of a shard only the inner chunks that the selection touches are
//!    decoded and encoded.
//!
//! [`typed`] converts elements of Rust types into native bytes and back, [`fields`] finds one field of records. What edits
//! the array's document, such as a resize, is in `hierarchy`; it calls [`clear_outside`] for the chunks that change.

mod chunk_reader;
pub(crate) mod chunk_writer;
mod clear_outside;
pub(crate) mod compare_and_swap;
pub(crate) mod executor;
pub(crate) mod fields;
mod index_cache;
mod latest_state;
pub(crate) mod select;
mod stale_handle;
mod storage_transformer;
mod stored;
pub(crate) mod typed;

use std::ops::Deref;
use std::sync::{Arc, Mutex};

use bytes::Bytes;

use self::fields::FieldBytes;
use self::index_cache::IndexCache;
use self::latest_state::LatestState;
pub(crate) use self::latest_state::MOST_READINGS;
pub use self::stored::StoredSize;
use crate::codec::CodecChain;
use crate::context::StoreContext;
use crate::data_type::Repr;
use crate::dialect::Strictness;
use crate::error::{AccessError, Error, MetadataError, Result, Unsupported};
use crate::grid::{ChunkGrid, ChunkProjection};
use crate::metadata::{ArrayMetadata, NodeKind};
use crate::path::NodePath;
use crate::store::{Store, StoreKey, StorePrefix};
use crate::var_buffer::{VAR_REF_SIZE, VarBuffer};
use crate::view::View;

/// Bytes in which the handles of an array remember indices, unless told otherwise (decision 0108).
const INDEX_MEMORY: u64 = 64 << 20;

/// The chain of codecs of chunks, their grid, and how elements are represented.
type Chunks = (Arc<CodecChain>, Arc<dyn ChunkGrid>, Repr);

/// An array as it was when it was opened, or last changed through one of its handles.
#[derive(Debug)]
pub(crate) struct ArrayState {
    pub metadata: Arc<ArrayMetadata>,
    chunks: Result<Chunks, Unsupported>,
    prefix: StorePrefix,
    /// The cell of the fill value, as a view shows it.
    pub fill: Vec<u8>,
    /// The bytes of the fill value, which every variable-length buffer of the array's holds.
    pub content: Bytes,
    /// What is remembered of its chunks.
    pub index_cache: IndexCache,
    /// The array's document as a write saw it last, if it said the same.
    pub seen: Mutex<Option<Bytes>>,
}

impl ArrayState {
    fn new(context: &StoreContext, path: &NodePath, metadata: ArrayMetadata) -> Result<ArrayState> {
        let chain = match metadata.chain(&context.registry, context.format.dialect()) {
            // D-031: a strict reader takes no other byte for a bool than 0 and 1.
            Ok(chain) if context.options.strictness == Strictness::Strict => {
                Ok(chain.accept_nonzero_bools(false))
            }
            Ok(chain) => Ok(chain),
            Err(MetadataError::Unsupported(unsupported)) => Err(unsupported),
            Err(invalid) => return Err(invalid.into()),
        };
        let chunks = match (chain, &metadata.grid, metadata.data_type.repr()) {
            (Ok(chain), Some(grid), Some(repr)) => Ok((Arc::new(chain), grid.clone(), repr)),
            (Err(unsupported), ..) => Err(unsupported),
            (Ok(_), ..) => {
                let (what, name) = ("chunk grid or data type", path.to_string());
                let hint = "register an extension for it".into();
                Err(Unsupported { what, name, hint })
            }
        };
        let content = Bytes::from(metadata.fill_bytes());
        let fill = if metadata.data_type.is_variable() {
            VarBuffer::holding(content.clone())?.1.as_bytes().to_vec()
        } else {
            content.to_vec()
        };
        Ok(ArrayState {
            metadata: Arc::new(metadata),
            chunks,
            prefix: context.format.chunk_prefix(path)?,
            fill,
            content,
            index_cache: IndexCache::new(context.options.index_memory.unwrap_or(INDEX_MEMORY)),
            seen: Mutex::default(),
        })
    }

    /// How its chunks are stored, or why they cannot be read here.
    pub fn layout(self: &Arc<Self>) -> Result<ChunkLayout> {
        match &self.chunks {
            Ok((chain, grid, repr)) => {
                let (state, chain, grid) = (self.clone(), chain.clone(), grid.clone());
                Ok(ChunkLayout { state, chain, grid, repr: *repr })
            }
            Err(unsupported) => Err(MetadataError::from(unsupported.clone()).into()),
        }
    }

    /// An error if its chunks cannot be read here.
    pub fn check_supported(&self) -> Result<()> {
        match &self.chunks {
            Ok(_) => Ok(()),
            Err(unsupported) => Err(MetadataError::from(unsupported.clone()).into()),
        }
    }

    /// Whether an element of nothing but fill need not be stored: an undefined fill value is no value.
    pub fn is_fill(&self, elements: &View<'_>) -> bool {
        if self.metadata.fill_value.is_none() {
            return false;
        }
        let Some(var_buffer) = elements.var_buffer() else { return elements.is_all(&self.fill) };
        let texts = var_buffer.elements();
        let cells = elements.to_bytes();
        cells.chunks_exact(VAR_REF_SIZE).all(|cell| texts.get(cell) == &self.content[..])
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

/// An array as one call knows it: how its chunks are stored, and all else that its [`ArrayState`] says.
#[derive(Clone, Debug)]
pub(crate) struct ChunkLayout {
    pub state: Arc<ArrayState>,
    pub chain: Arc<CodecChain>,
    pub grid: Arc<dyn ChunkGrid>,
    pub repr: Repr,
}

impl Deref for ChunkLayout {
    type Target = ArrayState;

    fn deref(&self) -> &ArrayState {
        &self.state
    }
}

impl ChunkLayout {
    /// All bytes of an element.
    pub fn span(&self) -> FieldBytes {
        FieldBytes::of(self.repr)
    }

    /// The bytes of the fill value that are these of an element.
    pub fn fill_of(&self, span: FieldBytes) -> &[u8] {
        &self.fill[span.offset..span.offset + span.size]
    }
}

/// What all handles of one array share.
#[derive(Debug)]
pub(crate) struct ArrayCore {
    pub context: Arc<StoreContext>,
    pub path: NodePath,
    latest: LatestState,
}

impl ArrayCore {
    pub fn new(
        context: Arc<StoreContext>,
        path: NodePath,
        metadata: ArrayMetadata,
    ) -> Result<ArrayCore> {
        let state = ArrayState::new(&context, &path, metadata).map_err(|e| context.at(&path, e))?;
        Ok(ArrayCore { context, path, latest: LatestState::new(state) })
    }

    pub fn state(&self) -> Arc<ArrayState> {
        self.latest.get()
    }

    /// Puts `state` in place of `before`, if no other state has replaced that. The document of `state` must have been read
    /// or swapped while `before` was the latest state.
    pub fn replace_state(&self, before: &Arc<ArrayState>, state: &Arc<ArrayState>) -> bool {
        self.latest.replace(before, state)
    }

    /// The state of the array that a document describes.
    pub fn state_of(&self, metadata: ArrayMetadata) -> Result<Arc<ArrayState>> {
        ArrayState::new(&self.context, &self.path, metadata).map(Arc::new).map_err(|e| self.at(e))
    }

    /// The store's writing side, if chunks of this array may be written.
    pub fn writeable(&self, state: &ArrayState) -> Result<&dyn Store> {
        let writeable = self.context.writeable().map_err(|e| self.at(e))?;
        match &state.metadata.shards {
            None => Ok(writeable),
            Some(_) => {
                let why = "chunks that share objects by the draft's storage transformer are read and not written; copy the array";
                Err(self.at(AccessError::Frozen(why.into())))
            }
        }
    }

    pub fn at(&self, error: impl Into<Error>) -> Error {
        self.context.at(&self.path, error)
    }

    /// Whether the store's calls wait for something far away.
    pub fn is_remote(&self) -> bool {
        self.context.store.as_sync().is_none()
    }

    pub fn at_chunk(
        &self,
        tile: &ChunkProjection,
        key: &StoreKey,
        error: impl Into<Error>,
    ) -> Error {
        self.at(error).at_chunk(&tile.indices).at_key(key)
    }
}

pub(crate) fn wrong_kind(is: NodeKind) -> AccessError {
    let wanted = if is == NodeKind::Group { NodeKind::Array } else { NodeKind::Group };
    AccessError::NodeKind { is: is.phrase(), wanted: wanted.phrase() }
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
