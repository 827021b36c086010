//! Converts elements to and from Rust memory of their own type.

use std::sync::Arc;

use bytes::Bytes;

use super::executor::{self, Stop};
use super::{ArrayCore, ArrayState, ChunkLayout, FieldBytes, zeroed};
use crate::data_type::{DataType, Origin, Repr};
use crate::element::Element;
use crate::error::{AccessError, CodecError, Result};
use crate::region::element_count;
use crate::selection::ResolvedSelection;
use crate::var_buffer::{VAR_REF_SIZE, VarBuffer};
use crate::view::ViewMut;

impl ArrayCore {
    /// Refuses elements of another type than the array's.
    pub(crate) fn check_type<T: Element>(&self, state: &ArrayState) -> Result<()> {
        state.supported().map_err(|e| self.at(e))?;
        if T::is(&state.metadata.data_type) {
            Ok(())
        } else {
            let array = state.metadata.data_type.to_string();
            Err(self.at(AccessError::ElementType { array, asked: T::NAME }))
        }
    }

    /// Refuses elements of another type, and such as are none of it.
    pub(crate) fn check_elements<T: Element>(
        &self,
        state: &ArrayState,
        elements: &[T],
    ) -> Result<()> {
        self.check_type::<T>(state)?;
        self.check_values(&state.metadata.data_type, elements)
    }

    /// Refuses elements that cannot be: a Rust struct has bytes where a record has bools or text, and an
    /// extension's type may want more than its representation.
    pub(crate) fn check_values<T: Element>(
        &self,
        data_type: &DataType,
        elements: &[T],
    ) -> Result<()> {
        match (data_type, T::as_memory(elements)) {
            (DataType::Extension(extension), Some(memory)) if extension.needs_check() => {
                extension.check(&memory).map_err(|e| self.at(e))
            }
            // A `bool` of Rust's is one.
            (DataType::Core(_), Some(_)) => Ok(()),
            (data_type, Some(memory)) => self.check_bytes(data_type, &memory),
            (data_type, None) => elements
                .iter()
                .try_for_each(|element| data_type.check_element(element.as_bytes()))
                .map_err(|e| self.at(e)),
        }
    }

    /// Refuses native bytes that are no elements of the type.
    pub(crate) fn check_bytes(&self, data_type: &DataType, bytes: &[u8]) -> Result<()> {
        if data_type.needs_check() {
            data_type.check(&mut bytes.to_vec(), Origin::Caller).map_err(|e| self.at(e))
        } else {
            Ok(())
        }
    }

    /// Refuses more or fewer elements than a selection of this shape has.
    pub(crate) fn check_count(&self, shape: &[u64], found: usize) -> Result<()> {
        let expected = element_count(shape).unwrap_or(u64::MAX);
        if expected == found as u64 {
            Ok(())
        } else {
            Err(self.at(AccessError::Count { expected, found: found as u64 }))
        }
    }

    /// Zeroed elements for a selection of this shape.
    pub(crate) fn alloc_output<T: Element>(&self, shape: &[u64]) -> Result<Vec<T>> {
        let count = element_count(shape).and_then(|n| usize::try_from(n).ok());
        let fits = count
            .filter(|n| n.checked_mul(size_of::<T>()).is_some_and(|n| isize::try_from(n).is_ok()));
        fits.and_then(T::alloc).ok_or_else(|| {
            let size = element_count(shape).and_then(|n| n.checked_mul(size_of::<T>() as u64));
            let hint = "read a smaller region";
            self.at(AccessError::TooLarge {
                what: "the region",
                size: size.unwrap_or(u64::MAX),
                hint,
            })
        })
    }
}

impl ArrayCore {
    /// Reads elements for a caller that may block.
    pub fn read_elements<T: Element>(
        self: &Arc<Self>,
        layout: &ChunkLayout,
        part: &ResolvedSelection,
        span: FieldBytes,
        out: &mut [T],
    ) -> Result<()> {
        if layout.repr == Repr::Variable {
            self.read_cells(layout, part)?.to_elements(out);
            return Ok(());
        }
        if let Some(memory) = T::memory(out) {
            return self.read(layout, part, span, memory, None);
        }
        let bytes = self.read_bytes(layout, part, span)?;
        from_bytes(&bytes, span, out);
        Ok(())
    }

