//! Describes which elements of an array a caller selects, and in which order.
//!
//! A [`Selection`] is independent of the array. With the array's shape, grid and names it
//! becomes a [`ResolvedSelection`], which is all that reading and writing know of. Each chunk that a part touches is
//! read once, however its elements are scattered.

mod coordinate;
mod part;
mod resolve;

use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

pub use self::coordinate::{AxisRange, Coordinate, Relative};
pub use self::part::ResolvedSelection;
pub(crate) use self::part::{AxisIndices, Elements, distinct};
pub(crate) use self::resolve::Resolved;
use crate::region::{ByAxis, Region};

/// The selected elements of one axis.
///
/// A number is [`AxisSelection::Index`]; ranges and `..` are steps of 1; a list of numbers is
/// [`AxisSelection::List`], a list of bools [`AxisSelection::Mask`]; see [`steps`]. Numbers are integers of any type; one
/// below 0 counts from the axis' end: `-1` is the last coordinate, `..-1` all but that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AxisSelection {
    /// One coordinate; the result has no such axis.
    Index(u64),
    /// The coordinates from `start`, or the axis' first, to before `stop`, or the axis' end; every
    /// `step`th of them, beginning with the last one if the step is negative.
    Steps {
        /// The first coordinate.
        start: Option<u64>,
        /// One past the last coordinate.
        stop: Option<u64>,
        /// How far from one to the next; not 0.
        step: i64,
    },
    /// These coordinates, in this order, as often as they are named.
    List(Vec<u64>),
    /// Those that are true; as many bools as the axis is long.
    Mask(Vec<bool>),
    /// Coordinates of which some count from the axis' end; negative numbers make one.
    Relative(Relative),
}

impl AxisSelection {
    /// All of an axis.
    const ALL: AxisSelection = AxisSelection::Steps { start: None, stop: None, step: 1 };

    /// Whether the result has the axis: it has none of a single number.
    fn keeps_axis(&self) -> bool {
        match self {
            AxisSelection::Index(_) => false,
            AxisSelection::Relative(relative) => !relative.is_index(),
            _ => true,
        }
    }
}

/// Every `step`th coordinate of a range; backwards, from the range's last, if the step is negative.
///
/// `steps(1..8, 3)` is 1, 4, 7, in NumPy `1:8:3`; `steps(1..8, -3)` is 7, 4, 1, in NumPy `7:0:-3`;
/// `steps(.., -1)` is NumPy's `::-1`.
pub fn steps(range: impl AxisRange, step: i64) -> AxisSelection {
    range.with_step(step)
}

/// The selected elements of an array, and their order.
///
/// Most are made from Rust's own values, with `into`:
///
/// - `..` is everything.
/// - A tuple is one [`AxisSelection`] per axis: `(0, .., 10..20)`, `([3, 1, 1, 0], steps(.., -1))`. Axes are
///   independent of each other, also lists: the result has the shape of their lengths, without the axes
///   of single numbers. (xarray's indexing, zarr-python's `oindex`.)
/// - One [`AxisSelection`], if the array has one axis.
/// - A [`Region`], a list of ranges.
/// - `ndarray::s![0, .., 10..20]`, with the feature `ndarray`.
///
/// For others there are functions: [`Selection::points`], [`Selection::mask`], [`Selection::named`],
/// [`Selection::blocks`], [`Selection::outer`].
///
/// Numbers are integers of any type; one below 0 counts from its axis' end, as in NumPy: `(-1, ..-2)`. Unlike NumPy's ranges,
/// no range may leave the array.
///
/// What is written more than once in one call holds the last of the elements in C order, as in NumPy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection(SelectionExpr);

#[derive(Clone, Debug, PartialEq, Eq)]
enum SelectionExpr {
    All,
    Region(Region),
    Outer(Vec<AxisSelection>),
    Named(Vec<(String, AxisSelection)>),
    /// A list of coordinates for each axis.
    Points(Vec<AxisSelection>),
    Mask {
        shape: Vec<u64>,
        mask: Vec<bool>,
    },
    Blocks(Box<SelectionExpr>),
    /// What no array has, and why.
    #[cfg(feature = "ndarray")]
    Invalid(&'static str),
}

impl Selection {
    /// One [`AxisSelection`] per axis, for any number of axes; as a tuple of them.
    pub fn outer<A: Into<AxisSelection>>(axes: impl IntoIterator<Item = A>) -> Selection {
        Selection(SelectionExpr::Outer(axes.into_iter().map(Into::into).collect()))
    }

