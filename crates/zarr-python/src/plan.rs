//! Copies, and the class `Plan`: a copy whose parts are run one by one, maybe by several processes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use zarr::nczarr::{CopyTarget, Dataset, DatasetOptions, NewDataset};
use zarr::tools::{CodecRule, CopyOptions, NewPlace, ShapeRule, Verify};
use zarr::{
    Consolidated, Dialect, Hierarchy, Json, MissingChunks, Node, NodePath, Object, OpenOptions,
};

use crate::errors::{OrRaise, in_words_of_python};
use crate::json;
use crate::open::{self, Origin};
use crate::py_store::{self, Source};
use crate::tools::{Reporter, Target};

/// The options of a copy, as Python gives them.
#[derive(Clone, Debug, Default, FromPyObject)]
#[pyo3(from_item_all)]
pub struct CopyArguments {
    chunks: Option<Vec<u64>>,
    shards: Option<Vec<u64>>,
    codecs: Option<Vec<String>>,
    chunk_rules: Vec<NamedShape>,
    shard_rules: Vec<NamedShape>,
    codec_rules: Vec<NamedCodecs>,
    resume: bool,
    verify: Option<String>,
    recode: bool,
    keep_keys: bool,
    keep_attributes: bool,
    no_extra_files: bool,
    no_missing: bool,
    overwrite: bool,
    memory: Option<u64>,
    include: Vec<String>,
    exclude: Vec<String>,
    select: Vec<String>,
    parts: Option<u64>,
    strict: bool,
    skip_unsupported: bool,
    /// The file of digests that each chunk of the source is checked against; with a copy that goes on, else that of its first run.
    manifest: Option<PathBuf>,
}

/// Chunks or shards by name, from a `dict` with some of `array`, `dimension`, `shape`, `size`, `len` and `none`.
#[derive(Clone, Debug)]
struct NamedShape(ShapeRule);

impl<'py> FromPyObject<'_, 'py> for NamedShape {
    type Error = PyErr;

    fn extract(rule: pyo3::Borrowed<'_, 'py, PyAny>) -> PyResult<NamedShape> {
        let rule = rule.cast::<PyDict>()?;
        let shape: Option<Vec<u64>> =
            rule.get_item("shape")?.map(|value| value.extract()).transpose()?;
        if rule.get_item("none")?.is_some() {
            return Ok(NamedShape(match text_of(&rule, "array")? {
                Some(array) => ShapeRule::ArrayNoShards { array },
                None => ShapeRule::NoShards,
            }));
        }
        let rule = match (text_of(&rule, "array")?, text_of(&rule, "dimension")?, shape) {
            (None, None, Some(shape)) => Some(ShapeRule::Shape(shape)),
            (None, None, None) => number_of(&rule, "size")?.map(ShapeRule::Size),
            (None, Some(name), None) => {
                number_of(&rule, "len")?.map(|len| ShapeRule::Dimension { name, len })
            }
            (Some(array), None, Some(shape)) => Some(ShapeRule::Array { array, shape }),
            (Some(array), None, None) => {
                number_of(&rule, "size")?.map(|bytes| ShapeRule::ArraySize { array, bytes })
            }
            (Some(array), Some(dimension), None) => number_of(&rule, "len")?
                .map(|len| ShapeRule::ArrayDimension { array, dimension, len }),
            _ => None,
        };
        rule.map(NamedShape).ok_or_else(|| PyValueError::new_err("a chunk rule has no value"))
    }
}

/// A text of a rule.
fn text_of(rule: &Bound<'_, PyDict>, name: &str) -> PyResult<Option<String>> {
    rule.get_item(name)?.map(|value| value.extract()).transpose()
}

/// A number of a rule.
fn number_of(rule: &Bound<'_, PyDict>, name: &str) -> PyResult<Option<u64>> {
    rule.get_item(name)?.map(|value| value.extract()).transpose()
}

