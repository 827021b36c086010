//! Says what a reader needs of the place that chunks come from.
//!
//! A [`ChunkSource`] knows keys, versions and bytes, and no selection. There are three: [`local`](super::local),
//! [`remote`](super::remote), and [`cached`](super::cached), which keeps decoded chunks and stands before one of the others.

use std::ops::Range;

use bytes::Bytes;
use futures::future::BoxFuture;

use crate::array::layout::FieldBytes;
use crate::error::{CodecError, Result, StoreError};
use crate::grid::ChunkProjection;
use crate::options::Options;
use crate::store::{ByteRange, Snapshot, SnapshotOptions, Store, StoreKey, Version, check_size};
use crate::view::ViewMut;
use crate::view::output::Output;

/// Where chunks come from.
pub(super) trait ChunkSource: Send + Sync {
    /// Opens one version of the value of a key; `None` if the key is absent, or the value not the expected version.
    /// `has_inner_chunks` says whether segments of it are chunks of a shard.
    fn open<'a>(
        &'a self,
        key: &'a StoreKey,
        options: SnapshotOptions<'a>,
        has_inner_chunks: bool,
    ) -> BoxFuture<'a, Result<Option<Box<dyn OpenChunk>>, StoreError>>;

    /// The store that the chunks are in, and the options of the calls to it.
    fn store(&self) -> (&dyn Store, &Options);

    /// All bytes of one version of the value of a key, which has at most `limit`; `None` if the key is absent.
    fn get<'a>(
        &'a self,
        key: &'a StoreKey,
        limit: u64,
    ) -> BoxFuture<'a, Result<Option<Box<dyn OpenChunk>>>> {
        Box::pin(async move {
            let (store, options) = self.store();
            let chunk = get_one_version(store, options, key, limit).await?;
            Ok(chunk.map(|chunk| Box::new(chunk) as Box<dyn OpenChunk>))
        })
    }

    /// Whether the value of a key still has this version.
    fn is_unchanged<'a>(
        &'a self,
        key: &'a StoreKey,
        version: &'a Version,
    ) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Whether it keeps decoded chunks, and inner chunks: then each is asked for by itself.
    fn keeps_decoded(&self) -> bool {
        false
    }

    /// Whether it keeps this chunk, which has no inner chunks, decoded: then [`ChunkSource::get`] gets it, whatever part of it
    /// is read.
    fn keeps_whole(&self, projection: &ChunkProjection) -> bool {
        let _ = projection;
        false
    }

    /// Copies elements of a chunk that it keeps decoded, on a thread that may block; `false` if it does not.
    fn copy_decoded(
        &self,
        projection: &ChunkProjection,
        span: FieldBytes,
        out: &mut Output<'_>,
    ) -> Result<bool> {
        let _ = (projection, span, out);
        Ok(false)
    }
}

/// Called for each chunk that is read, with whether it is stored.
pub(super) type ChunkDone<'a> = dyn Fn(&ChunkProjection, bool) + Sync + 'a;

/// Decodes the bytes of a segment, as many of its elements as a projection selects.
pub(super) type DecodeSegment<'a> =
    dyn FnMut(&[u8], &ChunkProjection, ViewMut<'_>) -> Result<()> + 'a;

/// Ranges of a value that one request fetched, each with its offset, sorted; no two overlap.
pub(super) type FetchedRanges = Vec<(u64, Bytes)>;

/// One version of the value that is a chunk.
pub(super) trait OpenChunk: Send + Sync {
    /// How many bytes it has; 0 until that is known.
    fn size(&self) -> u64;

    /// What tells it from other versions, if the source can.
    fn version(&self) -> Option<Version> {
        None
    }

    /// The value, if its bytes have to be requested before they are decoded.
    fn remote_value(&self) -> Option<&dyn Snapshot> {
        None
    }

    /// Holds bytes of it that were requested, until they are decoded.
    fn hold(&mut self, ranges: FetchedRanges) {
        let _ = ranges;
    }

    /// Some bytes, perhaps in `buffer`; `None` if they must be fetched first.
    fn bytes<'b>(&'b self, range: ByteRange, buffer: &'b mut Vec<u8>) -> Result<Option<&'b [u8]>>;

    /// Whether the segment that begins at this byte is decoded already, and remains so for this read.
    fn is_decoded(&self, start: u64) -> bool {
        let _ = start;
        false
    }

    /// Reads the part `projection` of the segment in these bytes; [`ByteRange::ALL`] for a chunk that is one segment.
    fn read_segment(
        &self,
        range: ByteRange,
        projection: &ChunkProjection,
        out: ViewMut<'_>,
        buffer: &mut Vec<u8>,
        decode: &mut DecodeSegment<'_>,
    ) -> Result<()> {
        let bytes = self.bytes(range, buffer)?.ok_or_else(not_fetched)?;
        decode(bytes, projection, out)
    }
}

/// All bytes of a chunk.
pub(super) struct WholeChunk {
    pub bytes: Bytes,
    pub version: Option<Version>,
}

impl OpenChunk for WholeChunk {
    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn version(&self) -> Option<Version> {
        self.version.clone()
    }

    fn bytes<'b>(&'b self, range: ByteRange, _: &'b mut Vec<u8>) -> Result<Option<&'b [u8]>> {
        let Some(found) = range.within(self.size()) else {
            let why = format!("{range} are outside its {} bytes", self.bytes.len());
            return Err(CodecError::corrupt("codecs", why).into());
        };
        Ok(Some(&self.bytes[found.start as usize..found.end as usize]))
    }
}

/// A chunk of which nothing is fetched: it tells which bytes a read needs first.
pub(super) struct UnreadChunk;

impl OpenChunk for UnreadChunk {
    fn size(&self) -> u64 {
        0
    }

    fn bytes<'b>(&'b self, _: ByteRange, _: &'b mut Vec<u8>) -> Result<Option<&'b [u8]>> {
        Ok(None)
    }
}

/// All bytes of one version of the value of a key; again if another writer replaces it.
async fn get_one_version(
    store: &dyn Store,
    options: &Options,
    key: &StoreKey,
    limit: u64,
) -> Result<Option<WholeChunk>> {
    let store = store.readable()?;
    let all = [ByteRange::ALL];
    let open_options = SnapshotOptions { limit, ..SnapshotOptions::first(&all) };
    loop {
        options.check_cancelled()?;
        let Some(value) = store.open(key, open_options).await? else { return Ok(None) };
        check_size(key, value.size(), limit)?;
        match value.read(&all).await {
            Err(StoreError::Changed { .. }) => {}
            read => {
                let bytes = read?.pop().unwrap_or_default();
                return Ok(Some(WholeChunk { bytes, version: value.version() }));
            }
        }
    }
}

/// The bytes of a segment at the outermost level. The store knows where the chunk ends.
pub(super) const ALL: Range<u64> = 0..u64::MAX;

pub(super) fn not_fetched() -> CodecError {
    CodecError::corrupt("codecs", "bytes of a segment were not fetched")
}
