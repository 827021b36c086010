//! Creates arrays and groups.

use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString};
use zarr::codec::CodecSpec;
use zarr::data_type::{Endian, ParsedType};
use zarr::grid::RegularGrid;
use zarr::tools::{CopyOptions, NewPlace};
use zarr::{AccessError, DataType, Dialect, Error, ErrorKind, Hierarchy, Json, NodePath, Object};

use crate::array::Array;
use crate::group::Group;
use crate::open::{self, Origin};
use crate::py_store::{self, Source};
use crate::{call, dtype, json};

/// What an array is to be, as the keywords of `create` say it.
pub struct NewArray {
    shape: Option<Vec<u64>>,
    dtype: Option<Json>,
    chunks: Option<Vec<u64>>,
    shards: Option<Vec<u64>>,
    codecs: Option<Vec<String>>,
    like: Option<zarr::Array>,
    fill: Option<Json>,
    dims: Option<Vec<Option<String>>>,
    attributes: Option<Object>,
    f_order: bool,
    separator: Option<char>,
    overwrite: bool,
}

/// The keywords of `create`, as Python gives them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Keywords<'py> {
    shape: Option<Bound<'py, PyAny>>,
    dtype: Option<Bound<'py, PyAny>>,
    chunks: Option<Bound<'py, PyAny>>,
    shards: Option<Bound<'py, PyAny>>,
    codec: Option<Bound<'py, PyAny>>,
    like: Option<Bound<'py, PyAny>>,
    fill_value: Option<Bound<'py, PyAny>>,
    dims: Option<Bound<'py, PyAny>>,
    attrs: Option<Bound<'py, PyDict>>,
    order: String,
    separator: Option<String>,
    overwrite: bool,
}

fn no_lens(value: &Bound<'_, PyAny>, what: &str) -> PyErr {
    let value = value.repr().map_or_else(|_| "this".into(), |text| text.to_string());
    PyValueError::new_err(format!("`{what}` must be a length, or one for each axis, not {value}"))
}

/// Lengths along axes: an integer or a sequence of them.
pub fn lens(value: &Bound<'_, PyAny>, what: &str) -> PyResult<Vec<u64>> {
    let wrong = |_: PyErr| no_lens(value, what);
    if value.hasattr("__index__")? && !value.hasattr("__len__")? {
        return Ok(vec![len(value, what).map_err(wrong)?]);
    }
    let items = value.try_iter().map_err(wrong)?;
    items.map(|item| item.and_then(|item| len(&item, what))).collect::<PyResult<_>>().map_err(wrong)
}

/// One length.
fn len(value: &Bound<'_, PyAny>, what: &str) -> PyResult<u64> {
    // A bool has an index, and is no length.
    if value.is_instance_of::<PyBool>() {
        return Err(no_lens(value, what));
    }
    value.call_method0("__index__")?.extract::<u64>()
}

/// Lengths of chunks: an integer is that of every axis, -1 that of the array.
fn chunk_lens(value: &Bound<'_, PyAny>, shape: Option<&[u64]>, what: &str) -> PyResult<Vec<u64>> {
    let Some(shape) = shape else { return lens(value, what) };
    let whole = |(axis, item): (usize, Bound<'_, PyAny>)| -> PyResult<u64> {
        match item.extract::<i64>() {
            Ok(-1) => Ok(shape.get(axis).map_or(1, |&len| len.max(1))),
            // The lengths of each chunk, as Dask has them, are not one length.
            _ => match lens(&item, what).as_deref() {
                Ok([len]) if !item.hasattr("__len__")? => Ok(*len),
                _ => Err(no_lens(value, what)),
            },
        }
    };
    if value.hasattr("__index__")? && !value.hasattr("__len__")? {
        return (0..shape.len()).map(|axis| whole((axis, value.clone()))).collect();
    }
    let items: Vec<Bound<'_, PyAny>> = match value.try_iter() {
        Ok(items) => items.collect::<PyResult<_>>()?,
        Err(_) => return lens(value, what),
    };
    items.into_iter().enumerate().map(whole).collect()
}

