//! Copies the elements of an array into other chunks within a bound on memory.
//!
//! The target's objects are cut into groups (`plan`): boxes of whole objects, each written once. A group that fits into
//! memory is read and written by one worker after the other (`workers`). Where so large a group would make source chunks
//! be decoded many times, as from thin slabs to cubes, larger groups go through a temporary file (`spool`): each source
//! chunk is decoded once, and what of it belongs to one object is kept in the file until the object is whole.

mod axis;
mod combinations;
mod encoded_room;
mod plan;
mod spool;
mod spooled;
mod stored;
mod workers;

use std::path::PathBuf;

use zarr_core::metadata::ArrayMetadata;
use zarr_core::runtime::available_threads;
use zarr_core::store::SnapshotOptions;
use zarr_core::{
    Array, CancelToken, Guard, Hierarchy, MissingChunks, Region, Result, Selection, View, ViewMut,
};

pub(super) use self::axis::gcd;
use self::axis::{Axis, Boxes, inside, ordinals_of, region_of};
use self::encoded_room::EncodedRoom;
use self::plan::{Numbers, Plan, Way, largest_spool};
use self::stored::Stored;
pub(crate) use self::workers::Done;
pub(crate) use self::workers::{Buffers, Workers};
use super::memory::default_memory;

/// How elements are copied.
#[derive(Clone, Default)]
pub(crate) struct ElementOptions<'a> {
    /// Bytes that the whole process may have; `None` for a quarter of the machine's.
    pub memory: Option<u64>,
    /// Whether objects of nothing but the source's fill value are not written.
    pub leaves_holes: bool,
    /// Cancels the copy.
    pub cancel: Option<CancelToken>,
    /// Whether an object is there already, and is left out.
    pub is_done: Option<&'a (dyn Fn(&Region) -> bool + Sync)>,
    /// Where a temporary file is made; `None` for the system's folder for such.
    pub folder: Option<PathBuf>,
    /// What is copied of the source; `None` for all.
    pub source: Option<Source<'a>>,
    /// Reads what a region of the target gets, where that is not the source's bytes. `source` has no start then.
    pub convert: Option<&'a Convert<'a>>,
}

/// Reads what a region of the target gets.
pub(crate) type Convert<'a> = dyn Fn(&Array, &Region) -> Result<Vec<u8>> + Sync + 'a;

/// What is copied of a source.
#[derive(Clone)]
pub(crate) struct Source<'a> {
    /// What of the source a region of the target is.
    pub select: &'a (dyn Fn(&Region) -> Selection + Sync),
    /// Where the target's first element is in the source, if the copy is a box of it.
    pub start: Option<Vec<u64>>,
}

/// The copy of one array's elements, planned.
pub(crate) struct Rechunk<'a> {
    from: Array,
    to: Array,
    numbers: Option<Numbers>,
    plan: Option<Plan>,
    stored: Option<Stored>,
    options: &'a ElementOptions<'a>,
    buffers: Buffers,
    /// Room for what threads encode at the same time, if their memory may be too little for all.
    encoded: Option<EncodedRoom>,
    element: usize,
    /// The source's fill value.
    fill: Vec<u8>,
    /// Whether an object of nothing but `fill` need not be written.
    skips_fill: bool,
}

/// Objects of the target that are copied together.
#[derive(Clone, Debug)]
struct Job {
    /// The box of all of them.
    place: Region,
    /// What of it is written: boxes of whole objects.
    parts: Vec<Region>,
}

