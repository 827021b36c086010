//! Tells what types there are, and defines those that are bools or complex numbers. Why files that are opened declare none is
//! in `types`.

use std::ffi::{c_int, c_longlong};

use zarr::nczarr::{Type, composed};

use super::guarded;
use super::pointers::{Data, Input, NameOut, Out, Text, int};
use crate::codes::{EBADFIELD, EBADTYPE, EINVAL, Result};
use crate::open_files;
use crate::own_types::{Kind, id_of};
use crate::types;

const NC_ENUM: c_int = 15;
const NC_COMPOUND: c_int = 16;

pub extern "C" fn inq_type(ncid: c_int, id: c_int, name: NameOut, size: Out<usize>) -> c_int {
    guarded(|| {
        let (file, _) = open_files::get(ncid)?;
        if let Some(ty) = types::atomic(id) {
            name.put(ty.name());
            size.put(types::size_in_memory(ty));
            return Ok(());
        }
        let own = file.own_type(id)?;
        name.put(&own.name);
        size.put(own.size());
        Ok(())
    })
}

pub extern "C" fn inq_typeids(ncid: c_int, count: Out<c_int>, ids: Out<c_int>) -> c_int {
    guarded(|| {
        let (file, place) = open_files::get(ncid)?;
        let all = file.own_types.iter().enumerate();
        let here = all.filter(|(_, own)| own.group == place);
        let found: Vec<c_int> = here.map(|(at, _)| id_of(at)).collect();
        count.put(int(found.len()));
        ids.put_all(found);
        Ok(())
    })
}

pub extern "C" fn inq_typeid(ncid: c_int, name: Text, id: Out<c_int>) -> c_int {
    guarded(|| {
        let (file, place) = open_files::get(ncid)?;
        let name = name.get()?;
        let atomic = Type::from_name(name.strip_prefix('/').unwrap_or(&name));
        let found = match atomic {
            Some(ty) => Some(types::id(ty)),
            None => file.own_type_named(place, &composed(&name)),
        };
        id.put(found.ok_or(EBADTYPE)?);
        Ok(())
    })
}

/// The second file may be another format's, whose types of its own are not known here.
pub extern "C" fn inq_type_equal(
    ncid: c_int,
    id: c_int,
    other: c_int,
    other_id: c_int,
    is_equal: Out<c_int>,
) -> c_int {
    guarded(|| {
        let (file, _) = open_files::get(ncid)?;
        if types::atomic(id).is_some() {
            is_equal.put(c_int::from(id == other_id));
            return Ok(());
        }
        let own = file.own_type(id)?;
        let equal = open_files::get(other).is_ok_and(|(other, _)| {
            let other = other.own_type(other_id);
            other.is_ok_and(|other| other.name == own.name && other.zarr_type() == own.zarr_type())
        });
        is_equal.put(c_int::from(equal));
        Ok(())
    })
}

pub extern "C" fn inq_user_type(
    ncid: c_int,
    id: c_int,
    name: NameOut,
    size: Out<usize>,
    base: Out<c_int>,
    count: Out<usize>,
    class: Out<c_int>,
) -> c_int {
    guarded(|| {
        let (file, _) = open_files::get(ncid)?;
        let own = file.own_type(id)?;
        name.put(&own.name);
        size.put(own.size());
        count.put(own.member_count());
        match own.kind {
            Kind::Enumeration { base: ty, .. } => {
                base.put(types::id(ty));
                class.put(NC_ENUM);
            }
            Kind::Compound { .. } => {
                base.put(0);
                class.put(NC_COMPOUND);
            }
        }
        Ok(())
    })
}

/// What `index`es a list of members or fields.
fn at<T>(list: &[T], index: c_int) -> Result<&T> {
    let found = usize::try_from(index).ok().and_then(|index| list.get(index));
    found.ok_or_else(|| EINVAL.into())
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
        let (fields, part) = file.own_type(id)?.fields()?;
        let (own_name, own_offset) = at(fields, field)?;
        name.put(own_name);
        offset.put(*own_offset);
        ty.put(types::id(part));
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
        let (fields, _) = file.own_type(id)?.fields()?;
        let name = name.get()?;
        let found = fields.iter().position(|(other, _)| *other == name);
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
        let (own_name, own_value) = at(file.own_type(id)?.members()?, member)?;
        name.put(own_name);
        value.put_at(0, &[*own_value]);
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
        let members = file.own_type(id)?.members()?;
        let found = members.iter().find(|(_, own)| c_longlong::from(*own) == value);
        let (own_name, _) = found.ok_or(EINVAL)?;
        name.put(own_name);
        Ok(())
    })
}

pub extern "C" fn def_enum(ncid: c_int, base: c_int, name: Text, id: Out<c_int>) -> c_int {
    guarded(|| {
        let name = name.get()?;
        id.put(open_files::change(ncid, |file, place| {
            file.define_enumeration(place, types::atomic(base), &name)
        })?);
        Ok(())
    })
}

pub extern "C" fn insert_enum(ncid: c_int, id: c_int, name: Text, value: Input) -> c_int {
    guarded(|| {
        let name = name.get()?;
        // The file has enumerations over bytes only.
        let value = value.take(1, |bytes| Ok(bytes[0]))?;
        open_files::change(ncid, |file, _| file.insert_member(id, &name, value))
    })
}

pub extern "C" fn def_compound(ncid: c_int, size: usize, name: Text, id: Out<c_int>) -> c_int {
    guarded(|| {
        let name = name.get()?;
        let define =
            |file: &mut crate::index::File, place| file.define_compound(place, size, &name);
        id.put(open_files::change(ncid, define)?);
        Ok(())
    })
}

pub extern "C" fn insert_compound(
    ncid: c_int,
    id: c_int,
    name: Text,
    offset: usize,
    ty: c_int,
) -> c_int {
    guarded(|| {
        let name = name.get()?;
        open_files::change(ncid, |file, _| file.insert_field(id, &name, offset, types::atomic(ty)))
    })
}
