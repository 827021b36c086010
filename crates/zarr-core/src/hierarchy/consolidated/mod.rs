//! Reads, creates and refreshes consolidated metadata: copies of documents, gathered in few documents.

pub mod compare;
pub mod consolidate;
pub mod copies;
pub mod inspect;
pub mod refresh;
pub mod view;
