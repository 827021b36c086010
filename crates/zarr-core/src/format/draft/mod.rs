//! How do the v3 drafts keep the model? (spec: D-070 … D-174)
//!
//! Read is what zarr-python 2.12 to 2.18, GDAL and zarrita wrote; written is the text of 2020 in the
//! subset that zarr-python 2.18 opens (DECISIONS 24).

mod array;

use self::array::{array_document, parse_array};
use super::{Child, Documents, Format, Place};
use super::{attributes, document, kind_by_key, last_segment, parse_object};
use crate::dialect::{Dialect, Reading};
use crate::error::{AccessError, MetadataError, StoreError, Unsupported};
use crate::json::{Json, Object};
use crate::metadata::{GroupMetadata, NodeKind, NodeMetadata};
use crate::path::NodePath;
use crate::store::{Listing, StoreKey, StorePrefix};

/// The URI of the draft's core protocol, `U` of the specification.
pub(crate) const CORE: &str = "https://purl.org/zarr/spec/protocol/core/3.0";

/// The draft of 2020: documents below `meta/`, chunks below `data/`, an entry point `zarr.json`.
#[derive(Clone, Debug)]
pub struct Draft2020 {
    suffix: String,
    /// Why no element of the hierarchy can be read, if so.
    obstacles: Vec<Unsupported>,
}

impl Default for Draft2020 {
    fn default() -> Self {
        Self::new()
    }
}

impl Draft2020 {
    /// The format as it is written.
    pub fn new() -> Self {
        Draft2020 { suffix: ".json".into(), obstacles: Vec::new() }
    }

    /// The format that an entry point document describes (D-070 … D-077).
    ///
    /// # Errors
    /// For an entry point that breaks the specification, or is none of these drafts'.
    pub(crate) fn from_entry_point(
        object: &Object,
        reading: &mut Reading<'_>,
    ) -> Result<Self, MetadataError> {
        let text = |member: &'static str| match object.get(member) {
            None => Err(MetadataError::Missing(member)),
            Some(Json::String(text)) => Ok(text.as_str()),
            Some(other) => {
                Err(MetadataError::invalid(member, format!("{} stands for a URI", other.kind())))
            }
        };
        let unsupported = |what: &'static str, name: &str, hint: &str| Unsupported {
            what,
            name: name.into(),
            hint: hint.into(),
        };
        // D-071, D-072.
        let format = text("zarr_format")?;
        let version = format
            .strip_prefix("https://")
            .or_else(|| format.strip_prefix("http://"))
            .and_then(|rest| rest.strip_prefix("purl.org/zarr/spec/protocol/core/"));
        if version.and_then(|v| v.split('.').next()) != Some("3") {
            let hint = "known is the core protocol 3.0 of 2019 to 2020";
            return Err(unsupported("format", format, hint).into());
        }
        // D-073.
        let encoding = text("metadata_encoding")?;
        if encoding != CORE && encoding != CORE.replace("https", "http") {
            return Err(unsupported(
                "metadata encoding",
                encoding,
                "documents are read as JSON only",
            )
            .into());
        }
        // D-074.
        let suffix = match object.get("metadata_key_suffix") {
            Some(_) => text("metadata_key_suffix")?.to_owned(),
            None => {
                tolerate(reading, "metadata_key_suffix", "it is missing; taken as `.json`")?;
                ".json".into()
            }
        };
        if !suffix.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b)) {
            let why = format!("`{}` cannot end a key", suffix.escape_debug());
            return Err(MetadataError::invalid("metadata_key_suffix", why));
        }
        let mut obstacles = Vec::new();
        extensions(object, reading, &mut obstacles)?;
        for name in object.iter().map(|(name, _)| name) {
            if !["zarr_format", "metadata_encoding", "metadata_key_suffix", "extensions"]
                .contains(&name)
            {
                tolerate(reading, name, "it is not a member of an entry point")?;
            }
        }
        Ok(Draft2020 { suffix, obstacles })
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
        let path = if path.is_empty() {
            NodePath::root()
        } else {
            NodePath::new(path.strip_prefix('/')?).ok()?
        };
        let good = path.names().all(|name| name_flaw(name).is_none());
        good.then_some((path, kind))
    }

    /// Whether a key looks like a document's but names no node.
    fn note_odd(&self, key: &StoreKey, warnings: &mut Vec<String>) {
        let documents = [format!(".array{}", self.suffix), format!(".group{}", self.suffix)];
        if documents.iter().any(|end| key.as_str().ends_with(end.as_str())) {
            warnings.push(format!("`{key}` has a name that no node may have; left out"));
        }
    }
}

