//! What the builders of both faces say about an array that is about to be created, and its metadata made from that.

use std::sync::Arc;

use crate::codec::{CodecSpec, bytes_codec, order_codecs, reversing_codec};
use crate::context::StoreContext;
use crate::data_type::{
    CoreType, DataType, Endian, FillValue, NumpyTime, Optional, ParsedType, fill_value,
};
use crate::dialect::{Dialect, Strictness};
use crate::error::{AccessError, Cause, Error, MetadataError, Result};
use crate::format::VARIABLE_TYPES;
use crate::grid::{ChunkGrid, ChunkKeys, default_chunk_shape_named, default_inner_shape};
use crate::hierarchy::{CreateMode, check};
use crate::json::{Json, Object};
use crate::metadata::ArrayMetadata;
use crate::path::NodePath;
use crate::registry::Registry;
use crate::shape::ToShape;

/// What a caller has said of an array that is about to be created.
#[derive(Clone, Debug)]
pub(super) struct NewArray {
    pub path: String,
    pub shape: Option<Result<Vec<u64>, String>>,
    pub chunks: Option<Result<Vec<u64>, String>>,
    pub shards: Option<Result<Vec<u64>, String>>,
    pub grid: Option<Arc<dyn ChunkGrid>>,
    pub data_type: Option<std::result::Result<ParsedType, String>>,
    pub fill: Fill,
    pub codecs: Vec<Result<CodecSpec, String>>,
    pub big_endian: bool,
    pub f_order: bool,
    pub separator: Option<char>,
    pub attributes: Result<Object, String>,
    pub dimension_names: Option<Vec<Option<String>>>,
    pub mode: CreateMode,
    pub metadata: Option<ArrayMetadata>,
}

/// The name of an axis, or none. See [`ArrayBuilder::dimension_names`](crate::ArrayBuilder::dimension_names).
#[derive(Clone, Debug)]
pub struct DimensionName(pub(super) Option<String>);

impl<T: Into<String>> From<Option<T>> for DimensionName {
    fn from(name: Option<T>) -> Self {
        DimensionName(name.map(Into::into))
    }
}

impl From<&str> for DimensionName {
    fn from(name: &str) -> Self {
        DimensionName(Some(name.to_owned()))
    }
}

impl From<String> for DimensionName {
    fn from(name: String) -> Self {
        DimensionName(Some(name))
    }
}

#[derive(Clone, Debug)]
pub(super) enum Fill {
    Zero,
    Undefined,
    Json(Json),
}

impl NewArray {
    pub fn new(path: &str) -> NewArray {
        NewArray {
            path: path.to_owned(),
            shape: None,
            chunks: None,
            shards: None,
            grid: None,
            data_type: None,
            fill: Fill::Zero,
            codecs: Vec::new(),
            big_endian: false,
            f_order: false,
            separator: None,
            attributes: Ok(Object::new()),
            dimension_names: None,
            mode: CreateMode::default(),
            metadata: None,
        }
    }

    /// The metadata, converted to the format and checked; the store is not read.
    pub fn metadata(self, context: &StoreContext, path: &NodePath) -> Result<ArrayMetadata> {
        let described = self.describe(&context.registry).map_err(as_argument_error);
        let metadata = described.map_err(|e| context.with_context(path, e))?;
        let metadata = metadata
            .converted_to(context.format.dialect(), &context.registry)
            .map_err(|e| context.with_context(path, e))?;
        check::check_array(context, path, &metadata)?;
        if let Some(name) = metadata.repeated_dimension_name() {
            let what = format!("duplicate dimension name `{name}`; some readers refuse it");
            context.warn(path.as_str(), vec![what]);
        }
        Ok(metadata)
    }

