//! Tools over whole Zarr hierarchies, whatever their dialects and stores.
//!
//! - [`copy()`] copies and converts groups and arrays.
//! - [`codec()`] parses the short text by which people name a codec.
//!
//! The crate `zarr` has all of this under the same names.

#![forbid(unsafe_code)]

mod copy;
mod shorthand;

pub use copy::{CopyOptions, Progress, copy};
pub use shorthand::codec;
