//! Counts texts and bytes: how long they are, and how many different ones.

use std::collections::BTreeSet;

/// Different elements are remembered up to this number, and this many bytes in all.
const MAX_DIFFERENT_TEXTS: usize = 1_000;
const MOST_BYTES: usize = 1 << 20;

/// What is known of texts or bytes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Texts {
    /// How many there are.
    pub count: u64,
    /// How many are missing.
    pub missing: u64,
    /// How many are empty.
    pub empty: u64,
    /// The shortest, in characters, of bytes in bytes.
    pub min_length: Option<u64>,
    /// The longest.
    pub max_length: Option<u64>,
    /// How many elements are in chunks that are not stored.
    pub never_written: u64,
    seen: BTreeSet<Vec<u8>>,
    bytes: usize,
    is_full: bool,
}

impl Texts {
    /// How many different ones there are; `None` if there are more than 1,000, or they are long.
    pub fn distinct(&self) -> Option<u64> {
        (!self.is_full).then_some(self.seen.len() as u64)
    }

    /// Counts `times` times an element of this length.
    pub(crate) fn add(&mut self, element: &[u8], length: u64, times: u64) {
        self.count += times;
        self.empty += if length == 0 { times } else { 0 };
        self.min_length = Some(self.min_length.map_or(length, |least| least.min(length)));
        self.max_length = Some(self.max_length.map_or(length, |most| most.max(length)));
        self.see(element);
    }

    fn see(&mut self, element: &[u8]) {
        if self.is_full || self.seen.contains(element) {
            return;
        }
        self.bytes += element.len();
        if self.seen.len() >= MAX_DIFFERENT_TEXTS || self.bytes > MOST_BYTES {
            (self.is_full, self.seen) = (true, BTreeSet::new());
            return;
        }
        self.seen.insert(element.to_vec());
    }

    pub(crate) fn merge(&mut self, other: Texts) {
        self.count += other.count;
        self.missing += other.missing;
        self.empty += other.empty;
        self.never_written += other.never_written;
        self.min_length = either(self.min_length, other.min_length, u64::min);
        self.max_length = either(self.max_length, other.max_length, u64::max);
        if other.is_full {
            (self.is_full, self.seen) = (true, BTreeSet::new());
        }
        other.seen.iter().for_each(|element| self.see(element));
    }
}

/// The picked one of two numbers, or the one that there is.
fn either(a: Option<u64>, b: Option<u64>, pick: fn(u64, u64) -> u64) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(pick(a, b)),
        (a, b) => a.or(b),
    }
}
