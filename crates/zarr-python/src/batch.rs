//! Reads the items of a batch: which elements of which chunks, and their places in the output.
//!
//! zarr-python's indexers name them in three ways: slices and integers (basic indexing), the same and arrays made by `np.ix_` or a
//! single array (orthogonal indexing), and one array for each axis (coordinates).

use numpy::{PyArrayDyn, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PySlice, PyTuple};
use zarr::grid::ChunkGrid;
use zarr::metadata::ArrayMetadata;
use zarr::{Array, AxisSelection, ChunkPart, Selection, steps};

use std::collections::BTreeMap;
use std::sync::Arc;

/// A batch of items for an array.
pub struct Batch<'a, 'py> {
    items: &'a Bound<'py, PyList>,
    drop_axes: Vec<usize>,
    metadata: Arc<ArrayMetadata>,
    grid: Arc<dyn ChunkGrid>,
    /// What comes before the chunk's key in an item's path.
    prefix: String,
}

/// Elements of an array that a batch selects, in the order in which they are in the output.
pub struct Selected {
    /// Those elements.
    pub selection: Selection,
    /// The shape of the output.
    pub shape: Vec<u64>,
    /// For each axis of the array one past the last coordinate.
    pub end: Vec<u64>,
}

/// Every item of a batch.
pub struct Parts {
    items: Vec<Item>,
    starts: Vec<Vec<u64>>,
    /// As [`Selected::end`].
    pub end: Vec<u64>,
}

/// Elements of a chunk and their places.
struct Item {
    chunk: Vec<u64>,
    within: Within,
    place: Vec<AxisIndices>,
}

enum Within {
    /// Every combination of the coordinates along the axes.
    Outer(Vec<AxisIndices>),
    /// The coordinates of each element, one list for each axis.
    Points(Vec<Vec<u64>>),
}

/// What is selected along an axis.
#[derive(Clone, Debug)]
enum AxisIndices {
    Single(u64),
    Steps { start: u64, count: u64, step: u64 },
    List(Vec<u64>),
}

impl AxisIndices {
    fn of_slice(slice: &Bound<'_, PySlice>, len: u64) -> PyResult<AxisIndices> {
        let found = slice.indices(isize::try_from(len).unwrap_or(isize::MAX))?;
        let count = found.slicelength as u64;
        if found.step < 1 {
            return Err(PyValueError::new_err("a pipeline takes slices with positive steps only"));
        }
        Ok(AxisIndices::Steps { start: found.start as u64, count, step: found.step as u64 })
    }

    fn len(&self) -> u64 {
        match self {
            AxisIndices::Single(_) => 1,
            AxisIndices::Steps { count, .. } => *count,
            AxisIndices::List(list) => list.len() as u64,
        }
    }

    fn iter(&self) -> Box<dyn Iterator<Item = u64> + '_> {
        match self {
            AxisIndices::Single(at) => Box::new(std::iter::once(*at)),
            AxisIndices::Steps { start, count, step } => {
                Box::new((0..*count).map(move |n| start + n * step))
            }
            AxisIndices::List(list) => Box::new(list.iter().copied()),
        }
    }

    /// One past the last coordinate.
    fn end(&self) -> u64 {
        match self {
            AxisIndices::Steps { count: 0, .. } => 0,
            AxisIndices::Steps { start, count, step } => start + (count - 1) * step + 1,
            other => other.iter().max().map_or(0, |last| last.saturating_add(1)),
        }
    }

    fn to_selection(&self) -> AxisSelection {
        match self {
            AxisIndices::Single(at) => AxisSelection::Index(*at),
            AxisIndices::Steps { count: 0, .. } => steps(0..0, 1),
            AxisIndices::Steps { start, step, .. } => match i64::try_from(*step) {
                Ok(step) => steps(*start..self.end(), step),
                Err(_) => steps(*start..*start + 1, 1),
            },
            AxisIndices::List(list) => AxisSelection::List(list.clone()),
        }
    }

    /// These coordinates, by steps if they have equal distances.
    fn of_list(list: Vec<u64>) -> AxisIndices {
        let step = match list[..] {
            [first, second, ..] if second > first => second - first,
            _ => 1,
        };
        match list.first() {
            Some(&start) if list.windows(2).all(|two| two[0].checked_add(step) == Some(two[1])) => {
                AxisIndices::Steps { start, count: list.len() as u64, step }
            }
            _ => AxisIndices::List(list),
        }
    }
}

