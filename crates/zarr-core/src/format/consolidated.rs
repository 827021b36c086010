//! Finds, reads and writes consolidated metadata (draft-v3.md 3.4, Z2-070, F-013, F-014).

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use super::members::INLINE;
use super::{Documents, Format, JsonEncoding, MetadataEncoding};
use crate::dialect::Dialect;
use crate::error::{MetadataError, StoreError};
use crate::json::{Json, Object, Oddities, Reader, Text};
use crate::path::NodePath;
use crate::store::{StoreKey, StorePrefix};

/// The key at which zarr-python 2.18 puts those of a draft by default.
pub(crate) const DRAFT: &str = "meta/root/consolidated/.zmetadata";

/// The group that zarr-python 2.18 creates for it.
pub(crate) const DRAFT_GROUP: &str = "/consolidated";

/// The member with the names of copies that may be out of date, since their documents are being changed. Other
/// implementations ignore it.
const INVALID: &str = "stale";

/// Whether a key is that of a document, so that its copy may be read in its place.
pub(crate) fn is_document(dialect: Dialect, key: &StoreKey) -> bool {
    let name = key.as_str().rsplit('/').next().unwrap_or_default();
    match dialect {
        Dialect::Draft => key.as_str() == "zarr.json" || key.as_str().starts_with("meta/"),
        Dialect::V2 => [".zarray", ".zgroup", ".zattrs"].contains(&name),
        Dialect::V3 => name == "zarr.json",
    }
}

/// Whether a document has nothing but copies, so that a hierarchy can be read without it.
pub(crate) fn is_optional(key: &StoreKey) -> bool {
    key.as_str() == DRAFT || key.as_str() == ".zmetadata"
}

/// A document that may have copies of documents.
#[derive(Clone, Debug)]
pub(crate) struct ConsolidatedDocument {
    /// The document.
    pub key: StoreKey,
    /// The prefix to which the names of its copies are relative.
    pub prefix: StorePrefix,
    dialect: Dialect,
}

/// Copies of documents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ConsolidatedEntries {
    /// The copies by the keys of the documents.
    pub entries: BTreeMap<StoreKey, Json>,
    /// Keys whose copies, present or not, must not be used: one for each change that has begun and is not known to have
    /// ended.
    pub invalid: Vec<StoreKey>,
}

/// The consolidated documents that may have copies of the documents of the node at `path`; the one at the root is last.
///
/// # Errors
/// [`StoreError::InvalidKey`] for a path that makes no keys.
pub(crate) fn documents_with_copies(
    dialect: Dialect,
    path: &NodePath,
) -> Result<Vec<ConsolidatedDocument>, StoreError> {
    let own = (dialect == Dialect::V2).then(|| path.clone());
    match dialect {
        Dialect::Draft => Ok(vec![ConsolidatedDocument::usual(dialect)?]),
        _ => own
            .into_iter()
            .chain(path.ancestors())
            .map(|at| ConsolidatedDocument::at(dialect, &at))
            .collect(),
    }
}

impl ConsolidatedDocument {
    /// The document where writers of a dialect put the copies of all documents of a hierarchy.
    ///
    /// # Errors
    /// None that can happen.
    pub fn usual(dialect: Dialect) -> Result<ConsolidatedDocument, StoreError> {
        Self::at(dialect, &NodePath::root())
    }

    /// The document where writers of a dialect put the copies of all documents from a group on.
    ///
    /// # Errors
    /// [`StoreError::InvalidKey`] for a path that makes no keys.
    pub fn at(dialect: Dialect, group: &NodePath) -> Result<ConsolidatedDocument, StoreError> {
        let prefix = group.prefix()?;
        let key = match dialect {
            Dialect::Draft => StoreKey::new(DRAFT)?,
            Dialect::V2 => prefix.key(".zmetadata")?,
            Dialect::V3 => prefix.key("zarr.json")?,
        };
        Ok(ConsolidatedDocument { key, prefix, dialect })
    }

    /// The same, at another key.
    pub fn moved(self, key: StoreKey) -> ConsolidatedDocument {
        ConsolidatedDocument { key, ..self }
    }

    /// Whether it may have a copy of this document.
    pub fn covers(&self, key: &StoreKey) -> bool {
        self.name(key).is_some()
    }

