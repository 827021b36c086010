//! Copies the stored objects of an array as they are, where those of the copy are the same byte for byte.
//!
//! Nothing is decoded: an object, be it a chunk or a shard, goes from store to store in pieces. So a codec that this build
//! lacks is no obstacle, and the copy costs what reading and writing its bytes costs.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::ErrorKind::{PermissionDenied, Unsupported};
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::thread;

use zarr_core::codec::{ChunkContext, CodecSpec, convert_codecs, dropped_in_v3};
use zarr_core::grid::ChunkGrid;
use zarr_core::metadata::ArrayMetadata;
use zarr_core::registry::Registry;
use zarr_core::store::{
    ByteRange, GetOptions, Payload, Precondition, SnapshotOptions, StoreKey, StorePrefix,
    SyncSnapshot, SyncStore, Target,
};
use zarr_core::sync::{Condition, lock};
use zarr_core::{
    Array, CancelToken, CodecError, Dialect, Error, Hierarchy, NodePath, Result, StoreError,
};

use super::memory::default_memory;
use super::rechunk::{Buffers, Workers};
use super::{CopyOptions, Steps};

/// An object of at most this number of bytes is held on its way; a larger one goes through in pieces.
const MAX_HELD: u64 = 4 << 20;
/// How many bytes of a larger object are fetched from a remote store at a time.
const REMOTE_PIECE: u64 = 8 << 20;
/// How often an object is read again after another writer replaced it meanwhile.
const MAX_ATTEMPTS: u32 = 5;
/// More threads than these do not make a disk faster.
const MAX_LOCAL_THREADS: usize = 4;
/// How many objects are set together, in a store that sets several faster than one by one.
const SET_TOGETHER: usize = 16;
/// Objects up to this size are set together.
const MAX_SET_TOGETHER: u64 = 64 << 10;

/// Why the chunks of an array must be encoded again for its copy; `None` if they can be copied as they are stored.
pub(super) fn obstacle(
    array: &Array,
    copy: &ArrayMetadata,
    target: &Hierarchy,
    region: Option<&[Steps]>,
) -> Option<&'static str> {
    let source = array.metadata();
    if has_unknown_keys(&source) {
        return Some("its keys are not known");
    }
    if let Some(region) = region
        && !ends_at_chunks(region, &source)
    {
        return Some("the region does not end where chunks do");
    }
    let dialects = (array.hierarchy().dialect(), target.dialect());
    stored_difference(&source, copy, dialects, target.registry())
}

/// What differs between the stored bytes of an array and of its description in another dialect; `None` if a stored chunk of one is a
/// chunk of the other, byte for byte. Their shapes, keys and fill values may differ.
pub fn stored_difference(
    source: &ArrayMetadata,
    copy: &ArrayMetadata,
    (from, to): (Dialect, Dialect),
    registry: &Registry,
) -> Option<&'static str> {
    let data_type = |metadata: &ArrayMetadata| format!("{:?}", metadata.data_type);
    if data_type(source) != data_type(copy) {
        return Some("another data type or byte order");
    }
    if source.shards != copy.shards || source.shards.is_some() && from != to {
        return Some("other shards");
    }
    let grid = |metadata: &ArrayMetadata| format!("{:?}", metadata.grid);
    if source.grid.is_none() || grid(source) != grid(copy) {
        return Some("other chunks");
    }
    // A conversion to final v3 leaves these out, which says nothing of the bytes that are stored.
    let is_dropped = |metadata: &ArrayMetadata| dropped_in_v3(&metadata.codecs).next().is_some();
    if from != to && (is_dropped(source) || is_dropped(copy)) {
        return Some("other codecs");
    }
    let same_codecs = from == to && source.codecs == copy.codecs
        || canonical_codecs(source, registry)
            .zip(canonical_codecs(copy, registry))
            .is_some_and(|(source, copy)| source == copy);
    (!same_codecs).then_some("other codecs")
}

