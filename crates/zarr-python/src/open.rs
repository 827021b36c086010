//! Opens what URLs name.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, OnceLock};
use std::time::Duration;

use pyo3::exceptions::{PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString};
use zarr::nczarr::{Dataset, DatasetOptions};
use zarr::store::{Store, StoreKey, StorePrefix};
use zarr::stores::{ByteCache, CacheStore};
use zarr::tools::ChunkManifest;
use zarr::{
    Consolidated, Dialect, ErrorKind, Hierarchy, Limits, MissingChunks, Node, NodePath, Object,
    OpenOptions, Registry,
};

use crate::array::Array;
use crate::errors::OrRaise;
use crate::group::Group;
use crate::py_store::{self, Source};
use crate::{call, create, threads};

/// What this build knows.
pub static REGISTRY: LazyLock<Arc<Registry>> = LazyLock::new(|| Arc::new(zarr::standard()));

/// How a hierarchy is read: the dialect, the consolidated copies, whether strictly, the limits of documents and decoded chunks, and the
/// bytes of the chunk cache, the rows that are read ahead, and for how many seconds a far store is not asked again.
pub type Reading = (Option<String>, Option<String>, bool, (u64, u64), (u64, usize, f64), bool);

/// Memory for what is known of the objects of one far store: their versions, and small values.
const KNOWN: u64 = 64 << 20;

/// Values of more bytes are not among it: the chunk cache has their elements.
const MAX_CACHED_VALUE_BYTES: u64 = 64 << 10;

/// How a node was opened, so that another process can open it again.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// The path or URL of the hierarchy's root; `None` if it cannot be opened again, such as that of a Python store.
    pub url: Option<String>,
    /// The store of Python's, if it is one.
    pub source: Option<Arc<Py<PyAny>>>,
    /// Whether it was opened for writing.
    pub writeable: bool,
    /// The options of the store as they were given: some may be secrets.
    pub storage_options: Vec<(String, String)>,
    /// Threads for reading and writing; 0 for as many as the machine has.
    pub threads: usize,
    /// The dialect, if it is not to be detected.
    pub dialect: Option<Dialect>,
    /// Whether documents are read from consolidated copies.
    pub consolidated: Consolidated,
    /// Whether what only a tolerant reader takes is refused.
    pub strict: bool,
    /// The most memory that documents and chunks may need.
    pub limits: Limits,
    /// What reads do about chunks that are not stored.
    pub missing: MissingChunks,
    /// What each stored chunk is checked against when it is read.
    pub manifest: Option<Arc<ChunkManifest>>,
    /// The most bytes of decoded chunks that the handles of the hierarchy keep; 0 for none.
    pub chunk_cache: u64,
    /// How many rows of chunks are read ahead into it.
    pub read_ahead: usize,
    /// For how many seconds a far store is not asked again what it has; 0 to ask it each time.
    pub max_age: f64,
    /// What is known of the far store for that time.
    pub known: Arc<Mutex<Option<CacheStore>>>,
    /// The warnings that Python was given.
    pub told: Arc<Mutex<BTreeSet<String>>>,
    /// The dataset of NCZarr that begins at the root of the hierarchy, if one does.
    pub dataset: Arc<OnceLock<Option<Dataset>>>,
}

impl Origin {
    /// The options with which it is opened.
    pub fn options(&self) -> OpenOptions {
        let mut options = OpenOptions::new(REGISTRY.clone()).threads(self.threads);
        options = options.chunk_cache(self.chunk_cache).read_ahead(self.read_ahead);
        options = options.missing(self.missing);
        if self.max_age > 0.0 || self.manifest.is_some() {
            let origin = self.clone();
            options = options.wrap(move |store| origin.wrapped(store));
        }
        options.dialect = self.dialect;
        options.consolidated = self.consolidated.clone();
        options.options.limits = self.limits;
        if self.writeable {
            options = options.read_write();
        }
        if self.strict {
            options = options.strict();
        }
        for (name, value) in &self.storage_options {
            options = options.store_option(name, value);
        }
        options
    }

