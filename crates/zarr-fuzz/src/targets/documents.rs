//! Documents of hierarchies, in every dialect: opening, listing and reading ends in an answer or an error, and what is
//! written of an answer is read as the same.

use zarr::format::{Format, Reading, of_dialect};
use zarr::store::StoreKey;
use zarr::{
    Array, ArrayMetadata, Consolidated, Dialect, Era, Hierarchy, Json, Node, NodeMetadata,
    NodePath, OpenOptions, Region, Selection, Strictness, steps,
};

use crate::driver::{note, noted};
use crate::input;

/// Nodes of one hierarchy that are looked at.
const MOST_NODES: usize = 24;
/// Elements that are read at once.
const MOST_ELEMENTS: u64 = 4096;
/// Bytes of them, unless it is one element: each may have 16 MiB.
const MAX_READ_BYTES: u64 = 1 << 20;

/// Documents of final v3; an input of one file is `zarr.json` of the root.
pub fn v3(data: &[u8]) {
    hierarchy(&input::files(data, "zarr.json"), Consolidated::Ignore);
}

/// Documents of v2; an input of one file is `.zarray` of the root.
pub fn v2(data: &[u8]) {
    hierarchy(&input::files(data, ".zarray"), Consolidated::Ignore);
}

/// Documents of the drafts; an input of one file is that of an array `/a` of 2020, and the hierarchy has an entry point.
pub fn draft(data: &[u8]) {
    const CORE: &str = "https://purl.org/zarr/spec/protocol/core/3.0";
    let entry = format!(
        r#"{{"zarr_format":"{CORE}","metadata_encoding":"{CORE}","metadata_key_suffix":".json","extensions":[]}}"#
    );
    let mut files = input::files(data, "meta/root/a.array.json");
    if !files.iter().any(|(key, _)| *key == "zarr.json") && !data.len().is_multiple_of(8) {
        files.push(("zarr.json", entry.as_bytes()));
    }
    hierarchy(&files, Consolidated::Ignore);
}

/// Copies of documents: `.zmetadata` of v2, and `zarr.json` of a group of v3.
pub fn consolidated(data: &[u8]) {
    let is_v3 = data.windows(9).any(|word| word == b"node_type");
    let files = input::files(data, if is_v3 { "zarr.json" } else { ".zmetadata" });
    hierarchy(&files, Consolidated::IfFound);
    hierarchy(&files, Consolidated::Check);
    for usual in [Consolidated::Use, Consolidated::At(key("metadata/copies"))] {
        hierarchy(&files, usual);
    }
}

fn key(text: &str) -> StoreKey {
    StoreKey::new(text).expect("a good key")
}

/// What a reader does, tolerant and strict.
fn hierarchy(files: &[(&str, &[u8])], consolidated: Consolidated) {
    let store = input::store(files);
    let tolerant = input::options().consolidated(consolidated);
    let found = Hierarchy::open(store.clone(), &tolerant);
    let Some(hierarchy) = noted(found) else { return };
    look_at(&hierarchy, &tolerant);
    if let Ok(hierarchy) = Hierarchy::open(store, &tolerant.clone().strict()) {
        let _ = noted(hierarchy.nodes(NodePath::root()));
    }
}

/// Lists and opens every node, and reads arrays.
pub fn look_at(hierarchy: &Hierarchy, options: &OpenOptions) {
    let root = NodePath::root();
    let _ = hierarchy.children(&root);
    let tree = hierarchy.tree(&root).unwrap_or_default();
    for child in tree.iter().take(MOST_NODES) {
        let Some(node) = noted(hierarchy.node(&child.path)) else { continue };
        if let Node::Array(array) = &node {
            read(array);
        }
        written_again(hierarchy, &node, options);
    }
    let _ = hierarchy.nodes(&root);
    let _ = hierarchy.check_consolidated();
    let _ = hierarchy.foreign_keys(&root);
    hierarchy.warnings().iter().for_each(note);
}

fn element_size(array: &Array) -> u64 {
    array.metadata().fill_value.as_ref().map_or(0, |fill| fill.as_bytes().len()) as u64
}