impl<'a> Rechunk<'a> {
    /// Plans a copy. Nothing is read but the source's keys.
    ///
    /// # Errors
    /// An argument error, with the memory that is needed, if that is more than the options give.
    pub fn new(from: &Array, to: &Array, options: &'a ElementOptions<'a>) -> Result<Rechunk<'a>> {
        let shape = to.shape();
        let start = match &options.source {
            Some(source) => source.start.clone(),
            None => Some(vec![0; shape.len()]),
        };
        let memory = options.memory.unwrap_or_else(default_memory);
        // Where chunks that are not stored are errors, none is passed over.
        let passes_over = from.options().missing == MissingChunks::Fill;
        let stored = match &start {
            Some(start) if passes_over => Stored::of(from, start, &shape, memory / 8)?,
            _ => None,
        };
        let numbers = numbers(
            (from, longest(from, options.memory)),
            &to.metadata(),
            to.hierarchy(),
            start.as_deref(),
            stored.as_ref(),
        );
        let plan = numbers.as_ref().map(|numbers| plan(from, numbers, options.memory)).transpose();
        let plan =
            plan.map_err(|e| e.at_store(to.hierarchy().store().name()).at_path(to.path()))?;
        let writers = plan.as_ref().map_or(1, |plan| match &plan.way {
            Way::Direct { workers, threads, .. } => (*workers).max(*threads),
            Way::Spooled(how) => how.writers,
        });
        let encoded = numbers.as_ref().and_then(|numbers| numbers.encoded_room(writers));
        let (source, target) = (from.metadata(), to.metadata());
        let skips_fill = skips_fill(&source, to, options.leaves_holes);
        let index_memory = Some(memory / 16);
        let from = from.with_options(|all| {
            all.cancel = options.cancel.clone().or(all.cancel.take());
            all.index_memory = all.index_memory.or(index_memory);
        });
        let to = to.with_options(|all| {
            all.cancel = options.cancel.clone().or(all.cancel.take());
            // The copy is the only writer: chunks at the edge are set, and not merged.
            all.guard = Guard::Off;
        });
        Ok(Rechunk {
            from,
            to,
            numbers,
            plan,
            stored,
            options,
            buffers: Buffers::default(),
            encoded,
            element: target.data_type.repr().map_or(1, |repr| repr.size()),
            fill: source.fill_bytes(),
            skips_fill,
        })
    }

    /// Bytes of the temporary file that the copy uses; 0 if it needs none.
    pub fn spool(&self) -> u64 {
        self.plan.as_ref().map_or(0, |plan| plan.spool)
    }

    /// Copies boxes of whole objects of the target. Calls `done` on this thread for each box of objects that is stored, or
    /// that is a hole; together those are the boxes without the objects that were there already.
    pub fn copy(&self, boxes: &[Region], done: Done<'_>) -> Result<()> {
        let (Some(numbers), Some(plan)) = (&self.numbers, &self.plan) else { return Ok(()) };
        let jobs = Jobs::of(numbers, plan, boxes);
        match &plan.way {
            Way::Direct { workers, threads, buffer } => {
                let (from, to) =
                    (with_threads(&self.from, *threads), with_threads(&self.to, *threads));
                let is_whole = numbers.is_variable() || self.options.convert.is_some();
                let buffer = if is_whole { 0 } else { *buffer as usize };
                self.workers(*workers, buffer).run(
                    jobs,
                    |buffer, job, done| self.copy_directly(&from, &to, job, buffer, done),
                    done,
                )
            }
            Way::Spooled(how) => {
                let from = with_threads(&self.from, 1);
                let arrays = (&from, &with_threads(&self.to, how.encoders));
                self.copy_spooled(arrays, numbers, how, jobs, done)
            }
        }
    }

    fn workers(&self, count: usize, buffer: usize) -> Workers<'_> {
        let (buffers, cancel) = (&self.buffers, self.options.cancel.as_ref());
        Workers { count, buffer, buffers, cancel, stop: None }
    }

    /// How many threads write one group at a time.
    fn direct_threads(&self) -> usize {
        match self.plan.as_ref().map(|plan| &plan.way) {
            Some(Way::Direct { threads, .. }) => *threads,
            _ => 1,
        }
    }

    /// The parts of a job without the objects that are there already.
    fn remaining(&self, numbers: &Numbers, parts: Vec<Region>) -> Vec<Region> {
        let Some(is_done) = self.options.is_done else { return parts };
        parts
            .iter()
            .flat_map(|part| {
                let objects: Vec<Region> = objects(&numbers.to, part).collect();
                let left: Vec<Region> = objects.iter().filter(|o| !is_done(o)).cloned().collect();
                if left.len() == objects.len() { vec![part.clone()] } else { left }
            })
            .collect()
    }

    /// What of the source a region of the target is.
    fn source(&self, region: &Region) -> Selection {
        match &self.options.source {
            Some(source) => (source.select)(region),
            None => region.into(),
        }
    }

    /// Whether nothing of a region is stored, as far as that is known.
    fn is_hole(&self, region: &Region) -> bool {
        self.stored.as_ref().is_some_and(|stored| !stored.touches(region))
    }

    /// Copies a group through memory.
    fn copy_directly(
        &self,
        from: &Array,
        to: &Array,
        job: Job,
        buffer: &mut [u8],
        done: &mut dyn FnMut(Region) -> Result<()>,
    ) -> Result<()> {
        let Some(numbers) = &self.numbers else { return Ok(()) };
        let place = &job.place;
        let parts = self.remaining(numbers, job.parts);
        if parts.is_empty() || self.skips_fill && self.is_hole(place) {
            return parts.into_iter().try_for_each(done);
        }
        if numbers.is_variable() || self.options.convert.is_some() {
            return parts.into_iter().try_for_each(|part| self.copy_bytes(from, to, part, done));
        }
        let shape = place.shape();
        let size = self.size_of(place);
        let memory = &mut buffer[..size];
        from.read_view(self.source(place), ViewMut::new(memory, &shape, self.element))?;
        let all = View::new(memory, &shape, self.element);
        for part in parts {
            if self.options.leaves_holes {
                for object in objects(&numbers.to, &part) {
                    let elements = all.part(&inside(&object, place));
                    if !elements.is_all(&self.fill) {
                        self.write(to, &object, elements)?;
                    }
                }
            } else if self.encoded.is_some() {
                let objects: Vec<Region> = objects(&numbers.to, &part).collect();
                let buffers = Buffers::default();
                let workers = Workers {
                    count: self.direct_threads().min(objects.len()),
                    buffer: 0,
                    buffers: &buffers,
                    cancel: self.options.cancel.as_ref(),
                    stop: None,
                };
                workers.run(
                    objects.into_iter(),
                    |_, object, _| {
                        self.write(to, &object, all.part(&inside(&object, place))).map(drop)
                    },
                    &mut |(): &()| Ok(()),
                )?;
            } else {
                to.write_view(&part, all.part(&inside(&part, place)))?;
            }
            done(part)?;
        }
        Ok(())
    }

    /// Writes an object, once there is room for it encoded.
    fn write(&self, to: &Array, object: &Region, elements: View<'_>) -> Result<()> {
        let write = || to.write_view(object, elements);
        let Some(room) = &self.encoded else { return write() };
        room.encode(write, || {
            let chunk = to.chunks(object).ok()?.next()?;
            let store = to.hierarchy().store().to_sync();
            let stored = store.open(&chunk.key().ok()?, SnapshotOptions::default()).ok()??;
            stored.read(&[]).ok()?;
            Some(stored.size())
        })
    }

    /// Copies elements of variable length, or converted ones.
    fn copy_bytes(
        &self,
        from: &Array,
        to: &Array,
        part: Region,
        done: &mut dyn FnMut(Region) -> Result<()>,
    ) -> Result<()> {
        let Some(numbers) = &self.numbers else { return Ok(()) };
        if self.options.leaves_holes {
            objects(&numbers.to, &part)
                .try_for_each(|object| self.copy_object(from, to, &object))?;
        } else {
            self.copy_object(from, to, &part)?;
        }
        done(part)
    }

    /// Copies the elements of one object, or of a part that is copied as one.
    fn copy_object(&self, from: &Array, to: &Array, region: &Region) -> Result<()> {
        let (bytes, is_fill) = match self.options.convert {
            Some(convert) => {
                let bytes = convert(from, region)?;
                // Of what is converted, only zeros and empty texts are left out.
                let is_fill = bytes.iter().all(|&byte| byte == 0);
                (bytes, is_fill)
            }
            None => {
                let bytes = from.read_bytes(self.source(region))?;
                let is_fill = super::elements::is_all(&self.fill, &bytes, true);
                (bytes, is_fill)
            }
        };
        if self.options.leaves_holes && is_fill {
            return Ok(());
        }
        to.write_bytes(region, &bytes)
    }

    fn size_of(&self, region: &Region) -> usize {
        // The plan has seen that it fits into memory.
        region.element_count().unwrap_or(0) as usize * self.element
    }
}

