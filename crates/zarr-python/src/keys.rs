//! NumPy's index expressions as selections: `a[0, ::2, ...]`, `a[mask]`, `a.oindex[[3, 1], :]`, `a.vindex[rows, columns]`.
//!
//! Everything is checked here, before memory is taken: what leaves the array is an `IndexError` with NumPy's text.

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PyInt, PyList, PySlice, PyString, PyTuple};
use zarr::{AxisSelection, Selection, steps};

use crate::coordinates::{self, Coordinates, Indices};
use crate::region::Region;

/// What an index expression selects, and the shape of the result.
pub struct Key {
    /// The elements, as the library selects them.
    pub selection: Selection,
    /// The length of each axis of what the library selects.
    pub selected: Vec<u64>,
    /// How the result differs from that in shape; `None` if it does not.
    pub arranged: Option<Arranged>,
    /// Whether every axis is a single number: the result is a scalar.
    pub is_scalar: bool,
    /// The fields of records that are selected; `None` for whole elements.
    pub fields: Option<Fields>,
}

/// A result that has other axes than what the library selects: first it gets another shape, then another order of its axes.
pub struct Arranged {
    /// The lengths, in the order of the array's axes.
    pub shape: Vec<u64>,
    /// Which of those axes is each axis of the result.
    pub order: Vec<usize>,
}

/// Fields of records.
pub enum Fields {
    /// The elements of one field.
    One(String),
    /// Records of these fields.
    Many(Vec<String>),
}

impl Key {
    /// A key whose result has the axes that the library selects.
    pub fn new(selection: Selection, selected: Vec<u64>, is_scalar: bool) -> Key {
        Key { selection, selected, arranged: None, is_scalar, fields: None }
    }

    /// The length of each axis of the result.
    pub fn shape(&self) -> Vec<u64> {
        match &self.arranged {
            None => self.selected.clone(),
            Some(arranged) => arranged.order.iter().map(|&axis| arranged.shape[axis]).collect(),
        }
    }
}

/// An item of an index expression.
enum Part<'py> {
    Ellipsis,
    /// All of an axis.
    All,
    Slice(Bound<'py, PySlice>),
    Index(i64),
    Coordinates(Coordinates),
}

impl Part<'_> {
    fn is_ellipsis(&self) -> bool {
        matches!(self, Part::Ellipsis)
    }

    fn is_index(&self) -> bool {
        matches!(self, Part::Index(_))
    }

    fn is_array(&self) -> bool {
        matches!(self, Part::Coordinates(_))
    }

    /// Whether the item is of advanced indexing, as NumPy calls it.
    fn is_advanced(&self) -> bool {
        self.is_array() || self.is_index()
    }
}
/// A basic index expression: integers, slices and at most one ellipsis.
///
/// # Errors
/// `IndexError` for what is outside, for too many axes, and for all else.
pub fn basic(key: &Bound<'_, PyAny>, array_shape: &[u64]) -> PyResult<Key> {
    let parts = parse(items(key)?)?;
    if parts.iter().any(|part| matches!(part, Part::Coordinates(_))) {
        return Err(PyIndexError::new_err("expected integers and slices, found an array"));
    }
    outer(expanded(parts, array_shape.len())?, array_shape)
}

/// An index expression as NumPy reads it: a basic one, or one with one mask or one array of integers, or with arrays along
/// every axis. Names of fields may stand among the items.
///
/// # Errors
/// As [`basic`]; for several arrays beside slices, which say nothing of the order of axes that a reader would expect.
pub fn numpy(key: &Bound<'_, PyAny>, array_shape: &[u64]) -> PyResult<Key> {
    let (items, fields) = without_fields(items(key)?)?;
    let mut key = advanced(expanded(parse(items)?, array_shape.len())?, array_shape)?;
    if fields.is_some() {
        key.fields = fields;
    }
    Ok(key)
}

/// An index expression of `oindex`: each axis by itself, with integers, slices, lists of integers and masks of one axis.
pub fn orthogonal(key: &Bound<'_, PyAny>, array_shape: &[u64]) -> PyResult<Key> {
    let (items, fields) = without_fields(items(key)?)?;
    let parts = parse(items)?;
    for part in &parts {
        if let Part::Coordinates(coordinates) = part
            && coordinates.shape.len() != 1
        {
            return Err(PyIndexError::new_err(format!(
                "`oindex` takes arrays and masks of one axis, not of shape {}; `vindex` takes points and masks of the whole array",
                shape_text(&coordinates.shape)
            )));
        }
    }
    let mut key = outer(expanded(parts, array_shape.len())?, array_shape)?;
    key.fields = fields;
    Ok(key)
}

