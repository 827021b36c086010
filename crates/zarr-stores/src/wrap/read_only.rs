//! Keeps a store from being changed.

use std::sync::Arc;

use zarr_core::store::aio::{ListableStore, ReadableStore, Store};

/// Any store, to be read and listed only: its other sides are not there.
///
/// ```
/// use std::sync::Arc;
/// use zarr_stores::{ReadOnlyStore, wrap};
/// # fn of(store: Arc<dyn zarr_core::store::Store>) {
/// let store = wrap(store, ReadOnlyStore::new);
/// assert!(store.writeable().is_none());
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct ReadOnlyStore(Arc<dyn Store>);

impl ReadOnlyStore {
    /// `store`, without its writing sides.
    pub fn new(store: Arc<dyn Store>) -> Self {
        ReadOnlyStore(store)
    }
}

impl Store for ReadOnlyStore {
    fn name(&self) -> String {
        self.0.name()
    }
    fn readable(&self) -> Option<&dyn ReadableStore> {
        self.0.readable()
    }
    fn listable(&self) -> Option<&dyn ListableStore> {
        self.0.listable()
    }
    fn in_flight(&self) -> usize {
        self.0.in_flight()
    }
    fn waits(&self) -> bool {
        self.0.waits()
    }
}
