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
const MAX_CANDIDATES: usize = 8;
/// The most bytes of a document of one array.
const MAX_DOCUMENT_BYTES: u64 = 16 << 20;

/// The hierarchy of a document of May 2019: one that is `named`, else the only one at the store's root that looks like
/// one. The drafts of that time did not say where chunks are. They are looked for below `data/`, where June 2019 had
/// them; without a `data/` at the store's root.
pub async fn open_single_document(
    store: Arc<dyn Store>,
    options: &OpenOptions,
    named: Option<&str>,
) -> Result<Option<HierarchyContext>> {
    if named.is_some_and(|name| !SingleDocument::may_be_called(name)) {
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
    let mut found = Vec::new();
    let chunks = if listing.prefixes.iter().any(|prefix| prefix.as_str() == "data/") {
        StorePrefix::new("data/")?
    } else {
        StorePrefix::root()
    };
    let candidates: Vec<&StoreKey> = listing
        .keys
        .iter()
        .filter(|key| match named {
            Some(name) => key.as_str() == name,
            None => SingleDocument::may_be_called(key.as_str()),
        })
        .collect();
    if candidates.len() > MAX_CANDIDATES {
        return Ok(None);
    }
    for key in candidates {
        let bytes = match store.readable()?.get_at_most(key, MAX_DOCUMENT_BYTES).await {
            Ok(bytes) => bytes,
            Err(StoreError::TooLarge { .. }) => None,
            Err(e) if named.is_some() => return Err(Error::from(e).at_key(key)),
            // The caller did not name it.
            Err(_) => None,
        };
        found.extend(
            bytes.and_then(|bytes| {
                SingleDocument::recognise(key, &bytes, chunks.clone(), options.era)
            }),
        );
    }
    Ok(match (found.pop(), found.is_empty()) {
        (Some(only), true) => {
            let what = "documents of May 2019 do not say where chunks are stored; looking for them as in June 2019";
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
