//! Writes references to the chunks of files: what is behind `zarrkit.refs`.

use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use zarr::r#virtual::references::{JoinOptions, Joined, TargetUrls, join};

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
pub struct RawReferences(Joined);

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
    };
    let open_options = origin.options();
    let joined = Reporter::new(None).run(py, move |_| join(&files, &open_options, &options))?;
    let warnings = joined.warnings.iter().map(ToString::to_string);
    origin.tell(py, warnings)?;
    Ok(RawReferences(joined))
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
        let urls = self.0.target_urls(style).or_raise(py)?;
        let mut text = Vec::new();
        py.detach(|| self.0.write_json(&urls, &mut text))?;
        Ok(PyBytes::new(py, &text))
    }

    /// The values of `allow_target` that zarrkit needs to read the reference file at a path.
    fn allow_target(&self, path: PathBuf) -> Vec<String> {
        self.0.prefixes_to_allow(Path::new(&path))
    }

    #[getter]
    fn axis(&self) -> Option<&str> {
        self.0.axis.as_deref()
    }

    #[getter]
    fn arrays(&self) -> usize {
        self.0.arrays
    }

    #[getter]
    fn references(&self) -> usize {
        self.0.references()
    }

    #[getter]
    fn inlined(&self) -> usize {
        self.0.inlined()
    }

    #[getter]
    fn lost(&self) -> Vec<String> {
        self.0.lost.clone()
    }

    #[getter]
    fn notes(&self) -> Vec<String> {
        self.0.notes.clone()
    }
}
