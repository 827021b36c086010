//! Reads and writes a variable.

use std::sync::Arc;

use zarr_core::{AccessError, Array, Error, Region, Result, ViewMut};

use crate::documents::load::{Entry, Snapshot};
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
        Ok(self.look_up(&self.dataset.snapshot())?.clone())
    }

    /// Its definition in `snapshot`. Reads take it from here: a copy of all attributes for each of a million small reads
    /// would cost more than the elements.
    fn look_up<'a>(&self, snapshot: &'a Snapshot) -> Result<&'a schema::Variable> {
        let found = snapshot.root.variable(&self.path);
        found.ok_or_else(|| self.dataset.absent("variable", &self.path))
    }

    /// The type of its elements.
    ///
    /// # Errors
    /// As [`Variable::schema`].
    pub fn ty(&self) -> Result<Type> {
        Ok(self.look_up(&self.dataset.snapshot())?.ty)
    }

    /// Its dimensions, with their present lengths.
    ///
    /// # Errors
    /// As [`Variable::schema`].
    pub fn dimensions(&self) -> Result<Vec<Dimension>> {
        let snapshot = self.dataset.snapshot();
        let names = &self.look_up(&snapshot)?.dimensions;
        let found = names.iter().map(|name| self.dimension_of(&snapshot, name).cloned());
        found.collect()
    }

    fn dimension_of<'a>(&self, snapshot: &'a Snapshot, name: &str) -> Result<&'a Dimension> {
        let found = snapshot.root.dimension(name);
        found.ok_or_else(|| self.dataset.absent("dimension", name))
    }

    /// The lengths of its dimensions; none for a scalar.
    ///
    /// # Errors
    /// As [`Variable::schema`].
    pub fn shape(&self) -> Result<Vec<u64>> {
        self.shape_in(&self.dataset.snapshot())
    }

    fn shape_in(&self, snapshot: &Snapshot) -> Result<Vec<u64>> {
        let names = &self.look_up(snapshot)?.dimensions;
        names.iter().map(|name| Ok(self.dimension_of(snapshot, name)?.len)).collect()
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
        let place = self.place(slab)?;
        let Place { ty, there, .. } = &place;
        let Entry { array, fill } = place.entry(self)?;
        let Some(there) = there else {
            let one = Slab::all(&vec![1; array.shape().len()]);
            return elements::read(array, *ty, one.selection(&one.count));
        };
        if *there == slab.count {
            return elements::read(array, *ty, slab.selection(there));
        }
        let count = slab.len().and_then(|len| usize::try_from(len).ok());
        let all = count.and_then(|count| fill.repeated(count)).ok_or_else(|| {
            let (size, hint) = (slab.len().unwrap_or(u64::MAX), "read a smaller slab");
            self.at(AccessError::TooLarge { what: "the slab", size, hint })
        })?;
        if there.contains(&0) {
            return Ok(all);
        }
        let part = elements::read(array, *ty, slab.selection(there))?;
        Ok(all.overlaid(&slab.count, part, there))
    }

    /// Reads a hyperslab into memory of the caller's, in C order: native elements, of complex numbers two each, of bools one
    /// byte each, 0 or 1. Chunks are decoded straight into it. After an error it may have some of the elements.
    ///
    /// # Errors
    /// As [`Variable::read_slab`]; [`AccessError::Argument`] for strings; [`AccessError::Count`] if `out` does not have exactly
    /// the bytes of the slab.
    pub fn read_slab_into(&self, slab: &Slab, out: &mut [u8]) -> Result<()> {
        let place = self.place(slab)?;
        let Entry { array, fill } = place.entry(self)?;
        let element = place.ty.size().ok_or_else(|| {
            let why = "strings have no fixed size; read them with `read_slab`";
            self.at(AccessError::Argument(why.into()))
        })?;
        let expected = slab.len().and_then(|len| len.checked_mul(element as u64));
        if expected != Some(out.len() as u64) {
            let found = (out.len() / element) as u64;
            let expected = slab.len().unwrap_or(u64::MAX);
            return Err(self.at(AccessError::Count { expected, found }));
        }
        let Some(there) = &place.there else {
            let one = vec![1; array.shape().len()];
            let selection = Slab::all(&one).selection(&one);
            return array.read_view(selection, ViewMut::new(out, &one, element));
        };
        let mut all = ViewMut::new(out, &slab.count, element);
        if *there != slab.count {
            all.fill(&fill.to_ne_bytes());
        }
        if there.contains(&0) {
            return Ok(());
        }
        array.read_view(slab.selection(there), all.part(&Region::all(there)))
    }

    /// Where the elements of a slab are.
    fn place(&self, slab: &Slab) -> Result<Place> {
        let snapshot = self.dataset.snapshot();
        let (ty, shape) = (self.look_up(&snapshot)?.ty, self.shape_in(&snapshot)?);
        let end = slab.end(shape.len()).map_err(|e| self.at(e))?;
        for (axis, (&end, &len)) in end.iter().zip(&shape).enumerate() {
            let start = slab.start[axis];
            if end > len || start > len {
                return Err(self.at(AccessError::OutOfBounds { axis, start, end, len }));
            }
        }
        let mut place = Place { snapshot, ty, there: None };
        if !shape.is_empty() {
            place.there = Some(slab.within(&place.entry(self)?.array.shape()));
        }
        Ok(place)
    }
}

/// A slab that lies within its variable.
struct Place {
    snapshot: Arc<Snapshot>,
    ty: Type,
    /// How many elements along each dimension the array has; `None` for a scalar.
    there: Option<Vec<u64>>,
}

impl Place {
    fn entry(&self, variable: &Variable) -> Result<&Entry> {
        let found = self.snapshot.arrays.get(&variable.path);
        found.ok_or_else(|| variable.dataset.absent("variable", &variable.path))
    }
}
