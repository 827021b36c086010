//! Handles on what is in a store: a dataset, its groups, its variables.
//!
//! A [`dataset::Dataset`] holds the definitions that were loaded last; [`group::Group`] and [`variable::Variable`] are paths in
//! it. What changes a dataset is in the folder `edit`, as further methods of the same types.

pub(crate) mod dataset;
pub(crate) mod group;
pub(crate) mod variable;
