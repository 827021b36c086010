//! Final v3 as a format (F-001 … F-021).

use super::children::supposed_children;
use super::corrections;
use super::members::{
    INLINE, attributes, cannot, check_version, document, fill_to_metadata, invalid, lengths,
    parse_fill, parse_node_object, type_to_metadata,
};
use super::{Child, Correction, DocumentMember, Documents, Format, JsonEncoding, Reading};
use crate::codec::CodecSpec;
use crate::data_type::DataType;
use crate::dialect::Dialect;
use crate::error::{AccessError, MetadataError, StoreError, Unsupported};
use crate::grid::{ChunkKeys, RectilinearGrid, RegisteredKeys};
use crate::json::{Json, Object};
use crate::metadata::{ArrayMetadata, GroupMetadata, NodeKind, NodeMetadata};
use crate::path::NodePath;
use crate::registry::Registry;
use crate::store::{Listing, StoreKey};

/// Final v3: one `zarr.json` per node.
#[derive(Clone, Copy, Debug, Default)]
pub struct V3;

const DOCUMENT: &str = "zarr.json";

impl Format for V3 {
    fn dialect(&self) -> Dialect {
        Dialect::V3
    }

    fn check_name(&self, name: &str) -> Result<(), AccessError> {
        let why = if name.bytes().all(|b| b == b'.') {
            "consists of periods"
        } else if name.starts_with("__") {
            "begins with `__`, which is reserved"
        } else if name == DOCUMENT {
            "is the name of documents"
        } else {
            return Ok(());
        };
        Err(AccessError::Argument(format!("`{name}` cannot name a node: it {why}")))
    }

    fn document_keys(&self, path: &NodePath) -> Result<Vec<StoreKey>, StoreError> {
        Ok(vec![path.key_below(DOCUMENT)?])
    }

    fn parse(
        &self,
        _: &NodePath,
        found: &Documents,
        reading: &mut Reading<'_>,
    ) -> Result<Option<NodeMetadata>, MetadataError> {
        let Some((_, bytes)) = found.first() else {
            return Ok(None);
        };
        if let Some(known) = reading.templates.and_then(|kept| kept.metadata(bytes)) {
            return Ok(Some(NodeMetadata::Array(Box::new(known))));
        }
        let mut object = parse_node_object(bytes, reading)?;
        corrections::v3_node(&mut object, reading)?;
        check_version(&object, "3")?;
        match object.get("node_type").map(|json| (json, json.as_str())) {
            Some((_, Some("array"))) => {
                let parsed = parse_array(object, reading)?;
                if let Some(templates) = reading.templates
                    && reading.warnings.is_empty()
                {
                    templates.keep(bytes, &parsed);
                }
                Ok(Some(NodeMetadata::Array(Box::new(parsed))))
            }
            Some((_, Some("group"))) => {
                parse_group(object, reading).map(|g| Some(NodeMetadata::Group(g)))
            }
            Some((json, _)) => {
                let why = format!("{} is neither `array` nor `group`", json.brief());
                Err(MetadataError::invalid("node_type", why))
            }
            None => Err(MetadataError::Missing("node_type")),
        }
    }

    fn kind(&self, _: &NodePath, found: &Documents) -> Result<Option<NodeKind>, MetadataError> {
        let Some((_, bytes)) = found.first() else { return Ok(None) };
        let (json, ..) = Json::parse_but(bytes, INLINE).map_err(MetadataError::Json)?;
        match json.as_object().and_then(|object| object.get("node_type")).and_then(Json::as_str) {
            Some("array") => Ok(Some(NodeKind::Array)),
            Some("group") => Ok(Some(NodeKind::Group)),
            _ => Err(MetadataError::Missing("node_type")),
        }
    }

    fn create(&self, path: &NodePath, node: &NodeMetadata) -> Result<Documents, MetadataError> {
        let object = match node {
            NodeMetadata::Array(array) => array_document(array)?,
            NodeMetadata::Group(group) => {
                let head = Object::new().with("zarr_format", 3u64).with("node_type", "group");
                with_unknown(head.with("attributes", group.attributes.clone()), &group.unknown)
            }
        };
        let key = path.key_below(DOCUMENT).map_err(|e| MetadataError::Json(e.to_string()))?;
        Ok(vec![(key, document(object, &JsonEncoding)?)])
    }

