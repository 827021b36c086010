//! Describes a node in another dialect at its own place, so that its chunks need not be touched.

use zarr_core::format::Documents;
use zarr_core::grid::ChunkKeys;
use zarr_core::metadata::ArrayMetadata;
use zarr_core::{Array, Hierarchy, Node, Result};

use super::check::Datasets;
use super::describe::{Described, describe};
use super::elements::holes;
use super::plan::parsed_documents;
use super::{CopyOptions, as_stored, node_copy};

/// A node in another dialect.
pub(crate) struct InPlace {
    /// Its documents, the one that makes it a node first.
    pub documents: Documents,
    /// What is lost.
    pub not_kept: Option<String>,
    /// What the documents say otherwise, with nothing lost.
    pub note: Option<String>,
    /// Why the chunks cannot stay as they are.
    pub obstacle: Option<String>,
}

/// What a node becomes in `target` if none of its chunks is touched. `all` are all nodes of its hierarchy. With `keep_fill` an
/// array keeps its fill value where another one could only be kept by writing chunks.
pub(crate) fn in_place(
    node: &Node,
    all: &[Node],
    target: &Hierarchy,
    keep_fill: bool,
    options: &CopyOptions<'_>,
) -> Result<InPlace> {
    let Node::Array(array) = node else {
        target.check_group(node.path(), &node.attributes())?;
        let documents = node_copy::documents(node, target, node.path(), None)?;
        return Ok(InPlace { documents, not_kept: None, note: None, obstacle: None });
    };
    let datasets = Datasets::of(all, node.hierarchy().dialect());
    let described = describe(array, target, datasets.has(array), options)?;
    let plain = InPlace::of_array(node, array, target, described)?;
    let (mut place, metadata) = plain;
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
    let described = describe(array, target, false, options)?;
    let (mut place, _) = InPlace::of_array(node, array, target, described)?;
    place.note =
        Some(format!("keeps its fill value {fill}, which readers may take for a missing value"));
    Ok(place)
}

impl InPlace {
    fn of_array(
        node: &Node,
        array: &Array,
        target: &Hierarchy,
        described: Described,
    ) -> Result<(InPlace, ArrayMetadata)> {
        target.check_array(array.path(), &described.metadata)?;
        let (not_kept, note) = (described.not_kept.clone(), described.note.clone());
        let documents = node_copy::documents(node, target, array.path(), Some(described))?;
        let metadata = parsed_documents(target, array.path(), &documents)?;
        let source = array.metadata();
        let obstacle = as_stored::obstacle(array, &metadata, target, None)
            .map(|why| format!("its chunks would have to be encoded again: {why}"));
        let obstacle = obstacle.or_else(|| {
            (!has_same_keys(&source, &metadata))
                .then(|| "its chunks would have other keys".to_owned())
        });
        Ok((InPlace { documents, not_kept, note, obstacle }, metadata))
    }
}

/// Whether each chunk has one key in both arrays.
fn has_same_keys(one: &ArrayMetadata, other: &ArrayMetadata) -> bool {
    let keys = |metadata: &ArrayMetadata| -> ChunkKeys {
        // The separator of a scalar separates nothing.
        if metadata.rank() == 0 {
            metadata.chunk_keys.clone().with_separator('.')
        } else {
            metadata.chunk_keys.clone()
        }
    };
    keys(one) == keys(other)
}
