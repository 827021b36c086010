//! The heaps: names of old groups, elements of variable length, links and attributes of large objects.

pub(crate) mod fractal;
pub(crate) mod global;
pub(crate) mod local;
