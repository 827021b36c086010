//! Opens and creates hierarchies, and finds the node that a URL names.

use std::sync::Arc;

use super::node::NodeCore;
use super::under_way::copy_under_way;
use super::{ArrayNode, Consolidated, CreateMode, HierarchyContext, OpenOptions};
use crate::array::executor::elsewhere;
use crate::array::{MetadataOrigin, wrong_kind};
use crate::context::is_too_large;
use crate::dialect::{Dialect, Era, Warning};
use crate::error::{AccessError, Error, ErrorKind, Result};
use crate::format::{Documents, Format, array_documents};
use crate::metadata::{GroupMetadata, NodeKind, NodeMetadata};
use crate::path::NodePath;
use crate::registry::Access;
use crate::store::{Store, guarded};
use crate::web_address::split_query;

/// The most path segments between a URL and the hierarchy that it is in.
const MOST_SEGMENTS: usize = 64;

/// The most places, the URL and those above it, where the journal of a copy is looked for.
const MOST_JOURNALS: usize = 4;

/// A hierarchy, a node in it, and the documents at the hierarchy's root that were read on the way.
type Located = (Arc<HierarchyContext>, NodePath, Documents);

impl HierarchyContext {
    /// Makes the context that handles share; `store` is the one of the caller.
    fn share(mut self, store: Arc<dyn Store>) -> Arc<HierarchyContext> {
        let capabilities = store.capabilities();
        if self.access == Access::ReadWrite && !capabilities.swap && capabilities.write {
            let what = "the store cannot compare and swap; writers of one chunk are guarded within this process alone";
            self.warn("store", vec![what.into()]);
        }
        self.unguarded = store;
        Arc::new(self)
    }

    /// The hierarchy that begins at a store's root.
    pub async fn at_root(store: Arc<dyn Store>, options: &OpenOptions) -> Result<Arc<Self>> {
        let found = HierarchyContext::open(guarded(store.clone()), options, None).await?;
        if let Some((context, _)) = found {
            return Ok(context.share(store));
        }
        let under_way = copy_under_way(&*store, &NodePath::root(), &options.options.limits).await;
        Err(under_way.unwrap_or_else(|| not_found().at_store(store.name())))
    }

    /// A new hierarchy with its root group.
    pub async fn create_whole(
        store: Arc<dyn Store>,
        format: Arc<dyn Format>,
        options: &OpenOptions,
    ) -> Result<Arc<Self>> {
        let context = Self::begin(store, format, options).await?;
        if context.format.groups_are_explicit() {
            let root = NodeMetadata::Group(GroupMetadata::default());
            context.create(&NodePath::root(), &root, CreateMode::default()).await?;
        }
        Ok(context)
    }

    /// A new hierarchy; where groups are explicit without its root group.
    pub async fn begin(
        store: Arc<dyn Store>,
        format: Arc<dyn Format>,
        options: &OpenOptions,
    ) -> Result<Arc<Self>> {
        let any = options.clone().any_dialect();
        if let Some((there, _)) = Self::probe(guarded(store.clone()), &any).await? {
            let error = Error::from(AccessError::Exists("a hierarchy"));
            return Err(error.at_store(there.store.name()).at_path(&NodePath::root()));
        }
        let context = HierarchyContext::of_format(store, format, options);
        let created = context.create_entry_point().await;
        created.map_err(|e| e.at_store(context.store.name()))?;
        Ok(context)
    }

    /// A hierarchy of a known format; the store is not read.
    pub fn of_format(
        store: Arc<dyn Store>,
        format: Arc<dyn Format>,
        options: &OpenOptions,
    ) -> Arc<Self> {
        Self::new(guarded(store.clone()), format, options, Vec::new()).share(store)
    }

