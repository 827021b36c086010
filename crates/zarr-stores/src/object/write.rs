//! Sets and erases values, without a condition or only if no other writer was faster.

use std::borrow::Cow;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use futures::stream::{self, StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{
    Attribute, Error, ObjectStoreExt, PutMode, PutOptions, PutPayload, UpdateVersion,
};
use zarr_core::StoreError;
use zarr_core::store::{Precondition, Result, StoreKey, StorePrefix};

use super::connector::Unsure;
use super::snapshot::tag_of;
use super::{Backend, Session, answer, failure};

/// Bytes beyond which a value is sent in parts.
const MIN_MULTIPART_BYTES: u64 = 64 << 20;
/// Bytes of a part, at least.
const PART: u64 = 16 << 20;
/// Parts that a value may have.
const MOST_PARTS: u64 = 10_000;
/// Parts of one value that are sent at a time.
const PARTS_IN_FLIGHT: usize = 8;
/// The most names without a key that an error lists.
const MOST_NAMED: usize = 10;
/// How often two conditional requests may meet on the server before that is an error.
const MOST_DRAWS: u32 = 20;
/// Metadata of a value that a conditional request set: who sent it. Azure takes only letters and digits in a name.
pub(super) const WRITER: Attribute = Attribute::Metadata(Cow::Borrowed("zarrwriter"));

impl Session {
    pub async fn set(&self, key: &StoreKey, value: Bytes) -> Result<()> {
        let path = self.path(key.as_str())?;
        let size = value.len() as u64;
        let done = if size > MIN_MULTIPART_BYTES {
            in_parts(&self.backend, &path, value, PART.max(size.div_ceil(MOST_PARTS))).await
        } else {
            self.backend.put(&path, value.into()).await.map(|_| ())
        };
        done.map_err(|e| self.failure("set", key.as_str(), &e))
    }

    /// Sends a value that the server keeps if its condition holds. A request that is refused after one without an answer may
    /// be refused because of that one. So the value has a name for its writer in its metadata, and if the server keeps no
    /// metadata the values are compared (docs/internals/design/concurrency.md).
    pub async fn set_if(&self, key: &StoreKey, value: Bytes, mode: PutMode) -> Result<bool> {
        let path = self.path(key.as_str())?;
        let most = self.location.service.one_request;
        if value.len() as u64 > most {
            let why = format!(
                "it has {} bytes, and one request, which alone can be guarded, carries at most {most}; write whole \
                 chunks, or make chunks smaller",
                value.len()
            );
            return Err(StoreError::io("set", key)(io::Error::other(why)));
        }
        let unsure = Unsure::default();
        let writer = format!("{:016x}", RandomState::new().hash_one(std::process::id()));
        let mut options = PutOptions::from(mode);
        options.attributes.insert(WRITER, writer.clone().into());
        options.extensions.insert(unsure.clone());
        for _ in 0..MOST_DRAWS {
            let options = options.clone();
            match self.backend.put_opts(&path, PutPayload::from(value.clone()), options).await {
                Ok(_) => return Ok(true),
                Err(e) if failure::is_draw(&e) => {}
                Err(e) if failure::is_refusal(&e) => {
                    if !unsure.0.load(Ordering::Relaxed) {
                        return Ok(false);
                    }
                    let there = self.whole(key, u64::MAX).await?;
                    let Some(there) = there else { return Ok(false) };
                    return Ok(match there.writer {
                        Some(other) => *other == *writer,
                        None => there.bytes == value,
                    });
                }
                Err(e) => return Err(self.failure("set", key.as_str(), &e)),
            }
        }
        Ok(false)
    }

    /// Whether a key could not be erased because it is absent. A request that erases many says so in an answer that is
    /// none of failure; where that one fails, the bucket is missing.
    fn was_erased(&self, error: &Error) -> bool {
        failure::is_absence(error)
            && (!self.location.service.erases_many || failure::names_absent_key())
    }

    pub async fn erase(&self, key: &StoreKey) -> Result<()> {
        match self.backend.delete(&self.path(key.as_str())?).await {
            Err(e) if !self.was_erased(&e) => Err(self.failure("erase", key.as_str(), &e)),
            _ => Ok(()),
        }
    }

    pub async fn erase_prefix(&self, prefix: &StorePrefix) -> Result<()> {
        let keys = self.below(prefix).map_ok(|object| object.location).boxed();
        let mut erased = self.backend.delete_stream(keys);
        while let Some(erased) = erased.next().await {
            if let Some(e) = erased.err().filter(|e| !self.was_erased(e)) {
                return Err(self.failure("erase", prefix.as_str(), &e));
            }
        }
        let left_out = answer::left_out();
        if left_out.is_empty() {
            return Ok(());
        }
        let named =
            left_out.iter().take(MOST_NAMED).map(|name| format!("`{}`", name.escape_debug()));
        let mut named = named.collect::<Vec<_>>().join(", ");
        if let more @ 1.. = left_out.len().saturating_sub(MOST_NAMED) {
            named.push_str(&format!(" and {more} more"));
        }
        let why = format!(
            "{named} cannot be keys of Zarr, and stayed; all else was erased; remove them with the tools of the server"
        );
        Err(StoreError::io("erase", prefix)(io::Error::other(why)))
    }
}

/// Sends a large value, part by part; it is there when the last one is.
async fn in_parts(
    backend: &Backend,
    path: &Path,
    value: Bytes,
    part: u64,
) -> object_store::Result<()> {
    let mut upload = backend.put_multipart(path).await?;
    let parts = std::iter::successors(Some(0), |at| Some(at + part as usize));
    let parts = parts.take_while(|&at| at < value.len());
    let parts = parts.map(|at| value.slice(at..value.len().min(at + part as usize)));
    let sent = stream::iter(parts.map(|part| upload.put_part(part.into())))
        .buffer_unordered(PARTS_IN_FLIGHT)
        .try_collect::<()>()
        .await;
    if let Err(e) = sent {
        let _ = upload.abort().await;
        return Err(e);
    }
    upload.complete().await.map(|_| ())
}

/// The condition of a request; `None` if there is none.
pub(super) fn mode(key: &StoreKey, only_if: Precondition<'_>) -> Result<Option<PutMode>> {
    let version = match only_if {
        Precondition::Always | Precondition::Unchecked => return Ok(None),
        Precondition::Absent => return Ok(Some(PutMode::Create)),
        Precondition::Version(version) => version,
    };
    let (e_tag, version) = tag_of(version);
    if version.is_none() && e_tag.as_ref().is_some_and(|tag| tag.starts_with("W/")) {
        let why =
            "the server gives it a weak ETag, which no condition can name; turn the guard off";
        return Err(StoreError::io("guard", key)(io::Error::other(why)));
    }
    Ok(Some(PutMode::Update(UpdateVersion { e_tag, version })))
}
