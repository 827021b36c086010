//! Fetches a value, so that what arrives is all of it, of one version, and no more than was asked for.

use std::ops::Range;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use object_store::path::Path;
use object_store::{GetOptions, GetResult, ObjectMeta};
use zarr_core::StoreError;
use zarr_core::store::{StoreKey, Version};

use super::answer::Wrong;
use super::connector::ForValue;
use super::{Backend, Shared, failure};

/// Bytes beyond what was asked for after which a body is not read on.
const SURPLUS: u64 = 64 << 10;
/// Bytes that are made room for before they arrive.
const ROOM: usize = 16 << 20;
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// What a server said of a value.
#[derive(Clone, Debug)]
pub(super) struct Stated {
    pub size: u64,
    pub etag: Option<String>,
    pub generation: Option<String>,
    /// When it was last changed, in nanoseconds; 0 if the server did not say.
    pub modified: i64,
}

/// Some bytes of a value.
pub(super) struct Fetched {
    pub bytes: Bytes,
    pub range: Range<u64>,
    pub stated: Stated,
}

impl Stated {
    pub fn of(meta: &ObjectMeta) -> Stated {
        Stated {
            size: meta.size,
            etag: meta.e_tag.clone(),
            generation: meta.version.clone(),
            modified: meta.last_modified.timestamp_nanos_opt().unwrap_or(0),
        }
    }

    /// What tells the value from others of its key; `None` if the server says nothing of the kind (decision 0108).
    pub fn version(&self) -> Option<Version> {
        let Stated { size, etag, generation, modified } = self;
        let text = match (etag, generation) {
            (None, None) if *modified == 0 => return None,
            (None, None) => format!("\n\n{modified}\n{size}"),
            (etag, generation) => {
                let text = |token: &Option<String>| token.clone().unwrap_or_default();
                format!("{}\n{}", text(etag), text(generation))
            }
        };
        Some(Version::new(text.into_bytes()))
    }

    /// What a request can demand the value still to have: a weak tag never matches (RFC 9110, 13.1.1).
    pub fn condition(&self) -> Option<String> {
        self.etag.clone().filter(|etag| !etag.starts_with("W/"))
    }
}

impl Shared {
    /// Fetches what the options say, and again if the body breaks off; what is too short is never given, and what is
    /// more than was asked for is not read.
    pub async fn fetch(
        &self,
        backend: &Backend,
        path: &Path,
        options: &GetOptions,
    ) -> object_store::Result<Fetched> {
        self.fetch_at_most(backend, path, options, u64::MAX).await
    }

    /// As [`Shared::fetch`], unless more than `limit` bytes are announced.
    async fn fetch_at_most(
        &self,
        backend: &Backend,
        path: &Path,
        options: &GetOptions,
        limit: u64,
    ) -> object_store::Result<Fetched> {
        let mut options = options.clone();
        options.extensions.insert(ForValue);
        let mut pause = FIRST_PAUSE;
        let mut retries = self.settings.max_retries;
        loop {
            let got = backend.get_opts(path, options.clone()).await?;
            let (range, stated) = (got.range.clone(), Stated::of(&got.meta));
            if range.end - range.start > limit {
                let source = Wrong::TooLarge { size: range.end - range.start }.into();
                return Err(object_store::Error::Generic { store: "HTTP", source });
            }
            match collect(got).await {
                Ok(bytes) => {
                    self.counts.received.fetch_add(bytes.len() as u64, Ordering::Relaxed);
                    return Ok(Fetched { bytes, range, stated });
                }
                Err(e) if retries == 0 || failure::wrong(&e).is_some() => return Err(e),
                Err(_) => {
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                    retries -= 1;
                }
            }
        }
    }

    /// Asks for what is known of a value.
    pub async fn head(
        &self,
        backend: &Backend,
        path: &Path,
        condition: Option<String>,
    ) -> object_store::Result<Stated> {
        let options = GetOptions { head: true, if_match: condition, ..GetOptions::default() };
        Ok(Stated::of(&backend.get_opts(path, options).await?.meta))
    }

    /// The whole value, of at most `limit` bytes; `None` if the key is absent.
    pub async fn whole(
        &self,
        backend: &Backend,
        key: &StoreKey,
        limit: u64,
    ) -> Result<Option<Fetched>, StoreError> {
        let path = self.path(key.as_str())?;
        match self.fetch_at_most(backend, &path, &GetOptions::default(), limit).await {
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
/// beyond them (decision 0142).
async fn collect(got: GetResult) -> object_store::Result<Bytes> {
    let due = got.range.end - got.range.start;
    let generic = |source| object_store::Error::Generic { store: "HTTP", source };
    let mut parts = got.into_stream();
    let mut bytes = BytesMut::new();
    let mut only = Bytes::new();
    while let Some(part) = parts.next().await {
        let part = part?;
        let len = bytes.len().max(only.len()) as u64 + part.len() as u64;
        if len > due + SURPLUS {
            return Err(generic(Wrong::TooLong { most: due }.into()));
        }
        if len == due && bytes.is_empty() && only.is_empty() {
            only = part;
            continue;
        }
        if bytes.is_empty() {
            bytes.reserve((due as usize).min(ROOM));
            bytes.extend_from_slice(&std::mem::take(&mut only));
        }
        bytes.extend_from_slice(&part);
    }
    let bytes = if bytes.is_empty() { only } else { bytes.freeze() };
    match bytes.len() as u64 {
        len if len == due => Ok(bytes),
        len if len > due => Err(generic(Wrong::TooLong { most: due }.into())),
        len => Err(generic(format!("the answer ends after {len} of {due} bytes").into())),
    }
}
