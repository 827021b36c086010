//! Digests of stored chunks: computes them, and checks what is read against them.
//!
//! A chunk that was lost, cut short, swapped with another one, or put back as it was long ago, decodes well in most cases: no
//! codec tells. Its digest does, if that is kept apart from the data.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use zarr_core::store::{
    ByteRange, Bytes, Capabilities, GetOptions, Got, ListOptions, Listing, Payload, Precondition,
    SnapshotOptions, Store, StoreKey, StorePrefix, SyncSnapshot, SyncStore, from_sync,
};
use zarr_core::{AccessError, Array, CodecError, Error, Json, Node, Result, StoreError};

use crate::checksum::Digest;
use crate::errors::at_key;
use crate::tree_progress::nodes_and_broken;

/// How many bytes of an object are hashed at a time.
const PIECE: u64 = 8 << 20;

/// The SHA-256 of each stored chunk, or shard, of some arrays, by the keys of their store.
///
/// ```
/// use zarr_tools::ChunkManifest;
///
/// let digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
/// let key = zarr_core::store::StoreKey::new("a/c/0")?;
/// let manifest = ChunkManifest::from_iter([(key.clone(), digest.parse()?)]);
/// assert_eq!(manifest.get(&key).map(|digest| digest.to_string()).as_deref(), Some(digest));
/// # Ok::<_, zarr_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChunkManifest(BTreeMap<StoreKey, Digest>);

impl FromIterator<(StoreKey, Digest)> for ChunkManifest {
    fn from_iter<I: IntoIterator<Item = (StoreKey, Digest)>>(entries: I) -> Self {
        ChunkManifest(entries.into_iter().collect())
    }
}

impl ChunkManifest {
    /// The digests of the stored chunks of the array `node`, or of all arrays below the group `node`. Each object is read once.
    ///
    /// # Errors
    /// A node whose document is broken; what the store reports, [`StoreError::NotCapable`] if it cannot list.
    pub fn of_node(node: &Node) -> Result<ChunkManifest> {
        let store = node.hierarchy().store().to_sync();
        let mut digests = BTreeMap::new();
        for array in arrays(node)? {
            for key in chunk_keys(&array)? {
                // What is erased meanwhile is no chunk any more.
                let opened = store
                    .open(&key, SnapshotOptions::default())
                    .map_err(|e| at_key(e, &*store, &key).at_path(array.path()))?;
                if let Some(opened) = opened {
                    let digest = digest_of(&*opened)
                        .map_err(|e| at_key(e, &*store, &key).at_path(array.path()))?;
                    digests.insert(key.clone(), digest);
                }
            }
        }
        Ok(ChunkManifest(digests))
    }

    /// The chunks of a manifest that `zarr checksum --manifest --chunks` printed. Lines of nodes, whose paths begin with a slash, are
    /// left out.
    ///
    /// # Errors
    /// [`AccessError::Argument`] for another text, and for one without a line of a chunk.
    pub fn parse(text: &str) -> Result<ChunkManifest> {
        let lines = manifest_lines(text)?.into_iter();
        let chunks = lines.filter(|(name, _)| !name.starts_with('/'));
        let manifest: ChunkManifest =
            chunks.map(|(key, digest)| Ok((StoreKey::new(key)?, digest))).collect::<Result<_>>()?;
        if manifest.is_empty() {
            let why = "it has no lines for chunks; create it with `zarr checksum TARGET --manifest --chunks`";
            return Err(AccessError::Argument(why.into()).into());
        }
        Ok(manifest)
    }

    /// The digest of the object at this key.
    pub fn get(&self, key: &StoreKey) -> Option<Digest> {
        self.0.get(key).copied()
    }

