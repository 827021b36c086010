//! Icechunk repositories, for reading: one snapshot of a branch, a tag, or by its identifier (V-074 … V-077).
//!
//! A snapshot lists all nodes with their documents, which are Zarr's own. Where the chunks are is in manifests, which are read when one
//! of their chunks is.

pub(crate) mod file;
mod flatbuffer;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use futures::future::FutureExt;
use zarr_core::store::{
    Bytes, Capabilities, GetOptions, Listing, Result, Store, StoreKey, StorePrefix, async_trait,
};
use zarr_core::{Json, StoreError, sync};

pub use self::file::Wanted;
use self::file::{
    Check, Chunk, Kind, ManifestRef, Node, add_locations, decode, find_chunk, for_each_chunk, name,
    nodes,
};
use crate::reach::Reach;
use crate::shared_work::SharedWork;
use crate::source::{Reference, Source, capabilities_over};
use crate::target::Target;
use crate::targets::{OpenTargetStore, Targets};

const DOCUMENT: &str = "zarr.json";
/// The file that has all branches, tags and snapshots, in repositories of version 2.
pub(crate) const REPOSITORY: &str = "repo";
/// The most bytes of a file with metadata.
const MAX_FILE: u64 = 1 << 30;
/// The bytes of manifests that are kept.
const MAX_KEPT: usize = 256 << 20;
/// The most chunks that are listed.
const MAX_LISTED: usize = 10_000_000;

/// A snapshot of an Icechunk repository.
#[derive(Debug)]
pub struct Icechunk {
    store: Arc<dyn Store>,
    link: String,
    options: Vec<(String, String)>,
    /// By their paths, without `/` around them.
    nodes: BTreeMap<String, Node>,
    manifests: Mutex<Manifests>,
    /// The manifests that are being read.
    reading: SharedWork<[u8; 12], Bytes>,
    targets: Targets,
    /// The targets of virtual chunks, by their locations.
    opened: Mutex<HashMap<(String, Check), Target>>,
}

/// The manifests that were read.
#[derive(Debug, Default)]
struct Manifests {
    kept: HashMap<[u8; 12], Bytes>,
    size: usize,
}

/// How a repository is opened.
#[derive(Clone, Debug)]
pub struct IcechunkOptions {
    /// What stands before the store's URL in the name: `icechunk://tag=v1`.
    pub link: String,
    /// The options that open it again.
    pub options: Vec<(String, String)>,
    /// What of it is read.
    pub wanted: Wanted,
    /// What virtual chunks may lead to.
    pub reach: Reach,
}

fn damaged(store: &dyn Store, key: &str, why: &str) -> StoreError {
    StoreError::Backend(format!("{}: `{key}`: {why}", store.name()).into())
}

/// A file of the repository; `None` if it is absent.
async fn read(store: &dyn Store, key: &str) -> Result<Option<Bytes>> {
    let got = store.get(&StoreKey::new(key)?, GetOptions::at_most(MAX_FILE)).await?;
    Ok(got.map(|got| got.bytes.unwrap_or_default()))
}

/// The buffer in a file of the repository that must be there.
async fn read_buffer(store: &dyn Store, key: &str, kind: Kind) -> Result<Bytes> {
    let file = read(store, key).await?;
    let file = file.ok_or_else(|| damaged(store, key, "the file is missing"))?;
    decode(&file, kind).map_err(|why| damaged(store, key, &why))
}