/// An index expression of `vindex`: the coordinates of points along every axis, which are broadcast against each other, or a mask
/// of the array's shape.
pub fn points(key: &Bound<'_, PyAny>, array_shape: &[u64]) -> PyResult<Key> {
    let (items, fields) = without_fields(items(key)?)?;
    let expanded = Expanded { parts: parse(items)?, ellipsis: None };
    let are_points =
        expanded.parts.iter().all(|part| matches!(part, Part::Index(_) | Part::Coordinates(_)));
    let named: usize = expanded.parts.iter().map(axes_of).sum();
    if named != array_shape.len() || !are_points {
        return Err(PyIndexError::new_err(format!(
            "`vindex` takes one array of integers for each of the {} axes, or a mask of the array's shape; `oindex` takes slices",
            array_shape.len()
        )));
    }
    let mut key = every_axis(expanded, array_shape)?;
    key.fields = fields;
    Ok(key)
}

/// What is selected along one axis, and its length; `None` if the result has no such axis. For selections by dimension name.
pub fn along(
    item: &Bound<'_, PyAny>,
    axis: usize,
    len: u64,
) -> PyResult<(AxisSelection, Option<u64>)> {
    match &parse(vec![item.clone()])?[..] {
        [part] => axis_of(part, axis, len),
        _ => Err(PyIndexError::new_err("expected one item for each axis")),
    }
}

/// The elements of whole blocks: integers and slices of step 1 count stored objects, along an axis of `lens` elements each in
/// blocks. `interval` gives the elements of a block.
pub fn blocks(
    key: &Bound<'_, PyAny>,
    counts: &[u64],
    interval: impl Fn(usize, u64) -> std::ops::Range<u64>,
) -> PyResult<Key> {
    let expanded = expanded(parse(items(key)?)?, counts.len())?;
    let mut lens = Vec::with_capacity(counts.len());
    let mut selected = Vec::with_capacity(counts.len());
    for (axis, (part, &count)) in expanded.parts.iter().zip(counts).enumerate() {
        let selection = axis_of(part, axis, count);
        let range = match selection.map_err(|error| in_grid(key.py(), error, counts))?.0 {
            AxisSelection::Index(block) => interval(axis, block),
            AxisSelection::Steps { start: Some(start), stop: Some(stop), step: 1 } => {
                if start == stop {
                    0..0
                } else {
                    interval(axis, start).start..interval(axis, stop - 1).end
                }
            }
            _ => {
                return Err(PyIndexError::new_err(
                    "blocks are selected by integers and slices of step 1, axis by axis",
                ));
            }
        };
        lens.push(range.end - range.start);
        selected.push(steps(range, 1));
    }
    Ok(Key::new(Selection::outer(selected), lens, false))
}

/// The same error, which says that it counts blocks, not elements.
fn in_grid(py: Python<'_>, error: PyErr, counts: &[u64]) -> PyErr {
    if !error.is_instance_of::<PyIndexError>(py) {
        return error;
    }
    PyIndexError::new_err(format!("in the grid of {counts:?} blocks: {}", error.value(py)))
}

/// The items of a key, which is a tuple of them, a region, or the one item itself.
fn items<'py>(key: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    if let Ok(tuple) = key.cast::<PyTuple>() {
        Ok(tuple.iter().collect())
    } else if let Ok(region) = key.cast::<Region>() {
        Ok(region.get().slices(key.py())?.iter().collect())
    } else {
        Ok(vec![key.clone()])
    }
}

/// The items that select elements, and the fields that the others name.
fn without_fields(
    items: Vec<Bound<'_, PyAny>>,
) -> PyResult<(Vec<Bound<'_, PyAny>>, Option<Fields>)> {
    let (mut others, mut fields) = (Vec::with_capacity(items.len()), None::<Fields>);
    for item in items {
        let Some(named) = fields_of(&item) else {
            others.push(item);
            continue;
        };
        fields = Some(match (fields, named) {
            (None, named) => named,
            (Some(Fields::One(first)), Fields::One(second)) => Fields::Many(vec![first, second]),
            (Some(Fields::Many(mut names)), Fields::One(name)) => {
                names.push(name);
                Fields::Many(names)
            }
            _ => {
                return Err(PyIndexError::new_err("an index may have one list of fields"));
            }
        });
    }
    Ok((others, fields))
}