    /// All keys and digests, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&StoreKey, &Digest)> {
        self.0.iter()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Compares the keys of the stored chunks of `node`, and of all below it, with the manifest. Only listings are read.
    ///
    /// # Errors
    /// [`CodecError::Corrupt`] for the first chunk that is in one of both alone; as [`ChunkManifest::of_node`].
    pub fn check_keys(&self, node: &Node) -> Result<()> {
        let manifest: Vec<&StoreKey> = self.0.keys().collect();
        for array in arrays(node)? {
            let stored = chunk_keys(&array)?;
            if let Some(key) = stored.iter().find(|key| !self.0.contains_key(key)) {
                let why = "the chunk is stored and not in the manifest";
                return Err(corrupt(&array, key, why).with_hint(
                    "if it was written since then, create the manifest again; the manifest must be of the same TARGET",
                ));
            }
            let prefix = array.hierarchy().format().chunk_prefix(array.path())?;
            let metadata = array.metadata();
            // A hierarchy has many arrays: for each, only the keys that begin as its own are looked at.
            let first = manifest.partition_point(|key| key.as_str() < prefix.as_str());
            for key in &manifest[first..] {
                let Some(name) = prefix.strip(key) else { break };
                let is_chunk = metadata.chunk_keys.parse(name, metadata.rank()).is_some();
                if is_chunk && stored.binary_search(key).is_err() {
                    return Err(corrupt(&array, key, LOST).with_hint(HINT));
                }
            }
        }
        Ok(())
    }

    /// `store`, of which each object in the manifest is checked whenever it is read. For a part of an object all of it is read.
    /// What is not in the manifest, and what is written, goes through.
    pub fn checked(self: &Arc<Self>, store: &Arc<dyn Store>) -> Arc<dyn Store> {
        from_sync(CheckedStore { store: store.to_sync(), manifest: self.clone() })
    }
}

/// The error of a chunk that is not as the manifest says.
fn corrupt(array: &Array, key: &StoreKey, why: &str) -> Error {
    let error = Error::from(CodecError::Corrupt { codec: "manifest", why: why.into() });
    let error = error.at_store(array.hierarchy().store().name());
    error.at_path(array.path()).at_key(key)
}

/// The lines of a manifest that `zarr checksum --manifest` printed: digests by the path of a node or the key of a chunk.
///
/// # Errors
/// [`AccessError::Argument`] with the number of the first line that is none.
pub fn manifest_lines(text: &str) -> Result<BTreeMap<String, Digest>> {
    let mut lines = BTreeMap::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let parts = line.split_once("  ");
        let parsed = parts.and_then(|(hex, name)| Some((hex.parse().ok()?, unescaped(name)?)));
        let Some((digest, name)) = parsed else {
            let why = "is not `HEX  PATH`, as `zarr checksum --manifest` prints";
            return Err(AccessError::Argument(format!("line {} {why}", number + 1)).into());
        };
        lines.insert(name, digest);
    }
    Ok(lines)
}

/// A path as it is, of one in which a backslash and control characters are escaped as in JSON.
fn unescaped(text: &str) -> Option<String> {
    let text = format!("\"{}\"", text.replace('"', "\\\""));
    Json::parse(text.as_bytes()).ok()?.as_str().map(str::to_owned)
}

const LOST: &str = "the chunk is in the manifest and not stored";
const HINT: &str = "copy it again from its source";

/// The arrays at a node and below it.
fn arrays(node: &Node) -> Result<Vec<Array>> {
    let (nodes, broken) = nodes_and_broken(node)?;
    if let Some((_, error)) = broken.into_iter().next() {
        return Err(error);
    }
    Ok(nodes.into_iter().filter_map(|node| node.into_array().ok()).collect())
}

/// The keys of the stored chunks of an array, sorted.
fn chunk_keys(array: &Array) -> Result<Vec<StoreKey>> {
    let hierarchy = array.hierarchy();
    if !hierarchy.store().capabilities().list {
        let error = StoreError::not_capable("find the stored chunks", "listable");
        return Err(Error::from(error).at_store(hierarchy.store().name()).at_path(array.path()));
    }
    let mut keys = hierarchy.chunk_keys(array.path(), &array.metadata())?;
    keys.sort();
    Ok(keys)
}

