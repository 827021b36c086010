//! Checks the extensions that must be understood (D-075 … D-078, D-108, D-121).

use super::filters;
use crate::error::{MetadataError, Unsupported};
use crate::format::Reading;
use crate::json::{Json, Object};
use crate::metadata::ArrayMetadata;

/// The filters extension of June 2019, in any version.
const FILTERS: &str = "purl.org/zarr/spec/protocol/extensions/filters";

pub(super) fn not_understood(extension: &Json) -> Unsupported {
    let uri = extension.as_object().and_then(|o| o.get("extension")).and_then(Json::as_str);
    Unsupported {
        what: "extension",
        name: uri.unwrap_or("?").into(),
        hint: "it is unknown, and readers must understand it; register an extension for it".into(),
    }
}

pub(super) fn must_understand(extension: &Json) -> Option<bool> {
    extension.as_object()?.get("must_understand")?.as_bool()
}

/// The `extensions` of `zarr.json`; an unknown one that must be understood makes all data unreadable.
pub(super) fn of_entry_point(
    object: &Object,
    reading: &mut Reading<'_>,
    unsupported: &mut Vec<Unsupported>,
) -> Result<(), MetadataError> {
    for extension in listed(object, reading)? {
        if !understood(&extension, None, reading)? {
            unsupported.push(not_understood(&Json::Object(extension)));
        }
    }
    Ok(())
}

/// The `extensions` of an array's document, applied to the array.
pub(super) fn of_array(
    object: &Object,
    array: &mut ArrayMetadata,
    reading: &mut Reading<'_>,
) -> Result<(), MetadataError> {
    for extension in listed(object, reading)? {
        if !understood(&extension, Some(array), reading)? {
            array.unsupported.push(not_understood(&Json::Object(extension)));
        }
    }
    Ok(())
}

/// Each extension object, its form checked.
fn listed(object: &Object, reading: &mut Reading<'_>) -> Result<Vec<Object>, MetadataError> {
    let list = match object.get("extensions") {
        Some(Json::Array(list)) => list,
        Some(other) => {
            let why = format!("expected a list, found {}", other.kind());
            return Err(MetadataError::invalid("extensions", why));
        }
        None => {
            reading.tolerate_member("extensions", "it is missing; taken as empty")?;
            return Ok(Vec::new());
        }
    };
    let mut extensions = Vec::with_capacity(list.len());
    for extension in list {
        match extension {
            Json::Object(object) if extension["extension"].as_str().is_some() => {
                extensions.push(object.clone());
            }
            _ => {
                let why = "each is an object with a URI `extension`";
                return Err(MetadataError::invalid("extensions", why));
            }
        }
    }
    Ok(extensions)
}

/// Whether reading may go on: an extension that is registered, or that need not be understood.
fn understood(
    extension: &Object,
    array: Option<&mut ArrayMetadata>,
    reading: &mut Reading<'_>,
) -> Result<bool, MetadataError> {
    let must = match extension.get("must_understand") {
        Some(Json::Bool(must)) => *must,
        // Q16: a missing one is taken as true by a tolerant reader.
        None => {
            reading.tolerate_member("extensions", "`must_understand` is missing; taken as true")?;
            true
        }
        Some(_) => {
            let why = "`must_understand` is `true` or `false`";
            return Err(MetadataError::invalid("extensions", why));
        }
    };
    let uri = extension.get("extension").and_then(Json::as_str).unwrap_or_default();
    if let Some(understand) = reading.registry.extensions.get(uri) {
        return understand(extension, array).map(|()| true);
    }
    let plain = uri.trim_start_matches("https://").trim_start_matches("http://");
    if let (true, Some(array)) = (plain.starts_with(FILTERS), array)
        && filters::understand(extension, array)?
    {
        return Ok(true);
    }
    if !must {
        reading.warnings.push(format!("extension `{uri}` is not known; ignored"));
    }
    Ok(!must)
}
