//! Keeps values within a limit of bytes: those that were not used for the longest time are removed first.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// About the bytes of an entry without its key and value.
const ENTRY: u64 = 256;

/// Values and their keys, of at most `limit` bytes together.
#[derive(Debug)]
pub(super) struct Lru<K, V> {
    limit: u64,
    by_key: HashMap<K, Entry<V>>,
    /// The keys by the time of their last use.
    uses: BTreeMap<u64, K>,
    size: u64,
    clock: u64,
}

#[derive(Debug)]
struct Entry<V> {
    value: V,
    size: u64,
    used: u64,
}

impl<K: Clone + Eq + Hash, V> Lru<K, V> {
    pub fn new(limit: u64) -> Self {
        Lru { limit, by_key: HashMap::new(), uses: BTreeMap::new(), size: 0, clock: 0 }
    }

    /// The value of a key.
    pub fn get(&mut self, key: &K) -> Option<&V> {
        let entry = self.by_key.get_mut(key)?;
        let key = self.uses.remove(&entry.used)?;
        self.clock += 1;
        entry.used = self.clock;
        self.uses.insert(entry.used, key);
        Some(&entry.value)
    }

    /// Keeps a value that takes `size` bytes with its key, unless it is larger than the limit.
    pub fn put(&mut self, key: &K, value: V, size: u64) {
        self.forget(key);
        let size = size.saturating_add(ENTRY);
        if size > self.limit {
            return;
        }
        self.clock += 1;
        self.size += size;
        self.uses.insert(self.clock, key.clone());
        self.by_key.insert(key.clone(), Entry { value, size, used: self.clock });
        while self.size > self.limit
            && let Some((_, oldest)) = self.uses.pop_first()
        {
            self.forget(&oldest);
        }
    }

    pub fn forget(&mut self, key: &K) {
        if let Some(entry) = self.by_key.remove(key) {
            self.uses.remove(&entry.used);
            self.size -= entry.size;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bounded in bytes, oldest use first.
    #[test]
    fn what_was_not_used_for_longest_is_forgotten() {
        let mut lru = Lru::new(10_000);
        for n in 0..100 {
            lru.put(&n, n, 1150);
            assert!(lru.get(&0).is_some(), "the first is used again and again");
            assert!(lru.size <= 10_000);
        }
        let kept: Vec<usize> = (0..100).filter(|n| lru.get(n).is_some()).collect();
        assert_eq!(kept, [0, 94, 95, 96, 97, 98, 99]);
        assert_eq!(lru.get(&99), Some(&99));
        lru.put(&99, 1, 1150);
        assert_eq!(lru.get(&99), Some(&1));
        lru.put(&99, 2, 10_000);
        assert!(lru.get(&99).is_none(), "it would be more than the limit");
        (0..100).for_each(|n| lru.forget(&n));
        assert_eq!((lru.size, lru.uses.len(), lru.by_key.len()), (0, 0, 0));
    }
}
