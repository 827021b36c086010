//! Reads and writes a draft's array document (D-080 … D-117).

use std::sync::Arc;

use super::members::check_inner_format;
use super::{extensions, filters, shards};
use crate::codec::{CodecSpec, reversing_codec};
use crate::data_type::{DataType, FillValue, base64_decode, base64_encode};
use crate::dialect::{Dialect, Era};
use crate::error::{MetadataError, Unsupported};
use crate::format::Reading;
use crate::format::flat_chain::{flat_chain, serialized};
use crate::format::members::{
    attributes, attributes_with_dimensions, cannot, fill_to_metadata, invalid, lengths, parse_fill,
    type_to_metadata, xarray_dimensions,
};
use crate::grid::{ChunkGrid, ChunkKeys, RegularGrid};
use crate::json::{Json, Object};
use crate::metadata::ArrayMetadata;

const MEMBERS: [&str; 9] = [
    "shape",
    "data_type",
    "chunk_grid",
    "chunk_memory_layout",
    "compressor",
    "chunk_codecs",
    "fill_value",
    "extensions",
    "attributes",
];

/// The array that a document of this era describes; where it is to store a scalar that is not there yet,
/// `scalar_at_c0` tells.
pub(super) fn parse(
    mut object: Object,
    era: Era,
    scalar_at_c0: bool,
    reading: &mut Reading<'_>,
) -> Result<ArrayMetadata, MetadataError> {
    if era <= Era::E1 && !object.contains("zarr_format") {
        return Err(MetadataError::Missing("zarr_format"));
    }
    check_inner_format(&object)?;
    if object.remove("zarr_format").is_some() && era > Era::E1 {
        reading.tolerate_member("zarr_format", "it belongs only in the entry point")?;
    }
    for member in ["shape", "data_type", "chunk_grid"] {
        if !object.contains(member) {
            return Err(MetadataError::Missing(member));
        }
    }
    // Row 25: lenient defaults.
    for (member, default) in
        [("fill_value", "null"), ("chunk_memory_layout", "`C`"), ("attributes", "empty")]
    {
        // The first draft had a separate document for attributes, which it never defined (row 16).
        if !(object.contains(member) || member == "attributes" && era == Era::E0) {
            reading.tolerate_member(member, &format!("it is missing; taken as {default}"))?;
        }
    }
    let mut unsupported = Vec::new();
    let shape = lengths("shape", object.get("shape"), &reading.limits)?;

    let declared_type = object.get("data_type").cloned().unwrap_or(Json::Null);
    let name = declared_type.as_str().unwrap_or_default();
    // Rows 12 and 13: NumPy's forms, and complex types where the text has none.
    if name.starts_with('|') || era > Era::E1 && name.get(1..2) == Some("c") {
        let what = format!("`data_type`: `{name}` is not a core type of the draft");
        if reading.tolerate(what).is_err() {
            let hint = "the draft spells it otherwise, and the reading is strict".into();
            unsupported.push(Unsupported { what: "data type", name: name.into(), hint });
        }
    }
    let mut parsed = reading.registry.parse_data_type(&declared_type, Dialect::Draft)?;
    let mut attributes_ = attributes(object.get("attributes"), "attributes")?;
    let hidden = if !reading.ignore_hidden_filters && filters::are_hidden_in(&attributes_) {
        filters::take(&mut attributes_)
    } else {
        Object::new()
    };
    let mut on_bytes = filters::codecs(&hidden)?;
    on_bytes.extend(compressor(object.get("compressor"))?);
    on_bytes.extend(chunk_codecs(object.get("chunk_codecs"))?);
    let lacks = unsupported.len();
    let on_bytes = serialized(&mut parsed, &declared_type, on_bytes, reading, &mut unsupported)?;
    let is_told = unsupported.len() > lacks;
    match (&parsed.data_type, parsed.data_type.repr()) {
        (DataType::Unknown { .. }, None) if is_told => {}
        (DataType::Unknown { .. }, None) => {
            let name = declared_type
                .as_object()
                .and_then(|o| o.get("extension"))
                .unwrap_or(&declared_type);
            let name = name.as_str().map_or_else(|| name.brief(), str::to_owned);
            let hint = "it has no fallback; register an extension for it".into();
            unsupported.push(Unsupported { what: "data type", name, hint });
        }
        (DataType::Unknown { declared, fallback: Some(fallback) }, _) => {
            reading
                .warnings
                .push(format!("data type {} is not known; read as `{fallback}`", declared.brief()));
        }
        _ => {}
    }

    let (grid, separator) =
        parse_grid(object.get("chunk_grid"), &shape, reading, &mut unsupported)?;
    let chunk_keys = match era {
        Era::E0 | Era::E1 | Era::E2 => ChunkKeys::Draft2019 { separator },
        Era::E3 | Era::E4 => ChunkKeys::Draft { separator: separator.unwrap_or('/'), scalar_at_c0 },
    };

    let mut codecs = Vec::new();
    match object.get("chunk_memory_layout") {
        None => {}
        Some(Json::String(text)) if text == "C" => {}
        Some(Json::String(text)) if text == "F" && shape.len() > 1 => {
            codecs.push(reversing_codec(shape.len()));
        }
        Some(Json::String(text)) if text == "F" => {}
        Some(Json::Object(o)) if o.contains("extension") && o.contains("type") => {
            let layout = extension_layout(o);
            if reading.registry.knows_codec(&layout) {
                codecs.push(layout)
            } else {
                unsupported.push(named("memory layout", o))
            }
        }
        Some(other) => {
            return Err(invalid(
                "chunk_memory_layout",
                format!("{} is neither `C` nor `F`", other.brief()),
            ));
        }
    }
    codecs.extend(on_bytes);
    let shards = shards::parse(object.get("storage_transformers"), shape.len(), &mut unsupported)?;
    let declared_fill = object.get("fill_value").cloned().unwrap_or(Json::Null);
    let extensions_ = object.remove("extensions");
    let unknown: Object =
        object.into_iter().filter(|(name, _)| !MEMBERS.contains(&name.as_str())).collect();
    for (name, _) in unknown.iter().filter(|(name, _)| *name != "storage_transformers") {
        reading
            .warnings
            .push(format!("`{name}`: it is not a member of an array's document; ignored"));
    }
    let declared_fill_json = match (&parsed.data_type, &declared_type) {
        (DataType::Raw { .. }, Json::Object(_)) => void_fill(&declared_fill),
        _ => declared_fill.clone(),
    };
    let mut array = ArrayMetadata {
        fill_value: parse_fill(
            &parsed.data_type,
            &declared_fill_json,
            Dialect::Draft,
            &codecs,
            reading,
        )?,
        dimension_names: xarray_dimensions(&attributes_, shape.len()),
        attributes: attributes_,
        unknown,
        shape,
        data_type: parsed.data_type,
        declared_type,
        grid,
        chunk_keys,
        codecs,
        declared_fill,
        shards,
        unsupported,
    };
    let listed: Object =
        extensions_.map(|list| ("extensions".to_owned(), list)).into_iter().collect();
    extensions::of_array(&listed, &mut array, reading)?;
    array.check()?;
    Ok(array)
}