    /// What fails for every array, with this reason.
    #[cfg(feature = "ndarray")]
    fn invalid(why: &'static str) -> Selection {
        Selection(SelectionExpr::Invalid(why))
    }

    /// Single elements: one list of coordinates per axis, all equally long; element `n` has the `n`th of
    /// each: `points([[3, 1], [0, 2]])` are the elements (3, 0) and (1, 2), as with NumPy's `a[[3, 1], [0, 2]]`. The result
    /// has one axis. Coordinates are integers of any type, and -1 is the last one of its axis. (zarr-python's `vindex`.)
    pub fn points<C: Into<AxisSelection>>(coordinates: impl IntoIterator<Item = C>) -> Selection {
        Selection(SelectionExpr::Points(coordinates.into_iter().map(Into::into).collect()))
    }

    /// The elements at which `mask` is true, in C order; `mask` has the array's `shape` and is in C order
    /// itself. The result has one axis.
    pub fn mask(shape: &[u64], mask: impl Into<Vec<bool>>) -> Selection {
        Selection(SelectionExpr::Mask { shape: shape.to_vec(), mask: mask.into() })
    }

    /// What is selected of the axis with this name; [`Named::and`] of others. Axes that are not named are selected as a
    /// whole. The result's axes are in the array's order.
    ///
    /// ```
    /// # fn example(array: &zarr_core::Array) -> zarr_core::Result<()> {
    /// use zarr_core::Selection;
    /// let elements: Vec<f32> = array.read(Selection::named("time", 3).and("lat", 10..20))?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn named(name: impl Into<String>, along: impl Into<AxisSelection>) -> Named {
        Named(Vec::new()).and(name, along)
    }

    /// Whole chunks: a selection not of elements but of chunks, counted from the first along each axis as
    /// [`Array::chunk`](crate::Array::chunk) does. The result has the elements of the chunks along each axis,
    /// those that the array has; a single number leaves its axis there. (zarr-python's `blocks`.)
    ///
    /// `Selection::blocks((1, ..))` is the second row of chunks.
    pub fn blocks(chunks: impl Into<Selection>) -> Selection {
        Selection(SelectionExpr::Blocks(Box::new(chunks.into().0)))
    }
}

/// A selection by dimension names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named(Vec<(String, AxisSelection)>);

impl Named {
    /// The same, and what is selected of another axis.
    #[must_use]
    pub fn and(mut self, name: impl Into<String>, along: impl Into<AxisSelection>) -> Named {
        self.0.push((name.into(), along.into()));
        self
    }
}

impl From<Named> for Selection {
    fn from(named: Named) -> Selection {
        Selection(SelectionExpr::Named(named.0))
    }
}
impl From<RangeFull> for Selection {
    fn from(_: RangeFull) -> Selection {
        Selection(SelectionExpr::All)
    }
}
impl From<()> for Selection {
    fn from((): ()) -> Selection {
        Selection(SelectionExpr::Outer(Vec::new()))
    }
}
impl From<Region> for Selection {
    fn from(region: Region) -> Selection {
        Selection(SelectionExpr::Region(region))
    }
}
impl From<&Region> for Selection {
    fn from(region: &Region) -> Selection {
        region.clone().into()
    }
}
impl From<&Selection> for Selection {
    fn from(selection: &Selection) -> Selection {
        selection.clone()
    }
}
impl<C: Coordinate> From<&[Range<C>]> for Selection {
    fn from(intervals: &[Range<C>]) -> Selection {
        let from_start: Option<ByAxis<_>> = intervals
            .iter()
            .map(|range| {
                let start = u64::try_from(range.start.value()).ok()?;
                let end = u64::try_from(range.end.value()).ok()?;
                Some(start..end)
            })
            .collect();
        match from_start {
            Some(intervals) => Region::new(intervals).into(),
            // Some count from the end.
            None => Selection::outer(intervals.iter().cloned()),
        }
    }
}
impl<C: Coordinate, const N: usize> From<[Range<C>; N]> for Selection {
    fn from(intervals: [Range<C>; N]) -> Selection {
        intervals[..].into()
    }
}
impl<C: Coordinate, const N: usize> From<&[Range<C>; N]> for Selection {
    fn from(intervals: &[Range<C>; N]) -> Selection {
        intervals[..].into()
    }
}
impl<C: Coordinate> From<Vec<Range<C>>> for Selection {
    fn from(intervals: Vec<Range<C>>) -> Selection {
        intervals[..].into()
    }
}
impl<C: Coordinate> From<&Vec<Range<C>>> for Selection {
    fn from(intervals: &Vec<Range<C>>) -> Selection {
        intervals[..].into()
    }
}

