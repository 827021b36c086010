//! The memory that answers share.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use zarr::{AccessError, CancelToken, Cause, Error, Result, StoreError};

/// Bytes by which memory is counted.
const UNIT: u64 = 1 << 10;
/// How often what waits for memory looks whether there is enough, and whether its client is still there.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);
/// How long an answer waits for the memory of others.
const MEMORY_TIMEOUT: Duration = Duration::from_secs(5);

/// A number of bytes, for all answers that are made or sent at a time. Who finds enough goes first, so that a large answer that
/// waits keeps no small one waiting.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    free: Arc<Semaphore>,
    units: u64,
    patience: Duration,
}

/// Why an answer gets no memory.
#[derive(Debug)]
pub(crate) struct Refused {
    /// Whether it may get it later: others have it now.
    pub is_busy: bool,
    why: String,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for Refused {}

impl Refused {
    /// What an error of [`Budget::reserve`] says.
    pub fn of(error: &StoreError) -> Option<&Refused> {
        match error {
            StoreError::Backend(e) => e.downcast_ref(),
            _ => None,
        }
    }

    /// What an error of [`Budget::reserve_here`] says.
    pub fn of_any(error: &Error) -> Option<&Refused> {
        match error.cause() {
            Cause::Store(e) => Refused::of(e),
            _ => None,
        }
    }
}

/// Bytes that are kept for an answer until this is dropped.
#[derive(Debug)]
pub(crate) struct Reserved(OwnedSemaphorePermit);

impl Reserved {
    /// Gives back all but `bytes`.
    pub fn shrink(&mut self, bytes: u64) {
        let kept = usize::try_from(bytes.div_ceil(UNIT)).unwrap_or(usize::MAX);
        let free = self.0.num_permits().saturating_sub(kept);
        drop(self.0.split(free));
    }

    /// Adds what was reserved for the same answer.
    pub fn merge(&mut self, other: Reserved) {
        self.0.merge(other.0);
    }

    fn bytes(&self) -> u64 {
        self.0.num_permits() as u64 * UNIT
    }
}

impl Budget {
    pub fn new(bytes: u64) -> Budget {
        let most = (Semaphore::MAX_PERMITS as u64).min(u64::from(u32::MAX));
        let units = (bytes / UNIT).clamp(1, most);
        Budget { free: Arc::new(Semaphore::new(units as usize)), units, patience: MEMORY_TIMEOUT }
    }

    /// All bytes there are.
    pub fn size(&self) -> u64 {
        self.units * UNIT
    }

    /// `bytes` if they are free now.
    fn take(&self, bytes: u64, what: &str) -> Result<Option<Reserved>, StoreError> {
        let units = u32::try_from(bytes.div_ceil(UNIT)).ok();
        let units = units.filter(|&units| u64::from(units) <= self.units).ok_or_else(|| {
            let all = self.size();
            let why = format!(
                "{what} takes {bytes} bytes of memory, more than the {all} that the server may use for responses; raise it with `zarr serve --memory`"
            );
            StoreError::Backend(Refused { is_busy: false, why }.into())
        })?;
        Ok(self.free.clone().try_acquire_many_owned(units).ok().map(Reserved))
    }

    fn busy(&self, what: &str) -> StoreError {
        let why = format!(
            "other responses use the memory that {what} needs; try again, or raise the limit with `zarr serve --memory`"
        );
        StoreError::Backend(Refused { is_busy: true, why }.into())
    }

    /// `bytes`, once others are done with theirs.
    ///
    /// # Errors
    /// [`Refused`], if that is more than all there is, or others take too long.
    pub async fn reserve(&self, bytes: u64, what: &str) -> Result<Reserved, StoreError> {
        let until = Instant::now() + self.patience;
        loop {
            if let Some(reserved) = self.take(bytes, what)? {
                return Ok(reserved);
            }
            if Instant::now() >= until {
                return Err(self.busy(what));
            }
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
    }

    /// As [`Budget::reserve`], on a thread that may block; `cancel` ends the wait.
    ///
    /// # Errors
    /// As [`Budget::reserve`].
    pub fn reserve_here(&self, bytes: u64, what: &str, cancel: &CancelToken) -> Result<Reserved> {
        let until = Instant::now() + self.patience;
        loop {
            if let Some(reserved) = self.take(bytes, what)? {
                return Ok(reserved);
            }
            if cancel.is_cancelled() {
                return Err(AccessError::Cancelled.into());
            }
            if Instant::now() >= until {
                return Err(Error::from(self.busy(what)));
            }
            std::thread::sleep(LOOK_INTERVAL);
        }
    }

    /// Makes `held` as many bytes as an answer takes, once that is known.
    ///
    /// # Errors
    /// As [`Budget::reserve`].
    pub async fn adjust(
        &self,
        held: &mut Reserved,
        bytes: u64,
        what: &str,
    ) -> Result<(), StoreError> {
        if bytes > held.bytes() {
            held.merge(self.reserve(bytes - held.bytes(), what).await?);
        }
        held.shrink(bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_shared_and_never_more() {
        let mut budget = Budget::new(64 * UNIT);
        budget.patience = Duration::ZERO;
        let cancel = CancelToken::new();
        let reserve = |units: u64| {
            budget
                .reserve_here(units * UNIT, "the answer", &cancel)
                .map_err(|e| Refused::of_any(&e).unwrap().is_busy)
        };
        assert!(!reserve(65).unwrap_err());
        let mut most = reserve(60).unwrap();
        assert!(reserve(5).unwrap_err());
        let few = reserve(4).unwrap();
        assert!(reserve(1).unwrap_err());
        most.shrink(10 * UNIT);
        most.merge(few);
        assert_eq!(most.bytes(), 14 * UNIT);
        assert!(reserve(51).unwrap_err());
        drop(reserve(50).unwrap());
        drop(most);
        assert_eq!(reserve(64).unwrap().bytes(), 64 * UNIT);
    }
}
