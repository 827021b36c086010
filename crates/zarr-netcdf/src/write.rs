//! Writes elements of a variable as they are in a program's memory.

use zarr::nczarr::{Slab, Type};

use crate::codes::{EBADTYPE, EINVAL, Failure, Result};
use crate::convert::convert;
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
    let written = if variable.is_complex {
        handle.write_slab_from(&whole_numbers(variable, slab)?, bytes)
    } else if variable.zarr_type == Type::Bool {
        let mut bools = zeroed(bytes.len(), 1)?;
        for (place, &byte) in bools.iter_mut().zip(bytes) {
            *place = u8::from(byte != 0);
        }
        handle.write_slab_from(slab, &bools)
    } else {
        handle.write_slab_from(slab, bytes)
    };
    written.map_err(|e| Failure::in_write(&e))
}

/// The slab without the dimension of the two parts of complex numbers, which are written together.
fn whole_numbers(variable: &Variable, slab: &Slab) -> Result<Slab> {
    let mut whole = slab.clone();
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
