//! Copies, validates, repairs, computes checksums and compares: the functions of `zarrkit._tools`, which make Python's objects of what
//! these return.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use zarr::nczarr::{Dataset, DatasetOptions};
use zarr::store::Store;
use zarr::tools::repair::RepairOptions;
use zarr::tools::validate::{Level, Problem, ProblemKind, ValidateOptions, ValidateProgress};
use zarr::tools::{Change, ChecksumOptions, ChunkManifest, DiffOptions, TreeProgress};
use zarr::{CancelToken, Hierarchy, Json, MissingChunks, Node, NodePath, Object, OpenOptions};

use crate::array::Array;
use crate::call::cancellable;
use crate::errors::OrRaise;
use crate::group::Group;
use crate::json;
use crate::open::{self, Origin};
use crate::py_store::{self, Source};

/// How long no progress is reported after some was.
const BETWEEN_REPORTS: Duration = Duration::from_millis(50);

/// Reports progress to a function of Python. What that raises cancels the work.
#[derive(Clone)]
pub struct Reporter(Arc<Inner>);

struct Inner {
    callback: Option<Py<PyAny>>,
    cancel: CancelToken,
    raised: Mutex<Option<PyErr>>,
    last: Mutex<Option<Instant>>,
}

impl Reporter {
    pub fn new(callback: Option<Py<PyAny>>) -> Reporter {
        let (raised, last) = (Mutex::default(), Mutex::default());
        Reporter(Arc::new(Inner { callback, cancel: CancelToken::new(), raised, last }))
    }

    /// Cancels the work.
    pub fn cancel(&self) -> CancelToken {
        self.0.cancel.clone()
    }

    /// Tells how far the work has come, unless it did a moment ago and the work is not done.
    pub fn tell(&self, path: Option<&str>, done: u64, total: u64) {
        let Some(callback) = self.0.callback.as_ref().filter(|_| !self.0.cancel.is_cancelled())
        else {
            return;
        };
        {
            let mut last = zarr::sync::lock(&self.0.last);
            if done < total && last.is_some_and(|last| last.elapsed() < BETWEEN_REPORTS) {
                return;
            }
            *last = Some(Instant::now());
        }
        Python::attach(|py| {
            let called = py.import("zarrkit._tree_progress").and_then(|module| {
                let progress = module.getattr("TreeProgress")?.call1((path, done, total))?;
                callback.call1(py, (progress,))
            });
            if let Err(error) = called {
                *zarr::sync::lock(&self.0.raised) = Some(error);
                self.0.cancel.cancel();
            }
        });
    }

    /// Runs work that Ctrl-C and the callback can end.
    pub fn run<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Reporter) -> zarr::Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let reporter = self.clone();
        let result = cancellable(py, self.cancel(), move || work(&reporter));
        match zarr::sync::lock(&self.0.raised).take() {
            Some(raised) => Err(raised),
            None => result,
        }
    }

    fn tell_tree(&self, progress: &TreeProgress) {
        let path = progress.path.as_ref().map(|path| path.as_str());
        self.tell(path, progress.bytes_done, progress.bytes_total);
    }

    fn tell_values(&self, progress: &ValidateProgress) {
        self.tell(None, progress.done, progress.total);
    }
}

/// What a function works on: a node that is open, or what a URL names.
pub struct Target {
    node: Option<Node>,
    store: Option<Arc<dyn Store>>,
    pub origin: Arc<Origin>,
    /// The URL as it was given; of a node that of its hierarchy.
    pub url: Option<String>,
    /// The path from there.
    pub path: String,
}

impl Target {
    /// A node, or the path or URL of one.
    pub fn of(
        target: &Bound<'_, PyAny>,
        path: &str,
        storage_options: Option<&Bound<'_, PyDict>>,
        writeable: bool,
        threads: Option<i64>,
    ) -> PyResult<Target> {
        let opened = match (target.cast::<Array>(), target.cast::<Group>()) {
            (Ok(array), _) => {
                let array = array.get();
                Some((Node::Array(array.inner.clone()), array.origin.clone()))
            }
            (_, Ok(group)) => {
                let group = group.get();
                Some((Node::Group(group.inner.clone()), group.origin.clone()))
            }
            _ => None,
        };
        if let Some((node, origin)) = opened {
            if storage_options.is_some() {
                let why = "`storage_options` are for a URL: an open node has its own";
                return Err(PyValueError::new_err(why));
            }
            let inside = format!("{}/{}", node.path(), path.trim_matches('/'));
            let inside = inside.trim_matches('/').to_owned();
            let url = origin.url.clone();
            return Ok(Target { node: Some(node), store: None, origin, url, path: inside });
        }
        let source = if writeable {
            py_store::writeable_source_of(target)
        } else {
            py_store::source_of(target)
        };
        let (url, store) = match source? {
            Source::Url(url) => (Some(url), None),
            Source::Store(store) => (None, Some(store)),
        };
        let origin = Origin {
            url: url.clone(),
            writeable,
            storage_options: open::storage_options(storage_options)?,
            threads: crate::threads::checked(threads.unwrap_or(0))?,
            ..Origin::default()
        };
        let path = path.trim_matches('/').to_owned();
        Ok(Target { node: None, store, origin: Arc::new(origin), url, path })
    }

