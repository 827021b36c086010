//! Cuts what is selected of an array into parts, each in one stored chunk, and reads them.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use zarr_core::data_type::DataType;
use zarr_core::grid::{ChunkGrid, Piece, Pieces};
use zarr_core::region::element_count;
use zarr_core::{
    AccessError, Array, AxisSelection, CancelToken, ChunkPart, MissingChunks, Region, Result,
    Selection, ViewMut,
};

use super::sample::Sample;

/// A part of a shard is read at a time, of about this many bytes.
const PART: u64 = 8 << 20;
/// Bytes of variable-length elements that are taken together.
const VARIABLE_PART: u64 = 4 << 20;
/// Of more chunks, those that are stored are listed.
const MAX_CHUNKS_UNLISTED: u64 = 1 << 16;
/// More chunks are not tried one by one.
const MAX_CHUNKS_TRIED: u64 = 1 << 30;

/// Coordinates along an axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Along {
    /// `len` of them, from `start` on, each `step` further than the one before.
    Steps {
        /// The first.
        start: u64,
        /// From one to the next; negative to go backwards.
        step: i64,
        /// How many.
        len: u64,
    },
    /// These.
    List(Vec<u64>),
}

impl Along {
    /// All between two coordinates, without the last.
    pub fn range(range: Range<u64>) -> Along {
        Along::Steps { start: range.start, step: 1, len: range.end.saturating_sub(range.start) }
    }

