//! The environment variables that the plug-in reads. A program has no other way to give it options.

use crate::report;

/// The most bytes of decoded chunks that a dataset keeps, if `ZARR_NETCDF_CACHE` does not say it. Programs read row by
/// row; without a cache each row would decode its chunk again.
const DEFAULT_CACHE_BYTES: u64 = 64 << 20;

/// `ZARR_NETCDF_CACHE`: the most bytes of decoded chunks that a dataset keeps; 0 for none. Something else than a number
/// leaves the default, and is named on standard error.
pub fn cache_bytes() -> u64 {
    let Ok(text) = std::env::var("ZARR_NETCDF_CACHE") else { return DEFAULT_CACHE_BYTES };
    text.trim().parse().unwrap_or_else(|_| {
        let what =
            format!("expected a number of bytes, found `{text}`; using {DEFAULT_CACHE_BYTES}");
        report::print_once(&format!("ZARR_NETCDF_CACHE: {what}"));
        DEFAULT_CACHE_BYTES
    })
}

/// `ZARR_NETCDF_QUIET`: whether nothing is printed on standard error.
pub fn is_quiet() -> bool {
    std::env::var_os("ZARR_NETCDF_QUIET").is_some_and(|value| !value.is_empty() && value != "0")
}

/// `ZARR_NETCDF_FILTERS=all`: whether filters are told that netcdf-c reads by plug-ins of HDF5 only. Else nccopy and NCO,
/// which ask for the same filters in their output, fail where those plug-ins are missing.
pub fn tells_all_filters() -> bool {
    std::env::var("ZARR_NETCDF_FILTERS").is_ok_and(|value| value == "all")
}
