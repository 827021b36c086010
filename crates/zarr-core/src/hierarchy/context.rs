//! Holds what the handles of one hierarchy share.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use super::consolidated::view::{ConsolidatedStore, ConsolidatedView};
use super::options::OpenOptions;
use crate::array::chunk_cache::ChunkCache;
use crate::context::{StoreContext, as_warnings};
use crate::dialect::Warning;
use crate::error::{Error, Result};
use crate::format::Format;
use crate::format::template::Templates;
use crate::path::NodePath;
use crate::registry::Access;
use crate::store::{Store, StoreKey};

/// A hierarchy in a store: what its arrays need, and the consolidated copies of its documents. The functions of
/// [`crate::hierarchy`] get it, or only what they need of it.
#[derive(Debug)]
pub(crate) struct HierarchyContext {
    /// What its arrays need: the store, the format, the options.
    pub context: Arc<StoreContext>,
    /// The store as the caller gave it.
    pub unguarded: Arc<dyn Store>,
    /// The store, whose documents are not replaced by consolidated copies.
    pub live: Arc<dyn Store>,
    /// The copies that replace documents.
    pub copied: Option<Arc<ConsolidatedView>>,
    /// Copies that are compared with documents as those are read.
    pub watched: Mutex<Option<Arc<ConsolidatedView>>>,
    /// Whether a draft's copies were found on opening; no change looks for them again.
    pub draft_copies: AtomicBool,
    /// Whether a warning names a node that has no document, only a copy of one.
    pub is_only_copied_told: AtomicBool,
}

impl HierarchyContext {
    pub fn new(
        store: Arc<dyn Store>,
        format: Arc<dyn Format>,
        options: &OpenOptions,
        warnings: Vec<Warning>,
    ) -> HierarchyContext {
        let chunk_cache = options.options.chunk_cache;
        let store_warnings = as_warnings("/", store.warnings());
        let warnings = warnings.into_iter().chain(store_warnings).zip(0..).collect();
        HierarchyContext {
            unguarded: store.clone(),
            live: store.clone(),
            copied: None,
            watched: Mutex::new(None),
            draft_copies: AtomicBool::new(false),
            is_only_copied_told: AtomicBool::new(false),
            context: Arc::new(StoreContext {
                store,
                format,
                registry: options.registry.clone(),
                options: options.options.clone(),
                access: options.access,
                holder: None,
                templates: Templates::default(),
                chunk_cache: (chunk_cache > 0).then(|| Arc::new(ChunkCache::new(chunk_cache))),
                warnings: Mutex::new(warnings),
            }),
        }
    }

    /// The same hierarchy, its documents read from copies in the document `holder`.
    pub fn read_from(
        mut self,
        copied: Arc<ConsolidatedView>,
        holder: StoreKey,
    ) -> HierarchyContext {
        let context = Arc::get_mut(&mut self.context).expect("no handle shares it yet");
        context.holder = Some(holder);
        context.store = Arc::new(ConsolidatedStore::new(self.live.clone(), copied.clone()));
        self.copied = Some(copied);
        self
    }

    /// Makes the context that handles share; `store` is the one of the caller.
    pub fn share(mut self, store: Arc<dyn Store>) -> Arc<HierarchyContext> {
        let capabilities = store.capabilities();
        if self.context.access == Access::ReadWrite && !capabilities.swap && capabilities.write {
            let what = "the store cannot compare and swap; writers of the same chunk are guarded only within this process";
            self.context.warn("store", vec![what.into()]);
        }
        self.unguarded = store;
        Arc::new(self)
    }

    /// The path that a caller wrote.
    pub fn node_path(&self, text: &str) -> Result<NodePath> {
        NodePath::new(text).map_err(|e| Error::from(e).at_store(self.context.store.name()))
    }

    /// Makes changes visible to other readers.
    pub async fn flush(&self) -> Result<()> {
        match self.context.store.writeable() {
            Ok(writeable) => Ok(writeable.flush().await?),
            Err(_) => Ok(()),
        }
    }
}
