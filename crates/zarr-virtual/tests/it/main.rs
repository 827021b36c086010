//! Reads files that other implementations wrote, and compares what they read themselves.

mod common;
mod hdf5;
mod icechunk;
mod joined;
mod merged;
mod n5;
mod netcdf3;
mod parquet;
mod references;
mod requests;
