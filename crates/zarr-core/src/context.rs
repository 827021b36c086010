//! Holds what the reads and writes of one hierarchy share: the store, the format, the registry, the options.
//!
//! It reads single documents and parses them. Whatever changes documents is in `hierarchy`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures::future::join_all;
use futures::stream::{FuturesUnordered, StreamExt};

use crate::array::chunk_cache::ChunkCache;
use crate::dialect::Warning;
use crate::error::{AccessError, Cause, Error, Result, StoreError};
use crate::format::template::Templates;
use crate::format::{Documents, Format, PROBES, Reading};
use crate::limits::Limits;
use crate::metadata::NodeMetadata;
use crate::options::Options;
use crate::path::NodePath;
use crate::registry::{Access, Registry};
use crate::runtime::may_block;
use crate::store::{ByteRange, Listing, SnapshotOptions, Store, StoreKey, StorePrefix};
use crate::sync::lock;

/// Names left out of a listing that get a warning each.
const MAX_LEFT_OUT_WARNINGS: usize = 1000;

/// A store, the format of its documents, and how they are read and written.
#[derive(Debug)]
pub(crate) struct StoreContext {
    pub store: Arc<dyn Store>,
    pub format: Arc<dyn Format>,
    pub registry: Arc<Registry>,
    pub options: Options,
    pub access: Access,
    pub chunk_cache: Option<Arc<ChunkCache>>,
    /// The document whose copies of others take their place.
    pub holder: Option<StoreKey>,
    /// Documents of arrays, for those that are like them.
    pub templates: Templates,
    /// Each with its number, in the order in which they came.
    pub warnings: Mutex<HashMap<Warning, usize>>,
}

impl StoreContext {
    pub fn warn(&self, place: &str, warnings: Vec<String>) {
        for warning in as_warnings(place, warnings) {
            let mut all = lock(&self.warnings);
            let number = all.len();
            all.entry(warning).or_insert(number);
        }
    }

    /// All warnings, the first one first.
    pub fn warnings(&self) -> Vec<Warning> {
        let mut all: Vec<_> = lock(&self.warnings).clone().into_iter().collect();
        all.sort_unstable_by_key(|(_, number)| *number);
        all.into_iter().map(|(warning, _)| warning).collect()
    }

    /// The error, at this store and node.
    pub fn with_context(&self, path: &NodePath, error: impl Into<Error>) -> Error {
        error.into().at_store(self.store.name()).at_path(path)
    }

    pub fn writeable(&self) -> Result<&dyn Store> {
        if self.access == Access::ReadOnly {
            return Err(AccessError::ReadOnly.into());
        }
        if let Some(why) = self.format.frozen() {
            return Err(AccessError::Frozen(why.to_owned()).into());
        }
        Ok(self.store.writeable()?)
    }

    pub fn listable(&self) -> Result<&dyn Store, StoreError> {
        self.store.listable()
    }

    pub fn maybe_listable(&self) -> Result<&dyn Store, StoreError> {
        self.store.maybe_listable()
    }

    /// How many bytes a value has; `None` if it is absent.
    pub async fn size(&self, key: &StoreKey) -> Result<Option<u64>> {
        let readable = self.store.readable()?;
        let last = [ByteRange::Suffix(1)];
        let Some(snapshot) = readable.open(key, SnapshotOptions::first(&last)).await? else {
            return Ok(None);
        };
        if snapshot.size() == 0 {
            // A remote store knows the size only after a response.
            snapshot.read(&last).await?;
        }
        Ok(Some(snapshot.size()))
    }

    pub async fn get_at_most(&self, key: &StoreKey, limit: u64) -> Result<Option<Bytes>> {
        let readable = self.store.readable()?;
        Ok(readable.get_at_most(key, limit).await?)
    }

    /// The value of one key, of at most [`Limits::document`] bytes.
    pub async fn document(&self, key: &StoreKey) -> Result<Option<Bytes>> {
        document(&*self.store, key, &self.options.limits).await
    }

    /// The documents of a node that exist.
    pub async fn documents(&self, path: &NodePath) -> Result<Documents> {
        documents(&*self.store, self.format.document_keys(path)?, &self.options.limits).await
    }

