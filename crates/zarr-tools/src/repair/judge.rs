//! Looks at one value again, before it is changed: another program may have mended it since it was found.

use std::sync::Arc;

use zarr_core::format::Format;
use zarr_core::store::{
    ByteRange, Bytes, Capabilities, GetOptions, Got, Listing, Result, SnapshotOptions, Store,
    StoreKey, StorePrefix, SyncSnapshot, SyncStore, check_size, from_sync,
};
use zarr_core::{ErrorKind, NodePath, OpenOptions};

use crate::validate::{Problem, ValidateOptions, validate_store};

/// A store that has a key with a value that is held, and the documents of the nodes above it.
#[derive(Debug)]
struct Excerpt {
    store: Arc<dyn SyncStore>,
    key: StoreKey,
    value: Value,
    /// Sorted.
    keys: Vec<StoreKey>,
}

/// A value that is held.
#[derive(Clone)]
struct Value(Arc<dyn SyncSnapshot>);

impl std::fmt::Debug for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a value of {} bytes", self.0.size())
    }
}

impl SyncSnapshot for Value {
    fn read(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>> {
        self.0.read(ranges)
    }

    fn size(&self) -> u64 {
        self.0.size()
    }
}

impl SyncStore for Excerpt {
    fn name(&self) -> String {
        self.store.name()
    }

    fn capabilities(&self) -> Capabilities {
        let of_store = self.store.capabilities();
        Capabilities { cheap_ranges: of_store.cheap_ranges, ..Capabilities::READ_ONLY }
    }

    fn get(&self, key: &StoreKey, how: GetOptions<'_>) -> Result<Option<Got>> {
        if *key != self.key {
            return self.store.get(key, how);
        }
        check_size(key, self.value.size(), how.limit)?;
        let bytes = self.value.read(&[ByteRange::ALL])?.pop().unwrap_or_default();
        how.answer(key, bytes, None)
    }

    fn open(
        &self,
        key: &StoreKey,
        how: SnapshotOptions<'_>,
    ) -> Result<Option<Box<dyn SyncSnapshot>>> {
        if *key != self.key {
            return self.store.open(key, how);
        }
        check_size(key, self.value.size(), how.limit)?;
        Ok(Some(Box::new(self.value.clone())))
    }

    fn list_prefix(&self, prefix: &StorePrefix) -> Result<Listing> {
        let below = self.keys.iter().filter(|key| prefix.strip(key).is_some());
        Ok(below.cloned().collect::<Vec<_>>().into())
    }
}

/// Whether a value has a problem still.
///
/// # Errors
/// What the store reports.
pub(super) fn has_problem(
    store: &Arc<dyn SyncStore>,
    format: &dyn Format,
    open: &OpenOptions,
    problem: &Problem,
    key: &StoreKey,
    value: &Arc<dyn SyncSnapshot>,
) -> zarr_core::Result<bool> {
    let mut keys = vec![key.clone()];
    for document in documents_above(format, &problem.path, key) {
        if document == *key {
            continue;
        }
        if store.open(&document, SnapshotOptions::default())?.is_some() {
            keys.push(document);
        }
    }
    keys.sort_unstable();
    keys.dedup();
    let value = Value(value.clone());
    let excerpt = Excerpt { store: store.clone(), key: key.clone(), value, keys };
    let excerpt: Arc<dyn Store> = from_sync(excerpt);
    let mut is_found = false;
    let level = ValidateOptions::new(problem.kind.level()).without_leftovers();
    let validated =
        validate_store(&excerpt, &problem.path, open, &level, &mut |found: &Problem| {
            is_found |= !found.kind.is_note() && found.key.as_deref() == Some(key.as_str());
        });
    match validated {
        Ok(_) => Ok(is_found),
        // Then it is not Zarr's.
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(true),
        Err(e) => Err(e),
    }
}

/// The keys of the documents of a node and of all nodes above a key.
fn documents_above(format: &dyn Format, path: &NodePath, key: &StoreKey) -> Vec<StoreKey> {
    let mut paths = vec![path.clone(), NodePath::root()];
    let mut below = key.as_str();
    if format.tree_prefix().is_some() {
        let roots = ["data/root/", "meta/root/", "data/", "meta/"];
        below = roots.iter().find_map(|root| below.strip_prefix(root)).unwrap_or(below);
    }
    while let Some((folder, _)) = below.rsplit_once('/') {
        paths.extend(NodePath::new(folder));
        below = folder;
    }
    let entry = format.entry_point().unwrap_or_default().into_iter().map(|(key, _)| key);
    let documents = paths.iter().filter_map(|path| format.document_keys(path).ok()).flatten();
    documents.chain(entry).collect()
}
