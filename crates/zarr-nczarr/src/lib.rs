//! NCZarr: the netCDF-4 data model on Zarr.
//!
//! Groups, dimensions that variables share, variables, and attributes with types, in any store and any dialect that
//! the caller's registry knows. Any other Zarr data is read as such a dataset, too.
//!
//! - [`Dataset`], [`Group`], [`Variable`]: handles on what is in a store. [`Slab`]: elements of a variable.
//! - [`schema`]: a whole dataset as defined, in memory. [`Type`], [`Values`]: types, and values of one of them.
//! - [`cdl`]: datasets as text.
//! - [`NewDataset`], [`DatasetOptions`], [`NcUrl`]: how datasets begin, are opened and are called.
//!
//! ```
//! use std::sync::Arc;
//!
//! use zarr_core::Registry;
//! use zarr_nczarr::schema::Variable;
//! use zarr_nczarr::{Dataset, DatasetOptions, Dimension, NewDataset, Type};
//!
//! # fn main() -> zarr_core::Result<()> {
//! let registry = Registry::new().with(zarr_codecs::register);
//! let store = Arc::new(zarr_stores::MemoryStore::new());
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

mod annotate;
mod attribute;
pub mod cdl;
mod chunks;
mod copy;
mod create;
mod dataset;
mod define;
mod documents;
mod elements;
mod filter;
mod format;
mod group;
mod grow;
mod infer;
mod inline;
mod lenient;
mod load;
mod make;
mod missing;
mod name;
mod narrow;
mod others;
mod redefine;
mod rename;
pub mod schema;
mod slab;
mod text_type;
mod texts;
mod types;
mod url;
mod values;
mod variable;

pub use copy::Plan;
pub use create::NewDataset;
pub use dataset::{Dataset, DatasetOptions, Lengths, Profile};
pub use group::Group;
pub use name::{check_name, composed, is_reserved, is_virtual};
pub use narrow::narrow_characters;
pub use others::Other;
pub use schema::{Attribute, Dimension, Endian, Filter};
pub use slab::Slab;
pub use types::Type;
pub use url::{NcUrl, Storage, open_url};
pub use values::{AttributeValue, Values};
pub use variable::Variable;
