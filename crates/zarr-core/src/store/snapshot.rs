//! Reads one version of a value in several calls, while others may set its key.

use std::fs::File;
use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use bytes::Bytes;

use super::{ByteRange, StoreKey, Version};
use crate::error::StoreError;

/// A value as it was when it was opened: what others set later is not seen.
#[async_trait]
pub trait Snapshot: Send + Sync {
    /// Some bytes of the value.
    ///
    /// # Errors
    /// [`StoreError::Range`] when a range leaves the value; [`StoreError::Changed`] when the value was replaced and cannot
    /// be read any more; when the store failed.
    async fn read(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>, StoreError>;

    /// How many bytes the value has; 0 until that is known, at the latest after the first reading, be it of no ranges.
    fn size(&self) -> u64;

    /// What tells this value from every other that its key had or will have, even after the snapshot ended; `None` if the
    /// store cannot tell. What is learnt of a value is cached under its version.
    fn version(&self) -> Option<Version> {
        None
    }

    /// When the value was set, as far as the store tells, in its own clock and maybe in whole seconds. As the size, it may be known
    /// only after the first reading.
    fn modified(&self) -> Option<SystemTime> {
        None
    }

    /// The same value for a thread that may block, if reading it never waits for a network.
    fn as_sync(&self) -> Option<Arc<dyn SyncSnapshot>> {
        None
    }
}

/// As [`Snapshot`]; calls are done when they return.
pub trait SyncSnapshot: Send + Sync {
    /// Some bytes of the value.
    ///
    /// # Errors
    /// As [`Snapshot::read`].
    fn read(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>, StoreError>;

    /// Puts some bytes of the value into `buf`, in place of what it holds. Local stores fill a reused buffer without
    /// allocating.
    ///
    /// # Errors
    /// As [`Snapshot::read`].
    fn read_into(&self, range: ByteRange, buf: &mut Vec<u8>) -> Result<(), StoreError> {
        buf.clear();
        self.read(&[range])?.iter().for_each(|bytes| buf.extend_from_slice(bytes));
        Ok(())
    }

    /// As [`Snapshot::size`].
    fn size(&self) -> u64;

    /// As [`Snapshot::version`].
    fn version(&self) -> Option<Version> {
        None
    }

    /// As [`Snapshot::modified`].
    fn modified(&self) -> Option<SystemTime> {
        None
    }

    /// The open file that holds the value and nothing else, for a store that lets the system copy it into another file.
    fn file(&self) -> Option<&File> {
        None
    }
}

/// A value that was fetched as a whole.
#[derive(Clone, Debug)]
pub struct InMemorySnapshot {
    key: StoreKey,
    value: Bytes,
    pub(super) version: Option<Version>,
}

impl InMemorySnapshot {
    /// The value of `key`.
    pub fn new(key: &StoreKey, value: Bytes) -> Self {
        InMemorySnapshot { key: key.clone(), value, version: None }
    }

    /// The same value, told from all others by its version.
    #[must_use]
    pub fn with_version(mut self, version: Version) -> Self {
        self.version = Some(version);
        self
    }
}

impl From<InMemorySnapshot> for Box<dyn Snapshot> {
    fn from(value: InMemorySnapshot) -> Self {
        Box::new(value)
    }
}

impl From<InMemorySnapshot> for Box<dyn SyncSnapshot> {
    fn from(value: InMemorySnapshot) -> Self {
        Box::new(value)
    }
}

impl SyncSnapshot for InMemorySnapshot {
    fn read(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>, StoreError> {
        let mut slices = Vec::with_capacity(ranges.len());
        for range in ranges {
            let range = range.resolve(&self.key, self.value.len() as u64)?;
            slices.push(self.value.slice(range.start as usize..range.end as usize));
        }
        Ok(slices)
    }

    fn size(&self) -> u64 {
        self.value.len() as u64
    }

    fn version(&self) -> Option<Version> {
        self.version.clone()
    }
}

#[async_trait]
impl Snapshot for InMemorySnapshot {
    async fn read(&self, ranges: &[ByteRange]) -> Result<Vec<Bytes>, StoreError> {
        SyncSnapshot::read(self, ranges)
    }
    fn size(&self) -> u64 {
        SyncSnapshot::size(self)
    }
    fn version(&self) -> Option<Version> {
        self.version.clone()
    }
    fn as_sync(&self) -> Option<Arc<dyn SyncSnapshot>> {
        Some(Arc::new(self.clone()))
    }
}
