//! Compares two nodes with all below them, whatever their dialects, chunks, codecs and stores.
//!
//! What counts is what [`crate::checksum()`] covers, and files that are not Zarr's. `values` compares two elements, `elements`
//! those of two arrays, `files` the files.

mod elements;
mod files;
mod values;

use std::collections::{BTreeMap, HashSet};
use std::iter;

use zarr_core::{Array, CancelToken, Error, Group, Json, Node, NodeKind, NodePath, Object, Result};

pub use self::elements::{ElementsDiff, Place};

use self::elements::Pair;
use self::values::Tolerance;
use crate::checksum::canonical_json;
use crate::checksum::logical::{Logical, node_attributes};
use crate::ome::{self, Levels};
use crate::tree_progress::{TreeProgress, check_size, open_all, relative};

/// What counts as a difference, and how many differences are kept.
pub struct DiffOptions<'a> {
    /// How far two numbers may be from each other.
    pub absolute: f64,
    /// How far two numbers may be from each other, in proportion to the larger one.
    pub relative: f64,
    /// Compares the bits of elements: NaNs with other bits differ, and so do the two zeros.
    pub bits: bool,
    /// Passes over attributes.
    pub ignore_attributes: bool,
    /// Passes over missing values.
    pub ignore_fill: bool,
    /// Passes over the names of dimensions.
    pub ignore_dimensions: bool,
    /// Passes over files that are not Zarr's.
    pub ignore_files: bool,
    /// Tells differences in chunks, shards, codecs, fill values and formats, too.
    pub layout: bool,
    /// Compares only metadata.
    pub only_metadata: bool,
    /// Of arrays with different lengths, compares the elements that both have.
    pub common: bool,
    /// The most places of an array in [`ElementsDiff::places`]; at most 100.
    pub places: usize,
    /// About how many bytes of elements are held at once; 0 for 256 MiB.
    pub memory: u64,
    /// The most bytes of elements that all arrays of the first tree may have, stored or not; 0 for 16 TiB. A document can
    /// claim any shape.
    pub max_size: u64,
    /// Threads that compare; 0 for as many as the machine has.
    pub threads: usize,
    /// Cancels the call.
    pub cancel: Option<CancelToken>,
    /// Called after each piece of elements and after each node.
    pub progress: Option<&'a (dyn Fn(&TreeProgress) + Sync)>,
}

impl Default for DiffOptions<'_> {
    fn default() -> Self {
        DiffOptions {
            absolute: 0.0,
            relative: 0.0,
            bits: false,
            ignore_attributes: false,
            ignore_fill: false,
            ignore_dimensions: false,
            ignore_files: false,
            layout: false,
            only_metadata: false,
            common: false,
            places: 10,
            memory: 0,
            max_size: 0,
            threads: 0,
            cancel: None,
            progress: None,
        }
    }
}

/// How two trees differ.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Diff {
    /// The nodes that differ, sorted by path.
    pub nodes: Vec<NodeDiff>,
    /// How many nodes both have.
    pub compared: u64,
}

impl Diff {
    /// Whether there is no difference.
    pub fn is_equal(&self) -> bool {
        self.nodes.is_empty()
    }
}

/// How a node differs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NodeDiff {
    /// Its path from the nodes that are compared; `/` for those.
    pub path: String,
    /// What of its metadata differs.
    pub changes: Vec<Change>,
    /// How its elements differ, if some do.
    pub elements: Option<ElementsDiff>,
}

