//! Checks what only netCDF's documents say: dimensions and the lists of variables and groups.

use std::sync::Arc;

use zarr_core::store::Store;
use zarr_core::{ErrorKind, Hierarchy, NodeKind, NodePath};
use zarr_nczarr::{Dataset, DatasetOptions};

use super::problem::{Problem, ProblemKind};
use super::tree::Tree;
use super::{Context, Sink};

/// Reports what keeps a dataset of NCZarr's from being opened as one, and each of its variables, where their documents are
/// otherwise sound.
pub(super) fn check(
    context: &Context<'_>,
    store: &Arc<dyn Store>,
    tree: &Tree,
    sink: &mut Sink<'_>,
) {
    let has_broken = tree.nodes.values().any(|node| {
        node.kind.is_none() || node.kind == Some(NodeKind::Array) && node.array.is_none()
    });
    if !context.path.is_root() || has_broken {
        return;
    }
    let is_nczarr = Hierarchy::open(store.clone(), context.open)
        .is_ok_and(|hierarchy| Dataset::is_nczarr(&hierarchy));
    if !is_nczarr {
        return;
    }
    // A variable that cannot be one is set apart, with the reason; the rest is read.
    let dataset = match Dataset::open(store.clone(), &DatasetOptions::of(context.open.clone())) {
        Ok(dataset) => dataset,
        Err(error) => {
            let is_of_documents = [ErrorKind::InvalidMetadata, ErrorKind::NotFound];
            if is_of_documents.contains(&error.kind()) {
                let path = error.path().unwrap_or(&context.path);
                let what = error.cause().to_string();
                sink.add(problem(tree, path, error.key().map(ToString::to_string), what));
            }
            return;
        }
    };
    let schema = dataset.schema();
    let mut groups = vec![(NodePath::root(), &*schema)];
    while let Some((path, group)) = groups.pop() {
        for opaque in &group.opaque {
            let Ok(path) = path.child(&opaque.name) else { continue };
            let what = opaque.why.strip_prefix(&format!("{path}: ")).unwrap_or(&opaque.why);
            // What this build cannot read is reported with its document.
            if MEMBERS.iter().any(|member| what.contains(member)) || !tree.nodes.contains_key(&path)
            {
                sink.add(problem(tree, &path, None, what.to_owned()));
            }
        }
        for below in &group.groups {
            groups.extend(path.child(&below.name).map(|path| (path, below)));
        }
    }
}

/// The members in which the documents of NCZarr say more than those of Zarr.
const MEMBERS: [&str; 3] = ["`_nczarr_array`", "`_ARRAY_DIMENSIONS`", "`_FillValue`"];

/// A problem of dimensions, or of something else.
fn problem(tree: &Tree, path: &NodePath, key: Option<String>, what: String) -> Problem {
    let is_of_dimensions = MEMBERS[..2].iter().any(|member| what.contains(member));
    let (kind, clause) = if is_of_dimensions {
        (ProblemKind::NczarrDimensions, "N-014")
    } else {
        (ProblemKind::NczarrMetadata, "N-032")
    };
    let key = key
        .or_else(|| tree.nodes.get(path)?.documents.last().map(ToString::to_string))
        .unwrap_or_default();
    Problem::new(path, kind, what).at(key).by(clause)
}
