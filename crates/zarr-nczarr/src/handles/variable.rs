//! Reads and writes a variable.

use zarr_core::{AccessError, Array, Error, Result};

use crate::documents::load::Entry;
use crate::handles::dataset::Dataset;
use crate::model::elements;
use crate::model::schema::{self, Dimension};
use crate::model::slab::Slab;
use crate::model::types::Type;
use crate::model::values::Values;

/// A variable of a dataset.
#[derive(Clone, Debug)]
pub struct Variable {
    pub(crate) dataset: Dataset,
    pub(crate) path: String,
}

impl Variable {
    pub(crate) fn new(dataset: Dataset, path: String) -> Self {
        Variable { dataset, path }
    }

    /// Its full name: those of the groups and its own.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The dataset it is part of.
    pub fn dataset(&self) -> &Dataset {
        &self.dataset
    }

    /// Its definition.
    ///
    /// # Errors
    /// [`AccessError::NotFound`] if it has been renamed or deleted.
    pub fn schema(&self) -> Result<schema::Variable> {
        let snapshot = self.dataset.snapshot();
        let found = snapshot.root.variable(&self.path).cloned();
        found.ok_or_else(|| self.dataset.absent("variable", &self.path))
    }

    /// The type of its elements.
    ///
    /// # Errors
    /// As [`Variable::schema`].
    pub fn ty(&self) -> Result<Type> {
        Ok(self.schema()?.ty)
    }

    /// Its dimensions, with their present lengths.
    ///
    /// # Errors
    /// As [`Variable::schema`].
    pub fn dimensions(&self) -> Result<Vec<Dimension>> {
        let snapshot = self.dataset.snapshot();
        let names = self.schema()?.dimensions;
        let found = names.iter().map(|name| {
            let found = snapshot.root.dimension(name).cloned();
            found.ok_or_else(|| self.dataset.absent("dimension", name))
        });
        found.collect()
    }

    /// The lengths of its dimensions; none for a scalar.
    ///
    /// # Errors
    /// As [`Variable::schema`].
    pub fn shape(&self) -> Result<Vec<u64>> {
        Ok(self.dimensions()?.iter().map(|dimension| dimension.len).collect())
    }

    /// The array that holds its elements. A scalar's may have one axis, of length 1; that of a variable with
    /// unlimited dimensions may be shorter than they are.
    ///
    /// # Errors
    /// As [`Variable::schema`].
    pub fn array(&self) -> Result<Array> {
        Ok(self.entry()?.array)
    }

    pub(crate) fn entry(&self) -> Result<Entry> {
        let found = self.dataset.snapshot().arrays.get(&self.path).cloned();
        found.ok_or_else(|| self.dataset.absent("variable", &self.path))
    }

    pub(crate) fn at(&self, error: impl Into<Error>) -> Error {
        match self.entry() {
            Ok(entry) => error.into().at_path(entry.array.path()),
            Err(_) => error.into(),
        }
    }

    /// Reads all elements, in C order.
    ///
    /// # Errors
    /// As [`Variable::read_slab`].
    pub fn read(&self) -> Result<Values> {
        self.read_slab(&Slab::all(&self.shape()?))
    }

    /// Reads a hyperslab, in C order. What no array has yet along an unlimited dimension reads as fill.
    ///
    /// # Errors
    /// [`AccessError::Rank`], [`AccessError::OutOfBounds`], [`AccessError::Argument`] for the slab;
    /// [`AccessError::TooLarge`]; what the store or a codec meets.
    pub fn read_slab(&self, slab: &Slab) -> Result<Values> {
        let (ty, shape, Entry { array, fill }) = (self.ty()?, self.shape()?, self.entry()?);
        let end = slab.end(shape.len()).map_err(|e| self.at(e))?;
        for (axis, (&end, &len)) in end.iter().zip(&shape).enumerate() {
            let start = slab.start[axis];
            if end > len || start > len {
                return Err(self.at(AccessError::OutOfBounds { axis, start, end, len }));
            }
        }
        if shape.is_empty() {
            let one = Slab::all(&vec![1; array.shape().len()]);
            return elements::read(&array, ty, one.selection(&one.count));
        }
        let there = slab.within(&array.shape());
        if there == slab.count {
            return elements::read(&array, ty, slab.selection(&there));
        }
        let count = slab.len().and_then(|len| usize::try_from(len).ok());
        let all = count.and_then(|count| fill.repeated(count)).ok_or_else(|| {
            let (size, hint) = (slab.len().unwrap_or(u64::MAX), "read a smaller slab");
            self.at(AccessError::TooLarge { what: "the slab", size, hint })
        })?;
        if there.contains(&0) {
            return Ok(all);
        }
        let part = elements::read(&array, ty, slab.selection(&there))?;
        Ok(all.overlaid(&slab.count, part, &there))
    }
}
