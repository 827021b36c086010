//! Tools over whole Zarr hierarchies, whatever their dialects and stores.
//!
//! - [`copy()`] copies and converts groups and arrays.
//! - [`validate()`](validate()) finds what is wrong with a hierarchy.
//! - [`codec()`] parses the short text by which people name a codec.
//!
//! The crate `zarr` has all of this under the same names.

#![forbid(unsafe_code)]

mod copy;
mod shorthand;
pub mod validate;

pub use copy::{CopyOptions, Progress, copy};
pub use shorthand::codec;
pub use validate::{
    Level, Problem, ProblemKind, Report, ValidateOptions, ValidateProgress, validate,
};
