//! The integration tests of `zarr-netcdf`: the functions of the dispatch table are called as netcdf-c calls them, without it. What
//! programs make of them is tested in `tests/programs.py`.

#![allow(unsafe_code, reason = "the tests stand in for C")]

mod any_calls;
mod attributes;
mod common;
mod exports;
mod groups;
mod hostile;
mod opening;
mod reading;
mod threads;
mod types;
mod variables;
mod writing;