/// Codecs: a text such as `zstd:3`, a `dict` as in a document of v3, or a sequence of them.
pub fn codecs(value: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    if value.is_instance_of::<PyString>() || value.is_instance_of::<PyDict>() {
        return Ok(vec![codec(value)?]);
    }
    // What is no sequence is no codec, either.
    let Ok(items) = value.try_iter() else { return Ok(vec![codec(value)?]) };
    items.map(|item| codec(&item?)).collect()
}

/// One codec, as text.
fn codec(item: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(text) = item.cast::<PyString>() {
        return Ok(text.to_str()?.to_owned());
    }
    let dict = item.cast::<PyDict>().map_err(|_| {
        PyTypeError::new_err(format!(
            "a codec must be a string such as \"zstd:3\", or a dict with a name and a configuration, not {}",
            item.get_type()
        ))
    })?;
    item.py().import("json")?.call_method1("dumps", (dict,))?.extract()
}

/// Names of axes: `None` for one that has none.
fn dims(value: &Bound<'_, PyAny>) -> PyResult<Vec<Option<String>>> {
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(vec![Some(text.to_str()?.to_owned())]);
    }
    value.try_iter()?.map(|item| item?.extract()).collect()
}

impl NewArray {
    /// What the keywords say.
    ///
    /// # Errors
    /// `TypeError` and `ValueError` for keywords that are no lengths, codecs, dtypes or names.
    pub fn of(py: Python<'_>, keywords: &Keywords<'_>) -> PyResult<NewArray> {
        let attribute = |name: &str| -> PyResult<Option<Bound<'_, PyAny>>> {
            let Some(like) = &keywords.like else { return Ok(None) };
            Ok(like.getattr_opt(name)?.filter(|value| !value.is_none()))
        };
        let like = keywords.like.as_ref().and_then(|like| like.cast::<Array>().ok());
        let like = like.map(|like| like.get().inner.clone());
        // What is like an array of another library has its shape, its dtype and its chunks.
        let of_other = |name: &str| if like.is_some() { Ok(None) } else { attribute(name) };
        let shape = keywords.shape.clone().map_or_else(|| of_other("shape"), |it| Ok(Some(it)))?;
        let dtype = keywords.dtype.clone().map_or_else(|| of_other("dtype"), |it| Ok(Some(it)))?;
        let shape = shape.map(|shape| lens(&shape, "shape")).transpose()?;
        let axes = shape.clone().or_else(|| like.as_ref().map(zarr::Array::shape));
        let mut shards = None;
        let mut chunks = None;
        for (name, given, to) in
            [("chunks", &keywords.chunks, &mut chunks), ("shards", &keywords.shards, &mut shards)]
        {
            *to = match given {
                // As in other libraries: it is what is done without the keyword.
                Some(given) if name == "chunks" && given.eq("auto")? => None,
                Some(given) => Some(chunk_lens(given, axes.as_deref(), name)?),
                // Dask's chunks are tuples of tuples: those are not taken over.
                None if keywords.chunks.is_none() => {
                    of_other(name)?.and_then(|value| lens(&value, name).ok())
                }
                None => None,
            };
        }
        let dtype_of_fill = match (&dtype, &like) {
            (Some(dtype), _) => Some(dtype.clone()),
            (None, Some(_)) => attribute("dtype").ok().flatten(),
            (None, None) => None,
        };
        let fill = keywords.fill_value.as_ref().map(|value| -> PyResult<Json> {
            let helper = py.import("zarrkit._dtype")?.getattr("fill_of")?;
            json::from_python(&helper.call1((value, dtype_of_fill))?)
        });
        let separator = keywords.separator.as_deref().map(|text| match text {
            "/" => Ok('/'),
            "." => Ok('.'),
            _ => Err(PyValueError::new_err("`separator` must be \"/\" or \".\"")),
        });
        let f_order = match keywords.order.as_str() {
            "C" => false,
            "F" => true,
            _ => return Err(PyValueError::new_err("`order` must be \"C\" or \"F\"")),
        };
        Ok(NewArray {
            shape,
            dtype: dtype.map(|dtype| dtype::to_descr(&dtype)).transpose()?,
            chunks,
            shards,
            codecs: keywords.codec.as_ref().map(codecs).transpose()?,
            like,
            fill: fill.transpose()?,
            dims: keywords.dims.as_ref().map(dims).transpose()?,
            attributes: keywords.attrs.as_ref().map(json::object_from_python).transpose()?,
            f_order,
            separator: separator.transpose()?,
            overwrite: keywords.overwrite,
        })
    }

    /// Creates it.
    ///
    /// # Errors
    /// As [`zarr::ArrayBuilder::create`].
    pub fn create(self, hierarchy: &Hierarchy, path: &NodePath) -> zarr::Result<zarr::Array> {
        if self.overwrite {
            refuse_foreign(hierarchy, path)?;
        }
        refuse_other_kind(hierarchy, path, self.overwrite)?;
        let overwrite = self.overwrite;
        if let Some(like) =
            self.like.clone().filter(|_| self.dtype.is_none() && self.fill.is_none())
        {
            let metadata = self.metadata_like(&like, hierarchy)?;
            let builder = hierarchy.create_array(path).from_metadata(metadata);
            let array = builder.overwrite(overwrite).create()?;
            settle(hierarchy)?;
            return Ok(array);
        }
        let array = self.build(hierarchy, path)?;
        settle(hierarchy)?;
        Ok(array)
    }

    /// The metadata of an array like another one.
    fn metadata_like(
        self,
        like: &zarr::Array,
        target: &Hierarchy,
    ) -> zarr::Result<zarr::metadata::ArrayMetadata> {
        let mut options = CopyOptions {
            chunks: self.chunks,
            shards: self.shards,
            codecs: self.codecs,
            ..CopyOptions::default()
        };
        // Other chunks in shards of the same shape, where they fit.
        let (same, chunks) = (like.shard_shape(), &options.chunks);
        if let (Some(shards), Some(chunks), None) = (same, chunks, &options.shards)
            && target.dialect() == Dialect::V3
            && shards.iter().zip(chunks).all(|(shard, &chunk)| chunk > 0 && shard % chunk == 0)
        {
            options.shards = Some(shards);
        }
        let mut metadata = zarr::tools::metadata_like(like, target, &options)?;
        if let Some(shape) = self.shape {
            let chunks = metadata.shard_shape().or_else(|| metadata.chunk_shape());
            let chunks = chunks.ok_or_else(|| {
                let why = "the chunks of the other array differ in length; give `chunks`";
                Error::from(AccessError::Argument(why.into()))
            })?;
            metadata.grid = Some(Arc::new(RegularGrid::new(&chunks, &shape)?));
            if metadata.dimension_names.as_ref().is_some_and(|names| names.len() != shape.len()) {
                metadata.dimension_names = None;
            }
            metadata.shape = shape;
        }
        if let Some(attributes) = self.attributes {
            metadata.attributes = attributes;
        }
        if let Some(dims) = self.dims {
            metadata.dimension_names = Some(dims);
        }
        Ok(metadata)
    }

    fn build(self, hierarchy: &Hierarchy, path: &NodePath) -> zarr::Result<zarr::Array> {
        let like = self.like.as_ref();
        let mut builder = hierarchy.create_array(path).overwrite(self.overwrite);
        let shape = self.shape.or_else(|| like.map(zarr::Array::shape));
        let rank = shape.as_ref().map_or(0, Vec::len);
        if let Some(shape) = shape {
            builder = builder.shape(&shape);
        }
        builder = match (&self.dtype, like) {
            (Some(Json::String(name)), _) => builder.data_type_named(name),
            (Some(descr), _) => {
                // Fields that all have one byte order do not say it themselves.
                let ParsedType { data_type, endian } = DataType::from_numpy_descr(descr)?;
                let big = endian == Some(Endian::Big) && hierarchy.dialect() != Dialect::V3;
                builder.data_type(data_type).big_endian(big)
            }
            (None, Some(like)) => builder.data_type(like.data_type()),
            (None, None) => builder,
        };
        let is_v3 = hierarchy.dialect() == Dialect::V3;
        let shards = if self.chunks.is_none() && is_v3 {
            like.and_then(zarr::Array::shard_shape)
        } else {
            None
        };
        if let Some(chunks) = self.chunks.or_else(|| like.and_then(zarr::Array::chunk_shape)) {
            builder = builder.chunks(&chunks);
        }
        if let Some(shards) = self.shards.or(shards) {
            builder = builder.shards(&shards);
        }
        let specs: Vec<CodecSpec> = match (&self.codecs, like) {
            (Some(texts), _) => texts
                .iter()
                .filter(|text| *text != "none")
                .map(|text| zarr::tools::codec(text))
                .collect::<zarr::Result<_>>()?,
            (None, Some(like)) => codecs_of(like),
            (None, None) => zarr::tools::default_codecs(hierarchy, rank),
        };
        for spec in specs {
            builder = builder.codec(spec);
        }
        if let Some(fill) = self.fill {
            builder = builder.fill_value(fill);
        }
        let attributes = self.attributes.or_else(|| like.map(zarr::Array::attributes));
        let dims = self.dims.or_else(|| like.and_then(zarr::Array::dimension_names));
        if let Some(dims) = dims {
            builder = builder.dimension_names(dims);
        }
        if let Some(separator) =
            self.separator.or((hierarchy.dialect() == Dialect::V2).then_some('.'))
        {
            builder = builder.separator(separator);
        }
        builder.attributes(attributes.unwrap_or_default()).f_order(self.f_order).create()
    }
}

