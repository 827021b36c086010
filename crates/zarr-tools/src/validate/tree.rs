//! Holds the nodes that documents describe, and finds the array of a key.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use zarr_core::codec::CodecChain;
use zarr_core::format::{Draft, Format, V2, V3};
use zarr_core::grid::{ChunkGrid, ChunkKeys};
use zarr_core::store::{StoreKey, StorePrefix};
use zarr_core::{
    ArrayMetadata, Cause, Dialect, Error, ErrorKind, MetadataError, NodeKind, NodePath, Object,
};

use super::inventory::Inventory;
use super::problem::{Problem, ProblemKind};
use super::{Context, Sink, clauses};

/// A node that has a document.
#[derive(Debug)]
pub(super) struct FoundNode {
    /// `None` if its document does not tell.
    pub kind: Option<NodeKind>,
    /// Its documents that are there.
    pub documents: Vec<StoreKey>,
    /// Which of [`Tree::arrays`] it is, if its document could be read.
    pub array: Option<usize>,
    /// Whether its attributes say that its arrays are the levels of a multiscale image.
    pub has_levels: bool,
    /// The attributes of a group that may have metadata of OME-Zarr.
    pub ome: Option<Object>,
    /// The attributes of a group that have to do with the conventions of GeoZarr.
    pub conventions: Option<Object>,
}

/// An array whose document could be read.
pub(super) struct FoundArray {
    pub path: NodePath,
    /// The prefix of its chunks.
    pub prefix: StorePrefix,
    pub metadata: ArrayMetadata,
    /// `None` if this build cannot read its elements.
    pub chain: Option<CodecChain>,
}

/// All nodes.
#[derive(Default)]
pub(super) struct Tree {
    pub nodes: BTreeMap<NodePath, FoundNode>,
    pub arrays: Vec<FoundArray>,
    /// The array of each prefix of chunks; `None` for one whose document could not be read.
    pub prefixes: HashMap<String, Option<usize>>,
    /// The attributes of a group at the root.
    pub root_attributes: Option<Object>,
    /// Attributes of v2 without a document of a node.
    pub attributes_only: Vec<StoreKey>,
    /// Folders without a document above nodes, where groups need one.
    pub implied: BTreeSet<NodePath>,
}

impl FoundArray {
    /// The grid of stored objects and how many of them there are along each axis.
    fn counts(&self) -> Option<(&dyn ChunkGrid, Vec<u64>)> {
        let grid = &**self.metadata.grid.as_ref()?;
        let shape = self.metadata.shape.iter().enumerate();
        let counts = shape.map(|(axis, &len)| {
            let per_object = self.metadata.shards.as_ref().map_or(1, |s| s[axis].max(1));
            grid.count(axis, len).div_ceil(per_object)
        });
        Some((grid, counts.collect()))
    }

    /// How many chunks, or shards, the whole array has; `None` if they cannot be counted.
    pub fn chunk_count(&self) -> Option<u64> {
        let (_, counts) = self.counts()?;
        counts.into_iter().try_fold(1, |product: u64, count| product.checked_mul(count))
    }

    /// Whether it has a grid that this build knows.
    pub fn has_grid(&self) -> bool {
        self.metadata.grid.is_some()
    }

    /// The ordinals of the chunk with these indices; `None` if it is outside the grid.
    pub fn inside(&self, indices: &[i64]) -> Option<Vec<u64>> {
        let (grid, counts) = self.counts()?;
        let axes = indices.iter().zip(counts).enumerate();
        let ordinals = axes.map(|(axis, (&index, count))| {
            let first = match self.metadata.shards {
                Some(_) => 0,
                None => grid.span(axis, 0).index,
            };
            let ordinal = u64::try_from(index.checked_sub(first)?).ok()?;
            (ordinal < count).then_some(ordinal)
        });
        ordinals.collect()
    }

    /// The number of a chunk in C order of the grid.
    pub fn number(&self, ordinals: &[u64]) -> Option<u64> {
        let (_, counts) = self.counts()?;
        ordinals.iter().zip(counts).try_fold(0, |number: u64, (&ordinal, count)| {
            number.checked_mul(count)?.checked_add(ordinal)
        })
    }

    /// The ordinals of the chunk of this number.
    pub fn ordinals(&self, mut number: u64) -> Vec<u64> {
        let counts = self.counts().map_or(Vec::new(), |(_, counts)| counts);
        let mut ordinals: Vec<u64> = Vec::with_capacity(counts.len());
        for count in counts.into_iter().rev() {
            let count = count.max(1);
            ordinals.push(number % count);
            number /= count;
        }
        ordinals.reverse();
        ordinals
    }

    /// The indices of the chunk with these ordinals.
    pub fn indices(&self, ordinals: &[u64]) -> Vec<i64> {
        let Some(grid) = &self.metadata.grid else { return Vec::new() };
        let axes = ordinals.iter().enumerate();
        axes.map(|(axis, &ordinal)| match self.metadata.shards {
            Some(_) => ordinal as i64,
            None => grid.span(axis, ordinal).index,
        })
        .collect()
    }