/// Codecs by name, from a `dict` with `array` and `codecs`.
#[derive(Clone, Debug)]
struct NamedCodecs(CodecRule);

impl<'py> FromPyObject<'_, 'py> for NamedCodecs {
    type Error = PyErr;

    fn extract(rule: pyo3::Borrowed<'_, 'py, PyAny>) -> PyResult<NamedCodecs> {
        let (array, codecs) =
            (rule.get_item("array")?.extract()?, rule.get_item("codecs")?.extract()?);
        Ok(NamedCodecs(CodecRule { array, codecs }))
    }
}

impl CopyArguments {
    /// What is asked for of this source. A node that was opened so has no missing chunks in other processes either.
    ///
    /// # Errors
    /// As [`Target::check_against`].
    fn of(mut self, source: &mut Target) -> PyResult<CopyArguments> {
        self.no_missing |= source.origin.missing == MissingChunks::Error;
        if let Some(file) = &self.manifest {
            source.check_against(open::read_manifest(file)?)?;
        }
        Ok(self)
    }

    /// Whether a copy that is under way may go on.
    fn goes_on(&self) -> bool {
        self.resume || self.parts.is_some()
    }

    fn options(&self) -> CopyOptions<'static> {
        let how = self.clone();
        CopyOptions {
            chunks: how.chunks,
            shards: how.shards,
            codecs: how.codecs,
            chunk_rules: how.chunk_rules.into_iter().map(|NamedShape(rule)| rule).collect(),
            shard_rules: how.shard_rules.into_iter().map(|NamedShape(rule)| rule).collect(),
            codec_rules: how.codec_rules.into_iter().map(|NamedCodecs(rule)| rule).collect(),
            resume: how.resume,
            verify: match how.verify.as_deref() {
                None => Verify::No,
                Some("data") => Verify::Elements,
                Some(_) => Verify::Stored,
            },
            recode: how.recode,
            keep_keys: how.keep_keys,
            keep_attributes: how.keep_attributes,
            no_extra_files: how.no_extra_files,
            manifest: how.manifest.map(|file| zarr::tools::absolute_url(&file.to_string_lossy())),
            missing: if how.no_missing { MissingChunks::Error } else { MissingChunks::Fill },
            overwrite: how.overwrite,
            memory: how.memory,
            include: how.include,
            exclude: how.exclude,
            select: how.select,
            parts: how.parts,
            strict: how.strict,
            skip_unsupported: how.skip_unsupported,
            ..CopyOptions::default()
        }
    }
}

/// Where a copy is to be, as Python says it.
struct To {
    place: Source,
    format: Option<CopyFormat>,
    origin: Origin,
}

/// What a copy is to be.
#[derive(Clone)]
enum CopyFormat {
    Zarr { dialect: Dialect, plain_draft: bool },
    Dataset(NewDataset),
}

impl CopyFormat {
    /// The format that a name asks for, as the program's `--to`.
    fn named(name: &str) -> PyResult<CopyFormat> {
        if let Some(new) = NewDataset::named(name) {
            return Ok(CopyFormat::Dataset(new));
        }
        let (dialect, plain_draft) = match name {
            "v2" | "2" => (Dialect::V2, false),
            "v3" | "3" => (Dialect::V3, false),
            "draft" | "draft-2020" => (Dialect::Draft, false),
            "draft-2020-text" => (Dialect::Draft, true),
            other => {
                return Err(PyValueError::new_err(format!(
                    "`to` must be \"v2\", \"v3\", \"draft-2020\" or \"draft-2020-text\"; or, as a netCDF dataset, \"nczarr-v2\", \"nczarr-v3\", \
                     \"zarr-v2\" or \"zarr-v3\"; not {other:?}"
                )));
            }
        };
        Ok(CopyFormat::Zarr { dialect, plain_draft })
    }
}

/// A copy, ready to be planned: from where, and to where.
enum Ready {
    Node(Node, NewPlace),
    Dataset(Dataset, Box<CopyTarget>),
}

