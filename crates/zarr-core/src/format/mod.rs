//! Defines a format: where a dialect stores its documents, and how they become the model.
//!
//! A format is pure: keys and bytes, never input or output. Adding one is one file here and a line in
//! `detect.rs`.

pub(crate) mod consolidated;
mod detect;
mod draft;
mod encoding;
mod names;
mod v2;
mod v3;

use std::fmt::Debug;
use std::sync::Arc;

use bytes::Bytes;

pub(crate) use self::detect::{Found, PROBES, detect};
pub use self::draft::Draft;
pub(crate) use self::draft::SingleDocument;
pub use self::encoding::{JsonEncoding, MetadataEncoding};
pub use self::names::is_zarr_key;
pub use self::v2::V2;
pub use self::v3::V3;
use crate::codec::{ChunkContext, CodecSpec};
use crate::data_type::fill_value;
use crate::data_type::{CoreType, Endian, ParsedType, variable};
use crate::dialect::{Dialect, Era, Reading};
use crate::error::{AccessError, MetadataError, StoreError, Unsupported};
use crate::grid::ChunkGrid;
use crate::json::{Json, Object, Oddities};
use crate::limits::Limits;
use crate::metadata::{ArrayMetadata, NodeKind, NodeMetadata};
use crate::path::NodePath;
use crate::store::{Listing, StoreKey, StorePrefix};

/// Documents found at their keys, or to be written there, in order.
pub type Documents = Vec<(StoreKey, Bytes)>;

/// Where in a document something stands.
#[derive(Clone, Debug)]
pub struct Place {
    /// The document's key.
    pub key: StoreKey,
    /// The member, or `None` if the document is the thing itself (`.zattrs`).
    pub member: Option<&'static str>,
    /// Whether the document may be absent, standing for an empty object.
    pub may_be_absent: bool,
}

/// What an array's document says of where its elements are: its shape and its chunk grid.
pub type Layout = [Option<Json>; 2];

/// What a listing tells of a child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Child {
    /// Its path.
    pub path: NodePath,
    /// Its kind, if the listing tells; else its documents must be read.
    pub kind: Option<NodeKind>,
    /// Whether the listing alone proves it a group without a document.
    pub implicit: bool,
}

/// A dialect's way of keeping the model.
pub trait Format: Debug + Send + Sync {
    /// Whose words it uses.
    fn dialect(&self) -> Dialect;

    /// What it is called: `v2`, `v3`, `draft-2020`, `draft-2019`.
    fn name(&self) -> &'static str;

    /// Which draft, if it is one.
    fn era(&self) -> Option<Era> {
        None
    }

    /// Why nothing in this format is written, if so.
    fn frozen(&self) -> Option<&str> {
        None
    }

    /// How documents become bytes.
    fn encoding(&self) -> &dyn MetadataEncoding {
        &JsonEncoding
    }

    /// Whether a new node may have this name.
    ///
    /// # Errors
    /// [`AccessError::Argument`] naming the rule.
    fn check_name(&self, name: &str) -> Result<(), AccessError>;

    /// Keys of the documents that may describe the node, those that decide first.
    ///
    /// # Errors
    /// [`StoreError::InvalidKey`] for a path that makes no keys.
    fn document_keys(&self, path: &NodePath) -> Result<Vec<StoreKey>, StoreError>;

    /// The node that documents describe; `None` if there are none.
    ///
    /// # Errors
    /// For a document that breaks its specification.
    fn parse(
        &self,
        path: &NodePath,
        found: &Documents,
        reading: &mut Reading<'_>,
    ) -> Result<Option<NodeMetadata>, MetadataError>;

    /// The kind of the node that documents describe, by a look at no more than that takes; `None` if
    /// they describe none.
    ///
    /// # Errors
    /// For a document that is broken.
    fn kind(&self, path: &NodePath, found: &Documents) -> Result<Option<NodeKind>, MetadataError>;

    /// The documents of a new node: the one that makes it a node first.
    ///
    /// # Errors
    /// [`MetadataError::CannotSpell`] for what the dialect has no words for.
    fn create(&self, path: &NodePath, node: &NodeMetadata) -> Result<Documents, MetadataError>;

    /// The documents of a new hierarchy itself, before any node.
    ///
    /// # Errors
    /// None in the formats here.
    fn entry_point(&self) -> Result<Documents, MetadataError> {
        Ok(Vec::new())
    }

