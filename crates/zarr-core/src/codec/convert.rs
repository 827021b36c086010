//! Converts a chain of codecs to another dialect.
//!
//! v2 and the drafts: an optional reversal of axes, `bytes`, then codecs on bytes. Final v3: any
//! chain. Filters that final v3 knows as array codecs are moved before `bytes` where only such filters are between them
//! (Z2-090, draft-v3.md Q25; docs/internals/design/codecs.md).

use super::{ChunkContext, Codec, CodecSpec};
use crate::data_type::{CoreType, DataType, Endian, optional};
use crate::dialect::Dialect;
use crate::error::MetadataError;
use crate::grid::ChunkKeys;
use crate::json::{Json, Object};
use crate::metadata::ArrayMetadata;
use crate::registry::Registry;

/// The codec that makes bytes of numbers.
pub(super) const BYTES: &str = "bytes";

/// The codec of shards.
pub(super) const SHARDING: &str = "sharding_indexed";

/// Codecs of numcodecs that no reader of final v3 but this library has, by their names in v2 and the drafts: zarr-python 3
/// registers no `numcodecs.base64` and no `numcodecs.categorize`. They change how elements are stored, not what they are, so that a
/// conversion writes elements without them.
const WITHOUT_READERS_IN_V3: [&str; 2] = ["base64", "categorize"];

/// The codecs of a chain of v2 or of a draft that final v3 does without, since no other reader has them there.
pub fn dropped_in_v3(specs: &[CodecSpec]) -> impl Iterator<Item = &CodecSpec> {
    specs.iter().filter(|spec| is_dropped_in_v3(spec))
}

fn is_dropped_in_v3(spec: &CodecSpec) -> bool {
    // In a draft the name is the last part but one of a URI.
    spec.dialect != Dialect::V3
        && spec.name.split('/').any(|part| WITHOUT_READERS_IN_V3.contains(&part))
}

/// The keys of blocks of N5.
pub(super) const N5_KEYS: ChunkKeys = ChunkKeys::V2 { separator: '/' };

/// The byte order that a chain says; little-endian, if it says none.
pub(crate) fn stored_endian(codecs: &[CodecSpec]) -> Endian {
    let bytes = codecs.iter().find(|spec| spec.name == BYTES);
    match bytes.and_then(|spec| spec.configuration.get("endian")).and_then(Json::as_str) {
        Some("big") => Endian::Big,
        _ => Endian::Little,
    }
}

/// Where codecs on bytes begin in a chain of v2 or of a draft.
pub(super) fn first_on_bytes(codecs: &[CodecSpec]) -> usize {
    match codecs.iter().position(|spec| spec.name == BYTES) {
        Some(at) => at + 1,
        None => codecs.iter().take_while(|spec| spec.name == "transpose").count(),
    }
}

/// Gives `bytes` a byte order, if it has none. Codecs before it may make wider elements of single bytes, which zarr-python
/// 3.1 forgets.
pub(super) fn add_byte_order(spec: &mut CodecSpec) {
    if spec.name == BYTES && !spec.configuration.contains("endian") {
        spec.configuration.insert("endian", "little");
    }
}

/// The `transpose` codec that reverses all axes: F order (Z2-090).
pub(crate) fn reversing_codec(rank: usize) -> CodecSpec {
    let order: Json = (0..rank as u64).rev().map(Json::from).collect();
    CodecSpec::v3("transpose", Object::new().with("order", order))
}

/// Whether chunks are blocks of N5, whose keys differ (F-102).
pub(super) fn holds_n5_blocks(codecs: &[CodecSpec]) -> bool {
    codecs.iter().any(|spec| spec.name == "n5_default")
}

/// Refuses chunk keys other than N5's for blocks of N5.
pub(super) fn check_chunk_keys(metadata: &ArrayMetadata) -> Result<(), MetadataError> {
    if holds_n5_blocks(&metadata.codecs) && metadata.chunk_keys != N5_KEYS {
        let why = "the codec `n5_default` needs `v2` with the separator `/`";
        return Err(MetadataError::invalid("chunk_key_encoding", why));
    }
    Ok(())
}

