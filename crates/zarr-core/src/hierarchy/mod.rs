//! Handles to find, read, write and change groups and arrays.
//!
//! [`Hierarchy`], [`Group`] and [`Array`] are handles: cheap to clone, free to go to other threads.
//! Calls return when they are done; [`crate::aio`] has the same names for callers that wait.

pub mod aio;
mod array;
mod array_node;
mod builder;
mod chunk;
mod consolidate;
mod consolidated;
mod context;
mod fields;
mod foreign;
mod list;
mod node;
mod options;
mod prepend;
mod purge;
mod resize;
mod single_document;

use std::sync::Arc;

pub use self::array::Array;
pub(crate) use self::array_node::ArrayNode;
pub use self::builder::ArrayBuilder;
pub use self::chunk::Chunk;
pub(crate) use self::context::HierarchyContext;
pub use self::node::{Group, Node};
pub use self::options::{Consolidated, OpenOptions};
pub(crate) use self::purge::CreateMode;
pub use crate::array::StoredSize;
pub(crate) use crate::array::wrong_kind;
use crate::context::is_too_large;
use crate::dialect::{Dialect, Era, Warning};
use crate::error::{AccessError, Error, Result};
use crate::format::{Child, Documents, Format};
use crate::json::{Json, Object};
use crate::metadata::{GroupMetadata, NodeKind, NodeMetadata};
pub use crate::options::{Guard, Options};
use crate::path::NodePath;
use crate::registry::Access;
use crate::store::{Store, block_on, guarded};

/// A tree of groups and arrays in a store.
#[derive(Clone, Debug)]
pub struct Hierarchy {
    pub(crate) context: Arc<HierarchyContext>,
    store: Arc<dyn Store>,
}

impl Hierarchy {
    /// The hierarchy that begins at a store's root.
    ///
    /// # Errors
    /// [`AccessError::NotFound`] if none does; for an entry point that is broken or not known here.
    pub fn open(store: Arc<dyn Store>, options: &OpenOptions) -> Result<Hierarchy> {
        let name = store.name();
        let context = block_on(HierarchyContext::open(guarded(store.clone()), options, None))?;
        match context {
            Some((context, _)) => Ok(Self::of(context, store)),
            None => {
                let looked_for =
                    "`zarr.json`, `.zarray`, `.zgroup`, `.zattrs`, `.zmetadata`".into();
                Err(Error::from(AccessError::NotFound { looked_for }).at_store(name))
            }
        }
    }

    fn of(context: HierarchyContext, store: Arc<dyn Store>) -> Hierarchy {
        if context.access == Access::ReadWrite
            && !store.capabilities().swap
            && store.capabilities().write
        {
            let what = "the store cannot compare and swap; writers of one chunk are guarded within this process alone";
            context.warn("store", vec![what.into()]);
        }
        Hierarchy { context: Arc::new(context), store }
    }

    /// A new hierarchy of this format at a store's root, holding nothing but its root group.
    ///
    /// # Errors
    /// [`AccessError::Exists`] if one is there.
    pub fn create(
        store: Arc<dyn Store>,
        format: Arc<dyn Format>,
        options: &OpenOptions,
    ) -> Result<Hierarchy> {
        let hierarchy = Self::begin(store, format, options)?;
        if hierarchy.context.format.groups_are_explicit() {
            let root = NodeMetadata::Group(GroupMetadata::default());
            block_on(hierarchy.context.create(&NodePath::root(), &root, CreateMode::default()))?;
        }
        Ok(hierarchy)
    }

    /// As [`Hierarchy::create`], where groups are explicit without the root group: the caller is about
    /// to create the root node.
    ///
    /// # Errors
    /// As [`Hierarchy::create`].
    pub fn begin(
        store: Arc<dyn Store>,
        format: Arc<dyn Format>,
        options: &OpenOptions,
    ) -> Result<Hierarchy> {
        let waiting = guarded(store.clone());
        if let Some((there, _)) =
            block_on(HierarchyContext::probe(waiting.clone(), &options.clone().any_dialect()))?
        {
            let what = "a hierarchy";
            return Err(Error::from(AccessError::Exists(what))
                .at_store(there.store.name())
                .at_path(&NodePath::root()));
        }
        let context = HierarchyContext::new(waiting, format, options, Vec::new());
        block_on(context.create_entry_point()).map_err(|e| e.at_store(store.name()))?;
        Ok(Self::of(context, store))
    }

