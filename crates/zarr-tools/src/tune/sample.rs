//! Reads a sample of an array: boxes of neighbouring elements that are cut into chunks of other shapes.
//!
//! A small array is read whole. Of a large one there are up to 16 boxes at seeded random places, one in each part of as many of the
//! array; boxes of nothing but the fill value are counted, not kept.

use zarr_core::store::Bytes;
use zarr_core::var_buffer::{VarBuffer, VarStream};
use zarr_core::{Array, CancelToken, Region, Result};
use zarr_core::{CodecError, View};

use super::random::Random;
use crate::size::byte_count;

/// How many boxes a large array is sampled at: as many as have room, each for a chunk of the largest shape.
const MIN_BOXES: u64 = 4;
const MAX_BOXES: u64 = 16;

/// How often another place is tried where a box holds nothing but the fill value.
const TRIES: u64 = 4;

/// What a variable-length element is taken to have, in bytes, before any is read; with its reference of 16 bytes.
const ASSUMED_VARIABLE_BYTES: u64 = 64;

/// Elements that were read.
pub(super) struct Sample {
    pub boxes: Vec<SampleBox>,
    /// Whether the one box is the whole array.
    pub is_whole: bool,
    /// The share of the places that have other elements than the fill value, by the first one of each part of the array.
    pub present: f64,
    /// Bytes of an element; of variable-length ones the mean, with the four that say how long it is.
    pub element_bytes: f64,
    /// Bytes of elements that were read.
    pub bytes: u64,
    /// The array's shape.
    pub array_shape: Vec<u64>,
}

/// A box of elements.
pub(super) struct SampleBox {
    /// Where it is in the array.
    pub start: Vec<u64>,
    pub shape: Vec<u64>,
    /// Native elements in C order; of variable-length ones their references.
    memory: Vec<u8>,
    cell: usize,
    var_buffer: Option<VarBuffer>,
}

impl SampleBox {
    pub fn view(&self) -> View<'_> {
        View::new(&self.memory, &self.shape, self.cell).with_var_buffer(self.var_buffer.as_ref())
    }

    pub fn var_buffer(&self) -> Option<&VarBuffer> {
        self.var_buffer.as_ref()
    }
}

/// What a sample is read of.
pub(super) struct SampleRequest<'a> {
    pub array: &'a Array,
    /// The shapes of chunks that the boxes will be cut into.
    pub chunks: &'a [Vec<u64>],
    /// The most bytes of elements that are held.
    pub budget: u64,
    pub seed: u64,
    pub cancel: Option<&'a CancelToken>,
}

