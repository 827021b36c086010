//! Checks whether a node can be copied to a place, before anything is written.

use std::collections::HashSet;

use zarr_core::{
    AccessError, Array, Dialect, Error, ErrorKind, Group, Hierarchy, MetadataError, Node, NodePath,
    Object, Result, missing_value,
};

use super::by_name::Layouts;
use super::describe::{Described, describe, describe_verbatim};
use super::elements::box_start;
use super::plan::Role;
use super::rechunk::check_memory;
use super::split::countable_chunks;
use super::{CopyOptions, as_stored};
use crate::ome::{Levels, image_levels, levels_among};

/// What the copy of an array is to be; nothing for a group. Refuses what cannot be represented in the target.
pub(super) fn planned(
    node: &Node,
    target: &Hierarchy,
    to: &NodePath,
    neighbours: &Neighbours,
    options: &CopyOptions<'_>,
) -> Result<Option<Described>> {
    match node {
        Node::Group(group) => {
            target.check_group(to, group.attributes())?;
            Ok(None)
        }
        Node::Array(array) => {
            if let Some(described) = describe_verbatim(array, target, to, options)? {
                // Its name, at least, has to be one that the format allows.
                target.check_group(to, &Object::new())?;
                return Ok(Some(described));
            }
            let is_variable = neighbours.datasets.has(array);
            let described = describe(array, target, is_variable, &neighbours.levels, options);
            let described = described.and_then(|described| {
                countable_chunks(&described.metadata)?;
                Ok(described)
            });
            let mut described = described
                .map_err(|e| e.at_store(array.hierarchy().store().name()).at_path(array.path()))?;
            target.check_array(to, &described.metadata).map_err(with_way_out)?;
            let (metadata, region) = (&described.metadata, described.region.as_deref());
            let is_recoded =
                options.recode || as_stored::obstacle(array, metadata, target, region).is_some();
            if is_recoded {
                let start = match region {
                    None => Some(vec![0; array.rank()]),
                    Some(steps) => box_start(steps),
                };
                let spool = check_memory(array, metadata, target, start.as_deref(), options.memory);
                described.spool =
                    spool.map_err(|e| e.at_store(target.store().name()).at_path(to))?;
            }
            Ok(Some(described))
        }
    }
}

/// What the documents of a node are at its place in the target. Refuses one that is taken, or that its store has no keys for.
pub(super) fn place(target: &Hierarchy, to: &NodePath, for_array: bool) -> Result<Role> {
    match target.node(to) {
        Ok(Node::Group(group)) if makes_way(&group, for_array)? => {
            let is_merged = !for_array && !group.metadata().implicit;
            Ok(if is_merged { Role::Merged } else { Role::Node })
        }
        Ok(_) => {
            let taken = Error::from(AccessError::Exists("a node"));
            Err(taken.at_store(target.store().name()).at_path(to))
        }
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(Role::Node),
        Err(e) => Err(e),
    }
}

/// Whether a node, or its name, cannot be represented in the target.
pub(super) fn may_skip(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::Argument)
}

/// A shape for another rank than any array's is a mistake; arrays of other ranks are named.
pub(super) fn check_ranks(
    nodes: &[Node],
    options: &CopyOptions<'_>,
    layouts: &Layouts,
    notes: &mut Vec<String>,
) -> Result<()> {
    for (what, shape) in [("chunks", &options.chunks), ("shards", &options.shards)] {
        let Some(shape) = shape else { continue };
        let arrays = nodes.iter().filter_map(Node::as_array);
        let (fit, others): (Vec<&Array>, Vec<_>) =
            arrays.partition(|array| array.shape().len() == shape.len());
        if let (true, Some(first)) = (fit.is_empty(), others.first()) {
            let (asked, due) = (axes(shape.len()), axes(first.shape().len()));
            let why =
                format!("{what} of {asked} for an array of {due}; give one length for each axis");
            let store = first.hierarchy().store().name();
            let error = Error::from(AccessError::Argument(why));
            return Err(error.at_store(store).at_path(first.path()));
        }
        let keep_theirs = others.iter().filter(|array| {
            let has_others = layouts.get(array.path()).is_some_and(|layout| match what {
                "chunks" => layout.chunks.is_some(),
                _ => layout.shards.is_some(),
            });
            !has_others
        });
        let kept = keep_theirs.map(|array| {
            let rank = array.shape().len();
            let axes = if rank == 1 { "axis" } else { "axes" };
            format!(
                "{}: has {rank} {axes}, not {}: its {what} stay as they are",
                array.path(),
                shape.len()
            )
        });
        notes.extend(kept);
    }
    Ok(())
}

