//! What does a draft's array document say? (D-080 … D-117)

use std::sync::Arc;

use super::super::{
    attributes, attributes_with_dimensions, cannot, flat_chain, invalid, lengths, parse_fill,
    spell_chunk_shape, spell_fill, spell_type, v2, xarray_dimensions,
};
use super::{extensions, is_filter_list, tolerate};
use crate::codec::CodecSpec;
use crate::data_type::{DataType, Endian};
use crate::dialect::{Dialect, Reading};
use crate::error::{MetadataError, Unsupported};
use crate::grid::{ChunkGrid, ChunkKeys, RegularGrid};
use crate::json::{Json, Object};
use crate::metadata::{ArrayMetadata, bytes_codec, reversing_codec};

const MEMBERS: [&str; 8] = [
    "shape",
    "data_type",
    "chunk_grid",
    "chunk_memory_layout",
    "compressor",
    "fill_value",
    "extensions",
    "attributes",
];

pub(super) fn parse_array(
    object: Object,
    reading: &mut Reading<'_>,
) -> Result<ArrayMetadata, MetadataError> {
    for member in ["shape", "data_type", "chunk_grid"] {
        if !object.contains(member) {
            return Err(MetadataError::Missing(member));
        }
    }
    // Row 25: lenient defaults.
    for (member, default) in
        [("fill_value", "null"), ("chunk_memory_layout", "`C`"), ("attributes", "empty")]
    {
        if !object.contains(member) {
            tolerate(reading, member, &format!("it is missing; taken as {default}"))?;
        }
    }
    let mut obstacles = Vec::new();
    extensions(&object, reading, &mut obstacles)?;
    let shape = lengths("shape", object.get("shape"))?;

    let declared_type = object.get("data_type").cloned().unwrap_or(Json::Null);
    let parsed = reading.registry.parse_data_type(&declared_type, Dialect::Draft)?;
    match (&parsed.data_type, parsed.data_type.repr()) {
        (DataType::Unknown { .. }, None) => {
            let name = declared_type
                .as_object()
                .and_then(|o| o.get("extension"))
                .unwrap_or(&declared_type);
            let name = name.as_str().map_or_else(|| name.brief(), str::to_owned);
            let hint = "it has no fallback; register an extension for it".into();
            obstacles.push(Unsupported { what: "data type", name, hint });
        }
        (DataType::Unknown { declared, fallback: Some(fallback) }, _) => {
            reading
                .warnings
                .push(format!("data type {} is not known; read as `{fallback}`", declared.brief()));
        }
        _ => {}
    }

    let (grid, separator) = parse_grid(object.get("chunk_grid"), &shape, reading, &mut obstacles)?;
    let attributes_ = attributes(object.get("attributes"), "attributes")?;

    let mut codecs = Vec::new();
    match object.get("chunk_memory_layout") {
        None => {}
        Some(Json::String(text)) if text == "C" => {}
        Some(Json::String(text)) if text == "F" && shape.len() > 1 => {
            codecs.push(reversing_codec(shape.len()));
        }
        Some(Json::String(text)) if text == "F" => {}
        Some(Json::Object(o)) if o.contains("extension") && o.contains("type") => {
            obstacles.push(named("memory layout", o));
        }
        Some(other) => {
            return Err(invalid(
                "chunk_memory_layout",
                format!("{} is neither `C` nor `F`", other.brief()),
            ));
        }
    }
    codecs.push(bytes_codec(&parsed.data_type, parsed.endian.unwrap_or(Endian::Little)));
    if attributes_.get("filters").is_some_and(is_filter_list) {
        codecs.extend(v2::filters(attributes_.get("filters"))?);
    }
    codecs.extend(compressor(object.get("compressor"))?);

    // D-081: anything else is ignored, except what changes the stored bytes.
    match object.get("storage_transformers") {
        None => {}
        Some(Json::Array(list)) => {
            obstacles.extend(list.iter().map(|t| {
                let uri = t
                    .as_object()
                    .and_then(|o| o.get("extension"))
                    .and_then(Json::as_str)
                    .unwrap_or("?");
                Unsupported { what: "storage transformer", name: uri.into(), hint: String::new() }
            }));
        }
        Some(other) => {
            return Err(invalid(
                "storage_transformers",
                format!("{} stands for a list", other.kind()),
            ));
        }
    }
    let declared_fill = object.get("fill_value").cloned().unwrap_or(Json::Null);
    let unknown: Object =
        object.into_iter().filter(|(name, _)| !MEMBERS.contains(&name.as_str())).collect();
    for (name, _) in unknown.iter().filter(|(name, _)| *name != "storage_transformers") {
        reading
            .warnings
            .push(format!("`{name}`: it is not a member of an array's document; ignored"));
    }
    let array = ArrayMetadata {
        fill_value: parse_fill(&parsed.data_type, &declared_fill, Dialect::Draft, reading)?,
        dimension_names: xarray_dimensions(&attributes_, shape.len()),
        attributes: attributes_,
        unknown,
        shape,
        data_type: parsed.data_type,
        declared_type,
        grid,
        chunk_keys: ChunkKeys::Draft { separator },
        codecs,
        declared_fill,
        obstacles,
    };
    array.check()?;
    Ok(array)
}

