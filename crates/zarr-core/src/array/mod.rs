//! Reads and writes the elements of one array.
//!
//! # A read
//! 1. A handle checks the selection and takes the newest [`ArrayState`] of the array ([`select`]). A [`ChunkLayout`] says how its
//!    chunks are stored: the chain of codecs, the grid, the representation of elements.
//! 2. [`chunk_reader`] cuts the output into one piece for each chunk that the selection touches. No two pieces overlap, so
//!    several threads fill them at the same time ([`executor`]).
//! 3. Each chunk is read in one of three ways: out of an object that it shares with others (a draft's storage transformer),
//!    whole, or segment by segment ([`segments`]). Segments are the inner chunks of a shard, or the rows of a plain chunk; the
//!    chain of codecs says which bytes they are. A shard's index is read first and cached under the version of the shard
//!    ([`index_cache`]). A segment that is a shard itself is read in the same way.
//! 4. From a local store the thread that decodes a chunk or a segment reads it, too. From a remote store ([`chunk_fetcher`]) the bytes of many
//!    chunks are requested at the same time, those of one chunk together, and decoded on the pool as they come.
//!    A large part of a shard is fetched and decoded some MiB at a time ([`large_parts`]).
//! 5. A hierarchy may keep decoded chunks ([`chunk_cache`]). Then [`cached_read`] asks the store whether an object is unchanged
//!    before its elements are copied from there. When asked to, it reads ahead into that cache ([`read_ahead`]).
//! 6. Where a chunk, or an inner chunk, is not stored, its elements are the fill value, or the read fails ([`missing_chunk`]).
//! 7. Before each chunk, each segment and each request the call looks whether its caller cancelled it.
//!
//! # A write
//! 1. The array's document is compared with the one that the handle knows ([`stale_handle`]).
//! 2. [`chunk_writer`] encodes a chunk that the selection covers, and sets it; small neighbours are set in one call of the store. A
//!    chunk of nothing but the fill value is erased. [`given_elements`] has the caller's elements.
//! 3. Of another chunk it gets the bytes that stay, merges the elements into them, and sets the result if no other writer
//!    changed the chunk; else again ([`compare_and_swap`]). Of a shard it decodes and encodes only the inner chunks that the
//!    selection touches.
//!
//! [`typed`] converts elements of Rust types into native bytes and back, [`fields`] finds one field of records. What edits
//! the array's document, such as a resize, is in `hierarchy`; it calls [`clear_outside`] for the chunks that change.

mod array_core;
mod cached_read;
pub(crate) mod chunk_cache;
mod chunk_fetcher;
mod chunk_parts;
mod chunk_reader;
mod chunk_writer;
mod clear_outside;
pub(crate) mod compare_and_swap;
pub(crate) mod executor;
mod fields;
mod given_elements;
mod index_cache;
mod key_queue;
mod large_parts;
mod latest_state;
mod lru;
mod missing_chunk;
mod read_ahead;
mod reading_order;
mod segments;
mod select;
mod stale_handle;
mod state;
mod storage_transformer;
mod stored;
pub(crate) mod transfer;
mod typed;
pub(crate) mod untyped;

pub(crate) use self::array_core::{ArrayCore, MetadataOrigin, unset, wrong_kind, zeroed};
pub use self::chunk_parts::ChunkPart;
pub(crate) use self::latest_state::MOST_READINGS;
pub(crate) use self::state::{ArrayState, ChunkLayout, FieldBytes};
pub use self::stored::StoredSize;