impl Ready {
    fn source(&self) -> Hierarchy {
        match self {
            Ready::Node(node, _) => node.hierarchy().clone(),
            Ready::Dataset(dataset, _) => dataset.hierarchy(),
        }
    }

    fn target(&self) -> Hierarchy {
        match self {
            Ready::Node(_, place) => place.hierarchy.clone(),
            Ready::Dataset(_, target) => target.hierarchy().clone(),
        }
    }

    fn plan(&self, options: &CopyOptions<'_>) -> zarr::Result<zarr::tools::Plan> {
        match self {
            Ready::Node(node, to) => zarr::tools::plan_copy(node, &to.hierarchy, &to.path, options),
            Ready::Dataset(dataset, target) => zarr::tools::plan_dataset(dataset, target, options),
        }
    }
}

impl To {
    fn of(
        target: &Bound<'_, PyAny>,
        format: Option<&str>,
        storage_options: Option<&Bound<'_, PyDict>>,
        threads: Option<i64>,
    ) -> PyResult<To> {
        let place = py_store::writeable_source_of(target)?;
        let is_store = matches!(place, Source::Store(_));
        let origin = Origin {
            source: is_store.then(|| Arc::new(target.clone().unbind())),
            writeable: true,
            storage_options: open::storage_options(storage_options)?,
            threads: crate::threads::checked(threads.unwrap_or(0))?,
            ..Origin::default()
        };
        let format = format.map(CopyFormat::named).transpose()?;
        Ok(To { place, format, origin })
    }

    /// The copy of a source; also what to warn of. `goes_on` says that it may be under way, so that it says itself what it is to be,
    /// and which manifest its source is checked against.
    fn ready(
        &self,
        source: &mut Target,
        goes_on: bool,
    ) -> zarr::Result<(Ready, Option<Vec<String>>)> {
        if let Some(new) = self.dataset(goes_on) {
            let target = self.dataset_target(&new)?;
            if goes_on {
                check_as_begun(source, target.hierarchy(), &NodePath::root())?;
            }
            let (dataset, warnings) = source.find_dataset()?;
            source.check_keys(&dataset.hierarchy().node(dataset.root_path())?)?;
            return Ok((Ready::Dataset(dataset, Box::new(target)), warnings));
        }
        let (mut node, mut warnings) = source.find_whole()?;
        let place = self.place(node.hierarchy().dialect())?;
        if goes_on && check_as_begun(source, &place.hierarchy, &place.path)? {
            (node, warnings) = source.find_whole()?;
        }
        source.check_keys(&node)?;
        Ok((Ready::Node(node, place), warnings))
    }

    /// The netCDF dataset that the copy is to be, if it is to be one.
    fn dataset(&self, goes_on: bool) -> Option<NewDataset> {
        match &self.format {
            Some(CopyFormat::Dataset(new)) => Some(new.clone()),
            None if goes_on => {
                let Source::Url(url) = &self.place else { return None };
                let options = DatasetOptions::of(self.origin.creating_options());
                zarr::tools::dataset_under_way(url, &options)
            }
            _ => None,
        }
    }

    fn dataset_target(&self, new: &NewDataset) -> zarr::Result<CopyTarget> {
        let Source::Url(url) = &self.place else {
            let why =
                "a netCDF dataset must be copied to a path or URL, not to a Python store object";
            return Err(zarr::AccessError::Argument(why.into()).into());
        };
        let url = zarr::tools::dataset_url(url)?.for_new(new);
        url.copy_target(&DatasetOptions::of(self.origin.creating_options()))
    }

    /// The place of a plain copy; a new hierarchy has the dialect `default` if none was asked for.
    fn place(&self, default: Dialect) -> zarr::Result<NewPlace> {
        let mut options = self.origin.creating_options();
        let mut dialect = None;
        if let Some(CopyFormat::Zarr { dialect: asked, plain_draft }) = self.format {
            dialect = Some(asked);
            if plain_draft {
                options = options.plain_draft();
            }
        }
        copy_place(&self.place, dialect, default, &options)
    }
}

