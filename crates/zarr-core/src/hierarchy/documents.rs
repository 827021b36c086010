//! Creates nodes, and edits their documents.

use bytes::Bytes;
use futures::future::{BoxFuture, try_join_all};

use super::consolidated::{AffectedNodes, Change};
use super::context::HierarchyContext;
use super::leftovers::CreateMode;
use super::new_document::{NewDocument, below_array};
use crate::array::compare_and_swap::{self, Edited};
use crate::error::{AccessError, Error, ErrorKind, MetadataError, Result};
use crate::format::{DocumentMember, Documents, TOOL_FOLDERS};
use crate::json::{Json, MAX_DEPTH, Object};
use crate::metadata::{ArrayMetadata, GroupMetadata, NodeKind, NodeMetadata};
use crate::path::NodePath;
use crate::store::StoreKey;

/// How deep an attribute may nest: its document, and a consolidated copy of that, nest some levels themselves.
const ATTRIBUTE_DEPTH: usize = MAX_DEPTH - 8;

impl HierarchyContext {
    /// Removes what the format hides among a node's attributes; returns it.
    pub fn take_hidden(&self, kind: NodeKind, attributes: &mut Object) -> Object {
        if self.options.ignore_hidden_filters {
            Object::new()
        } else {
            self.format.take_hidden(kind, attributes)
        }
    }

    /// Whether a node's attributes may become `after`, if the format keeps `hidden` ones among them. Attributes that the
    /// format would read as hidden ones are refused, unless they were there `before`.
    pub fn check_attributes(
        &self,
        kind: NodeKind,
        before: &Object,
        after: &Object,
        hidden: &Object,
    ) -> Result<(), AccessError> {
        let seen = |attributes: &Object| self.format.take_hidden(kind, &mut attributes.clone());
        let taken = seen(after);
        let clash = if taken == seen(before) {
            hidden.iter().find(|(name, _)| after.contains(name))
        } else {
            taken.iter().next()
        };
        if let Some((name, _)) = clash {
            let why = format!(
                "attribute `{name}` would be read as codecs in this format; choose another name"
            );
            return Err(AccessError::Argument(why));
        }
        let is_too_deep = |name: &str, value: &Json| {
            before.get(name) != Some(value) && !value.nests_within(ATTRIBUTE_DEPTH)
        };
        if let Some((name, _)) = after.iter().find(|(name, value)| is_too_deep(name, value)) {
            let why = format!(
                "attribute `{name}` nests deeper than {ATTRIBUTE_DEPTH} levels, and no reader here takes a document of more than {MAX_DEPTH}; \
                 store the inner part as a text"
            );
            return Err(AccessError::Argument(why));
        }
        self.format.check_attributes(after)
    }

    /// The documents of a new node, if it may have its name and the format can represent it.
    pub fn to_documents(&self, path: &NodePath, node: &NodeMetadata) -> Result<Documents> {
        for name in path.names() {
            if TOOL_FOLDERS.contains(&name) {
                let why = format!(
                    "`{name}` cannot name a node: it is a folder of tools, which no listing shows; choose another name"
                );
                return Err(AccessError::Argument(why).into());
            }
            self.format.check_name(name)?;
        }
        if let NodeMetadata::Array(array) = node {
            self.options.limits.check_new_rank(array.rank())?;
        }
        let none = Object::new();
        self.check_attributes(node.kind(), &none, node.attributes(), &none)?;
        let documents = self.format.create(path, node)?;
        documents.iter().try_for_each(|(_, bytes)| self.check_document_size(bytes.len()))?;
        Ok(documents)
    }

    /// Refuses to write a document of more bytes than readers take.
    fn check_document_size(&self, bytes: usize) -> Result<(), MetadataError> {
        let (found, limit) = (bytes as u64, self.options.limits.document);
        if found <= limit {
            return Ok(());
        }
        let what = "the document to write, in bytes,";
        Err(MetadataError::Limit { what, found, limit, name: "document" })
    }

    /// Whether an array like this could be created; the store is not read.
    pub fn check_array(&self, path: &NodePath, metadata: &ArrayMetadata) -> Result<()> {
        let at = |e: Error| self.at(path, e);
        let chain = metadata.chain(&self.registry, self.format.dialect());
        let chain = chain.map_err(|e| at(e.into()))?;
        // Else the first write would be the first to tell, or the first read.
        chain.check_encodes().map_err(|e| at(e.into()))?;
        let limit = self.options.limits.decoded;
        if let Some(found) = chain.decoded_at_once().filter(|&size| size > limit) {
            let what = "the size of a chunk in bytes, which readers decode at once,";
            return Err(at(MetadataError::Limit { what, found, limit, name: "decoded" }.into()));
        }
        let node = NodeMetadata::Array(Box::new(metadata.clone()));
        self.to_documents(path, &node).map(|_| ()).map_err(at)
    }

