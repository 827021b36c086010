//! Describes a node in another dialect at its own place, so that its chunks need not be touched.

use zarr_core::format::Documents;
use zarr_core::metadata::ArrayMetadata;
use zarr_core::{Array, Hierarchy, Node, Result};

use super::check::Neighbours;
use super::describe::{Described, describe};
use super::elements::holes;
use super::node_copy::WHOLE;
use super::plan::{Told, parsed_documents};
use super::{CopyOptions, as_stored, node_copy};

/// A node in another dialect.
pub(crate) struct InPlace {
    /// Its documents, the one that makes it a node first.
    pub documents: Documents,
    /// What is lost, and what the documents say otherwise, with nothing lost.
    pub told: Told,
    /// Why the chunks cannot stay as they are.
    pub obstacle: Option<String>,
}

/// What a node becomes in `target` if none of its chunks is touched. `neighbours` are all nodes of its hierarchy. With `keep_fill` an
/// array keeps its fill value where its missing values could only be kept by writing chunks.
pub(crate) fn in_place(
    node: &Node,
    neighbours: &Neighbours,
    target: &Hierarchy,
    keep_fill: bool,
    options: &CopyOptions<'_>,
) -> Result<InPlace> {
    let Node::Array(array) = node else {
        target.check_group(node.path(), &node.attributes())?;
        let keep = options.keep_attributes;
        let documents = node_copy::documents(node, target, node.path(), None, keep, &WHOLE)?;
        let mut told = Told::default();
        told.add(node, target, None, keep);
        return Ok(InPlace { documents, told, obstacle: None });
    };
    let described =
        describe(array, target, neighbours.datasets.has(array), &neighbours.levels, options)?;
    let (mut place, metadata) = InPlace::of_array(node, array, target, described, options)?;
    let source = array.metadata();
    if place.obstacle.is_some() || metadata.fill_bytes() == source.fill_bytes() {
        return Ok(place);
    }
    let missing = holes(array)?.count;
    if missing == 0 {
        return Ok(place);
    }
    let fill = source.declared_fill.brief();
    if !keep_fill {
        let chunks = match missing {
            1 => "1 chunk was".to_owned(),
            _ => format!("{missing} chunks were"),
        };
        place.obstacle = Some(format!(
            "{chunks} never stored and read as {fill}; that would have to be written, since readers of the other \
             dialect would take it for a missing value; `--keep-fill` (library: `MigrateOptions::keep_fill`) keeps the \
             fill value and writes none"
        ));
        return Ok(place);
    }
    let described = describe(array, target, false, &neighbours.levels, options)?;
    let (mut place, _) = InPlace::of_array(node, array, target, described, options)?;
    place.told.notes.push(format!(
        "{}: keeps its fill value {fill}, which readers may take for a missing value",
        array.path()
    ));
    Ok(place)
}

impl InPlace {
    fn of_array(
        node: &Node,
        array: &Array,
        target: &Hierarchy,
        described: Described,
        options: &CopyOptions<'_>,
    ) -> Result<(InPlace, ArrayMetadata)> {
        target.check_array(array.path(), &described.metadata)?;
        let keep = options.keep_attributes;
        let mut told = Told::default();
        told.add(node, target, Some(&described), keep);
        let documents =
            node_copy::documents(node, target, array.path(), Some(described), keep, &WHOLE)?;
        let metadata = parsed_documents(target, array.path(), &documents)?;
        let source = array.metadata();
        let obstacle = match as_stored::obstacle(array, &metadata, target, None) {
            Some(why) => Some(format!("its chunks would have to be encoded again: {why}")),
            None if !has_same_keys(&source, &metadata) => {
                Some("its chunks would need other keys".to_owned())
            }
            None => None,
        };
        Ok((InPlace { documents, told, obstacle }, metadata))
    }
}

/// Whether each chunk has one key in both arrays.
fn has_same_keys(one: &ArrayMetadata, other: &ArrayMetadata) -> bool {
    if one.rank() == 0 {
        // The separator of a scalar separates nothing.
        return one.chunk_keys.key(&[]) == other.chunk_keys.key(&[]);
    }
    one.chunk_keys == other.chunk_keys
}