impl SampleRequest<'_> {
    /// Reads the sample. `told` hears how many bytes of how many are read.
    pub fn read(&self, told: &dyn Fn(u64, u64)) -> Result<Sample> {
        let metadata = self.array.metadata();
        let is_variable = metadata.data_type.is_variable();
        let cell = metadata.data_type.repr().map_or(1, |repr| repr.size());
        let assumed = if is_variable { 16 + ASSUMED_VARIABLE_BYTES } else { cell as u64 };
        let shape = metadata.shape.clone();
        let elements = shape.iter().fold(1u64, |all, &len| all.saturating_mul(len));
        let mut sample = Sample {
            boxes: Vec::new(),
            is_whole: elements.saturating_mul(assumed) <= self.budget,
            present: 1.0,
            element_bytes: cell as f64,
            bytes: 0,
            array_shape: shape.clone(),
        };
        if sample.is_whole {
            let all = Region::all(&shape);
            told(0, elements.saturating_mul(assumed));
            sample.boxes.push(self.read_box(&all, cell, is_variable)?);
        } else {
            let side = self.box_shape(&shape, assumed);
            let count = self.box_count(assumed);
            self.read_boxes(&mut sample, (&side, count), (cell, is_variable), told)?;
        }
        let read = sample.boxes.iter().map(|one| one.view().len() as u64).sum::<u64>();
        sample.bytes = read.saturating_mul(cell as u64);
        if is_variable {
            let bytes: u64 = sample.boxes.iter().map(variable_bytes).sum();
            sample.bytes = bytes;
            sample.element_bytes = (bytes as f64 / read.max(1) as f64).max(1.0);
        }
        Ok(sample)
    }

    /// How many boxes there are.
    fn box_count(&self, element: u64) -> u64 {
        let largest = self
            .chunks
            .iter()
            .map(|chunks| chunks.iter().fold(element, |all: u64, &side| all.saturating_mul(side)))
            .max()
            .unwrap_or(1);
        (self.budget / largest.max(1)).clamp(MIN_BOXES, MAX_BOXES)
    }

    /// A box of whole chunks as they are stored, grown towards what the shapes to be tried need.
    fn box_shape(&self, shape: &[u64], element: u64) -> Vec<u64> {
        let target = self.budget / self.box_count(element);
        let stored = self.array.chunk_shape().unwrap_or_else(|| vec![1; shape.len()]);
        let mut side: Vec<u64> =
            stored.iter().zip(shape).map(|(&n, &len)| n.clamp(1, len.max(1))).collect();
        // A stored chunk that is larger is sampled in part.
        while byte_count(element, &side) > target {
            let longest = (0..side.len()).max_by_key(|&axis| side[axis]);
            let Some(axis) = longest.filter(|&axis| side[axis] > 1) else { break };
            side[axis] = side[axis].div_ceil(2);
        }
        loop {
            let lack = |axis: usize| {
                let wanted = self.chunks.iter().map(|chunks| chunks[axis]).max().unwrap_or(1);
                wanted as f64 / side[axis] as f64
            };
            let longer = |axis: usize| {
                let mut longer = side.clone();
                longer[axis] = side[axis].saturating_mul(2).min(shape[axis]);
                longer
            };
            let open = (0..side.len()).filter(|&axis| side[axis] < shape[axis]);
            let open = open.filter(|&axis| byte_count(element, &longer(axis)) <= target);
            let Some(axis) = open.max_by(|&a, &b| lack(a).total_cmp(&lack(b)).then(a.cmp(&b)))
            else {
                return side;
            };
            side = longer(axis);
        }
    }

    fn read_boxes(
        &self,
        sample: &mut Sample,
        (side, count): (&[u64], u64),
        (cell, is_variable): (usize, bool),
        told: &dyn Fn(u64, u64),
    ) -> Result<()> {
        let metadata = self.array.metadata();
        let (shape, fill) = (&metadata.shape, metadata.fill_bytes());
        let counts: Vec<u64> = shape.iter().zip(side).map(|(&len, &n)| len.div_ceil(n)).collect();
        let places = counts.iter().fold(1u64, |all, &count| all.saturating_mul(count));
        let strata = count.min(places);
        let mut random = Random::new(self.seed);
        // Only the first place of each part is without a bias: others are tried where that one was empty.
        let mut present = 0u64;
        for stratum in 0..strata {
            let (from, to) = (
                stratum_start(places, strata, stratum),
                stratum_start(places, strata, stratum + 1),
            );
            for attempt in 0..TRIES.min(to - from) {
                let place = from + random.below(to - from);
                let one = self.read_box(&box_at(place, &counts, side, shape), cell, is_variable)?;
                if is_variable || !one.view().is_all(&fill) {
                    present += u64::from(attempt == 0);
                    sample.boxes.push(one);
                    break;
                }
            }
            told(stratum + 1, strata);
        }
        // Half of one place stands for what was found at others only.
        sample.present = (present as f64).max(0.5) / strata.max(1) as f64;
        Ok(())
    }

    fn read_box(&self, region: &Region, cell: usize, is_variable: bool) -> Result<SampleBox> {
        let cancel = self.cancel.cloned();
        let array = self.array.with_options(|options| {
            options.cancel = cancel.or(options.cancel.take());
        });
        let bytes = array.read_bytes(region.clone())?;
        let start = region.intervals().iter().map(|range| range.start).collect();
        let mut one =
            SampleBox { start, shape: region.shape(), memory: bytes, cell, var_buffer: None };
        if is_variable {
            let (memory, var_buffer) = references(std::mem::take(&mut one.memory))?;
            one.memory = memory;
            one.var_buffer = Some(var_buffer);
        }
        Ok(one)
    }
}

