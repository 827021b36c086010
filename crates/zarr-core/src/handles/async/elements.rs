//! What hands memory over: the caller's elements and buffers go into the future, so that one that is dropped leaves none
//! half read. The blocking face borrows them instead; its methods of the same names are in `blocking/elements.rs`.

use super::{Array, Chunk};
use crate::array::{ChunkPart, Strided};
use crate::element::Element;
use crate::error::Result;
#[cfg(doc)]
use crate::error::{AccessError, CodecError};
use crate::hierarchy::{prepend, resize};
use crate::selection::Selection;
use crate::view::strided::StridedBuffer;

impl Array {
    /// Reads what is selected into memory that the caller hands over and gets back, whatever happens. It must have exactly
    /// the size of the selection.
    ///
    /// # Errors
    /// As [`Array::read`]; [`AccessError::Count`].
    pub async fn read_into<T: Element>(
        &self,
        selection: impl Into<Selection>,
        out: Vec<T>,
    ) -> (Vec<T>, Result<()>) {
        self.core.read_owned(selection.into(), out).await
    }

    /// Writes what is selected, after a look at the array's document: where another writer has shortened or erased the
    /// array since it was opened, that is an error, and nothing is written (not with the guard off). Parts of chunks are
    /// merged into what others write concurrently; no element is lost. Of elements for the same place the last one in C order
    /// stays. The elements are handed over, so that a dropped future needs nothing of its caller's.
    ///
    /// # Errors
    /// [`AccessError::ReadOnly`], [`AccessError::ElementType`], [`AccessError::Count`]; [`AccessError::NotFound`],
    /// [`AccessError::Replaced`] if the array is gone or another is in its place; those of
    /// [`Array::read`] for the selection; what the store or a codec reports.
    pub async fn write<T: Element>(
        &self,
        selection: impl Into<Selection>,
        elements: Vec<T>,
    ) -> Result<()> {
        self.core.write_typed(None, selection.into(), elements.into()).await
    }

    /// Writes what is selected from bytes, as [`Array::read_bytes`] gives them.
    ///
    /// # Errors
    /// As [`Array::write`]; [`CodecError::Corrupt`] for bytes that are no elements of the type.
    pub async fn write_bytes(&self, selection: impl Into<Selection>, bytes: Vec<u8>) -> Result<()> {
        self.core.write_native(None, selection.into(), bytes.into()).await
    }

    /// Writes what is selected from bytes: little-endian elements in C order.
    ///
    /// # Errors
    /// As [`Array::write_bytes`].
    pub async fn write_le_bytes(
        &self,
        selection: impl Into<Selection>,
        bytes: Vec<u8>,
    ) -> Result<()> {
        self.core.write_little_endian(selection.into(), bytes.into()).await
    }

    /// Reads what is selected into memory of any strides, which the caller hands over and gets back, whatever happens:
    /// native elements of any type that has a fixed size. `out` has the shape of the selection, without the axes of single
    /// numbers.
    ///
    /// # Errors
    /// As [`Array::read`]; [`AccessError::Argument`] if `out` has another shape or element size, its elements overlap, or
    /// the array's have no fixed size: those are read by [`Array::read_bytes`] or as `String`.
    pub async fn read_view(
        &self,
        selection: impl Into<Selection>,
        out: StridedBuffer,
    ) -> (StridedBuffer, Result<()>) {
        self.core.read_view_owned(selection.into(), out).await
    }

    /// Reads parts of chunks, each to its place in memory of any strides, which the caller hands over and gets back: native elements of any type that has a fixed size.
    /// Returns for each part whether its chunk is stored; one that is not reads as the fill value. The shape of `out` is
    /// any; what no part is placed in stays as it is. Where places overlap, it has the elements of one of them.
    ///
    /// For callers that plan chunk by chunk. Others use [`Array::read_view`], which reads each chunk once.
    ///
    /// # Errors
    /// As [`Array::read_view`]; [`AccessError::Argument`] for a chunk that is not there, or a place of another shape than its
    /// elements.
    pub async fn read_chunks_into(
        &self,
        parts: &[ChunkPart],
        out: StridedBuffer,
    ) -> (StridedBuffer, Result<Vec<bool>>) {
        self.core.read_chunk_parts_owned(parts, out).await
    }

    /// Writes what is selected from memory of any strides: native elements of any type that has a fixed size. `elements`
    /// has the shape of the selection, without the axes of single numbers; where its stride is 0, an element is repeated.
    ///
    /// # Errors
    /// As [`Array::write`]; [`AccessError::Argument`] as [`Array::read_view`]; [`CodecError::Corrupt`] for bytes that are
    /// no elements of the type.
    pub async fn write_view(
        &self,
        selection: impl Into<Selection>,
        elements: StridedBuffer,
    ) -> Result<()> {
        self.core.write_view(selection.into(), Strided::Owned(elements)).await
    }