    /// Reads elements as bytes for a caller that may block; those of any length each after its length.
    pub fn read_bytes(
        self: &Arc<Self>,
        layout: &ChunkLayout,
        part: &ResolvedSelection,
        span: FieldBytes,
    ) -> Result<Vec<u8>> {
        if layout.repr == Repr::Variable {
            return Ok(self.read_cells(layout, part)?.to_stream());
        }
        let mut bytes = zeroed(&part.shape(), span.size, "the region").map_err(|e| self.at(e))?;
        self.read(layout, part, span, &mut bytes, None)?;
        Ok(bytes)
    }

    fn read_cells(
        self: &Arc<Self>,
        layout: &ChunkLayout,
        part: &ResolvedSelection,
    ) -> Result<Cells> {
        let mut cells = layout.cells(&part.shape()).map_err(|e| self.at(e))?;
        self.read(layout, part, layout.span(), &mut cells.memory, Some(&cells.var_buffer))?;
        Ok(cells)
    }

    /// Reads elements for an async caller, into memory that comes back, whatever happens. From a local store a thread
    /// that may block reads them as for a blocking caller, and stops after the current chunks if the future is dropped.
    pub async fn read_elements_async<T: Element>(
        self: &Arc<Self>,
        layout: ChunkLayout,
        part: ResolvedSelection,
        span: FieldBytes,
        mut out: Vec<T>,
    ) -> (Vec<T>, Result<()>) {
        let result = if !self.is_remote() {
            let core = self.clone();
            let read = move |stop: &Stop| {
                let result = stop.watch(|| core.read_elements(&layout, &part, span, &mut out));
                (out, result)
            };
            let options = &self.context.options;
            let read = executor::off_thread(options, read).await;
            return read.unwrap_or_else(|| (Vec::new(), Err(executor::lost_worker())));
        } else if layout.repr == Repr::Variable {
            self.read_cells_async(&layout, &part).await.map(|cells| cells.to_elements(&mut out))
        } else if let Some(memory) = T::memory(&mut out) {
            let memory = ViewMut::new(memory, &part.shape(), span.size);
            self.read_async(&layout, &part, span, memory, None).await
        } else {
            let bytes = self.read_bytes_async(layout, part, span).await;
            bytes.map(|bytes| from_bytes(&bytes, span, &mut out))
        };
        (out, result)
    }

    /// Reads elements as bytes for an async caller; those of any length each after its length.
    pub async fn read_bytes_async(
        self: &Arc<Self>,
        layout: ChunkLayout,
        part: ResolvedSelection,
        span: FieldBytes,
    ) -> Result<Vec<u8>> {
        if !self.is_remote() {
            let core = self.clone();
            let read = move |stop: &Stop| stop.watch(|| core.read_bytes(&layout, &part, span));
            let read = executor::off_thread(&self.context.options, read).await;
            return read.unwrap_or_else(|| Err(executor::lost_worker()));
        }
        if layout.repr == Repr::Variable {
            return Ok(self.read_cells_async(&layout, &part).await?.to_stream());
        }
        let shape = part.shape();
        let mut bytes = zeroed(&shape, span.size, "the region").map_err(|e| self.at(e))?;
        let out = ViewMut::new(&mut bytes, &shape, span.size);
        self.read_async(&layout, &part, span, out, None).await?;
        Ok(bytes)
    }

    async fn read_cells_async(
        self: &Arc<Self>,
        layout: &ChunkLayout,
        part: &ResolvedSelection,
    ) -> Result<Cells> {
        let shape = part.shape();
        let mut cells = layout.cells(&shape).map_err(|e| self.at(e))?;
        let out = ViewMut::new(&mut cells.memory, &shape, VAR_REF_SIZE)
            .with_var_buffer(Some(&cells.var_buffer));
        self.read_async(layout, part, layout.span(), out, Some(cells.var_buffer.clone())).await?;
        Ok(cells)
    }

