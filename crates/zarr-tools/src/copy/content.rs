//! Tells whether the stored chunks of a copy's source are those with which the copy began.
//!
//! Nothing is read: keys, sizes, of files the times of their last change, and of buckets and archives what their listing tells values apart by,
//! make one number. The order of
//! keys does not matter.

use std::path::Path;
use std::time::SystemTime;

use zarr_core::grid::chunk_count;
use zarr_core::store::StoreKey;
use zarr_core::{Array, Hierarchy, Node, Result};

use super::memory::default_memory;
use super::same_place::{Local, identity};

/// About what a key takes in a listing.
const KEY: u64 = 160;

/// A hash of which chunks of these nodes are stored, how large they are, and when their files changed. `None` if the store
/// cannot list, or refuses to, or if a listing would take more than a quarter of the memory.
pub(super) fn content(nodes: &[Node], target: &Hierarchy, memory: Option<u64>) -> Option<String> {
    let most = memory.unwrap_or_else(default_memory) / 4 / KEY;
    let mut hash = Hash::default();
    for array in nodes.iter().filter_map(Node::as_array) {
        let metadata = array.metadata();
        let count = metadata.grid.as_deref().and_then(|grid| chunk_count(grid, &metadata.shape));
        if count.is_none_or(|count| count > most) || !add(array, target, &mut hash).ok()? {
            return None;
        }
    }
    Some(format!("{:016x}", hash.0))
}

/// Adds the chunks of an array; `false` if the store cannot list.
fn add(array: &Array, target: &Hierarchy, hash: &mut Hash) -> Result<bool> {
    let (hierarchy, metadata) = (array.hierarchy(), array.metadata());
    let name = hierarchy.store().name();
    let store = hierarchy.store().to_sync();
    if !store.capabilities().list {
        return Ok(false);
    }
    let local = Local::of(&name);
    // An archive changes when the copy goes into it.
    let archive = local.as_ref().filter(|it| it.scheme != "file" && !is_target(it, target));
    if let Some(archive) = archive {
        hash.add("", changed(&archive.path), "");
    }
    let folder = local.as_ref().filter(|it| it.scheme == "file");
    let prefix = hierarchy.format().chunk_prefix(array.path())?;
    let listing = store.list_prefix(&prefix)?;
    for (n, key) in listing.keys.iter().enumerate() {
        let is_chunk = prefix
            .strip(key)
            .is_some_and(|name| metadata.chunk_keys.parse(name, metadata.rank()).is_some());
        if !is_chunk {
            continue;
        }
        let (size, time) = folder
            .map(|folder| changed(&folder.path.join(StoreKey::as_str(key))))
            .unwrap_or_default();
        let version = listing.versions.get(n).map_or("", String::as_str);
        hash.add(key.as_str(), (listing.sizes.get(n).copied().unwrap_or(size), time), version);
    }
    Ok(true)
}

/// Whether an archive is the one that the copy goes into.
fn is_target(archive: &Local<'_>, target: &Hierarchy) -> bool {
    let name = target.store().name();
    let other = Local::of(&name);
    other.is_some_and(|other| identity(&other.path) == identity(&archive.path))
}

/// The size of a file, and when it was changed, in nanoseconds since 1970.
fn changed(path: &Path) -> (u64, u128) {
    let Ok(found) = std::fs::metadata(path) else { return (0, 0) };
    let time = found.modified().ok();
    let time = time.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    (found.len(), time.unwrap_or_default().as_nanos())
}

/// A sum of hashes (64-bit FNV-1a): one for each key.
#[derive(Default)]
struct Hash(u64);

impl Hash {
    fn add(&mut self, key: &str, (size, time): (u64, u128), version: &str) {
        let bytes = key.bytes().chain([0xff]).chain(size.to_le_bytes()).chain(time.to_le_bytes());
        let bytes = bytes.chain(version.bytes());
        let one = bytes.fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        self.0 = self.0.wrapping_add(one);
    }
}
