//! Resolves a selection against the metadata of an array.

use std::ops::Range;

use super::part::{AxisIndices, ResolvedSelection};
use super::{AxisSelection, Selection, SelectionExpr};
use crate::error::AccessError;
use crate::grid::ChunkGrid;
use crate::metadata::ArrayMetadata;
use crate::region::{ByAxis, Region, element_count};

/// Elements of an array, and the shape in which a caller has them.
#[derive(Clone, Debug)]
pub(crate) struct Resolved {
    pub part: ResolvedSelection,
    /// As the part's, without the axes of single numbers.
    pub shape: ByAxis<u64>,
}

impl From<Region> for Resolved {
    fn from(region: Region) -> Resolved {
        Resolved { shape: region.lengths(), part: region.into() }
    }
}

impl Selection {
    /// Resolves the selection for this array.
    pub(crate) fn of(self, metadata: &ArrayMetadata) -> Result<Resolved, AccessError> {
        match self.0 {
            SelectionExpr::Blocks(chunks) => blocks(*chunks, metadata),
            wish => wish.of(&metadata.shape, metadata.dimension_names.as_deref()),
        }
    }
}

impl Selection {
    /// The selected elements of a box of this shape, which has neither chunks nor names.
    pub(crate) fn of_shape(self, shape: &[u64]) -> Result<Resolved, AccessError> {
        self.0.of(shape, None)
    }
}

impl SelectionExpr {
    fn of(self, shape: &[u64], names: Option<&[Option<String>]>) -> Result<Resolved, AccessError> {
        match self {
            SelectionExpr::All => Ok(Region::all(shape).into()),
            SelectionExpr::Region(region) => Ok(region.within(shape)?.into()),
            SelectionExpr::Outer(axes) => outer(axes, shape),
            SelectionExpr::Named(named) => outer(by_axis(named, shape.len(), names)?, shape),
            SelectionExpr::Points(coordinates) => points(coordinates, shape),
            SelectionExpr::Mask { shape: of_mask, mask } => masked(&of_mask, &mask, shape),
            #[cfg(feature = "ndarray")]
            SelectionExpr::Invalid(why) => Err(AccessError::Argument(why.into())),
            SelectionExpr::Blocks(_) => Err(AccessError::Argument(
                "blocks of blocks cannot be selected; select blocks of the array".into(),
            )),
        }
    }
}

fn outer(axes: Vec<AxisSelection>, shape: &[u64]) -> Result<Resolved, AccessError> {
    if axes.len() != shape.len() {
        return Err(AccessError::Rank { expected: shape.len(), found: axes.len() });
    }
    let mut picks = Vec::with_capacity(axes.len());
    let mut lengths = ByAxis::new();
    for (axis, (along, &len)) in axes.into_iter().zip(shape).enumerate() {
        let stays = along.keeps_axis();
        let along = along.picks(axis, len)?;
        lengths.extend(stays.then_some(along.len()));
        picks.push(along);
    }
    Ok(Resolved { part: ResolvedSelection::outer(picks.into_iter()), shape: lengths })
}

impl AxisSelection {
    fn picks(self, axis: usize, len: u64) -> Result<AxisIndices, AccessError> {
        match self {
            AxisSelection::Relative(relative) => relative.on_axis(axis, len)?.picks(axis, len),
            AxisSelection::Index(index) => {
                inside(axis, index, len)?;
                Ok(AxisIndices::range(index, 1))
            }
            AxisSelection::Steps { step: 0, .. } => {
                let why =
                    format!("axis {axis}: the step must not be 0; use 1, or -1 to go backwards");
                Err(AccessError::Argument(why))
            }
            AxisSelection::Steps { start, stop, step } => {
                let start = start.unwrap_or(0);
                // A start past the end is out of bounds, not empty.
                let end = stop.unwrap_or(len.max(start));
                if start > end || end > len {
                    return Err(AccessError::OutOfBounds { axis, start, end, len });
                }
                let count = (end - start).div_ceil(step.unsigned_abs());
                let first = if step < 0 { end.saturating_sub(1) } else { start };
                match count {
                    0 | 1 => Ok(AxisIndices::range(first, count)),
                    _ => Ok(AxisIndices::Steps { start: first, step, len: count }),
                }
            }
            AxisSelection::List(list) => {
                list.iter().try_for_each(|&index| inside(axis, index, len))?;
                Ok(AxisIndices::list(list))
            }
            AxisSelection::Mask(mask) if mask.len() as u64 != len => {
                let found = mask.len();
                let why = format!(
                    "axis {axis}: a mask of {found} bools, but the axis has length {len}; give one bool for each coordinate"
                );
                Err(AccessError::Argument(why))
            }
            AxisSelection::Mask(mask) => Ok(AxisIndices::list(
                mask.iter().zip(0..).filter(|(taken, _)| **taken).map(|(_, at)| at).collect(),
            )),
        }
    }
}

