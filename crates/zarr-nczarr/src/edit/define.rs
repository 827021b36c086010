//! Defines dimensions, variables and groups (N-001, N-002, N-010).

use std::collections::HashSet;

use zarr_core::metadata::NodeKind;
use zarr_core::{AccessError, Error, NodePath, Object, Result};

use crate::documents::load::{Entry, Snapshot};
use crate::documents::node_attributes::NodeAttributes;
use crate::documents::node_documents::GroupDocument;
use crate::edit::create_variable::VariableContext;
use crate::handles::dataset::Dataset;
use crate::handles::group::Group;
use crate::handles::variable::Variable;
use crate::model::elements;
use crate::model::name::full_name;
use crate::model::name::{check_name, composed};
use crate::model::options::Profile;
use crate::model::root::Root;
use crate::model::schema::{self, Dimension};

impl Dataset {
    /// Where the node is that is called so here.
    pub(crate) fn node_path(&self, path: &str) -> Result<NodePath> {
        Ok(self.inner.base.join(path.trim_start_matches('/'))?)
    }

    /// Refuses to write what is only read.
    pub(crate) fn check_writeable(&self, snapshot: &Snapshot) -> Result<()> {
        match snapshot.profile {
            Profile::Legacy => {
                let why = "netcdf-c wrote this dataset before 4.9.3; it is read-only; copy it";
                Err(self.at(AccessError::Frozen(why.into()).into()))
            }
            _ => Ok(()),
        }
    }

