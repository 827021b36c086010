//! A plug-in of netcdf-c with which every netCDF program opens Zarr data: ncdump, nccopy, NCO, netCDF4-python, xarray, R.
//!
//! netcdf-c 4.10 loads it by two lines of `~/.ncrc`, which `zarr netcdf-plugin --install` writes, and earlier releases
//! by their call `nc_def_user_format`. The library knows no symbol of netcdf-c: one file serves all releases whose
//! dispatch table has version 5, 4.9.0 and later.
//!
//! ```text
//! NETCDF.UDF2.LIBRARY=/usr/local/lib/libzarr_netcdf.so
//! NETCDF.UDF2.INIT=zarr_netcdf_udf2
//! NETCDF.UDF2.MAGIC={
//! ```
//!
//! What a program opens is a document of the data, `data.zarr/zarr.json`, or a zip archive: netcdf-c wants a file whose
//! first bytes it can read. It creates data by a URL, `file:///data.zarr#mode=netcdf-4,udf2`.
//!
//! - `ffi`: the dispatch table, its functions, and all unsafe code.
//! - `index`: an open dataset with netCDF's numbers for its groups, dimensions, variables and types. `load` makes it.
//! - `create`, `define`, `store`: a new dataset, what a program adds to one, and how that is stored.
//! - `types`, `own_types`: netCDF's numbers for types; bools and complex numbers, which programs define themselves.
//! - `location`: what a path or URL of a netCDF program means. `open_files`: what is open.
//! - `request`, `read`, `write`, `gathered`, `convert`: which elements are read or written, when, and how they reach the caller's
//!   memory.
//! - `codes`, `report`: netCDF's status codes, and the sentence that goes with one. `filters`: HDF5's numbers of filters.
//! - `settings`: environment variables.
//!
//! The repository's page `docs/tasks/netcdf-programs.md` tells what to type in each program.

mod codes;
mod convert;
mod create;
mod define;
#[allow(unsafe_code)]
pub mod ffi;
mod filters;
mod gathered;
mod index;
mod load;
mod location;
mod open_files;
mod own_types;
mod read;
mod report;
mod request;
mod settings;
mod store;
mod types;
mod write;
