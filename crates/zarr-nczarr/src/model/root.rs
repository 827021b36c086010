//! Finds groups, dimensions and variables of a dataset by their full names, in the same time however many there are.
//!
//! [`Group`] itself goes through lists. That is enough for one look; a dataset looks for each dimension of each variable.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use crate::model::name::NameIndex;
use crate::model::schema::{Dimension, Group, Variable};

/// The root group of a dataset, whose methods look names up.
#[derive(Clone, Debug)]
pub(crate) struct Root {
    group: Arc<Group>,
    /// Made at the first look.
    index: OnceLock<GroupIndex>,
}

/// Where the names of a group are in its lists.
#[derive(Clone, Debug)]
struct GroupIndex {
    dimensions: NameIndex,
    variables: NameIndex,
    groups: NameIndex,
    /// Of each group, in the order of the list.
    below: Vec<GroupIndex>,
}

impl GroupIndex {
    fn new(group: &Group) -> GroupIndex {
        GroupIndex {
            dimensions: group.dimensions.iter().map(|it| it.name.as_str()).collect(),
            variables: group.variables.iter().map(|it| it.name.as_str()).collect(),
            groups: group.groups.iter().map(|it| it.name.as_str()).collect(),
            below: group.groups.iter().map(GroupIndex::new).collect(),
        }
    }
}

/// A group that was looked up.
struct Place<'a> {
    group: &'a Group,
    index: &'a GroupIndex,
    /// Its full name; empty for the root.
    path: String,
}

impl Root {
    pub fn new(group: Group) -> Root {
        Root { group: Arc::new(group), index: OnceLock::new() }
    }

    /// The definitions.
    pub fn shared(&self) -> Arc<Group> {
        self.group.clone()
    }

    fn place(&self, path: &str) -> Option<Place<'_>> {
        let index = self.index.get_or_init(|| GroupIndex::new(&self.group));
        let mut place = Place { group: &self.group, index, path: String::new() };
        for name in path.split('/').filter(|name| !name.is_empty()) {
            let at = place.index.groups.position(name)?;
            let group = &place.group.groups[at];
            let path = format!("{}/{}", place.path, group.name);
            place = Place { group, index: &place.index.below[at], path };
        }
        Some(place)
    }

    /// As [`Group::group`].
    pub fn group(&self, path: &str) -> Option<&Group> {
        Some(self.place(path)?.group)
    }

    /// The path by which the root knows the group that `path` means; empty for itself.
    pub fn group_path(&self, path: &str) -> Option<String> {
        Some(self.place(path)?.path)
    }

    fn find_dimension(&self, path: &str) -> Option<(Place<'_>, usize)> {
        let (group, name) = path.rsplit_once('/').unwrap_or(("", path));
        let place = self.place(group)?;
        let at = place.index.dimensions.position(name)?;
        Some((place, at))
    }

    /// As [`Group::dimension`].
    pub fn dimension(&self, path: &str) -> Option<&Dimension> {
        let (place, at) = self.find_dimension(path)?;
        Some(&place.group.dimensions[at])
    }

    /// The dimension of exactly this name in the group at `group`.
    pub fn own_dimension(&self, group: &str, name: &str) -> Option<&Dimension> {
        let place = self.place(group)?;
        Some(&place.group.dimensions[place.index.dimensions.exact(name)?])
    }

    /// The full name of the dimension that `path` means.
    pub fn dimension_path(&self, path: &str) -> Option<String> {
        let (place, at) = self.find_dimension(path)?;
        Some(format!("{}/{}", place.path, place.group.dimensions[at].name))
    }

    fn find_variable(&self, path: &str) -> Option<(Place<'_>, usize)> {
        let (group, name) = path.rsplit_once('/').unwrap_or(("", path));
        let place = self.place(group)?;
        let at = place.index.variables.position(name)?;
        Some((place, at))
    }

    /// As [`Group::variable`].
    pub fn variable(&self, path: &str) -> Option<&Variable> {
        let (place, at) = self.find_variable(path)?;
        Some(&place.group.variables[at])
    }

    /// The full name of the variable that `path` means.
    pub fn variable_path(&self, path: &str) -> Option<String> {
        let (place, at) = self.find_variable(path)?;
        Some(format!("{}/{}", place.path, place.group.variables[at].name))
    }

    /// The group at `path` and its index, to be changed together.
    fn both_mut(&mut self, path: &str) -> Option<(&mut Group, &mut GroupIndex)> {
        let mut group = Arc::make_mut(&mut self.group);
        if self.index.get().is_none() {
            self.index = OnceLock::from(GroupIndex::new(group));
        }
        let mut index = self.index.get_mut()?;
        for name in path.split('/').filter(|name| !name.is_empty()) {
            let at = index.groups.position(name)?;
            group = &mut group.groups[at];
            index = &mut index.below[at];
        }
        Some((group, index))
    }

    /// Declares a dimension in the group at `group`, if that is there.
    pub fn add_dimension(&mut self, group: &str, dimension: Dimension) {
        if let Some((group, index)) = self.both_mut(group) {
            index.dimensions.add(&dimension.name, group.dimensions.len());
            group.dimensions.push(dimension);
        }
    }

    /// Makes an unlimited dimension of this exact name at least `len` long.
    pub fn lengthen(&mut self, group: &str, name: &str, len: u64) {
        let Some((group, index)) = self.both_mut(group) else { return };
        if let Some(at) = index.dimensions.exact(name) {
            let dimension = &mut group.dimensions[at];
            if dimension.unlimited {
                dimension.len = dimension.len.max(len);
            }
        }
    }

    /// Makes the dimension of this full name unlimited, if it is there.
    pub fn make_unlimited(&mut self, path: &str) {
        let (group, name) = path.rsplit_once('/').unwrap_or(("", path));
        let Some((group, index)) = self.both_mut(group) else { return };
        if let Some(at) = index.dimensions.exact(name) {
            group.dimensions[at].unlimited = true;
        }
    }

    /// Gives the group at `group` a variable, if that is there.
    pub fn add_variable(&mut self, group: &str, variable: Variable) {
        if let Some((group, index)) = self.both_mut(group) {
            index.variables.add(&variable.name, group.variables.len());
            group.variables.push(variable);
        }
    }

    /// The group at `path`, whose names must stay as they are.
    pub fn group_mut(&mut self, path: &str) -> Option<&mut Group> {
        self.both_mut(path).map(|(group, _)| group)
    }
}

