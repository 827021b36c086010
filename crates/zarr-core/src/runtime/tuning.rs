//! The numbers that were measured or chosen for speed and memory, and apply to more than one place or machine. A bound that
//! guards one rule stays beside that rule; what a caller may choose is in [`Options`](crate::Options) and
//! [`Limits`](crate::Limits).
//!
//! Measured ones come from machines with 2 and 4 cores (docs/performance.md).

use std::time::Duration;

// Threads

/// Threads that make blocking calls for callers that must not block. As many calls to a slow disk are under way at once; more gain
/// nothing on those that were measured.
pub(crate) const IO_THREADS: usize = 8;

/// A call that waits for requests looks this often whether its caller cancelled it: a server may never answer, and a person who
/// presses Ctrl-C waits as long.
pub(crate) const CANCEL_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// How often a thread looks again that waits for a fork to begin or end. Locks are held for microseconds.
pub(crate) const FORK_POLL_INTERVAL: Duration = Duration::from_micros(50);

/// How long a fork waits for locks of other threads. A store's call may take long while it holds one.
pub(crate) const FORK_LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// How many results of parallel work may wait for the one before them: enough that one slow item holds up nobody, and little
/// memory.
pub(crate) const MAX_WAITING_RESULTS: u64 = 256;

/// Work that is worth fewer threads than these is done by one, where the caller's own pool has other work to do.
#[cfg(feature = "rayon")]
pub(crate) const MIN_THREADS_WORTH_A_POOL: usize = 4;

/// One thread gets up to this many bytes of neighbouring chunks at a time: two threads should not write to the two halves of a line
/// of the cache, and taking the next batch costs about as much as copying some KiB.
pub(crate) const MAX_BYTES_PER_BATCH: u64 = 256 << 10;

/// A thread of a pool that belongs to the caller reads or writes up to this many bytes itself: to start another thread takes as
/// long.
#[cfg(feature = "rayon")]
pub(crate) const MAX_BYTES_ON_FOREIGN_THREAD: u64 = 4 << 20;

/// The elements of a chunk are encoded by several threads from this many bytes on; fewer are encoded before others have woken.
#[cfg(feature = "rayon")]
pub(crate) const MIN_BYTES_FOR_ENCODE_THREADS: u64 = 1 << 20;

// Requests to remote stores

/// The chunks that are under way from or to a remote store together take about this many bytes of memory at most, unless they are no
/// more than [`MIN_CHUNKS_IN_FLIGHT`].
pub(crate) const MAX_BYTES_IN_FLIGHT: u64 = 64 << 20;

/// So many chunks are under way however large they are, since one alone waits for the network most of the time.
pub(crate) const MIN_CHUNKS_IN_FLIGHT: usize = 4;

/// A connection reads a chunk through a buffer of up to this many bytes.
pub(crate) const CONNECTION_BUFFER_BYTES: u64 = 400 << 10;

// Memory

/// Memory of at least this many bytes asks for huge pages: from this size on allocators take it fresh from the system. NumPy has
/// the same bound.
pub(crate) const MIN_BYTES_FOR_HUGE_PAGES: usize = 4 << 20;

/// A result of at most this many bytes is cleared piece by piece, by the threads that fill the pieces. glibc may take larger memory
/// only fresh from the system, where it is zero already (`DEFAULT_MMAP_THRESHOLD_MAX`).
pub(crate) const MAX_BYTES_CLEARED_BY_PIECES: usize = 32 << 20;

/// The most bytes of decoded chunks that a thread keeps for the next ones.
pub(crate) const MAX_KEPT_BYTES_PER_THREAD: usize = 64 << 20;

/// The most pieces of memory that a thread keeps: a chain of codecs needs two at a time, and two threads' worth are looked through
/// fast.
pub(crate) const MAX_KEPT_PIECES_PER_THREAD: usize = 4;

/// The most bytes that all threads together keep (docs/internals/design/limits.md).
pub(crate) const MAX_KEPT_BYTES: usize = 256 << 20;

/// Chunks of fewer decoded bytes are not counted against the limit of all: each thread holds one at a time.
pub(crate) const MIN_COUNTED_BYTES: u64 = 1 << 20;

/// Encoded chunks may have as many bytes as this whatever their elements have.
pub(crate) const MIN_ENCODED_LIMIT_BYTES: u64 = 64 << 20;

/// How many bytes of a payload that is kept in a file are read at a time.
pub(crate) const PAYLOAD_STEP_BYTES: usize = 256 << 10;