/// The place of a copy at a path or URL, or in a store.
pub fn copy_place(
    place: &Source,
    dialect: Option<Dialect>,
    default: Dialect,
    options: &OpenOptions,
) -> zarr::Result<NewPlace> {
    match place {
        Source::Url(url) => zarr::tools::copy_place((url, "/"), dialect, default, options),
        Source::Store(store) => {
            zarr::tools::copy_place_in(store.clone(), "/", dialect, default, options)
        }
    }
}

/// Has a source checked against the manifest with which the copy at this place was begun, if it was with one and the caller names
/// none; whether it was so.
fn check_as_begun(source: &mut Target, target: &Hierarchy, path: &NodePath) -> zarr::Result<bool> {
    if source.origin.manifest.is_some() {
        return Ok(false);
    }
    let plan = zarr::tools::Plan::under_way(target, path)?;
    let Some(file) = plan.as_ref().and_then(zarr::tools::Plan::manifest) else { return Ok(false) };
    let checked = Python::attach(|_| {
        open::read_manifest(Path::new(file)).and_then(|manifest| source.check_against(manifest))
    });
    checked.map_err(|e| {
        let why = format!(
            "the copy was begun with a manifest, but {e}; give its present path as `manifest`"
        );
        zarr::AccessError::Argument(why)
    })?;
    Ok(true)
}

/// What a copy did, for Python.
fn done(progress: &zarr::tools::Progress) -> Json {
    let list =
        |list: &[String]| list.iter().map(|text| Json::from(text.as_str())).collect::<Json>();
    Object::new()
        .with("nodes", progress.nodes_done)
        .with("bytes", progress.bytes_done)
        .with("not_kept", list(&progress.not_kept))
        .with("skipped", list(&progress.skipped))
        .with("notes", list(&progress.notes))
        .into()
}

/// Copies a node with all below it.
#[pyfunction]
#[pyo3(name = "_copy")]
#[expect(clippy::too_many_arguments, reason = "keywords of a Python function")]
pub fn copy<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    target: &Bound<'py, PyAny>,
    to: Option<&str>,
    how: CopyArguments,
    progress: Option<Py<PyAny>>,
    source_options: Option<&Bound<'py, PyDict>>,
    storage_options: Option<&Bound<'py, PyDict>>,
    threads: Option<i64>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut source = Target::of(source, "", source_options, false, threads)?;
    let how = how.of(&mut source)?;
    let to = To::of(target, to, storage_options, threads)?;
    let reporter = Reporter::new(progress);
    let origin = source.origin.clone();
    let (from, warnings, copied) = reporter.run(py, move |reporter| {
        let (ready, warnings) = to.ready(&mut source, how.resume)?;
        let told = |progress: &zarr::tools::Progress| tell(reporter, progress);
        let mut options = how.options();
        options.cancel = Some(reporter.cancel());
        options.progress = Some(&told);
        let (from, target) = (ready.source(), ready.target());
        let copied = ready.plan(&options)?.copy(&from, &target, &options)?;
        target.flush()?;
        Ok((from, warnings, copied))
    })?;
    origin.tell(py, warnings.into_iter().flatten())?;
    origin.warn(py, &from)?;
    json::to_python(py, &done(&copied))
}

fn tell(reporter: &Reporter, progress: &zarr::tools::Progress) {
    let path = progress.path.as_ref().map(|path| path.as_str());
    reporter.tell(path, progress.bytes_done, progress.bytes_total);
}

