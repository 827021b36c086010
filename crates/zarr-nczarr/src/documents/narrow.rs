//! Opens what netcdf-c wrote before 4.9.1 as plain Zarr: its documents say `<U1` of characters, and a chunk holds one byte
//! for each (N-081).

use std::sync::{Arc, OnceLock};

use zarr_core::{Dialect, Node, NodePath, OpenOptions};

use crate::documents::format::NcFormat;
use crate::documents::load::is_narrow_u1;
use crate::model::options::Conventions;

/// How the hierarchy of `node` has to be opened so that characters of netcdf-c 4.8 and 4.9.0 are one byte each; `None` if
/// no such characters are known of it. `options` are those that it was opened with.
///
/// Of an array with another data type, and in other dialects, nothing is read.
pub fn narrow_characters(node: &Node, options: &OpenOptions) -> Option<OpenOptions> {
    if node.hierarchy().dialect() != Dialect::V2 || !may_be_narrow(node) {
        return None;
    }
    let conventions = Arc::new(OnceLock::from(Conventions { nczarr: false, narrow_u1: true }));
    Some(
        options.clone().wrap_format(move |inner| {
            Arc::new(NcFormat { inner, conventions: conventions.clone() })
        }),
    )
}

/// Whether the node is or may hold such an array.
fn may_be_narrow(node: &Node) -> bool {
    if let Node::Array(array) = node {
        let metadata = array.metadata();
        let declared = metadata.declared_type.as_str().unwrap_or_default();
        if declared.trim_start_matches(['<', '>', '|']) != "U1" {
            return false;
        }
        // The document of that era says who wrote it.
        if metadata.unknown.contains("_NCZARR_ARRAY") {
            return true;
        }
    }
    let read;
    let root = match node {
        Node::Group(group) if node.path().is_root() => group,
        _ => {
            let Ok(Node::Group(group)) = node.hierarchy().node(NodePath::root()) else {
                return false;
            };
            read = group;
            &read
        }
    };
    is_narrow_u1(root.attributes())
}