fn path_or_nothing(path: &NodePath) -> &str {
    if path.is_root() { "" } else { path.as_str() }
}

/// D-010 … D-013.
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

impl Format for Draft2020 {
    fn dialect(&self) -> Dialect {
        Dialect::Draft
    }

    fn name(&self) -> &'static str {
        "draft-2020"
    }

    fn check_name(&self, name: &str) -> Result<(), AccessError> {
        match name_flaw(name) {
            Some(why) => {
                Err(AccessError::Argument(format!("`{name}` cannot name a node: it {why}")))
            }
            None => Ok(()),
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
        let at = |key: Result<StoreKey, StoreError>| {
            let key = key.ok()?;
            found.iter().find(|(k, _)| *k == key).map(|(_, bytes)| bytes)
        };
        let (array, group) = (at(self.array_key(path)), at(self.group_key(path)));
        if array.is_some() && group.is_some() {
            // D-165.
            reading
                .tolerate("both an array's and a group's document are here; the array is taken")
                .map_err(MetadataError::Json)?;
        }
        if let Some(bytes) = array {
            let mut array = parse_array(parse_object(bytes, false, reading)?, reading)?;
            array.obstacles.extend(self.obstacles.iter().cloned());
            return Ok(Some(NodeMetadata::Array(Box::new(array))));
        }
        let Some(bytes) = group else { return Ok(None) };
        let mut object = parse_object(bytes, false, reading)?;
        if !object.contains("attributes") {
            tolerate(reading, "attributes", "it is missing; taken as empty")?;
        }
        // D-121.
        if let Some(Json::Array(list)) = object.get("extensions")
            && let Some(must) = list.iter().find(|e| must_understand(e) != Some(false))
        {
            return Err(unknown_extension(must).into());
        }
        let attributes = attributes(object.remove("attributes").as_ref(), "attributes")?;
        Ok(Some(NodeMetadata::Group(GroupMetadata {
            attributes,
            unknown: object,
            implicit: false,
        })))
    }

    fn kind(&self, path: &NodePath, found: &Documents) -> Result<Option<NodeKind>, MetadataError> {
        let kinds =
            [(self.array_key(path), NodeKind::Array), (self.group_key(path), NodeKind::Group)];
        Ok(kind_by_key(kinds, found))
    }

    fn create(&self, path: &NodePath, node: &NodeMetadata) -> Result<Documents, MetadataError> {
        let (key, object) = match node {
            NodeMetadata::Array(array) => (self.array_key(path), array_document(array)?),
            NodeMetadata::Group(group) => {
                (self.group_key(path), Object::new().with("attributes", group.attributes.clone()))
            }
        };
        let key = key.map_err(|e| MetadataError::Json(e.to_string()))?;
        Ok(vec![(key, document(object))])
    }

    /// D-150, and exactly the four members that zarr-python 2.18 wants.
    fn entry_point(&self) -> Result<Documents, MetadataError> {
        let object = Object::new()
            .with("zarr_format", CORE)
            .with("metadata_encoding", CORE)
            .with("metadata_key_suffix", self.suffix.as_str())
            .with("extensions", Json::Array(Vec::new()));
        let key = StoreKey::new("zarr.json").expect("a good key");
        Ok(vec![(key, document(object))])
    }

    fn groups_are_explicit(&self) -> bool {
        false
    }

    fn attributes_place(&self, path: &NodePath, kind: NodeKind) -> Result<Place, StoreError> {
        let (key, may_be_absent) = match kind {
            NodeKind::Array => (self.array_key(path)?, false),
            NodeKind::Group => (self.group_key(path)?, true),
        };
        Ok(Place { key, member: Some("attributes"), may_be_absent })
    }

    fn shape_place(&self, path: &NodePath) -> Result<Place, StoreError> {
        Ok(Place { key: self.array_key(path)?, member: Some("shape"), may_be_absent: false })
    }

    /// Q5: a member of that form would be taken for codecs.
    fn check_attributes(&self, attributes: &Object) -> Result<(), AccessError> {
        match attributes.get("filters").is_some_and(is_filter_list) {
            true => Err(AccessError::Argument(
                "attribute `filters` would be read as codecs in this format; choose another name"
                    .into(),
            )),
            false => Ok(()),
        }
    }

    fn chunk_prefix(&self, path: &NodePath) -> Result<StorePrefix, StoreError> {
        StorePrefix::new(format!("data/root{}/", path_or_nothing(path)))
    }

    fn children_prefix(&self, path: &NodePath) -> Result<StorePrefix, StoreError> {
        StorePrefix::new(format!("meta/root{}/", path_or_nothing(path)))
    }

    /// D-160.
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
        for name in listing.prefixes.iter().map(last_segment) {
            match path.child(name).ok().filter(|_| name_flaw(name).is_none()) {
                Some(path) if !children.iter().any(|c| c.path == path) => {
                    add(&mut children, path, NodeKind::Group, true);
                }
                Some(_) => {}
                None => {
                    warnings.push(format!("`{name}` is a name that no node may have; left out"))
                }
            }
        }
        children.sort_by(|a, b| a.path.cmp(&b.path));
        children
    }

    /// D-162: `meta/`, since the root's own document does not lie below `meta/root/`.
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

    /// D-170 … D-174: documents first, both of them, since nobody knows who made the other kind.
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