/// A number of axes, in words.
fn axes(count: usize) -> String {
    match count {
        1 => "1 axis".to_owned(),
        count => format!("{count} axes"),
    }
}

/// What the other nodes of a hierarchy say of its arrays.
pub(crate) struct Neighbours {
    pub datasets: Datasets,
    pub levels: Levels,
}

impl Neighbours {
    /// What these nodes, all those of one group at least, and the groups above them say. The groups above count for images.
    pub fn of(
        nodes: &[Node],
        above: &[Node],
        dialect: Dialect,
        options: &CopyOptions<'_>,
    ) -> Neighbours {
        let levels = if options.keep_attributes {
            Levels::default()
        } else {
            Levels::of(nodes.iter().chain(above))
        };
        Neighbours { datasets: Datasets::of(nodes, above, dialect), levels }
    }
}

/// The groups above a node, as far as they can be read: one that cannot names no axes.
pub(super) fn groups_above(node: &Node) -> Vec<Node> {
    let above = node.path().ancestors().map(|path| node.hierarchy().node(&path));
    above.filter_map(Result::ok).collect()
}

/// The groups that xarray opens as datasets: all arrays in them have names for their axes.
pub(crate) struct Datasets {
    others: HashSet<Option<NodePath>>,
    /// Levels of images. Their zeros are black, not missing, whatever names their axes have.
    levels: HashSet<NodePath>,
    has_names_of_scalars: bool,
}

impl Datasets {
    pub fn of(nodes: &[Node], above: &[Node], dialect: Dialect) -> Datasets {
        let arrays = nodes.iter().filter_map(Node::as_array).map(|array| (array, array.metadata()));
        let unnamed = arrays
            .filter(|(_, metadata)| metadata.rank() > 0 && !missing_value::has_names(metadata));
        let mut others: HashSet<_> = unnamed.map(|(array, _)| array.path().parent()).collect();
        // An array that is copied by itself is in no group.
        if let [Node::Array(array)] = nodes {
            others.insert(array.path().parent());
        }
        let levels = if above.is_empty() {
            levels_among(nodes)
        } else {
            image_levels(nodes.iter().chain(above))
        };
        Datasets { others, levels, has_names_of_scalars: dialect != Dialect::V3 }
    }

    /// Whether readers take the array for a variable. A scalar's document says nothing of it in v3: there its group
    /// tells.
    pub fn has(&self, array: &Array) -> bool {
        let metadata = array.metadata();
        if self.levels.contains(array.path()) {
            return false;
        }
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

pub(super) const WAYS_OUT: &str =
    "a copy can take others: `--codec gzip`, `--chunks` (library: `CopyOptions`)";

/// Codecs that elements of their types have in v2: a copy with others has them all the same.
const CODECS_OF_TYPES: [&str; 4] = ["json2", "msgpack2", "pickle", "vlen-array"];

/// The error, saying how a copy gets round it, where it does.
pub(super) fn with_way_out(error: Error) -> Error {
    match error.cause() {
        zarr_core::Cause::Metadata(MetadataError::CannotRepresent { format, what, .. })
            if CODECS_OF_TYPES.iter().any(|codec| what.contains(&format!("`{codec}`"))) =>
        {
            MetadataError::CannotRepresent {
                format,
                what: what.clone(),
                hint: "elements of this type need it; copy the array to v2, or leave it out with `--skip-unsupported`"
                    .into(),
            }
            .into()
        }
        zarr_core::Cause::Metadata(MetadataError::CannotRepresent { what, .. })
            if what.contains("transpose") =>
        {
            error.with_hint(
                "`zarr copy --to zarr-v2` writes the elements without it; or leave the array out with `--skip-unsupported`",
            )
        }
        zarr_core::Cause::Metadata(MetadataError::CannotRepresent { what, .. })
            if what.contains("chunks of different shapes") =>
        {
            error.with_hint(
                "`--chunks` gives the copy chunks of one length, along an axis, as in `--chunks time=30`, or along each",
            )
        }
        zarr_core::Cause::Metadata(MetadataError::CannotRepresent { what, .. })
            if ["codec", "compress", "chunk"].iter().any(|word| what.contains(word)) =>
        {
            error.with_hint(WAYS_OUT)
        }
        _ => error,
    }
}
