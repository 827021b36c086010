//! Makes pictures of arrays.
//!
//! A [`View`] says which elements go across and down; [`slice()`] reads them, decoded, in a bounded number of pixels; a [`Stretch`]
//! places values between the ends of a [`ColorMap`]; a [`Raster`] has the pixels, and is a PNG by [`Raster::to_png`].
//!
//! ```
//! use zarr_plot::meaning::{Meaning, MissingRule, axes_of};
//! use zarr_plot::picture::{Along, ColorMap, Ends, PictureError, Raster, Stretch, View, slice};
//!
//! # fn example(array: &zarr_core::Array) -> Result<Vec<u8>, PictureError> {
//! let meaning = Meaning::of(array, MissingRule::Declared);
//! let all = array.shape().iter().map(|&len| Along::all(len)).collect();
//! let view = View::of(&axes_of(array)?, all, (None, None), true)?;
//! let plane = slice(array, &meaning, &view, Some((800, 600)), None)?;
//! let stretch = Stretch::of(&plane, Ends::default(), false, None)?;
//! let raster = Raster::of_values(&plane, stretch.as_ref(), ColorMap::VIRIDIS);
//! raster.to_png()
//! # }
//! ```

mod cells;
mod channels;
mod coast;
mod color_maps;
mod error;
mod figure;
mod histogram;
mod labels;
mod line;
mod paint;
mod plane;
mod raster;
mod scene;
mod sheet;
mod show;
mod sixel;
mod stretch;
mod subject;
mod svg;
mod terminal;
mod text;
mod ticks;
mod view;

pub use self::cells::narrowing_at;
pub use self::channels::{ChannelChoice, ChannelName};
pub use self::coast::{COAST_BYTES, coast};
pub use self::color_maps::ColorMap;
pub use self::error::PictureError;
pub use self::figure::{LEAST_SIZE, MOST_SIDE, USUAL_SIZE, positions};
pub use self::histogram::{Histogram, histogram};
pub use self::labels::LabelColors;
pub use self::line::Line;
pub(crate) use self::plane::decoded;
pub use self::plane::{MOST_PIXELS, Plane, Reduce, bytes_to_read, slice, slice_in_blocks};
pub use self::raster::{Raster, label_color};
pub use self::scene::Scene;
pub use self::sheet::{MOST_ON_SHEET, sheet};
pub use self::show::{Legend, Overlay, Rendering, Style, USUAL_OPACITY};
pub use self::stretch::{Ends, Stretch};
pub use self::subject::Subject;
pub use self::terminal::{Terminal, draw_line};
pub use self::ticks::number;
pub use self::view::{Along, View};
