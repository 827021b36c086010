//! Lists what is in a group, and adds to it.

use zarr_core::Result;

use crate::handles::dataset::Dataset;
use crate::handles::variable::Variable;
use crate::model::name::full_name;
use crate::model::name::normal;
use crate::model::schema;

/// A group of a dataset.
#[derive(Clone, Debug)]
pub struct Group {
    pub(crate) dataset: Dataset,
    pub(crate) path: String,
}

impl Group {
    pub(crate) fn new(dataset: Dataset, path: String) -> Self {
        Group { dataset, path }
    }

    /// Where it is: `/`, or the names from the root down, each preceded by `/`.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The dataset it is part of.
    pub fn dataset(&self) -> &Dataset {
        &self.dataset
    }

    /// What it defines, and all below it.
    ///
    /// # Errors
    /// [`zarr_core::AccessError::NotFound`] if it has been renamed or deleted.
    pub fn schema(&self) -> Result<schema::Group> {
        let found = self.dataset.snapshot().root.group(&self.path).cloned();
        found.ok_or_else(|| self.dataset.absent("group", &self.path))
    }

    /// The group at `path`, from here.
    ///
    /// # Errors
    /// As [`Dataset::group`].
    pub fn group(&self, path: &str) -> Result<Group> {
        self.dataset.group(&self.below(path))
    }

    /// The variable at `path`, from here.
    ///
    /// # Errors
    /// As [`Dataset::variable`].
    pub fn variable(&self, path: &str) -> Result<Variable> {
        self.dataset.variable(&self.below(path))
    }

    fn below(&self, path: &str) -> String {
        if path.starts_with('/') { normal(path) } else { full_name(&self.path, path) }
    }
}
