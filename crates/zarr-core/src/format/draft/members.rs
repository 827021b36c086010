//! Reads the members that the documents of a draft share, and its groups.

use super::extensions;
use crate::error::MetadataError;
use crate::format::Reading;
use crate::format::members::attributes;
use crate::json::{Json, Object};
use crate::metadata::GroupMetadata;

/// D-120 … D-122; the drafts of 2019 have `zarr_format` and `extensions` there, too (row 20).
pub(super) fn parse_group(
    mut object: Object,
    reading: &mut Reading<'_>,
) -> Result<GroupMetadata, MetadataError> {
    if !object.contains("attributes") {
        reading.tolerate_member("attributes", "it is missing; taken as empty")?;
    }
    // Groups have no extensions, but one that must be understood is an error (D-121).
    if let Some(Json::Array(list)) = object.get("extensions")
        && let Some(must) = list.iter().find(|e| extensions::must_understand(e) != Some(false))
    {
        return Err(extensions::not_understood(must).into());
    }
    check_inner_format(&object)?;
    let attributes = attributes(object.remove("attributes").as_ref(), "attributes")?;
    Ok(GroupMetadata { attributes, unknown: object, implicit: false })
}

/// Row 2: a document that says its format itself, as those of May 2019 must, says the core protocol's.
pub(super) fn check_inner_format(object: &Object) -> Result<(), MetadataError> {
    match object.get("zarr_format") {
        None => Ok(()),
        Some(Json::String(uri)) if is_core(uri) => Ok(()),
        Some(other) => {
            let why = format!("{} is not the core protocol 3.0 of the drafts", other.brief());
            Err(MetadataError::invalid("zarr_format", why))
        }
    }
}

/// What a format URI says; `None` if it is none of these drafts'.
pub(super) struct Version {
    pub minor: u64,
}

/// D-071, D-072: the last segment is `major.minor`.
pub(super) fn version(uri: &str) -> Option<Version> {
    let rest = uri.strip_prefix("https://").or_else(|| uri.strip_prefix("http://"))?;
    let version = rest.strip_prefix("purl.org/zarr/spec/protocol/core/")?;
    let (major, minor) = version.split_once('.').unwrap_or((version, "0"));
    (major == "3").then_some(Version { minor: minor.parse().ok()? })
}

/// Whether a text is the URI of the core protocol, of any minor version of 3.
pub(super) fn is_core(uri: &str) -> bool {
    version(uri).is_some()
}
