//! Finds a document of May 2019 in a folder without an entry point (draft-v3.md 2.2, step 4).
//!
//! Any folder may be asked, so that little is read of what may be anything: few files, and none that is huge.

use std::sync::Arc;

use bytes::Bytes;

use super::context::HierarchyContext;
use super::options::OpenOptions;
use crate::context::as_warnings;
use crate::error::{Result, StoreError};
use crate::format::SingleDocument;
use crate::store::{ListOptions, Listing, Store, StoreKey, StorePrefix};

/// So many documents are looked into, where one is looked for without its name.
const MOST_LONE: usize = 8;
/// No document of one array has more bytes.
const MOST_LONE_BYTES: u64 = 16 << 20;

impl HierarchyContext {
    /// The room of a document of May 2019, when no draft said yet where anything lies: one that is `named`,
    /// else the only one at the store's root that looks like one. Its chunks are looked for below
    /// `data/`, as June 2019 had it, and where there is no `data/`, beside the document.
    pub(super) async fn lone(
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
                left_out: Vec::new(),
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
        if candidates.len() > MOST_LONE {
            return Ok(None);
        }
        for key in candidates {
            let bytes = match small(&*store, key).await {
                Ok(bytes) => bytes,
                Err(e) if named.is_some() => return Err(e.at_key(key)),
                // Whatever cannot be read is no document that anybody asked for.
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

/// The value, if it is there and has no more bytes than a document may have.
async fn small(store: &dyn Store, key: &StoreKey) -> Result<Option<Bytes>> {
    let readable = store.readable()?;
    match readable.get_at_most(key, MOST_LONE_BYTES).await {
        Err(StoreError::TooLarge { .. }) => Ok(None),
        other => Ok(other?),
    }
}
