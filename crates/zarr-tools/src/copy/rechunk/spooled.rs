//! Copies groups of objects through temporary files.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use zarr_core::runtime::join;
use zarr_core::sync::lock;
use zarr_core::{Array, Region, Result, View, ViewMut};

use super::axis::{Axis, Boxes, common, inside, ordinals_of, region_of};
use super::plan::{Numbers, Spooled};
use super::spool::Spool;
use super::workers::{Buffers, Done, Workers};
use super::{Job, Jobs, Rechunk};

/// The objects that go through the file together.
struct Group {
    place: Region,
    parts: Vec<Region>,
    /// The ordinals of the objects along each axis.
    ordinals: Vec<Range<u64>>,
    /// Which objects are copied, by their numbers in the group.
    is_copied: Vec<bool>,
}

impl Group {
    fn new(numbers: &Numbers, place: Region, parts: Vec<Region>) -> Group {
        let ordinals = ordinals_of(&numbers.to, &place);
        let count = ordinals.iter().fold(1, |all, range| all * (range.end - range.start));
        let mut group = Group { place, parts, ordinals, is_copied: vec![false; count as usize] };
        let objects: Vec<usize> =
            group.objects(numbers).map(|object| group.number(&object)).collect();
        objects.into_iter().for_each(|at| group.is_copied[at] = true);
        group
    }

    /// The number of an object.
    fn number(&self, object: &[Range<u64>]) -> usize {
        let each = object.iter().zip(&self.ordinals);
        each.fold(0, |at, (object, all)| at * (all.end - all.start) + object.start - all.start)
            as usize
    }

    /// The objects that are copied.
    fn objects<'a>(&'a self, numbers: &'a Numbers) -> impl Iterator<Item = Vec<Range<u64>>> + 'a {
        self.parts.iter().flat_map(|part| singles(&numbers.to, part))
    }
}

/// The chunks that touch a region, one by one.
fn singles(axes: &[Axis], region: &Region) -> Boxes {
    Boxes::new(ordinals_of(axes, region), &vec![1; axes.len()])
}

/// The calling thread, and one that reads, share what is theirs.
struct Copying<'a> {
    rechunk: &'a Rechunk<'a>,
    numbers: &'a Numbers,
    how: &'a Spooled,
    from: &'a Array,
    to: &'a Array,
    /// Memory of readers, where they work at the same time as writers.
    buffers: Buffers,
    /// Memory of the threads that put what a reader has decoded into the file.
    parts: Buffers,
    stop: AtomicBool,
}

impl Rechunk<'_> {
    /// Copies groups through temporary files.
    pub(super) fn copy_spooled(
        &self,
        (from, to): (&Array, &Array),
        numbers: &Numbers,
        how: &Spooled,
        mut jobs: Jobs<'_>,
        done: Done<'_>,
    ) -> Result<()> {
        let (buffers, parts, stop) =
            (Buffers::default(), Buffers::default(), AtomicBool::new(false));
        let copying = Copying { rechunk: self, numbers, how, from, to, buffers, parts, stop };
        let mut free = None;
        if !how.overlaps {
            while let Some(group) = copying.next(&mut jobs, done)? {
                let spool = copying.fill(&group, free.take(), &self.buffers)?;
                copying.drain(&group, &spool, done)?;
                free = Some(spool);
            }
            return Ok(());
        }
        // One group is read while the one before it is written.
        let mut filled: Option<(Group, Spool)> = None;
        loop {
            let next = copying.next(&mut jobs, done)?;
            if next.is_none() && filled.is_none() {
                return Ok(());
            }
            let spool = if next.is_some() { free.take() } else { None };
            let (drained, found) = join(
                "zarr-copy-read",
                || {
                    let drained = match &filled {
                        Some((group, spool)) => copying.drain(group, spool, done),
                        None => Ok(()),
                    };
                    if drained.is_err() {
                        copying.stop.store(true, Ordering::Relaxed);
                    }
                    drained
                },
                || -> Result<Option<(Group, Spool)>> {
                    let Some(group) = next else { return Ok(None) };
                    let spool = copying.fill(&group, spool, &copying.buffers)?;
                    Ok(Some((group, spool)))
                },
            );
            drained?;
            free = filled.take().map(|(_, spool)| spool);
            filled = found?;
        }
    }
}

