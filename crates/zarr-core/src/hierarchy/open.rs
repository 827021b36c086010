//! Opens and creates hierarchies, and finds the node that a URL names.

use std::sync::Arc;

use super::consolidated::compare;
use super::context::HierarchyContext;
use super::leftovers::CreateMode;
use super::node::NodeCore;
use super::options::{Consolidated, OpenOptions};
use super::under_way::copy_under_way;
use super::{create, list, new_document, probe};
use crate::array::{ArrayCore, MetadataOrigin, wrong_kind};
use crate::context::{StoreContext, is_too_large};
use crate::dialect::{Dialect, Era, Warning};
use crate::error::{AccessError, Error, ErrorKind, Result, without_secrets};
use crate::format::{Documents, Format, array_documents, node_below_entry_point};
use crate::metadata::{ArrayMetadata, GroupMetadata, NodeKind, NodeMetadata};
use crate::path::NodePath;
use crate::registry::Access;
use crate::runtime::pool::spawn_blocking;
use crate::store::{Store, guarded};
use crate::web_address::split_query;

/// The most path segments between a URL and the hierarchy that it is in.
const MAX_SEGMENTS: usize = 64;

/// The most places, the URL and those above it, where the journal of a copy is looked for.
const MAX_JOURNALS: usize = 4;

/// The most places, the URL and those above it, where data of other formats are looked for.
const MAX_RECOGNIZED: usize = 8;

/// A hierarchy, a node in it, and the documents at the hierarchy's root that were read on the way.
type Located = (Arc<HierarchyContext>, NodePath, Documents);

/// The hierarchy that begins at a store's root.
pub async fn open_root(
    store: Arc<dyn Store>,
    options: &OpenOptions,
) -> Result<Arc<HierarchyContext>> {
    let found = probe::find(guarded(store.clone()), options, None).await?;
    if let Some((hierarchy, _)) = found {
        return Ok(hierarchy.share(store));
    }
    let under_way = copy_under_way(&*store, &NodePath::root(), &options.options.limits).await;
    match under_way {
        Some(e) => Err(e),
        None => Err(not_found(&store.name()).await),
    }
}

/// A new hierarchy with its root group.
pub async fn create_whole(
    store: Arc<dyn Store>,
    format: Arc<dyn Format>,
    options: &OpenOptions,
) -> Result<Arc<HierarchyContext>> {
    let hierarchy = begin(store, format, options).await?;
    if hierarchy.context.format.groups_are_explicit() {
        let root = NodeMetadata::Group(GroupMetadata::default());
        let mode = CreateMode::default();
        create::create_node(&hierarchy, &NodePath::root(), &root, mode).await?;
    }
    Ok(hierarchy)
}

/// A new hierarchy; where groups are explicit without its root group.
pub async fn begin(
    store: Arc<dyn Store>,
    format: Arc<dyn Format>,
    options: &OpenOptions,
) -> Result<Arc<HierarchyContext>> {
    let any = options.clone().any_dialect();
    if let Some((there, _)) = probe::probe(guarded(store.clone()), &any).await? {
        let exists = AccessError::Exists("a hierarchy");
        return Err(there.context.with_context(&NodePath::root(), exists));
    }
    let hierarchy = with_format(store, format, options);
    let created = new_document::create_entry_point(&hierarchy.context).await;
    created.map_err(|e| e.at_store(hierarchy.context.store.name()))?;
    Ok(hierarchy)
}

/// A hierarchy of a known format; the store is not read.
pub fn with_format(
    store: Arc<dyn Store>,
    format: Arc<dyn Format>,
    options: &OpenOptions,
) -> Arc<HierarchyContext> {
    HierarchyContext::new(guarded(store.clone()), format, options, Vec::new()).share(store)
}

