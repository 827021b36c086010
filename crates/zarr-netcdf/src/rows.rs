//! Gathers rows that a program writes one after the other, until they are whole chunks.
//!
//! Programs write record by record. Without this each record would read, change and store its chunk again, and make all
//! variables longer that have the dimension. What is gathered reaches the store when a chunk is whole, before anything is
//! read, and by `sync` and `close`.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::c_int;

use zarr::nczarr::{Slab, Type};

use crate::codes::{ENOMEM, Result};
use crate::index::{File, Variable};
use crate::request::Memory;
use crate::write::write_from;

/// The most bytes of elements of a call that are gathered; more are written at once.
const MAX_CALL_BYTES: usize = 4 << 20;
/// The most bytes that are gathered of all variables of a file.
const MAX_BYTES: usize = 64 << 20;

/// Which variable: its group's place, its number.
type Key = (usize, c_int);

/// Elements that are not written yet, at most one box of each variable.
#[derive(Debug, Default)]
pub struct Gathered {
    boxes: HashMap<Key, Rows>,
    bytes: usize,
}

/// Native elements in a box that grows along the first axis.
#[derive(Debug)]
struct Rows {
    start: Vec<u64>,
    count: Vec<u64>,
    bytes: Vec<u8>,
}

impl Rows {
    fn end(&self) -> u64 {
        self.start[0] + self.count[0]
    }

    /// Whether a slab is what comes next along the first axis.
    fn is_followed_by(&self, slab: &Slab) -> bool {
        slab.start[0] == self.end()
            && slab.start[1..] == self.start[1..]
            && slab.count[1..] == self.count[1..]
    }
}

/// Whether rows of the variable are gathered at all: numbers and characters that are stored as they are, without gaps.
pub fn may_gather(variable: &Variable, slab: &Slab, bytes: usize) -> bool {
    !slab.count.is_empty()
        && bytes <= MAX_CALL_BYTES
        && variable.ty != Type::String
        && variable.ty == variable.zarr_type
        && slab.stride.iter().zip(&slab.count).all(|(&stride, &count)| stride == 1 || count == 1)
}

impl Gathered {
    /// Writes native elements of a slab, or keeps them until more have come. Those of the variable that were written before
    /// reach the store first.
    ///
    /// # Errors
    /// What the store meets, of these elements or of earlier ones; those stay.
    pub fn write(
        &mut self,
        file: &File,
        (place, id): Key,
        slab: &Slab,
        bytes: &[u8],
    ) -> Result<()> {
        let key = (place, id);
        let variable = file.group(place)?.variable(id)?;
        if self.bytes + bytes.len() > MAX_BYTES {
            // Before more is kept, so that a store that is full does not fill the memory.
            self.write_all(file)?;
        }
        if self.boxes.get(&key).is_some_and(|rows| !rows.is_followed_by(slab)) {
            self.write_out(file, key)?;
        }
        let chunk_rows = file.chunks(variable).map_or(1, |lens| lens[0].max(1) as u64);
        let end = slab.start[0] + slab.count[0];
        let rows = match self.boxes.entry(key) {
            Entry::Occupied(kept) => kept.into_mut(),
            Entry::Vacant(free) => {
                if slab.start[0].is_multiple_of(chunk_rows) && end.is_multiple_of(chunk_rows) {
                    return write_from(variable, slab, Memory::Same, bytes).map(|_| ());
                }
                let (start, mut count) = (slab.start.clone(), slab.count.clone());
                count[0] = 0;
                free.insert(Rows { start, count, bytes: Vec::new() })
            }
        };
        rows.bytes.try_reserve(bytes.len()).map_err(|_| ENOMEM)?;
        rows.bytes.extend_from_slice(bytes);
        rows.count[0] += slab.count[0];
        self.bytes += bytes.len();
        let dimension = &file.dimensions[variable.dimensions[0]];
        let is_last = !dimension.is_unlimited && end == dimension.len as u64;
        if is_last || end.is_multiple_of(chunk_rows) { self.write_out(file, key) } else { Ok(()) }
    }

    /// Writes what was gathered of a variable. After an error it is still there.
    fn write_out(&mut self, file: &File, key: Key) -> Result<()> {
        let Some(rows) = self.boxes.get(&key) else { return Ok(()) };
        let variable = file.group(key.0)?.variable(key.1)?;
        let slab = Slab::new(rows.start.clone(), rows.count.clone());
        write_from(variable, &slab, Memory::Same, &rows.bytes)?;
        self.bytes -= rows.bytes.len();
        self.boxes.remove(&key);
        Ok(())
    }

    /// Writes all that was gathered.
    ///
    /// # Errors
    /// What the store meets; what could not be written is still there.
    pub fn write_all(&mut self, file: &File) -> Result<()> {
        let keys: Vec<Key> = self.boxes.keys().copied().collect();
        keys.into_iter().try_for_each(|key| self.write_out(file, key))
    }
}
