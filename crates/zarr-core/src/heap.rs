//! Where do elements of variable length lie in memory?
//!
//! A view shows cells of equal size. The cell of a text says where the text is: in which buffer of a
//! [`Heap`], from which byte, how many bytes. So views of texts are cut, turned and copied like any
//! others, and a text is never moved. Buffers are added, not taken away, until the heap goes as a whole.

use std::fmt;
use std::sync::{RwLock, RwLockReadGuard};

use bytemuck::{Pod, Zeroable};
use bytes::Bytes;

use crate::error::CodecError;

/// Bytes of a cell that stands for an element of variable length.
pub const CELL: usize = size_of::<Cell>();

/// Where an element is. All zeros is the empty element.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Cell {
    /// The first byte, counted from the buffer's.
    offset: u64,
    /// How many bytes.
    len: u32,
    /// Which buffer; 0 is the empty one.
    buffer: u32,
}

impl Cell {
    /// The cell as a view holds it.
    pub fn as_bytes(&self) -> &[u8] {
        bytemuck::bytes_of(self)
    }
}

/// The buffers that hold elements.
pub struct Heap(RwLock<Vec<Bytes>>);

impl fmt::Debug for Heap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Heap of {} buffers", self.elements().0.len())
    }
}

impl Default for Heap {
    fn default() -> Self {
        Heap(RwLock::new(vec![Bytes::new()]))
    }
}

impl Heap {
    /// A heap that holds nothing but `element`, and that element's cell: the same in every heap so made.
    pub fn holding(element: Bytes) -> Result<(Heap, Cell), CodecError> {
        let heap = Heap::default();
        let cell = match element.len() {
            0 => Cell::default(),
            len => heap.add(element)?.cell(0, len as u64)?,
        };
        Ok((heap, cell))
    }

    /// Adds a buffer, whose elements can be given cells then.
    ///
    /// # Errors
    /// [`CodecError::Limit`] for more than 2³² buffers.
    pub fn add(&self, buffer: Bytes) -> Result<Buffer, CodecError> {
        let mut buffers = self.0.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        let limit = CodecError::Limit { codec: "memory", limit: u32::MAX.into() };
        let number = u32::try_from(buffers.len()).map_err(|_| limit)?;
        let len = buffer.len() as u64;
        buffers.push(buffer);
        Ok(Buffer { number, len })
    }

    /// The elements that are there now.
    pub fn elements(&self) -> Elements<'_> {
        Elements(self.0.read().unwrap_or_else(|poisoned| poisoned.into_inner()))
    }
}

/// A buffer of a heap.
#[derive(Clone, Copy, Debug)]
pub struct Buffer {
    number: u32,
    len: u64,
}

impl Buffer {
    /// The cell of the element in these bytes of the buffer.
    ///
    /// # Errors
    /// [`CodecError::Limit`] for an element of 4 GiB and more, or one that leaves the buffer.
    pub fn cell(&self, offset: u64, len: u64) -> Result<Cell, CodecError> {
        let limit = CodecError::Limit { codec: "memory", limit: u32::MAX.into() };
        let inside = offset.checked_add(len).is_some_and(|end| end <= self.len);
        match (inside, u32::try_from(len)) {
            (true, Ok(0)) => Ok(Cell::default()),
            (true, Ok(len)) => Ok(Cell { offset, len, buffer: self.number }),
            _ => Err(limit),
        }
    }
}

/// The elements of a heap, which nobody adds to meanwhile.
pub struct Elements<'a>(RwLockReadGuard<'a, Vec<Bytes>>);

impl Elements<'_> {
    /// The element that a cell stands for; empty for a cell of another heap.
    pub fn get(&self, cell: &[u8]) -> &[u8] {
        let cell: Cell = match cell.len() {
            CELL => bytemuck::pod_read_unaligned(cell),
            _ => Cell::default(),
        };
        let end = cell.offset.saturating_add(cell.len.into());
        let buffer = self.0.get(cell.buffer as usize);
        let range = usize::try_from(cell.offset).ok().zip(usize::try_from(end).ok());
        let element = buffer.zip(range).and_then(|(buffer, (from, to))| buffer.get(from..to));
        element.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_stand_for_elements() {
        let (heap, fill) = Heap::holding(Bytes::from_static(b"fill")).unwrap();
        let buffer = heap.add(Bytes::from_static(b"onetwo")).unwrap();
        let (one, two) = (buffer.cell(0, 3).unwrap(), buffer.cell(3, 3).unwrap());
        let elements = heap.elements();
        assert_eq!(elements.get(fill.as_bytes()), b"fill");
        assert_eq!(elements.get(one.as_bytes()), b"one");
        assert_eq!(elements.get(two.as_bytes()), b"two");
        assert_eq!(elements.get(&[0; CELL]), b"");
        assert_eq!(elements.get(&[0xff; CELL]), b"");
        assert!(buffer.cell(4, 3).is_err());
        assert!(buffer.cell(u64::MAX, 2).is_err());
        assert_eq!(Heap::holding(Bytes::new()).unwrap().1, Cell::default());
    }
}
