//! The blocking handles: each call returns when it is done.
//!
//! All files but this and `elements.rs` are generated from those of the same names in `async/`:
//! `UPDATE=1 cargo test -p zarr-core --test it generated_handles` writes them anew.

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
