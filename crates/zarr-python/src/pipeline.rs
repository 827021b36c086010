//! Reads and writes batches of chunks as zarr-python's codec pipelines are asked to.
//!
//! A batch has an item for each chunk: `(StorePath, ArraySpec, selection in the chunk, selection in the output, …)`. `_pipeline.py` calls
//! this module once a batch; `batch` reads the items.

use numpy::{PyArrayDescr, PyUntypedArray};
use pyo3::exceptions::PyNotImplementedError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use zarr::store::SyncStore;
use zarr::{Array, Dialect, NodePath, OpenOptions};

use std::sync::Arc;

use crate::batch::{self, Batch};
use crate::buffer::Memory;
use crate::call::{self, Call};
use crate::create::settle;
use crate::elements::{Form, Layout};
use crate::errors::OrRaise;
use crate::np;
use crate::open::{REGISTRY, is_near};
use crate::py_store::{self, Source};
use crate::store::are_stored;

/// An array of zarr-python's, as its pipeline sees it: chunks by key.
#[pyclass(frozen, module = "zarrkit._zarrkit")]
pub struct PipelineArray {
    inner: Array,
    /// Whether resizing the array changes its grid: chunks may differ in shape.
    is_rectilinear: bool,
    /// Whether the store answers at once, and without Python.
    is_near: bool,
    /// The same store with blocking calls.
    calls: Arc<dyn SyncStore>,
    layout: Layout,
}

impl PipelineArray {
    /// A batch of items, read with the grid of now.
    fn batch<'a, 'py>(
        &self,
        items: &'a Bound<'py, PyList>,
        drop_axes: Vec<usize>,
    ) -> PyResult<Batch<'a, 'py>> {
        let py = items.py();
        if self.is_rectilinear {
            py.detach(|| self.inner.refresh()).or_raise(py)?;
        }
        Batch::new(&self.inner, items, drop_axes)
    }

    /// As [`PipelineArray::read`], of variable-length text and bytes, which no memory holds as they are. Which chunks are stored is
    /// asked right before they are read.
    fn read_variable<'py>(
        &self,
        py: Python<'py>,
        items: &Bound<'py, PyList>,
        out: &Bound<'py, PyUntypedArray>,
        drop_axes: Vec<usize>,
        finds_missing: bool,
        at_once: Option<u64>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (batch, shape) = (self.batch(items, drop_axes)?, batch::shape_of(out.as_any())?);
        let found = match batch.as_box()? {
            Some(filled) => Some(filled),
            None => batch.parts(&shape)?.and_then(|parts| parts.composed()),
        };
        let Some(found) = found.filter(|found| found.shape == shape) else { return Ok(None) };
        self.follow_resize(py, &found.end)?;
        let selection = found.selection.clone();
        let Some(chunks) = (if finds_missing { batch.chunks()? } else { Some(Vec::new()) }) else {
            return Ok(None);
        };
        let bytes = out.getattr("nbytes")?.extract()?;
        let call = Call { selection: Some(&found.selection), bytes, ..Call::default() };
        let Some(call) = self.begun(call, at_once) else {
            return Ok(Some(false.into_pyobject(py)?.to_owned().into_any()));
        };
        let (store, is_near) = (self.calls.clone(), self.is_near);
        let (stored, stream) = call::on_array(py, &self.inner, call, (), move |array, ()| {
            let keys = chunks.iter().map(|chunk| array.chunk(chunk)?.key());
            let stored = are_stored(&*store, is_near, &keys.collect::<zarr::Result<Vec<_>>>()?)?;
            Ok((stored, array.read_bytes(selection)?))
        })?;
        out.set_item(py.Ellipsis(), self.layout.of_stream(py, &stream, &shape)?)?;
        Ok(Some(if finds_missing {
            PyList::new(py, stored)?.into_any()
        } else {
            true.into_pyobject(py)?.to_owned().into_any()
        }))
    }

    /// The call; `None`, another thread is to make it, if its chunks have more bytes than `at_once`, decoded.
    fn begun<'py>(&self, call: Call<'py>, at_once: Option<u64>) -> Option<Call<'py>> {
        let touched = call::touched(&self.inner, &call);
        let begins = at_once.is_none_or(|most| touched <= most);
        begins.then_some(Call { touched: Some(touched), ..call })
    }

    /// Reads the document again if a selection leaves the array as it is known here: zarr-python has resized it.
    fn follow_resize(&self, py: Python<'_>, end: &[u64]) -> PyResult<()> {
        let is_outside = end.iter().zip(self.inner.shape()).any(|(&end, len)| end > len);
        if is_outside { py.detach(|| self.inner.refresh()).or_raise(py) } else { Ok(()) }
    }
}

/// Removes the lock files of a folder after a write: what zarr-python and its users list is their data
/// (docs/internals/design/concurrency.md).
fn without_locks(array: &Array) -> zarr::Result<()> {
    settle(array.hierarchy())
}

