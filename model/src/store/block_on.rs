//! What the files of the store need of others: a pause that may end at any time, and the store of an async one, which none is here.

use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use shuttle::rand::{Rng, thread_rng};

use super::{Capabilities, GetOptions, Got, Store, StoreKey, SyncStore};
use crate::error::StoreError;

/// The future that a pause is.
type Pause = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Ends at some step, or at no time if it is long.
pub fn pause(duration: Duration) -> Pause {
    if duration >= Duration::from_secs(3600) {
        return Box::pin(pending());
    }
    Box::pin(async {
        while thread_rng().gen_bool(0.5) {
            shuttle::future::yield_now().await;
        }
    })
}

#[derive(Debug)]
pub struct BlockOn(pub Arc<dyn Store>);

impl SyncStore for BlockOn {
    fn name(&self) -> String {
        self.0.name()
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    fn get(&self, _: &StoreKey, _: GetOptions<'_>) -> Result<Option<Got>, StoreError> {
        Err(StoreError::Backend("no store of the model is async".into()))
    }
}
