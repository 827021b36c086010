//! Makes tiles of maps from arrays that are placed on Earth.
//!
//! A [`Layer`] is an array with its levels of lower resolution; [`Layer::tile`] reads the pixels of one [`Tile`] of a
//! [`TileMatrixSet`] from the level that has about as many elements as the tile has pixels.
//!
//! ```
//! use zarr_plot::map::{Layer, MapError, Resampling, Tile, TileMatrixSet, Wanted};
//!
//! # fn example(array: zarr_core::Array) -> Result<(), MapError> {
//! let layer = Layer::open(array)?;
//! let tile = Tile::new(TileMatrixSet::WebMercatorQuad, 0, 0, 0).expect("the tile of the whole world");
//! let wanted = Wanted::new(tile, vec![0; layer.subject().axes.len()]);
//! // One value for each of 256 × 256 pixels, NaN where there is none.
//! let plane = layer.tile(&wanted, &|array| array.clone())?;
//! # Ok(())
//! # }
//! ```

mod error;
mod layer;
mod matrix;
mod places;
mod read;
mod resample;

pub use self::error::MapError;
pub use self::layer::{Layer, Resampling, Wanted};
pub use self::matrix::{TILE_SIZE, Tile, TileMatrixSet};
