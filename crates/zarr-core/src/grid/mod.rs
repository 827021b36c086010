//! Defines chunk grids: how an array is divided into chunks.
//!
//! A grid answers one axis at a time, by ordinal: the first chunk of an axis has ordinal 0, whatever
//! its index is called (docs/internals/design/chunks.md). Shapes, walks and overlaps are computed from that in
//! [`chunk_projections`].

mod chunk_projection;
mod default_shape;
mod key;
mod pieces;
mod rectilinear;
mod regular;
mod split_output;

use std::fmt::Debug;
use std::sync::Arc;

pub(crate) use self::chunk_projection::{
    ChunkPlace, ChunkProjections, Walk, chunk_place, extents, only_projection,
};
pub use self::chunk_projection::{ChunkProjection, chunk_count, chunk_projections};
pub(crate) use self::default_shape::default_inner_shape;
pub use self::default_shape::{default_chunk_shape, default_chunk_shape_named};
pub(crate) use self::key::register_key_encodings;
pub use self::key::{ChunkKeyEncoding, ChunkKeys, RegisteredKeys};
pub(crate) use self::pieces::cut_along_borders;
pub use self::pieces::{Piece, Pieces};
pub use self::rectilinear::RectilinearGrid;
pub use self::regular::RegularGrid;
pub(crate) use self::split_output::SplitOutput;
use crate::dialect::Dialect;
use crate::json::Json;

/// One chunk's place on one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkExtent {
    /// The chunk's index, as its key names it.
    pub index: i64,
    /// Stored elements before `start`: those of a first chunk that reach before the array.
    pub before: u64,
    /// The chunk's first coordinate.
    pub start: u64,
    /// How many of the chunk's coordinates the array has; the array's length does not cut it.
    pub len: u64,
    /// How many elements are stored along the axis.
    pub stored: u64,
}

/// A chunk grid. Chunks of one axis do not depend on another's: separable grids only.
pub trait ChunkGrid: Debug + Send + Sync {
    /// How many axes.
    fn rank(&self) -> usize;

    /// How many chunks an axis of length `len` has.
    fn count(&self, axis: usize, len: u64) -> u64;

    /// The chunk of this ordinal.
    fn span(&self, axis: usize, ordinal: u64) -> ChunkExtent;

    /// The ordinal of the chunk that holds a coordinate.
    fn locate(&self, axis: usize, coordinate: u64) -> u64;

    /// The chunk shape, if all chunks have one.
    fn chunk_shape(&self) -> Option<Vec<u64>>;

    /// How many elements chunks store along an axis: each number once. The codecs must take chunks of each.
    fn stored_lengths(&self, axis: usize) -> Vec<u64> {
        vec![self.span(axis, 0).stored]
    }

    /// The grid as a dialect's metadata, `{"name": …, "configuration": …}` in final v3 and
    /// `{"extension": …, "type": …, "configuration": …}` in the drafts; `None` if the dialect cannot represent it. v2
    /// does not call this: its chunks have one shape.
    fn to_metadata(&self, dialect: Dialect) -> Option<Json>;

    /// How long the axis can be at most; `None` for as long as you like.
    fn reach(&self, axis: usize) -> Option<u64> {
        let _ = axis;
        None
    }

    /// The grid of the array with `count` more elements before the first one of `axis`, every element
    /// that is there staying where it is stored; `None` if the grid cannot grow there.
    fn grown_before(&self, axis: usize, count: u64) -> Option<Arc<dyn ChunkGrid>> {
        let _ = (axis, count);
        None
    }
}
