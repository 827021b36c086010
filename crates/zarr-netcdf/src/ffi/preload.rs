//! Registers the plug-in in programs whose netCDF library loads none by itself: 4.9.x.
//!
//! `zarr netcdf-plugin --exec PROGRAM` starts a program with this library in `LD_PRELOAD`. When it is loaded, it looks for netCDF's
//! `nc_def_user_format` in the process, and calls it. Without the environment variable, as when netCDF 4.10 loads it, it does
//! nothing.

use std::ffi::{c_char, c_int, c_void};

use super::table::{Table, zarr_netcdf_udf0, zarr_netcdf_udf1};

/// The variable that `zarr netcdf-plugin --exec` sets.
const VARIABLE: *const c_char = c"ZARR_NETCDF_REGISTER".as_ptr();

/// The flags of the only two slots that 4.9.0 has.
const NC_UDF0: c_int = 0x40;
const NC_UDF1: c_int = 0x80;

#[used]
// SAFETY: the section has functions that the dynamic linker calls when it has loaded the library.
#[unsafe(link_section = ".init_array")]
static REGISTER: extern "C" fn() = register;

/// Calls netCDF's function, if the process has it. Nothing of Rust's that needs its runtime is used: `main` has not begun.
extern "C" fn register() {
    // SAFETY: the names end with a zero; nobody changes the environment before `main` begins.
    let define = unsafe {
        if libc::getenv(VARIABLE).is_null() {
            return;
        }
        libc::dlsym(libc::RTLD_DEFAULT, c"nc_def_user_format".as_ptr())
    };
    if define.is_null() {
        // A shell, or another program without netCDF.
        return;
    }
    // SAFETY: netCDF declares it so since 4.9.0: it keeps the table, which is a static, and copies the beginning of the files.
    unsafe {
        let define: extern "C" fn(c_int, *const Table, *const c_char) -> c_int =
            std::mem::transmute::<*mut c_void, _>(define);
        // What fails here, the program says when it opens a file.
        define(NC_UDF0, zarr_netcdf_udf0(), c"{".as_ptr());
        define(NC_UDF1, zarr_netcdf_udf1(), c"PK".as_ptr());
    }
}
