//! Tells what attributes there are, and their values; sets and deletes them.

use std::ffi::c_int;

use zarr::nczarr::{Type, Values};

use super::guarded;
use super::pointers::{Data, Input, NameOut, Out, Text, int};
use crate::codes::{EBADTYPE, EINVAL, ERANGE, Result};
use crate::convert::convert;
use crate::open_files;
use crate::read::zeroed;
use crate::request::Memory;
use crate::types;

pub extern "C" fn inq_att(
    ncid: c_int,
    variable: c_int,
    name: Text,
    ty: Out<c_int>,
    len: Out<usize>,
) -> c_int {
    guarded(|| {
        let (file, place) = open_files::get(ncid)?;
        let values = file.attributes(place, variable)?.get(&name.get()?)?;
        ty.put(types::id(values.ty()));
        len.put(values.len());
        Ok(())
    })
}

pub extern "C" fn inq_attid(ncid: c_int, variable: c_int, name: Text, number: Out<c_int>) -> c_int {
    guarded(|| {
        let (file, place) = open_files::get(ncid)?;
        number.put(int(file.attributes(place, variable)?.position(&name.get()?)?));
        Ok(())
    })
}

pub extern "C" fn inq_attname(ncid: c_int, variable: c_int, number: c_int, name: NameOut) -> c_int {
    guarded(|| {
        let (file, place) = open_files::get(ncid)?;
        name.put(&file.attributes(place, variable)?.at(number)?.name);
        Ok(())
    })
}

pub extern "C" fn get_att(
    ncid: c_int,
    variable: c_int,
    name: Text,
    data: Data,
    memory: c_int,
) -> c_int {
    guarded(|| {
        let (file, place) = open_files::get(ncid)?;
        let values = file.attributes(place, variable)?.get(&name.get()?)?;
        let memory = Memory::new(values.ty(), memory)?;
        if values.is_empty() {
            return Ok(());
        }
        if data.is_null() {
            return Err(EINVAL.into());
        }
        put(values, memory, data)
    })
}

fn put(values: &Values, memory: Memory, data: Data) -> Result<()> {
    if let Values::String(texts) = values {
        return data.put_texts(texts, |number| number as isize);
    }
    let bytes = values.to_ne_bytes();
    let Memory::Number(asked) = memory else {
        return data.fill(bytes.len(), |out| {
            out.copy_from_slice(&bytes);
            Ok(())
        });
    };
    let size = values.len() * memory.element_size(values.ty());
    match data.fill(size, |out| Ok(convert(values.ty(), &bytes, asked, out)))? {
        Some(true) => Ok(()),
        Some(false) => Err(ERANGE.into()),
        None => Err(EBADTYPE.into()),
    }
}

/// Values of memory type `memory` become values of type `ty`.
pub extern "C" fn put_att(
    ncid: c_int,
    variable: c_int,
    name: Text,
    ty: c_int,
    len: usize,
    data: Input,
    memory: c_int,
) -> c_int {
    guarded(|| {
        let name = name.get()?;
        let (ty, memory) = match types::atomic(ty) {
            Some(atomic) => (atomic, Memory::new(atomic, memory)?),
            None if memory == 0 || memory == ty => {
                (open_files::get(ncid)?.0.zarr_type(ty)?, Memory::Same)
            }
            None => return Err(EBADTYPE.into()),
        };
        let (values, is_in_range) = given(ty, memory, len, data)?;
        open_files::change(ncid, |file, place| file.put_attribute(place, variable, &name, values))?;
        // As netCDF's library has it, after they were set.
        if is_in_range { Ok(()) } else { Err(ERANGE.into()) }
    })
}

/// Values of a program's memory, and whether all were in the range of their type.
pub fn given(ty: Type, memory: Memory, len: usize, data: Input) -> Result<(Values, bool)> {
    if memory == Memory::Texts {
        return Ok((data.texts(len, |number| number as isize)?.into(), true));
    }
    let size = len.checked_mul(memory.element_size(ty)).ok_or(EINVAL)?;
    data.take(size, |bytes| {
        let Memory::Number(given) = memory else {
            return Ok((types::values(ty, bytes).ok_or(EBADTYPE)?, true));
        };
        let mut converted = zeroed(len, types::size_in_memory(ty))?;
        let is_in_range = convert(given, bytes, ty, &mut converted).ok_or(EBADTYPE)?;
        Ok((types::values(ty, &converted).ok_or(EBADTYPE)?, is_in_range))
    })
}

pub extern "C" fn del_att(ncid: c_int, variable: c_int, name: Text) -> c_int {
    guarded(|| {
        let name = name.get()?;
        open_files::change(ncid, |file, place| file.delete_attribute(place, variable, &name))
    })
}

pub extern "C" fn rename_att(ncid: c_int, variable: c_int, name: Text, to: Text) -> c_int {
    guarded(|| {
        let (name, to) = (name.get()?, to.get()?);
        open_files::change(ncid, |file, place| file.rename_attribute(place, variable, &name, &to))
    })
}
