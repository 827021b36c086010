//! Finds the inner chunks of a shard, and decodes each.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use zarr_core::CodecError;
use zarr_core::codec::{ChunkIndex, PartialDecoder, PartialRead};
use zarr_core::grid::{ChunkGrid, ChunkProjection, RegularGrid};
use zarr_core::store::ByteRange;
use zarr_core::view::ViewMut;

use super::index::{Index, entry_of};
use super::{CODEC, Sharding};

/// A shard of a certain shape.
pub(super) struct Shard<'a> {
    pub sharding: &'a Sharding,
    pub counts: Vec<u64>,
    pub grid: RegularGrid,
}

impl<'a> Shard<'a> {
    pub fn new(sharding: &'a Sharding, shape: &[u64]) -> Result<Self, CodecError> {
        let counts = sharding.counts(shape)?;
        let grid = RegularGrid::new(&sharding.inner_shape, shape);
        let grid = grid.map_err(|e| CodecError::corrupt(CODEC, e))?;
        Ok(Shard { sharding, counts, grid })
    }
}

impl PartialDecoder for Shard<'_> {
    fn grid(&self) -> &dyn ChunkGrid {
        &self.grid
    }

    fn index(&self) -> Result<Option<ByteRange>, CodecError> {
        let size = self.sharding.index_size(&self.counts)?;
        Ok(Some(self.sharding.index.range(size)))
    }

    fn parse_index(&self, bytes: &[u8]) -> Result<ChunkIndex, CodecError> {
        let index = self.sharding.index.decode(bytes, &self.counts)?;
        let size = index.memory();
        Ok(ChunkIndex::new(Arc::new(index), size))
    }

    fn segment(
        &self,
        index: Option<&ChunkIndex>,
        at: &ChunkProjection,
    ) -> Result<Option<Range<u64>>, CodecError> {
        let index = index.and_then(ChunkIndex::get::<Index>);
        let index = index.ok_or_else(|| CodecError::corrupt(CODEC, "its index is not known"))?;
        self.sharding.range(index, entry_of(at, &self.counts))
    }

    fn inner(&self, at: &ChunkProjection) -> Option<PartialRead<'_>> {
        self.sharding.inner.partial(&self.sharding.inner_shape, &at.within)
    }

    fn decode(
        &self,
        bytes: &[u8],
        at: &ChunkProjection,
        out: ViewMut<'_>,
    ) -> Result<(), CodecError> {
        let Sharding { inner, inner_shape, .. } = self.sharding;
        inner.decode_into(Cow::Borrowed(bytes), inner_shape, &at.within, out)
    }
}
