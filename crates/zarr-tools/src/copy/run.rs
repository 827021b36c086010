//! Runs parts of a copy: finds which chunks are stored already, copies the others, and marks the parts that are done.

use std::collections::{BTreeSet, HashSet};
use std::ops::Range;
use std::sync::Arc;

use zarr_core::format::{is_document_name, is_zarr_key, system_part};
use zarr_core::grid::ChunkGrid;
use zarr_core::metadata::ArrayMetadata;
use zarr_core::store::{StoreKey, StorePrefix};
use zarr_core::{
    AccessError, Array, CodecError, Error, ErrorKind, Guard, Hierarchy, MetadataError,
    MissingChunks, Node, NodePath, Region, Result, Selection,
};

use super::as_stored::{StoredCopy, chunk_number};
use super::elements::{ElementChoice, box_start, copy_elements};
use super::holes::{Chunks, MANY, runs, touched};
use super::journal::Journal;
use super::json::{DATASET, NO_MISSING};
use super::netcdf::Conversion;
use super::plan::{Plan, PlannedArray};
use super::rechunk::skips_fill;
use super::split::{boxes, region};
use super::{CopyOptions, Progress, Steps, Verify, report};
use crate::errors::at_node;

/// After this number of bytes the target is flushed for the first time, and after as many again as were flushed before.
const FIRST_FLUSH: u64 = 256 << 20;
/// About how many bytes are read back at once.
const BLOCK: u64 = 64 << 20;

/// A copy that was begun, or is gone on with.
pub(super) struct Begun {
    pub plan: Plan,
    /// Whether no chunk of the copy can be there.
    pub is_new: bool,
    /// What to tell of chunks that no array had, and that were erased.
    pub erased: Option<String>,
}

/// What to tell of chunks of no array that were erased for a copy: a person may have seen files of his own in them.
fn erased_leftovers(at: &NodePath, first: &StoreKey, count: usize) -> String {
    match count {
        1 => format!("{at}: `{first}` was erased: it looked like a chunk, and no array had it"),
        _ => format!(
            "{at}: {count} objects, such as `{first}`, were erased: they looked like chunks, and no array had them"
        ),
    }
}

/// The keys at a place without a document of its own that look like chunks and are in no array's folder. Erasing what is at the
/// place takes them along.
fn leftovers(target: &Hierarchy, at: &NodePath) -> Result<Vec<StoreKey>> {
    let arrays = match target.node(at) {
        Err(e) if e.kind() == ErrorKind::NotFound => Vec::new(),
        Ok(Node::Group(group)) if group.metadata().implicit => target.nodes(at)?,
        _ => return Ok(Vec::new()),
    };
    let store = target.store().to_sync();
    if !store.capabilities().list {
        return Ok(Vec::new());
    }
    let format = target.format();
    let folders = arrays.iter().filter_map(Node::as_array);
    let folders: HashSet<StorePrefix> =
        folders.map(|array| format.chunk_prefix(array.path())).collect::<Result<_, _>>()?;
    let is_of_array = |key: &StoreKey| {
        let ends = key.as_str().match_indices('/').map(|(end, _)| &key.as_str()[..=end]);
        ends.filter_map(|folder| StorePrefix::new(folder).ok()).any(|it| folders.contains(&it))
    };
    let listing = store.list_prefix(&format.chunk_prefix(at)?);
    let mut keys = listing.map_err(|e| Error::from(e).at_store(store.name()))?.keys;
    keys.retain(|key| {
        let name = key.as_str().rsplit('/').next().unwrap_or_default();
        let is_chunk_like = is_zarr_key(key) && !is_document_name(name);
        is_chunk_like && system_part(key.as_str()).is_none() && !is_of_array(key)
    });
    Ok(keys)
}

impl Plan {
    /// Puts the plan in the target, or finds an equal one there, and erases what others have left at the place of the copy.
    /// No part may be run before. Several processes may call it at the same time.
    ///
    /// # Errors
    /// [`AccessError::Exists`] if another copy to this place is under way; [`AccessError::ChunksWithoutArray`] if chunks are
    /// there that no array has, unless [`CopyOptions::overwrite`] is set; [`AccessError::Argument`] if others have left
    /// chunks and [`CopyOptions::parts`] is set: one process, without it, may erase those; what the store reports.
    pub fn begin(&self, target: &Hierarchy, options: &CopyOptions<'_>) -> Result<Plan> {
        let Begun { mut plan, erased, .. } = self.begun(target, options)?;
        plan.told.notes.extend(erased);
        Ok(plan)
    }

