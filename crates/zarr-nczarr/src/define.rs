//! How are dimensions, variables and groups defined? (N-001, N-002, N-010)

use std::sync::Arc;

use zarr_core::metadata::NodeKind;
use zarr_core::{AccessError, Error, NodePath, Object, Result};

use crate::dataset::{Dataset, Profile};
use crate::documents::{GroupDocument, Sheet};
use crate::elements;
use crate::group::Group;
use crate::infer::full_name;
use crate::load::{Entry, Snapshot};
use crate::make::Making;
use crate::name::{check_name, composed, is_same};
use crate::schema::{self, Dimension};
use crate::variable::Variable;

impl Dataset {
    /// Where the node is that is called so here.
    pub(crate) fn node_path(&self, path: &str) -> Result<NodePath> {
        Ok(self.inner.base.join(path.trim_start_matches('/'))?)
    }

    /// Refuses to write what is only read.
    pub(crate) fn check_writeable(&self, snapshot: &Snapshot) -> Result<()> {
        match snapshot.profile {
            Profile::Legacy => {
                let why =
                    "netcdf-c wrote this dataset before 4.9.3; it is read and not written; copy it";
                Err(self.at(AccessError::Frozen(why.into()).into()))
            }
            _ => Ok(()),
        }
    }

    /// Changes a node's attributes in its newest document, and again if another writer was faster. A change that
    /// fails leaves the document as it is.
    pub(crate) fn change_sheet<T>(
        &self,
        path: &str,
        kind: NodeKind,
        mut change: impl FnMut(&mut Sheet) -> Result<T>,
    ) -> Result<T> {
        let snapshot = self.snapshot();
        self.check_writeable(&snapshot)?;
        let dialect = snapshot.hierarchy.dialect();
        let noted = snapshot.profile == Profile::Nczarr;
        let mut outcome = None;
        let edit = |attributes: &mut Object| {
            let mut sheet = Sheet::of(attributes);
            let done = change(&mut sheet);
            if done.is_ok() {
                *attributes = sheet.into_object(dialect, noted);
            }
            outcome = Some(done);
        };
        let entry = snapshot.arrays.get(path).filter(|_| kind == NodeKind::Array);
        match entry {
            Some(entry) => entry.array.update_attributes(edit)?,
            None => snapshot.hierarchy.group(&self.node_path(path)?)?.update_attributes(edit)?,
        };
        outcome.unwrap_or_else(|| Err(self.absent(kind.name(), path)))
    }

    /// Changes what a group declares, where the dataset says so at all.
    pub(crate) fn change_group(
        &self,
        path: &str,
        mut change: impl FnMut(&mut GroupDocument) -> Result<()>,
    ) -> Result<()> {
        let snapshot = self.snapshot();
        if snapshot.profile != Profile::Nczarr {
            return self.check_writeable(&snapshot);
        }
        let dialect = snapshot.hierarchy.dialect();
        self.change_sheet(path, NodeKind::Group, |sheet| sheet.change_group(dialect, &mut change))
    }

    /// Makes the handles know what has been written.
    pub(crate) fn patch(&self, change: impl FnOnce(&mut schema::Group, &mut Arrays)) {
        let old = self.snapshot();
        let (mut root, mut arrays) = (schema::Group::clone(&old.root), old.arrays.clone());
        change(&mut root, &mut arrays);
        let (hierarchy, warnings) = (old.hierarchy.clone(), old.warnings.clone());
        let root = Arc::new(root);
        self.replace(Snapshot { hierarchy, profile: old.profile, root, arrays, warnings });
    }

    /// Defines all that `schema` has: its dimensions, attributes, variables and groups, below this dataset's root.
    ///
    /// # Errors
    /// As those of [`Group`]'s methods; what was defined before an error stays.
    pub fn define(&self, schema: &schema::Group) -> Result<()> {
        self.root().define(schema)
    }
}

/// The arrays of a dataset's variables.
pub(crate) type Arrays = std::collections::HashMap<String, Entry>;