/// The codecs that compress the chunks of an array.
fn codecs_of(array: &zarr::Array) -> Vec<CodecSpec> {
    let metadata = (*array.metadata()).clone().unsharded();
    metadata
        .codecs
        .into_iter()
        .filter(|spec| !["bytes", "transpose"].contains(&spec.name.as_str()))
        .collect()
}

/// Has a folder's lock files go, which other libraries list: else they stay as long as the hierarchy is open. Stores that gather
/// what is written keep it until they are flushed.
pub fn settle(hierarchy: &Hierarchy) -> zarr::Result<()> {
    if hierarchy.store().name().starts_with("file:") { hierarchy.flush() } else { Ok(()) }
}

/// Refuses to erase files below a node that are not Zarr's.
pub fn refuse_foreign(hierarchy: &Hierarchy, path: &NodePath) -> zarr::Result<()> {
    let foreign = match hierarchy.foreign_keys(path) {
        Ok(foreign) => foreign,
        // What cannot be listed cannot be distinguished.
        Err(e) if e.kind() == ErrorKind::NotCapable => return Ok(()),
        Err(e) => return Err(e),
    };
    let Some(first) = foreign.first() else { return Ok(()) };
    let why = format!(
        "{} files there are not Zarr's, such as `{first}`; move them elsewhere; nothing was erased",
        foreign.len()
    );
    let error = Error::from(AccessError::Argument(why));
    Err(error.at_store(hierarchy.store().name()).at_path(path))
}

