//! Renames and deletes dimensions, variables and groups.
//!
//! At every moment the dataset opens: what is new is there before it is listed, and what is listed is there until
//! it is no more. No other writer may write what is being renamed: chunks are copied to other keys.

use zarr_core::metadata::NodeKind;
use zarr_core::store::{Payload, StorePrefix};
use zarr_core::{AccessError, Array, Dialect, NodePath, Object, Result};

use crate::documents::node_attributes::NodeAttributes;
use crate::documents::node_documents::GroupDocument;
use crate::edit::define::taken;
use crate::handles::dataset::Dataset;
use crate::handles::group::Group;
use crate::model::name::full_name;
use crate::model::name::position;
use crate::model::options::Profile;
use crate::model::schema;

/// Calls for each variable at and below the group at `path`.
fn variables(group: &schema::Group, path: &str) -> Vec<(String, Vec<String>)> {
    let own = group.variables.iter();
    let own = own.map(|variable| (full_name(path, &variable.name), variable.dimensions.clone()));
    let below = group.groups.iter();
    own.chain(below.flat_map(|group| variables(group, &full_name(path, &group.name)))).collect()
}

impl Group {
    /// Gives a dimension of this group another name, in all variables that have it.
    ///
    /// # Errors
    /// [`AccessError::NotFound`]; [`AccessError::Exists`]; [`AccessError::Argument`] for the name; [`AccessError::ReadOnly`].
    pub fn rename_dimension(&self, name: &str, to: &str) -> Result<()> {
        let changing = self.dataset.changing();
        let snapshot = self.dataset.snapshot();
        self.dataset.check_writeable(&snapshot)?;
        let here = self.schema()?;
        let Some(mut declared) = here.dimension(name).cloned() else {
            return Err(self.dataset.absent("dimension", &full_name(&self.path, name)));
        };
        let (name, to) = (&*declared.name.clone(), &*self.name(to)?);
        let (old, new) = (full_name(&self.path, name), full_name(&self.path, to));
        if here.dimension(to).is_some_and(|other| other.name != name || name == to) {
            return Err(self.at(AccessError::Exists("a dimension of this name")));
        }
        declared.name = to.to_owned();
        // Both names are declared while variables change from one to the other.
        self.dataset.change_group(&self.path, |document| {
            let at = document.dimensions.iter().position(|dimension| dimension.name == name);
            let there = document.dimensions.iter().any(|dimension| dimension.name == to);
            if let (Some(at), false) = (at, there) {
                let len = document.dimensions[at].len;
                let twin = schema::Dimension { len, ..declared.clone() };
                document.dimensions.insert(at + 1, twin);
            }
            Ok(())
        })?;
        for (path, references) in variables(&snapshot.root, "/") {
            if references.contains(&old) {
                let references: Vec<String> = references
                    .iter()
                    .map(|name| if *name == old { new.clone() } else { name.clone() })
                    .collect();
                self.dataset.refer(&snapshot.arrays[&path].array, &references)?;
            }
        }
        self.dataset.change_group(&self.path, |document| {
            document.dimensions.retain(|dimension| dimension.name != name);
            Ok(())
        })?;
        drop(changing);
        self.dataset.refresh()
    }

    /// Gives a variable or a group in this one another name.
    ///
    /// # Errors
    /// As [`Group::rename_dimension`]; [`zarr_core::StoreError::NotCapable`] if the store cannot list.
    pub fn rename(&self, name: &str, to: &str) -> Result<()> {
        let changing = self.dataset.changing();
        let snapshot = self.dataset.snapshot();
        self.dataset.check_writeable(&snapshot)?;
        let here = self.schema()?;
        let to = &*self.free_name(&mut taken(&here), to)?;
        let (kind, name) = self.child(&here, name)?;
        let (old, new) = (full_name(&self.path, name), full_name(&self.path, to));
        let (from, into) = (self.dataset.node_path(&old)?, self.dataset.node_path(&new)?);
        if snapshot.hierarchy.dialect() == Dialect::Draft {
            let why = "nodes of a draft's hierarchy cannot be renamed; copy the dataset";
            return Err(self.at(AccessError::Argument(why.into())));
        }
        // Keys are copied, and copies of documents are none.
        if let Some(first) = snapshot.hierarchy.only_copied_nodes(&from)?.first() {
            let why = format!(
                "only consolidated metadata describe {first}, which would be lost; `zarr repair --apply` writes its document"
            );
            return Err(self.at(AccessError::Argument(why)));
        }
        self.dataset.copy_keys(&from, &into)?;
        if let (NodeKind::Group, Some(group)) = (kind, here.groups.iter().find(|g| g.name == name))
        {
            // Dimensions that the group declares have other full names now.
            for (path, references) in variables(group, &new) {
                let below =
                    |name: &String| name.strip_prefix(&format!("{old}/")).map(str::to_owned);
                if references.iter().any(|name| below(name).is_some()) {
                    let references: Vec<String> = references
                        .iter()
                        .map(|name| match below(name) {
                            Some(rest) => format!("{new}/{rest}"),
                            None => name.clone(),
                        })
                        .collect();
                    let array = snapshot.hierarchy.array(&self.dataset.node_path(&path)?)?;
                    self.dataset.refer(&array, &references)?;
                }
            }
        }
        self.list(kind, |names| match names.iter_mut().find(|other| *other == name) {
            Some(found) => *found = to.to_owned(),
            None => names.push(to.to_owned()),
        })?;
        snapshot.hierarchy.erase(&from)?;
        // Copies of documents know nothing of keys that were set past them.
        if snapshot.hierarchy.check_consolidated().is_ok() {
            snapshot.hierarchy.consolidate()?;
        }
        drop(changing);
        self.dataset.refresh()
    }

