//! Checks the names of nodes: those that no node may have, and those that collide where case is ignored.

use std::collections::BTreeMap;

use zarr_core::{Dialect, NodePath};

use super::inventory::Inventory;
use super::problem::{Problem, ProblemKind};
use super::tree::Tree;
use super::{Context, Sink};

/// Reports names that break the rules of the dialect, names of the store of which no key can be made, and collisions.
pub(super) fn check(
    context: &Context<'_>,
    inventory: &Inventory,
    tree: &Tree,
    sink: &mut Sink<'_>,
) {
    for name in &inventory.left_out {
        let what = "no key can have this name, so that no reader reaches it";
        sink.add(Problem::new(&context.path, ProblemKind::InvalidName, what).at(name));
    }
    for what in context.store.warnings() {
        sink.add(if context.is_made {
            // A type, a link or a name of HDF5, say, of which nothing is wrong.
            Problem::new(&context.path, ProblemKind::NotChecked, what)
                .advise("no action is needed, unless you need this: then read it with the tools of the file's format")
        } else {
            Problem::new(&context.path, ProblemKind::InvalidName, what)
        });
    }
    let clause = match context.format.dialect() {
        Dialect::V3 => "F-020",
        Dialect::V2 => "Z2-002",
        _ => "D-011",
    };
    // The first node of each place, whose name is in lower case.
    let mut folded: BTreeMap<String, &NodePath> = BTreeMap::new();
    for path in tree.nodes.keys() {
        if let Some(name) = path.name()
            && let Err(e) = context.format.check_name(name)
        {
            let problem = Problem::new(path, ProblemKind::InvalidName, e.to_string());
            sink.add(problem.at(first_document(tree, path)).by(clause));
        }
        let lower = path.as_str().to_lowercase();
        match folded.get(&lower) {
            Some(other) => {
                let what =
                    format!("collides with {other} on disks that ignore upper and lower case");
                sink.add(
                    Problem::new(path, ProblemKind::CaseCollision, what)
                        .at(first_document(tree, path)),
                );
            }
            None => drop(folded.insert(lower, path)),
        }
    }
}

/// The first document of a node.
fn first_document(tree: &Tree, path: &NodePath) -> String {
    let documents = tree.nodes.get(path).map(|node| &node.documents);
    documents.and_then(|documents| documents.first()).map_or(String::new(), |key| key.to_string())
}
