//! Reads and writes the elements of one array.
//!
//! # Parts
//! - What is known of an array, without input or output: [`layout`] and [`state`]; [`latest_state`] keeps the newest state.
//! - What a call reads or writes: [`request`]. The calls of handles are in [`calls`].
//! - Reading: [`read::reader`](read) has the way from top to bottom. It sees a source of chunks: `local`, `remote`, or `cached` before
//!   either; `ahead` fills the cache while the caller works.
//! - Writing: [`write::writer`](write) has the way from top to bottom. `merge` decides whether a chunk is merged into the stored one,
//!   [`swap`] is the one loop that compares and swaps, for documents, too.
//! - Reading and writing do not know each other. Both know the [`chunk_store`] and the [`layout`].
//!
//! # A read
//! 1. A handle checks the selection and the caller's memory against the newest state of the array ([`request`]).
//! 2. The output is cut into one piece for each chunk that the selection touches. No two pieces overlap, so several threads
//!    fill them at the same time ([`pool`](crate::runtime::pool)).
//! 3. Each chunk is read in one of three ways: out of an object that it shares with others (a draft's storage transformer),
//!    whole, or segment by segment. Segments are the inner chunks of a shard, or the rows of a plain chunk; the chain of codecs
//!    says which bytes they are. A shard's index is read first and cached under the version of the shard ([`index_cache`]). A
//!    segment that is a shard itself is read in the same way.
//! 4. From a local store the thread that decodes a chunk or a segment reads it, too. From a remote store the bytes of many
//!    chunks are requested at the same time, those of one chunk together, and decoded on the pool as they come. A large part of
//!    a shard is fetched and decoded some MiB at a time.
//! 5. A hierarchy may keep decoded chunks ([`chunk_cache`]). Then the source asks the store whether an object is unchanged
//!    before its elements are copied from there.
//! 6. Where a chunk, or an inner chunk, is not stored, its elements are the fill value, or the read fails.
//! 7. Before each chunk, each segment and each request the call looks whether its caller cancelled it.
//!
//! # A write
//! 1. The array's document is compared with the one that the handle knows ([`stale_handle`]).
//! 2. A chunk that the selection covers is encoded and set; small neighbours are set in one call of the store. A chunk of
//!    nothing but the fill value is erased.
//! 3. Of another chunk the writer gets the bytes that stay, merges the elements into them, and sets the result if no other writer
//!    changed the chunk; else again. Of a shard it decodes and encodes only the inner chunks that the selection touches.
//!
//! What edits the array's document, such as a resize, is in `hierarchy`; it calls [`shape_change`] for the chunks
//! that change.

mod array_core;
mod calls;
mod cells;
mod chunk_access;
pub(crate) mod chunk_cache;
mod chunk_parts;
mod chunk_store;
mod element_memory;
mod encode_threads;
mod index_cache;
mod key_queue;
mod latest_state;
mod layout;
mod lru;
mod read;
mod read_call;
mod request;
pub(crate) mod shape_change;
mod stale_handle;
mod state;
mod stored;
mod work;
mod write;

pub(crate) use self::array_core::{ArrayCore, MetadataOrigin};
pub use self::chunk_parts::ChunkPart;
pub(crate) use self::latest_state::MOST_READINGS;
pub(crate) use self::layout::ChunkLayout;
pub(crate) use self::request::Strided;
pub(crate) use self::stale_handle::wrong_kind;
pub(crate) use self::state::ArrayState;
pub use self::stored::StoredSize;
pub(crate) use self::write::swap;
