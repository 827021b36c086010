//! Lists the keys of a store; of one that cannot be listed, asks for those that may be there.

use std::io::ErrorKind::{PermissionDenied, Unsupported};

use zarr_core::format::Format;
use zarr_core::store::{ListOptions, SnapshotOptions, StoreKey, StorePrefix, SyncStore};
use zarr_core::{Error, NodePath, Result, StoreError};

use super::problem::{Problem, ProblemKind};
use super::tree::Tree;
use super::{Context, Sink, consolidated, parallel};

/// The most chunks for which a store is asked that cannot be listed.
const MOST_ASKED: u64 = 1_000_000;

/// The keys that are there.
pub(super) struct Inventory {
    /// Sorted.
    pub keys: Vec<StoreKey>,
    /// Names of which no key can be made.
    pub left_out: Vec<String>,
    /// Prefixes that the store could not list, each with its message. What is below them is not known.
    pub unreadable: Vec<(StorePrefix, String)>,
    /// Whether these are all, but for what could not be listed.
    pub is_listed: bool,
}

impl Inventory {
    /// The keys of a node and of all below it; without a format, every key.
    pub fn listed(
        store: &dyn SyncStore,
        format: Option<&dyn Format>,
        path: &NodePath,
    ) -> Result<Inventory, StoreError> {
        let prefix = match format {
            // The documents of a draft's node are beside its prefix.
            Some(format) if format.tree_prefix().is_none() => format.children_prefix(path)?,
            _ => StorePrefix::root(),
        };
        let unreadable = Vec::new();
        match store.list_prefix(&prefix) {
            Ok(listing) => {
                let (mut keys, left_out) = (listing.keys, listing.left_out);
                keys.sort_unstable();
                Ok(Inventory { keys, left_out, unreadable, is_listed: true })
            }
            // A listing ends at the first folder that may not be read: all others can be checked.
            Err(e @ StoreError::Io { .. }) => {
                let is_local = store.name().starts_with("file://");
                let is_denied = matches!(&e, StoreError::Io { source, .. } if source.kind() == PermissionDenied);
                if is_denied || is_local { Inventory::walked(store, prefix) } else { Err(e) }
            }
            Err(e) => Err(e),
        }
    }

    /// The same, folder by folder. What cannot be listed is noted, but for the first prefix.
    fn walked(store: &dyn SyncStore, first: StorePrefix) -> Result<Inventory, StoreError> {
        let mut inventory = Inventory {
            keys: Vec::new(),
            left_out: Vec::new(),
            unreadable: Vec::new(),
            is_listed: true,
        };
        let mut prefixes = vec![first.clone()];
        while let Some(prefix) = prefixes.pop() {
            match store.list_dir(&prefix, ListOptions::CANDIDATES) {
                Ok(listing) => {
                    inventory.keys.extend(listing.keys);
                    inventory.left_out.extend(listing.left_out);
                    prefixes.extend(listing.prefixes);
                }
                Err(e) if prefix == first => return Err(e),
                Err(e) => inventory.unreadable.push((prefix, e.to_string())),
            }
        }
        inventory.keys.sort_unstable();
        inventory.unreadable.sort();
        Ok(inventory)
    }

    /// Whether something below a prefix could not be listed.
    pub fn hides(&self, prefix: &StorePrefix) -> bool {
        let prefix = prefix.as_str();
        self.unreadable.iter().any(|(hidden, _)| {
            let hidden = hidden.as_str();
            hidden.starts_with(prefix) || prefix.starts_with(hidden)
        })
    }

    /// Whether a key may be there that could not be listed.
    pub fn may_have(&self, key: &str) -> bool {
        self.unreadable.iter().any(|(prefix, _)| key.starts_with(prefix.as_str()))
    }

    /// The keys of a node and of all below it, in this format.
    pub fn below(mut self, format: &dyn Format, path: &NodePath) -> Result<Inventory> {
        if path.is_root() {
            return Ok(self);
        }
        let documents = format.document_keys(path)?;
        let (_, prefixes) = format.erasure(path)?;
        self.keys.retain(|key| {
            documents.contains(key) || prefixes.iter().any(|prefix| prefix.strip(key).is_some())
        });
        self.unreadable.retain(|(unreadable, _)| {
            let unreadable = unreadable.as_str();
            prefixes.iter().any(|prefix| {
                unreadable.starts_with(prefix.as_str()) || prefix.as_str().starts_with(unreadable)
            })
        });
        Ok(self)
    }

    /// The keys of what is validated, in a store that can be opened.
    pub fn of(context: &Context<'_>, can_list: bool, sink: &mut Sink<'_>) -> Result<Inventory> {
        if can_list {
            match Inventory::listed(&*context.store, Some(&*context.format), &context.path) {
                Ok(listed) => return listed.below(&*context.format, &context.path),
                Err(e @ StoreError::Io { .. }) if context.store.name().starts_with("file://") => {
                    // Its keys can be read all the same, if their names are known.
                    let problem =
                        Problem::new(&context.path, ProblemKind::Unreadable, e.to_string());
                    sink.add(problem);
                }
                Err(StoreError::NotCapable { .. }) => {}
                Err(StoreError::Io { source, .. })
                    if [PermissionDenied, Unsupported].contains(&source.kind()) => {}
                Err(e) => return Err(Error::from(e).at_store(context.store.name())),
            }
        }
        let mut keys = context.format.document_keys(&context.path)?;
        if context.path.is_root() {
            keys.extend(context.format.entry_point()?.into_iter().map(|(key, _)| key));
        }
        let named = consolidated::named_documents(context);
        let what = if named.iter().all(|key| keys.contains(key)) {
            "the store does not list its keys, and there are no consolidated metadata: this node's documents are checked, and if it is an \
             array, the chunks inside its grid. Not checked: nodes below it, stray keys, what writers left, chunks outside the grid"
        } else {
            "the store does not list its keys: the documents that consolidated metadata name are checked, and the chunks inside the grids \
             of their arrays. Not checked: nodes that they do not name, stray keys, what writers left, chunks outside the grids"
        };
        sink.add(Problem::new(&context.path, ProblemKind::NotChecked, what));
        keys.extend(named);
        keys.sort_unstable();
        keys.dedup();
        let there = parallel::map(context, keys.len(), |at| is_there(context, &keys[at]))?;
        let keys = keys.into_iter().zip(there).filter(|(_, there)| *there).map(|(key, _)| key);
        let (left_out, unreadable) = (Vec::new(), Vec::new());
        Ok(Inventory { keys: keys.collect(), left_out, unreadable, is_listed: false })
    }

    /// Asks for each chunk inside the grids.
    pub fn ask_for_chunks(
        &mut self,
        context: &Context<'_>,
        tree: &Tree,
        sink: &mut Sink<'_>,
    ) -> Result<()> {
        for array in &tree.arrays {
            let Some(chunks) = array.chunk_count().filter(|&count| count <= MOST_ASKED) else {
                let what = "it has too many chunks to request one by one";
                sink.add(Problem::new(&array.path, ProblemKind::NotChecked, what));
                continue;
            };
            let asked = parallel::map(context, chunks as usize, |at| {
                let key = array.key(&array.indices(&array.ordinals(at as u64)))?;
                is_there(context, &key).then_some(key)
            })?;
            self.keys.extend(asked.into_iter().flatten());
        }
        self.keys.sort_unstable();
        Ok(())
    }
}

/// Whether a key is there. One that the store cannot read is.
fn is_there(context: &Context<'_>, key: &StoreKey) -> bool {
    !matches!(context.store.open(key, SnapshotOptions::default()), Ok(None))
}
