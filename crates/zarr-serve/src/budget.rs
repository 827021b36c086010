//! The memory that answers share.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use zarr::{AccessError, CancelToken, Error, Result};

/// Bytes by which memory is counted.
const UNIT: u64 = 1 << 10;
/// How often what waits for memory looks whether its client is still there.
const LOOK: Duration = Duration::from_millis(20);

/// A number of bytes, for all answers that are made at a time.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    free: Arc<Semaphore>,
    units: u64,
}

/// Bytes that are kept for an answer until this is dropped.
pub(crate) type Reserved = OwnedSemaphorePermit;

impl Budget {
    pub fn new(bytes: u64) -> Budget {
        let most = (Semaphore::MAX_PERMITS as u64).min(u64::from(u32::MAX));
        let units = (bytes / UNIT).clamp(1, most);
        Budget { free: Arc::new(Semaphore::new(units as usize)), units }
    }

    /// All bytes there are.
    pub fn size(&self) -> u64 {
        self.units * UNIT
    }

    fn units(&self, bytes: u64, what: &str) -> Result<u32> {
        let units = u32::try_from(bytes.div_ceil(UNIT)).ok();
        units.filter(|&units| u64::from(units) <= self.units).ok_or_else(|| {
            let all = self.size();
            let why = format!("{what} takes {bytes} bytes of memory, more than the {all} that the server may use for it");
            Error::from(AccessError::Argument(why)).with_hint("`zarr serve --memory` gives it more")
        })
    }

    /// `bytes`, once others are done with theirs.
    ///
    /// # Errors
    /// If that is more than all there is.
    pub async fn reserve(&self, bytes: u64, what: &str) -> Result<Reserved> {
        let units = self.units(bytes, what)?;
        let reserved = self.free.clone().acquire_many_owned(units).await;
        reserved.map_err(|_| AccessError::Cancelled.into())
    }

    /// As [`Budget::reserve`], on a thread that may block; `cancel` ends the wait.
    pub fn reserve_here(&self, bytes: u64, what: &str, cancel: &CancelToken) -> Result<Reserved> {
        let units = self.units(bytes, what)?;
        loop {
            if let Ok(reserved) = self.free.clone().try_acquire_many_owned(units) {
                return Ok(reserved);
            }
            if cancel.is_cancelled() {
                return Err(AccessError::Cancelled.into());
            }
            std::thread::sleep(LOOK);
        }
    }
}