/// Finishes the copy to a place whose parts are done.
#[pyfunction]
#[pyo3(name = "_finish_copy")]
pub fn finish_copy<'py>(
    py: Python<'py>,
    target: &Bound<'py, PyAny>,
    to: Option<&str>,
    storage_options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let to = To::of(target, to, storage_options, None)?;
    let reporter = Reporter::new(None);
    let name = match &to.place {
        Source::Url(url) => url.clone(),
        Source::Store(store) => store.name(),
    };
    let finished = reporter.run(py, move |_| {
        let (target, path) = match to.dataset(true) {
            Some(new) => (to.dataset_target(&new)?.hierarchy().clone(), NodePath::root()),
            None => {
                let place = to.place(Dialect::V3)?;
                (place.hierarchy, place.path)
            }
        };
        match zarr::tools::Plan::under_way(&target, &path)? {
            Some(plan) => plan.finish(&target).map(Some),
            None => Ok(None),
        }
    })?;
    match finished {
        Some(finished) => json::to_python(py, &done(&finished)),
        None => {
            let what = zarr::AccessError::NotFound { looked_for: "a copy under way".into() };
            Err(zarr::Error::from(what).at_store(&name)).or_raise(py)
        }
    }
}

/// Plans a copy. Nothing is written.
#[pyfunction]
#[pyo3(name = "_plan_copy")]
#[expect(clippy::too_many_arguments, reason = "keywords of a Python function")]
pub fn plan_copy(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    target: &Bound<'_, PyAny>,
    to: Option<&str>,
    how: CopyArguments,
    source_options: Option<&Bound<'_, PyDict>>,
    storage_options: Option<&Bound<'_, PyDict>>,
    threads: Option<i64>,
) -> PyResult<Plan> {
    let mut source = Target::of(source, "", source_options, false, threads)?;
    let how = how.of(&mut source)?;
    let to = To::of(target, to, storage_options, threads)?;
    let reporter = Reporter::new(None);
    let mut target = to.origin.clone();
    let asked = how.clone();
    let (ends, warnings, plan, origin) = reporter.run(py, move |reporter| {
        let (ready, warnings) = to.ready(&mut source, asked.goes_on())?;
        let mut options = asked.options();
        options.cancel = Some(reporter.cancel());
        let plan = ready.plan(&options)?;
        let ends = Ends { source: ready.source(), target: ready.target() };
        Ok((ends, warnings, plan, source.origin))
    })?;
    let mut origin = (*origin).clone();
    if warnings.is_some() {
        // Those who do the parts read the same documents.
        origin.consolidated = Consolidated::Ignore;
    }
    origin.tell(py, warnings.into_iter().flatten())?;
    origin.warn(py, &ends.source)?;
    target.url = Some(ends.target.store().name());
    origin.url = Some(ends.source.store().name());
    Ok(Plan(Arc::new(State {
        plan: Mutex::new((plan, false)),
        source: Arc::new(origin),
        target: Arc::new(target),
        ends: OnceLock::from(ends),
        how,
    })))
}

/// The hierarchies of a copy.
#[derive(Clone)]
struct Ends {
    source: Hierarchy,
    target: Hierarchy,
}

/// A copy that is run part by part. `zarrkit.plan_copy` makes it. It can be pickled and written as JSON, without the secrets
/// among the options of the stores, so that other processes run its parts, in any order and at the same time.
#[pyclass(frozen, module = "zarrkit", weakref)]
pub struct Plan(Arc<State>);

struct State {
    /// The plan, and whether it was begun.
    plan: Mutex<(zarr::tools::Plan, bool)>,
    source: Arc<Origin>,
    target: Arc<Origin>,
    ends: OnceLock<Ends>,
    how: CopyArguments,
}

impl State {
    fn plan(&self) -> (zarr::tools::Plan, bool) {
        zarr::sync::lock(&self.plan).clone()
    }

