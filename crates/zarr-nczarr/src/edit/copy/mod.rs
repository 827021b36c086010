//! Copies of datasets in another profile or dialect.
//!
//! [`plan`] decides what the copy defines and names what it cannot keep; [`draft`] makes the documents of the copy, and writes
//! none of them; [`convert`] converts elements. Who copies writes the elements first, then the documents. [`missing`] keeps what
//! readers take for missing, [`texts`] keeps strings of one width, [`others`] finds the nodes that are no part of a dataset.

pub(crate) mod convert;
pub(crate) mod draft;
pub(crate) mod missing;
pub(crate) mod others;
pub(crate) mod plan;
pub(crate) mod texts;
