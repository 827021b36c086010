//! Finds the chunks of a sample by arithmetic: those between them cost nothing.

use std::sync::Arc;

use zarr_core::grid::ChunkGrid;
use zarr_core::{AccessError, Region, Result};

use super::plan::Along;

/// More chunks are not read.
const MAX_SAMPLED_CHUNKS: u64 = 1 << 30;

/// A part of the chunks that a selection touches: one out of each row of as many, always the same ones.
pub(super) struct Sample<'a> {
    axes: &'a [Along],
    grid: &'a Arc<dyn ChunkGrid>,
    touched: Vec<Touched>,
    one_of: u64,
    /// How many chunks there are.
    all: u64,
}

/// The chunks that are touched along an axis, by number.
enum Touched {
    /// All between two ordinals, from the first selected coordinate on.
    Between { first: u64, last: u64 },
    /// Another one with each position.
    Each(u64),
    /// Those whose positions begin here.
    Starts(Vec<u64>),
}

impl<'a> Sample<'a> {
    /// One of `one_of` chunks that the selection touches.
    pub fn new(axes: &'a [Along], grid: &'a Arc<dyn ChunkGrid>, one_of: u64) -> Result<Sample<'a>> {
        let touched: Result<Vec<Touched>> =
            axes.iter().enumerate().map(|(axis, along)| Touched::of(along, axis, grid)).collect();
        let touched = touched?;
        let all = touched.iter().map(Touched::count).fold(1, u64::saturating_mul);
        let sample = Sample { axes, grid, touched, one_of: one_of.max(1), all };
        if sample.rows() > MAX_SAMPLED_CHUNKS || all == u64::MAX {
            return Err(too_many(sample.rows()));
        }
        Ok(sample)
    }

    /// How many chunks are in the sample.
    fn rows(&self) -> u64 {
        self.all.div_ceil(self.one_of)
    }

    /// The selected part of each chunk in the sample, in C order of the chunks.
    pub fn places(self) -> impl Iterator<Item = Region> + Send + 'a {
        (0..self.rows()).map(move |row| {
            let first = row * self.one_of;
            let len = self.one_of.min(self.all - first);
            // Another place in each row, so that what repeats along an axis is not met always or never.
            let within = row.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
            self.place(first + within % len)
        })
    }

    /// The part of the chunk of this number.
    fn place(&self, mut number: u64) -> Region {
        let mut intervals = vec![0..0; self.axes.len()];
        for (axis, touched) in self.touched.iter().enumerate().rev() {
            let count = touched.count().max(1);
            let (n, along) = (number % count, &self.axes[axis]);
            number /= count;
            let at = |n: u64| match touched {
                _ if n >= count => along.len(),
                Touched::Each(_) => n,
                Touched::Starts(starts) => starts[n as usize],
                Touched::Between { first, last } => self.position(axis, *first, *last, n),
            };
            intervals[axis] = at(n)..at(n + 1);
        }
        Region::new(intervals)
    }

    /// The first position in the `n`-th chunk from one ordinal towards another.
    fn position(&self, axis: usize, first: u64, last: u64, n: u64) -> u64 {
        let Along::Steps { start, step, .. } = self.axes[axis] else { return 0 };
        if n == 0 {
            return 0;
        }
        let way = if first <= last {
            self.grid.span(axis, first + n).start - start
        } else {
            let span = self.grid.span(axis, first - n);
            start - (span.start + span.len - 1)
        };
        way.div_ceil(step.unsigned_abs().max(1))
    }
}

impl Touched {
    fn of(along: &Along, axis: usize, grid: &Arc<dyn ChunkGrid>) -> Result<Touched> {
        if along.is_empty() {
            return Ok(Touched::Each(0));
        }
        let len = along.len();
        let ordinal = |position: u64| grid.locate(axis, along.at(position));
        if let Along::Steps { step, .. } = along {
            let regular = grid.chunk_shape().map(|shape| shape[axis]);
            let step = step.unsigned_abs();
            if step == 1 || regular.is_some_and(|chunk| (1..=chunk).contains(&step)) {
                return Ok(Touched::Between { first: ordinal(0), last: ordinal(len - 1) });
            }
            if regular.is_some_and(|chunk| step > chunk) {
                return Ok(Touched::Each(len));
            }
        }
        if len > MAX_SAMPLED_CHUNKS {
            return Err(too_many(len));
        }
        let starts = (0..len).filter(|&at| at == 0 || ordinal(at) != ordinal(at - 1));
        Ok(Touched::Starts(starts.collect()))
    }

    fn count(&self) -> u64 {
        match self {
            Touched::Between { first, last } => first.abs_diff(*last).saturating_add(1),
            Touched::Each(len) => *len,
            Touched::Starts(starts) => starts.len() as u64,
        }
    }
}

