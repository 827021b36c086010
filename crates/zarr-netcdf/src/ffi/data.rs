//! Reads and writes elements of variables.

use std::ffi::c_int;
use std::sync::Arc;

use zarr::nczarr::Slab;

use super::guarded;
use super::pointers::{Data, Input, Lengths, Strides};
use crate::codes::{EBADTYPE, EINVAL, ERANGE, Failure, Result};
use crate::convert::convert;
use crate::gathered::{Elements, Kept, may_gather};
use crate::index::{File, Variable};
use crate::open_files;
use crate::read::{parts, read_into, read_part, read_texts, zeroed};
use crate::request::{Memory, element_count, slab};
use crate::types;
use crate::write::{as_stored, write_from, write_texts};

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

pub extern "C" fn put_vara(
    ncid: c_int,
    variable: c_int,
    start: Lengths,
    count: Lengths,
    data: Input,
    memory: c_int,
) -> c_int {
    guarded(|| Call::to_write(ncid, variable, start, count, None, memory)?.write(data))
}

pub extern "C" fn put_vars(
    ncid: c_int,
    variable: c_int,
    start: Lengths,
    count: Lengths,
    stride: Strides,
    data: Input,
    memory: c_int,
) -> c_int {
    guarded(|| Call::to_write(ncid, variable, start, count, Some(stride), memory)?.write(data))
}

pub extern "C" fn put_varm(
    ncid: c_int,
    variable: c_int,
    start: Lengths,
    count: Lengths,
    stride: Strides,
    map: Strides,
    data: Input,
    memory: c_int,
) -> c_int {
    guarded(|| {
        let call = Call::to_write(ncid, variable, start, count, Some(stride), memory)?;
        match map.get(call.slab.count.len()) {
            Some(map) => call.gather(&map, data),
            None => call.write(data),
        }
    })
}

