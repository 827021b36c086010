//! Creates arrays and groups.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use zarr::NodePath;

use crate::array::Array;
use crate::errors::OrRaise;
use crate::group::Group;
use crate::open::{self, Origin};
use crate::{dtype, json};

/// Creates an array at a path or URL. The hierarchy begins at the URL; `path` is the array's path in it.
///
/// Without `chunks`, the chunks have a shape that suits the data type. `codecs` are texts such as `"zstd:3"`.
#[pyfunction]
#[pyo3(signature = (url, path, *, shape, dtype, chunks = None, shards = None, codecs = None, fill_value = None, attributes = None,
    dimension_names = None, dialect = "v3", overwrite = false, storage_options = None))]
#[expect(clippy::too_many_arguments, reason = "keywords of a Python function")]
pub fn create_array(
    py: Python<'_>,
    url: &Bound<'_, PyAny>,
    path: &str,
    shape: Vec<u64>,
    dtype: &Bound<'_, PyAny>,
    chunks: Option<Vec<u64>>,
    shards: Option<Vec<u64>>,
    codecs: Option<Vec<String>>,
    fill_value: Option<&Bound<'_, PyAny>>,
    attributes: Option<&Bound<'_, PyDict>>,
    dimension_names: Option<Vec<Option<String>>>,
    dialect: &str,
    overwrite: bool,
    storage_options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Array> {
    let (url, dialect) = (open::url_of(url)?, open::dialect(dialect)?);
    let origin = Origin {
        url: Some(url.clone()),
        writeable: true,
        storage_options: open::storage_options(storage_options)?,
        ..Origin::default()
    };
    let descr = dtype::to_descr(dtype)?;
    let fill = fill_value.map(json::from_python).transpose()?;
    let attributes = attributes.map(json::object_from_python).transpose()?.unwrap_or_default();
    let create = || -> zarr::Result<zarr::Array> {
        let path = NodePath::new(path)?;
        let hierarchy = zarr::create_with(&url, dialect, &origin.options())?;
        let mut builder =
            hierarchy.create_array(path).shape(&shape).attributes(attributes).overwrite(overwrite);
        builder = match descr.as_str() {
            Some(name) => builder.data_type_named(name),
            None => builder.data_type(zarr::DataType::from_numpy_descr(&descr)?.data_type),
        };
        if let Some(chunks) = &chunks {
            builder = builder.chunks(chunks);
        }
        if let Some(shards) = &shards {
            builder = builder.shards(shards);
        }
        for codec in codecs.iter().flatten() {
            builder = builder.codec(zarr::codec(codec)?);
        }
        if let Some(fill) = fill {
            builder = builder.fill_value(fill);
        }
        if let Some(names) = dimension_names {
            builder = builder.dimension_names(names);
        }
        let array = builder.create()?;
        // Lock files of the documents' folders do not stay as long as the array is open.
        hierarchy.flush()?;
        Ok(array)
    };
    let array = py.detach(create).or_raise(py)?;
    Ok(Array::new(array, Arc::new(origin)))
}

/// Creates a group in the hierarchy at a path or URL.
#[pyfunction]
#[pyo3(signature = (url, path = "/", *, attributes = None, dialect = "v3", storage_options = None))]
pub fn create_group(
    py: Python<'_>,
    url: &Bound<'_, PyAny>,
    path: &str,
    attributes: Option<&Bound<'_, PyDict>>,
    dialect: &str,
    storage_options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Group> {
    let (url, dialect) = (open::url_of(url)?, open::dialect(dialect)?);
    let origin = Origin {
        url: Some(url.clone()),
        writeable: true,
        storage_options: open::storage_options(storage_options)?,
        ..Origin::default()
    };
    let attributes = attributes.map(json::object_from_python).transpose()?.unwrap_or_default();
    let create = || -> zarr::Result<zarr::Group> {
        let path = NodePath::new(path)?;
        let hierarchy = zarr::create_with(&url, dialect, &origin.options())?;
        let group = hierarchy.create_group(path, attributes)?;
        hierarchy.flush()?;
        Ok(group)
    };
    let group = py.detach(create).or_raise(py)?;
    Ok(Group::new(group, Arc::new(origin)))
}
