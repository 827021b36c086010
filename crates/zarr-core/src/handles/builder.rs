//! Describes an array that is about to be created.

use std::sync::Arc;

use crate::codec::{CodecSpec, bytes_codec, order_codecs, reversing_codec};
use crate::data_type::{
    CoreType, DataType, Endian, NumpyTime, Optional, ParsedType, ToDataType, fill_value,
};
use crate::dialect::{Dialect, Strictness};
use crate::element::Element;
use crate::error::{AccessError, Cause, Error, MetadataError, Result};
use crate::format::VARIABLE_TYPES;
use crate::grid::{ChunkGrid, default_chunk_shape_named, default_inner_shape};
use crate::hierarchy::{ArrayNode, CreateMode, HierarchyContext};
use crate::json::{Json, Object};
use crate::metadata::ArrayMetadata;
use crate::options::setters;
use crate::path::NodePath;
use crate::shape::ToShape;

/// An array that is about to be created. Shape and data type are required; the rest has defaults: chunks of
/// about 1 MiB, no compression, zeros, little-endian, C order.
///
/// `H` is the hierarchy's handle: [`crate::Hierarchy`] or [`crate::aio::Hierarchy`].
#[derive(Clone, Debug)]
pub struct ArrayBuilderOf<H> {
    hierarchy: H,
    context: Arc<HierarchyContext>,
    path: String,
    shape: Option<Result<Vec<u64>, String>>,
    chunks: Option<Result<Vec<u64>, String>>,
    shards: Option<Result<Vec<u64>, String>>,
    grid: Option<Arc<dyn ChunkGrid>>,
    data_type: Option<std::result::Result<ParsedType, String>>,
    fill: Fill,
    codecs: Vec<Result<CodecSpec, String>>,
    big_endian: bool,
    f_order: bool,
    separator: Option<char>,
    attributes: Object,
    dimension_names: Option<Vec<Option<String>>>,
    mode: CreateMode,
    metadata: Option<ArrayMetadata>,
}

/// The name of an axis, or none. See [`ArrayBuilderOf::dimension_names`].
#[derive(Clone, Debug)]
pub struct DimensionName(Option<String>);

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
enum Fill {
    Zero,
    Undefined,
    Json(Json),
}

impl<H> ArrayBuilderOf<H> {
    pub(super) fn new(hierarchy: H, context: Arc<HierarchyContext>, path: &str) -> Self {
        ArrayBuilderOf {
            hierarchy,
            context,
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
            attributes: Object::new(),
            dimension_names: None,
            mode: CreateMode::default(),
            metadata: None,
        }
    }

    setters! {
        /// How many elements along each axis: `[365, 180, 360]`, of integers of any type; `()` for a single element.
        shape(self, shape: impl ToShape) { self.shape = Some(lengths(shape)); }

        /// How many elements a chunk has along each axis; without it, chunks have the shape of
        /// [`default_chunk_shape_named`](crate::grid::default_chunk_shape_named), or of whole parts of a shard near to that.
        chunks(self, chunks: impl ToShape) { self.chunks = Some(lengths(chunks)); }

        /// How the array is cut into chunks, where it is not into equal ones from its first element on: a grid
        /// of the array's own shape, in place of [`ArrayBuilderOf::chunks`].
        grid(self, grid: Arc<dyn ChunkGrid>) { self.grid = Some(grid); }

        /// How many elements a shard has along each axis: its chunks share one stored object. Only final v3
        /// has shards.
        shards(self, shards: impl ToShape) { self.shards = Some(lengths(shards)); }

        /// The type of an element: `DataType::Float32`, or a name as of [`ArrayBuilderOf::data_type_named`].
        data_type(self, data_type: impl ToDataType) {
            self.data_type = Some(data_type.parse_with(&|name| type_named(name, &self.context.registry)));
        }

        /// The type of an element by a name of any dialect: `int32`, `<i4`, `r24`, `|S7`, `<M8[ns]`; or by
        /// the name that it is shown under, such as `datetime64[ns]` or `optional(int32)`. A `>` asks for
        /// big-endian storage.
        data_type_named(self, name: &str) { self.data_type = Some(type_named(name, &self.context.registry)); }

        /// The type of an element that a Rust type is: `data_type_of::<f32>()`.
        data_type_of<T: Element>(self) {
            self.data_type = Some(match T::data_type() {
                Some(data_type) => Ok(ParsedType { data_type, endian: None }),
                None => Err(format!(
                    "no data type belongs to `{}` alone; give one with `data_type`",
                    T::NAME
                )),
            });
        }

        /// The value of elements that were never written, as a number or as metadata of any dialect; zero by default.
        fill_value(self, fill: impl Into<Json>) { self.fill = Fill::Json(fill.into()); }

        /// Leaves the value of elements that were never written undefined; final v3 cannot represent that.
        undefined_fill(self) { self.fill = Fill::Undefined; }

        /// Adds a codec behind those already added: a short text, such as `"zstd:3"` (see
        /// [`CodecSpec::from_str`](std::str::FromStr)), or final v3's metadata. `bytes` is added by itself.
        codec<C: TryInto<CodecSpec, Error: Into<Error>>>(self, codec: C) {
            self.codecs.push(codec.try_into().map_err(|e| Into::<Error>::into(e).message()));
        }

        /// Stores elements most significant byte first.
        big_endian(self, big: bool) { self.big_endian = big; }

        /// Stores chunks with the first axis fastest.
        f_order(self, f_order: bool) { self.f_order = f_order; }

        /// What separates indices in a chunk's key: `/` or `.`.
        separator(self, separator: char) { self.separator = Some(separator); }

        /// The user's attributes; they replace those already set.
        attributes(self, attributes: Object) { self.attributes = attributes; }

        /// Sets one of the user's attributes: `attribute("units", "K")`.
        attribute(self, name: &str, value: impl Into<Json>) { self.attributes.insert(name, value); }

        /// The axes' names: `["time", "lat"]`, or `[Some("time"), None]` where an axis has none.
        dimension_names(self, names: impl IntoIterator<Item: Into<DimensionName>>) {
            self.dimension_names = Some(names.into_iter().map(|name| name.into().0).collect());
        }

        /// Whether a node that is there is erased first; else it is an error.
        overwrite(self, overwrite: bool) { self.mode.overwrite = overwrite; }

        /// Whether chunks under the keys of the new array's chunks are erased first: those that an interrupted erase, or a
        /// writer that raced one, left without a document.
        ///
        /// By default they are, if the store can list; one listing looks for them. With `true` it is an error
        /// if the store cannot. With `false` nothing is looked for, which saves the listing: what was left shows up as
        /// elements of the new array. An existing array is an error in any case.
        ///
        /// Folders, zip archives, LMDB and memory do this in one step with the document. In buckets no other writer may
        /// create the array concurrently: its first chunks could be erased, too.
        purge(self, purge: bool) { self.mode.purge = Some(purge); }

        /// Takes everything from another array's metadata, of any dialect; the other settings are ignored.
        from_metadata(self, metadata: ArrayMetadata) { self.metadata = Some(metadata); }
    }

