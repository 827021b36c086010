//! Fetches a value: all of it, of one version, and no more than was requested.

use std::ops::Range;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use object_store::path::Path;
use object_store::{AttributeValue, GetOptions, GetResult};
use zarr_core::StoreError;
use zarr_core::store::{Result, StoreKey, Version};

use super::answer::Wrong;
use super::connector::ForValue;
use super::write::WRITER;
use super::{Session, failure};

/// A body is read to at most this number of bytes beyond what was requested.
const SURPLUS: u64 = 64 << 10;
/// Bytes that are allocated before they arrive.
const RESERVED: usize = 16 << 20;
pub(super) const FIRST_PAUSE: Duration = Duration::from_millis(100);
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// What a server reports of a value.
#[derive(Clone, Debug)]
pub(super) struct ObjectMeta {
    pub size: u64,
    pub etag: Option<String>,
    pub generation: Option<String>,
    /// When it was last changed, in nanoseconds; 0 if the server does not report it.
    pub modified: i64,
}

/// Some bytes of a value.
pub(super) struct FetchedRange {
    pub bytes: Bytes,
    pub range: Range<u64>,
    pub meta: ObjectMeta,
    /// The writer whose conditional request set the value, if the server says it.
    pub writer: Option<AttributeValue>,
}

impl ObjectMeta {
    fn of(meta: &object_store::ObjectMeta) -> ObjectMeta {
        ObjectMeta {
            size: meta.size,
            etag: meta.e_tag.clone(),
            generation: meta.version.clone(),
            modified: meta.last_modified.timestamp_nanos_opt().unwrap_or(0),
        }
    }

    /// What distinguishes the value from others of its key; `None` if the server reports nothing of the kind
    /// (docs/internals/design/reading.md).
    pub fn version(&self) -> Option<Version> {
        let ObjectMeta { size, etag, generation, modified } = self;
        let text = match (etag, generation) {
            (None, None) if *modified == 0 => return None,
            (None, None) => format!("\n\n{modified}\n{size}"),
            (etag, generation) => {
                let etag = etag.as_deref().unwrap_or_default();
                let generation = generation.as_deref().unwrap_or_default();
                format!("{etag}\n{generation}")
            }
        };
        Some(Version::new(text.into_bytes()))
    }

    /// The tag that a request can require; a weak one never matches (RFC 9110, 13.1.1).
    pub fn condition(&self) -> Option<String> {
        self.etag.clone().filter(|etag| !etag.starts_with("W/"))
    }
}

impl Session {
    /// Fetches what the options request, and again if the body breaks off. A body that is too short is never returned,
    /// and one that is too long is not read to its end.
    pub async fn fetch(
        &self,
        path: &Path,
        options: &GetOptions,
    ) -> object_store::Result<FetchedRange> {
        self.fetch_at_most(path, options, u64::MAX).await
    }

    /// As [`Session::fetch`], unless more than `limit` bytes are announced.
    async fn fetch_at_most(
        &self,
        path: &Path,
        options: &GetOptions,
        limit: u64,
    ) -> object_store::Result<FetchedRange> {
        let mut options = options.clone();
        options.extensions.insert(ForValue);
        let mut pause = FIRST_PAUSE;
        let mut retries = self.settings.max_retries;
        loop {
            let got = self.backend.get_opts(path, options.clone()).await?;
            let (range, meta) = (got.range.clone(), ObjectMeta::of(&got.meta));
            if range.end - range.start > limit {
                let source = Wrong::TooLarge { size: range.end - range.start }.into();
                return Err(object_store::Error::Generic { store: "HTTP", source });
            }
            let writer = got.attributes.get(&WRITER).cloned();
            let begun = Instant::now();
            match collect(got).await {
                Ok(bytes) => {
                    self.limiter.received(bytes.len(), begun.elapsed());
                    self.counts.received.fetch_add(bytes.len() as u64, Ordering::Relaxed);
                    return Ok(FetchedRange { bytes, range, meta, writer });
                }
                Err(e) if retries == 0 || failure::wrong(&e).is_some() => return Err(e),
                Err(_) => {
                    self.limiter.refused();
                    self.limiter.retry().await;
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                    retries -= 1;
                }
            }
        }
    }

    /// Requests no bytes, only what the server reports of a value.
    pub async fn head(
        &self,
        path: &Path,
        condition: Option<String>,
    ) -> object_store::Result<ObjectMeta> {
        let options = GetOptions { head: true, if_match: condition, ..GetOptions::default() };
        Ok(ObjectMeta::of(&self.backend.get_opts(path, options).await?.meta))
    }

    /// The whole value, of at most `limit` bytes; `None` if the key is absent.
    pub async fn whole(&self, key: &StoreKey, limit: u64) -> Result<Option<FetchedRange>> {
        let path = self.path(key.as_str())?;
        match self.fetch_at_most(&path, &GetOptions::default(), limit).await {
            Ok(fetched) => Ok(Some(fetched)),
            Err(e) if self.is_absence(&e) => Ok(None),
            Err(e) if let Some(Wrong::TooLarge { size }) = failure::wrong(&e) => {
                Err(StoreError::TooLarge { key: key.to_string(), size: Some(size), limit })
            }
            Err(e) => Err(self.failure("get", key.as_str(), &e)),
        }
    }
}

/// The bytes of an answer, as many as it announced. Memory grows as they arrive, and no further than [`SURPLUS`]
/// beyond them (docs/internals/design/limits.md).
async fn collect(got: GetResult) -> object_store::Result<Bytes> {
    let expected = got.range.end - got.range.start;
    let mut parts = got.into_stream();
    let mut bytes = BytesMut::new();
    let mut only = Bytes::new();
    while let Some(part) = parts.next().await {
        let part = part?;
        let len = bytes.len().max(only.len()) as u64 + part.len() as u64;
        if len > expected.saturating_add(SURPLUS) {
            return Err(generic(Wrong::TooLong { most: expected }));
        }
        if len == expected && bytes.is_empty() && only.is_empty() {
            only = part;
            continue;
        }
        if bytes.is_empty() {
            bytes.reserve((expected as usize).min(RESERVED));
            bytes.extend_from_slice(&std::mem::take(&mut only));
        }
        bytes.extend_from_slice(&part);
    }
    let bytes = if bytes.is_empty() { only } else { bytes.freeze() };
    match bytes.len() as u64 {
        len if len == expected => Ok(bytes),
        len if len > expected => Err(generic(Wrong::TooLong { most: expected })),
        len => Err(generic(format!("the answer ends after {len} of {expected} bytes"))),
    }
}

/// An error of object_store's for an answer that is not as it should be.
fn generic(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> object_store::Error {
    object_store::Error::Generic { store: "HTTP", source: source.into() }
}