    /// The hierarchies, opened once in this process.
    fn ends(&self) -> zarr::Result<Ends> {
        if let Some(ends) = self.ends.get() {
            return Ok(ends.clone());
        }
        let (plan, _) = self.plan();
        let (source, _) =
            zarr::locate(&self.source.url.clone().unwrap_or_default(), &self.source.options())?;
        let options = self.target.creating_options();
        let store = options.store(&self.target.url.clone().unwrap_or_default())?;
        let dialects = [Dialect::V3, Dialect::V2, Dialect::Draft];
        let of = |dialect| Hierarchy::of_format(store.clone(), options.format(dialect), &options);
        let target = dialects.into_iter().map(of).find(|it| it.format_name() == plan.format_name());
        let target = target.unwrap_or_else(|| of(Dialect::V3));
        Ok(self.ends.get_or_init(|| Ends { source, target }).clone())
    }

    fn begun(&self) -> zarr::Result<zarr::tools::Plan> {
        let (plan, is_begun) = self.plan();
        if is_begun {
            return Ok(plan);
        }
        let plan = plan.begin(&self.ends()?.target, &self.how.options())?;
        *zarr::sync::lock(&self.plan) = (plan.clone(), true);
        Ok(plan)
    }
}

#[pymethods]
impl Plan {
    /// How many parts there are; they are numbered from 0 on.
    #[getter]
    fn parts(&self) -> usize {
        self.0.plan().0.parts().len()
    }

    /// How many chunks, or shards, each part has.
    #[getter]
    fn part_chunks(&self) -> Vec<u64> {
        self.0.plan().0.parts().iter().map(zarr::tools::Part::chunks).collect()
    }

    /// How many nodes are copied.
    #[getter]
    fn nodes(&self) -> u64 {
        self.0.plan().0.nodes()
    }

    /// How many chunks, or shards, are written at most.
    #[getter]
    fn chunks(&self) -> u64 {
        self.0.plan().0.chunks()
    }

    /// How many bytes the elements have in memory.
    #[getter]
    fn nbytes(&self) -> u64 {
        self.0.plan().0.bytes()
    }

    /// The paths of the nodes in the copy's hierarchy, sorted.
    #[getter]
    fn paths(&self) -> Vec<String> {
        self.0.plan().0.paths().iter().map(ToString::to_string).collect()
    }

    /// What the copy does not keep, each with its place. A plan that was pickled does not tell.
    #[getter]
    fn not_kept(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        in_words_of_python(py, self.0.plan().0.not_kept())
    }

    /// The nodes that the copy leaves out, each with the reason. A plan that was pickled does not tell.
    #[getter]
    fn skipped(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        in_words_of_python(py, self.0.plan().0.skipped())
    }

    /// What the copy says otherwise than the source, with nothing lost. A plan that was pickled does not tell.
    #[getter]
    fn notes(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        in_words_of_python(py, self.0.plan().0.notes())
    }

    /// The arrays that are decoded and encoded again, by their paths in the copy, each with the reason. All others are copied as they are
    /// stored.
    #[getter]
    fn recoded(&self) -> BTreeMap<String, String> {
        let plan = self.0.plan().0;
        plan.recoded().map(|(path, why)| (path.to_string(), why.to_owned())).collect()
    }