    /// As [`Plan::begin`].
    pub(super) fn begun(&self, target: &Hierarchy, options: &CopyOptions<'_>) -> Result<Begun> {
        let journal = Journal::new(target, &self.at);
        let stored = journal.plan()?;
        // What a copy under way has written is no leftover.
        let was_under_way = stored.is_some();
        let mut left = Vec::new();
        if options.overwrite {
            if !was_under_way {
                left = leftovers(target, &self.at)?;
            }
            self.erase_old(target, &journal)?;
        }
        let stored = stored.filter(|_| !options.overwrite);
        if stored.is_none() && !options.overwrite {
            self.refuse_chunks(target, &journal)?;
        }
        let (plan, is_ours) = match stored {
            Some(stored) => (stored, false),
            None if journal.put_plan(self)? => (self.clone(), true),
            None => {
                let found = journal.plan()?;
                let found = found.ok_or_else(|| {
                    at_node(AccessError::Conflict { attempts: 1 }, target, &self.at)
                })?;
                (found, false)
            }
        };
        if let Some(what) = plan.difference(self) {
            let why = format!("the unfinished copy here is a different one: {what}");
            return Err(at_node(AccessError::Argument(why), target, &self.at));
        }
        if !is_ours && journal.is_cleared(&plan)? {
            return Ok(Begun { plan, is_new: false, erased: None });
        }
        let mut in_the_way = Vec::new();
        for array in &plan.arrays {
            in_the_way.extend(target.chunk_keys(&array.to, &plan.metadata(target, array)?)?);
        }
        // Another process may have cleared the place and begun to copy.
        if !is_ours && journal.is_cleared(&plan)? {
            return Ok(Begun { plan, is_new: false, erased: None });
        }
        if options.parts.is_some() && !in_the_way.is_empty() && !is_ours {
            let why = format!(
                "found {} leftover chunks where the copy would be written",
                in_the_way.len()
            );
            return Err(at_node(AccessError::Argument(why), target, &self.at).with_hint(
                "another process is erasing them, or was killed while it did so; in that case, run `zarr copy` once with `--resume` \
                 and without `--part`",
            ));
        }
        let store = target.store().to_sync();
        for key in &in_the_way {
            store.erase(key).map_err(|e| Error::from(e).at_store(store.name()).at_key(key))?;
        }
        journal.set_cleared(&plan)?;
        if !was_under_way {
            left.append(&mut in_the_way);
        }
        let erased = left.first().map(|first| erased_leftovers(&self.at, first, left.len()));
        Ok(Begun { plan, is_new: is_ours, erased })
    }

    /// Refuses a place where chunks are that no array has, before anything is written: they may be all that is left of an
    /// array, or files of the user.
    fn refuse_chunks(&self, target: &Hierarchy, journal: &Journal) -> Result<()> {
        for array in &self.arrays {
            let found = target.chunk_keys(&array.to, &self.metadata(target, array)?)?;
            let Some(first) = found.first() else { continue };
            // Another process may have begun the same copy.
            if journal.plan()?.is_some() {
                return Ok(());
            }
            let error =
                AccessError::ChunksWithoutArray { key: first.to_string(), count: found.len() };
            let error = Error::from(error).at_store(target.store().name()).at_path(&array.to);
            return Err(error.with_hint(
                "restore the document of the array, move the files away, or copy to another place; `--overwrite` erases them first",
            ));
        }
        Ok(())
    }

