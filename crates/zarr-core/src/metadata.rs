//! The metadata of a node, whatever the dialect of its document.
//!
//! The model speaks final v3, the widest of the dialects. Attributes are kept to the letter; a rewrite
//! changes one member of the document itself (see [`crate::format::Place`]), so that what nobody here
//! understands survives it.

use std::sync::Arc;

use crate::codec::{ChunkContext, CodecChain, CodecSpec};
use crate::data_type::{DataType, Endian, FillValue, Repr};
use crate::dialect::Dialect;
use crate::error::{MetadataError, Unsupported};
use crate::grid::{ChunkGrid, ChunkKeys};
use crate::json::{Json, Object};
use crate::region::axes;
use crate::registry::Registry;

/// What is known of an array.
#[derive(Clone, Debug)]
pub struct ArrayMetadata {
    /// How many elements along each axis.
    pub shape: Vec<u64>,
    /// The type of an element.
    pub data_type: DataType,
    /// The type as the document spells it.
    pub declared_type: Json,
    /// How the array is cut into chunks; `None` if this build does not know the grid.
    pub grid: Option<Arc<dyn ChunkGrid>>,
    /// What chunks are called.
    pub chunk_keys: ChunkKeys,
    /// The codecs, in the order in which they encode.
    pub codecs: Vec<CodecSpec>,
    /// What elements hold that nobody wrote; `None` if that is undefined, which reads as zero bytes.
    pub fill_value: Option<FillValue>,
    /// The fill value as the document spells it.
    pub declared_fill: Json,
    /// The user's attributes, to the letter.
    pub attributes: Object,
    /// The axes' names, if they have any; a single axis may have none.
    pub dimension_names: Option<Vec<Option<String>>>,
    /// Members of the document that nobody here understands, and may be ignored.
    pub unknown: Object,
    /// How many chunks along each axis lie in one stored object, where the sharding storage transformer
    /// of the draft says so. Such arrays are read, not written.
    pub shards: Option<Vec<u64>>,
    /// Why the elements cannot be read or written by this build, if so.
    pub unsupported: Vec<Unsupported>,
}

/// What is known of a group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupMetadata {
    /// The user's attributes, to the letter.
    pub attributes: Object,
    /// Members of the document that nobody here understands, and may be ignored.
    pub unknown: Object,
    /// Whether the group has no document of its own (D-008).
    pub implicit: bool,
}

/// What is known of a node.
#[derive(Clone, Debug)]
pub enum NodeMetadata {
    /// An array.
    Array(Box<ArrayMetadata>),
    /// A group.
    Group(GroupMetadata),
}

/// Whether a node is a group or an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NodeKind {
    /// A group.
    Group,
    /// An array.
    Array,
}

impl NodeKind {
    /// `group` or `array`.
    pub fn name(self) -> &'static str {
        match self {
            NodeKind::Group => "group",
            NodeKind::Array => "array",
        }
    }

    /// `a group` or `an array`, for messages.
    pub fn phrase(self) -> &'static str {
        match self {
            NodeKind::Group => "a group",
            NodeKind::Array => "an array",
        }
    }
}

impl NodeMetadata {
    /// Whether it is a group or an array.
    pub fn kind(&self) -> NodeKind {
        match self {
            NodeMetadata::Array(_) => NodeKind::Array,
            NodeMetadata::Group(_) => NodeKind::Group,
        }
    }

    /// The user's attributes.
    pub fn attributes(&self) -> &Object {
        match self {
            NodeMetadata::Array(array) => &array.attributes,
            NodeMetadata::Group(group) => &group.attributes,
        }
    }
}

impl ArrayMetadata {
    /// Plain metadata of an array that is to be created, with chunks of one shape, stored in native C
    /// order by `bytes` alone, filled with zeros.
    ///
    /// # Errors
    /// [`MetadataError::Invalid`] for a chunk shape that does not fit.
    pub fn new(
        shape: &[u64],
        data_type: DataType,
        chunk_shape: &[u64],
    ) -> Result<ArrayMetadata, MetadataError> {
        let grid = crate::grid::RegularGrid::new(chunk_shape, shape)?;
        let fill_value = data_type.repr().map(FillValue::zero_of);
        Ok(ArrayMetadata {
            shape: shape.to_vec(),
            codecs: vec![bytes_codec(&data_type, Endian::Little)],
            data_type,
            declared_type: Json::Null,
            grid: Some(Arc::new(grid)),
            chunk_keys: ChunkKeys::Default { separator: '/' },
            fill_value,
            declared_fill: Json::Null,
            attributes: Object::new(),
            dimension_names: None,
            unknown: Object::new(),
            shards: None,
            unsupported: Vec::new(),
        })
    }

