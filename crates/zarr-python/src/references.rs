//! Writes references to the chunks of files: what is behind `zarrkit.refs`.

use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use zarr::r#virtual::references::{JoinOptions, Joined, TargetUrls, join, places};

use crate::errors::OrRaise;
use crate::open::{self, Origin};
use crate::tools::Reporter;

/// What a call asks for; `zarrkit._tools.refs` fills it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Asked {
    axis: Option<String>,
    inline: u64,
    to: Option<String>,
    exclude: Vec<String>,
    verify: bool,
}

/// References that were made. `zarrkit._tools.References` is its public face.
#[pyclass(frozen, module = "zarrkit._zarrkit")]
pub struct RawReferences {
    joined: Joined,
    /// What the sources are read from, be it by their own references.
    places: Vec<String>,
}

/// Makes references to the chunks of files.
#[pyfunction]
#[pyo3(name = "_refs")]
pub fn refs(
    py: Python<'_>,
    files: Vec<String>,
    asked: Asked,
    source_options: Option<&Bound<'_, PyDict>>,
    threads: Option<i64>,
) -> PyResult<RawReferences> {
    let origin = Origin {
        storage_options: open::storage_options(source_options)?,
        threads: crate::threads::checked(threads.unwrap_or(0))?,
        ..Origin::default()
    };
    let options = JoinOptions {
        axis: asked.axis,
        inline: asked.inline,
        dialect: asked.to.as_deref().map(open::dialect).transpose()?,
        exclude: asked.exclude,
        verify: asked.verify,
        ..JoinOptions::default()
    };
    let open_options = origin.options();
    let made = Reporter::new(None).run(py, move |_| {
        let mut joined = join(&files, &open_options, &options)?;
        // The object may live for long.
        joined.close_files();
        let mut read = Vec::new();
        for file in &files {
            read.extend(places(file, &open_options)?);
        }
        Ok(RawReferences { joined, places: read })
    })?;
    origin.tell(py, made.joined.warnings.iter().map(ToString::to_string))?;
    Ok(made)
}

#[pymethods]
impl RawReferences {
    /// The reference file. Local targets are named by their paths from the folder `relative_to`, if one is given.
    #[pyo3(signature = (relative_to = None))]
    fn json<'py>(
        &self,
        py: Python<'py>,
        relative_to: Option<PathBuf>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let style = match &relative_to {
            Some(folder) => TargetUrls::RelativeTo(folder),
            None => TargetUrls::Absolute,
        };
        let urls = self.joined.target_urls(style).or_raise(py)?;
        let mut text = Vec::new();
        py.detach(|| self.joined.write_json(&urls, &mut text))?;
        Ok(PyBytes::new(py, &text))
    }

    /// Whether a file is one that is read, or is in what is read: it would be gone if the references were written there.
    fn reads(&self, py: Python<'_>, path: PathBuf) -> bool {
        py.detach(|| zarr::tools::is_in_places(&path, &self.places))
    }

    /// The values of `allow_target` that zarrkit needs to read the reference file at a path.
    fn allow_target(&self, path: PathBuf) -> Vec<String> {
        self.joined.prefixes_to_allow(Path::new(&path))
    }

    #[getter]
    fn axis(&self) -> Option<&str> {
        self.joined.axis.as_deref()
    }

    #[getter]
    fn arrays(&self) -> usize {
        self.joined.arrays
    }

    #[getter]
    fn references(&self) -> usize {
        self.joined.references()
    }

    #[getter]
    fn inlined(&self) -> usize {
        self.joined.inlined()
    }

    #[getter]
    fn lost(&self) -> Vec<String> {
        self.joined.lost.clone()
    }

    #[getter]
    fn notes(&self) -> Vec<String> {
        self.joined.notes.clone()
    }
}