/// The codec that makes bytes of a data type's elements: mostly `bytes`, with a byte order where it needs one (F-080).
pub fn bytes_codec(data_type: &DataType, endian: Endian) -> CodecSpec {
    match data_type {
        DataType::String => return CodecSpec::v3("vlen-utf8", Object::new()),
        DataType::Bytes => return CodecSpec::v3("vlen-bytes", Object::new()),
        DataType::Json => return CodecSpec::new(Dialect::V2, "json2", Object::new()),
        DataType::List(items) => {
            let dtype = items.to_metadata(Dialect::V2, Endian::Little).unwrap_or(Json::Null);
            return CodecSpec::new(Dialect::V2, "vlen-array", Object::new().with("dtype", dtype));
        }
        DataType::Optional(optional) => {
            return optional_codec(&bytes_codec(optional.inner(), endian));
        }
        DataType::Extension(extension) => {
            if let Some(serializer) = extension.serializer() {
                return serializer;
            }
        }
        _ => {}
    }
    let mut configuration = Object::new();
    if data_type.repr().is_none() || data_type.has_byte_order() {
        configuration.insert("endian", endian.name());
    }
    CodecSpec::v3(BYTES, configuration)
}

/// The codec that stores nullable elements; `data` makes bytes of those inside.
fn optional_codec(data: &CodecSpec) -> CodecSpec {
    let mask = Object::extension("packbits", Object::new());
    let data = Object::extension(&data.name, data.configuration.clone());
    let chains = Object::new()
        .with("mask_codecs", Json::Array(vec![mask.into()]))
        .with("data_codecs", Json::Array(vec![data.into()]));
    CodecSpec::v3(optional::NAMES[0], chains)
}

/// The chain `specs`, for chunks as `context` describes them, as metadata of the dialect `to`.
///
/// # Errors
/// [`MetadataError::CannotRepresent`] naming the codec, or the data type, that the dialect cannot represent.
pub fn convert_codecs(
    specs: &[CodecSpec],
    context: &ChunkContext,
    to: Dialect,
    registry: &Registry,
) -> Result<Vec<CodecSpec>, MetadataError> {
    match to {
        _ if to != Dialect::V3 && matches!(context.data_type, DataType::Optional(_)) => {
            Err(MetadataError::CannotRepresent {
                format: to.name(),
                what: format!("the nullable type `{}`", context.data_type),
                hint: "choose v3".into(),
            })
        }
        Dialect::V3 => to_v3(specs, context, registry),
        Dialect::V2 | Dialect::Draft => to_flat(specs, context, to, registry),
    }
}

fn cannot(to: Dialect, spec: &CodecSpec, why: &str) -> MetadataError {
    MetadataError::CannotRepresent {
        format: to.name(),
        what: format!("the codec `{}`{why}", spec.name),
        hint: "choose other codecs".into(),
    }
}

/// The same codec as metadata of another dialect; `bytes` and `transpose` belong to the model and stay. A name without
/// parameters gets them, since some readers require them (v3-final.md 3.4).
fn reword(spec: &CodecSpec, codec: &Codec, to: Dialect) -> Result<CodecSpec, MetadataError> {
    let own = matches!(spec.name.as_str(), "bytes" | "transpose");
    if to == Dialect::Draft && spec.dialect == to && !spec.configuration.is_empty() {
        // The drafts have several URIs for one codec; one is written (draft-v3.md 2.1, row 11).
        let name =
            codec.to_metadata(to).map_or_else(|| spec.name.clone(), |converted| converted.name);
        return Ok(CodecSpec { name, ..spec.clone() });
    }
    if own || spec.dialect == to && !spec.configuration.is_empty() {
        return Ok(spec.clone());
    }
    match codec.to_metadata(to) {
        Some(converted) if spec.dialect == to => {
            Ok(CodecSpec { configuration: converted.configuration, ..spec.clone() })
        }
        Some(converted) => Ok(converted),
        None if spec.dialect == to => Ok(spec.clone()),
        None => Err(cannot(to, spec, "")),
    }
}

/// Where final v3 has no place for a codec.
const BEHIND_BYTES: &str = " behind another codec on bytes";

