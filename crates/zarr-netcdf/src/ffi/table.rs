//! The dispatch table: what netcdf-c calls for each of its functions (include/netcdf_dispatch.h, version 5).

use std::ffi::{c_char, c_int, c_longlong, c_uint};
use std::mem::offset_of;

use super::pointers::{Data, Input, Lengths, List, Model, NameOut, Out, Strides, Text, Unused};
use super::{attributes, data, define, files, inquire, refused, types, variables};
use crate::report;

/// The version of the table, the same from netcdf-c 4.9.0 on.
const DISPATCH_VERSION: c_int = 5;

type I = Out<c_int>;
type Z = Out<usize>;
type U = Out<c_uint>;

/// `struct NC_Dispatch`.
#[repr(C)]
#[allow(missing_docs, reason = "netCDF's documentation tells what each function does")]
pub struct Table {
    /// Which format it is: the `NC_FORMATX` of a slot.
    pub model: c_int,
    pub dispatch_version: c_int,
    pub create: extern "C" fn(Text, c_int, usize, c_int, Z, Unused, Model, c_int) -> c_int,
    pub open: extern "C" fn(Text, c_int, c_int, Z, Unused, Model, c_int) -> c_int,
    pub redef: extern "C" fn(c_int) -> c_int,
    pub _enddef: extern "C" fn(c_int, usize, usize, usize, usize) -> c_int,
    pub sync: extern "C" fn(c_int) -> c_int,
    pub abort: extern "C" fn(c_int) -> c_int,
    pub close: extern "C" fn(c_int, Unused) -> c_int,
    pub set_fill: extern "C" fn(c_int, c_int, I) -> c_int,
    pub inq_format: extern "C" fn(c_int, I) -> c_int,
    pub inq_format_extended: extern "C" fn(c_int, I, I) -> c_int,
    pub inq: extern "C" fn(c_int, I, I, I, I) -> c_int,
    pub inq_type: extern "C" fn(c_int, c_int, NameOut, Z) -> c_int,
    pub def_dim: extern "C" fn(c_int, Text, usize, I) -> c_int,
    pub inq_dimid: extern "C" fn(c_int, Text, I) -> c_int,
    pub inq_dim: extern "C" fn(c_int, c_int, NameOut, Z) -> c_int,
    pub inq_unlimdim: extern "C" fn(c_int, I) -> c_int,
    pub rename_dim: extern "C" fn(c_int, c_int, Text) -> c_int,
    pub inq_att: extern "C" fn(c_int, c_int, Text, I, Z) -> c_int,
    pub inq_attid: extern "C" fn(c_int, c_int, Text, I) -> c_int,
    pub inq_attname: extern "C" fn(c_int, c_int, c_int, NameOut) -> c_int,
    pub rename_att: extern "C" fn(c_int, c_int, Text, Text) -> c_int,
    pub del_att: extern "C" fn(c_int, c_int, Text) -> c_int,
    pub get_att: extern "C" fn(c_int, c_int, Text, Data, c_int) -> c_int,
    pub put_att: extern "C" fn(c_int, c_int, Text, c_int, usize, Input, c_int) -> c_int,
    pub def_var: extern "C" fn(c_int, Text, c_int, c_int, List<c_int>, I) -> c_int,
    pub inq_varid: extern "C" fn(c_int, Text, I) -> c_int,
    pub rename_var: extern "C" fn(c_int, c_int, Text) -> c_int,
    pub get_vara: extern "C" fn(c_int, c_int, Lengths, Lengths, Data, c_int) -> c_int,
    pub put_vara: extern "C" fn(c_int, c_int, Lengths, Lengths, Input, c_int) -> c_int,
    pub get_vars: extern "C" fn(c_int, c_int, Lengths, Lengths, Strides, Data, c_int) -> c_int,
    pub put_vars: extern "C" fn(c_int, c_int, Lengths, Lengths, Strides, Input, c_int) -> c_int,
    pub get_varm:
        extern "C" fn(c_int, c_int, Lengths, Lengths, Strides, Strides, Data, c_int) -> c_int,
    pub put_varm:
        extern "C" fn(c_int, c_int, Lengths, Lengths, Strides, Strides, Input, c_int) -> c_int,
    pub inq_var_all: variables::InqVarAll,
    pub var_par_access: extern "C" fn(c_int, c_int, c_int) -> c_int,
    pub def_var_fill: extern "C" fn(c_int, c_int, c_int, Input) -> c_int,
    pub show_metadata: extern "C" fn(c_int) -> c_int,
    pub inq_unlimdims: extern "C" fn(c_int, I, I) -> c_int,
    pub inq_ncid: extern "C" fn(c_int, Text, I) -> c_int,
    pub inq_grps: extern "C" fn(c_int, I, I) -> c_int,
    pub inq_grpname: extern "C" fn(c_int, NameOut) -> c_int,
    pub inq_grpname_full: extern "C" fn(c_int, Z, NameOut) -> c_int,
    pub inq_grp_parent: extern "C" fn(c_int, I) -> c_int,
    pub inq_grp_full_ncid: extern "C" fn(c_int, Text, I) -> c_int,
    pub inq_varids: extern "C" fn(c_int, I, I) -> c_int,
    pub inq_dimids: extern "C" fn(c_int, I, I, c_int) -> c_int,
    pub inq_typeids: extern "C" fn(c_int, I, I) -> c_int,
    pub inq_type_equal: extern "C" fn(c_int, c_int, c_int, c_int, I) -> c_int,
    pub def_grp: extern "C" fn(c_int, Text, I) -> c_int,
    pub rename_grp: extern "C" fn(c_int, Text) -> c_int,
    pub inq_user_type: extern "C" fn(c_int, c_int, NameOut, Z, I, Z, I) -> c_int,
    pub inq_typeid: extern "C" fn(c_int, Text, I) -> c_int,
    pub def_compound: extern "C" fn(c_int, usize, Text, I) -> c_int,
    pub insert_compound: extern "C" fn(c_int, c_int, Text, usize, c_int) -> c_int,
    pub insert_array_compound:
        extern "C" fn(c_int, c_int, Text, usize, c_int, c_int, List<c_int>) -> c_int,
    pub inq_compound_field: extern "C" fn(c_int, c_int, c_int, NameOut, Z, I, I, I) -> c_int,
    pub inq_compound_fieldindex: extern "C" fn(c_int, c_int, Text, I) -> c_int,
    pub def_vlen: extern "C" fn(c_int, Text, c_int, I) -> c_int,
    pub put_vlen_element: extern "C" fn(c_int, c_int, Unused, usize, Input) -> c_int,
    pub get_vlen_element: extern "C" fn(c_int, c_int, Unused, Z, Data) -> c_int,
    pub def_enum: extern "C" fn(c_int, c_int, Text, I) -> c_int,
    pub insert_enum: extern "C" fn(c_int, c_int, Text, Input) -> c_int,
    pub inq_enum_member: extern "C" fn(c_int, c_int, c_int, NameOut, Data) -> c_int,
    pub inq_enum_ident: extern "C" fn(c_int, c_int, c_longlong, NameOut) -> c_int,
    pub def_opaque: extern "C" fn(c_int, usize, Text, I) -> c_int,
    pub def_var_deflate: extern "C" fn(c_int, c_int, c_int, c_int, c_int) -> c_int,
    pub def_var_fletcher32: extern "C" fn(c_int, c_int, c_int) -> c_int,
    pub def_var_chunking: extern "C" fn(c_int, c_int, c_int, Lengths) -> c_int,
    pub def_var_endian: extern "C" fn(c_int, c_int, c_int) -> c_int,
    pub def_var_filter: extern "C" fn(c_int, c_int, c_uint, usize, List<c_uint>) -> c_int,
    pub set_var_chunk_cache: extern "C" fn(c_int, c_int, usize, usize, f32) -> c_int,
    pub get_var_chunk_cache: extern "C" fn(c_int, c_int, Z, Z, Out<f32>) -> c_int,
    pub inq_var_filter_ids: extern "C" fn(c_int, c_int, Z, U) -> c_int,
    pub inq_var_filter_info: extern "C" fn(c_int, c_int, c_uint, Z, U) -> c_int,
    pub def_var_quantize: extern "C" fn(c_int, c_int, c_int, c_int) -> c_int,
    pub inq_var_quantize: extern "C" fn(c_int, c_int, I, I) -> c_int,
    pub inq_filter_avail: extern "C" fn(c_int, c_uint) -> c_int,
}

