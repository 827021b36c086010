//! Writes the metadata of a codec in each dialect.

use zarr_core::codec::CodecSpec;
use zarr_core::{Dialect, Object};

/// A codec that every dialect knows, all with the same configuration.
pub(crate) fn in_every_dialect(
    dialect: Dialect,
    v3: &str,
    v2: &str,
    configuration: Object,
) -> Option<CodecSpec> {
    let name = match dialect {
        Dialect::V3 => v3.to_owned(),
        Dialect::V2 => v2.to_owned(),
        Dialect::Draft => format!("https://purl.org/zarr/spec/codec/{v2}/1.0"),
        _ => return None,
    };
    Some(CodecSpec::new(dialect, name, configuration))
}

/// A codec of numcodecs', with the same configuration in v2 and, under a longer name, in final v3. No draft
/// has a URI for it.
pub(crate) fn numcodecs(dialect: Dialect, id: &str, configuration: Object) -> Option<CodecSpec> {
    match dialect {
        Dialect::V3 => Some(CodecSpec::v3(format!("numcodecs.{id}"), configuration)),
        Dialect::V2 => Some(CodecSpec::new(dialect, id, configuration)),
        _ => None,
    }
}
