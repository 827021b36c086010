//! Elements of each data type between the library's memory and NumPy's arrays.

use numpy::{
    PyArray1, PyArrayDescr, PyArrayDescrMethods, PyArrayDyn, PyArrayMethods, PyUntypedArray,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyNotImplementedError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use zarr::Json;
use zarr::data_type::{DataType, Endian};
use zarr::var_buffer::VarStream;

use crate::strings;
use crate::{dtype, np};

/// How elements are in NumPy's arrays.
pub enum Form {
    /// As in the library's memory.
    Plain,
    /// Numbers of fewer bits than a byte: written from an array of this dtype, which has their sign.
    Padded(Py<PyArrayDescr>),
    /// A `StringDType`.
    Text,
    /// Objects: `bytes`.
    Bytes,
    /// Objects: what JSON has.
    Json,
    /// Objects: arrays of this dtype, of one axis.
    Lists(Py<PyArrayDescr>),
    /// A `numpy.ma.MaskedArray`; in memory records of this dtype, which have the fields `is_there` and `value`.
    Optional(Py<PyArrayDescr>),
}

/// How the elements of an array are in NumPy's arrays.
pub struct Layout {
    pub form: Form,
    /// The dtype of results: zarr-python's for the same array.
    pub dtype: Py<PyArrayDescr>,
    /// The same in native byte order.
    pub native: Py<PyArrayDescr>,
    /// Whether they differ.
    pub is_swapped: bool,
}

impl Layout {
    /// The layout of the elements of a type. `declared` is the type in a document of v2 or a draft, which has the byte order.
    ///
    /// # Errors
    /// As [`dtype::of_data_type`].
    pub fn new(py: Python<'_>, data_type: &DataType, declared: Option<&Json>) -> PyResult<Layout> {
        let resolved = data_type.resolved().unwrap_or_else(|| data_type.clone());
        let (described, form) = match &resolved {
            DataType::Optional(optional) => {
                if matches!(optional.inner(), DataType::Optional(_)) {
                    return Err(PyNotImplementedError::new_err(format!(
                        "NumPy has no array of {data_type}: a masked array has one mask"
                    )));
                }
                let inner = dtype::of_data_type(py, optional.inner())?;
                let fields =
                    [("is_there", "?".into_pyobject(py)?.into_any()), ("value", inner.into_any())];
                let packed: Bound<'_, PyArrayDescr> =
                    np::dtype(py)?.call1((fields.to_vec(),))?.cast_into()?;
                (optional.inner().clone(), Form::Optional(packed.unbind()))
            }
            DataType::String => (resolved, Form::Text),
            DataType::Bytes => (resolved, Form::Bytes),
            DataType::Json => (resolved, Form::Json),
            DataType::List(items) => {
                let items = dtype::of_data_type_in(py, items, Endian::Little)?;
                (resolved, Form::Lists(items.unbind()))
            }
            DataType::IntBits(_) => (resolved, Form::Padded(numpy::dtype::<i8>(py).unbind())),
            DataType::UintBits(_) => (resolved, Form::Padded(numpy::dtype::<u8>(py).unbind())),
            // The type itself may have a name of NumPy's that its representation has not.
            _ => (data_type.clone(), Form::Plain),
        };
        let native = dtype::of_data_type(py, &described)?;
        let dtype = match declared {
            Some(descr @ (Json::String(_) | Json::Array(_))) if matches!(form, Form::Plain) => {
                dtype::of_descr(py, descr)
                    .ok()
                    .filter(|dtype| dtype.itemsize() == native.itemsize())
                    .unwrap_or_else(|| native.clone())
            }
            _ => native.clone(),
        };
        let is_swapped = !dtype.eq(&native)?;
        Ok(Layout { form, is_swapped, dtype: dtype.unbind(), native: native.unbind() })
    }

    /// Whether elements are read and written by views of memory; others are streams.
    pub fn is_fixed(&self) -> bool {
        !matches!(self.form, Form::Text | Form::Bytes | Form::Json | Form::Lists(_))
    }

    /// The dtype of the memory into which elements are read.
    pub fn memory<'py>(&self, py: Python<'py>) -> &Bound<'py, PyArrayDescr> {
        match &self.form {
            Form::Optional(packed) => packed.bind(py),
            _ => self.native.bind(py),
        }
    }

    /// What a caller gets of elements in memory of [`Layout::memory`].
    pub fn finished<'py>(&self, elements: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = elements.py();
        match &self.form {
            Form::Optional(_) => {
                let mask = np::logical_not(py)?.call1((elements.get_item("is_there")?,))?;
                let value = elements.get_item("value")?.call_method0("copy")?;
                np::ma(py)?.call_method1("MaskedArray", (value, mask))
            }
            _ if self.is_swapped => elements.call_method1("astype", (self.dtype.bind(py),)),
            _ => Ok(elements),
        }
    }

    /// Elements of a fixed size that a caller gives, as memory of [`Layout::memory`] has them, in any strides.
    ///
    /// # Errors
    /// As `numpy.asarray`.
    pub fn given_by_caller<'py>(
        &self,
        value: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyUntypedArray>> {
        let py = value.py();
        let native = self.native.bind(py);
        let plain = || -> PyResult<Bound<'py, PyUntypedArray>> {
            if let Ok(array) = value.cast_exact::<PyUntypedArray>() {
                let dtype = array.dtype();
                if dtype.is(native) || (!native.has_fields() && dtype.is_equiv_to(native)) {
                    return Ok(array.clone());
                }
            }
            np::asarray(value, Some(native))
        };
        match &self.form {
            Form::Padded(whole) => {
                Ok(plain()?.call_method1("astype", (whole.bind(py),))?.cast_into()?)
            }
            Form::Optional(packed) => {
                let masked = np::ma(py)?.call_method1("asarray", (value, native))?;
                let mask = np::ma(py)?.call_method1("getmaskarray", (&masked,))?;
                let elements = np::zeros(py)?.call1((masked.getattr("shape")?, packed.bind(py)))?;
                elements.set_item("is_there", np::logical_not(py)?.call1((mask,))?)?;
                // Missing elements are zeros.
                let there = PyDict::new(py);
                there.set_item("where", elements.get_item("is_there")?)?;
                let (to, from) = (elements.get_item("value")?, masked.getattr("data")?);
                np::copyto(py)?.call((to, from), Some(&there))?;
                Ok(elements.cast_into()?)
            }
            _ => plain(),
        }
    }

    /// An array of these elements, each after its length in a stream, in a shape.
    pub fn of_stream<'py>(
        &self,
        py: Python<'py>,
        stream: &[u8],
        shape: &[u64],
    ) -> PyResult<Bound<'py, PyAny>> {
        if let Form::Text = self.form {
            let array = crate::buffer::zeros(py, shape, self.native.bind(py))?;
            strings::fill(&array, stream)?;
            return Ok(array.into_any());
        }
        let objects: Vec<Py<PyAny>> = match &self.form {
            Form::Json => parse_all(py, stream)?,
            _ => VarStream::new(stream)
                .map(|element| self.object(py, element))
                .collect::<PyResult<_>>()?,
        };
        let array = PyArray1::from_vec(py, objects).into_any();
        array.call_method1("reshape", (PyTuple::new(py, shape)?,))
    }

    fn object(&self, py: Python<'_>, element: &[u8]) -> PyResult<Py<PyAny>> {
        let bytes = PyBytes::new(py, element).into_any();
        Ok(match &self.form {
            Form::Lists(items) => {
                np::frombuffer(py)?.call1((bytes, items.bind(py)))?.call_method0("copy")?
            }
            _ => bytes,
        }
        .unbind())
    }

    /// An array of variable-length elements, of what a caller gives for one element, or for any number.
    ///
    /// # Errors
    /// `TypeError` for elements that are no strings; `ValueError` for missing ones.
    pub fn objects<'py>(
        &self,
        value: &Bound<'py, PyAny>,
        is_one: bool,
    ) -> PyResult<Bound<'py, PyUntypedArray>> {
        let py = value.py();
        let array = value.cast::<PyUntypedArray>().ok();
        if is_one && matches!(self.form, Form::Json | Form::Lists(_)) {
            return Ok(PyArray1::from_vec(py, vec![value.clone().unbind()])
                .into_any()
                .cast_into()?);
        }
        match (&self.form, array) {
            (Form::Text, Some(array)) => match array.dtype().kind() {
                b'T' => Ok(array.clone()),
                b'U' | b'O' => np::asarray(array, Some(strict_strings(py)?)),
                _ => {
                    Err(PyTypeError::new_err(format!("expected strings, found {}", array.dtype())))
                }
            },
            (Form::Text, None) => np::asarray(value, Some(strict_strings(py)?)),
            (_, Some(array)) if array.dtype().kind() == b'O' => Ok(array.clone()),
            (Form::Bytes, Some(array)) if matches!(array.dtype().kind(), b'S' | b'V') => {
                np::asarray(array, Some(&PyArrayDescr::object(py)))
            }
            (Form::Lists(_) | Form::Json, _) | (Form::Bytes, None)
                if !value.is_instance_of::<pyo3::types::PyList>() =>
            {
                // One element, which may have items.
                let one = PyArray1::from_vec(py, vec![value.clone().unbind()]).into_any();
                Ok(one.call_method1("reshape", (PyTuple::empty(py),))?.cast_into()?)
            }
            (Form::Bytes, _) => np::asarray(value, Some(&PyArrayDescr::object(py))),
            // The items of the list are elements, whatever they have inside.
            _ => {
                let items = value.extract::<Vec<Py<PyAny>>>()?;
                Ok(PyArray1::from_vec(py, items).into_any().cast_into()?)
            }
        }
    }

    /// Calls `each` with the bytes of every element of an array that [`Layout::objects`] made, in C order.
    ///
    /// # Errors
    /// `TypeError` and `ValueError` for objects that are no elements; those of `each`.
    pub fn each(
        &self,
        array: &Bound<'_, PyUntypedArray>,
        mut each: impl FnMut(&[u8]) -> PyResult<()>,
    ) -> PyResult<()> {
        let py = array.py();
        match &self.form {
            Form::Text => return strings::each(array, each),
            Form::Json => {
                let dumps = py.import("json")?.getattr("dumps")?;
                let options = PyDict::new(py);
                options.set_item("separators", (",", ":"))?;
                options.set_item("ensure_ascii", false)?;
                return each_object(array, |object| {
                    let text = dumps.call((object,), Some(&options))?;
                    each(text.extract::<&str>()?.as_bytes())
                });
            }
            Form::Lists(items) => {
                return each_object(array, |object| {
                    let list = np::asarray(object, Some(items.bind(py)))?;
                    if list.ndim() != 1 {
                        return Err(PyValueError::new_err(
                            "an element is a list of numbers, of one axis",
                        ));
                    }
                    each(list.call_method0("tobytes")?.cast::<PyBytes>()?.as_bytes())
                });
            }
            _ => {}
        }
        each_object(array, |object| match object.cast::<PyBytes>() {
            Ok(bytes) => each(bytes.as_bytes()),
            Err(_) if object.is_instance_of::<pyo3::types::PyString>() => Err(
                PyTypeError::new_err("expected bytes, found text; encode it, as in text.encode()"),
            ),
            Err(_) => {
                let bytes = py.get_type::<PyBytes>();
                let view = py.import("builtins")?.getattr("memoryview")?.call1((object,))?;
                each(bytes.call1((view,))?.cast::<PyBytes>()?.as_bytes())
            }
        })
    }

    /// An array of variable-length elements as a stream, each after its length.
    pub fn to_stream(&self, array: &Bound<'_, PyUntypedArray>) -> PyResult<Vec<u8>> {
        let mut stream = Vec::new();
        self.each(array, |element| {
            let len = u32::try_from(element.len())
                .map_err(|_| PyValueError::new_err("an element has 4 GiB or more"))?;
            stream.extend_from_slice(&len.to_le_bytes());
            stream.extend_from_slice(element);
            Ok(())
        })?;
        Ok(stream)
    }

    /// An array of variable-length elements, as separate ones.
    pub fn to_list(&self, array: &Bound<'_, PyUntypedArray>) -> PyResult<Vec<Vec<u8>>> {
        let mut list = Vec::new();
        self.each(array, |element| {
            list.push(element.to_vec());
            Ok(())
        })?;
        Ok(list)
    }

    /// One element from its native bytes, as indexing gives it.
    pub fn scalar<'py>(&self, py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
        let array = if self.is_fixed() {
            let bytes = PyBytes::new(py, bytes);
            let array = np::frombuffer(py)?.call1((bytes, self.memory(py)))?;
            self.finished(array)?
        } else {
            let len = (bytes.len() as u32).to_le_bytes();
            self.of_stream(py, &[&len, bytes].concat(), &[1])?
        };
        array.get_item(0)
    }
}

