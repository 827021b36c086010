//! Reads references that were written, and compares them with the files that they are of (V-100).
//!
//! Nodes and shapes are all compared. Of elements, up to [`MAX_CHECKED_CHUNKS`] chunks of each array are: references take seconds to
//! write, however much data they lead to, and a wrong offset, codec or order shows in any chunk.

use std::ops::Range;
use std::path::Path;

use zarr_core::grid::chunk_count;
use zarr_core::{
    Array, Chunk, Consolidated, Error, Hierarchy, OpenOptions, Region, Result, StoreError,
};

use super::input::Input;
use super::{Joined, refused};
use crate::location::file_url;

/// The most chunks of an array, in all files together, whose elements are compared. They are spread evenly, the first and the last
/// among them.
const MAX_CHECKED_CHUNKS: u64 = 64;
/// The most bytes of a chunk that are compared, of those at its beginning.
const MAX_CHECKED_BYTES: u64 = 64 << 20;

impl Joined {
    /// Reads the references in the local file `path`, which [`Joined::write_json`] wrote, and compares them with the files. Returns
    /// the number of chunks whose elements were compared: all, or 64 of an array that has more. `open` are the options with which the
    /// files were opened.
    ///
    /// # Errors
    /// [`StoreError::Backend`] if something differs, saying where; what reading them reports.
    pub fn verify(&self, path: &Path, open: &OpenOptions) -> Result<u64> {
        let url = std::path::absolute(path).ok().and_then(|path| file_url(&path));
        let url =
            url.ok_or_else(|| refused(format!("{}: its path is not UTF-8", path.display())))?;
        let prefixes = self.prefixes_to_allow(path).join("\n");
        let open = open.clone().consolidated(Consolidated::Ignore);
        let store = open
            .clone()
            .store_option("allow_target", prefixes)
            .store(&format!("kerchunk::{url}"))?;
        let written = Hierarchy::open(store, &open)?;
        let Some(first) = self.inputs.first() else { return Ok(0) };
        for path in &first.groups {
            written.group(path)?;
        }
        let mut compared = 0;
        for (path, axis) in &self.written {
            let array = written.array(path)?;
            compared += self.check_array(&array, path, *axis)?;
        }
        Ok(compared)
    }

    /// Compares an array with those in the files. Returns the number of chunks.
    fn check_array(&self, written: &Array, path: &str, axis: Option<usize>) -> Result<u64> {
        // Without the joined dimension it is that of the first file.
        let count = if axis.is_some() { self.inputs.len() } else { 1 };
        let inputs = &self.inputs[..count];
        let mut shape = inputs[0].array(path)?.shape();
        let mut chunks = 0u64;
        for (number, input) in inputs.iter().enumerate() {
            let array = input.array(path)?;
            if let Some(axis) = axis.filter(|_| number > 0) {
                shape[axis] = shape[axis].saturating_add(array.shape()[axis]);
            }
            chunks = chunks.saturating_add(count_of_chunks(array));
        }
        if written.shape() != shape {
            let found = written.shape();
            return Err(differs(format!("{path} has the shape {found:?}, expected {shape:?}")));
        }
        let step = chunks.div_ceil(MAX_CHECKED_CHUNKS).max(1);
        let (mut number, mut begin, mut compared) = (0, 0, 0);
        // Times that were converted are written as they were read.
        let is_converted = self.converted.contains(path);
        for (place, input) in inputs.iter().enumerate() {
            let array = input.array(path)?;
            let end = number + count_of_chunks(array);
            // Chunks are counted off only where one of them is compared.
            let is_compared = place == 0 || !is_converted;
            if is_compared && (number.next_multiple_of(step) < end || end == chunks) {
                for (number, chunk) in (number..).zip(array.chunks(..)?) {
                    if number.is_multiple_of(step) || number + 1 == chunks {
                        self.check_chunk(written, input, &chunk, axis.map(|axis| (axis, begin)))?;
                        compared += 1;
                    }
                }
            }
            number = end;
            begin += axis.map_or(0, |axis| array.shape()[axis]);
        }
        Ok(compared)
    }

    /// Compares the elements of a chunk. Along an axis, its array begins at a place of the one that was written.
    fn check_chunk(
        &self,
        written: &Array,
        input: &Input,
        chunk: &Chunk,
        from: Option<(usize, u64)>,
    ) -> Result<()> {
        // What is not stored may have another fill value in another dialect.
        let is_converted = self.dialect.is_some_and(|to| to != input.hierarchy.dialect());
        if is_converted && input.find(&chunk.key()?)?.is_none() {
            return Ok(());
        }
        let array = input.array(written.path().as_str())?;
        let Some(piece) = array.pieces(chunk.region(), MAX_CHECKED_BYTES)?.next() else {
            return Ok(());
        };
        let starts = chunk.region().intervals().iter().map(|interval| interval.start);
        let places = starts.zip(piece.place.intervals()).map(|(start, inside)| {
            // Neither sum passes the end of the chunk.
            start + inside.start..start + inside.end
        });
        let mut places: Vec<Range<u64>> = places.collect();
        let elements = array.read_le_bytes(&Region::new(places.iter().cloned()))?;
        if let Some((axis, begin)) = from {
            let place = &mut places[axis];
            *place = begin.saturating_add(place.start)..begin.saturating_add(place.end);
        }
        let region = Region::new(places);
        if written.read_le_bytes(&region)? == elements {
            return Ok(());
        }
        let (path, name) = (written.path(), &input.name);
        Err(differs(format!("{path}: the elements at {region} are not those of {name}")))
    }
}

/// The number of an array's chunks.
fn count_of_chunks(array: &Array) -> u64 {
    let metadata = array.metadata();
    let grid = metadata.grid.as_deref();
    // One whose chunks cannot be counted was refused.
    grid.and_then(|grid| chunk_count(grid, &metadata.shape)).unwrap_or(0)
}

/// The error of references that do not lead to what they were made of: a file was changed meanwhile, or this library is wrong.
fn differs(what: String) -> Error {
    let why = format!(
        "the references that were written are wrong: {what}; if the files were not changed meanwhile, please report it"
    );
    StoreError::Backend(why.into()).into()
}
