//! Holds the store wrappers, which add something to another store.
//!
//! Each is written once, as an async store. [`wrap`] lends it to blocking callers.

#[cfg(feature = "cache")]
mod cache;
#[cfg(feature = "wrappers")]
mod count;
#[cfg(feature = "wrappers")]
mod fault;
#[cfg(feature = "wrappers")]
mod latency;
#[cfg(feature = "wrappers")]
mod prefix;
#[cfg(feature = "wrappers")]
mod read_only;
mod tap;
#[cfg(feature = "wrappers")]
mod timer;

use std::sync::Arc;

use zarr_core::StoreError;
use zarr_core::store::aio::{
    ConditionalStore, ListableStore, ReadableStore, Ready, Store, WriteableStore,
};
use zarr_core::store::{self, Blocking};

#[cfg(feature = "cache")]
pub use self::cache::{ByteCache, CacheFolder, CacheStore};
#[cfg(feature = "wrappers")]
pub use self::count::{Count, Counters};
#[cfg(feature = "wrappers")]
pub use self::fault::{Fault, Faults};
#[cfg(feature = "wrappers")]
pub use self::latency::Latency;
#[cfg(feature = "wrappers")]
pub use self::prefix::PrefixStore;
#[cfg(feature = "wrappers")]
pub use self::read_only::ReadOnlyStore;
pub use self::tap::{Call, Outcome, Request, Tap, TapStore};

/// What `make` makes of a blocking store, as a blocking store. An async one stays async: as many requests are in flight.
///
/// ```
/// use std::sync::Arc;
/// use zarr_stores::{Counters, TapStore, wrap};
/// # fn of(store: Arc<dyn zarr_core::store::Store>) {
/// let counters = Counters::default();
/// let store = wrap(store, |store| TapStore::new(store, counters.clone()));
/// # }
/// ```
pub fn wrap<W: Store>(
    store: Arc<dyn store::Store>,
    make: impl FnOnce(Arc<dyn Store>) -> W,
) -> Arc<dyn store::Store> {
    let store = store.waiting().unwrap_or_else(|| Arc::new(Ready::new(store)));
    Arc::new(Blocking::new(Arc::new(make(store))))
}

/// `store`; `tell` gets each call after it was answered, on the caller's thread.
///
/// ```
/// use std::sync::Arc;
/// # fn of(store: Arc<dyn zarr_core::store::Store>) {
/// let store = zarr_stores::log(store, |call| eprintln!("{call}"));
/// # }
/// ```
pub fn log(
    store: Arc<dyn store::Store>,
    tell: impl Fn(&Call<'_>) + Send + Sync + 'static,
) -> Arc<dyn store::Store> {
    wrap(store, |store| TapStore::new(store, tell))
}

/// The sides of the store behind a wrapper, for an operation that needs one.
trait Sides {
    fn reader(&self, operation: &'static str) -> Result<&dyn ReadableStore, StoreError>;
    fn writer(&self, operation: &'static str) -> Result<&dyn WriteableStore, StoreError>;
    fn lister(&self, operation: &'static str) -> Result<&dyn ListableStore, StoreError>;
    fn swapper(&self, operation: &'static str) -> Result<&dyn ConditionalStore, StoreError>;
}

impl Sides for dyn Store {
    fn reader(&self, operation: &'static str) -> Result<&dyn ReadableStore, StoreError> {
        self.readable().ok_or_else(|| StoreError::not_capable(operation, "readable"))
    }
    fn writer(&self, operation: &'static str) -> Result<&dyn WriteableStore, StoreError> {
        self.writeable().ok_or_else(|| StoreError::not_capable(operation, "writeable"))
    }
    fn lister(&self, operation: &'static str) -> Result<&dyn ListableStore, StoreError> {
        self.listable().ok_or_else(|| StoreError::not_capable(operation, "listable"))
    }
    fn swapper(&self, operation: &'static str) -> Result<&dyn ConditionalStore, StoreError> {
        self.conditional().ok_or_else(|| StoreError::not_capable(operation, "conditional"))
    }
}