/// The fields that an item names: a text, or a list of them.
fn fields_of(item: &Bound<'_, PyAny>) -> Option<Fields> {
    if let Ok(name) = item.cast::<PyString>() {
        return Some(Fields::One(name.to_str().ok()?.to_owned()));
    }
    let list = item.cast::<PyList>().ok().filter(|list| !list.is_empty())?;
    let names =
        list.iter().map(|item| Some(item.cast::<PyString>().ok()?.to_str().ok()?.to_owned()));
    Some(Fields::Many(names.collect::<Option<_>>()?))
}

fn parse(items: Vec<Bound<'_, PyAny>>) -> PyResult<Vec<Part<'_>>> {
    items.into_iter().map(part).collect()
}

fn part(item: Bound<'_, PyAny>) -> PyResult<Part<'_>> {
    if let Ok(slice) = item.cast::<PySlice>() {
        return Ok(Part::Slice(slice.clone()));
    }
    if item.is_instance_of::<PyEllipsis>() {
        return Ok(Part::Ellipsis);
    }
    if item.is_none() {
        return Err(PyIndexError::new_err(
            "an index of a stored array cannot add an axis (`None`, `np.newaxis`); add it to what was read",
        ));
    }
    if item.is_instance_of::<PyInt>() && !item.is_instance_of::<PyBool>() {
        return index(&item);
    }
    match coordinates::of(&item)? {
        Some(coordinates) => Ok(Part::Coordinates(coordinates)),
        None => index(&item.call_method0("__index__")?),
    }
}

fn index<'py>(item: &Bound<'py, PyAny>) -> PyResult<Part<'py>> {
    item.extract()
        .map(Part::Index)
        .map_err(|_| PyIndexError::new_err(format!("index {item} is out of bounds")))
}

/// How many axes of the array an item selects of.
fn axes_of(part: &Part<'_>) -> usize {
    match part {
        Part::Ellipsis => 0,
        Part::Coordinates(Coordinates { shape, indices: Indices::Mask(_) }) => shape.len(),
        _ => 1,
    }
}

/// Items that select of every axis of an array.
struct Expanded<'py> {
    parts: Vec<Part<'py>>,
    /// Before which of them an ellipsis is, if there is one. It may select of no axis.
    ellipsis: Option<usize>,
}