    /// How documents of this hierarchy are parsed.
    pub fn reading(&self) -> Reading<'_> {
        let mut reading = Reading::new(&self.registry, self.options.strictness);
        reading.ignore_hidden_filters = self.options.ignore_hidden_filters;
        reading.limits = self.options.limits;
        reading.templates = Some(&self.templates);
        reading
    }

    pub fn parse(&self, path: &NodePath, found: &Documents) -> Result<Option<NodeMetadata>> {
        let mut reading = self.reading();
        let node =
            self.format.parse(path, found, &mut reading).map_err(|e| match found.first() {
                Some((key, _)) => Error::from(e).at_key(key),
                None => e.into(),
            })?;
        self.warn(path.as_str(), reading.warnings);
        Ok(node)
    }

    /// Every key below a prefix. Warns of names that no key can represent.
    pub async fn list_prefix(&self, prefix: &StorePrefix) -> Result<Vec<StoreKey>> {
        let listing = self.store.maybe_listable()?.list_prefix(prefix).await?;
        self.warn_of_left_out(prefix.as_str(), &listing);
        Ok(listing.keys)
    }

    /// As [`StoreContext::list_prefix`], with the sizes of values if the listing has them; not of a store that may list in part only.
    pub async fn list_sized(&self, prefix: &StorePrefix) -> Result<Listing> {
        let listing = self.listable()?.list_prefix(prefix).await?;
        self.warn_of_left_out(prefix.as_str(), &listing);
        Ok(listing)
    }

    /// Warns of the names that a listing left out (docs/internals/design/strictness.md), one by one up to [`MAX_LEFT_OUT_WARNINGS`].
    pub fn warn_of_left_out(&self, place: &str, listing: &Listing) {
        let named = listing.left_out.iter().take(MAX_LEFT_OUT_WARNINGS);
        let mut warnings: Vec<_> = named
            .map(|name| format!("skipped `{name}` in the store: it is not a valid key"))
            .collect();
        let more = listing.left_out.len() - warnings.len();
        if more > 0 {
            warnings.push(format!("skipped {more} more names in the store"));
        }
        self.warn(place, warnings);
    }

    /// The results of all futures, in order. As many run at the same time as the store allows; one if its calls never
    /// wait.
    pub async fn join_bounded<T, F: Future<Output = Result<T>>>(
        &self,
        futures: impl Iterator<Item = F>,
    ) -> Result<Vec<T>> {
        // Calls that run in place are done when their futures are first polled.
        if !(may_block() && self.store.as_sync().is_some()) {
            // One that takes long keeps none behind it from beginning.
            let in_flight = self.store.capabilities().in_flight.max(1);
            let mut futures = futures.enumerate();
            let mut running = FuturesUnordered::new();
            let mut all = Vec::new();
            loop {
                for (number, future) in futures.by_ref().take(in_flight - running.len()) {
                    running.push(async move { (number, future.await) });
                }
                let Some((number, result)) = running.next().await else { break };
                all.push((number, result?));
            }
            all.sort_unstable_by_key(|(number, _)| *number);
            return Ok(all.into_iter().map(|(_, result)| result).collect());
        }
        let mut results = Vec::new();
        for future in futures {
            results.push(future.await?);
        }
        Ok(results)
    }
}

/// A document of at most [`Limits::document`] bytes (docs/internals/design/limits.md).
pub(crate) async fn document(
    store: &dyn Store,
    key: &StoreKey,
    limits: &Limits,
) -> Result<Option<Bytes>> {
    let readable = store.readable()?;
    readable.get_at_most(key, limits.document).await.map_err(|e| {
        let error = Error::from(e);
        if is_too_large(&error) {
            error.with_hint("raise `Limits::document` if you trust this data")
        } else {
            error
        }
    })
}

/// The values of `keys` that exist, requested concurrently (docs/internals/design/remote-stores.md). If a `zarr.json` was
/// found, a key that may not be read counts as absent: buckets that do not list answer so.
pub(crate) async fn documents(
    store: &dyn Store,
    keys: Vec<StoreKey>,
    limits: &Limits,
) -> Result<Documents> {
    documents_except(store, keys, limits, |_, _, _| false).await
}

/// As [`documents`]; an error for which `is_absent` is true counts as an absent document. It gets the key, the documents
/// found before it, and the error.
pub(crate) async fn documents_except(
    store: &dyn Store,
    keys: Vec<StoreKey>,
    limits: &Limits,
    mut is_absent: impl FnMut(&StoreKey, &Documents, &Error) -> bool,
) -> Result<Documents> {
    let values = match &keys[..] {
        [key] => vec![document(store, key, limits).await],
        _ => join_all(keys.iter().map(|key| document(store, key, limits))).await,
    };
    let mut found = Documents::new();
    for (key, value) in keys.into_iter().zip(values) {
        match value {
            Ok(Some(bytes)) => found.push((key, bytes)),
            Ok(None) => {}
            Err(e)
                if is_forbidden(&e) && found.iter().any(|(key, _)| key.as_str() == PROBES[0]) => {}
            Err(e) if is_absent(&key, &found, &e) => {}
            Err(e) => return Err(e.at_key(&key)),
        }
    }
    Ok(found)
}

pub(crate) fn is_too_large(error: &Error) -> bool {
    matches!(error.cause(), Cause::Store(StoreError::TooLarge { .. }))
}

pub(crate) fn is_forbidden(error: &Error) -> bool {
    let denied = std::io::ErrorKind::PermissionDenied;
    let cause = error.cause();
    matches!(cause, Cause::Store(StoreError::Io { source, .. }) if source.kind() == denied)
}

pub(crate) fn as_warnings(place: &str, warnings: Vec<String>) -> Vec<Warning> {
    warnings.into_iter().map(|what| Warning { place: place.to_owned(), what }).collect()
}
