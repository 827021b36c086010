//! Chunks whose bytes are requested before they are decoded: those of a remote store, and of a local one in which parts of a
//! value are not cheap.
//!
//! The ranges of one chunk that a read needs go into few requests: a round asks for all that are known to be missing, neighbours
//! as one. A request that a server never answers ends by the timeout of its store (`read_timeout`); until then the call that waits
//! for it looks again and again whether its caller cancelled it ([`pool::in_flight`](crate::runtime::pool::in_flight)).

use std::ops::Range;

use bytes::Bytes;
use futures::future::BoxFuture;

use super::segments::SegmentReader;
use super::source::{ChunkSource, FetchedRanges, OpenChunk, UnreadChunk};
use crate::array::chunk_store::{check_stored_bytes, decode_limited, read_error};
use crate::array::layout::ChunkLayout;
use crate::codec::{ChunkIndex, PartialRead};
use crate::error::{CodecError, Result, StoreError};
use crate::grid::ChunkProjection;
use crate::options::Options;
use crate::store::{
    ByteRange, Snapshot, SnapshotOptions, Store, StoreKey, Version, coalesce, find,
};

/// The chunks of a store to which requests are made.
pub(super) struct RemoteSource<'a> {
    pub store: &'a dyn Store,
    pub options: &'a Options,
}

impl ChunkSource for RemoteSource<'_> {
    fn open<'a>(
        &'a self,
        key: &'a StoreKey,
        options: SnapshotOptions<'a>,
        _: bool,
    ) -> BoxFuture<'a, Result<Option<Box<dyn OpenChunk>>, StoreError>> {
        Box::pin(async move {
            let value = self.store.readable()?.open(key, options).await?;
            Ok(value.map(|value| {
                Box::new(RemoteChunk { value, fetched: Vec::new() }) as Box<dyn OpenChunk>
            }))
        })
    }

    fn store(&self) -> (&dyn Store, &Options) {
        (self.store, self.options)
    }

    fn is_unchanged<'a>(
        &'a self,
        key: &'a StoreKey,
        version: &'a Version,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move {
            let store = self.store.readable()?;
            let opened = match store.open(key, SnapshotOptions::expect(version)).await {
                // A remote store may ask only when something is read.
                Ok(Some(value)) => value.read(&[]).await.map(|_| true),
                Ok(None) => Ok(false),
                Err(e) => Err(e),
            };
            match opened {
                Err(StoreError::Changed { .. }) => Ok(false),
                opened => opened,
            }
        })
    }
}

/// A chunk and the bytes of it that were fetched.
struct RemoteChunk {
    value: Box<dyn Snapshot>,
    fetched: Vec<FetchedRanges>,
}

impl OpenChunk for RemoteChunk {
    fn size(&self) -> u64 {
        self.value.size()
    }

    fn version(&self) -> Option<Version> {
        self.value.version()
    }

    fn remote_value(&self) -> Option<&dyn Snapshot> {
        Some(&*self.value)
    }

    fn hold(&mut self, ranges: FetchedRanges) {
        self.fetched.push(ranges);
    }

    fn bytes<'b>(&'b self, range: ByteRange, _: &'b mut Vec<u8>) -> Result<Option<&'b [u8]>> {
        let Some(range) = range.within(u64::MAX) else { return Ok(None) };
        Ok(self.fetched.iter().find_map(|ranges| find(ranges, &range)))
    }
}

/// The ranges of a chunk that a read without its index needs first.
pub(super) fn first_ranges(
    layout: &ChunkLayout,
    options: &Options,
    partial: &PartialRead<'_>,
) -> Result<Vec<ByteRange>> {
    if let Some(index) = decode_limited(options, || partial.decoder().index())? {
        return Ok(vec![index]);
    }
    let segments = SegmentReader { layout, options, chunk: &UnreadChunk };
    Ok(segments.missing(partial, None)?.into_iter().map(ByteRange::from).collect())
}

/// Fetches the ranges of one version of a chunk that `partial` needs, and its index if that is not known.
pub(super) async fn fetch_segments(
    layout: &ChunkLayout,
    options: &Options,
    projection: &ChunkProjection,
    partial: &PartialRead<'_>,
    chunk: &mut dyn OpenChunk,
    mut index: Option<ChunkIndex>,
) -> Result<Option<ChunkIndex>> {
    let mut is_read = index.is_none();
    if is_read {
        index = fetch_index(options, partial, chunk.remote_value()).await?;
    }
    let mut sizes = Vec::new();
    loop {
        let segments = SegmentReader { layout, options, chunk: &*chunk };
        let missing = coalesce(segments.missing(partial, index.as_ref())?, 0);
        if missing.is_empty() {
            break;
        }
        let Some(value) = chunk.remote_value() else { break };
        options.check_cancelled()?;
        sizes.extend(missing.iter().map(|range| range.end - range.start));
        check_stored_bytes(layout, options, projection, sizes.iter().copied())?;
        let fetched = fetch_ranges(value, &missing).await?;
        is_read = true;
        chunk.hold(fetched);
    }
    if let Some(value) = chunk.remote_value()
        && !is_read
        && value.size() == 0
    {
        // A request must confirm that this still is the version whose index is known.
        value.read(&[]).await?;
    }
    Ok(index)
}

async fn fetch_ranges(value: &dyn Snapshot, ranges: &[Range<u64>]) -> Result<FetchedRanges> {
    let needed: Vec<ByteRange> = ranges.iter().cloned().map(ByteRange::from).collect();
    let bytes = value.read(&needed).await.map_err(read_error)?;
    let sizes = ranges.iter().map(|range| range.end - range.start);
    if !bytes.iter().map(|bytes| bytes.len() as u64).eq(sizes) {
        return Err(CodecError::corrupt("codecs", "the chunk is cut short").into());
    }
    Ok(ranges.iter().map(|range| range.start).zip(bytes).collect())
}

/// The index of a chunk, if it has one.
pub(super) async fn fetch_index(
    options: &Options,
    partial: &PartialRead<'_>,
    value: Option<&dyn Snapshot>,
) -> Result<Option<ChunkIndex>> {
    let range = decode_limited(options, || partial.decoder().index())?;
    let (Some(range), Some(value)) = (range, value) else { return Ok(None) };
    let bytes: Bytes = value.read(&[range]).await.map_err(read_error)?.pop().unwrap_or_default();
    Ok(Some(partial.decoder().parse_index(&bytes)?))
}
