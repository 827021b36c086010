//! Defines what a format does: it says where documents are stored, and translates them.

use std::fmt::Debug;

use bytes::Bytes;

use super::encoding::{JsonEncoding, MetadataEncoding};
use super::members;
use super::reading::Reading;
use crate::dialect::{Dialect, Era};
use crate::error::{AccessError, MetadataError, StoreError};
use crate::grid::ChunkGrid;
use crate::json::{Json, Object};
use crate::metadata::{NodeKind, NodeMetadata};
use crate::path::NodePath;
use crate::registry::Registry;
use crate::store::{Listing, StoreKey, StorePrefix};

/// Documents found at their keys, or to be written there, in order.
pub type Documents = Vec<(StoreKey, Bytes)>;

/// Where in a document something stands.
#[derive(Clone, Debug)]
pub struct DocumentMember {
    /// The document's key.
    pub key: StoreKey,
    /// The member, or `None` if the document is the thing itself (`.zattrs`).
    pub member: Option<&'static str>,
    /// Whether the document may be absent, standing for an empty object.
    pub may_be_absent: bool,
}

impl DocumentMember {
    /// A member of a document that must be there.
    pub fn new(key: StoreKey, member: &'static str) -> DocumentMember {
        DocumentMember { key, member: Some(member), may_be_absent: false }
    }
}

/// A document as its dialect writes it.
#[derive(Clone, Debug)]
pub struct Correction {
    /// All of it.
    pub document: Bytes,
    /// What was corrected in the copies of other documents that it has; a sentence each.
    pub in_copies: Vec<String>,
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
    /// Whether the listing is enough to prove it a group without a document.
    pub implicit: bool,
}

/// A dialect's way of keeping the model.
pub trait Format: Debug + Send + Sync {
    /// The dialect of its documents.
    fn dialect(&self) -> Dialect;

    /// What it is called: `v2`, `v3`, `draft-2020`, `draft-2019`.
    fn name(&self) -> &'static str {
        self.era().map_or_else(|| self.dialect().name(), Era::format_name)
    }

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

    /// A document as this dialect writes it, if it is spelled as other writers are known to spell it and it can mean one thing
    /// only; [`Format::parse`] reads both alike, the one with a warning. `None` if there is nothing to correct.
    fn corrected(
        &self,
        key: &StoreKey,
        document: &[u8],
        registry: &Registry,
    ) -> Option<Correction> {
        let _ = (key, document, registry);
        None
    }

    /// The documents of a new node: the one that makes it a node first.
    ///
    /// # Errors
    /// [`MetadataError::CannotRepresent`] for what the dialect cannot represent.
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
    fn attributes_member(
        &self,
        path: &NodePath,
        kind: NodeKind,
    ) -> Result<DocumentMember, StoreError>;

    /// Where the shape of an array stands.
    ///
    /// # Errors
    /// [`StoreError::InvalidKey`] for a path that makes no keys.
    fn shape_member(&self, path: &NodePath) -> Result<DocumentMember, StoreError>;

    /// What of an array's document says where its elements are: its shape and its chunk grid.
    fn layout(&self, document: &Json) -> Layout {
        ["shape", "chunk_grid"].map(|member| document.as_object()?.get(member).cloned())
    }

    /// Gives an array's document another shape and another chunk grid.
    ///
    /// # Errors
    /// [`MetadataError::CannotRepresent`] if the dialect cannot represent the grid.
    fn regrid(
        &self,
        document: &mut Object,
        shape: &[u64],
        grid: &dyn ChunkGrid,
    ) -> Result<(), MetadataError> {
        let member = "chunk_grid";
        let Some(Json::Object(mut metadata)) = grid.to_metadata(self.dialect()) else {
            return Err(members::cannot(self.name(), "such a chunk grid", "choose v3 or a draft"));
        };
        // The drafts keep the separator of chunk keys there (D-045).
        let old = document.get(member).and_then(Json::as_object);
        if let Some(separator) = old.and_then(|old| old.get("separator")) {
            metadata.insert("separator", separator.clone());
        }
        document.insert("shape", shape);
        document.insert(member, metadata);
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
        path.prefix()
    }

    /// The prefix whose listing shows a group's children: its path, unless the format keeps documents
    /// apart.
    ///
    /// # Errors
    /// [`StoreError::InvalidKey`] for a path that makes no keys.
    fn children_prefix(&self, path: &NodePath) -> Result<StorePrefix, StoreError> {
        path.prefix()
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

    /// The prefix whose listing shows every node at once, where documents are apart from chunks (D-162).
    fn tree_prefix(&self) -> Option<StorePrefix> {
        None
    }

    /// What to erase with a node: its documents first, then prefixes (D-170 … D-174).
    ///
    /// # Errors
    /// [`StoreError::InvalidKey`] for a path that makes no keys.
    fn erasure(&self, path: &NodePath) -> Result<(Vec<StoreKey>, Vec<StorePrefix>), StoreError> {
        Ok((self.document_keys(path)?, vec![path.prefix()?]))
    }
}