    /// An array that a document describes; the store is not read.
    pub fn array_of_document(
        store: Arc<dyn Store>,
        path: &NodePath,
        document: &[u8],
        options: &OpenOptions,
    ) -> Result<ArrayNode> {
        let at = |e: Error| e.at_store(store.name()).at_path(path);
        let found = array_documents(document, path, options.dialect).map_err(at)?;
        let format = options.wrapped(options.format(found.0));
        let context = Self::of_format(store.clone(), format, options);
        match context.parse(path, &found.1).map_err(at)? {
            Some(NodeMetadata::Array(metadata)) => {
                ArrayNode::new(context, path.clone(), *metadata, MetadataOrigin::Caller)
            }
            _ => Err(at(wrong_kind(NodeKind::Group).into())),
        }
    }

    /// The hierarchy of a dialect at a URL, or a new one.
    pub async fn open_or_create(
        url: &str,
        dialect: Dialect,
        options: &OpenOptions,
    ) -> Result<Arc<Self>> {
        let options = options.clone().any_dialect().read_write();
        let store = open_store(url, &options).await.map_err(|e| e.at_store(url))?;
        let open = async || {
            let found = Self::at_root(store.clone(), &options).await?;
            if found.format.dialect() == dialect {
                return Ok(found);
            }
            let name = found.format.name();
            let why = format!("{} holds a hierarchy in {name}, not {dialect}", store.name());
            Err(Error::from(AccessError::Argument(why)).at_store(url))
        };
        match open().await {
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            other => return other,
        }
        match Self::begin(store.clone(), options.format(dialect), &options).await {
            // Another writer began it at the same time.
            Err(e) if e.kind() == ErrorKind::Exists => open().await,
            other => other,
        }
    }

    /// The node that a URL names. The documents that were read to find it are not read again.
    pub async fn open_url(url: &str, options: &OpenOptions) -> Result<(Arc<Self>, NodeCore)> {
        let (context, path, probed) = Self::locate(url, options).await?;
        let metadata = context.probed_node(&path, probed).await?;
        let node = context.node_core(&path, metadata)?;
        Ok((context, node))
    }

    /// The hierarchy that a URL names, and the node in it: a store's root, or a node inside
    /// (docs/internals/design/documents.md).
    pub async fn locate(url: &str, options: &OpenOptions) -> Result<Located> {
        for (base, below) in with_parents(url) {
            match Self::begins_at(&base, url, &below, options).await {
                Ok(Some((context, probed))) if context.is_document(&below) => {
                    return Ok((context, NodePath::root(), probed));
                }
                Ok(Some((context, probed))) => {
                    let draft = context.format.dialect() == Dialect::Draft;
                    if below.is_empty() && !draft && options.access == Access::ReadWrite {
                        let (holding, beyond) = Self::holding_copies(&base, options).await;
                        let holder = holding.as_ref().map_or(&context, |(holder, _)| holder);
                        beyond.into_iter().for_each(|it| holder.warn(&it.place, vec![it.what]));
                        if let Some((context, path)) = holding {
                            return Ok((context, path, Documents::new()));
                        }
                    }
                    if below.is_empty() || draft {
                        let path = node_below(&below).map_err(|e| e.at_store(url))?;
                        return Ok((context, path, probed));
                    }
                    // The documents of v2 and v3 are stored at their nodes; this node does not exist.
                    break;
                }
                Ok(None) => {}
                Err(e) if below.is_empty() => return Err(e),
                // Errors above matter only if the caller requires copies, which may be there.
                Err(e) => match options.consolidated {
                    Consolidated::Use | Consolidated::At(_) => return Err(e),
                    _ => break,
                },
            }
        }
        for (base, below) in with_parents(url).into_iter().take(MOST_JOURNALS) {
            let Ok(store) = open_store(&base, options).await else { break };
            let Ok(path) = node_below(&below) else { break };
            if let Some(e) = copy_under_way(&*store, &path, &options.options.limits).await {
                return Err(e);
            }
        }
        Err(not_found().at_store(url))
    }

    /// The hierarchy at `base`, if one begins there; `url` has the path segments `below`, too.
    async fn begins_at(
        base: &str,
        url: &str,
        below: &[&str],
        options: &OpenOptions,
    ) -> Result<Option<(Arc<Self>, Documents)>> {
        let given = open_store(base, options).await.map_err(|e| e.at_store(url))?;
        let store = guarded(given.clone());
        let found = match below {
            [] => Self::open(store, options, None).await?,
            // The URL may name a document of May 2019, which has any name.
            [name] => Self::open(store, options, Some(name)).await?,
            _ => Self::probe(store, options).await?,
        };
        Ok(found.map(|(context, probed)| (context.share(given), probed)))
    }

