//! Reads and writes one field of records.
//!
//! Reading decodes whole records and copies the field out of them. Writing is a guarded part of every
//! chunk it touches, so that writers of different fields never lose each other's work (decision 0116).

use super::aio;
use super::array::Array;
use crate::data_type::Field;
use crate::element::Element;
use crate::error::Result;
use crate::selection::Selection;
use crate::store::block_on;

/// How many elements a field holds in records of a shape: one for each, or those of its own shape.
fn elements_of(field: &Field, records: &[u64]) -> Vec<u64> {
    [records, field.shape()].concat()
}

impl Array {
    /// Reads one field of the records that are selected; `e.x` is the field `x` of the field `e`. A field with
    /// a shape gives all its elements for each record, in C order.
    ///
    /// ```
    /// # fn example(array: &zarr_core::Array) -> zarr_core::Result<()> {
    /// let heights = array.read_field::<f64>("height", 10..20)?;
    /// array.write_field("height", 10..20, &heights)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Array::read`]; [`crate::AccessError::Argument`] if there is no such field.
    pub fn read_field<T: Element>(
        &self,
        field: &str,
        selection: impl Into<Selection>,
    ) -> Result<Vec<T>> {
        let (layout, selected) = self.core.prepare(selection)?;
        let (field, span) = self.core.field_as::<T>(&layout, field)?;
        let mut elements = self.core.alloc_output::<T>(&elements_of(&field, &selected.shape))?;
        self.core.read_elements(&layout, &selected.part, span, &mut elements)?;
        Ok(elements)
    }

    /// Reads one field as bytes: native elements, whatever their type.
    ///
    /// # Errors
    /// As [`Array::read_field`].
    pub fn read_field_bytes(
        &self,
        field: &str,
        selection: impl Into<Selection>,
    ) -> Result<Vec<u8>> {
        let (layout, selected) = self.core.prepare(selection)?;
        let (_, span) = self.core.field(&layout, field)?;
        self.core.read_bytes(&layout, &selected.part, span)
    }

    /// Writes one field of the records that are selected; the other fields stay as they are, even if others
    /// write them meanwhile.
    ///
    /// # Errors
    /// As [`Array::write`]; [`crate::AccessError::Argument`] if there is no such field.
    pub fn write_field<T: Element>(
        &self,
        field: &str,
        selection: impl Into<Selection>,
        elements: &[T],
    ) -> Result<()> {
        let (layout, selected) = self.core.prepare(selection)?;
        let (field, span) = self.core.field_as::<T>(&layout, field)?;
        self.core.check_count(&elements_of(&field, &selected.shape), elements.len())?;
        self.core.check_values(field.data_type(), elements)?;
        let memory = T::as_memory(elements).unwrap_or_default();
        block_on(self.core.check_still_there(&layout, &selected.part))?;
        self.core.write(&layout, &selected.part, span, &memory, None)
    }

    /// Writes one field from bytes: native elements, whatever their type.
    ///
    /// # Errors
    /// As [`Array::write_field`]; [`crate::CodecError::Corrupt`] for bytes that are no such elements.
    pub fn write_field_bytes(
        &self,
        field: &str,
        selection: impl Into<Selection>,
        bytes: &[u8],
    ) -> Result<()> {
        let (layout, selected) = self.core.prepare(selection)?;
        let (field, span) = self.core.field(&layout, field)?;
        let whole = bytes.len().is_multiple_of(span.size);
        let count = if whole { bytes.len() / span.size } else { usize::MAX };
        self.core.check_count(&selected.shape, count)?;
        self.core.check_bytes(field.data_type(), bytes)?;
        block_on(self.core.check_still_there(&layout, &selected.part))?;
        self.core.write(&layout, &selected.part, span, bytes, None)
    }
}

impl aio::Array {
    /// See [`crate::Array::read_field`].
    ///
    /// # Errors
    /// As there.
    pub async fn read_field<T: Element>(
        &self,
        field: &str,
        selection: impl Into<Selection>,
    ) -> Result<Vec<T>> {
        let (layout, selected) = self.core.prepare(selection)?;
        let (field, span) = self.core.field_as::<T>(&layout, field)?;
        let elements = self.core.alloc_output::<T>(&elements_of(&field, &selected.shape))?;
        let read = self.core.read_elements_async(layout, selected.part, span, elements);
        let (elements, result) = read.await;
        result.map(|()| elements)
    }

    /// See [`crate::Array::read_field_bytes`].
    ///
    /// # Errors
    /// As there.
    pub async fn read_field_bytes(
        &self,
        field: &str,
        selection: impl Into<Selection>,
    ) -> Result<Vec<u8>> {
        let (layout, selected) = self.core.prepare(selection)?;
        let (_, span) = self.core.field(&layout, field)?;
        self.core.read_bytes_async(layout, selected.part, span).await
    }

    /// See [`crate::Array::write_field`].
    ///
    /// # Errors
    /// As there.
    pub async fn write_field<T: Element>(
        &self,
        field: &str,
        selection: impl Into<Selection>,
        elements: Vec<T>,
    ) -> Result<()> {
        let (layout, selected) = self.core.prepare(selection)?;
        let (field, span) = self.core.field_as::<T>(&layout, field)?;
        self.core.check_count(&elements_of(&field, &selected.shape), elements.len())?;
        self.core.check_values(field.data_type(), &elements)?;
        self.core.check_still_there(&layout, &selected.part).await?;
        self.core.write_async(&layout, &selected.part, span, elements).await
    }
}
