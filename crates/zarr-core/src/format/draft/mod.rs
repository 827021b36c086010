//! The v3 drafts as a format (D-070 … D-174).
//!
//! Read is what the texts of 2019 and 2020 say, and what zarr-python 2.12 to 2.18, GDAL and zarrita
//! wrote; written is the text of 2020 in the form that zarr-python 2.18 opens (docs/internals/design/documents.md).

mod array;
mod entry;
mod extensions;
mod filters;
mod members;
mod shards;
mod single_document;

use std::sync::Arc;

pub(crate) use self::entry::{node_below as node_below_entry_point, parse as parse_entry_point};
use self::members::parse_group;
pub(crate) use self::single_document::SingleDocument;
use super::children::kind_by_key;
use super::encoding::{CORE, JsonEncoding, MetadataEncoding};
use super::members::{document, parse_object};
use super::{Child, DocumentMember, Documents, Format, Reading};
use crate::dialect::{Dialect, Era};
use crate::error::{AccessError, MetadataError, StoreError, Unsupported};
use crate::json::{Json, Object};
use crate::metadata::{GroupMetadata, NodeKind, NodeMetadata};
use crate::path::NodePath;
use crate::store::{Listing, StoreKey, StorePrefix};

/// The drafts with an entry point: documents below `meta/`, chunks below `data/`.
#[derive(Clone, Debug)]
pub struct Draft {
    era: Era,
    suffix: String,
    encoding: Arc<dyn MetadataEncoding>,
    /// Whether what is written is the plain text of 2020, where zarr-python 2.18 requires another form.
    text: bool,
    /// Why nothing here is written, if so.
    frozen: Option<String>,
    /// Why no element of the hierarchy can be read, if so.
    unsupported: Vec<Unsupported>,
    /// Whether the suffix is still a guess.
    needs_suffix: bool,
}

impl Default for Draft {
    fn default() -> Self {
        Self::new()
    }
}

impl Draft {
    /// The text of 2020 in the form that zarr-python 2.18 opens, where it knows one (docs/internals/design/documents.md).
    pub fn new() -> Self {
        Draft {
            era: Era::E4,
            suffix: ".json".into(),
            encoding: Arc::new(JsonEncoding),
            text: false,
            frozen: None,
            unsupported: Vec::new(),
            needs_suffix: false,
        }
    }

    /// The text of 2020 without regard for zarr-python: scalars at `c`, compressed if asked, raw types
    /// as `rN`, no document for the root group unless there is something to say in it.
    #[must_use]
    pub fn plain_text(mut self) -> Self {
        self.text = true;
        self
    }

    /// As [`Draft::plain_text`], if `plain`.
    pub(crate) fn with_plain_text(mut self, plain: bool) -> Self {
        self.text |= plain;
        self
    }

    /// Documents in another encoding, whose URI and key suffix the entry point names (D-073, D-074).
    #[must_use]
    pub fn encoded(mut self, encoding: Arc<dyn MetadataEncoding>) -> Self {
        self.suffix = encoding.key_suffix().to_owned();
        self.encoding = encoding;
        self
    }

    fn array_key(&self, path: &NodePath) -> Result<StoreKey, StoreError> {
        StoreKey::new(format!("meta/root{}.array{}", path_or_nothing(path), self.suffix))
    }

    fn group_key(&self, path: &NodePath) -> Result<StoreKey, StoreError> {
        StoreKey::new(format!("meta/root{}.group{}", path_or_nothing(path), self.suffix))
    }

    /// The node that a document's key names (D-145).
    fn node_of(&self, key: &StoreKey) -> Option<(NodePath, NodeKind)> {
        let rest = key.as_str().strip_prefix("meta/root")?.strip_suffix(&self.suffix)?;
        let (path, kind) = match rest.strip_suffix(".array") {
            Some(path) => (path, NodeKind::Array),
            None => (rest.strip_suffix(".group")?, NodeKind::Group),
        };
        let path = match path.strip_prefix('/') {
            None if path.is_empty() => NodePath::root(),
            // Names are not empty, though people may leave them so (D-010).
            Some(names) if !names.is_empty() && !names.ends_with('/') => {
                NodePath::new(names).ok()?
            }
            _ => return None,
        };
        let good = path.names().all(|name| name_flaw(name).is_none());
        good.then_some((path, kind))
    }

