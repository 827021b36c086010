//! Reads, creates and refreshes consolidated metadata: copies of documents, gathered in few documents.

mod check;
mod consolidate;
mod only_copied;
mod refresh;
mod view;

pub(super) use self::only_copied::RESTORE_HINT;
pub(super) use self::refresh::{AffectedNodes, Change};
pub(super) use self::view::{ConsolidatedStore, ConsolidatedView};