/// The shape of an array of NumPy's.
pub fn shape_of(array: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    array.getattr("shape")?.extract()
}

impl<'a, 'py> Batch<'a, 'py> {
    /// A batch of items that are all of this array.
    pub fn new(
        array: &Array,
        items: &'a Bound<'py, PyList>,
        drop_axes: Vec<usize>,
    ) -> PyResult<Batch<'a, 'py>> {
        let metadata = array.metadata();
        let grid = metadata.grid.clone().ok_or_else(|| {
            pyo3::exceptions::PyNotImplementedError::new_err("the chunk grid is not known here")
        })?;
        let prefix = match array.path().as_str().trim_start_matches('/') {
            "" => String::new(),
            path => format!("{path}/"),
        };
        Ok(Batch { items, drop_axes, metadata, grid, prefix })
    }

    fn rank(&self) -> usize {
        self.metadata.shape.len()
    }

    /// The chunk of an item; `None` for a path that is no chunk's.
    fn chunk_of(&self, item: &Bound<'py, PyTuple>) -> PyResult<Option<Vec<u64>>> {
        let path = item.get_item(0)?.getattr("path")?;
        let path: std::borrow::Cow<'_, str> = path.extract()?;
        let Some(key) = path.strip_prefix(self.prefix.as_str()) else { return Ok(None) };
        let chunk = self.metadata.chunk_keys.parse(key, self.rank());
        Ok(chunk.and_then(|indices| {
            indices.into_iter().map(|index| u64::try_from(index).ok()).collect()
        }))
    }

