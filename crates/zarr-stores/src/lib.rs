//! The stores of Zarr: where keys and values live.
//!
//! - [`FilesystemStore`] (feature `filesystem`): a folder; keys are files.
//! - [`MemoryStore`] (feature `memory`): a map in this process.
//! - [`LogStore`]: any store, telling of every call made on it.
//!
//! [`register`] teaches a [`Registry`] the URL schemes of the stores that this build has.
//!
//! ```
//! use zarr_core::{Access, Registry};
//!
//! # fn main() -> Result<(), zarr_core::StoreError> {
//! # #[cfg(feature = "memory")] {
//! use zarr_core::store::{Payload, StoreKey};
//!
//! let registry = Registry::new().with(zarr_stores::register);
//! let store = registry.open_store("memory://", Access::ReadWrite)?;
//! let key = StoreKey::new("zarr.json")?;
//! if let (Some(writeable), Some(readable)) = (store.writeable(), store.readable()) {
//!     writeable.set(&key, Payload::from(b"{}".as_slice()))?;
//!     assert_eq!(readable.get(&key)?.as_deref(), Some(b"{}".as_slice()));
//! }
//! # }
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

#[cfg(feature = "filesystem")]
mod filesystem;
mod log;
#[cfg(feature = "memory")]
mod memory;

#[cfg(feature = "filesystem")]
pub use filesystem::FilesystemStore;
pub use log::{Call, LogStore, Outcome};
#[cfg(feature = "memory")]
pub use memory::MemoryStore;
use zarr_core::Registry;

/// Registers the URL schemes of the stores that this build has: `file` and `memory`.
///
/// A text without a scheme is a path, and opened as `file`.
pub fn register(registry: &mut Registry) {
    #[cfg(feature = "filesystem")]
    registry.scheme("file", filesystem::open);
    #[cfg(feature = "memory")]
    registry.scheme("memory", memory::open);
    let _ = registry;
}