fn inside(axis: usize, index: u64, len: u64) -> Result<(), AccessError> {
    if index < len { Ok(()) } else { Err(AccessError::Index { axis, index, len }) }
}

/// The selection of each axis, by name.
fn by_axis(
    named: Vec<(String, AxisSelection)>,
    rank: usize,
    names: Option<&[Option<String>]>,
) -> Result<Vec<AxisSelection>, AccessError> {
    let names = names.unwrap_or_default();
    let mut axes = vec![None; rank];
    for (name, along) in named {
        let called: Vec<usize> = (0..names.len().min(rank))
            .filter(|&axis| names[axis].as_deref() == Some(&*name))
            .collect();
        let why = match called[..] {
            [axis] if axes[axis].is_none() => {
                axes[axis] = Some(along);
                continue;
            }
            [_] => format!("duplicate selection of dimension `{name}`"),
            [] => {
                let known: Vec<String> =
                    names.iter().flatten().map(|known| format!("`{known}`")).collect();
                let known = if known.is_empty() {
                    "the array's dimensions have no names; select by axis".to_owned()
                } else {
                    format!("the array has {}", known.join(", "))
                };
                format!("there is no dimension `{name}`; {known}")
            }
            [first, second, ..] => {
                format!("axes {first} and {second} are both named `{name}`; select by axis")
            }
        };
        return Err(AccessError::Argument(why));
    }
    Ok(axes.into_iter().map(|along| along.unwrap_or(AxisSelection::ALL)).collect())
}

fn points(along_axes: Vec<AxisSelection>, shape: &[u64]) -> Result<Resolved, AccessError> {
    if along_axes.len() != shape.len() {
        return Err(AccessError::Rank { expected: shape.len(), found: along_axes.len() });
    }
    if shape.is_empty() {
        let why = "points of a scalar have no coordinates; select it with `()`";
        return Err(AccessError::Argument(why.into()));
    }
    let mut coordinates = Vec::with_capacity(shape.len());
    let mut count = 0;
    for (axis, (along, &len)) in along_axes.into_iter().zip(shape).enumerate() {
        let along = match along {
            AxisSelection::Relative(relative) => relative.on_axis(axis, len)?,
            along => along,
        };
        let AxisSelection::List(list) = along else {
            let why = format!(
                "axis {axis}: points need a list of coordinates along each axis, as in `points([vec![3, 1], vec![0, 2]])`"
            );
            return Err(AccessError::Argument(why));
        };
        if axis == 0 {
            count = list.len();
        }
        if list.len() != count {
            let found = list.len();
            let why = format!(
                "points have {count} coordinates along axis 0, but {found} along axis {axis}; each point needs one along every axis"
            );
            return Err(AccessError::Argument(why));
        }
        list.iter().try_for_each(|&index| inside(axis, index, len))?;
        coordinates.push(list);
    }
    let part = ResolvedSelection::points(coordinates, count as u64);
    Ok(Resolved { shape: part.lengths(), part })
}

fn masked(of_mask: &[u64], mask: &[bool], shape: &[u64]) -> Result<Resolved, AccessError> {
    if of_mask != shape {
        let why = format!(
            "a mask of shape {of_mask:?}, but the array has {shape:?}; give one bool for each element"
        );
        return Err(AccessError::Argument(why));
    }
    let due = element_count(shape).unwrap_or(u64::MAX);
    if due != mask.len() as u64 {
        let why = format!("a mask of shape {shape:?} has {due} bools, found {}", mask.len());
        return Err(AccessError::Argument(why));
    }
    let count = mask.iter().filter(|taken| **taken).count() as u64;
    let mut coordinates = vec![Vec::with_capacity(count as usize); shape.len()];
    let taken = mask.iter().zip(0u64..).filter(|(taken, _)| **taken);
    for (_, mut at) in taken {
        for (list, len) in coordinates.iter_mut().zip(shape).rev() {
            list.push(at % len);
            at /= len;
        }
    }
    let part = ResolvedSelection::points(coordinates, count);
    Ok(Resolved { shape: part.lengths(), part })
}