    /// Whether a key looks like a document's but names no node.
    fn note_odd(&self, key: &StoreKey, warnings: &mut Vec<String>) {
        let documents = [format!(".array{}", self.suffix), format!(".group{}", self.suffix)];
        if documents.iter().any(|end| key.as_str().ends_with(end.as_str())) {
            warnings.push(format!("skipped `{key}`: it does not have a valid node name"));
        }
    }
}

fn path_or_nothing(path: &NodePath) -> &str {
    if path.is_root() { "" } else { path.as_str() }
}

/// Why a name cannot be that of a new node (D-010 … D-013).
fn name_flaw(name: &str) -> Option<&'static str> {
    if !name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b)) {
        Some("has characters other than a-z A-Z 0-9 - _ .")
    } else if name.bytes().all(|b| b == b'.') {
        Some("consists of periods")
    } else if name.len() > 255 {
        Some("is longer than 255 characters")
    } else {
        None
    }
}

impl Format for Draft {
    fn dialect(&self) -> Dialect {
        Dialect::Draft
    }

    fn era(&self) -> Option<Era> {
        Some(self.era)
    }

    fn frozen(&self) -> Option<&str> {
        self.frozen.as_deref()
    }

    fn encoding(&self) -> &dyn MetadataEncoding {
        &*self.encoding
    }

    fn check_name(&self, name: &str) -> Result<(), AccessError> {
        match name_flaw(name) {
            None => Ok(()),
            Some(why) => {
                Err(AccessError::Argument(format!("`{name}` cannot name a node: it {why}")))
            }
        }
    }

    /// D-163: the array's document decides first.
    fn document_keys(&self, path: &NodePath) -> Result<Vec<StoreKey>, StoreError> {
        Ok(vec![self.array_key(path)?, self.group_key(path)?])
    }

    fn parse(
        &self,
        path: &NodePath,
        found: &Documents,
        reading: &mut Reading<'_>,
    ) -> Result<Option<NodeMetadata>, MetadataError> {
        let [array, group] = [self.array_key(path), self.group_key(path)].map(|key| {
            let key = key.ok()?;
            found.iter().find(|(found, _)| *found == key).map(|(_, bytes)| bytes)
        });
        if array.is_some() && group.is_some() {
            reading
                .tolerate("found both an array's and a group's document; using the array")
                .map_err(MetadataError::Json)?;
        }
        if let Some(bytes) = array {
            let object = parse_object(bytes, &*self.encoding, false, reading)?;
            let mut array = array::parse(object, self.era, !self.text, reading)?;
            array.unsupported.extend(self.unsupported.iter().cloned());
            return Ok(Some(NodeMetadata::Array(Box::new(array))));
        }
        let Some(bytes) = group else { return Ok(None) };
        let object = parse_object(bytes, &*self.encoding, false, reading)?;
        parse_group(object, reading).map(|group| Some(NodeMetadata::Group(group)))
    }

    fn kind(&self, path: &NodePath, found: &Documents) -> Result<Option<NodeKind>, MetadataError> {
        let kinds =
            [(self.array_key(path), NodeKind::Array), (self.group_key(path), NodeKind::Group)];
        Ok(kind_by_key(kinds, found))
    }

    fn create(&self, path: &NodePath, node: &NodeMetadata) -> Result<Documents, MetadataError> {
        let (key, object) = match node {
            NodeMetadata::Array(array) => {
                (self.array_key(path), array::document(array, self.text)?)
            }
            NodeMetadata::Group(group) => {
                (self.group_key(path), Object::new().with("attributes", group.attributes.clone()))
            }
        };
        let key = key.map_err(|e| MetadataError::Json(e.to_string()))?;
        Ok(vec![(key, document(object, &*self.encoding)?)])
    }

    /// D-150, and exactly the four members that zarr-python 2.18 requires.
    fn entry_point(&self) -> Result<Documents, MetadataError> {
        let object = Object::new()
            .with("zarr_format", CORE)
            .with("metadata_encoding", self.encoding.uri())
            .with("metadata_key_suffix", self.suffix.as_str())
            .with("extensions", Json::Array(Vec::new()));
        let key = StoreKey::new("zarr.json").expect("a good key");
        let mut documents = vec![(key, document(object, &JsonEncoding)?)];
        if !self.text {
            // zarr-python 2.18 opens no hierarchy whose root is implicit (draft-v3.md 2.3).
            let root = NodeMetadata::Group(GroupMetadata::default());
            documents.extend(self.create(&NodePath::root(), &root)?);
        }
        Ok(documents)
    }

