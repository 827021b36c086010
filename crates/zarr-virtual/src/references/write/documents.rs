//! The documents of joined arrays: those of the first file, with another shape.

use std::sync::Arc;

use zarr_core::codec::CodecSpec;
use zarr_core::data_type::{DataType, Repr};
use zarr_core::format::of_dialect;
use zarr_core::grid::{RectilinearGrid, RegularGrid};
use zarr_core::store::StoreKey;
use zarr_core::{
    ArrayMetadata, Dialect, GroupMetadata, Json, MetadataError, NodeMetadata, NodePath, Object,
    Registry, Result, missing_value,
};

use super::refused;

/// What a joined array has that the one of the first file does not.
pub(super) enum Change {
    /// Nothing.
    None,
    /// The shape, and that of its chunks.
    Chunks { shape: Vec<u64>, chunks: Vec<u64> },
    /// The shape, and the lengths of its chunks along each axis, as a rectilinear grid has them.
    Rectilinear { shape: Vec<u64>, chunk_shapes: Vec<Json> },
    /// The shape; all elements are one chunk, without compression.
    Inlined { shape: Vec<u64>, data_type: DataType },
}

/// The document of a group. Consolidated copies of others are left out: they would have to be changed, too.
pub(super) fn group(key: &StoreKey, text: &[u8]) -> Result<String> {
    let mut document = parse(key, text)?;
    document.remove("consolidated_metadata");
    Ok(Json::from(document).to_string())
}

/// A document of an array.
pub(super) fn array(key: &StoreKey, text: &[u8], change: &Change) -> Result<String> {
    let mut document = parse(key, text)?;
    let is_v3 = key.as_str().ends_with("zarr.json");
    if !is_v3 && !key.as_str().ends_with(".zarray") {
        // Attributes of v2.
        return Ok(Json::from(document).to_string());
    }
    let (shape, chunks) = match change {
        Change::None => return Ok(Json::from(document).to_string()),
        Change::Chunks { shape, chunks } => (shape, chunks.clone()),
        Change::Rectilinear { shape, chunk_shapes } => {
            let configuration = Object::new().with("kind", "inline");
            let configuration =
                configuration.with("chunk_shapes", Json::Array(chunk_shapes.clone()));
            let grid =
                Object::new().with("name", "rectilinear").with("configuration", configuration);
            document.insert("shape", shape.clone());
            document.insert("chunk_grid", grid);
            return Ok(Json::from(document).to_string());
        }
        Change::Inlined { shape, data_type } => {
            if is_v3 {
                document.insert("codecs", Json::Array(vec![plain_codec(data_type)]));
            } else {
                set_plain_v2(&mut document);
            }
            (shape, whole(shape))
        }
    };
    document.insert("shape", shape.clone());
    if is_v3 {
        let configuration = Object::new().with("chunk_shape", chunks);
        let grid = Object::new().with("name", "regular").with("configuration", configuration);
        document.insert("chunk_grid", grid);
    } else {
        document.insert("chunks", chunks);
    }
    Ok(Json::from(document).to_string())
}

/// The metadata of a joined array in another dialect.
///
/// # Errors
/// [`MetadataError::CannotRepresent`] naming what the dialect cannot represent.
pub(super) fn converted(
    first: &ArrayMetadata,
    change: &Change,
    to: Dialect,
    registry: &Registry,
) -> Result<ArrayMetadata, MetadataError> {
    let mut metadata = first.clone();
    let (shape, chunks) = match change {
        Change::None => return metadata.converted_to(to, registry),
        Change::Chunks { shape, chunks } => (shape, chunks.clone()),
        Change::Rectilinear { shape, chunk_shapes } => {
            metadata.grid = Some(Arc::new(RectilinearGrid::new(chunk_shapes, shape)?));
            metadata.shape.clone_from(shape);
            return metadata.converted_to(to, registry);
        }
        Change::Inlined { shape, data_type } => {
            let chunks = whole(shape);
            metadata.codecs = match data_type {
                DataType::String => vec![CodecSpec::v3("vlen-utf8", Object::new())],
                other => ArrayMetadata::new(shape, other.clone(), &chunks)?.codecs,
            };
            (shape, chunks)
        }
    };
    metadata.grid = Some(Arc::new(RegularGrid::new(&chunks, shape)?));
    metadata.shape.clone_from(shape);
    metadata.converted_to(to, registry)
}

/// An array with the fill value and attributes with which readers of another dialect see the same missing value.
pub(super) struct WithMissingValue {
    pub metadata: ArrayMetadata,
    /// What they see otherwise.
    pub note: Option<String>,
}

/// Gives an array the fill value and attributes with which readers of dialect `to` see the same missing value. Where
/// chunks are in no file, their elements count more: they are the fill value.
pub(super) fn with_missing_value(
    first: &ArrayMetadata,
    from: Dialect,
    to: Dialect,
    has_all_chunks: bool,
) -> WithMissingValue {
    let mut metadata = first.clone();
    if !missing_value::has_names(first) {
        return WithMissingValue { metadata, note: None };
    }
    if to == Dialect::V3 {
        metadata.attributes.remove("_ARRAY_DIMENSIONS");
    }
    let lost = missing_value::convert(&mut metadata, from, to);
    if !has_all_chunks && metadata.fill_bytes() != first.fill_bytes() {
        metadata.fill_value.clone_from(&first.fill_value);
        let fill = first.declared_fill.brief();
        let note = format!(
            "its fill value {fill} stays, since chunks are in no file; xarray takes it for a missing value"
        );
        return WithMissingValue { metadata, note: Some(note) };
    }
    WithMissingValue { metadata, note: lost }
}

