//! What is asked of a store, and what becomes of it?

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use zarr_core::StoreError;
use zarr_core::store::{
    ByteRange, ConditionalStore, ListableStore, Listing, Payload, Pinned, ReadableStore, Store,
    StoreKey, StorePrefix, Version, Versioned, WriteableStore,
};

/// One call that a store answered.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The trait's method: `get`, `set_if`, `list_dir` ...
    pub operation: &'static str,
    /// The key or the prefix.
    pub key: &'a str,
    /// The ranges asked for; none for other calls than `get_partial_values`.
    pub ranges: &'a [ByteRange],
    /// Bytes of values that went in or came out.
    pub bytes: u64,
    /// How long it took.
    pub duration: Duration,
    /// What became of it.
    pub outcome: Outcome<'a>,
}

/// What became of a call.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Outcome<'a> {
    /// It was set or erased.
    Done,
    /// The value was read.
    Found,
    /// So many keys and prefixes were listed.
    Listed(usize),
    /// The key was absent.
    Absent,
    /// The value was no longer what it had to be: nothing was set.
    Lost,
    /// It failed.
    Failed(&'a StoreError),
}

impl fmt::Display for Call<'_> {
    /// `get zarr.json: 312 bytes in 41µs`, `get c/0: absent in 9µs`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = if self.key.is_empty() { "/" } else { self.key };
        write!(f, "{} {key}", self.operation)?;
        for (i, range) in self.ranges.iter().enumerate() {
            f.write_str(if i == 0 { " (" } else { ", " })?;
            write!(f, "{range}")?;
        }
        if !self.ranges.is_empty() {
            f.write_str(")")?;
        }
        match self.outcome {
            Outcome::Done if self.bytes == 0 => f.write_str(": done")?,
            Outcome::Done | Outcome::Found => write!(f, ": {} bytes", self.bytes)?,
            Outcome::Listed(1) => f.write_str(": 1 entry")?,
            Outcome::Listed(count) => write!(f, ": {count} entries")?,
            Outcome::Absent => f.write_str(": absent")?,
            Outcome::Lost => f.write_str(": lost to another writer")?,
            Outcome::Failed(error) => write!(f, ": {error}")?,
        }
        write!(f, " in {:.0?}", self.duration)
    }
}

/// Any store, telling a callback of each call after it was answered.
///
/// Has the sides of the store behind it, and no others. The callback runs on the caller's thread,
/// and may be called from several threads at once. Inner chunks of shards are asked for as of a store that is
/// far: neighbours together, whatever the store behind it.
///
/// ```
/// use std::sync::Arc;
/// use zarr_stores::LogStore;
/// # fn of(store: Arc<dyn zarr_core::store::Store>) {
/// let store = LogStore::new(store, |call| eprintln!("{call}"));
/// # }
/// ```
#[derive(Clone)]
pub struct LogStore {
    store: Arc<dyn Store>,
    tell: Arc<dyn Fn(&Call<'_>) + Send + Sync>,
}

impl fmt::Debug for LogStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LogStore").field(&self.store).finish()
    }
}