    fn corrected(&self, _: &StoreKey, document: &[u8], registry: &Registry) -> Option<Correction> {
        corrections::corrected_v3(document, registry)
    }

    fn groups_are_explicit(&self) -> bool {
        true
    }

    fn attributes_member(
        &self,
        path: &NodePath,
        _: NodeKind,
    ) -> Result<DocumentMember, StoreError> {
        Ok(DocumentMember::new(path.key_below(DOCUMENT)?, "attributes"))
    }

    fn shape_member(&self, path: &NodePath) -> Result<DocumentMember, StoreError> {
        Ok(DocumentMember::new(path.key_below(DOCUMENT)?, "shape"))
    }

    fn children(
        &self,
        path: &NodePath,
        listing: &Listing,
        warnings: &mut Vec<String>,
    ) -> Vec<Child> {
        supposed_children(path, listing, "__", warnings)
    }
}

/// A name and a configuration: the two forms of an extension point (F-015 … F-017).
fn extension(member: &str, json: Json) -> Result<(String, Object), MetadataError> {
    let object = match json {
        Json::String(name) => return Ok((name, Object::new())),
        Json::Object(object) => object,
        other => {
            return Err(MetadataError::invalid(
                member,
                format!("expected an extension, found {}", other.kind()),
            ));
        }
    };
    let mut named = None;
    let mut configuration = Object::new();
    for (name, value) in object {
        match (&*name, value) {
            ("name", Json::String(text)) => named = Some(text),
            ("configuration", Json::Object(object)) => configuration = object,
            ("must_understand", Json::Bool(_)) => {}
            (_, value) => {
                let why =
                    format!("`{name}`: {} is not allowed in an extension object", value.brief());
                return Err(MetadataError::invalid(member, why));
            }
        }
    }
    match named {
        Some(name) => Ok((name, configuration)),
        None => Err(MetadataError::invalid(member, "an extension object needs a `name`")),
    }
}

const ARRAY_MEMBERS: [&str; 12] = [
    "zarr_format",
    "node_type",
    "shape",
    "data_type",
    "chunk_grid",
    "chunk_key_encoding",
    "fill_value",
    "codecs",
    "attributes",
    "storage_transformers",
    "dimension_names",
    "must_understand",
];