    /// A store that is not asked again for [`Origin::max_age`], if it is far and that is not 0.
    pub fn aged(&self, store: Arc<dyn Store>) -> Arc<dyn Store> {
        if self.max_age == 0.0 || store.as_sync().is_some() {
            return store;
        }
        let age = Duration::try_from_secs_f64(self.max_age).unwrap_or(Duration::MAX);
        let aged = ByteCache::new(KNOWN).store(store).max_age(age).largest(MAX_CACHED_VALUE_BYTES);
        *zarr::sync::lock(&self.known) = Some(aged.clone());
        Arc::new(aged)
    }

    /// A store as it is read: as [`Origin::aged`], and checked against the manifest, if there is one.
    pub fn wrapped(&self, store: Arc<dyn Store>) -> Arc<dyn Store> {
        let store = self.aged(store);
        match &self.manifest {
            Some(manifest) => manifest.checked(&store),
            None => store,
        }
    }

    /// Forgets what is known of a far store, so that it is asked again.
    pub fn forget(&self) -> zarr::Result<()> {
        let known = zarr::sync::lock(&self.known).clone();
        known.map_or(Ok(()), |known| Ok(known.forget(&StorePrefix::root())?))
    }

    /// How the hierarchy is read, for a pickle.
    pub fn reading(&self) -> Reading {
        let consolidated = match &self.consolidated {
            Consolidated::At(key) => Some(key.as_str().to_owned()),
            Consolidated::Use => Some("use".into()),
            Consolidated::Ignore => Some("ignore".into()),
            _ => None,
        };
        let Limits { document, decoded, .. } = self.limits;
        let dialect = self.dialect.map(|dialect| dialect_name(dialect).to_owned());
        let cache = (self.chunk_cache, self.read_ahead, self.max_age);
        let refuses_missing = self.missing == MissingChunks::Error;
        (dialect, consolidated, self.strict, (document, decoded), cache, refuses_missing)
    }

    /// Reads as another process did.
    ///
    /// # Errors
    /// For values that [`Origin::reading`] does not make.
    pub fn set_reading(&mut self, py: Python<'_>, reading: Reading) -> PyResult<()> {
        let (dialect, consolidated, strict, (document, decoded), cache, refuses_missing) = reading;
        self.missing = if refuses_missing { MissingChunks::Error } else { MissingChunks::Fill };
        self.dialect = dialect.as_deref().map(self::dialect).transpose()?;
        self.consolidated = match consolidated.as_deref() {
            None => Consolidated::IfFound,
            Some("use") => Consolidated::Use,
            Some("ignore") => Consolidated::Ignore,
            Some(key) => Consolidated::At(StoreKey::new(key).or_raise(py)?),
        };
        self.strict = strict;
        (self.limits.document, self.limits.decoded) = (document, decoded);
        (self.chunk_cache, self.read_ahead, self.max_age) = cache;
        Ok(())
    }

    /// The options with which the hierarchy is opened in which a node is to be created.
    pub fn creating_options(&self) -> OpenOptions {
        // Writers read no document from its copy.
        self.options().any_dialect().consolidated(Consolidated::IfFound).read_write()
    }

    /// The node that a URL names; with `creates`, a group that is created if nothing is there.
    fn find(&self, url: &str, creates: bool) -> zarr::Result<Node> {
        match zarr::tools::find_node(url, "/", &self.options()) {
            Err(e) if creates && e.kind() == ErrorKind::NotFound && e.hint_id().is_none() => {
                let options = self.creating_options();
                let default = self.dialect.unwrap_or(Dialect::V3);
                let place = zarr::tools::new_place((url, "/"), self.dialect, default, &options)?;
                create::group_at(&place, Object::new(), false).map(Node::Group)
            }
            found => found,
        }
    }

    /// The node at the root of a store, as [`Origin::find`].
    fn find_in(&self, store: Arc<dyn Store>, creates: bool) -> zarr::Result<Node> {
        let (store, options) = (self.wrapped(store), self.options());
        let hierarchy = match Hierarchy::open(store.clone(), &options) {
            Err(e) if creates && e.kind() == ErrorKind::NotFound => {
                let creating = self.creating_options();
                if Hierarchy::open(store.clone(), &creating).is_ok() {
                    return Err(e);
                }
                let format = options.format(self.dialect.unwrap_or(Dialect::V3));
                let created = Hierarchy::create(store, format, &creating)?;
                create::settle(&created)?;
                created
            }
            found => found?,
        };
        hierarchy.node(NodePath::root())
    }

