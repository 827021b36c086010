//! Zarr v2 as a format (Z2-001 … Z2-026).

use super::children::{kind_by_key, supposed_children};
use super::corrections;
use super::flat_chain::{flat_chain, serialized};
use super::members::{
    attributes, attributes_with_dimensions, cannot, check_version, document, fill_to_metadata,
    invalid, lengths, parse_fill, parse_object, regular_chunk_shape, type_to_metadata,
    xarray_dimensions,
};
use super::{Child, Correction, DocumentMember, Documents, Format, JsonEncoding, Reading};
use crate::codec::{CodecSpec, reversing_codec};
use crate::data_type::DataType;
use crate::dialect::Dialect;
use crate::error::{AccessError, MetadataError, StoreError, Unsupported};
use crate::grid::{ChunkKeys, RegularGrid};
use crate::json::{Json, Object};
use crate::metadata::{ArrayMetadata, GroupMetadata, NodeKind, NodeMetadata};
use crate::path::NodePath;
use crate::registry::Registry;
use crate::store::{Listing, StoreKey};

/// v2: `.zarray` or `.zgroup`, and `.zattrs`.
#[derive(Clone, Copy, Debug, Default)]
pub struct V2;

const ARRAY: &str = ".zarray";
const GROUP: &str = ".zgroup";
const ATTRIBUTES: &str = ".zattrs";

impl Format for V2 {
    fn dialect(&self) -> Dialect {
        Dialect::V2
    }

    fn check_name(&self, name: &str) -> Result<(), AccessError> {
        if name.starts_with(".z") {
            Err(AccessError::Argument(format!(
                "`{name}` cannot name a node: `.z…` names documents"
            )))
        } else {
            Ok(())
        }
    }

    fn document_keys(&self, path: &NodePath) -> Result<Vec<StoreKey>, StoreError> {
        [ARRAY, GROUP, ATTRIBUTES].into_iter().map(|name| path.key_below(name)).collect()
    }

    fn parse(
        &self,
        path: &NodePath,
        found: &Documents,
        reading: &mut Reading<'_>,
    ) -> Result<Option<NodeMetadata>, MetadataError> {
        let [array, group, attributes] = [ARRAY, GROUP, ATTRIBUTES].map(|name| {
            let key = path.key_below(name).ok()?;
            found.iter().find(|(found, _)| *found == key).map(|(_, bytes)| bytes)
        });
        if array.is_none() && group.is_none() {
            return Ok(None);
        }
        let attributes = match attributes {
            None => Object::new(),
            Some(bytes) => parse_object(bytes, &JsonEncoding, false, reading)
                .map_err(|e| MetadataError::invalid(ATTRIBUTES, e.to_string()))?,
        };
        if let Some(bytes) = array {
            if group.is_some() {
                reading
                    .tolerate("found both `.zarray` and `.zgroup`; using the array")
                    .map_err(MetadataError::Json)?;
            }
            let object = parse_object(bytes, &JsonEncoding, false, reading)?;
            return parse_array(object, attributes, reading)
                .map(|a| Some(NodeMetadata::Array(Box::new(a))));
        }
        let Some(bytes) = group else { return Ok(None) };
        let mut object = parse_object(bytes, &JsonEncoding, false, reading)?;
        corrections::version(&mut object, "2", reading)?;
        check_version(&object, "2")?;
        object.remove("zarr_format");
        Ok(Some(NodeMetadata::Group(GroupMetadata {
            attributes,
            unknown: object,
            implicit: false,
        })))
    }

    fn kind(&self, path: &NodePath, found: &Documents) -> Result<Option<NodeKind>, MetadataError> {
        let kinds =
            [(path.key_below(ARRAY), NodeKind::Array), (path.key_below(GROUP), NodeKind::Group)];
        Ok(kind_by_key(kinds, found))
    }

