//! The functions that fuzzers run, by what they read.

pub mod archive;
pub mod chunk;
pub mod codecs;
pub mod documents;
pub mod http;
pub mod listing;
pub mod netcdf;
pub mod program;
pub mod selection;
pub mod text;
