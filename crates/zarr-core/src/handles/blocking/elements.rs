//! What borrows memory of the caller's. The async face has it handed over instead; its methods of the same names are in
//! `async/elements.rs`.

use super::{Array, Chunk};
use crate::array::{ChunkPart, Strided};
use crate::element::Element;
use crate::error::Result;
#[cfg(doc)]
use crate::error::{AccessError, CodecError};
#[cfg(feature = "ndarray")]
use crate::handles::as_ndarray::AsNdarray;
use crate::hierarchy::{prepend, resize};
use crate::runtime::block_on;
use crate::selection::Selection;
use crate::view::{View, ViewMut};

impl Array {
    /// Reads what is selected into memory of the caller's, which must have exactly its size.
    ///
    /// # Errors
    /// As [`Array::read`]; [`AccessError::Count`].
    pub fn read_into<T: Element>(
        &self,
        selection: impl Into<Selection>,
        out: &mut [T],
    ) -> Result<()> {
        block_on(self.core.read_into(selection.into(), out))
    }

    /// Writes what is selected, after a look at the array's document: where another writer has shortened or erased the
    /// array since it was opened, that is an error, and nothing is written (not with the guard off). Parts of chunks are
    /// merged into what others write concurrently; no element is lost. Of elements for the same place the last one in C order
    /// stays.
    ///
    /// # Errors
    /// [`AccessError::ReadOnly`], [`AccessError::ElementType`], [`AccessError::Count`]; [`AccessError::NotFound`],
    /// [`AccessError::Replaced`] if the array is gone or another is in its place; those of
    /// [`Array::read`] for the selection; what the store or a codec reports.
    pub fn write<T: Element>(&self, selection: impl Into<Selection>, elements: &[T]) -> Result<()> {
        block_on(self.core.write_typed(None, selection.into(), elements.into()))
    }

    /// Writes what is selected from bytes, as [`Array::read_bytes`] gives them.
    ///
    /// # Errors
    /// As [`Array::write`]; [`CodecError::Corrupt`] for bytes that are no elements of the type.
    pub fn write_bytes(&self, selection: impl Into<Selection>, bytes: &[u8]) -> Result<()> {
        block_on(self.core.write_native(None, selection.into(), bytes.into()))
    }

    /// Writes what is selected from bytes: little-endian elements in C order.
    ///
    /// # Errors
    /// As [`Array::write_bytes`].
    pub fn write_le_bytes(&self, selection: impl Into<Selection>, bytes: &[u8]) -> Result<()> {
        block_on(self.core.write_little_endian(selection.into(), bytes.into()))
    }

    /// Reads what is selected into memory of any strides: native elements of any type that has a fixed size. `out` has the
    /// shape of the selection, without the axes of single numbers. Chunks are decoded straight into it.
    ///
    /// After an error, `out` may have some of the elements.
    ///
    /// ```
    /// # use zarr_core::ViewMut;
    /// # fn example(array: &zarr_core::Array) -> zarr_core::Result<()> {
    /// // Two rows of three 4-byte elements in Fortran order.
    /// let mut memory = [0; 24];
    /// let out = ViewMut::strided(&mut memory, 0, &[2, 3], &[4, 8], 4)?;
    /// array.read_view((0..2, 0..3), out)
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Array::read`]; [`AccessError::Argument`] if `out` has another shape or element size, or elements have no fixed
    /// size: those are read by [`Array::read_bytes`] or as `String`.
    pub fn read_view(&self, selection: impl Into<Selection>, out: ViewMut<'_>) -> Result<()> {
        block_on(self.core.read_view(selection.into(), out))
    }

    /// Reads parts of chunks, each to its place in memory of any strides: native elements of any type that has a fixed size.
    /// Returns for each part whether its chunk is stored; one that is not reads as the fill value. The shape of `out` is
    /// any; what no part is placed in stays as it is. Where places overlap, it has the elements of one of them.
    ///
    /// For callers that plan chunk by chunk. Others use [`Array::read_view`], which reads each chunk once.
    ///
    /// ```
    /// # use zarr_core::{ChunkPart, ViewMut};
    /// # fn example(array: &zarr_core::Array) -> zarr_core::Result<()> {
    /// let mut memory = [0; 4];
    /// let part = |chunk: u64, place: u64| ChunkPart {
    ///     chunk: vec![chunk],
    ///     within: (0..2).into(),
    ///     place: (place..place + 2).into(),
    /// };
    /// // The first two bytes of chunks 7 and 5.
    /// let out = ViewMut::new(&mut memory, &[4], 1);
    /// let stored = array.read_chunks_into(&[part(7, 0), part(5, 2)], out)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Array::read_view`]; [`AccessError::Argument`] for a chunk that is not there, or a place of another shape than its
    /// elements.
    pub fn read_chunks_into(&self, parts: &[ChunkPart], out: ViewMut<'_>) -> Result<Vec<bool>> {
        block_on(self.core.read_chunk_parts(parts, out))
    }

