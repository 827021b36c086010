//! Writes documents right that break their specification and can be read all the same (docs/internals/design/strictness.md).
//!
//! A correction describes the same node. It is what the format writes of the node that a tolerant reader sees, with the members of the
//! document that the format does not know.

use zarr_core::format::Documents;
use zarr_core::grid::ChunkKeys;
use zarr_core::store::{Bytes, StoreKey};
use zarr_core::{Dialect, Json, NodeMetadata, NodePath, Object, Reading, Strictness};

use super::Context;
use super::consolidated::is_same_node;
use super::problem::Correction;

/// A correction, and what is still wrong with the document then.
pub(super) struct Corrected {
    pub correction: Correction,
    pub left: Vec<String>,
}

/// The document at `key`, one of those that were `found` of a node, as it should be; `None` if that is not certain, or no better.
pub(super) fn corrected(
    context: &Context<'_>,
    path: &NodePath,
    found: &Documents,
    key: &StoreKey,
) -> Option<Corrected> {
    let wrong = found.iter().find(|(at, _)| at == key).map(|(_, bytes)| bytes.clone())?;
    // What is overlooked now; nothing is known of a document that no reader here takes.
    let (node, before) = match read(context, path, found) {
        Some((_, None)) => return None,
        Some((node, overlooked)) => (node, overlooked),
        None => {
            let mut found = found.clone();
            let at = found.iter().position(|(at, _)| at == key)?;
            found[at].1 = readable(context, &found[at].1)?;
            (read(context, path, &found)?.0, None)
        }
    };
    // What other writers are known to write the format corrects itself, and changes nothing else.
    let right = match context.format.corrected(key, &wrong, &context.open.registry) {
        Some(correct) => correct.document,
        None => {
            let written = context.format.create(path, &node).ok()?;
            let (_, ours) = written.iter().find(|(at, _)| at == key)?;
            merged(context, &wrong, ours)?
        }
    };
    let mut after = found.clone();
    for (at, bytes) in &mut after {
        if at == key {
            *bytes = right.clone();
        }
    }
    let (same, left) = read(context, path, &after)?;
    let left = left.unwrap_or_default();
    let is_better = right != wrong && before.is_none_or(|before| left.len() < before.len());
    if !is_better || !is_same_node(&node, &same) {
        return None;
    }
    Some(Corrected { correction: Correction { wrong: Some(wrong), right }, left })
}

/// The node as a tolerant reader sees it, with what it overlooks; nothing to overlook if a strict one reads it, too.
fn read(
    context: &Context<'_>,
    path: &NodePath,
    found: &Documents,
) -> Option<(NodeMetadata, Option<Vec<String>>)> {
    match parse(context, path, found, Strictness::Strict) {
        Some((node, _)) => Some((node, None)),
        None => parse(context, path, found, Strictness::Tolerant)
            .map(|(node, warnings)| (node, Some(warnings))),
    }
}

/// The node of these documents, with the warnings.
fn parse(
    context: &Context<'_>,
    path: &NodePath,
    found: &Documents,
    strictness: Strictness,
) -> Option<(NodeMetadata, Vec<String>)> {
    let mut reading = Reading::new(&context.open.registry, strictness);
    reading.limits = context.open.options.limits;
    reading.ignore_hidden_filters = context.open.options.ignore_hidden_filters;
    let node = context.format.parse(path, found, &mut reading).ok().flatten();
    node.map(|node| (node, reading.warnings))
}

/// A document that readers here refuse and others take, as all take it: a fill value that is a bare `NaN` or `Infinity`, and a version
/// that is a text.
fn readable(context: &Context<'_>, bytes: &[u8]) -> Option<Bytes> {
    let encoding = context.format.encoding();
    let (Json::Object(document), _) = encoding.decode(bytes).ok()? else { return None };
    let corrected: Object = document
        .into_iter()
        .map(|(name, value)| {
            let value = match (name.as_str(), &value) {
                ("fill_value", _) => value.into_standard(),
                ("zarr_format", Json::String(text)) if text == "2" || text == "3" => {
                    Json::from(if text == "2" { 2u64 } else { 3 })
                }
                _ => value,
            };
            (name, value)
        })
        .collect();
    Some(encoding.encode(&Json::from(corrected)).ok()?.into())
}

/// The members of `ours`, and those that only `theirs` has.
fn merged(context: &Context<'_>, theirs: &[u8], ours: &[u8]) -> Option<Bytes> {
    let encoding = context.format.encoding();
    let object = |bytes: &[u8]| match encoding.decode(bytes).ok()?.0 {
        Json::Object(object) => Some(object),
        _ => None,
    };
    let (theirs, ours) = (object(theirs)?, object(ours)?);
    let mut merged: Object = theirs
        .into_iter()
        .map(|(name, value)| {
            let value = ours.get(&name).cloned().unwrap_or(value);
            (name, value)
        })
        .collect();
    for (name, value) in ours {
        if !merged.contains(&name) {
            merged.insert(name, value);
        }
    }
    Some(encoding.encode(&Json::from(merged)).ok()?.into())
}

/// The document of an array with another form of chunk keys.
pub(super) fn with_chunk_keys(
    context: &Context<'_>,
    document: &Bytes,
    keys: &ChunkKeys,
) -> Option<Correction> {
    let encoding = context.format.encoding();
    let (Json::Object(mut object), _) = encoding.decode(document).ok()? else { return None };
    let separator = keys.separator().to_string();
    match context.format.dialect() {
        Dialect::V2 => drop(object.insert("dimension_separator", separator.as_str())),
        Dialect::V3 => {
            let name = if matches!(keys, ChunkKeys::V2 { .. }) { "v2" } else { "default" };
            let configuration = Object::new().with("separator", separator.as_str());
            let encoding = Object::new().with("name", name).with("configuration", configuration);
            drop(object.insert("chunk_key_encoding", encoding));
        }
        _ => return None,
    }
    let right = encoding.encode(&Json::from(object)).ok()?.into();
    Some(Correction { wrong: Some(document.clone()), right })
}
