//! The messages of object headers, each in a file of its own.

pub(crate) mod attribute;
pub mod dataspace;
pub mod datatype;
pub(crate) mod fill;
pub mod filters;
pub(crate) mod layout;
pub mod link;
