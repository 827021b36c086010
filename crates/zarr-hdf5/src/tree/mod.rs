//! The two kinds of B-trees.

pub(crate) mod btree1;
pub(crate) mod btree2;
