//! Tells what types there are.

use std::ffi::{c_int, c_longlong};

use zarr::nczarr::Type;

use super::guarded;
use super::pointers::{Data, NameOut, Out, Text, int};
use crate::codes::{EBADFIELD, EBADTYPE, EINVAL, Result};
use crate::index::File;
use crate::open_files;
use crate::types::{
    BOOL_MEMBERS, COMPLEX_FIELDS, NC_COMPOUND, NC_ENUM, NC_UBYTE, atomic, part_of_complex,
    size_in_memory,
};

fn any(file: &File, id: c_int) -> Result<Type> {
    atomic(id).or_else(|| file.types.get(id)).ok_or_else(|| EBADTYPE.into())
}

/// The type of the parts of a complex type.
fn part(file: &File, id: c_int) -> Result<Type> {
    file.types.get(id).and_then(part_of_complex).ok_or_else(|| EBADTYPE.into())
}

/// Fails unless it is the enumeration of bools.
fn check_bool(file: &File, id: c_int) -> Result<()> {
    if file.types.get(id) == Some(Type::Bool) { Ok(()) } else { Err(EBADTYPE.into()) }
}

pub extern "C" fn inq_type(ncid: c_int, id: c_int, name: NameOut, size: Out<usize>) -> c_int {
    guarded(|| {
        let (file, _) = open_files::get(ncid)?;
        let ty = any(&file, id)?;
        name.put(ty.name());
        size.put(size_in_memory(ty));
        Ok(())
    })
}

/// All types are the root's.
pub extern "C" fn inq_typeids(ncid: c_int, count: Out<c_int>, ids: Out<c_int>) -> c_int {
    guarded(|| {
        let (file, place) = open_files::get(ncid)?;
        let is_root = place == 0;
        let found = || file.types.ids().filter(|_| is_root);
        count.put(int(found().count()));
        ids.put_all(found());
        Ok(())
    })
}

pub extern "C" fn inq_typeid(ncid: c_int, name: Text, id: Out<c_int>) -> c_int {
    guarded(|| {
        let (file, _) = open_files::get(ncid)?;
        let name = name.get()?;
        let name = name.strip_prefix('/').unwrap_or(&name);
        let found = Type::from_name(name).or_else(|| file.types.named(name));
        id.put(file.types.id(found.ok_or(EBADTYPE)?));
        Ok(())
    })
}

/// The second file may be another format's; then only atomic types can be equal.
pub extern "C" fn inq_type_equal(
    ncid: c_int,
    id: c_int,
    other_ncid: c_int,
    other_id: c_int,
    is_equal: Out<c_int>,
) -> c_int {
    guarded(|| {
        let (file, _) = open_files::get(ncid)?;
        let ty = any(&file, id)?;
        let other = match atomic(other_id) {
            Some(other) => Some(other),
            None => {
                open_files::get(other_ncid).ok().and_then(|(other, _)| other.types.get(other_id))
            }
        };
        is_equal.put(c_int::from(other == Some(ty)));
        Ok(())
    })
}

pub extern "C" fn inq_user_type(
    ncid: c_int,
    id: c_int,
    name: NameOut,
    size: Out<usize>,
    base: Out<c_int>,
    field_count: Out<usize>,
    class: Out<c_int>,
) -> c_int {
    guarded(|| {
        let (file, _) = open_files::get(ncid)?;
        let ty = file.types.get(id).ok_or(EBADTYPE)?;
        name.put(ty.name());
        size.put(size_in_memory(ty));
        if ty == Type::Bool {
            base.put(NC_UBYTE);
            field_count.put(BOOL_MEMBERS.len());
            class.put(NC_ENUM);
        } else {
            base.put(0);
            field_count.put(COMPLEX_FIELDS.len());
            class.put(NC_COMPOUND);
        }
        Ok(())
    })
}

pub extern "C" fn inq_compound_field(
    ncid: c_int,
    id: c_int,
    field: c_int,
    name: NameOut,
    offset: Out<usize>,
    ty: Out<c_int>,
    rank: Out<c_int>,
    _: Out<c_int>,
) -> c_int {
    guarded(|| {
        let (file, _) = open_files::get(ncid)?;
        let part = part(&file, id)?;
        let field = usize::try_from(field).map_err(|_| EBADFIELD)?;
        name.put(COMPLEX_FIELDS.get(field).ok_or(EBADFIELD)?);
        offset.put(field * size_in_memory(part));
        ty.put(file.types.id(part));
        rank.put(0);
        Ok(())
    })
}

pub extern "C" fn inq_compound_fieldindex(
    ncid: c_int,
    id: c_int,
    name: Text,
    field: Out<c_int>,
) -> c_int {
    guarded(|| {
        let (file, _) = open_files::get(ncid)?;
        part(&file, id)?;
        let name = name.get()?;
        let found = COMPLEX_FIELDS.iter().position(|field| *field == name);
        field.put(int(found.ok_or(EBADFIELD)?));
        Ok(())
    })
}

pub extern "C" fn inq_enum_member(
    ncid: c_int,
    id: c_int,
    member: c_int,
    name: NameOut,
    value: Data,
) -> c_int {
    guarded(|| {
        let (file, _) = open_files::get(ncid)?;
        check_bool(&file, id)?;
        let member = usize::try_from(member).ok().and_then(|member| BOOL_MEMBERS.get(member));
        let (member_name, byte) = member.ok_or(EINVAL)?;
        name.put(member_name);
        value.put_at(0, &[*byte]);
        Ok(())
    })
}

pub extern "C" fn inq_enum_ident(
    ncid: c_int,
    id: c_int,
    value: c_longlong,
    name: NameOut,
) -> c_int {
    guarded(|| {
        let (file, _) = open_files::get(ncid)?;
        check_bool(&file, id)?;
        let member = BOOL_MEMBERS.iter().find(|(_, byte)| c_longlong::from(*byte) == value);
        name.put(member.ok_or(EINVAL)?.0);
        Ok(())
    })
}
