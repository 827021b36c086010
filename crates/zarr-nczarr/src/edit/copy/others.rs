//! Finds the nodes of a hierarchy that a copy of its dataset leaves out.

use std::collections::{HashMap, HashSet};

use zarr_core::{ErrorKind, NodePath, Result};

use crate::edit::copy::plan::{Other, Planning};
use crate::model::name::full_name;
use crate::model::name::{check_name, composed};
use crate::model::options::Profile;
use crate::model::schema::Group;

impl Planning<'_> {
    /// Leaves the array or the group at `path` out of the copy.
    pub(crate) fn leave(&mut self, path: &str, why: impl Into<String>) {
        self.left.insert(path.to_owned(), why.into());
    }

    /// Why the copy cannot have a variable, a group or a dimension of this name, if it cannot.
    pub(crate) fn obstacle(&self, name: &str) -> Option<String> {
        let composed = composed(name);
        match check_name(name) {
            Err(e) => Some(e.to_string()),
            // Readers of plain Zarr do not take it for the same name.
            Ok(()) if self.new.profile == Profile::Pure && composed != name => {
                Some(format!("netCDF has the name as `{composed}`, its characters composed"))
            }
            Ok(()) => None,
        }
    }

    /// The nodes of the hierarchy that `copy` has not, sorted by path. Where the store cannot list, those that documents
    /// list.
    pub(crate) fn others(&self, copy: &Group) -> Result<Vec<Other>> {
        let base = self.from.node_path("/")?;
        let mut copied = HashSet::from([base.clone()]);
        let mut named = HashMap::new();
        for (path, why) in &self.left {
            named.insert(self.from.node_path(path)?, why.clone());
        }
        self.gather(copy, "/", &mut copied)?;
        self.opaque(&self.from.schema(), "/", &mut named)?;
        let hierarchy = self.from.hierarchy();
        // An array that is taken for a group of one has nothing below it.
        let is_array = hierarchy.array(&base).is_ok();
        let mut paths: Vec<NodePath> = match hierarchy.tree(&base) {
            _ if is_array => named.keys().cloned().collect(),
            Err(e) if e.kind() == ErrorKind::NotCapable => named.keys().cloned().collect(),
            tree => {
                let found = tree?.into_iter().map(|child| child.path);
                found.chain(named.keys().cloned()).collect()
            }
        };
        paths.sort();
        paths.dedup();
        paths.retain(|path| !copied.contains(path));
        let others = paths.into_iter().map(|path| {
            let why = named
                .get(&path)
                .cloned()
                .or_else(|| path.name().and_then(|name| self.obstacle(name)))
                .unwrap_or_else(|| "no document of the dataset lists it".to_owned());
            Other { why, path }
        });
        Ok(others.collect())
    }

    /// The nodes of what the copy has.
    fn gather(&self, group: &Group, path: &str, copied: &mut HashSet<NodePath>) -> Result<()> {
        for variable in &group.variables {
            copied.insert(self.from.node_path(&full_name(path, &variable.name))?);
        }
        for below in &group.groups {
            let path = full_name(path, &below.name);
            copied.insert(self.from.node_path(&path)?);
            self.gather(below, &path, copied)?;
        }
        Ok(())
    }

    /// The arrays that are no variables, with the reasons.
    fn opaque(
        &self,
        group: &Group,
        path: &str,
        named: &mut HashMap<NodePath, String>,
    ) -> Result<()> {
        for opaque in &group.opaque {
            let at = self.from.node_path(&full_name(path, &opaque.name))?;
            let why = opaque.why.strip_prefix(&format!("{at}: ")).unwrap_or(&opaque.why);
            named.insert(at, why.to_owned());
        }
        for below in &group.groups {
            self.opaque(below, &full_name(path, &below.name), named)?;
        }
        Ok(())
    }
}