fn parse_array(
    mut object: Object,
    reading: &mut Reading<'_>,
) -> Result<ArrayMetadata, MetadataError> {
    for member in ["shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value", "codecs"]
    {
        if !object.contains(member) {
            return Err(MetadataError::Missing(member));
        }
    }
    let [declared_type, grid, encoding, codecs, declared_fill] =
        ["data_type", "chunk_grid", "chunk_key_encoding", "codecs", "fill_value"]
            .map(|name| object.remove(name).expect("the mandatory members were just seen"));
    let mut unsupported = Vec::new();
    let shape = lengths("shape", object.get("shape"), &reading.limits)?;

    if let Json::Object(_) = declared_type {
        extension("data_type", declared_type.clone())?;
    }
    let parsed = reading.registry.parse_data_type(&declared_type, Dialect::V3)?;
    if let DataType::Unknown { .. } = parsed.data_type {
        let mut lack = lacking("data type", extension("data_type", declared_type.clone())?.0);
        if let Some(Ok(inner)) = crate::data_type::optional::inner_metadata(&declared_type) {
            lack.hint = format!(
                "the inner type of a nullable type must be known and have a fixed size; {} is not such a type",
                inner.brief()
            );
        }
        unsupported.push(lack);
    }

    let (grid_name, configuration) = extension("chunk_grid", grid)?;
    let known = match grid_name.as_str() {
        "regular" | "rectangular" => Some(&["chunk_shape"][..]),
        "rectilinear" => Some(&["kind", "chunk_shapes"][..]),
        _ => None,
    };
    let is_understood = understands("chunk_grid", known, &configuration, &mut unsupported);
    let grid = match grid_name.as_str() {
        // What is known must be right all the same.
        _ if !is_understood => {
            if grid_name == "regular" {
                lengths("chunk_shape", configuration.get("chunk_shape"), &reading.limits)?;
            }
            None
        }
        "regular" => {
            let chunk_shape =
                lengths("chunk_shape", configuration.get("chunk_shape"), &reading.limits)?;
            Some(
                crate::grid::RegularGrid::new(&chunk_shape, &shape)
                    .map(|grid| std::sync::Arc::new(grid) as _)?,
            )
        }
        "rectilinear" => {
            let grid = RectilinearGrid::from_configuration(&configuration, &shape)?;
            Some(std::sync::Arc::new(grid) as _)
        }
        // The name and the form of the proposal before it, which zarrs writes.
        "rectangular" => {
            let axes = configuration.get("chunk_shape").and_then(Json::as_array);
            let axes = axes.ok_or_else(|| invalid("chunk_grid", "`chunk_shape` is not a list"))?;
            Some(std::sync::Arc::new(RectilinearGrid::new(axes, &shape)?) as _)
        }
        name => match reading.registry.build_grid(name, &configuration, &shape) {
            Some(grid) => Some(grid?),
            None => {
                unsupported.push(lacking("chunk grid", grid_name));
                None
            }
        },
    };

    let (encoding, configuration) = extension("chunk_key_encoding", encoding)?;
    let chunk_keys = match reading.registry.build_key_encoding(&encoding, &configuration) {
        Some(Ok(keys)) => keys,
        // Unsupported is not invalid: all but the chunks can be read.
        Some(Err(MetadataError::Unsupported(lack))) => {
            unsupported.push(lack);
            ChunkKeys::Unknown
        }
        Some(Err(invalid)) => return Err(invalid),
        None => {
            unsupported.push(lacking("chunk key encoding", encoding));
            ChunkKeys::Unknown
        }
    };

    let mut codecs = match codecs {
        Json::Array(list) if !list.is_empty() => list
            .into_iter()
            .map(|json| {
                extension("codecs", json)
                    .map(|(name, configuration)| CodecSpec::v3(name, configuration))
            })
            .collect::<Result<Vec<_>, _>>()?,
        _ => return Err(invalid("codecs", "expected a list of at least one codec")),
    };

    // A transformer changes the stored bytes: none may be ignored (F-011).
    let mut transformers = Vec::new();
    match object.get("storage_transformers") {
        None => {}
        Some(Json::Array(list)) => {
            for transformer in list {
                transformers.push(extension("storage_transformers", transformer.clone())?);
            }
        }
        Some(Json::Null) => {
            tolerate(reading, "storage_transformers", "null is read as an empty list")?
        }
        Some(other) => {
            return Err(invalid(
                "storage_transformers",
                format!("expected a list, found {}", other.kind()),
            ));
        }
    }

    if matches!(parsed.data_type, DataType::Record(_)) {
        read_record(&declared_type, &declared_fill, &mut codecs, reading)?;
    }
    let fill_value = parse_fill(&parsed.data_type, &declared_fill, Dialect::V3, &codecs, reading)?;
    let mut array = ArrayMetadata {
        dimension_names: dimension_names(object.get("dimension_names"), reading)?,
        attributes: v3_attributes(&mut object, reading)?,
        unknown: unknown_members(object, &ARRAY_MEMBERS, &mut unsupported),
        shape,
        data_type: parsed.data_type,
        declared_type,
        grid,
        chunk_keys,
        codecs,
        fill_value,
        declared_fill,
        shards: None,
        unsupported,
    };
    // The first one is the outermost, nearest to the array.
    for (name, configuration) in transformers {
        match reading.registry.apply_storage_transformer(&name, &configuration, &mut array) {
            Some(applied) => applied?,
            None => array.unsupported.push(lacking("storage transformer", name)),
        }
    }
    array.check()?;
    Ok(array)
}