fn expanded(parts: Vec<Part<'_>>, rank: usize) -> PyResult<Expanded<'_>> {
    let ellipses = parts.iter().filter(|part| part.is_ellipsis()).count();
    if ellipses > 1 {
        return Err(PyIndexError::new_err("an index can only have a single ellipsis ('...')"));
    }
    let named: usize = parts.iter().map(axes_of).sum();
    if named > rank {
        return Err(PyIndexError::new_err(format!(
            "too many indices for array: array is {rank}-dimensional, but {named} were indexed"
        )));
    }
    let (mut all, mut ellipsis) = (Vec::with_capacity(rank), None);
    for part in parts {
        if part.is_ellipsis() {
            ellipsis = Some(all.len());
            all.extend((named..rank).map(|_| Part::All));
        } else {
            all.push(part);
        }
    }
    if ellipses == 0 {
        all.extend((named..rank).map(|_| Part::All));
    }
    Ok(Expanded { parts: all, ellipsis })
}

/// What each item selects of its axis, independently of the others.
fn outer(expanded: Expanded<'_>, array_shape: &[u64]) -> PyResult<Key> {
    let mut shape = Vec::with_capacity(array_shape.len());
    let mut selected = Vec::with_capacity(array_shape.len());
    for (axis, (part, &len)) in expanded.parts.iter().zip(array_shape).enumerate() {
        let (along, result_len) = axis_of(part, axis, len)?;
        shape.extend(result_len);
        selected.push(along);
    }
    let is_scalar = shape.is_empty() && expanded.ellipsis.is_none();
    Ok(Key::new(Selection::outer(selected), shape, is_scalar))
}

/// As NumPy has it when arrays are among the items: they are broadcast against each other, and integers with them.
fn advanced(expanded: Expanded<'_>, array_shape: &[u64]) -> PyResult<Key> {
    let arrays = expanded.parts.iter().filter(|part| part.is_array()).count();
    if arrays == 0 {
        return outer(expanded, array_shape);
    }
    let of_one_axis = arrays == 1 && expanded.parts.len() == array_shape.len();
    if !of_one_axis && expanded.parts.iter().all(Part::is_advanced) {
        return every_axis(expanded, array_shape);
    }
    if !of_one_axis {
        return Err(PyIndexError::new_err(
            "an index of several arrays beside slices, or of a mask of some of the axes: `oindex` takes an array for each axis, \
             `vindex` coordinates along every axis",
        ));
    }
    // One array: an axis of the array becomes as many axes as it has, at its place; or at the front, if a slice is between it and
    // an integer.
    let (mut shape, mut of_array) = (Vec::new(), 0..0);
    for (axis, (part, &len)) in expanded.parts.iter().zip(array_shape).enumerate() {
        match part {
            Part::Coordinates(coordinates) => {
                let lens = coordinates.lens();
                of_array = shape.len()..shape.len() + lens.len();
                shape.extend(lens);
            }
            part => shape.extend(axis_of(part, axis, len)?.1),
        }
    }
    let first = expanded.parts.iter().position(Part::is_advanced).unwrap_or(0);
    let last = expanded.parts.iter().rposition(Part::is_advanced).unwrap_or(0);
    let neighbours = expanded.parts[first..=last].iter().all(Part::is_advanced)
        && expanded.ellipsis.is_none_or(|at| at <= first || at > last);
    let rank = shape.len();
    let order: Vec<usize> = if neighbours {
        (0..rank).collect()
    } else {
        of_array.clone().chain((0..rank).filter(|axis| !of_array.contains(axis))).collect()
    };
    let mut key = outer(expanded, array_shape)?;
    key.is_scalar = false;
    if shape != key.selected || !neighbours {
        key.arranged = Some(Arranged { shape, order });
    }
    Ok(key)
}

/// Points: the items have the coordinates along every axis.
fn every_axis(expanded: Expanded<'_>, array_shape: &[u64]) -> PyResult<Key> {
    if let [Part::Coordinates(Coordinates { shape, indices: Indices::Mask(mask) })] =
        &expanded.parts[..]
    {
        coordinates::check_mask(shape, array_shape, 0)?;
        let count = mask.iter().filter(|taken| **taken).count() as u64;
        return Ok(Key::new(Selection::mask(array_shape, mask.clone()), vec![count], false));
    }
    if expanded.parts.iter().all(|part| matches!(part, Part::Index(_))) {
        return outer(expanded, array_shape);
    }
    let mut all = Vec::with_capacity(array_shape.len());
    for part in expanded.parts {
        let lens = &array_shape[all.len()..];
        match part {
            Part::Index(index) => all.push(Coordinates::one(index)),
            Part::Coordinates(coordinates) => all.extend(coordinates.by_axis(lens, all.len())?),
            _ => return Err(PyIndexError::new_err("points have coordinates along every axis")),
        }
    }
    let (shape, lists) = coordinates::broadcast(&all, array_shape)?;
    let count = shape.iter().product();
    let mut key = Key::new(Selection::points(lists), vec![count], false);
    if shape.len() != 1 {
        let order = (0..shape.len()).collect();
        key.arranged = Some(Arranged { shape, order });
    }
    Ok(key)
}

/// What an item selects along an axis, and how many elements; `None` if the result has no such axis.
fn axis_of(part: &Part<'_>, axis: usize, len: u64) -> PyResult<(AxisSelection, Option<u64>)> {
    match part {
        Part::Ellipsis | Part::All => Ok((steps(0..len, 1), Some(len))),
        Part::Slice(slice) => slice_of(slice, len),
        Part::Index(index) => {
            Ok((AxisSelection::Index(coordinates::inside(*index, axis, len)?), None))
        }
        Part::Coordinates(coordinates) => {
            let list = coordinates.list(axis, len)?;
            let count = list.len() as u64;
            Ok((AxisSelection::List(list), Some(count)))
        }
    }
}

fn slice_of(slice: &Bound<'_, PySlice>, len: u64) -> PyResult<(AxisSelection, Option<u64>)> {
    let (start, step, count): (i128, i128, i128) = match isize::try_from(len) {
        Ok(len) => {
            let indices = slice.indices(len)?;
            (indices.start as i128, indices.step as i128, indices.slicelength as i128)
        }
        // Python's own arithmetic has no largest integer.
        Err(_) => {
            let (start, stop, step): (i128, i128, i128) =
                slice.call_method1("indices", (len,))?.extract()?;
            let span = if step > 0 { stop - start } else { start - stop };
            (start, step, (span.max(0) + step.abs() - 1) / step.abs())
        }
    };
    if count == 0 {
        return Ok((steps(0..0, 1), Some(0)));
    }
    let last = start + (count - 1) * step;
    let (low, high) = (start.min(last) as u64, start.max(last) as u64);
    // A step that leads out of the array is taken once at most.
    let step = if count == 1 { 1 } else { step as i64 };
    Ok((steps(low..high + 1, step), Some(count as u64)))
}

/// A shape as Python writes it.
pub fn shape_text(shape: &[u64]) -> String {
    match shape {
        [len] => format!("({len},)"),
        lens => format!("({})", lens.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")),
    }
}