/// A difference in metadata.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// Only the first tree has the node.
    OnlyInFirst(NodeKind),
    /// Only the second tree has the node.
    OnlyInSecond(NodeKind),
    /// It is a group in one tree, an array in the other.
    Kind(NodeKind, NodeKind),
    /// An attribute; `None` where it is not there.
    Attribute {
        /// Its name.
        name: String,
        /// Its value in the first tree.
        first: Option<Json>,
        /// Its value in the second tree.
        second: Option<Json>,
    },
    /// Something else of an array: `data type`, `shape`, `dimension names`, `missing value`; with
    /// [`DiffOptions::layout`] `chunks`, `shards`, `codecs`, `fill value`, `format`.
    Property {
        /// What.
        name: &'static str,
        /// In the first tree.
        first: Json,
        /// In the second tree.
        second: Json,
    },
    /// The elements were not compared: the reason.
    NotCompared(&'static str),
    /// A file that is not Zarr's, by its name from the nodes that are compared.
    File {
        /// Its name.
        name: String,
        /// Whether the first tree has it.
        in_first: bool,
        /// Whether the second tree has it.
        in_second: bool,
    },
    /// What one tree has and no reader finds, such as nodes of another dialect: what it is, with its place.
    Unread {
        /// What it is.
        what: String,
        /// Whether the first tree has it.
        in_first: bool,
    },
}

/// Compares two nodes with all below them. What is stored in another way, but is the same data, does not differ.
///
/// ```
/// # fn example(one: &zarr_core::Node, other: &zarr_core::Node) -> zarr_core::Result<()> {
/// let options = zarr_tools::DiffOptions { absolute: 1e-6, ..Default::default() };
/// for node in zarr_tools::diff(one, other, &options)?.nodes {
///     println!("{}: {:?} {:?}", node.path, node.changes, node.elements);
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// What reading any node or chunk meets; [`zarr_core::AccessError::TooLarge`] for more elements than
/// [`DiffOptions::max_size`]; [`zarr_core::AccessError::Cancelled`].
pub fn diff(first: &Node, second: &Node, options: &DiffOptions<'_>) -> Result<Diff> {
    let (one, other) = (named_nodes(first)?, named_nodes(second)?);
    let mut progress = TreeProgress { nodes_total: one.len() as u64, ..TreeProgress::default() };
    if !options.only_metadata {
        let sizes =
            one.values().filter_map(Node::as_array).map(|array| Logical::of(array, false).size());
        progress.bytes_total = sizes.fold(0, u64::saturating_add);
        check_size(progress.bytes_total, options.max_size).map_err(|e| e.at_path(first.path()))?;
    }
    let mut other_changes = if options.ignore_files {
        BTreeMap::new()
    } else {
        let nodes = [&one, &other].map(|tree| tree.values().cloned().collect::<Vec<_>>());
        files::compare([first, second], &nodes, options)?
    };
    let levels = [&one, &other].map(|tree| Levels::of(tree.values()));
    let images = [(first, &one), (second, &other)].map(|(top, tree)| {
        let nodes: Vec<Node> = iter::once(top).chain(tree.values()).cloned().collect();
        ome::levels_among(&nodes)
    });
    let mut diff = Diff::default();
    let mut paths: Vec<&Vec<String>> = one.keys().chain(other.keys()).collect();
    paths.sort();
    paths.dedup();
    for key in paths {
        let path = format!("/{}", key.join("/"));
        let mut node = NodeDiff { path, changes: Vec::new(), elements: None };
        match (one.get(key), other.get(key)) {
            (Some(a), Some(b)) => {
                diff.compared += 1;
                progress.path = Some(a.path().clone());
                compare([a, b], (&levels, &images), &mut node, options, &mut progress)?;
            }
            (Some(a), None) => node.changes.push(Change::OnlyInFirst(a.kind())),
            (None, Some(b)) => node.changes.push(Change::OnlyInSecond(b.kind())),
            (None, None) => {}
        }
        node.changes.extend(other_changes.remove(key).into_iter().flatten());
        progress.nodes_done += u64::from(one.contains_key(key));
        if let Some(call) = options.progress {
            call(&progress);
        }
        if !node.changes.is_empty() || node.elements.is_some() {
            diff.nodes.push(node);
        }
    }
    Ok(diff)
}

/// A node and all below it, by the names of their paths below it.
fn named_nodes(top: &Node) -> Result<BTreeMap<Vec<String>, Node>> {
    let nodes = open_all(top)?;
    let named = nodes.into_iter().map(|node| {
        let path = relative(top.path(), node.path());
        let names = path.split('/').filter(|name| !name.is_empty()).map(str::to_owned);
        (names.collect(), node)
    });
    Ok(named.collect())
}

