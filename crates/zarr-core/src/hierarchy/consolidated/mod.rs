//! Reads, creates and refreshes consolidated metadata: copies of documents, gathered in few documents.

mod check;
mod consolidate;
mod refresh;
mod view;

pub(super) use self::refresh::AffectedNodes;
pub(super) use self::view::{ConsolidatedStore, ConsolidatedView};