fn to_v3(
    specs: &[CodecSpec],
    context: &ChunkContext,
    registry: &Registry,
) -> Result<Vec<CodecSpec>, MetadataError> {
    let mut arrays: Vec<CodecSpec> = Vec::new();
    let mut rest: Vec<CodecSpec> = Vec::new();
    let mut here = context.clone();
    let mut endian = None;
    for spec in specs.iter().filter(|spec| !is_dropped_in_v3(spec)) {
        let flat = registry.build_codec(spec, &here)?;
        let written = written_endian(spec);
        let spec = reword(spec, &flat, Dialect::V3)?;
        let codec = registry.build_codec(&spec, &here)?;
        let is_first = rest.iter().all(|before| before.name == BYTES);
        match codec {
            Codec::ArrayToArray(codec) => {
                // Legal before `bytes` only if nothing but `bytes` has come since the arrays.
                let behind_objects = context.data_type.is_variable() && !rest.is_empty();
                if !is_first || behind_objects {
                    return Err(cannot(Dialect::V3, &spec, BEHIND_BYTES));
                }
                here = codec.encoded(&here)?;
                endian = written.or(endian);
                arrays.push(spec);
            }
            // One on the bytes of numbers, which makes bytes itself in final v3.
            Codec::ArrayToBytes(_) if matches!(flat, Codec::BytesToBytes(_)) => {
                if !is_first {
                    return Err(cannot(Dialect::V3, &spec, BEHIND_BYTES));
                }
                rest = vec![spec];
            }
            // What follows sees bytes, if elements have any length.
            Codec::ArrayToBytes(_) if here.data_type.is_variable() => {
                here.data_type = CoreType::Uint8.into();
                rest.push(spec);
            }
            _ => rest.push(spec),
        }
    }
    // The codec that was dropped may have made the bytes of objects.
    let is_dropped = dropped_in_v3(specs).next().is_some();
    if is_dropped && context.data_type.is_variable() && here.data_type.is_variable() {
        rest.insert(0, bytes_codec(&context.data_type, Endian::Little));
    }
    // Such a codec may write another byte order than the array has. With any other in `bytes`, the stored chunks would not be
    // those of the new chain.
    if let Some(endian) = endian
        && let Some(bytes) = rest.iter_mut().find(|spec| spec.name == BYTES)
        && bytes.configuration.contains("endian")
    {
        bytes.configuration.insert("endian", endian);
    }
    arrays.extend(rest);
    // `bytes` needs a byte order for what the lifted codecs make of the elements.
    if here.data_type.has_byte_order() {
        arrays.iter_mut().for_each(add_byte_order);
    }
    Ok(arrays)
}

/// The byte order in which a codec of v2 or of a draft writes elements, if its own types say one. In final v3 `bytes` does.
fn written_endian(spec: &CodecSpec) -> Option<&'static str> {
    if spec.dialect == Dialect::V3 {
        return None;
    }
    let members = ["astype", "encode_dtype", "dtype"];
    let name = members.iter().find_map(|&member| spec.configuration.get(member)?.as_str())?;
    match name.as_bytes().first()? {
        b'<' => Some("little"),
        b'>' => Some("big"),
        _ => None,
    }
}

/// A codec on elements becomes one on their bytes; its own types must say the order of those.
fn in_byte_order(mut spec: CodecSpec, big_endian: bool) -> CodecSpec {
    if !big_endian {
        return spec;
    }
    for member in ["dtype", "astype", "encode_dtype", "decode_dtype"] {
        let little =
            spec.configuration.get(member).and_then(|json| json.as_str()?.strip_prefix('<'));
        if let Some(rest) = little {
            let big = format!(">{rest}");
            spec.configuration.insert(member, big);
        }
    }
    spec
}

