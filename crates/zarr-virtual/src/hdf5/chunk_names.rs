//! The keys of the stored chunks of an array.

use std::collections::BTreeSet;

use zarr_hdf5::zarr_view::ArrayView;
use zarr_hdf5::{Blocks, ChunkCursor, File, Storage};

/// How many chunks of an array are listed at most.
const MAX_CHUNKS: usize = 10_000_000;

/// The coordinates of the stored chunks.
#[derive(Debug)]
pub(super) struct ChunkNames {
    rank: usize,
    /// How many axes the elements themselves have, along which there is one chunk.
    inner_axes: usize,
    cursor: Option<ChunkCursor>,
    chunks: Vec<Vec<u64>>,
}

impl ChunkNames {
    pub fn new(array: &ArrayView) -> ChunkNames {
        let counts = array.grid.counts();
        let rank = counts.len();
        let mut names = ChunkNames { rank, inner_axes: 0, cursor: None, chunks: Vec::new() };
        match &array.dataset.storage {
            Storage::Chunked(storage) => {
                names.inner_axes = rank - storage.chunk_shape.len();
                names.cursor = Some(storage.cursor());
            }
            Storage::Contiguous { .. } | Storage::Compact(_) if !counts.contains(&0) => {
                names.add_all(&counts);
            }
            _ => {}
        }
        names
    }

    /// All chunks of a grid. A run of bytes in the file is divided into few.
    fn add_all(&mut self, counts: &[u64]) {
        let mut coordinates = vec![0; counts.len()];
        loop {
            self.chunks.push(coordinates.clone());
            let axis = (0..counts.len()).rev().find(|axis| coordinates[*axis] + 1 < counts[*axis]);
            let Some(axis) = axis.filter(|_| self.chunks.len() < MAX_CHUNKS) else { return };
            coordinates[axis] += 1;
            coordinates[axis + 1..].fill(0);
        }
    }

    /// Reads the next part of the index. Whether there is more.
    pub fn read_more(
        &mut self,
        file: &File,
        blocks: &Blocks,
        array: &ArrayView,
    ) -> zarr_hdf5::Result<bool> {
        let (Storage::Chunked(storage), Some(cursor)) = (&array.dataset.storage, &mut self.cursor)
        else {
            return Ok(false);
        };
        let Some(chunks) = file.next_chunks(blocks, storage, cursor)? else { return Ok(false) };
        for chunk in chunks {
            let mut coordinates = chunk.coordinates;
            coordinates.resize(coordinates.len() + self.inner_axes, 0);
            self.chunks.push(coordinates);
        }
        Ok(self.chunks.len() < MAX_CHUNKS)
    }

    pub fn finish(mut self) -> ChunkNames {
        self.cursor = None;
        self.chunks.sort();
        self
    }

    /// The names directly below the array (`None`) or below a folder of chunks; those of folders with more behind them.
    pub fn below(&self, folder: Option<&[u64]>) -> Vec<String> {
        let more = |depth: usize| if depth < self.rank { "/x" } else { "" };
        let Some(folder) = folder else {
            let is_empty = self.chunks.is_empty();
            return if is_empty { Vec::new() } else { vec![format!("c{}", more(0))] };
        };
        let depth = folder.len();
        if depth >= self.rank {
            return Vec::new();
        }
        let start = self.chunks.partition_point(|chunk| chunk[..depth] < *folder);
        let inside = self.chunks[start..].iter().take_while(|chunk| chunk[..depth] == *folder);
        let next: BTreeSet<u64> = inside.map(|chunk| chunk[depth]).collect();
        next.iter().map(|number| format!("{number}{}", more(depth + 1))).collect()
    }
}
