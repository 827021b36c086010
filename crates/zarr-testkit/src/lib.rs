//! Checks that a third party's store, codec, data type, chunk grid or chunk key encoding keeps its promises, and has stores for tests.
//!
//! The checks panic at the first broken promise and say which one it is, so a store's test is
//!
//! ```
//! # use zarr_core::store::{SyncStore, from_sync};
//! # fn example<MyStore: SyncStore + Default>() {
//! zarr_testkit::check_store(|| from_sync(MyStore::default()));
//! # }
//! ```
//!
//! and those of a codec, a data type and a grid, which a registry knows by name, are
//!
//! ```
//! # use std::sync::Arc;
//! use zarr_core::codec::CodecSpec;
//! use zarr_core::{Dialect, Json, Object, Registry};
//! # use zarr_core::grid::{ChunkGrid, RegularGrid};
//! # fn example(register: fn(&mut Registry)) -> zarr_core::Result<()> {
//! let registry = Registry::new().with(register);
//! zarr_testkit::check_codec(&registry, &CodecSpec::v3("my-codec", Object::new().with("level", 3u64)));
//! zarr_testkit::check_data_type(&registry, Dialect::V2, &Json::from("<M8[ns]"), &[Json::from(7u64)]);
//! # let grid: Arc<dyn ChunkGrid> = Arc::new(RegularGrid::new(&[3], &[10])?);
//! zarr_testkit::check_grid(&registry, &grid, &[10]);
//! # Ok(())
//! # }
//! ```
//!
//! For tests of what uses a store, [`record`] notes the calls on it, and [`Remote`] makes any store a remote one. On an
//! [`ObservedStore`](zarr_core::store::ObservedStore), [`Counters`] count calls, [`Latency`] delays them, and [`Faults`] let some
//! of them fail. [`forward_calls!`] writes the rest of a store that changes few calls; [`ShortCalls`] are short forms of the calls.
//!
//! [`run_test_again`] runs a test of the same program in a process of its own. [`sample`] says how much of a long sweep a test tries, and [`skipped`] names
//! what a test does not try here.

#![forbid(unsafe_code)]

mod bytes;
mod child;
mod codec;
mod count;
mod create;
mod data_type;
mod fault;
mod forward;
mod grid;
mod key_encoding;
mod latency;
mod memory;
mod reading;
mod record;
mod remote;
mod sample;
mod shared;
mod short;
mod skip;
mod storage_transformer;
mod store;
mod swap;

pub use child::{peak_memory, run_test_again, test_command, test_name};
pub use codec::{check_codec, check_codec_on, check_lossy_codec, check_lossy_codec_on};
pub use count::{Count, Counters};
pub use data_type::{check_data_type, check_data_types_differ};
pub use fault::{Fault, Faults};
pub use grid::check_grid;
pub use key_encoding::check_key_encoding;
pub use latency::Latency;
pub use record::{Records, record};
pub use remote::Remote;
pub use sample::sample;
pub use short::ShortCalls;
pub use skip::skipped;
pub use storage_transformer::check_storage_transformer;
pub use store::{check_contents, check_store, check_store_folding_case};
#[doc(hidden)]
pub use zarr_core;

#[cfg(test)]
mod reading_tests;
#[cfg(test)]
mod tests;
