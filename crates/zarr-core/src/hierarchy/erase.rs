//! Erases nodes, and finds what an erase would take along or has left.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::consolidated::{AffectedNodes, Change};
use super::context::HierarchyContext;
use crate::error::{AccessError, Error, ErrorKind, Result};
use crate::format::consolidated::is_document;
use crate::format::{Child, copy_journal, is_zarr_key};
use crate::metadata::NodeMetadata;
use crate::path::NodePath;
use crate::store::{StoreKey, StorePrefix};

impl HierarchyContext {
    /// Erases a node with everything below it, its documents first (D-174), and their consolidated copies before them. Without a
    /// document, erases what an interrupted erase left (docs/internals/design/crash-safety.md), and copies without a
    /// document.
    pub async fn erase(&self, path: &NodePath) -> Result<()> {
        self.writeable().map_err(|e| self.at(path, e))?;
        self.refuse_behind_link(path).await.map_err(|e| self.at(path, e))?;
        let affected = AffectedNodes { path, above: &[], change: Change::Erase };
        match self.node(path).await {
            Ok(_) => self.with_invalidation(affected, self.erase_all(path)).await.map(drop),
            Err(e) if e.kind() == ErrorKind::NotFound => {
                let had_copies = self.are_copied(&affected).await.map_err(|e| self.at(path, e))?;
                match self.with_invalidation(affected, self.erase_interrupted(path)).await {
                    Ok(false) if !had_copies => Err(e),
                    other => other.map(drop),
                }
            }
            Err(e) => Err(e),
        }
        .map_err(|e| self.at(path, e))
    }

    /// Erases a node with everything below it, but for files that are not Zarr's; `true` if it was the whole hierarchy behind a
    /// link.
    pub(super) async fn erase_all(&self, path: &NodePath) -> Result<bool> {
        let writeable = self.writeable()?;
        self.refuse_behind_link(path).await?;
        // Links are erased first, or the documents behind them would be erased (docs/internals/design/stores.md). The
        // whole hierarchy may be one.
        if path.is_root() && writeable.link(&StorePrefix::root(), true).await? {
            return Ok(true);
        }
        let (keys, prefixes) = self.format.erasure(path)?;
        for prefix in &prefixes {
            writeable.link(prefix, true).await?;
        }
        // While the documents are there, which tell what chunks are called.
        let foreign = match self.find_foreign_keys(path).await {
            // What cannot be listed cannot be told apart.
            Err(e) if e.kind() == ErrorKind::NotCapable => Vec::new(),
            found => found?,
        };
        // If the nodes cannot be found, everything is erased in the order of the store.
        let below = self.tree(path).await.unwrap_or_default();
        for key in &keys {
            writeable.erase(key).await?;
        }
        self.erase_documents(path, &below).await?;
        // A name below a prefix that no key can represent is an error; the other prefixes are erased all the same.
        let mut erased = Ok(());
        for prefix in &prefixes {
            let is_below = |key: &StoreKey| prefix.strip(key).is_some();
            erased = erased.and(if foreign.iter().any(is_below) {
                self.erase_around(prefix, &foreign).await
            } else {
                writeable.erase_prefix(prefix).await.map_err(Error::from)
            });
        }
        erased?;
        Ok(false)
    }

    /// Erases what is below a prefix, but for some sorted keys.
    async fn erase_around(&self, prefix: &StorePrefix, kept: &[StoreKey]) -> Result<()> {
        // The folders on the way to what stays; all others below them go as they are.
        let mut around: HashSet<&str> = HashSet::from([prefix.as_str()]);
        for key in kept {
            let ends = key.as_str().match_indices('/').map(|(at, _)| &key.as_str()[..=at]);
            around.extend(ends.filter(|folder| folder.len() > prefix.as_str().len()));
        }
        let (mut folders, mut keys) = (BTreeSet::new(), Vec::new());
        for key in self.list_prefix(prefix).await? {
            let ends = key.as_str().match_indices('/').map(|(at, _)| &key.as_str()[..=at]);
            let mut below = ends.filter(|folder| folder.len() > prefix.as_str().len());
            match below.find(|folder| !around.contains(folder)) {
                Some(folder) => drop(folders.insert(folder.to_owned())),
                None if kept.binary_search(&key).is_err() => keys.push(key),
                None => {}
            }
        }
        let writeable = self.writeable()?;
        for folder in folders {
            writeable.erase_prefix(&StorePrefix::new(folder)?).await?;
        }
        self.erase_keys(keys, std::slice::from_ref(prefix)).await
    }

    /// Erases the documents of the nodes below `path`, so that an interrupted erase leaves no array that has lost chunks
    /// (D-174). A link is erased, and nothing behind it (docs/internals/design/stores.md).
    async fn erase_documents(&self, path: &NodePath, below: &[Child]) -> Result<()> {
        let writeable = self.writeable()?;
        let mut links: Vec<&NodePath> = Vec::new();
        // Outer nodes sort before inner ones.
        for Child { path: child, .. } in below {
            if child == path || links.iter().any(|link| child.is_within(link)) {
                continue;
            }
            let (keys, prefixes) = self.format.erasure(child)?;
            for prefix in &prefixes {
                if writeable.link(prefix, true).await? {
                    links.push(child);
                }
            }
            if links.last() != Some(&child) {
                for key in &keys {
                    writeable.erase(key).await?;
                }
            }
        }
        Ok(())
    }

