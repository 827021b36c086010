//! What would change a file, which is read-only.

use std::ffi::{c_int, c_uint};

use super::guarded;
use super::pointers::{Data, Lengths, Out, Strides, Text, Unused};
use crate::codes::{EPERM, Failure};

/// Functions that have nothing to say but that.
macro_rules! refused {
    ($($name:ident($($ty:ty),*);)*) => {$(
        pub extern "C" fn $name($(_: $ty),*) -> c_int {
            EPERM
        }
    )*};
}

refused! {
    redef(c_int);
    _enddef(c_int, usize, usize, usize, usize);
    set_fill(c_int, c_int, Out<c_int>);
    def_dim(c_int, Text, usize, Out<c_int>);
    rename_dim(c_int, c_int, Text);
    rename_att(c_int, c_int, Text, Text);
    del_att(c_int, c_int, Text);
    put_att(c_int, c_int, Text, c_int, usize, Unused, c_int);
    def_var(c_int, Text, c_int, c_int, Unused, Out<c_int>);
    rename_var(c_int, c_int, Text);
    put_vara(c_int, c_int, Lengths, Lengths, Unused, c_int);
    put_vars(c_int, c_int, Lengths, Lengths, Strides, Unused, c_int);
    put_varm(c_int, c_int, Lengths, Lengths, Strides, Strides, Unused, c_int);
    def_var_fill(c_int, c_int, c_int, Unused);
    def_grp(c_int, Text, Out<c_int>);
    rename_grp(c_int, Text);
    def_compound(c_int, usize, Text, Out<c_int>);
    insert_compound(c_int, c_int, Text, usize, c_int);
    insert_array_compound(c_int, c_int, Text, usize, c_int, c_int, Unused);
    def_vlen(c_int, Text, c_int, Out<c_int>);
    put_vlen_element(c_int, c_int, Unused, usize, Unused);
    get_vlen_element(c_int, c_int, Unused, Out<usize>, Data);
    def_enum(c_int, c_int, Text, Out<c_int>);
    insert_enum(c_int, c_int, Text, Unused);
    def_opaque(c_int, usize, Text, Out<c_int>);
    def_var_deflate(c_int, c_int, c_int, c_int, c_int);
    def_var_fletcher32(c_int, c_int, c_int);
    def_var_chunking(c_int, c_int, c_int, Unused);
    def_var_endian(c_int, c_int, c_int);
    def_var_filter(c_int, c_int, c_uint, usize, Unused);
    def_var_quantize(c_int, c_int, c_int, c_int);
}

/// Creates nothing, and says with which program Zarr data are written.
pub extern "C" fn create(
    path: Text,
    _: c_int,
    _: usize,
    _: c_int,
    _: Out<usize>,
    _: Unused,
    _: Unused,
    _: c_int,
) -> c_int {
    guarded(|| {
        let path = path.get()?;
        let why = "this plug-in is read-only; write a netCDF file, and convert it to Zarr with another program";
        Err(Failure::new(EPERM, format!("{path}: {why}")))
    })
}