fn too_many(chunks: u64) -> zarr_core::Error {
    let why = format!("{chunks} chunks are too many to try each; select fewer");
    AccessError::Argument(why).into()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use zarr_core::grid::{ChunkExtent, RectilinearGrid, RegularGrid};
    use zarr_core::{CoreType, Dialect, Hierarchy, Json, Object, OpenOptions, Registry};

    use super::*;
    use crate::stats::plan::Plan;

    /// A regular grid that counts what it is asked.
    #[derive(Debug)]
    struct Counted(RegularGrid, AtomicU64);

    impl ChunkGrid for Counted {
        fn rank(&self) -> usize {
            self.0.rank()
        }

        fn count(&self, axis: usize, len: u64) -> u64 {
            self.0.count(axis, len)
        }

        fn span(&self, axis: usize, ordinal: u64) -> ChunkExtent {
            self.1.fetch_add(1, Ordering::Relaxed);
            self.0.span(axis, ordinal)
        }

        fn locate(&self, axis: usize, coordinate: u64) -> u64 {
            self.1.fetch_add(1, Ordering::Relaxed);
            self.0.locate(axis, coordinate)
        }

        fn chunk_shape(&self) -> Option<Vec<u64>> {
            self.0.chunk_shape()
        }

        fn to_metadata(&self, _: Dialect) -> Option<Json> {
            None
        }
    }

    #[test]
    fn chunks_between_those_of_a_sample_are_not_looked_at() {
        for shape in [vec![10_000_000_000], vec![100_000, 100_000, 10]] {
            let chunks: Vec<u64> = shape.iter().map(|_| 10).collect();
            let regular = RegularGrid::new(&chunks, &shape).unwrap();
            let count = if shape.len() == 1 { 1_000_000_000 } else { 100_000_000 };
            let counted = Arc::new(Counted(regular, AtomicU64::new(0)));
            let grid: Arc<dyn ChunkGrid> = counted.clone();
            let axes: Vec<Along> = shape.iter().map(|&len| Along::range(0..len)).collect();
            let sample = Sample::new(&axes, &grid, 1_000_000).unwrap();
            assert_eq!(sample.all, count);
            let places: Vec<Region> = sample.places().collect();
            assert_eq!(places.len() as u64, count / 1_000_000);
            let (size, whole) = (|place: &Region| place.element_count().unwrap(), chunks.iter());
            assert!(places.iter().all(|place| size(place) == whole.clone().product::<u64>()));
            let calls = counted.1.load(Ordering::Relaxed);
            assert!(calls < 20_000, "{calls} calls for {} chunks", places.len());
        }
    }

    #[test]
    fn numbers_of_chunks_are_those_of_a_walk() {
        let registry = Registry::new().with(zarr_codecs::register).with(zarr_stores::register);
        let options = OpenOptions::new(Arc::new(registry)).read_write();
        let hierarchy =
            Hierarchy::open_or_create("memory://sample", Dialect::V3, &options).unwrap();
        hierarchy.create_group("/", Object::new()).unwrap();
        let shape = [23, 9];
        let regular = RegularGrid::new(&[4, 2], &shape).unwrap();
        let edges = [&[1_u64, 6, 2, 3, 9, 2][..], &[5, 1, 3]];
        let edges = edges.map(|axis| axis.iter().map(|&len| Json::from(len)).collect());
        let uneven = RectilinearGrid::new(&edges, &shape).unwrap();
        let grids: [Arc<dyn ChunkGrid>; 2] = [Arc::new(regular), Arc::new(uneven)];
        let steps = |start, step, len| Along::Steps { start, step, len };
        let mut seen = 0;
        for (n, grid) in grids.iter().enumerate() {
            let create = hierarchy.create_array(format!("a{n}").as_str()).shape(&shape);
            let array = create.data_type(CoreType::Int8).grid(grid.clone()).create().unwrap();
            let mut firsts = vec![Along::List(vec![3, 4, 4, 22, 5, 0]), Along::List(vec![])];
            for step in [-9_i64, -5, -4, -3, -1, 1, 2, 4, 5, 7] {
                for start in 0..23 {
                    let room = if step > 0 { 22 - start } else { start };
                    for len in 0..=room / step.unsigned_abs() + 1 {
                        firsts.push(steps(start, step, len));
                    }
                }
            }
            for first in firsts {
                for second in [steps(1, 1, 7), steps(8, -3, 3)] {
                    let axes = vec![first.clone(), second];
                    let walked: Vec<Region> =
                        Plan::new(&array, Some(axes.clone())).unwrap().parts().unwrap().collect();
                    let found = Sample::new(&axes, grid, 1).unwrap().places();
                    assert_eq!(found.collect::<Vec<_>>(), walked, "{axes:?} {grid:?}");
                    seen += walked.len();
                }
            }
        }
        assert!(seen > 10_000, "{seen}");
    }
}