/// What a call asks for.
struct Call {
    file: Arc<File>,
    ncid: c_int,
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
        let (file, place) = open_files::get_stored(ncid, id)?;
        let variable = file.group(place)?.variable(id)?;
        let memory = Memory::of(variable, memory)?;
        let shape = file.shape(variable);
        let rank = shape.len();
        let stride = stride.and_then(|stride| stride.get(rank));
        let slab = slab(&shape, start.get(rank), count.get(rank), stride.as_deref(), &[])?;
        Ok(Call { file, ncid, place, id, slab, memory })
    }

    /// Elements that are not written yet, if they are all that is read. Else those of them that are read are written.
    fn gathered(&self, variable: &Variable) -> Result<Option<Vec<u8>>> {
        if !self.file.is_writable {
            return Ok(None);
        }
        let key = (self.place, self.id);
        let kept = open_files::with_gathered(self.ncid, |file, gathered| {
            match gathered.find(key, &self.slab) {
                Kept::All(bytes) if !variable.is_complex => return Ok(Some(bytes)),
                Kept::Nothing => {}
                _ => gathered.write_out(file, key)?,
            }
            Ok(None)
        })?;
        if kept.is_some() {
            return Ok(kept);
        }
        // What is not written yet of other variables may have made this one longer.
        let stored = variable.handle()?.shape().map_err(|e| Failure::in_read(&e))?;
        let end = self.slab.end(self.slab.count.len()).map_err(|_| EINVAL)?;
        if stored.iter().zip(&end).any(|(stored, end)| stored < end) {
            open_files::write_gathered(self.ncid)?;
        }
        Ok(None)
    }

    /// The same for elements that are written: along unlimited dimensions there may be more than there were.
    fn to_write(
        ncid: c_int,
        id: c_int,
        start: Lengths,
        count: Lengths,
        stride: Option<Strides>,
        memory: c_int,
    ) -> Result<Call> {
        // What is wrong is found before anything is stored.
        let (file, place) = open_files::get(ncid)?;
        file.check_writable()?;
        let variable = file.group(place)?.variable(id)?;
        let memory = Memory::of(variable, memory)?;
        let shape = file.shape(variable);
        let rank = shape.len();
        let dimensions = variable.dimensions.iter();
        let grows: Vec<bool> = dimensions.map(|&id| file.dimensions[id].is_unlimited).collect();
        let stride = stride.and_then(|stride| stride.get(rank));
        let slab = slab(&shape, start.get(rank), count.get(rank), stride.as_deref(), &grows)?;
        drop(file);
        let (file, place) = open_files::get_stored(ncid, id)?;
        Ok(Call { file, ncid, place, id, slab, memory })
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
        let kept = self.gathered(variable)?;
        if self.memory == Memory::Texts {
            let texts = read_texts(variable, &self.slab)?;
            return data.put_texts(&texts, |number| number as isize);
        }
        let size = count.checked_mul(self.memory.element_size(variable.ty)).ok_or(EINVAL)?;
        let is_in_range = data.fill(size, |out| match (kept, self.memory) {
            (None, _) => read_into(variable, &self.slab, self.memory, out),
            (Some(native), Memory::Number(asked)) => {
                convert(variable.ty, &native, asked, out).ok_or_else(|| EBADTYPE.into())
            }
            (Some(native), _) => {
                out.copy_from_slice(&native);
                Ok(true)
            }
        })?;
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
        if self.gathered(variable)?.is_some() {
            open_files::write_gathered_of(self.ncid, (self.place, self.id))?;
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

    /// Writes from memory in C order.
    fn write(self, data: Input) -> Result<()> {
        let variable = self.variable()?;
        let count = element_count(&self.slab)?;
        if count == 0 {
            return Ok(());
        }
        if data.is_null() {
            return Err(EINVAL.into());
        }
        if self.memory == Memory::Texts {
            let texts = data.texts(count, |number| number as isize)?;
            self.write_texts(variable, texts)?;
            return self.written(true);
        }
        let size = count.checked_mul(self.memory.element_size(variable.ty)).ok_or(EINVAL)?;
        let is_in_range =
            data.take(size, |bytes| self.write_bytes(variable, &self.slab, count, bytes))?;
        self.written(is_in_range)
    }

    /// Writes texts in C order, or gathers them.
    fn write_texts(&self, variable: &Variable, texts: Vec<String>) -> Result<()> {
        let bytes = texts.iter().map(|text| text.len() + size_of::<String>()).sum();
        if !may_gather(&self.file, variable, &self.slab, bytes)? {
            open_files::write_gathered_of(self.ncid, (self.place, self.id))?;
            return write_texts(variable, &self.slab, texts);
        }
        self.keep(&self.slab, Elements::Texts(texts))
    }

    /// Writes `count` elements of a slab in C order, or gathers them. Tells whether all were in the range of the variable's
    /// type.
    fn write_bytes(
        &self,
        variable: &Variable,
        slab: &Slab,
        count: usize,
        bytes: &[u8],
    ) -> Result<bool> {
        let element = types::size_in_memory(variable.ty);
        if !may_gather(&self.file, variable, slab, count.saturating_mul(element))? {
            open_files::write_gathered_of(self.ncid, (self.place, self.id))?;
            return write_from(variable, slab, self.memory, bytes);
        }
        let mut native = zeroed(count, element)?;
        let is_in_range = match self.memory {
            Memory::Number(given) => {
                convert(given, bytes, variable.ty, &mut native).ok_or(EBADTYPE)?
            }
            _ => {
                native.copy_from_slice(bytes);
                true
            }
        };
        let (slab, elements) = as_stored(variable, slab, native)?;
        self.keep(&slab, elements).map(|()| is_in_range)
    }

    /// Gathers elements.
    fn keep(&self, slab: &Slab, elements: Elements) -> Result<()> {
        open_files::with_gathered(self.ncid, |file, gathered| {
            gathered.write(file, (self.place, self.id), slab, elements)
        })
    }

    /// Writes each element from the place that a map gives it.
    fn gather(self, map: &[isize], data: Input) -> Result<()> {
        let variable = self.variable()?;
        let count = element_count(&self.slab)?;
        if count == 0 {
            return Ok(());
        }
        if data.is_null() {
            return Err(EINVAL.into());
        }
        if self.memory == Memory::Texts {
            let mut offsets = Offsets::new(&self.slab, &self.slab, map);
            let offsets: Vec<isize> = (0..count).map(|_| offsets.next_offset()).collect();
            let texts = data.texts(count, |number| offsets[number])?;
            self.write_texts(variable, texts)?;
            return self.written(true);
        }
        let element = self.memory.element_size(variable.ty);
        let mut is_in_range = true;
        for part in parts(&self.slab, element.max(types::size_in_memory(variable.ty))) {
            let part_count = element_count(&part)?;
            let mut scratch = zeroed(part_count, element)?;
            let mut offsets = Offsets::new(&self.slab, &part, map);
            for bytes in scratch.chunks_exact_mut(element) {
                data.copy_at(offsets.next_offset(), bytes);
            }
            is_in_range &= self.write_bytes(variable, &part, part_count, &scratch)?;
        }
        self.written(is_in_range)
    }

    /// Notes how long unlimited dimensions are now. As netCDF's library has it, numbers that were out of range are an error
    /// after all were written.
    fn written(self, is_in_range: bool) -> Result<()> {
        let variable = self.variable()?;
        let rank = variable.dimensions.len();
        let end = self.slab.end(rank).map_err(|_| EINVAL)?;
        let shape = self.file.shape(variable);
        if end.iter().zip(&shape).any(|(end, len)| end > len) {
            let Call { file, ncid, place, id, .. } = self;
            // Or the change would copy what this call still holds.
            drop(file);
            open_files::change(ncid, |file, _| file.lengthen(place, id, &end))?;
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