    /// The arrays whose chunks or shards change, by their paths in the copy: `chunks`, `shards` and `reads`, the number of chunks that
    /// are decoded to read one element, lines and planes, each with the old and the new value. A plan that was pickled does not tell.
    #[getter]
    fn layouts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let plan = self.0.plan().0;
        let layouts = plan.layout_changes().iter();
        let layouts = layouts.map(|change| (change.path.to_string(), change.to_json()));
        json::to_python(py, &layouts.collect::<Object>().into())
    }

    /// Puts the plan in the target, and erases what others left there. `run` does it if nothing did; call it before other
    /// processes get the plan.
    fn begin(&self, py: Python<'_>) -> PyResult<()> {
        let reporter = Reporter::new(None);
        let state = self.0.clone();
        reporter.run(py, move |_| state.begun()).map(drop)
    }

    /// Copies the chunks of a part, or of several, that are not there yet, and marks them as done.
    #[pyo3(signature = (parts, *, progress = None))]
    fn run(
        &self,
        py: Python<'_>,
        parts: &Bound<'_, PyAny>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let parts: Vec<usize> = match parts.extract::<usize>() {
            Ok(part) => vec![part],
            Err(_) => parts.extract()?,
        };
        let count = self.parts();
        if let Some(part) = parts.iter().find(|part| **part >= count) {
            return Err(PyIndexError::new_err(format!(
                "there is no part {part}: there are {count}"
            )));
        }
        let callback =
            py.import("zarrkit._tree_progress")?.getattr("callback")?.call1((progress, "copy"))?;
        let reporter = Reporter::new((!callback.is_none()).then(|| callback.unbind()));
        let state = self.0.clone();
        reporter.run(py, move |reporter| {
            let (plan, ends) = (state.begun()?, state.ends()?);
            let told = |progress: &zarr::tools::Progress| tell(reporter, progress);
            let mut options = state.how.options();
            options.cancel = Some(reporter.cancel());
            options.progress = Some(&told);
            plan.run(&parts, &ends.source, &ends.target, &options)?;
            ends.target.flush()
        })
    }

    /// The numbers of the parts that are not done.
    fn missing(&self, py: Python<'_>) -> PyResult<Vec<usize>> {
        let state = &self.0;
        py.detach(|| state.plan().0.missing(&state.ends()?.target)).or_raise(py)
    }

    /// Writes the documents, once all parts are done: no reader finds the copy before.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        let reporter = Reporter::new(None);
        let state = self.0.clone();
        reporter.run(py, move |_| state.begun()?.finish(&state.ends()?.target)).map(drop)
    }

    /// The plan as JSON, to be read by `Plan.from_json`. Secrets among the options of the stores are left out.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        let (plan, is_begun) = self.0.plan();
        let state = &self.0;
        if state.source.source.is_some() || state.target.source.is_some() {
            return Err(PyValueError::new_err(
                "a plan from or to a Python store object stays in this process; give paths or URLs",
            ));
        }
        let ends = py.detach(|| state.ends()).or_raise(py)?;
        let how = Object::new()
            .with("verify", self.0.how.verify.as_deref().map_or(Json::Null, Json::from))
            .with("strict", self.0.how.strict)
            .with("memory", self.0.how.memory.map_or(Json::Null, Json::from));
        let plan = Json::parse(plan.to_json().as_bytes()).map_err(PyValueError::new_err)?;
        let object = Object::new()
            .with("zarrkit_plan", 1u64)
            .with("begun", is_begun)
            .with("source", end_json(&self.0.source, &ends.source))
            .with("target", end_json(&self.0.target, &ends.target))
            .with("how", how)
            .with("plan", plan);
        Ok(Json::from(object).to_string())
    }

    /// The plan that `to_json` wrote. The options of the stores are those of the plan, and these.
    #[staticmethod]
    #[pyo3(signature = (text, *, source_options = None, storage_options = None))]
    fn from_json(
        py: Python<'_>,
        text: &str,
        source_options: Option<&Bound<'_, PyDict>>,
        storage_options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Plan> {
        let json = Json::parse(text.as_bytes()).map_err(PyValueError::new_err)?;
        let object = json.as_object().ok_or_else(no_plan)?;
        if object.get("zarrkit_plan").and_then(Json::as_u64) != Some(1) {
            return Err(no_plan());
        }
        let member = |name: &str| object.get(name).and_then(Json::as_object).ok_or_else(no_plan);
        let mut source = end_of(py, member("source")?, false, source_options)?;
        let target = end_of(py, member("target")?, true, storage_options)?;
        let how = member("how")?;
        let plan = Json::from(member("plan")?.clone()).to_string();
        let plan = zarr::tools::Plan::from_json(&plan).or_raise(py)?;
        source.manifest = plan.manifest().map(Path::new).map(open::read_manifest).transpose()?;
        let is_begun = object.get("begun").and_then(Json::as_bool).unwrap_or(false);
        let how = CopyArguments {
            verify: how.get("verify").and_then(Json::as_str).map(str::to_owned),
            strict: how.get("strict").and_then(Json::as_bool).unwrap_or(false),
            memory: how.get("memory").and_then(Json::as_u64),
            resume: true,
            parts: Some(plan.parts().len() as u64),
            ..CopyArguments::default()
        };
        Ok(Plan(Arc::new(State {
            plan: Mutex::new((plan, is_begun)),
            source: Arc::new(source),
            target: Arc::new(target),
            ends: OnceLock::new(),
            how,
        })))
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyString>,))> {
        let py = slf.py();
        let text = slf.get().to_json(py)?;
        Ok((py.get_type::<Plan>().getattr("from_json")?, (PyString::new(py, &text),)))
    }

    fn __len__(&self) -> usize {
        self.parts()
    }

    fn __repr__(&self) -> String {
        let (plan, _) = self.0.plan();
        format!(
            "<zarrkit.Plan: {} nodes, {} chunks, {} bytes of elements, in {} parts>",
            plan.nodes(),
            plan.chunks(),
            plan.bytes(),
            plan.parts().len()
        )
    }
}

