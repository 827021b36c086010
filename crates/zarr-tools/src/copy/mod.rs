//! Copies groups and arrays from one hierarchy into another, whatever their dialects.
//!
//! [`copy`] first describes every node as metadata of the target (`describe`), so that everything that can be refused is
//! refused before it writes; then it creates the nodes and copies the elements (`elements`).

mod describe;
mod elements;
mod memory;
mod rechunk;

use std::collections::HashSet;

use zarr_core::{
    AccessError, Array, CancelToken, Dialect, Error, ErrorKind, Group, Hierarchy, Json,
    MetadataError, Node, NodePath, Object, Result, missing_value,
};

use self::describe::{Described, describe, size};
use self::elements::copy_elements;
use self::rechunk::check_memory;

/// What may be different in the copy.
#[derive(Default)]
pub struct CopyOptions<'a> {
    /// Another chunk shape, for arrays of that rank; others keep theirs. An error if no array has that rank.
    pub chunks: Option<Vec<u64>>,
    /// Shards of this shape, for arrays of that rank that are copied into final v3. An error if no array has that rank.
    pub shards: Option<Vec<u64>>,
    /// Other codecs, as [`crate::codec()`] reads them; an empty list for none.
    pub codecs: Option<Vec<String>>,
    /// Refuses to copy what cannot be kept, in place of naming it in [`Progress::not_kept`].
    pub strict: bool,
    /// Leaves out the nodes that cannot be represented in the target, with all below them, and names them in
    /// [`Progress::skipped`].
    pub skip_unsupported: bool,
    /// Copies only the nodes at these paths of the source; the target has the groups above them.
    pub only: Option<HashSet<NodePath>>,
    /// About how many bytes the whole process may have while elements are copied; `None` for a quarter of the machine's
    /// memory. An array that needs more is refused before it is written; elements of variable length are taken to have
    /// 256 bytes each. Where chunks of the source would be decoded many times otherwise, the copy takes a temporary file.
    pub memory: Option<u64>,
    /// Cancels the copy, from another thread.
    pub cancel: Option<CancelToken>,
    /// Called after each block of elements.
    pub progress: Option<&'a (dyn Fn(&Progress) + Sync)>,
}

/// How far a copy has come.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// The array that is being copied.
    pub path: Option<NodePath>,
    /// Nodes that are done.
    pub nodes_done: u64,
    /// Nodes in all.
    pub nodes_total: u64,
    /// Bytes of elements that are done.
    pub bytes_done: u64,
    /// Bytes of elements in all.
    pub bytes_total: u64,
    /// Bytes of the temporary file that the copy of this array needs at most; 0 if it needs none. See
    /// [`CopyOptions::memory`].
    pub spool: u64,
    /// What the copy does not keep, each with its place.
    pub not_kept: Vec<String>,
    /// Nodes that the copy leaves out, each with the reason.
    pub skipped: Vec<String>,
    /// What the copy says otherwise than the source, with nothing lost, each with its place.
    pub notes: Vec<String>,
}

