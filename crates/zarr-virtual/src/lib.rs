//! Data in other files, read in place as Zarr, without a copy.
//!
//! A [`Source`] knows where the bytes of each key lie; [`ReferenceStore`] is the store of what it refers to, read-only. Nodes
//! without a document of Zarr's get one, in final v3, when they are asked for.
//!
//! ```
//! use zarr_core::Registry;
//!
//! let registry = Registry::new().with(zarr_virtual::register);
//! ```

#![forbid(unsafe_code)]
// Without any format, what opens them has no callers.
#![cfg_attr(
    not(any(
        feature = "references",
        feature = "n5",
        feature = "netcdf3",
        feature = "hdf5",
        feature = "icechunk"
    )),
    allow(dead_code, unused_imports)
)]

mod gather;
#[cfg(feature = "hdf5")]
pub mod hdf5;
#[cfg(feature = "icechunk")]
pub mod icechunk;
mod location;
#[cfg(any(feature = "n5", feature = "hdf5"))]
mod lz4;
#[cfg(feature = "n5")]
pub mod n5;
#[cfg(feature = "netcdf3")]
pub mod netcdf3;
mod open;
#[cfg(feature = "references-parquet")]
pub mod parquet;
#[cfg(any(feature = "references", feature = "icechunk"))]
pub mod reach;
#[cfg(feature = "references")]
pub mod references;
mod shared_error;
#[cfg(any(feature = "references", feature = "icechunk"))]
mod shared_work;
mod source;
mod store;
mod target;
#[cfg(any(feature = "references", feature = "icechunk"))]
mod targets;

pub use self::location::split_file;
pub use self::source::{Made, Make, Reference, Source, capabilities_over};
pub use self::store::ReferenceStore;
pub use self::target::Target;
#[cfg(any(feature = "references", feature = "icechunk"))]
pub use self::targets::OpenTargetStore;

/// Adds the formats of this build to what a program knows: the URLs `kerchunk::URL`, `n5::URL` and `netcdf3::URL`, N5's codec of
/// Java's LZ4, and what finds data of these formats where no Zarr data are.
pub fn register(registry: &mut zarr_core::Registry) {
    open::register(registry);
    #[cfg(feature = "n5")]
    registry.codec(&n5::lz4_block::NAMES, n5::lz4_block::build);
    #[cfg(feature = "hdf5")]
    hdf5::register_codecs(registry);
}
