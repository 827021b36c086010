//! Which elements of a variable a call asks for, checked as netCDF's library does it.

use std::ffi::c_int;

use zarr::nczarr::{Slab, Type};

use crate::codes::{EBADTYPE, ECHAR, EEDGE, EINVAL, EINVALCOORDS, ESTRIDE, Result};
use crate::index::Variable;
use crate::types;

/// The slab that a call asks for of a variable of this shape. What a program leaves out is the beginning, all to the end,
/// and every element. Along the axes that `grows` tells it may be beyond the end, as elements are written there.
///
/// # Errors
/// [`ESTRIDE`], [`EINVALCOORDS`], [`EEDGE`].
pub fn slab(
    shape: &[u64],
    start: Option<Vec<u64>>,
    count: Option<Vec<u64>>,
    stride: Option<&[isize]>,
    grows: &[bool],
) -> Result<Slab> {
    let strides = match stride {
        None => vec![1; shape.len()],
        Some(strides) => strides
            .iter()
            .map(|&stride| u64::try_from(stride).ok().filter(|&stride| stride > 0))
            .collect::<Option<Vec<u64>>>()
            .ok_or(ESTRIDE)?,
    };
    let start = start.unwrap_or_else(|| vec![0; shape.len()]);
    let count = count.unwrap_or_else(|| {
        (0..shape.len())
            .map(|axis| shape[axis].saturating_sub(start[axis]).div_ceil(strides[axis]))
            .collect()
    });
    for axis in 0..shape.len() {
        let (start, count) = (start[axis], count[axis]);
        // What netCDF's library can address.
        let len = if grows.get(axis) == Some(&true) { i64::MAX as u64 } else { shape[axis] };
        if start > len || (start == len && count > 0) {
            return Err(EINVALCOORDS.into());
        }
        let Some(steps) = count.checked_sub(1) else { continue };
        let last = steps.checked_mul(strides[axis]).and_then(|span| start.checked_add(span));
        if last.is_none_or(|last| last >= len) {
            return Err(EEDGE.into());
        }
    }
    Ok(Slab::new(start, count).with_stride(strides))
}

/// What values become in a program's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// Elements as they are.
    Same,
    /// Numbers of this type.
    Number(Type),
    /// Pointers to texts.
    Texts,
}

impl Memory {
    /// What values of type `ty` become in memory of the type of this number; 0 is their own type.
    ///
    /// # Errors
    /// [`ECHAR`] between text and something else; [`EBADTYPE`] for what cannot be converted or is no type.
    pub fn new(ty: Type, memory: c_int) -> Result<Memory> {
        if memory == 0 || memory == types::id(ty) {
            return Ok(if ty == Type::String { Memory::Texts } else { Memory::Same });
        }
        let asked = types::atomic(memory).ok_or(EBADTYPE)?;
        if asked == Type::Char || ty == Type::Char {
            return Err(ECHAR.into());
        }
        if !types::is_number(ty) || !types::is_number(asked) {
            return Err(EBADTYPE.into());
        }
        Ok(Memory::Number(asked))
    }

    /// What elements of a variable become in memory of the type of this number.
    ///
    /// # Errors
    /// As [`Memory::new`].
    pub fn of(variable: &Variable, memory: c_int) -> Result<Memory> {
        if variable.own_type == Some(memory) {
            return Ok(Memory::Same);
        }
        Memory::new(variable.ty, memory)
    }

    /// Bytes of an element of such memory.
    pub fn element_size(self, ty: Type) -> usize {
        match self {
            Memory::Number(asked) => types::size_in_memory(asked),
            Memory::Same | Memory::Texts => types::size_in_memory(ty),
        }
    }
}

/// How many elements a slab has.
///
/// # Errors
/// [`EINVAL`] if no memory can hold them.
pub fn element_count(slab: &Slab) -> Result<usize> {
    let count = slab.len().and_then(|count| usize::try_from(count).ok());
    count.ok_or_else(|| EINVAL.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(start: [u64; 2], count: [u64; 2], stride: [isize; 2], code: c_int) {
        let found = slab(&[4, 6], Some(start.into()), Some(count.into()), Some(&stride), &[]);
        assert_eq!(found.unwrap_err().code, code);
    }

    #[test]
    fn slabs_are_checked_as_netcdf_does() {
        refused([5, 0], [0, 1], [1, 1], EINVALCOORDS);
        refused([4, 0], [1, 1], [1, 1], EINVALCOORDS);
        refused([0, 0], [1, 7], [1, 1], EEDGE);
        refused([0, 1], [1, 3], [1, 3], EEDGE);
        refused([0, 1], [1, u64::MAX], [1, isize::MAX], EEDGE);
        refused([0, 0], [1, 1], [0, 1], ESTRIDE);
        refused([9, 9], [1, 1], [1, -1], ESTRIDE);
        let all = slab(&[4, 6], None, None, Some(&[2, 4]), &[]).unwrap();
        assert_eq!((all.start, all.count), (vec![0, 0], vec![2, 2]));
        let end = slab(&[4, 6], Some(vec![4, 6]), Some(vec![0, 0]), None, &[]).unwrap();
        assert_eq!(element_count(&end).unwrap(), 0);
        assert_eq!(element_count(&slab(&[], None, None, None, &[]).unwrap()).unwrap(), 1);
        assert!(element_count(&Slab::new([0, 0], [u64::MAX, 2])).is_err());
        let grown = |start, count| slab(&[4], Some(vec![start]), Some(vec![count]), None, &[true]);
        assert_eq!(grown(9, 2).unwrap(), Slab::new([9], [2]));
        assert_eq!(grown(u64::MAX, 1).unwrap_err().code, EINVALCOORDS);
        assert_eq!(grown(9, u64::MAX).unwrap_err().code, EEDGE);
    }

    #[test]
    fn only_numbers_become_other_numbers() {
        let memory = |ty, id| Memory::new(ty, id).map_err(|failure| failure.code);
        assert_eq!(memory(Type::Int, 0), Ok(Memory::Same));
        assert_eq!(memory(Type::String, 12), Ok(Memory::Texts));
        assert_eq!(memory(Type::Int, 6), Ok(Memory::Number(Type::Double)));
        assert_eq!(memory(Type::Int, 32), Err(EBADTYPE));
        assert_eq!(memory(Type::Char, 4), Err(ECHAR));
        assert_eq!(memory(Type::String, 2), Err(ECHAR));
        assert_eq!(memory(Type::Int, 99), Err(EBADTYPE));
        assert_eq!(memory(Type::Int, -7), Err(EBADTYPE));
    }
}
