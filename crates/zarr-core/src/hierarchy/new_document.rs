//! Creates one document, if no other makes a node at its place.

use bytes::Bytes;
use futures::future::try_join_all;

use super::context::HierarchyContext;
use crate::dialect::Dialect;
use crate::error::{AccessError, Error, Result};
use crate::path::NodePath;
use crate::store::{Capabilities, Precondition, StoreKey, StorePrefix};

/// A document that is about to be created.
pub(super) struct NewDocument<'a> {
    pub key: &'a StoreKey,
    /// Documents that must be absent, too.
    pub must_be_absent: Vec<StoreKey>,
    /// Those of arrays above, below which nothing may be created, where that was not looked at before.
    pub arrays_above: Vec<(StoreKey, NodePath)>,
    /// Chunks of an earlier node, which are erased.
    pub leftovers: Vec<StoreKey>,
}

impl<'a> NewDocument<'a> {
    /// One beside which nothing must be absent.
    pub fn new(key: &'a StoreKey) -> Self {
        let (must_be_absent, arrays_above, leftovers) = Default::default();
        NewDocument { key, must_be_absent, arrays_above, leftovers }
    }
}

impl HierarchyContext {
    /// Creates the documents of a new hierarchy that are not a node's.
    pub async fn create_entry_point(&self) -> Result<()> {
        for (key, bytes) in self.format.entry_point()? {
            let must_be_absent = self.other_documents(&NodePath::root(), &key)?;
            let new = NewDocument { must_be_absent, ..NewDocument::new(&key) };
            self.create_document(new, bytes, "a hierarchy").await?;
        }
        Ok(())
    }

    /// The documents other than `key` that would make another node of the one at `path`: one of another kind, or in another
    /// dialect (docs/internals/design/crash-safety.md).
    pub(super) fn other_documents(&self, path: &NodePath, key: &StoreKey) -> Result<Vec<StoreKey>> {
        let mut others = self.format.document_keys(path)?;
        others.retain(|other| other != key && !other.as_str().ends_with(".zattrs"));
        let foreign = match self.format.dialect() {
            Dialect::V2 => &["zarr.json"][..],
            Dialect::V3 => &[".zarray", ".zgroup"],
            // A draft has its nodes below `meta/`, and its entry point where the others have the root.
            Dialect::Draft if key.as_str() == "zarr.json" => &[".zarray", ".zgroup"],
            Dialect::Draft => &[],
        };
        let folder = key.as_str().rsplit_once('/').map(|(folder, _)| format!("{folder}/"));
        let folder = StorePrefix::new(folder.unwrap_or_default())?;
        for name in foreign {
            others.push(folder.key(name)?);
        }
        Ok(others)
    }

    /// Creates a document if it is absent (docs/internals/design/concurrency.md), and no other is there that would make
    /// another node of it; erases leftovers of an earlier node (docs/internals/design/crash-safety.md). If it exists, that
    /// is an error that calls it `what`.
    pub(super) async fn create_document(
        &self,
        new: NewDocument<'_>,
        bytes: Bytes,
        what: &'static str,
    ) -> Result<()> {
        let NewDocument { key, mut must_be_absent, arrays_above, leftovers } = new;
        let writeable = self.writeable()?;
        let exists = |key: &StoreKey| {
            let above = arrays_above.iter().find(|(above, _)| above == key);
            let why = match above {
                Some((_, path)) => below_array(path),
                None => AccessError::Exists(what),
            };
            Err(Error::from(why).at_key(key))
        };
        let Capabilities { create, swap, .. } = self.store.capabilities();
        if create {
            must_be_absent.extend(arrays_above.iter().map(|(key, _)| key.clone()));
            let found = self.store.create(key, bytes.into(), &must_be_absent, &leftovers).await?;
            return found.map_or(Ok(()), |found| exists(&found));
        }
        let limit = self.options.limits.document;
        let is_array = async |(key, _): &(StoreKey, NodePath)| {
            Ok::<_, Error>(self.get_at_most(key, limit).await?.is_some())
        };
        let are_arrays = try_join_all(arrays_above.iter().map(is_array)).await?;
        if let Some(at) = are_arrays.iter().position(|is_array| *is_array) {
            return exists(&arrays_above[at].0);
        }
        if (!swap || !leftovers.is_empty()) && self.get_at_most(key, limit).await?.is_some() {
            return exists(key);
        }
        for key in &leftovers {
            writeable.erase(key).await.map_err(|e| Error::from(e).at_key(key))?;
        }
        let is_set = if swap {
            writeable.set_if_absent(key, bytes.into()).await?
        } else {
            writeable.put(key, Some(bytes.into()), Precondition::Always).await?
        };
        if is_set { Ok(()) } else { exists(key) }
    }
}

/// The error for a node that would be below an array (D-001, F-007, Z2-003).
pub(super) fn below_array(path: &NodePath) -> AccessError {
    AccessError::Argument(format!("{path} is an array; nothing can be created below it"))
}