fn tolerate(reading: &mut Reading<'_>, member: &str, what: &str) -> Result<(), MetadataError> {
    reading
        .tolerate(format!("`{member}`: {what}"))
        .map_err(|_| MetadataError::invalid(member, what))
}

fn must_understand(extension: &Json) -> Option<bool> {
    extension.as_object()?.get("must_understand")?.as_bool()
}

fn unknown_extension(extension: &Json) -> Unsupported {
    let uri = extension.as_object().and_then(|o| o.get("extension")).and_then(Json::as_str);
    Unsupported {
        what: "extension",
        name: uri.unwrap_or("?").into(),
        hint: "it must be understood, and is not".into(),
    }
}

/// D-075 … D-077.
fn extensions(
    object: &Object,
    reading: &mut Reading<'_>,
    obstacles: &mut Vec<Unsupported>,
) -> Result<(), MetadataError> {
    let list = match object.get("extensions") {
        Some(Json::Array(list)) => list,
        Some(other) => {
            return Err(MetadataError::invalid(
                "extensions",
                format!("{} stands for a list", other.kind()),
            ));
        }
        None => return tolerate(reading, "extensions", "it is missing; taken as empty"),
    };
    for extension in list {
        let uri = extension.as_object().and_then(|o| o.get("extension")).and_then(Json::as_str);
        let Some(uri) = uri else {
            return Err(MetadataError::invalid(
                "extensions",
                "each is an object with a URI `extension`",
            ));
        };
        let must = extension.as_object().and_then(|o| o.get("must_understand"));
        match must {
            Some(Json::Bool(true)) => obstacles.push(unknown_extension(extension)),
            Some(Json::Bool(false)) => {
                reading.warnings.push(format!("extension `{uri}` is not known; ignored"))
            }
            // Q16: a missing one is taken as true by a tolerant reader.
            None => {
                tolerate(reading, "extensions", "`must_understand` is missing; taken as true")?;
                obstacles.push(unknown_extension(extension));
            }
            Some(_) => {
                return Err(MetadataError::invalid(
                    "extensions",
                    "`must_understand` is `true` or `false`",
                ));
            }
        }
    }
    Ok(())
}

/// Q5: a list of objects, each with a string `id`, is what zarr-python hides its filters in.
fn is_filter_list(json: &Json) -> bool {
    let is_codec = |json: &Json| {
        json.as_object().and_then(|o| o.get("id")).is_some_and(|id| id.as_str().is_some())
    };
    json.as_array().is_some_and(|list| !list.is_empty() && list.iter().all(is_codec))
}