    /// The topmost hierarchy above the one at a URL that has copies of documents, and the URL's node in it: a writer has to
    /// change the copies, too. And warnings of copies that are too large to be read and changed
    /// (docs/internals/design/limits.md).
    async fn holding_copies(
        url: &str,
        options: &OpenOptions,
    ) -> (Option<(Arc<Self>, NodePath)>, Vec<Warning>) {
        let (mut found, mut beyond) = (None, Vec::new());
        let untrue = |at: &str, why: &str| {
            let what = format!(
                "{why}; what is changed below stays unchanged in the copies there: raise `Limits::document`, or \
                 consolidate again"
            );
            Warning { place: at.to_owned(), what }
        };
        for (base, below) in with_parents(url).into_iter().skip(1) {
            let Ok(store) = open_store(&base, options).await else { break };
            match Self::probe(guarded(store.clone()), options).await {
                Ok(Some((context, _))) if context.has_copies() => {
                    let Ok(path) = node_below(&below) else { return (None, beyond) };
                    found = Some((context.share(store), path));
                }
                Ok(Some((context, _))) => {
                    let passed_over = context.warnings_of_copies().into_iter();
                    beyond.extend(passed_over.map(|what| untrue(&base, &what)));
                }
                Err(e) if is_too_large(&e) => {
                    beyond.push(untrue(&base, &e.cause().to_string()));
                    break;
                }
                Ok(None) | Err(_) => break,
            }
        }
        (found, beyond)
    }

    /// Whether the path segments below the store's root name a document that is the whole hierarchy.
    fn is_document(&self, below: &[&str]) -> bool {
        let keys = self.format.document_keys(&NodePath::root()).unwrap_or_default();
        let is_single = self.format.era().is_some_and(|era| era <= Era::E1);
        is_single && matches!((below, &keys[..]), ([name], [key]) if key.as_str() == *name)
    }
}

/// The store that a URL names. Opening it may block, so it is done on a thread that may.
async fn open_store(url: &str, options: &OpenOptions) -> Result<Arc<dyn Store>> {
    let (at, options) = (url.to_owned(), options.clone());
    elsewhere(move || Ok(options.store(&at)?)).await
}

fn not_found() -> Error {
    let looked_for = "`zarr.json`, `.zarray`, `.zgroup`, `.zattrs`, `.zmetadata`".into();
    AccessError::NotFound { looked_for }.into()
}

/// A URL and those above it, each with the path segments from there to the URL. All have the query of a web address.
fn with_parents(url: &str) -> Vec<(String, Vec<&str>)> {
    let (place, query) = split_query(url);
    // The slashes of `memory://` and of `/` stay.
    let mut base = match place.trim_end_matches('/') {
        "" => place,
        trimmed if trimmed.ends_with(':') && place.contains("://") => place,
        trimmed => trimmed,
    };
    let mut below = Vec::new();
    let mut urls = vec![(format!("{base}{query}"), below.clone())];
    while below.len() < MOST_SEGMENTS
        && let Some((above, name)) = base.rsplit_once('/')
        && !above.is_empty()
        && !above.ends_with(['/', ':'])
    {
        base = above;
        below.insert(0, name);
        urls.push((format!("{base}{query}"), below.clone()));
    }
    urls
}

/// The node that path segments below a draft's entry point name; they may be those of its document.
fn node_below(segments: &[&str]) -> Result<NodePath> {
    let mut names = segments.to_vec();
    if names.len() >= 2 && matches!(names[0], "meta" | "data") && names[1] == "root" {
        names.drain(..2);
        if let Some(last) = names.last_mut() {
            let end = last.find(".array").or_else(|| last.find(".group")).unwrap_or(last.len());
            *last = &last[..end];
        }
    }
    Ok(NodePath::new(&names.join("/"))?)
}
