//! Divides one axis into groups of target objects, and tells which source chunks each takes.

use std::ops::Range;
use std::sync::Arc;

use zarr_core::Region;
use zarr_core::grid::ChunkGrid;

/// At most this many groups are looked at to compute an average.
const SAMPLED: u64 = 256;

/// One axis of a grid.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    pub grid: Arc<dyn ChunkGrid>,
    pub axis: usize,
    /// Where the coordinates begin in the grid's array.
    pub start: u64,
    /// How many coordinates there are.
    pub len: u64,
}

impl Axis {
    /// The axes of a grid, for a region of this shape that begins at `start`.
    pub fn all(grid: &Arc<dyn ChunkGrid>, start: &[u64], shape: &[u64]) -> Vec<Axis> {
        start
            .iter()
            .zip(shape)
            .enumerate()
            .map(|(axis, (&start, &len))| Axis { grid: grid.clone(), axis, start, len })
            .collect()
    }

    /// How many chunks, from the grid's first on.
    pub fn count(&self) -> u64 {
        self.grid.count(self.axis, self.start.saturating_add(self.len))
    }

    /// The coordinates of the chunks with these ordinals, as far as there are such.
    pub fn coordinates(&self, ordinals: &Range<u64>) -> Range<u64> {
        if ordinals.is_empty() {
            return 0..0;
        }
        let last = self.grid.span(self.axis, ordinals.end - 1);
        let here = |at: u64| at.saturating_sub(self.start).min(self.len);
        let start = self.grid.span(self.axis, ordinals.start).start;
        here(start)..here(last.start.saturating_add(last.len))
    }

    /// The ordinals of the chunks that have some of these coordinates.
    pub fn ordinals(&self, coordinates: &Range<u64>) -> Range<u64> {
        if coordinates.is_empty() {
            return 0..0;
        }
        let locate = |at: u64| self.grid.locate(self.axis, self.start + at);
        locate(coordinates.start)..locate(coordinates.end - 1) + 1
    }

    /// The most coordinates that a chunk has.
    pub fn longest(&self) -> u64 {
        let stored = self.grid.stored_lengths(self.axis).into_iter().max().unwrap_or(1);
        stored.clamp(1, self.len.max(1))
    }

    /// The most elements that a chunk stores along the axis.
    pub fn stored(&self) -> u64 {
        self.grid.stored_lengths(self.axis).into_iter().max().unwrap_or(1).max(1)
    }

    /// The most coordinates that `count` neighbouring chunks have.
    pub fn run(&self, count: u64) -> u64 {
        self.longest().saturating_mul(count).min(self.len.max(1))
    }

    /// The ordinals of a group of `size` chunks.
    pub fn group(&self, size: u64, group: u64) -> Range<u64> {
        let start = group.saturating_mul(size);
        start..start.saturating_add(size).min(self.count())
    }

    /// How many times as many coordinates the chunks of `other` have that groups of `size` chunks touch, as the groups
    /// themselves.
    pub fn expansion(&self, size: u64, other: &Axis) -> f64 {
        let groups = self.count().div_ceil(size.max(1));
        let sampled = groups.min(SAMPLED);
        let (mut own, mut touched) = (0u128, 0u128);
        for sample in 0..sampled {
            let at = (u128::from(sample) * u128::from(groups) / u128::from(sampled)) as u64;
            let coordinates = self.coordinates(&self.group(size, at));
            let cover = other.coordinates(&other.ordinals(&coordinates));
            own += u128::from(coordinates.end - coordinates.start);
            touched += u128::from(cover.end - cover.start);
        }
        if own == 0 { 1.0 } else { touched as f64 / own as f64 }
    }

    /// Numbers of neighbouring chunks that are worth a look: powers of two, and those that end where chunks of
    /// `other` do.
    pub fn sizes(&self, other: &Axis) -> Vec<u64> {
        let count = self.count().max(1);
        let (own, others) = (self.longest(), other.longest());
        let together = others / gcd(own, others);
        let mut sizes = vec![count];
        for base in [1, together, others.div_ceil(own)] {
            let mut size = base.max(1);
            while size < count {
                sizes.push(size);
                size = size.saturating_mul(2);
            }
        }
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }
}

/// The greatest common divisor, at least 1.
pub(in crate::copy) fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a.max(1) } else { gcd(b, a % b) }
}