    fn create(&self, path: &NodePath, node: &NodeMetadata) -> Result<Documents, MetadataError> {
        let (name, object, attributes) = match node {
            NodeMetadata::Array(array) => {
                (ARRAY, array_document(array)?, attributes_with_dimensions(array, "v2")?)
            }
            NodeMetadata::Group(group) => {
                let head = Object::new().with("zarr_format", 2u64);
                let members =
                    group.unknown.iter().map(|(name, value)| (name.to_owned(), value.clone()));
                (GROUP, head.into_iter().chain(members).collect(), group.attributes.clone())
            }
        };
        let mut objects = vec![(name, object)];
        if !attributes.is_empty() {
            objects.push((ATTRIBUTES, attributes));
        }
        let mut documents = Documents::new();
        for (name, object) in objects {
            let key = path.key_below(name).map_err(|e| MetadataError::Json(e.to_string()))?;
            documents.push((key, document(object, &JsonEncoding)?));
        }
        Ok(documents)
    }

    fn corrected(
        &self,
        key: &StoreKey,
        document: &[u8],
        registry: &Registry,
    ) -> Option<Correction> {
        let name = key.as_str().rsplit('/').next().unwrap_or_default();
        corrections::corrected_v2(name, document, registry)
    }

    fn groups_are_explicit(&self) -> bool {
        true
    }

    fn attributes_member(
        &self,
        path: &NodePath,
        _: NodeKind,
    ) -> Result<DocumentMember, StoreError> {
        Ok(DocumentMember { key: path.key_below(ATTRIBUTES)?, member: None, may_be_absent: true })
    }

    fn shape_member(&self, path: &NodePath) -> Result<DocumentMember, StoreError> {
        Ok(DocumentMember::new(path.key_below(ARRAY)?, "shape"))
    }

    fn children(
        &self,
        path: &NodePath,
        listing: &Listing,
        warnings: &mut Vec<String>,
    ) -> Vec<Child> {
        supposed_children(path, listing, ".z", warnings)
    }
}

const MEMBERS: [&str; 9] = [
    "zarr_format",
    "shape",
    "chunks",
    "dtype",
    "compressor",
    "fill_value",
    "order",
    "filters",
    "dimension_separator",
];

/// Codecs that change elements rather than make them fewer.
const FILTERS: [&str; 15] = [
    "vlen-utf8",
    "vlen-bytes",
    "vlen-array",
    "json2",
    "json",
    "msgpack2",
    "msgpack",
    "delta",
    "shuffle",
    "fixedscaleoffset",
    "quantize",
    "bitround",
    "packbits",
    "astype",
    "categorize",
];

/// A codec as v2 and a draft's hidden filters have it: an object with an `id` (Z2-016).
pub(super) fn codec(member: &str, json: &Json) -> Result<CodecSpec, MetadataError> {
    let id = json.as_object().and_then(|o| o.get("id")).and_then(Json::as_str);
    let (Some(object), Some(id)) = (json.as_object(), id) else {
        return Err(MetadataError::invalid(
            member,
            format!("{} is not an object with an `id`", json.brief()),
        ));
    };
    let mut configuration = object.clone();
    configuration.remove("id");
    Ok(CodecSpec::new(Dialect::V2, id, configuration))
}

/// A codec as v2's metadata, as [`codec`] reads it.
pub(super) fn codec_object(codec: &CodecSpec) -> Json {
    let id = std::iter::once(("id".to_owned(), Json::from(codec.name.as_str())));
    Json::Object(id.chain(codec.configuration.clone()).collect())
}

/// A list of filters, null or absent for none.
pub(super) fn filters(json: Option<&Json>) -> Result<Vec<CodecSpec>, MetadataError> {
    match json {
        None | Some(Json::Null) => Ok(Vec::new()),
        Some(Json::Array(list)) => list.iter().map(|json| codec("filters", json)).collect(),
        Some(other) => Err(MetadataError::invalid(
            "filters",
            format!("expected a list, found {}", other.kind()),
        )),
    }
}

/// Why an unknown data type cannot be read.
pub(super) fn unknown_type(declared: &Json) -> Unsupported {
    let name = declared.as_str().map_or_else(|| declared.brief(), str::to_owned);
    Unsupported { what: "data type", name, hint: "register an extension for it".into() }
}

