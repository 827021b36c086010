//! Finds, reads, creates, changes and erases the documents of a hierarchy.
//!
//! Documents are found, read, created, changed and erased here, once for blocking callers and for
//! those that wait.

use std::ops::Deref;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures::future::try_join_all;

use super::consolidate::AffectedNodes;
use super::consolidated::{ConsolidatedStore, ConsolidatedView};
use super::options::OpenOptions;
use super::purge::CreateMode;
use crate::array::compare_and_swap::{self, Edited};
use crate::context::{StoreContext, as_warnings, documents_except, is_too_large};
use crate::dialect::{Dialect, Era, Strictness, Warning};
use crate::error::{AccessError, Cause, Error, MetadataError, Result};
use crate::format::{
    Child, Documents, Format, Found, PROBES, Place, Reading, consolidated, detect,
};
use crate::json::{Json, Object};
use crate::metadata::{ArrayMetadata, GroupMetadata, NodeKind, NodeMetadata};
use crate::path::NodePath;
use crate::registry::Access;
use crate::store::{Listing, Precondition, Store, StoreKey, StorePrefix};
use crate::sync::lock;

/// A hierarchy in a store: what its arrays need, and the consolidated copies of its documents.
#[derive(Debug)]
pub(crate) struct HierarchyContext {
    context: Arc<StoreContext>,
    /// The store as the caller gave it.
    pub unguarded: Arc<dyn Store>,
    /// The store, whose documents are not replaced by consolidated copies.
    pub live: Arc<dyn Store>,
    /// The copies that replace documents.
    pub copied: Option<Arc<ConsolidatedView>>,
    /// Copies that are compared with documents as those are read.
    pub watched: Mutex<Option<Arc<ConsolidatedView>>>,
    /// Whether a draft's copies were found on opening; no change looks for them again.
    pub draft_copies: AtomicBool,
}

impl Deref for HierarchyContext {
    type Target = StoreContext;

    fn deref(&self) -> &StoreContext {
        &self.context
    }
}

/// A document that is about to be created.
pub(super) struct NewDocument<'a> {
    key: &'a StoreKey,
    /// Documents that must be absent, too.
    beside: Vec<StoreKey>,
    /// Chunks of an earlier node that go.
    leftovers: Vec<StoreKey>,
}

impl<'a> NewDocument<'a> {
    pub fn of(key: &'a StoreKey, beside: Vec<StoreKey>) -> Self {
        NewDocument { key, beside, leftovers: Vec::new() }
    }
}

impl HierarchyContext {
    /// The room at a store's root, or the one of a lone document there, which may be `named`, and the documents
    /// that were found on the way; `None` if nothing begins there.
    pub async fn open(
        store: Arc<dyn Store>,
        options: &OpenOptions,
        named: Option<&str>,
    ) -> Result<Option<(HierarchyContext, Documents)>> {
        let lone_era = options.era.is_none_or(|era| era <= Era::E1);
        let lone = lone_era && matches!(options.dialect, None | Some(Dialect::Draft));
        if let Some(found) = HierarchyContext::probe(store.clone(), options).await? {
            return Ok(Some(found));
        }
        let name = store.name();
        let context = if lone {
            HierarchyContext::lone(store, options, named).await.map_err(|e| e.at_store(name))?
        } else {
            None
        };
        Ok(context.map(|context| (context, Documents::new())))
    }