/// The digest of a value, which is read in pieces.
fn digest_of(value: &dyn SyncSnapshot) -> Result<Digest, StoreError> {
    // Some stores know the size only after a read, be it of nothing.
    value.read(&[])?;
    let (mut hash, mut piece, size) = (Sha256::new(), Vec::new(), value.size());
    let mut start = 0;
    while start < size {
        let len = PIECE.min(size - start);
        value.read_into(ByteRange::Bounded { start, len }, &mut piece)?;
        hash.update(&piece);
        start += len;
    }
    Ok(Digest(hash.finalize().into()))
}

/// A store whose chunks are checked when they are read.
struct CheckedStore {
    store: Arc<dyn SyncStore>,
    manifest: Arc<ChunkManifest>,
}

impl fmt::Debug for CheckedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CheckedStore").field(&self.store).finish()
    }
}

fn refused(what: String) -> StoreError {
    StoreError::Backend(format!("{what}; {HINT}").into())
}

impl SyncStore for CheckedStore {
    fn name(&self) -> String {
        self.store.name()
    }

    fn public_options(&self) -> Vec<(String, String)> {
        self.store.public_options()
    }

    fn warnings(&self) -> Vec<String> {
        self.store.warnings()
    }

    fn places(&self) -> Result<Vec<String>, StoreError> {
        self.store.places()
    }

    fn refused_targets(&self) -> Result<Vec<StoreError>, StoreError> {
        self.store.refused_targets()
    }

    /// Without `cheap_ranges`: a part of an object costs all of it.
    fn capabilities(&self) -> Capabilities {
        Capabilities { cheap_ranges: false, ..self.store.capabilities() }
    }

    fn get(&self, key: &StoreKey, how: GetOptions<'_>) -> Result<Option<Got>, StoreError> {
        let Some(expected) = self.manifest.get(key) else { return self.store.get(key, how) };
        let all = GetOptions { version: how.version, ..GetOptions::at_most(how.limit) };
        let Some(got) = self.store.get(key, all)? else { return Err(refused(LOST.into())) };
        let bytes: Bytes = got.bytes.unwrap_or_default();
        let found = Digest(Sha256::digest(&bytes).into());
        if found != expected {
            let what = "the stored chunk is not the one of the manifest";
            let size = bytes.len();
            return Err(refused(format!(
                "{what}: SHA-256 of its {size} bytes {found}, expected {expected}"
            )));
        }
        how.answer(key, bytes, got.version)
    }

    fn open(
        &self,
        key: &StoreKey,
        how: SnapshotOptions<'_>,
    ) -> Result<Option<Box<dyn SyncSnapshot>>, StoreError> {
        if self.manifest.get(key).is_none() {
            return self.store.open(key, how);
        }
        Ok(how.in_memory(key, self.get(key, how.to_get())?))
    }

    fn put(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        only_if: Precondition<'_>,
    ) -> Result<bool, StoreError> {
        self.store.put(key, value, only_if)
    }

    fn create(
        &self,
        key: &StoreKey,
        value: Payload<'_>,
        absent: &[StoreKey],
        leftovers: &[StoreKey],
    ) -> Result<Option<StoreKey>, StoreError> {
        self.store.create(key, value, absent, leftovers)
    }

    fn erase_prefix(&self, prefix: &StorePrefix) -> Result<(), StoreError> {
        self.store.erase_prefix(prefix)
    }

    fn list_prefix(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
        self.store.list_prefix(prefix)
    }

    fn list_dir(&self, prefix: &StorePrefix, how: ListOptions) -> Result<Listing, StoreError> {
        self.store.list_dir(prefix, how)
    }

    fn link(&self, prefix: &StorePrefix, erase: bool) -> Result<bool, StoreError> {
        self.store.link(prefix, erase)
    }

    fn flush(&self) -> Result<(), StoreError> {
        self.store.flush()
    }
}