    /// How many axes.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// A name that more than one axis has. The specification allows it, tensorstore does not (F-010).
    pub(crate) fn repeated_dimension_name(&self) -> Option<&str> {
        let names = || self.dimension_names.iter().flatten().flatten().filter(|n| !n.is_empty());
        let twice = |name: &&String| names().filter(|other| other == name).count() > 1;
        names().find(twice).map(String::as_str)
    }

    /// The chunk shape, if all chunks have one.
    pub fn chunk_shape(&self) -> Option<Vec<u64>> {
        self.grid.as_ref().and_then(|grid| grid.chunk_shape())
    }

    /// The bytes of one element that nobody wrote.
    pub fn fill_bytes(&self) -> Vec<u8> {
        match &self.fill_value {
            Some(fill) => fill.as_bytes().to_vec(),
            None => FillValue::zero_of(self.data_type.repr().unwrap_or(Repr::Opaque(1)))
                .as_bytes()
                .to_vec(),
        }
    }

    /// The byte order in which elements are stored, where the chain says one.
    pub fn endian(&self) -> Endian {
        stored_endian(&self.codecs)
    }

    /// The grid, the chain and the representation: all that reading and writing need.
    ///
    /// # Errors
    /// [`MetadataError::Unsupported`] naming what this build lacks.
    pub fn chain(
        &self,
        registry: &Registry,
        dialect: Dialect,
    ) -> Result<CodecChain, MetadataError> {
        if let Some(obstacle) = self.unsupported.first() {
            return Err(obstacle.clone().into());
        }
        if self.holds_n5_blocks() && self.chunk_keys != N5_KEYS {
            let why = "the codec `n5_default` needs `v2` with the separator `/`";
            return Err(MetadataError::invalid("chunk_key_encoding", why));
        }
        let build = |shape: Vec<u64>| {
            let context = ChunkContext::new(self.data_type.clone(), shape)
                .with_fill(Some(FillValue::new(self.fill_bytes())));
            CodecChain::build(&self.codecs, &context, registry)
        };
        let first = self.chunk_extent();
        let mut left = MOST_LENGTHS;
        for axis in 0..first.len() {
            let lengths = self.grid.as_ref().map(|grid| grid.stored_lengths(axis));
            let others = lengths.unwrap_or_default().into_iter().filter(|&len| len != first[axis]);
            for length in others.take(left) {
                let mut shape = first.clone();
                shape[axis] = length;
                build(shape)?;
                left -= 1;
            }
        }
        Ok(build(first)?.accept_nonzero_bools(dialect != Dialect::V3))
    }

    /// Whether chunks are blocks of N5, which has keys of its own (F-102).
    fn holds_n5_blocks(&self) -> bool {
        self.codecs.iter().any(|spec| spec.name == "n5_default")
    }

    /// The shape of the first chunk, which stands for all where their lengths do not matter.
    pub fn chunk_extent(&self) -> Vec<u64> {
        match &self.grid {
            Some(grid) => (0..grid.rank()).map(|axis| grid.span(axis, 0).stored).collect(),
            None => vec![1; self.rank()],
        }
    }

    /// Checks what every dialect demands.
    pub(crate) fn check(&self) -> Result<(), MetadataError> {
        if let Some(grid) = &self.grid
            && grid.rank() != self.rank()
        {
            let why = format!("chunks have {}, the array has {}", axes(grid.rank()), self.rank());
            return Err(MetadataError::invalid("chunk_grid", why));
        }
        if let Some(names) = &self.dimension_names
            && names.len() != self.rank()
        {
            let why = format!("{} names for {}", names.len(), axes(self.rank()));
            return Err(MetadataError::invalid("dimension_names", why));
        }
        let context = ChunkContext::new(self.data_type.clone(), self.chunk_extent());
        if self.data_type.repr().is_some() && self.grid.is_some() {
            let size = context.size().filter(|&size| isize::try_from(size).is_ok());
            size.ok_or_else(|| {
                MetadataError::invalid("chunk_shape", "a chunk has more bytes than can be counted")
            })?;
        }
        Ok(())
    }
}

/// Of so many lengths of chunks it is told at once whether the codecs take them, of further ones as they are read.
const MOST_LENGTHS: usize = 4096;

/// What N5 calls its blocks.
const N5_KEYS: ChunkKeys = ChunkKeys::V2 { separator: '/' };

/// The codec that makes bytes of a data type's elements: mostly `bytes`, with a byte order where it needs one (F-080).
pub fn bytes_codec(data_type: &DataType, endian: Endian) -> CodecSpec {
    if let Some(serializer) = data_type.serializer() {
        return serializer;
    }
    if let DataType::Optional(optional) = data_type {
        return crate::data_type::optional::codec(&bytes_codec(optional.inner(), endian));
    }
    let mut configuration = Object::new();
    if data_type.repr().is_none() || data_type.has_byte_order() {
        configuration.insert("endian", endian.name());
    }
    CodecSpec::v3("bytes", configuration)
}