    /// A hierarchy of a format that the caller knows, whatever lies in the store: nothing is looked at.
    /// So opens what no document tells, and what a format of the caller's own keeps.
    pub fn of_format(
        store: Arc<dyn Store>,
        format: Arc<dyn Format>,
        options: &OpenOptions,
    ) -> Hierarchy {
        let waiting = guarded(store.clone());
        Self::of(HierarchyContext::new(waiting, format, options, Vec::new()), store)
    }

    /// The hierarchy that a URL or a path means, and the node in it: a store's root, or a node inside
    /// (decision 0121).
    ///
    /// # Errors
    /// [`AccessError::NotFound`] listing what was looked for; otherwise as [`Hierarchy::open`].
    pub fn locate(url: &str, options: &OpenOptions) -> Result<(Hierarchy, NodePath)> {
        Self::find(url, options).map(|(hierarchy, path, _)| (hierarchy, path))
    }

    /// The node that a URL or a path means; over a slow wire sooner than [`Hierarchy::locate`] and then
    /// [`Hierarchy::node`]: documents that were read to find it are not read again.
    ///
    /// # Errors
    /// As those.
    pub fn open_node(url: &str, options: &OpenOptions) -> Result<Node> {
        let (hierarchy, path, probed) = Self::find(url, options)?;
        let metadata = block_on(hierarchy.context.probed_node(&path, probed))?;
        hierarchy.node_of(&path, metadata)
    }

    /// As [`Hierarchy::locate`]; and the documents at the hierarchy's root that were found on the way.
    fn find(url: &str, options: &OpenOptions) -> Result<(Hierarchy, NodePath, Documents)> {
        let mut below = Vec::<String>::new();
        // The slashes of `memory://` and of `/` are no ending.
        let mut base = match url.trim_end_matches('/') {
            "" => url.to_owned(),
            trimmed if trimmed.ends_with(':') && url.contains("://") => url.to_owned(),
            trimmed => trimmed.to_owned(),
        };
        loop {
            let store = options.store(&base).map_err(|e| Error::from(e).at_store(url));
            let probe = |store: Arc<dyn Store>| {
                let waiting = guarded(store.clone());
                let context = match &below[..] {
                    [] => block_on(HierarchyContext::open(waiting, options, None)),
                    // The URL may name a document itself, as those of May 2019 lie about.
                    [name] => block_on(HierarchyContext::open(waiting, options, Some(name))),
                    _ => block_on(HierarchyContext::probe(waiting, options)),
                };
                Ok(context?.map(|(context, probed)| (Self::of(context, store), probed)))
            };
            match store.and_then(probe) {
                Ok(Some((hierarchy, probed))) if hierarchy.is_document(&below) => {
                    return Ok((hierarchy, NodePath::root(), probed));
                }
                Ok(Some((hierarchy, probed))) => {
                    let draft = hierarchy.dialect() == Dialect::Draft;
                    if below.is_empty() && !draft && options.access == Access::ReadWrite {
                        let (holding, beyond) = Self::holding_copies(&base, options);
                        let holder = holding.as_ref().map_or(&hierarchy, |(holder, _)| holder);
                        beyond
                            .into_iter()
                            .for_each(|it| holder.context.warn(&it.place, vec![it.what]));
                        if let Some((hierarchy, path)) = holding {
                            return Ok((hierarchy, path, Documents::new()));
                        }
                    }
                    if below.is_empty() || draft {
                        let path = node_below(&below).map_err(|e| e.at_store(url))?;
                        return Ok((hierarchy, path, probed));
                    }
                    // v2 and v3 nodes are found where they lie; this one is not there.
                    break;
                }
                Ok(None) => {}
                // What lies above is none of the caller's, unless copies of it were asked for.
                Err(e)
                    if below.is_empty()
                        || matches!(
                            options.consolidated,
                            Consolidated::Use | Consolidated::At(_)
                        ) =>
                {
                    return Err(e);
                }
                Err(_) => break,
            }
            match parent(&base) {
                Some((above, name)) => {
                    below.insert(0, name.to_owned());
                    base = above.to_owned();
                }
                None => break,
            }
            if below.len() > 64 {
                break;
            }
        }
        let looked_for = "`zarr.json`, `.zarray`, `.zgroup`, `.zattrs`, `.zmetadata`";
        Err(Error::from(AccessError::NotFound { looked_for: looked_for.into() }).at_store(url))
    }

