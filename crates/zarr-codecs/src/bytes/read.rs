//! Finds the bytes of a plain chunk that hold a part of it.
//!
//! A part that is a small share of its chunk is read in slabs: pieces along one axis with all that is
//! inside them. Each is one range.

use std::ops::Range;

use zarr_core::codec::{ChunkIndex, PartialDecoder};
use zarr_core::grid::{ChunkGrid, ChunkProjection, RegularGrid};
use zarr_core::region::element_count;
use zarr_core::view::ViewMut;
use zarr_core::{CodecError, Region};

use super::{CODEC, Plain};

/// Bytes that cost about as much as one further range, also in a local file.
const RANGE: u64 = 4096;

/// A plain chunk in slabs.
pub(super) struct Slabs<'a> {
    codec: &'a Plain,
    /// The axis along which a slab may be a part of the chunk; of those before it a slab has one index each.
    axis: usize,
    /// Bytes from one index of each axis up to that one to the next.
    strides: Vec<u64>,
    grid: RegularGrid,
}

impl<'a> Slabs<'a> {
    /// `None` if all of the chunk is read as cheaply.
    pub(super) fn new(codec: &'a Plain, shape: &[u64], within: &Region) -> Option<Slabs<'a>> {
        let cell = codec.cell as u64;
        let size = element_count(shape)?.checked_mul(cell)?;
        let lens = within.shape();
        let inside = |axis: usize| element_count(&shape[axis + 1..]).map(|n| n * cell);
        let costs = (0..shape.len()).filter_map(|axis| {
            let count = element_count(&lens[..axis])?;
            let run = lens[axis].checked_mul(inside(axis)?)?.checked_add(RANGE)?;
            Some((count.checked_mul(run)?, axis))
        });
        let (cost, axis) = costs.min()?;
        if within.is_empty() || cost > size / 2 {
            return None;
        }
        let strides = (0..=axis).map(inside).collect::<Option<_>>()?;
        let mut slab = vec![1; axis];
        slab.extend(&shape[axis..]);
        let grid = RegularGrid::new(&slab, shape).ok()?;
        Some(Slabs { codec, axis, strides, grid })
    }

    /// What of a slab is read.
    fn rows<'t>(&self, at: &'t ChunkProjection) -> Result<(&'t Region, Range<u64>), CodecError> {
        let within = at.within.as_region();
        let within = within.ok_or_else(|| CodecError::corrupt(CODEC, "a slab is not a box"))?;
        Ok((within, within.intervals()[self.axis].clone()))
    }
}