fn to_flat(
    specs: &[CodecSpec],
    context: &ChunkContext,
    to: Dialect,
    registry: &Registry,
) -> Result<Vec<CodecSpec>, MetadataError> {
    let reverse = reversing_codec(context.rank());
    let bytes = specs.iter().find(|spec| spec.name == BYTES);
    let endian = bytes.and_then(|spec| spec.configuration.get("endian"));
    let big_endian = endian.and_then(|endian| endian.as_str()) == Some("big");
    let mut chain: Vec<CodecSpec> = Vec::new();
    // Array codecs wait here until `bytes` has passed.
    let mut lowered: Vec<CodecSpec> = Vec::new();
    let mut here = context.clone();
    for spec in specs {
        let codec = registry.build_codec(spec, &here)?;
        match &codec {
            // An order that leaves every axis where it is, is not written.
            Codec::ArrayToArray(array) if array.axis_order().is_some_and(<[_]>::is_sorted) => {}
            Codec::ArrayToArray(array) if array.axis_order().is_some() => {
                if !lowered.is_empty()
                    || !chain.is_empty()
                    || spec.configuration != reverse.configuration
                {
                    return Err(cannot(to, spec, ", except to reverse all axes at once"));
                }
                chain.push(reverse.clone());
            }
            // A memory layout by extension, which a draft can represent (D-105).
            Codec::ArrayToArray(array)
                if to == Dialect::Draft
                    && lowered.is_empty()
                    && chain.is_empty()
                    && let Some(layout) = codec.to_metadata(to) =>
            {
                here = array.encoded(&here)?;
                chain.push(layout);
            }
            Codec::ArrayToArray(array) => {
                lowered.push(in_byte_order(reword(spec, &codec, to)?, big_endian));
                here = array.encoded(&here)?;
            }
            Codec::ArrayToBytes(_) if spec.name == BYTES => {
                chain.push(spec.clone());
                chain.append(&mut lowered);
            }
            // A filter makes bytes of objects; the drafts write it as v2 does (Z2-040).
            Codec::ArrayToBytes(array) if here.data_type.is_variable() && lowered.is_empty() => {
                let filter = array.to_metadata(Dialect::V2).ok_or_else(|| cannot(to, spec, ""))?;
                chain.push(filter);
                here.data_type = CoreType::Uint8.into();
            }
            // One on numbers is a filter or a compressor of their bytes there.
            Codec::ArrayToBytes(array)
                if !here.data_type.is_variable()
                    && let Some(filter) = array.to_metadata(to) =>
            {
                let endian = here.data_type.has_byte_order().then_some("little");
                let order = endian.map(|endian| Object::new().with("endian", endian));
                chain.push(CodecSpec::v3(BYTES, order.unwrap_or_default()));
                chain.append(&mut lowered);
                chain.push(filter);
            }
            Codec::ArrayToBytes(_) => return Err(cannot(to, spec, "")),
            Codec::BytesToBytes(bytes) => {
                // In v2 a codec on elements may follow `bytes`.
                chain.append(&mut lowered);
                chain.push(reword(spec, &codec, to)?);
                here = bytes.encoded(&here);
            }
        }
    }
    chain.append(&mut lowered);
    Ok(chain)
}

/// The chain of `codecs` with `bytes`, behind the codecs on arrays and before those on bytes, unless another codec makes
/// bytes.
pub(crate) fn order_codecs(
    bytes: CodecSpec,
    codecs: Vec<CodecSpec>,
    metadata: &ArrayMetadata,
    registry: &Registry,
) -> Result<Vec<CodecSpec>, MetadataError> {
    let mut here = ChunkContext::new(metadata.data_type.clone(), metadata.chunk_extent());
    let mut arrays = Vec::new();
    let mut rest = Vec::new();
    let mut serializer = Some(bytes);
    for spec in codecs {
        let mut codec = registry.build_codec(&spec, &here)?;
        if matches!(codec, Codec::BytesToBytes(_)) && !here.data_type.is_stored_whole() {
            // It sees bytes, if elements are variable-length or nullable.
            let bytes = ChunkContext::new(CoreType::Uint8, here.shape.clone());
            codec = registry.build_codec(&spec, &bytes)?;
        }
        // With every parameter, which most readers require (v3-final.md 3.4).
        let spec = codec.to_metadata(Dialect::V3).unwrap_or(spec);
        // A filter of v2 on bytes may be one on elements in these words.
        match registry.build_codec(&spec, &here)? {
            Codec::ArrayToArray(codec) => {
                here = codec.encoded(&here)?;
                arrays.push(spec);
            }
            Codec::ArrayToBytes(_) => {
                serializer = None;
                rest.push(spec);
            }
            Codec::BytesToBytes(_) => rest.push(spec),
        }
    }
    if here.data_type.has_byte_order() {
        serializer.iter_mut().for_each(add_byte_order);
    }
    arrays.extend(serializer);
    arrays.extend(rest);
    Ok(arrays)
}