/// The chain in the words of final v3, by which chains of different dialects can be compared. `None` if final v3 has no words
/// for it.
fn canonical_codecs(metadata: &ArrayMetadata, registry: &Registry) -> Option<Vec<CodecSpec>> {
    let context = ChunkContext::new(metadata.data_type.clone(), metadata.chunk_extent());
    convert_codecs(&metadata.codecs, &context, Dialect::V3, registry).ok()
}

/// Whether this build cannot tell which keys an array has: those of an unknown grid, key encoding or storage transformer.
pub(super) fn has_unknown_keys(metadata: &ArrayMetadata) -> bool {
    let is_known = |what| matches!(what, "codec" | "data type");
    metadata.grid.is_none() || !metadata.unsupported.iter().all(|lack| is_known(lack.what))
}

/// Whether a region of an array consists of whole chunks of a regular grid, and those at the edge of the array.
fn ends_at_chunks(region: &[Steps], metadata: &ArrayMetadata) -> bool {
    let Some(chunks) = metadata.chunk_shape() else { return false };
    region.iter().zip(&chunks).zip(&metadata.shape).all(|((steps, &chunk), &len)| {
        let end = steps.start.saturating_add(steps.len);
        steps.step == 1
            && chunk > 0
            && steps.start.is_multiple_of(chunk)
            && (end.is_multiple_of(chunk) || end == len)
    })
}

/// Where the chunks of an array are.
struct Chunks {
    store: Arc<dyn SyncStore>,
    prefix: StorePrefix,
    metadata: Arc<ArrayMetadata>,
    grid: Arc<dyn ChunkGrid>,
}

impl Chunks {
    fn new(
        hierarchy: &Hierarchy,
        path: &NodePath,
        metadata: Arc<ArrayMetadata>,
        grid: &Arc<dyn ChunkGrid>,
    ) -> Result<Chunks> {
        let prefix = hierarchy.format().chunk_prefix(path)?;
        Ok(Chunks { store: hierarchy.store().to_sync(), prefix, metadata, grid: grid.clone() })
    }

    /// The keys that the chunk at these ordinals may have, the usual one first.
    fn keys(&self, ordinals: &[u64]) -> Result<Vec<StoreKey>> {
        let axes = ordinals.iter().enumerate();
        let indices: Vec<i64> =
            axes.map(|(axis, &ordinal)| self.grid.span(axis, ordinal).index).collect();
        let usual = self.metadata.chunk_keys.key(&indices);
        let other = self.metadata.chunk_keys.other_key(&indices);
        let names = [Some(usual), other].into_iter().flatten();
        Ok(names.map(|name| self.prefix.key(&name)).collect::<Result<_, _>>()?)
    }

    fn at_key(&self, error: impl Into<Error>, key: &StoreKey) -> Error {
        error.into().at_store(self.store.name()).at_key(key)
    }
}

/// The stored objects of one array, and where they go.
pub(super) struct StoredCopy<'a> {
    from: Chunks,
    to: Chunks,
    /// How many chunks the copy has along each axis.
    counts: &'a [u64],
    /// The ordinals, in the source, of the copy's first chunk.
    first: Vec<u64>,
    cancel: Option<CancelToken>,
    verify: bool,
    /// For large objects that the target's store holds as a whole.
    room: Room,
}

/// Memory for objects on their way.
struct Room {
    all: u64,
    used: Mutex<u64>,
    freed: Condition,
}

impl Room {
    fn new(all: u64) -> Room {
        Room { all, used: Mutex::default(), freed: Condition::new() }
    }

    /// Does what holds this number of bytes, once there is room for them; an object that is larger than all of it goes alone.
    fn hold<R>(&self, bytes: u64, work: impl FnOnce() -> R) -> R {
        let mut used = lock(&self.used);
        while *used > 0 && *used + bytes > self.all {
            used = self.freed.wait(&self.used, used, None);
        }
        *used += bytes;
        drop(used);
        let _held = Held { room: self, bytes };
        work()
    }
}

/// Gives the room back, also when the work panics.
struct Held<'a> {
    room: &'a Room,
    bytes: u64,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        *lock(&self.room.used) -= self.bytes;
        self.room.freed.notify_all();
    }
}