type Grid = Option<Arc<dyn ChunkGrid>>;

/// D-104; the separator as rows 8 and Q17 say, `None` where the era's default holds.
fn parse_grid(
    json: Option<&Json>,
    shape: &[u64],
    reading: &mut Reading<'_>,
    unsupported: &mut Vec<Unsupported>,
) -> Result<(Grid, Option<char>), MetadataError> {
    let object = json
        .and_then(Json::as_object)
        .ok_or_else(|| invalid("chunk_grid", "expected an object"))?;
    let separator = match object.get("separator") {
        None => None,
        Some(Json::String(text)) => match text.as_str() {
            "-" | "_" => {
                reading.tolerate_member("separator", "it is neither `/` nor `.`")?;
                text.chars().next()
            }
            text => Some(ChunkKeys::check_separator("separator", text)?),
        },
        Some(other) => {
            let why = format!("expected a separator, found {}", other.brief());
            return Err(invalid("chunk_grid", why));
        }
    };
    if let Some(uri) = object.get("extension").and_then(Json::as_str) {
        let configuration = match object.get("configuration") {
            Some(Json::Object(configuration)) => configuration.clone(),
            // Its parameters may be members beside the name.
            _ => {
                let named = ["extension", "type", "separator", "configuration"];
                let own = object.iter().filter(|(member, _)| !named.contains(member));
                own.map(|(member, json)| (member.to_owned(), json.clone())).collect()
            }
        };
        if !object.contains("type") {
            let why = "an extension grid needs `extension` and `type`";
            return Err(invalid("chunk_grid", why));
        }
        return match reading.registry.build_grid(uri, &configuration, shape) {
            Some(grid) => Ok((Some(grid?), separator)),
            None => {
                unsupported.push(named("chunk grid", object));
                Ok((None, separator))
            }
        };
    }
    match object.get("type") {
        Some(Json::String(name)) if name == "regular" => {
            let chunk_shape = lengths("chunk_shape", object.get("chunk_shape"), &reading.limits)?;
            Ok((Some(Arc::new(RegularGrid::new(&chunk_shape, shape)?)), separator))
        }
        other => {
            let why = format!("type {} is not `regular`", other.unwrap_or(&Json::Null).brief());
            Err(invalid("chunk_grid", why))
        }
    }
}

