//! Stores keys and values in an LMDB file, one transaction an operation.

mod env;

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use zarr_core::store::{
    ByteRange, Capabilities, GetOptions, Got, ListOptions, Listing, Payload, Precondition, Result,
    SnapshotOptions, Store, StoreKey, StorePrefix, SyncSnapshot, SyncStore, Target, Version,
    check_size, from_sync,
};
use zarr_core::{Access, StoreError};

use self::env::{Change, Env, Failed, KeysView, ReadTransaction, data_file, is_begun};
use crate::local::LocalOptions;
use crate::url;

/// An LMDB file; its keys are the main database's, its values what they hold. zarr-python's `LMDBStore` reads and
/// writes the same files.
///
/// Each operation is a transaction: readers see the values of one moment, and one writer at a time, among all
/// processes, changes a key, all at once. After a crash of the process everything is there that was set; after a
/// power failure the last writes may be missing, unless [`SyncStore::flush`] came after them or [`LmdbStore::sync`] is set.
///
/// Handles of one file in a process share it. A process that was forked off cannot use its parent's: every call gets
/// an error that says so, and it may not open that file either. Do not put the file on a network's file system.
///
/// ```
/// use zarr_core::store::{Payload, StoreKey, SyncStore};
/// use zarr_stores::LmdbStore;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path();
/// let store = LmdbStore::open(folder.join("example.lmdb"));
/// let key = StoreKey::new("zarr.json")?;
/// store.set(&key, Payload::from(b"{}".as_slice()))?;
/// assert_eq!(store.value(&key)?.as_deref(), Some(b"{}".as_slice()));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct LmdbStore {
    path: PathBuf,
    access: Access,
    /// What all keys begin with: empty, or ending in `/`.
    below: Box<str>,
    map: Option<usize>,
    options: LocalOptions,
    env: Arc<OnceLock<Arc<Env>>>,
}

impl std::fmt::Debug for LmdbStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("LmdbStore").field(&self.path).finish()
    }
}

impl LmdbStore {
    /// The file at `path`, or `data.mdb` in the folder `path`, to be read and written. What is not there becomes a
    /// folder when the first key is set, and is empty until then.
    pub fn open(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        LmdbStore {
            path: std::path::absolute(&path).unwrap_or(path),
            access: Access::ReadWrite,
            below: "".into(),
            map: None,
            options: LocalOptions::default(),
            env: Arc::default(),
        }
    }

    /// What may be done; [`Access::ReadOnly`] answers every write with [`StoreError::ReadOnly`].
    pub fn access(mut self, access: Access) -> Self {
        self.access = access;
        self
    }

    /// Whether each change waits until the disk has it, instead of the flush; none does unless this is set.
    pub fn sync(mut self, sync: bool) -> Self {
        self.options.sync = sync;
        self
    }

    /// Only the keys below this prefix, as if there were no others.
    pub fn below(mut self, prefix: &StorePrefix) -> Self {
        self.below = prefix.as_str().into();
        self
    }

    /// The initial size of the map's address space in bytes, a multiple of the page size; 16 GiB by default. It
    /// grows automatically.
    pub fn map_size(mut self, bytes: usize) -> Self {
        self.map = Some(bytes);
        self
    }

    /// The open file; `None` if there is none.
    fn env(&self) -> io::Result<Option<&Arc<Env>>> {
        match self.env.get() {
            Some(env) => Ok(Some(env)),
            // What is empty is left as it is: reading does not make an LMDB file of it.
            None if is_begun(&data_file(&self.path, !self.path.is_file()))? => {
                self.made().map(Some)
            }
            None => Ok(None),
        }
    }

    /// The open file, made if there was none.
    fn made(&self) -> io::Result<&Arc<Env>> {
        if let Some(env) = self.env.get() {
            return Ok(env);
        }
        let env = Env::open(&self.path, !self.path.is_file(), self.map)?;
        Ok(self.env.get_or_init(|| env))
    }

    /// What a key is called in the file.
    fn name_of(&self, key: &StoreKey) -> String {
        format!("{}{key}", self.below)
    }

    /// The key that is called so in the file; `None` for what others keep there that is none.
    fn key(&self, name: &[u8]) -> Option<StoreKey> {
        let name = std::str::from_utf8(name).ok()?;
        StoreKey::new(name.strip_prefix(&*self.below)?).ok()
    }

    /// What is shown of a name that is no key.
    fn unusable(&self, name: &[u8]) -> String {
        let name = name.strip_prefix(self.below.as_bytes()).unwrap_or(name);
        String::from_utf8_lossy(name).into_owned()
    }

    /// A value as it is now; `None` if there is none.
    fn snapshot(&self, key: &StoreKey) -> io::Result<Option<LmdbSnapshot>> {
        let Some(env) = self.env()? else { return Ok(None) };
        let (name, transaction) = (self.name_of(key), env.begin_read()?);
        let size = transaction.read(|keys| Ok(keys.get(&name)?.map(|value| value.len() as u64)))?;
        let (number, key) = (transaction.number(), key.clone());
        Ok(size.map(|size| LmdbSnapshot { transaction, number, name, key, size }))
    }

