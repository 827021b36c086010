//! The properties of the class `Array`, and what changes its shape.

use numpy::PyArrayDescr;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use zarr::codec::{ChunkContext, Codec, CodecSpec};
use zarr::{Json, NodeMetadata, Object};

use crate::array::{Array, size_of};
use crate::buffer::Memory;
use crate::call::Call;
use crate::errors::OrRaise;
use crate::netcdf_lengths::NetcdfVariable;
use crate::{call, create, json};

#[pymethods]
impl Array {
    /// The path in its hierarchy, such as `/ocean/temperature`.
    #[getter]
    fn path(&self) -> &str {
        self.inner.path().as_str()
    }

    /// How many elements along each axis.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.inner.shape())
    }

    /// How many axes.
    #[getter]
    fn ndim(&self) -> usize {
        self.inner.rank()
    }

    /// How many elements.
    #[getter]
    fn size<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        product(py, &self.inner.shape())
    }

    /// The dtype of an element.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDescr>> {
        self.dtype_of(py)
    }

    /// How many bytes the elements have in memory, not in the store.
    #[getter]
    fn nbytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let mut factors = self.inner.shape();
        factors.push(self.itemsize(py)?);
        product(py, &factors)
    }

    /// The shape of the chunks that are read; in a shard, of its inner chunks. None if they differ.
    #[getter]
    fn chunks<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.inner.chunk_shape().map(|shape| PyTuple::new(py, shape)).transpose()
    }

    /// The shape of the shards, the objects that are stored; None without shards.
    #[getter]
    fn shards<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.inner.shard_shape().map(|shape| PyTuple::new(py, shape)).transpose()
    }

    /// How many chunks the array has, stored or not; inner chunks, where there are shards.
    #[getter]
    fn nchunks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let metadata = self.inner.metadata();
        let shape = &metadata.shape;
        let counts: Vec<u64> = match (self.inner.chunk_shape(), &metadata.grid) {
            (Some(chunks), _) => {
                shape.iter().zip(chunks).map(|(&len, chunk)| len.div_ceil(chunk.max(1))).collect()
            }
            (None, Some(grid)) => {
                shape.iter().enumerate().map(|(axis, &len)| grid.count(axis, len)).collect()
            }
            (None, None) => Vec::new(),
        };
        product(py, &counts)
    }

    /// The value of elements that were never written, as an element of `dtype`; None if it is undefined.
    #[getter]
    fn fill_value<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let layout = self.layout(py)?;
        let fill = self.inner.fill_value();
        fill.map(|fill| layout.scalar(py, fill.as_bytes())).transpose()
    }

    /// The codecs of a stored object, in the order in which they encode: a list of `{"name": ..., "configuration": ...}`, in the words
    /// of Zarr v3. Those of the chunks in a shard are in the configuration of its codec.
    #[getter]
    fn codecs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let specs = self.inner.codecs().into_iter();
        PyList::new(py, specs.map(|spec| codec(py, spec)).collect::<PyResult<Vec<_>>>()?)
    }

    /// The codecs that compress the bytes of a chunk, as `codecs` has them; of an inner chunk, where there are shards.
    #[getter]
    fn compressors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.codecs_that(py, |codec| matches!(codec, Codec::BytesToBytes(_)))
    }

    /// The codecs that change the elements of a chunk before they become bytes, as `codecs` has them; of an inner chunk, where there are
    /// shards.
    #[getter]
    fn filters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.codecs_that(py, |codec| matches!(codec, Codec::ArrayToArray(_)))
    }

    /// The codec that makes bytes of the elements of a chunk, as `codecs` has it; of an inner chunk, where there are shards.
    #[getter]
    fn serializer<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let found = self.codecs_that(py, |codec| matches!(codec, Codec::ArrayToBytes(_)))?;
        Ok(found.iter().next())
    }

    /// The document of the array: a dict, such as the content of `zarr.json` or of `.zarray`. The store is not read.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (path, format) = (self.inner.path(), self.inner.hierarchy().format());
        let metadata = NodeMetadata::Array(Box::new((*self.inner.metadata()).clone()));
        let documents = format.create(path, &metadata).or_raise(py)?;
        match documents.into_iter().next() {
            Some((_, document)) => {
                py.import("json")?.getattr("loads")?.call1((PyBytes::new(py, &document),))
            }
            None => Ok(PyDict::new(py).into_any()),
        }
    }

    /// Gives the array a new shape: `a.resize((20, 30))` or `a.resize(20, 30)`. Removed elements are erased, added ones read as
    /// the fill value.
    #[pyo3(signature = (*shape))]
    fn resize(&self, py: Python<'_>, shape: &Bound<'_, PyTuple>) -> PyResult<()> {
        let only = if shape.len() == 1 { Some(shape.get_item(0)?) } else { None };
        let lens = create::lens(only.as_ref().unwrap_or(shape.as_any()), "shape")?;
        let old = self.inner.shape();
        let changed = (0..lens.len().min(old.len())).filter(|&axis| lens[axis] != old[axis]);
        let variable = NetcdfVariable::growing(py, self, changed)?;
        py.detach(|| self.inner.resize(&lens)).or_raise(py)?;
        variable.map_or(Ok(()), |variable| variable.publish_lengths(py))
    }

    /// Makes the array longer along `axis`, a number or a dimension name, and writes `values` there, which have the array's shape
    /// along all other axes. Returns the coordinate at which they begin: appends of several processes all arrive, each in a
    /// separate place.
    #[pyo3(signature = (values, axis = None))]
    fn append(
        &self,
        py: Python<'_>,
        values: &Bound<'_, PyAny>,
        axis: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<u64> {
        let axis = axis.map(|axis| self.axis_of(axis)).transpose()?.unwrap_or(0);
        let variable = NetcdfVariable::growing(py, self, [axis])?;
        let start = self.append_values(py, values, axis)?;
        variable.map_or(Ok(()), |variable| variable.publish_lengths(py))?;
        Ok(start)
    }

    /// Iterates along the first axis; chunks are read once each.
    fn __iter__(slf: &Bound<'_, Self>) -> PyResult<Rows> {
        let array = &slf.get().inner;
        let Some(&len) = array.shape().first() else {
            return Err(PyTypeError::new_err("iteration over an array of rank 0"));
        };
        let step = array.chunk_shape().and_then(|chunks| chunks.first().copied()).unwrap_or(1);
        Ok(Rows { array: slf.clone().unbind(), len, step: step.max(1), next: 0, read: None })
    }
}