    /// Changes a node's attributes in its newest document, and again if another writer was faster. A change that
    /// fails leaves the document as it is.
    pub(crate) fn change_attributes<T: Send>(
        &self,
        path: &str,
        kind: NodeKind,
        mut change: impl FnMut(&mut NodeAttributes) -> Result<T> + Send,
    ) -> Result<T> {
        let snapshot = self.snapshot();
        self.check_writeable(&snapshot)?;
        let dialect = snapshot.hierarchy.dialect();
        let noted = snapshot.profile == Profile::Nczarr;
        let mut outcome = None;
        let edit = |attributes: &mut Object| {
            let mut node_attributes = NodeAttributes::of(attributes);
            let done = change(&mut node_attributes);
            if done.is_ok() {
                *attributes = node_attributes.into_object(dialect, noted);
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
        mut change: impl FnMut(&mut GroupDocument) -> Result<()> + Send,
    ) -> Result<()> {
        let snapshot = self.snapshot();
        if snapshot.profile != Profile::Nczarr {
            return self.check_writeable(&snapshot);
        }
        let dialect = snapshot.hierarchy.dialect();
        self.change_attributes(path, NodeKind::Group, |node_attributes| {
            node_attributes.change_group(dialect, &mut change)
        })
    }

    /// Makes the handles know what has been written.
    pub(crate) fn patch(&self, change: impl FnOnce(&mut schema::Group, &mut Arrays)) {
        let old = self.snapshot();
        let (mut root, mut arrays) = (schema::Group::clone(&old.root), old.arrays.clone());
        change(&mut root, &mut arrays);
        let (hierarchy, warnings) = (old.hierarchy.clone(), old.warnings.clone());
        let root = Root::new(root);
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

    /// Takes a name for a variable or a group, as it is kept; refuses one that is taken.
    pub(crate) fn free_name(&self, taken: &mut HashSet<String>, name: &str) -> Result<String> {
        let name = self.name(name)?;
        if taken.insert(name.clone()) {
            Ok(name)
        } else {
            Err(self.at(AccessError::Exists("a variable or group of this name")))
        }
    }

    /// Defines all that `schema` has, in this group: dimensions, attributes, variables, groups.
    ///
    /// # Errors
    /// As those of the methods below; what was defined before an error stays.
    pub fn define(&self, schema: &schema::Group) -> Result<()> {
        let snapshot = self.dataset.snapshot();
        self.dataset.check_writeable(&snapshot)?;
        let before = self.here(&snapshot)?;
        let before = (before.attributes.clone(), before.dimensions.clone());
        let dimensions = self.new_dimensions(&snapshot, &schema.dimensions)?;
        self.check_attributes(&schema.attributes)?;
        // Who creates an array reads the document of its group. The document is small until all arrays are there: the handles
        // know first what is going to be in it.
        self.know_attributes(&schema.attributes);
        self.know_dimensions(&dimensions);
        let variables = self.define_variables(&schema.variables);
        let stored = self.store_definitions(&schema.attributes, &dimensions);
        if stored.is_err() {
            self.dataset.patch(|root, _| {
                if let Some(here) = root.group_mut(&self.path) {
                    (here.attributes, here.dimensions) = before;
                }
            });
        }
        variables?;
        stored?;
        let names: Vec<&str> = schema.groups.iter().map(|group| group.name.as_str()).collect();
        let groups = self.create_groups(&names)?;
        groups.iter().zip(&schema.groups).try_for_each(|(group, schema)| group.define(schema))
    }

    /// Declares a dimension. A dataset of the pure profile knows it once a variable has it, and no longer that it
    /// grows when it is opened again.
    ///
    /// # Errors
    /// [`AccessError::Argument`] for its name; [`AccessError::Exists`]; [`AccessError::ReadOnly`].
    pub fn define_dimension(&self, dimension: Dimension) -> Result<()> {
        self.define_dimensions(&[dimension])
    }

    /// Writes the attributes and dimensions of a definition into the group's document.
    fn store_definitions(
        &self,
        attributes: &[schema::Attribute],
        dimensions: &[Dimension],
    ) -> Result<()> {
        let _changing = self.dataset.changing();
        if !attributes.is_empty() {
            self.store_attributes(attributes)?;
        }
        if dimensions.is_empty() { Ok(()) } else { self.store_dimensions(dimensions) }
    }

    /// Declares dimensions, and rewrites the group's document once.
    fn define_dimensions(&self, dimensions: &[Dimension]) -> Result<()> {
        let _changing = self.dataset.changing();
        let new = self.new_dimensions(&self.dataset.snapshot(), dimensions)?;
        self.store_dimensions(&new)?;
        self.know_dimensions(&new);
        Ok(())
    }

    /// The dimensions as they are kept; refuses names that are none or are taken.
    fn new_dimensions(
        &self,
        snapshot: &Snapshot,
        dimensions: &[Dimension],
    ) -> Result<Vec<Dimension>> {
        let here = self.here(snapshot)?;
        let mut taken: HashSet<String> =
            here.dimensions.iter().map(|d| composed(&d.name).into_owned()).collect();
        let mut new = dimensions.to_vec();
        for dimension in &mut new {
            dimension.name = self.name(&dimension.name)?;
            if !taken.insert(dimension.name.clone()) {
                return Err(self.at(AccessError::Exists("a dimension of this name")));
            }
        }
        Ok(new)
    }

    fn store_dimensions(&self, new: &[Dimension]) -> Result<()> {
        self.dataset.change_group(&self.path, |document| {
            let known: HashSet<String> =
                document.dimensions.iter().map(|d| composed(&d.name).into_owned()).collect();
            if new.iter().any(|dimension| known.contains(&dimension.name)) {
                return Err(self.at(AccessError::Exists("a dimension of this name")));
            }
            document.dimensions.extend(new.iter().cloned());
            Ok(())
        })
    }

    fn know_dimensions(&self, new: &[Dimension]) {
        self.dataset.patch(|root, _| {
            if let Some(here) = root.group_mut(&self.path) {
                here.dimensions.extend_from_slice(new);
            }
        });
    }

    /// Creates a group in this one.
    ///
    /// # Errors
    /// [`AccessError::Argument`] for its name; [`AccessError::Exists`]; [`AccessError::ReadOnly`].
    pub fn create_group(&self, name: &str) -> Result<Group> {
        let mut made = self.create_groups(&[name])?;
        made.pop().ok_or_else(|| self.dataset.absent("group", name))
    }

    /// Creates groups in this one, and lists them in its document at once. Those made before an error are listed.
    fn create_groups(&self, names: &[&str]) -> Result<Vec<Group>> {
        let _changing = self.dataset.changing();
        let snapshot = self.dataset.snapshot();
        self.dataset.check_writeable(&snapshot)?;
        let mut taken = taken(self.here(&snapshot)?);
        let nczarr = snapshot.profile == Profile::Nczarr;
        let dialect = snapshot.hierarchy.dialect();
        let mut made: Vec<String> = Vec::new();
        let outcome = names.iter().try_for_each(|name| {
            let name = self.free_name(&mut taken, name)?;
            let path = full_name(&self.path, &name);
            let mut own = Object::new();
            if nczarr {
                own.insert("_nczarr_group", GroupDocument::default().to_json(dialect));
            }
            let attributes = NodeAttributes::with_own(own).into_object(dialect, nczarr);
            snapshot.hierarchy.create_group(&self.dataset.node_path(&path)?, attributes)?;
            made.push(name);
            Ok(())
        });
        if !made.is_empty() {
            self.dataset.change_group(&self.path, |document| {
                list(&mut document.groups, &made);
                Ok(())
            })?;
        }
        let groups =
            made.iter().map(|name| Group::new(self.dataset.clone(), full_name(&self.path, name)));
        let groups = groups.collect();
        self.dataset.patch(|root, _| {
            if let Some(here) = root.group_mut(&self.path) {
                here.groups.extend(made.into_iter().map(schema::Group::new));
            }
        });
        outcome.map(|()| groups)
    }

    /// The full name of the dimension that `name` refers to here: a full name, or that of the nearest group
    /// that declares it.
    fn dimension(&self, root: &Root, name: &str) -> Result<(String, Dimension)> {
        let mut group = self.path.as_str();
        let found = if name.starts_with('/') {
            root.dimension_path(name)
        } else {
            loop {
                match root.dimension_path(&full_name(group, name)) {
                    Some(full) => break Some(full),
                    None if group == "/" => break None,
                    None => {
                        let above = group.rsplit_once('/').map_or("", |(above, _)| above);
                        group = if above.is_empty() { "/" } else { above };
                    }
                }
            }
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
        let path = self.define_variables(std::slice::from_ref(new))?.pop();
        let path = path.ok_or_else(|| self.dataset.absent("variable", &new.name))?;
        Ok(Variable::new(self.dataset.clone(), path))
    }

    /// Defines variables, and lists them in the group's document at once; their full names. Those made before an error
    /// are listed.
    fn define_variables(&self, new: &[schema::Variable]) -> Result<Vec<String>> {
        let _changing = self.dataset.changing();
        let snapshot = self.dataset.snapshot();
        self.dataset.check_writeable(&snapshot)?;
        let mut taken = taken(self.here(&snapshot)?);
        let mut made = Vec::new();
        let outcome = new.iter().try_for_each(|new| {
            made.push(self.make_variable(&snapshot, &mut taken, new)?);
            Ok(())
        });
        if !made.is_empty() {
            let names: Vec<String> =
                made.iter().map(|(variable, _)| variable.name.clone()).collect();
            self.dataset.change_group(&self.path, |document| {
                list(&mut document.arrays, &names);
                Ok(())
            })?;
        }
        let path = |variable: &schema::Variable| full_name(&self.path, &variable.name);
        let paths = made.iter().map(|(variable, _)| path(variable)).collect();
        self.dataset.patch(|root, arrays| {
            let mut here = root.group_mut(&self.path);
            for (variable, entry) in made {
                arrays.insert(path(&variable), entry);
                if let Some(here) = &mut here {
                    here.variables.push(variable);
                }
            }
        });
        outcome.map(|()| paths)
    }

    /// Makes the array of a variable, which no document lists yet.
    fn make_variable(
        &self,
        snapshot: &Snapshot,
        taken: &mut HashSet<String>,
        new: &schema::Variable,
    ) -> Result<(schema::Variable, Entry)> {
        let mut variable = new.clone();
        variable.name = self.free_name(taken, &new.name)?;
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
        let context = VariableContext { dataset: &self.dataset, snapshot, dimensions: &dimensions };
        let node = self.dataset.node_path(&path)?;
        let (array, storage) = context
            .create_variable(&path, &mut variable)
            .map_err(|e| self.dataset.at(e).at_path(&node))?;
        variable.storage = storage;
        let fill = elements::fill(&array.metadata(), variable.ty);
        Ok((variable, Entry { array, fill }))
    }
}

/// The names in a group that variables and groups share.
pub(crate) fn taken(here: &schema::Group) -> HashSet<String> {
    let variables = here.variables.iter().map(|variable| &variable.name);
    let groups = here.groups.iter().map(|group| &group.name);
    let opaque = here.opaque.iter().map(|opaque| &opaque.name);
    variables.chain(groups).chain(opaque).map(|name| composed(name).into_owned()).collect()
}

/// Adds names to a list that may have them already.
fn list(listed: &mut Vec<String>, names: &[String]) {
    let known: HashSet<String> = listed.iter().cloned().collect();
    listed.extend(names.iter().filter(|name| !known.contains(*name)).cloned());
}
