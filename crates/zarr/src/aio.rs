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
use zarr_core::runtime::spawn_blocking;
use zarr_core::{Dialect, NodePath, Object, OpenOptions, Result};

use crate::location::Location;
use crate::near_name::with_near_name;
use crate::{is_inside_store, place_of_new, standard, tools};

/// The async version of [`crate::open`].
///
/// # Errors
/// As [`crate::open`].
pub async fn open(location: impl Location) -> Result<Node> {
    open_with(location, &OpenOptions::new(standard())).await
}

/// The async version of [`crate::open_array`].
///
/// # Errors
/// As [`crate::open_array`].
pub async fn open_array(location: impl Location) -> Result<Array> {
    open(location).await?.into_array()
}

/// The async version of [`crate::open_group`].
///
/// # Errors
/// As [`crate::open_group`].
pub async fn open_group(location: impl Location) -> Result<Group> {
    open(location).await?.into_group()
}

/// The async version of [`crate::open_rw`].
///
/// # Errors
/// As [`crate::open_rw`].
pub async fn open_rw(location: impl Location) -> Result<Node> {
    open_with(location, &OpenOptions::new(standard()).read_write()).await
}

/// The async version of [`crate::open_with`].
///
/// # Errors
/// As [`crate::open_with`].
pub async fn open_with(location: impl Location, options: &OpenOptions) -> Result<Node> {
    let url = location.to_url()?.into_owned();
    Hierarchy::open_node(&url, options).await.map_err(|e| with_near_name(e, &url))
}

/// The async version of [`crate::locate`].
///
/// # Errors
/// As [`crate::locate`].
pub async fn locate(
    location: impl Location,
    options: &OpenOptions,
) -> Result<(Hierarchy, NodePath)> {
    let url = location.to_url()?.into_owned();
    Hierarchy::locate(&url, options).await.map_err(|e| with_near_name(e, &url))
}

/// The async version of [`crate::create`].
///
/// # Errors
/// As [`crate::create`].
pub async fn create(location: impl Location, dialect: Dialect) -> Result<Hierarchy> {
    create_with(location, dialect, &OpenOptions::new(standard())).await
}

/// The async version of [`crate::create_with`].
///
/// # Errors
/// As [`crate::create_with`].
pub async fn create_with(
    location: impl Location,
    dialect: Dialect,
    options: &OpenOptions,
) -> Result<Hierarchy> {
    let url = location.to_url()?.into_owned();
    if let Some(refused) = is_inside_store(&url)
        && Hierarchy::locate(&url, &options.clone().any_dialect()).await.is_err()
    {
        return Err(refused);
    }
    Hierarchy::open_or_create(&url, dialect, options).await
}

/// The async version of [`crate::create_array`].
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> zarr::Result<()> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("new.zarr");
/// let array = zarr::aio::create_array(path.join("ocean/temperature"))
///     .await?
///     .shape([365, 180, 360])
///     .data_type(zarr::DataType::Float32)
///     .create()
///     .await?;
/// assert_eq!(array.path().as_str(), "/ocean/temperature");
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// As [`crate::create_array`].
pub async fn create_array(location: impl Location) -> Result<ArrayBuilder> {
    let place = place_of(location).await?;
    Ok(place.hierarchy.as_async().create_array(place.path))
}

/// The async version of [`crate::create_group`].
///
/// # Errors
/// As [`crate::create_group`].
pub async fn create_group(location: impl Location) -> Result<Group> {
    let place = place_of(location).await?;
    place.hierarchy.as_async().create_group(place.path, Object::new()).await
}

/// The search for the place of a new node blocks, and so runs on one of the library's threads.
async fn place_of(location: impl Location) -> Result<tools::NewPlace> {
    let url = location.to_url()?.into_owned();
    let place = spawn_blocking(move || place_of_new(&url)).await;
    place.expect("the search does not panic")
}
