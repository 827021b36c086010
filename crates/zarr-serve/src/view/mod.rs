//! Shows a hierarchy of any dialect as final v3.
//!
//! Documents are those that a copy to v3 writes (`zarr::tools::node_copy`), with consolidated metadata at the root (`tree`). Keys of
//! chunks are mapped (`chunk`): where only documents differ, stored bytes are sent; where the codecs are none that readers of v3
//! have, the chunk is decoded and encoded anew (`recode`), and kept in a bounded cache.

mod cache;
mod chunk;
mod node;
mod recode;
mod tree;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use zarr::store::{Bytes, StoreKey};
use zarr::sync::lock;
use zarr::{CancelToken, ErrorKind, NodePath, Result};

use self::cache::Cache;
pub(crate) use self::node::{Shown, ShownArray};
pub(crate) use self::tree::Tree;
use crate::Served;
use crate::budget::{Budget, Refused};
use crate::http::Metrics;
use crate::workers::Workers;

/// How long the description of a node is used.
const FRESH: Duration = Duration::from_secs(1);
/// How many nodes are remembered.
const MOST_NODES: usize = 4_096;
/// Bytes of consolidated metadata at most, and how many times as much memory it takes to make them.
const MOST_BYTES: u64 = 32 << 20;
const COPIES: u64 = 4;
/// How many times as long as it took to read a whole hierarchy its consolidated metadata is used.
const LIFETIME_PER_READING_TIME: u32 = 10;
/// At how many places of a path the key of a chunk is taken to begin, one after the other.
const MOST_STARTS: usize = 16;

/// What all views of a server share.
pub(crate) struct View {
    nodes: Mutex<Nodes>,
    trees: Mutex<Trees>,
    cache: Cache,
    /// Bytes of documents that are remembered, and of consolidated metadata.
    kept: u64,
    /// Memory for decoding.
    pub(super) memory: Budget,
    /// Threads for decoding.
    workers: Workers,
    metrics: Arc<Metrics>,
}

/// What is remembered by name, and its bytes.
type Nodes = (HashMap<(String, NodePath), Known>, u64);
type Trees = (HashMap<String, Arc<Mutex<KnownTree>>>, u64);

/// When a node was looked for, and what it was.
type Known = (Instant, Option<Arc<Shown>>);

/// When a hierarchy was read, how long that took, and what it was.
type KnownTree = Option<(Instant, Duration, Arc<Tree>)>;

/// What a path of the view is.
pub(crate) enum Found {
    /// A document.
    Document(Bytes),
    /// The chunk with these indices.
    Chunk(Arc<ShownArray>, Vec<u64>),
    /// A node that v3 cannot represent, and why.
    Cannot(String),
}

impl View {
    /// Views that decode with `memory`, which others use, too, and keep about `kept` bytes, most of what was recoded; `threads`
    /// chunks are recoded at a time.
    pub fn new(memory: Budget, kept: u64, threads: usize, metrics: Arc<Metrics>) -> View {
        View {
            nodes: Mutex::default(),
            trees: Mutex::default(),
            cache: Cache::new(kept / 4 * 3, metrics.clone()),
            kept: kept / 8,
            memory,
            workers: Workers::new(threads),
            metrics,
        }
    }

    /// What a path below a hierarchy's name is. It may block.
    ///
    /// # Errors
    /// For documents that could not be read.
    pub fn find(&self, served: &Arc<Served>, path: &str) -> Result<Option<Found>> {
        let Ok(key) = StoreKey::new(path) else { return Ok(None) };
        let document =
            path.strip_suffix("zarr.json").filter(|it| it.is_empty() || it.ends_with('/'));
        if let Some(of_node) = document {
            let Some(of_node) = node_path(of_node) else { return Ok(None) };
            let found = match self.node(served, &of_node)?.as_deref() {
                None => None,
                Some(Shown::Cannot(why)) => Some(Found::Cannot(why.clone())),
                Some(Shown::Group(document)) if of_node.is_root() => {
                    Some(Found::Document(match self.tree(served) {
                        Ok(tree) => tree.root.clone(),
                        Err(e) if Refused::of_any(&e).is_some() => return Err(e),
                        // Without a listing there are no consolidated metadata.
                        Err(_) => document.clone(),
                    }))
                }
                Some(Shown::Group(document)) => Some(Found::Document(document.clone())),
                Some(Shown::Array(array)) => Some(Found::Document(array.document.clone())),
            };
            return Ok(found);
        }
        let text = key.as_str();
        let starts = [0].into_iter().chain(text.match_indices('/').map(|(at, _)| at + 1));
        let starts = starts.filter(|&start| is_chunk_like(&text[start..]));
        for start in starts.take(MOST_STARTS) {
            let Some(of_node) = node_path(&text[..start]) else { return Ok(None) };
            match self.node(served, &of_node)?.as_deref() {
                Some(Shown::Array(array)) => {
                    let chunk = array.indices(&text[start..]);
                    return Ok(chunk.map(|indices| Found::Chunk(array.clone(), indices)));
                }
                Some(Shown::Cannot(why)) => return Ok(Some(Found::Cannot(why.clone()))),
                _ => {}
            }
        }
        Ok(None)
    }

