//! All nodes of a hierarchy as v3: consolidated metadata, and what v3 cannot represent.

use std::collections::BTreeMap;

use zarr::runtime::block_on;
use zarr::store::{Bytes, GetOptions, Listing, Payload, Precondition, StoreKey, StorePrefix};
use zarr::{AccessError, Hierarchy, Node, NodePath, Result};

use super::node::{Shown, rules, shown, writing};
use crate::Served;
use crate::listing::Entry;

/// How many nodes get consolidated metadata, and how many are listed.
const MOST_NODES: usize = 10_000;
/// Bytes that a node takes besides its path.
const PER_NODE: usize = 100;
/// How many chunks are listed.
const MOST_CHUNKS: usize = 100_000;

/// A whole hierarchy.
pub(crate) struct Tree {
    /// The root's document, with consolidated metadata unless there are too many nodes.
    pub root: Bytes,
    /// The nodes, each with the reason why it cannot be shown, if so.
    nodes: BTreeMap<NodePath, Option<String>>,
}

impl Tree {
    /// The hierarchy as it is now; with consolidated metadata if they have at most `most_bytes`.
    ///
    /// # Errors
    /// When it cannot be listed.
    pub fn of(served: &Served, most_bytes: usize) -> Result<Tree> {
        let hierarchy = served.hierarchy()?;
        let children = hierarchy.tree(NodePath::root())?;
        let mut nodes = BTreeMap::new();
        let mut documents = BTreeMap::new();
        let mut bytes = 0;
        if children.len() > MOST_NODES {
            nodes.extend(children.into_iter().map(|child| (child.path, None)));
            let root = hierarchy.node(NodePath::root())?;
            add(&mut documents, &root, served);
        } else {
            for child in children {
                let why = match hierarchy.node(&child.path) {
                    Ok(node) => add(&mut documents, &node, served),
                    Err(e) => Some(e.cause().to_string()),
                };
                bytes += documents.get(&child.path).map_or(0, Bytes::len);
                if bytes > most_bytes {
                    // Only what becomes of each node is of use now.
                    documents.retain(|path: &NodePath, _| path.is_root());
                }
                nodes.insert(child.path, why);
            }
        }
        let root = NodePath::root();
        let plain = documents.get(&root).cloned().unwrap_or_else(super::node::empty_group);
        let is_small = documents.len() > 1 && bytes <= most_bytes;
        let whole = is_small.then(|| consolidated(served, &documents));
        Ok(Tree { root: whole.and_then(Result::ok).unwrap_or(plain), nodes })
    }

    /// Bytes of memory that it takes, about.
    pub fn size(&self) -> u64 {
        let of_nodes = self.nodes.iter().map(|(path, why)| {
            PER_NODE + path.as_str().len() + why.as_ref().map_or(0, String::len)
        });
        (self.root.len() + of_nodes.sum::<usize>()) as u64
    }

    /// What is directly below a prefix.
    ///
    /// # Errors
    /// When an array's chunks cannot be listed.
    pub fn entries(&self, shown: &Shown, path: &NodePath, below: &str) -> Result<Vec<Entry>> {
        let document = below.is_empty().then(|| Entry::key("zarr.json"));
        if let Shown::Array(array) = shown {
            let mut keys = chunks(array)?;
            keys.sort();
            let listing = Listing::fold(&StorePrefix::new(below)?, keys);
            return Ok(Entry::of(listing).into_iter().chain(document).collect());
        }
        let children = self.nodes.iter().filter(|(child, _)| child.parent().as_ref() == Some(path));
        Ok(children
            .map(|(child, why)| {
                let name = child.as_str().rsplit('/').next().unwrap_or_default();
                Entry {
                    note: why.as_ref().map(|why| format!("not in v3: {why}")),
                    ..Entry::folder(name)
                }
            })
            .chain(document)
            .collect())
    }
}

/// Adds a node's document; returns why it has none.
fn add(documents: &mut BTreeMap<NodePath, Bytes>, node: &Node, served: &Served) -> Option<String> {
    match shown(node, served) {
        Ok(Shown::Group(document)) => documents.insert(node.path().clone(), document),
        Ok(Shown::Array(array)) => documents.insert(node.path().clone(), array.document.clone()),
        Ok(Shown::Cannot(why)) => return Some(why),
        Err(e) => return Some(e.cause().to_string()),
    };
    None
}

/// The root's document with copies of all others, as any writer of v3 consolidates them.
fn consolidated(served: &Served, documents: &BTreeMap<NodePath, Bytes>) -> Result<Bytes> {
    let options = writing(served.options());
    let store = rules(&options).store().clone();
    let root = StoreKey::new("zarr.json")?;
    for (path, document) in documents {
        let key = StoreKey::new(format!("{}/zarr.json", path.as_str()).trim_start_matches('/'))?;
        let value = Some(Payload::from(&document[..]));
        block_on(store.put(&key, value, Precondition::Always))?;
    }
    let hierarchy = Hierarchy::open(store.clone(), &options)?;
    hierarchy.consolidate()?;
    let got = block_on(store.get(&root, GetOptions::default()))?;
    Ok(got
        .and_then(|got| got.bytes)
        .ok_or_else(|| AccessError::NotFound { looked_for: root.to_string() })?)
}

/// The keys of an array's chunks, behind its path, as v3 names them.
fn chunks(array: &super::ShownArray) -> Result<Vec<StoreKey>> {
    let source = &array.source;
    let (hierarchy, metadata) = (source.hierarchy(), source.metadata());
    let prefix = hierarchy.format().chunk_prefix(source.path())?;
    let grid = metadata.grid.as_deref();
    let first: Option<Vec<i64>> =
        grid.map(|grid| (0..grid.rank()).map(|axis| grid.span(axis, 0).index).collect());
    let keys = hierarchy.chunk_keys(source.path(), &metadata)?;
    Ok(keys
        .iter()
        .filter_map(|key| {
            let indices = metadata.chunk_keys.parse(prefix.strip(key)?, metadata.rank())?;
            let indices: Vec<i64> =
                indices.iter().zip(first.as_ref()?).map(|(index, first)| index - first).collect();
            StoreKey::new(array.metadata.chunk_keys.key(&indices)).ok()
        })
        .take(MOST_CHUNKS)
        .collect())
}