    /// Erases what is at the place of the copy, but for files that are not Zarr's, and the journal of another copy.
    fn erase_old(&self, target: &Hierarchy, journal: &Journal) -> Result<()> {
        self.prove_source_stays(target)?;
        journal.erase()?;
        match target.erase(&self.at) {
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    /// The parts that are not done, by their numbers from 0 on.
    ///
    /// # Errors
    /// What the store reports.
    pub fn missing(&self, target: &Hierarchy) -> Result<Vec<usize>> {
        let done = Journal::new(target, &self.at).parts_done(self)?;
        Ok((0..self.parts.len()).filter(|part| !done.contains(part)).collect())
    }

    /// Copies the chunks of some parts that are not stored yet, and marks the parts as done. A part that is done is left out.
    ///
    /// # Errors
    /// What either store meets; [`AccessError::Cancelled`]; [`CodecError::Corrupt`] if [`CopyOptions::verify`] finds other
    /// elements than in the source.
    pub fn run(
        &self,
        parts: &[usize],
        source: &Hierarchy,
        target: &Hierarchy,
        options: &CopyOptions<'_>,
    ) -> Result<Progress> {
        let mut progress = self.progress();
        self.run_parts((parts, false), source, target, options, &mut progress)?;
        Ok(progress)
    }

    pub(super) fn run_parts(
        &self,
        (parts, is_new): (&[usize], bool),
        source: &Hierarchy,
        target: &Hierarchy,
        options: &CopyOptions<'_>,
        progress: &mut Progress,
    ) -> Result<()> {
        let journal = Journal::new(target, &self.at);
        let done = if is_new { BTreeSet::new() } else { self.done(&journal, target)? };
        let missing: Vec<usize> =
            parts.iter().copied().filter(|part| !done.contains(part)).collect();
        let others = (0..self.parts.len()).filter(|part| !missing.contains(part));
        progress.bytes_done = others.map(|part| self.bytes_of(part)).sum();
        let mut run = Run {
            plan: self,
            is_new,
            journal,
            target,
            left: self.parts.iter().map(|part| part.chunks()).collect(),
            options,
            flushed: 0,
            written: 0,
        };
        // A part is done only with its files.
        self.copy_files((parts, is_new), source, target, options)?;
        // A part without chunks has nothing to wait for.
        for &part in missing.iter().filter(|&&part| self.parts[part].chunks() == 0) {
            run.journal.set_done(part)?;
        }
        for number in 0..self.arrays.len() {
            let chunks: Vec<_> = missing
                .iter()
                .filter_map(|&part| {
                    let chunks = self.parts[part].chunks.iter();
                    let mut chunks = chunks.filter(move |(array, _)| *array == number);
                    chunks.next().map(|(_, chunks)| (part, chunks.clone()))
                })
                .collect();
            if !chunks.is_empty() {
                run.copy_array(number, &chunks, source, progress)?;
            }
        }
        Ok(())
    }

    /// The parts that are done, and have stored chunks of each of their arrays: not of what was erased since. A part that
    /// has nothing but fill of an array is copied again. Files are compared by [`Plan::copy_files`].
    fn done(&self, journal: &Journal, target: &Hierarchy) -> Result<BTreeSet<usize>> {
        let done = journal.parts_done(self)?;
        let mut trusted = done.clone();
        for (number, planned) in self.arrays.iter().enumerate() {
            let chunks: Vec<_> = done
                .iter()
                .filter_map(|&part| {
                    let mut chunks = self.parts[part].chunks.iter();
                    chunks.find(|(array, _)| *array == number).map(|(_, chunks)| (part, chunks))
                })
                .collect();
            if chunks.is_empty() {
                continue;
            }
            let stored = Place::new(planned, self.metadata(target, planned)?)?.stored(target)?;
            for (part, chunks) in chunks {
                if !stored.iter().any(|chunk| chunks.contains(chunk)) {
                    trusted.remove(&part);
                }
            }
        }
        Ok(trusted)
    }

    pub(super) fn progress(&self) -> Progress {
        Progress {
            nodes_total: self.nodes(),
            bytes_total: self.bytes(),
            files: self.files(),
            not_kept: self.told.not_kept.clone(),
            skipped: self.told.skipped.clone(),
            notes: self.told.notes.clone(),
            ..Progress::default()
        }
    }

    /// About how many bytes of elements a part has.
    fn bytes_of(&self, part: usize) -> u64 {
        self.parts[part]
            .chunks
            .iter()
            .map(|(array, chunks)| {
                let PlannedArray { chunks: all, bytes, .. } = self.arrays[*array];
                let chunks = u128::from(chunks.end - chunks.start);
                (u128::from(bytes) * chunks / u128::from(all.max(1))) as u64
            })
            .sum()
    }
}

/// What one process does for a copy.
struct Run<'a> {
    plan: &'a Plan,
    /// Whether no chunk was there before.
    is_new: bool,
    journal: Journal,
    target: &'a Hierarchy,
    /// How many chunks of each part are not done.
    left: Vec<u64>,
    options: &'a CopyOptions<'a>,
    flushed: u64,
    written: u64,
}

/// An array of the source, and its copy.
struct Pair {
    from: Array,
    to: Array,
    region: Option<Vec<Steps>>,
    /// How elements become those of the copy, if they are not the same.
    conversion: Option<Conversion>,
    /// Whether its stored objects are copied as they are.
    as_stored: bool,
    place: Place,
}

impl Pair {
    /// Whether chunks that are not stored read the same in both arrays.
    fn metadata_has_same_fill(&self) -> bool {
        let (from, to) = (self.from.metadata(), self.to.metadata());
        match (&from.fill_value, &to.fill_value) {
            (None, None) => true,
            // What has no value reads as anything in zarr-python 2, though as zeros here.
            (Some(_), None) => false,
            (_, Some(fill)) => fill.as_bytes() == from.fill_bytes(),
        }
    }