fn compare(
    [a, b]: [&Node; 2],
    levels: (&[Levels; 2], &[HashSet<NodePath>; 2]),
    node: &mut NodeDiff,
    options: &DiffOptions<'_>,
    progress: &mut TreeProgress,
) -> Result<()> {
    match (a, b) {
        (Node::Array(a), Node::Array(b)) => compare_arrays([a, b], levels, node, options, progress),
        (Node::Group(a), Node::Group(b)) => {
            if !options.ignore_attributes {
                let attributes = attributes_in_one_version([a, b]).each_ref().map(node_attributes);
                compare_attributes(&attributes, &mut node.changes);
            }
            if options.layout {
                let format = [a, b].map(|group| group.hierarchy().format_name().into());
                property("format", format, &mut node.changes);
            }
            Ok(())
        }
        (a, b) => {
            node.changes.push(Change::Kind(a.kind(), b.kind()));
            Ok(())
        }
    }
}

/// The attributes of two groups in different dialects, as one of the dialects has them where both have OME-Zarr metadata in the
/// version for their own: these say the same.
fn attributes_in_one_version([a, b]: [&Group; 2]) -> [Object; 2] {
    let stored = [a, b].map(|group| group.attributes().clone());
    let dialects = [a, b].map(|group| group.hierarchy().dialect());
    if dialects[0] == dialects[1] {
        return stored;
    }
    // Both ways, as each may add a version that the other does not need.
    for dialect in dialects {
        let converted = [a, b].map(|group| {
            let dialects = (group.hierarchy().dialect(), dialect);
            ome::converted(group.attributes().clone(), group.path(), dialects).0
        });
        if Json::from(converted[0].clone()) == Json::from(converted[1].clone()) {
            return converted;
        }
    }
    stored
}

fn compare_attributes([a, b]: &[Object; 2], changes: &mut Vec<Change>) {
    let mut names: Vec<&str> = a.iter().chain(b.iter()).map(|(name, _)| name).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let (first, second) = (a.get(name).cloned(), b.get(name).cloned());
        if differ(&first, &second) {
            changes.push(Change::Attribute { name: name.to_owned(), first, second });
        }
    }
}

/// Whether two values of an attribute differ.
fn differ(first: &Option<Json>, second: &Option<Json>) -> bool {
    let (Some(first), Some(second)) = (first, second) else { return first != second };
    // The canonical text of a number that JSON does not have is a string.
    canonical_json::text_of(first) != canonical_json::text_of(second)
        || have_other_integers(first, second)
        || first.has_bare_floats() != second.has_bare_floats()
}

/// Whether two values have different integers at the same place. Canonical JSON rounds those of more than 64 bits.
fn have_other_integers(first: &Json, second: &Json) -> bool {
    match (first, second) {
        (Json::Number(one), Json::Number(other)) => {
            let is_integer =
                |text: &str| text.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit());
            one != other && is_integer(one) && is_integer(other)
        }
        (Json::Array(one), Json::Array(other)) => {
            one.iter().zip(other).any(|(one, other)| have_other_integers(one, other))
        }
        (Json::Object(one), Json::Object(other)) => one.iter().any(|(name, value)| {
            other.get(name).is_some_and(|other| have_other_integers(value, other))
        }),
        _ => false,
    }
}

fn property(name: &'static str, [first, second]: [Json; 2], changes: &mut Vec<Change>) {
    if first != second {
        changes.push(Change::Property { name, first, second });
    }
}