/// One end of a copy as JSON, without the secrets among its options.
fn end_json(origin: &Origin, hierarchy: &Hierarchy) -> Object {
    let options: Object = hierarchy
        .store()
        .public_options()
        .into_iter()
        .map(|(name, value)| (name, Json::from(value.as_str())))
        .collect();
    let url = zarr::without_secrets(origin.url.as_deref().unwrap_or_default());
    let (dialect, consolidated, strict, (document, decoded), ..) = origin.reading();
    Object::new()
        .with("url", url.as_str())
        .with("options", options)
        .with("threads", origin.threads as u64)
        .with("dialect", dialect.as_deref().map_or(Json::Null, Json::from))
        .with("consolidated", consolidated.as_deref().map_or(Json::Null, Json::from))
        .with("strict", strict)
        .with("limits", vec![Json::from(document), Json::from(decoded)])
}

/// One end of a copy from JSON, with more options.
fn end_of(
    py: Python<'_>,
    end: &Object,
    writeable: bool,
    more: Option<&Bound<'_, PyDict>>,
) -> PyResult<Origin> {
    let options = end.get("options").and_then(Json::as_object);
    let options = options.into_iter().flat_map(Object::iter);
    let mut options: Vec<(String, String)> = options
        .filter_map(|(name, value)| Some((name.to_owned(), value.as_str()?.to_owned())))
        .collect();
    options.extend(open::storage_options(more)?);
    let mut origin = Origin {
        url: Some(text_member(end, "url").ok_or_else(no_plan)?),
        writeable,
        storage_options: options,
        threads: end.get("threads").and_then(Json::as_u64).unwrap_or(0) as usize,
        ..Origin::default()
    };
    let usual = zarr::Limits::default();
    let limits = end.get("limits").and_then(Json::as_array).unwrap_or_default();
    let document = limits.first().and_then(Json::as_u64).unwrap_or(usual.document);
    let decoded = limits.get(1).and_then(Json::as_u64).unwrap_or(usual.decoded);
    let strict = end.get("strict").and_then(Json::as_bool).unwrap_or(false);
    let dialect = text_member(end, "dialect");
    let consolidated = text_member(end, "consolidated");
    origin.set_reading(
        py,
        (dialect, consolidated, strict, (document, decoded), (0, 0, 0.0), false),
    )?;
    Ok(origin)
}

/// A member that is a text.
fn text_member(object: &Object, name: &str) -> Option<String> {
    object.get(name).and_then(Json::as_str).map(str::to_owned)
}

/// The error of a text that is not a plan.
fn no_plan() -> PyErr {
    PyValueError::new_err("this is not a plan of a copy")
}
