//! Erases nodes, and finds what an erase would take along or has left.

use std::collections::BTreeSet;

use super::consolidated::{AffectedNodes, Change};
use super::context::HierarchyContext;
use crate::error::{AccessError, Error, ErrorKind, Result};
use crate::format::consolidated::is_document;
use crate::format::{Child, copy_journal, is_zarr_key};
use crate::path::NodePath;
use crate::store::{StoreKey, StorePrefix};

impl HierarchyContext {
    /// Erases a node with everything below it, its documents first (D-174), and their consolidated copies before them. Without a
    /// document, erases what an interrupted erase left (decision 0139), and copies without a document.
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

    /// Erases a node with everything below it; `true` if it was the whole hierarchy behind a link.
    pub(super) async fn erase_all(&self, path: &NodePath) -> Result<bool> {
        let writeable = self.writeable()?;
        self.refuse_behind_link(path).await?;
        // Links are erased first, or the documents behind them would be erased (decision 0144). The whole hierarchy may be
        // one.
        if path.is_root() && writeable.link(&StorePrefix::root(), true).await? {
            return Ok(true);
        }
        let (keys, prefixes) = self.format.erasure(path)?;
        for prefix in &prefixes {
            writeable.link(prefix, true).await?;
        }
        // If the nodes cannot be found, everything is erased in the order of the store.
        let below = self.tree(path).await.unwrap_or_default();
        for key in &keys {
            writeable.erase(key).await?;
        }
        self.erase_documents(path, &below).await?;
        // A name below a prefix that no key can represent is an error; the other prefixes are erased all the same.
        let mut erased = Ok(());
        for prefix in &prefixes {
            erased = erased.and(writeable.erase_prefix(prefix).await);
        }
        erased?;
        Ok(false)
    }

    /// Erases the documents of the nodes below `path`, so that an interrupted erase leaves no array that has lost chunks
    /// (D-174). A link is erased, and nothing behind it (decision 0144).
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
        let mut left = self.zarr_keys(path).await?;
        let writeable = self.writeable()?;
        // A link is erased, and none of the keys that the listing found behind it (decision 0144). Outer folders sort before
        // inner ones.
        let (_, prefixes) = self.format.erasure(path)?;
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
        Ok(!left.is_empty())
    }

    /// The keys that erasing the node at `path` would erase, too, sorted, though no format here writes them: files of the
    /// user. Keys behind a link stay, and are not among them.
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
            // Only the link is erased (decision 0144).
            if self.is_link(prefix).await? {
                continue;
            }
            for key in self.list_prefix(prefix).await? {
                if !is_zarr_key(&key) && !self.is_behind_link(prefix, &key).await? {
                    foreign.insert(key);
                }
            }
        }
        Ok(foreign.into_iter().collect())
    }

    /// An error for a node that is reached through a link: erasing follows none (decision 0144).
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