fn compare_arrays(
    [a, b]: [&Array; 2],
    (levels, images): (&[Levels; 2], &[HashSet<NodePath>; 2]),
    node: &mut NodeDiff,
    options: &DiffOptions<'_>,
    progress: &mut TreeProgress,
) -> Result<()> {
    let logical = [0, 1].map(|n| {
        let array = [a, b][n];
        Logical::of(array, images[n].contains(array.path()))
    });
    let [one, other] = &logical;
    let changes = &mut node.changes;
    let both = |of: &dyn Fn(&Logical) -> Json| [of(one), of(other)];
    property("data type", both(&|l| l.data_type.clone()), changes);
    property("shape", both(&|l| Json::from(&l.shape[..])), changes);
    if !options.ignore_dimensions {
        let mut names = both(&|l| {
            l.names.as_ref().map_or(Json::Null, |names| {
                names.iter().map(|name| name.as_deref().map_or(Json::Null, Json::from)).collect()
            })
        });
        // A level of an OME-Zarr image in v2 has the names of its axes in the group, a copy in v3 in its own document.
        if a.hierarchy().dialect() != b.hierarchy().dialect()
            && let Some(unnamed) = names.iter().position(|names| *names == Json::Null)
            && names[1 - unnamed] != Json::Null
            && let Some(axes) =
                levels[unnamed].axes([a, b][unnamed].path(), logical[unnamed].shape.len())
        {
            names[unnamed] = axes.iter().map(|axis| Json::from(axis.as_str())).collect();
        }
        property("dimension names", names, changes);
    }
    if !options.ignore_fill && one.missing != other.missing {
        property(
            "missing value",
            both(&|l: &Logical| l.missing_text().map_or(Json::Null, Json::from)),
            changes,
        );
    }
    if !options.ignore_attributes {
        compare_attributes(&[one.attributes.clone(), other.attributes.clone()], changes);
    }
    if options.layout {
        compare_layout([a, b], changes);
    }
    if options.only_metadata {
        return Ok(());
    }
    let mut shape = one.shape.clone();
    if one.shape != other.shape {
        let has_common = options.common && one.shape.len() == other.shape.len();
        if !has_common {
            changes.push(Change::NotCompared("the shapes differ"));
            return Ok(());
        }
        shape = one.shape.iter().zip(&other.shape).map(|(a, b)| *a.min(b)).collect();
    }
    let arrays = [a, b].map(|array| {
        array.with_options(|reading| {
            if options.cancel.is_some() {
                reading.cancel.clone_from(&options.cancel);
            }
        })
    });
    let tolerance =
        Tolerance { absolute: options.absolute, relative: options.relative, bits: options.bits };
    // Texts of different sizes, and of fixed and variable size, are compared as texts.
    let texts = if one.data_type == other.data_type {
        None
    } else {
        one.with_texts().zip(other.with_texts())
    };
    let logical = texts.as_ref().map_or([one, other], |(one, other)| [one, other]);
    let pair = Pair { arrays: arrays.each_ref(), logical, shape, tolerance };
    let compared = pair.compare(options, progress).map_err(|e| located(e, a))?;
    match compared {
        None => changes.push(Change::NotCompared("the data types have nothing in common")),
        Some(elements) if elements.different > 0 => node.elements = Some(elements),
        Some(_) => {}
    }
    Ok(())
}

fn located(error: Error, array: &Array) -> Error {
    match error.path() {
        Some(_) => error,
        None => error.at_store(array.hierarchy().store().name()).at_path(array.path()),
    }
}

/// How arrays are stored.
fn codecs_json(array: &Array) -> Json {
    let codecs = array.codecs();
    let codecs = codecs.iter().map(|codec| {
        let object = Object::new().with("name", codec.name.as_str());
        Json::from(object.with("configuration", codec.configuration.clone()))
    });
    codecs.collect()
}

fn compare_layout(arrays: [&Array; 2], changes: &mut Vec<Change>) {
    property("format", arrays.map(|array| array.hierarchy().format_name().into()), changes);
    property("chunks", arrays.map(|array| shape_json(array.chunk_shape())), changes);
    property("shards", arrays.map(|array| shape_json(array.shard_shape())), changes);
    property("codecs", arrays.map(codecs_json), changes);
    property("fill value", arrays.map(|array| array.metadata().declared_fill.clone()), changes);
}

/// A shape in JSON, null if there is none.
fn shape_json(shape: Option<Vec<u64>>) -> Json {
    shape.map_or(Json::Null, |shape| Json::from(&shape[..]))
}
