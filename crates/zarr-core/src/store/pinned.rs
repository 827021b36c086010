//! Reads one version of a value in several calls, while others may set it.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;

use super::{ByteRange, StoreKey, Version};
use crate::error::StoreError;

/// A value as it was when it was pinned: what others set meanwhile is not seen.
pub trait Pinned: Send + Sync {
    /// Some bytes of the value.
    ///
    /// # Errors
    /// [`StoreError::Range`] when a range leaves the value; [`StoreError::Changed`] when the value was
    /// replaced and is to be had no more; when the store failed.
    fn read(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>, StoreError>;

    /// Puts some bytes of the value into `buf`, in place of what was there.
    ///
    /// Local stores fill a reused buffer without allocating.
    ///
    /// # Errors
    /// As [`Pinned::read`].
    fn read_into(&self, range: ByteRange, buf: &mut Vec<u8>) -> Result<(), StoreError> {
        buf.clear();
        self.read(&[range])?.iter().for_each(|bytes| buf.extend_from_slice(bytes));
        Ok(())
    }

    /// How many bytes the value has; 0 until that is known, at the latest after the first reading, be it of no
    /// ranges.
    fn size(&self) -> u64;

    /// What tells this value from every other that its key had or will have, even when it is pinned no
    /// more; `None` if the store cannot tell. What is learnt of a value is remembered under its version
    /// (decision 0108).
    fn version(&self) -> Option<Version> {
        None
    }
}

/// A value that was fetched as a whole.
#[derive(Clone, Debug)]
pub struct Whole {
    key: StoreKey,
    value: Bytes,
    version: Option<Version>,
}

impl Whole {
    /// The value of `key`.
    pub fn new(key: &StoreKey, value: Bytes) -> Self {
        Whole { key: key.clone(), value, version: None }
    }

    /// The same value, told from all others by its version.
    #[must_use]
    pub fn with_version(mut self, version: Version) -> Self {
        self.version = Some(version);
        self
    }
}

impl Pinned for Whole {
    fn read(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>, StoreError> {
        let slice = |range: &ByteRange| {
            let range = range.resolve(&self.key, self.value.len() as u64)?;
            Ok(self.value.slice(range.start as usize..range.end as usize))
        };
        ranges.iter().map(slice).collect()
    }

    fn size(&self) -> u64 {
        self.value.len() as u64
    }

    fn version(&self) -> Option<Version> {
        self.version.clone()
    }
}

#[async_trait]
impl super::aio::Pinned for Whole {
    async fn read(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>, StoreError> {
        Pinned::read(self, ranges)
    }
    fn size(&self) -> u64 {
        Pinned::size(self)
    }
    fn version(&self) -> Option<Version> {
        Pinned::version(self)
    }
    fn blocking(&self) -> Option<Arc<dyn Pinned>> {
        Some(Arc::new(self.clone()))
    }
}