impl Deref for Root {
    type Target = Group;
    fn deref(&self) -> &Group {
        &self.group
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::types::Type;

    #[test]
    fn names_are_found_as_the_groups_find_them() {
        let names = ["x", "e\u{301}", "\u{e9}", "x", "y"];
        let mut group = Group::new("");
        for name in names {
            group.dimensions.push(Dimension::new(name, group.dimensions.len() as u64));
            group.variables.push(Variable::new(name, Type::Int, ["/x"]));
            let mut below = Group::new(name);
            below.dimensions.push(Dimension::unlimited(name));
            group.groups.push(below);
        }
        let mut root = Root::new(group);
        root.add_dimension("/\u{e9}", Dimension::new("late", 7));
        root.add_variable("/x", Variable::new("late", Type::Int, ["/x"]));
        root.lengthen("/x", "x", 3);
        root.lengthen("/x", "x", 2);
        root.lengthen("", "x", 9);
        let plain = root.shared();
        assert_eq!(
            (plain.dimension("/x/x").unwrap().len, plain.dimension("/x").unwrap().len),
            (3, 0)
        );
        let all = names.into_iter().chain(["late", "none", "\u{65}\u{301}", ""]);
        for one in all.clone() {
            for other in all.clone() {
                let path = format!("/{one}/{other}");
                for path in [path.as_str(), &path[1..], one] {
                    assert_eq!(root.group(path), plain.group(path), "{path}");
                    assert_eq!(root.dimension(path), plain.dimension(path), "{path}");
                    assert_eq!(root.variable(path), plain.variable(path), "{path}");
                    let full = root.dimension_path(path);
                    assert_eq!(full.and_then(|full| plain.dimension(&full)), plain.dimension(path));
                    let full = root.variable_path(path);
                    assert_eq!(full.and_then(|full| plain.variable(&full)), plain.variable(path));
                }
            }
        }
        assert_eq!(root.own_dimension("", "e\u{301}").map(|it| it.len), Some(1));
        assert_eq!(root.own_dimension("", "late"), None);
    }
}