/// Reads corners of an array.
pub fn read(array: &Array) {
    let shape = array.shape();
    let _ = (array.len(), array.chunk_shape(), array.shard_shape(), array.fill_value());
    let mut room = MOST_ELEMENTS.min(MAX_READ_BYTES / element_size(array).max(1)).max(1);
    let mut corner = |from_end: bool| {
        Region::new(shape.iter().map(|&len| {
            let most = len.min(3).min(room.max(1));
            room /= most.max(1);
            if from_end { len - most..len } else { 0..most }
        }))
    };
    let (first, last) = (corner(false), corner(true));
    for region in [first.clone(), last] {
        let _ = noted(array.read_le_bytes(&region));
    }
    let backwards = first.shape().into_iter().map(|len| steps(0..len, -1));
    let _ = array.read_le_bytes(Selection::outer(backwards));
}

/// What the format writes of a node is read as the same node, and written in the same way again.
fn written_again(hierarchy: &Hierarchy, node: &Node, options: &OpenOptions) {
    if hierarchy.era().is_some_and(|era| era < Era::E4) {
        return;
    }
    let metadata = match node {
        // Its fill value is larger than a document may be.
        Node::Array(array) if element_size(array) > MAX_READ_BYTES => return,
        Node::Array(array) => NodeMetadata::Array(Box::new((*array.metadata()).clone())),
        Node::Group(group) => NodeMetadata::Group(group.metadata().clone()),
    };
    let format = of_dialect(hierarchy.dialect());
    let path = NodePath::new("/a").expect("a good path");
    let Ok(written) = format.create(&path, &metadata) else { return };
    let again = parse(&*format, &path, &written, options);
    let text = || text_of(&written);
    let again = again.unwrap_or_else(|error| panic!("not read again: {error}\n{}", text()));
    same(&metadata, &again, hierarchy.dialect(), &text);
    let twice = format.create(&path, &again);
    let twice = twice.unwrap_or_else(|error| panic!("not written again: {error}\n{}", text()));
    assert_eq!(text_of(&twice), text(), "written in another way");
}

fn text_of(documents: &[(StoreKey, zarr::store::Bytes)]) -> String {
    let lines = documents.iter().map(|(key, value)| {
        format!("{key}: {}\n", String::from_utf8_lossy(value).replace(char::is_whitespace, ""))
    });
    lines.collect()
}

fn parse(
    format: &dyn Format,
    path: &NodePath,
    documents: &zarr::format::Documents,
    options: &OpenOptions,
) -> Result<NodeMetadata, String> {
    let mut reading = Reading::new(&options.registry, Strictness::Tolerant);
    reading.limits = options.options.limits;
    let found = format.parse(path, documents, &mut reading).map_err(|e| e.to_string())?;
    found.ok_or_else(|| "no node".to_owned())
}

fn same(was: &NodeMetadata, is: &NodeMetadata, dialect: Dialect, text: &dyn Fn() -> String) {
    assert_eq!(was.attributes(), is.attributes(), "attributes: {}", text());
    let (NodeMetadata::Array(was), NodeMetadata::Array(is)) = (was, is) else {
        assert_eq!(was.kind(), is.kind(), "{}", text());
        return;
    };
    assert_eq!(was.shape, is.shape, "{}", text());
    assert_eq!(was.data_type.to_string(), is.data_type.to_string(), "{}", text());
    assert_eq!(was.fill_value, is.fill_value, "fill value: {}", text());
    assert_eq!(was.dimension_names, is.dimension_names, "{}", text());
    assert_eq!(grid_of(was, dialect), grid_of(is, dialect), "chunk grid: {}", text());
    let index = vec![1; was.shape.len()];
    assert_eq!(was.chunk_keys.key(&index), is.chunk_keys.key(&index), "{}", text());
}

fn grid_of(array: &ArrayMetadata, dialect: Dialect) -> Option<Json> {
    array.grid.as_ref().and_then(|grid| grid.to_metadata(dialect))
}

/// A hierarchy of one array, to be read and written.
///
/// # Errors
/// When it is none.
pub fn array(key: &str, document: &str) -> zarr::Result<Array> {
    let store = input::store(&[(key, document.as_bytes())]);
    let options = input::options().consolidated(Consolidated::Ignore).read_write();
    Hierarchy::open(store, &options)?.array(NodePath::root())
}
