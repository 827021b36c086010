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
    let list = match json {
        None | Some(Json::Null) => return Ok(None),
        Some(Json::Array(list)) => list,
        Some(other) => {
            let why = format!("expected a list, found {}", other.kind());
            return Err(MetadataError::invalid("storage_transformers", why));
        }
    };
    match &list[..] {
        [] => Ok(None),
        [one] if is_sharding(one) => match chunks_per_shard(&one["configuration"], rank) {
            Some(counts) => Ok(Some(counts)),
            None => {
                let why = "`chunks_per_shard` is a number of chunks for each axis";
                Err(MetadataError::invalid("storage_transformers", why))
            }
        },
        _ => {
            unsupported.extend(list.iter().map(|transformer| Unsupported {
                what: "storage transformer",
                name: uri(transformer).into(),
                hint: "it changes what is stored, and is not known here".into(),
            }));
            Ok(None)
        }
    }
}

fn uri(transformer: &Json) -> &str {
    transformer["extension"].as_str().unwrap_or("?")
}

fn is_sharding(transformer: &Json) -> bool {
    let uri = uri(transformer).trim_start_matches("https://").trim_start_matches("http://");
    uri.starts_with(SHARDING) && transformer["type"] == "indexed"
}

/// How many chunks a shard has along each axis; `None` if the configuration does not say, or they cannot be counted.
fn chunks_per_shard(configuration: &Json, rank: usize) -> Option<Vec<u64>> {
    let counts = configuration["chunks_per_shard"].as_array()?;
    let counts: Vec<u64> = counts.iter().map(Json::as_u64).collect::<Option<_>>()?;
    if counts.len() != rank || counts.contains(&0) {
        return None;
    }
    crate::region::element_count(&counts)?;
    Some(counts)
}