    /// Writes one field of the records that are selected. The other fields stay as they are, even if others write them
    /// concurrently.
    ///
    /// # Errors
    /// As [`Array::write`]; [`AccessError::Argument`] if there is no such field.
    pub async fn write_field<T: Element>(
        &self,
        field: &str,
        selection: impl Into<Selection>,
        elements: Vec<T>,
    ) -> Result<()> {
        self.core.write_typed(Some(field), selection.into(), elements.into()).await
    }

    /// Writes one field from bytes: native elements of any type.
    ///
    /// # Errors
    /// As [`Array::write_field`]; [`CodecError::Corrupt`] for bytes that are no such elements.
    pub async fn write_field_bytes(
        &self,
        field: &str,
        selection: impl Into<Selection>,
        bytes: Vec<u8>,
    ) -> Result<()> {
        self.core.write_native(Some(field), selection.into(), bytes.into()).await
    }

    /// Makes the array longer along `axis` and writes `elements` there, all in C order; returns the
    /// coordinate at which they begin. Concurrent appends all arrive, each in a separate place.
    ///
    /// The place is taken before the elements are stored. If they cannot be stored, the array gets the shape back
    /// that it had, unless others have appended concurrently. An append that is killed, or whose future
    /// is dropped, leaves the place: what was not stored reads as the fill value.
    ///
    /// # Errors
    /// [`AccessError::Argument`] if the elements do not fill whole slices; otherwise as [`Array::write`].
    pub async fn append<T: Element>(&self, axis: usize, elements: Vec<T>) -> Result<u64> {
        resize::append(&self.hierarchy.core, &self.core, axis, elements.into()).await
    }

    /// As [`Array::append`], with native elements of any type that has a fixed size, in memory of any strides. Along all axes
    /// but `axis` it is as long as the array.
    ///
    /// # Errors
    /// As [`Array::append`]; [`AccessError::Argument`] for another shape or element size; as [`Array::write_view`].
    pub async fn append_view(&self, axis: usize, elements: StridedBuffer) -> Result<u64> {
        resize::append_view(&self.hierarchy.core, &self.core, axis, Strided::Owned(elements)).await
    }

    /// Makes the array longer before its first element along `axis`, and writes `elements` there, all in C
    /// order: what had coordinate 0 has the coordinate after them. No stored element moves. Only a chunk
    /// grid that reaches before its origin can do so; those are extensions.
    ///
    /// As with [`Array::append`] the place is taken before the elements are stored, and given back if they cannot be,
    /// unless others have changed the array's shape or grid concurrently. A prepend that is killed, or whose future is
    /// dropped, leaves the place: what was not stored reads as the fill value.
    ///
    /// # Errors
    /// [`AccessError::Argument`] for another grid; otherwise as [`Array::append`].
    pub async fn prepend<T: Element>(&self, axis: usize, elements: Vec<T>) -> Result<()> {
        prepend::prepend(&self.hierarchy.core, &self.core, axis, elements.into()).await
    }

    /// Writes what is selected from an `ndarray` array of the selection's shape, in any memory order.
    ///
    /// # Errors
    /// As [`Array::write`]; [`AccessError::Argument`] if the shapes differ.
    #[cfg(feature = "ndarray")]
    pub async fn write_ndarray<T: Element, D: ndarray::Dimension>(
        &self,
        selection: impl Into<Selection>,
        elements: ndarray::Array<T, D>,
    ) -> Result<()> {
        let shape: Vec<u64> = elements.shape().iter().map(|&n| n as u64).collect();
        let elements = in_c_order(elements);
        self.core.write_shaped(selection.into(), &shape, elements.into()).await
    }
}

impl Chunk {
    /// Writes all its elements.
    ///
    /// # Errors
    /// As [`Array::write`].
    pub async fn write<T: Element>(&mut self, elements: Vec<T>) -> Result<()> {
        self.array().write(self.region(), elements).await
    }
}

/// The elements of an array in C order.
#[cfg(feature = "ndarray")]
fn in_c_order<T: Clone, D: ndarray::Dimension>(elements: ndarray::Array<T, D>) -> Vec<T> {
    if !elements.is_standard_layout() {
        return elements.iter().cloned().collect();
    }
    let count = elements.len();
    let (mut memory, first) = elements.into_raw_vec_and_offset();
    memory.drain(..first.unwrap_or(0));
    memory.truncate(count);
    memory
}