/// The elements of whole chunks.
fn blocks(chunks: SelectionExpr, metadata: &ArrayMetadata) -> Result<Resolved, AccessError> {
    let shape = &metadata.shape;
    let Some(grid) = metadata.grid.as_deref() else {
        return Err(AccessError::Argument("the array's grid is unknown".into()));
    };
    let counts: Vec<u64> = (0..shape.len()).map(|axis| grid.count(axis, shape[axis])).collect();
    let selected = chunks.of(&counts, metadata.dimension_names.as_deref());
    let chunks = selected.map_err(|error| in_grid(error, &counts))?.part;
    if !chunks.has_axes() {
        let why = "blocks are selected axis by axis, not by points or a mask";
        return Err(AccessError::Argument(why.into()));
    }
    let elements = chunks.by_axis().enumerate().map(|(axis, chunks)| match chunks {
        AxisIndices::Steps { len: 0, .. } => Ok(AxisIndices::range(0, 0)),
        AxisIndices::Steps { start, len, .. } if chunks.as_range().is_some() => {
            let first = inside_array(grid, shape, axis, start).start;
            let end = inside_array(grid, shape, axis, start + len - 1).end;
            Ok(AxisIndices::range(first, end.saturating_sub(first)))
        }
        others => concatenated(&others, |chunk| inside_array(grid, shape, axis, chunk)),
    });
    let part = ResolvedSelection::outer(elements.collect::<Result<Vec<_>, _>>()?.into_iter());
    Ok(Resolved { shape: part.lengths(), part })
}

/// The same error, which says that it counts blocks, not elements.
fn in_grid(error: AccessError, counts: &[u64]) -> AccessError {
    match error {
        AccessError::TooLarge { .. } => error,
        other => AccessError::Argument(format!("in the grid of {counts:?} blocks: {other}")),
    }
}

/// The elements of a chunk along an axis, without those beyond the array.
fn inside_array(grid: &dyn ChunkGrid, shape: &[u64], axis: usize, chunk: u64) -> Range<u64> {
    let span = grid.span(axis, chunk);
    span.start..span.start.saturating_add(span.len).min(shape[axis])
}

/// Takes memory for so many more coordinates in all; the list is empty.
fn reserve(list: &mut Vec<u64>, count: u64) -> Result<(), AccessError> {
    match usize::try_from(count).map(|count| list.try_reserve_exact(count)) {
        Ok(Ok(())) => Ok(()),
        _ => Err(AccessError::TooLarge {
            what: "the list of coordinates in these blocks",
            size: count.saturating_mul(size_of::<u64>() as u64),
            hint: "select fewer blocks, or neighbours in order",
        }),
    }
}

/// The coordinates in chunks, those of one after those of the other.
fn concatenated(
    chunks: &AxisIndices,
    interval: impl Fn(u64) -> Range<u64>,
) -> Result<AxisIndices, AccessError> {
    let mut list = Vec::new();
    // A lower bound: the count of chunks ends there.
    reserve(&mut list, chunks.len())?;
    let mut elements = 0u64;
    for chunk in chunks.iter() {
        let range = interval(chunk);
        elements = elements.saturating_add(range.end.saturating_sub(range.start));
    }
    reserve(&mut list, elements)?;
    list.extend(chunks.iter().flat_map(interval));
    Ok(AxisIndices::list(list))
}

#[cfg(test)]
mod tests {
    use super::super::steps;
    use super::*;
    use crate::data_type::CoreType;

    /// An array of 10 × 7 elements in chunks of 4 × 3.
    fn table() -> ArrayMetadata {
        let mut table = ArrayMetadata::new(&[10, 7], CoreType::Uint8.into(), &[4, 3]).unwrap();
        table.dimension_names = Some(vec![Some("time".into()), Some("lat".into())]);
        table
    }

