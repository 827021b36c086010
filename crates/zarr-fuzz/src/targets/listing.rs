//! Names in a store's listing: none makes a reader panic, leave the hierarchy or see a node twice.

use std::collections::BTreeSet;

use zarr::{Dialect, Hierarchy, NodePath};

use super::documents;
use crate::input;

const V3_ARRAY: &str = r#"{"zarr_format":3,"node_type":"array","shape":[4],"data_type":"uint8","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},"chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":["bytes"]}"#;
const V2_ARRAY: &str = r#"{"zarr_format":2,"shape":[4],"chunks":[2],"dtype":"|u1","compressor":null,"fill_value":0,"order":"C","filters":null}"#;
const DRAFT_ARRAY: &str = r#"{"shape":[4],"data_type":"|u1","chunk_grid":{"type":"regular","chunk_shape":[2],"separator":"/"},"chunk_memory_layout":"C","fill_value":0,"extensions":[],"attributes":{}}"#;
const ENTRY: &str = r#"{"zarr_format":"https://purl.org/zarr/spec/protocol/core/3.0","metadata_encoding":"https://purl.org/zarr/spec/protocol/core/3.0","metadata_key_suffix":".json","extensions":[]}"#;

/// What a key holds, by its name.
fn value(key: &str) -> &'static str {
    match key.rsplit('/').next().unwrap_or_default() {
        "zarr.json" if key == "zarr.json" => r#"{"zarr_format":3,"node_type":"group"}"#,
        "zarr.json" if key.len().is_multiple_of(3) => r#"{"zarr_format":3,"node_type":"group"}"#,
        "zarr.json" => V3_ARRAY,
        ".zgroup" => r#"{"zarr_format":2}"#,
        ".zarray" => V2_ARRAY,
        ".zattrs" => "{}",
        name if name.ends_with(".array.json") => DRAFT_ARRAY,
        name if name.ends_with(".group.json") => r#"{"extensions":[],"attributes":{}}"#,
        _ => "",
    }
}

/// Keys, one a line.
pub fn listing(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let keys: Vec<&str> = text.lines().take(64).collect();
    let files = || keys.iter().map(|&key| (key, value(key).as_bytes()));
    for (dialect, entry) in [
        (Dialect::V3, ("zarr.json", value("zarr.json"))),
        (Dialect::V2, (".zgroup", value(".zgroup"))),
        (Dialect::Draft, ("zarr.json", ENTRY)),
    ] {
        let files: Vec<(&str, &[u8])> = files().chain([(entry.0, entry.1.as_bytes())]).collect();
        let options = input::options().dialect(dialect);
        let hierarchy = Hierarchy::open(input::store(&files), &options).expect("the root is there");
        documents::look_at(&hierarchy, &options);
        let children = hierarchy.children(NodePath::root()).expect("memory lists");
        let names: BTreeSet<&str> = children.iter().map(|child| child.path.as_str()).collect();
        assert_eq!(names.len(), children.len(), "a child is there twice: {children:?}");
        for child in &children {
            assert_eq!(child.path.parent(), Some(NodePath::root()), "{child:?}");
            assert!(!child.path.names().any(|name| matches!(name, "" | "." | "..")), "{child:?}");
        }
        let tree = hierarchy.tree(NodePath::root()).expect("memory lists");
        let tree: BTreeSet<&str> = tree.iter().map(|child| child.path.as_str()).collect();
        // Of a draft, children may be folders without a document.
        assert!(
            dialect == Dialect::Draft || names.is_subset(&tree),
            "{names:?} are not all in {tree:?}"
        );
    }
}
