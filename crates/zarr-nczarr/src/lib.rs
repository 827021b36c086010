//! NCZarr: the netCDF-4 data model on Zarr.
//!
//! Groups, dimensions that variables share, variables, and attributes with types, in any store and any dialect that
//! the caller's registry knows. Any other Zarr data is read as such a dataset, too.
//!
//! - [`Dataset`], [`Group`], [`Variable`]: handles on a dataset in a store. [`Slab`]: elements of a variable.
//! - [`schema`]: a whole dataset as defined, in memory. [`Type`], [`Values`]: types, and values of one of them.
//! - `cdl`: datasets as text (feature `cdl`, on by default in this crate).
//! - [`NewDataset`], [`DatasetOptions`], [`NcUrl`]: how datasets are created, opened and named.
//!
//! ```
//! use zarr_core::Registry;
//! use zarr_core::store::from_sync;
//! use zarr_nczarr::schema::Variable;
//! use zarr_nczarr::{Dataset, DatasetOptions, Dimension, NewDataset, Type};
//!
//! # fn main() -> zarr_core::Result<()> {
//! let registry = Registry::new().with(zarr_codecs::register);
//! let store = from_sync(zarr_stores::MemoryStore::new());
//! let dataset = Dataset::create(store, &NewDataset::nczarr_v2(), &DatasetOptions::new(registry))?;
//! let root = dataset.root();
//! root.define_dimension(Dimension::unlimited("time"))?;
//! root.define_dimension(Dimension::new("x", 3))?;
//! let temperature = root.define_variable(&Variable::new("t", Type::Float, ["time", "x"]))?;
//! temperature.set_attribute("units", "K")?;
//! temperature.append(vec![280.5f32, 281.0, 281.5])?;
//! assert_eq!(dataset.dimension("/time")?.len, 1);
//! # Ok(())
//! # }
//! ```
//!
//! The repository's page `docs/nczarr.md` tells what is stored, and where it differs from netcdf-c.

#![forbid(unsafe_code)]

#[cfg(feature = "cdl")]
pub mod cdl;
mod documents;
mod edit;
mod handles;
mod model;
mod url;

pub use documents::narrow::narrow_characters;
pub use edit::copy::convert::Conversion;
pub use edit::copy::draft::{CopyTarget, Draft, DraftVariable};
pub use edit::copy::plan::Other;
pub use edit::copy::plan::Plan;
pub use edit::create::NewDataset;
pub use handles::dataset::Dataset;
pub use handles::group::Group;
pub use handles::variable::Variable;
pub use model::name::{NameIndex, check_name, composed, is_reserved, is_virtual};
pub use model::options::{DatasetOptions, Lengths, Profile};
pub use model::schema::{self, Attribute, Dimension, Endian, Filter};
pub use model::slab::Slab;
pub use model::types::Type;
pub use model::values::{AttributeValue, Values};
pub use url::{NcUrl, Storage, open_url};
