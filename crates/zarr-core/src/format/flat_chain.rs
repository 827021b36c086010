//! Translates chains of codecs from and to v2 and the drafts: axis order, byte order, then codecs on bytes.

use super::members::{cannot, invalid};
use super::reading::Reading;
use crate::codec::{ChunkContext, CodecSpec, bytes_codec, reversing_codec};
use crate::data_type::{CoreType, DataType, Endian, ParsedType, Repr};
use crate::dialect::Dialect;
use crate::error::{MetadataError, Unsupported};
use crate::json::Json;
use crate::metadata::ArrayMetadata;
use crate::registry::Registry;

/// The codecs behind the order of axes, in v2 and the drafts: `bytes`, or for objects the first filter, which
/// also tells what they are (Z2-040). In old files that is the compressor.
pub(super) fn serialized(
    parsed: &mut ParsedType,
    declared: &Json,
    mut codecs: Vec<CodecSpec>,
    reading: &Reading<'_>,
    unsupported: &mut Vec<Unsupported>,
) -> Result<Vec<CodecSpec>, MetadataError> {
    let kind = declared.as_object().and_then(|object| object.get("type")).unwrap_or(declared);
    if kind.as_str() != Some("|O") {
        let endian = parsed.endian.unwrap_or(Endian::Little);
        codecs.insert(0, bytes_codec(&parsed.data_type, endian));
        return Ok(codecs);
    }
    let Some(first) = codecs.first() else {
        let why = "objects need a codec that turns them into bytes, such as `vlen-utf8`";
        return Err(invalid("filters", why));
    };
    match object_type(first, reading.registry) {
        Ok(None) => {}
        Ok(Some(data_type)) => {
            parsed.data_type = data_type;
            return Ok(codecs);
        }
        Err(MetadataError::Unsupported(lack)) => {
            unsupported.push(lack);
            return Ok(codecs);
        }
        Err(invalid) => return Err(invalid),
    }
    // Every known codec on bytes takes these; an unknown one may take objects.
    let context = ChunkContext::new(CoreType::Uint8, vec![]);
    match reading.registry.build_codec(first, &context) {
        Err(MetadataError::Unsupported(lack)) => unsupported.push(lack),
        _ => {
            let why = format!(
                "`{}` does not turn objects into bytes; the first codec must, as `vlen-utf8` does",
                first.name
            );
            return Err(invalid("filters", why));
        }
    }
    Ok(codecs)
}

/// An array's chain as v2 and the drafts see it: axis order, byte order, then codecs on bytes.
pub(super) struct FlatChain<'a> {
    pub f_order: bool,
    /// A memory layout by extension, which only the drafts know.
    pub layout: Option<&'a CodecSpec>,
    pub bytes: &'a [CodecSpec],
}

/// Splits a chain that is already as the dialect's metadata.
pub(super) fn flat_chain<'a>(
    array: &'a ArrayMetadata,
    format: &'static str,
) -> Result<FlatChain<'a>, MetadataError> {
    let mut codecs = &array.codecs[..];
    let reverse = reversing_codec(array.rank());
    let f_order = codecs
        .first()
        .is_some_and(|c| c.name == "transpose" && c.configuration == reverse.configuration);
    if f_order {
        codecs = &codecs[1..];
    }
    let layout = codecs.first().filter(|codec| !f_order && codec.dialect == Dialect::Draft);
    if layout.is_some() {
        codecs = &codecs[1..];
    }
    match codecs.split_first() {
        // The filter that makes bytes of objects is a codec like those behind it (Z2-040).
        Some((first, _)) if array.data_type.is_variable() && first.dialect == Dialect::V2 => {
            Ok(FlatChain { f_order, layout, bytes: codecs })
        }
        Some((first, rest)) if first.name == "bytes" => {
            Ok(FlatChain { f_order, layout, bytes: rest })
        }
        Some((first, _)) => Err(cannot(
            format,
            format!("the codec `{}` before `bytes`", first.name),
            "choose v3, or other codecs",
        )),
        None => Err(cannot(format, "a chain without `bytes`", "choose other codecs")),
    }
}

/// The type of objects that this filter, the first one of v2 and the draft's, makes bytes of; `None` if it
/// makes none (Z2-040).
///
/// # Errors
/// [`MetadataError::Invalid`] for arrays of nothing, [`MetadataError::Unsupported`] for arrays of items that
/// are not known here.
fn object_type(filter: &CodecSpec, registry: &Registry) -> Result<Option<DataType>, MetadataError> {
    let data_type = match filter.name.as_str() {
        "vlen-utf8" => DataType::String,
        "vlen-bytes" => DataType::Bytes,
        "json2" | "json" | "msgpack2" | "msgpack" => DataType::Json,
        "categorize" if filter.configuration.get("dtype").and_then(Json::as_str) == Some("|O") => {
            DataType::String
        }
        "vlen-array" => DataType::List(Box::new(items(filter, registry)?)),
        _ => return Ok(None),
    };
    Ok(Some(data_type))
}

/// The type of the items that `vlen-array` stores.
fn items(filter: &CodecSpec, registry: &Registry) -> Result<DataType, MetadataError> {
    let member = "filters: vlen-array: dtype";
    let dtype = filter.configuration.get("dtype");
    let dtype = dtype.ok_or_else(|| MetadataError::invalid(member, "is missing"))?;
    let parsed = registry.parse_data_type(dtype, Dialect::V2)?;
    let repr = parsed.data_type.repr();
    if parsed.endian == Some(Endian::Big) || repr.is_none_or(|repr| repr == Repr::Variable) {
        let hint = "items are little-endian ones of a fixed size that is known here".into();
        let name = format!("arrays of {}", dtype.brief());
        return Err(Unsupported { what: "data type", name, hint }.into());
    }
    Ok(parsed.data_type)
}
