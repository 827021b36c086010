//! Describes a node.

use std::sync::Arc;

use clap::Args;
use zarr::data_type::{DataType, Field};
use zarr::format::Child;
use zarr::grid::{ChunkGrid, ChunkKeys, RegularGrid, chunk_count};
use zarr::tools::CopyUnderWay;
use zarr::{
    Array, ArrayMetadata, Dialect, ErrorKind, Group, Json, MetadataError, Node, Object, StoredSize,
    Unsupported, missing_value,
};

#[cfg(feature = "plot")]
use super::geography;
use super::{Out, contents, ls, netcdf};
use crate::digits::Digits;
use crate::failure::Failure;
use crate::human;
use crate::json::or_null;
use crate::session::{self, Session, Target};

/// Up to this number of chunks, those that are stored are counted without a word.
const MAX_CHUNKS_COUNTED_UNASKED: u64 = 100_000;

#[derive(Debug, Args)]
#[command(before_help = "\
Examples:
  zarr info data.zarr
  zarr info data.zarr --path ocean/temperature
  zarr info data.zarr/ocean/temperature --json
  zarr info data.zarr/ocean/temperature --stored",
    after_long_help = crate::details("\
For a group whose dimensions have names, it describes the arrays as xarray does: dimensions, coordinates with their first and
last values in local stores, and variables. For an OME-Zarr image, it describes axes, channels and levels; for a plate, wells,
fields and acquisitions.

For a georeferenced array, it prints the coordinate reference system and its source, the grid steps, the bounds, and whether rows
run from north to south.

For a sharded array, `shards` and `chunks` have the meaning of --shards and --chunks in `zarr create`: a shard is a
stored object that consists of chunks.

With --json, `data_type` and `fill_value` are as in the document; `unsupported` lists what this build lacks to read
the elements, and `geography` is present if there is a coordinate reference system."))]
pub(crate) struct Info {
    #[command(flatten)]
    target: Target,
    /// Count the stored chunks of an array and their bytes
    ///
    /// This may list many keys, or send requests to a server; the ratio is the size of all elements divided by the stored
    /// size
    #[arg(long)]
    stored: bool,
}

impl Info {
    /// What there is to say of a node without counting what is stored of it.
    pub fn new(target: &Target) -> Info {
        Info { target: target.clone(), stored: false }
    }

    pub fn run(&self, session: &Session, out: Out<'_>) -> Result<(), Failure> {
        let node = session.open(&self.target)?;
        let stored = match &node {
            Node::Array(array) if self.stored => Some(array.stored_size()?),
            // Looking at files costs little.
            Node::Array(array) if !session.is_json() && is_small(array) => array.stored_size().ok(),
            _ => None,
        };
        let options = zarr::nczarr::DatasetOptions::of(session.options()?);
        let dataset = netcdf::dataset_with(&node, options);
        let copies = session.copies_under_way(&node)?;
        match (session.is_json(), &node) {
            (true, _) => {
                let mut members = members(&node);
                if !copies.is_empty() {
                    members.insert("copies_under_way", session::copies(&copies));
                }
                if let Some(dataset) = &dataset {
                    members.insert("netcdf", netcdf::members(dataset, &node));
                }
                #[cfg(feature = "plot")]
                if let Node::Array(array) = &node
                    && let array = geography::located(session, &self.target, array)?
                    && let Some(geography) = geography::members(&array)
                {
                    members.insert("geography", geography);
                }
                if let (Some(stored), Node::Array(array)) = (stored, &node) {
                    members.insert("stored_chunks", stored.chunks);
                    members.insert("stored_bytes", stored.bytes);
                    members.insert(
                        "storage_ratio",
                        ls::ratio(array, stored)
                            .map_or(Json::Null, |r| Json::Number(format!("{r:.3}").into())),
                    );
                }
                writeln!(out, "{:#}", Json::from(members).into_standard())?;
            }
            (false, Node::Array(array)) => {
                describe_array(array, out)?;
                #[cfg(feature = "plot")]
                for (label, text) in
                    geography::lines(&geography::located(session, &self.target, array)?)
                {
                    line(out, label, text)?;
                }
                if let Some(stored) = stored {
                    line(out, "stored", stored_line(array, stored))?;
                }
            }
            (false, Node::Group(group)) => describe_group(group, dataset.is_some(), out)?,
        }
        if !session.is_json() {
            for (label, text) in dataset.iter().flat_map(|dataset| netcdf::lines(dataset, &node)) {
                line(out, label, text)?;
            }
            for CopyUnderWay { path, percent, resume, .. } in &copies {
                let text =
                    format!("{path}: copy under way, {percent} % done; resume with `{resume}`");
                line(out, "copy", text)?;
            }
            session.warn(node.hierarchy());
        }
        if node.as_group().is_some() {
            session.warn_of_unnamed(&node);
        }
        Ok(())
    }
}

/// Whether an array's chunks are few, in a store that is near.
fn is_small(array: &Array) -> bool {
    let capabilities = array.hierarchy().store().capabilities();
    capabilities.local
        && capabilities.list
        && ls::objects(&array.metadata()).is_some_and(|all| all <= MAX_CHUNKS_COUNTED_UNASKED)
}

/// `47 of 48 chunks, 10.3 MiB of 14.0 MiB (1.4×)`.
fn stored_line(array: &Array, stored: StoredSize) -> String {
    let metadata = array.metadata();
    let noun = if metadata.has_shards() { "shard" } else { "chunk" };
    if stored.chunks == 0 {
        return format!("no {noun}; every element reads as the fill value");
    }
    let count = match ls::objects(&metadata) {
        Some(all) => format!("{} of {}", human::count(stored.chunks), human::plural(all, noun)),
        None => human::plural(stored.chunks, noun),
    };
    let of = match (ls::size(&metadata), ls::ratio(array, stored)) {
        (Some(size), Some(ratio)) => format!(" of {} ({ratio:.1}×)", human::size(size)),
        _ => String::new(),
    };
    format!("{count}, {}{of}", human::size(stored.bytes))
}

/// `100 × 100: 400 chunks of 78.1 KiB`.
fn grid_line(
    metadata: &ArrayMetadata,
    shape: Option<Vec<u64>>,
    count: Option<u64>,
    noun: &str,
) -> String {
    let count = count.map_or(format!("too many {noun}s to count"), |n| human::plural(n, noun));
    let Some(shape) = shape else { return format!("of different shapes: {count}") };
    let size = zarr::region::element_count(&shape)
        .and_then(|n| n.checked_mul(item_size(&metadata.data_type)?))
        .map_or(String::new(), |size| format!(" of {}", human::size(size)));
    format!("{}: {count}{size}", times(&shape))
}

/// How many shards there are, if there are any and they can be counted.
fn shard_count(metadata: &ArrayMetadata) -> Option<u64> {
    let shards = metadata.shard_shape();
    let grid: Arc<dyn ChunkGrid> = match (&metadata.shards, shards) {
        (Some(_), Some(shards)) => Arc::new(RegularGrid::new(&shards, &metadata.shape).ok()?),
        _ => metadata.grid.clone().filter(|_| metadata.has_shards())?,
    };
    chunk_count(&*grid, &metadata.shape)
}

/// What hinders this build from reading and writing elements.
fn obstacles(array: &Array) -> Vec<Unsupported> {
    let metadata = array.metadata();
    if !metadata.unsupported.is_empty() {
        return metadata.unsupported.clone();
    }
    let hierarchy = array.hierarchy();
    match metadata.chain(hierarchy.registry(), hierarchy.dialect()) {
        Err(MetadataError::Unsupported(unsupported)) => vec![unsupported],
        _ => Vec::new(),
    }
}

/// The information as members of a JSON object.
fn members(node: &Node) -> Object {
    let hierarchy = node.hierarchy();
    let object = Object::new()
        .with("path", node.path().as_str())
        .with("format", hierarchy.format_name())
        .with("era", hierarchy.era().map_or(Json::Null, |era| Json::from(era.name())))
        .with("node_type", node.kind().name())
        .with("store", hierarchy.store().name());
    let object = match node {
        Node::Array(array) => array_members(array, object),
        Node::Group(group) => group_members(group, object),
    };
    let warnings = hierarchy.warnings();
    object
        .with("attributes", Json::from(node.attributes()).into_standard())
        .with("warnings", warnings.iter().map(|w| Json::from(w.to_string())).collect::<Json>())
}

fn group_members(group: &Group, object: Object) -> Object {
    let mut object = object.with("implicit", group.metadata().implicit);
    // Where the store cannot list, the group can be read all the same.
    let children = group.children().unwrap_or_default();
    if let Some(contents) = contents::Contents::of(group, &children) {
        object = contents.members(object);
    }
    let images = contents::images(group);
    if !images.is_empty() {
        object.insert("images", images);
    }
    for (name, value) in contents::plate_members(group).iter() {
        object.insert(name, value.clone());
    }
    object
}

fn array_members(array: &Array, object: Object) -> Object {
    let metadata = array.metadata();
    let codecs = metadata.codecs.iter().map(|spec| {
        let object = Object::new().with("name", spec.name.as_str());
        Json::from(object.with("configuration", spec.configuration.clone()))
    });
    let names = metadata.dimension_names.as_ref().map_or(Json::Null, |names| {
        names.iter().map(|name| name.as_deref().map_or(Json::Null, Json::from)).collect()
    });
    let inner = ArrayMetadata::clone(&metadata).unsharded();
    let chunk_shape = inner.chunk_shape();
    let count = inner.grid.as_ref().and_then(|grid| chunk_count(&**grid, &metadata.shape));
    // Other encodings need not have one.
    let separator = match &metadata.chunk_keys {
        ChunkKeys::Registered(_) | ChunkKeys::Unknown => Json::Null,
        keys => Json::from(keys.separator().to_string()),
    };
    let mut object = object
        .with("shape", &metadata.shape[..])
        .with("data_type", metadata.declared_type.clone())
        .with("data_type_name", metadata.data_type.to_string())
        .with("item_size", or_null(item_size(&metadata.data_type)))
        .with("chunk_shape", chunk_shape.as_deref().map_or(Json::Null, Json::from))
        .with("chunk_count", or_null(count))
        .with("shard_shape", metadata.shard_shape().as_deref().map_or(Json::Null, Json::from))
        .with("shard_count", or_null(shard_count(&metadata)))
        .with("chunk_key_separator", separator)
        .with("codecs", codecs.collect::<Json>())
        .with("fill_value", metadata.declared_fill.clone())
        .with("dimension_names", names);
    if let DataType::Record(record) = &metadata.data_type {
        object.insert("fields", record.fields().iter().map(field_members).collect::<Json>());
    }
    if metadata.data_type.has_byte_order() {
        object.insert("stored_endian", metadata.endian().name());
    }
    let obstacles = obstacles(array);
    let unsupported = obstacles.iter().map(|lack| {
        let object = Object::new().with("what", lack.what).with("name", lack.name.as_str());
        Json::from(object.with("hint", lack.hint.as_str()))
    });
    object.with("unsupported", unsupported.collect::<Json>())
}

/// Bytes in an element, if all have as many.
fn item_size(data_type: &zarr::data_type::DataType) -> Option<u64> {
    let repr = data_type.repr().filter(|_| !data_type.is_variable());
    repr.map(|repr| repr.size() as u64)
}

/// A line of the plain form.
fn line(out: Out<'_>, label: &str, text: impl std::fmt::Display) -> Result<(), Failure> {
    Ok(writeln!(out, "{label:<12} {}", human::printable(&text.to_string()))?)
}

fn times(lengths: &[u64]) -> String {
    match lengths {
        [] => "scalar".into(),
        lengths => lengths.iter().map(|&len| human::count(len)).collect::<Vec<_>>().join(" × "),
    }
}

/// A string without its quotes if it is one, else JSON, in which numbers have the digits of the output.
fn plain(json: &Json) -> String {
    match json {
        Json::String(text) => text.clone(),
        other => Digits::of_output().of_json(other).to_string(),
    }
}

fn heading(node: &str, path: &str, format: &str, store: &str, out: Out<'_>) -> Result<(), Failure> {
    let heading = format!("{path}: {node} in {format}, {store}");
    Ok(writeln!(out, "{}", human::printable(&heading))?)
}

/// `v3`, `draft-2020 (E4)`.
fn format_of(hierarchy: &zarr::Hierarchy) -> String {
    let name = hierarchy.format_name();
    hierarchy.era().map_or(name.to_owned(), |era| format!("{name} ({})", era.name()))
}

pub(super) fn describe_array(array: &Array, out: Out<'_>) -> Result<(), Failure> {
    let (metadata, hierarchy) = (array.metadata(), array.hierarchy());
    let store = hierarchy.store().name();
    heading("array", array.path().as_str(), &format_of(hierarchy), &store, out)?;
    let elements = zarr::region::element_count(&metadata.shape);
    let item = item_size(&metadata.data_type);
    line(out, "shape", times(&metadata.shape))?;
    if let Some(names) = &metadata.dimension_names {
        let names: Vec<&str> = names.iter().map(|name| name.as_deref().unwrap_or("-")).collect();
        line(out, "dimensions", names.join(", "))?;
    }
    line(out, "type", type_line(&metadata.data_type.to_string(), &metadata.declared_type))?;
    if let DataType::Record(record) = &metadata.data_type {
        for (n, field) in record.fields().iter().enumerate() {
            line(out, if n == 0 { "fields" } else { "" }, field_line(field))?;
        }
    }
    if let (Some(elements), Some(item)) = (elements, item) {
        let size = elements.checked_mul(item).map_or("too much to count".into(), human::size);
        line(out, "size", format!("{size}, {}", human::plural(elements, "element")))?;
    }
    if metadata.grid.is_some() {
        if metadata.has_shards() {
            let text =
                grid_line(&metadata, metadata.shard_shape(), shard_count(&metadata), "shard");
            line(out, "shards", text)?;
        }
        let inner = ArrayMetadata::clone(&metadata).unsharded();
        let count = inner.grid.as_ref().and_then(|grid| chunk_count(&**grid, &metadata.shape));
        line(out, "chunks", grid_line(&metadata, inner.chunk_shape(), count, "chunk"))?;
    }
    for (n, codec) in metadata.codecs.iter().enumerate() {
        line(out, if n == 0 { "codecs" } else { "" }, codec)?;
    }
    let fill = match (&metadata.declared_fill, &metadata.data_type) {
        (Json::Null, _) if matches!(metadata.data_type, DataType::Optional(_)) => "missing".into(),
        (Json::Null, _) => "undefined".into(),
        // `0` and `-9223372036854775808` mean little to people.
        (_, DataType::Time(time)) => {
            let fill = metadata.fill_bytes();
            let count = fill.first_chunk().expect("a count of time has eight bytes");
            time.text_of(i64::from_ne_bytes(*count))
        }
        (fill, _) => plain(fill),
    };
    line(out, "fill value", fill)?;
    let mut attributes = metadata.attributes.clone();
    if let Some(text) = missing_value_line(&metadata) {
        attributes.insert(missing_value::FILL_VALUE, text);
    }
    describe_attributes(&attributes, out)?;
    for obstacle in obstacles(array) {
        line(out, "unsupported", obstacle)?;
    }
    Ok(())
}

/// The missing value of floats, which xarray writes as base64 in v3: `NaN, spelled "AAAAAAAA+H8="`.
fn missing_value_line(metadata: &ArrayMetadata) -> Option<String> {
    let said = metadata.attributes.get(missing_value::FILL_VALUE)?;
    let text = said.as_str()?;
    let data_type = &metadata.data_type;
    let value = missing_value::from_json(data_type, said)?;
    let value = plain(&data_type.element_to_json(&value, Dialect::V3).ok()?);
    (value != text).then(|| type_line(&value, said))
}

/// `a: int32`, `b: float64[3], big-endian`.
fn field_line(field: &Field) -> String {
    let shape = match field.shape() {
        [] => String::new(),
        shape => format!("{shape:?}"),
    };
    let order =
        field.endian().map_or(String::new(), |endian| format!(", {}-endian", endian.name()));
    format!("{}: {}{shape}{order}", field.name(), field.data_type())
}

fn field_members(field: &Field) -> Json {
    let mut object = Object::new()
        .with("name", field.name())
        .with("data_type_name", field.data_type().to_string())
        .with("shape", field.shape())
        .with("offset", field.offset() as u64)
        .with("size", field.size() as u64);
    if let Some(endian) = field.endian() {
        object.insert("stored_endian", endian.name());
    }
    object.into()
}

fn type_line(name: &str, declared: &Json) -> String {
    match declared {
        Json::String(text) if text == name => text.clone(),
        Json::Null => name.to_owned(),
        other => format!("{name}, spelled {}", other.brief()),
    }
}

fn describe_group(group: &Group, is_netcdf: bool, out: Out<'_>) -> Result<(), Failure> {
    let hierarchy = group.hierarchy();
    let store = hierarchy.store().name();
    let what = if group.metadata().implicit { "implicit group" } else { "group" };
    heading(what, group.path().as_str(), &format_of(hierarchy), &store, out)?;
    let image = contents::image_lines(group);
    let plate = contents::plate_lines(group);
    for (label, text) in plate.iter().chain(&image) {
        line(out, label, text)?;
    }
    #[cfg(feature = "plot")]
    if let Some((label, text)) = geography::level_line(group) {
        line(out, label, text)?;
    }
    match group.children() {
        Ok(children) => describe_children(group, &children, (is_netcdf, !image.is_empty()), out)?,
        // Plain HTTP cannot list; the group can be read all the same.
        Err(e) if e.kind() == ErrorKind::NotCapable => {
            line(out, "children", "the store cannot list")?
        }
        Err(e) => return Err(e.into()),
    }
    let mut attributes = group.attributes().clone();
    let mut described = Vec::new();
    if !image.is_empty() {
        described.extend(["multiscales", "omero", "ome"]);
    }
    if !plate.is_empty() {
        described.extend(["plate", "well", "ome"]);
    }
    for name in described {
        if attributes.contains(name) {
            attributes.insert(name, "described above; `zarr attrs` prints it");
        }
    }
    describe_attributes(&attributes, out)
}

/// The dataset that arrays make, and the names of the groups; of arrays without names of dimensions, the names of all.
fn describe_children(
    group: &Group,
    children: &[Child],
    (is_netcdf, is_image): (bool, bool),
    out: Out<'_>,
) -> Result<(), Failure> {
    // The levels of an image are described above; their dimensions have a length in each.
    let contents = if is_image { None } else { contents::Contents::of(group, children) };
    let mut names = Vec::new();
    for child in children {
        if contents.is_none() || is_group(child) {
            let name = child.path.name().unwrap_or_default();
            names.push(format!("{name}{}", if is_group(child) { "/" } else { "" }));
        }
    }
    let Some(contents) = contents else {
        let names = if names.is_empty() { "none".into() } else { names.join("  ") };
        return line(out, "children", names);
    };
    for (label, text) in contents.lines() {
        // A netCDF dataset declares its dimensions.
        if !(is_netcdf && label == "dimensions") {
            line(out, label, text)?;
        }
    }
    if !names.is_empty() {
        line(out, "groups", names.join("  "))?;
    }
    Ok(())
}

/// Whether a child is a group.
fn is_group(child: &Child) -> bool {
    child.kind == Some(zarr::NodeKind::Group)
}

fn describe_attributes(attributes: &Object, out: Out<'_>) -> Result<(), Failure> {
    for (n, (name, value)) in attributes.iter().enumerate() {
        // Dimensions and types of attributes, as NCZarr keeps them; the lines above have them in words.
        let value = if name.starts_with("_nczarr_") {
            "NCZarr's own; `zarr attrs` prints it".into()
        } else {
            plain(value)
        };
        line(out, if n == 0 { "attributes" } else { "" }, format!("{name}: {value}"))?;
    }
    Ok(())
}