    /// Gives Python the warnings about a hierarchy that it was not given before.
    pub fn warn(&self, py: Python<'_>, hierarchy: &Hierarchy) -> PyResult<()> {
        self.tell(py, hierarchy.warnings().into_iter().map(|warning| warning.to_string()))
    }

    /// Gives Python the warnings that it was not given before.
    pub fn tell(&self, py: Python<'_>, texts: impl IntoIterator<Item = String>) -> PyResult<()> {
        let new: Vec<String> = {
            let mut told = zarr::sync::lock(&self.told);
            texts.into_iter().filter(|text| told.insert(text.clone())).collect()
        };
        if new.is_empty() {
            return Ok(());
        }
        py.import("zarrkit._errors")?.getattr("warn")?.call1((new,))?;
        Ok(())
    }

    /// The dataset of NCZarr at the root of a hierarchy, if one begins there.
    pub fn dataset(&self, hierarchy: &Hierarchy) -> Option<&Dataset> {
        self.dataset
            .get_or_init(|| {
                let options = DatasetOptions::of(OpenOptions::new(REGISTRY.clone()));
                let is_one = Dataset::is_nczarr(hierarchy);
                is_one.then(|| Dataset::open(hierarchy.store().clone(), &options).ok()).flatten()
            })
            .as_ref()
    }
}

/// A node as an object of Python.
pub fn node_to_python(py: Python<'_>, node: Node, origin: &Arc<Origin>) -> PyResult<Py<PyAny>> {
    Ok(match node {
        Node::Array(array) => Py::new(py, Array::new(array, origin.clone()))?.into_any(),
        Node::Group(group) => Py::new(py, Group::new(group, origin.clone()))?.into_any(),
    })
}

/// Whether a path or URL names a place on this machine.
pub fn is_near(url: &str) -> bool {
    let (scheme, _) = url.split_once("://").unwrap_or(("file", ""));
    ["file", "memory", "zip", "lmdb"].contains(&scheme) && !url.contains("::")
}

/// The store's options as text; `True` is `true`. `headers` is a dict, and each of them becomes an option.
pub fn storage_options(options: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<(String, String)>> {
    let Some(options) = options else { return Ok(Vec::new()) };
    let mut given = Vec::new();
    for (name, value) in options {
        let name: String = name.extract()?;
        if name != "headers" {
            let text = match value.extract::<bool>() {
                Ok(flag) => flag.to_string(),
                Err(_) => value.str()?.to_str()?.to_owned(),
            };
            given.push((name, text));
            continue;
        }
        let headers = value.cast::<PyDict>().map_err(|_| {
            PyTypeError::new_err("the storage option `headers` must be a dict of names and values")
        })?;
        for (name, value) in headers {
            given.push((format!("header.{}", name.extract::<String>()?), value.extract()?));
        }
    }
    Ok(given)
}

/// The dialect that a name refers to.
pub fn dialect(name: &str) -> PyResult<Dialect> {
    Ok(match name {
        "v2" => Dialect::V2,
        "v3" => Dialect::V3,
        "draft" | "draft-2020" => Dialect::Draft,
        other => {
            return Err(PyValueError::new_err(format!(
                "unknown dialect `{other}`; expected v2, v3 or draft"
            )));
        }
    })
}

/// The name of a dialect, as [`dialect`] takes it.
pub fn dialect_name(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::V2 => "v2",
        Dialect::V3 => "v3",
        _ => "draft",
    }
}

/// Whether documents are read from copies: `None` if there are some, `True` always, `False` never, or the key of the copies.
fn consolidated(py: Python<'_>, value: Option<&Bound<'_, PyAny>>) -> PyResult<Consolidated> {
    let Some(value) = value else { return Ok(Consolidated::IfFound) };
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(if flag.is_true() { Consolidated::Use } else { Consolidated::Ignore });
    }
    let key = value.cast::<PyString>().map_err(|_| {
        PyValueError::new_err("`consolidated` must be None, True, False or the key of the copies")
    })?;
    Ok(Consolidated::At(StoreKey::new(key.to_str()?).or_raise(py)?))
}

