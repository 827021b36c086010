//! The indexers `oindex`, `vindex` and `blocks`, and selection by dimension name.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use zarr::{AxisSelection, Selection, steps};

use crate::array::{Array, CallOptions};
use crate::keys::{self, Key};

/// What an array is indexed with instead of NumPy's rules.
#[derive(Clone, Copy)]
enum Kind {
    Orthogonal,
    Points,
    Blocks,
}

/// An array, as `array.oindex`, `array.vindex` or `array.blocks`: `[...]` reads, `[...] = value` writes.
#[pyclass(frozen, module = "zarrkit")]
pub struct Indexer {
    array: Py<Array>,
    kind: Kind,
}

impl Indexer {
    fn key(&self, key: &Bound<'_, PyAny>) -> PyResult<Key> {
        let array = &self.array.get().inner;
        let shape = array.shape();
        match self.kind {
            Kind::Orthogonal => keys::orthogonal(key, &shape),
            Kind::Points => keys::points(key, &shape),
            Kind::Blocks => {
                let metadata = array.metadata();
                let Some(grid) = &metadata.grid else {
                    return Err(PyValueError::new_err("this build does not know the chunk grid"));
                };
                let counts: Vec<u64> =
                    shape.iter().enumerate().map(|(axis, &len)| grid.count(axis, len)).collect();
                keys::blocks(key, &counts, |axis, block| {
                    let span = grid.span(axis, block);
                    span.start..span.start.saturating_add(span.len).min(shape[axis])
                })
            }
        }
    }
}

#[pymethods]
impl Indexer {
    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let array = self.array.get();
        array.read_key(py, &CallOptions::default(), self.key(key)?, None)
    }

    fn __setitem__(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let array = self.array.get();
        array.write_key(py, &CallOptions::default(), self.key(key)?, value)
    }

    fn __repr__(&self) -> String {
        let name = match self.kind {
            Kind::Orthogonal => "oindex",
            Kind::Points => "vindex",
            Kind::Blocks => "blocks",
        };
        format!("<zarrkit.Array {}>.{name}", self.array.get().inner.path())
    }
}

#[pymethods]
impl Array {
    /// Orthogonal indexing: `a.oindex[[3, 1], :, mask]` selects along each axis by itself, with integers, slices, lists of integers
    /// and masks of one axis.
    #[getter]
    fn oindex(slf: Py<Self>) -> Indexer {
        Indexer { array: slf, kind: Kind::Orthogonal }
    }

    /// Points: `a.vindex[rows, columns]` selects elements by their coordinates along every axis, which are broadcast against each
    /// other; `a.vindex[mask]` those at which a mask of the array's shape is true.
    #[getter]
    fn vindex(slf: Py<Self>) -> Indexer {
        Indexer { array: slf, kind: Kind::Points }
    }

    /// Whole blocks: `a.blocks[0, 2:4]` selects stored objects by their number along each axis: chunks, or shards where there are
    /// shards. Integers and slices of step 1; no axis is dropped.
    #[getter]
    fn blocks(slf: Py<Self>) -> Indexer {
        Indexer { array: slf, kind: Kind::Blocks }
    }

    /// Reads a selection by dimension names: `a.isel(lat=slice(0, 10), time=3)`, or `a.isel({"lat": [3, 1]})`. Integers, slices,
    /// lists and masks, each along its axis; other axes are selected as a whole.
    ///
    /// Raises `ValueError` for a name that no axis has, or several, and for an axis that is given twice.
    #[pyo3(signature = (indexers = None, **names))]
    fn isel<'py>(
        &self,
        py: Python<'py>,
        indexers: Option<&Bound<'py, PyDict>>,
        names: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let shape = self.inner.shape();
        let mut axes: Vec<(AxisSelection, Option<u64>)> =
            shape.iter().map(|&len| (steps(0..len, 1), Some(len))).collect();
        let mut given = vec![false; shape.len()];
        for dict in [indexers, names].into_iter().flatten() {
            for (name, item) in dict.iter() {
                let axis = self.axis_of(&name)?;
                if std::mem::replace(&mut given[axis], true) {
                    return Err(PyValueError::new_err(format!(
                        "duplicate selection of axis {axis}: {name}"
                    )));
                }
                axes[axis] = keys::along(&item, axis, shape[axis])?;
            }
        }
        let (selected, lens): (Vec<_>, Vec<_>) = axes.into_iter().unzip();
        let lens: Vec<u64> = lens.into_iter().flatten().collect();
        let is_scalar = lens.is_empty();
        let key = Key::new(Selection::outer(selected), lens, is_scalar);
        self.read_key(py, &CallOptions::default(), key, None)
    }
}

impl Array {
    /// The axis that a number or a dimension name means; a negative number counts from the last.
    ///
    /// # Errors
    /// `ValueError`.
    pub fn axis_of(&self, axis: &Bound<'_, PyAny>) -> PyResult<usize> {
        let rank = self.inner.rank();
        if let Ok(number) = axis.extract::<i64>() {
            let at = if number < 0 { number + rank as i64 } else { number };
            return match usize::try_from(at) {
                Ok(at) if at < rank => Ok(at),
                _ => Err(PyValueError::new_err(format!(
                    "axis {number} is out of bounds for array of dimension {rank}"
                ))),
            };
        }
        let name: String = axis.extract()?;
        let names = self.names_for_selections(axis.py());
        let mut found = (0..names.len()).filter(|&at| names[at].as_ref() == Some(&name));
        match (found.next(), found.next()) {
            (Some(at), None) => Ok(at),
            (Some(first), Some(second)) => Err(PyValueError::new_err(format!(
                "axes {first} and {second} are both named {name:?}; select by axis"
            ))),
            _ => {
                let known: Vec<&String> = names.iter().flatten().collect();
                if known.is_empty() {
                    return Err(PyValueError::new_err(format!(
                        "there is no dimension {name:?}; the array's dimensions have no names; select by axis, as in array[:, 0]"
                    )));
                }
                Err(PyValueError::new_err(format!(
                    "there is no dimension {name:?}; the array has {known:?}"
                )))
            }
        }
    }

    /// The names of the axes; `None` for one without a name.
    pub fn dims_of<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.axis_names(py))
    }
}
