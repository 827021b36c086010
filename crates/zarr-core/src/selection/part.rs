//! Describes which elements of a box are touched, and in which order.

use std::ops::Range;

use crate::region::{ByAxis, Region, product};

/// Coordinates along one axis, in any order, any of them perhaps more than once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AxisIndices {
    /// `len` of them, from `start` on, each `step` further than the one before.
    Steps {
        start: u64,
        step: i64,
        len: u64,
    },
    List(Vec<u64>),
}

impl AxisIndices {
    /// Neighbours, in order.
    pub fn range(start: u64, len: u64) -> AxisIndices {
        AxisIndices::Steps { start, step: 1, len }
    }

    /// Those of an interval, in order.
    pub fn of(interval: &Range<u64>) -> AxisIndices {
        AxisIndices::range(interval.start, interval.end - interval.start)
    }

    /// A list; steps, if it is nothing else.
    pub fn list(list: Vec<u64>) -> AxisIndices {
        let start = list.first().copied().unwrap_or(0);
        let len = list.len() as u64;
        let step = match list[..] {
            [first, second, ..] => i64::try_from(i128::from(second) - i128::from(first)).ok(),
            _ => Some(1),
        };
        let steps =
            step.filter(|&step| step != 0).map(|step| AxisIndices::Steps { start, step, len });
        match steps {
            Some(steps) if (0..len).all(|n| steps.at(n) == list[n as usize]) => steps,
            _ => AxisIndices::List(list),
        }
    }

    pub fn len(&self) -> u64 {
        match self {
            AxisIndices::Steps { len, .. } => *len,
            AxisIndices::List(list) => list.len() as u64,
        }
    }

    /// The coordinate at a position, which there is.
    pub fn at(&self, position: u64) -> u64 {
        match self {
            // Coordinates inside an axis are right modulo 2^64.
            AxisIndices::Steps { start, step, .. } => {
                start.wrapping_add((*step as u64).wrapping_mul(position))
            }
            AxisIndices::List(list) => list[position as usize],
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = u64> + Clone + '_ {
        (0..self.len()).map(|position| self.at(position))
    }

    /// The least interval that holds them.
    fn bounds(&self) -> Range<u64> {
        match self {
            AxisIndices::Steps { len: 0, .. } => 0..0,
            AxisIndices::Steps { len, .. } => bounds(&[self.at(0), self.at(len - 1)]),
            AxisIndices::List(list) => bounds(list),
        }
    }

    /// The interval that they are, in order, if they are one.
    pub fn as_range(&self) -> Option<Range<u64>> {
        match self {
            AxisIndices::Steps { start, step, len } if *step == 1 || *len <= 1 => {
                Some(*start..start.saturating_add(*len))
            }
            _ => None,
        }
    }

    /// Whether they are all of `count` neighbours, among which all of them are.
    pub fn cover(&self, count: u64) -> bool {
        match self {
            AxisIndices::Steps { step, len, .. } => {
                *len == count && (step.unsigned_abs() == 1 || *len <= 1)
            }
            AxisIndices::List(list) => {
                list.len() as u64 >= count && distinct(list.clone()) == count
            }
        }
    }

    fn moved(&self, to: impl Fn(u64) -> u64) -> AxisIndices {
        match self {
            AxisIndices::Steps { start, step, len } => {
                AxisIndices::Steps { start: to(*start), step: *step, len: *len }
            }
            AxisIndices::List(list) => AxisIndices::List(list.iter().map(|&at| to(at)).collect()),
        }
    }
}

/// The least interval that holds numbers.
fn bounds(numbers: &[u64]) -> Range<u64> {
    let ends = numbers.iter().min().zip(numbers.iter().max());
    ends.map_or(0..0, |(&least, &most)| least..most.saturating_add(1))
}

/// How many different numbers there are.
pub(crate) fn distinct(mut numbers: Vec<u64>) -> u64 {
    numbers.sort_unstable();
    numbers.dedup();
    numbers.len() as u64
}

/// The elements of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Elements {
    /// All of a box.
    Region(Region),
    /// Along each axis these.
    Outer(Vec<AxisIndices>),
    /// `count` single ones: along each axis a list of their coordinates.
    Points { coordinates: Vec<Vec<u64>>, count: u64 },
}

/// Elements of a chunk, or of memory, in the order of the selection.
///
/// A part that is a box has the box's axes. One that is scattered along its axes has as many elements along each as are
/// selected there. One of single elements has one axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedSelection(Elements);

impl ResolvedSelection {
    /// Along each axis these; a box, if they are one.
    pub(crate) fn outer(mut picks: impl Iterator<Item = AxisIndices>) -> ResolvedSelection {
        let mut intervals = ByAxis::<Range<u64>>::new();
        while let Some(along) = picks.next() {
            match along.as_range() {
                Some(interval) => intervals.push(interval),
                None => {
                    let before = intervals.iter().map(AxisIndices::of);
                    let all = before.chain([along]).chain(picks).collect();
                    return ResolvedSelection(Elements::Outer(all));
                }
            }
        }
        ResolvedSelection(Elements::Region(Region::of(intervals)))
    }

