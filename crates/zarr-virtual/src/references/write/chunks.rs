//! Refers to the chunks of arrays, or inlines them.

use std::ops::Range;

use futures::future::try_join_all;
use zarr_core::data_type::DataType;
use zarr_core::grid::{ChunkKeys, chunk_count};
use zarr_core::runtime::block_on;
use zarr_core::store::{Bytes, StoreKey};
use zarr_core::{Array, Chunk, Result, StoreError};

use super::input::{Input, key_below};
use super::refused;
use super::table::Table;
use crate::source::{Made, Reference};
use crate::target::Target;

/// How many small chunks are read at a time.
const MAX_RANGES: usize = 4096;

/// The most chunks of an array in a file.
const MAX_CHUNKS: u64 = 10_000_000;

/// Where the pieces of divided chunks are.
pub(super) struct Pieces {
    pub axis: usize,
    /// The place of the file's first element in the joined array.
    pub begin: u64,
    /// How many elements a piece has along the axis.
    pub length: u64,
    /// How many bytes each of them has.
    pub row_bytes: u64,
}

/// A key, and the range of a target that its bytes are.
type Small = (String, Range<u64>);

/// Adds chunks to a table. Small ones are read together, and inlined.
pub(super) struct ChunkWriter<'t> {
    table: &'t mut Table,
    path: &'t str,
    /// What chunks are called in the joined array.
    keys: ChunkKeys,
    /// Chunks of at most this many bytes are inlined.
    inline: u64,
    /// Those that are to be read, and what they are in.
    small: Option<(Target, Vec<Small>)>,
    /// Whether a chunk is in no file.
    has_holes: bool,
}

impl<'t> ChunkWriter<'t> {
    pub fn new(
        table: &'t mut Table,
        path: &'t str,
        keys: ChunkKeys,
        inline: u64,
    ) -> ChunkWriter<'t> {
        ChunkWriter { table, path, keys, inline, small: None, has_holes: false }
    }

    /// The key of a chunk of the joined array.
    fn key(&self, indices: &[i64]) -> String {
        key_below(self.path, &self.keys.key(indices))
    }

    /// Adds the chunks of an array as they are stored. Along an axis, they are counted from a number on.
    pub fn add_stored(
        &mut self,
        input: &Input,
        array: &Array,
        from: Option<(usize, u64)>,
    ) -> Result<()> {
        check_count(array)?;
        for chunk in array.chunks(..)? {
            let Some(reference) = self.find(input, &chunk)? else { continue };
            let mut indices = chunk.indices().to_vec();
            if let Some((axis, first)) = from {
                let number = indices[axis].cast_unsigned().saturating_add(first);
                indices[axis] = self.index(number)?;
            }
            self.add(self.key(&indices), reference)?;
        }
        Ok(())
    }

    /// Adds the pieces of an array's chunks.
    pub fn add_divided(&mut self, input: &Input, array: &Array, pieces: &Pieces) -> Result<()> {
        let piece_bytes = pieces.length.saturating_mul(pieces.row_bytes);
        check_count(array)?;
        for chunk in array.chunks(..)? {
            let Some(reference) = self.find(input, &chunk)? else { continue };
            let along = chunk.region().intervals()[pieces.axis].clone();
            let first = pieces.begin.saturating_add(along.start) / pieces.length;
            let mut indices = chunk.indices().to_vec();
            for number in 0..(along.end - along.start) / pieces.length {
                indices[pieces.axis] = self.index(first.saturating_add(number))?;
                let start = number.saturating_mul(piece_bytes);
                let Some(piece) = part(&reference, start, piece_bytes) else {
                    let key = chunk.key()?;
                    let why = format!("{}: the chunk at `{key}` is too short", input.name);
                    return Err(refused(why));
                };
                self.add(self.key(&indices), piece)?;
            }
        }
        Ok(())
    }

    /// Adds all elements of an array in several files as one inlined chunk. `parts` are those of each file, little-endian.
    pub fn add_elements(
        &mut self,
        arrays: &[&Array],
        axis: usize,
        parts: Vec<Vec<u8>>,
    ) -> Result<()> {
        let metadata = arrays[0].metadata();
        let count: u64 = arrays.iter().map(|array| array.len()).sum();
        if count == 0 {
            return Ok(());
        }
        let mut bytes = Vec::new();
        if metadata.data_type == DataType::String {
            // The codec has the number of texts before them. Their lengths are there already.
            let count = u32::try_from(count)
                .map_err(|_| refused(format!("{}: it has more than 2^32 texts", self.path)))?;
            bytes.extend_from_slice(&count.to_le_bytes());
        }
        // The elements of each file before the next index of an axis further out.
        let outer: u64 = metadata.shape[..axis].iter().product();
        let outer = usize::try_from(outer).unwrap_or(usize::MAX).max(1);
        for row in 0..outer {
            for part in &parts {
                let length = part.len() / outer;
                bytes.extend_from_slice(&part[row * length..(row + 1) * length]);
            }
        }
        let first = vec![0; metadata.rank()];
        let key = self.key(&first);
        self.table.add_inline(key, bytes.into())
    }

    /// Reads the small chunks that are left. Whether all chunks were found.
    pub fn finish(mut self) -> Result<bool> {
        self.read_small()?;
        Ok(!self.has_holes)
    }

    /// An index in a chunk's key.
    fn index(&self, number: u64) -> Result<i64> {
        i64::try_from(number)
            .map_err(|_| refused(format!("{}: it has more than 2^63 chunks", self.path)))
    }

    /// Where a chunk is; what is made is made now.
    fn find(&mut self, input: &Input, chunk: &Chunk) -> Result<Option<Reference>> {
        let key = chunk.key()?;
        let found = input.find(&key)?;
        self.has_holes |= found.is_none();
        match found {
            Some(Reference::Made(made)) => {
                let bytes = make(&made);
                let bytes = bytes.map_err(|error| located(error, input, &key))?;
                Ok(Some(Reference::Inline(bytes)))
            }
            found => Ok(found),
        }
    }

    fn add(&mut self, key: String, reference: Reference) -> Result<()> {
        match reference {
            Reference::Inline(bytes) => self.table.add_inline(key, bytes),
            Reference::Part { target, offset, length } if length <= self.inline => {
                self.add_small(key, target, offset..offset.saturating_add(length))
            }
            Reference::Part { target, offset, length } => {
                self.table.add_part(key, &target, offset, length)
            }
            Reference::Whole { target, .. } => self.table.add_whole(key, &target),
            Reference::Made(made) => self.table.add_inline(key, make(&made)?),
        }
    }

    fn add_small(&mut self, key: String, target: Target, range: Range<u64>) -> Result<()> {
        if let Some((of, ranges)) = &mut self.small
            && ranges.len() < MAX_RANGES
            && of.name() == target.name()
        {
            ranges.push((key, range));
            return Ok(());
        }
        self.read_small()?;
        self.small = Some((target, vec![(key, range)]));
        Ok(())
    }

    fn read_small(&mut self) -> Result<()> {
        let Some((target, small)) = self.small.take() else { return Ok(()) };
        let ranges: Vec<Range<u64>> = small.iter().map(|(_, range)| range.clone()).collect();
        let chunks = block_on(target.read(&ranges))?;
        for ((key, _), bytes) in small.into_iter().zip(chunks) {
            self.table.add_inline(key, bytes)?;
        }
        Ok(())
    }
}

