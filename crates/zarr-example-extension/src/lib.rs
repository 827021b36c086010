//! Shows how a third party's crate adds to Zarr.
//!
//! Each file is one extension, needs nothing but `zarr-core`, and is there to be copied.
//!
//! | file | what it adds | its traits |
//! | --- | --- | --- |
//! | [`run_length`] | a codec | `BytesToBytes` |
//! | [`fixed_point`] | a data type with a fallback | `ExtensionType` |
//! | [`offset_grid`] | a chunk grid that grows at both ends | `ChunkGrid` |
//! | [`last_axis_first`] | a chunk key encoding | `ChunkKeyEncoding` |
//! | [`squeezed`] | a storage transformer | none, a function |
//! | [`morton`] | a memory layout | `ArrayToArray` |
//! | [`cbor`] | a metadata encoding | `MetadataEncoding` |
//! | [`pack`] | a store | `Store` and its four sides |
//! | [`mod@unit`] | a protocol extension that must be understood | none, a function |
//!
//! A program knows them all once it has called [`register`]:
//!
//! ```
//! use zarr_core::{Dialect, Registry};
//!
//! let registry = Registry::new().with(zarr_example_extension::register);
//! assert!(registry.codec_names(Dialect::V3).contains(&zarr_example_extension::run_length::URI));
//! ```

#![forbid(unsafe_code)]

pub mod cbor;
pub mod fixed_point;
pub mod last_axis_first;
pub mod morton;
pub mod offset_grid;
pub mod pack;
pub mod run_length;
pub mod squeezed;
pub mod unit;

use std::sync::Arc;

use zarr_core::Registry;

pub use self::cbor::Cbor;
pub use self::fixed_point::FixedPoint;
pub use self::last_axis_first::LastAxisFirst;
pub use self::offset_grid::OffsetGrid;
pub use self::pack::PackStore;

/// Adds everything here to what a program knows.
pub fn register(registry: &mut Registry) {
    registry.codec(&run_length::NAMES, run_length::build);
    registry.codec(&morton::NAMES, morton::build);
    registry.data_type(fixed_point::build);
    registry.grid(offset_grid::URI, offset_grid::build);
    registry.key_encoding(last_axis_first::URI, last_axis_first::build);
    registry.storage_transformer(squeezed::URI, squeezed::apply);
    registry.encoding(Arc::new(Cbor));
    registry.extension(unit::URI, unit::understand);
    registry.scheme("pack", pack::open);
}