    /// The topmost hierarchy above the one at a URL that has copies of documents, and where that lies in it:
    /// who changes documents there has to change the copies, too. And warnings of copies that are too large to be
    /// read and changed (decision 0142).
    fn holding_copies(
        url: &str,
        options: &OpenOptions,
    ) -> (Option<(Hierarchy, NodePath)>, Vec<Warning>) {
        let (mut base, mut below) = (url, Vec::new());
        let (mut found, mut beyond) = (None, Vec::new());
        let untrue = |at: &str, why: &str| {
            let what = format!(
                "{why}; what is changed below stays unchanged in the copies there: raise `Limits::document`, or \
                 consolidate again"
            );
            Warning { place: at.to_owned(), what }
        };
        while let Some((above, name)) = parent(base) {
            below.insert(0, name.to_owned());
            base = above;
            let Ok(store) = options.store(base) else { break };
            match block_on(HierarchyContext::probe(guarded(store.clone()), options)) {
                Ok(Some((context, _))) if context.has_copies() => {
                    let Ok(path) = node_below(&below) else { return (None, beyond) };
                    found = Some((Self::of(context, store), path));
                }
                Ok(Some((context, _))) => {
                    let passed_over = context.warnings_of_copies().into_iter();
                    beyond.extend(passed_over.map(|what| untrue(base, &what)));
                }
                Err(e) if is_too_large(&e) => {
                    beyond.push(untrue(base, &e.cause().to_string()));
                    break;
                }
                Ok(None) | Err(_) => break,
            }
        }
        (found, beyond)
    }

    /// Whether the path segments below the store's root name a document that is the whole hierarchy.
    fn is_document(&self, below: &[String]) -> bool {
        let keys = self.context.format.document_keys(&NodePath::root()).unwrap_or_default();
        let is_lone = self.era().is_some_and(|era| era <= Era::E1);
        is_lone && matches!((below, &keys[..]), ([name], [key]) if key.as_str() == name)
    }

    /// Which of the drafts it follows, if any.
    pub fn era(&self) -> Option<Era> {
        self.context.format.era()
    }

    /// The dialect of its documents.
    pub fn dialect(&self) -> Dialect {
        self.context.format.dialect()
    }

