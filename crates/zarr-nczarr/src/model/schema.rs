//! The definitions of a dataset: the model in memory, without data and without a store.
//!
//! A [`Group`] without a name is the root, and with all below it a whole dataset. Dimensions are called by their full
//! names: `/`, the names of the groups, and their own, joined by `/` (N-010). A name is found however its characters are
//! composed ([`crate::composed`]).

use zarr_core::Json;
use zarr_core::data_type::DataType;
pub use zarr_core::data_type::Endian;

use crate::model::name::position;
use crate::model::types::Type;
use crate::model::values::Values;

/// A dimension, in the group that declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dimension {
    /// Its own name, without the group's.
    pub name: String,
    /// The length; of an unlimited dimension, the present one (N-012).
    pub len: u64,
    /// Whether it grows.
    pub unlimited: bool,
}

impl Dimension {
    /// A dimension of fixed length.
    pub fn new(name: impl Into<String>, len: u64) -> Self {
        Dimension { name: name.into(), len, unlimited: false }
    }

    /// A dimension that grows, of length 0 yet.
    pub fn unlimited(name: impl Into<String>) -> Self {
        Dimension { name: name.into(), len: 0, unlimited: true }
    }
}

/// A name and values, of a group or a variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    /// The name.
    pub name: String,
    /// The values and their type.
    pub value: Values,
}

impl Attribute {
    /// An attribute of a text (`char`) or a vector of numbers or strings.
    pub fn new(name: impl Into<String>, value: impl Into<Values>) -> Self {
        Attribute { name: name.into(), value: value.into() }
    }
}

/// A group: what it declares, in the order of definition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    /// Its name; empty for the root.
    pub name: String,
    /// Dimensions, visible here and in all groups below.
    pub dimensions: Vec<Dimension>,
    /// Variables.
    pub variables: Vec<Variable>,
    /// Groups.
    pub groups: Vec<Group>,
    /// Attributes, without those that hold the model itself or are computed (N-055).
    pub attributes: Vec<Attribute>,
    /// Arrays that netCDF cannot represent; Zarr may.
    pub opaque: Vec<Opaque>,
}

impl Group {
    /// A group of this name that declares nothing yet; the root has the name ``.
    pub fn new(name: impl Into<String>) -> Self {
        Group { name: name.into(), ..Group::default() }
    }

    /// The group at `path`, such as `/` or `/g1/g2`, counted from this one.
    pub fn group(&self, path: &str) -> Option<&Group> {
        let mut names = path.split('/').filter(|name| !name.is_empty());
        names.try_fold(self, |group, name| {
            let at = position(group.groups.iter().map(|child| child.name.as_str()), name)?;
            group.groups.get(at)
        })
    }

    /// The group at `path`, to be changed.
    pub fn group_mut(&mut self, path: &str) -> Option<&mut Group> {
        let mut names = path.split('/').filter(|name| !name.is_empty());
        names.try_fold(self, |group, name| {
            let at = position(group.groups.iter().map(|child| child.name.as_str()), name)?;
            group.groups.get_mut(at)
        })
    }

    /// The dimension of the full name `path`, such as `/time` or `/g1/station`, counted from this group.
    pub fn dimension(&self, path: &str) -> Option<&Dimension> {
        let (group, name) = path.rsplit_once('/').unwrap_or(("", path));
        let all = &self.group(group)?.dimensions;
        all.get(position(all.iter().map(|dimension| dimension.name.as_str()), name)?)
    }

    /// The variable at `path`, such as `/g1/id`, counted from this group.
    pub fn variable(&self, path: &str) -> Option<&Variable> {
        let (group, name) = path.rsplit_once('/').unwrap_or(("", path));
        let all = &self.group(group)?.variables;
        all.get(position(all.iter().map(|variable| variable.name.as_str()), name)?)
    }

    /// The attribute of this name.
    pub fn attribute(&self, name: &str) -> Option<&Values> {
        find(&self.attributes, name)
    }
}