    /// What the copy has in a region, as the source has it.
    fn source(&self, region: &Region) -> Result<Vec<u8>> {
        match &self.conversion {
            Some(conversion) => conversion.read(&self.from, region),
            None => self.from.read_bytes(source_of(region, self.region.as_deref())),
        }
    }
}

/// Where the chunks of a copied array are.
struct Place {
    path: NodePath,
    metadata: ArrayMetadata,
    grid: Arc<dyn ChunkGrid>,
    /// How many there are along each axis.
    counts: Vec<u64>,
}

impl Place {
    fn new(planned: &PlannedArray, metadata: ArrayMetadata) -> Result<Place> {
        let grid = metadata
            .grid
            .clone()
            .ok_or_else(|| MetadataError::invalid("chunk_grid", "this build does not know it"))?;
        let axes = metadata.shape.iter().enumerate();
        let counts: Vec<u64> = axes.map(|(axis, &len)| grid.count(axis, len)).collect();
        if zarr_core::region::element_count(&counts) != Some(planned.chunks) {
            let why = format!("the document of {} has another number of chunks", planned.to);
            return Err(MetadataError::invalid("plan", why).into());
        }
        Ok(Place { path: planned.to.clone(), metadata, grid, counts })
    }

    /// The number, in C order, of the chunk that has the first element of a region.
    fn number_of(&self, region: &Region) -> u64 {
        let axes = region.intervals().iter().zip(&self.counts).enumerate();
        axes.fold(0, |at, (axis, (range, count))| at * count + self.grid.locate(axis, range.start))
    }

    fn regions(&self, chunks: &Range<u64>) -> Vec<Region> {
        let boxes = boxes(&self.counts, chunks.clone()).into_iter();
        boxes.map(|chunks| region(&*self.grid, &self.metadata.shape, &chunks)).collect()
    }

    /// The numbers of the chunks that are stored.
    fn stored(&self, target: &Hierarchy) -> Result<HashSet<u64>> {
        let prefix = target.format().chunk_prefix(&self.path)?;
        let keys = target.chunk_keys(&self.path, &self.metadata)?;
        let first = vec![0; self.counts.len()];
        let mut numbers = HashSet::new();
        for key in &keys {
            let Some(name) = prefix.strip(key) else { continue };
            let (metadata, grid) = (&self.metadata, &*self.grid);
            numbers.extend(chunk_number(name, metadata, grid, &first, &self.counts));
        }
        Ok(numbers)
    }
}

impl Run<'_> {
    /// The array of this number, and its copy.
    fn open(&self, planned: &PlannedArray, source: &Hierarchy) -> Result<Pair> {
        let metadata = self.plan.metadata(self.target, planned)?;
        let from = self.without_guard(source.array(&planned.from)?);
        let from = if self.plan.asked.contains(NO_MISSING) {
            from.with_options(|options| options.missing = MissingChunks::Error)
        } else {
            from
        };
        let is_dataset = self.plan.asked.contains(DATASET);
        let converted = is_dataset.then(|| Conversion::between(&from.metadata(), &metadata));
        Ok(Pair {
            from,
            conversion: converted.flatten(),
            to: self.without_guard(self.target.array_of_metadata(&planned.to, metadata.clone())?),
            region: planned.region.clone(),
            as_stored: planned.recoded.is_none(),
            place: Place::new(planned, metadata)?,
        })
    }