/// An object that was copied.
pub(super) struct CopiedChunk {
    /// The number of the chunk in the copy, in C order.
    pub number: u64,
    /// How many bytes are stored; `None` if the source does not store the chunk.
    pub size: Option<u64>,
}

impl<'a> StoredCopy<'a> {
    pub fn new(
        from: &Array,
        (to, path): (&Hierarchy, &NodePath),
        (grid, counts): (&Arc<dyn ChunkGrid>, &'a [u64]),
        copy: Arc<ArrayMetadata>,
        (region, options): (Option<&[Steps]>, &CopyOptions<'_>),
    ) -> Result<StoredCopy<'a>> {
        let source = from.metadata();
        // Both grids are the same.
        let first = match region {
            None => vec![0; counts.len()],
            Some(steps) => {
                let axes = steps.iter().enumerate();
                axes.map(|(axis, steps)| grid.locate(axis, steps.start)).collect()
            }
        };
        Ok(StoredCopy {
            from: Chunks::new(from.hierarchy(), from.path(), source, grid)?,
            to: Chunks::new(to, path, copy, grid)?,
            counts,
            first,
            cancel: options.cancel.clone(),
            verify: options.verify,
            room: Room::new(options.memory.unwrap_or_else(default_memory) / 2),
        })
    }

    /// The numbers of the copy's chunks that the source stores; `None` if its store does not list.
    pub fn stored(&self) -> Result<Option<BTreeSet<u64>>> {
        let store = &self.from.store;
        if !store.capabilities().list {
            return Ok(None);
        }
        let is_refusal = |e: &StoreError| match e {
            StoreError::NotCapable { .. } => true,
            StoreError::Io { source, .. } => {
                [PermissionDenied, Unsupported].contains(&source.kind())
            }
            _ => false,
        };
        let listing = match store.list_prefix(&self.from.prefix) {
            // Then each chunk is asked for, and those that may not be read are errors.
            Err(e) if is_refusal(&e) => return Ok(None),
            listed => listed.map_err(|e| Error::from(e).at_store(store.name()))?,
        };
        let number = |key: &StoreKey| {
            let name = self.from.prefix.strip(key)?;
            let indices = self.from.metadata.chunk_keys.parse(name, self.counts.len())?;
            let axes = indices.iter().zip(self.counts).zip(&self.first).enumerate();
            axes.into_iter().try_fold(0u64, |at, (axis, ((&index, &count), &first))| {
                let origin = self.from.grid.span(axis, 0).index;
                let ordinal = u64::try_from(index.checked_sub(origin)?).ok()?;
                let within = ordinal.checked_sub(first).filter(|&within| within < count)?;
                Some(at * count + within)
            })
        };
        Ok(Some(listing.keys.iter().filter_map(number).collect()))
    }

    /// Copies the chunks of these numbers. Calls `done` on this thread with each of them.
    ///
    /// # Errors
    /// What either store meets; [`CodecError::Corrupt`] if an object is read back otherwise than it was written.
    pub fn copy(
        &self,
        numbers: &[u64],
        done: &mut dyn FnMut(&CopiedChunk) -> Result<()>,
    ) -> Result<()> {
        let together = if self.to.store.capabilities().set_all { SET_TOGETHER } else { 1 };
        let workers = Workers {
            count: self.threads().min(numbers.len().div_ceil(together)),
            buffer: 0,
            buffers: &Buffers::default(),
            cancel: self.cancel.as_ref(),
            stop: None,
        };
        workers.run(
            numbers.chunks(together),
            |_, numbers, tell| self.copy_some(numbers, tell),
            done,
        )
    }

    /// Compares the chunks of these numbers, which are there, with those of the source.
    ///
    /// # Errors
    /// As [`StoredCopy::copy`].
    pub fn verify(&self, numbers: &[u64]) -> Result<()> {
        numbers.iter().try_for_each(|&number| {
            let place = self.place(number)?;
            for from in &place.from {
                let at = |e: StoreError| self.from.at_key(e, from);
                let value = self.from.store.open(from, SnapshotOptions::default()).map_err(at)?;
                let Some(value) = value else { continue };
                value.read(&[]).map_err(at)?;
                let part = |range| read(&*value, range).map(Cow::Owned).map_err(at);
                return self.check(&place.to, part, value.size());
            }
            Ok(())
        })
    }

    /// How many objects are on their way at the same time.
    fn threads(&self) -> usize {
        let stores = [&self.from.store, &self.to.store].map(|store| store.capabilities());
        let remote = stores.iter().filter(|it| !it.local).map(|it| it.in_flight).max();
        let here = || thread::available_parallelism().map_or(1, |count| count.get());
        remote.unwrap_or_else(|| here().clamp(1, MAX_LOCAL_THREADS))
    }

    /// Copies neighbours: small ones are set together, in stores that are faster so.
    fn copy_some(
        &self,
        numbers: &[u64],
        tell: &mut dyn FnMut(CopiedChunk) -> Result<()>,
    ) -> Result<()> {
        let mut small: Vec<(u64, StoreKey, Vec<u8>)> = Vec::new();
        for &number in numbers {
            let place = self.place(number)?;
            if numbers.len() > 1
                && let Some(bytes) = self.small(&place)?
            {
                small.push((number, place.to, bytes));
                continue;
            }
            let size = self.copy_one(&place)?;
            tell(CopiedChunk { number, size })?;
        }
        let values: Vec<(StoreKey, &[u8])> =
            small.iter().map(|(_, key, bytes)| (key.clone(), &bytes[..])).collect();
        let set = self.to.store.set_all(&values, false);
        set.map_err(|e| self.to.at_key(e.error, &values[e.at].0))?;
        for (number, key, bytes) in &small {
            if self.verify {
                self.check(
                    key,
                    |range| Ok(Cow::Borrowed(&bytes[range.start as usize..range.end as usize])),
                    bytes.len() as u64,
                )?;
            }
            tell(CopiedChunk { number: *number, size: Some(bytes.len() as u64) })?;
        }
        Ok(())
    }

    fn place(&self, number: u64) -> Result<Place> {
        let (mut rest, mut ordinals) = (number, vec![0; self.counts.len()]);
        for (ordinal, count) in ordinals.iter_mut().zip(self.counts).rev() {
            *ordinal = rest % count;
            rest /= count;
        }
        let to = self.to.keys(&ordinals)?.swap_remove(0);
        ordinals.iter_mut().zip(&self.first).for_each(|(ordinal, first)| *ordinal += first);
        Ok(Place { from: self.from.keys(&ordinals)?, to })
    }

    /// The value of a small object; `None` if it is large or absent.
    fn small(&self, place: &Place) -> Result<Option<Vec<u8>>> {
        let Some(key) = place.from.first() else { return Ok(None) };
        let mut bytes = Vec::new();
        let how =
            GetOptions { limit: MAX_SET_TOGETHER, into: Target::Vec(&mut bytes), version: false };
        match self.from.store.get(key, how) {
            Err(StoreError::TooLarge { .. }) => Ok(None),
            Err(e) => Err(self.from.at_key(e, key)),
            Ok(got) => Ok(got.map(|_| bytes)),
        }
    }

    /// Copies one object; returns how large it is, or `None` if the source does not have it.
    fn copy_one(&self, place: &Place) -> Result<Option<u64>> {
        for from in &place.from {
            let mut attempt = 1;
            loop {
                match self.copy_version(from, &place.to) {
                    Err(e) if attempt < MAX_ATTEMPTS && is_change(&e) => attempt += 1,
                    Ok(None) => break,
                    copied => return copied,
                }
            }
        }
        Ok(None)
    }

    /// Copies the version of an object that is there now.
    fn copy_version(&self, from: &StoreKey, to: &StoreKey) -> Result<Option<u64>> {
        let mut held = Vec::new();
        let how = GetOptions { limit: MAX_HELD, into: Target::Vec(&mut held), version: false };
        match self.from.store.get(from, how) {
            Ok(None) => return Ok(None),
            Ok(Some(_)) => {
                self.put(to, Payload::new(&held[..]))?;
                if self.verify {
                    let part = |range: Range<u64>| {
                        Ok(Cow::Borrowed(&held[range.start as usize..range.end as usize]))
                    };
                    self.check(to, part, held.len() as u64)?;
                }
                return Ok(Some(held.len() as u64));
            }
            Err(StoreError::TooLarge { .. }) => {}
            Err(e) => return Err(self.from.at_key(e, from)),
        }
        let at_source = |e: StoreError| self.from.at_key(e, from);
        let opened = self.from.store.open(from, SnapshotOptions::default()).map_err(at_source)?;
        let Some(opened) = opened else { return Ok(None) };
        let value: Arc<dyn SyncSnapshot> = Arc::from(opened);
        // The size is known after the first reading.
        value.read(&[]).map_err(at_source)?;
        let size = value.size();
        let payload = if self.from.store.capabilities().local {
            Payload::default().and_kept(&value, 0..size)
        } else {
            let value = value.clone();
            Payload::default().and_made(move || {
                let value = value.clone();
                pieces(size).map(move |range| read(&*value, range).map(Cow::Owned))
            })
        };
        if self.to.store.capabilities().streams {
            self.put(to, payload)?;
        } else {
            self.room.hold(size, || self.put(to, payload))?;
        }
        if self.verify {
            let part = |range| read(&*value, range).map(Cow::Owned).map_err(at_source);
            self.check(to, part, size)?;
        }
        Ok(Some(size))
    }

    fn put(&self, key: &StoreKey, value: Payload<'_>) -> Result<()> {
        // The place was cleared before, and the copy is its only writer.
        let put = self.to.store.put(key, Some(value), Precondition::Unchecked);
        put.map(drop).map_err(|e| self.to.at_key(e, key))
    }

    /// Compares a stored object with what was read of the source. One that differs is erased.
    fn check<'b>(
        &self,
        key: &StoreKey,
        source: impl Fn(Range<u64>) -> Result<Cow<'b, [u8]>>,
        size: u64,
    ) -> Result<()> {
        let at = |e: StoreError| self.to.at_key(e, key);
        let found = self.to.store.open(key, SnapshotOptions::default()).map_err(at)?;
        let mut is_same = false;
        if let Some(found) = found {
            found.read(&[]).map_err(at)?;
            is_same = found.size() == size;
            for range in pieces(size) {
                is_same = is_same && read(&*found, range.clone()).map_err(at)? == *source(range)?;
            }
        }
        if is_same {
            return Ok(());
        }
        self.to.store.erase(key).map_err(at)?;
        let why = "it was read back otherwise than it is in the source".into();
        let error = Error::from(CodecError::Corrupt { codec: "copy", why });
        let hint = "the object was erased; copy it again with `--resume`";
        Err(self.to.at_key(error, key).with_hint(hint))
    }
}

/// Where an object is, and where it goes.
struct Place {
    from: Vec<StoreKey>,
    to: StoreKey,
}

fn pieces(size: u64) -> impl Iterator<Item = Range<u64>> {
    let starts = (0..size.div_ceil(REMOTE_PIECE)).map(|n| n * REMOTE_PIECE);
    starts.map(move |start| start..size.min(start + REMOTE_PIECE))
}

fn read(value: &dyn SyncSnapshot, range: Range<u64>) -> Result<Vec<u8>, StoreError> {
    let mut bytes = Vec::new();
    let (start, len) = (range.start, range.end - range.start);
    value.read_into(ByteRange::Bounded { start, len }, &mut bytes)?;
    Ok(bytes)
}

/// Whether an object was replaced while it was read; a store that writes it may have wrapped that in an error of its own.
fn is_change(error: &Error) -> bool {
    let zarr_core::Cause::Store(error) = error.cause() else { return false };
    match error {
        StoreError::Changed { .. } => true,
        StoreError::Io { source, .. } => source
            .get_ref()
            .and_then(|inner| inner.downcast_ref::<StoreError>())
            .is_some_and(|inner| matches!(inner, StoreError::Changed { .. })),
        _ => false,
    }
}