/// NumPy's type of strings that takes nothing else for one.
fn strict_strings(py: Python<'_>) -> PyResult<&Bound<'_, PyArrayDescr>> {
    static STRICT: pyo3::sync::PyOnceLock<Py<PyArrayDescr>> = pyo3::sync::PyOnceLock::new();
    let strict = crate::fork::kept(py, &STRICT, || -> PyResult<Py<PyArrayDescr>> {
        let options = PyDict::new(py);
        options.set_item("coerce", false)?;
        let class = py.import("numpy")?.getattr("dtypes")?.getattr("StringDType")?;
        Ok(class.call((), Some(&options))?.cast_into()?.unbind())
    })?;
    Ok(strict.bind(py))
}

fn each_object(
    array: &Bound<'_, PyUntypedArray>,
    mut each: impl FnMut(&Bound<'_, PyAny>) -> PyResult<()>,
) -> PyResult<()> {
    let objects = array.cast::<PyArrayDyn<Py<PyAny>>>()?.try_readonly()?;
    objects.as_array().iter().try_for_each(|object| each(object.bind(array.py())))
}

/// The JSON values in a stream, by one call of Python's parser. An empty element, which v2 has for one that was never written, is
/// `None`.
fn parse_all(py: Python<'_>, stream: &[u8]) -> PyResult<Vec<Py<PyAny>>> {
    let mut text = vec![b'['];
    for (number, element) in VarStream::new(stream).enumerate() {
        if number > 0 {
            text.push(b',');
        }
        text.extend_from_slice(if element.is_empty() { b"null" } else { element });
    }
    text.push(b']');
    py.import("json")?.getattr("loads")?.call1((PyBytes::new(py, &text),))?.extract()
}
