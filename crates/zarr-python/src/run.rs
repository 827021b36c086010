//! What `zarrkit.dask` needs of an array: where its stored objects end, and a list, beside its chunks, of the parts of a run that are done.
//!
//! The list is below `.zarrkit-run/<run>/`, one value for each part. `zarr validate` reports it, and no reader takes it for data.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use percent_encoding::percent_decode_str;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zarr::store::{GetOptions, Precondition, StoreKey, StorePrefix};

use crate::array::Array;
use crate::errors::OrRaise;

/// The most stored objects along an axis of which a plan is made.
const MOST_OBJECTS: u64 = 1 << 24;

/// The most bytes that the note of a part may have.
const LONGEST_NOTE: u64 = 1 << 20;

impl Array {
    /// The prefix of the list of a run; of the lists of all runs, if no run is named.
    fn run_prefix(&self, run: &str) -> zarr::Result<StorePrefix> {
        let above = self.inner.hierarchy().format().chunk_prefix(self.inner.path())?;
        let below = if run.is_empty() { String::new() } else { format!("{run}/") };
        Ok(StorePrefix::new(format!("{}.zarrkit-run/{below}", above.as_str()))?)
    }

    /// The key of a note.
    fn run_key(&self, run: &str, part: &str) -> zarr::Result<StoreKey> {
        Ok(self.run_prefix(run)?.key(part)?)
    }
}

#[pymethods]
impl Array {
    /// A Dask array of the elements, whose blocks are read when they are computed: as `zarrkit.dask.from_zarr`.
    #[pyo3(signature = (chunks = None))]
    fn dask<'py>(
        slf: &Bound<'py, Self>,
        chunks: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let from_zarr = slf.py().import("zarrkit.dask")?.getattr("from_zarr")?;
        match chunks {
            Some(chunks) => from_zarr.call1((slf, chunks)),
            None => from_zarr.call1((slf,)),
        }
    }

    /// Where the stored objects (shards, or chunks without shards) end along each axis, in elements, in ascending order.
    fn _stored_ends(&self) -> PyResult<Vec<Vec<u64>>> {
        let metadata = self.inner.metadata();
        let Some(grid) = &metadata.grid else {
            let why = "the chunk grid of the array is not known here: no plan can be made of it";
            return Err(pyo3::exceptions::PyNotImplementedError::new_err(why));
        };
        let ends = metadata.shape.iter().enumerate().map(|(axis, &len)| {
            let count = grid.count(axis, len);
            if count > MOST_OBJECTS {
                return Err(pyo3::exceptions::PyValueError::new_err(format!(
                    "axis {axis} has {count} stored objects, more than the {MOST_OBJECTS} of which a plan is made; larger chunks, or \
                     shards, make fewer"
                )));
            }
            let along = (0..count).map(|ordinal| {
                let span = grid.span(axis, ordinal);
                span.start.saturating_add(span.len).min(len)
            });
            Ok(along.collect())
        });
        ends.collect()
    }

    /// Puts the note of a part into the list of a run.
    fn _run_put(&self, py: Python<'_>, run: &str, part: &str, note: &[u8]) -> PyResult<()> {
        py.detach(|| -> zarr::Result<()> {
            self.inner.hierarchy().check_writeable()?;
            let store = self.inner.hierarchy().store().to_sync();
            Ok(store.set(&self.run_key(run, part)?, note.into())?)
        })
        .or_raise(py)
    }

    /// The note of a part in the list of a run.
    fn _run_get<'py>(
        &self,
        py: Python<'py>,
        run: &str,
        part: &str,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        Ok(py
            .detach(|| -> zarr::Result<Option<Vec<u8>>> {
                let store = self.inner.hierarchy().store().to_sync();
                let got =
                    store.get(&self.run_key(run, part)?, GetOptions::at_most(LONGEST_NOTE))?;
                Ok(got.map(|got| got.bytes.unwrap_or_default().to_vec()))
            })
            .or_raise(py)?
            .map(|note| PyBytes::new(py, &note)))
    }

    /// The runs and parts in all lists of this array, as `<run>/<part>`, sorted.
    fn _run_list(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        py.detach(|| -> zarr::Result<Vec<String>> {
            let prefix = self.run_prefix("")?;
            let keys = self.inner.hierarchy().store().to_sync().list_prefix(&prefix)?.keys;
            let mut parts: Vec<String> =
                keys.iter().filter_map(|key| Some(prefix.strip(key)?.to_owned())).collect();
            parts.sort_unstable();
            Ok(parts)
        })
        .or_raise(py)
    }

    /// Erases the lists of all runs.
    fn _run_erase(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| -> zarr::Result<()> {
            self.inner.hierarchy().check_writeable()?;
            Ok(self.inner.hierarchy().store().to_sync().erase_prefix(&self.run_prefix("")?)?)
        })
        .or_raise(py)
    }

    /// Lets other processes see what was written, in stores that gather it, such as zip archives. Folders need no such call.
    fn _publish(&self, py: Python<'_>) -> PyResult<()> {
        if local_folder(&self.inner.hierarchy().store().name()).is_some() {
            return Ok(());
        }
        self._flush(py)
    }

    /// As the end of the handle: lock files that no other writer holds are removed, too.
    fn _flush(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| self.inner.hierarchy().flush()).or_raise(py)
    }

    /// Removes what writers that died left between the stored objects in a folder: lock files that no writer holds, and unfinished files
    /// to which nothing was written for `age` seconds. Whether younger ones are there.
    fn _sweep(&self, py: Python<'_>, age: f64) -> PyResult<bool> {
        let age = Duration::try_from_secs_f64(age)
            .map_err(|why| pyo3::exceptions::PyValueError::new_err(why.to_string()))?;
        py.detach(|| -> zarr::Result<bool> {
            let hierarchy = self.inner.hierarchy();
            let prefix = hierarchy.format().chunk_prefix(self.inner.path())?;
            let store = hierarchy.store().to_sync();
            let Some(root) = local_folder(&store.name()) else { return Ok(false) };
            let mut left = Left::default();
            left.find(&root.join(prefix.as_str()), prefix.as_str(), age);
            for folder in left.locked {
                let Ok(key) = StoreKey::new(format!("{folder}.zarrkit-run-end")) else { continue };
                // Nothing is there, and nothing is written; but the store takes its lock in the folder, and can remove it then.
                store.put(&key, None, Precondition::Absent)?;
            }
            store.flush()?;
            for file in left.unfinished {
                // Another sweep may have been faster.
                let _ = fs::remove_file(file);
            }
            Ok(left.is_younger_there)
        })
        .or_raise(py)
    }
}

