//! Copies of datasets in another profile or dialect.
//!
//! [`plan`] decides what the copy defines and names what it cannot keep; [`transfer`] copies by that plan. [`missing`] keeps
//! what readers take for missing, [`texts`] keeps strings of one width, [`others`] finds the nodes that are no part of a dataset.

pub(crate) mod missing;
pub(crate) mod others;
pub(crate) mod plan;
pub(crate) mod texts;
pub(crate) mod transfer;