    /// Deletes a variable, or a group with all that is in it.
    ///
    /// # Errors
    /// [`AccessError::NotFound`]; [`AccessError::ReadOnly`].
    pub fn delete(&self, name: &str) -> Result<()> {
        let changing = self.dataset.changing();
        let snapshot = self.dataset.snapshot();
        self.dataset.check_writeable(&snapshot)?;
        let here = self.schema()?;
        let (kind, name) = self.child(&here, name)?;
        self.list(kind, |names| names.retain(|other| other != name))?;
        let path = self.dataset.node_path(&full_name(&self.path, name))?;
        snapshot.hierarchy.erase(&path)?;
        drop(changing);
        self.dataset.refresh()
    }

    /// The group or variable of this name, and the name as it is kept.
    fn child<'g>(&self, here: &'g schema::Group, name: &str) -> Result<(NodeKind, &'g str)> {
        let groups = here.groups.iter().map(|group| (NodeKind::Group, group.name.as_str()));
        let variables = here.variables.iter().map(|variable| variable.name.as_str());
        let arrays = variables.chain(here.opaque.iter().map(|opaque| opaque.name.as_str()));
        let mut all = groups.chain(arrays.map(|name| (NodeKind::Array, name)));
        let at = position(all.clone().map(|(_, name)| name), name);
        at.and_then(|at| all.nth(at))
            .ok_or_else(|| self.dataset.absent("variable or group", &full_name(&self.path, name)))
    }

    /// Changes the list of arrays or groups.
    fn list(&self, kind: NodeKind, change: impl Fn(&mut Vec<String>) + Sync) -> Result<()> {
        self.dataset.change_group(&self.path, |document: &mut GroupDocument| {
            change(match kind {
                NodeKind::Group => &mut document.groups,
                NodeKind::Array => &mut document.arrays,
            });
            Ok(())
        })
    }
}

impl Dataset {
    /// Makes an array refer to these dimensions, in all words that it has for them.
    fn refer(&self, array: &Array, references: &[String]) -> Result<()> {
        let snapshot = self.snapshot();
        let dialect = snapshot.hierarchy.dialect();
        let noted = snapshot.profile == Profile::Nczarr;
        let names: Vec<String> = references
            .iter()
            .map(|name| name.rsplit('/').next().unwrap_or_default().to_owned())
            .collect();
        array.update_attributes(|attributes: &mut Object| {
            let mut node_attributes = NodeAttributes::of(attributes);
            node_attributes.refer(references, &names);
            *attributes = node_attributes.into_object(dialect, noted);
        })?;
        match dialect {
            Dialect::V3 => array.rename_dimensions(&names),
            _ => Ok(()),
        }
    }

    /// Copies all keys below one node to another place, documents last.
    fn copy_keys(&self, from: &NodePath, to: &NodePath) -> Result<()> {
        let hierarchy = self.hierarchy();
        let store = hierarchy.store().to_sync();
        let (from, to) = (folder_of(from)?, folder_of(to)?);
        if !store.list_prefix(&to)?.keys.is_empty() {
            let what = "something that the dataset does not list";
            return Err(self.at(AccessError::Exists(what).into()));
        }
        let mut keys = store.list_prefix(&from)?.keys;
        // A concurrent listing of a plain hierarchy sees arrays that are whole.
        keys.sort_by_key(|key| {
            let name = key.as_str().rsplit('/').next().unwrap_or_default();
            name.starts_with(".z") || name == "zarr.json"
        });
        for key in keys {
            let Some(rest) = from.strip(&key) else { continue };
            if let Some(value) = store.value(&key)? {
                store.set(&to.key(rest)?, Payload::from(value))?;
            }
        }
        Ok(())
    }
}

/// The folder of a node.
fn folder_of(path: &NodePath) -> Result<StorePrefix> {
    Ok(StorePrefix::new(format!("{}/", path.relative()))?)
}
