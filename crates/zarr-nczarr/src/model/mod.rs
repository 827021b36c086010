//! The model of netCDF in memory: definitions, types, values, names and selections.
//!
//! Nothing here opens a store or reads a document. [`schema`] holds the definitions of a dataset, [`types`] and [`values`] what
//! attributes and variables hold, [`attribute`] and [`elements`] convert those to JSON and to elements of Zarr, [`name`] checks
//! names, [`root`] finds them, [`slab`] selects elements, [`chunks`] chooses chunk shapes.

pub(crate) mod attribute;
pub(crate) mod chunks;
pub(crate) mod elements;
pub(crate) mod name;
pub(crate) mod options;
pub(crate) mod root;
pub mod schema;
pub(crate) mod slab;
pub(crate) mod types;
pub(crate) mod values;
