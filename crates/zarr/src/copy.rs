//! How does data come from one hierarchy into another, whatever their dialects?

use std::sync::Arc;

use zarr_core::codec::{ChunkContext, Codec, CodecSpec};
use zarr_core::data_type::CoreType;
use zarr_core::grid::ChunkGrid;
use zarr_core::metadata::ArrayMetadata;
use zarr_core::{
    AccessError, Array, Dialect, Error, ErrorKind, Group, Hierarchy, Json, MetadataError, Node,
    NodePath, Object, Region, Result,
};

/// About how many bytes are held at once.
const BLOCK: u64 = 64 << 20;

/// How many bytes an element of any length is taken to have.
const LONG: u64 = 256;

/// What may be different in the copy.
#[derive(Default)]
pub struct CopyOptions<'a> {
    /// Another chunk shape, for arrays of that rank; others keep theirs.
    pub chunks: Option<Vec<u64>>,
    /// Shards of this shape, for arrays of that rank that are copied into final v3.
    pub shards: Option<Vec<u64>>,
    /// Other codecs, as [`crate::codec()`] reads them; an empty list for none.
    pub codecs: Option<Vec<String>>,
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
}

/// Copies a node with all below it to `at` in another hierarchy, in that one's dialect. Returns what was
/// copied.
///
/// Everything that can be refused is refused before the first element is written: a node that is there
/// already, an array that the dialect cannot say.
///
/// # Errors
/// [`AccessError::Exists`]; [`MetadataError::CannotSpell`] naming the obstacle; what either store meets.
pub fn copy(
    source: &Node,
    target: &Hierarchy,
    at: &NodePath,
    options: &CopyOptions<'_>,
) -> Result<Progress> {
    let from = source.hierarchy();
    let nodes = from.tree(source.path())?;
    let mut progress = Progress { nodes_total: nodes.len() as u64, ..Progress::default() };
    let mut plan = Vec::new();
    for child in &nodes {
        let below = child.path.as_str()[source.path().as_str().trim_end_matches('/').len()..]
            .trim_matches('/');
        let to = if below.is_empty() { at.clone() } else { at.join(below)? };
        let node = from.node(&child.path)?;
        let metadata = match &node {
            Node::Group(_) => None,
            Node::Array(array) => {
                let metadata =
                    describe(array, target, options).map_err(|e| e.at_path(&child.path))?;
                progress.bytes_total = progress.bytes_total.saturating_add(size(&metadata));
                Some(metadata)
            }
        };
        if let Some(metadata) = &metadata {
            target.check_array(&to, metadata).map_err(with_way_out)?;
        }
        match target.node(&to) {
            Ok(Node::Group(group)) if makes_way(&group, metadata.is_some())? => {}
            Ok(_) => {
                let taken = Error::from(AccessError::Exists("a node"));
                return Err(taken.at_store(target.store().name()).at_path(&to));
            }
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(e) => return Err(e),
        }
        plan.push((node, to, metadata));
    }
    for (node, to, metadata) in plan {
        match (node, metadata) {
            (Node::Array(array), Some(metadata)) => {
                let copy = target.create_array(&to).from_metadata(metadata).create()?;
                progress.path = Some(to);
                if let Err(e) = copy_elements(&array, &copy, options, &mut progress) {
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
    target.flush()?;
    Ok(progress)
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
        zarr_core::Cause::Metadata(MetadataError::CannotSpell { what, .. })
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
/// in another dialect, whose readers may take nothing but JSON (DECISIONS 38).
fn attributes_for(attributes: Object, from: Dialect, target: &Hierarchy) -> Object {
    if from == target.dialect() {
        return attributes;
    }
    match Json::from(attributes).into_standard() {
        Json::Object(attributes) => attributes,
        _ => unreachable!("an object stays one"),
    }
}

fn size(metadata: &ArrayMetadata) -> u64 {
    let element = metadata.data_type.repr().map_or(1, |repr| repr.size() as u64);
    zarr_core::region::element_count(&metadata.shape).unwrap_or(u64::MAX).saturating_mul(element)
}

/// The codec that makes bytes of elements where nothing else does: `bytes`, or what objects have in its place.
fn serializer(metadata: &ArrayMetadata) -> Option<CodecSpec> {
    let is_variable = metadata.data_type.is_variable();
    let turns = |spec: &CodecSpec| spec.name == "transpose";
    let mut codecs = metadata.codecs.iter();
    let found = codecs.find(|spec| spec.name == "bytes" || is_variable && !turns(spec)).cloned();
    if is_variable {
        return found;
    }
    let mut bytes = found.unwrap_or_else(|| CodecSpec::v3("bytes", Object::new()));
    // What stood before it may have made single bytes of elements.
    if metadata.data_type.has_byte_order() && !bytes.configuration.contains("endian") {
        bytes.configuration.insert("endian", "little");
    }
    Some(bytes)
}

/// The copy's metadata, in the target's words.
fn describe(
    array: &Array,
    target: &Hierarchy,
    options: &CopyOptions<'_>,
) -> Result<ArrayMetadata, Error> {
    let registry = target.registry();
    let mut metadata = (*array.metadata()).clone();
    let from = array.hierarchy().dialect();
    metadata.attributes = attributes_for(metadata.attributes, from, target);
    let rechunked = options.chunks.is_some() || options.shards.is_some();
    if rechunked || options.codecs.is_some() || target.dialect() != Dialect::V3 {
        metadata = metadata.unsharded();
    }
    if let Some(chunks) = options.chunks.as_ref().filter(|chunks| chunks.len() == metadata.rank()) {
        let grid = zarr_core::grid::RegularGrid::new(chunks, &metadata.shape)?;
        metadata.grid = Some(Arc::new(grid));
    }
    if let Some(codecs) = &options.codecs {
        let bytes = serializer(&metadata);
        // The order of axes stays; everything else is what was asked for.
        let turns = metadata.codecs.iter().filter(|spec| spec.name == "transpose").cloned();
        let mut chain: Vec<_> = turns.chain(bytes).collect();
        let data_type = metadata.data_type.clone();
        let data_type = if data_type.is_variable() { CoreType::Uint8.into() } else { data_type };
        let context = ChunkContext::new(data_type, metadata.chunk_extent());
        for text in codecs {
            let spec = crate::codec(text)?;
            // With every parameter said, as in what a builder creates.
            let codec = registry.build_codec(&spec, &context)?;
            if let Codec::ArrayToBytes(_) = codec {
                chain.retain(|spec| spec.name != "bytes");
            }
            chain.push(codec.spelling(Dialect::V3).unwrap_or(spec));
        }
        metadata.codecs = chain;
        if metadata.attributes.get("filters").is_some_and(|f| matches!(f, Json::Array(_)))
            && array.hierarchy().dialect() == Dialect::Draft
        {
            metadata.attributes.remove("filters");
        }
    }
    if target.dialect() == Dialect::Draft && metadata.rank() == 0 {
        // zarr-python 2.18 reads no compressed scalars; an element needs no codec.
        metadata.codecs = serializer(&metadata).into_iter().collect();
    }
    let metadata = metadata.converted_to(target.dialect(), registry);
    let metadata = metadata.map_err(|e| with_way_out(e.into()))?;
    if let Ok(chain) = metadata.chain(registry, target.dialect()) {
        chain.check_encodes().map_err(|e| Error::from(e).with_hint(WAYS_OUT))?;
    }
    match options.shards.as_ref().filter(|shards| shards.len() == metadata.rank()) {
        Some(shards) if target.dialect() == Dialect::V3 => Ok(metadata.sharded(shards)?),
        Some(_) => {
            let why = format!("{} has no shards; copy into v3", target.format_name());
            Err(AccessError::Argument(why).into())
        }
        None => Ok(metadata),
    }
}

/// Copies all elements, in blocks of whole chunks of the copy.
fn copy_elements(
    from: &Array,
    to: &Array,
    options: &CopyOptions<'_>,
    progress: &mut Progress,
) -> Result<()> {
    let metadata = to.metadata();
    let element = metadata.data_type.repr().map_or(1, |repr| repr.size() as u64);
    let Some(grid) = &metadata.grid else {
        return Ok(());
    };
    let guess = if metadata.data_type.is_variable() { LONG } else { element };
    for block in blocks(grid.clone(), metadata.shape.clone(), guess) {
        let bytes = from.read_bytes(&block)?;
        to.write_bytes(&block, &bytes)?;
        // Of elements of any length a total can only count the cells.
        progress.bytes_done += block.element_count().unwrap_or(u64::MAX).saturating_mul(element);
        report(options, progress);
    }
    Ok(())
}

/// Regions of whole chunks that cover an array, each of about [`BLOCK`] bytes, made as they are asked for.
fn blocks(grid: Arc<dyn ChunkGrid>, shape: Vec<u64>, element: u64) -> impl Iterator<Item = Region> {
    let rank = shape.len();
    let counts: Vec<u64> = (0..rank).map(|axis| grid.count(axis, shape[axis])).collect();
    // How many chunks of each axis go into one block: all of the inner axes, as far as they fit.
    let mut steps = vec![1u64; rank];
    let mut size = (0..rank).fold(element, |n, axis| n.saturating_mul(grid.span(axis, 0).stored));
    for axis in (0..rank).rev() {
        steps[axis] = (BLOCK / size.max(1)).clamp(1, counts[axis].max(1));
        size = size.saturating_mul(steps[axis]);
        if steps[axis] < counts[axis] {
            break;
        }
    }
    let mut next = (!counts.contains(&0)).then(|| vec![0u64; rank]);
    std::iter::from_fn(move || {
        let first = next.take()?;
        let end = |axis: usize| first[axis].saturating_add(steps[axis]).min(counts[axis]);
        let region = Region::new((0..rank).map(|axis| {
            let last = grid.span(axis, end(axis) - 1);
            grid.span(axis, first[axis]).start..last.start.saturating_add(last.len).min(shape[axis])
        }));
        let mut following: Vec<u64> = first.clone();
        for axis in (0..rank).rev() {
            following[axis] = end(axis);
            if following[axis] < counts[axis] {
                next = Some(following);
                break;
            }
            following[axis] = 0;
        }
        Some(region)
    })
}