/// A mask of the array's shape: the elements at which it is true, in C order.
#[cfg(feature = "ndarray")]
impl<D: ndarray::Dimension> From<ndarray::ArrayView<'_, bool, D>> for Selection {
    fn from(mask: ndarray::ArrayView<'_, bool, D>) -> Selection {
        let shape: Vec<u64> = mask.shape().iter().map(|&n| n as u64).collect();
        Selection::mask(&shape, mask.iter().copied().collect::<Vec<_>>())
    }
}

/// What is selected of an array that has only one axis.
macro_rules! one_axis {
    ($({$($generic:tt)*} $T:ty;)*) => {$(
        impl<$($generic)*> From<$T> for Selection {
            fn from(value: $T) -> Selection {
                Selection::outer([value])
            }
        }
    )*};
}

/// What a list means of one axis, and of an array that has only one.
macro_rules! lists {
    ($({$($generic:tt)*} $T:ty: $value:pat => $meant:expr;)*) => {$(
        impl<$($generic)*> From<$T> for AxisSelection {
            fn from($value: $T) -> AxisSelection {
                $meant
            }
        }
        one_axis! { {$($generic)*} $T; }
    )*};
}

one_axis! {
    {C: Coordinate} Range<C>;
    {C: Coordinate} RangeInclusive<C>;
    {C: Coordinate} RangeFrom<C>;
    {C: Coordinate} RangeTo<C>;
    {C: Coordinate} RangeToInclusive<C>;
}

lists! {
    {C: Coordinate} Vec<C>: list => coordinate::list(list);
    {C: Coordinate} &Vec<C>: list => coordinate::list(list.iter().copied());
    {C: Coordinate} &[C]: list => coordinate::list(list.iter().copied());
    {C: Coordinate, const N: usize} [C; N]: list => coordinate::list(list);
    {C: Coordinate, const N: usize} &[C; N]: list => coordinate::list(list.iter().copied());
    {} Vec<bool>: mask => AxisSelection::Mask(mask);
    {} &Vec<bool>: mask => AxisSelection::Mask(mask.clone());
    {} &[bool]: mask => AxisSelection::Mask(mask.to_vec());
    {const N: usize} [bool; N]: mask => AxisSelection::Mask(mask.to_vec());
}

impl From<AxisSelection> for Selection {
    fn from(along: AxisSelection) -> Selection {
        Selection::outer([along])
    }
}

macro_rules! tuples {
    ($($($T:ident $axis:tt),+;)*) => {$(
        impl<$($T: Into<AxisSelection>),+> From<($($T,)+)> for Selection {
            fn from(axes: ($($T,)+)) -> Selection {
                Selection(SelectionExpr::Outer(vec![$(axes.$axis.into()),+]))
            }
        }
    )*};
}

tuples! {
    A 0;
    A 0, B 1;
    A 0, B 1, C 2;
    A 0, B 1, C 2, D 3;
    A 0, B 1, C 2, D 3, E 4;
    A 0, B 1, C 2, D 3, E 4, F 5;
    A 0, B 1, C 2, D 3, E 4, F 5, G 6;
    A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7;
}