    /// The array without a guard against other writers, which ends as the copy is cancelled.
    fn without_guard(&self, array: Array) -> Array {
        array.with_options(|options| {
            options.guard = Guard::Off;
            options.cancel = self.options.cancel.clone().or(options.cancel.take());
        })
    }

    /// The chunks of a copy that can have elements, if that is known, and if the others need not be written.
    fn touched(&self, pair: &Pair, planned: &PlannedArray) -> Result<Option<BTreeSet<u64>>> {
        let place = &pair.place;
        let start = match &pair.region {
            None => Some(vec![0; place.counts.len()]),
            Some(steps) => box_start(steps),
        };
        let skips = skips_fill(&pair.from.metadata(), &pair.to, planned.leaves_holes);
        let (true, None, Some(start)) = (skips, &pair.conversion, start) else { return Ok(None) };
        let (grid, shape) = (&*place.grid, &place.metadata.shape[..]);
        let chunks = Chunks { grid, shape, counts: &place.counts };
        touched(&pair.from, &start, &chunks, MANY, self.options.memory)
    }

    /// Copies the chunks of one array, for each part that has some.
    fn copy_array(
        &mut self,
        number: usize,
        chunks: &[(usize, Range<u64>)],
        source: &Hierarchy,
        progress: &mut Progress,
    ) -> Result<()> {
        let planned = &self.plan.arrays[number];
        let pair = &self.open(planned, source)?;
        let place = &pair.place;
        let mut stored = if self.is_new { HashSet::new() } else { place.stored(self.target)? };
        progress.path = Some(planned.to.clone());
        let before = progress.bytes_done;
        let touched = if pair.as_stored {
            self.copy_as_stored(pair, planned, chunks, &mut stored, progress)?
        } else {
            self.touched(pair, planned)?
        };
        let mut regions: Vec<Region> = Vec::new();
        let element = place.metadata.data_type.repr().map_or(1, |repr| repr.size() as u64);
        let of_chunk = self.plan.arrays[number].bytes / planned.chunks.max(1);
        for (part, chunks) in chunks {
            let there = stored.iter().filter(|chunk| chunks.contains(chunk)).count() as u64;
            self.left[*part] -= there;
            progress.bytes_done += there * of_chunk;
            if self.options.verify != Verify::No && there > 0 && !pair.as_stored {
                for region in place.regions(chunks) {
                    verify(pair, &region, &|other: &Region| {
                        stored.contains(&place.number_of(other))
                    })?;
                }
            }
            match &touched {
                None => regions.extend(place.regions(chunks)),
                Some(touched) => {
                    let runs = runs(touched, chunks.clone());
                    let holes = stored.iter().filter(|chunk| chunks.contains(chunk));
                    let there = holes.filter(|chunk| !touched.contains(chunk)).count() as u64;
                    let some: u64 = runs.iter().map(|run| run.end - run.start).sum();
                    let holes = chunks.end - chunks.start - some - there;
                    self.left[*part] -= holes;
                    progress.bytes_done += holes.saturating_mul(of_chunk);
                    regions.extend(runs.iter().flat_map(|run| place.regions(run)));
                }
            }
            if self.left[*part] == 0 {
                self.journal.set_done(*part)?;
            }
        }
        if pair.as_stored && touched.is_some() {
            let done: u64 = chunks.iter().map(|(_, chunks)| chunks.end - chunks.start).sum();
            let bytes = u128::from(planned.bytes) * u128::from(done);
            progress.bytes_done = before + (bytes / u128::from(planned.chunks.max(1))) as u64;
            report(self.options, progress);
            return Ok(());
        }
        let region = pair.region.as_deref();
        let conversion = pair.conversion.as_ref();
        let leaves_holes = planned.leaves_holes;
        let which = ElementChoice {
            leaves_holes,
            region,
            conversion,
            is_done: &|region: &Region| stored.contains(&place.number_of(region)),
        };
        let arrays = (&pair.from, &pair.to);
        copy_elements(
            arrays,
            &regions,
            &which,
            (self.options, progress),
            &mut |region, progress| {
                let bytes = region.element_count().unwrap_or(u64::MAX).saturating_mul(element);
                progress.bytes_done = progress.bytes_done.saturating_add(bytes);
                self.written = self.written.saturating_add(bytes);
                report(self.options, progress);
                if self.options.verify != Verify::No {
                    verify(pair, region, &|_| true)?;
                }
                for (part, count) in parts_of(&*place.grid, &place.counts, region, chunks) {
                    self.left[part] -= count;
                    if self.left[part] == 0 {
                        self.journal.set_done(part)?;
                    }
                }
                if self.written - self.flushed >= FIRST_FLUSH.max(self.flushed) {
                    self.target.flush()?;
                    self.flushed = self.written;
                }
                Ok(())
            },
        )
    }
}

