//! How is one value read in several calls, while others may set it?

use async_trait::async_trait;
use bytes::Bytes;

use super::{ByteRange, StoreKey};
use crate::error::StoreError;

/// A value as it was when it was pinned: what others set meanwhile is not seen.
pub trait Pinned: Send + Sync {
    /// Some bytes of the value.
    ///
    /// # Errors
    /// [`StoreError::Range`] when a range leaves the value; when the store failed.
    fn read(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>, StoreError>;
}

/// A value that was fetched as a whole.
#[derive(Clone, Debug)]
pub struct Whole {
    key: StoreKey,
    value: Bytes,
}

impl Whole {
    /// The value of `key`.
    pub fn new(key: &StoreKey, value: Bytes) -> Self {
        Whole { key: key.clone(), value }
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
}

#[async_trait]
impl super::aio::Pinned for Whole {
    async fn read(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>, StoreError> {
        Pinned::read(self, ranges)
    }
}
