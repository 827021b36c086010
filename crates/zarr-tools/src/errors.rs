//! Errors with the place where they occurred.

use zarr_core::store::{StoreKey, SyncStore};
use zarr_core::{Error, Hierarchy, NodePath};

/// An error at a key of a store.
pub(crate) fn at_key(error: impl Into<Error>, store: &dyn SyncStore, key: &StoreKey) -> Error {
    error.into().at_store(store.name()).at_key(key)
}

/// An error at a node of a hierarchy.
pub(crate) fn at_node(error: impl Into<Error>, hierarchy: &Hierarchy, path: &NodePath) -> Error {
    error.into().at_store(hierarchy.store().name()).at_path(path)
}
