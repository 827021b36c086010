//! The options of reading and writing arrays.

#[cfg(feature = "rayon")]
use std::sync::Arc;

use crate::dialect::Strictness;
use crate::limits::Limits;

/// Whether writers of different parts of one chunk, or of one document, wait for each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Guard {
    /// Nothing is lost: a part is merged into the stored value, and again if another writer changed that concurrently.
    #[default]
    On,
    /// The caller promises that no other writer writes the same chunks; saves a lock and a comparison.
    Off,
}

/// How arrays are read and written.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Threads that read, write and (de)compress chunks; 0 for as many as the machine has.
    pub threads: usize,
    /// Whether parts are guarded against other writers.
    pub guard: Guard,
    /// Whether chunks that hold nothing but the fill value are stored; else their keys are erased.
    pub keep_fill_chunks: bool,
    /// Whether shrinking an array keeps what was cut off inside edge chunks and outside the grid
    /// (D-180); else it is truly forgotten.
    pub keep_cut_off: bool,
    /// How closely documents are held to their specification.
    pub strictness: Strictness,
    /// Whether the filters that zarr-python 2.12 to 2.18 hid in a draft array's attributes are left
    /// there as attributes; else they are applied (draft-v3.md Q5).
    pub ignore_hidden_filters: bool,
    /// Whether a change of documents removes the consolidated copies of all documents, which costs the same
    /// however many there are; else the copies of what changed are refreshed (Z2-072).
    pub drop_consolidated: bool,
    /// Bytes of memory in which an open array remembers the indices of shards that it read, so that they are
    /// not fetched for each part (decision 0108); 64 MiB unless said.
    pub index_memory: Option<u64>,
    /// The most that documents and chunks may demand.
    pub limits: Limits,
    /// A pool of the caller's own, in place of `threads`.
    #[cfg(feature = "rayon")]
    pub pool: Option<Arc<rayon::ThreadPool>>,
}
