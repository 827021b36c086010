//! The data types of Zarr that netCDF's text is stored as.
//!
//! Types to create arrays with: they write themselves and their fill values as netCDF's libraries do. What is read
//! is of the core's own types.

use std::fmt;

use zarr_core::data_type::{Endian, ExtensionType, FillValue, Repr, unpadded};
use zarr_core::{Dialect, Json, MetadataError};

/// `char` in v2, one byte that nothing but the mark tells from a string of one (N-005).
#[derive(Clone, Copy, Debug)]
pub(crate) struct CharType;

/// Text of at most `width` bytes (N-060, N-065).
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextType {
    pub width: usize,
}

impl fmt::Display for CharType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("char")
    }
}

impl fmt::Display for TextType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "text of {} bytes", self.width)
    }
}

impl ExtensionType for CharType {
    fn to_metadata(&self, dialect: Dialect, _: Endian) -> Option<Json> {
        (dialect == Dialect::V2).then(|| ">S1".into())
    }

    fn repr(&self) -> Repr {
        Repr::Opaque(1)
    }

    fn fill_value_from_json(&self, json: &Json, _: Dialect) -> Result<FillValue, MetadataError> {
        padded(json, 1)
    }

    fn fill_value_to_json(&self, value: &FillValue, _: Dialect) -> Result<Json, MetadataError> {
        plain(value)
    }
}

impl ExtensionType for TextType {
    fn to_metadata(&self, dialect: Dialect, _: Endian) -> Option<Json> {
        match dialect {
            Dialect::V2 => Some(format!("|S{}", self.width).into()),
            Dialect::V3 => Some(format!("r{}", 8 * self.width).into()),
            _ => None,
        }
    }

    fn repr(&self) -> Repr {
        Repr::Opaque(self.width)
    }

    fn fill_value_from_json(&self, json: &Json, _: Dialect) -> Result<FillValue, MetadataError> {
        padded(json, self.width)
    }

    fn fill_value_to_json(&self, value: &FillValue, _: Dialect) -> Result<Json, MetadataError> {
        plain(value)
    }
}

/// A fill value said as plain text (N-064).
fn padded(json: &Json, width: usize) -> Result<FillValue, MetadataError> {
    let text = json.as_str().unwrap_or_default();
    if text.len() > width || json.as_str().is_none() {
        let why = format!("{} is not a string of at most {width} bytes", json.brief());
        return Err(MetadataError::invalid("fill_value", why));
    }
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize(width, 0);
    Ok(FillValue::new(bytes))
}

fn plain(value: &FillValue) -> Result<Json, MetadataError> {
    let text = std::str::from_utf8(unpadded(value.as_bytes(), 1));
    text.map(Json::from).map_err(|_| MetadataError::invalid("fill_value", "it is not UTF-8"))
}