impl Run<'_> {
    /// Copies the objects that the source stores of one array, and adds their numbers to those that are `stored`. Returns the
    /// numbers of all that there are, if the others need not be written.
    fn copy_as_stored(
        &mut self,
        pair: &Pair,
        planned: &PlannedArray,
        chunks: &[(usize, Range<u64>)],
        stored: &mut HashSet<u64>,
        progress: &mut Progress,
    ) -> Result<Option<BTreeSet<u64>>> {
        let place = &pair.place;
        let copy = StoredCopy::new(
            &pair.from,
            &pair.to,
            (&place.grid, &place.counts),
            (pair.region.as_deref(), self.options),
        )?;
        let of_source = copy.stored()?;
        let of_chunk = planned.bytes / planned.chunks.max(1);
        let before = progress.bytes_done;
        let mut copied = BTreeSet::new();
        // Threads are started once for all of them, not for each part.
        for range in joined(chunks) {
            copy.refuse_missing(&pair.from, range.clone(), of_source.as_ref())?;
            // In blocks, since a store that does not list is asked for each chunk of what may be a great many.
            let mut numbers: Box<dyn Iterator<Item = u64>> = match &of_source {
                Some(numbers) => Box::new(numbers.range(range.clone()).copied()),
                None => Box::new(range.clone()),
            };
            loop {
                let block: Vec<u64> = numbers.by_ref().take(BLOCK_OF_CHUNKS).collect();
                if block.is_empty() {
                    break;
                }
                let (there, missing): (Vec<u64>, Vec<u64>) =
                    block.iter().partition(|number| stored.contains(number));
                if self.options.verify == Verify::Stored {
                    copy.verify(&there)?;
                }
                copied.extend(there);
                copy.copy(&missing, &mut |chunk| {
                    if copy.is_refused(&pair.from, chunk) {
                        return Err(copy.missing_chunk(&pair.from, chunk.number)?);
                    }
                    if chunk.is_stored {
                        copied.insert(chunk.number);
                        self.written = self.written.saturating_add(of_chunk);
                    }
                    progress.bytes_done = progress.bytes_done.saturating_add(of_chunk);
                    report(self.options, progress);
                    if self.written - self.flushed >= FIRST_FLUSH.max(self.flushed) {
                        self.target.flush()?;
                        self.flushed = self.written;
                    }
                    Ok(())
                })?;
            }
        }
        if self.options.verify == Verify::Elements {
            for range in joined(chunks) {
                for run in runs(&copied, range) {
                    for region in place.regions(&run) {
                        verify(pair, &region, &|_| true)?;
                    }
                }
            }
        }
        // The caller counts what is stored.
        progress.bytes_done = before;
        stored.extend(&copied);
        let skips = pair.metadata_has_same_fill() || planned.leaves_holes;
        Ok(skips.then_some(copied))
    }
}

/// How many chunks are asked for at a time.
const BLOCK_OF_CHUNKS: usize = 1 << 12;

/// The numbers of the chunks of several parts: one range for parts that follow each other.
fn joined(chunks: &[(usize, Range<u64>)]) -> Vec<Range<u64>> {
    let mut joined: Vec<Range<u64>> = Vec::new();
    for (_, range) in chunks {
        match joined.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => joined.push(range.clone()),
        }
    }
    joined
}