    fn groups_are_explicit(&self) -> bool {
        false
    }

    fn attributes_member(
        &self,
        path: &NodePath,
        kind: NodeKind,
    ) -> Result<DocumentMember, StoreError> {
        let (key, may_be_absent) = match kind {
            NodeKind::Array => (self.array_key(path)?, false),
            NodeKind::Group => (self.group_key(path)?, true),
        };
        Ok(DocumentMember { key, member: Some("attributes"), may_be_absent })
    }

    fn shape_member(&self, path: &NodePath) -> Result<DocumentMember, StoreError> {
        Ok(DocumentMember::new(self.array_key(path)?, "shape"))
    }

    /// Q5: a list of codecs among an array's attributes is its filters.
    fn take_hidden(&self, kind: NodeKind, attributes: &mut Object) -> Object {
        if kind == NodeKind::Array && filters::are_hidden_in(attributes) {
            filters::take(attributes)
        } else {
            Object::new()
        }
    }

    fn chunk_prefix(&self, path: &NodePath) -> Result<StorePrefix, StoreError> {
        let data = if self.era <= Era::E2 { "data" } else { "data/root" };
        StorePrefix::new(format!("{data}{}/", path_or_nothing(path)))
    }

    fn children_prefix(&self, path: &NodePath) -> Result<StorePrefix, StoreError> {
        StorePrefix::new(format!("meta/root{}/", path_or_nothing(path)))
    }

    fn children(
        &self,
        path: &NodePath,
        listing: &Listing,
        warnings: &mut Vec<String>,
    ) -> Vec<Child> {
        let mut children: Vec<Child> = Vec::new();
        for key in &listing.keys {
            match self.node_of(key) {
                Some((path, kind)) => add(&mut children, path, kind, false),
                None => self.note_odd(key, warnings),
            }
        }
        for name in listing.prefixes.iter().map(StorePrefix::name) {
            let child = if name_flaw(name).is_none() { path.child(name).ok() } else { None };
            match child {
                Some(path) if !children.iter().any(|c| c.path == path) => {
                    add(&mut children, path, NodeKind::Group, true);
                }
                Some(_) => {}
                None => warnings.push(format!("skipped `{name}`: it is not a valid node name")),
            }
        }
        children.sort_by(|a, b| a.path.cmp(&b.path));
        children
    }

    /// D-162: `meta/`, since the root's own document is not below `meta/root/`.
    fn tree_prefix(&self) -> Option<StorePrefix> {
        Some(StorePrefix::new("meta/").expect("a good prefix"))
    }

    fn tree(&self, path: &NodePath, keys: &[StoreKey], warnings: &mut Vec<String>) -> Vec<Child> {
        let mut nodes = std::collections::BTreeMap::new();
        for key in keys {
            let Some((node, kind)) = self.node_of(key) else {
                self.note_odd(key, warnings);
                continue;
            };
            for ancestor in node.ancestors() {
                nodes.entry(ancestor).or_insert((NodeKind::Group, true));
            }
            let entry = nodes.entry(node).or_insert((kind, false));
            // D-165: the array wins.
            *entry = (entry.0.max(kind), false);
        }
        let nodes = nodes.into_iter().filter(|(node, _)| node.is_within(path));
        nodes.map(|(path, (kind, implicit))| Child { path, kind: Some(kind), implicit }).collect()
    }

    /// D-170 … D-174: both documents first, since another writer may have made the other kind.
    fn erasure(&self, path: &NodePath) -> Result<(Vec<StoreKey>, Vec<StorePrefix>), StoreError> {
        Ok((
            vec![self.array_key(path)?, self.group_key(path)?],
            vec![self.children_prefix(path)?, self.chunk_prefix(path)?],
        ))
    }
}

fn add(children: &mut Vec<Child>, path: NodePath, kind: NodeKind, implicit: bool) {
    match children.iter_mut().find(|child| child.path == path) {
        Some(child) => child.kind = child.kind.max(Some(kind)),
        None => children.push(Child { path, kind: Some(kind), implicit }),
    }
}
