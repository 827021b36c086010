//! The handles by which programs reach hierarchies, groups, arrays and chunks.
//!
//! They are cheap to clone and may go to other threads. Blocking handles ([`sync`]) and async ones ([`aio`]) have the same
//! methods, each one line over one async core: [`crate::hierarchy`] for documents, [`crate::array`] for elements.

#[path = "async.rs"]
pub mod aio;
#[cfg(feature = "ndarray")]
mod as_ndarray;
mod builder;
mod chunk;
mod common;
mod convert;
mod methods;
mod sync;
mod text;

#[cfg(feature = "ndarray")]
pub use self::as_ndarray::AsNdarray;
pub use self::builder::{ArrayBuilderOf, DimensionName};
pub use self::chunk::ChunkOf;
pub use self::sync::{Array, ArrayBuilder, Chunk, Group, Hierarchy, Node};
pub use self::text::tree_names;
