//! Values in JSON that may be missing.

use zarr::Json;

/// A value, null if there is none.
pub(crate) fn or_null(value: Option<impl Into<Json>>) -> Json {
    value.map_or(Json::Null, Into::into)
}