/// The limits, by their names.
fn limits(limits: Option<&Bound<'_, PyDict>>) -> PyResult<Limits> {
    let mut set = Limits::default();
    for (name, value) in limits.into_iter().flatten() {
        let name: String = name.extract()?;
        match name.as_str() {
            "document" => set.document = value.extract()?,
            "decoded" => set.decoded = value.extract()?,
            _ => {
                return Err(PyValueError::new_err(format!(
                    "unknown limit `{name}`; expected `document` or `decoded`, in bytes"
                )));
            }
        }
    }
    Ok(set)
}

/// A number of bytes: an integer, or text such as "256MiB"; 0 for `None`.
fn bytes_of(size: Option<&Bound<'_, PyAny>>) -> PyResult<u64> {
    let Some(size) = size else { return Ok(0) };
    size.py().import("zarrkit._sizes")?.getattr("bytes_of")?.call1((size,))?.extract()
}

/// A number of seconds that is not negative.
fn seconds(seconds: f64) -> PyResult<f64> {
    if seconds >= 0.0 {
        return Ok(seconds);
    }
    Err(PyValueError::new_err(format!(
        "invalid max_age={seconds}: expected a number of seconds, 0 to ask each time"
    )))
}

/// A number of rows of chunks.
fn rows_ahead(rows: i64) -> PyResult<usize> {
    usize::try_from(rows).map_err(|_| {
        PyValueError::new_err(format!(
            "invalid read_ahead={rows}: expected a number of rows of chunks, 0 for none"
        ))
    })
}

/// What reads do about chunks that are not stored.
pub fn missing(text: &str) -> PyResult<MissingChunks> {
    match text {
        "fill" => Ok(MissingChunks::Fill),
        "error" => Ok(MissingChunks::Error),
        other => Err(PyValueError::new_err(format!(
            "unknown missing={other:?}; expected \"fill\" to read the fill value where a chunk is not stored, \"error\" to raise"
        ))),
    }
}

/// The manifest of chunks in a file.
///
/// # Errors
/// `OSError` if it cannot be read, `ValueError` if it holds something else.
pub fn read_manifest(file: &Path) -> PyResult<Arc<ChunkManifest>> {
    let text = std::fs::read_to_string(file).map_err(|e| {
        let (number, why) = (e.raw_os_error(), e.to_string());
        PyOSError::new_err((number, why, file.display().to_string()))
    })?;
    let manifest = ChunkManifest::parse(&text);
    let manifest = manifest.map_err(|e| {
        PyValueError::new_err(format!("manifest {}: {}", file.display(), e.cause()))
    })?;
    Ok(Arc::new(manifest))
}

