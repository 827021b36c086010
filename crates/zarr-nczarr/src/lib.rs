//! NCZarr: the netCDF-4 data model on Zarr.
//!
//! Groups, dimensions that variables share, variables, and attributes with types, in any store and any dialect that
//! the caller's registry knows.
//!
//! - [`Type`], [`Values`]: the types of netCDF, and values of one of them.
//! - [`schema`]: a whole dataset as defined, in memory.
//! - [`check_name`]: what groups, dimensions, variables and attributes may be called.

#![forbid(unsafe_code)]

mod attribute;
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
mod lenient;
mod load;
mod name;
pub mod schema;
mod slab;
mod text_type;
mod types;
mod url;
mod values;
mod variable;

pub use copy::Plan;
pub use create::NewDataset;
pub use dataset::{Dataset, DatasetOptions, Lengths, Profile};
pub use group::Group;
pub use name::{check_name, is_reserved, is_virtual};
pub use schema::{Attribute, Dimension, Endian, Filter};
pub use slab::Slab;
pub use types::Type;
pub use url::{NcUrl, Storage, open_url};
pub use values::{AttributeValue, Values};
pub use variable::Variable;
