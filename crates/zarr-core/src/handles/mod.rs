//! The handles by which programs reach hierarchies, groups, arrays and chunks.
//!
//! They are cheap to clone and may go to other threads. Each method is one line over an async core: [`crate::hierarchy`] for
//! documents, [`crate::array`] for elements. The async handles ([`aio`]) are written; the blocking ones ([`blocking`]), which
//! have the same methods and wait, are generated from them by a test of this crate, `tests/it/generated_handles.rs`. Only what
//! takes memory of the caller's is written for each face: an async caller hands it over, a blocking one lends it.

#[path = "async/mod.rs"]
pub mod aio;
#[cfg(feature = "ndarray")]
mod as_ndarray;
mod blocking;
mod new_array;
mod text;

#[cfg(feature = "ndarray")]
pub use self::as_ndarray::AsNdarray;
pub use self::blocking::{Array, ArrayBuilder, Chunk, Group, Hierarchy, Node};
pub use self::new_array::DimensionName;
pub use self::text::tree_names;

/// Chunks may go to other threads.
const _: fn() = || {
    fn sendable<T: Send>() {}
    sendable::<Chunk>();
    sendable::<aio::Chunk>();
};