    /// Writes elements for a caller that may block.
    pub fn write_elements<T: Element>(
        self: &Arc<Self>,
        layout: &ChunkLayout,
        part: &ResolvedSelection,
        span: FieldBytes,
        elements: &[T],
    ) -> Result<()> {
        match T::as_memory(elements) {
            Some(memory) => self.write(layout, part, span, &memory, None),
            None => {
                let contents = elements.iter().map(T::as_bytes);
                let cells = layout.cells_of(contents).map_err(|e| self.at(e))?;
                self.write(layout, part, span, &cells.memory, Some(&cells.var_buffer))
            }
        }
    }
}

/// Makes elements of native bytes.
fn from_bytes<T: Element>(bytes: &[u8], span: FieldBytes, out: &mut [T]) {
    for (element, bytes) in out.iter_mut().zip(bytes.chunks_exact(span.size)) {
        *element = T::from_bytes(bytes);
    }
}

/// Bytes before each element of any length in a stream of them: how many it has, little-endian.
const LENGTH: usize = size_of::<u32>();

/// Elements of any length, as a view shows them.
#[derive(Debug)]
pub(crate) struct Cells {
    pub memory: Vec<u8>,
    pub var_buffer: Arc<VarBuffer>,
}

impl ArrayState {
    /// Cells for a region of an array whose elements have any length, none of them filled yet.
    pub fn cells(&self, region: &[u64]) -> Result<Cells> {
        let (var_buffer, _) = VarBuffer::holding(self.content.clone())?;
        Ok(Cells {
            memory: zeroed(region, VAR_REF_SIZE, "the region")?,
            var_buffer: Arc::new(var_buffer),
        })
    }

    /// Cells of elements of the caller's, which are ones of the array's type.
    pub fn cells_of<'a>(&self, elements: impl Iterator<Item = &'a [u8]> + Clone) -> Result<Cells> {
        let size = elements.clone().map(<[u8]>::len).try_fold(0usize, usize::checked_add);
        let mut buffer = Vec::new();
        let reserved = size.is_some_and(|size| buffer.try_reserve_exact(size).is_ok());
        if !reserved {
            return Err(CodecError::Limit { codec: "memory", limit: isize::MAX as u64 }.into());
        }
        elements.clone().for_each(|element| buffer.extend_from_slice(element));
        let (var_buffer, _) = VarBuffer::holding(self.content.clone())?;
        let buffer = var_buffer.add(buffer.into())?;
        let (mut memory, mut offset) = (Vec::new(), 0);
        for element in elements {
            memory.extend_from_slice(buffer.reference(offset, element.len() as u64)?.as_bytes());
            offset += element.len() as u64;
        }
        Ok(Cells { memory, var_buffer: Arc::new(var_buffer) })
    }

    /// Cells of elements in a stream, each after its length.
    pub fn cells_of_stream(&self, stream: &[u8], count: u64) -> Result<Cells> {
        let wrong = |why: &str| {
            let what = format!(
                "{why}; each element is its length, four bytes little-endian, and so many bytes"
            );
            crate::Error::from(AccessError::Argument(what))
        };
        let (var_buffer, _) = VarBuffer::holding(self.content.clone())?;
        let buffer = var_buffer.add(Bytes::copy_from_slice(stream))?;
        let (mut memory, mut at, mut found) = (Vec::new(), 0usize, 0u64);
        while at < stream.len() {
            let length = stream[at..].first_chunk::<LENGTH>();
            let length = length.ok_or_else(|| wrong("the elements end within a length"))?;
            let length = u32::from_le_bytes(*length) as usize;
            at += LENGTH;
            let element = stream.get(at..).and_then(|rest| rest.get(..length));
            let element = element.ok_or_else(|| wrong("the elements end within one of them"))?;
            self.metadata.data_type.check_element(element)?;
            memory.extend_from_slice(buffer.reference(at as u64, length as u64)?.as_bytes());
            at += length;
            found += 1;
        }
        if found == count {
            Ok(Cells { memory, var_buffer: Arc::new(var_buffer) })
        } else {
            Err(AccessError::Count { expected: count, found }.into())
        }
    }
}

impl Cells {
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
