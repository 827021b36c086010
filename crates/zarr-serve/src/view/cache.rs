//! Keeps chunks that were encoded anew, the most recently used ones, within a bound.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use zarr::NodePath;
use zarr::store::Bytes;
use zarr::sync::lock;

use crate::http::Metrics;

/// What an entry costs besides its bytes, about.
const OVERHEAD: usize = 256;

/// Which chunk, and of which state: entries of older states are never found again, and leave.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CacheKey {
    pub name: String,
    pub array: NodePath,
    pub chunk: Vec<u64>,
    /// The tags of the stored objects that it is made of.
    pub sources: Vec<Option<String>>,
    /// A hash of what both documents say.
    pub described: u64,
}

/// The cache.
pub(crate) struct Cache {
    limit: usize,
    state: Mutex<State>,
    metrics: Arc<Metrics>,
}

#[derive(Default)]
struct State {
    entries: HashMap<CacheKey, (u64, Option<Bytes>)>,
    /// The keys by the time of their last use.
    used: BTreeMap<u64, CacheKey>,
    now: u64,
    bytes: usize,
}

fn cost(value: Option<&Bytes>) -> usize {
    value.map_or(0, Bytes::len) + OVERHEAD
}

impl Cache {
    /// A cache of at most `limit` bytes.
    pub fn new(limit: u64, metrics: Arc<Metrics>) -> Cache {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Cache { limit, state: Mutex::default(), metrics }
    }

    /// What is kept of a chunk: its bytes, or that it is not stored.
    pub fn get(&self, key: &CacheKey) -> Option<Option<Bytes>> {
        let mut state = lock(&self.state);
        let State { entries, used, now, .. } = &mut *state;
        let (at, value) = entries.get_mut(key)?;
        *now += 1;
        used.remove(at);
        used.insert(*now, key.clone());
        *at = *now;
        self.metrics.from_cache.fetch_add(1, Ordering::Relaxed);
        Some(value.clone())
    }

    /// Keeps a chunk, unless it would fill a quarter of the cache.
    pub fn put(&self, key: CacheKey, value: Option<Bytes>) {
        let cost_of_new = cost(value.as_ref());
        if cost_of_new > self.limit / 4 {
            return;
        }
        let mut state = lock(&self.state);
        let State { entries, used, now, bytes } = &mut *state;
        *now += 1;
        used.insert(*now, key.clone());
        *bytes += cost_of_new;
        if let Some((at, old)) = entries.insert(key, (*now, value)) {
            used.remove(&at);
            *bytes -= cost(old.as_ref());
        }
        while *bytes > self.limit
            && let Some((_, oldest)) = used.pop_first()
        {
            if let Some((_, old)) = entries.remove(&oldest) {
                *bytes -= cost(old.as_ref());
            }
        }
        self.metrics.cached.store(*bytes as u64, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(chunk: u64) -> CacheKey {
        let array = NodePath::root();
        CacheKey { name: "x".into(), array, chunk: vec![chunk], sources: Vec::new(), described: 0 }
    }

    #[test]
    fn the_least_recently_used_leave_first() {
        let cache = Cache::new(4 * 1256, Arc::default());
        let value = || Some(Bytes::from(vec![1; 1000]));
        (0..4).for_each(|chunk| cache.put(key(chunk), value()));
        assert_eq!(cache.get(&key(0)), Some(value()));
        cache.put(key(4), value());
        assert_eq!(cache.get(&key(1)), None);
        assert!([0, 2, 3, 4].iter().all(|&chunk| cache.get(&key(chunk)).is_some()));
        // Twice the same costs once; what is too large is not kept.
        cache.put(key(4), None);
        assert_eq!(cache.get(&key(4)), Some(None));
        cache.put(key(9), Some(Bytes::from(vec![1; 2000])));
        assert_eq!(cache.get(&key(9)), None);
        assert!(lock(&cache.state).bytes <= 4 * 1256);
    }
}
