//! Reads the metadata of the sharding storage transformer of 2022 (draft-v3.md 3.4, Q27).

use crate::error::{MetadataError, Unsupported};
use crate::json::Json;

/// The transformer's URI, in any version.
const SHARDING: &str = "purl.org/zarr/spec/storage_transformers/sharding";

/// How many chunks along each axis one object holds, if `storage_transformers` has them; any other transformer changes
/// stored bytes in an unknown way, so that elements cannot be read (D-081).
pub(super) fn parse(
    json: Option<&Json>,
    rank: usize,
    unsupported: &mut Vec<Unsupported>,
) -> Result<Option<Vec<u64>>, MetadataError> {
    let invalid = |why: String| MetadataError::invalid("storage_transformers", why);
    let list = match json {
        None | Some(Json::Null) => return Ok(None),
        Some(Json::Array(list)) => list,
        Some(other) => return Err(invalid(format!("expected a list, found {}", other.kind()))),
    };
    let member = |transformer: &Json, name: &str| {
        transformer.as_object().and_then(|object| object.get(name)).cloned()
    };
    let uri = |transformer: &Json| match member(transformer, "extension") {
        Some(Json::String(uri)) => uri,
        _ => "?".into(),
    };
    let is_sharding = |transformer: &Json| {
        let uri = uri(transformer);
        let plain = uri.trim_start_matches("https://").trim_start_matches("http://");
        plain.starts_with(SHARDING) && member(transformer, "type") == Some(Json::from("indexed"))
    };
    match &list[..] {
        [] => Ok(None),
        [one] if is_sharding(one) => {
            let configuration = member(one, "configuration");
            let counts =
                configuration.as_ref().and_then(|c| c.as_object()?.get("chunks_per_shard"));
            let counts: Option<Vec<u64>> = counts
                .and_then(Json::as_array)
                .and_then(|counts| counts.iter().map(Json::as_u64).collect());
            let counts = counts.filter(|counts| counts.len() == rank && !counts.contains(&0));
            let counts = counts.filter(|counts| crate::region::element_count(counts).is_some());
            counts.map(Some).ok_or_else(|| {
                invalid("`chunks_per_shard` is a number of chunks for each axis".into())
            })
        }
        _ => {
            unsupported.extend(list.iter().map(|transformer| Unsupported {
                what: "storage transformer",
                name: uri(transformer),
                hint: "it changes what is stored, and is not known here".into(),
            }));
            Ok(None)
        }
    }
}