    /// The keys that an interrupted erase left at `path`: all that a dialect may have written; none if there is a node.
    pub async fn interrupted_keys(&self, path: &NodePath) -> Result<Vec<StoreKey>> {
        match self.node(path).await {
            Ok(_) => Ok(Vec::new()),
            Err(e) if e.kind() == ErrorKind::NotFound => {
                self.zarr_keys(path).await.map_err(|e| self.at(path, e))
            }
            Err(e) => Err(e),
        }
    }

    /// The keys at `path` and below it that a dialect may have written; none if the store cannot list.
    async fn zarr_keys(&self, path: &NodePath) -> Result<Vec<StoreKey>> {
        let (_, prefixes) = self.format.erasure(path)?;
        if !self.store.capabilities().list {
            return Ok(Vec::new());
        }
        let mut found = Vec::new();
        // What a copy under way has written goes with its journal.
        let journal = (!path.is_root()).then(|| copy_journal(path));
        for prefix in journal.iter().chain(&prefixes) {
            found.extend(self.list_prefix(prefix).await?.into_iter().filter(is_zarr_key));
        }
        Ok(found)
    }

    /// Erases what an interrupted erase left; `false` if there is nothing.
    async fn erase_interrupted(&self, path: &NodePath) -> Result<bool> {
        let left = self.zarr_keys(path).await?;
        let (_, prefixes) = self.format.erasure(path)?;
        let is_any = !left.is_empty();
        self.erase_keys(left, &prefixes).await?;
        Ok(is_any)
    }

    /// Erases keys that a listing of these prefixes found.
    async fn erase_keys(&self, mut left: Vec<StoreKey>, prefixes: &[StorePrefix]) -> Result<()> {
        let writeable = self.writeable()?;
        // A link is erased, and none of the keys that the listing found behind it (docs/internals/design/stores.md). Outer
        // folders sort before inner ones.
        let mut folders = BTreeSet::new();
        for key in &left {
            let begins = prefixes.iter().find_map(|p| p.strip(key).map(|_| p.as_str().len()));
            let ends = key.as_str().match_indices('/').map(|(end, _)| end + 1);
            let ends = ends.filter(|end| begins.is_some_and(|begins| *end >= begins));
            folders.extend(ends.map(|end| &key.as_str()[..end]));
        }
        for folder in folders {
            writeable.link(&StorePrefix::new(folder)?, true).await?;
        }
        // Documents first (D-174).
        left.sort_by_key(|key| !is_document(self.format.dialect(), key));
        for key in &left {
            writeable.erase(key).await.map_err(|e| Error::from(e).at_key(key))?;
        }
        Ok(())
    }

    /// The keys at the node at `path` and below it that no format here writes, sorted: files of the user, which stay where
    /// the node is erased. Keys behind a link are not among them.
    pub async fn foreign_keys(&self, path: &NodePath) -> Result<Vec<StoreKey>> {
        self.find_foreign_keys(path).await.map_err(|e| self.at(path, e))
    }

    async fn find_foreign_keys(&self, path: &NodePath) -> Result<Vec<StoreKey>> {
        let (_, prefixes) = self.format.erasure(path)?;
        let mut foreign = BTreeSet::new();
        if path.is_root() && self.is_link(&StorePrefix::root()).await? {
            return Ok(Vec::new());
        }
        for prefix in &prefixes {
            // Only the link is erased (docs/internals/design/stores.md).
            if self.is_link(prefix).await? {
                continue;
            }
            for key in self.list_prefix(prefix).await? {
                if !is_zarr_key(&key) && !self.is_behind_link(prefix, &key).await? {
                    foreign.insert(key);
                }
            }
        }
        if foreign.is_empty() {
            return Ok(Vec::new());
        }
        // Chunks may have names that only their array's document explains.
        let mut arrays = HashMap::new();
        for (array, node) in self.nodes(path).await.unwrap_or_default() {
            if let NodeMetadata::Array(metadata) = node {
                arrays.insert(self.format.chunk_prefix(&array)?.as_str().to_owned(), metadata);
            }
        }
        let is_chunk = |key: &StoreKey| {
            let ends = key.as_str().rmatch_indices('/').map(|(at, _)| at + 1).chain([0]);
            let array = ends.into_iter().find_map(|end| {
                let (prefix, name) = key.as_str().split_at(end);
                Some((arrays.get(prefix)?, name))
            });
            array.is_some_and(|(metadata, name)| metadata.may_have_chunk(name))
        };
        Ok(foreign.into_iter().filter(|key| !is_chunk(key)).collect())
    }

    /// An error for a node that is reached through a link: erasing follows none (docs/internals/design/stores.md).
    async fn refuse_behind_link(&self, path: &NodePath) -> Result<()> {
        for prefix in self.format.erasure(path)?.1 {
            let below = prefix.as_str().trim_end_matches('/');
            for (at, _) in below.match_indices('/') {
                let folder = &below[..at];
                if self.is_link(&StorePrefix::new(format!("{folder}/"))?).await? {
                    let why = format!(
                        "{path} is reached through the symbolic link `{folder}`, and erasing follows none; open what the link leads \
                         to, and erase the node there"
                    );
                    return Err(AccessError::Argument(why).into());
                }
            }
        }
        Ok(())
    }

    /// Whether a folder between `prefix` and `key` is a link.
    async fn is_behind_link(&self, prefix: &StorePrefix, key: &StoreKey) -> Result<bool> {
        let below = prefix.strip(key).unwrap_or_default();
        for (at, _) in below.match_indices('/') {
            let folder = [prefix.as_str(), &below[..=at]].concat();
            if self.is_link(&StorePrefix::new(folder)?).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn is_link(&self, prefix: &StorePrefix) -> Result<bool> {
        Ok(self.store.capabilities().write && self.store.link(prefix, false).await?)
    }
}
