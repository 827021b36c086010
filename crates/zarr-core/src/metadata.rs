//! The metadata of a node, whatever the dialect of its document.
//!
//! The model follows final v3, the widest of the dialects. Attributes are kept to the letter; a rewrite changes one
//! member of the document (see [`crate::format::DocumentMember`]) and keeps the unknown ones.

use std::sync::Arc;

use crate::codec::CodecSpec;
use crate::data_type::{DataType, FillValue, NumpyTime, Repr};
use crate::error::{MetadataError, Unsupported};
use crate::grid::{ChunkGrid, ChunkKeys};
use crate::json::{Json, Object};
use crate::region::{axes, element_count};

/// What is known of an array.
#[derive(Clone, Debug)]
pub struct ArrayMetadata {
    /// How many elements along each axis.
    pub shape: Vec<u64>,
    /// The type of an element.
    pub data_type: DataType,
    /// The type as the document declares it.
    pub declared_type: Json,
    /// How the array is cut into chunks; `None` if this build does not know the grid.
    pub grid: Option<Arc<dyn ChunkGrid>>,
    /// What chunks are called.
    pub chunk_keys: ChunkKeys,
    /// The codecs, in the order in which they encode.
    pub codecs: Vec<CodecSpec>,
    /// The value of elements that were never written; `None` if it is undefined, which reads as zero bytes.
    pub fill_value: Option<FillValue>,
    /// The fill value as the document declares it.
    pub declared_fill: Json,
    /// The user's attributes, to the letter.
    pub attributes: Object,
    /// The axes' names, if they have any; a single axis may have none.
    pub dimension_names: Option<Vec<Option<String>>>,
    /// Unknown members of the document that may be ignored.
    pub unknown: Object,
    /// How many chunks along each axis one stored object holds, with the sharding storage transformer of the drafts. Such
    /// arrays are read, not written.
    pub shards: Option<Vec<u64>>,
    /// Why the elements cannot be read or written by this build, if so.
    pub unsupported: Vec<Unsupported>,
}

/// What is known of a group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupMetadata {
    /// The user's attributes, to the letter.
    pub attributes: Object,
    /// Unknown members of the document that may be ignored.
    pub unknown: Object,
    /// Whether the group has no document (D-008).
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
    /// Whether a key may be a chunk's, by its name behind the prefix of the array's chunks. Any may, if this build does not
    /// know what they are called.
    pub fn may_have_chunk(&self, name: &str) -> bool {
        let lacking = ["chunk key encoding", "chunk grid", "storage transformer"];
        self.unsupported.iter().any(|lack| lacking.contains(&lack.what))
            || self.chunk_keys.parse(name, self.rank()).is_some()
    }

    /// Whether the bytes of a chunk are the same elements in both arrays. Shapes, grids and attributes may differ.
    pub(crate) fn stores_elements_as(&self, other: &ArrayMetadata) -> bool {
        // By their text, since records are equal however their fields are stored.
        self.codecs == other.codecs
            && self.chunk_keys == other.chunk_keys
            && self.fill_value == other.fill_value
            && self.shards == other.shards
            && format!("{:?}", self.data_type) == format!("{:?}", other.data_type)
    }

    /// Whether both arrays have the same chunk grid.
    pub(crate) fn has_grid_of(&self, other: &ArrayMetadata) -> bool {
        format!("{:?}", self.grid) == format!("{:?}", other.grid)
    }

    /// How many axes.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// A name that more than one axis has. The specification allows it, tensorstore does not (F-010).
    pub(crate) fn repeated_dimension_name(&self) -> Option<&str> {
        let names = self.dimension_names.as_deref().unwrap_or_default();
        names.iter().enumerate().find_map(|(axis, name)| {
            let is_repeated = names[axis + 1..].contains(name);
            name.as_deref().filter(|name| !name.is_empty() && is_repeated)
        })
    }

    /// The chunk shape, if all chunks have one.
    pub fn chunk_shape(&self) -> Option<Vec<u64>> {
        self.grid.as_ref().and_then(|grid| grid.chunk_shape())
    }

    /// The bytes of one element that was never written.
    pub fn fill_bytes(&self) -> Vec<u8> {
        self.fill().as_bytes().to_vec()
    }

    /// An element that was never written: where the fill value is undefined, zero bytes, and of times "not a time", which
    /// is what zarr-python reads (Z2-023).
    pub(crate) fn fill(&self) -> FillValue {
        match (&self.fill_value, &self.data_type) {
            (Some(fill), _) => fill.clone(),
            (None, DataType::Time(_)) => FillValue::new(NumpyTime::NAT.to_ne_bytes()),
            (None, other) => FillValue::zero_of(other.repr().unwrap_or(Repr::Opaque(1))),
        }
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
            let names = match names.len() {
                1 => "1 name".to_owned(),
                count => format!("{count} names"),
            };
            let why = format!("{names} for {}", axes(self.rank()));
            return Err(MetadataError::invalid("dimension_names", why));
        }
        if let (Some(repr), true) = (self.data_type.repr(), self.grid.is_some()) {
            let elements = element_count(&self.chunk_extent());
            let size = elements.and_then(|elements| elements.checked_mul(repr.size() as u64));
            size.filter(|&size| isize::try_from(size).is_ok()).ok_or_else(|| {
                MetadataError::invalid("chunk_shape", "a chunk has more bytes than can be counted")
            })?;
        }
        Ok(())
    }
}