    fn item(&self, n: usize) -> PyResult<Bound<'py, PyTuple>> {
        Ok(self.items.get_item(n)?.cast_into()?)
    }

    /// The chunk of each item; `None` if one has another form.
    pub fn chunks(&self) -> PyResult<Option<Vec<Vec<u64>>>> {
        (0..self.items.len()).map(|n| self.chunk_of(&self.item(n)?)).collect()
    }

    /// The box that the items fill, chunk after chunk in C order, without steps. `None` if they do not.
    pub fn as_box(&self) -> PyResult<Option<Selected>> {
        let count = self.items.len();
        if count == 0 || !self.drop_axes.is_empty() {
            return Ok(None);
        }
        let first = self.item(0)?;
        let Some(low) = self.chunk_of(&first)? else { return Ok(None) };
        let from = axes_of(&first.get_item(2)?)?;
        let (high, to) = if count == 1 {
            (low.clone(), from.clone())
        } else {
            let last = self.item(count - 1)?;
            let Some(high) = self.chunk_of(&last)? else { return Ok(None) };
            (high, axes_of(&last.get_item(2)?)?)
        };
        let rank = self.rank();
        if from.len() != rank || to.len() != rank {
            return Ok(None);
        }
        let mut axes = Vec::with_capacity(rank);
        let (mut shape, mut end, mut chunks) = (Vec::new(), Vec::new(), 1u64);
        for axis in 0..rank {
            if high[axis] < low[axis] {
                return Ok(None);
            }
            let (Some(from), Some(to)) = (
                self.straight(&from[axis], axis, low[axis])?,
                self.straight(&to[axis], axis, high[axis])?,
            ) else {
                return Ok(None);
            };
            let (start, stop) = (from.1, to.2);
            chunks = chunks.saturating_mul(high[axis] - low[axis] + 1);
            match (from.0, to.0) {
                (true, true) if low[axis] == high[axis] && start + 1 == stop => {
                    axes.push(AxisSelection::Index(start));
                }
                (false, false) if start <= stop => {
                    axes.push(steps(start..stop, 1));
                    shape.push(stop - start);
                }
                _ => return Ok(None),
            }
            end.push(stop);
        }
        if chunks != count as u64 || !self.are_all_keys(&low, &high)? {
            return Ok(None);
        }
        Ok(Some(Selected { selection: Selection::outer(axes), shape, end }))
    }

    /// An integer or a slice without steps: whether it is an integer, and the coordinates in the array at which it begins and ends.
    fn straight(
        &self,
        along: &Bound<'py, PyAny>,
        axis: usize,
        chunk: u64,
    ) -> PyResult<Option<(bool, u64, u64)>> {
        let span = self.grid.span(axis, chunk);
        let (is_single, indices) = match along.cast::<PySlice>() {
            Ok(slice) => (false, AxisIndices::of_slice(slice, span.stored)?),
            Err(_) => match along.extract::<u64>() {
                Ok(at) => (true, AxisIndices::Single(at)),
                Err(_) => return Ok(None),
            },
        };
        let first = match indices {
            AxisIndices::Single(at) => at,
            AxisIndices::Steps { start, step: 1, .. } => start,
            _ => return Ok(None),
        };
        let start = span.start + first;
        Ok(Some((is_single, start, start + indices.len())))
    }

    /// Whether the items are the chunks from `low` to `high`, each once, in C order.
    fn are_all_keys(&self, low: &[u64], high: &[u64]) -> PyResult<bool> {
        let mut at: Vec<i64> = low.iter().map(|&index| index as i64).collect();
        for n in 0..self.items.len() {
            let path = self.item(n)?.get_item(0)?.getattr("path")?;
            let path: std::borrow::Cow<'_, str> = path.extract()?;
            let key = self.metadata.chunk_keys.key(&at);
            if path.strip_prefix(self.prefix.as_str()) != Some(key.as_str()) {
                return Ok(false);
            }
            for axis in (0..at.len()).rev() {
                if at[axis] < high[axis] as i64 {
                    at[axis] += 1;
                    break;
                }
                at[axis] = low[axis] as i64;
            }
        }
        Ok(true)
    }

    /// Every item; `None` if one has another form. `output` is the shape of the output, or of the elements.
    pub fn parts(&self, output: &[u64]) -> PyResult<Option<Parts>> {
        let (mut items, mut starts) = (Vec::new(), Vec::new());
        let mut end = vec![0; self.rank()];
        for n in 0..self.items.len() {
            let item = self.item(n)?;
            let Some(chunk) = self.chunk_of(&item)? else { return Ok(None) };
            let Some(within) = self.within(&axes_of(&item.get_item(2)?)?, &chunk)? else {
                return Ok(None);
            };
            let axes: Vec<u64> =
                (0..chunk.len()).map(|axis| self.grid.span(axis, chunk[axis]).start).collect();
            let ends: Vec<u64> = match &within {
                Within::Outer(axes) => axes.iter().map(AxisIndices::end).collect(),
                Within::Points(axes) => {
                    axes.iter().map(|list| list.iter().max().map_or(0, |&at| at + 1)).collect()
                }
            };
            for axis in 0..end.len() {
                end[axis] = end[axis].max(axes[axis] + ends[axis]);
            }
            let Some(place) = place(&axes_of(&item.get_item(3)?)?, &within, output)? else {
                return Ok(None);
            };
            items.push(Item { chunk, within, place });
            starts.push(axes);
        }
        Ok(Some(Parts { items, starts, end }))
    }

    fn within(&self, axes: &[Bound<'py, PyAny>], chunk: &[u64]) -> PyResult<Option<Within>> {
        if axes.len() != self.rank() {
            return Ok(None);
        }
        let mut arrays = 0;
        let mut flat = true;
        for along in axes.iter().filter(|along| along.hasattr("ndim").unwrap_or(false)) {
            let ndim: usize = along.getattr("ndim")?.extract()?;
            arrays += usize::from(ndim > 0);
            flat &= ndim == 1;
        }
        if arrays > 1 && flat {
            let points = axes.iter().map(coordinates).collect::<PyResult<Option<Vec<_>>>>()?;
            return Ok(points
                .filter(|_| arrays == axes.len())
                .filter(|points| points.iter().all(|list| list.len() == points[0].len()))
                .map(Within::Points));
        }
        let mut outer = Vec::with_capacity(axes.len());
        for (axis, along) in axes.iter().enumerate() {
            let span = self.grid.span(axis, chunk[axis]);
            let found = if let Ok(slice) = along.cast::<PySlice>() {
                AxisIndices::of_slice(slice, span.stored)?
            } else if let Ok(at) = along.extract::<u64>() {
                AxisIndices::Single(at)
            } else if let Some(list) = coordinates(along)? {
                AxisIndices::List(list)
            } else {
                return Ok(None);
            };
            outer.push(match (self.drop_axes.contains(&axis), found) {
                (true, found) => match found.iter().next() {
                    Some(at) if found.len() == 1 => AxisIndices::Single(at),
                    _ => return Ok(None),
                },
                (false, found) => found,
            });
        }
        Ok(Some(Within::Outer(outer)))
    }
}

