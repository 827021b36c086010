//! The class `Group`.

use std::sync::{Arc, Mutex};

use pyo3::call::PyCallArgs;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator, PyString, PyTuple};
use zarr::tools::NewPlace;
use zarr::{ErrorKind, Object};

use crate::array::Array;
use crate::call;
use crate::create::{Keywords, NewArray, group_at, refuse_foreign, settle};
use crate::errors::{OrRaise, member_exception};
use crate::json;
use crate::open::{Origin, dialect_name, node_to_python};

/// A group: a mapping of the names of its members, and of paths below it, to groups and arrays.
#[pyclass(frozen, module = "zarrkit", weakref, mapping)]
pub struct Group {
    pub inner: zarr::Group,
    pub origin: Arc<Origin>,
    /// The attributes, if they were changed through this handle.
    attributes: Mutex<Option<Object>>,
}

impl Group {
    pub fn new(inner: zarr::Group, origin: Arc<Origin>) -> Group {
        Group { inner, origin, attributes: Mutex::default() }
    }

    /// The attributes when the group was opened, or last changed through this handle.
    pub fn attributes(&self) -> Object {
        let changed = zarr::sync::lock(&self.attributes);
        changed.clone().unwrap_or_else(|| self.inner.attributes().clone())
    }

    /// Keeps the attributes after a change.
    pub fn set_attributes(&self, attributes: Object) {
        *zarr::sync::lock(&self.attributes) = Some(attributes);
    }

    /// Runs `work` on the group without Python's lock. A signal ends it.
    pub fn call<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&zarr::Group) -> zarr::Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let group = self.inner.clone();
        let is_local = group.hierarchy().store().as_sync().is_some();
        call::on_store(py, is_local, move || work(&group))
    }

    /// The node at a path, or why there is none.
    fn find(&self, py: Python<'_>, path: &str) -> PyResult<zarr::Result<zarr::Node>> {
        let path = path.to_owned();
        self.call(py, move |group| Ok(group.node(path)))
    }

    fn warn(&self, py: Python<'_>) -> PyResult<()> {
        self.origin.warn(py, self.inner.hierarchy())
    }
}

/// The place of a new node below a group.
fn place(group: &zarr::Group, path: &str) -> zarr::Result<NewPlace> {
    let path = zarr::tools::path_below(group.path(), path)?;
    Ok(NewPlace { hierarchy: group.hierarchy().clone(), path, begun: false })
}

/// Erases a member of a group, with all below it.
fn erase_member(group: &zarr::Group, path: &str) -> zarr::Result<()> {
    let place = place(group, path)?;
    refuse_foreign(&place.hierarchy, &place.path)?;
    group.erase(path)?;
    zarr::tools::update_netcdf_lists(&place.hierarchy, &place.path, None)?;
    settle(&place.hierarchy)
}

#[pymethods]
impl Group {
    /// The path in its hierarchy, such as `/ocean`.
    #[getter]
    fn path(&self) -> &str {
        self.inner.path().as_str()
    }

    /// The last part of the path; empty for a root.
    #[getter]
    fn name(&self) -> &str {
        self.inner.path().name().unwrap_or_default()
    }

    /// The store, as its URL or a description.
    #[getter]
    fn store(&self) -> String {
        self.inner.hierarchy().store().name()
    }

