//! Reads a document of May 2019, before the drafts had storage keys (draft-v3.md 2.2, step 4).

use super::array;
use super::members::{is_core, parse_group};
use crate::dialect::{Dialect, Era};
use crate::error::{AccessError, MetadataError, StoreError};
use crate::format::Reading;
use crate::format::encoding::JsonEncoding;
use crate::format::members::{cannot, parse_object};
use crate::format::{Child, DocumentMember, Documents, Format};
use crate::json::Json;
use crate::metadata::{NodeKind, NodeMetadata};
use crate::path::NodePath;
use crate::store::{Listing, StoreKey, StorePrefix};

/// One document, describing the only node there is. Its chunks lie where the caller says.
#[derive(Clone, Debug)]
pub(crate) struct SingleDocument {
    key: StoreKey,
    chunks: StorePrefix,
    era: Era,
    kind: NodeKind,
    frozen: String,
}

impl SingleDocument {
    /// The format of what a document at `key` describes, its chunks below `chunks`; `None` if the
    /// document is none of May 2019.
    pub fn recognise(
        key: &StoreKey,
        bytes: &[u8],
        chunks: StorePrefix,
        asked: Option<Era>,
    ) -> Option<SingleDocument> {
        let (json, _) = Json::parse_tolerant(bytes).ok()?;
        let object = json.as_object()?;
        let uri = object.get("zarr_format").and_then(Json::as_str)?;
        if !is_core(uri) || object.contains("metadata_encoding") {
            return None;
        }
        let kind = if object.contains("shape") { NodeKind::Array } else { NodeKind::Group };
        // The first draft had neither groups nor attributes in the document (row 16).
        let first = kind == NodeKind::Array && !object.contains("attributes");
        let era = asked.unwrap_or(if first { Era::E0 } else { Era::E1 });
        let frozen = super::entry::frozen_era(era);
        Some(SingleDocument { key: key.clone(), chunks, era, kind, frozen })
    }

    /// Whether a document of May 2019 may have this name.
    pub fn may_be_called(name: &str) -> bool {
        name.ends_with(".json") || name.ends_with(".array")
    }

    /// The document's key.
    pub fn key(&self) -> &StoreKey {
        &self.key
    }
}

impl Format for SingleDocument {
    fn dialect(&self) -> Dialect {
        Dialect::Draft
    }

    fn era(&self) -> Option<Era> {
        Some(self.era)
    }

    fn frozen(&self) -> Option<&str> {
        Some(&self.frozen)
    }

    fn check_name(&self, _: &str) -> Result<(), AccessError> {
        Err(AccessError::Frozen(self.frozen.clone()))
    }

    fn document_keys(&self, path: &NodePath) -> Result<Vec<StoreKey>, StoreError> {
        Ok(if path.is_root() { vec![self.key.clone()] } else { Vec::new() })
    }

    fn parse(
        &self,
        _: &NodePath,
        found: &Documents,
        reading: &mut Reading<'_>,
    ) -> Result<Option<NodeMetadata>, MetadataError> {
        let Some((_, bytes)) = found.first() else { return Ok(None) };
        let object = parse_object(bytes, &JsonEncoding, false, reading)?;
        Ok(Some(match self.kind {
            NodeKind::Array => {
                let array = array::parse(object, self.era, false, reading)?;
                NodeMetadata::Array(Box::new(array))
            }
            NodeKind::Group => NodeMetadata::Group(parse_group(object, reading)?),
        }))
    }

    fn kind(&self, _: &NodePath, found: &Documents) -> Result<Option<NodeKind>, MetadataError> {
        Ok((!found.is_empty()).then_some(self.kind))
    }

    fn create(&self, _: &NodePath, _: &NodeMetadata) -> Result<Documents, MetadataError> {
        Err(cannot(self.name(), "anything new", "copy it to another format"))
    }

    fn groups_are_explicit(&self) -> bool {
        true
    }

    fn attributes_member(&self, _: &NodePath, _: NodeKind) -> Result<DocumentMember, StoreError> {
        Ok(DocumentMember::new(self.key.clone(), "attributes"))
    }

    fn shape_member(&self, _: &NodePath) -> Result<DocumentMember, StoreError> {
        Ok(DocumentMember::new(self.key.clone(), "shape"))
    }

    fn chunk_prefix(&self, _: &NodePath) -> Result<StorePrefix, StoreError> {
        Ok(self.chunks.clone())
    }

    fn children(&self, _: &NodePath, _: &Listing, _: &mut Vec<String>) -> Vec<Child> {
        Vec::new()
    }
}
