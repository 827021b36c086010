//! Finds nodes by the keys that are stored.

use super::interface::{Child, Documents};
use super::names::TOOL_FOLDERS;
use crate::error::StoreError;
use crate::metadata::NodeKind;
use crate::path::NodePath;
use crate::store::{Listing, StoreKey, StorePrefix};

/// The kind whose document is there, the first of them deciding.
pub(super) fn kind_by_key<const N: usize>(
    kinds: [(Result<StoreKey, StoreError>, NodeKind); N],
    found: &Documents,
) -> Option<NodeKind> {
    for (key, kind) in kinds {
        if let Ok(key) = key
            && found.iter().any(|(there, _)| *there == key)
        {
            return Some(kind);
        }
    }
    None
}

/// The possible children that the prefixes show; their documents decide (F-113, Z2-005). Reserved names are noted and
/// left out (F-020); the folders of tools are left out.
pub(super) fn supposed_children(
    path: &NodePath,
    listing: &Listing,
    reserved: &str,
    warnings: &mut Vec<String>,
) -> Vec<Child> {
    let mut children = Vec::new();
    let names = listing.prefixes.iter().map(StorePrefix::name);
    for name in names.filter(|name| !TOOL_FOLDERS.contains(name)) {
        match path.child(name) {
            Ok(path) if !name.starts_with(reserved) => {
                children.push(Child { path, kind: None, implicit: false });
            }
            _ => warnings.push(format!("skipped `{name}`: it is not a valid node name")),
        }
    }
    children
}