/// The first of the places of a stratum.
fn stratum_start(places: u64, strata: u64, stratum: u64) -> u64 {
    (u128::from(places) * u128::from(stratum) / u128::from(strata)) as u64
}

/// The box of this number in C order.
fn box_at(mut place: u64, counts: &[u64], side: &[u64], shape: &[u64]) -> Region {
    let mut ranges = vec![0..0; counts.len()];
    for axis in (0..counts.len()).rev() {
        let start = place % counts[axis] * side[axis];
        place /= counts[axis];
        ranges[axis] = start..(start + side[axis]).min(shape[axis]);
    }
    Region::new(ranges)
}

/// The references of variable-length elements that were read one behind the other, each behind its length.
fn references(bytes: Vec<u8>) -> Result<(Vec<u8>, VarBuffer), CodecError> {
    let lengths: Vec<(u64, u64)> = {
        let mut at = 0;
        VarStream::new(&bytes)
            .map(|element| {
                let start = at + 4;
                at = start + element.len() as u64;
                (start, element.len() as u64)
            })
            .collect()
    };
    let var_buffer = VarBuffer::default();
    let buffer = var_buffer.add(Bytes::from(bytes))?;
    let mut memory = Vec::with_capacity(lengths.len() * 16);
    for (start, len) in lengths {
        memory.extend_from_slice(buffer.reference(start, len)?.as_bytes());
    }
    Ok((memory, var_buffer))
}

/// Bytes of the elements of a box of variable-length ones, with the four that say how long each is.
fn variable_bytes(one: &SampleBox) -> u64 {
    let Some(var_buffer) = &one.var_buffer else { return 0 };
    let elements = var_buffer.elements();
    one.memory.chunks_exact(one.cell).map(|cell| elements.get(cell).len() as u64 + 4).sum()
}

/// The pieces that boxes are cut into: chunks of one shape.
pub(super) struct Pieces<'a> {
    sample: &'a Sample,
    /// The shape of a piece; shorter than the chunk where boxes are.
    pub shape: Vec<u64>,
    /// How many pieces all boxes up to each one have.
    ends: Vec<u64>,
    /// How many pieces each box has along each axis.
    counts: Vec<Vec<u64>>,
}

/// A piece: the elements of a box that are in one chunk. At the end of the array they are fewer than the chunk has.
pub(super) struct Piece<'a> {
    pub elements: View<'a>,
    pub var_buffer: Option<&'a VarBuffer>,
}

impl Sample {
    /// Cuts the boxes into chunks of a shape. Pieces that are cut off by the end of a box, and not by that of the array, are left
    /// out.
    pub fn pieces(&self, chunks: &[u64]) -> Pieces<'_> {
        // A chunk that reaches beyond the array is padded; one that reaches beyond a box is cut.
        let sides = (0..chunks.len()).map(|axis| {
            if self.is_whole {
                chunks[axis]
            } else {
                let shortest = self.boxes.iter().map(|one| one.shape[axis]).min().unwrap_or(1);
                chunks[axis].min(self.longest(axis)).max(shortest.min(chunks[axis]))
            }
        });
        let shape: Vec<u64> = sides.collect();
        let mut counts = Vec::with_capacity(self.boxes.len());
        let mut ends = Vec::with_capacity(self.boxes.len());
        let mut all = 0u64;
        for one in &self.boxes {
            let of_box: Vec<u64> = (0..shape.len())
                .map(|axis| {
                    let is_end = one.start[axis] + one.shape[axis] == self.array_shape[axis];
                    let (len, side) = (one.shape[axis], shape[axis].max(1));
                    if is_end { len.div_ceil(side) } else { len / side }
                })
                .collect();
            all = all.saturating_add(of_box.iter().fold(1, |all: u64, &n| all.saturating_mul(n)));
            ends.push(all);
            counts.push(of_box);
        }
        Pieces { sample: self, shape, ends, counts }
    }

    fn longest(&self, axis: usize) -> u64 {
        self.boxes.iter().map(|one| one.shape[axis]).max().unwrap_or(1)
    }
}

