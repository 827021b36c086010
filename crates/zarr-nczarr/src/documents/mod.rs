//! Documents of netCDF: how each era wrote groups, arrays and attributes, and the definitions that they hold.
//!
//! [`node_documents`] parses and writes the members that NCZarr adds to documents of Zarr, [`node_attributes`] the attributes with
//! their types; [`format`] and [`lenient`] make
//! what netCDF's libraries write into what Zarr's own readers take; [`inline`] finds documents that are all in the root's, and
//! [`narrow`] opens plain Zarr of old libraries. [`load`] reads all documents of a dataset into definitions, [`load_variable`] those of an array, [`infer`] finds
//! dimensions where no document names them. [`filter`] converts codecs, [`text_type`] the data types of text.

pub(crate) mod filter;
pub(crate) mod format;
pub(crate) mod infer;
pub(crate) mod inline;
pub(crate) mod lenient;
pub(crate) mod load;
pub(crate) mod load_variable;
pub(crate) mod narrow;
pub(crate) mod node_attributes;
pub(crate) mod node_documents;
pub(crate) mod text_type;