/// The documents of an array in a dialect.
pub(super) fn created_array(
    path: &str,
    metadata: ArrayMetadata,
    dialect: Dialect,
) -> Result<Vec<(StoreKey, String)>> {
    created(path, &NodeMetadata::Array(Box::new(metadata)), dialect)
}

/// The documents of a group in a dialect.
pub(super) fn created_group(
    path: &str,
    attributes: Object,
    dialect: Dialect,
) -> Result<Vec<(StoreKey, String)>> {
    let metadata = GroupMetadata { attributes, ..GroupMetadata::default() };
    created(path, &NodeMetadata::Group(metadata), dialect)
}

fn created(path: &str, node: &NodeMetadata, dialect: Dialect) -> Result<Vec<(StoreKey, String)>> {
    let documents = of_dialect(dialect).create(&NodePath::new(path)?, node)?;
    let mut created = Vec::with_capacity(documents.len());
    for (key, text) in documents {
        // Without the line breaks of documents that people read.
        let text = Json::from(parse(&key, &text)?).to_string();
        created.push((key, text));
    }
    Ok(created)
}

/// The shape of one chunk with all elements. A chunk has elements, even if the array has none.
fn whole(shape: &[u64]) -> Vec<u64> {
    shape.iter().map(|length| (*length).max(1)).collect()
}

fn parse(key: &StoreKey, text: &[u8]) -> Result<Object> {
    let parsed = Json::parse_tolerant(text).map_err(|why| refused(format!("`{key}`: {why}")))?;
    match parsed.0 {
        Json::Object(document) => Ok(document),
        other => Err(refused(format!("`{key}`: expected an object, found {}", other.kind()))),
    }
}

/// The codec of v3 for elements without compression.
fn plain_codec(data_type: &DataType) -> Json {
    match data_type.repr() {
        Some(Repr::Variable) => codec("vlen-utf8").into(),
        Some(Repr::Scalar(scalar)) if scalar.size() > 1 => {
            codec("bytes").with("configuration", Object::new().with("endian", "little")).into()
        }
        _ => codec("bytes").into(),
    }
}

/// A codec without a configuration.
fn codec(name: &str) -> Object {
    Object::new().with("name", name)
}

/// Has a document of v2 say that elements are little-endian, in C order and not compressed.
fn set_plain_v2(document: &mut Object) {
    document.insert("compressor", ());
    document.insert("filters", ());
    document.insert("order", "C");
    let little = document.get("dtype").and_then(Json::as_str).and_then(|dtype| {
        let rest = dtype.strip_prefix('>')?;
        Some(format!("<{rest}"))
    });
    if let Some(little) = little {
        document.insert("dtype", little);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(name: &str, text: &str, change: &Change) -> String {
        array(&StoreKey::new(format!("a/{name}")).unwrap(), text.as_bytes(), change).unwrap()
    }

    #[test]
    fn documents_have_the_joined_shape() {
        let change = Change::Chunks { shape: vec![6, 2], chunks: vec![3, 2] };
        let text = r#"{"zarr_format":3,"shape":[3,2],"chunk_grid":{"name":"other"},"attributes":{"big":9223372036854775813}}"#;
        let expected = r#"{"zarr_format":3,"shape":[6,2],"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[3,2]}},"attributes":{"big":9223372036854775813}}"#;
        assert_eq!(changed("zarr.json", text, &change), expected);
        let attributes = r#"{"shape":[1],"x":NaN}"#;
        assert_eq!(changed(".zattrs", attributes, &change), attributes);
    }

    #[test]
    fn inlined_elements_are_plain() {
        let data_type: DataType = zarr_core::CoreType::Float64.into();
        let change = Change::Inlined { shape: vec![4], data_type };
        let v2 = r#"{"shape":[2],"chunks":[2],"dtype":">f8","compressor":{"id":"zlib"},"filters":[1],"order":"F"}"#;
        let expected = r#"{"shape":[4],"chunks":[4],"dtype":"<f8","compressor":null,"filters":null,"order":"C"}"#;
        assert_eq!(changed(".zarray", v2, &change), expected);
        let v3 = r#"{"shape":[2],"chunk_grid":{},"codecs":["x"]}"#;
        let expected = r#"{"shape":[4],"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[4]}},"codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}"#;
        assert_eq!(changed("zarr.json", v3, &change), expected);
    }

    /// In v3 the fill value and xarray's missing value may differ, in v2 they are one.
    #[test]
    fn chunks_that_are_in_no_file_keep_their_fill_value() {
        let mut first = ArrayMetadata::new(&[4], zarr_core::CoreType::Int16.into(), &[2]).unwrap();
        first.declared_fill = Json::from(0u64);
        first.dimension_names = Some(vec![Some("x".into())]);
        first.attributes.insert("_FillValue", 9u64);
        let written = with_missing_value(&first, Dialect::V3, Dialect::V2, true);
        assert_eq!(written.metadata.fill_bytes(), [9, 0]);
        let written = with_missing_value(&first, Dialect::V3, Dialect::V2, false);
        assert_eq!(written.metadata.fill_bytes(), [0, 0]);
        let note = written.note.unwrap();
        assert!(note.contains("its fill value 0 stays"), "{note}");
    }

    #[test]
    fn groups_have_no_consolidated_copies() {
        let key = StoreKey::new("zarr.json").unwrap();
        let text = br#"{"zarr_format":3,"node_type":"group","consolidated_metadata":{"a":1}}"#;
        assert_eq!(group(&key, text).unwrap(), r#"{"zarr_format":3,"node_type":"group"}"#);
    }
}
