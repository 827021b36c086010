//! Reads and writes the codecs of a draft other than the compressor.
//!
//! The text does not have them. zarr-python 2.12 to 2.18 hid them among the user's attributes, in the form of v2 (Q5);
//! the filters extension of 2019 had a URI and no JSON, and is read in the same form.

use crate::codec::CodecSpec;
use crate::dialect::Dialect;
use crate::error::MetadataError;
use crate::format::v2;
use crate::json::{Json, Object};
use crate::metadata::ArrayMetadata;

/// The attribute that they are hidden in.
const ATTRIBUTE: &str = "filters";

/// Whether attributes hide filters: a list of objects, each with a string `id`.
pub(super) fn are_hidden_in(attributes: &Object) -> bool {
    let Some(Json::Array(list)) = attributes.get(ATTRIBUTE) else { return false };
    !list.is_empty() && list.iter().all(|codec| codec["id"].as_str().is_some())
}

/// Takes hidden filters out of attributes; they are no attribute of the user's.
pub(super) fn take(attributes: &mut Object) -> Object {
    match attributes.remove(ATTRIBUTE) {
        Some(list) => Object::new().with(ATTRIBUTE, list),
        None => Object::new(),
    }
}

/// The codecs that hidden filters mean, as they follow `bytes`.
pub(super) fn codecs(hidden: &Object) -> Result<Vec<CodecSpec>, MetadataError> {
    v2::filters(hidden.get(ATTRIBUTE))
}

/// The filters of a chain as the attribute that hides them; `None` for none.
pub(super) fn hide(filters: &[CodecSpec]) -> Option<(&'static str, Json)> {
    (!filters.is_empty()).then(|| (ATTRIBUTE, filters.iter().map(v2::codec_object).collect()))
}

/// Whether a codec of a draft's chain is a filter, which has the form of v2.
pub(super) fn is_filter(codec: &CodecSpec) -> bool {
    codec.dialect == Dialect::V2
}

/// Applies the filters extension, if its configuration is known: none, a list of codecs in the form of v2, or an object
/// with such a list as `filters`. `false` for others.
pub(super) fn understand(
    extension: &Object,
    array: &mut ArrayMetadata,
) -> Result<bool, MetadataError> {
    let configuration = match extension.get("configuration") {
        None | Some(Json::Null) => return Ok(true),
        Some(list @ Json::Array(_)) => list.clone(),
        Some(Json::Object(object)) => match object.get(ATTRIBUTE) {
            Some(list @ Json::Array(_)) => list.clone(),
            None if object.is_empty() => return Ok(true),
            _ => return Ok(false),
        },
        Some(_) => return Ok(false),
    };
    // The extension says nowhere how filters are written: what is not known is no damage.
    let Ok(filters) = codecs(&Object::new().with(ATTRIBUTE, configuration)) else {
        return Ok(false);
    };
    let after = array.codecs.iter().position(|codec| codec.name == "bytes").map_or(0, |at| at + 1);
    array.codecs.splice(after..after, filters);
    Ok(true)
}