    /// How many coordinates.
    pub fn len(&self) -> u64 {
        match self {
            Along::Steps { len, .. } => *len,
            Along::List(list) => list.len() as u64,
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The coordinate at a position, which there is.
    pub fn at(&self, position: u64) -> u64 {
        match self {
            // A position on an axis is right modulo 2^64.
            Along::Steps { start, step, .. } => {
                start.wrapping_add((*step as u64).wrapping_mul(position))
            }
            Along::List(list) => list[position as usize],
        }
    }

    /// What is selected at some positions, counted from `origin`.
    fn part(&self, positions: &Range<u64>, origin: u64) -> AxisSelection {
        match self {
            Along::Steps { step, .. } => {
                let (first, last) = (self.at(positions.start), self.at(positions.end - 1));
                let (low, high) = (first.min(last) - origin, first.max(last) - origin);
                zarr_core::steps(low..=high, *step)
            }
            Along::List(list) => {
                let list = &list[positions.start as usize..positions.end as usize];
                AxisSelection::List(list.iter().map(|at| at - origin).collect())
            }
        }
    }
}

/// What is selected of an array, and how it is cut.
pub(crate) struct Plan {
    pub array: Array,
    pub axes: Vec<Along>,
    pub data_type: DataType,
    pub element: usize,
    grid: Arc<dyn ChunkGrid>,
    /// The shape of the chunks in a shard.
    inner: Option<Vec<u64>>,
    /// The parts in stored chunks, if there are too many chunks to try each.
    stored: Option<Vec<Region>>,
    /// Of how many chunks one is read; 0 for all.
    one_of: u64,
    /// How many elements the chunks have that the last pass read.
    taken: AtomicU64,
    /// Ends the work that no read ends.
    pub cancel: CancelToken,
}

impl Plan {
    /// A plan for what is selected along each axis, all if nothing is.
    pub fn new(array: &Array, axes: Option<Vec<Along>>) -> Result<Plan> {
        let metadata = array.metadata();
        let axes: Vec<Along> = axes
            .unwrap_or_else(|| metadata.shape.iter().map(|&len| Along::range(0..len)).collect());
        // The reader says what it does not support, and what leaves the array.
        let none = metadata.shape.iter().map(|_| 0..0);
        array.read_bytes(Region::new(none))?;
        let (Some(grid), Some(data_type)) = (metadata.grid.clone(), metadata.data_type.resolved())
        else {
            return Err(AccessError::Argument("the array cannot be read".into()).into());
        };
        let element = metadata.data_type.repr().map_or(1, |repr| repr.size());
        let inner = metadata.has_shards().then(|| array.chunk_shape()).flatten();
        let mut cancel = None;
        let array = array.with_options(|options| {
            options.threads = 1;
            cancel.clone_from(&options.cancel);
        });
        Ok(Plan {
            array,
            axes,
            data_type,
            element,
            grid,
            inner,
            stored: None,
            one_of: 0,
            taken: AtomicU64::new(0),
            cancel: cancel.unwrap_or_default(),
        })
    }

    /// Ends the call whose result nobody waits for any more.
    ///
    /// # Errors
    /// [`AccessError::Cancelled`].
    pub fn check_cancelled(&self) -> Result<()> {
        if self.cancel.is_cancelled() { Err(AccessError::Cancelled.into()) } else { Ok(()) }
    }

    /// As [`Plan::new`]; of very many chunks those that are stored are listed first, so that only they are tried.
    pub fn of_stored(array: &Array, axes: Option<Vec<Along>>) -> Result<Plan> {
        let mut plan = Plan::new(array, axes)?;
        if plan.count() == u64::MAX {
            return Err(AccessError::Argument(
                "the selection has more elements than 64 bits can count".into(),
            )
            .into());
        }
        let chunks = plan.chunk_count();
        let are_plain = plan.axes.iter().all(|along| matches!(along, Along::Steps { step: 1, .. }));
        let lists = plan.array.hierarchy().store().capabilities().list;
        // Where chunks that are not stored are errors, the first one ends the work.
        let refuses = array.options().missing == MissingChunks::Error;
        if chunks > MAX_CHUNKS_UNLISTED && lists && !refuses && are_plain {
            plan.stored = plan.list()?;
        }
        if plan.stored.is_none() && !refuses {
            plan.check_chunks()?;
        }
        Ok(plan)
    }

    /// A plan of which a share of the chunks is read, at least one: always the same ones, one out of each row of as many.
    pub fn of_share(array: &Array, axes: Option<Vec<Along>>, share: f64) -> Result<Plan> {
        let mut plan = Plan::new(array, axes)?;
        plan.one_of = (1.0 / share).round().max(1.0) as u64;
        Ok(plan)
    }

    /// How many elements were in the chunks of the last pass.
    pub fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// Refuses more chunks than can be tried in any useful time.
    pub fn check_chunks(&self) -> Result<()> {
        let chunks = self.chunk_count();
        if chunks <= MAX_CHUNKS_TRIED {
            return Ok(());
        }
        let why = format!("{chunks} chunks are too many to try each; select fewer");
        Err(AccessError::Argument(why).into())
    }

    /// How many chunks the selection may touch.
    fn chunk_count(&self) -> u64 {
        self.axes
            .iter()
            .enumerate()
            .map(|(axis, along)| match along {
                Along::Steps { len: 0, .. } => 0,
                Along::Steps { len, .. } => {
                    let (a, b) = (along.at(0), along.at(len - 1));
                    let ends = [a.min(b), a.max(b)].map(|at| self.grid.locate(axis, at));
                    (ends[1].saturating_sub(ends[0])).saturating_add(1).min(*len)
                }
                Along::List(list) => list.len() as u64,
            })
            .fold(1, u64::saturating_mul)
    }

    /// The selected parts of all stored chunks, in C order of the chunks; nothing if their keys are not understood.
    fn list(&self) -> Result<Option<Vec<Region>>> {
        let (array, metadata) = (&self.array, self.array.metadata());
        let rank = metadata.rank();
        if metadata.shards.is_some() {
            return Ok(None);
        }
        let first: Vec<i64> = (0..rank).map(|axis| self.grid.span(axis, 0).index).collect();
        let key = array.chunk(&vec![0; rank])?.key()?;
        let Some(prefix) = key.as_str().strip_suffix(&metadata.chunk_keys.key(&first)) else {
            return Ok(None);
        };
        let mut parts = Vec::new();
        for key in array.hierarchy().chunk_keys(array.path(), &metadata)? {
            let indices = key.as_str().strip_prefix(prefix);
            let indices = indices.and_then(|rest| metadata.chunk_keys.parse(rest, rank));
            let Some(indices) = indices else { continue };
            let intervals = (0..rank).map(|axis| {
                let ordinal = u64::try_from(indices[axis].checked_sub(first[axis])?).ok()?;
                if ordinal >= self.grid.count(axis, metadata.shape[axis]) {
                    return None;
                }
                let span = self.grid.span(axis, ordinal);
                let (from, len) = (self.axes[axis].at(0), self.axes[axis].len());
                let begin = span.start.max(from);
                let end = span.start.saturating_add(span.len).min(from + len);
                (begin < end).then(|| begin - from..end - from)
            });
            parts.extend(intervals.collect::<Option<Vec<_>>>().map(Region::new));
        }
        parts.sort_by_key(|part| {
            part.intervals().iter().map(|range| range.start).collect::<Vec<_>>()
        });
        Ok(Some(parts))
    }

    /// How many elements are in no stored chunk, and where the first one is; nothing if all chunks are tried.
    pub fn absent(&self) -> Result<Option<(u64, Region)>> {
        let Some(stored) = &self.stored else { return Ok(None) };
        let count: u64 = stored.iter().filter_map(Region::element_count).sum();
        let absent = self.count().saturating_sub(count);
        if absent == 0 {
            return Ok(None);
        }
        let whole = self.pieces()?;
        // As many pieces as there are stored chunks, and one, have one that is not stored.
        let mut known = stored.iter().peekable();
        let first = whole
            .take(stored.len() + 1)
            .find(|piece| known.next_if(|next| **next == piece.place).is_none());
        let place =
            first.map_or_else(|| Region::new(self.axes.iter().map(|_| 0..1)), |piece| piece.place);
        let one = place.intervals().iter().map(|range| range.start..range.start + 1);
        Ok(Some((absent, Region::new(one))))
    }

    /// How many elements are selected.
    pub fn count(&self) -> u64 {
        let shape: Vec<u64> = self.axes.iter().map(Along::len).collect();
        element_count(&shape).unwrap_or(u64::MAX)
    }

    /// The parts: positions along each axis, all in one stored chunk.
    pub fn parts(&self) -> Result<Box<dyn Iterator<Item = Region> + Send + '_>> {
        if let Some(stored) = &self.stored {
            return Ok(Box::new(stored.iter().flat_map(|place| self.cut(place.clone()))));
        }
        if self.one_of == 0 {
            let pieces = self.pieces()?.map(|Piece { place, .. }| place);
            return Ok(Box::new(pieces.flat_map(|place| self.cut(place))));
        }
        self.taken.store(0, Ordering::Relaxed);
        let places = Sample::new(&self.axes, &self.grid, self.one_of)?.places();
        let counted = places.inspect(|place| {
            self.taken.fetch_add(place.element_count().unwrap_or(0), Ordering::Relaxed);
        });
        Ok(Box::new(counted.flat_map(|place| self.cut(place))))
    }

    /// The number of the chunk, or shard, along each axis that a part is in.
    pub fn chunk_of(&self, place: &Region) -> Vec<u64> {
        place
            .intervals()
            .iter()
            .enumerate()
            .map(|(axis, range)| self.grid.locate(axis, self.axes[axis].at(range.start)))
            .collect()
    }

    fn pieces(&self) -> Result<Pieces> {
        let is_variable = self.data_type.is_variable() && self.stored.is_none();
        let at_most = if is_variable { VARIABLE_PART } else { 1 };
        let positions = self.axes.iter().map(|along| along.part(&(0..along.len().max(1)), 0));
        let selection = if self.axes.iter().any(Along::is_empty) {
            Region::new(self.axes.iter().map(|_| 0..0)).into()
        } else {
            Selection::outer(positions)
        };
        self.array.pieces(selection, at_most)
    }

    /// A part of a shard, cut between its chunks where it is large.
    fn cut(&self, place: Region) -> Vec<Region> {
        let Some(inner) = &self.inner else { return vec![place] };
        let (mut parts, mut open) = (Vec::new(), vec![place]);
        while let Some(region) = open.pop() {
            // The first axis along which there is more than one chunk keeps the parts in order.
            let axis = (0..inner.len()).find(|&axis| {
                let range = &region.intervals()[axis];
                let chunks = (range.end - range.start) / inner[axis].max(1);
                chunks > 1 && matches!(&self.axes[axis], Along::Steps { step: 1, .. })
            });
            let count = region.element_count().unwrap_or(u64::MAX);
            let size = count.saturating_mul(self.element as u64);
            let Some(axis) = axis.filter(|_| size > PART) else {
                parts.push(region);
                continue;
            };
            let range = region.intervals()[axis].clone();
            let coordinate = self.axes[axis].at(range.start);
            let span = self.grid.span(axis, self.grid.locate(axis, coordinate));
            let within = coordinate - span.start + span.before;
            let middle = within + (range.end - range.start) / 2;
            let border = middle / inner[axis] * inner[axis];
            let cut = if border > within {
                border
            } else {
                within / inner[axis] * inner[axis] + inner[axis]
            };
            let cut = range.start + (cut - within);
            // The last one is taken first.
            open.push(with_interval(&region, axis, cut..range.end));
            open.push(with_interval(&region, axis, range.start..cut));
        }
        parts
    }

    /// About the most bytes of a part that is read, decoded.
    pub fn largest_part(&self) -> u64 {
        let extent = self.array.metadata().chunk_extent();
        let chunk = element_count(&extent).unwrap_or(u64::MAX).saturating_mul(self.element as u64);
        if self.inner.is_some() { chunk.min(2 * PART) } else { chunk }
    }

    /// Reads a part of fixed-size elements into `memory`, native and in C order. Returns whether its chunk is stored: else
    /// nothing is read, and the memory is left empty.
    pub fn read(&self, place: &Region, memory: &mut Vec<u8>) -> Result<bool> {
        let axes = place.intervals().iter().zip(&self.axes).enumerate();
        let mut chunk = Vec::with_capacity(self.axes.len());
        let mut within = Vec::with_capacity(self.axes.len());
        for (axis, (range, along)) in axes {
            let ordinal = self.grid.locate(axis, along.at(range.start));
            within.push(along.part(range, self.grid.span(axis, ordinal).start));
            chunk.push(ordinal);
        }
        let shape = place.shape();
        let size = element_count(&shape).and_then(|n| n.checked_mul(self.element as u64));
        let size = size.and_then(|size| usize::try_from(size).ok());
        let Some(size) = size else {
            let why = "a chunk has more bytes than memory can hold".to_owned();
            return Err(AccessError::Argument(why).into());
        };
        let limit = self.array.hierarchy().options().limits.decoded;
        if size as u64 > limit {
            let why = format!(
                "a chunk has {size} bytes, more than the limit of {limit} for decoded chunks"
            );
            return Err(AccessError::Argument(why).into());
        }
        memory.resize(size, 0);
        let out = ViewMut::new(memory, &shape, self.element);
        let whole = shape.iter().map(|&len| 0..len);
        let part =
            ChunkPart { chunk, within: Selection::outer(within), place: Region::new(whole).into() };
        let stored = self.array.read_chunks_into(&[part], out)?;
        Ok(stored.first() == Some(&true))
    }

    /// Reads a part of variable-length elements: each after its length, a little-endian number of four bytes.
    pub fn read_variable(&self, place: &Region) -> Result<Vec<u8>> {
        let axes = place.intervals().iter().zip(&self.axes);
        self.array.read_bytes(Selection::outer(axes.map(|(range, along)| along.part(range, 0))))
    }

    /// The coordinates of an element in the array, by its position in a part in C order.
    pub fn coordinates(&self, place: &Region, mut position: u64) -> Vec<u64> {
        let mut coordinates = vec![0; self.axes.len()];
        for (axis, range) in place.intervals().iter().enumerate().rev() {
            let len = (range.end - range.start).max(1);
            coordinates[axis] = self.axes[axis].at(range.start + position % len);
            position /= len;
        }
        coordinates
    }

    /// An element that was never written, in native bytes.
    pub fn fill(&self) -> Vec<u8> {
        self.array.metadata().fill_bytes()
    }
}

/// The region with another interval along one axis.
fn with_interval(region: &Region, axis: usize, interval: Range<u64>) -> Region {
    let mut intervals = region.intervals().to_vec();
    intervals[axis] = interval;
    Region::new(intervals)
}
