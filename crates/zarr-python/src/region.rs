//! The class `Region`, a box of elements, and the plan that cuts an array into regions for several writers.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PySlice, PyTuple};
use zarr::Selection;

use crate::array::Array;
use crate::errors::OrRaise;

/// A box of elements of an array: one range for each axis. `a[region]` reads it, `a[region] = x` writes it.
///
/// It is a plain value: it compares, hashes and pickles, and holds no array.
#[pyclass(frozen, eq, hash, module = "zarrkit")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Region {
    start: Vec<u64>,
    stop: Vec<u64>,
    itemsize: u64,
}

impl Region {
    fn new(region: &zarr::Region, itemsize: u64) -> Region {
        let intervals = region.intervals();
        Region {
            start: intervals.iter().map(|range| range.start).collect(),
            stop: intervals.iter().map(|range| range.end).collect(),
            itemsize,
        }
    }

    fn lens(&self) -> impl Iterator<Item = u64> {
        self.start.iter().zip(&self.stop).map(|(start, stop)| stop - start)
    }
}

#[pymethods]
impl Region {
    /// The region from `start` to before `stop` along each axis. `itemsize` is how many bytes an element has in memory.
    #[new]
    #[pyo3(signature = (start, stop, itemsize = 1))]
    fn of_corners(start: Vec<u64>, stop: Vec<u64>, itemsize: u64) -> PyResult<Region> {
        let is_box = start.len() == stop.len() && start.iter().zip(&stop).all(|(a, b)| a <= b);
        if !is_box {
            return Err(PyValueError::new_err(format!(
                "invalid region from {start:?} to {stop:?}: expected one start and one stop for each axis, none before its start"
            )));
        }
        Ok(Region { start, stop, itemsize })
    }

    /// The first coordinate along each axis.
    #[getter]
    fn start<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.start)
    }

    /// One past the last coordinate along each axis.
    #[getter]
    fn stop<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.stop)
    }

    /// How many elements along each axis.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.lens().collect::<Vec<_>>())
    }

    /// How many axes.
    #[getter]
    fn ndim(&self) -> usize {
        self.start.len()
    }

    /// How many elements.
    #[getter]
    fn size(&self) -> u64 {
        self.lens().fold(1, u64::saturating_mul)
    }

    /// How many bytes its elements have in memory; a variable-length element counts what NumPy's `itemsize` says.
    #[getter]
    fn nbytes(&self) -> u64 {
        self.size().saturating_mul(self.itemsize)
    }

    /// The region as a tuple of slices, which indexes NumPy's arrays, too.
    #[getter]
    pub fn slices<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let make = py.get_type::<PySlice>();
        let ends = self.start.iter().zip(&self.stop);
        PyTuple::new(py, ends.map(|ends| make.call1(ends)).collect::<PyResult<Vec<_>>>()?)
    }

    fn __len__(&self) -> usize {
        self.start.len()
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.slices(py)?.try_iter()?.into_any())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let py = slf.py();
        let this = slf.get();
        let parts = (this.start(py)?, this.stop(py)?, this.itemsize);
        Ok((slf.get_type().into_any(), parts.into_pyobject(py)?.into_any()))
    }

    fn __repr__(&self) -> String {
        let ranges: Vec<String> = self
            .start
            .iter()
            .zip(&self.stop)
            .map(|(start, stop)| format!("{start}:{stop}"))
            .collect();
        format!("<zarrkit.Region [{}]>", ranges.join(", "))
    }
}

#[pymethods]
impl Array {
    /// Cuts the array, or a region of it, into at most `parts` regions of about equal size along the borders of stored
    /// objects: chunks, or shards where there are shards. No two regions share an object, so that as many writers work at once
    /// and none waits for another. `region` is `None` for the whole array, or an index of slices of step 1.
    #[pyo3(signature = (parts, region = None))]
    fn write_plan(
        &self,
        py: Python<'_>,
        parts: usize,
        region: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<Region>> {
        let region = match region {
            Some(key) => crate::keys::basic(key, &self.inner.shape())?.selection,
            None => Selection::from(..),
        };
        let itemsize = self.itemsize(py)?;
        let plan = py.detach(|| self.inner.write_plan(region, parts)).or_raise(py)?;
        Ok(plan.iter().map(|region| Region::new(region, itemsize)).collect())
    }
}