    /// Has reads fail where a chunk is not stored.
    fn refuse_missing(&mut self) -> PyResult<()> {
        if self.origin.missing == MissingChunks::Fill && self.node.is_some() {
            let why =
                "`missing` is for a URL: an open node has its own; open it with missing=\"error\"";
            return Err(PyValueError::new_err(why));
        }
        Arc::make_mut(&mut self.origin).missing = MissingChunks::Error;
        Ok(())
    }

    /// Has each chunk checked against a manifest when it is read.
    ///
    /// # Errors
    /// For a node that is open.
    pub fn check_against(&mut self, manifest: Arc<ChunkManifest>) -> PyResult<()> {
        if self.node.is_some() {
            let why =
                "`manifest` is for a URL: an open node has its own; open it with manifest=...";
            return Err(PyValueError::new_err(why));
        }
        Arc::make_mut(&mut self.origin).manifest = Some(manifest);
        Ok(())
    }

    /// Refuses a node that has no chunk in common with the manifest, or lacks one that is in it.
    pub fn check_keys(&self, node: &Node) -> zarr::Result<()> {
        match (&self.node, &self.origin.manifest) {
            // A node that is open was checked when it was opened.
            (None, Some(manifest)) => manifest.check_keys(node),
            _ => Ok(()),
        }
    }

    /// The node.
    pub fn find(&self) -> zarr::Result<Node> {
        match (&self.node, &self.url) {
            (Some(node), _) if node.path().relative() == self.path => Ok(node.clone()),
            (Some(node), _) => node.hierarchy().node(format!("/{}", self.path)),
            (None, url) => {
                if let Some(store) = &self.store {
                    let store = self.origin.wrapped(store.clone());
                    let hierarchy = Hierarchy::open(store, &self.origin.options())?;
                    return hierarchy.node(format!("/{}", self.path));
                }
                let url = url.as_deref().unwrap_or_default();
                zarr::tools::find_node(url, &self.path, &self.origin.options())
            }
        }
    }

    /// The node, opened so that all that is there is read. If it was opened again for that, without consolidated copies that may
    /// be out of date, also what to warn of.
    pub fn find_whole(&self) -> zarr::Result<(Node, Option<Vec<String>>)> {
        let node = self.find()?;
        let options = self.origin.options();
        let Some(found) = zarr::tools::without_copies(node.hierarchy(), node.path(), &options)?
        else {
            return Ok((node, None));
        };
        let whole = match &self.url {
            Some(url) => zarr::tools::find_node(url, &self.path, &found.options)?,
            None => {
                let store = node.hierarchy().store().clone();
                Hierarchy::open(store, &found.options)?.node(node.path())?
            }
        };
        Ok((whole, Some(found.only_copied.iter().map(only_copied).collect())))
    }

    /// The netCDF dataset that begins there, opened so that all that is there is read, and what to warn of.
    pub fn find_dataset(&self) -> zarr::Result<(Dataset, Option<Vec<String>>)> {
        let options = self.origin.options();
        let dataset = self.open_dataset(&options)?;
        let found =
            zarr::tools::without_copies(&dataset.hierarchy(), dataset.root_path(), &options)?;
        let Some(found) = found else { return Ok((dataset, None)) };
        let warnings = found.only_copied.iter().map(only_copied).collect();
        Ok((self.open_dataset(&found.options)?, Some(warnings)))
    }

    fn open_dataset(&self, options: &OpenOptions) -> zarr::Result<Dataset> {
        let options = DatasetOptions::of(options.clone());
        if let Some(url) = &self.url {
            let mut url = zarr::tools::dataset_url(url)?;
            if !self.path.is_empty() {
                url.store = zarr::url_below(&url.store, &self.path);
            }
            return url.open(&options);
        }
        let node = self.find()?;
        if !node.path().is_root() {
            let why =
                "a netCDF dataset begins at the root of its store; copy the group to a path first";
            return Err(zarr::AccessError::Argument(why.into()).into());
        }
        Dataset::open(node.hierarchy().store().clone(), &options)
    }

