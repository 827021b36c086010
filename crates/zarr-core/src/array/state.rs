//! Describes an array as its document was when it was read, and keeps what was learnt of it since.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, OnceLock};

use bytes::Bytes;

use super::index_cache::IndexCache;
use crate::codec::CodecChain;
use crate::context::StoreContext;
use crate::data_type::Repr;
use crate::dialect::Strictness;
use crate::error::{MetadataError, Result, Unsupported};
use crate::grid::ChunkGrid;
use crate::metadata::ArrayMetadata;
use crate::path::NodePath;
use crate::store::{StoreKey, StorePrefix};
use crate::var_buffer::{VAR_REF_SIZE, VarBuffer};
use crate::view::View;

/// Memory for cached shard indices of one array, in bytes, unless the options specify it.
const INDEX_MEMORY: u64 = 64 << 20;

/// How chunks are stored.
#[derive(Debug)]
pub(crate) struct Chunks {
    pub chain: CodecChain,
    pub grid: Arc<dyn ChunkGrid>,
    /// How elements are represented.
    pub repr: Repr,
}

/// An array as it was when it was opened, or last changed through one of its handles.
#[derive(Debug)]
pub(crate) struct ArrayState {
    pub metadata: Arc<ArrayMetadata>,
    chunks: Result<Chunks, Unsupported>,
    prefix: StorePrefix,
    /// The fill value as an element of a view.
    pub fill: Bytes,
    /// The bytes of the fill value, which every variable-length buffer of the array holds.
    pub content: Bytes,
    /// The indices of its shards.
    pub index_cache: IndexCache,
    cache_id: OnceLock<u64>,
    /// The array's document as a write saw it last, if it describes this state.
    pub seen: Mutex<Option<Bytes>>,
}

impl ArrayState {
    pub fn new(
        context: &StoreContext,
        path: &NodePath,
        metadata: ArrayMetadata,
    ) -> Result<ArrayState> {
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
            (Ok(chain), Some(grid), Some(repr)) => Ok(Chunks { chain, grid: grid.clone(), repr }),
            (Err(unsupported), ..) => Err(unsupported),
            (Ok(_), ..) => {
                let what = "chunk grid or data type";
                let name = path.to_string();
                let hint = "register an extension for it".into();
                Err(Unsupported { what, name, hint })
            }
        };
        let content = metadata.fill().0;
        let fill = if metadata.data_type.is_variable() {
            Bytes::copy_from_slice(VarBuffer::holding(content.clone())?.1.as_bytes())
        } else {
            content.clone()
        };
        Ok(ArrayState {
            metadata: Arc::new(metadata),
            chunks,
            prefix: context.format.chunk_prefix(path)?,
            fill,
            content,
            index_cache: IndexCache::new(context.options.index_memory.unwrap_or(INDEX_MEMORY)),
            cache_id: OnceLock::new(),
            seen: Mutex::default(),
        })
    }

    /// How its chunks are stored; `None` if they cannot be read here.
    #[inline]
    pub fn chunks(&self) -> Option<&Chunks> {
        self.chunks.as_ref().ok()
    }

    /// An error if its chunks cannot be read here.
    #[inline]
    pub fn supported(&self) -> Result<&Chunks> {
        match &self.chunks {
            Ok(chunks) => Ok(chunks),
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
        let elements = elements.without_repeats();
        let cells = elements.to_bytes();
        cells.chunks_exact(VAR_REF_SIZE).all(|cell| texts.get(cell) == &self.content[..])
    }

    pub fn key(&self, indices: &[i64]) -> StoreKey {
        StoreKey::known(self.metadata.chunk_keys.key_after(self.prefix.as_str(), indices))
    }

    /// The other key at which a chunk may be stored.
    pub fn other_key(&self, indices: &[i64]) -> Option<StoreKey> {
        let other = self.metadata.chunk_keys.other_key(indices)?;
        Some(StoreKey::known([self.prefix.as_str(), &other].concat()))
    }

    pub fn prefix(&self) -> &StorePrefix {
        &self.prefix
    }

    /// Tells arrays apart whose chunks are decoded to other elements, also where one replaced another at its keys.
    pub fn cache_id(&self) -> u64 {
        *self.cache_id.get_or_init(|| {
            let ArrayMetadata { data_type, codecs, grid, fill_value, .. } = &*self.metadata;
            let mut hasher = DefaultHasher::new();
            format!("{data_type:?} {codecs:?} {grid:?} {fill_value:?}").hash(&mut hasher);
            hasher.finish()
        })
    }
}