    /// Whether creating a node creates the groups above it (F-007, Z2-003; not in the drafts, D-152).
    fn groups_are_explicit(&self) -> bool;

    /// Where the attributes of a node of this kind stand.
    ///
    /// # Errors
    /// [`StoreError::InvalidKey`] for a path that makes no keys.
    fn attributes_place(&self, path: &NodePath, kind: NodeKind) -> Result<Place, StoreError>;

    /// Where the shape of an array stands.
    ///
    /// # Errors
    /// [`StoreError::InvalidKey`] for a path that makes no keys.
    fn shape_place(&self, path: &NodePath) -> Result<Place, StoreError>;

    /// What of an array's document says where its elements are: its shape and its chunk grid.
    fn layout(&self, document: &Json) -> Layout {
        ["shape", "chunk_grid"].map(|member| document.as_object()?.get(member).cloned())
    }

    /// Gives an array's document another shape and another chunk grid.
    ///
    /// # Errors
    /// [`MetadataError::CannotSpell`] if the dialect has no words for the grid.
    fn regrid(
        &self,
        document: &mut Object,
        shape: &[u64],
        grid: &dyn ChunkGrid,
    ) -> Result<(), MetadataError> {
        let member = "chunk_grid";
        let Some(Json::Object(mut words)) = grid.to_metadata(self.dialect()) else {
            return Err(cannot(self.name(), "such a chunk grid", "choose v3 or a draft"));
        };
        // The drafts keep the separator of chunk keys there (D-045).
        let old = document.get(member).and_then(Json::as_object);
        if let Some(separator) = old.and_then(|old| old.get("separator")) {
            words.insert("separator", separator.clone());
        }
        document.insert("shape", shape);
        document.insert(member, words);
        Ok(())
    }

    /// Whether attributes may be set so.
    ///
    /// # Errors
    /// [`AccessError::Argument`] naming what the dialect reserves.
    fn check_attributes(&self, attributes: &Object) -> Result<(), AccessError> {
        let _ = attributes;
        Ok(())
    }

    /// Takes out of a node's attributes what is none of the user's, to be put back on a rewrite.
    fn take_hidden(&self, kind: NodeKind, attributes: &mut Object) -> Object {
        let _ = (kind, attributes);
        Object::new()
    }

    /// The prefix of an array's chunk keys: its path, unless the format keeps chunks apart.
    ///
    /// # Errors
    /// [`StoreError::InvalidKey`] for a path that makes no keys.
    fn chunk_prefix(&self, path: &NodePath) -> Result<StorePrefix, StoreError> {
        prefix_of(path)
    }

    /// The prefix whose listing shows a group's children: its path, unless the format keeps documents
    /// apart.
    ///
    /// # Errors
    /// [`StoreError::InvalidKey`] for a path that makes no keys.
    fn children_prefix(&self, path: &NodePath) -> Result<StorePrefix, StoreError> {
        prefix_of(path)
    }

    /// The children that a listing of [`Format::children_prefix`] shows, sorted; names that no node
    /// may have are noted in `warnings` and left out (D-015).
    fn children(
        &self,
        path: &NodePath,
        listing: &Listing,
        warnings: &mut Vec<String>,
    ) -> Vec<Child>;

    /// All nodes at and below `path` out of every key below [`Format::tree_prefix`], sorted by path.
    /// Called only where there is such a prefix.
    fn tree(&self, path: &NodePath, keys: &[StoreKey], warnings: &mut Vec<String>) -> Vec<Child> {
        let _ = (path, keys, warnings);
        Vec::new()
    }

    /// The prefix whose listing shows every node at once, where documents lie apart from chunks (D-162).
    fn tree_prefix(&self) -> Option<StorePrefix> {
        None
    }

    /// What to erase with a node: its documents first, then prefixes (D-170 … D-174).
    ///
    /// # Errors
    /// [`StoreError::InvalidKey`] for a path that makes no keys.
    fn erasure(&self, path: &NodePath) -> Result<(Vec<StoreKey>, Vec<StorePrefix>), StoreError> {
        Ok((self.document_keys(path)?, vec![prefix_of(path)?]))
    }
}

/// The format that writes a dialect, in its default profile.
pub fn of_dialect(dialect: Dialect) -> Arc<dyn Format> {
    match dialect {
        Dialect::V3 => Arc::new(V3),
        Dialect::V2 => Arc::new(V2),
        Dialect::Draft => Arc::new(Draft::new()),
    }
}