    fn why(selection: impl Into<Selection>) -> String {
        selection.into().of(&table()).unwrap_err().to_string()
    }

    #[test]
    fn what_leaves_the_array_is_refused() {
        assert_eq!(why((10, ..)), "index 10 is out of bounds for axis 0, which has length 10");
        assert_eq!(why((.., 2..8)), "region 2..8 exceeds axis 1, which has length 7");
        let reversed = std::ops::Range { start: 5, end: 3 };
        assert_eq!(why((reversed, ..)), "region 5..3 of axis 0 ends before it begins");
        assert_eq!(why((.., 8..)), "region 8..8 exceeds axis 1, which has length 7");
        assert_eq!(
            why((.., ..=u64::MAX)).split(" exceeds").next(),
            Some("region 0..18446744073709551615")
        );
        assert_eq!(why(([0, 10], ..)), "index 10 is out of bounds for axis 0, which has length 10");
        assert_eq!(
            why(Selection::points([[0, 3], [6, 7]])),
            "index 7 is out of bounds for axis 1, which has length 7"
        );
        assert_eq!(
            why(Selection::blocks((3, ..))),
            "in the grid of [3, 3] blocks: index 3 is out of bounds for axis 0, which has length 3"
        );
        assert_eq!(
            why(Region::new([0..11, 0..7])),
            "region 0..11 exceeds axis 0, which has length 10"
        );
    }

    #[test]
    fn what_means_nothing_says_why() {
        let one_axis = "the selection has 1 entry, but the array has 2 axes; give one entry for each axis, `..` for a whole axis";
        assert_eq!(why(3), one_axis);
        assert_eq!(why(Selection::points([[0]])), one_axis);
        assert_eq!(
            why((steps(.., 0), ..)),
            "axis 0: the step must not be 0; use 1, or -1 to go backwards"
        );
        assert_eq!(
            why((.., vec![true; 6])),
            "axis 1: a mask of 6 bools, but the axis has length 7; give one bool for each coordinate"
        );
        assert_eq!(
            why(Selection::mask(&[7, 10], vec![true; 70])),
            "a mask of shape [7, 10], but the array has [10, 7]; give one bool for each element"
        );
        assert_eq!(
            why(Selection::mask(&[10, 7], vec![true; 69])),
            "a mask of shape [10, 7] has 70 bools, found 69"
        );
        assert_eq!(
            why(Selection::points([vec![1, 2, 3], vec![1, 2]])),
            "points have 3 coordinates along axis 0, but 2 along axis 1; each point needs one along every axis"
        );
        assert_eq!(
            why(Selection::named("lon", 1)),
            "there is no dimension `lon`; the array has `time`, `lat`"
        );
        assert_eq!(
            why(Selection::named("lat", 1).and("lat", 2)),
            "duplicate selection of dimension `lat`"
        );
        assert_eq!(
            why(Selection::blocks(Selection::blocks(..))),
            "in the grid of [3, 3] blocks: blocks of blocks cannot be selected; select blocks of the array"
        );
        assert_eq!(
            why(Selection::blocks(Selection::points([[0], [0]]))),
            "blocks are selected axis by axis, not by points or a mask"
        );
        let mut table = table();
        table.dimension_names = Some(vec![Some("x".into()), Some("x".into())]);
        let twice = Selection::from(Selection::named("x", 1)).of(&table).unwrap_err();
        assert_eq!(twice.to_string(), "axes 0 and 1 are both named `x`; select by axis");
        table.dimension_names = None;
        let none = Selection::from(Selection::named("x", 1)).of(&table).unwrap_err();
        assert_eq!(
            none.to_string(),
            "there is no dimension `x`; the array's dimensions have no names; select by axis"
        );
        let scalar = ArrayMetadata::new(&[], CoreType::Uint8.into(), &[]).unwrap();
        let points = Selection::points(Vec::<Vec<u64>>::new()).of(&scalar).unwrap_err();
        assert_eq!(
            points.to_string(),
            "points of a scalar have no coordinates; select it with `()`"
        );
    }

