//! Pyramids: the function behind `zarrkit.pyramid`.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use zarr::tools::{PyramidLevel, PyramidOptions, PyramidProgress, plan_pyramid};
use zarr::{AccessError, Json, Node, Object};

use crate::json;
use crate::tools::{Reporter, Target};

/// What a call asks for; `zarrkit._tools.pyramid` fills it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Asked {
    convention: Option<String>,
    method: Option<String>,
    factor: Option<u64>,
    factors: Vec<(String, u64)>,
    levels: Option<usize>,
    chunks: Option<Vec<u64>>,
    shards: Option<Vec<u64>>,
    rounding: String,
    keep_nan: bool,
    min_valid: f64,
    memory: Option<u64>,
    /// The number of the part, from 1 on, and how many there are.
    part: Option<(u64, u64)>,
    finish: bool,
    resume: bool,
    restart: bool,
    labels: bool,
    dry_run: bool,
}

/// The levels that were made, or would be, and notes: a dict.
#[pyfunction]
#[pyo3(name = "_pyramid")]
pub fn pyramid<'py>(
    py: Python<'py>,
    target: &Bound<'py, PyAny>,
    path: &str,
    asked: Asked,
    progress: Option<Py<PyAny>>,
    storage_options: Option<&Bound<'py, PyDict>>,
    threads: Option<i64>,
) -> PyResult<Bound<'py, PyAny>> {
    let convention = asked
        .convention
        .as_deref()
        .map(str::parse)
        .transpose()
        .map_err(PyValueError::new_err::<String>)?;
    let method = asked
        .method
        .as_deref()
        .map(str::parse)
        .transpose()
        .map_err(PyValueError::new_err::<String>)?;
    let rounding = asked.rounding.parse().map_err(PyValueError::new_err::<String>)?;
    let target = Target::of(target, path, storage_options, !asked.dry_run, threads)?;
    let origin = target.origin.clone();
    let reporter = Reporter::new(progress);
    let (hierarchy, done) = reporter.run(py, move |reporter| {
        let group = match target.find()? {
            Node::Group(group) => group,
            Node::Array(array) => {
                let why =
                    "this is an array; give the group of its image or, for a map, of its dataset"
                        .to_owned();
                let error = zarr::Error::from(AccessError::Argument(why));
                return Err(error.at_path(array.path()));
            }
        };
        let options = PyramidOptions {
            convention,
            method,
            factor: asked.factor,
            factors: asked.factors,
            levels: asked.levels,
            chunks: asked.chunks,
            shards: asked.shards,
            rounding,
            keep_nan: asked.keep_nan,
            min_valid: asked.min_valid,
            memory: asked.memory,
            parts: asked.part.map(|(_, parts)| parts),
            resume: asked.resume || asked.finish,
            restart: asked.restart,
            no_labels: !asked.labels,
            cancel: Some(reporter.cancel()),
            progress: Some(&|progress: &PyramidProgress| {
                let path = progress.path.as_ref().map(|path| path.as_str());
                reporter.tell(path, progress.bytes_done, progress.bytes_total);
            }),
        };
        let plan = plan_pyramid(&group, &options)?;
        let levels: Json = plan.levels().iter().map(|it| level(it).into()).collect();
        let notes: Json = plan.notes().iter().map(|note| Json::from(note.as_str())).collect();
        if !asked.dry_run {
            match asked.part {
                Some((part, _)) => plan.run_part(part - 1, &options)?,
                None if asked.finish => plan.finish(&options)?,
                None => plan.run(&options)?,
            }
        }
        let done = Json::from(Object::new().with("levels", levels).with("notes", notes));
        Ok((group.hierarchy().clone(), done))
    })?;
    origin.warn(py, &hierarchy)?;
    json::to_python(py, &done)
}

fn level(level: &PyramidLevel) -> Object {
    let shards = level.shards.as_ref().map_or(Json::Null, |shards| Json::from(&shards[..]));
    Object::new()
        .with("path", level.path.as_str())
        .with("shape", &level.shape[..])
        .with("chunks", &level.chunks[..])
        .with("shards", shards)
        .with("factors", &level.factors[..])
        .with("method", level.method.name())
}
