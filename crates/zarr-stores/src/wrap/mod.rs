//! Store wrappers. Each is written once, against the one [`Store`].

#[cfg(feature = "cache")]
mod cache;
#[cfg(feature = "wrappers")]
mod prefix;
#[cfg(feature = "wrappers")]
mod read_only;

use std::sync::Arc;

use zarr_core::store::Store;
pub use zarr_core::store::{Call, ObservedStore, Observer, Outcome, Request};

#[cfg(feature = "cache")]
pub use self::cache::{ByteCache, CacheFolder, CacheStore};
#[cfg(feature = "wrappers")]
pub use self::prefix::PrefixStore;
#[cfg(feature = "wrappers")]
pub use self::read_only::ReadOnlyStore;

/// `store`, which reports each call to `tell` after it answered, on the thread that made the call.
///
/// ```
/// use std::sync::Arc;
/// # fn of(store: Arc<dyn zarr_core::store::Store>) {
/// let store = zarr_stores::log(store, |call| eprintln!("{call}"));
/// # }
/// ```
pub fn log(
    store: Arc<dyn Store>,
    tell: impl Fn(&Call<'_>) + Send + Sync + 'static,
) -> Arc<dyn Store> {
    Arc::new(ObservedStore::new(store, tell))
}