fn parse_array(
    mut object: Object,
    attributes_: Object,
    reading: &mut Reading<'_>,
) -> Result<ArrayMetadata, MetadataError> {
    corrections::v2_array(&mut object, reading)?;
    check_version(&object, "2")?;
    for member in ["shape", "chunks", "dtype", "order"] {
        if !object.contains(member) {
            return Err(MetadataError::Missing(member));
        }
    }
    let shape = lengths("shape", object.get("shape"), &reading.limits)?;
    let chunks = lengths("chunks", object.get("chunks"), &reading.limits)?;
    let grid = RegularGrid::new(&chunks, &shape)?;

    let declared_type = object.get("dtype").cloned().unwrap_or(Json::Null);
    let mut parsed = reading.registry.parse_data_type(&declared_type, Dialect::V2)?;
    let mut unsupported = Vec::new();

    let mut codecs = Vec::new();
    match object.get("order").and_then(Json::as_str) {
        Some("C") => {}
        Some("F") if shape.len() > 1 => codecs.push(reversing_codec(shape.len())),
        Some("F") => {}
        _ => return Err(invalid("order", "it is neither `C` nor `F`")),
    }
    let mut on_bytes = filters(object.get("filters"))?;
    match object.get("compressor") {
        None | Some(Json::Null) => {}
        Some(json) => on_bytes.push(codec("compressor", json)?),
    }
    codecs.extend(serialized(&mut parsed, &declared_type, on_bytes, reading, &mut unsupported)?);
    if let (DataType::Unknown { .. }, []) = (&parsed.data_type, &unsupported[..]) {
        unsupported.push(unknown_type(&declared_type));
    }

    let separator = match object.get("dimension_separator") {
        None | Some(Json::Null) => '.',
        Some(Json::String(text)) => ChunkKeys::check_separator("dimension_separator", text)?,
        Some(other) => {
            return Err(invalid(
                "dimension_separator",
                format!("expected a string, found {}", other.brief()),
            ));
        }
    };
    let declared_fill = object.get("fill_value").cloned().unwrap_or(Json::Null);
    let array = ArrayMetadata {
        fill_value: parse_fill(&parsed.data_type, &declared_fill, Dialect::V2, &codecs, reading)?,
        dimension_names: xarray_dimensions(&attributes_, shape.len()),
        unknown: object.into_iter().filter(|(name, _)| !MEMBERS.contains(&name.as_str())).collect(),
        attributes: attributes(Some(&attributes_.into()), ATTRIBUTES)?,
        shape,
        data_type: parsed.data_type,
        declared_type,
        grid: Some(std::sync::Arc::new(grid)),
        chunk_keys: ChunkKeys::V2 { separator },
        codecs,
        declared_fill,
        shards: None,
        unsupported,
    };
    array.check()?;
    Ok(array)
}

fn array_document(array: &ArrayMetadata) -> Result<Object, MetadataError> {
    let ChunkKeys::V2 { separator } = array.chunk_keys else {
        return Err(cannot("v2", "chunk keys other than its own", "choose the key encoding `v2`"));
    };
    let chain = flat_chain(array, "v2")?;
    let mut codecs: Vec<Json> = Vec::new();
    for codec in chain.bytes {
        if codec.dialect != Dialect::V2 {
            let what =
                format!("the codec `{}` in the configuration of {}", codec.name, codec.dialect);
            return Err(cannot("v2", what, "choose other codecs"));
        }
        codecs.push(codec_object(codec));
    }
    // Any codec may be a filter or the compressor (Z2-062), but readers expect a compressor last.
    let last_is_filter =
        chain.bytes.last().is_some_and(|codec| FILTERS.contains(&codec.name.as_str()));
    let compressor = if last_is_filter { None } else { codecs.pop() }.unwrap_or(Json::Null);
    let filters = if codecs.is_empty() { Json::Null } else { Json::Array(codecs) };
    let order = if chain.f_order { "F" } else { "C" };
    let mut object = Object::new()
        .with("zarr_format", 2u64)
        .with("shape", &array.shape[..])
        .with("chunks", &regular_chunk_shape(array, "v2")?[..])
        .with("dtype", type_to_metadata(array, Dialect::V2, "v2")?)
        .with("compressor", compressor)
        .with("fill_value", fill_to_metadata(array, Dialect::V2)?)
        .with("order", order)
        .with("filters", filters)
        .with("dimension_separator", separator.to_string());
    for (name, value) in array.unknown.iter() {
        object.insert(name, value.clone());
    }
    Ok(object)
}