    /// The key of the chunk with these indices.
    pub fn key(&self, indices: &[i64]) -> Option<StoreKey> {
        self.prefix.key(&self.metadata.chunk_keys.key(indices)).ok()
    }

    /// The key at which writers put the chunk with these indices.
    pub fn written_key(&self, indices: &[i64]) -> Option<StoreKey> {
        match &self.metadata.chunk_keys {
            keys @ ChunkKeys::Draft { scalar_at_c0: true, .. } if indices.is_empty() => {
                self.prefix.key(&keys.other_key(indices)?).ok()
            }
            _ => self.key(indices),
        }
    }

    /// The indices of the chunk at a key; `None` if no chunk has it.
    pub fn indices_of(&self, key: &StoreKey) -> Option<Vec<i64>> {
        let name = self.prefix.strip(key)?;
        self.metadata.chunk_keys.parse(name, self.metadata.rank())
    }

    /// How many elements are stored along each axis in the chunk with these ordinals.
    pub fn stored_shape(&self, ordinals: &[u64]) -> Vec<u64> {
        let Some(grid) = &self.metadata.grid else { return Vec::new() };
        let axes = ordinals.iter().enumerate();
        axes.map(|(axis, &ordinal)| grid.span(axis, ordinal).stored).collect()
    }
}

impl Tree {
    /// Whether this is the key of attributes of v2 without a document of a node.
    pub fn has_attributes_at(&self, key: &str) -> bool {
        self.attributes_only.iter().any(|attributes| attributes.as_str() == key)
    }

    /// The nearest node at the folder of a key, or above it, that the documents name.
    pub fn nearest(&self, format: &dyn Format, key: &StoreKey) -> NodePath {
        let dialect = format.dialect();
        let below = match dialect {
            Dialect::Draft => {
                let below = ["data/root/", "meta/root/", "data/", "meta/"];
                let below = below.iter().find_map(|start| key.as_str().strip_prefix(start));
                below.unwrap_or_default()
            }
            _ => key.as_str(),
        };
        let mut folder = below;
        while let Some((above, _)) = folder.rsplit_once('/') {
            folder = above;
            match NodePath::new(folder) {
                Ok(path) if self.nodes.contains_key(&path) => return path,
                _ => {}
            }
        }
        NodePath::root()
    }

    /// The array among whose chunks a key is: its prefix, and the array, if its document could be read.
    pub fn array_of<'k>(&self, key: &'k StoreKey) -> Option<(&'k str, Option<usize>)> {
        let mut folder = key.as_str();
        loop {
            folder = match folder.trim_end_matches('/').rfind('/') {
                Some(at) => &folder[..=at],
                None if folder.is_empty() => return None,
                None => "",
            };
            if let Some(array) = self.prefixes.get(folder) {
                return Some((folder, *array));
            }
        }
    }
}

/// The format of which most of these keys are, where no document tells.
pub(crate) fn guessed(keys: &[StoreKey]) -> Arc<dyn Format> {
    let ends = |names: &[&str]| {
        keys.iter().any(|key| {
            let name = key.as_str().rsplit('/').next().unwrap_or_default();
            names.contains(&name)
        })
    };
    let begins = |start: &str| keys.iter().any(|key| key.as_str().starts_with(start));
    let in_folder = keys.iter().any(|key| key.as_str().ends_with("/zarr.json"));
    if !in_folder && (begins("meta/root") || begins("data/root")) {
        return Arc::new(Draft::new());
    }
    let has_c = keys.iter().any(|key| key.as_str().split(['/', '.']).any(|part| part == "c"));
    let is_v2 = ends(&[".zarray", ".zgroup", ".zattrs", ".zmetadata"]);
    if !ends(&["zarr.json"]) && (is_v2 || !has_c) { Arc::new(V2) } else { Arc::new(V3) }
}

/// Reports why the hierarchy could not be opened at its root, where reading the documents later does not find it.
pub(super) fn report_root(
    context: &Context<'_>,
    inventory: &Inventory,
    error: &Error,
    sink: &mut Sink<'_>,
) {
    let root = NodePath::root();
    let dialect = context.format.dialect();
    let entry_point = StoreKey::new("zarr.json").ok();
    let entry_point = entry_point.filter(|key| inventory.keys.binary_search(key).is_ok());
    if dialect != Dialect::Draft {
        // Its documents are read like those of any other node.
        return;
    }
    let problem = match (entry_point, error.kind()) {
        (None, _) | (_, ErrorKind::NotFound) => {
            let what =
                "the entry point of the hierarchy is not there, though documents or chunks are";
            Problem::new(&root, ProblemKind::MissingDocument, what).by("D-070")
        }
        (Some(_), _) => {
            let kind = match error.cause() {
                Cause::Metadata(MetadataError::Json(_)) => ProblemKind::UnreadableDocument,
                Cause::Store(_) => ProblemKind::Unreadable,
                _ => ProblemKind::InvalidDocument,
            };
            let clause = clauses::entry_point(error.cause());
            Problem::new(&root, kind, error.cause().to_string()).by(clause)
        }
    };
    sink.add(problem.at("zarr.json"));
}