    #[test]
    fn negative_numbers_count_from_the_end() {
        let from_start = |selection: Selection| selection.of(&table()).unwrap();
        for (selection, same) in [
            (Selection::from((-1, -7..-5)), Selection::from((9u64, 0u64..2))),
            ((..-8, ..=-3).into(), (0u64..2, 0u64..5).into()),
            ((-2.., 3usize).into(), (8u64..10, 3u64).into()),
            (([-1, 0, -10], ..).into(), ([9u64, 0, 0], ..).into()),
            ((steps(-4..-1, -2), ..=-1).into(), (steps(6u64..9, -2), ..).into()),
            ([-3..-1, 0..7].into(), Region::new([7..9, 0..7]).into()),
            (Selection::blocks((-1, ..)), Selection::blocks((2, ..))),
            (Selection::named("lat", -1i8).into(), Selection::named("lat", 6u8).into()),
        ] {
            let (found, expected) = (from_start(selection.clone()), from_start(same));
            assert_eq!(found.shape, expected.shape, "{selection:?}");
            let indices = |resolved: &Resolved| -> Vec<Vec<u64>> {
                resolved.part.by_axis().map(|axis| axis.iter().collect()).collect()
            };
            assert_eq!(indices(&found), indices(&expected), "{selection:?}");
        }
        assert_eq!(why((-11, ..)), "index -11 is out of bounds for axis 0, which has length 10");
        assert_eq!(why((.., -8..)), "region -8.. exceeds axis 1, which has length 7");
        assert_eq!(
            why(([0, -11], ..)),
            "index -11 is out of bounds for axis 0, which has length 10"
        );
    }

    #[cfg(feature = "ndarray")]
    #[test]
    fn slices_of_ndarray_select_the_same() {
        use ndarray::s;
        let shape = |selection: Selection| selection.of(&table()).unwrap().shape.to_vec();
        assert_eq!(shape(s![3, 1..4].into()), [3]);
        assert_eq!(shape(s![-3.., ..;2].into()), [3, 4]);
        let backwards = Selection::from(s![..;-1, 0]).of(&table()).unwrap();
        let first = backwards.part.by_axis().next().unwrap().iter().next();
        assert_eq!((backwards.shape.to_vec(), first), (vec![10], Some(9)));
        assert!(why(s![ndarray::NewAxis, .., ..]).contains("`NewAxis` selects nothing"));
    }

    #[test]
    fn what_is_a_box_is_held_as_one() {
        let lists = ([3u64, 4, 5], vec![false, true, true, false, false, false, false]);
        for (selection, shape) in [
            (Selection::from((3..6, 1..3)), vec![3, 2]),
            (Selection::from(lists), vec![3, 2]),
            ((steps(3..6, 1), 1..3).into(), vec![3, 2]),
            ((steps(4..5, -7), 1).into(), vec![1]),
            (Selection::blocks((1.., [0u64, 1])), vec![6, 6]),
        ] {
            let selected = selection.clone().of(&table()).unwrap();
            assert!(selected.part.as_region().is_some(), "{selection:?}");
            assert_eq!(selected.shape[..], shape[..], "{selection:?}");
        }
    }

    /// No list of so many coordinates is made, and no time spent on it.
    #[test]
    fn enormous_selections_are_counted_not_listed() {
        let shape = [1 << 60];
        let thin = ArrayMetadata::new(&shape, CoreType::Uint8.into(), &[1]).unwrap();
        let every_second = Selection::from(steps(.., -2)).of(&thin).unwrap();
        assert_eq!(every_second.shape[..], [1 << 59]);
        let every_second = Selection::blocks(steps(.., 2)).of(&thin).unwrap_err();
        assert!(matches!(every_second, AccessError::TooLarge { .. }), "{every_second}");
        let thick = ArrayMetadata::new(&shape, CoreType::Uint8.into(), &[1 << 60]).unwrap();
        let twice = Selection::blocks([0, 0]).of(&thick).unwrap_err();
        assert!(matches!(twice, AccessError::TooLarge { .. }), "{twice}");
        assert_eq!(Selection::from(steps(5.., i64::MIN)).of(&thick).unwrap().shape[..], [1]);
        assert_eq!(Selection::from(steps(.., i64::MAX)).of(&thick).unwrap().shape[..], [1]);
    }
}