    fn read<T: Default>(
        &self,
        operation: &'static str,
        key: &str,
        ask: impl FnMut(KeysView<'_>) -> Result<T, Failed>,
    ) -> Result<T> {
        let env = self.env().map_err(StoreError::io(operation, key))?;
        let Some(env) = env else { return Ok(T::default()) };
        env.read(ask).map_err(StoreError::io(operation, key))
    }

    fn write<T>(
        &self,
        operation: &'static str,
        key: &str,
        change: impl FnMut(Change<'_, '_>) -> Result<T, Failed>,
    ) -> Result<T> {
        if self.access == Access::ReadOnly {
            return Err(StoreError::ReadOnly);
        }
        let env = self.made().map_err(StoreError::io(operation, key))?;
        let written = env.write(change).and_then(|done| {
            // The data of a transaction is on the disk already; the page that makes it the newest is not.
            if self.options.sync { env.sync().map(|()| done) } else { Ok(done) }
        });
        written.map_err(StoreError::io(operation, key))
    }
}

/// `lmdb:///path/to/x.lmdb`, or a path into such a file or folder; what follows its name is a prefix in it.
pub(crate) fn open(
    url: &str,
    access: Access,
    options: &[(String, String)],
) -> Result<Arc<dyn Store>> {
    let options = LocalOptions::parse(url, options)?;
    let path = match url.split_once("://") {
        Some(("lmdb", path)) => url::to_path(&format!("file://{path}"))?,
        _ => url::to_path(url)?,
    };
    let (path, below) = match url::store_on_the_way(&path) {
        Some((_, path, inside)) => (path, StorePrefix::new(inside)?),
        None => (path, StorePrefix::root()),
    };
    Ok(from_sync(LmdbStore { options, ..LmdbStore::open(path).access(access).below(&below) }))
}

impl SyncStore for LmdbStore {
    fn name(&self) -> String {
        let path = url::from_path(&self.path);
        let path = path.strip_prefix("file").unwrap_or(&path);
        format!("lmdb{path}/{}", self.below).trim_end_matches('/').to_owned()
    }

    fn public_options(&self) -> Vec<(String, String)> {
        self.options.public()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities { create: true, local: true, cheap_ranges: true, ..Capabilities::FULL }
    }

    /// Copies out of the map what is wanted, and nothing of a value above the limit. A version is the content.
    fn get(&self, key: &StoreKey, how: GetOptions<'_>) -> Result<Option<Got>> {
        let (name, GetOptions { limit, mut into, version }) = (self.name_of(key), how);
        let got = self.read("get", key.as_str(), |keys| {
            let Some(value) = keys.get(&name)? else { return Ok(None) };
            let mut got = Got { size: value.len() as u64, bytes: None, version: None };
            if got.size <= limit {
                match &mut into {
                    Target::Exact(out) if out.len() == value.len() => out.copy_from_slice(value),
                    Target::Exact(_) => {}
                    Target::Vec(buf) => {
                        buf.clear();
                        buf.extend_from_slice(value);
                    }
                    Target::Bytes => got.bytes = Some(Bytes::copy_from_slice(value)),
                }
                if version {
                    let content = got.bytes.clone();
                    let content = content.unwrap_or_else(|| Bytes::copy_from_slice(value));
                    got.version = Some(Version::of_content(content));
                }
            }
            Ok(Some(got))
        })?;
        check_size(key, got.as_ref().map_or(0, |got| got.size), limit)?;
        Ok(got)
    }

    fn open(
        &self,
        key: &StoreKey,
        how: SnapshotOptions<'_>,
    ) -> Result<Option<Box<dyn SyncSnapshot>>> {
        if how.for_update {
            // Only the content can be compared in another transaction.
            return Ok(how.in_memory(key, self.get(key, how.to_get())?));
        }
        let snapshot = self.snapshot(key).map_err(StoreError::io("get", key))?;
        let Some(value) = snapshot else { return Ok(None) };
        check_size(key, value.size, how.limit)?;
        Ok(how.accepts(value.version().as_ref()).then(|| Box::new(value) as _))
    }

    fn put(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        only_if: Precondition<'_>,
    ) -> Result<bool> {
        let (name, value) = (self.name_of(key), value.map(Payload::made).transpose()?);
        let operation = if value.is_some() || only_if.compares() { "set" } else { "erase" };
        self.write(operation, key.as_str(), |mut keys| {
            if only_if.compares() {
                let is = keys.get(&name)?.map(|is| Version::of_content(Bytes::copy_from_slice(is)));
                if !only_if.holds(is.as_ref()) {
                    return Ok(false);
                }
            }
            match &value {
                Some(value) => keys.put(&name, value)?,
                None => keys.delete(&name)?,
            }
            Ok(true)
        })
    }