/// The identifier of the snapshot that is wanted.
async fn snapshot_id(store: &dyn Store, wanted: &Wanted) -> Result<String> {
    if let Some(file) = read(store, REPOSITORY).await? {
        let found = decode(&file, Kind::Repository);
        let found = found.and_then(|buffer| file::snapshot_in_repository(&buffer, wanted));
        return found.map_err(|why| damaged(store, REPOSITORY, &why));
    }
    // Version 1 has a file for each branch and tag. Its text says `tags`, and its writers write `tag`.
    let keys = match wanted {
        Wanted::Snapshot(id) => return Ok(id.clone()),
        Wanted::Branch(branch) => vec![format!("refs/branch.{branch}")],
        Wanted::Tag(tag) => vec![format!("refs/tag.{tag}"), format!("refs/tags.{tag}")],
    };
    for key in keys {
        let (file, tombstone) = (format!("{key}/ref.json"), format!("{key}/ref.json.deleted"));
        if read(store, &tombstone).await?.is_some() {
            continue;
        }
        if let Some(text) = read(store, &file).await? {
            let json = Json::parse(&text).map_err(|why| damaged(store, &file, &why))?;
            let id = json["snapshot"].as_str().map(str::to_owned);
            return id.ok_or_else(|| damaged(store, &file, "it has no text `snapshot`"));
        }
    }
    let wanted = match wanted {
        Wanted::Branch(name) => format!("branch `{name}`"),
        Wanted::Tag(name) => format!("tag `{name}`"),
        Wanted::Snapshot(id) => format!("snapshot `{id}`"),
    };
    Err(damaged(store, "refs", &format!("it has no {wanted}")))
}

impl Icechunk {
    /// The snapshot of the repository in `store` that `options` name. Targets of virtual chunks are opened with `open`.
    ///
    /// # Errors
    /// [`StoreError::Backend`] for what is not there or damaged; the store's own.
    pub async fn open(
        store: Arc<dyn Store>,
        options: IcechunkOptions,
        open: OpenTargetStore,
    ) -> Result<Icechunk> {
        let id = snapshot_id(&*store, &options.wanted).await?;
        let key = format!("snapshots/{id}");
        let buffer = read_buffer(&*store, &key, Kind::Snapshot).await?;
        let listed = nodes(&buffer).map_err(|why| damaged(&*store, &key, &why))?;
        let nodes = listed.into_iter().map(|node| (node.path.clone(), node)).collect();
        let targets = Targets::new(options.reach, open);
        let IcechunkOptions { link, options, .. } = options;
        let (manifests, opened) = Default::default();
        Ok(Icechunk { store, link, options, nodes, manifests, targets, opened })
    }

    async fn manifest(&self, id: &[u8; 12]) -> Result<Bytes> {
        if let Some(kept) = sync::lock(&self.manifests).kept.get(id) {
            return Ok(kept.clone());
        }
        let read = self.reading.result(*id, || {
            let (store, key) = (self.store.clone(), format!("manifests/{}", name(id)));
            async move { read_buffer(&*store, &key, Kind::Manifest).await }.boxed()
        });
        let buffer = read.await?;
        let mut manifests = sync::lock(&self.manifests);
        if manifests.size.saturating_add(buffer.len()) > MAX_KEPT {
            *manifests = Manifests::default();
        }
        if manifests.kept.insert(*id, buffer.clone()).is_none() {
            manifests.size += buffer.len();
        }
        Ok(buffer)
    }

    /// The array that a key is a chunk of, and the chunk's indices.
    fn array_of<'s>(&'s self, key: &str) -> Option<(&'s Node, &'s [ManifestRef], Vec<u32>)> {
        let (path, indices) = match key.rsplit_once("/c/") {
            Some(split) => split,
            None => match key.strip_prefix("c/") {
                Some(indices) => ("", indices),
                None => (key.strip_suffix("/c").or((key == "c").then_some(""))?, ""),
            },
        };
        let node = self.nodes.get(path)?;
        let manifests = node.manifests.as_deref()?;
        let parts = indices.split('/').filter(|part| !part.is_empty());
        let indices: Option<Vec<u32>> = parts.map(|part| part.parse().ok()).collect();
        Some((node, manifests, indices?))
    }

    async fn chunk(&self, key: &StoreKey, chunk: Chunk) -> Result<Reference> {
        match chunk {
            Chunk::Inline(bytes) => Ok(Reference::Inline(bytes)),
            Chunk::Native { id, offset, length } => {
                let file = StoreKey::new(format!("chunks/{}", name(&id)))?;
                let target = Target::new(self.store.clone(), file);
                Ok(Reference::Part { target, offset, length })
            }
            Chunk::Virtual { location, offset, length, check } => {
                let place = (location, check);
                let known = sync::lock(&self.opened).get(&place).cloned();
                let target = match known {
                    Some(target) => target,
                    None => {
                        let (location, check) = place.clone();
                        let target = self.targets.open(key, &location, String::new).await?;
                        let target = target.with_check(check.etag, check.last_modified);
                        sync::lock(&self.opened).entry(place).or_insert(target).clone()
                    }
                };
                Ok(Reference::Part { target, offset, length })
            }
        }
    }
}

