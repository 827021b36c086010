//! Finds documents in consolidated metadata, for those that are lost or broken.

use std::collections::{BTreeMap, BTreeSet};

use zarr_core::format::Format;
use zarr_core::store::{GetOptions, StoreKey, SyncStore};
use zarr_core::{Dialect, Json, NodePath, Object};

/// The member of a v3 group's document that has copies.
const INLINE: &str = "consolidated_metadata";

/// A copy of a document.
#[derive(Clone, Debug)]
pub(super) struct Copy {
    pub document: Vec<u8>,
    /// The key of the consolidated metadata.
    pub holder: String,
}

/// The key of a group's consolidated metadata.
pub(super) fn holder(format: &dyn Format, path: &NodePath) -> Option<StoreKey> {
    match format.dialect() {
        Dialect::V3 => format.children_prefix(path).ok()?.key("zarr.json").ok(),
        Dialect::V2 => format.children_prefix(path).ok()?.key(".zmetadata").ok(),
        _ if path.is_root() => StoreKey::new("meta/root/consolidated/.zmetadata").ok(),
        _ => None,
    }
}

/// The documents of which these groups have copies, by their keys; where several have one, that of the group that sorts first, which is
/// the outermost. Copies that cannot be read count as none; those of a form that is not known do count.
pub(super) fn copies(
    store: &dyn SyncStore,
    format: &dyn Format,
    groups: &BTreeSet<NodePath>,
    limit: u64,
) -> BTreeMap<String, Copy> {
    let mut all = BTreeMap::new();
    for group in groups {
        let Some(holder) = holder(format, group) else { continue };
        let got = store.get(&holder, GetOptions::at_most(limit)).ok().flatten();
        let parsed = got.and_then(|got| Json::parse_tolerant(&got.bytes?).ok());
        let Some((Json::Object(whole), _)) = parsed else { continue };
        let folder = match format.children_prefix(group) {
            Ok(prefix) if format.tree_prefix().is_none() => prefix.as_str().to_owned(),
            _ => String::new(),
        };
        let mut found = BTreeMap::new();
        if format.dialect() == Dialect::V3 {
            inline(&whole, &folder, &mut found);
        } else if let Some(entries) = whole.get("metadata").and_then(Json::as_object) {
            for (key, copy) in entries.iter() {
                found.insert(format!("{folder}{key}"), text(copy));
            }
        }
        for (key, document) in found {
            let holder = holder.to_string();
            all.entry(key).or_insert(Copy { document, holder });
        }
    }
    all
}

/// The copies in the document of a v3 group, and those in the copies of groups.
fn inline(document: &Object, folder: &str, found: &mut BTreeMap<String, Vec<u8>>) {
    let entries = document.get(INLINE).and_then(Json::as_object);
    let entries = entries.and_then(|inline| inline.get("metadata")).and_then(Json::as_object);
    for (path, copy) in entries.into_iter().flat_map(Object::iter) {
        let below = format!("{folder}{path}/");
        let mut own = copy.clone();
        if let Json::Object(copy) = &mut own {
            inline(copy, &below, found);
            // Of a group's copy, readers would take these for all that is in it.
            copy.remove(INLINE);
        }
        found.entry(format!("{below}zarr.json")).or_insert_with(|| text(&own));
    }
}

fn text(json: &Json) -> Vec<u8> {
    format!("{json}\n").into_bytes()
}