    /// `v2`, `v3`, `draft-2020` or `draft-2019`.
    pub fn format_name(&self) -> &'static str {
        self.context.format.name()
    }

    /// Where its keys and values live.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// How arrays are read and written.
    pub fn options(&self) -> &Options {
        &self.context.options
    }

    /// What this program knows.
    pub fn registry(&self) -> &Arc<crate::Registry> {
        &self.context.registry
    }

    /// What tolerant reading has overlooked so far.
    pub fn warnings(&self) -> Vec<Warning> {
        self.context.warnings.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }

    /// The node at `path`.
    ///
    /// # Errors
    /// [`AccessError::NotFound`]; for a document that breaks its specification.
    pub fn node(&self, path: &NodePath) -> Result<Node> {
        let metadata = block_on(self.context.node(path))?;
        self.node_of(path, metadata)
    }

    pub(crate) fn node_of(&self, path: &NodePath, metadata: NodeMetadata) -> Result<Node> {
        Ok(match metadata {
            NodeMetadata::Array(metadata) => Node::Array(self.array_of(path, *metadata)?),
            NodeMetadata::Group(metadata) => Node::Group(self.group_of(path, metadata)),
        })
    }

    fn array_of(&self, path: &NodePath, metadata: crate::metadata::ArrayMetadata) -> Result<Array> {
        let core = ArrayNode::new(self.context.clone(), path.clone(), metadata)?;
        Ok(Array::new(self.clone(), core))
    }

    fn group_of(&self, path: &NodePath, metadata: GroupMetadata) -> Group {
        Group { hierarchy: self.clone(), path: path.clone(), metadata: Arc::new(metadata) }
    }

    /// The array at `path`.
    ///
    /// # Errors
    /// As [`Hierarchy::node`]; [`AccessError::NodeKind`] if it is a group.
    pub fn array(&self, path: &NodePath) -> Result<Array> {
        self.node(path)?.into_array()
    }

    /// The group at `path`.
    ///
    /// # Errors
    /// As [`Hierarchy::node`]; [`AccessError::NodeKind`] if it is an array.
    pub fn group(&self, path: &NodePath) -> Result<Group> {
        self.node(path)?.into_group()
    }

    /// The root group.
    ///
    /// # Errors
    /// As [`Hierarchy::group`].
    pub fn root(&self) -> Result<Group> {
        self.group(&NodePath::root())
    }

    /// The children of the node at `path`, sorted; an array has none.
    ///
    /// # Errors
    /// As [`Hierarchy::node`]; [`crate::StoreError::NotCapable`] if the store cannot list (D-161).
    pub fn children(&self, path: &NodePath) -> Result<Vec<Child>> {
        block_on(self.context.members(path))
    }

    /// The node at `path` and all nodes below it, sorted by path.
    ///
    /// # Errors
    /// As [`Hierarchy::node`] and [`Hierarchy::children`].
    pub fn tree(&self, path: &NodePath) -> Result<Vec<Child>> {
        block_on(self.context.tree(path))
    }

    /// The node and all below it, sorted by path and opened: each document is read once. Broken ones are noted as
    /// warnings and left out (T-35).
    ///
    /// # Errors
    /// As [`Hierarchy::tree`].
    pub fn nodes(&self, path: &NodePath) -> Result<Vec<Node>> {
        let nodes = block_on(self.context.nodes(path))?.into_iter();
        let opened = nodes.map(|(path, node)| (self.node_of(&path, node), path));
        Ok(opened.filter_map(|(node, path)| self.context.unless_broken(&path, node)).collect())
    }

    /// Creates a group, and those above it where the format wants them.
    ///
    /// # Errors
    /// [`AccessError::Exists`]; [`AccessError::ReadOnly`]; [`AccessError::Argument`] for a name that no
    /// node may have.
    pub fn create_group(&self, path: &NodePath, attributes: Object) -> Result<Group> {
        let metadata = GroupMetadata { attributes, ..GroupMetadata::default() };
        let group = NodeMetadata::Group(metadata.clone());
        block_on(self.context.create(path, &group, CreateMode::default()))?;
        Ok(self.group_of(path, metadata))
    }

    /// Whether an array like this could be created at `path`, as far as can be told without a look at the
    /// store: its name, its words, its codecs.
    ///
    /// # Errors
    /// As [`ArrayBuilder::create`].
    pub fn check_array(
        &self,
        path: &NodePath,
        metadata: &crate::metadata::ArrayMetadata,
    ) -> Result<()> {
        self.context.check_array(path, metadata)
    }

    /// Whether a group with these attributes could be created at `path`, as far as can be told without a look at the
    /// store: its name, its attributes.
    ///
    /// # Errors
    /// As [`Hierarchy::create_group`].
    pub fn check_group(&self, path: &NodePath, attributes: &Object) -> Result<()> {
        self.context.check_group(path, attributes)
    }

    /// Begins an array at `path`.
    pub fn create_array(&self, path: &NodePath) -> ArrayBuilder {
        ArrayBuilder::new(self.clone(), self.context.clone(), path.clone())
    }

    /// Erases the node at `path` with everything below it, and with it the files there that are not Zarr's:
    /// [`Hierarchy::foreign_keys`] lists them.
    ///
    /// # Errors
    /// [`AccessError::NotFound`]; [`AccessError::ReadOnly`].
    pub fn erase(&self, path: &NodePath) -> Result<()> {
        block_on(self.context.erase(path))
    }

    /// The keys below the node at `path` that no format here writes, sorted: files of the user's own, which
    /// [`Hierarchy::erase`] would erase, too. They are told by their names alone; no node need be at `path`.
    ///
    /// # Errors
    /// [`crate::StoreError::NotCapable`] if the store cannot list.
    pub fn foreign_keys(&self, path: &NodePath) -> Result<Vec<crate::store::StoreKey>> {
        block_on(self.context.foreign_keys(path))
    }

    /// The keys that an interrupted erase of the node at `path` left: all below it that Zarr may have written, if there
    /// is no node. None if there is one, or the store cannot list.
    ///
    /// # Errors
    /// What the store meets.
    pub fn interrupted_keys(&self, path: &NodePath) -> Result<Vec<crate::store::StoreKey>> {
        block_on(self.context.interrupted_keys(path))
    }

    /// Puts what was written where other readers find it, for stores that gather it until then, such as zip
    /// archives. The end of the last handle does so, too, but can tell nobody of a failure.
    ///
    /// # Errors
    /// When the store failed.
    pub fn flush(&self) -> Result<()> {
        block_on(self.context.flush())
    }

    /// Makes copies of all documents, so that readers need no others: `.zmetadata` in v2 (Z2-070), inline in
    /// the root group in v3 (F-013), where zarr-python 2.18 puts them in a draft (draft-v3.md 3.4). Whoever
    /// changes a document through this crate changes its copy, too. Returns the number of nodes.
    ///
    /// # Errors
    /// [`AccessError::ReadOnly`]; [`AccessError::Argument`] for a v3 array at the root, and for a hierarchy
    /// whose documents lie in such copies alone; for a document that is broken;
    /// [`crate::StoreError::NotCapable`] if the store cannot list.
    pub fn consolidate(&self) -> Result<usize> {
        block_on(self.context.consolidate(&NodePath::root()))
    }

    /// Whether copies of all documents are there, as [`Hierarchy::consolidate`] makes them.
    ///
    /// # Errors
    /// What the store meets.
    pub fn is_consolidated(&self) -> Result<bool> {
        block_on(self.context.is_consolidated(&NodePath::root()))
    }

    /// Takes those copies away; `false` if there were none.
    ///
    /// # Errors
    /// [`AccessError::ReadOnly`]; [`AccessError::Argument`] if the documents lie in them alone.
    pub fn remove_consolidated(&self) -> Result<bool> {
        block_on(self.context.remove_consolidated())
    }

    /// The nodes of which those copies say otherwise than the documents, sorted: none if they are true.
    ///
    /// # Errors
    /// [`AccessError::NotFound`] if there are no copies; for copies of a form that is not known.
    pub fn check_consolidated(&self) -> Result<Vec<NodePath>> {
        block_on(self.context.check_consolidated())
    }
}

