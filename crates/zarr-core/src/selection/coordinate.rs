//! Defines what callers write for coordinates: integers of any type, of which those below 0 count from an axis' end.

use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use super::AxisSelection;
use crate::error::AccessError;

/// An integer that stands for a coordinate: below 0 it counts from the axis' end, -1 is the last one.
///
/// For all of Rust's integers but those of 128 bits.
pub trait Coordinate: Copy + sealed::Sealed {
    /// Its value.
    fn value(self) -> i128;
}

/// A range of coordinates: `2..5`, `..=-2`, `..`.
pub trait AxisRange: sealed::Sealed {
    /// Every `step`th coordinate of the range.
    fn with_step(self, step: i64) -> AxisSelection;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! coordinates {
    ($($integer:ty)*) => {$(
        impl sealed::Sealed for $integer {}
        impl Coordinate for $integer {
            fn value(self) -> i128 {
                self as i128
            }
        }
        impl From<$integer> for AxisSelection {
            fn from(coordinate: $integer) -> AxisSelection {
                match Position::new(coordinate) {
                    Position::FromStart(index) => AxisSelection::Index(index),
                    from_end => AxisSelection::Relative(Relative(Parts::Index(from_end))),
                }
            }
        }
        impl From<$integer> for super::Selection {
            fn from(coordinate: $integer) -> super::Selection {
                super::Selection::outer([coordinate])
            }
        }
    )*};
}

coordinates! { u8 u16 u32 u64 usize i8 i16 i32 i64 isize }

macro_rules! ranges {
    ($({$($generic:tt)*} $Range:ty: $range:ident => $start:expr, $stop:expr;)*) => {$(
        impl<$($generic)*> sealed::Sealed for $Range {}
        impl<$($generic)*> AxisRange for $Range {
            fn with_step(self, step: i64) -> AxisSelection {
                let $range = self;
                between($start, $stop, step)
            }
        }
        impl<$($generic)*> From<$Range> for AxisSelection {
            fn from(range: $Range) -> AxisSelection {
                range.with_step(1)
            }
        }
    )*};
}

ranges! {
    {} RangeFull: _range => None, None;
    {C: Coordinate} Range<C>: range => Some(Position::new(range.start)), Some(Position::new(range.end));
    {C: Coordinate} RangeInclusive<C>: range => Some(Position::new(*range.start())), Some(Position::new(*range.end()).next());
    {C: Coordinate} RangeFrom<C>: range => Some(Position::new(range.start)), None;
    {C: Coordinate} RangeTo<C>: range => None, Some(Position::new(range.end));
    {C: Coordinate} RangeToInclusive<C>: range => None, Some(Position::new(range.end).next());
}

/// A coordinate of an axis of any length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    /// So many after the first.
    FromStart(u64),
    /// So many before the end.
    FromEnd(u64),
}

impl Position {
    fn new(coordinate: impl Coordinate) -> Position {
        let value = coordinate.value();
        // The integers have 64 bits at most.
        let distance = value.unsigned_abs() as u64;
        if value < 0 { Position::FromEnd(distance) } else { Position::FromStart(distance) }
    }

    /// The position after it.
    fn next(self) -> Position {
        match self {
            Position::FromStart(index) => Position::FromStart(index.saturating_add(1)),
            Position::FromEnd(distance) => Position::FromEnd(distance - 1),
        }
    }

    /// The coordinate on an axis of this length; `None` if it is before the first.
    fn on_axis(self, len: u64) -> Option<u64> {
        match self {
            Position::FromStart(index) => Some(index),
            Position::FromEnd(distance) => len.checked_sub(distance),
        }
    }

    /// The coordinate of one element on an axis of this length.
    fn index_on(self, axis: usize, len: u64) -> Result<u64, AccessError> {
        self.on_axis(len).ok_or_else(|| {
            AccessError::Argument(format!(
                "index {self} is out of bounds for axis {axis}, which has length {len}"
            ))
        })
    }

    fn index_from_start(self) -> Option<u64> {
        match self {
            Position::FromStart(index) => Some(index),
            Position::FromEnd(_) => None,
        }
    }
}

