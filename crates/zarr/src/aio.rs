//! The same names for async callers.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> zarr::Result<()> {
//! let hierarchy = zarr::aio::create("memory://waiting", zarr::Dialect::V3).await?;
//! let array = hierarchy
//!     .create_array("/a")
//!     .shape(&[100, 100])
//!     .chunks(&[10, 100])
//!     .data_type_named("int32")
//!     .create()
//!     .await?;
//! array.write((3, ..), vec![7; 100]).await?;
//! assert_eq!(array.read::<i32>((2..4, 0)).await?, [0, 7]);
//! # Ok(())
//! # }
//! ```

pub use zarr_core::aio::*;
use zarr_core::{Dialect, NodePath, OpenOptions, Result};

use crate::standard;

/// The async version of [`crate::open`].
///
/// # Errors
/// As [`crate::open`].
pub async fn open(url: &str) -> Result<Node> {
    open_with(url, &OpenOptions::new(standard())).await
}

/// The async version of [`crate::open_array`].
///
/// # Errors
/// As [`crate::open_array`].
pub async fn open_array(url: &str) -> Result<Array> {
    open(url).await?.into_array()
}

/// The async version of [`crate::open_group`].
///
/// # Errors
/// As [`crate::open_group`].
pub async fn open_group(url: &str) -> Result<Group> {
    open(url).await?.into_group()
}

/// The async version of [`crate::open_rw`].
///
/// # Errors
/// As [`crate::open_rw`].
pub async fn open_rw(url: &str) -> Result<Node> {
    open_with(url, &OpenOptions::new(standard()).read_write()).await
}

/// The async version of [`crate::open_with`].
///
/// # Errors
/// As [`crate::open_with`].
pub async fn open_with(url: &str, options: &OpenOptions) -> Result<Node> {
    Hierarchy::open_node(url, options).await
}

/// The async version of [`crate::locate`].
///
/// # Errors
/// As [`crate::locate`].
pub async fn locate(url: &str, options: &OpenOptions) -> Result<(Hierarchy, NodePath)> {
    Hierarchy::locate(url, options).await
}

/// The async version of [`crate::create`].
///
/// # Errors
/// As [`crate::create`].
pub async fn create(url: &str, dialect: Dialect) -> Result<Hierarchy> {
    create_with(url, dialect, &OpenOptions::new(standard())).await
}

/// The async version of [`crate::create_with`].
///
/// # Errors
/// As [`crate::create_with`].
pub async fn create_with(url: &str, dialect: Dialect, options: &OpenOptions) -> Result<Hierarchy> {
    Hierarchy::open_or_create(url, dialect, options).await
}