/// The selections along each axis: a tuple of them, or one.
fn axes_of<'py>(selection: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    match selection.cast::<PyTuple>() {
        Ok(tuple) => Ok(tuple.iter().collect()),
        Err(_) => Ok(vec![selection.clone()]),
    }
}

/// The coordinates that an array of integers or bools names; `None` for other objects, and negative numbers.
fn coordinates(along: &Bound<'_, PyAny>) -> PyResult<Option<Vec<u64>>> {
    let py = along.py();
    let Ok(kind) = along.getattr("dtype").and_then(|dtype| dtype.getattr("kind")) else {
        return Ok(None);
    };
    let array = match kind.extract::<std::borrow::Cow<'_, str>>()?.as_ref() {
        "b" => along.call_method0("nonzero")?.get_item(0)?,
        "i" | "u" => along.clone(),
        _ => return Ok(None),
    };
    let array = py.import("numpy")?.getattr("asarray")?.call1((array, "int64"))?;
    let array = array.cast_into::<PyArrayDyn<i64>>()?;
    let list = array.readonly().as_array().iter().map(|&at| u64::try_from(at).ok()).collect();
    Ok(list)
}

/// The places of a chunk's elements in an output of this shape; `None` if they do not fit.
fn place(
    axes: &[Bound<'_, PyAny>],
    within: &Within,
    output: &[u64],
) -> PyResult<Option<Vec<AxisIndices>>> {
    let lens: Vec<u64> = match within {
        Within::Points(points) => vec![points.first().map_or(0, |list| list.len() as u64)],
        Within::Outer(axes) => {
            let kept = axes.iter().filter(|along| !matches!(along, AxisIndices::Single(_)));
            kept.map(AxisIndices::len).collect()
        }
    };
    if axes.len() != lens.len() {
        return Ok(None);
    }
    let mut places = Vec::with_capacity(lens.len());
    for (axis, (along, len)) in axes.iter().zip(lens).enumerate() {
        let found = if let Ok(slice) = along.cast::<PySlice>() {
            // A scalar is written everywhere.
            let whole =
                if output.is_empty() { u64::MAX } else { output.get(axis).copied().unwrap_or(0) };
            AxisIndices::of_slice(slice, whole)?
        } else if let Some(list) = coordinates(along)? {
            AxisIndices::List(list)
        } else {
            return Ok(None);
        };
        if found.len() != len {
            return Ok(None);
        }
        places.push(found);
    }
    Ok(Some(places))
}

impl Parts {
    /// The parts as the library reads them.
    pub fn chunk_parts(self) -> Vec<ChunkPart> {
        self.items
            .into_iter()
            .map(|item| ChunkPart {
                chunk: item.chunk,
                within: match item.within {
                    Within::Outer(axes) => {
                        Selection::outer(axes.iter().map(AxisIndices::to_selection))
                    }
                    Within::Points(points) => Selection::points(points),
                },
                place: Selection::outer(item.place.iter().map(AxisIndices::to_selection)),
            })
            .collect()
    }

    /// All items as one selection of the array, if they are one and fill the output.
    pub fn composed(self) -> Option<Selected> {
        match &self.items.first()?.within {
            Within::Outer(axes) => self.outer(axes.len()),
            Within::Points(axes) => self.points(axes.len()),
        }
    }

    /// Each axis by itself: what a chunk's neighbours along the other axes select there is the same.
    fn outer(&self, rank: usize) -> Option<Selected> {
        let mut along: Vec<BTreeMap<u64, usize>> = vec![BTreeMap::new(); rank];
        for (n, item) in self.items.iter().enumerate() {
            for (axis, &chunk) in item.chunk.iter().enumerate() {
                along[axis].entry(chunk).or_insert(n);
            }
        }
        let count = along.iter().try_fold(1usize, |count, axis| count.checked_mul(axis.len()))?;
        if count != self.items.len() {
            return None;
        }
        let (mut selection, mut shape) = (Vec::with_capacity(rank), Vec::new());
        for (axis, chunks) in along.iter().enumerate() {
            let mut list = Vec::new();
            let mut single = None;
            for &n in chunks.values() {
                let Item { within: Within::Outer(within), place, .. } = &self.items[n] else {
                    return None;
                };
                let start = self.starts[n][axis];
                if let AxisIndices::Single(at) = within[axis] {
                    single = Some(start + at);
                    continue;
                }
                let kept = within[..axis].iter().filter(|it| !matches!(it, AxisIndices::Single(_)));
                let place = place.get(kept.count())?;
                list.resize(list.len().max(usize::try_from(place.end()).ok()?), None);
                for (to, from) in place.iter().zip(within[axis].iter()) {
                    *list.get_mut(usize::try_from(to).ok()?)? = Some(start + from);
                }
            }
            selection.push(match single {
                Some(at) if chunks.len() == 1 => AxisSelection::Index(at),
                Some(_) => return None,
                None => {
                    let list = AxisIndices::of_list(list.into_iter().collect::<Option<_>>()?);
                    shape.push(list.len());
                    list.to_selection()
                }
            });
        }
        Some(Selected { selection: Selection::outer(selection), shape, end: self.end.clone() })
    }

    fn points(&self, rank: usize) -> Option<Selected> {
        let mut lists: Vec<Vec<Option<u64>>> = vec![Vec::new(); rank];
        for (item, starts) in self.items.iter().zip(&self.starts) {
            let (Within::Points(points), [place]) = (&item.within, &item.place[..]) else {
                return None;
            };
            let len = usize::try_from(place.end()).ok()?;
            for (axis, list) in lists.iter_mut().enumerate() {
                list.resize(list.len().max(len), None);
                for (to, from) in place.iter().zip(points.get(axis)?) {
                    *list.get_mut(usize::try_from(to).ok()?)? = Some(starts[axis] + from);
                }
            }
        }
        let lists = lists.into_iter().map(|list| list.into_iter().collect());
        let lists = lists.collect::<Option<Vec<Vec<u64>>>>()?;
        let shape = vec![lists.first()?.len() as u64];
        Some(Selected { selection: Selection::points(lists), shape, end: self.end.clone() })
    }
}
