//! Where do copies of all documents lie, and what is in them? (draft-v3.md 3.4, Z2-070, F-014)

use bytes::Bytes;

use super::{Documents, Format};
use crate::dialect::Dialect;
use crate::error::MetadataError;
use crate::json::{Json, Object};
use crate::store::StoreKey;

/// Where zarr-python 2.18 puts the draft's, unless told otherwise.
pub(crate) const DRAFT: &str = "meta/root/consolidated/.zmetadata";

/// Where a dialect's writers put them.
pub(crate) fn usual_key(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Draft => DRAFT,
        Dialect::V2 => ".zmetadata",
        Dialect::V3 => "zarr.json",
    }
}

/// Whether a key is a document's, so that its copy stands for it.
pub(crate) fn is_document(dialect: Dialect, key: &StoreKey) -> bool {
    let name = key.as_str().rsplit('/').next().unwrap_or_default();
    match dialect {
        Dialect::Draft => key.as_str() == "zarr.json" || key.as_str().starts_with("meta/"),
        Dialect::V2 => [".zarray", ".zgroup", ".zattrs"].contains(&name),
        Dialect::V3 => name == "zarr.json",
    }
}

/// The documents that a consolidated one, found at `key`, holds copies of.
///
/// # Errors
/// For one of a form that is not known.
pub(crate) fn documents(
    format: &dyn Format,
    key: &StoreKey,
    bytes: &Bytes,
) -> Result<Documents, MetadataError> {
    let (json, _) = Json::parse_tolerant(bytes).map_err(MetadataError::Json)?;
    let whole = json.as_object().cloned().unwrap_or_default();
    let invalid = |why: &str| MetadataError::invalid("consolidated_metadata", why);
    let (holder, prefix) = match format.dialect() {
        Dialect::V3 => {
            let inline = whole.get("consolidated_metadata").and_then(Json::as_object).cloned();
            let inline = inline.ok_or(MetadataError::Missing("consolidated_metadata"))?;
            if inline.get("kind").is_some_and(|kind| kind.as_str() != Some("inline")) {
                return Err(invalid("its `kind` is not `inline`"));
            }
            (inline, true)
        }
        Dialect::V2 | Dialect::Draft => {
            if whole.get("zarr_consolidated_format").and_then(Json::as_u64) != Some(1) {
                return Err(invalid("`zarr_consolidated_format` is not 1"));
            }
            (whole, false)
        }
    };
    let copies: Object = match holder.get("metadata") {
        Some(Json::Object(copies)) => copies.clone(),
        _ => return Err(invalid("member `metadata`, an object of documents, is missing")),
    };
    let mut documents = Documents::new();
    if prefix {
        documents.push((key.clone(), bytes.clone()));
    }
    for (name, copy) in copies {
        let name = if prefix { format!("{name}/zarr.json") } else { name };
        let key = StoreKey::new(name).map_err(|e| invalid(&e.to_string()))?;
        let encoded = match key.as_str() == "zarr.json" {
            true => Ok(copy.to_pretty().into_bytes()),
            false => format.encoding().encode(&copy),
        };
        documents.push((key, Bytes::from(encoded.map_err(MetadataError::Json)?)));
    }
    Ok(documents)
}
