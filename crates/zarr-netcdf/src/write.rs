//! Writes elements of a variable as they are in a program's memory.

use zarr::nczarr::{Slab, Type};

use crate::codes::{EBADTYPE, EINTERNAL, EINVAL, Failure, Result};
use crate::convert::convert;
use crate::gathered::Elements;
use crate::index::Variable;
use crate::read::{parts, zeroed};
use crate::request::{Memory, element_count};
use crate::types;

/// Writes a slab of elements of fixed size from memory in C order. Tells whether all numbers were in the range of the
/// variable's type; those that were not are written as other numbers.
///
/// # Errors
/// What the store or a codec meets; `ENOMEM`.
pub fn write_from(variable: &Variable, slab: &Slab, memory: Memory, bytes: &[u8]) -> Result<bool> {
    let Memory::Number(given) = memory else {
        return write_native(variable, slab, bytes).map(|()| true);
    };
    let element = types::size_in_memory(variable.ty);
    let mut rest = bytes;
    let mut is_in_range = true;
    for part in parts(slab, element) {
        let count = element_count(&part)?;
        let (source, behind) = rest.split_at(count * memory.element_size(variable.ty));
        rest = behind;
        let mut scratch = zeroed(count, element)?;
        is_in_range &= convert(given, source, variable.ty, &mut scratch).ok_or(EBADTYPE)?;
        write_native(variable, &part, &scratch)?;
    }
    Ok(is_in_range)
}

/// Writes a slab of elements as they are.
fn write_native(variable: &Variable, slab: &Slab, bytes: &[u8]) -> Result<()> {
    let handle = variable.handle()?;
    let whole = whole_elements(variable, slab)?;
    let written = if variable.zarr_type == Type::Bool {
        let mut bools = zeroed(bytes.len(), 1)?;
        bools.copy_from_slice(bytes);
        make_bools(&mut bools);
        handle.write_slab_from(&whole, &bools)
    } else {
        handle.write_slab_from(&whole, bytes)
    };
    written.map_err(|e| Failure::in_write(&e))
}

/// Elements of a slab, as they are in a program's memory, as Zarr has them: which, and their bytes.
///
/// # Errors
/// `EINVAL` for one part of complex numbers without the other.
pub fn as_stored(variable: &Variable, slab: &Slab, mut bytes: Vec<u8>) -> Result<(Slab, Elements)> {
    let whole = whole_elements(variable, slab)?;
    if variable.zarr_type == Type::Bool {
        make_bools(&mut bytes);
    }
    let size = variable.zarr_type.size().ok_or(EINTERNAL)?;
    Ok((whole, Elements::Native { size, bytes }))
}

/// What is not 0 is true, as to C.
fn make_bools(bytes: &mut [u8]) {
    for byte in bytes {
        *byte = u8::from(*byte != 0);
    }
}

/// The slab without the dimension of the two parts of complex numbers, which are written together.
fn whole_elements(variable: &Variable, slab: &Slab) -> Result<Slab> {
    let mut whole = slab.clone();
    if !variable.is_complex {
        return Ok(whole);
    }
    let last = (whole.start.pop(), whole.count.pop());
    let stride = whole.stride.pop();
    if last == (Some(0), Some(2)) && stride == Some(1) {
        return Ok(whole);
    }
    let why = "both parts of complex numbers are written together";
    Err(Failure::new(EINVAL, format!("variable `{}`: {why}", variable.name)))
}

/// Writes a slab of texts.
///
/// # Errors
/// As [`write_from`].
pub fn write_texts(variable: &Variable, slab: &Slab, texts: Vec<String>) -> Result<()> {
    variable.handle()?.write_slab(slab, texts).map_err(|e| Failure::in_write(&e))
}
