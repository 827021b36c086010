//! Names of the time when async stores had their own traits; goes when the array's files are rewritten.

pub(crate) use super::Snapshot as Pinned;
pub(crate) use super::block_on as now;
