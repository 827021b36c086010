//! The async handles: the same methods for async callers.
//!
//! Requests to remote stores are under way at the same time, as many as the store likes; (de)compression runs on the
//! pool. Calls of a local store run on other threads. Elements are handed over as vectors and come back, so a dropped
//! future leaves no memory half-read, and no chunk is stored before it is complete.
//!
//! A future may be dropped at any time. Changes that have not begun are then not made; a change of a key that has begun is
//! finished, and later calls on that key wait for its end, so that it never is stored after a later one. A call that
//! changes several keys stops between two of them.
//!
//! The blocking face is generated from these files, but for `elements.rs`.

mod array;
mod builder;
mod chunk;
mod elements;
mod group;
mod hierarchy;
mod node;

pub use self::array::Array;
pub use self::builder::ArrayBuilder;
pub use self::chunk::Chunk;
pub use self::group::Group;
pub use self::hierarchy::Hierarchy;
pub use self::node::Node;