/// The byte order that a chain says; little-endian, if it says none.
pub(crate) fn stored_endian(codecs: &[CodecSpec]) -> Endian {
    let bytes = codecs.iter().find(|spec| spec.name == "bytes");
    match bytes.and_then(|spec| spec.configuration.get("endian")).and_then(Json::as_str) {
        Some("big") => Endian::Big,
        _ => Endian::Little,
    }
}

/// The `transpose` codec that reverses all axes: F order (Z2-090).
pub(crate) fn reversing_codec(rank: usize) -> CodecSpec {
    let order: Json = (0..rank as u64).rev().map(Json::from).collect();
    CodecSpec::v3("transpose", Object::new().with("order", order))
}

impl ArrayMetadata {
    /// The same array in another dialect's words: codecs respelled, chunk keys the dialect's own. What
    /// the dialect has no place for, such as unknown members, is left behind.
    ///
    /// # Errors
    /// [`MetadataError::CannotSpell`] naming what stands in the way.
    pub fn converted_to(
        mut self,
        dialect: Dialect,
        registry: &Registry,
    ) -> Result<Self, MetadataError> {
        if let Some(obstacle) = self.unsupported.first() {
            return Err(obstacle.clone().into());
        }
        for codec in &mut self.codecs {
            // Its name before final v3.
            if codec.name == "endian" && codec.dialect == Dialect::V3 {
                codec.name = "bytes".into();
            }
        }
        if dialect == Dialect::V3 {
            // There one byte order holds for all fields of a record (F-050).
            self.data_type = self.data_type.stored_in(None);
        }
        let context = ChunkContext::new(self.data_type.clone(), self.chunk_extent());
        // The filters that a draft hides stay as they are in another draft (Q5).
        let from_draft =
            matches!(self.chunk_keys, ChunkKeys::Draft { .. } | ChunkKeys::Draft2019 { .. });
        let mut hidden = Vec::new();
        if from_draft && dialect == Dialect::Draft {
            let filter = |spec: &CodecSpec| spec.dialect == Dialect::V2;
            (hidden, self.codecs) = self.codecs.into_iter().partition(filter);
        }
        self.codecs = crate::codec::convert_codecs(&self.codecs, &context, dialect, registry)?;
        let on_arrays = |spec: &&CodecSpec| spec.name == "transpose";
        let after = self.codecs.iter().position(|spec| spec.name == "bytes").map(|at| at + 1);
        let after = after.unwrap_or_else(|| self.codecs.iter().take_while(on_arrays).count());
        self.codecs.splice(after..after, hidden);
        self.shards = None;
        let own = matches!(
            (&self.chunk_keys, dialect),
            (ChunkKeys::V2 { .. } | ChunkKeys::Default { .. }, Dialect::V3)
                | (ChunkKeys::V2 { .. }, Dialect::V2)
                | (ChunkKeys::Draft { .. }, Dialect::Draft)
        );
        if !own {
            let separator = match self.chunk_keys.separator() {
                '.' => '.',
                _ => '/',
            };
            self.chunk_keys = match dialect {
                Dialect::V3 => ChunkKeys::Default { separator },
                Dialect::V2 => ChunkKeys::V2 { separator },
                Dialect::Draft => ChunkKeys::Draft { separator, scalar_at_c0: true },
            };
        }
        if self.holds_n5_blocks() {
            self.chunk_keys = N5_KEYS;
        }
        if self.rank() == 0 && dialect != Dialect::V3 {
            // It separates nothing, and GDAL 3.6 dies of `/`.
            self.chunk_keys = self.chunk_keys.with_separator('.');
        }
        // An alias is kept where it means the same in the new dialect (T-39).
        let means = registry.parse_data_type(&self.declared_type, dialect);
        let legacy = crate::data_type::record_json::is_legacy(&self.declared_type);
        if dialect != Dialect::V3
            || legacy
            || !means.is_ok_and(|parsed| parsed.data_type == self.data_type)
        {
            self.declared_type = Json::Null;
        }
        if dialect == Dialect::V3 && self.fill_value.is_none() {
            // Undefined reads as zero bytes everywhere here; final v3 must say so (Z2-090).
            self.fill_value = self.data_type.repr().map(FillValue::zero_of);
        }
        self.declared_fill = Json::Null;
        if dialect == Dialect::Draft || dialect == Dialect::V2 {
            self.unknown = Object::new();
        } else {
            let understood =
                |value: &Json| value.as_object().is_some_and(|o| o.contains("must_understand"));
            self.unknown =
                self.unknown.into_iter().filter(|(_, value)| understood(value)).collect();
        }
        Ok(self)
    }
}