    /// The dialect: "v2", "v3" or "draft".
    #[getter]
    fn dialect(&self) -> &'static str {
        dialect_name(self.inner.hierarchy().dialect())
    }

    /// The format of the documents: "v2", "v3", "draft-2020" or "draft-2019".
    #[getter]
    fn format(&self) -> &'static str {
        self.inner.hierarchy().format_name()
    }

    /// Whether the group has no document: only nodes below it say that it is there.
    #[getter]
    fn implicit(&self) -> bool {
        self.inner.metadata().implicit
    }

    /// The member or the node further below at a path.
    fn __getitem__(&self, py: Python<'_>, path: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let Ok(path) = path.cast::<PyString>() else {
            let what = path.repr()?;
            let why = format!(
                "a member is chosen by its name, as in group['temperature'], not by {what}"
            );
            return Err(PyTypeError::new_err(why));
        };
        let path = path.to_str()?;
        let node = self.find(py, path)?.map_err(|e| member_exception(py, &e))?;
        self.warn(py)?;
        node_to_python(py, node, &self.origin)
    }

    fn __contains__(&self, py: Python<'_>, path: &Bound<'_, PyAny>) -> PyResult<bool> {
        let Ok(path) = path.cast::<PyString>() else { return Ok(false) };
        match self.find(py, path.to_str()?)? {
            Ok(_) => Ok(true),
            Err(e) if [ErrorKind::NotFound, ErrorKind::Argument].contains(&e.kind()) => Ok(false),
            // What cannot be opened is there.
            Err(e) if [ErrorKind::InvalidMetadata, ErrorKind::Unsupported].contains(&e.kind()) => {
                Ok(true)
            }
            Err(e) => Err(e).or_raise(py),
        }
    }

    fn __setitem__(&self, path: &str, _value: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(PyTypeError::new_err(format!(
            "create members with `group.create_array({path:?}, data=values)`"
        )))
    }

    /// Erases the member, with all below it.
    fn __delitem__(&self, py: Python<'_>, path: &str) -> PyResult<()> {
        if path.trim_matches('/').is_empty() {
            return Err(PyValueError::new_err(format!(
                "{path:?} is the group itself, not a member of it; `del` erases members"
            )));
        }
        let path = path.to_owned();
        self.call(py, move |group| Ok(erase_member(group, &path)))?
            .map_err(|e| member_exception(py, &e))
    }

    /// The names of the members, sorted, by one listing.
    fn keys(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let children = self.call(py, zarr::Group::children)?;
        self.warn(py)?;
        Ok(children.iter().filter_map(|child| child.path.name()).map(str::to_owned).collect())
    }

    /// The members, opened, sorted; with `recursive` all nodes below, too.
    #[pyo3(name = "_nodes", signature = (recursive = false))]
    fn nodes(&self, py: Python<'_>, recursive: bool) -> PyResult<Vec<Py<PyAny>>> {
        let nodes =
            self.call(py, move |group| if recursive { group.nodes() } else { group.members() })?;
        self.warn(py)?;
        let own = self.inner.path();
        let nodes = nodes.into_iter().filter(|node| node.path() != own);
        nodes.map(|node| node_to_python(py, node, &self.origin)).collect()
    }

    #[pyo3(name = "_create")]
    fn create_of_keywords(
        &self,
        py: Python<'_>,
        path: &str,
        keywords: Keywords<'_>,
    ) -> PyResult<Array> {
        let new = NewArray::of(py, &keywords)?;
        let path = path.to_owned();
        let array = self.call(py, move |group| {
            let place = place(group, &path)?;
            new.create(&place.hierarchy, &place.path)
        })?;
        self.warn(py)?;
        Ok(Array::new(array, self.origin.clone()))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.keys(py)?.len())
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.keys(py)?.into_pyobject(py)?.try_iter()
    }

    /// The members, sorted by name: each document is read once. What cannot be opened is left out, and a `ZarrWarning` names it.
    fn values(&self, py: Python<'_>) -> PyResult<Vec<Py<PyAny>>> {
        self.nodes(py, false)
    }

    /// The names and the members, as `values`.
    fn items(&self, py: Python<'_>) -> PyResult<Vec<(String, Py<PyAny>)>> {
        self.nodes(py, false)?
            .into_iter()
            .map(|node| {
                let name = node.bind(py).getattr("name")?.extract()?;
                Ok((name, node))
            })
            .collect()
    }

    /// The member or the node further below at a path, or `default`.
    #[pyo3(signature = (path, default = None))]
    fn get(
        &self,
        py: Python<'_>,
        path: &str,
        default: Option<Py<PyAny>>,
    ) -> PyResult<Option<Py<PyAny>>> {
        match self.find(py, path)? {
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(default),
            found => {
                let node = found.or_raise(py)?;
                self.warn(py)?;
                node_to_python(py, node, &self.origin).map(Some)
            }
        }
    }

    /// What the members are, sorted by name, each a `Member` with `name`, `path`, `kind`, `shape`, `dtype` and `node`: each document is read
    /// once. With `recursive`, all nodes below are listed, and `name` is the path from here.
    #[pyo3(signature = (*, recursive = false))]
    fn members<'py>(slf: &Bound<'py, Self>, recursive: bool) -> PyResult<Bound<'py, PyAny>> {
        in_python(slf, "members", (slf, recursive))
    }

    /// The arrays among the members, by their names.
    fn arrays<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        in_python(slf, "arrays", (slf,))
    }

    /// The groups among the members, by their names.
    fn groups<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        in_python(slf, "groups", (slf,))
    }

    /// All below the group as text, drawn as a tree.
    fn tree<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        in_python(slf, "tree", (slf,))
    }

    /// What the group is, as text: `group.info` shows it, and `group.info()` returns it.
    #[getter]
    fn info<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        in_python(slf, "Info", (slf,))
    }

    /// The names of the arrays among the members.
    fn array_keys<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        in_python(slf, "array_keys", (slf,))
    }

    /// The names of the groups among the members.
    fn group_keys<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        in_python(slf, "group_keys", (slf,))
    }

    /// Calls `function(path)` with the path from here of each node below, sorted, until it returns something other than None; returns that.
    fn visit<'py>(
        slf: &Bound<'py, Self>,
        function: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        in_python(slf, "visit", (slf, function))
    }

    /// Calls `function(path, node)` with each node below, sorted, until it returns something other than None; returns that.
    fn visititems<'py>(
        slf: &Bound<'py, Self>,
        function: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        in_python(slf, "visititems", (slf, function))
    }

    /// Gives the node at `source` the path `dest`, both from here: it is copied, and then erased where it was.
    #[pyo3(name = "move")]
    fn move_node<'py>(
        slf: &Bound<'py, Self>,
        source: &str,
        dest: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        in_python(slf, "move_node", (slf, source, dest))
    }

    /// Has the lists that a netCDF dataset has of its nodes name one at its new path.
    #[pyo3(name = "_list_moved")]
    fn list_moved(&self, py: Python<'_>, old: &str, new: &str) -> PyResult<()> {
        let (old, new) = (old.to_owned(), new.to_owned());
        self.call(py, move |group| {
            let (old, new) = (zarr::NodePath::new(&old)?, zarr::NodePath::new(&new)?);
            zarr::tools::update_netcdf_lists(group.hierarchy(), &old, Some(&new))
        })
    }

    /// The group at `path`, from here, which is created if nothing is there.
    fn require_group<'py>(slf: &Bound<'py, Self>, path: &str) -> PyResult<Bound<'py, PyAny>> {
        in_python(slf, "require_group", (slf, path))
    }

    /// The array at `path`, from here, which is created if nothing is there; one that is there has this shape, and a dtype that `dtype` can be cast to,
    /// with `exact` this dtype. Other keywords are those of `create`.
    #[pyo3(signature = (path, *, shape, dtype = None, exact = false, **keywords))]
    fn require_array<'py>(
        slf: &Bound<'py, Self>,
        path: &str,
        shape: &Bound<'py, PyAny>,
        dtype: Option<&Bound<'py, PyAny>>,
        exact: bool,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let require = slf.py().import("zarrkit._nodes")?.getattr("require_array")?;
        require.call((slf, path, shape, dtype, exact), keywords)
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    /// As `flush`.
    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        if self.origin.writeable { self.flush(py) } else { Ok(()) }
    }

    fn __repr__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        in_python(slf, "group_repr", (slf,))
    }

    fn _repr_html_<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        in_python(slf, "group_html", (slf,))
    }

    fn _ipython_key_completions_(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.keys(py)
    }

    /// Creates an array below this group; the keywords are those of `zarrkit.create`.
    #[pyo3(
        signature = (path, **keywords),
        text_signature = "($self, path, *, shape=None, dtype=None, data=None, chunks=None, shards=None, codec=None, like=None, fill_value=None, \
                          dims=None, attrs=None, order='C', separator=None, overwrite=False, **others)"
    )]
    fn create<'py>(
        slf: &Bound<'py, Self>,
        path: &str,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let create = slf.py().import("zarrkit._nodes")?.getattr("create_in")?;
        create.call((slf, path), keywords)
    }

    /// Creates an array below this group: `create` under zarr-python's name.
    #[pyo3(
        signature = (name, **keywords),
        text_signature = "($self, name, *, shape=None, dtype=None, data=None, chunks=None, shards=None, codec=None, like=None, fill_value=None, \
                          dims=None, attrs=None, order='C', separator=None, overwrite=False, **others)"
    )]
    fn create_array<'py>(
        slf: &Bound<'py, Self>,
        name: &str,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Self::create(slf, name, keywords)
    }

    /// Creates a group below this one.
    #[pyo3(signature = (path, *, attrs = None, overwrite = false))]
    fn create_group(
        &self,
        py: Python<'_>,
        path: &str,
        attrs: Option<&Bound<'_, PyDict>>,
        overwrite: bool,
    ) -> PyResult<Group> {
        let attributes = attrs.map(json::object_from_python).transpose()?.unwrap_or_default();
        let path = path.to_owned();
        let group =
            self.call(py, move |group| group_at(&place(group, &path)?, attributes, overwrite))?;
        self.warn(py)?;
        Ok(Group::new(group, self.origin.clone()))
    }

    /// Raises what a write would, if this group was opened read-only or its store cannot be written.
    fn _check_writeable(&self, py: Python<'_>) -> PyResult<()> {
        self.call(py, |group| group.hierarchy().check_writeable())
    }

    /// Copies all documents of this group and of all below it to one place, so that readers need no others. Returns how many
    /// nodes there are. Changes through zarrkit change the copies, too.
    fn consolidate(&self, py: Python<'_>) -> PyResult<usize> {
        self.call(py, |group| {
            let count = group.consolidate()?;
            settle(group.hierarchy())?;
            Ok(count)
        })
    }

    /// Whether there are such copies.
    #[getter]
    fn is_consolidated(&self, py: Python<'_>) -> PyResult<bool> {
        self.call(py, zarr::Group::is_consolidated)
    }

    /// Puts what was written where other readers find it, in stores that gather it until then, such as zip archives.
    fn flush(&self, py: Python<'_>) -> PyResult<()> {
        self.call(py, |group| group.hierarchy().flush())
    }

    /// Dimensions and their lengths, if netCDF sees this group: those of NCZarr; else None.
    #[getter]
    fn dimensions<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let path = self.inner.path().as_str();
        let schema = py.detach(|| Some(self.origin.dataset(self.inner.hierarchy())?.schema()));
        let group = schema.as_ref().and_then(|schema| match path {
            "/" => Some(&**schema),
            path => schema.group(path),
        });
        let Some(group) = group else { return Ok(None) };
        let dict = PyDict::new(py);
        for dimension in &group.dimensions {
            dict.set_item(&dimension.name, dimension.len)?;
        }
        Ok(Some(dict))
    }
}

/// Calls a function of `zarrkit._nodes` that is written in Python.
pub fn in_python<'py, T>(
    of: &Bound<'py, T>,
    name: &str,
    arguments: impl PyCallArgs<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    of.py().import("zarrkit._nodes")?.getattr(name)?.call1(arguments)
}