impl<'a> Pieces<'a> {
    /// How many there are.
    pub fn len(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// The piece of a number below [`Pieces::len`].
    pub fn piece(&self, number: u64) -> Piece<'a> {
        let at = self.ends.partition_point(|&end| end <= number);
        let before = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        let one = &self.sample.boxes[at];
        let region = box_at(number - before, &self.counts[at], &self.shape, &one.shape);
        Piece { elements: one.view().part(&region), var_buffer: one.var_buffer() }
    }

    /// The numbers of all pieces, in an order in which any beginning is spread evenly over the array.
    pub fn order(&self, seed: u64) -> impl Iterator<Item = u64> + use<> {
        let count = self.len();
        let offset = if count == 0 { 0 } else { Random::new(seed).below(count) };
        // Steps of the golden ratio are as even as can be; without a common divisor each number comes once.
        let mut step = ((count as f64 * 0.618_033_988_749_895) as u64).max(1);
        while count > 1 && common_divisor(step, count) != 1 {
            step += 1;
        }
        (0..count).map(move |n| {
            ((u128::from(offset) + u128::from(n) * u128::from(step)) % u128::from(count)) as u64
        })
    }
}

fn common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(shape: &[u64], boxes: &[(&[u64], &[u64])]) -> Sample {
        let one = |(start, shape): &(&[u64], &[u64])| SampleBox {
            start: start.to_vec(),
            shape: shape.to_vec(),
            memory: vec![1; shape.iter().product::<u64>() as usize],
            cell: 1,
            var_buffer: None,
        };
        Sample {
            boxes: boxes.iter().map(one).collect(),
            is_whole: boxes.len() == 1 && boxes[0].1 == shape,
            present: 1.0,
            element_bytes: 1.0,
            bytes: 0,
            array_shape: shape.to_vec(),
        }
    }

    #[test]
    fn a_whole_array_has_all_its_chunks() {
        let sample = sample(&[10, 7], &[(&[0, 0], &[10, 7])]);
        let pieces = sample.pieces(&[4, 4]);
        assert_eq!((pieces.len(), &pieces.shape[..]), (6, &[4, 4][..]));
        let shapes: Vec<_> = (0..6).map(|n| pieces.piece(n).elements.shape()).collect();
        assert_eq!(shapes, [[4, 4], [4, 3], [4, 4], [4, 3], [2, 4], [2, 3]]);
        let mut order: Vec<u64> = pieces.order(3).collect();
        order.sort_unstable();
        assert_eq!(order, [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn boxes_are_cut_into_whole_pieces() {
        // The second box is at the end of the array along both axes.
        let sample = sample(&[100, 50], &[(&[0, 0], &[10, 10]), (&[95, 45], &[5, 5])]);
        let pieces = sample.pieces(&[4, 4]);
        assert_eq!(pieces.len(), 4 + 4);
        assert_eq!(pieces.piece(7).elements.shape(), [1, 1]);
        // A chunk that is longer than the boxes.
        assert_eq!(sample.pieces(&[64, 2]).shape, [10, 2]);
    }

    #[test]
    fn orders_are_spread_and_without_repeats() {
        for count in [1u64, 2, 3, 16, 97, 1000] {
            let sample = sample(&[count], &[(&[0], &[count])]);
            let order: Vec<u64> = sample.pieces(&[1]).order(1).collect();
            let all: std::collections::BTreeSet<u64> = order.iter().copied().collect();
            assert_eq!(all.len() as u64, count);
        }
        let sample = sample(&[1000], &[(&[0], &[1000])]);
        let first: Vec<u64> = sample.pieces(&[1]).order(1).take(10).collect();
        for tenth in 0..5 {
            assert!(first.iter().any(|n| n / 200 == tenth), "{first:?}");
        }
    }
}
