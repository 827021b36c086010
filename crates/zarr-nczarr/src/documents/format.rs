//! Translates what documents of netCDF say otherwise than plain Zarr.
//!
//! A format around v2's or v3's: what only netCDF's libraries write is given as Zarr has it, before the
//! array's own reader sees it. Nothing here is written back.

use std::sync::{Arc, OnceLock};

use zarr_core::data_type::{base64_decode, base64_encode};
use zarr_core::format::{Child, DocumentMember, Documents, Format, Layout, MetadataEncoding};
use zarr_core::grid::ChunkGrid;
use zarr_core::store::{Bytes, Listing, StoreKey, StorePrefix};
use zarr_core::{
    AccessError, Dialect, Era, Json, MetadataError, NodeKind, NodeMetadata, NodePath, Object,
    OpenOptions, Reading, StoreError,
};

use crate::documents::lenient;
use crate::model::options::{Conventions, DatasetOptions};
use crate::model::types::is_default_float;

/// A format of Zarr, read by the conventions of netCDF.
#[derive(Clone, Debug)]
pub(crate) struct NcFormat {
    pub inner: Arc<dyn Format>,
    /// Empty until the root is read.
    pub conventions: Arc<OnceLock<Conventions>>,
}

/// The default fill value of float and double, exactly.
const DEFAULT_FLOAT: &str = "9.969209968386869e36";

impl DatasetOptions {
    /// The options for the hierarchy, whose documents are understood by `conventions`, once that is set.
    pub(crate) fn hierarchy(&self, conventions: &Arc<OnceLock<Conventions>>) -> OpenOptions {
        let conventions = conventions.clone();
        self.zarr.clone().wrap_format(move |inner| {
            Arc::new(NcFormat { inner, conventions: conventions.clone() })
        })
    }
}

impl NcFormat {
    /// The document as JSON has it (N-053), but for bare `NaN` and `Infinity` among attributes; `None` if the format
    /// reads it as it is.
    fn strict(&self, key: &StoreKey, bytes: &Bytes, reading: &mut Reading<'_>) -> Option<Bytes> {
        let is_attribute = |name: &str| name == "attributes" || key.as_str().ends_with(".zattrs");
        let json = match Json::parse_tolerant(bytes) {
            Ok((json, _)) => {
                let is_strict = json.as_object().is_none_or(|object| {
                    object
                        .iter()
                        .all(|(name, value)| is_attribute(name) || !value.has_bare_floats())
                });
                if is_strict {
                    return None;
                }
                json
            }
            Err(_) => {
                let text = lenient::to_json(std::str::from_utf8(bytes).ok()?)?;
                Json::parse_tolerant(text.as_bytes()).ok()?.0
            }
        };
        reading.tolerate("numbers, words or characters that are not JSON are accepted").ok()?;
        let Json::Object(members) = json else { return Some(json.to_string().into()) };
        let members = members.into_iter().map(|(name, value)| {
            let value = if is_attribute(&name) { value } else { value.into_standard() };
            (name, value)
        });
        Some(Json::from(members.collect::<Object>()).to_string().into())
    }

    /// An array's document, in the form of plain Zarr; `None` if it is that already. `missing` is the attribute `_FillValue` of
    /// the array, if it is a text in `.zattrs`.
    fn mended(&self, bytes: &Bytes, missing: Option<&str>) -> Option<Bytes> {
        let Json::Object(mut object) = Json::parse_tolerant(bytes).ok()?.0 else { return None };
        let conventions = self.conventions.get().copied().unwrap_or_default();
        let member = if self.dialect() == Dialect::V3 { "data_type" } else { "dtype" };
        let mut declared = object.get(member)?.as_str()?.to_owned();
        let mut changed = false;
        if conventions.narrow_u1 && declared.trim_start_matches(['<', '>', '|']) == "U1" {
            declared = ">S1".into();
            object.insert(member, declared.as_str());
            changed = true;
        }
        let fill = object.get("fill_value")?;
        let is_literal =
            conventions.nczarr || missing.is_some_and(|text| fill.as_str() == Some(text));
        if let Some(fill) = mended_fill(&declared, fill, self.dialect(), conventions, is_literal) {
            object.insert("fill_value", fill);
            changed = true;
        }
        changed.then(|| Json::from(object).to_string().into())
    }
}