    /// The URL and the options, for tools that open what may be broken.
    fn place(&self, writeable: bool) -> PyResult<(String, OpenOptions)> {
        let url = self.url.as_deref().ok_or_else(|| {
            PyValueError::new_err(
                "a Python store object cannot be repaired in place, because it has no URL; repair a copy of it",
            )
        })?;
        let mut options = self.origin.options();
        if writeable {
            options = options.read_write();
        }
        let placed = match zarr::tools::netcdf_url(url) {
            Ok(Some(url)) => url.hierarchy(&options),
            Ok(None) => Ok((zarr::tools::absolute_url(url), options)),
            Err(e) => Err(e),
        };
        Python::attach(|py| placed.or_raise(py))
    }
}

/// What to say of a node that is left out.
fn only_copied(path: &NodePath) -> String {
    format!(
        "{path}: skipped: it exists only in the consolidated metadata; open the hierarchy with consolidated=True to read \
         it from there"
    )
}

fn level(name: &str) -> PyResult<Level> {
    name.parse().map_err(|why: String| PyValueError::new_err(why))
}

fn objects<'py>(py: Python<'py>, list: &[Json]) -> PyResult<Bound<'py, PyList>> {
    let objects = list.iter().map(|json| json::to_python(py, json));
    PyList::new(py, objects.collect::<PyResult<Vec<_>>>()?)
}

/// What is validated, which may not open.
enum Validated {
    Url(String, OpenOptions),
    Store(Arc<dyn Store>, OpenOptions),
}

/// The problems, the notes and the counts.
#[pyfunction]
#[pyo3(name = "_validate")]
#[expect(clippy::too_many_arguments, reason = "keywords of a Python function")]
fn validate<'py>(
    py: Python<'py>,
    target: &Bound<'py, PyAny>,
    path: &str,
    level: &str,
    expect_complete: bool,
    progress: Option<Py<PyAny>>,
    storage_options: Option<&Bound<'py, PyDict>>,
    threads: Option<i64>,
) -> PyResult<(Bound<'py, PyList>, Bound<'py, PyAny>)> {
    let target = Target::of(target, path, storage_options, false, threads)?;
    let store = match &target.node {
        Some(node) if target.url.is_none() => Some(node.hierarchy().store()),
        _ => target.store.as_ref(),
    };
    let place = match store {
        Some(store) => Validated::Store(store.clone(), target.origin.options()),
        None => {
            let (url, open) = target.place(false)?;
            Validated::Url(url, open)
        }
    };
    let level = self::level(level)?;
    let reporter = Reporter::new(progress);
    let (found, report) = reporter.run(py, move |reporter| {
        let show = |progress: &ValidateProgress| reporter.tell_values(progress);
        let mut how = ValidateOptions::new(level).expect_complete(expect_complete).progress(&show);
        how.cancel = Some(reporter.cancel());
        let mut found = Vec::new();
        let mut add = |problem: &Problem| {
            let mut json = problem.to_json();
            if let Json::Object(object) = &mut json {
                object.insert("is_note", problem.kind.is_note());
            }
            found.push(json);
        };
        let path = &target.path;
        let report = match &place {
            Validated::Url(url, open) => {
                zarr::tools::validate::validate(url, path, open, &how, &mut add)
            }
            Validated::Store(store, open) => {
                zarr::tools::validate::validate_store(store, path, open, &how, &mut add)
            }
        }?;
        Ok((found, report))
    })?;
    Ok((objects(py, &found)?, json::to_python(py, &report.to_json())?))
}

/// The steps and the counts.
#[pyfunction]
#[pyo3(name = "_repair")]
#[expect(clippy::too_many_arguments, reason = "keywords of a Python function")]
fn repair<'py>(
    py: Python<'py>,
    target: &Bound<'py, PyAny>,
    path: &str,
    level: &str,
    apply: bool,
    orphans: bool,
    skip: Vec<String>,
    progress: Option<Py<PyAny>>,
    storage_options: Option<&Bound<'py, PyDict>>,
) -> PyResult<(Bound<'py, PyList>, Bound<'py, PyAny>)> {
    let target = Target::of(target, path, storage_options, apply, None)?;
    let (url, open) = target.place(apply)?;
    let skip = skip
        .iter()
        .map(|name| {
            let found = ProblemKind::ALL.iter().find(|kind| kind.name() == name).copied();
            found.ok_or_else(|| PyValueError::new_err(format!("unknown kind of problem `{name}`")))
        })
        .collect::<PyResult<Vec<_>>>()?;
    let level = self::level(level)?;
    let reporter = Reporter::new(progress);
    let (steps, report) = reporter.run(py, move |reporter| {
        let show = |progress: &ValidateProgress| reporter.tell_values(progress);
        let mut how = RepairOptions::new().level(level).apply(apply).orphans(orphans).skip(skip);
        how.progress = Some(&show);
        how.cancel = Some(reporter.cancel());
        // Characters may be narrower than their documents say.
        let node = zarr::open_with(&url, &open).ok();
        let narrow = node.and_then(|node| zarr::nczarr::narrow_characters(&node, &open));
        let open = narrow.unwrap_or(open);
        let mut steps = Vec::new();
        let report = zarr::tools::repair::repair(&url, &target.path, &open, &how, &mut |step| {
            steps.push(step.to_json());
        })?;
        Ok((steps, report))
    })?;
    Ok((objects(py, &steps)?, json::to_python(py, &report.to_json())?))
}

