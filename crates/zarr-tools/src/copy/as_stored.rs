//! Copies the stored objects of an array as they are, where those of the copy are the same byte for byte.
//!
//! Nothing is decoded: an object, be it a chunk or a shard, goes from store to store in pieces. So a codec that this build
//! lacks is no obstacle, and the copy costs what reading and writing its bytes costs.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread;

use zarr_core::codec::{ChunkContext, CodecSpec, convert_codecs, dropped_in_v3};
use zarr_core::grid::ChunkGrid;
use zarr_core::metadata::ArrayMetadata;
use zarr_core::registry::Registry;
use zarr_core::store::{GetOptions, Precondition, StoreKey, StorePrefix, SyncStore, Target};
use zarr_core::{
    Array, CancelToken, CodecError, Dialect, Error, Hierarchy, NodePath, Result, StoreError,
};

use super::memory::default_memory;
use super::rechunk::{Buffers, Workers};
use super::{CopyOptions, Steps};
use crate::other_files::is_refusal;
use crate::transfer::{Room, are_equal, copy_value};

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

/// An object that was copied.
pub(super) struct CopiedChunk {
    /// The number of the chunk in the copy, in C order.
    pub number: u64,
    /// Whether the source stores it.
    pub is_stored: bool,
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
            cancel: options.cancel.clone().or(from.hierarchy().options().cancel.clone()),
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
        let listing = store.list_prefix(&self.from.prefix);
        let listing = listing.map_err(|e| Error::from(e).at_store(store.name()));
        let listing = match listing {
            // Then each chunk is asked for, and those that may not be read are errors.
            Err(e) if is_refusal(&e) => return Ok(None),
            listed => listed?,
        };
        let (metadata, grid) = (&self.from.metadata, &*self.from.grid);
        let mut numbers = BTreeSet::new();
        for key in &listing.keys {
            let Some(name) = self.from.prefix.strip(key) else { continue };
            numbers.extend(chunk_number(name, metadata, grid, &self.first, self.counts));
        }
        Ok(Some(numbers))
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
        for &number in numbers {
            self.check(&self.place(number)?)?;
        }
        Ok(())
    }

    /// How many objects are on their way at the same time.
    fn threads(&self) -> usize {
        let stores = [&self.from.store, &self.to.store].map(|store| store.capabilities());
        let remote = stores.iter().filter(|it| !it.local).map(|it| it.in_flight).max();
        match remote {
            Some(in_flight) => in_flight,
            None => {
                let processors = thread::available_parallelism().map_or(1, |count| count.get());
                processors.min(MAX_LOCAL_THREADS)
            }
        }
    }

    /// Copies neighbours: small ones are set together, in stores that are faster so.
    fn copy_some(
        &self,
        numbers: &[u64],
        tell: &mut dyn FnMut(CopiedChunk) -> Result<()>,
    ) -> Result<()> {
        let mut small: Vec<(u64, Place, Vec<u8>)> = Vec::new();
        for &number in numbers {
            let place = self.place(number)?;
            if numbers.len() > 1
                && let Some(bytes) = self.small(&place)?
            {
                small.push((number, place, bytes));
                continue;
            }
            let size = self.copy_one(&place)?;
            if self.verify && size.is_some() {
                self.check(&place)?;
            }
            tell(CopiedChunk { number, is_stored: size.is_some() })?;
        }
        let values: Vec<(StoreKey, &[u8])> =
            small.iter().map(|(_, place, bytes)| (place.to.clone(), &bytes[..])).collect();
        let set = self.to.store.set_all(&values, false);
        set.map_err(|e| self.to.at_key(e.error, &values[e.at].0))?;
        for (number, place, _) in &small {
            if self.verify {
                self.check(place)?;
            }
            tell(CopiedChunk { number: *number, is_stored: true })?;
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
        let (from, to) = (&*self.from.store, &*self.to.store);
        for key in &place.from {
            // The place was cleared before, and the copy is its only writer.
            let only_if = Precondition::Unchecked;
            let copied = copy_value((from, key), (to, &place.to), only_if, &self.room)?;
            if copied.is_some() {
                return Ok(copied);
            }
        }
        Ok(None)
    }

    /// Compares an object of the copy with that of the source. One that differs is erased.
    fn check(&self, place: &Place) -> Result<()> {
        let (from, to) = (&*self.from.store, &*self.to.store);
        for key in &place.from {
            if are_equal((from, key), (to, &place.to))? {
                return Ok(());
            }
        }
        to.erase(&place.to).map_err(|e| self.to.at_key(e, &place.to))?;
        let why = "it was read back otherwise than it is in the source".into();
        let error = Error::from(CodecError::Corrupt { codec: "copy", why });
        let hint = "the object was erased; copy it again with `--resume`";
        Err(self.to.at_key(error, &place.to).with_hint(hint))
    }
}

/// Where an object is, and where it goes.
struct Place {
    from: Vec<StoreKey>,
    to: StoreKey,
}

/// The number, in C order, of a chunk by the name of its key; `None` for what is no chunk of the box of chunks that begins at
/// the ordinals `first` and has `counts` chunks along each axis.
pub(super) fn chunk_number(
    name: &str,
    metadata: &ArrayMetadata,
    grid: &dyn ChunkGrid,
    first: &[u64],
    counts: &[u64],
) -> Option<u64> {
    let indices = metadata.chunk_keys.parse(name, counts.len())?;
    let mut number = 0u64;
    for (axis, index) in indices.into_iter().enumerate() {
        let ordinal = u64::try_from(index.checked_sub(grid.span(axis, 0).index)?).ok()?;
        let within = ordinal.checked_sub(first[axis]).filter(|&within| within < counts[axis])?;
        number = number * counts[axis] + within;
    }
    Some(number)
}
