//! Holds what a CDL text has declared so far.
//!
//! Groups, dimensions and variables are kept flat and by number, since a statement may name what is in any group by
//! its path.

use std::collections::{HashMap, HashSet};

use super::escape;
use super::token::Token;
use crate::model::schema::{Attribute, Dimension, Group, Variable};

/// A group, and what it has, by number.
#[derive(Default)]
struct Member {
    group: Group,
    path: String,
    /// Of variables and groups.
    names: HashSet<String>,
    attributes: HashSet<String>,
    dimensions: Vec<usize>,
    variables: Vec<usize>,
    children: Vec<usize>,
}

/// A variable, the group it is in, and where in the text it is declared.
struct Declared {
    variable: Variable,
    path: String,
    at: usize,
    attributes: HashSet<String>,
}

#[derive(Default)]
pub(super) struct Scope {
    groups: Vec<Member>,
    dimensions: Vec<Dimension>,
    variables: Vec<Declared>,
    /// By full name.
    dimension_at: HashMap<String, usize>,
    variable_at: HashMap<String, usize>,
}

impl Scope {
    /// Begins a group, in another unless it is the root; its number.
    pub fn group(&mut self, name: String, parent: Option<usize>) -> usize {
        let number = self.groups.len();
        let path = match parent {
            Some(parent) => format!("{}/{name}", self.groups[parent].path),
            None => String::new(),
        };
        self.groups.push(Member { group: Group::new(name), path, ..Member::default() });
        if let Some(parent) = parent {
            self.groups[parent].children.push(number);
        }
        number
    }

    /// Takes a name for a variable or a group in a group; `false` if it is taken.
    pub fn take_name(&mut self, group: usize, name: &str) -> bool {
        self.groups[group].names.insert(name.to_owned())
    }

    /// Declares a dimension; `false` if there is one of this name.
    pub fn declare_dimension(&mut self, group: usize, dimension: Dimension) -> bool {
        let path = format!("{}/{}", self.groups[group].path, dimension.name);
        let number = self.dimensions.len();
        let new = self.dimension_at.insert(path, number).is_none();
        self.dimensions.push(dimension);
        self.groups[group].dimensions.push(number);
        new
    }

    /// Declares a variable, whose name was taken.
    pub fn declare_variable(&mut self, group: usize, variable: Variable, at: usize) {
        let number = self.variables.len();
        let path = format!("{}/{}", self.groups[group].path, variable.name);
        self.variable_at.insert(path.clone(), number);
        self.variables.push(Declared { variable, path, at, attributes: HashSet::new() });
        self.groups[group].variables.push(number);
    }

    /// Gives a group, or a variable, an attribute; `false` if there was one of this name, whose place it takes.
    pub fn declare_attribute(
        &mut self,
        group: usize,
        variable: Option<usize>,
        attribute: Attribute,
    ) -> bool {
        let (names, attributes) = match variable {
            Some(variable) => {
                let declared = &mut self.variables[variable];
                (&mut declared.attributes, &mut declared.variable.attributes)
            }
            None => {
                let member = &mut self.groups[group];
                (&mut member.attributes, &mut member.group.attributes)
            }
        };
        let new = names.insert(attribute.name.clone());
        match attributes.iter_mut().find(|other| !new && other.name == attribute.name) {
            Some(other) => other.value = attribute.value,
            None => attributes.push(attribute),
        }
        new
    }

    /// The full name of a dimension of this group, of one above, or at a path.
    pub fn find_dimension(&self, group: usize, token: Token<'_>) -> Option<String> {
        match token {
            Token::Path(path) => {
                Some(unescape_path(path)).filter(|path| self.dimension_at.contains_key(path))
            }
            Token::Word(word) => {
                let name = escape::unescape_name(word);
                let mut above = Some(self.groups[group].path.as_str());
                while let Some(path) = above {
                    let full = format!("{path}/{name}");
                    if self.dimension_at.contains_key(&full) {
                        return Some(full);
                    }
                    above = path.rsplit_once('/').map(|(above, _)| above);
                }
                None
            }
            _ => None,
        }
    }

    /// A variable of this group, or at a path.
    pub fn find_variable(&self, group: usize, token: Token<'_>) -> Option<usize> {
        let path = match token {
            Token::Path(path) => unescape_path(path),
            Token::Word(word) => {
                format!("{}/{}", self.groups[group].path, escape::unescape_name(word))
            }
            _ => return None,
        };
        self.variable_at.get(&path).copied()
    }

    pub fn variable(&self, number: usize) -> &Variable {
        &self.variables[number].variable
    }

    pub fn variable_mut(&mut self, number: usize) -> &mut Variable {
        &mut self.variables[number].variable
    }

    /// A variable's full name.
    pub fn path(&self, variable: usize) -> &str {
        &self.variables[variable].path
    }

    /// A variable's dimensions.
    pub fn dimensions(&self, variable: &Variable) -> impl Iterator<Item = &Dimension> + Clone {
        let numbers = variable.dimensions.iter().filter_map(|path| self.dimension_at.get(path));
        let numbers: Vec<usize> = numbers.copied().collect();
        numbers.into_iter().map(|number| &self.dimensions[number])
    }

    /// Makes a variable's dimensions at least so long.
    pub fn lengthen(&mut self, variable: usize, shape: &[u64]) {
        for (path, &len) in self.variables[variable].variable.dimensions.iter().zip(shape) {
            if let Some(&number) = self.dimension_at.get(path) {
                let dimension = &mut self.dimensions[number];
                dimension.len = dimension.len.max(len);
            }
        }
    }

    /// The variable whose elements cannot be counted, and where it is declared, if there is one.
    pub fn too_large(&self) -> Option<(&str, usize)> {
        let found = self.variables.iter().find(|declared| {
            let mut lens =
                self.dimensions(&declared.variable).map(|dimension| dimension.len.max(1));
            let count = lens.try_fold(1_u64, u64::checked_mul);
            count.is_none_or(|count| count > i64::MAX as u64)
        })?;
        Some((&found.variable.name, found.at))
    }

    /// The tree of all that was declared.
    pub fn into_root(self) -> Group {
        let mut dimensions: Vec<Option<Dimension>> =
            self.dimensions.into_iter().map(Some).collect();
        let mut variables: Vec<Option<Variable>> =
            self.variables.into_iter().map(|declared| Some(declared.variable)).collect();
        let mut built: Vec<Option<Group>> = Vec::new();
        built.resize_with(self.groups.len(), || None);
        // Groups come after those that contain them.
        for (number, member) in self.groups.into_iter().enumerate().rev() {
            let mut group = member.group;
            let own = member.dimensions.iter().filter_map(|&at| dimensions[at].take());
            group.dimensions.extend(own);
            group.variables.extend(member.variables.iter().filter_map(|&at| variables[at].take()));
            group.groups.extend(member.children.iter().filter_map(|&at| built[at].take()));
            built[number] = Some(group);
        }
        built.first_mut().and_then(Option::take).unwrap_or_default()
    }
}

fn unescape_path(path: &str) -> String {
    let names = path.split('/').skip(1).map(escape::unescape_name);
    names.map(|name| format!("/{name}")).collect()
}
