//! Checks what only netCDF's documents say: dimensions and the lists of variables and groups.

use std::sync::Arc;

use zarr_core::store::Store;
use zarr_core::{ErrorKind, Hierarchy, MetadataError, NodeKind};
use zarr_nczarr::{Dataset, DatasetOptions};

use super::problem::{Problem, ProblemKind};
use super::tree::{FoundNode, Tree};
use super::{Context, Sink};

/// Reports the first thing that keeps a dataset of NCZarr's from being opened as one, where its documents are otherwise sound.
pub(super) fn check(
    context: &Context<'_>,
    store: &Arc<dyn Store>,
    tree: &Tree,
    sink: &mut Sink<'_>,
) {
    let is_broken = |node: &FoundNode| {
        node.kind.is_none() || node.kind == Some(NodeKind::Array) && node.array.is_none()
    };
    if !context.path.is_root() || tree.nodes.values().any(is_broken) {
        return;
    }
    let is_nczarr = Hierarchy::open(store.clone(), context.open)
        .is_ok_and(|hierarchy| Dataset::is_nczarr(&hierarchy));
    if !is_nczarr {
        return;
    }
    let error = match Dataset::open(store.clone(), &DatasetOptions::of(context.open.clone())) {
        Err(error) if error.kind() == ErrorKind::InvalidMetadata => error,
        Err(error) if error.kind() == ErrorKind::NotFound => error,
        _ => return,
    };
    let path = error.path().unwrap_or(&context.path);
    let (kind, clause) = match error.cause() {
        zarr_core::Cause::Metadata(MetadataError::Invalid { member, .. })
            if ["_nczarr_array", "_ARRAY_DIMENSIONS", "shape"].contains(&member.as_str()) =>
        {
            (ProblemKind::NczarrDimensions, "N-014")
        }
        _ => (ProblemKind::NczarrMetadata, "N-032"),
    };
    let key = tree.nodes.get(path).and_then(|node| node.documents.first());
    let key = error.key().or(key).map_or(String::new(), ToString::to_string);
    let what = error.cause().to_string();
    sink.add(Problem::new(path, kind, what).at(key).by(clause));
}