    fn describe(self, registry: &Registry) -> Result<ArrayMetadata> {
        if let Some(metadata) = self.metadata {
            return Ok(metadata);
        }
        let Some(shape) = self.shape else {
            let why = "the shape is missing; set it with `shape`, as in `.shape([365, 180, 360])`";
            return Err(argument(why.into()));
        };
        let shape = shape.map_err(argument)?;
        let Some(data_type) = self.data_type else {
            let why = "the data type is missing; set it with `data_type`, as in `.data_type(DataType::Float32)`";
            return Err(argument(why.into()));
        };
        let parsed = data_type.map_err(argument)?;
        let chunks = self.chunks.transpose().map_err(|e| argument(format!("chunks: {e}")))?;
        let shards = self.shards.transpose().map_err(|e| argument(format!("shards: {e}")))?;
        let chunks = chunks.unwrap_or_else(|| {
            // Of variable-length elements, their references in memory are counted.
            let item = parsed.data_type.repr().map_or(1, |repr| repr.size() as u64);
            match &shards {
                Some(shards) => default_inner_shape(shards, item),
                None => {
                    let names = self.dimension_names.as_deref().unwrap_or_default();
                    default_chunk_shape_named(&shape, item, names)
                }
            }
        });
        if chunks.contains(&0) {
            return Err(argument("a chunk has length 0; the minimum is 1".into()));
        }
        let mut metadata = ArrayMetadata::new(&shape, parsed.data_type, &chunks)?;
        metadata.grid = self.grid.or(metadata.grid);
        let big = self.big_endian || parsed.endian == Some(Endian::Big);
        let endian = if big { Endian::Big } else { Endian::Little };
        metadata.codecs = Vec::new();
        if self.f_order && shape.len() > 1 {
            metadata.codecs.push(reversing_codec(shape.len()));
        }
        let bytes = bytes_codec(&metadata.data_type, endian);
        metadata.codecs.extend(order_codecs(
            bytes,
            self.codecs.into_iter().collect::<Result<_, _>>().map_err(argument)?,
            &metadata,
            registry,
        )?);
        metadata.fill_value = match &self.fill {
            Fill::Zero => metadata.fill_value,
            Fill::Undefined => None,
            Fill::Json(json) => {
                Some(parse_fill(&metadata.data_type.stored_in(Some(endian)), json)?)
            }
        };
        if let Some(separator) = self.separator {
            let separator = ChunkKeys::check_separator("separator", &separator.to_string())?;
            metadata.chunk_keys = ChunkKeys::Default { separator };
        }
        if let Some(shards) = &shards {
            metadata = metadata.sharded(shards)?;
        }
        metadata.attributes = self.attributes.map_err(argument)?;
        metadata.dimension_names = self.dimension_names;
        metadata.check()?;
        Ok(metadata)
    }
}

fn argument(why: String) -> Error {
    AccessError::Argument(why).into()
}

/// The lengths of a shape, or why it is none.
pub(super) fn lengths(shape: impl ToShape) -> Result<Vec<u64>, String> {
    shape.to_shape().map_err(|e| e.to_string())
}

/// The type that a name of any dialect refers to, or why there is none.
pub(super) fn type_named(name: &str, registry: &Registry) -> Result<ParsedType, String> {
    if let Some(inner) = name.strip_prefix("optional(").and_then(|rest| rest.strip_suffix(')')) {
        let ParsedType { data_type, endian } = type_named(inner, registry)?;
        let optional = Optional::new(data_type).map_err(|e| e.to_string())?;
        return Ok(ParsedType { data_type: optional.into(), endian });
    }
    let json = match Json::parse(name.as_bytes()) {
        Ok(json @ (Json::Object(_) | Json::Array(_))) => json,
        _ => Json::from(name),
    };
    let parsed = [Dialect::V3, Dialect::V2, Dialect::Draft].into_iter().find_map(|dialect| {
        registry.parse_data_type(&json, dialect).ok().filter(|p| p.data_type.repr().is_some())
    });
    let parsed = parsed.or_else(|| {
        let data_type = DataType::Time(NumpyTime::from_name(name)?);
        Some(ParsedType { data_type, endian: None })
    });
    parsed.ok_or_else(|| {
        // A list of fields can be wrong in many ways.
        if let (Json::Array(_), Err(e)) = (&json, registry.parse_data_type(&json, Dialect::V2)) {
            return e.to_string();
        }
        let names = CoreType::ALL.iter().map(|core| core.name());
        // What Python and NumPy call them.
        let python = match name {
            "int" => Some("int64"),
            "float" | "double" => Some("float64"),
            "single" => Some("float32"),
            "half" => Some("float16"),
            "complex" => Some("complex128"),
            "str" | "object" | "U" => Some("string"),
            "datetime64" => Some("datetime64[ns]"),
            "timedelta64" => Some("timedelta64[ns]"),
            _ => None,
        };
        let meant =
            python.or_else(|| crate::did_you_mean(name, names.chain(VARIABLE_TYPES)));
        let meant = meant.map_or(String::new(), |name| format!("did you mean `{name}`? "));
        format!(
            "unknown data type `{name}`; {meant}expected one like `int32`, `float64`, `<i4`, `r24`, `|S7`, `<U5`, \
             `<M8[ns]`"
        )
    })
}

/// A fill value in the words of whichever dialect has it.
fn parse_fill(data_type: &DataType, json: &Json) -> Result<FillValue, MetadataError> {
    let mut first = None;
    for dialect in [Dialect::V3, Dialect::V2, Dialect::Draft] {
        match fill_value::parse(data_type, json, dialect, Strictness::Strict, &mut Vec::new()) {
            Ok(Some(fill)) => return Ok(fill),
            Ok(None) => {}
            Err(e) => {
                first.get_or_insert(e);
            }
        }
    }
    Err(first.unwrap_or_else(|| MetadataError::invalid("fill_value", "it is undefined")))
}

/// A wrong argument of a caller is not a fault of a document.
fn as_argument_error(error: Error) -> Error {
    match error.cause() {
        Cause::Metadata(wrong @ MetadataError::Invalid { .. }) => {
            AccessError::Argument(wrong.to_string()).into()
        }
        _ => error,
    }
}