/// Whether each member of an extension's configuration is one of these; others are noted. `None` for extensions that
/// look at their members themselves (docs/internals/design/strictness.md).
fn understands(
    member: &str,
    known: Option<&[&str]>,
    configuration: &Object,
    unsupported: &mut Vec<Unsupported>,
) -> bool {
    let Some(known) = known else { return true };
    let unknown: Vec<&str> =
        configuration.iter().map(|(name, _)| name).filter(|name| !known.contains(name)).collect();
    for name in &unknown {
        unsupported.push(lacking("member", format!("{member}: {name}")));
    }
    unknown.is_empty()
}

/// What zarr-python 3.1 left out of records, which it called `structured` (F-051). A `struct` is not to be
/// read so.
fn read_record(
    declared: &Json,
    fill: &Json,
    codecs: &mut [CodecSpec],
    reading: &mut Reading<'_>,
) -> Result<(), MetadataError> {
    if !crate::data_type::record_json::is_legacy(declared) {
        return match fill {
            Json::String(_) => tolerate(reading, "fill_value", "base64 is read as an object"),
            _ => Ok(()),
        };
    }
    if let Some(bytes) = codecs.iter_mut().find(|spec| spec.name == "bytes")
        && !bytes.configuration.contains("endian")
    {
        bytes.configuration.insert("endian", "little");
    }
    Ok(())
}

fn parse_group(
    mut object: Object,
    reading: &mut Reading<'_>,
) -> Result<GroupMetadata, MetadataError> {
    let mut unsupported = Vec::new();
    let known = ["zarr_format", "node_type", "attributes", "must_understand"];
    let attributes = v3_attributes(&mut object, reading)?;
    let unknown = unknown_members(object, &known, &mut unsupported);
    if let Some(obstacle) = unsupported.into_iter().next() {
        return Err(obstacle.into());
    }
    Ok(GroupMetadata { attributes, unknown, implicit: false })
}

/// Takes the member `attributes`; null is read as an empty object (F-009).
fn v3_attributes(object: &mut Object, reading: &mut Reading<'_>) -> Result<Object, MetadataError> {
    match object.remove("attributes") {
        Some(Json::Null) => {
            tolerate(reading, "attributes", "null is read as an empty object")?;
            Ok(Object::new())
        }
        Some(Json::Object(attributes)) => Ok(attributes),
        other => attributes(other.as_ref(), "attributes"),
    }
}

/// Reads the member `dimension_names`; null for all is read as absent (F-010).
fn dimension_names(
    json: Option<&Json>,
    reading: &mut Reading<'_>,
) -> Result<Option<Vec<Option<String>>>, MetadataError> {
    let why = "expected a list of strings and nulls";
    let items = match json {
        None => return Ok(None),
        Some(Json::Null) => {
            tolerate(reading, "dimension_names", "null is read as no names")?;
            return Ok(None);
        }
        Some(Json::Array(items)) => items,
        Some(_) => return Err(MetadataError::invalid("dimension_names", why)),
    };
    let mut names = Vec::with_capacity(items.len());
    for item in items {
        names.push(match item {
            Json::Null => None,
            Json::String(name) => Some(name.clone()),
            _ => return Err(MetadataError::invalid("dimension_names", why)),
        });
    }
    Ok(Some(names))
}

/// F-012: an unknown member passes only if it says `"must_understand": false`.
fn unknown_members(object: Object, known: &[&str], unsupported: &mut Vec<Unsupported>) -> Object {
    let others: Object =
        object.into_iter().filter(|(name, _)| !known.contains(&name.as_str())).collect();
    for (name, value) in others.iter() {
        if value.get("must_understand") != Some(&Json::Bool(false)) {
            unsupported.push(lacking("member", name.to_owned()));
        }
    }
    others
}

fn lacking(what: &'static str, name: String) -> Unsupported {
    let hint = match what {
        "data type" | "chunk grid" | "chunk key encoding" | "storage transformer" => {
            "register an extension for it"
        }
        "member" => "it is unknown, and readers must understand it",
        _ => "",
    };
    Unsupported { what, name, hint: hint.into() }
}

