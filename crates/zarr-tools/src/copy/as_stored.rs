//! Copies the stored objects of an array as they are, where those of the copy are the same byte for byte.
//!
//! Nothing is decoded, but where shards must have all of their inner chunks: an object, be it a chunk or a shard, goes from store to store in pieces. So a codec that this build
//! lacks is no obstacle, and the copy costs what reading and writing its bytes costs.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use zarr_core::codec::{ChunkContext, CodecSpec, convert_codecs, dropped_in_v3};
use zarr_core::grid::ChunkGrid;
use zarr_core::metadata::ArrayMetadata;
use zarr_core::registry::Registry;
use zarr_core::store::{StoreKey, StorePrefix, SyncStore};
use zarr_core::{Array, CodecError, Dialect, Error, Hierarchy, MissingChunks, NodePath, Result};

use super::memory::default_memory;
use super::{CopyOptions, Steps, Verify};
use crate::other_files::is_refusal;
use crate::transfer::{Place, Room, Transfer};

/// About how many bytes of a shard are decoded together to find inner chunks that are not stored.
const PIECE: u64 = 64 << 20;

/// How a copy goes on after a value was read back otherwise than it was written.
pub(super) const AGAIN: &str = "copy it again with `--resume`";

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
    if format!("{:?}", source.data_type) != format!("{:?}", copy.data_type) {
        return Some("another data type or byte order");
    }
    if source.shards != copy.shards || source.shards.is_some() && from != to {
        return Some("other shards");
    }
    if source.grid.is_none() || format!("{:?}", source.grid) != format!("{:?}", copy.grid) {
        return Some("other chunks");
    }
    if from != to && (has_dropped_codec(source) || has_dropped_codec(copy)) {
        return Some("other codecs");
    }
    let same_codecs = from == to && source.codecs == copy.codecs
        || canonical_codecs(source, registry)
            .zip(canonical_codecs(copy, registry))
            .is_some_and(|(source, copy)| source == copy);
    (!same_codecs).then_some("other codecs")
}

/// Whether a conversion to final v3 leaves a codec out, which says nothing of the bytes that are stored.
fn has_dropped_codec(metadata: &ArrayMetadata) -> bool {
    dropped_in_v3(&metadata.codecs).next().is_some()
}

/// The chain in the words of final v3, by which chains of different dialects can be compared. `None` if final v3 has no words
/// for it.
fn canonical_codecs(metadata: &ArrayMetadata, registry: &Registry) -> Option<Vec<CodecSpec>> {
    let context = ChunkContext::new(metadata.data_type.clone(), metadata.chunk_extent());
    convert_codecs(&metadata.codecs, &context, Dialect::V3, registry).ok()
}

/// Whether this build cannot tell which keys an array has: those of an unknown grid, key encoding or storage transformer.
pub(crate) fn has_unknown_keys(metadata: &ArrayMetadata) -> bool {
    metadata.grid.is_none()
        || !metadata.unsupported.iter().all(|lack| matches!(lack.what, "codec" | "data type"))
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
}

