//! Detects the dialect of a store (docs/internals/design/documents.md).

use std::sync::Arc;

use bytes::Bytes;

use super::draft::{self, Draft};
use super::members::parse_node_object;
use super::{Documents, Format, Reading, V2, V3};
use crate::dialect::{Dialect, Era};
use crate::error::{MetadataError, Result};
use crate::json::Json;
use crate::path::NodePath;

/// The format that writes a dialect, in its default profile.
pub fn of_dialect(dialect: Dialect) -> Arc<dyn Format> {
    match dialect {
        Dialect::V3 => Arc::new(V3),
        Dialect::V2 => Arc::new(V2),
        Dialect::Draft => Arc::new(Draft::new()),
    }
}

/// The keys that tell, all of them looked at together.
pub(crate) const PROBES: [&str; 5] = ["zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata"];

/// What the probes told.
pub(crate) enum Found {
    /// A hierarchy of this format begins here.
    Format(Arc<dyn Format>),
    /// A draft's hierarchy begins here; its documents may have to tell how their keys end, see
    /// [`Draft::with_suffix_of`].
    Draft(Draft),
    /// Nothing is here.
    Nothing,
}

/// The format that the documents at a store's root tell.
///
/// `asked` overrides what would be detected; a document that is there but broken is an error all the
/// same, never taken for another dialect's.
pub(crate) fn detect(
    found: &Documents,
    asked: Option<Dialect>,
    era: Option<Era>,
    reading: &mut Reading<'_>,
) -> Result<Found, MetadataError> {
    let v2 = PROBES[1..].iter().any(|name| document_of(found, name).is_some());
    if asked == Some(Dialect::V2) {
        return Ok(if v2 { Found::Format(Arc::new(V2)) } else { Found::Nothing });
    }
    let Some(entry) = document_of(found, PROBES[0]) else {
        return Ok(if v2 && asked.is_none() {
            Found::Format(Arc::new(V2))
        } else {
            Found::Nothing
        });
    };
    // Duplicates are an error in both kinds of `zarr.json` (docs/internals/design/strictness.md).
    let object = parse_node_object(entry, reading)?;
    if v2 {
        reading.warnings.push("found both `zarr.json` and v2 documents; using `zarr.json`".into());
    }
    let draft =
        matches!(object.get("zarr_format"), Some(Json::String(text)) if text.contains("://"));
    match (draft, asked) {
        (true, None | Some(Dialect::Draft)) => {
            // Asking for the drafts without an era is asking for the last of them.
            let era = era.or(asked.map(|_| Era::E4)).filter(|era| *era >= Era::E2);
            draft::parse_entry_point(&object, era, reading).map(Found::Draft)
        }
        (false, None | Some(Dialect::V3)) => Ok(Found::Format(Arc::new(V3))),
        _ => Ok(Found::Nothing),
    }
}

/// The document of this key, if it was found.
fn document_of<'a>(found: &'a Documents, key: &str) -> Option<&'a Bytes> {
    found.iter().find(|(found, _)| found.as_str() == key).map(|(_, bytes)| bytes)
}

/// The dialect of one document of an array, unless a caller knows it, and the document under its key. In a document of v2
/// the attributes may be a member, as zarr-python has them in memory.
pub(crate) fn array_documents(
    document: &[u8],
    path: &NodePath,
    asked: Option<Dialect>,
) -> Result<(Dialect, Documents)> {
    let (json, _) = Json::parse_tolerant(document).map_err(MetadataError::Json)?;
    let Json::Object(mut object) = json else {
        return Err(MetadataError::Json("a document of an array is an object".into()).into());
    };
    let version = object.get("zarr_format");
    let version = version.and_then(|json| json.as_u64().or_else(|| json.as_str()?.parse().ok()));
    let dialect = asked.unwrap_or(match version {
        Some(2) => Dialect::V2,
        Some(_) => Dialect::V3,
        None => Dialect::Draft,
    });
    let keys = of_dialect(dialect).document_keys(path)?;
    let document = Bytes::copy_from_slice(document);
    let documents = match (dialect, &keys[..]) {
        (Dialect::V2, [array, _, attributes]) => match object.remove("attributes") {
            Some(found) => Documents::from([
                (array.clone(), Json::Object(object).to_string().into()),
                (attributes.clone(), found.to_string().into()),
            ]),
            None => Documents::from([(array.clone(), document)]),
        },
        (_, keys) => keys.iter().take(1).map(|key| (key.clone(), document.clone())).collect(),
    };
    Ok((dialect, documents))
}