/// The array, read and written by so many threads.
fn with_threads(array: &Array, threads: usize) -> Array {
    array.with_options(|options| options.threads = threads)
}

/// Whether an object of nothing but the source's fill value need not be written.
pub(crate) fn skips_fill(source: &ArrayMetadata, to: &Array, leaves_holes: bool) -> bool {
    let target = to.metadata();
    let is_same = target.fill_value.as_ref().is_some_and(|fill| {
        fill.as_bytes() == source.fill_bytes() && !to.hierarchy().options().keep_fill_chunks
    });
    is_same || leaves_holes
}

/// Refuses a copy that would need more memory than it is given; returns the bytes of the temporary file that it would
/// make at most. `start` is where a box of the source begins that is copied.
///
/// # Errors
/// As [`Rechunk::new`].
pub(crate) fn check_memory(
    from: &Array,
    copy: &ArrayMetadata,
    target: &Hierarchy,
    start: Option<&[u64]>,
    memory: Option<u64>,
) -> Result<u64> {
    let longest = longest(from, memory);
    let Some(first) = numbers((from, longest), copy, target, start, None) else { return Ok(0) };
    let planned = plan(from, &first, memory).or_else(|error| {
        // The source's chunks may be smaller than they look.
        let start = start.ok_or(error)?;
        let stored =
            Stored::of(from, start, &copy.shape, memory.unwrap_or_else(default_memory) / 8)?;
        let second = numbers((from, longest), copy, target, Some(start), stored.as_ref());
        plan(from, second.as_ref().unwrap_or(&first), memory)
    });
    planned.map(|plan| plan.spool)
}