/// The drafts create a node without a look at what is there (D-151, D-153), so that a group and an array can get the same path,
/// and the group is never seen again.
fn refuse_other_kind(hierarchy: &Hierarchy, path: &NodePath, overwrite: bool) -> zarr::Result<()> {
    if hierarchy.dialect() != Dialect::Draft || overwrite || path.is_root() {
        return Ok(());
    }
    let kind = match hierarchy.node(path) {
        Ok(zarr::Node::Array(_)) => "an array",
        Ok(zarr::Node::Group(group)) if !group.metadata().implicit => "a group",
        _ => return Ok(()),
    };
    let taken = Error::from(AccessError::Exists(kind));
    Err(taken.at_store(hierarchy.store().name()).at_path(path))
}

/// Creates a group.
pub fn group_at(
    place: &NewPlace,
    attributes: Object,
    overwrite: bool,
) -> zarr::Result<zarr::Group> {
    let NewPlace { hierarchy, path, begun } = place;
    refuse_other_kind(hierarchy, path, overwrite)?;
    if overwrite && !begun {
        refuse_foreign(hierarchy, path)?;
        match hierarchy.erase(path) {
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            other => other?,
        }
    }
    let group = match hierarchy.create_group(path, attributes.clone()) {
        // A new hierarchy may come with its root group.
        Err(e) if e.kind() == ErrorKind::Exists && *begun && path.is_root() => {
            let root = hierarchy.root()?;
            root.update_attributes(|old| *old = attributes.clone())?;
            hierarchy.root()?
        }
        other => other?,
    };
    settle(hierarchy)?;
    Ok(group)
}