    /// The metadata, converted to the format and checked; the store is not read.
    fn metadata(self, path: &NodePath) -> Result<ArrayMetadata> {
        let context = self.context.clone();
        let converted = |metadata: ArrayMetadata| {
            Ok(metadata.converted_to(context.format.dialect(), &context.registry)?)
        };
        let metadata = self.describe().map_err(as_argument_error).and_then(converted);
        let metadata = metadata.map_err(|e| context.at(path, e))?;
        context.check_array(path, &metadata)?;
        let twice = metadata.repeated_dimension_name();
        let what = |name| format!("dimension name `{name}` stands twice; some readers refuse that");
        context.warn(path.as_str(), twice.map(what).into_iter().collect());
        Ok(metadata)
    }

    fn describe(self) -> Result<ArrayMetadata> {
        if let Some(metadata) = self.metadata {
            return Ok(metadata);
        }
        let argument = |what: String| Error::from(AccessError::Argument(what));
        let shape = self.shape.ok_or_else(|| {
            argument(
                "the shape is missing; set it with `shape`, as in `.shape([365, 180, 360])`".into(),
            )
        })?;
        let shape = shape.map_err(argument)?;
        let parsed = self
            .data_type
            .ok_or_else(|| {
                let why = "the data type is missing; set it with `data_type`, as in `.data_type(DataType::Float32)`";
                argument(why.into())
            })?
            .map_err(argument)?;
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
            return Err(argument("a chunk has length 0; the shortest is 1".into()));
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
            &self.context.registry,
        )?);
        metadata.fill_value = match &self.fill {
            Fill::Zero => metadata.fill_value,
            Fill::Undefined => None,
            Fill::Json(json) => {
                Some(parse_fill(&metadata.data_type.stored_in(Some(endian)), json)?)
            }
        };
        if let Some(separator) = self.separator {
            let separator =
                crate::grid::ChunkKeys::check_separator("separator", &separator.to_string())?;
            metadata.chunk_keys = crate::grid::ChunkKeys::Default { separator };
        }
        if let Some(shards) = &shards {
            metadata = metadata.sharded(shards)?;
        }
        metadata.attributes = self.attributes;
        metadata.dimension_names = self.dimension_names;
        metadata.check()?;
        Ok(metadata)
    }
}

impl<H: Clone> ArrayBuilderOf<H> {
    pub(super) async fn build(self) -> Result<(H, ArrayNode)> {
        let (hierarchy, context) = (self.hierarchy.clone(), self.context.clone());
        let (path, mode) = (context.node_path(&self.path)?, self.mode);
        let core = context.create_array(&path, self.metadata(&path)?, mode).await?;
        Ok((hierarchy, core))
    }
}

/// The lengths of a shape, or why it is none.
fn lengths(shape: impl ToShape) -> Result<Vec<u64>, String> {
    shape.to_shape().map_err(|e| e.to_string())
}

/// The type that a name of any dialect refers to, or why there is none.
fn type_named(name: &str, registry: &crate::Registry) -> Result<ParsedType, String> {
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
        let near = || crate::did_you_mean(name, names.chain(VARIABLE_TYPES));
        let meant = python.or_else(near);
        let meant = meant.map_or(String::new(), |name| format!("did you mean `{name}`? "));
        format!(
            "data type `{name}` is not known; {meant}write it as in `int32`, `float64`, `<i4`, `r24`, `|S7`, `<U5`, \
             `<M8[ns]`"
        )
    })
}

/// A fill value in the words of whichever dialect has it.
fn parse_fill(
    data_type: &DataType,
    json: &Json,
) -> Result<crate::data_type::FillValue, MetadataError> {
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
