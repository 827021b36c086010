//! The integration tests of `zarr-plot`: one program, a module for each subject.

mod meaning;
mod picture;
mod stats;