/// Creates an array at a path or URL, and the hierarchy and the groups above it where there are none. Returns the array, open
/// for reading and writing.
///
/// `path` is the array's path from `url`, if that does not have it. The hierarchy is the one that is at `url` or above it; else
/// a new one begins at the first component of the URL that looks like a store (`d.zarr` of `d.zarr/x`), or at the URL itself.
///
/// `dtype` is what `numpy.dtype` takes, or the name of a data type of any dialect. Without `chunks` the chunks have about 1 MiB.
/// `shards` is the shape of stored objects that hold several chunks (v3). `codec` is "zstd:3", "gzip:5", "blosc-zstd:7", a dict
/// as in a document of v3, or a list of them; nothing is compressed without it. `like` is an array whose shape, dtype, chunks,
/// codecs, fill value, dims and attributes the new one has where nothing else is asked for. `dialect` is "v3" (the default),
/// "v2" or "draft". `overwrite` erases what is there.
///
/// Raises `ExistsError` (a `FileExistsError`); `ArgumentError` (a `ValueError`) for what cannot be.
#[pyfunction]
#[pyo3(signature = (url, path = "", *, keywords, dialect = None, storage_options = None, threads = None))]
pub fn create_at(
    py: Python<'_>,
    url: &Bound<'_, PyAny>,
    path: &str,
    keywords: Keywords<'_>,
    dialect: Option<&str>,
    storage_options: Option<&Bound<'_, PyDict>>,
    threads: Option<i64>,
) -> PyResult<Array> {
    let new = NewArray::of(py, &keywords)?;
    let (array, origin) =
        created(py, url, path, dialect, storage_options, threads, move |place| {
            new.create(&place.hierarchy, &place.path)
        })?;
    Ok(Array::new(array, origin))
}

/// Creates a group at a path or URL, and the hierarchy and the groups above it where there are none, as `create` does.
#[pyfunction]
#[pyo3(signature = (url, path = "", *, attrs = None, dialect = None, overwrite = false, storage_options = None, threads = None))]
#[expect(clippy::too_many_arguments, reason = "keywords of a Python function")]
pub fn create_group(
    py: Python<'_>,
    url: &Bound<'_, PyAny>,
    path: &str,
    attrs: Option<&Bound<'_, PyDict>>,
    dialect: Option<&str>,
    overwrite: bool,
    storage_options: Option<&Bound<'_, PyDict>>,
    threads: Option<i64>,
) -> PyResult<Group> {
    let attributes = attrs.map(json::object_from_python).transpose()?.unwrap_or_default();
    let (group, origin) =
        created(py, url, path, dialect, storage_options, threads, move |place| {
            group_at(place, attributes, overwrite)
        })?;
    Ok(Group::new(group, origin))
}

/// Creates a node at a place; what was begun for it is taken back if that fails.
fn created<T: Send + 'static>(
    py: Python<'_>,
    url: &Bound<'_, PyAny>,
    path: &str,
    dialect: Option<&str>,
    storage_options: Option<&Bound<'_, PyDict>>,
    threads: Option<i64>,
    create: impl FnOnce(&NewPlace) -> zarr::Result<T> + Send + 'static,
) -> PyResult<(T, Arc<Origin>)> {
    let mut origin = Origin {
        writeable: true,
        storage_options: open::storage_options(storage_options)?,
        threads: crate::threads::checked(threads.unwrap_or(0))?,
        ..Origin::default()
    };
    let dialect = dialect.map(open::dialect).transpose()?;
    let (options, path) = (origin.creating_options(), path.to_owned());
    let source = py_store::writeable_source_of(url)?;
    let is_near = matches!(&source, Source::Url(url) if open::is_near(url));
    let is_store = matches!(source, Source::Store(_));
    let (node, place) = call::on_store(py, is_near, move || -> zarr::Result<(T, NewPlace)> {
        let place = match source {
            Source::Url(url) => {
                zarr::tools::new_place((&url, &path), dialect, Dialect::V3, &options)?
            }
            Source::Store(store) => {
                zarr::tools::new_place_in(store, &path, dialect, Dialect::V3, &options)?
            }
        };
        match create(&place) {
            Ok(node) => Ok((node, place)),
            Err(e) => {
                place.take_back();
                Err(e)
            }
        }
    })?;
    if is_store {
        origin.source = Some(Arc::new(url.clone().unbind()));
    } else {
        origin.url = Some(place.hierarchy.store().name());
    }
    origin.warn(py, &place.hierarchy)?;
    Ok((node, Arc::new(origin)))
}
