//! Converts a chain of codecs to another dialect.
//!
//! v2 and the drafts: an optional reversal of axes, `bytes`, then codecs on bytes. Final v3: any
//! chain. Filters that final v3 knows as array codecs are lifted before `bytes` where only such ones
//! stand between (decision 0114, Z2-090, draft-v3.md Q25).

use super::{ChunkContext, Codec, CodecSpec};
use crate::data_type::{CoreType, DataType};
use crate::dialect::Dialect;
use crate::error::MetadataError;
use crate::json::Object;
use crate::registry::Registry;

/// The chain `specs`, for chunks as `context` says, in the words of dialect `to`.
///
/// # Errors
/// [`MetadataError::CannotSpell`] naming the codec that stands in the way, or the data type that has no words
/// but those of final v3, whatever the codecs.
pub fn convert_codecs(
    specs: &[CodecSpec],
    context: &ChunkContext,
    to: Dialect,
    registry: &Registry,
) -> Result<Vec<CodecSpec>, MetadataError> {
    match to {
        _ if to != Dialect::V3 && matches!(context.data_type, DataType::Optional(_)) => {
            Err(MetadataError::CannotSpell {
                format: name_of(to),
                what: format!("elements that may be missing, `{}`", context.data_type),
                hint: "choose v3".into(),
            })
        }
        Dialect::V3 => to_v3(specs, context, registry),
        Dialect::V2 | Dialect::Draft => to_flat(specs, context, to, registry),
    }
}

fn name_of(to: Dialect) -> &'static str {
    match to {
        Dialect::V3 => "v3",
        Dialect::V2 => "v2",
        Dialect::Draft => "draft-2020",
    }
}

fn cannot(to: Dialect, spec: &CodecSpec, why: &str) -> MetadataError {
    MetadataError::CannotSpell {
        format: name_of(to),
        what: format!("the codec `{}`{why}", spec.name),
        hint: "choose other codecs".into(),
    }
}

/// The same codec in other words; `bytes` and `transpose` are the model's own and stay. A name alone
/// gets its parameters, which some readers want (v3-final.md 3.4).
fn reword(spec: &CodecSpec, codec: &Codec, to: Dialect) -> Result<CodecSpec, MetadataError> {
    let own = matches!(spec.name.as_str(), "bytes" | "transpose");
    if to == Dialect::Draft && spec.dialect == to && !spec.configuration.is_empty() {
        // The drafts spelled URIs in many ways; one is written (draft-v3.md 2.1, row 11).
        let name = codec.to_metadata(to).map_or_else(|| spec.name.clone(), |spelled| spelled.name);
        return Ok(CodecSpec { name, ..spec.clone() });
    }
    if own || spec.dialect == to && !spec.configuration.is_empty() {
        return Ok(spec.clone());
    }
    match codec.to_metadata(to) {
        Some(spelled) if spec.dialect == to => {
            Ok(CodecSpec { configuration: spelled.configuration, ..spec.clone() })
        }
        Some(spelled) => Ok(spelled),
        None if spec.dialect == to => Ok(spec.clone()),
        None => Err(cannot(to, spec, "")),
    }
}

fn to_v3(
    specs: &[CodecSpec],
    context: &ChunkContext,
    registry: &Registry,
) -> Result<Vec<CodecSpec>, MetadataError> {
    let mut arrays: Vec<CodecSpec> = Vec::new();
    let mut rest: Vec<CodecSpec> = Vec::new();
    let mut here = context.clone();
    for spec in specs {
        let flat = registry.build_codec(spec, &here)?;
        let spec = reword(spec, &flat, Dialect::V3)?;
        let codec = registry.build_codec(&spec, &here)?;
        let is_first = rest.iter().all(|before| before.name == "bytes");
        let behind = || cannot(Dialect::V3, &spec, " behind another codec on bytes");
        match codec {
            Codec::ArrayToArray(codec) => {
                // Legal before `bytes` only if nothing but `bytes` has come since the arrays.
                let behind_objects = context.data_type.is_variable() && !rest.is_empty();
                if !is_first || behind_objects {
                    return Err(behind());
                }
                here = codec.encoded(&here)?;
                arrays.push(spec);
            }
            // One on the bytes of numbers, which makes bytes itself in final v3.
            Codec::ArrayToBytes(_) if matches!(flat, Codec::BytesToBytes(_)) => {
                if !is_first {
                    return Err(behind());
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
    arrays.extend(rest);
    // `bytes` needs a byte order for what the lifted codecs make of the elements.
    if let Some(bytes) = arrays.iter_mut().find(|spec| spec.name == "bytes")
        && here.data_type.has_byte_order()
        && !bytes.configuration.contains("endian")
    {
        bytes.configuration.insert("endian", "little");
    }
    Ok(arrays)
}

/// A codec on elements becomes one on their bytes; its own types must say the order of those.
fn in_byte_order(mut spec: CodecSpec, big_endian: bool) -> CodecSpec {
    for member in ["dtype", "astype", "encode_dtype", "decode_dtype"] {
        let little =
            spec.configuration.get(member).and_then(|json| json.as_str()?.strip_prefix('<'));
        if let Some(rest) = little.filter(|_| big_endian) {
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
    let reverse = crate::metadata::reversing_codec(context.rank());
    let bytes = specs.iter().find(|spec| spec.name == "bytes");
    let endian = bytes.and_then(|spec| spec.configuration.get("endian"));
    let big_endian = endian.and_then(|endian| endian.as_str()) == Some("big");
    let mut chain: Vec<CodecSpec> = Vec::new();
    // Array codecs wait here until `bytes` has passed.
    let mut lowered: Vec<CodecSpec> = Vec::new();
    let mut here = context.clone();
    for spec in specs {
        let codec = registry.build_codec(spec, &here)?;
        match &codec {
            // An order that leaves every axis where it is needs no words.
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
            // A memory layout by extension, which a draft has words for (D-105).
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
            Codec::ArrayToBytes(_) if spec.name == "bytes" => {
                chain.push(spec.clone());
                chain.append(&mut lowered);
            }
            // Objects are made bytes of by a filter, in v2's words in the drafts, too (Z2-040).
            Codec::ArrayToBytes(array) if here.data_type.is_variable() && lowered.is_empty() => {
                let words = array.to_metadata(Dialect::V2).ok_or_else(|| cannot(to, spec, ""))?;
                chain.push(words);
                here.data_type = CoreType::Uint8.into();
            }
            // One on numbers is a filter or a compressor of their bytes there.
            Codec::ArrayToBytes(array)
                if !here.data_type.is_variable()
                    && let Some(words) = array.to_metadata(to) =>
            {
                let endian = here.data_type.has_byte_order().then_some("little");
                let order = endian.map(|endian| Object::new().with("endian", endian));
                chain.push(CodecSpec::v3("bytes", order.unwrap_or_default()));
                chain.append(&mut lowered);
                chain.push(words);
            }
            Codec::ArrayToBytes(_) => return Err(cannot(to, spec, "")),
            Codec::BytesToBytes(_) => chain.push(reword(spec, &codec, to)?),
        }
    }
    // In the words of v2 a codec on elements may stand behind `bytes`.
    chain.append(&mut lowered);
    Ok(chain)
}