/// For each node its path, kind and digest, and of arrays, with `regions`, the shape of blocks and the digests of levels.
#[pyfunction]
#[pyo3(name = "_checksum")]
#[expect(clippy::too_many_arguments, reason = "keywords of a Python function")]
fn checksum<'py>(
    py: Python<'py>,
    target: &Bound<'py, PyAny>,
    path: &str,
    regions: bool,
    sizes: (u64, u64),
    missing: &str,
    progress: Option<Py<PyAny>>,
    storage_options: Option<&Bound<'py, PyDict>>,
    threads: Option<i64>,
) -> PyResult<Bound<'py, PyList>> {
    let mut target = Target::of(target, path, storage_options, false, threads)?;
    if open::missing(missing)? == MissingChunks::Error {
        target.refuse_missing()?;
    }
    let (memory, max_size) = sizes;
    let threads = crate::threads::checked(threads.unwrap_or(0))?;
    let reporter = Reporter::new(progress);
    let origin = target.origin.clone();
    let (node, warnings, checksum) = reporter.run(py, move |reporter| {
        let (node, warnings) = target.find_whole()?;
        let options = ChecksumOptions {
            memory,
            max_size,
            threads,
            regions,
            cancel: Some(reporter.cancel()),
            progress: Some(&|progress: &TreeProgress| reporter.tell_tree(progress)),
        };
        let checksum = zarr::tools::checksum(&node, &options)?;
        Ok((node, warnings, checksum))
    })?;
    origin.tell(py, warnings.into_iter().flatten())?;
    origin.warn(py, node.hierarchy())?;
    let nodes = checksum.nodes.iter().map(|node| of_checksum(node, regions));
    objects(py, &nodes.collect::<Vec<_>>())
}

/// The checksum of a node, for Python; with `regions` those of its blocks, too.
fn of_checksum(node: &zarr::tools::NodeChecksum, regions: bool) -> Json {
    let mut object = Object::new()
        .with("path", node.path.as_str())
        .with("kind", node.kind.name())
        .with("digest", node.digest.to_string());
    if let Some(blocks) = node.blocks.as_ref().filter(|_| regions) {
        let levels = blocks.levels.iter().map(|level| -> Json {
            level.iter().map(|digest| Json::from(digest.to_string().as_str())).collect()
        });
        object.insert("block_shape", &blocks.block_shape[..]);
        object.insert("levels", levels.collect::<Json>());
    }
    object.into()
}