    /// Writes what is selected from memory of any strides: native elements of any type that has a fixed size. `elements`
    /// has the shape of the selection, without the axes of single numbers; where its stride is 0, an element is repeated.
    ///
    /// ```
    /// # use zarr_core::View;
    /// # fn example(array: &zarr_core::Array) -> zarr_core::Result<()> {
    /// // The same row of three bytes, a thousand times.
    /// array.write_view((..1000, ..3), View::strided(&[1, 2, 3], 0, &[1000, 3], &[0, 1], 1)?)
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Array::write`]; [`AccessError::Argument`] as [`Array::read_view`]; [`CodecError::Corrupt`] for bytes that are
    /// no elements of the type.
    pub fn write_view(&self, selection: impl Into<Selection>, elements: View<'_>) -> Result<()> {
        block_on(self.core.write_view(selection.into(), Strided::Lent(elements)))
    }

    /// Writes one field of the records that are selected. The other fields stay as they are, even if others write them
    /// concurrently.
    ///
    /// ```
    /// # fn example(array: &zarr_core::Array) -> zarr_core::Result<()> {
    /// array.write_field("height", 10..12, &[1.5, 2.5])
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Array::write`]; [`AccessError::Argument`] if there is no such field.
    pub fn write_field<T: Element>(
        &self,
        field: &str,
        selection: impl Into<Selection>,
        elements: &[T],
    ) -> Result<()> {
        block_on(self.core.write_typed(Some(field), selection.into(), elements.into()))
    }

    /// Writes one field from bytes: native elements of any type.
    ///
    /// # Errors
    /// As [`Array::write_field`]; [`CodecError::Corrupt`] for bytes that are no such elements.
    pub fn write_field_bytes(
        &self,
        field: &str,
        selection: impl Into<Selection>,
        bytes: &[u8],
    ) -> Result<()> {
        block_on(self.core.write_native(Some(field), selection.into(), bytes.into()))
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
    pub fn append<T: Element>(&self, axis: usize, elements: &[T]) -> Result<u64> {
        block_on(resize::append(&self.hierarchy.core, &self.core, axis, elements.into()))
    }

    /// As [`Array::append`], with native elements of any type that has a fixed size, in memory of any strides. Along all axes
    /// but `axis` it is as long as the array.
    ///
    /// # Errors
    /// As [`Array::append`]; [`AccessError::Argument`] for another shape or element size; as [`Array::write_view`].
    pub fn append_view(&self, axis: usize, elements: View<'_>) -> Result<u64> {
        block_on(resize::append_view(
            &self.hierarchy.core,
            &self.core,
            axis,
            Strided::Lent(elements),
        ))
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
    pub fn prepend<T: Element>(&self, axis: usize, elements: &[T]) -> Result<()> {
        block_on(prepend::prepend(&self.hierarchy.core, &self.core, axis, elements.into()))
    }

    /// Writes what is selected from an `ndarray` array or view of the selection's shape, in any memory order.
    ///
    /// # Errors
    /// As [`Array::write`]; [`AccessError::Argument`] if the shapes differ.
    #[cfg(feature = "ndarray")]
    pub fn write_ndarray<A>(&self, selection: impl Into<Selection>, elements: A) -> Result<()>
    where
        A: AsNdarray<Element: Element>,
    {
        let elements = elements.as_view();
        let shape: Vec<u64> = elements.shape().iter().map(|&n| n as u64).collect();
        let copy: Vec<A::Element>;
        let elements = match elements.as_slice() {
            Some(elements) => elements,
            None => {
                copy = elements.iter().cloned().collect();
                &copy
            }
        };
        block_on(self.core.write_shaped(selection.into(), &shape, elements.into()))
    }
}

impl Chunk {
    /// Writes all its elements.
    ///
    /// # Errors
    /// As [`Array::write`].
    pub fn write<T: Element>(&mut self, elements: &[T]) -> Result<()> {
        self.array().write(self.region(), elements)
    }
}
