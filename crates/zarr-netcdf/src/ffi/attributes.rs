//! Tells what attributes there are, and their values.

use std::ffi::c_int;

use zarr::nczarr::Values;

use super::guarded;
use super::pointers::{Data, NameOut, Out, Text, int};
use crate::codes::{EBADTYPE, EINVAL, ERANGE, Result};
use crate::convert::convert;
use crate::open_files;
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