    /// The name that it gives the copy of a document.
    fn name<'k>(&self, key: &'k StoreKey) -> Option<&'k str> {
        if !is_document(self.dialect, key) {
            return None;
        }
        let below = self.prefix.strip(key)?;
        match self.dialect {
            // It has no copy of itself.
            Dialect::V3 => below.strip_suffix("/zarr.json"),
            Dialect::V2 | Dialect::Draft => Some(below),
        }
    }

    /// The document whose copy has this name.
    fn document(&self, name: &str) -> Result<StoreKey, MetadataError> {
        let key = match self.dialect {
            Dialect::V3 => self.prefix.key(&format!("{name}/zarr.json")),
            Dialect::V2 | Dialect::Draft => self.prefix.key(name),
        };
        key.map_err(|e| invalid(e.to_string()))
    }

    /// The keys of the documents that this document, whose value is `bytes`, has copies of: also where its form is not known, or
    /// where it is cut short, since its copies may be the only ones. Attributes of v2 that are empty say nothing, and do not count.
    pub fn described(&self, bytes: &Bytes) -> BTreeSet<StoreKey> {
        let Ok((whole, _)) = Json::parse_tolerant(bytes) else {
            if self.dialect == Dialect::V3 {
                return BTreeSet::new();
            }
            // Whatever stands between quotation marks and is called like a document is taken for its name.
            let text = String::from_utf8_lossy(bytes);
            return text.split('"').filter_map(|name| self.document_key(name)).collect();
        };
        let inline = match self.dialect {
            Dialect::V3 => whole.as_object().and_then(|whole| whole.get(INLINE)),
            Dialect::V2 | Dialect::Draft => Some(&whole),
        };
        let entries = inline.and_then(Json::as_object).and_then(|inline| inline.get("metadata"));
        let Some(entries) = entries.and_then(Json::as_object) else { return BTreeSet::new() };
        let mut described = BTreeSet::new();
        for (name, copy) in entries.iter() {
            let is_empty = copy.as_object().is_some_and(Object::is_empty);
            if is_empty && name.rsplit('/').next() == Some(".zattrs") {
                // It says nothing.
                continue;
            }
            described.extend(self.document_key(name));
        }
        described
    }

    /// The key of the document of this name; `None` if it is the name of none.
    fn document_key(&self, name: &str) -> Option<StoreKey> {
        let key = self.document(name).ok()?;
        is_document(self.dialect, &key).then_some(key)
    }

    /// The copies in this document, whose value is `bytes`; `None` if it is a group's document without any.
    ///
    /// # Errors
    /// For copies of a form that is not known.
    pub fn copies(&self, bytes: &Bytes) -> Result<Option<ConsolidatedEntries>, MetadataError> {
        let Some(parsed) = self.parse(bytes)? else { return Ok(None) };
        let entries = parsed.entries.into_iter().map(|(key, copy)| {
            let (json, _) = Json::parse_tolerant(&copy).map_err(MetadataError::Json)?;
            Ok((key, json))
        });
        let entries = entries.collect::<Result<_, MetadataError>>()?;
        Ok(Some(ConsolidatedEntries { entries, invalid: parsed.invalid }))
    }

    /// The text of each copy in the document; `None` if it is a group's document without any.
    fn parse(&self, bytes: &Bytes) -> Result<Option<CopiedText>, MetadataError> {
        let text = Text::of(bytes).map_err(MetadataError::Json)?;
        let mut found = Members::default();
        let mut others = Object::new();
        let mut is_there = self.dialect != Dialect::V3;
        let mut oddities = Oddities::default();
        let mut reader = text.reader(&mut oddities);
        let read = reader.members(|reader, name| {
            if self.dialect != Dialect::V3 {
                return found.read(&text, reader, &name);
            }
            if name != INLINE {
                others.insert(name, reader.value(1)?);
                return Ok(());
            }
            (found, is_there) = (Members::default(), true);
            if !(reader.members(|reader, name| found.read(&text, reader, &name))?) {
                is_there = reader.pass()? != "null"
            }
            Ok(())
        });
        read.map_err(MetadataError::Json)?;
        if !is_there {
            return Ok(None);
        }
        match self.dialect {
            // F-013: zarr-python before 3.1.4 may leave out `must_understand`.
            Dialect::V3 if found.kind.is_some_and(|kind| kind.as_str() != Some("inline")) => {
                return Err(invalid("its `kind` is not `inline`"));
            }
            Dialect::V2 | Dialect::Draft
                if found.format.as_ref().and_then(Json::as_u64) != Some(1) =>
            {
                return Err(invalid("`zarr_consolidated_format` is not 1"));
            }
            _ => {}
        }
        let Some(entries) = found.entries else {
            return Err(invalid("member `metadata`, an object of documents, is missing"));
        };
        let entries = entries.into_iter().map(|(name, copy)| Ok((self.document(&name)?, copy)));
        let invalid = found.invalid.as_ref().and_then(Json::as_array).unwrap_or_default();
        let invalid = invalid.iter().filter_map(Json::as_str).map(|name| self.document(name));
        Ok(Some(CopiedText {
            others,
            entries: entries.collect::<Result<_, MetadataError>>()?,
            invalid: invalid.collect::<Result<_, _>>()?,
        }))
    }

    /// The document with these copies in place of those that it has. `None` for `copies` removes them; the result is `None` if nothing
    /// is left.
    ///
    /// # Errors
    /// For a group's document that is broken.
    pub fn with_copies(
        &self,
        bytes: Option<&Bytes>,
        copies: Option<&ConsolidatedEntries>,
    ) -> Result<Option<Bytes>, MetadataError> {
        let whole = match bytes.map(|bytes| Json::parse_tolerant(bytes)) {
            None => None,
            Some(Ok((whole, _))) => Some(whole),
            Some(Err(e)) if self.dialect == Dialect::V3 => return Err(MetadataError::Json(e)),
            // It has nothing but copies, and is written again.
            Some(Err(_)) => None,
        };
        let is_there = whole.is_some();
        let mut whole = whole.as_ref().and_then(Json::as_object).cloned().unwrap_or_default();
        match (self.dialect, copies) {
            (Dialect::V3, _) if !is_there => return Ok(None),
            (Dialect::V3, None) => drop(whole.remove(INLINE)),
            (Dialect::V3, Some(copies)) => {
                let mut inline =
                    Object::new().with("kind", "inline").with("must_understand", false);
                self.write_entries(copies, &mut inline);
                whole.insert(INLINE, inline);
            }
            (Dialect::V2 | Dialect::Draft, None) => return Ok(None),
            (Dialect::V2 | Dialect::Draft, Some(copies)) => {
                whole.insert("zarr_consolidated_format", 1u64);
                self.write_entries(copies, &mut whole);
            }
        }
        Ok(Some(Json::Object(whole).to_pretty().into_bytes().into()))
    }

    fn write_entries(&self, copies: &ConsolidatedEntries, held: &mut Object) {
        let mut entries: Vec<(String, Json)> = Vec::with_capacity(copies.entries.len());
        for (key, copy) in &copies.entries {
            let mut name = self.name(key);
            if name.is_none() && self.dialect != Dialect::V3 {
                // What other writers put beside the documents stays: it may be nowhere else.
                name = self.prefix.strip(key);
            }
            if let Some(name) = name {
                entries.push((name.to_owned(), self.copy(copy)));
            }
        }
        // zarr-python 3 requires the children of one group next to each other.
        entries.sort_by_cached_key(|(name, _)| (name.matches('/').count(), name.clone()));
        held.insert("metadata", entries.into_iter().collect::<Object>());
        let invalid = copies.invalid.iter().filter_map(|key| self.name(key)).map(Json::from);
        if copies.invalid.is_empty() {
            drop(held.remove(INVALID))
        } else {
            drop(held.insert(INVALID, invalid.collect::<Json>()))
        }
    }

    /// The copy of a document. A v3 group's has no copies in it, and says so (T-32).
    fn copy(&self, document: &Json) -> Json {
        let mut copy = document.clone();
        if let (Dialect::V3, Json::Object(members)) = (self.dialect, &mut copy)
            && members.get("node_type").and_then(Json::as_str) == Some("group")
        {
            let none = Object::new().with("kind", "inline").with("must_understand", false);
            members.insert(INLINE, none.with("metadata", Object::new()));
        }
        copy
    }

    /// The documents that the copies replace, as they are stored, and the keys of those whose copies must not be used; `None`
    /// if this is a group's document without copies. In v3 this document is among them, without the copies.
    ///
    /// # Errors
    /// For copies of a form that is not known, and a copy that the format cannot write.
    pub fn documents(
        &self,
        format: &dyn Format,
        bytes: &Bytes,
    ) -> Result<Option<(Documents, Vec<StoreKey>)>, MetadataError> {
        let Some(parsed) = self.parse(bytes)? else { return Ok(None) };
        let mut documents = Documents::new();
        if self.dialect == Dialect::V3 {
            documents.push((self.key.clone(), Json::from(parsed.others).to_string().into()));
        }
        let encoding = format.encoding();
        for (key, copy) in parsed.entries {
            let is_json = encoding.uri() == JsonEncoding.uri() || key.as_str() == "zarr.json";
            let encoded = if is_json {
                Ok(copy)
            } else {
                Json::parse_tolerant(&copy)
                    .and_then(|(json, _)| encoding.encode(&json))
                    .map(Bytes::from)
            };
            documents.push((key, encoded.map_err(MetadataError::Json)?));
        }
        Ok(Some((documents, parsed.invalid)))
    }
}

