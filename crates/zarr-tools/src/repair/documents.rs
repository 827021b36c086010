//! Finds documents in consolidated metadata, for those that are lost or broken.

use std::collections::BTreeMap;

use zarr_core::store::{GetOptions, StoreKey, SyncStore};
use zarr_core::{Dialect, Json, Object};

/// The member of a v3 group's document that has copies.
const INLINE: &str = "consolidated_metadata";

/// The documents of which the root has copies, by their keys. Copies that cannot be read count as none.
pub(super) fn copies(
    store: &dyn SyncStore,
    dialect: Dialect,
    limit: u64,
) -> BTreeMap<String, Vec<u8>> {
    let holder = match dialect {
        Dialect::V3 => "zarr.json",
        Dialect::V2 => ".zmetadata",
        _ => "meta/root/consolidated/.zmetadata",
    };
    let mut found = BTreeMap::new();
    let got = StoreKey::new(holder).ok().and_then(|key| {
        let got = store.get(&key, GetOptions::at_most(limit)).ok()??;
        Json::parse_tolerant(&got.bytes?).ok()
    });
    let Some((Json::Object(whole), _)) = got else { return found };
    if dialect == Dialect::V3 {
        inline(&whole, "", &mut found);
    } else if let Some(entries) = whole.get("metadata").and_then(Json::as_object) {
        for (key, copy) in entries.iter() {
            found.insert(key.to_owned(), text(copy));
        }
    }
    found
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