fn named(what: &'static str, object: &Object) -> Unsupported {
    let uri = object.get("extension").and_then(Json::as_str).unwrap_or("?");
    Unsupported { what, name: uri.into(), hint: "register an extension for it".into() }
}

/// A memory layout by extension is a codec on arrays before `bytes`, named by the URI; its parameters are
/// `type` and the members of `configuration` (D-105).
fn extension_layout(object: &Object) -> CodecSpec {
    let uri = object.get("extension").and_then(Json::as_str).unwrap_or_default();
    let own = object.get("configuration").and_then(Json::as_object).cloned().unwrap_or_default();
    let kind = object.get("type").cloned().unwrap_or(Json::Null);
    let parameters = Object::new().with("type", kind).into_iter().chain(own).collect();
    CodecSpec::new(Dialect::Draft, uri, parameters)
}

/// The layout of a chain that begins with one, as the document names it.
fn layout_object(layout: &CodecSpec) -> Object {
    let mut parameters = layout.configuration.clone();
    let kind = parameters.remove("type");
    let last = layout
        .name
        .trim_end_matches('/')
        .rsplit('/')
        .find(|s| !s.starts_with(|c: char| c.is_ascii_digit()));
    let object = Object::new()
        .with("extension", layout.name.as_str())
        .with("type", kind.unwrap_or_else(|| Json::from(last.unwrap_or_default())));
    if parameters.is_empty() { object } else { object.with("configuration", parameters) }
}

/// Row 10: in May 2019 a list, in the order in which they encode, parameters beside `codec`.
fn chunk_codecs(json: Option<&Json>) -> Result<Vec<CodecSpec>, MetadataError> {
    let list = match json {
        None | Some(Json::Null) => return Ok(Vec::new()),
        Some(Json::Array(list)) => list,
        Some(other) => {
            let why = format!("expected a list, found {}", other.kind());
            return Err(invalid("chunk_codecs", why));
        }
    };
    list.iter().map(chunk_codec).collect()
}

/// One codec: its URI, and its parameters in `configuration` or beside that.
fn chunk_codec(json: &Json) -> Result<CodecSpec, MetadataError> {
    let Some(object) = json.as_object() else {
        return Err(invalid("chunk_codecs", "each is an object"));
    };
    let mut parameters = object.clone();
    let Some(Json::String(uri)) = parameters.remove("codec") else {
        return Err(invalid("chunk_codecs", "member `codec`, a URI, is missing"));
    };
    if let Some(Json::Object(inner)) = parameters.remove("configuration") {
        parameters = parameters.into_iter().chain(inner).collect();
    }
    Ok(CodecSpec::new(Dialect::Draft, uri, parameters))
}

/// Reads the member `compressor` (D-106).
fn compressor(json: Option<&Json>) -> Result<Option<CodecSpec>, MetadataError> {
    let object = match json {
        None | Some(Json::Null) => return Ok(None),
        Some(Json::Object(object)) => object,
        Some(other) => {
            return Err(MetadataError::invalid(
                "compressor",
                format!("expected an object, found {}", other.kind()),
            ));
        }
    };
    let Some(uri) = object.get("codec").and_then(Json::as_str) else {
        return Err(MetadataError::invalid("compressor", "member `codec`, a URI, is missing"));
    };
    let configuration = match object.get("configuration") {
        None | Some(Json::Null) => Object::new(),
        Some(Json::Object(configuration)) => configuration.clone(),
        Some(other) => {
            return Err(MetadataError::invalid(
                "compressor",
                format!("configuration: expected an object, found {}", other.kind()),
            ));
        }
    };
    Ok(Some(CodecSpec::new(Dialect::Draft, uri, configuration)))
}