/// Copies a node with all below it to `at` in another hierarchy, in that one's dialect. Returns what was
/// copied.
///
/// Everything that can be refused is refused before the first element is written: a node that is there
/// already, an array that the dialect cannot say. Arrays whose axes have names keep the missing value that netCDF and
/// xarray see (see [`missing_value`]). Where groups of the source have consolidated metadata, their copies have them,
/// too.
///
/// # Errors
/// [`AccessError::Exists`]; [`MetadataError::CannotRepresent`] naming the obstacle; [`AccessError::Argument`] for a chunk
/// shape that fits no array; what either store meets.
pub fn copy(
    source: &Node,
    target: &Hierarchy,
    at: impl AsRef<str>,
    options: &CopyOptions<'_>,
) -> Result<Progress> {
    let at =
        &NodePath::new(at.as_ref()).map_err(|e| Error::from(e).at_store(target.store().name()))?;
    let from = source.hierarchy();
    let mut nodes = from.tree(source.path())?;
    if let Some(only) = &options.only {
        nodes.retain(|child| only.contains(&child.path));
    }
    let nodes = nodes.iter().map(|child| from.node(&child.path)).collect::<Result<Vec<_>>>()?;
    let mut progress = Progress { nodes_total: nodes.len() as u64, ..Progress::default() };
    check_ranks(&nodes, options, &mut progress)?;
    let datasets = match &options.only {
        None => Datasets::of(&nodes, from.dialect()),
        Some(_) => Datasets::of(&from.nodes(source.path())?, from.dialect()),
    };
    let mut plan = Vec::new();
    let mut left_out = HashSet::new();
    for node in nodes {
        let path = node.path().clone();
        let below =
            path.as_str()[source.path().as_str().trim_end_matches('/').len()..].trim_matches('/');
        let to = if below.is_empty() { at.clone() } else { at.join(below)? };
        if path.parent().is_some_and(|above| left_out.contains(&above)) {
            left_out.insert(path);
            continue;
        }
        let described = planned(&node, target, &to, &datasets, options)
            .and_then(|described| place(target, &to, described.is_some()).map(|()| described));
        let described = match described {
            Err(e) if options.skip_unsupported && may_skip(&e) && path != *source.path() => {
                let hint = e.hint().map_or_else(String::new, |hint| format!("; {hint}"));
                progress.skipped.push(format!("{path}: {}{hint}", e.cause()));
                left_out.insert(path);
                continue;
            }
            described => described?,
        };
        if let Some(described) = &described {
            progress.bytes_total = progress.bytes_total.saturating_add(size(&described.metadata));
            let at = |what: &String| format!("{path}: {what}");
            progress.not_kept.extend(described.not_kept.iter().map(at));
            progress.notes.extend(described.note.iter().map(at));
        }
        let stored = node.attributes();
        if attributes_for(stored.clone(), from.dialect(), target) != stored {
            let what = "bare `NaN` and `Infinity` among its attributes become strings";
            progress.notes.push(format!("{path}: {what}"));
        }
        // In the drafts a group needs no document (D-008).
        if let Node::Group(group) = &node
            && group.metadata().implicit
            && from.dialect() != Dialect::Draft
        {
            progress.notes.push(format!("{path}: the group has no document; the copy has one"));
        }
        plan.push((node, to, described));
    }
    if let (true, Some(what)) = (options.strict, progress.not_kept.first()) {
        let hint = "copy without `--strict` (library: `CopyOptions::strict`) to leave it behind";
        let what = format!("all of it: {what}");
        return Err(
            MetadataError::CannotRepresent { format: "the copy", what, hint: hint.into() }.into()
        );
    }
    let mut consolidated = Vec::new();
    for (node, to, described) in plan {
        let has_copies = match &node {
            Node::Group(group) => group.is_consolidated()?,
            Node::Array(array) => array.path().is_root() && from.is_consolidated()?,
        };
        if has_copies {
            consolidated.push(to.clone());
        }
        match (node, described) {
            (Node::Array(array), Some(described)) => {
                let metadata = described.metadata.clone();
                let copy = target.create_array(&to).from_metadata(metadata).create()?;
                progress.path = Some(to);
                let leaves = described.leaves_holes;
                if let Err(e) = copy_elements(&array, &copy, leaves, options, &mut progress) {
                    // Half a copy looks like a whole one that holds fill: it must not stay.
                    let _ = target.erase(copy.path());
                    return Err(e);
                }
            }
            (node, _) => copy_group(&node, target, &to)?,
        }
        progress.nodes_done += 1;
        report(options, &progress);
    }
    // Inner groups come first: the copies of a group's document hold what that document holds.
    for to in consolidated.iter().rev() {
        consolidate(target, to, &mut progress)?;
    }
    target.flush()?;
    Ok(progress)
}

/// Consolidates the metadata of a copied group, if the target has a place for them.
fn consolidate(target: &Hierarchy, at: &NodePath, progress: &mut Progress) -> Result<()> {
    let done = if at.is_root() {
        target.consolidate()
    } else {
        match target.node(at)? {
            Node::Group(group) => group.consolidate(),
            Node::Array(_) => return Ok(()),
        }
    };
    match done {
        // A v3 array at the root has no place for copies; it needs none.
        Err(e) if at.is_root() && e.kind() == ErrorKind::Argument => {}
        Err(e) if matches!(e.kind(), ErrorKind::Argument | ErrorKind::NotCapable) => {
            progress.not_kept.push(format!("{at}: consolidated metadata: {}", e.cause()));
        }
        other => drop(other?),
    }
    Ok(())
}

/// What the copy of an array is to be; nothing for a group. Refuses what cannot be represented in the target.
fn planned(
    node: &Node,
    target: &Hierarchy,
    to: &NodePath,
    datasets: &Datasets,
    options: &CopyOptions<'_>,
) -> Result<Option<Described>> {
    match node {
        Node::Group(group) => {
            target.check_group(to, group.attributes())?;
            Ok(None)
        }
        Node::Array(array) => {
            let described = describe(array, target, datasets.has(array), options);
            let described = described
                .map_err(|e| e.at_store(array.hierarchy().store().name()).at_path(array.path()))?;
            target.check_array(to, &described.metadata).map_err(with_way_out)?;
            let start = vec![0; array.rank()];
            check_memory(array, &described.metadata, target, Some(&start), options.memory)
                .map_err(|e| e.at_store(target.store().name()).at_path(to))?;
            Ok(Some(described))
        }
    }
}

/// Refuses a place in the target that is taken, or that its store has no keys for.
fn place(target: &Hierarchy, to: &NodePath, for_array: bool) -> Result<()> {
    match target.node(to) {
        Ok(Node::Group(group)) if makes_way(&group, for_array)? => Ok(()),
        Ok(_) => {
            let taken = Error::from(AccessError::Exists("a node"));
            Err(taken.at_store(target.store().name()).at_path(to))
        }
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        Err(e) => Err(e),
    }
}