/// What a call carried, and what became of it if it did not fail.
type Carried = (u64, Outcome<'static>);

fn found(bytes: Option<usize>) -> Carried {
    match bytes {
        Some(bytes) => (bytes as u64, Outcome::Found),
        None => (0, Outcome::Absent),
    }
}

fn listed(count: usize) -> Carried {
    (0, Outcome::Listed(count))
}

impl LogStore {
    /// `store`, telling `tell` of each call.
    pub fn new(store: Arc<dyn Store>, tell: impl Fn(&Call<'_>) + Send + Sync + 'static) -> Self {
        let tell = Arc::new(tell);
        LogStore { store, tell }
    }

    fn call<T>(
        &self,
        operation: &'static str,
        key: &str,
        ranges: &[ByteRange],
        ask: impl FnOnce() -> Result<T, StoreError>,
        carried: impl FnOnce(&T) -> Carried,
    ) -> Result<T, StoreError> {
        let start = Instant::now();
        let result = ask();
        let duration = start.elapsed();
        let (bytes, outcome) = match &result {
            Ok(value) => carried(value),
            Err(error) => (0, Outcome::Failed(error)),
        };
        (self.tell)(&Call { operation, key, ranges, bytes, duration, outcome });
        result
    }

    fn pinned(&self, key: &StoreKey, value: Box<dyn Pinned>) -> Box<dyn Pinned> {
        Box::new(LogPinned { value, key: key.clone(), log: self.clone() })
    }

    fn reader(&self, operation: &'static str) -> Result<&dyn ReadableStore, StoreError> {
        let side = self.store.readable();
        side.ok_or_else(|| not_capable(operation, "readable"))
    }

    fn writer(&self, operation: &'static str) -> Result<&dyn WriteableStore, StoreError> {
        let side = self.store.writeable();
        side.ok_or_else(|| not_capable(operation, "writeable"))
    }

    fn lister(&self, operation: &'static str) -> Result<&dyn ListableStore, StoreError> {
        let side = self.store.listable();
        side.ok_or_else(|| not_capable(operation, "listable"))
    }

    fn swapper(&self, operation: &'static str) -> Result<&dyn ConditionalStore, StoreError> {
        let side = self.store.conditional();
        side.ok_or_else(|| not_capable(operation, "conditional"))
    }
}

fn not_capable(operation: &'static str, capability: &'static str) -> StoreError {
    StoreError::NotCapable { operation, capability }
}

impl Store for LogStore {
    fn name(&self) -> String {
        self.store.name()
    }

    fn readable(&self) -> Option<&dyn ReadableStore> {
        self.store.readable().map(|_| self as _)
    }

    fn writeable(&self) -> Option<&dyn WriteableStore> {
        self.store.writeable().map(|_| self as _)
    }

    fn listable(&self) -> Option<&dyn ListableStore> {
        self.store.listable().map(|_| self as _)
    }

    fn conditional(&self) -> Option<&dyn ConditionalStore> {
        self.store.conditional().map(|_| self as _)
    }
}

impl ReadableStore for LogStore {
    fn get(&self, key: &StoreKey) -> Result<Option<Bytes>, StoreError> {
        let ask = || self.reader("get")?.get(key);
        self.call("get", key.as_str(), &[], ask, |value| found(value.as_ref().map(Bytes::len)))
    }

    fn get_partial_values(
        &self,
        key: &StoreKey,
        ranges: &[ByteRange],
    ) -> Result<Option<Vec<Bytes>>, StoreError> {
        let operation = "get_partial_values";
        let ask = || self.reader(operation)?.get_partial_values(key, ranges);
        self.call(operation, key.as_str(), ranges, ask, |parts| {
            found(parts.as_ref().map(|parts| parts.iter().map(Bytes::len).sum()))
        })
    }

    /// Each reading is told as a `get_partial_values`; that nothing is there, too.
    fn pin(&self, key: &StoreKey) -> Result<Option<Box<dyn Pinned>>, StoreError> {
        match self.reader("get_partial_values")?.pin(key) {
            Ok(Some(value)) => Ok(Some(self.pinned(key, value))),
            other => self.call("get_partial_values", key.as_str(), &[], || other, |_| found(None)),
        }
    }

    fn pin_as(
        &self,
        key: &StoreKey,
        version: &Version,
    ) -> Result<Option<Box<dyn Pinned>>, StoreError> {
        let pinned = self.reader("get_partial_values")?.pin_as(key, version)?;
        Ok(pinned.map(|value| self.pinned(key, value)))
    }

    fn get_into(&self, key: &StoreKey, buf: &mut Vec<u8>) -> Result<bool, StoreError> {
        let ask = || {
            let is_there = self.reader("get_into")?.get_into(key, buf)?;
            Ok(is_there.then_some(buf.len()))
        };
        let size = self.call("get_into", key.as_str(), &[], ask, |size| found(*size))?;
        Ok(size.is_some())
    }

    fn get_exactly(&self, key: &StoreKey, out: &mut [u8]) -> Result<Option<u64>, StoreError> {
        let ask = || self.reader("get_exactly")?.get_exactly(key, out);
        self.call("get_exactly", key.as_str(), &[], ask, |size| {
            found(size.and_then(|size| usize::try_from(size).ok()))
        })
    }
}

/// A value whose readings are told.
struct LogPinned {
    value: Box<dyn Pinned>,
    key: StoreKey,
    log: LogStore,
}

impl Pinned for LogPinned {
    fn read(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>, StoreError> {
        let ask = || self.value.read(ranges);
        self.log.call("get_partial_values", self.key.as_str(), ranges, ask, |parts| {
            found(Some(parts.iter().map(Bytes::len).sum()))
        })
    }

    fn size(&self) -> u64 {
        self.value.size()
    }

    fn version(&self) -> Option<Version> {
        self.value.version()
    }
}

/// A value and its size, for which all of it must be made.
fn sized(value: Payload<'_>) -> Result<(Payload<'_>, u64), StoreError> {
    let value = value.made()?;
    let size = value.size().unwrap_or(0);
    Ok((value, size))
}

impl WriteableStore for LogStore {
    fn set(&self, key: &StoreKey, value: Payload<'_>) -> Result<(), StoreError> {
        let (value, size) = sized(value)?;
        let ask = || self.writer("set")?.set(key, value);
        self.call("set", key.as_str(), &[], ask, |_| (size, Outcome::Done))
    }

    fn erase(&self, key: &StoreKey) -> Result<(), StoreError> {
        let ask = || self.writer("erase")?.erase(key);
        self.call("erase", key.as_str(), &[], ask, |_| (0, Outcome::Done))
    }

    fn erase_prefix(&self, prefix: &StorePrefix) -> Result<(), StoreError> {
        let operation = "erase_prefix";
        let ask = || self.writer(operation)?.erase_prefix(prefix);
        self.call(operation, prefix.as_str(), &[], ask, |_| (0, Outcome::Done))
    }

    fn flush(&self) -> Result<(), StoreError> {
        let ask = || self.writer("flush")?.flush();
        self.call("flush", "", &[], ask, |()| (0, Outcome::Done))
    }

    fn set_unguarded(&self, key: &StoreKey, value: Payload<'_>) -> Result<(), StoreError> {
        let operation = "set_unguarded";
        let (value, size) = sized(value)?;
        let ask = || self.writer(operation)?.set_unguarded(key, value);
        self.call(operation, key.as_str(), &[], ask, |_| (size, Outcome::Done))
    }

    fn erase_unguarded(&self, key: &StoreKey) -> Result<(), StoreError> {
        let operation = "erase_unguarded";
        let ask = || self.writer(operation)?.erase_unguarded(key);
        self.call(operation, key.as_str(), &[], ask, |_| (0, Outcome::Done))
    }
}

impl ConditionalStore for LogStore {
    fn get_versioned(&self, key: &StoreKey) -> Result<Option<(Bytes, Version)>, StoreError> {
        let operation = "get_versioned";
        let ask = || self.swapper(operation)?.get_versioned(key);
        self.call(operation, key.as_str(), &[], ask, |value| {
            found(value.as_ref().map(|(bytes, _)| bytes.len()))
        })
    }

    /// Each reading is told as a `get_partial_values`; that nothing is there, too.
    fn pin_versioned(&self, key: &StoreKey) -> Result<Option<Versioned>, StoreError> {
        let operation = "get_partial_values";
        match self.swapper(operation)?.pin_versioned(key) {
            Ok(Some((value, version))) => Ok(Some((self.pinned(key, value), version))),
            other => self.call(operation, key.as_str(), &[], || other, |_| found(None)),
        }
    }

    fn set_if(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        was: Option<&Version>,
    ) -> Result<bool, StoreError> {
        let (value, size) = value.map(sized).transpose()?.unzip();
        let size = size.unwrap_or(0);
        let ask = || self.swapper("set_if")?.set_if(key, value, was);
        self.call("set_if", key.as_str(), &[], ask, |won| match won {
            true => (size, Outcome::Done),
            false => (0, Outcome::Lost),
        })
    }
}

impl ListableStore for LogStore {
    fn list_prefix(&self, prefix: &StorePrefix) -> Result<Vec<StoreKey>, StoreError> {
        let operation = "list_prefix";
        let ask = || self.lister(operation)?.list_prefix(prefix);
        self.call(operation, prefix.as_str(), &[], ask, |keys| listed(keys.len()))
    }

    fn list_dir(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
        let operation = "list_dir";
        let ask = || self.lister(operation)?.list_dir(prefix);
        self.call(operation, prefix.as_str(), &[], ask, |listing| {
            listed(listing.keys.len() + listing.prefixes.len())
        })
    }

    fn list(&self) -> Result<Vec<StoreKey>, StoreError> {
        let ask = || self.lister("list")?.list();
        self.call("list", "", &[], ask, |keys| listed(keys.len()))
    }
}

#[cfg(all(test, feature = "memory"))]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::MemoryStore;

    /// What each call said of itself, without how long it took.
    fn logged(use_it: impl FnOnce(&LogStore)) -> Vec<String> {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&lines);
        let store = LogStore::new(Arc::new(MemoryStore::new()), move |call| {
            let line = call.to_string();
            let (line, _) = line.rsplit_once(" in ").unwrap();
            kept.lock().unwrap().push(line.to_owned());
        });
        use_it(&store);
        let lines = lines.lock().unwrap();
        lines.clone()
    }

    #[test]
    fn tells_of_every_call() {
        let key = StoreKey::new("a/k").unwrap();
        let lines = logged(|store| {
            store.get(&key).unwrap();
            store.set(&key, Payload::new(b"value")).unwrap();
            store.get_into(&key, &mut Vec::new()).unwrap();
            let ranges = [ByteRange::From(1), ByteRange::Suffix(2)];
            store.get_partial_values(&key, &ranges).unwrap();
            store.get_partial_values(&key, &[ByteRange::From(9)]).unwrap_err();
            store.set_if(&key, None, None).unwrap();
            store.list_dir(&StorePrefix::root()).unwrap();
            store.erase_prefix(&key.parent()).unwrap();
        });
        assert_eq!(
            lines,
            [
                "get a/k: absent",
                "set a/k: 5 bytes",
                "get_into a/k: 5 bytes",
                "get_partial_values a/k (from 1 to the end, the last 2 bytes): 6 bytes",
                "get_partial_values a/k (from 9 to the end): range from 9 to the end lies outside \
                 `a/k`, which has 5 bytes",
                "set_if a/k: lost to another writer",
                "list_dir /: 1 entry",
                "erase_prefix a/: done",
            ]
        );
    }

    /// V24, D-130 … D-132, D-134 … D-137, Q14, F-110, F-111.
    #[test]
    fn a_logged_store_keeps_the_promises_of_stores() {
        zarr_core::testkit::check_store(|| {
            Arc::new(LogStore::new(Arc::new(MemoryStore::new()), |_| {}))
        });
    }
}
