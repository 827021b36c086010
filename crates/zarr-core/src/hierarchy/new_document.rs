//! Creates one document, if no other makes a node at its place.

use bytes::Bytes;
use futures::future::try_join_all;

use crate::context::StoreContext;
use crate::error::{AccessError, Error, Result};
use crate::format::documents_of_other_dialects;
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
    pub fn new(key: &'a StoreKey) -> NewDocument<'a> {
        NewDocument {
            key,
            must_be_absent: Vec::new(),
            arrays_above: Vec::new(),
            leftovers: Vec::new(),
        }
    }
}

/// Creates the documents of a new hierarchy that are not a node's.
pub async fn create_entry_point(context: &StoreContext) -> Result<()> {
    for (key, bytes) in context.format.entry_point()? {
        let must_be_absent = other_documents(context, &NodePath::root(), &key)?;
        let new = NewDocument { must_be_absent, ..NewDocument::new(&key) };
        create_document(context, new, bytes, "a hierarchy").await?;
    }
    Ok(())
}

/// The documents other than `key` that would make another node of the one at `path`: one of another kind, or in another
/// dialect (docs/internals/design/crash-safety.md).
pub fn other_documents(
    context: &StoreContext,
    path: &NodePath,
    key: &StoreKey,
) -> Result<Vec<StoreKey>> {
    let mut others = context.format.document_keys(path)?;
    others.retain(|other| other != key && !other.as_str().ends_with(".zattrs"));
    let foreign = documents_of_other_dialects(context.format.dialect(), key);
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
pub async fn create_document(
    context: &StoreContext,
    new: NewDocument<'_>,
    bytes: Bytes,
    what: &'static str,
) -> Result<()> {
    let NewDocument { key, mut must_be_absent, arrays_above, leftovers } = new;
    let writeable = context.writeable()?;
    let Capabilities { create, swap, .. } = context.store.capabilities();
    if create {
        must_be_absent.extend(arrays_above.iter().map(|(key, _)| key.clone()));
        let found = context.store.create(key, bytes.into(), &must_be_absent, &leftovers).await?;
        let Some(found) = found else { return Ok(()) };
        let above = arrays_above.iter().find(|(above, _)| *above == found);
        let why = match above {
            Some((_, path)) => below_array(path),
            None => AccessError::Exists(what),
        };
        return Err(Error::from(why).at_key(&found));
    }
    let limit = context.options.limits.document;
    let found = arrays_above.iter().map(|(key, _)| context.get_at_most(key, limit));
    let found = try_join_all(found).await?;
    for ((key, path), document) in arrays_above.iter().zip(found) {
        if document.is_some() {
            return Err(Error::from(below_array(path)).at_key(key));
        }
    }
    if (!swap || !leftovers.is_empty()) && context.get_at_most(key, limit).await?.is_some() {
        return Err(Error::from(AccessError::Exists(what)).at_key(key));
    }
    for key in &leftovers {
        writeable.erase(key).await.map_err(|e| Error::from(e).at_key(key))?;
    }
    let is_set = if swap {
        writeable.set_if_absent(key, bytes.into()).await?
    } else {
        writeable.put(key, Some(bytes.into()), Precondition::Always).await?
    };
    if is_set { Ok(()) } else { Err(Error::from(AccessError::Exists(what)).at_key(key)) }
}

/// The error for a node that would be below an array (D-001, F-007, Z2-003).
pub(super) fn below_array(path: &NodePath) -> AccessError {
    AccessError::Argument(format!("{path} is an array; nothing can be created below it"))
}
