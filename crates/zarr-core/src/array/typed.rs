//! Converts elements to and from memory of Rust types.

use std::sync::Arc;

use bytes::Bytes;

use super::array_core::allocated;
use super::executor;
use super::transfer::Transfer;
use super::{ArrayCore, ArrayState, unset, zeroed};
use crate::data_type::{DataType, Origin, Repr};
use crate::element::Element;
use crate::error::{AccessError, CodecError, Result};
use crate::region::element_count;
use crate::store::may_block;
use crate::var_buffer::{VAR_REF_SIZE, VarBuffer};
use crate::view::{View, ViewMut};

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

    /// Refuses elements of another type, and bytes that are no element of it.
    pub(crate) fn check_elements<T: Element>(
        &self,
        state: &ArrayState,
        elements: &[T],
    ) -> Result<()> {
        self.check_type::<T>(state)?;
        self.check_values(&state.metadata.data_type, elements)
    }

    /// Refuses elements that cannot be: a Rust struct has bytes where a record has bools or text, and an
    /// extension's type may need more than its representation.
    pub(crate) fn check_values<T: Element>(
        &self,
        data_type: &DataType,
        elements: &[T],
    ) -> Result<()> {
        match (data_type, T::as_memory(elements)) {
            (DataType::Extension(extension), Some(memory)) if extension.needs_check() => {
                extension.check(&memory).map_err(|e| self.at(e))
            }
            // Rust's `bool` is always valid.
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

    /// Elements of any value for a selection of this shape.
    pub(crate) fn alloc_output<T: Element>(&self, shape: &[u64]) -> Result<Vec<T>> {
        let about = ("the region", "read a smaller region");
        allocated(shape, size_of::<T>(), T::alloc, about).map_err(|e| self.at(e))
    }
}

impl ArrayCore {
    /// Reads elements into memory that the caller lends. Where the store is local, the calling thread must be one that may
    /// block.
    pub async fn read_lent<T: Element>(
        self: &Arc<Self>,
        transfer: &Transfer,
        out: &mut [T],
    ) -> Result<()> {
        if transfer.layout.chunks().repr == Repr::Variable {
            self.read_cells(transfer).await?.to_elements(out);
            return Ok(());
        }
        if let Some(memory) = T::memory(out) {
            let out = ViewMut::new(memory, &transfer.part.lengths(), transfer.span.size);
            return self.read(transfer, out, None).await;
        }
        let bytes = self.read_native_lent(transfer).await?;
        let elements = out.iter_mut().zip(bytes.chunks_exact(transfer.span.size));
        elements.for_each(|(element, bytes)| *element = T::from_bytes(bytes));
        Ok(())
    }

    async fn read_native_lent(self: &Arc<Self>, transfer: &Transfer) -> Result<Vec<u8>> {
        if transfer.layout.chunks().repr == Repr::Variable {
            return Ok(self.read_cells(transfer).await?.to_stream());
        }
        let (shape, size) = (transfer.part.lengths(), transfer.span.size);
        let mut bytes = unset(&shape, size, "the region").map_err(|e| self.at(e))?;
        self.read(transfer, ViewMut::new(&mut bytes, &shape, size), None).await?;
        Ok(bytes)
    }

    async fn read_cells(self: &Arc<Self>, transfer: &Transfer) -> Result<Cells> {
        let shape = transfer.part.lengths();
        let mut cells = transfer.layout.cells(&shape).map_err(|e| self.at(e))?;
        let out = ViewMut::new(&mut cells.memory, &shape, VAR_REF_SIZE);
        self.read(transfer, out, Some(&cells.var_buffer)).await?;
        Ok(cells)
    }

    /// Reads elements into memory that the caller hands over, and gets back, whatever happens.
    pub async fn read_elements<T: Element>(
        self: &Arc<Self>,
        transfer: Transfer,
        mut out: Vec<T>,
    ) -> (Vec<T>, Result<()>) {
        if self.reads_in_place() {
            let result = self.read_lent(&transfer, &mut out).await;
            return (out, result);
        }
        let read = self.on_reader(move |core| async move {
            let result = core.read_lent(&transfer, &mut out).await;
            (out, result)
        });
        Box::pin(read).await.unwrap_or_else(|e| (Vec::new(), Err(e)))
    }

    /// Reads elements as native bytes; variable-length elements each after their length.
    pub async fn read_bytes(self: &Arc<Self>, transfer: Transfer) -> Result<Vec<u8>> {
        let read =
            self.on_reader(move |core| async move { core.read_native_lent(&transfer).await });
        read.await?
    }

    /// Whether the calling thread reads: the store is remote, or the thread may block.
    fn reads_in_place(&self) -> bool {
        self.is_remote() || may_block()
    }

    /// The result of `work`, on the calling thread if it reads, else on a thread that may block. If the future is dropped, the
    /// work begins no further chunk.
    pub(super) async fn on_reader<T: Send + 'static, F: Future<Output = T>>(
        self: &Arc<Self>,
        work: impl FnOnce(Arc<ArrayCore>) -> F + Send + 'static,
    ) -> Result<T> {
        let core = self.clone();
        if self.reads_in_place() {
            return Ok(work(core).await);
        }
        // Boxed: the future of work in place stays small.
        Box::pin(executor::off_thread(&self.options, move || work(core))).await
    }

    /// Writes elements that the caller lends. Where the store is local, the calling thread must be one that may block.
    pub async fn write_lent<T: Element>(
        self: &Arc<Self>,
        transfer: &Transfer,
        elements: &[T],
    ) -> Result<()> {
        let (shape, size) = (transfer.part.lengths(), transfer.span.size);
        match T::as_memory(elements) {
            Some(memory) => {
                let elements = View::new(&memory, &shape, size);
                self.write(transfer, elements, None).await
            }
            None => {
                let contents = elements.iter().map(T::as_bytes);
                let cells = transfer.layout.cells_of(contents).map_err(|e| self.at(e))?;
                let elements = View::new(&cells.memory, &shape, size);
                self.write(transfer, elements, Some(&cells.var_buffer)).await
            }
        }
    }
}

/// The size of the length, little-endian, before each variable-length element of a stream.
const LENGTH: usize = size_of::<u32>();

/// Variable-length elements, as a view shows them.
#[derive(Debug)]
pub(crate) struct Cells {
    pub memory: Vec<u8>,
    pub var_buffer: Arc<VarBuffer>,
}

impl ArrayState {
    /// Cells for a region of an array of variable-length elements, none of them filled yet.
    pub fn cells(&self, region: &[u64]) -> Result<Cells> {
        let (var_buffer, _) = VarBuffer::holding(self.content.clone())?;
        Ok(Cells {
            memory: zeroed(region, VAR_REF_SIZE, "the region")?,
            var_buffer: Arc::new(var_buffer),
        })
    }

    /// Cells of elements of the caller, which are valid for the array's type.
    pub fn cells_of<'a>(&self, elements: impl Iterator<Item = &'a [u8]> + Clone) -> Result<Cells> {
        let size = elements.clone().map(<[u8]>::len).try_fold(0usize, usize::checked_add);
        let mut buffer = Vec::new();
        let limit = CodecError::Limit { codec: "memory", limit: isize::MAX as u64 };
        size.filter(|&size| buffer.try_reserve_exact(size).is_ok()).ok_or(limit)?;
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