/// An array that a document describes; the store is not read.
pub fn array_of_document(
    store: Arc<dyn Store>,
    path: &NodePath,
    document: &[u8],
    options: &OpenOptions,
) -> Result<(Arc<HierarchyContext>, Arc<ArrayCore>)> {
    let name = store.name();
    let parsed = parse_array_document(store, path, document, options);
    let (hierarchy, metadata) = parsed.map_err(|e| e.at_store(name).at_path(path))?;
    let context = hierarchy.context.clone();
    let path = path.clone();
    let array = ArrayCore::new(context, path, metadata, MetadataOrigin::Caller)?;
    Ok((hierarchy, Arc::new(array)))
}

fn parse_array_document(
    store: Arc<dyn Store>,
    path: &NodePath,
    document: &[u8],
    options: &OpenOptions,
) -> Result<(Arc<HierarchyContext>, ArrayMetadata)> {
    let (dialect, documents) = array_documents(document, path, options.dialect)?;
    let format = options.wrapped(options.format(dialect));
    let hierarchy = with_format(store, format, options);
    match hierarchy.context.parse(path, &documents)? {
        Some(NodeMetadata::Array(metadata)) => Ok((hierarchy, *metadata)),
        _ => Err(wrong_kind(NodeKind::Group).into()),
    }
}

/// The hierarchy of a dialect at a URL, or a new one.
pub async fn open_or_create(
    url: &str,
    dialect: Dialect,
    options: &OpenOptions,
) -> Result<Arc<HierarchyContext>> {
    let options = options.clone().any_dialect().read_write();
    let store = open_store(url, &options).await.map_err(|e| e.at_store(url))?;
    match open_as(store.clone(), url, dialect, &options).await {
        Err(e) if e.kind() == ErrorKind::NotFound => {}
        other => return other,
    }
    match begin(store.clone(), options.format(dialect), &options).await {
        // Another writer began it at the same time.
        Err(e) if e.kind() == ErrorKind::Exists => open_as(store, url, dialect, &options).await,
        other => other,
    }
}

/// The hierarchy at a store's root, which must be of this dialect.
async fn open_as(
    store: Arc<dyn Store>,
    url: &str,
    dialect: Dialect,
    options: &OpenOptions,
) -> Result<Arc<HierarchyContext>> {
    let found = open_root(store.clone(), options).await?;
    let format = &found.context.format;
    if format.dialect() == dialect {
        return Ok(found);
    }
    let name = format.name();
    let why = format!("{} holds a hierarchy in {name}, not {dialect}", store.name());
    Err(Error::from(AccessError::Argument(why)).at_store(url))
}

/// The node that a URL names. The documents that were read to find it are not read again.
pub async fn open_url(
    url: &str,
    options: &OpenOptions,
) -> Result<(Arc<HierarchyContext>, NodeCore)> {
    let (hierarchy, path, probed) = locate(url, options).await?;
    let metadata = list::probed_node(&hierarchy, &path, probed).await?;
    let node = NodeCore::new(&hierarchy.context, &path, metadata)?;
    Ok((hierarchy, node))
}

