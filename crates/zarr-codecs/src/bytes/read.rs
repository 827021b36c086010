//! Which bytes of a plain chunk hold a part of it?
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