fn tolerate(reading: &mut Reading<'_>, member: &str, what: &str) -> Result<(), MetadataError> {
    reading
        .tolerate(format!("`{member}`: {what}"))
        .map_err(|why| MetadataError::invalid(member, why))
}

/// What most readers open (v3-final.md 3.4).
fn array_document(array: &ArrayMetadata) -> Result<Object, MetadataError> {
    let grid = array
        .grid
        .as_ref()
        .and_then(|grid| grid.to_metadata(Dialect::V3))
        .ok_or_else(|| cannot("v3", "an unknown chunk grid", "register an extension"))?;
    let encoding: Json = match &array.chunk_keys {
        ChunkKeys::Default { separator } => separated("default", *separator),
        ChunkKeys::V2 { separator } => separated("v2", *separator),
        ChunkKeys::Registered(RegisteredKeys(keys)) => keys
            .to_metadata(Dialect::V3)
            .ok_or_else(|| cannot("v3", "these chunk keys", "choose the default key encoding"))?,
        ChunkKeys::Unknown => {
            return Err(cannot("v3", "an unknown key encoding", "register an extension"));
        }
        ChunkKeys::Draft { .. } | ChunkKeys::Draft2019 { .. } => {
            return Err(cannot("v3", "a draft's chunk keys", "choose the default key encoding"));
        }
    };
    let codecs: Vec<Json> = array
        .codecs
        .iter()
        .map(|codec| match codec.dialect {
            Dialect::V3 => Ok(Object::named(&codec.name, codec.configuration.clone()).into()),
            other => Err(cannot(
                "v3",
                format!("the codec `{}` in the configuration of {other}", codec.name),
                "choose other codecs",
            )),
        })
        .collect::<Result<_, _>>()?;
    let declared = match &array.declared_type {
        // An alias is kept (T-39).
        Json::Null => type_to_metadata(array, Dialect::V3, "v3")?,
        declared => declared.clone(),
    };
    let mut object = Object::new()
        .with("zarr_format", 3u64)
        .with("node_type", "array")
        .with("shape", &array.shape[..])
        .with("data_type", declared)
        .with("chunk_grid", grid)
        .with("chunk_key_encoding", encoding)
        .with("fill_value", spelled(fill_to_metadata(array, Dialect::V3)?, &array.declared_type))
        .with("codecs", codecs)
        .with("attributes", array.attributes.clone());
    if let Some(names) = &array.dimension_names {
        let names: Json = names.iter().map(|n| n.clone().map_or(Json::Null, Json::from)).collect();
        object.insert("dimension_names", names);
    }
    Ok(with_unknown(object, &array.unknown))
}

/// A chunk key encoding with a separator.
fn separated(name: &str, separator: char) -> Json {
    Object::named(name, Object::new().with("separator", separator.to_string())).into()
}

/// `raw_bytes` has base64 where `r24` has a list (F-039, F-049), as fields of records too.
fn spelled(fill: Json, declared: &Json) -> Json {
    let configuration = declared.get("configuration").unwrap_or(&Json::Null);
    match (fill, configuration.get("fields").and_then(Json::as_array)) {
        (Json::Array(bytes), None) if configuration.get("length_bytes").is_some() => {
            let bytes: Vec<u8> =
                bytes.iter().filter_map(|it| it.as_u64()?.try_into().ok()).collect();
            Json::from(crate::data_type::fill_value::base64_encode(&bytes))
        }
        // Both have the order of the record.
        (Json::Object(fills), Some(fields)) => {
            let fills = fills.into_iter().zip(fields).map(|((name, fill), field)| {
                let declared = field.get("data_type").unwrap_or(&Json::Null);
                (name, spelled(fill, declared))
            });
            Json::Object(fills.collect())
        }
        (fill, _) => fill,
    }
}

fn with_unknown(mut object: Object, unknown: &Object) -> Object {
    for (name, value) in unknown.iter().filter(|(name, _)| *name != "consolidated_metadata") {
        object.insert(name, value.clone());
    }
    object
}