    /// The room at a store's root, and the documents there; `None` if no hierarchy begins there.
    pub async fn probe(
        store: Arc<dyn Store>,
        options: &OpenOptions,
    ) -> Result<Option<(HierarchyContext, Documents)>> {
        if options.era.is_some_and(|era| era <= Era::E1) {
            // In May 2019 nothing had an entry point.
            return Ok(None);
        }
        let at_store = |e: Error| e.at_store(store.name());
        let mut reading = Reading::new(&options.registry, options.options.strictness);
        reading.limits = options.options.limits;
        let writing = options.access == Access::ReadWrite;
        let probes = match options.dialect {
            // Who knows the dialect need not be told of others.
            Some(Dialect::V3) => &PROBES[..1],
            Some(Dialect::V2) => &PROBES[1..],
            _ => &PROBES[..],
        };
        let keys = probes.iter().copied().chain(writing.then_some(consolidated::DRAFT));
        let keys = keys.map(StoreKey::new).collect::<Result<Vec<_>, _>>()?;
        let limits = &options.options.limits;
        let mut passed_over = Vec::new();
        let tolerant = options.options.strictness == Strictness::Tolerant;
        let probed = documents_except(&*store, keys, limits, |key, found, error| {
            let is_passed_over = tolerant
                && consolidated::is_optional(key)
                && !found.is_empty()
                && is_too_large(error);
            if is_passed_over {
                let what = format!("consolidated metadata are passed over: {}", error.cause());
                passed_over.extend(as_warnings(key.as_str(), vec![what]));
            }
            is_passed_over
        });
        let found = probed.await.map_err(at_store)?;
        let format = detect(&found, options.dialect, options.era, &mut reading).map_err(|e| {
            let key = found.first().map(|(key, _)| key.clone());
            let error = Error::from(e).at_store(store.name()).at_path(&NodePath::root());
            key.map_or_else(
                || Error::from(MetadataError::Missing("zarr.json")),
                |key| error.at_key(&key),
            )
        })?;
        let format: Arc<dyn Format> = match format {
            Found::Nothing => return Ok(None),
            Found::Format(format) => format,
            Found::Draft(draft) if !draft.is_unsettled() => {
                Arc::new(draft.with_plain_text(options.plain_draft))
            }
            Found::Draft(draft) => {
                let keys = match store.listable() {
                    Ok(listable) => listable.list_prefix(&StorePrefix::new("meta/")?).await,
                    Err(_) => Ok(Listing::default()),
                };
                let Listing { keys, .. } = keys.map_err(|e| at_store(e.into()))?;
                let settled = draft.settle(&keys, &mut reading);
                let at = |e: MetadataError| {
                    Error::from(e).at_store(store.name()).at_path(&NodePath::root())
                };
                Arc::new(settled.map_err(at)?.with_plain_text(options.plain_draft))
            }
        };
        let mut warnings = as_warnings("zarr.json", reading.warnings);
        warnings.extend(passed_over);
        let context = HierarchyContext::new(store, options.wrapped(format), options, warnings);
        let context = context.with_copies(&found, &options.consolidated).await?;
        Ok(Some((context, found)))
    }

    /// What the format hides among a node's attributes, taken out of them.
    pub fn take_hidden(&self, kind: NodeKind, attributes: &mut Object) -> Object {
        if self.options.ignore_hidden_filters {
            Object::new()
        } else {
            self.format.take_hidden(kind, attributes)
        }
    }