/// How many bytes elements of variable length have, in that of some chunks that has the longest; looked at if the memory is
/// bounded.
fn longest(from: &Array, memory: Option<u64>) -> Option<u64> {
    let metadata = from.metadata();
    let flat = ArrayMetadata::clone(&metadata).unsharded();
    if memory.is_none() || !metadata.data_type.is_variable() {
        return None;
    }
    let grid = flat.grid.clone()?;
    let axes = Axis::all(&grid, &vec![0; flat.shape.len()], &flat.shape);
    (0..3)
        .filter_map(|part: u64| {
            // The first, one in the middle, and the last.
            let chunk: Vec<_> = axes
                .iter()
                .map(|axis| {
                    let at = axis.count().saturating_sub(1) * part / 2;
                    at..at + 1
                })
                .collect();
            let region = region_of(&axes, &chunk);
            let count = region.element_count().filter(|&count| count > 0)?;
            // A chunk that cannot be read is an error of the copy, not of its plan.
            Some(from.read_bytes(&region).ok()?.len() as u64 / count)
        })
        .max()
}

fn numbers(
    (from, longest): (&Array, Option<u64>),
    copy: &ArrayMetadata,
    target: &Hierarchy,
    start: Option<&[u64]>,
    stored: Option<&Stored>,
) -> Option<Numbers> {
    let largest = stored.and_then(|stored| stored.largest);
    Numbers::of(from, copy, &**target.store(), start, (largest, longest))
}

/// The plan within the memory that the caller gives; without such, one that can be.
fn plan(from: &Array, numbers: &Numbers, memory: Option<u64>) -> Result<Plan> {
    let threads = available_threads(from.hierarchy().options().threads);
    let planned = |memory| numbers.plan(memory, threads, largest_spool(memory));
    match memory {
        Some(memory) => planned(memory),
        None => planned(default_memory()).or_else(|_| planned(numbers.least())),
    }
}

/// The objects of a region of whole ones.
fn objects<'a>(axes: &'a [Axis], region: &Region) -> impl Iterator<Item = Region> + 'a {
    let ones = vec![1; axes.len()];
    Boxes::new(ordinals_of(axes, region), &ones).map(|object| region_of(axes, &object))
}

/// Boxes of objects, cut at the borders of groups; what is in one group is one job.
struct Jobs<'a> {
    /// The parts, each with the number of its group.
    parts: Box<dyn Iterator<Item = (Vec<u64>, Region)> + Send + 'a>,
    /// The part that comes next.
    next: Option<(Vec<u64>, Region)>,
}

impl<'a> Jobs<'a> {
    fn of(numbers: &'a Numbers, plan: &'a Plan, boxes: &'a [Region]) -> Jobs<'a> {
        let parts = boxes.iter().flat_map(move |all| {
            let cut = Boxes::new(ordinals_of(&numbers.to, all), &plan.group);
            let index = cut.clone();
            cut.map(move |found| (index.index(&found), region_of(&numbers.to, &found)))
        });
        if let [_] = boxes {
            return Jobs { parts: Box::new(parts), next: None };
        }
        // What several boxes have of a group is copied together.
        let mut parts: Vec<_> = parts.collect();
        parts.sort_by(|a, b| a.0.cmp(&b.0));
        Jobs { parts: Box::new(parts.into_iter()), next: None }
    }
}

impl Iterator for Jobs<'_> {
    type Item = Job;

    fn next(&mut self) -> Option<Job> {
        let (group, first) = self.next.take().or_else(|| self.parts.next())?;
        let mut job = Job { place: first.clone(), parts: vec![first] };
        for (other, part) in self.parts.by_ref() {
            if other != group {
                self.next = Some((other, part));
                break;
            }
            let pairs = job.place.intervals().iter().zip(part.intervals());
            job.place = Region::new(pairs.map(|(a, b)| a.start.min(b.start)..a.end.max(b.end)));
            job.parts.push(part);
        }
        Some(job)
    }
}

#[cfg(test)]
mod tests;
