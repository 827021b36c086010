//! Keeps the latest state of an array that its handles have read or written.
//!
//! Threads that share an array read its document and swap it concurrently, and the thread that was first in the store may
//! be the last to report here. So every state is made between two looks at the latest one: it replaces that one only if
//! the same state was the latest *before* the document was read or swapped.
//!
//! Then the latest state is never older than the one before it. Let a state replace the state `before`. Its document was
//! read (or swapped) after `before` was put here, and the document of `before` was read (or swapped) before that. So the
//! states are put here in the order that their documents had in the store.
//!
//! A state that was refused may be older than the latest one, or newer. So the document is read again. If two more
//! readings are refused, two other states were put here since the first refusal, one after the other: the document of the
//! second was read after the first was put here, and so after the document that was refused first. After three readings
//! the latest state is at least as new as the first of them.

use super::state::ArrayState;
use crate::primitives::sync::Arc;
use crate::primitives::{ArcSwap, Guard};

/// Readings after which the latest state is at least as new as the first of them.
pub(crate) const MOST_READINGS: u32 = 3;

/// The state that the handles of an array use. Threads that take it write to no memory that they share.
#[derive(Debug)]
pub(super) struct LatestState(ArcSwap<ArrayState>);

impl LatestState {
    pub fn new(state: ArrayState) -> LatestState {
        LatestState(ArcSwap::from_pointee(state))
    }

    pub fn get(&self) -> Guard<Arc<ArrayState>> {
        self.0.load()
    }

    /// Puts `state` in place of `before`; `false` if another state has replaced that already.
    pub fn replace(&self, before: &Arc<ArrayState>, state: &Arc<ArrayState>) -> bool {
        let latest = self.0.compare_and_swap(before, state.clone());
        Arc::ptr_eq(&latest, before)
    }
}
