//! Tells what types there are: the atomic ones. Why files declare none is in `types`.

use std::ffi::{c_int, c_longlong};

use zarr::nczarr::Type;

use super::guarded;
use super::pointers::{Data, NameOut, Out, Text};
use crate::codes::{EBADTYPE, Result};
use crate::open_files;
use crate::types;

/// The file must be open, and the type is none that it declares.
fn no_user_type(ncid: c_int) -> Result<()> {
    open_files::get(ncid)?;
    Err(EBADTYPE.into())
}

pub extern "C" fn inq_type(ncid: c_int, id: c_int, name: NameOut, size: Out<usize>) -> c_int {
    guarded(|| {
        open_files::get(ncid)?;
        let ty = types::atomic(id).ok_or(EBADTYPE)?;
        name.put(ty.name());
        size.put(types::size_in_memory(ty));
        Ok(())
    })
}

pub extern "C" fn inq_typeids(ncid: c_int, count: Out<c_int>, _: Out<c_int>) -> c_int {
    guarded(|| {
        open_files::get(ncid)?;
        count.put(0);
        Ok(())
    })
}

pub extern "C" fn inq_typeid(ncid: c_int, name: Text, id: Out<c_int>) -> c_int {
    guarded(|| {
        open_files::get(ncid)?;
        let name = name.get()?;
        let name = name.strip_prefix('/').unwrap_or(&name);
        id.put(types::id(Type::from_name(name).ok_or(EBADTYPE)?));
        Ok(())
    })
}

/// The second file may be another format's.
pub extern "C" fn inq_type_equal(
    ncid: c_int,
    id: c_int,
    _: c_int,
    other_id: c_int,
    is_equal: Out<c_int>,
) -> c_int {
    guarded(|| {
        open_files::get(ncid)?;
        types::atomic(id).ok_or(EBADTYPE)?;
        is_equal.put(c_int::from(id == other_id));
        Ok(())
    })
}

pub extern "C" fn inq_user_type(
    ncid: c_int,
    _: c_int,
    _: NameOut,
    _: Out<usize>,
    _: Out<c_int>,
    _: Out<usize>,
    _: Out<c_int>,
) -> c_int {
    guarded(|| no_user_type(ncid))
}

pub extern "C" fn inq_compound_field(
    ncid: c_int,
    _: c_int,
    _: c_int,
    _: NameOut,
    _: Out<usize>,
    _: Out<c_int>,
    _: Out<c_int>,
    _: Out<c_int>,
) -> c_int {
    guarded(|| no_user_type(ncid))
}

pub extern "C" fn inq_compound_fieldindex(ncid: c_int, _: c_int, _: Text, _: Out<c_int>) -> c_int {
    guarded(|| no_user_type(ncid))
}

pub extern "C" fn inq_enum_member(ncid: c_int, _: c_int, _: c_int, _: NameOut, _: Data) -> c_int {
    guarded(|| no_user_type(ncid))
}

pub extern "C" fn inq_enum_ident(ncid: c_int, _: c_int, _: c_longlong, _: NameOut) -> c_int {
    guarded(|| no_user_type(ncid))
}
