//! What must somebody's store pass?
//!
//! The checks panic at the first broken promise and say which one it is, so a store's test is
//!
//! ```
//! # use std::sync::Arc;
//! # use zarr_core::store::Store;
//! # fn example<MyStore: Store + Default>() {
//! zarr_core::testkit::check_store(|| Arc::new(MyStore::default()));
//! # }
//! ```

mod store;
mod swap;

pub use store::{check_contents, check_store, check_store_folding_case};

#[cfg(test)]
mod tests;
