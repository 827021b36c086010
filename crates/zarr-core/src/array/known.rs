//! Keeps the newest state of an array that its handles have learned of.
//!
//! Threads that share an array read its document and swap it at the same time, and the one that was first in the
//! store may tell the handles last. So every state is made between two looks at the one that the handles know: it is
//! installed only if that one is still known which was known *before* the document was read, or swapped.
//!
//! Then no handle goes back. Let an installed state replace the state `before`. Its document was read (or swapped)
//! after `before` was installed, and the document of `before` was read (or swapped) before that. So in the order of
//! installs the documents have the order that they had in the store, whatever the threads did between.
//!
//! A state that was refused may be older than the known one, or newer. So the document is read again. If two more
//! readings are refused, two other states were installed since the first refusal, one after the other: the document
//! of the second was read after the first was installed, and so after whatever was refused at first. Three readings
//! are enough: then a newer state is known.

use std::sync::{Arc, RwLock};

use super::{ArrayCore, ArrayState, wrong_kind};
use crate::error::Result;
use crate::json::Object;
use crate::metadata::{NodeKind, NodeMetadata};
use crate::sync::{read, write};

/// Readings after which a state is known that is newer than the first of them.
pub(super) const MOST_READINGS: u32 = 3;

/// The state that the handles of an array know.
#[derive(Debug)]
pub(super) struct Known(RwLock<Arc<ArrayState>>);

impl Known {
    pub fn new(state: ArrayState) -> Known {
        Known(RwLock::new(Arc::new(state)))
    }

    pub fn now(&self) -> Arc<ArrayState> {
        read(&self.0).clone()
    }

    /// Whether `state` is known from now on: if `before` is known until now.
    fn install(&self, before: &Arc<ArrayState>, state: &Arc<ArrayState>) -> bool {
        let mut known = write(&self.0);
        let is_newest = Arc::ptr_eq(&known, before);
        if is_newest {
            *known = state.clone();
        }
        is_newest
    }
}

impl ArrayCore {
    /// Tells the handles of a state whose document was read while they knew `before`; `false` if they have learned of
    /// another one since.
    pub(super) fn learn(&self, before: &Arc<ArrayState>, state: &Arc<ArrayState>) -> bool {
        self.known.install(before, state)
    }

    /// Reads the document again.
    pub async fn refresh(&self) -> Result<()> {
        for _ in 0..MOST_READINGS {
            let before = self.state();
            let state = match self.context.node(&self.path).await? {
                NodeMetadata::Array(metadata) => self.state_of(*metadata)?,
                NodeMetadata::Group(_) => return Err(self.at(wrong_kind(NodeKind::Group))),
            };
            if self.learn(&before, &state) {
                break;
            }
        }
        Ok(())
    }

    /// Tells the handles what a swap has made of the array that they knew as `before`, or a later state.
    pub(super) async fn settle(&self, before: &Arc<ArrayState>, state: &Arc<ArrayState>) {
        if !self.learn(before, state) {
            // The swap is done, whatever the store answers now. If it does not answer, the handles know what they knew.
            let _ = self.refresh().await;
        }
    }

    /// Tells the handles that the attributes have become these since they knew `before`; the rest stays as it is known.
    pub async fn set_attributes(&self, before: &Arc<ArrayState>, attributes: Object) -> Result<()> {
        let mut metadata = (*before.metadata).clone();
        metadata.attributes = attributes;
        self.settle(before, &self.state_of(metadata)?).await;
        Ok(())
    }
}