/// The document's object. Final v3 refuses duplicate members, and bare `NaN` beside attributes; other dialects note them
/// (decisions 0123, 0138).
fn parse_object(
    bytes: &[u8],
    encoding: &dyn MetadataEncoding,
    strict_members: bool,
    reading: &mut Reading<'_>,
) -> Result<Object, MetadataError> {
    let (json, odd) = encoding.decode(bytes).map_err(MetadataError::Json)?;
    object_of(json, odd, strict_members, reading)
}

/// The object of a `zarr.json`; a group's without its consolidated metadata, which are a cache (F-013).
fn parse_node_object(bytes: &[u8], reading: &mut Reading<'_>) -> Result<Object, MetadataError> {
    let parsed = Json::parse_but(bytes, consolidated::INLINE).map_err(MetadataError::Json)?;
    let (json, has_copies, odd) = parsed;
    let object = object_of(json, odd, true, reading)?;
    if has_copies && object.get("node_type").and_then(Json::as_str) != Some("group") {
        parse_object(bytes, &JsonEncoding, true, reading)
    } else {
        Ok(object)
    }
}

fn object_of(
    json: Json,
    odd: Oddities,
    strict_members: bool,
    reading: &mut Reading<'_>,
) -> Result<Object, MetadataError> {
    let refuse = MetadataError::Json;
    if let Some(name) = odd.duplicates.first() {
        let what = format!("member `{name}` stands twice");
        if strict_members {
            return Err(refuse(what));
        }
        reading.tolerate(what).map_err(refuse)?;
    }
    if odd.bare_floats {
        let beside = |object: &Object| {
            object.iter().any(|(name, value)| name != "attributes" && value.has_bare_floats())
        };
        if strict_members && json.as_object().is_none_or(beside) {
            return Err(refuse(
                "bare `NaN` or `Infinity` is not JSON; write it as a string".into(),
            ));
        }
        let what = "bare `NaN` or `Infinity` is not JSON; it is kept as it stands, and a copy into another format \
                    writes it as a string";
        reading.tolerate(what).map_err(refuse)?;
    }
    if odd.byte_order_mark {
        reading.tolerate("the document begins with a byte order mark").map_err(refuse)?;
    }
    match json {
        Json::Object(object) => Ok(object),
        other => {
            Err(MetadataError::Json(format!("{} stands where an object is due", other.kind())))
        }
    }
}

fn document(object: Object, encoding: &dyn MetadataEncoding) -> Result<Bytes, MetadataError> {
    encoding.encode(&Json::from(object)).map(Bytes::from).map_err(MetadataError::Json)
}

/// A list of whole numbers at least 0, of as many axes as an array may have: a shape.
fn lengths(
    member: &'static str,
    json: Option<&Json>,
    limits: &Limits,
) -> Result<Vec<u64>, MetadataError> {
    let json = json.ok_or(MetadataError::Missing(member))?;
    limits.check_rank(json.as_array().map_or(0, <[Json]>::len))?;
    let items = json.as_array().and_then(|items| items.iter().map(Json::as_u64).collect());
    items.ok_or_else(|| {
        MetadataError::invalid(
            member,
            format!("{} is not a list of whole numbers at least 0", json.brief()),
        )
    })
}

fn attributes(json: Option<&Json>, member: &str) -> Result<Object, MetadataError> {
    match json {
        None => Ok(Object::new()),
        Some(Json::Object(object)) => Ok(object.clone()),
        Some(other) => {
            Err(MetadataError::invalid(member, format!("{} stands for an object", other.kind())))
        }
    }
}

/// The axes' names as xarray writes them into v2 and the drafts (decision 0120); ignored if they do not fit.
fn xarray_dimensions(attributes: &Object, rank: usize) -> Option<Vec<Option<String>>> {
    let names = attributes.get("_ARRAY_DIMENSIONS")?.as_array()?;
    let names: Option<Vec<_>> =
        names.iter().map(|n| n.as_str().map(|n| Some(n.to_owned()))).collect();
    names.filter(|names| names.len() == rank)
}

