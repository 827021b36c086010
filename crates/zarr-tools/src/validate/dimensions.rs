//! Finds dimensions that have several lengths in one group.

use std::collections::BTreeMap;

use zarr_core::NodePath;

use super::Sink;
use super::problem::{Problem, ProblemKind};
use super::tree::Tree;

/// The most arrays that a note names.
const MOST_NAMED: usize = 5;

/// Notes each name of a dimension that has several lengths in the arrays of a group. Levels of a multiscale image have other lengths on
/// purpose.
pub(super) fn check(tree: &Tree, sink: &mut Sink<'_>) {
    // The first array of each length, by group and name.
    let mut lengths: BTreeMap<(NodePath, &str), BTreeMap<u64, &NodePath>> = BTreeMap::new();
    for array in &tree.arrays {
        let Some(group) = array.path.parent() else { continue };
        let names = array.metadata.dimension_names.iter().flatten();
        for (name, &len) in names.zip(&array.metadata.shape) {
            let Some(name) = name.as_deref().filter(|name| !name.is_empty()) else { continue };
            let of_name = lengths.entry((group.clone(), name)).or_default();
            let first = of_name.entry(len).or_insert(&array.path);
            if array.path < **first {
                *first = &array.path;
            }
        }
    }
    for ((group, name), lengths) in lengths {
        let has_levels = tree.nodes.get(&group).is_some_and(|group| group.has_levels);
        if lengths.len() < 2 || has_levels {
            continue;
        }
        let more = lengths.len().saturating_sub(MOST_NAMED);
        let found = lengths.iter().take(MOST_NAMED);
        let mut found: Vec<String> = found.map(|(len, path)| format!("{len} in {path}")).collect();
        if more > 0 {
            found.push(format!("{more} other lengths"));
        }
        let what = format!("dimension `{name}` has several lengths: {}", found.join(", "));
        sink.add(Problem::new(&group, ProblemKind::DimensionLengths, what));
    }
}