    /// `count` single elements: along each axis a list of their coordinates.
    pub(crate) fn points(coordinates: Vec<Vec<u64>>, count: u64) -> ResolvedSelection {
        ResolvedSelection(Elements::Points { coordinates, count })
    }

    /// Whether it is all of a box of this shape, in C order.
    pub fn is_all(&self, shape: &[u64]) -> bool {
        self.as_region().is_some_and(|region| region.is_all(shape))
    }

    /// All of a box of this shape.
    pub fn all(shape: &[u64]) -> ResolvedSelection {
        ResolvedSelection(Elements::Region(Region::all(shape)))
    }

    pub(crate) fn elements(&self) -> &Elements {
        &self.0
    }

    /// The coordinates along each axis; none of single elements.
    pub(crate) fn by_axis(&self) -> impl Iterator<Item = AxisIndices> {
        let (intervals, picks) = match &self.0 {
            Elements::Region(region) => (region.intervals(), &[][..]),
            Elements::Outer(picks) => (&[][..], &picks[..]),
            Elements::Points { .. } => Default::default(),
        };
        intervals.iter().map(AxisIndices::of).chain(picks.iter().cloned())
    }

    /// The box that it is, if it is one, in C order.
    pub fn as_region(&self) -> Option<&Region> {
        match &self.0 {
            Elements::Region(region) => Some(region),
            _ => None,
        }
    }

    /// How many axes what it is a part of has.
    pub fn rank(&self) -> usize {
        match &self.0 {
            Elements::Region(region) => region.rank(),
            Elements::Outer(picks) => picks.len(),
            Elements::Points { coordinates, .. } => coordinates.len(),
        }
    }

    /// Its shape, which is that of memory for its elements.
    pub fn shape(&self) -> Vec<u64> {
        self.lengths().to_vec()
    }

    /// The same, on the stack for few axes.
    pub(crate) fn lengths(&self) -> ByAxis<u64> {
        match &self.0 {
            Elements::Region(region) => region.lengths(),
            Elements::Outer(picks) => picks.iter().map(AxisIndices::len).collect(),
            Elements::Points { count, .. } => [*count].into_iter().collect(),
        }
    }

    /// How many elements; `None` if that is more than 64 bits can count.
    pub fn element_count(&self) -> Option<u64> {
        match &self.0 {
            Elements::Region(region) => region.element_count(),
            Elements::Outer(picks) => product(picks.iter().map(AxisIndices::len)),
            Elements::Points { count, .. } => Some(*count),
        }
    }

    /// Whether there is no element in it.
    pub fn is_empty(&self) -> bool {
        self.element_count() == Some(0)
    }

    /// The least box that holds its elements.
    pub fn bounds(&self) -> Region {
        match &self.0 {
            Elements::Region(region) => region.clone(),
            Elements::Outer(picks) => Region::new(picks.iter().map(AxisIndices::bounds)),
            Elements::Points { coordinates, .. } => {
                Region::new(coordinates.iter().map(|list| bounds(list)))
            }
        }
    }

    /// The same elements, seen with axis `i` being what axis `order[i]` was.
    pub(crate) fn transposed(&self, order: &[usize]) -> ResolvedSelection {
        ResolvedSelection(match &self.0 {
            Elements::Region(region) => {
                Elements::Region(Region::new(order.iter().map(|&a| region.intervals()[a].clone())))
            }
            Elements::Outer(picks) => {
                Elements::Outer(order.iter().map(|&a| picks[a].clone()).collect())
            }
            Elements::Points { coordinates, count } => Elements::Points {
                coordinates: order.iter().map(|&a| coordinates[a].clone()).collect(),
                count: *count,
            },
        })
    }

    /// Whether its own axes are those of what it is a part of.
    pub(crate) fn has_axes(&self) -> bool {
        !matches!(self.0, Elements::Points { .. })
    }

    /// The same elements, each coordinate moved by the same way along its axis.
    pub(crate) fn moved(&self, to: impl Fn(usize, u64) -> u64) -> ResolvedSelection {
        ResolvedSelection(match &self.0 {
            Elements::Region(region) => {
                let moved = region.intervals().iter().enumerate();
                let moved = moved.map(|(axis, r)| to(axis, r.start)..to(axis, r.end));
                Elements::Region(Region::new(moved))
            }
            Elements::Outer(picks) => {
                let moved = picks.iter().enumerate();
                Elements::Outer(moved.map(|(axis, picks)| picks.moved(|at| to(axis, at))).collect())
            }
            Elements::Points { coordinates, count } => {
                let moved = coordinates
                    .iter()
                    .enumerate()
                    .map(|(axis, list)| list.iter().map(|&at| to(axis, at)).collect());
                Elements::Points { coordinates: moved.collect(), count: *count }
            }
        })
    }
}

impl From<Region> for ResolvedSelection {
    fn from(region: Region) -> ResolvedSelection {
        ResolvedSelection(Elements::Region(region))
    }
}
impl From<&Region> for ResolvedSelection {
    fn from(region: &Region) -> ResolvedSelection {
        region.clone().into()
    }
}
impl From<&ResolvedSelection> for ResolvedSelection {
    fn from(part: &ResolvedSelection) -> ResolvedSelection {
        part.clone()
    }
}