/// Refuses an array whose chunks nobody can list.
fn check_count(array: &Array) -> Result<()> {
    let path = array.path();
    let metadata = array.metadata();
    let grid = metadata.grid.as_deref();
    let count = grid.and_then(|grid| chunk_count(grid, &metadata.shape));
    if count.is_none_or(|count| count > MAX_CHUNKS) {
        return Err(refused(format!(
            "{path}: it has more than {MAX_CHUNKS} chunks; leave it out with `--exclude {path}`"
        )));
    }
    Ok(())
}

fn located(error: StoreError, input: &Input, key: &StoreKey) -> zarr_core::Error {
    zarr_core::Error::from(error).at_store(&input.name).at_key(key)
}

/// The bytes of a value that is made.
fn make(made: &Made) -> Result<Bytes, StoreError> {
    let reads = made.parts.iter().map(|(target, range)| {
        let (target, range) = (target.clone(), range.clone());
        async move { target.read(&[range]).await }
    });
    let parts = block_on(try_join_all(reads))?;
    (made.make)(parts.into_iter().flatten().collect())
}

/// A part of a chunk; `None` if the chunk ends before.
fn part(reference: &Reference, start: u64, size: u64) -> Option<Reference> {
    let end = start.checked_add(size)?;
    match reference {
        Reference::Inline(bytes) => {
            let range = usize::try_from(start).ok()?..usize::try_from(end).ok()?;
            bytes.get(range.clone())?;
            Some(Reference::Inline(bytes.slice(range)))
        }
        Reference::Part { target, offset, length } => {
            let offset = offset.checked_add(start)?;
            let part = Reference::Part { target: target.clone(), offset, length: size };
            (end <= *length).then_some(part)
        }
        // How long it is was not asked for: who reads the reference finds out.
        Reference::Whole { target, .. } => {
            Some(Reference::Part { target: target.clone(), offset: start, length: size })
        }
        Reference::Made(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use zarr_core::store::from_sync;

    use super::*;

    #[test]
    fn a_chunk_that_ends_early_has_no_part_beyond_its_end() {
        let store = from_sync(zarr_stores::MemoryStore::new());
        let target = Target::new(Arc::clone(&store), StoreKey::new("file").unwrap());
        let chunk = Reference::Part { target, offset: 100, length: 10 };
        let place = |found: Option<Reference>| match found? {
            Reference::Part { offset, length, .. } => Some((offset, length)),
            other => panic!("{other:?}"),
        };
        assert_eq!(place(part(&chunk, 4, 4)), Some((104, 4)));
        assert_eq!(place(part(&chunk, 6, 4)), Some((106, 4)));
        assert_eq!(place(part(&chunk, 8, 4)), None);
        assert_eq!(place(part(&chunk, u64::MAX, 4)), None);
        let inline = Reference::Inline(Bytes::from_static(b"0123456789"));
        let bytes = |found: Option<Reference>| match found? {
            Reference::Inline(bytes) => Some(bytes),
            other => panic!("{other:?}"),
        };
        assert_eq!(bytes(part(&inline, 4, 4)).unwrap(), "4567");
        assert_eq!(bytes(part(&inline, 8, 4)), None);
    }
}
