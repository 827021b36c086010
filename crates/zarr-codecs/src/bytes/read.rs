//! Finds the bytes of a plain chunk that hold a part of it.
//!
//! A part that is a small share of its chunk is read in slabs: pieces along one axis with all that lies
//! inside them. Each is one range.

use zarr_core::codec::ChunkRead;
use zarr_core::region::element_count;
use zarr_core::store::{ByteRange, Bytes};
use zarr_core::view::ViewMut;
use zarr_core::{CodecError, Region};

use super::{CODEC, Plain};

/// A further range costs about as much as so many further bytes, also in a local file.
const RANGE: u64 = 4096;

/// Reading a part of a plain chunk.
pub(super) struct PartOfPlain {
    codec: Plain,
    /// The ranges, in order, and all of the same length.
    starts: Vec<u64>,
    len: u64,
    /// What one range holds.
    slab: Vec<u64>,
    /// Of a range the part that is wanted, and where it lies in the whole part, but for the axes that the
    /// ranges count.
    within: Region,
    /// The lengths of the axes that the ranges count.
    counted: Vec<u64>,
    bytes: Vec<Bytes>,
}

impl PartOfPlain {
    /// `None` if all of the chunk is read as cheaply.
    pub(super) fn new(codec: Plain, shape: &[u64], within: &Region) -> Option<PartOfPlain> {
        let cell = codec.cell as u64;
        let size = element_count(shape)?.checked_mul(cell)?;
        let intervals = within.intervals();
        let lens = within.shape();
        let inside = |axis: usize| element_count(&shape[axis + 1..]).map(|n| n * cell);
        let cost = |axis: usize| {
            let count = element_count(&lens[..axis])?;
            count.checked_mul(lens[axis].checked_mul(inside(axis)?)?.checked_add(RANGE)?)
        };
        let (cost, axis) = (0..shape.len()).filter_map(|axis| Some((cost(axis)?, axis))).min()?;
        if within.is_empty() || cost > size / 2 {
            return None;
        }
        let stride = inside(axis)?;
        let mut starts = vec![intervals[axis].start * stride];
        for outer in (0..axis).rev() {
            let stride = inside(outer)?;
            let begin = |index: u64| starts.iter().map(move |start| start + index * stride);
            starts = intervals[outer].clone().flat_map(begin).collect();
        }
        let mut slab = vec![1; axis];
        slab.push(lens[axis]);
        slab.extend(&shape[axis + 1..]);
        let mut inner: Vec<_> = vec![0..1; axis];
        inner.push(0..lens[axis]);
        inner.extend(intervals[axis + 1..].iter().cloned());
        Some(PartOfPlain {
            len: lens[axis] * stride,
            codec,
            starts,
            slab,
            within: Region::new(inner),
            counted: lens[..axis].to_vec(),
            bytes: Vec::new(),
        })
    }
}

impl ChunkRead for PartOfPlain {
    fn begin(&mut self, _: Option<&zarr_core::codec::Memo>) -> Result<(), CodecError> {
        self.bytes.clear();
        Ok(())
    }

    fn wants(&self) -> Vec<ByteRange> {
        match self.bytes.is_empty() {
            true => {
                let range = |&start: &u64| ByteRange::Bounded { start, len: self.len };
                self.starts.iter().map(range).collect()
            }
            false => Vec::new(),
        }
    }

    fn supply(&mut self, bytes: Vec<Bytes>) -> Result<(), CodecError> {
        self.bytes = bytes;
        Ok(())
    }

    fn decode_into(&self, mut out: ViewMut<'_>) -> Result<(), CodecError> {
        let all = out.shape();
        for (number, bytes) in self.bytes.iter().enumerate() {
            let mut rest = number as u64;
            let mut place: Vec<_> = all.iter().map(|&len| 0..len).collect();
            for (axis, len) in self.counted.iter().enumerate().rev() {
                place[axis] = rest % len..rest % len + 1;
                rest /= len;
            }
            let out = out.reborrow().part(&Region::new(place));
            self.codec.decode(bytes, &self.slab, &self.within, out)?;
        }
        match self.bytes.len() == self.starts.len() {
            true => Ok(()),
            false => Err(CodecError::corrupt(CODEC, "the chunk is not read yet")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;
    use zarr_core::codec::{ArrayToBytes, Codec};
    use zarr_core::data_type::CoreType;
    use zarr_core::selection::Part;
    use zarr_core::{Dialect, Region};

    use super::*;
    use crate::testing::{build_on, context};

    /// In the second, ranges count two axes at best.
    const SHAPES: [[u64; 3]; 2] = [[24, 32, 40], [4, 8, 4096]];

    fn codec(shape: &[u64], endian: &str) -> Arc<dyn ArrayToBytes> {
        let words = format!("{{\"endian\":\"{endian}\"}}");
        match build_on(Dialect::V3, "bytes", &words, &context(CoreType::Uint32, shape)) {
            Ok(Codec::ArrayToBytes(codec)) => codec,
            other => panic!("{other:?}"),
        }
    }

    fn chunk(shape: &[u64]) -> Vec<u8> {
        (0..shape.iter().product::<u64>() as u32).flat_map(u32::to_le_bytes).collect()
    }

    /// What the part is, decoded out of the ranges alone; `None` if all of the chunk is read instead.
    fn in_parts(codec: &Arc<dyn ArrayToBytes>, shape: &[u64], within: &Region) -> Option<Vec<u8>> {
        let chunk = chunk(shape);
        let mut read = codec.clone().read(shape, &Part::from(within.clone()))?;
        read.begin(None).unwrap();
        let wants = read.wants();
        let ranges: Vec<_> =
            wants.iter().map(|want| want.within(chunk.len() as u64).unwrap()).collect();
        let bytes: u64 = ranges.iter().map(|range| range.end - range.start).sum();
        assert!(bytes <= chunk.len() as u64 / 2, "{within:?} reads {bytes}");
        let part = |range: &std::ops::Range<u64>| {
            Bytes::copy_from_slice(&chunk[range.start as usize..range.end as usize])
        };
        read.supply(ranges.iter().map(part).collect()).unwrap();
        assert!(read.wants().is_empty());
        let mut out = vec![0; 4 * within.shape().iter().product::<u64>() as usize];
        read.decode_into(ViewMut::new(&mut out, &within.shape(), 4)).unwrap();
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
            let read = codec.clone().read(shape, &Part::from(within.clone()));
            assert_eq!(read.map(|read| read.wants().len()), ranges, "{within:?}");
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