/// The nodes that differ, and how many were compared.
#[pyfunction]
#[pyo3(name = "_diff")]
fn diff<'py>(
    py: Python<'py>,
    first: &Bound<'py, PyAny>,
    second: &Bound<'py, PyAny>,
    options: &Bound<'py, PyDict>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Bound<'py, PyList>, u64)> {
    let of = |name: &str| -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(options.get_item(name)?.filter(|value| !value.is_none()))
    };
    let flag =
        |name: &str| -> PyResult<bool> { of(name)?.map_or(Ok(false), |value| value.extract()) };
    let number =
        |name: &str| -> PyResult<f64> { of(name)?.map_or(Ok(0.0), |value| value.extract()) };
    let [a, b] = [(first, "first_options"), (second, "second_options")].map(|(target, name)| {
        let options = of(name)?.map(|value| value.cast_into::<PyDict>()).transpose()?;
        Target::of(target, "", options.as_ref(), false, None)
    });
    let (a, b) = (a?, b?);
    let reporter = Reporter::new(progress);
    let mut how: DiffOptions<'static> = DiffOptions {
        absolute: number("absolute")?,
        relative: number("relative")?,
        bits: flag("bits")?,
        ignore_attributes: flag("ignore_attributes")?,
        ignore_fill: flag("ignore_fill")?,
        ignore_dimensions: flag("ignore_dimensions")?,
        ignore_files: flag("ignore_files")?,
        layout: flag("layout")?,
        only_metadata: flag("only_metadata")?,
        common: flag("common")?,
        cancel: Some(reporter.cancel()),
        ..DiffOptions::default()
    };
    if let Some(size) = of("max_size")? {
        how.max_size = size.extract()?;
    }
    if let Some(places) = of("places")? {
        how.places = places.extract()?;
    }
    let origin = a.origin.clone();
    let (nodes, compared, warnings) = reporter.run(py, move |reporter| {
        let how = DiffOptions {
            progress: Some(&|progress: &TreeProgress| reporter.tell_tree(progress)),
            ..how
        };
        let ((a, of_a), (b, of_b)) = (a.find_whole()?, b.find_whole()?);
        let warnings = of_a.into_iter().chain(of_b).flatten().collect::<Vec<_>>();
        let found = zarr::tools::diff(&a, &b, &how)?;
        Ok((found.nodes.iter().map(of_node).collect::<Vec<_>>(), found.compared, warnings))
    })?;
    origin.tell(py, warnings)?;
    Ok((objects(py, &nodes)?, compared))
}

/// A difference of a node, for Python.
fn of_change(change: &Change) -> Json {
    let (what, name, first, second) = match change {
        Change::OnlyInFirst(kind) => {
            ("only_in_first", Json::from("node"), Json::from(kind.name()), Json::Null)
        }
        Change::OnlyInSecond(kind) => {
            ("only_in_second", Json::from("node"), Json::Null, Json::from(kind.name()))
        }
        Change::Kind(a, b) => {
            ("kind", Json::from("node"), Json::from(a.name()), Json::from(b.name()))
        }
        Change::Attribute { name, first, second } => (
            "attribute",
            Json::from(name),
            first.clone().unwrap_or(Json::Null),
            second.clone().unwrap_or(Json::Null),
        ),
        Change::Property { name, first, second } => {
            ("property", Json::from(*name), first.clone(), second.clone())
        }
        Change::NotCompared(why) => ("not_compared", Json::from(*why), Json::Null, Json::Null),
        Change::File { name, in_first, in_second } => {
            ("file", Json::from(name), (*in_first).into(), (*in_second).into())
        }
        Change::Unread { what, in_first } => {
            ("unread", Json::from(what), (*in_first).into(), (!*in_first).into())
        }
        _ => ("other", Json::Null, Json::Null, Json::Null),
    };
    let object = Object::new().with("what", what).with("name", name);
    object.with("first", first).with("second", second).into()
}

/// A place where elements differ, for Python.
fn of_place(place: &zarr::tools::Place) -> Json {
    let field = Some(&place.field).filter(|field| !field.is_empty());
    Object::new()
        .with("index", &place.index[..])
        .with("field", field.map_or(Json::Null, |field| Json::from(field.as_str())))
        .with("first", place.first.as_str())
        .with("second", place.second.as_str())
        .into()
}

/// How a node differs, for Python: `path`, `changes` and `elements`.
fn of_node(node: &zarr::tools::NodeDiff) -> Json {
    let mut object = Object::new()
        .with("path", node.path.as_str())
        .with("changes", node.changes.iter().map(of_change).collect::<Json>());
    if let Some(elements) = &node.elements {
        let largest = elements.max_absolute.as_ref();
        let largest = largest.map_or(Json::Null, |it| it.to_string().into());
        let relative = elements.max_relative.map_or(Json::Null, |it| it.to_string().into());
        let found = Object::new()
            .with("compared", elements.compared)
            .with("different", elements.different)
            .with("max_absolute", largest)
            .with("max_relative", relative)
            .with("places", elements.places.iter().map(of_place).collect::<Json>());
        object.insert("elements", found);
    }
    object.into()
}

/// Adds the functions to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(validate, module)?)?;
    module.add_function(wrap_pyfunction!(repair, module)?)?;
    module.add_function(wrap_pyfunction!(checksum, module)?)?;
    module.add_function(wrap_pyfunction!(diff, module)?)?;
    module.add_function(wrap_pyfunction!(crate::plan::plan_copy, module)?)?;
    module.add_function(wrap_pyfunction!(crate::plan::copy, module)?)?;
    module.add_function(wrap_pyfunction!(crate::plan::finish_copy, module)?)?;
    module.add_function(wrap_pyfunction!(crate::levels::pyramid, module)?)?;
    module.add_function(wrap_pyfunction!(crate::sync::sync, module)?)
}
