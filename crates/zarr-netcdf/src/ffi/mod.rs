//! The dispatch table that netcdf-c calls, and its functions: the only code here that meets C.
//!
//! A pointer that comes from netcdf-c is a type of `pointers` that says what it points to, so that the functions are safe: what
//! netcdf-c promises about a pointer is promised where its type is made, which only C does, or a caller of an `unsafe`
//! constructor.
//!
//! No function panics into C: each runs in `guarded`.

#![allow(clippy::too_many_arguments, reason = "netCDF's functions have as many")]

mod attributes;
mod data;
mod define;
mod files;
mod inquire;
mod pointers;
#[cfg(target_os = "linux")]
mod preload;
mod refused;
mod table;
mod types;
mod variables;

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

pub use self::pointers::{Data, Input, Lengths, List, Model, NameOut, Out, Strides, Text, Unused};
pub use self::table::Table;
pub use self::table::{
    zarr_netcdf_last_error, zarr_netcdf_udf0, zarr_netcdf_udf1, zarr_netcdf_udf2, zarr_netcdf_udf3,
    zarr_netcdf_udf4, zarr_netcdf_udf5, zarr_netcdf_udf6, zarr_netcdf_udf7, zarr_netcdf_udf8,
    zarr_netcdf_udf9,
};
use crate::codes::{EINTERNAL, NOERR, Result};
use crate::report;

/// Runs a function of the table: a failure becomes its code, and its sentence is printed. So does a panic, which is a mistake
/// in this library, and which must not reach C.
fn guarded(call: impl FnOnce() -> Result<()>) -> c_int {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(())) => NOERR,
        Ok(Err(failure)) => {
            if let Some(sentence) = &failure.sentence {
                report::error(sentence);
            }
            failure.code
        }
        Err(_) => EINTERNAL,
    }
}