    /// A node as v3; nothing if there is none.
    ///
    /// # Errors
    /// For documents that could not be read.
    pub fn node(&self, served: &Served, path: &NodePath) -> Result<Option<Arc<Shown>>> {
        let key = (served.name().to_owned(), path.clone());
        if let Some((at, known)) = lock(&self.nodes).0.get(&key)
            && at.elapsed() < FRESH
        {
            return Ok(known.clone());
        }
        let shown = match served.node(path) {
            Ok(node) => Some(Arc::new(node::shown(&node, served)?)),
            Err(e) if e.kind() == ErrorKind::NotFound => None,
            Err(e) => return Err(e),
        };
        let mut remembered = lock(&self.nodes);
        let (nodes, bytes) = &mut *remembered;
        *bytes += shown.as_ref().map_or(0, |shown| shown.size());
        if nodes.len() >= MOST_NODES || *bytes > self.kept {
            nodes.clear();
            *bytes = 0;
        }
        if let Some((_, Some(old))) = nodes.insert(key, (Instant::now(), shown.clone())) {
            *bytes = bytes.saturating_sub(old.size());
        }
        Ok(shown)
    }

    /// All nodes of a hierarchy as v3.
    ///
    /// # Errors
    /// When the hierarchy cannot be listed.
    pub fn tree(&self, served: &Served) -> Result<Arc<Tree>> {
        let place = {
            let mut remembered = lock(&self.trees);
            let (trees, bytes) = &mut *remembered;
            if trees.len() >= MOST_NODES || *bytes > self.kept {
                trees.clear();
                *bytes = 0;
            }
            trees.entry(served.name().to_owned()).or_default().clone()
        };
        // Others who ask for it wait until it is read, once.
        let mut known = lock(&place);
        if let Some((at, took, tree)) = &*known
            && at.elapsed() < FRESH.max(*took * LIFETIME_PER_READING_TIME)
        {
            return Ok(tree.clone());
        }
        let began = Instant::now();
        let memory = (MOST_BYTES * COPIES).min(self.memory.size() / 4);
        let _memory =
            self.memory.reserve_here(memory, "consolidated metadata", &CancelToken::new())?;
        let tree = Arc::new(Tree::of(served, (memory / COPIES) as usize)?);
        let before = known.as_ref().map_or(0, |(.., tree)| tree.size());
        let mut trees = lock(&self.trees);
        trees.1 = (trees.1 + tree.size()).saturating_sub(before);
        drop(trees);
        *known = Some((Instant::now(), began.elapsed(), tree.clone()));
        Ok(tree)
    }
}

/// The path of a node from its prefix; nothing for what no node is called.
fn node_path(prefix: &str) -> Option<NodePath> {
    NodePath::new(&format!("/{}", prefix.trim_end_matches('/'))).ok()
}

/// Whether this could be what follows an array's path in the key of a chunk.
fn is_chunk_like(rest: &str) -> bool {
    let mut chars = rest.chars();
    let first = chars.next();
    match first {
        Some('c') => rest[1..].chars().all(is_index),
        Some(first) => first.is_ascii_digit() && chars.all(is_index),
        None => false,
    }
}

/// Whether the character may be in the indices of a chunk.
fn is_index(character: char) -> bool {
    character.is_ascii_digit() || ['.', '/'].contains(&character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_chunks_are_told_from_names() {
        for chunk in ["c", "c/0/1", "c.0.1", "0.1", "0", "0/1"] {
            assert!(is_chunk_like(chunk), "{chunk}");
        }
        for other in ["", "x", "cc", "c/x", "a/0", "zarr.json", "/0", ".0"] {
            assert!(!is_chunk_like(other), "{other}");
        }
    }
}
