//! Bounds on what a store may make this library hold in memory.

use crate::error::MetadataError;

/// The most that documents and chunks may demand.
///
/// What a store announces is never trusted: these bounds hold whatever a document, a header or a server says.
/// What a server may send beyond what was asked for, 64 KiB, is no member: it is thrown away, so that no data need more.
/// Remote stores bound the keys of a listing by their option `max_listed`.
///
/// Raise one with [`crate::OpenOptions::limits`] where data are larger and come from someone you trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one document, read or written; 64 MiB.
    pub document: u64,
    /// Axes of an array that is read; 1,024.
    pub rank: usize,
    /// Axes of an array that is created; 64.
    pub new_rank: usize,
    /// Bytes of decoded chunks that this process holds at once, over all threads and all handles, before they are copied
    /// to the caller's memory; 2 GiB. Decoding waits until other threads are done; one chunk that would take more is an
    /// error.
    pub decoded: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { document: 64 << 20, rank: 1024, new_rank: 64, decoded: 2 << 30 }
    }
}

impl Limits {
    /// No bounds but those of the machine, for data that are trusted.
    pub fn none() -> Self {
        Limits { document: u64::MAX, rank: usize::MAX, new_rank: usize::MAX, decoded: u64::MAX }
    }

    /// Refuses to read an array of more axes than the limit.
    ///
    /// # Errors
    /// [`MetadataError::Limit`].
    pub fn check_rank(&self, rank: usize) -> Result<(), MetadataError> {
        above("the rank", rank, self.rank, "rank")
    }

    /// Refuses to create an array of more axes than the limit.
    ///
    /// # Errors
    /// [`MetadataError::Limit`].
    pub fn check_new_rank(&self, rank: usize) -> Result<(), MetadataError> {
        above("the rank of a new array", rank, self.new_rank, "new_rank")
    }
}

fn above(
    what: &'static str,
    found: usize,
    limit: usize,
    name: &'static str,
) -> Result<(), MetadataError> {
    if found <= limit {
        return Ok(());
    }
    Err(MetadataError::Limit { what, found: found as u64, limit: limit as u64, name })
}