    /// One transaction.
    fn create(
        &self,
        key: &StoreKey,
        value: Payload<'_>,
        absent: &[StoreKey],
        leftovers: &[StoreKey],
    ) -> Result<Option<StoreKey>> {
        let (name, value) = (self.name_of(key), value.made()?);
        self.write("set", key.as_str(), |mut keys| {
            for key in [key].into_iter().chain(absent) {
                if keys.get(&self.name_of(key))?.is_some() {
                    return Ok(Some(key.clone()));
                }
            }
            for key in leftovers {
                keys.delete(&self.name_of(key))?;
            }
            keys.put(&name, &value)?;
            Ok(None)
        })
    }

    fn erase_prefix(&self, prefix: &StorePrefix) -> Result<()> {
        let name = format!("{}{prefix}", self.below);
        self.write("erase", prefix.as_str(), |mut keys| keys.delete_below(&name))
    }

    fn list_prefix(&self, prefix: &StorePrefix) -> Result<Listing> {
        let below = format!("{}{prefix}", self.below);
        self.read("list", prefix.as_str(), |keys| {
            let mut listing = Listing::default();
            for name in keys.below(&below)? {
                if let Some(key) = self.key(&name) {
                    // Of a value its place in the map is looked up, and nothing is read.
                    let value = keys.get(&self.name_of(&key))?;
                    listing.sizes.push(value.map_or(0, |value| value.len() as u64));
                    listing.keys.push(key);
                } else {
                    listing.left_out.push(self.unusable(&name));
                }
            }
            Ok(listing)
        })
    }

    /// Skips the keys below each prefix that it finds.
    fn list_dir(&self, prefix: &StorePrefix, how: ListOptions) -> Result<Listing> {
        let below = format!("{}{prefix}", self.below);
        let names = self.read("list", prefix.as_str(), |keys| {
            let mut found = Vec::new();
            let (mut from, mut or_at) = (below.clone().into_bytes(), true);
            while how.limit.is_none_or(|limit| found.len() < limit)
                && let Some(name) = keys.key_after(&from, or_at)?
            {
                let Some(rest) = name.strip_prefix(below.as_bytes()) else { break };
                found.push(name.to_vec());
                from = name.to_vec();
                let folder = rest.iter().position(|&byte| byte == b'/');
                or_at = folder.is_some();
                if let Some(at) = folder {
                    // The byte after `/` is the first that is not below.
                    from.truncate(below.len() + at);
                    from.push(b'0');
                }
            }
            Ok(found)
        })?;
        let (mut texts, mut left_out) = (Vec::new(), Vec::new());
        for name in &names {
            match std::str::from_utf8(&name[self.below.len()..]) {
                Ok(name) => texts.push(name),
                Err(_) => left_out.push(self.unusable(name)),
            }
        }
        let mut listing = Listing::of_names(prefix, texts);
        listing.left_out.extend(left_out);
        Ok(listing)
    }

    fn flush(&self) -> Result<()> {
        let flushed = self.env().and_then(|env| env.map_or(Ok(()), |env| env.sync()));
        flushed.map_err(StoreError::io("flush", self.path.display()))
    }
}

/// A value as it was when it was opened.
struct LmdbSnapshot {
    transaction: ReadTransaction,
    number: u64,
    name: String,
    key: StoreKey,
    size: u64,
}

impl SyncSnapshot for LmdbSnapshot {
    fn read(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>> {
        let read = self.transaction.read(|keys| {
            let value = keys.get(&self.name)?.unwrap_or_default();
            Ok(ranges
                .iter()
                .map(|range| {
                    let range = range.resolve(&self.key, value.len() as u64)?;
                    Ok(Bytes::copy_from_slice(&value[range.start as usize..range.end as usize]))
                })
                .collect())
        });
        read.map_err(StoreError::io("get", &self.key))?
    }

    fn size(&self) -> u64 {
        self.size
    }

    /// Another transaction may read the same value, but this one reads no other.
    fn version(&self) -> Option<Version> {
        Some(Version::of_mark([self.number, 0, 0, 0]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name that others keep there and no key can say is told, and hides no other.
    #[test]
    fn a_name_that_is_no_key_is_told() {
        let within = tempfile::tempdir().unwrap();
        let store = LmdbStore::open(within.path().join("x.lmdb"));
        let key = |key: &str| StoreKey::new(key).unwrap();
        let put = |name: &str| {
            store.write("set", name, |mut keys| keys.put(name, &Payload::new(b"{}"))).unwrap();
        };
        ["a/../b", "a/zarr.json", "c//d", "zarr.json"].into_iter().for_each(put);
        let below = store.list_prefix(&StorePrefix::root()).unwrap();
        assert_eq!(below.keys, [key("a/zarr.json"), key("zarr.json")]);
        assert_eq!(below.left_out, ["a/../b", "c//d"]);
        let list_dir =
            |prefix: &StorePrefix| store.list_dir(prefix, ListOptions::default()).unwrap();
        let top = list_dir(&StorePrefix::root());
        assert_eq!(top.keys, [key("zarr.json")]);
        assert_eq!(top.prefixes, ["a/", "c/"].map(|prefix| StorePrefix::new(prefix).unwrap()));
        assert_eq!(list_dir(&top.prefixes[0]).left_out, ["a/../b"]);
        assert_eq!(list_dir(&top.prefixes[1]).left_out, ["c//d"]);
    }
}