/// The stored objects of one array, and where they go.
pub(super) struct StoredCopy<'a> {
    from: Chunks,
    to: Chunks,
    /// How many chunks the copy has along each axis.
    counts: &'a [u64],
    /// The ordinals, in the source, of the copy's first chunk.
    first: Vec<u64>,
    /// Where the only chunk of an array without axes goes: in a draft other readers look for it at `c0` alone.
    key_of_scalar: Option<StoreKey>,
    transfer: Transfer,
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
        to: &Array,
        (grid, counts): (&Arc<dyn ChunkGrid>, &'a [u64]),
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
        let cancel = options.cancel.clone().or(from.hierarchy().options().cancel.clone());
        let transfer = Transfer {
            from: from.hierarchy().store().to_sync(),
            to: to.hierarchy().store().to_sync(),
            cancel,
            verify: options.verify == Verify::Stored,
            // The place was cleared before, and the copy is its only writer.
            guarded: false,
            again: AGAIN,
            room: Room::of_memory(options.memory.unwrap_or_else(default_memory)),
        };
        let is_scalar = counts.is_empty();
        let key_of_scalar = is_scalar.then(|| to.chunk(())?.key_to_write()).transpose()?;
        Ok(StoredCopy {
            key_of_scalar,
            from: Chunks::new(from.hierarchy(), from.path(), source, grid)?,
            to: Chunks::new(to.hierarchy(), to.path(), to.metadata(), grid)?,
            counts,
            first,
            transfer,
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
        self.transfer.copy_all(numbers, |&number| self.place(number), &mut |index, size| {
            done(&CopiedChunk { number: numbers[index], is_stored: size.is_some() })
        })
    }

    /// Compares the chunks of these numbers, which are there, with those of the source.
    ///
    /// # Errors
    /// As [`StoredCopy::copy`].
    pub fn verify(&self, numbers: &[u64]) -> Result<()> {
        for &number in numbers {
            self.transfer.check(&self.place(number)?)?;
        }
        Ok(())
    }

    /// Refuses chunks of these numbers that the source does not store, if its reader asked for that; and shards that lack
    /// an inner chunk, which only reading them tells. `listed` are those that a listing found.
    ///
    /// # Errors
    /// [`CodecError::MissingChunk`]; what a read meets.
    pub fn refuse_missing(
        &self,
        array: &Array,
        numbers: Range<u64>,
        listed: Option<&BTreeSet<u64>>,
    ) -> Result<()> {
        if array.options().missing == MissingChunks::Fill {
            return Ok(());
        }
        // Chunks that share an object by the draft's storage transformer have no key of their own.
        if let (Some(listed), None) = (listed, &self.from.metadata.shards) {
            let mut found = listed.range(numbers.clone());
            if let Some(number) = numbers.clone().find(|number| found.next() != Some(number)) {
                return Err(self.missing_chunk(array, number)?);
            }
        }
        if !self.from.metadata.has_shards() {
            return Ok(());
        }
        for number in numbers {
            let shard = array.chunk(&self.source_ordinals(number))?;
            for piece in array.pieces(shard.region(), PIECE)? {
                array.read_bytes(&piece.selection)?;
            }
        }
        Ok(())
    }

    /// Whether a chunk that was not found is an error.
    pub fn is_refused(&self, array: &Array, chunk: &CopiedChunk) -> bool {
        let has_own_key = self.from.metadata.shards.is_none();
        array.options().missing == MissingChunks::Error && has_own_key && !chunk.is_stored
    }

    /// The error of a chunk that the source does not store.
    pub fn missing_chunk(&self, array: &Array, number: u64) -> Result<Error> {
        let ordinals = self.source_ordinals(number);
        let keys = self.from.keys(&ordinals)?;
        let other_key = keys.get(1).map(ToString::to_string);
        let error = Error::from(CodecError::MissingChunk { inner_chunks: Vec::new(), other_key });
        let error = error.at_store(self.from.store.name()).at_path(array.path());
        Ok(error.at_chunk(array.chunk(&ordinals)?.indices()).at_key(&keys[0]))
    }

    /// The place of a chunk in the grid of the copy.
    fn ordinals(&self, number: u64) -> Vec<u64> {
        let (mut rest, mut ordinals) = (number, vec![0; self.counts.len()]);
        for (ordinal, count) in ordinals.iter_mut().zip(self.counts).rev() {
            *ordinal = rest % count;
            rest /= count;
        }
        ordinals
    }

    /// The place of a chunk in the grid of the source.
    fn source_ordinals(&self, number: u64) -> Vec<u64> {
        let ordinals = self.ordinals(number).into_iter().zip(&self.first);
        ordinals.map(|(ordinal, first)| ordinal + first).collect()
    }

    fn place(&self, number: u64) -> Result<Place> {
        let to = match &self.key_of_scalar {
            Some(key) => key.clone(),
            None => self.to.keys(&self.ordinals(number))?.swap_remove(0),
        };
        Ok(Place { from: self.from.keys(&self.source_ordinals(number))?, to })
    }
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