type Grid = Option<Arc<dyn ChunkGrid>>;

/// D-104; the separator as rows 8 and Q17 say.
fn parse_grid(
    json: Option<&Json>,
    shape: &[u64],
    reading: &mut Reading<'_>,
    obstacles: &mut Vec<Unsupported>,
) -> Result<(Grid, char), MetadataError> {
    let invalid = |why: String| invalid("chunk_grid", why);
    let object =
        json.and_then(Json::as_object).ok_or_else(|| invalid("an object is due".into()))?;
    let separator = match object.get("separator") {
        None => {
            tolerate(reading, "separator", "it is missing; taken as `/`")?;
            '/'
        }
        Some(Json::String(text)) => match text.as_str() {
            "-" | "_" => {
                tolerate(reading, "separator", "it is neither `/` nor `.`")?;
                text.chars().next().unwrap_or('/')
            }
            text => ChunkKeys::check_separator("separator", text)?,
        },
        Some(other) => return Err(invalid(format!("separator {} is no text", other.brief()))),
    };
    if let Some(uri) = object.get("extension").and_then(Json::as_str) {
        return match reading.registry.build_grid(uri, object, shape) {
            Some(grid) => Ok((Some(grid?), separator)),
            None => {
                obstacles.push(named("chunk grid", object));
                Ok((None, separator))
            }
        };
    }
    match object.get("type") {
        Some(Json::String(name)) if name == "regular" => {
            let chunk_shape = lengths("chunk_shape", object.get("chunk_shape"))?;
            Ok((Some(Arc::new(RegularGrid::new(&chunk_shape, shape)?)), separator))
        }
        other => {
            Err(invalid(format!("type {} is not `regular`", other.unwrap_or(&Json::Null).brief())))
        }
    }
}

fn named(what: &'static str, object: &Object) -> Unsupported {
    let uri = object.get("extension").and_then(Json::as_str).unwrap_or("?");
    Unsupported { what, name: uri.into(), hint: "register an extension for it".into() }
}

/// D-106.
fn compressor(json: Option<&Json>) -> Result<Option<CodecSpec>, MetadataError> {
    let object = match json {
        None | Some(Json::Null) => return Ok(None),
        Some(Json::Object(object)) => object,
        Some(other) => {
            return Err(MetadataError::invalid(
                "compressor",
                format!("{} stands for an object", other.kind()),
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
                format!("configuration: {} stands for an object", other.kind()),
            ));
        }
    };
    Ok(Some(CodecSpec::new(Dialect::Draft, uri, configuration)))
}

pub(super) fn array_document(array: &ArrayMetadata) -> Result<Object, MetadataError> {
    const FORMAT: &str = "draft-2020";
    let ChunkKeys::Draft { separator } = array.chunk_keys else {
        return Err(cannot(
            FORMAT,
            "chunk keys other than its own",
            "choose the key encoding of the drafts",
        ));
    };
    let chain = flat_chain(array, FORMAT)?;
    let compressor = match chain.bytes {
        [] => None,
        [codec] if codec.dialect == Dialect::Draft => Some(
            Object::new()
                .with("codec", codec.name.as_str())
                .with("configuration", codec.configuration.clone()),
        ),
        [codec] => {
            let what = format!("the codec `{}` in the words of {}", codec.name, codec.dialect);
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
    if array.rank() == 0 && compressor.is_some() {
        // Section 2.3: zarr-python 2.18 drops the compressor of scalars.
        return Err(cannot(FORMAT, "a compressed scalar", "store it without a codec"));
    }
    let grid = Object::new()
        .with("type", "regular")
        .with("chunk_shape", &spell_chunk_shape(array, FORMAT)?[..])
        .with("separator", separator.to_string());
    let mut object = Object::new()
        .with("shape", &array.shape[..])
        .with("data_type", spell_type(array, Dialect::Draft, FORMAT)?)
        .with("chunk_grid", grid)
        .with("chunk_memory_layout", if chain.f_order { "F" } else { "C" });
    if let Some(compressor) = compressor {
        object.insert("compressor", compressor);
    }
    Ok(object
        .with("fill_value", spell_fill(array, Dialect::Draft)?)
        .with("extensions", Json::Array(Vec::new()))
        .with("attributes", attributes_with_dimensions(array, FORMAT)?))
}