/// A raw type and its fill value as zarr-python 2.18 has them: a record of one nameless field. Who does not
/// know such records reads the fallback (D-102).
fn void(size: usize, fill: Option<&FillValue>) -> (Json, Json) {
    let field: Json = ["".to_owned(), format!("|V{size}")].into_iter().map(Json::from).collect();
    let record = Object::new()
        .with("extension", crate::data_type::record_json::DRAFT_RECORD)
        .with("type", vec![field])
        .with("fallback", format!("r{}", size as u128 * 8));
    let fill = fill.map_or(Json::Null, |fill| Json::from(base64_encode(fill.as_bytes())));
    (Json::Object(record), fill)
}

/// The fill value of such a record, in base64, in the words of a raw type (D-115).
fn void_fill(json: &Json) -> Json {
    let bytes = json.as_str().filter(|text| !text.starts_with("0x")).and_then(base64_decode);
    let Some(bytes) = bytes else { return json.clone() };
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Json::from(format!("0x{digits}"))
}

/// The document of an array; in the plain `text` where that differs from what zarr-python 2.18 opens.
pub(super) fn document(array: &ArrayMetadata, text: bool) -> Result<Object, MetadataError> {
    const FORMAT: &str = "draft-2020";
    let ChunkKeys::Draft { separator, .. } = array.chunk_keys else {
        return Err(cannot(
            FORMAT,
            "chunk keys other than its own",
            "choose the key encoding of the drafts",
        ));
    };
    let chain = flat_chain(array, FORMAT)?;
    let (filters, compressors) =
        chain.bytes.split_at(chain.bytes.iter().take_while(|c| filters::is_filter(c)).count());
    let compressor = match compressors {
        [] => None,
        [codec] if codec.dialect == Dialect::Draft => Some(
            Object::new()
                .with("codec", codec.name.as_str())
                .with("configuration", codec.configuration.clone()),
        ),
        [codec] => {
            let what =
                format!("the codec `{}` in the configuration of {}", codec.name, codec.dialect);
            return Err(cannot(FORMAT, what, "choose gzip, zlib, zstd, blosc, lz4, bz2 or lzma"));
        }
        _ => {
            return Err(cannot(
                FORMAT,
                "more than one compressor",
                "choose v3 or v2, or one codec",
            ));
        }
    };
    if array.rank() == 0 && compressor.is_some() && !text {
        // draft-v3.md 2.3: zarr-python 2.18 drops the compressor of scalars.
        return Err(cannot(FORMAT, "a compressed scalar", "store it without a codec"));
    }
    let grid = array.grid.as_ref().and_then(|grid| grid.to_metadata(Dialect::Draft));
    let Some(Json::Object(grid)) = grid else {
        let what = match array.chunk_shape() {
            None => "chunks of different shapes",
            Some(_) => "a chunk grid without a configuration",
        };
        return Err(cannot(FORMAT, what, "choose chunks of one shape, or v3"));
    };
    let layout = match chain.layout {
        Some(layout) => Json::Object(layout_object(layout)),
        None => Json::from(if chain.f_order { "F" } else { "C" }),
    };
    let mut attributes = attributes_with_dimensions(array, FORMAT)?;
    if let Some((name, hidden)) = filters::hide(filters) {
        if attributes.contains(name) {
            let what = format!("an attribute `{name}` besides filters");
            return Err(cannot(FORMAT, what, "rename the attribute, or choose v3 or v2"));
        }
        attributes.insert(name, hidden);
    }
    let (data_type, fill_value) = match &array.data_type {
        DataType::Raw { size } if !text => void(*size, array.fill_value.as_ref()),
        _ => (
            type_to_metadata(array, Dialect::Draft, FORMAT)?,
            fill_to_metadata(array, Dialect::Draft)?,
        ),
    };
    let mut object = Object::new()
        .with("shape", &array.shape[..])
        .with("data_type", data_type)
        .with("chunk_grid", grid.with("separator", separator.to_string()))
        .with("chunk_memory_layout", layout);
    if let Some(compressor) = compressor {
        object.insert("compressor", compressor);
    }
    Ok(object
        .with("fill_value", fill_value)
        .with("extensions", Json::Array(Vec::new()))
        .with("attributes", attributes))
}