impl Array {
    /// The codecs of a chunk that are of one kind.
    fn codecs_that<'py>(
        &self,
        py: Python<'py>,
        are: impl Fn(&Codec) -> bool,
    ) -> PyResult<Bound<'py, PyList>> {
        let metadata = (*self.inner.metadata()).clone().unsharded();
        let registry = self.inner.hierarchy().registry();
        let context = ChunkContext::new(metadata.data_type.clone(), metadata.chunk_extent());
        let specs = metadata
            .codecs
            .into_iter()
            .filter(|spec| registry.build_codec(spec, &context).is_ok_and(|codec| are(&codec)));
        PyList::new(py, specs.map(|spec| codec(py, spec)).collect::<PyResult<Vec<_>>>()?)
    }

    fn append_values(
        &self,
        py: Python<'_>,
        values: &Bound<'_, PyAny>,
        axis: usize,
    ) -> PyResult<u64> {
        let layout = self.layout(py)?;
        if layout.is_fixed() {
            let values = layout.given_by_caller(values)?;
            let memory = Memory::of(&values)?;
            let size = values.getattr("nbytes")?.extract()?;
            let call = Call { bytes: size, writes: true, ..Call::default() };
            return call::on_array(py, &self.inner, call, memory, move |array, memory| {
                array.append_view(axis, memory.view()?)
            });
        }
        let values = layout.objects(values, false)?;
        let shape = self.inner.shape();
        let found: Vec<u64> = values.getattr("shape")?.extract()?;
        let fits = (0..shape.len()).all(|at| at == axis || shape.get(at) == found.get(at));
        if shape.len() != found.len() || !fits {
            return Err(pyo3::exceptions::PyValueError::new_err(format!(
                "cannot append elements of shape {found:?} along axis {axis} of an array of shape {shape:?}: the other axes must have equal lengths"
            )));
        }
        let size = size_of(&found, 16);
        let values = layout.to_list(&values)?;
        let call = Call { bytes: size, writes: true, ..Call::default() };
        call::on_array(py, &self.inner, call, values, move |array, values| {
            array.append(axis, values)
        })
    }
}

/// Iterates along the first axis of an array, and reads a row of chunks at a time.
#[pyclass(module = "zarrkit")]
pub struct Rows {
    array: Py<Array>,
    len: u64,
    step: u64,
    next: u64,
    read: Option<(u64, Py<PyAny>)>,
}

#[pymethods]
impl Rows {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        if self.next >= self.len {
            return Ok(None);
        }
        let first = self.next - self.next % self.step;
        let rows = match &self.read {
            Some((start, rows)) if *start == first => rows.bind(py).clone(),
            _ => {
                self.read = None;
                let end = first.saturating_add(self.step).min(self.len);
                let slice = py.get_type::<pyo3::types::PySlice>().call1((first, end))?;
                let rows = self.array.bind(py).get_item(slice)?;
                self.read = Some((first, rows.clone().unbind()));
                rows
            }
        };
        let row = rows.get_item(self.next - first)?;
        self.next += 1;
        Ok(Some(row))
    }
}

/// A product of any size.
fn product<'py>(py: Python<'py>, factors: &[u64]) -> PyResult<Bound<'py, PyAny>> {
    match factors.iter().try_fold(1u64, |product, &factor| product.checked_mul(factor)) {
        Some(product) => Ok(product.into_pyobject(py)?.into_any()),
        None => py.import("math")?.getattr("prod")?.call1((PyTuple::new(py, factors)?,)),
    }
}

/// A codec as plain data.
fn codec<'py>(py: Python<'py>, spec: CodecSpec) -> PyResult<Bound<'py, PyAny>> {
    let object = Object::new().with("name", spec.name).with("configuration", spec.configuration);
    json::to_python(py, &Json::from(object))
}