// Two numbers, then 77 pointers.
const _: () = assert!(size_of::<Table>() == 8 + 77 * size_of::<usize>());
const _: () = assert!(offset_of!(Table, open) == 8 + size_of::<usize>());
const _: () = assert!(offset_of!(Table, inq_var_all) == 8 + 33 * size_of::<usize>());
const _: () = assert!(offset_of!(Table, inq_filter_avail) == 8 + 76 * size_of::<usize>());

const fn table(model: c_int) -> Table {
    Table {
        model,
        dispatch_version: DISPATCH_VERSION,
        create: files::create,
        open: files::open,
        redef: define::redef,
        _enddef: define::_enddef,
        sync: files::sync,
        abort: files::abort,
        close: files::close,
        set_fill: define::set_fill,
        inq_format: files::inq_format,
        inq_format_extended: files::inq_format_extended,
        inq: inquire::inq,
        inq_type: types::inq_type,
        def_dim: define::def_dim,
        inq_dimid: inquire::inq_dimid,
        inq_dim: inquire::inq_dim,
        inq_unlimdim: inquire::inq_unlimdim,
        rename_dim: define::rename_dim,
        inq_att: attributes::inq_att,
        inq_attid: attributes::inq_attid,
        inq_attname: attributes::inq_attname,
        rename_att: attributes::rename_att,
        del_att: attributes::del_att,
        get_att: attributes::get_att,
        put_att: attributes::put_att,
        def_var: define::def_var,
        inq_varid: variables::inq_varid,
        rename_var: define::rename_var,
        get_vara: data::get_vara,
        put_vara: data::put_vara,
        get_vars: data::get_vars,
        put_vars: data::put_vars,
        get_varm: data::get_varm,
        put_varm: data::put_varm,
        inq_var_all: variables::inq_var_all,
        var_par_access: variables::var_par_access,
        def_var_fill: define::def_var_fill,
        show_metadata: files::show_metadata,
        inq_unlimdims: inquire::inq_unlimdims,
        inq_ncid: inquire::inq_ncid,
        inq_grps: inquire::inq_grps,
        inq_grpname: inquire::inq_grpname,
        inq_grpname_full: inquire::inq_grpname_full,
        inq_grp_parent: inquire::inq_grp_parent,
        inq_grp_full_ncid: inquire::inq_grp_full_ncid,
        inq_varids: variables::inq_varids,
        inq_dimids: inquire::inq_dimids,
        inq_typeids: types::inq_typeids,
        inq_type_equal: types::inq_type_equal,
        def_grp: define::def_grp,
        rename_grp: define::rename_grp,
        inq_user_type: types::inq_user_type,
        inq_typeid: types::inq_typeid,
        def_compound: types::def_compound,
        insert_compound: types::insert_compound,
        insert_array_compound: refused::insert_array_compound,
        inq_compound_field: types::inq_compound_field,
        inq_compound_fieldindex: types::inq_compound_fieldindex,
        def_vlen: refused::def_vlen,
        put_vlen_element: refused::put_vlen_element,
        get_vlen_element: refused::get_vlen_element,
        def_enum: types::def_enum,
        insert_enum: types::insert_enum,
        inq_enum_member: types::inq_enum_member,
        inq_enum_ident: types::inq_enum_ident,
        def_opaque: refused::def_opaque,
        def_var_deflate: define::def_var_deflate,
        def_var_fletcher32: define::def_var_fletcher32,
        def_var_chunking: define::def_var_chunking,
        def_var_endian: define::def_var_endian,
        def_var_filter: define::def_var_filter,
        set_var_chunk_cache: variables::set_var_chunk_cache,
        get_var_chunk_cache: variables::get_var_chunk_cache,
        inq_var_filter_ids: variables::inq_var_filter_ids,
        inq_var_filter_info: variables::inq_var_filter_info,
        def_var_quantize: refused::def_var_quantize,
        inq_var_quantize: variables::inq_var_quantize,
        inq_filter_avail: variables::inq_filter_avail,
    }
}

/// Functions without arguments that return the table of a slot: the `INIT` of `.ncrc`. netcdf-c does not tell which slot it
/// loads, so each has its own.
macro_rules! slots {
    ($($name:ident $model:literal)*) => {$(
        /// The table of the slot of this number, which netcdf-c calls by the number of its format.
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() -> *const Table {
            static TABLE: Table = table($model);
            &TABLE
        }
    )*};
}

slots! {
    zarr_netcdf_udf0 8
    zarr_netcdf_udf1 9
    zarr_netcdf_udf2 11
    zarr_netcdf_udf3 12
    zarr_netcdf_udf4 13
    zarr_netcdf_udf5 14
    zarr_netcdf_udf6 15
    zarr_netcdf_udf7 16
    zarr_netcdf_udf8 17
    zarr_netcdf_udf9 18
}

/// What went wrong in the last call of this thread that failed with more to say than a code; an empty text if there was none.
/// It is valid until the thread's next call of this library.
#[unsafe(no_mangle)]
pub extern "C" fn zarr_netcdf_last_error() -> *const c_char {
    report::with_last_error(|sentence| sentence.as_ptr())
}