/// As a caller writes it, for messages.
impl std::fmt::Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Position::FromStart(index) => write!(f, "{index}"),
            Position::FromEnd(distance) => write!(f, "-{distance}"),
        }
    }
}

fn between(start: Option<Position>, stop: Option<Position>, step: i64) -> AxisSelection {
    if [start, stop].iter().any(|position| matches!(position, Some(Position::FromEnd(_)))) {
        return AxisSelection::Relative(Relative(Parts::Steps { start, stop, step }));
    }
    let (start, stop) =
        (start.and_then(Position::index_from_start), stop.and_then(Position::index_from_start));
    AxisSelection::Steps { start, stop, step }
}

/// These coordinates, in this order.
pub(super) fn list(coordinates: impl IntoIterator<Item: Coordinate>) -> AxisSelection {
    let mut rest = coordinates.into_iter().map(Position::new);
    let mut indices = Vec::with_capacity(rest.size_hint().0);
    while let Some(position) = rest.next() {
        match position {
            Position::FromStart(index) => indices.push(index),
            from_end => {
                let before = indices.into_iter().map(Position::FromStart);
                let positions = before.chain([from_end]).chain(rest).collect();
                return AxisSelection::Relative(Relative(Parts::List(positions)));
            }
        }
    }
    AxisSelection::List(indices)
}

/// A selection with coordinates that count from the axis' end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relative(Parts);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Parts {
    Index(Position),
    Steps { start: Option<Position>, stop: Option<Position>, step: i64 },
    List(Vec<Position>),
}

impl Relative {
    pub(super) fn is_index(&self) -> bool {
        matches!(self.0, Parts::Index(_))
    }

    /// The same selection on an axis of this length, with coordinates that count from its start.
    pub(super) fn on_axis(self, axis: usize, len: u64) -> Result<AxisSelection, AccessError> {
        Ok(match self.0 {
            Parts::Index(position) => AxisSelection::Index(position.index_on(axis, len)?),
            Parts::List(positions) => {
                let mut indices = Vec::with_capacity(positions.len());
                for position in positions {
                    indices.push(position.index_on(axis, len)?);
                }
                AxisSelection::List(indices)
            }
            Parts::Steps { start, stop, step } => {
                let mut edges = [None; 2];
                for (edge, position) in edges.iter_mut().zip([start, stop]) {
                    let Some(position) = position else { continue };
                    let Some(on_axis) = position.on_axis(len) else {
                        return Err(exceeds(start, stop, axis, len));
                    };
                    *edge = Some(on_axis);
                }
                AxisSelection::Steps { start: edges[0], stop: edges[1], step }
            }
        })
    }
}

/// The error for a range with a bound before the axis.
fn exceeds(start: Option<Position>, stop: Option<Position>, axis: usize, len: u64) -> AccessError {
    let [start, stop] = [start, stop].map(|edge| edge.map_or(String::new(), |e| e.to_string()));
    AccessError::Argument(format!(
        "region {start}..{stop} exceeds axis {axis}, which has length {len}"
    ))
}

/// `ndarray::s!`, whose steps and negative coordinates mean the same.
#[cfg(feature = "ndarray")]
impl<E, In, Out> From<ndarray::SliceInfo<E, In, Out>> for super::Selection
where
    E: AsRef<[ndarray::SliceInfoElem]>,
    In: ndarray::Dimension,
    Out: ndarray::Dimension,
{
    fn from(slice: ndarray::SliceInfo<E, In, Out>) -> super::Selection {
        let mut axes = Vec::new();
        for element in slice.as_ref() {
            match *element {
                ndarray::SliceInfoElem::Index(index) => axes.push(index.into()),
                ndarray::SliceInfoElem::Slice { start, end, step } => {
                    let start = Some(Position::new(start));
                    let stop = end.map(Position::new);
                    axes.push(between(start, stop, step as i64));
                }
                ndarray::SliceInfoElem::NewAxis => {
                    return super::Selection::invalid(
                        "`NewAxis` selects nothing of the array; leave it out, and insert the axis into what was read",
                    );
                }
            }
        }
        super::Selection::outer(axes)
    }
}