impl PartialDecoder for Slabs<'_> {
    fn grid(&self) -> &dyn ChunkGrid {
        &self.grid
    }

    fn segment(
        &self,
        _: Option<&ChunkIndex>,
        at: &ChunkProjection,
    ) -> Result<Option<Range<u64>>, CodecError> {
        let (_, rows) = self.rows(at)?;
        let (stride, outer) = self.strides.split_last().expect("a slab is cut along an axis");
        let begin: u64 =
            at.grid_index.iter().zip(outer).map(|(index, stride)| index * stride).sum();
        Ok(Some(begin + rows.start * stride..begin + rows.end * stride))
    }

    fn decode(
        &self,
        bytes: &[u8],
        at: &ChunkProjection,
        out: ViewMut<'_>,
    ) -> Result<(), CodecError> {
        let (within, rows) = self.rows(at)?;
        let (mut shape, mut intervals) = (at.chunk_shape.clone(), within.intervals().to_vec());
        shape[self.axis] = rows.end - rows.start;
        intervals[self.axis] = 0..rows.end - rows.start;
        self.codec.decode(bytes, &shape, &Region::new(intervals), out)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;
    use zarr_core::codec::{ArrayToBytes, Codec};
    use zarr_core::data_type::CoreType;
    use zarr_core::grid::chunk_projections;
    use zarr_core::selection::ResolvedSelection;
    use zarr_core::{Dialect, Region};

    use super::*;
    use crate::testing::{build_on, context};

    /// In the second, ranges count two axes at best.
    const SHAPES: [[u64; 3]; 2] = [[24, 32, 40], [4, 8, 4096]];

    fn codec(shape: &[u64], endian: &str) -> Arc<dyn ArrayToBytes> {
        let configuration = format!("{{\"endian\":\"{endian}\"}}");
        match build_on(Dialect::V3, "bytes", &configuration, &context(CoreType::Uint32, shape)) {
            Ok(Codec::ArrayToBytes(codec)) => codec,
            other => panic!("{other:?}"),
        }
    }

    fn chunk(shape: &[u64]) -> Vec<u8> {
        (0..shape.iter().product::<u64>() as u32).flat_map(u32::to_le_bytes).collect()
    }

    /// The ranges of a part; `None` if all of the chunk is read instead.
    fn ranges(codec: &Arc<dyn ArrayToBytes>, shape: &[u64], within: &Region) -> Option<usize> {
        let decoder = codec.partial(shape, &ResolvedSelection::from(within.clone()))?;
        Some(chunk_projections(decoder.grid(), shape, within).count())
    }

    /// The part, decoded out of the ranges alone; `None` if all of the chunk is read instead.
    fn in_parts(codec: &Arc<dyn ArrayToBytes>, shape: &[u64], within: &Region) -> Option<Vec<u8>> {
        let chunk = chunk(shape);
        let decoder = codec.partial(shape, &ResolvedSelection::from(within.clone()))?;
        assert_eq!(decoder.index().unwrap(), None);
        let mut out = vec![0; 4 * within.shape().iter().product::<u64>() as usize];
        let mut view = ViewMut::new(&mut out, &within.shape(), 4);
        let mut read = 0;
        for at in chunk_projections(decoder.grid(), shape, within) {
            let range = decoder.segment(None, &at).unwrap().expect("every slab is stored");
            let bytes = &chunk[range.start as usize..range.end as usize];
            read += bytes.len();
            view.reborrow()
                .fill_with(&at.output, |piece| decoder.decode(bytes, &at, piece))
                .unwrap();
        }
        assert!(read <= chunk.len() / 2, "{within:?} reads {read}");
        Some(out)
    }

    fn whole(codec: &Arc<dyn ArrayToBytes>, shape: &[u64], within: &Region) -> Vec<u8> {
        let mut out = vec![0; 4 * within.shape().iter().product::<u64>() as usize];
        let view = ViewMut::new(&mut out, &within.shape(), 4);
        codec.decode_into(&chunk(shape), shape, within, view).unwrap();
        out
    }

    /// One range, a range for each index of one axis, and of two; and a part that is no small share.
    #[test]
    fn small_shares_are_read_alone() {
        for (shape, within, ranges) in [
            (0, [3..5, 0..32, 0..40], Some(1)),
            (0, [7..8, 9..10, 11..12], Some(1)),
            (0, [0..6, 4..5, 0..40], Some(6)),
            (0, [0..24, 0..32, 5..6], None),
            (0, [0..24, 0..32, 0..40], None),
            (1, [1..3, 4..7, 9..20], Some(6)),
        ] {
            let shape = &SHAPES[shape];
            let (codec, within) = (codec(shape, "big"), Region::new(within));
            assert_eq!(self::ranges(&codec, shape, &within), ranges, "{within:?}");
            if ranges.is_some() {
                let found = in_parts(&codec, shape, &within).unwrap();
                assert_eq!(found, whole(&codec, shape, &within), "{within:?}");
            }
        }
    }

    proptest! {
        /// The ranges give what the whole chunk gives, in either byte order.
        #[test]
        fn parts_are_those_of_the_whole(
            ends in proptest::array::uniform3((0.0..1.0, 0.0..1.0)),
            second: bool,
            little: bool,
        ) {
            let shape = &SHAPES[usize::from(second)];
            let axis = |((start, len), &all): ((f64, f64), &u64)| {
                let start = (start * all as f64) as u64;
                start..(start + 1 + (len * len * all as f64) as u64).min(all)
            };
            let within = Region::new(ends.into_iter().zip(shape).map(axis));
            let codec = codec(shape, if little { "little" } else { "big" });
            if let Some(found) = in_parts(&codec, shape, &within) {
                prop_assert_eq!(found, whole(&codec, shape, &within));
            }
        }
    }
}
