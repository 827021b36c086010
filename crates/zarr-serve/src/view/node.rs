//! Describes one node as v3.

use std::sync::Arc;

use zarr::codec::CodecSpec;
use zarr::store::{Bytes, from_sync};
use zarr::stores::MemoryStore;
use zarr::tools::{CopyOptions, NodeCopy, node_copy};
use zarr::{
    Array, ArrayMetadata, Dialect, ErrorKind, Hierarchy, Json, Node, Object, OpenOptions, Result,
};

use crate::Served;

/// What an array is encoded with where its own codecs are none of v3's readers.
const CODEC: &str = "zstd";
/// The codecs that readers of v3 have: those of the specification and its registry that all of zarr-python, tensorstore, zarrita
/// and zarrs read.
const KNOWN: [&str; 9] = [
    "bytes",
    "transpose",
    "gzip",
    "zstd",
    "blosc",
    "crc32c",
    "sharding_indexed",
    "vlen-utf8",
    "vlen-bytes",
];

/// A node as v3.
pub(crate) enum Shown {
    /// A group with this document.
    Group(Bytes),
    Array(Arc<ShownArray>),
    /// A node that v3 cannot represent, and why.
    Cannot(String),
}

/// An array as v3.
pub(crate) struct ShownArray {
    /// The array itself.
    pub source: Array,
    /// What it is in v3.
    pub metadata: ArrayMetadata,
    pub document: Bytes,
    /// Whether stored chunks are those of v3, to the byte.
    pub is_stored: bool,
    /// Whether chunks that were never stored must be made: v3's fill value is another one.
    pub fills_holes: bool,
}

impl Shown {
    /// Bytes of memory that it takes, about.
    pub fn size(&self) -> u64 {
        const BESIDES: u64 = 1 << 10;
        BESIDES
            + match self {
                Shown::Group(document) => document.len() as u64,
                // The document, and what was read of it and of the one that is stored.
                Shown::Array(array) => 3 * array.document.len() as u64,
                Shown::Cannot(why) => why.len() as u64,
            }
    }
}

impl ShownArray {
    /// The indices of the chunk whose key, behind the array's path, is this; nothing for other keys.
    pub fn indices(&self, name: &str) -> Option<Vec<u64>> {
        let indices = self.metadata.chunk_keys.parse(name, self.metadata.rank())?;
        indices.into_iter().map(|index| u64::try_from(index).ok()).collect()
    }
}

/// Options for what is made in memory, with the registry and the limits of others.
pub(crate) fn writing(options: &OpenOptions) -> OpenOptions {
    OpenOptions::new(options.registry.clone()).limits(options.options.limits).read_write()
}

/// A hierarchy of v3 of which only the rules count.
pub(crate) fn rules(options: &OpenOptions) -> Hierarchy {
    let store = from_sync(MemoryStore::new());
    Hierarchy::of_format(store, zarr::format::of_dialect(Dialect::V3), &writing(options))
}

/// A node of a hierarchy as v3.
///
/// # Errors
/// What kept a document from being read.
pub(crate) fn shown(node: &Node, served: &Served) -> Result<Shown> {
    let target = rules(served.options());
    let group = node.path().parent().filter(|_| {
        node.as_array()
            .is_some_and(|array| array.rank() == 0 && node.hierarchy().dialect() == Dialect::V3)
    });
    let others = match group {
        // Its neighbours tell what it is.
        Some(group) => {
            let children = node.hierarchy().children(&group)?;
            let nodes = children.iter().map(|child| node.hierarchy().node(&child.path));
            nodes.filter_map(Result::ok).collect()
        }
        None => vec![node.clone()],
    };
    let as_copied = |codecs: Option<Vec<String>>| {
        node_copy(node, &others, &target, &CopyOptions { codecs, ..CopyOptions::default() })
    };
    let plain = as_copied(None);
    let is_known =
        |copy: &NodeCopy| copy.metadata.as_ref().is_none_or(|it| it.codecs.iter().all(is_known));
    let recoded = match &plain {
        Ok(copy) if is_known(copy) => None,
        Err(e) if !is_obstacle(e) => None,
        _ => as_copied(Some(vec![CODEC.to_owned()])).ok().filter(is_known),
    };
    let is_stored = recoded.is_none();
    let copy = match recoded.map_or(plain, Ok) {
        Ok(copy) => copy,
        Err(e) if is_obstacle(&e) => {
            let hint = e.hint().map_or(String::new(), |hint| format!("; {hint}"));
            return Ok(Shown::Cannot(format!("{}{hint}", e.cause())));
        }
        Err(e) => return Err(e),
    };
    let Some((_, document)) = copy.documents.into_iter().next() else {
        return Ok(Shown::Cannot("v3 has no document for it".into()));
    };
    let (Node::Array(source), Some(metadata)) = (node, copy.metadata) else {
        return Ok(Shown::Group(document));
    };
    let stored = source.metadata();
    let fills_holes = !copy.leaves_holes && metadata.fill_bytes() != stored.fill_bytes();
    let dialects = (source.hierarchy().dialect(), Dialect::V3);
    let is_stored = is_stored
        && zarr::tools::stored_difference(&stored, &metadata, dialects, target.registry())
            .is_none();
    let source = source.clone();
    Ok(Shown::Array(Arc::new(ShownArray { source, metadata, document, is_stored, fills_holes })))
}

/// Whether an error says what the node is, not that it could not be read.
fn is_obstacle(error: &zarr::Error) -> bool {
    matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::Argument)
}

/// Whether every reader of v3 has this codec, and those inside.
fn is_known(codec: &CodecSpec) -> bool {
    let inner = ["codecs", "index_codecs"].iter().filter_map(|name| codec.configuration.get(name));
    let mut inner = inner.filter_map(Json::as_array).flatten();
    KNOWN.contains(&codec.name.as_str())
        && inner.all(|json| CodecSpec::from_v3(json).is_some_and(|codec| is_known(&codec)))
}

/// The document of a group of v3 without attributes.
pub(crate) fn empty_group() -> Bytes {
    let group = Object::new().with("zarr_format", 3u64).with("node_type", "group");
    Json::from(group).to_string().into_bytes().into()
}