/// The URL above, and the name in it.
fn parent(url: &str) -> Option<(&str, &str)> {
    url.rsplit_once('/')
        .filter(|(above, _)| !above.is_empty() && !above.ends_with('/') && !above.ends_with(':'))
}

/// The node that path segments below a draft's entry point mean; they may be those of its document.
fn node_below(segments: &[String]) -> Result<NodePath> {
    let mut names: Vec<&str> = segments.iter().map(String::as_str).collect();
    if names.len() >= 2 && matches!(names[0], "meta" | "data") && names[1] == "root" {
        names.drain(..2);
        if let Some(last) = names.last_mut() {
            let end = last.find(".array").or_else(|| last.find(".group")).unwrap_or(last.len());
            *last = &last[..end];
        }
    }
    Ok(NodePath::new(&names.join("/"))?)
}

/// Changes a node's attributes in its newest document.
pub(crate) async fn change_attributes(
    context: &HierarchyContext,
    path: &NodePath,
    kind: NodeKind,
    mut change: impl FnMut(&mut Object),
) -> Result<Object> {
    let place = context.format.attributes_place(path, kind).map_err(|e| context.at(path, e))?;
    if place.may_be_absent {
        // A document of attributes alone makes no node, and none must be left where a node was erased.
        context.node(path).await?;
    }
    let after = context
        .edit(path, &place, |json| {
            let mut attributes = match json {
                Json::Object(attributes) => attributes,
                _ => Object::new(),
            };
            let hidden = context.take_hidden(kind, &mut attributes);
            let before = attributes.clone();
            change(&mut attributes);
            context.check_attributes(kind, &before, &attributes, &hidden)?;
            Ok(Json::Object(attributes.into_iter().chain(hidden).collect()))
        })
        .await?;
    let mut attributes = after.as_object().cloned().unwrap_or_default();
    context.take_hidden(kind, &mut attributes);
    Ok(attributes)
}