#[pymethods]
impl PipelineArray {
    /// The array at `path` of a store of zarr-python's, of which zarr-python has the document. Nothing is read.
    #[new]
    fn new(
        py: Python<'_>,
        store: &Bound<'_, PyAny>,
        path: &str,
        document: &[u8],
        zarr_format: u8,
        is_rectilinear: bool,
    ) -> PyResult<PipelineArray> {
        let dialect = if zarr_format == 2 { Dialect::V2 } else { Dialect::V3 };
        let mut options = OpenOptions::new(REGISTRY.clone()).dialect(dialect);
        // zarr-python has read the document, or a copy of it, from this store.
        options.options.documents_are_stored = true;
        if !store.getattr("read_only")?.extract::<bool>()? {
            options = options.read_write();
        }
        let (store, is_near) = match py_store::source_of(store)? {
            Source::Url(url) => (py.detach(|| options.store(&url)).or_raise(py)?, is_near(&url)),
            Source::Store(store) => (store, false),
        };
        let calls = store.clone().to_sync();
        let path = NodePath::root().join(path).or_raise(py)?;
        let inner = Array::from_document(store, &path, document, &options).or_raise(py)?;
        let layout = Layout::new(py, &inner.data_type(), None)?;
        Ok(PipelineArray { inner, is_rectilinear, is_near, calls, layout })
    }

    /// The dtype of the elements in memory, in native byte order.
    ///
    /// Raises `NotImplementedError` for elements that zarr-python has otherwise: numbers of a few bits, JSON, lists.
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArrayDescr>> {
        match self.layout.form {
            Form::Plain | Form::Text | Form::Bytes => Ok(self.layout.native.bind(py).clone()),
            _ => {
                let why = format!("elements of type {}", self.inner.data_type());
                Err(PyNotImplementedError::new_err(why))
            }
        }
    }

    /// Reads a batch into `out`, whose dtype is that of [`PipelineArray::dtype`]. Returns for each item whether its chunk is stored, if
    /// `finds_missing`; otherwise True. None, having read nothing, if the batch has another form. With `at_once`: False, having
    /// read nothing, if the chunks have more bytes than that, decoded, or are far.
    fn read<'py>(
        &self,
        py: Python<'py>,
        items: &Bound<'py, PyList>,
        out: &Bound<'py, PyUntypedArray>,
        drop_axes: Vec<usize>,
        finds_missing: bool,
        at_once: Option<u64>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        if at_once.is_some() && !self.is_near {
            return Ok(Some(answer(py, false)?));
        }
        if !self.layout.is_fixed() {
            return self.read_variable(py, items, out, drop_axes, finds_missing, at_once);
        }
        let memory = Memory::writeable(out)?;
        let (shape, bytes) = (memory.shape(), memory.size());
        let batch = self.batch(items, drop_axes)?;
        if !finds_missing && let Some(filled) = batch.as_box()?.filter(|it| it.shape == shape) {
            self.follow_resize(py, &filled.end)?;
            let selection = filled.selection.clone();
            let call = Call { selection: Some(&filled.selection), bytes, ..Call::default() };
            let Some(call) = self.begun(call, at_once) else { return Ok(Some(answer(py, false)?)) };
            call::on_array(py, &self.inner, call, memory, |array, memory| {
                array.read_view(selection, memory.view_mut()?)
            })?;
            return Ok(Some(answer(py, true)?));
        }
        let Some(call) = self.begun(Call { bytes, ..Call::default() }, at_once) else {
            return Ok(Some(answer(py, false)?));
        };
        let Some(parts) = batch.parts(shape)? else { return Ok(None) };
        self.follow_resize(py, &parts.end)?;
        let parts = parts.chunk_parts();
        let stored = call::on_array(py, &self.inner, call, memory, move |array, memory| {
            array.read_chunks_into(&parts, memory.view_mut()?)
        })?;
        Ok(Some(PyList::new(py, stored)?.into_any()))
    }

    /// Writes a batch of elements of that dtype; a `value` of shape `()` is repeated. False, having written nothing, if the batch has
    /// another form.
    fn write(
        &self,
        py: Python<'_>,
        items: &Bound<'_, PyList>,
        value: &Bound<'_, PyAny>,
        drop_axes: Vec<usize>,
        keep_fill_chunks: bool,
    ) -> PyResult<bool> {
        let batch = self.batch(items, drop_axes)?;
        let found = match batch.as_box()? {
            Some(filled) => Some(filled),
            None => batch.parts(&batch::shape_of(value)?)?.and_then(|parts| parts.composed()),
        };
        let Some(found) = found else { return Ok(false) };
        self.follow_resize(py, &found.end)?;
        let shape = PyTuple::new(py, &found.shape)?;
        let value: Bound<'_, PyUntypedArray> =
            np::broadcast_to(py)?.call1((value, shape))?.cast_into()?;
        let selection = found.selection.clone();
        let call = Call {
            selection: Some(&found.selection),
            bytes: value.getattr("nbytes")?.extract()?,
            writes: true,
            ..Call::default()
        };
        let array = self.inner.with_options(|options| options.keep_fill_chunks = keep_fill_chunks);
        if !self.layout.is_fixed() {
            let stream = self.layout.to_stream(&value)?;
            call::on_array(py, &array, call, stream, |array, stream| {
                array.write_bytes(selection, stream)?;
                without_locks(array)
            })?;
            return Ok(true);
        }
        let memory = Memory::of(&value)?;
        call::on_array(py, &array, call, memory, |array, memory| {
            array.write_view(selection, memory.view()?)?;
            without_locks(array)
        })?;
        Ok(true)
    }
}

/// Whether the elements were found, for Python.
fn answer(py: Python<'_>, found: bool) -> PyResult<Bound<'_, PyAny>> {
    Ok(found.into_pyobject(py)?.to_owned().into_any())
}
