//! The integration tests of `zarr-codecs`: one program, a module for each subject.

mod chains;
mod common;
mod kinds;
mod kit;
mod properties;