/// The attributes with the axes' names among them, for dialects that keep them there.
fn attributes_with_dimensions(
    array: &ArrayMetadata,
    format: &'static str,
) -> Result<Object, MetadataError> {
    let mut attributes = array.attributes.clone();
    let says_something = |names: &&Vec<Option<String>>| {
        // That there are no axes is something to say: xarray wants it.
        names.is_empty() || names.iter().any(Option::is_some)
    };
    let Some(names) = array.dimension_names.as_ref().filter(says_something) else {
        return Ok(attributes);
    };
    let hint = "name every axis, or none, and let `_ARRAY_DIMENSIONS` say the same";
    let names: Option<Vec<Json>> =
        names.iter().map(|name| name.as_deref().map(Json::from)).collect();
    let names = names.map(Json::Array);
    match (names, attributes.get("_ARRAY_DIMENSIONS")) {
        (None, _) => return Err(cannot(format, "names for some axes and not for others", hint)),
        (Some(names), Some(there)) if *there != names => {
            return Err(cannot(format, "axes with other names than `_ARRAY_DIMENSIONS` has", hint));
        }
        (Some(names), _) => attributes.insert("_ARRAY_DIMENSIONS", names),
    };
    Ok(attributes)
}

/// The fill value out of a document, its oddities noted. That of a record may be spelled as it is stored.
fn parse_fill(
    data_type: &crate::data_type::DataType,
    json: &Json,
    dialect: Dialect,
    codecs: &[crate::codec::CodecSpec],
    reading: &mut Reading<'_>,
) -> Result<Option<crate::data_type::FillValue>, MetadataError> {
    let data_type = data_type.stored_in(Some(crate::metadata::stored_endian(codecs)));
    fill_value::parse(&data_type, json, dialect, reading.strictness, &mut reading.warnings)
}

/// What a dialect cannot say.
fn cannot(format: &'static str, what: impl Into<String>, hint: impl Into<String>) -> MetadataError {
    MetadataError::CannotSpell { format, what: what.into(), hint: hint.into() }
}

/// The type in a dialect's words, or what it cannot say.
fn spell_type(
    array: &ArrayMetadata,
    dialect: Dialect,
    format: &'static str,
) -> Result<Json, MetadataError> {
    let spelled = |dialect| array.data_type.to_metadata(dialect, array.endian());
    spelled(dialect).ok_or_else(|| {
        let mut hint = String::from("choose another type");
        for other in [Dialect::V3, Dialect::V2, Dialect::Draft] {
            if spelled(other).is_some() {
                hint.push_str(&format!(", or {other}"));
            }
        }
        cannot(format, format!("the data type `{}`", array.data_type), hint)
    })
}

/// The fill value in a dialect's words.
fn spell_fill(array: &ArrayMetadata, dialect: Dialect) -> Result<Json, MetadataError> {
    let data_type = array.data_type.stored_in(Some(array.endian()));
    let json = fill_value::to_json(&data_type, array.fill_value.as_ref(), dialect)?;
    // Only v2 has words for a NaN that are not exact (Z2-051).
    if dialect == Dialect::V2 {
        let strictness = crate::dialect::Strictness::Strict;
        let back = fill_value::parse(&data_type, &json, dialect, strictness, &mut Vec::new());
        if back.is_ok_and(|back| back != array.fill_value) {
            return Err(cannot(
                "v2",
                "a NaN with these bits as fill value",
                "choose v3, or a plain NaN",
            ));
        }
    }
    Ok(json)
}

/// The chunk shape, which v2 and the drafts must have.
fn spell_chunk_shape(
    array: &ArrayMetadata,
    format: &'static str,
) -> Result<Vec<u64>, MetadataError> {
    array.chunk_shape().ok_or_else(|| {
        cannot(format, "chunks of different shapes", "choose chunks of one shape, or v3")
    })
}

/// The codecs behind the order of axes, in v2 and the drafts: `bytes`, or for objects the first filter, which
/// also tells what they are (Z2-040). In old files that is the compressor.
fn serialized(
    parsed: &mut ParsedType,
    declared: &Json,
    mut codecs: Vec<CodecSpec>,
    reading: &Reading<'_>,
    unsupported: &mut Vec<Unsupported>,
) -> Result<Vec<CodecSpec>, MetadataError> {
    let kind = declared.as_object().and_then(|object| object.get("type")).unwrap_or(declared);
    if kind.as_str() != Some("|O") {
        let endian = parsed.endian.unwrap_or(Endian::Little);
        codecs.insert(0, crate::metadata::bytes_codec(&parsed.data_type, endian));
        return Ok(codecs);
    }
    let Some(first) = codecs.first() else {
        let why = "objects need a codec that makes bytes of them, such as `vlen-utf8`";
        return Err(invalid("filters", why));
    };
    match variable::from_filter(first, reading.registry) {
        Ok(None) => {}
        Ok(Some(data_type)) => {
            parsed.data_type = data_type;
            return Ok(codecs);
        }
        Err(MetadataError::Unsupported(lack)) => {
            unsupported.push(lack);
            return Ok(codecs);
        }
        Err(invalid) => return Err(invalid),
    }
    // Any codec on bytes is one for these; whoever is not known here may be one for objects.
    let context = ChunkContext::new(CoreType::Uint8, vec![]);
    match reading.registry.build_codec(first, &context) {
        Err(MetadataError::Unsupported(lack)) => unsupported.push(lack),
        _ => {
            let why = format!(
                "`{}` makes no bytes of objects; the first codec must, such as `vlen-utf8`",
                first.name
            );
            return Err(invalid("filters", why));
        }
    }
    Ok(codecs)
}