    /// Whether a node's attributes may become `after`, what the format hides among them being kept apart as
    /// `hidden`. What would be taken for hidden is refused, unless it stood there `before`.
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
        self.format.check_attributes(after)
    }

    pub fn new(
        store: Arc<dyn Store>,
        format: Arc<dyn Format>,
        options: &OpenOptions,
        warnings: Vec<Warning>,
    ) -> HierarchyContext {
        HierarchyContext {
            unguarded: store.clone(),
            live: store.clone(),
            copied: None,
            watched: Mutex::new(None),
            draft_copies: AtomicBool::new(false),
            context: Arc::new(StoreContext {
                store,
                format,
                registry: options.registry.clone(),
                options: options.options.clone(),
                access: options.access,
                warnings: Mutex::new(warnings),
            }),
        }
    }

    /// The same hierarchy, its documents read from copies.
    pub fn read_from(mut self, copied: Arc<ConsolidatedView>) -> HierarchyContext {
        let warnings = lock(&self.warnings).clone();
        self.context = Arc::new(StoreContext {
            store: Arc::new(ConsolidatedStore::new(self.live.clone(), copied.clone())),
            format: self.format.clone(),
            registry: self.registry.clone(),
            options: self.options.clone(),
            access: self.access,
            warnings: Mutex::new(warnings),
        });
        self.copied = Some(copied);
        self
    }

    /// What the arrays of the hierarchy need.
    pub fn store_context(&self) -> &Arc<StoreContext> {
        &self.context
    }

    /// What was warned of copies that nobody needs.
    pub fn warnings_of_copies(&self) -> Vec<String> {
        let all = lock(&self.warnings);
        let of_copies = |warning: &Warning| {
            StoreKey::new(&warning.place).is_ok_and(|key| consolidated::is_optional(&key))
        };
        all.iter().filter(|it| of_copies(it)).map(|warning| warning.what.clone()).collect()
    }

    /// The node at `path` (D-163, F-113).
    pub async fn node(&self, path: &NodePath) -> Result<NodeMetadata> {
        let found = self.documents(path).await.map_err(|e| self.at(path, e))?;
        self.node_in(path, found).await
    }

    /// The node at `path`, the probes having just found these documents: where they are those of the node, it
    /// takes no other request (decision 0131).
    pub async fn probed_node(&self, path: &NodePath, probed: Documents) -> Result<NodeMetadata> {
        let keys = self.format.document_keys(path).map_err(|e| self.at(path, e))?;
        let is_probed = keys.iter().all(|key| PROBES.contains(&key.as_str()));
        if keys.is_empty() || !is_probed || self.copied.is_some() {
            return self.node(path).await;
        }
        let found = probed.into_iter().filter(|(key, _)| keys.contains(key)).collect();
        self.node_in(path, found).await
    }

    async fn node_in(&self, path: &NodePath, found: Documents) -> Result<NodeMetadata> {
        let at = |e: Error| self.at(path, e);
        if let Some(node) = self.parse(path, &found).map_err(at)? {
            self.watch(path, &node).await.map_err(at)?;
            return Ok(node);
        }
        let implicit = GroupMetadata { implicit: true, ..GroupMetadata::default() };
        if !self.format.groups_are_explicit() {
            if path.is_root() {
                return Ok(NodeMetadata::Group(implicit));
            }
            if self.store.capabilities().list && !self.children(path).await?.is_empty() {
                return Ok(NodeMetadata::Group(implicit));
            }
        }
        // A store that cannot list this place tells nothing of it.
        if let Ok(Some(group)) = self.folder(path, &found).await {
            return Ok(NodeMetadata::Group(group));
        }
        let keys: Vec<String> = self
            .format
            .document_keys(path)
            .map_err(|e| at(e.into()))?
            .iter()
            .map(|k| format!("`{k}`"))
            .collect();
        let looked_for = if keys.is_empty() {
            "a node in a document of May 2019, which describes one alone: `/`".into()
        } else {
            keys.join(", ")
        };
        Err(at(AccessError::NotFound { looked_for }.into()))
    }

    /// Writes the documents of a new hierarchy itself.
    pub async fn create_entry_point(&self) -> Result<()> {
        for (key, bytes) in self.format.entry_point()? {
            let new = NewDocument::of(&key, self.beside(&NodePath::root(), &key)?);
            self.create_document(new, bytes, "a hierarchy").await?;
        }
        Ok(())
    }

    /// The documents of a new node, if it may have its name and the format has words for it.
    pub fn spell(&self, path: &NodePath, node: &NodeMetadata) -> Result<Documents> {
        for name in path.names() {
            self.format.check_name(name)?;
        }
        if let NodeMetadata::Array(array) = node {
            self.options.limits.check_new_rank(array.rank())?;
        }
        let none = Object::new();
        self.check_attributes(node.kind(), &none, node.attributes(), &none)?;
        Ok(self.format.create(path, node)?)
    }

    /// Whether an array like this could be created, as far as can be told without a look at the store.
    pub fn check_array(&self, path: &NodePath, metadata: &ArrayMetadata) -> Result<()> {
        let at = |e: Error| self.at(path, e);
        metadata.chain(&self.registry, self.format.dialect()).map_err(|e| at(e.into()))?;
        let node = NodeMetadata::Array(Box::new(metadata.clone()));
        self.spell(path, &node).map(|_| ()).map_err(at)
    }

    /// Whether a group like this could be created, as far as can be told without a look at the store.
    pub fn check_group(&self, path: &NodePath, attributes: &Object) -> Result<()> {
        let group = GroupMetadata { attributes: attributes.clone(), ..GroupMetadata::default() };
        let spelled = self.spell(path, &NodeMetadata::Group(group));
        spelled.map(|_| ()).map_err(|e| self.at(path, e))
    }

    /// Creates a node, and where groups are explicit those above it that are not there yet; in the drafts
    /// that is one `set_if` and nothing else (D-151, D-152), but for the look for leftovers of an array. Returns the node as its documents describe it.
    pub async fn create(
        &self,
        path: &NodePath,
        node: &NodeMetadata,
        ground: CreateMode,
    ) -> Result<NodeMetadata> {
        let at = |e: Error| self.at(path, e);
        self.writeable().map_err(at)?;
        let documents = self.spell(path, node).map_err(at)?;
        let mut above = Vec::new();
        if self.format.groups_are_explicit() {
            let found = self.documents(path).await.map_err(at)?;
            if let (Some((key, _)), false) = (found.first(), ground.overwrite) {
                return Err(at(Error::from(AccessError::Exists("a node")).at_key(key)));
            }
            // All are looked at before any is created.
            let ancestors: Vec<NodePath> = path.ancestors().collect();
            let absent = try_join_all(ancestors.iter().map(|ancestor| self.is_absent(ancestor)));
            let absent = absent.await.map_err(at)?;
            let absent = ancestors.into_iter().zip(absent).filter(|(_, absent)| *absent);
            above.extend(absent.map(|(ancestor, _)| ancestor));
        }
        let touched = AffectedNodes { path, above: &above, below: ground.overwrite };
        self.changing(touched, self.create_now(path, node, documents, &above, ground)).await
    }

    async fn create_now(
        &self,
        path: &NodePath,
        node: &NodeMetadata,
        documents: Documents,
        above: &[NodePath],
        ground: CreateMode,
    ) -> Result<NodeMetadata> {
        let at = |e: Error| self.at(path, e);
        let mut whole_was_link = false;
        if ground.overwrite {
            whole_was_link = self.erase_all(path).await.map_err(at)?;
        }
        if whole_was_link {
            self.create_entry_point().await.map_err(at)?;
        }
        if (whole_was_link || !ground.overwrite)
            && !self.format.groups_are_explicit()
            && path.is_root()
            && node.kind() == NodeKind::Array
        {
            self.yield_root().await.map_err(at)?;
        }
        for ancestor in above.iter().rev() {
            self.create_implied_group(ancestor).await.map_err(at)?;
        }
        let leftovers = match node {
            NodeMetadata::Array(array) => self.leftovers(path, array, ground).await.map_err(at)?,
            NodeMetadata::Group(_) => Vec::new(),
        };
        let mut documents = documents.into_iter();
        let mut written = Documents::new();
        if let Some((key, bytes)) = documents.next() {
            let beside = self.beside(path, &key).map_err(at)?;
            let new = NewDocument { key: &key, beside, leftovers };
            self.create_document(new, bytes.clone(), node.kind().phrase()).await.map_err(at)?;
            written.push((key, bytes));
        }
        for (key, bytes) in documents {
            // Further documents are objects; ours is laid under what others have set there by now.
            let ours = Json::parse_tolerant(&bytes).ok();
            let ours = ours.and_then(|(json, _)| json.as_object().cloned());
            let place = Place { key: key.clone(), member: None, may_be_absent: true };
            let merge = |theirs: Json| {
                let theirs = theirs.as_object().cloned().unwrap_or_default();
                Ok(ours
                    .clone()
                    .unwrap_or_default()
                    .into_iter()
                    .chain(theirs)
                    .collect::<Object>()
                    .into())
            };
            let merged = self.edit_now(path, &place, merge).await?;
            let merged = self.format.encoding().encode(&merged).map_err(MetadataError::Json)?;
            written.push((key, merged.into()));
        }
        let created = self.parse(path, &written).map_err(at)?;
        created.ok_or_else(|| at(MetadataError::Json("what was written is no node".into()).into()))
    }

    /// Takes back the bare root group that a draft's hierarchy begins with, for an array in its place.
    async fn yield_root(&self) -> Result<()> {
        let root = NodePath::root();
        if let NodeMetadata::Group(group) = self.node(&root).await?
            && (!group.attributes.is_empty() || !self.children(&root).await?.is_empty())
        {
            return Err(AccessError::Exists("a group").into());
        }
        let place = self.format.attributes_place(&root, NodeKind::Group)?;
        Ok(self.writeable()?.erase(&place.key).await?)
    }

    /// Whether no node is here; an error if an array is, since below it there is nothing.
    async fn is_absent(&self, path: &NodePath) -> Result<bool> {
        let found = self.documents(path).await?;
        match self.parse(path, &found)? {
            Some(NodeMetadata::Array(_)) => {
                let why = format!("{path} is an array; nothing can be created below it");
                Err(AccessError::Argument(why).into())
            }
            Some(NodeMetadata::Group(_)) => Ok(false),
            None => Ok(true),
        }
    }

    /// F-007, Z2-003: a group above a new node.
    async fn create_implied_group(&self, path: &NodePath) -> Result<()> {
        let group = NodeMetadata::Group(GroupMetadata::default());
        for (key, bytes) in self.format.create(path, &group)? {
            let new = NewDocument::of(&key, self.beside(path, &key)?);
            match self.create_document(new, bytes, "a group").await {
                // Another writer made something meanwhile; an array would be an error, and another dialect's node.
                Err(e) if matches!(e.cause(), Cause::Access(AccessError::Exists(_))) => {
                    if self.is_absent(path).await? {
                        return Err(e);
                    }
                }
                other => other?,
            }
        }
        Ok(())
    }

    /// The documents beside `key` that would make another node of the one at `path`: of another kind, or in another
    /// dialect (decision 0139).
    fn beside(&self, path: &NodePath, key: &StoreKey) -> Result<Vec<StoreKey>> {
        let mut beside = self.format.document_keys(path)?;
        beside.retain(|other| other != key && !other.as_str().ends_with(".zattrs"));
        let foreign = match self.format.dialect() {
            Dialect::V2 => &["zarr.json"][..],
            Dialect::V3 => &[".zarray", ".zgroup"],
            // Its nodes lie elsewhere; its entry point lies where a root does.
            Dialect::Draft if key.as_str() == "zarr.json" => &[".zarray", ".zgroup"],
            Dialect::Draft => &[],
        };
        let folder = key.as_str().rsplit_once('/').map(|(folder, _)| format!("{folder}/"));
        let folder = StorePrefix::new(folder.unwrap_or_default())?;
        for name in foreign {
            beside.push(folder.key(name)?);
        }
        Ok(beside)
    }

    /// Sets a document only if there is none (decision 0105), nor one beside it that would make another node of it, and
    /// erases leftovers of an earlier node (decision 0139).
    pub(super) async fn create_document(
        &self,
        new: NewDocument<'_>,
        bytes: Bytes,
        what: &'static str,
    ) -> Result<()> {
        let NewDocument { key, beside, leftovers } = new;
        let writeable = self.writeable()?;
        let exists = |key: &StoreKey| Err(Error::from(AccessError::Exists(what)).at_key(key));
        if self.store.capabilities().create {
            let there = self.store.create(key, bytes.into(), &beside, &leftovers).await?;
            return there.map_or(Ok(()), |there| exists(&there));
        }
        if !leftovers.is_empty() {
            if self.get_at_most(key, self.options.limits.document).await?.is_some() {
                return exists(key);
            }
            for key in &leftovers {
                writeable.erase(key).await.map_err(|e| Error::from(e).at_key(key))?;
            }
        }
        let swaps = self.store.capabilities().swap;
        if !swaps && self.get_at_most(key, self.options.limits.document).await?.is_some() {
            return exists(key);
        }
        let is_set = if swaps {
            writeable.set_if_absent(key, bytes.into()).await?
        } else {
            writeable.put(key, Some(bytes.into()), Precondition::Always).await?
        };
        if is_set { Ok(()) } else { exists(key) }
    }

    /// Changes one thing in a document, laid over whatever the document is now, and again if another
    /// writer was faster (decision 0105). Returns what the thing is afterwards.
    pub async fn edit(
        &self,
        path: &NodePath,
        place: &Place,
        change: impl FnMut(Json) -> Result<Json>,
    ) -> Result<Json> {
        self.writeable().map_err(|e| self.at(path, e).at_key(&place.key))?;
        let touched = AffectedNodes { path, above: &[], below: false };
        self.changing(touched, self.edit_now(path, place, change)).await
    }

    /// As [`HierarchyContext::edit`]; the second result says whether the consolidated copies could be made again after the change was
    /// made.
    pub async fn edit_and_copy(
        &self,
        path: &NodePath,
        place: &Place,
        change: impl FnMut(Json) -> Result<Json>,
    ) -> Result<(Json, Result<()>)> {
        self.writeable().map_err(|e| self.at(path, e).at_key(&place.key))?;
        let touched = AffectedNodes { path, above: &[], below: false };
        self.change_and_copy(touched, self.edit_now(path, place, change)).await
    }

    async fn edit_now(
        &self,
        path: &NodePath,
        place: &Place,
        mut change: impl FnMut(Json) -> Result<Json>,
    ) -> Result<Json> {
        let at = |e: Error| self.at(path, e).at_key(&place.key);
        let mut after = Json::Null;
        let encoding = self.format.encoding();
        let edit = |old: Option<&Bytes>| {
            let mut whole = match old {
                Some(bytes) => encoding.decode(bytes).map_err(MetadataError::Json)?.0,
                None if place.may_be_absent => Json::Object(Object::new()),
                None => {
                    return Err(
                        AccessError::NotFound { looked_for: format!("`{}`", place.key) }.into()
                    );
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
                _ => return Err(MetadataError::Json("no object stands here".into()).into()),
            }
            Ok(Edited::Set(encoding.encode(&whole).map_err(MetadataError::Json)?.into()))
        };
        compare_and_swap::update(self, &place.key, edit).await.map_err(at)?;
        Ok(after)
    }

    /// Erases a node with everything below it: documents first (D-174). Where no document is, what an interrupted
    /// erase left.
    pub async fn erase(&self, path: &NodePath) -> Result<()> {
        self.writeable().map_err(|e| self.at(path, e))?;
        let touched = || AffectedNodes { path, above: &[], below: true };
        match self.node(path).await {
            Ok(_) => self.changing(touched(), self.erase_all(path)).await.map(drop),
            // What an earlier erase that was cut short has left (decision 0139).
            Err(e) if matches!(e.cause(), Cause::Access(AccessError::NotFound { .. })) => {
                match self.changing(touched(), self.erase_interrupted(path)).await {
                    Ok(false) => Err(e),
                    other => other.map(|_| ()),
                }
            }
            Err(e) => Err(e),
        }
        .map_err(|e| self.at(path, e))
    }

    /// Puts what was written where other readers find it.
    pub async fn flush(&self) -> Result<()> {
        match self.store.writeable() {
            Ok(writeable) => Ok(writeable.flush().await?),
            Err(_) => Ok(()),
        }
    }

    /// Erases a node with everything below it; whether the whole hierarchy went, which was a link.
    async fn erase_all(&self, path: &NodePath) -> Result<bool> {
        let writeable = self.writeable()?;
        // Links go first, or the documents would be erased behind them (decision 0144). The whole hierarchy may be one.
        if path.is_root() && writeable.link(&StorePrefix::root(), true).await? {
            return Ok(true);
        }
        let (keys, prefixes) = self.format.erasure(path)?;
        for prefix in &prefixes {
            writeable.link(prefix, true).await?;
        }
        // Where the nodes cannot be found, all goes in the order of the store.
        let below = self.tree(path).await.unwrap_or_default();
        for key in &keys {
            writeable.erase(key).await?;
        }
        self.erase_documents(path, &below).await?;
        // A name that no key can say, below one of them, keeps none of the others.
        let mut erased = Ok(());
        for prefix in &prefixes {
            erased = erased.and(writeable.erase_prefix(prefix).await);
        }
        erased?;
        Ok(false)
    }

    /// Erases the documents of the nodes below `path`, so that an erase that is cut short leaves no array that has lost
    /// chunks (D-174). Of a link the link goes, and nothing behind it (decision 0144).
    async fn erase_documents(&self, path: &NodePath, below: &[Child]) -> Result<()> {
        let writeable = self.writeable()?;
        let mut links: Vec<&NodePath> = Vec::new();
        // Outer nodes sort before inner ones.
        for Child { path: child, .. } in below {
            if child == path || links.iter().any(|link| child.is_within(link)) {
                continue;
            }
            let (keys, prefixes) = self.format.erasure(child)?;
            for prefix in &prefixes {
                if writeable.link(prefix, true).await? {
                    links.push(child);
                }
            }
            if links.last() != Some(&child) {
                for key in &keys {
                    writeable.erase(key).await?;
                }
            }
        }
        Ok(())
    }
}