/// A variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// The name.
    pub name: String,
    /// The type of its elements.
    pub ty: Type,
    /// The full names of its dimensions; none for a scalar.
    pub dimensions: Vec<String>,
    /// Attributes, as a group's. `_FillValue` is among them if it was declared (N-054).
    pub attributes: Vec<Attribute>,
    /// How the elements are kept.
    pub storage: Storage,
}

impl Variable {
    /// A variable over the dimensions of these full names, stored as is usual, which means compressed.
    pub fn new<D: Into<String>>(
        name: impl Into<String>,
        ty: Type,
        dimensions: impl IntoIterator<Item = D>,
    ) -> Self {
        Variable {
            name: name.into(),
            ty,
            dimensions: dimensions.into_iter().map(Into::into).collect(),
            attributes: Vec::new(),
            storage: Storage { default_filters: true, ..Storage::default() },
        }
    }

    /// The attribute of this name.
    pub fn attribute(&self, name: &str) -> Option<&Values> {
        find(&self.attributes, name)
    }

    /// The value of elements that were never written: the declared fill value, or the type's own.
    pub fn fill(&self) -> Values {
        self.attribute("_FillValue").cloned().unwrap_or_else(|| self.ty.default_fill())
    }
}

/// How a variable's elements are kept; the special attributes of CDL say it (N-055).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Storage {
    /// The lengths of a chunk; empty: chosen by the dimensions (N-015). A scalar has none.
    pub chunks: Vec<u64>,
    /// One chunk as large as the variable, which has no unlimited dimension, is asked for (N-008). What is defined
    /// says it by its chunks.
    pub contiguous: bool,
    /// The byte order, `None` for little-endian and for types that have none (N-007).
    pub endian: Option<Endian>,
    /// What the bytes of a chunk go through when they are written, the first first.
    pub filters: Vec<Filter>,
    /// Where `filters` is empty, a new variable gets the usual filters of its dataset's format: shuffle and zlib of level 4 in
    /// NCZarr, zstd or Blosc in plain Zarr. `false`: it is stored uncompressed.
    pub default_filters: bool,
    /// Elements that were never written are not filled: they read as zero (N-054).
    pub no_fill: bool,
    /// One value: what elements hold that were never written, where it is another than [`Variable::fill`]. Only final v3
    /// tells the fill value from the missing value (docs/internals/design/missing-data.md). In NCZarr of v3 the type's own
    /// fill value stands here where an attribute tells it to xarray, as netCDF masks it without one.
    pub unwritten: Option<Values>,
    /// Chunks are put together in shards of at most so many bytes of elements, if that is asked for: only final v3 has them. Of what
    /// is defined, [`zarr_core::Array::shard_shape`] says it.
    pub shard_bytes: Option<u64>,
    /// Strings have one width, as plain Zarr has them. NCZarr of v2 has another type in place of theirs.
    pub text: Option<FixedText>,
}

/// Strings of one width.
#[derive(Clone, Debug, PartialEq)]
pub struct FixedText {
    /// The type of the array's elements: `|S5`, `<U5`.
    pub data_type: DataType,
    /// The array's fill value, as its document writes it; of `|S5` it need not be text.
    pub fill: Json,
}

/// A filter of netCDF (N-070, N-071).
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
#[non_exhaustive]
pub enum Filter {
    /// Bytes of equal weight beside each other.
    Shuffle,
    /// A checksum behind each chunk.
    Fletcher32,
    /// zlib, `_DeflateLevel` 0 to 9.
    Deflate {
        level: u8,
    },
    Bzip2 {
        level: u8,
    },
    Zstd {
        level: i32,
    },
    /// `shuffle`: 0 none, 1 bytes, 2 bits.
    Blosc {
        compressor: String,
        level: u8,
        shuffle: u8,
        block_size: u64,
    },
    /// Any other codec, as the array's document writes it.
    Other(Json),
}

/// An array that netCDF cannot express, or whose document is broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opaque {
    /// The name.
    pub name: String,
    /// Why it is no variable.
    pub why: String,
}

fn find<'a>(attributes: &'a [Attribute], name: &str) -> Option<&'a Values> {
    let at = position(attributes.iter().map(|attribute| attribute.name.as_str()), name)?;
    Some(&attributes[at].value)
}