/// The hierarchy that a URL names, and the node in it: a store's root, or a node inside
/// (docs/internals/design/documents.md).
pub async fn locate(url: &str, options: &OpenOptions) -> Result<Located> {
    for (base, below) in with_parents(url) {
        let begun = begins_at(&base, url, &below, options).await;
        // References in Parquet have a document with the name of consolidated metadata, and no other.
        if let Ok(Some((_, probed))) = &begun
            && below.is_empty()
            && probed.iter().all(|(key, _)| key.as_str() == ".zmetadata")
            && let Some(located) = locate_other_format(url, options, 1).await?
        {
            return Ok(located);
        }
        match begun {
            Ok(Some((hierarchy, probed))) if is_document(&hierarchy.context, &below) => {
                return Ok((hierarchy, NodePath::root(), probed));
            }
            Ok(Some((hierarchy, probed))) => {
                let draft = hierarchy.context.format.dialect() == Dialect::Draft;
                if below.is_empty() && !draft && options.access == Access::ReadWrite {
                    let (holding, beyond) = holding_copies(&base, options).await;
                    let holder = holding.as_ref().map_or(&hierarchy, |(holder, _)| holder);
                    for warning in beyond {
                        holder.context.warn(&warning.place, vec![warning.what]);
                    }
                    if let Some((hierarchy, path)) = holding {
                        return Ok((hierarchy, path, Documents::new()));
                    }
                }
                if below.is_empty() || draft {
                    let path =
                        node_below_entry_point(&below).map_err(|e| Error::from(e).at_store(url))?;
                    return Ok((hierarchy, path, probed));
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
    if let Some(located) = locate_other_format(url, options, MAX_RECOGNIZED).await? {
        return Ok(located);
    }
    for (base, below) in with_parents(url).into_iter().take(MAX_JOURNALS) {
        let Ok(store) = open_store(&base, options).await else { break };
        let Ok(path) = node_below_entry_point(&below) else { break };
        if let Some(e) = copy_under_way(&*store, &path, &options.options.limits).await {
            return Err(e);
        }
    }
    Err(not_found(url).await)
}

/// The hierarchy in data of another format at a URL or above it, at the first `places` of these, and the node in it; `None` if there are
/// no such data.
async fn locate_other_format(
    url: &str,
    options: &OpenOptions,
    places: usize,
) -> Result<Option<Located>> {
    if !options.registry.has_recognizers() || url.contains("::") {
        return Ok(None);
    }
    let is_writing = options.access == Access::ReadWrite;
    for (base, below) in with_parents(url).into_iter().take(places) {
        // Before something is created nothing is there: names without an ending are not looked at.
        if is_writing && !base.rsplit('/').next().unwrap_or_default().contains('.') {
            continue;
        }
        let (at, reading) = (base.clone(), options.clone().read_only());
        let recognized =
            spawn_blocking(move || Ok(reading.registry.recognize(&at, &|url| reading.store(url))));
        let Some(found) = recognized.await? else { continue };
        if is_writing {
            let copy = format!("zarr copy {} NEW.zarr", without_secrets(&base));
            let other = AccessError::OtherFormat { what: found.what, copy };
            return Err(Error::from(other).at_store(url));
        }
        let Some((hierarchy, probed)) = begins_at(&found.url, &found.url, &[], options).await?
        else {
            continue;
        };
        let path = node_below_entry_point(&below).map_err(|e| Error::from(e).at_store(url))?;
        let probed = if path.is_root() { probed } else { Documents::new() };
        return Ok(Some((hierarchy, path, probed)));
    }
    Ok(None)
}

/// The hierarchy at `base`, if one begins there; `url` has the path segments `below`, too.
async fn begins_at(
    base: &str,
    url: &str,
    below: &[&str],
    options: &OpenOptions,
) -> Result<Option<(Arc<HierarchyContext>, Documents)>> {
    let given = open_store(base, options).await.map_err(|e| e.at_store(url))?;
    let store = guarded(given.clone());
    let found = match below {
        [] => probe::find(store, options, None).await?,
        // The URL may name a document of May 2019, which has any name.
        [name] => probe::find(store, options, Some(name)).await?,
        _ => probe::probe(store, options).await?,
    };
    Ok(found.map(|(hierarchy, probed)| (hierarchy.share(given), probed)))
}

/// The topmost hierarchy above the one at a URL that has copies of documents, and the URL's node in it: a writer has to
/// change the copies, too. And warnings of copies that are too large to be read and changed
/// (docs/internals/design/limits.md).
async fn holding_copies(
    url: &str,
    options: &OpenOptions,
) -> (Option<(Arc<HierarchyContext>, NodePath)>, Vec<Warning>) {
    let mut found = None;
    let mut beyond = Vec::new();
    for (base, below) in with_parents(url).into_iter().skip(1) {
        let Ok(store) = open_store(&base, options).await else { break };
        match probe::probe(guarded(store.clone()), options).await {
            Ok(Some((hierarchy, _))) if compare::has_copies(&hierarchy) => {
                let Ok(path) = node_below_entry_point(&below) else { return (None, beyond) };
                found = Some((hierarchy.share(store), path));
            }
            Ok(Some((hierarchy, _))) => {
                for why in compare::warnings_of_copies(&hierarchy.context) {
                    beyond.push(copies_left_stale(&base, &why));
                }
            }
            Err(e) if is_too_large(&e) => {
                beyond.push(copies_left_stale(&base, &e.cause().to_string()));
                break;
            }
            Ok(None) | Err(_) => break,
        }
    }
    (found, beyond)
}

/// The warning of copies at a URL that no change below reaches.
fn copies_left_stale(url: &str, why: &str) -> Warning {
    let what = format!(
        "{why}; changes to nodes below do not update these consolidated metadata: raise `Limits::document`, or \
         consolidate again"
    );
    Warning { place: url.to_owned(), what }
}

/// Whether the path segments below the store's root name a document that is the whole hierarchy.
fn is_document(context: &StoreContext, below: &[&str]) -> bool {
    let keys = context.format.document_keys(&NodePath::root()).unwrap_or_default();
    let is_single = context.format.era().is_some_and(|era| era <= Era::E1);
    is_single && matches!((below, &keys[..]), ([name], [key]) if key.as_str() == *name)
}

/// The store that a URL names. Opening it may block, so it is done on a thread that may.
async fn open_store(url: &str, options: &OpenOptions) -> Result<Arc<dyn Store>> {
    let at = url.to_owned();
    let options = options.clone();
    spawn_blocking(move || Ok(options.store(&at)?)).await
}

/// The error of a URL at which no hierarchy is, with what is there instead.
async fn not_found(url: &str) -> Error {
    let at = url.to_owned();
    let there = spawn_blocking(move || Ok(what_is_there(&at))).await.ok().flatten();
    let there = there.map_or(String::new(), |there| format!("; {there}"));
    let looked_for = format!("`zarr.json`, `.zarray`, `.zgroup`, `.zattrs`, `.zmetadata`{there}");
    Error::from(AccessError::NotFound { looked_for }).at_store(url)
}

/// What is at a path of this machine that holds no hierarchy; `None` for the URLs of other stores.
fn what_is_there(url: &str) -> Option<String> {
    let path = match url.split_once("://") {
        None => url,
        // A path with escapes is not the name of a file.
        Some(("file", path)) if !path.contains('%') => path,
        Some(_) => return None,
    };
    let Ok(there) = std::fs::metadata(path) else {
        // A chain of stores, or what follows `#`, is no part of a path.
        let is_path = !path.contains("::") && !path.contains('#');
        let is_absent = is_path && matches!(std::path::Path::new(path).try_exists(), Ok(false));
        return is_absent.then(|| "there is no such file or folder".into());
    };
    if there.is_dir() {
        let is_empty = std::fs::read_dir(path).ok()?.next().is_none();
        if is_empty {
            return Some("the folder is empty".into());
        }
        // Whoever asks for no format would have found them.
        let documents = ["zarr.json", ".zgroup", ".zarray", ".zmetadata"];
        let document =
            documents.iter().find(|name| std::path::Path::new(path).join(name).is_file());
        return Some(match document {
            Some(document) => format!(
                "the folder has `{document}`, but not in the format that was asked for; open it without naming a format"
            ),
            None => "the folder is there, but holds no Zarr data".into(),
        });
    }
    if !there.is_file() {
        return Some("this is neither a file nor a folder".into());
    }
    let is_archive = [".zip", ".ozx"].iter().any(|end| path.ends_with(end));
    let what = if is_archive {
        "the archive holds no Zarr data"
    } else {
        "this is a file, not a Zarr hierarchy"
    };
    Some(what.into())
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
    while below.len() < MAX_SEGMENTS
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