/// The fill value as Zarr writes it; `None` if it is that already. One of bytes `is_literal` where NCZarr wrote it.
fn mended_fill(
    declared: &str,
    fill: &Json,
    dialect: Dialect,
    conventions: Conventions,
    is_literal: bool,
) -> Option<Json> {
    let plain = declared.trim_start_matches(['<', '>', '|', '=']);
    match (fill, plain) {
        (Json::Number(text), "f4" | "f8" | "float32" | "float64") => {
            is_default_float(text).then(|| Json::Number(DEFAULT_FLOAT.into()))
        }
        (Json::String(text), "uint8") if conventions.nczarr => {
            Some(u64::from(text.bytes().next().unwrap_or(0)).into())
        }
        (Json::String(text), _) if dialect == Dialect::V3 => {
            // `r64`, of which the other library says the fill value as a text (N-065).
            let bits: usize = plain.strip_prefix('r')?.parse().ok()?;
            let mut bytes = text.clone().into_bytes();
            (conventions.nczarr && bytes.len() <= bits / 8).then(|| bytes.resize(bits / 8, 0))?;
            Some(bytes.into_iter().map(|byte| Json::from(u64::from(byte))).collect())
        }
        (Json::String(text), _) => {
            let size: usize = plain.strip_prefix('S')?.parse().ok()?;
            // N-064; zarr-python does not pad bytes before it encodes them.
            if text.is_empty()
                || text.len() > size
                || (!is_literal && base64_decode(text).is_some_and(|bytes| bytes.len() <= size))
            {
                None
            } else {
                let mut bytes = text.clone().into_bytes();
                bytes.resize(size, 0);
                Some(base64_encode(&bytes).into())
            }
        }
        _ => None,
    }
}