impl Copying<'_> {
    /// The next group that has something to copy.
    fn next(&self, jobs: &mut Jobs<'_>, done: Done<'_>) -> Result<Option<Group>> {
        for Job { place, parts } in jobs {
            let parts = self.rechunk.remaining(self.numbers, parts);
            let is_hole = self.rechunk.skips_fill && self.rechunk.is_hole(&place);
            if !is_hole && !parts.is_empty() {
                return Ok(Some(Group::new(self.numbers, place, parts)));
            }
            parts.iter().try_for_each(&mut *done)?;
        }
        Ok(None)
    }

    fn places<'a>(&'a self, group: &Group) -> Places<'a> {
        Places::of(&self.numbers.from, &self.how.piece, &group.place)
    }

    /// Reads the source chunks of a group into a file.
    fn fill(&self, group: &Group, spool: Option<Spool>, buffers: &Buffers) -> Result<Spool> {
        let Copying { rechunk, numbers, how, .. } = *self;
        let mut spool = match spool {
            Some(spool) => spool,
            None => {
                let folder = rechunk.options.folder.clone().unwrap_or_else(std::env::temp_dir);
                let longest = numbers.to.iter().fold(1, |size, axis| size * axis.longest());
                let slot = longest * rechunk.element as u64;
                Spool::new(&folder, slot, rechunk.element, rechunk.fill.clone())?
            }
        };
        spool.clear(group.is_copied.len());
        let cut = Boxes::new(ordinals_of(&numbers.from, &group.place), &how.piece);
        let workers = Workers {
            count: how.readers,
            buffer: how.reading as usize,
            buffers,
            cancel: rechunk.options.cancel.as_ref(),
            stop: Some(&self.stop),
        };
        workers.run(
            cut.enumerate(),
            |buffer, (n, piece), _| {
                let piece = common(&region_of(&numbers.from, &piece), &group.place);
                if piece.is_empty() || rechunk.is_hole(&piece) {
                    return Ok(());
                }
                let (memory, scratch) = buffer.split_at_mut(rechunk.size_of(&piece));
                let (shape, element) = (piece.shape(), rechunk.element);
                let out = ViewMut::new(memory, &shape, element);
                self.from.read_view(rechunk.source(&piece), out)?;
                let all = View::new(memory, &shape, element);
                let keep = |scratch: &mut [u8], object: Vec<Range<u64>>| {
                    let at = group.number(&object);
                    if !group.is_copied[at] {
                        return Ok(());
                    }
                    let part = common(&region_of(&numbers.to, &object), &piece);
                    spool.keep(at, n as u64, &all.part(&inside(&part, &piece)), scratch)
                };
                let mut objects = singles(&numbers.to, &piece);
                if how.keepers <= 1 {
                    return objects.try_for_each(|object| keep(scratch, object));
                }
                let keepers = Workers {
                    count: how.keepers,
                    buffer: how.part as usize,
                    buffers: &self.parts,
                    cancel: rechunk.options.cancel.as_ref(),
                    stop: Some(&self.stop),
                };
                keepers
                    .run(objects, |scratch, object, _| keep(scratch, object), &mut |(): &()| Ok(()))
            },
            &mut |(): &()| Ok(()),
        )?;
        Ok(spool)
    }

    /// Writes the objects of a group that a file has.
    fn drain(&self, group: &Group, spool: &Spool, done: Done<'_>) -> Result<()> {
        let Copying { rechunk, numbers, how, .. } = *self;
        let places = self.places(group);
        let objects = Mutex::new(group.objects(numbers));
        let objects = std::iter::from_fn(|| lock(&objects).next());
        let workers = rechunk.workers(how.writers, how.writing as usize);
        workers.run(
            objects,
            |buffer, object, done| {
                let region = region_of(&numbers.to, &object);
                let (shape, element) = (region.shape(), rechunk.element);
                let (memory, scratch) = buffer.split_at_mut(rechunk.size_of(&region));
                let out = ViewMut::new(memory, &shape, element);
                let is_any_kept = spool.read(
                    group.number(&object),
                    &region,
                    |piece| common(&places.get(piece), &group.place),
                    out,
                    scratch,
                )?;
                if !is_any_kept {
                    if rechunk.skips_fill {
                        return done(region);
                    }
                    ViewMut::new(memory, &shape, element).fill(&rechunk.fill);
                }
                let elements = View::new(memory, &shape, element);
                if !(rechunk.options.leaves_holes && elements.is_all(&rechunk.fill)) {
                    rechunk.write(self.to, &region, elements)?;
                }
                done(region)
            },
            done,
        )
    }
}

/// The regions of source pieces, by their number in C order.
struct Places<'a> {
    axes: &'a [Axis],
    size: &'a [u64],
    /// The ordinals of all chunks, and the number of pieces, along each axis.
    all: Vec<(Range<u64>, u64)>,
}

impl<'a> Places<'a> {
    fn of(axes: &'a [Axis], size: &'a [u64], place: &Region) -> Places<'a> {
        let all = ordinals_of(axes, place)
            .into_iter()
            .zip(size)
            .map(|(range, &size)| {
                let count = range.end.div_ceil(size) - range.start / size;
                (range, count)
            })
            .collect();
        Places { axes, size, all }
    }

    fn get(&self, mut piece: u64) -> Region {
        let mut found = vec![0..0; self.all.len()];
        for (axis, (all, count)) in self.all.iter().enumerate().rev() {
            let at = all.start / self.size[axis] + piece % count;
            piece /= count;
            let start = at * self.size[axis];
            found[axis] = start.max(all.start)..start.saturating_add(self.size[axis]).min(all.end);
        }
        region_of(self.axes, &found)
    }
}
