//! Records the calls on a store.

use std::fmt;
use std::sync::{Arc, Mutex};

use zarr_core::store::{Call, ObservedStore, Store};
use zarr_core::sync;

/// What [`record`] notes of calls, in the order in which they ended. Clones share the notes.
#[derive(Debug)]
pub struct Records<T>(Arc<Mutex<Vec<T>>>);

impl<T> Clone for Records<T> {
    fn clone(&self) -> Self {
        Records(self.0.clone())
    }
}

impl<T> Records<T> {
    /// The notes since the last time.
    pub fn take(&self) -> Vec<T> {
        std::mem::take(&mut *sync::lock(&self.0))
    }
}

/// `store`, and what `note` returns of each call on it.
///
/// ```
/// use zarr_core::store::{StoreKey, Store};
/// use zarr_testkit::{ShortCalls, record};
/// # fn of(store: std::sync::Arc<dyn Store>) -> Result<(), zarr_core::StoreError> {
/// let (store, calls) = record(store, |call| Some(format!("{} {}", call.operation, call.key)));
/// store.to_sync().value(&StoreKey::new("zarr.json")?)?;
/// assert_eq!(calls.take(), ["get zarr.json"]);
/// # Ok(())
/// # }
/// ```
pub fn record<T: fmt::Debug + Send + 'static>(
    store: Arc<dyn Store>,
    note: impl Fn(&Call<'_>) -> Option<T> + Send + Sync + 'static,
) -> (Arc<dyn Store>, Records<T>) {
    let records = Records(Arc::default());
    let kept = records.clone();
    let observed = ObservedStore::new(store, move |call: &Call<'_>| {
        sync::lock(&kept.0).extend(note(call));
    });
    (Arc::new(observed), records)
}
