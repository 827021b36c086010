//! Checks the attributes of the CF conventions that name variables: each variable must be there.

use std::collections::BTreeSet;

use zarr_core::{Json, NodeKind, NodePath, Object};

use super::inventory::Inventory;
use super::problem::{Problem, ProblemKind};
use super::tree::Tree;
use super::{Context, Sink};

/// What the words of an attribute are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Words {
    /// Names of variables.
    Names,
    /// Names of variables, each after a term that ends in a colon.
    Terms,
    /// One name of a variable; or such names, each with a colon and followed by names.
    Mappings,
}

/// The attributes of arrays that name variables, and the clauses of the CF conventions 1.11.
const REFERENCES: [(&str, Words, &str); 13] = [
    ("coordinates", Words::Names, "CF 5"),
    ("bounds", Words::Names, "CF 7.1"),
    ("climatology", Words::Names, "CF 7.4"),
    ("grid_mapping", Words::Mappings, "CF 5.6"),
    ("ancillary_variables", Words::Names, "CF 3.4"),
    ("cell_measures", Words::Terms, "CF 7.2"),
    ("formula_terms", Words::Terms, "CF 4.3.3"),
    ("geometry", Words::Names, "CF 7.5"),
    ("nodes", Words::Names, "CF 7.5"),
    ("node_coordinates", Words::Names, "CF 7.5"),
    ("node_count", Words::Names, "CF 7.5"),
    ("part_node_count", Words::Names, "CF 7.5"),
    ("interior_ring", Words::Names, "CF 7.5"),
];

/// Reports attributes that name a variable that is not there. A name is that of an array of the same group or of one above; with
/// a slash, it is a path from there.
///
/// Where not every node is known, because a part of a hierarchy or a single array is validated, or because the store does not list
/// its keys, nothing is reported.
pub(super) fn check(
    context: &Context<'_>,
    inventory: &Inventory,
    tree: &Tree,
    sink: &mut Sink<'_>,
) {
    let is_array = tree.nodes.get(&context.path).is_some_and(|node| node.array.is_some());
    let is_all_known = inventory.is_listed && inventory.unreadable.is_empty();
    if !context.path.is_root() || !is_all_known || is_array {
        return;
    }
    let external = external(tree);
    for array in &tree.arrays {
        let attributes = &array.metadata.attributes;
        for (attribute, words, clause) in REFERENCES {
            let Some(text) = attributes.get(attribute).and_then(Json::as_str) else { continue };
            let mut reported = BTreeSet::new();
            for name in names(text, words) {
                let is_external = attribute == "cell_measures" && external.contains(name);
                if is_external || is_there(tree, &array.path, name) || !reported.insert(name) {
                    continue;
                }
                let what = format!(
                    "`{attribute}` names `{name}`, and no array of this name is in its group or in one above"
                );
                let problem = Problem::new(&array.path, ProblemKind::DanglingReference, what);
                let node = tree.nodes.get(&array.path);
                // The last document of a node has its attributes.
                let key = node.and_then(|node| node.documents.last());
                sink.add(problem.at(key.map_or(String::new(), ToString::to_string)).by(clause));
            }
        }
    }
}

/// The variables that a variable's attributes name by the CF conventions, each with the attribute: coordinates, bounds, grid mappings,
/// ancillary variables, cell measures, formula terms and geometries. An attribute that is no list of names has none.
pub fn referenced_variables(attributes: &Object) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    for (attribute, words, _) in REFERENCES {
        let text = attributes.get(attribute).and_then(Json::as_str).unwrap_or_default();
        found.extend(names(text, words).into_iter().map(|name| (attribute, name.to_owned())));
    }
    found
}

/// The names of variables in an attribute. A text that is no list of names has none.
fn names(text: &str, words: Words) -> Vec<&str> {
    if text.contains([',', ';', '(', ')']) {
        return Vec::new();
    }
    let all = text.split_whitespace();
    match words {
        Words::Names => all.collect(),
        Words::Terms => all.filter(|word| !word.ends_with(':')).collect(),
        Words::Mappings => all.map(|word| word.trim_end_matches(':')).collect(),
    }
}

/// The variables that a root says to be in other files (CF 2.6.3).
fn external(tree: &Tree) -> BTreeSet<&str> {
    let attributes: Option<&Object> = tree.root_attributes.as_ref();
    let names = attributes.and_then(|attributes| attributes.get("external_variables")?.as_str());
    names.unwrap_or_default().split_whitespace().collect()
}

/// Whether a name that an array's attribute has leads to an array (CF 2.7).
fn is_there(tree: &Tree, array: &NodePath, name: &str) -> bool {
    match name.strip_prefix('/') {
        Some(path) => NodePath::new(path).is_ok_and(|path| is_array(tree, &path)),
        None => {
            array.ancestors().any(|group| group.join(name).is_ok_and(|path| is_array(tree, &path)))
        }
    }
}

/// Whether there is an array at the path, or a node that could not be read.
fn is_array(tree: &Tree, path: &NodePath) -> bool {
    tree.nodes.get(path).is_some_and(|node| node.kind != Some(NodeKind::Group))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_words_that_are_no_terms() {
        assert_eq!(names("lat  lon", Words::Names), ["lat", "lon"]);
        assert_eq!(names("a: s b: t", Words::Terms), ["s", "t"]);
        assert_eq!(names("crs", Words::Mappings), ["crs"]);
        assert_eq!(
            names("osgb: x y wgs84: lat lon", Words::Mappings),
            ["osgb", "x", "y", "wgs84", "lat", "lon"]
        );
        assert_eq!(names("see (1), or ask", Words::Names), [""; 0]);
    }
}