#[async_trait]
impl Source for Icechunk {
    fn name(&self) -> String {
        format!("{}::{}", self.link, self.store.name())
    }

    fn public_options(&self) -> Vec<(String, String)> {
        self.options.clone()
    }

    async fn places(&self) -> Result<Vec<String>> {
        let mut places = self.store.places().await?;
        let locations = self.locations().await?;
        places.extend(self.targets.places(locations.keys().map(String::as_str)));
        Ok(places)
    }

    fn capabilities(&self) -> Capabilities {
        // Virtual chunks may be anywhere.
        let store = capabilities_over(self.store.capabilities());
        Capabilities { local: false, cheap_ranges: false, ..store }
    }

    async fn find(&self, key: &StoreKey) -> Result<Option<Reference>> {
        let text = key.as_str();
        if let Some(path) = text.strip_suffix(DOCUMENT) {
            let node = self.nodes.get(path.trim_end_matches('/'));
            return Ok(node.map(|node| Reference::Inline(node.document.clone())));
        }
        let Some((node, manifests, indices)) = self.array_of(text) else { return Ok(None) };
        for manifest in manifests.iter().filter(|manifest| manifest.covers(&indices)) {
            let buffer = self.manifest(&manifest.id).await?;
            let found = find_chunk(&buffer, &node.id, &indices).map_err(|why| {
                damaged(&*self.store, &format!("manifests/{}", name(&manifest.id)), &why)
            })?;
            if let Some(chunk) = found {
                return self.chunk(key, chunk).await.map(Some);
            }
        }
        Ok(None)
    }

    async fn list_dir(&self, prefix: &StorePrefix) -> Result<Listing> {
        let folder = prefix.as_str().trim_end_matches('/');
        let mut names: Vec<String> = Vec::new();
        let from = self.nodes.range(folder.to_owned()..);
        for (path, _) in from.take_while(|(path, _)| path.starts_with(folder)) {
            let is_below = folder.is_empty()
                || path
                    .strip_prefix(folder)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
            if is_below {
                let slash = if path.is_empty() { "" } else { "/" };
                names.push(format!("{path}{slash}{DOCUMENT}"));
            }
        }
        // Chunks are in the folder `c` of their array, which is this folder or one above it.
        let above = match folder.rfind("/c/").or(folder.strip_suffix("/c").map(str::len)) {
            Some(end) => &folder[..end],
            None if folder == "c" || folder.starts_with("c/") => "",
            None => folder,
        };
        let array = [folder, above]
            .into_iter()
            .find(|path| self.nodes.get(*path).is_some_and(|node| node.manifests.is_some()));
        if let Some(node) = array.and_then(|path| self.nodes.get(path)) {
            for manifest in node.manifests.iter().flatten() {
                let buffer = self.manifest(&manifest.id).await?;
                let listed = for_each_chunk(&buffer, &node.id, |indices| {
                    if names.len() < MAX_LISTED {
                        names.push(chunk_key(&node.path, &indices));
                    }
                });
                listed.map_err(|why| {
                    damaged(&*self.store, &format!("manifests/{}", name(&manifest.id)), &why)
                })?;
    async fn refused_targets(&self) -> Result<Vec<StoreError>> {
        // Elsewhere each manifest would be a request.
        if !self.store.capabilities().local {
            return Ok(Vec::new());
        }
        let locations = self.locations().await?;
        let references = locations.iter().map(|(location, key)| (key.as_str(), location.as_str()));
        self.targets.refused(references, String::new)
    }

            }
        }
        Ok(Listing::of_names(prefix, names.iter().map(String::as_str)))
    }
}

fn chunk_key(path: &str, indices: &[u32]) -> String {
    let mut key = if path.is_empty() { "c".to_owned() } else { format!("{path}/c") };
    for index in indices {
        key.push('/');
        key.push_str(&index.to_string());
    }
    key
}
