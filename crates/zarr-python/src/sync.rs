//! Makes copies equal to their sources: the function behind `zarrkit.sync`.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use zarr::tools::{SyncCompare, SyncOptions, SyncProgress, plan_sync};
use zarr::{Json, Object};

use crate::json;
use crate::open::{self, Origin};
use crate::plan;
use crate::py_store;
use crate::tools::{Reporter, Target};

/// What a call asks for; `zarrkit._tools.sync` fills it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Asked {
    compare: String,
    delete: bool,
    extra_files: bool,
    verify: bool,
    memory: Option<u64>,
    dry_run: bool,
}

/// What was copied and deleted, or would be: a dict.
#[pyfunction]
#[pyo3(name = "_sync")]
#[expect(clippy::too_many_arguments, reason = "keywords of a Python function")]
pub fn sync<'py>(
    py: Python<'py>,
    source: &Bound<'py, PyAny>,
    target: &Bound<'py, PyAny>,
    asked: Asked,
    progress: Option<Py<PyAny>>,
    source_options: Option<&Bound<'py, PyDict>>,
    storage_options: Option<&Bound<'py, PyDict>>,
    threads: Option<i64>,
) -> PyResult<Bound<'py, PyAny>> {
    let source = Target::of(source, "", source_options, false, threads)?;
    let target = py_store::writeable_source_of(target)?;
    let place = Origin {
        writeable: true,
        storage_options: open::storage_options(storage_options)?,
        threads: crate::threads::checked(threads.unwrap_or(0))?,
        ..Origin::default()
    };
    let compare = match asked.compare.as_str() {
        "content" => SyncCompare::Content,
        "sizes" => SyncCompare::Sizes,
        _ => SyncCompare::Times,
    };
    let origin = source.origin.clone();
    let reporter = Reporter::new(progress);
    let (hierarchy, done) = reporter.run(py, move |reporter| {
        let node = source.find()?;
        let dialect = node.hierarchy().dialect();
        let options = place.creating_options();
        let place = plan::copy_place(&target, None, dialect, &options)?;
        let options = SyncOptions {
            compare,
            delete: asked.delete,
            no_extra_files: !asked.extra_files,
            verify: asked.verify,
            memory: asked.memory,
            cancel: Some(reporter.cancel()),
            progress: Some(&|progress: &SyncProgress| {
                reporter.tell(None, progress.bytes_done, progress.bytes_total);
            }),
        };
        let plan = plan_sync(&node, &place.hierarchy, &place.path, &options)?;
        let texts =
            |texts: &[String]| texts.iter().map(|it| Json::from(it.as_str())).collect::<Json>();
        let mut done = Object::new()
            .with("copied", plan.objects())
            .with("bytes", plan.bytes())
            .with("unchanged", plan.unchanged())
            .with("deleted", plan.deleted_names().map(Json::from).collect::<Json>())
            .with("only_in_target", plan.left_names().map(Json::from).collect::<Json>())
            .with("not_kept", texts(plan.not_kept()))
            .with("notes", texts(plan.notes()))
            .with("changed_meanwhile", Json::Array(Vec::new()));
        if !asked.dry_run {
            let synced = plan.run(&options)?;
            done.insert("copied", synced.copied);
            done.insert("bytes", synced.bytes);
            done.insert("changed_meanwhile", texts(&synced.changed));
        }
        Ok((node.hierarchy().clone(), Json::from(done)))
    })?;
    origin.warn(py, &hierarchy)?;
    json::to_python(py, &done)
}
