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
    containers: BTreeMap<String, String>,
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
    /// Containers of virtual chunks: what `vcc://NAME/` stands for in locations, by name.
    pub containers: BTreeMap<String, String>,
}

fn damaged(store: &dyn Store, key: &str, why: &str) -> StoreError {
    StoreError::Backend(format!("{}: `{key}`: {why}", store.name()).into())
}

/// The beginning of locations in a container of virtual chunks.
const CONTAINER: &str = "vcc://";

/// The URL of a location, which may be in one of these containers (V-077).
///
/// # Errors
/// A sentence that says which container is not known.
fn resolved(location: &str, containers: &BTreeMap<String, String>) -> Result<String, String> {
    let Some(rest) = location.strip_prefix(CONTAINER) else { return Ok(location.to_owned()) };
    let (name, path) = rest.split_once('/').unwrap_or((rest, ""));
    let Some(prefix) = containers.get(name) else {
        return Err(format!(
            "where its container `{name}` is, the repository's configuration says, which is not read; name its URL with the \
             option `container`: `icechunk://container={name}=URL::…`"
        ));
    };
    let slash = if prefix.ends_with('/') { "" } else { "/" };
    Ok(format!("{prefix}{slash}{path}"))
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
        let IcechunkOptions { link, options, containers, .. } = options;
        let (manifests, reading, opened) = Default::default();
        Ok(Icechunk {
            store,
            link,
            options,
            nodes,
            manifests,
            reading,
            targets,
            containers,
            opened,
        })
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

    /// The locations of all virtual chunks, each with the prefix of the chunks of an array that has one there.
    async fn locations(&self) -> Result<BTreeMap<String, String>> {
        let mut locations = BTreeMap::new();
        for node in self.nodes.values() {
            for manifest in node.manifests.iter().flatten() {
                let buffer = self.manifest(&manifest.id).await?;
                let key = chunk_key(&node.path, &[]);
                add_locations(&buffer, &node.id, &key, &mut locations).map_err(|why| {
                    damaged(&*self.store, &format!("manifests/{}", name(&manifest.id)), &why)
                })?;
            }
        }
        let urls = locations.into_iter().map(|(location, key)| {
            let url = resolved(&location, &self.containers).unwrap_or(location);
            (url, key)
        });
        Ok(urls.collect())
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
                        let url = resolved(&location, &self.containers).map_err(|why| {
                            StoreError::TargetRefused {
                                key: key.to_string(),
                                target: location,
                                why,
                            }
                        })?;
                        let target = self.targets.open(key, &url, String::new).await?;
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

    async fn refused_targets(&self) -> Result<Vec<StoreError>> {
        // Elsewhere each manifest would be a request.
        if !self.store.capabilities().local {
            return Ok(Vec::new());
        }
        let locations = self.locations().await?;
        let references = locations.iter().map(|(location, key)| (key.as_str(), location.as_str()));
        self.targets.refused(references, String::new)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_in_containers_are_below_their_urls() {
        let containers = [("era5", "s3://bucket/era5/"), ("b", "file:///data")];
        let containers =
            containers.into_iter().map(|(name, url)| (name.to_owned(), url.to_owned())).collect();
        let url = |location| resolved(location, &containers);
        assert_eq!(url("vcc://era5/1979/a.nc").unwrap(), "s3://bucket/era5/1979/a.nc");
        assert_eq!(url("vcc://b/a.nc").unwrap(), "file:///data/a.nc");
        assert_eq!(url("s3://other/vcc://b").unwrap(), "s3://other/vcc://b");
        assert!(url("vcc://c/a.nc").unwrap_err().contains("container=c=URL"));
    }
}
