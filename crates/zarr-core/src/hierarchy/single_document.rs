//! Finds a document of May 2019 in a folder without an entry point (draft-v3.md 2.2, step 4).
//!
//! The folder may hold anything, so that only a few small files are read.

use std::sync::Arc;

use super::context::HierarchyContext;
use super::options::OpenOptions;
use crate::context::as_warnings;
use crate::error::{Error, Result, StoreError};
use crate::format::SingleDocument;
use crate::store::{ListOptions, Listing, Store, StoreKey, StorePrefix};

/// The most documents that are read, if the name is not known.
const MOST_CANDIDATES: usize = 8;
/// The most bytes of a document of one array.
const MOST_BYTES: u64 = 16 << 20;

impl HierarchyContext {
    /// The hierarchy of a document of May 2019: one that is `named`, else the only one at the store's root that looks like
    /// one. The drafts of that time did not say where chunks are. They are looked for below `data/`, where June 2019 had
    /// them; without a `data/` at the store's root.
    pub(super) async fn open_single_document(
        store: Arc<dyn Store>,
        options: &OpenOptions,
        named: Option<&str>,
    ) -> Result<Option<HierarchyContext>> {
        let looks_like = |name: &str| name.ends_with(".json") || name.ends_with(".array");
        if named.is_some_and(|name| !looks_like(name)) {
            return Ok(None);
        }
        let listing = match (store.capabilities().list, named.map(StoreKey::new)) {
            (true, _) => store.list_dir(&StorePrefix::root(), ListOptions::default()).await?,
            (false, Some(Ok(key))) => Listing {
                keys: vec![key],
                prefixes: vec![StorePrefix::new("data/")?],
                ..Listing::default()
            },
            (false, _) => return Ok(None),
        };
        let is_asked = |key: &&StoreKey| match named {
            Some(name) => key.as_str() == name,
            None => looks_like(key.as_str()),
        };
        let mut found = Vec::new();
        let chunks = if listing.prefixes.iter().any(|prefix| prefix.as_str() == "data/") {
            StorePrefix::new("data/")?
        } else {
            StorePrefix::root()
        };
        let candidates: Vec<&StoreKey> = listing.keys.iter().filter(is_asked).collect();
        if candidates.len() > MOST_CANDIDATES {
            return Ok(None);
        }
        for key in candidates {
            let bytes = match store.readable()?.get_at_most(key, MOST_BYTES).await {
                Ok(bytes) => bytes,
                Err(StoreError::TooLarge { .. }) => None,
                Err(e) if named.is_some() => return Err(Error::from(e).at_key(key)),
                // The caller did not name it.
                Err(_) => None,
            };
            found.extend(bytes.and_then(|bytes| {
                SingleDocument::recognise(key, &bytes, chunks.clone(), options.era)
            }));
        }
        Ok(match (found.pop(), found.is_empty()) {
            (Some(only), true) => {
                let what = "a document of May 2019, which says nothing of where chunks lie; they are looked for as in June 2019";
                let place = only.key().to_string();
                Some(HierarchyContext::new(
                    store,
                    Arc::new(only),
                    options,
                    as_warnings(&place, vec![what.into()]),
                ))
            }
            _ => None,
        })
    }
}