impl Format for NcFormat {
    fn dialect(&self) -> Dialect {
        self.inner.dialect()
    }
    fn name(&self) -> &'static str {
        self.inner.name()
    }
    fn era(&self) -> Option<Era> {
        self.inner.era()
    }
    fn frozen(&self) -> Option<&str> {
        self.inner.frozen()
    }
    fn encoding(&self) -> &dyn MetadataEncoding {
        self.inner.encoding()
    }
    fn check_name(&self, name: &str) -> Result<(), AccessError> {
        self.inner.check_name(name)
    }
    fn document_keys(&self, path: &NodePath) -> Result<Vec<StoreKey>, StoreError> {
        self.inner.document_keys(path)
    }

    fn parse(
        &self,
        path: &NodePath,
        found: &Documents,
        reading: &mut Reading<'_>,
    ) -> Result<Option<NodeMetadata>, MetadataError> {
        if self.dialect() == Dialect::Draft {
            return self.inner.parse(path, found, reading);
        }
        let mut found = found.clone();
        let missing = found.iter().find(|(key, _)| key.as_str().ends_with(".zattrs"));
        let missing = missing.and_then(|(_, bytes)| Json::parse_tolerant(bytes).ok());
        let missing =
            missing.and_then(|(json, _)| Some(json.as_object()?.get("_FillValue")?.clone()));
        let missing = missing.as_ref().and_then(Json::as_str);
        for (key, bytes) in &mut found {
            if Json::parse(bytes).is_err()
                && let Some(strict) = self.strict(key, bytes, reading)
            {
                *bytes = strict;
            }
            let of_array = key.as_str().ends_with(".zarray") || key.as_str().ends_with("zarr.json");
            if let Some(mended) = of_array.then(|| self.mended(bytes, missing)).flatten() {
                *bytes = mended;
            }
        }
        let parsed = self.inner.parse(path, &found, reading)?;
        if parsed.is_none() && path.is_root() && !found.is_empty() {
            // The root's attributes without its `.zgroup` (N-091).
            let what = "`.zgroup` is missing; taken as a group";
            reading.tolerate(what).map_err(MetadataError::Json)?;
            let group = (StoreKey::new(".zgroup"), Bytes::from_static(b"{\"zarr_format\":2}"));
            let key = group.0.map_err(|e| MetadataError::Json(e.to_string()))?;
            found.insert(0, (key, group.1));
            return self.inner.parse(path, &found, reading);
        }
        Ok(parsed)
    }

    fn kind(&self, path: &NodePath, found: &Documents) -> Result<Option<NodeKind>, MetadataError> {
        self.inner.kind(path, found)
    }
    fn create(&self, path: &NodePath, node: &NodeMetadata) -> Result<Documents, MetadataError> {
        self.inner.create(path, node)
    }
    fn entry_point(&self) -> Result<Documents, MetadataError> {
        self.inner.entry_point()
    }
    fn groups_are_explicit(&self) -> bool {
        self.inner.groups_are_explicit()
    }
    fn attributes_member(
        &self,
        path: &NodePath,
        kind: NodeKind,
    ) -> Result<DocumentMember, StoreError> {
        self.inner.attributes_member(path, kind)
    }
    fn shape_member(&self, path: &NodePath) -> Result<DocumentMember, StoreError> {
        self.inner.shape_member(path)
    }
    fn layout(&self, document: &Json) -> Layout {
        self.inner.layout(document)
    }
    fn regrid(
        &self,
        document: &mut Object,
        shape: &[u64],
        grid: &dyn ChunkGrid,
    ) -> Result<(), MetadataError> {
        self.inner.regrid(document, shape, grid)
    }
    fn check_attributes(&self, attributes: &Object) -> Result<(), AccessError> {
        self.inner.check_attributes(attributes)
    }
    fn take_hidden(&self, kind: NodeKind, attributes: &mut Object) -> Object {
        self.inner.take_hidden(kind, attributes)
    }
    fn chunk_prefix(&self, path: &NodePath) -> Result<StorePrefix, StoreError> {
        self.inner.chunk_prefix(path)
    }
    fn children_prefix(&self, path: &NodePath) -> Result<StorePrefix, StoreError> {
        self.inner.children_prefix(path)
    }

    fn children(
        &self,
        path: &NodePath,
        listing: &Listing,
        warnings: &mut Vec<String>,
    ) -> Vec<Child> {
        self.inner.children(path, listing, warnings)
    }

    fn tree(&self, path: &NodePath, keys: &[StoreKey], warnings: &mut Vec<String>) -> Vec<Child> {
        self.inner.tree(path, keys, warnings)
    }
    fn tree_prefix(&self) -> Option<StorePrefix> {
        self.inner.tree_prefix()
    }
    fn erasure(&self, path: &NodePath) -> Result<(Vec<StoreKey>, Vec<StorePrefix>), StoreError> {
        self.inner.erasure(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(declared: &str, text: &str, dialect: Dialect, nczarr: bool) -> String {
        let fill = Json::parse(text.as_bytes()).unwrap();
        let conventions = Conventions { nczarr, narrow_u1: false };
        mended_fill(declared, &fill, dialect, conventions, nczarr).unwrap_or(fill).to_string()
    }

    /// N-045, N-064, N-065.
    #[test]
    fn fill_values_are_told_as_zarr_tells_them() {
        let v2 = Dialect::V2;
        assert_eq!(fill("<f8", "9.96921e+36", v2, true), DEFAULT_FLOAT);
        assert_eq!(fill("<f4", "9.96921e+35", v2, true), "9.96921e+35");
        assert_eq!(fill("<i4", "9.96921e+36", v2, true), "9.96921e+36");
        assert_eq!(fill("|S6", "\"none\"", v2, true), "\"bm9uZQAA\"");
        // Base64 of at most the size is that, where netCDF did not write.
        assert_eq!(fill("|S3", "\"eHl6\"", v2, false), "\"eHl6\"");
        // zarr-python 3 writes it so of `xyz` in `|S4`.
        assert_eq!(fill("|S4", "\"eHl6\"", v2, false), "\"eHl6\"");
        assert_eq!(fill("|S4", "\"none!\"", v2, false), "\"none!\"");
        assert_eq!(fill("|S6", "\"no!\"", v2, false), "\"bm8hAAAA\"");
        assert_eq!(fill("|S5", "\"//4=\"", v2, false), "\"//4=\"");
        assert_eq!(fill("|S5", "\"//4=\"", v2, true), "\"Ly80PQA=\"");
        assert_eq!(fill("|S4", "\"eHl6\"", v2, true), "\"ZUhsNg==\"");
        assert_eq!(fill(">S1", "\"\"", v2, true), "\"\"");
        assert_eq!(fill("uint8", "\"\"", Dialect::V3, true), "0");
        assert_eq!(fill("r16", "\"\"", Dialect::V3, true), "[0,0]");
        assert_eq!(fill("r16", "[1,2]", Dialect::V3, true), "[1,2]");
    }
}
