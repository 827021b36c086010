//! The integration tests of `zarr-plot`: one program, a module for each subject.

mod geo;
mod meaning;
mod picture;
mod stats;
