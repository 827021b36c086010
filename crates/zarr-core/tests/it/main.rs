//! The integration tests of `zarr-core`: one program, a module for each subject.

mod data_types;
mod generated_handles;