/// The copies in a document, as text.
struct CopiedText {
    /// The other members of the document, in v3.
    others: Object,
    entries: Vec<(StoreKey, Bytes)>,
    invalid: Vec<StoreKey>,
}

/// The members of consolidated metadata.
#[derive(Default)]
struct Members {
    kind: Option<Json>,
    format: Option<Json>,
    entries: Option<Vec<(String, Bytes)>>,
    invalid: Option<Json>,
}

impl Members {
    /// Reads the value of the next member.
    fn read(&mut self, text: &Text, reader: &mut Reader<'_, '_>, name: &str) -> Result<(), String> {
        match name {
            "kind" => self.kind = Some(reader.value(0)?),
            "zarr_consolidated_format" => self.format = Some(reader.value(0)?),
            INVALID => self.invalid = Some(reader.value(0)?),
            "metadata" => {
                let mut entries = Vec::new();
                let is_object = reader.members(|reader, name| {
                    entries.push((name, text.part(reader.pass()?)));
                    Ok(())
                })?;
                self.entries = is_object.then_some(entries);
                if !is_object {
                    reader.pass()?;
                }
            }
            _ => drop(reader.pass()?),
        }
        Ok(())
    }
}

fn invalid(why: impl Into<String>) -> MetadataError {
    MetadataError::invalid(INLINE, why)
}
