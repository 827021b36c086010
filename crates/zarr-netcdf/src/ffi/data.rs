//! Reads elements of variables.

use std::ffi::c_int;
use std::sync::Arc;

use zarr::nczarr::Slab;

use super::guarded;
use super::pointers::{Data, Lengths, Strides};
use crate::codes::{EINVAL, ERANGE, Result};
use crate::index::{File, Variable};
use crate::open_files;
use crate::read::{parts, read_into, read_part, read_texts, zeroed};
use crate::request::{Memory, element_count, slab};
use crate::types;

pub extern "C" fn get_vara(
    ncid: c_int,
    variable: c_int,
    start: Lengths,
    count: Lengths,
    data: Data,
    memory: c_int,
) -> c_int {
    guarded(|| Call::new(ncid, variable, start, count, None, memory)?.read(data))
}

pub extern "C" fn get_vars(
    ncid: c_int,
    variable: c_int,
    start: Lengths,
    count: Lengths,
    stride: Strides,
    data: Data,
    memory: c_int,
) -> c_int {
    guarded(|| Call::new(ncid, variable, start, count, Some(stride), memory)?.read(data))
}

pub extern "C" fn get_varm(
    ncid: c_int,
    variable: c_int,
    start: Lengths,
    count: Lengths,
    stride: Strides,
    map: Strides,
    data: Data,
    memory: c_int,
) -> c_int {
    guarded(|| {
        let call = Call::new(ncid, variable, start, count, Some(stride), memory)?;
        match map.get(call.slab.count.len()) {
            Some(map) => call.scatter(&map, data),
            None => call.read(data),
        }
    })
}

/// What a call asks for.
struct Call {
    file: Arc<File>,
    place: usize,
    id: c_int,
    slab: Slab,
    memory: Memory,
}

impl Call {
    fn new(
        ncid: c_int,
        id: c_int,
        start: Lengths,
        count: Lengths,
        stride: Option<Strides>,
        memory: c_int,
    ) -> Result<Call> {
        let (file, place) = open_files::get(ncid)?;
        let variable = file.group(place)?.variable(id)?;
        let memory = Memory::new(variable.ty, memory)?;
        let rank = variable.shape.len();
        let stride = stride.and_then(|stride| stride.get(rank));
        let slab = slab(&variable.shape, start.get(rank), count.get(rank), stride.as_deref())?;
        Ok(Call { file, place, id, slab, memory })
    }

    fn variable(&self) -> Result<&Variable> {
        self.file.group(self.place)?.variable(self.id)
    }

    /// Reads into memory in C order.
    fn read(&self, data: Data) -> Result<()> {
        let variable = self.variable()?;
        let count = element_count(&self.slab)?;
        if count == 0 {
            return Ok(());
        }
        if data.is_null() {
            return Err(EINVAL.into());
        }
        if self.memory == Memory::Texts {
            let texts = read_texts(variable, &self.slab)?;
            return data.put_texts(&texts, |number| number as isize);
        }
        let size = count.checked_mul(self.memory.element_size(variable.ty)).ok_or(EINVAL)?;
        let is_in_range =
            data.fill(size, |out| read_into(variable, &self.slab, self.memory, out))?;
        if is_in_range { Ok(()) } else { Err(ERANGE.into()) }
    }

    /// Reads each element to the place that a map gives it: how many elements it is from one coordinate to the next.
    fn scatter(&self, map: &[isize], data: Data) -> Result<()> {
        let variable = self.variable()?;
        if element_count(&self.slab)? == 0 {
            return Ok(());
        }
        if data.is_null() {
            return Err(EINVAL.into());
        }
        if self.memory == Memory::Texts {
            let texts = read_texts(variable, &self.slab)?;
            let mut offsets = Offsets::new(&self.slab, &self.slab, map);
            let offsets: Vec<isize> = texts.iter().map(|_| offsets.next_offset()).collect();
            return data.put_texts(&texts, |number| offsets[number]);
        }
        let element = self.memory.element_size(variable.ty);
        let mut is_in_range = true;
        for part in parts(&self.slab, element.max(types::size_in_memory(variable.ty))) {
            let mut scratch = zeroed(element_count(&part)?, element)?;
            is_in_range &= read_part(variable, &part, self.memory, &mut scratch)?;
            let mut offsets = Offsets::new(&self.slab, &part, map);
            for bytes in scratch.chunks_exact(element) {
                data.put_at(offsets.next_offset(), bytes);
            }
        }
        if is_in_range { Ok(()) } else { Err(ERANGE.into()) }
    }
}

/// The offsets of the elements of a part of a slab, in C order.
struct Offsets<'a> {
    map: &'a [isize],
    count: &'a [u64],
    /// The coordinates within the part of the next element.
    at: Vec<u64>,
    next: isize,
}

impl<'a> Offsets<'a> {
    fn new(slab: &Slab, part: &'a Slab, map: &'a [isize]) -> Offsets<'a> {
        // Wrapping: what a map leads to is the caller's business.
        let first = (0..map.len()).map(|axis| {
            let at = (part.start[axis] - slab.start[axis]) / slab.stride[axis];
            (at as isize).wrapping_mul(map[axis])
        });
        let next = first.fold(0, isize::wrapping_add);
        Offsets { map, count: &part.count, at: vec![0; map.len()], next }
    }

    fn next_offset(&mut self) -> isize {
        let offset = self.next;
        for axis in (0..self.at.len()).rev() {
            self.at[axis] += 1;
            self.next = self.next.wrapping_add(self.map[axis]);
            if self.at[axis] < self.count[axis] {
                break;
            }
            let back = (self.at[axis] as isize).wrapping_mul(self.map[axis]);
            self.next = self.next.wrapping_sub(back);
            self.at[axis] = 0;
        }
        offset
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_transposes() {
        let slab = Slab::new([1, 2], [2, 3]).with_stride([2, 1]);
        let mut offsets = Offsets::new(&slab, &slab, &[1, 2]);
        let found: Vec<isize> = (0..6).map(|_| offsets.next_offset()).collect();
        assert_eq!(found, [0, 2, 4, 1, 3, 5]);
        let part = Slab::new([3, 3], [1, 2]).with_stride([2, 1]);
        let mut offsets = Offsets::new(&slab, &part, &[-3, 1]);
        assert_eq!((offsets.next_offset(), offsets.next_offset()), (-2, -1));
    }
}
