//! Read, write and convert Zarr arrays of every dialect: v2, final v3, and the v3 draft of 2020.
//!
//! ```
//! # fn main() -> zarr::Result<()> {
//! # let dir = tempfile::tempdir().unwrap();
//! # let path = dir.path().join("example.zarr");
//! # let path = path.to_str().unwrap();
//! let hierarchy = zarr::create(path, zarr::Dialect::V3)?;
//! let array = hierarchy
//!     .create_array(&"/temperature".parse()?)
//!     .shape(&[365, 180, 360])
//!     .chunks(&[1, 90, 90])
//!     .data_type_named("float32")
//!     .codec(zarr::codec("zstd:3")?)
//!     .create()?;
//! array.write((0, 10..12, ..), &vec![21.5f32; 2 * 360])?;
//!
//! let array = zarr::open(path)?.into_group()?.array("temperature")?;
//! let row: Vec<f32> = array.read((0, 10, ..))?;
//! assert_eq!(row, vec![21.5; 360]);
//! # Ok(())
//! # }
//! ```
//!
//! Everything of `zarr-core` is here, too; codecs and stores come with this crate's features.

#![forbid(unsafe_code)]

pub mod aio;
mod copy;
mod shorthand;

pub use copy::{CopyOptions, Progress, copy};
pub use shorthand::codec;
pub use zarr_codecs as codecs;
pub use zarr_core::*;
#[cfg(feature = "nczarr")]
pub use zarr_nczarr as nczarr;
pub use zarr_stores as stores;

/// Everything that this build brings: the core's data types, the codecs and the stores of its features.
pub fn standard() -> Registry {
    Registry::new().with(zarr_codecs::register).with(zarr_stores::register)
}

/// The group or array that a path or URL means, for reading: the root of a hierarchy, or a node inside.
///
/// # Errors
/// [`AccessError::NotFound`] listing what was looked for; for documents that break their specification.
pub fn open(url: &str) -> Result<Node> {
    open_with(url, &OpenOptions::new(standard()))
}

/// The group or array that a path or URL means, for reading and writing.
///
/// # Errors
/// As [`open`].
pub fn open_rw(url: &str) -> Result<Node> {
    open_with(url, &OpenOptions::new(standard()).read_write())
}

/// The group or array that a path or URL means, opened as the caller chooses.
///
/// # Errors
/// As [`open`].
pub fn open_with(url: &str, options: &OpenOptions) -> Result<Node> {
    Hierarchy::open_node(url, options)
}

/// The hierarchy that a path or URL means, and the node in it.
///
/// # Errors
/// As [`open`], but for the node itself.
pub fn locate(url: &str, options: &OpenOptions) -> Result<(Hierarchy, NodePath)> {
    Hierarchy::locate(url, options)
}

/// The hierarchy at a path or URL, to be written to: a new one, or the one of that dialect that is there.
///
/// # Errors
/// [`AccessError::Argument`] if one of another dialect is there.
pub fn create(url: &str, dialect: Dialect) -> Result<Hierarchy> {
    create_with(url, dialect, &OpenOptions::new(standard()))
}

/// As [`create`], opened as the caller chooses.
///
/// # Errors
/// As [`create`].
pub fn create_with(url: &str, dialect: Dialect, options: &OpenOptions) -> Result<Hierarchy> {
    Hierarchy::open_or_create(url, dialect, options)
}