/// The folder of a store on this machine.
fn local_folder(store: &str) -> Option<PathBuf> {
    let path = percent_decode_str(store.strip_prefix("file://")?).decode_utf8().ok()?;
    Some(PathBuf::from(path.into_owned()))
}

/// What writers left in a folder and those below it.
#[derive(Default)]
struct Left {
    /// The prefixes of folders with a lock file.
    locked: Vec<String>,
    unfinished: Vec<PathBuf>,
    is_younger_there: bool,
}

impl Left {
    /// Adds what is left in a folder, and below. Links are not followed.
    fn find(&mut self, folder: &Path, prefix: &str, age: Duration) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        for entry in entries.flatten() {
            let (name, kind) = (entry.file_name(), entry.file_type());
            let (Some(name), Ok(kind)) = (name.to_str(), kind) else { continue };
            if kind.is_dir() {
                self.find(&entry.path(), &format!("{prefix}{name}/"), age);
            } else if name == ".zarr-lock" {
                self.locked.push(prefix.to_owned());
            } else if name.starts_with(".zarr-tmp-") {
                let changed = entry.metadata().and_then(|metadata| metadata.modified());
                match changed.map(|changed| changed.elapsed()) {
                    Ok(Ok(elapsed)) if elapsed >= age => self.unfinished.push(entry.path()),
                    // It is gone since.
                    Err(_) => {}
                    _ => self.is_younger_there = true,
                }
            }
        }
    }
}