    /// Whether a group like this could be created; the store is not read.
    pub fn check_group(&self, path: &NodePath, attributes: &Object) -> Result<()> {
        let group = GroupMetadata { attributes: attributes.clone(), ..GroupMetadata::default() };
        let documents = self.to_documents(path, &NodeMetadata::Group(group));
        documents.map(|_| ()).map_err(|e| self.at(path, e))
    }

    /// Creates a node, and where groups are explicit the missing groups above it. In the drafts that is one `create`
    /// (D-151, D-152), and a listing for the leftovers of an array. Returns the node as its documents describe it.
    pub async fn create(
        &self,
        path: &NodePath,
        node: &NodeMetadata,
        mode: CreateMode,
    ) -> Result<NodeMetadata> {
        self.create_with_groups(path, node, mode).await.map_err(|e| self.at(path, e))
    }

    fn create_with_groups<'a>(
        &'a self,
        path: &'a NodePath,
        node: &'a NodeMetadata,
        mode: CreateMode,
    ) -> BoxFuture<'a, Result<NodeMetadata>> {
        Box::pin(async move {
            self.writeable()?;
            let documents = self.to_documents(path, node)?;
            let mut above = Vec::new();
            if self.format.groups_are_explicit() {
                let found = self.documents(path).await?;
                // Attributes alone are no node. A group may take them; an array that was erased may have left them.
                let is_free = node.kind() == NodeKind::Group
                    && matches!(self.format.kind(path, &found), Ok(None));
                if let (Some((key, _)), false) = (found.first(), mode.overwrite || is_free) {
                    return Err(Error::from(AccessError::Exists("a node")).at_key(key));
                }
                // All are looked up before any is created.
                let ancestors: Vec<NodePath> = path.ancestors().collect();
                let absent =
                    try_join_all(ancestors.iter().map(|ancestor| self.is_absent(ancestor)));
                let absent = absent.await?;
                let absent = ancestors.iter().zip(absent);
                above.extend(absent.filter(|(_, absent)| *absent).map(|(path, _)| path.clone()));
            }
            let change = if mode.overwrite { Change::Overwrite } else { Change::Create };
            let affected = AffectedNodes { path, above: &above, change };
            self.with_invalidation(affected, self.create_now(path, node, documents, &above, mode))
                .await
        })
    }

    fn create_now<'a>(
        &'a self,
        path: &'a NodePath,
        node: &'a NodeMetadata,
        documents: Documents,
        above: &'a [NodePath],
        mode: CreateMode,
    ) -> BoxFuture<'a, Result<NodeMetadata>> {
        Box::pin(async move {
            let whole_was_link = mode.overwrite && self.erase_all(path).await?;
            if whole_was_link {
                self.create_entry_point().await?;
            }
            if (whole_was_link || !mode.overwrite)
                && !self.format.groups_are_explicit()
                && path.is_root()
                && node.kind() == NodeKind::Array
            {
                self.erase_empty_root().await?;
            }
            for ancestor in above.iter().rev() {
                self.create_implied_group(ancestor).await?;
            }
            let leftovers = match node {
                NodeMetadata::Array(array) => self.leftovers(path, array, mode).await?,
                NodeMetadata::Group(_) => Vec::new(),
            };
            let mut documents = documents.into_iter();
            let mut written = Documents::new();
            if let Some((key, bytes)) = documents.next() {
                let must_be_absent = self.other_documents(path, &key)?;
                let arrays_above = self.arrays_above(path, mode)?;
                let new = NewDocument { key: &key, must_be_absent, arrays_above, leftovers };
                self.create_document(new, bytes.clone(), node.kind().phrase()).await?;
                written.push((key, bytes));
            }
            for (key, bytes) in documents {
                // Further documents are objects. Members that another writer has set replace these.
                let ours = Json::parse_tolerant(&bytes).ok();
                let ours = ours.and_then(|(json, _)| json.as_object().cloned()).unwrap_or_default();
                let place = DocumentMember { key: key.clone(), member: None, may_be_absent: true };
                let mut merge = |theirs: Json| {
                    let theirs = theirs.as_object().cloned().unwrap_or_default();
                    Ok(ours.clone().into_iter().chain(theirs).collect::<Object>().into())
                };
                let merged = self.edit_now(path, &place, &mut merge).await?;
                let merged = self.format.encoding().encode(&merged).map_err(MetadataError::Json)?;
                written.push((key, merged.into()));
            }
            let created = self.parse(path, &written)?;
            created
                .ok_or_else(|| MetadataError::Json("what was written is not a node".into()).into())
        })
    }

    /// Erases the root group that a draft's hierarchy begins with, if it is empty, for an array in its place.
    async fn erase_empty_root(&self) -> Result<()> {
        let root = NodePath::root();
        if let NodeMetadata::Group(group) = self.node(&root).await?
            && (!group.attributes.is_empty() || !self.children(&root).await?.is_empty())
        {
            return Err(AccessError::Exists("a group").into());
        }
        let place = self.format.attributes_member(&root, NodeKind::Group)?;
        Ok(self.writeable()?.erase(&place.key).await?)
    }

    /// The documents that would make arrays of the groups above a new node, where nothing else looks for those (D-001). A
    /// store that creates a document in one step looks at them in the same; elsewhere that takes requests, which a
    /// caller may save.
    fn arrays_above(&self, path: &NodePath, mode: CreateMode) -> Result<Vec<(StoreKey, NodePath)>> {
        let is_saved = !self.store.capabilities().create && mode.purge == Some(false);
        if self.format.groups_are_explicit() || is_saved {
            return Ok(Vec::new());
        }
        let mut arrays = Vec::new();
        for above in path.ancestors() {
            // The array's document is the first.
            let keys = self.format.document_keys(&above)?;
            arrays.extend(keys.into_iter().next().map(|key| (key, above)));
        }
        Ok(arrays)
    }

    /// Whether there is no node; an error if there is an array, since nothing can be below it.
    async fn is_absent(&self, path: &NodePath) -> Result<bool> {
        let found = self.documents(path).await?;
        match self.parse(path, &found)? {
            Some(NodeMetadata::Array(_)) => Err(below_array(path).into()),
            Some(NodeMetadata::Group(_)) => Ok(false),
            None => Ok(true),
        }
    }

    /// Creates a group above a new node (F-007, Z2-003).
    pub(super) fn create_implied_group<'a>(
        &'a self,
        path: &'a NodePath,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let group = NodeMetadata::Group(GroupMetadata::default());
            for (key, bytes) in self.format.create(path, &group)? {
                let must_be_absent = self.other_documents(path, &key)?;
                let new = NewDocument { must_be_absent, ..NewDocument::new(&key) };
                match self.create_document(new, bytes, "a group").await {
                    // Another writer created a node concurrently. It must be a group of this dialect.
                    Err(e) if e.kind() == ErrorKind::Exists => {
                        if self.is_absent(path).await? {
                            return Err(e);
                        }
                    }
                    other => other?,
                }
            }
            Ok(())
        })
    }

    /// Changes one value in the newest version of a document, and again if another writer was faster
    /// (docs/internals/design/concurrency.md). Returns the value afterwards.
    pub async fn edit(
        &self,
        path: &NodePath,
        place: &DocumentMember,
        change: impl FnMut(Json) -> Result<Json> + Send,
    ) -> Result<Json> {
        let (after, refreshed) = self.edit_and_refresh(path, place, change).await?;
        refreshed.map(|()| after)
    }

    /// As [`HierarchyContext::edit`]; the second result says whether the consolidated copies could be refreshed after the
    /// change was made.
    pub async fn edit_and_refresh(
        &self,
        path: &NodePath,
        place: &DocumentMember,
        mut change: impl FnMut(Json) -> Result<Json> + Send,
    ) -> Result<(Json, Result<()>)> {
        self.writeable().map_err(|e| self.at(path, e).at_key(&place.key))?;
        let affected = AffectedNodes { path, above: &[], change: Change::Edit };
        self.change_and_refresh(affected, self.edit_now(path, place, &mut change)).await
    }

    fn edit_now<'a>(
        &'a self,
        path: &'a NodePath,
        place: &'a DocumentMember,
        change: &'a mut (dyn FnMut(Json) -> Result<Json> + Send),
    ) -> BoxFuture<'a, Result<Json>> {
        Box::pin(async move {
            let at = |e: Error| self.at(path, e).at_key(&place.key);
            let mut after = Json::Null;
            let encoding = self.format.encoding();
            let mut edit = |old: Option<&Bytes>| {
                let mut whole = match old {
                    Some(bytes) => encoding.decode(bytes).map_err(MetadataError::Json)?.0,
                    None if place.may_be_absent => Json::Object(Object::new()),
                    None => {
                        let looked_for = format!("`{}`", place.key);
                        return Err(AccessError::NotFound { looked_for }.into());
                    }
                };
                match (place.member, &mut whole) {
                    (None, whole) => {
                        *whole = change(std::mem::replace(whole, Json::Null))?;
                        after = whole.clone();
                    }
                    (Some(member), Json::Object(object)) => {
                        after = change(object.get(member).cloned().unwrap_or(Json::Null))?;
                        object.insert(member, after.clone());
                    }
                    _ => return Err(MetadataError::Json("expected an object".into()).into()),
                }
                let encoded = encoding.encode(&whole).map_err(MetadataError::Json)?;
                self.check_document_size(encoded.len())?;
                Ok(Edited::Set(encoded.into()))
            };
            compare_and_swap::update(self, &place.key, &mut edit).await.map_err(at)?;
            Ok(after)
        })
    }
}
