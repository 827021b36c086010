//! An array that is about to be created.

use std::sync::Arc;

use super::{Array, Hierarchy};
use crate::codec::CodecSpec;
use crate::data_type::{ParsedType, ToDataType};
use crate::element::Element;
#[cfg(doc)]
use crate::error::{AccessError, MetadataError, StoreError};
use crate::error::{Error, Result};
use crate::grid::ChunkGrid;
use crate::handles::new_array::{DimensionName, Fill, NewArray, lengths, type_named};
use crate::hierarchy::create;
use crate::json::{Json, Object};
use crate::metadata::ArrayMetadata;
use crate::shape::ToShape;

/// An array that is about to be created. Shape and data type are required; the rest has defaults: chunks of
/// about 1 MiB, no compression, zeros, little-endian, C order.
#[derive(Clone, Debug)]
pub struct ArrayBuilder {
    hierarchy: Hierarchy,
    new_array: NewArray,
}

impl ArrayBuilder {
    pub(super) fn new(hierarchy: Hierarchy, path: &str) -> ArrayBuilder {
        ArrayBuilder { hierarchy, new_array: NewArray::new(path) }
    }

    /// How many elements along each axis: `[365, 180, 360]`, of integers of any type; `()` for a single element.
    #[must_use]
    pub fn shape(mut self, shape: impl ToShape) -> ArrayBuilder {
        self.new_array.shape = Some(lengths(shape));
        self
    }

    /// How many elements a chunk has along each axis; without it, chunks have the shape of
    /// [`default_chunk_shape_named`](crate::grid::default_chunk_shape_named), or of whole parts of a shard near to that.
    #[must_use]
    pub fn chunks(mut self, chunks: impl ToShape) -> ArrayBuilder {
        self.new_array.chunks = Some(lengths(chunks));
        self
    }

    /// How the array is cut into chunks, where it is not into equal ones from its first element on: a grid
    /// of the array's own shape, in place of [`ArrayBuilder::chunks`].
    #[must_use]
    pub fn grid(mut self, grid: Arc<dyn ChunkGrid>) -> ArrayBuilder {
        self.new_array.grid = Some(grid);
        self
    }

    /// How many elements a shard has along each axis: its chunks share one stored object. Only final v3
    /// has shards.
    #[doc(alias = "sharding")]
    #[doc(alias = "inner_chunks")]
    #[doc(alias = "subchunk_shape")]
    #[must_use]
    pub fn shards(mut self, shards: impl ToShape) -> ArrayBuilder {
        self.new_array.shards = Some(lengths(shards));
        self
    }

    /// The type of an element: `DataType::Float32`, or a name as of [`ArrayBuilder::data_type_named`].
    #[doc(alias = "dtype")]
    #[must_use]
    pub fn data_type(mut self, data_type: impl ToDataType) -> ArrayBuilder {
        self.new_array.data_type = Some(
            data_type.parse_with(&|name| type_named(name, &self.hierarchy.core.context.registry)),
        );
        self
    }

    /// The type of an element by a name of any dialect: `int32`, `<i4`, `r24`, `|S7`, `<M8[ns]`; or by
    /// the name that it is shown under, such as `datetime64[ns]` or `optional(int32)`. A `>` asks for
    /// big-endian storage.
    #[must_use]
    pub fn data_type_named(mut self, name: &str) -> ArrayBuilder {
        self.new_array.data_type = Some(type_named(name, &self.hierarchy.core.context.registry));
        self
    }

    /// Sets the data type that corresponds to a Rust type: `data_type_of::<f32>()`.
    #[must_use]
    pub fn data_type_of<T: Element>(mut self) -> ArrayBuilder {
        self.new_array.data_type = Some(match T::data_type() {
            Some(data_type) => Ok(ParsedType { data_type, endian: None }),
            None => Err(format!(
                "`{}` does not determine a data type; set one with `data_type`",
                T::NAME
            )),
        });
        self
    }

    /// The value of elements that were never written, as a number or as metadata of any dialect; zero by default.
    #[must_use]
    pub fn fill_value(mut self, fill: impl Into<Json>) -> ArrayBuilder {
        self.new_array.fill = Fill::Json(fill.into());
        self
    }

    /// Leaves the value of elements that were never written undefined; final v3 cannot represent that.
    #[must_use]
    pub fn undefined_fill(mut self) -> ArrayBuilder {
        self.new_array.fill = Fill::Undefined;
        self
    }