impl Group {
    fn here<'s>(&self, snapshot: &'s Snapshot) -> Result<&'s schema::Group> {
        snapshot.root.group(&self.path).ok_or_else(|| self.dataset.absent("group", &self.path))
    }

    pub(crate) fn at(&self, error: impl Into<Error>) -> Error {
        match self.dataset.node_path(&self.path) {
            Ok(path) => self.dataset.at(error.into()).at_path(&path),
            Err(_) => self.dataset.at(error.into()),
        }
    }

    /// The name as it is kept; refuses what is no name (N-001).
    pub(crate) fn name(&self, name: &str) -> Result<String> {
        let name = composed(name);
        check_name(&name).map_err(|e| self.at(e))?;
        Ok(name.into_owned())
    }

    /// A name for a variable or a group, as it is kept; refuses one that is taken.
    pub(crate) fn free_name(&self, here: &schema::Group, name: &str) -> Result<String> {
        let name = self.name(name)?;
        let taken = here.variables.iter().any(|variable| is_same(&variable.name, &name))
            || here.groups.iter().any(|group| is_same(&group.name, &name))
            || here.opaque.iter().any(|opaque| is_same(&opaque.name, &name));
        match taken {
            true => Err(self.at(AccessError::Exists("a variable or group of this name"))),
            false => Ok(name),
        }
    }

    /// Defines all that `schema` has, in this group: dimensions, attributes, variables, groups.
    ///
    /// # Errors
    /// As those of the methods below; what was defined before an error stays.
    pub fn define(&self, schema: &schema::Group) -> Result<()> {
        if !schema.attributes.is_empty() {
            self.set_attributes(&schema.attributes)?;
        }
        for dimension in &schema.dimensions {
            self.define_dimension(dimension.clone())?;
        }
        for variable in &schema.variables {
            self.define_variable(variable)?;
        }
        for group in &schema.groups {
            self.create_group(&group.name)?.define(group)?;
        }
        Ok(())
    }

    /// Declares a dimension. A dataset of the pure profile knows it once a variable has it, and no longer that it
    /// grows when it is opened again.
    ///
    /// # Errors
    /// [`AccessError::Argument`] for its name; [`AccessError::Exists`]; [`AccessError::ReadOnly`].
    pub fn define_dimension(&self, mut dimension: Dimension) -> Result<()> {
        let _changing = self.dataset.changing();
        dimension.name = self.name(&dimension.name)?;
        let exists = || self.at(AccessError::Exists("a dimension of this name"));
        let snapshot = self.dataset.snapshot();
        if self.here(&snapshot)?.dimensions.iter().any(|d| is_same(&d.name, &dimension.name)) {
            return Err(exists());
        }
        self.dataset.change_group(&self.path, |document| {
            if document.dimensions.iter().any(|other| is_same(&other.name, &dimension.name)) {
                return Err(exists());
            }
            document.dimensions.push(dimension.clone());
            Ok(())
        })?;
        self.dataset.patch(|root, _| {
            if let Some(here) = root.group_mut(&self.path) {
                here.dimensions.push(dimension);
            }
        });
        Ok(())
    }

    /// Creates a group in this one.
    ///
    /// # Errors
    /// [`AccessError::Argument`] for its name; [`AccessError::Exists`]; [`AccessError::ReadOnly`].
    pub fn create_group(&self, name: &str) -> Result<Group> {
        let _changing = self.dataset.changing();
        let snapshot = self.dataset.snapshot();
        self.dataset.check_writeable(&snapshot)?;
        let name = self.free_name(self.here(&snapshot)?, name)?;
        let path = full_name(&self.path, &name);
        let nczarr = snapshot.profile == Profile::Nczarr;
        let dialect = snapshot.hierarchy.dialect();
        let mut own = Object::new();
        if nczarr {
            own.insert("_nczarr_group", GroupDocument::default().to_json(dialect));
        }
        let attributes = Sheet::with_own(own).into_object(dialect, nczarr);
        snapshot.hierarchy.create_group(&self.dataset.node_path(&path)?, attributes)?;
        self.dataset.change_group(&self.path, |document| {
            if !document.groups.contains(&name) {
                document.groups.push(name.clone());
            }
            Ok(())
        })?;
        self.dataset.patch(|root, _| {
            if let Some(here) = root.group_mut(&self.path) {
                here.groups.push(schema::Group::new(name));
            }
        });
        Ok(Group::new(self.dataset.clone(), path))
    }

    /// The full name of the dimension that is meant by `name` here: a full name, or that of the nearest group
    /// that declares it.
    fn dimension(&self, root: &schema::Group, name: &str) -> Result<(String, Dimension)> {
        let mut group = self.path.as_str();
        let found = match name.starts_with('/') {
            true => root.dimension_path(name),
            false => loop {
                match root.dimension_path(&full_name(group, name)) {
                    Some(full) => break Some(full),
                    None if group == "/" => break None,
                    None => {
                        let above = group.rsplit_once('/').map_or("", |(above, _)| above);
                        group = if above.is_empty() { "/" } else { above };
                    }
                }
            },
        };
        let found = found.and_then(|full| Some((root.dimension(&full)?.clone(), full)));
        let (dimension, full) = found.ok_or_else(|| self.dataset.absent("dimension", name))?;
        Ok((full, dimension))
    }

    /// Defines a variable. Its dimensions are called by their full names, or by their own, looked for from this
    /// group upwards. `_FillValue` is one value of the variable's type, among the attributes.
    ///
    /// # Errors
    /// [`AccessError::NotFound`] for a dimension that is not declared; [`AccessError::Argument`] for names, chunks, a fill
    /// value or attributes that cannot be; [`zarr_core::MetadataError::Unsupported`] for a type that is only read;
    /// [`AccessError::Exists`]; [`AccessError::ReadOnly`].
    pub fn define_variable(&self, new: &schema::Variable) -> Result<Variable> {
        let _changing = self.dataset.changing();
        let snapshot = self.dataset.snapshot();
        self.dataset.check_writeable(&snapshot)?;
        let mut variable = new.clone();
        variable.name = self.free_name(self.here(&snapshot)?, &new.name)?;
        let path = full_name(&self.path, &variable.name);
        for attribute in &mut variable.attributes {
            attribute.name = composed(&attribute.name).into_owned();
        }
        let mut dimensions = Vec::new();
        for name in &mut variable.dimensions {
            let (full, dimension) = self.dimension(&snapshot.root, name)?;
            *name = full;
            dimensions.push(dimension);
        }
        let at = |e: Error| self.at(e);
        let array = Making { dataset: &self.dataset, snapshot: &snapshot, dimensions: &dimensions };
        let (array, storage) = array.make(&path, &mut variable).map_err(at)?;
        variable.storage = storage;
        self.dataset.change_group(&self.path, |document| {
            if !document.arrays.contains(&variable.name) {
                document.arrays.push(variable.name.clone());
            }
            Ok(())
        })?;
        let fill = elements::fill(&array.metadata(), variable.ty);
        self.dataset.patch(|root, arrays| {
            arrays.insert(path.clone(), Entry { array, fill });
            if let Some(here) = root.group_mut(&self.path) {
                here.variables.push(variable);
            }
        });
        Ok(Variable::new(self.dataset.clone(), path))
    }
}