/// An array's chain as v2 and the drafts see it: axis order, byte order, then codecs on bytes.
struct FlatChain<'a> {
    f_order: bool,
    /// A memory layout by extension, which only the drafts know.
    layout: Option<&'a crate::codec::CodecSpec>,
    bytes: &'a [crate::codec::CodecSpec],
}

/// Splits a chain that is already in the dialect's words.
fn flat_chain<'a>(
    array: &'a ArrayMetadata,
    format: &'static str,
) -> Result<FlatChain<'a>, MetadataError> {
    let mut codecs = &array.codecs[..];
    let reverse = crate::metadata::reversing_codec(array.rank());
    let f_order = codecs
        .first()
        .is_some_and(|c| c.name == "transpose" && c.configuration == reverse.configuration);
    if f_order {
        codecs = &codecs[1..];
    }
    let layout = codecs.first().filter(|codec| !f_order && codec.dialect == Dialect::Draft);
    if layout.is_some() {
        codecs = &codecs[1..];
    }
    match codecs.split_first() {
        // The filter that makes bytes of objects is a codec like those behind it (Z2-040).
        Some((first, _)) if array.data_type.is_variable() && first.dialect == Dialect::V2 => {
            Ok(FlatChain { f_order, layout, bytes: codecs })
        }
        Some((first, rest)) if first.name == "bytes" => {
            Ok(FlatChain { f_order, layout, bytes: rest })
        }
        Some((first, _)) => Err(cannot(
            format,
            format!("the codec `{}` before `bytes`", first.name),
            "choose v3, or other codecs",
        )),
        None => Err(cannot(format, "a chain without `bytes`", "choose other codecs")),
    }
}

/// The key `rest` below the node's own prefix, in the formats that keep a node under its path.
fn key_below(path: &NodePath, rest: &str) -> Result<StoreKey, StoreError> {
    if path.is_root() {
        StoreKey::new(rest)
    } else {
        StoreKey::new(format!("{}/{rest}", path.relative()))
    }
}

fn prefix_of(path: &NodePath) -> Result<StorePrefix, StoreError> {
    if path.is_root() {
        Ok(StorePrefix::root())
    } else {
        StorePrefix::new(format!("{}/", path.relative()))
    }
}

/// The kind whose document is there, the first of them deciding.
fn kind_by_key<const N: usize>(
    kinds: [(Result<StoreKey, StoreError>, NodeKind); N],
    found: &Documents,
) -> Option<NodeKind> {
    let is_there = |key: &Result<StoreKey, StoreError>| {
        key.as_ref().is_ok_and(|key| found.iter().any(|(there, _)| there == key))
    };
    kinds.into_iter().find(|(key, _)| is_there(key)).map(|(_, kind)| kind)
}

/// The children that prefixes alone let suppose; their documents decide (F-113, Z2-005). Reserved names are noted and
/// left out (F-020, decision 0137).
fn supposed_children(
    path: &NodePath,
    listing: &Listing,
    reserved: &str,
    warnings: &mut Vec<String>,
) -> Vec<Child> {
    let mut children = Vec::new();
    for name in listing.prefixes.iter().map(last_segment) {
        match path.child(name) {
            Ok(path) if !name.starts_with(reserved) => {
                children.push(Child { path, kind: None, implicit: false });
            }
            _ => warnings.push(format!("`{name}` is a name that no node may have; left out")),
        }
    }
    children
}

/// The last segment of a prefix.
fn last_segment(prefix: &StorePrefix) -> &str {
    let inner = prefix.as_str().trim_end_matches('/');
    inner.rsplit('/').next().unwrap_or(inner)
}

/// A member that breaks its rules.
fn invalid(member: &str, why: impl Into<String>) -> MetadataError {
    MetadataError::invalid(member, why)
}
