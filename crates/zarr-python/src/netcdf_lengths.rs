//! Has the groups of a NCZarr dataset know the length of a variable whose array was resized.

use pyo3::prelude::*;
use zarr::nczarr::{Dataset, DatasetOptions};
use zarr::{Hierarchy, NodePath};

use crate::array::Array;
use crate::create;
use crate::errors::OrRaise;

/// A variable of NCZarr that is to have another length.
pub struct NetcdfVariable<'a> {
    array: &'a Array,
    /// The hierarchy of the dataset, and the variable's path there; `None` if no dataset is found above the array.
    place: Option<(Hierarchy, NodePath)>,
}

impl<'a> NetcdfVariable<'a> {
    /// The variable whose array is to change along some axes; `None` if the array is no variable of NCZarr.
    ///
    /// # Errors
    /// `ValueError` for a dimension of fixed length: all its variables, and the group that declares it, have that.
    pub fn growing(
        py: Python<'_>,
        array: &'a Array,
        axes: impl IntoIterator<Item = usize>,
    ) -> PyResult<Option<Self>> {
        let metadata = array.inner.metadata();
        let mut members = metadata.attributes.iter().chain(metadata.unknown.iter());
        if !members.any(|(name, _)| name.eq_ignore_ascii_case("_nczarr_array")) {
            return Ok(None);
        }
        let found = NetcdfVariable { array, place: py.detach(|| place_of(array)) };
        let axes: Vec<usize> = axes.into_iter().collect();
        let checked: zarr::Result<()> = py.detach(|| match &found.place {
            // An array that is no variable has no dimensions.
            Some((hierarchy, path)) => match dataset(hierarchy, array)?.variable(path.as_str()) {
                Ok(variable) => variable.check_unlimited(&axes),
                Err(_) => Ok(()),
            },
            None => Ok(()),
        });
        checked.or_raise(py)?;
        Ok(Some(found))
    }

    /// Tells the groups the new length once all variables with the dimension have it; a warning until then.
    pub fn publish_lengths(&self, py: Python<'_>) -> PyResult<()> {
        let path = self.array.inner.path();
        let Some((hierarchy, at)) = &self.place else {
            let text = format!(
                "{path} is a variable of NCZarr whose dataset was not found: netCDF opens it only when the groups know the new length; \
                 open the dataset, and resize or append to its array"
            );
            return self.array.origin.tell(py, [text]);
        };
        let differ: zarr::Result<Vec<String>> = py.detach(|| {
            // An archive is written when it is flushed.
            self.array.inner.hierarchy().flush()?;
            let Ok(variable) = dataset(hierarchy, self.array)?.variable(at.as_str()) else {
                return Ok(Vec::new());
            };
            let differ = variable.publish_lengths()?;
            create::settle(hierarchy)?;
            Ok(differ)
        });
        let texts = differ.or_raise(py)?.into_iter().map(|name| {
            format!(
                "{path}: netCDF opens the dataset only when all variables with the dimension `{name}` have the same length: append to \
                 the others, too, or resize them"
            )
        });
        self.array.origin.tell(py, texts)
    }
}

/// The dataset as it is now.
fn dataset(hierarchy: &Hierarchy, array: &Array) -> zarr::Result<Dataset> {
    let options = DatasetOptions::of(array.origin.options());
    Dataset::open(hierarchy.store().clone(), &options)
}

/// The dataset's hierarchy and the variable's path in it: the array's own, or the one above an array that was opened by itself.
fn place_of(array: &Array) -> Option<(Hierarchy, NodePath)> {
    let (hierarchy, path) = (array.inner.hierarchy(), array.inner.path());
    let (hierarchy, path) = if path.is_root() {
        let url = array.origin.url.as_deref()?;
        zarr::tools::hierarchy_above(url, &array.origin.options())?
    } else {
        (hierarchy.clone(), path.clone())
    };
    Dataset::is_nczarr(&hierarchy).then_some((hierarchy, path))
}