/// The coordinates of the chunks with these ordinals along each axis.
pub(super) fn region_of(axes: &[Axis], ordinals: &[Range<u64>]) -> Region {
    Region::new(axes.iter().zip(ordinals).map(|(axis, ordinals)| axis.coordinates(ordinals)))
}

/// The ordinals, along each axis, of the chunks that touch a region.
pub(super) fn ordinals_of(axes: &[Axis], region: &Region) -> Vec<Range<u64>> {
    axes.iter().zip(region.intervals()).map(|(axis, range)| axis.ordinals(range)).collect()
}

/// The part of both regions.
pub(super) fn common(one: &Region, other: &Region) -> Region {
    let pairs = one.intervals().iter().zip(other.intervals());
    Region::new(pairs.map(|(a, b)| a.start.max(b.start)..a.end.min(b.end)))
}

/// A region inside another, counted from that one's first element.
pub(super) fn inside(region: &Region, outer: &Region) -> Region {
    let pairs = region.intervals().iter().zip(outer.intervals());
    Region::new(pairs.map(|(a, b)| a.start - b.start..a.end - b.start))
}

/// Boxes of at most `size` ordinals along each axis, in C order; each begins at a multiple of `size`.
#[derive(Clone, Debug)]
pub(super) struct Boxes {
    size: Vec<u64>,
    all: Vec<Range<u64>>,
    next: Option<Vec<u64>>,
}

impl Boxes {
    pub fn new(all: Vec<Range<u64>>, size: &[u64]) -> Boxes {
        let next =
            (!all.iter().any(Range::is_empty)).then(|| all.iter().map(|r| r.start).collect());
        Boxes { size: size.to_vec(), all, next }
    }

    /// Which box of the whole axes, in units of `size`, the one at these ordinals is.
    pub fn index(&self, ordinals: &[Range<u64>]) -> Vec<u64> {
        ordinals.iter().zip(&self.size).map(|(range, size)| range.start / size).collect()
    }
}

impl Iterator for Boxes {
    type Item = Vec<Range<u64>>;

    fn next(&mut self) -> Option<Vec<Range<u64>>> {
        let start = self.next.take()?;
        let found: Vec<Range<u64>> = (0..start.len())
            .map(|axis| {
                let size = self.size[axis];
                let end = (start[axis] / size).saturating_add(1).saturating_mul(size);
                start[axis]..end.min(self.all[axis].end)
            })
            .collect();
        let mut following = start.clone();
        for axis in (0..start.len()).rev() {
            following[axis] = found[axis].end;
            if following[axis] < self.all[axis].end {
                self.next = Some(following);
                break;
            }
            following[axis] = self.all[axis].start;
        }
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zarr_core::grid::RegularGrid;

    fn axis(len: u64, chunk: u64) -> Axis {
        let grid: Arc<dyn ChunkGrid> = Arc::new(RegularGrid::new(&[chunk], &[len]).unwrap());
        Axis { grid, axis: 0, start: 0, len }
    }

    #[test]
    fn groups_that_end_where_chunks_end_touch_no_others() {
        let (from, to) = (axis(1200, 30), axis(1200, 20));
        assert_eq!(to.expansion(3, &from), 1.0);
        // Two groups of three: 0..20 takes 0..30, 20..40 takes 0..60, 40..60 takes 30..60.
        assert_eq!(to.expansion(1, &from), 2.0);
        assert!(to.sizes(&from).contains(&3));
        assert_eq!(axis(1000, 1000).expansion(1, &axis(1000, 1)), 1.0);
        assert_eq!(axis(1000, 1).expansion(1, &axis(1000, 1000)), 1000.0);
    }

    #[test]
    fn boxes_begin_at_multiples_of_their_size() {
        let boxes: Vec<_> = Boxes::new(vec![1..5, 0..2], &[2, 2]).collect();
        assert_eq!(boxes, [[1..2, 0..2], [2..4, 0..2], [4..5, 0..2]]);
        assert_eq!(Boxes::new(vec![], &[]).count(), 1);
        assert_eq!(Boxes::new(vec![0..1, 0..0], &[1, 1]).count(), 0);
        let boxes = Boxes::new(vec![0..9, 0..1], &[4, 1]);
        assert_eq!(
            boxes.clone().map(|found| boxes.index(&found)).collect::<Vec<_>>(),
            [[0, 0], [1, 0], [2, 0]]
        );
    }
}