/// Whether a node, or its name, cannot be represented in the target.
fn may_skip(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::Argument)
}

/// A shape for another rank than any array's is a mistake; arrays of other ranks are named.
fn check_ranks(nodes: &[Node], options: &CopyOptions<'_>, progress: &mut Progress) -> Result<()> {
    for (what, shape) in [("chunks", &options.chunks), ("shards", &options.shards)] {
        let Some(shape) = shape else { continue };
        let arrays = nodes.iter().filter_map(Node::as_array);
        let (fit, others): (Vec<&Array>, Vec<_>) =
            arrays.partition(|array| array.shape().len() == shape.len());
        if let (true, Some(first)) = (fit.is_empty(), others.first()) {
            let axes = |count: usize| match count {
                1 => "1 axis".to_owned(),
                count => format!("{count} axes"),
            };
            let (asked, due) = (axes(shape.len()), axes(first.shape().len()));
            let why =
                format!("{what} of {asked} for an array of {due}; give one length for each axis");
            let store = first.hierarchy().store().name();
            let error = Error::from(AccessError::Argument(why));
            return Err(error.at_store(store).at_path(first.path()));
        }
        let kept = others.iter().map(|array| {
            let rank = array.shape().len();
            format!("{}: has {rank} axes, not {}, and keeps its {what}", array.path(), shape.len())
        });
        progress.notes.extend(kept);
    }
    Ok(())
}

/// The groups that xarray opens as datasets: all arrays in them have names for their axes.
struct Datasets {
    others: HashSet<Option<NodePath>>,
    has_names_of_scalars: bool,
}

impl Datasets {
    fn of(nodes: &[Node], dialect: Dialect) -> Datasets {
        let arrays = nodes.iter().filter_map(Node::as_array).map(|array| (array, array.metadata()));
        let unnamed = arrays
            .filter(|(_, metadata)| metadata.rank() > 0 && !missing_value::has_names(metadata));
        let mut others: HashSet<_> = unnamed.map(|(array, _)| array.path().parent()).collect();
        // An array that is copied by itself is in no group.
        if let [Node::Array(array)] = nodes {
            others.insert(array.path().parent());
        }
        Datasets { others, has_names_of_scalars: dialect != Dialect::V3 }
    }

    /// Whether readers take the array for a variable. A scalar's document says nothing of it in v3: there its group
    /// tells.
    fn has(&self, array: &Array) -> bool {
        let metadata = array.metadata();
        let is_silent = metadata.rank() == 0 && metadata.dimension_names.is_none();
        if is_silent && !self.has_names_of_scalars {
            return !self.others.contains(&array.path().parent());
        }
        missing_value::has_names(&metadata)
    }
}

/// Whether a group that is there is no obstacle: an implicit one, the root for another group, and for an
/// array the bare root group that a draft's hierarchy begins with.
fn makes_way(group: &Group, for_array: bool) -> Result<bool> {
    let root = group.path().is_root();
    if !for_array {
        return Ok(root || group.metadata().implicit);
    }
    let draft = group.hierarchy().dialect() == Dialect::Draft;
    Ok(root && draft && group.attributes().is_empty() && group.children()?.is_empty())
}

const WAYS_OUT: &str =
    "a copy can take others: `--codec gzip`, `--chunks` (library: `CopyOptions`)";

/// The error, saying how a copy gets round it, where it does.
fn with_way_out(error: Error) -> Error {
    match error.cause() {
        zarr_core::Cause::Metadata(MetadataError::CannotRepresent { what, .. })
            if ["codec", "compress", "chunk"].iter().any(|word| what.contains(word)) =>
        {
            error.with_hint(WAYS_OUT)
        }
        _ => error,
    }
}

fn report(options: &CopyOptions<'_>, progress: &Progress) {
    if let Some(call) = options.progress {
        call(progress);
    }
}

fn copy_group(node: &Node, target: &Hierarchy, to: &NodePath) -> Result<()> {
    let attributes = attributes_for(node.attributes(), node.hierarchy().dialect(), target);
    match target.create_group(to, attributes.clone()) {
        // The root group came with the hierarchy.
        Err(e) if e.kind() == ErrorKind::Exists => {
            target.group(to)?.update_attributes(|old| {
                for (name, value) in attributes.iter() {
                    old.insert(name, value.clone());
                }
            })?;
            Ok(())
        }
        other => other.map(|_| ()),
    }
}

/// A node's attributes in the words of the target: bare `NaN` and `Infinity` stay where they were read, and are strings
/// in another dialect, whose readers may take nothing but JSON (decision 0138).
fn attributes_for(attributes: Object, from: Dialect, target: &Hierarchy) -> Object {
    if from == target.dialect() {
        return attributes;
    }
    match Json::from(attributes).into_standard() {
        Json::Object(attributes) => attributes,
        _ => unreachable!("an object stays one"),
    }
}
