//! The options of reading and writing arrays.

#[cfg(feature = "rayon")]
use std::sync::Arc;

use crate::control::{CancelToken, ProgressCallback};
use crate::dialect::Strictness;
use crate::error::Result;
use crate::limits::Limits;

/// Whether a change of a part of a chunk, or of a document, is guarded against other writers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Guard {
    /// Nothing is lost: a part is merged into the stored value, and again if another writer changed that concurrently.
    #[default]
    On,
    /// The caller promises that no other writer writes the same chunks; saves a lock and a comparison.
    Off,
}

/// What a read does where it touches a chunk, or an inner chunk of a shard, that is not stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MissingChunks {
    /// Its elements are the fill value, as the specifications say.
    #[default]
    Fill,
    /// The read fails with [`CodecError::MissingChunk`](crate::CodecError::MissingChunk): for arrays of which every chunk was stored,
    /// so that a chunk that is not there was lost. Writers leave out chunks of nothing but the fill value unless
    /// [`Options::keep_fill_chunks`] is set, and those are errors, too.
    Error,
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
    /// What a read does where a chunk is not stored. A write of a part of a chunk takes the fill value in any case.
    pub missing: MissingChunks,
    /// Whether shrinking an array keeps the elements that are outside then, in edge chunks and outside the grid (D-180);
    /// else they are erased.
    pub keep_cut_off: bool,
    /// How closely documents are held to their specification.
    pub strictness: Strictness,
    /// Whether the filters that zarr-python 2.12 to 2.18 hid in the attributes of a draft's array are read as attributes;
    /// else they are applied (draft-v3.md Q5).
    pub ignore_hidden_filters: bool,
    /// Whether the store is expected to have the document of an array whose metadata the caller brings
    /// ([`Array::from_document`](crate::Array::from_document)), or of a group above it: a read that finds none of its chunks looks for them,
    /// as for an array that was opened by its path, and is an error if they are gone.
    pub documents_are_stored: bool,
    /// Whether a change of documents removes the consolidated copies of all documents, whose cost does not grow with their
    /// number; else the copies of the changed documents are refreshed (Z2-072).
    pub drop_consolidated: bool,
    /// The most bytes of memory for the shard indices that an open array keeps, so that they are not fetched for each part;
    /// `None` for 64 MiB.
    pub index_memory: Option<u64>,
    /// The most bytes of memory for decoded chunks, and inner chunks of shards, that the handles of a hierarchy keep together;
    /// 0, the default, for none. Before it uses one, a read asks the store whether its object is unchanged. Chunks of more than
    /// a quarter of this, and of variable-length elements, are not kept; nor is what one read of more than this has read.
    pub chunk_cache: u64,
    /// How many rows of chunks along the first axis are read ahead, into the cache of decoded chunks; 0, the default, for none. It
    /// begins once a read starts where the one before it ended, and is the same along the other axes. A thread
    /// reads while the caller works; a remote store must not need the runtime of the caller. Nothing is read ahead if
    /// `chunk_cache` has no space for one row more than these.
    pub read_ahead: usize,
    /// The most memory that documents and chunks may need.
    pub limits: Limits,
    /// Cancels the calls that read or write chunks.
    pub cancel: Option<CancelToken>,
    /// A function that is called after each chunk that is read or written.
    pub progress: Option<ProgressCallback>,
    /// A pool of the caller, in place of `threads`.
    #[cfg(feature = "rayon")]
    pub pool: Option<Arc<rayon::ThreadPool>>,
}

impl Options {
    pub(crate) fn check_cancelled(&self) -> Result<()> {
        self.cancel.as_ref().map_or(Ok(()), CancelToken::check)
    }
}
