//! Elements of variable length in memory: references, as views show them, and the buffer that they point into.

use std::sync::Arc;

use bytes::Bytes;

use super::element_memory::zeroed;
use crate::data_type::DataType;
use crate::element::Element;
use crate::error::{AccessError, CodecError, Error, Result};
use crate::var_buffer::{VAR_REF_SIZE, VarBuffer};

/// The size of the length, little-endian, before each variable-length element of a stream.
const LENGTH_BYTES: usize = size_of::<u32>();

/// Variable-length elements, as a view shows them.
#[derive(Debug)]
pub(super) struct Cells {
    pub memory: Vec<u8>,
    pub var_buffer: Arc<VarBuffer>,
}

impl Cells {
    /// Cells for a region of an array with this fill value, none of them filled yet.
    pub fn unfilled(fill: &Bytes, region: &[u64]) -> Result<Cells> {
        let (var_buffer, _) = VarBuffer::holding(fill.clone())?;
        Ok(Cells {
            memory: zeroed(region, VAR_REF_SIZE, "the region")?,
            var_buffer: Arc::new(var_buffer),
        })
    }

    /// Cells of elements of the caller, which are valid for the array's type.
    pub fn from_elements<'a>(
        fill: &Bytes,
        elements: impl Iterator<Item = &'a [u8]> + Clone,
    ) -> Result<Cells> {
        let size = elements.clone().map(<[u8]>::len).try_fold(0usize, usize::checked_add);
        let mut buffer = Vec::new();
        let limit = CodecError::Limit { codec: "memory", limit: isize::MAX as u64 };
        size.filter(|&size| buffer.try_reserve_exact(size).is_ok()).ok_or(limit)?;
        elements.clone().for_each(|element| buffer.extend_from_slice(element));
        let (var_buffer, _) = VarBuffer::holding(fill.clone())?;
        let buffer = var_buffer.add(buffer.into())?;
        let mut memory = Vec::new();
        let mut offset = 0;
        for element in elements {
            memory.extend_from_slice(buffer.reference(offset, element.len() as u64)?.as_bytes());
            offset += element.len() as u64;
        }
        Ok(Cells { memory, var_buffer: Arc::new(var_buffer) })
    }

    /// Cells of `count` elements of a type in a stream, each after its length.
    pub fn from_stream(
        fill: &Bytes,
        data_type: &DataType,
        stream: &[u8],
        count: u64,
    ) -> Result<Cells> {
        let (var_buffer, _) = VarBuffer::holding(fill.clone())?;
        let buffer = var_buffer.add(Bytes::copy_from_slice(stream))?;
        let mut memory = Vec::new();
        let mut offset = 0usize;
        let mut found = 0u64;
        while offset < stream.len() {
            let length = stream[offset..].first_chunk::<LENGTH_BYTES>();
            let length = length.ok_or_else(|| cut_short("within a length"))?;
            let length = u32::from_le_bytes(*length) as usize;
            offset += LENGTH_BYTES;
            let element = stream.get(offset..).and_then(|rest| rest.get(..length));
            let element = element.ok_or_else(|| cut_short("within one of them"))?;
            data_type.check_element(element)?;
            memory.extend_from_slice(buffer.reference(offset as u64, length as u64)?.as_bytes());
            offset += length;
            found += 1;
        }
        if found == count {
            Ok(Cells { memory, var_buffer: Arc::new(var_buffer) })
        } else {
            Err(AccessError::Count { expected: count, found }.into())
        }
    }

    /// Each element, to the caller's memory.
    pub fn to_elements<T: Element>(&self, out: &mut [T]) {
        let elements = self.var_buffer.elements();
        for (element, cell) in out.iter_mut().zip(self.memory.chunks_exact(VAR_REF_SIZE)) {
            *element = T::from_bytes(elements.get(cell));
        }
    }

    /// The elements in a stream, each after its length.
    pub fn to_stream(&self) -> Vec<u8> {
        let elements = self.var_buffer.elements();
        let mut stream = Vec::new();
        for cell in self.memory.chunks_exact(VAR_REF_SIZE) {
            let element = elements.get(cell);
            stream.extend_from_slice(&(element.len() as u32).to_le_bytes());
            stream.extend_from_slice(element);
        }
        stream
    }
}

fn cut_short(place: &str) -> Error {
    let why = format!(
        "the elements end {place}; each element is its length, four bytes little-endian, and so many bytes"
    );
    AccessError::Argument(why).into()
}
