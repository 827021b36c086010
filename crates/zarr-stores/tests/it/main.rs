//! The integration tests of `zarr-stores`: one program, a module for each subject.

mod cache;
mod filesystem;
mod forked;
mod lmdb;
mod processes;
mod wrappers;
mod zip;
mod zip_in_store;