    /// Adds a codec behind those already added: a short text, such as `"zstd:3"` (see
    /// [`CodecSpec::from_str`](std::str::FromStr)), or final v3's metadata. `bytes` is added by itself, and
    /// `"none"` adds nothing: an array has no codecs but those that it is given.
    #[doc(alias = "codecs")]
    #[doc(alias = "compressor")]
    #[doc(alias = "filters")]
    #[must_use]
    pub fn codec<C: TryInto<CodecSpec, Error: Into<Error>>>(mut self, codec: C) -> ArrayBuilder {
        let codec = codec.try_into().map_err(|e| Into::<Error>::into(e).message());
        if !codec.as_ref().is_ok_and(|codec| codec.name == "none") {
            self.new_array.codecs.push(codec);
        }
        self
    }

    /// Stores elements most significant byte first.
    #[must_use]
    pub fn big_endian(mut self, big: bool) -> ArrayBuilder {
        self.new_array.big_endian = big;
        self
    }

    /// Stores chunks with the first axis fastest.
    #[must_use]
    pub fn f_order(mut self, f_order: bool) -> ArrayBuilder {
        self.new_array.f_order = f_order;
        self
    }

    /// What separates indices in a chunk's key: `/` or `.`.
    #[must_use]
    pub fn separator(mut self, separator: char) -> ArrayBuilder {
        self.new_array.separator = Some(separator);
        self
    }

    /// The user's attributes, as an [`Object`], a `serde_json::Value` or a list of names and values; they replace those already set.
    #[must_use]
    pub fn attributes<A: TryInto<Object, Error: Into<Error>>>(
        mut self,
        attributes: A,
    ) -> ArrayBuilder {
        self.new_array.attributes =
            attributes.try_into().map_err(|e| Into::<Error>::into(e).message());
        self
    }

    /// Sets one of the user's attributes: `attribute("units", "K")`.
    #[must_use]
    pub fn attribute(mut self, name: &str, value: impl Into<Json>) -> ArrayBuilder {
        if let Ok(attributes) = &mut self.new_array.attributes {
            attributes.insert(name, value);
        }
        self
    }

    /// The axes' names: `["time", "lat"]`, or `[Some("time"), None]` where an axis has none.
    #[must_use]
    pub fn dimension_names(
        mut self,
        names: impl IntoIterator<Item: Into<DimensionName>>,
    ) -> ArrayBuilder {
        self.new_array.dimension_names =
            Some(names.into_iter().map(|name| name.into().0).collect());
        self
    }

    /// Whether a node that is there is erased first, with chunks that no array has; else it is an error.
    #[must_use]
    pub fn overwrite(mut self, overwrite: bool) -> ArrayBuilder {
        self.new_array.mode.overwrite = overwrite;
        self
    }

    /// Whether chunks under the keys of the new array's chunks are erased first: those of an array that lost its
    /// document, those that an interrupted erase left, or a writer that raced one, and files of the user that have
    /// such names.
    ///
    /// By default they are an error if the store can list, [`AccessError::ChunksWithoutArray`]; with
    /// [`ArrayBuilder::overwrite`] they are erased. One listing looks for them. With `true` they are erased, and it is an
    /// error if the store cannot list. With `false` nothing is looked for, which saves the listing: what is there shows
    /// up as elements of the new array. An existing array is an error in any case.
    ///
    /// Folders, zip archives, LMDB and memory do this in one step with the document. In buckets no other writer may
    /// create the array concurrently: its first chunks could be erased, too.
    #[must_use]
    pub fn purge(mut self, purge: bool) -> ArrayBuilder {
        self.new_array.mode.purge = Some(purge);
        self
    }

    /// Takes everything from another array's metadata, of any dialect; the other settings are ignored.
    #[must_use]
    pub fn from_metadata(mut self, metadata: ArrayMetadata) -> ArrayBuilder {
        self.new_array.metadata = Some(metadata);
        self
    }

    /// Creates the array.
    ///
    /// # Errors
    /// [`AccessError::Exists`]; [`AccessError::ChunksWithoutArray`], see [`ArrayBuilder::purge`];
    /// [`AccessError::ReadOnly`]; [`AccessError::Argument`] for a wrong or missing
    /// property; [`MetadataError::CannotRepresent`] for what the format cannot represent;
    /// [`StoreError::NotCapable`] where chunks are to be purged and the store cannot list.
    pub async fn create(self) -> Result<Array> {
        let hierarchy = &self.hierarchy.core;
        let path = hierarchy.node_path(&self.new_array.path)?;
        let mode = self.new_array.mode;
        let metadata = self.new_array.metadata(&hierarchy.context, &path)?;
        let core = create::create_array(hierarchy, &path, metadata, mode).await?;
        Ok(self.hierarchy.array_of(core))
    }
}