/// How many chunks of a box belong to each part.
fn parts_of(
    grid: &dyn ChunkGrid,
    counts: &[u64],
    region: &Region,
    chunks: &[(usize, Range<u64>)],
) -> Vec<(usize, u64)> {
    let axes = region.intervals().iter().enumerate();
    let mut ordinals: Vec<Range<u64>> = axes
        .map(|(axis, range)| {
            let last = grid.locate(axis, range.end.saturating_sub(1));
            grid.locate(axis, range.start)..last + 1
        })
        .collect();
    // Rows of chunks have numbers that follow each other.
    let row = ordinals.pop().unwrap_or(0..1);
    let mut rows = vec![0u64];
    for (range, count) in ordinals.iter().zip(counts) {
        rows = rows.iter().flat_map(|at| range.clone().map(move |n| at * count + n)).collect();
    }
    let along = counts.last().copied().unwrap_or(1);
    let mut found: Vec<(usize, u64)> = Vec::new();
    for at in rows {
        let row = at * along + row.start..at * along + row.end;
        for (part, chunks) in chunks {
            let (start, end) = (row.start.max(chunks.start), row.end.min(chunks.end));
            if start >= end {
                continue;
            }
            match found.iter_mut().find(|(of, _)| of == part) {
                Some((_, count)) => *count += end - start,
                None => found.push((*part, end - start)),
            }
        }
    }
    found
}

/// The elements of the source that a region of the copy has.
pub(super) fn source_of(region: &Region, steps: Option<&[Steps]>) -> Selection {
    match steps {
        None => region.into(),
        Some(steps) => {
            let axes = steps.iter().zip(region.intervals());
            Selection::outer(axes.map(|(steps, range)| steps.part(range)))
        }
    }
}

/// Reads back what was copied of the objects in a box that are there, and compares it with the source. One that differs is
/// erased.
fn verify(pair: &Pair, region: &Region, is_there: &dyn Fn(&Region) -> bool) -> Result<()> {
    for piece in pair.to.pieces(region, BLOCK)? {
        let axes = piece.place.intervals().iter().zip(region.intervals());
        let all = axes.map(|(within, of)| of.start + within.start..of.start + within.end);
        let all = Region::new(all);
        let mut chunks: Vec<_> = pair.to.chunks(&all)?.collect();
        let count = chunks.len();
        chunks.retain(|chunk| is_there(chunk.region()));
        if chunks.len() == count && pair.source(&all)? == pair.to.read_bytes(&all)? {
            continue;
        }
        for mut chunk in chunks {
            if pair.to.read_bytes(chunk.region())? == pair.source(chunk.region())? {
                continue;
            }
            chunk.erase()?;
            let why = format!("{:?}, read back, differs from the source", chunk.region());
            let error = Error::from(CodecError::Corrupt { codec: "copy", why });
            let hint = "the chunk was erased; copy it again with `--resume`";
            let error = error.at_store(pair.to.hierarchy().store().name()).at_path(pair.to.path());
            return Err(error.at_chunk(chunk.indices()).with_hint(hint));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use zarr_core::grid::RegularGrid;

    use super::*;

    /// A part is done when each of its chunks was counted once: one too many, and a kill loses a chunk.
    #[test]
    fn chunks_of_a_box_are_counted_for_their_parts() {
        let shape = [7, 9];
        let grid = RegularGrid::new(&[2, 3], &shape).unwrap();
        // Twelve chunks in C order, of which no part has the seventh.
        let parts = [(0, 0..2), (1, 2..6), (2, 7..12)];
        let found = |rows, columns| parts_of(&grid, &[4, 3], &Region::new([rows, columns]), &parts);
        assert_eq!(found(0..7, 0..9), [(0, 2), (1, 4), (2, 5)]);
        assert_eq!(found(0..2, 0..9), [(0, 2), (1, 1)]);
        assert_eq!(found(2..6, 3..9), [(1, 2), (2, 2)]);
        assert_eq!(found(4..6, 0..3), Vec::new());
        assert_eq!(found(6..7, 6..9), [(2, 1)]);
    }
}