/// The group or array that a path or URL names: a hierarchy's root, or a node inside.
///
/// In place of a URL, a store: one of zarr-python's or obstore's, or a mapping of keys to bytes, such as a `dict`.
///
/// - `mode`: "r" reads; "r+" reads and writes; "a" also creates a group if nothing is there.
/// - `dialect`: "v2", "v3" or "draft"; by default it is detected.
/// - `consolidated`: None reads consolidated metadata if there are any, True requires them, False ignores them; a string is their key.
/// - `strict`: refuses data that deviate from the specification; by default a `ZarrWarning` names what does.
/// - `threads`: how many threads read and write; by default as many as the machine has.
/// - `limits`: maximum bytes of one document ("document", 64 MiB by default), and of the decoded chunks of all calls at once ("decoded",
///   2 GiB by default).
/// - `chunk_cache`: maximum memory for decoded chunks, such as "256MiB", shared by this handle and those made from it; none by default.
///   What other writers store is still seen.
/// - `read_ahead`: how many rows of chunks along the first axis are read into that cache in advance, once a read begins where the one
///   before it ended.
/// - `max_age`: for how many seconds answers of a remote store are reused: documents, cached chunks, and that an object does not exist. What
///   other writers store is seen that much later, or after `refresh()`; with 0, the default, each read asks. Folders, zip archives and
///   LMDB are always asked.
/// - `missing`: "fill" reads chunks that are not stored as the fill value; "error" raises `CorruptDataError` for them, for arrays of which
///   every chunk was written.
/// - `manifest`: a file that `zarr checksum URL --manifest --chunks` printed. The stored chunks are compared with it at once, and each
///   chunk when it is read; `CorruptDataError` names one that was lost, truncated or replaced. Only for reading the same `url`; such a
///   handle cannot be pickled.
///
/// Raises `NotFoundError` (a `FileNotFoundError`) if nothing is there.
#[pyfunction]
#[pyo3(signature = (url, mode = "r", *, storage_options = None, dialect = None, consolidated = None, strict = false, threads = None, limits = None, chunk_cache = None, read_ahead = 0, max_age = 0.0, missing = "fill", manifest = None))]
#[expect(clippy::too_many_arguments, reason = "keywords of a Python function")]
pub fn open(
    py: Python<'_>,
    url: &Bound<'_, PyAny>,
    mode: &str,
    storage_options: Option<&Bound<'_, PyDict>>,
    dialect: Option<&str>,
    consolidated: Option<&Bound<'_, PyAny>>,
    strict: bool,
    threads: Option<i64>,
    limits: Option<&Bound<'_, PyDict>>,
    chunk_cache: Option<&Bound<'_, PyAny>>,
    read_ahead: i64,
    max_age: f64,
    missing: &str,
    manifest: Option<PathBuf>,
) -> PyResult<Py<PyAny>> {
    let (writeable, creates) = match mode {
        "r" => (false, false),
        "r+" => (true, false),
        "a" => (true, true),
        other => {
            return Err(PyValueError::new_err(format!(
                "unknown mode {other:?}: \"r\" reads, \"r+\" reads and writes, \"a\" also creates what does not exist; create_group and create_array with overwrite=True replace what is there"
            )));
        }
    };
    let mut origin = Origin {
        writeable,
        storage_options: self::storage_options(storage_options)?,
        threads: threads::checked(threads.unwrap_or(0))?,
        dialect: dialect.map(self::dialect).transpose()?,
        consolidated: self::consolidated(py, consolidated)?,
        strict,
        limits: self::limits(limits)?,
        chunk_cache: bytes_of(chunk_cache)?,
        read_ahead: rows_ahead(read_ahead)?,
        max_age: seconds(max_age)?,
        missing: self::missing(missing)?,
        manifest: manifest.as_deref().map(read_manifest).transpose()?,
        ..Origin::default()
    };
    if origin.read_ahead > 0 && origin.chunk_cache == 0 {
        let why = "read_ahead needs chunk_cache, the memory for the chunks that are read ahead, such as \"256MiB\"";
        return Err(PyValueError::new_err(why));
    }
    if writeable && origin.manifest.is_some() {
        let why =
            "manifest needs mode \"r\": chunks that you write would no longer match the manifest";
        return Err(PyValueError::new_err(why));
    }
    let found = origin.clone();
    let source =
        if writeable { py_store::writeable_source_of(url) } else { py_store::source_of(url) };
    let node = match source? {
        Source::Url(url) => {
            let node = call::on_store(py, is_near(&url), move || {
                found.find(&url, creates).map_err(with_similar_name)
            })?;
            origin.url = Some(node.hierarchy().store().name());
            node
        }
        Source::Store(store) => {
            origin.source = Some(Arc::new(url.clone().unbind()));
            call::on_store(py, false, move || found.find_in(store, creates))?
        }
    };
    if let Some(manifest) = origin.manifest.clone() {
        let node = node.clone();
        call::on_store(py, false, move || manifest.check_keys(&node))?;
    }
    origin.warn(py, node.hierarchy())?;
    node_to_python(py, node, &Arc::new(origin))
}

/// The error of a path at which no Zarr data are, with a similar name that is there.
fn with_similar_name(error: zarr::Error) -> zarr::Error {
    /// More names than these are not compared.
    const MAX_NAMES: usize = 10_000;
    let at = error
        .store()
        .filter(|_| error.kind() == zarr::ErrorKind::NotFound && error.path().is_none());
    let Some(at) = at.map(|at| at.strip_prefix("file://").unwrap_or(at).to_owned()) else {
        return error;
    };
    let path = Path::new(&at);
    let (Some(folder), Some(name), false) = (path.parent(), path.file_name(), path.exists()) else {
        return error;
    };
    let Ok(names) = folder.read_dir() else { return error };
    let names =
        names.take(MAX_NAMES).filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let names: Vec<String> = names.collect();
    match zarr::did_you_mean(&name.to_string_lossy(), names.iter().map(String::as_str)) {
        Some(near) => error.with_hint(format!("did you mean `{}`?", folder.join(near).display())),
        None => error,
    }
}
