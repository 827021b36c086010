//! How the chunks of an array in several files become those of one array.

use zarr_core::data_type::{DataType, Repr};
use zarr_core::{Array, ArrayMetadata, Json, Result};

use super::axis::is_coordinate;
use super::input::Input;
use super::refused;

/// The most bytes of a coordinate along the joined dimension that is inlined whole.
const MAX_COORDINATE_BYTES: u64 = 16 << 20;

/// The most bytes of another array that is inlined whole.
const MAX_INLINED_BYTES: u64 = 1 << 20;

/// The most chunks of an array.
const MAX_CHUNKS: u64 = 10_000_000;

/// How chunks are joined.
pub(super) enum Layout {
    /// Those of the first file, which has the elements of all.
    OfFirst,
    /// As they are stored, in chunks of this shape; those of each file begin at a border of chunks.
    AsStored(Vec<u64>),
    /// Chunks without compression are divided into ones of this shape.
    Divided { chunks: Vec<u64>, row_bytes: u64 },
    /// As they are stored, in chunks of these lengths along each axis, as a rectilinear grid says them.
    Rectilinear(Vec<Json>),
    /// All elements are one chunk in the reference file.
    Inlined,
}

/// The shape of an array that is joined along an axis.
pub(super) fn joined_shape(arrays: &[&Array], axis: usize, path: &str) -> Result<Vec<u64>> {
    let mut shape = arrays[0].shape();
    let mut length = 0u64;
    for array in arrays {
        length = length.checked_add(array.shape()[axis]).ok_or_else(|| {
            refused(format!("{path}: the joined axis has more elements than 64 bits count"))
        })?;
    }
    shape[axis] = length;
    Ok(shape)
}

/// What is asked of the chunks of a joined array.
pub(super) struct Wish {
    /// Whether its elements are converted, so that they cannot stay in the files.
    pub is_converted: bool,
    /// Whether its document can say that chunks have different lengths.
    pub may_be_rectilinear: bool,
}

/// How the chunks of an array are joined along an axis, whose dimension is called `name`.
pub(super) fn choose(
    inputs: &[Input],
    arrays: &[&Array],
    path: &str,
    (axis, name): (usize, &str),
    wish: &Wish,
) -> Result<Layout> {
    let all: Vec<_> = arrays.iter().map(|array| array.metadata()).collect();
    let shape = joined_shape(arrays, axis, path)?;
    let bytes = byte_count(&shape, &all[0]);
    let may_be_inlined = all.iter().all(|metadata| can_be_inlined(metadata, axis));
    let is_at_most = |limit| may_be_inlined && bytes.is_some_and(|bytes| bytes <= limit);
    // One chunk for each file would be many small ones.
    let is_coordinate = is_coordinate(path, &all[0], name);
    if (is_coordinate || wish.is_converted) && is_at_most(MAX_COORDINATE_BYTES)
        || shape.len() == 1 && is_at_most(MAX_INLINED_BYTES)
    {
        return Ok(Layout::Inlined);
    }
    if wish.is_converted {
        return Err(refused(format!(
            "{path}: its times cannot be converted: {} bytes of {} do not go into the reference file; leave it out with `--exclude {path}`",
            bytes.unwrap_or(u64::MAX),
            all[0].data_type
        )));
    }
    // Files without elements have no chunks.
    let stored: Vec<usize> = (0..all.len()).filter(|n| all[*n].shape[axis] > 0).collect();
    let Some(begin) = stored.first().copied() else {
        return Ok(Layout::AsStored(all[0].chunk_extent()));
    };
    let last = stored[stored.len() - 1];
    let found = stored.iter().find_map(|&n| {
        let why = misfit(&all[begin], &all[n], axis, n == last)?;
        Some(format!("{}: {why}", inputs[n].name))
    });
    let Some(found) = found else {
        return Ok(Layout::AsStored(all[begin].chunk_extent()));
    };
    if is_at_most(MAX_INLINED_BYTES) {
        return Ok(Layout::Inlined);
    }
    let with_elements: Vec<&ArrayMetadata> = stored.iter().map(|&n| &*all[n]).collect();
    if let Some(layout) = divided(&with_elements, &shape, axis) {
        return Ok(layout);
    }
    let rectilinear = rectilinear(&with_elements, axis);
    if wish.may_be_rectilinear
        && let Some(chunk_shapes) = rectilinear
    {
        return Ok(Layout::Rectilinear(chunk_shapes));
    }
    let other_format = if rectilinear.is_some() {
        "write documents of v3, which can say that chunks have different lengths, or "
    } else {
        ""
    };
    Err(refused(format!(
        "{path}: its chunks do not line up along `{name}`: {found}; each file but the last must have a multiple of the same \
         chunk length; {other_format}leave the array out with `--exclude {path}`, or copy the first file with `zarr copy --chunks`, and \
         append the others with `zarr append --axis {name}`"
    )))
}

/// The lengths of the chunks along each axis, one after the other in all files; `None` if a chunk other than the last reaches beyond the
/// end of its file, or if the chunks differ along another axis.
fn rectilinear(all: &[&ArrayMetadata], axis: usize) -> Option<Vec<Json>> {
    let first = all.first()?;
    if first.shards.is_some() {
        return None;
    }
    let mut joined = Vec::new();
    for (number, metadata) in all.iter().enumerate() {
        let is_last = number + 1 == all.len();
        joined.extend(lengths(metadata, axis, is_last)?);
        for other in (0..first.shape.len()).filter(|other| *other != axis) {
            if lengths(metadata, other, true)? != lengths(first, other, true)? {
                return None;
            }
        }
    }
    let mut chunk_shapes = Vec::with_capacity(first.shape.len());
    for other in 0..first.shape.len() {
        let lengths = if other == axis { joined.clone() } else { lengths(first, other, true)? };
        chunk_shapes.push(in_runs(&lengths));
    }
    Some(chunk_shapes)
}

/// The lengths of the chunks along an axis, of which the last may reach beyond its end, if `may_exceed`.
fn lengths(metadata: &ArrayMetadata, axis: usize, may_exceed: bool) -> Option<Vec<u64>> {
    let grid = metadata.grid.as_ref()?;
    let len = metadata.shape[axis];
    let count = grid.count(axis, len);
    if count > MAX_CHUNKS {
        return None;
    }
    let mut lengths = Vec::new();
    for ordinal in 0..count {
        let span = grid.span(axis, ordinal);
        let exceeds = span.start.checked_add(span.len)? > len;
        if span.before > 0 || exceeds && !may_exceed {
            return None;
        }
        lengths.push(span.len);
    }
    Some(lengths)
}

/// Lengths as a rectilinear grid writes them: several equal ones are `[length, count]`.
fn in_runs(lengths: &[u64]) -> Json {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for &length in lengths {
        match runs.last_mut() {
            Some((last, count)) if *last == length => *count += 1,
            _ => runs.push((length, 1)),
        }
    }
    let run = |(length, count): (u64, u64)| match count {
        1 => Json::from(length),
        _ => Json::from(&[length, count][..]),
    };
    runs.into_iter().map(run).collect()
}

/// Why the chunks of an array cannot stand beside those of the first, if so.
fn misfit(
    first: &ArrayMetadata,
    metadata: &ArrayMetadata,
    axis: usize,
    is_last: bool,
) -> Option<String> {
    let (Some(expected), Some(chunks)) = (first.chunk_shape(), metadata.chunk_shape()) else {
        return Some("its last chunk is shorter than the others".to_owned());
    };
    if chunks != expected {
        return Some(format!("chunks of {}, expected {}", text(&chunks), text(&expected)));
    }
    let length = metadata.shape[axis];
    if !is_last && !length.is_multiple_of(chunks[axis]) {
        return Some(format!("{length} elements in chunks of {}", chunks[axis]));
    }
    None
}

fn text(shape: &[u64]) -> String {
    shape.iter().map(u64::to_string).collect::<Vec<_>>().join(" × ")
}

/// Chunks of bytes without compression, divided so that all files have whole ones; `None` if they cannot be divided.
fn divided(all: &[&ArrayMetadata], shape: &[u64], axis: usize) -> Option<Layout> {
    let mut chunks = all.first()?.chunk_extent();
    let mut length = 0;
    for metadata in all {
        let extent = metadata.chunk_extent();
        let is_same =
            (0..extent.len()).all(|other| other == axis || extent[other] == chunks[other]);
        // A part of a chunk is one run of its bytes only if the axis is the outermost that the chunk extends along.
        let is_outermost = extent[..axis].iter().all(|length| *length == 1);
        if !is_same || !is_outermost || !is_raw(metadata) {
            return None;
        }
        let grid = metadata.grid.as_ref()?;
        let len = metadata.shape[axis];
        let count = grid.count(axis, len);
        if count > MAX_CHUNKS {
            return None;
        }
        for ordinal in 0..count {
            let span = grid.span(axis, ordinal);
            if span.before > 0 {
                return None;
            }
            length = greatest_divisor(length, span.start);
            length = greatest_divisor(length, span.len.min(len - span.start));
        }
    }
    chunks[axis] = length;
    let mut count = 1u64;
    for (length, chunk) in shape.iter().zip(&chunks) {
        count = count.checked_mul(length.checked_div(*chunk)?.checked_add(1)?)?;
    }
    if count > MAX_CHUNKS {
        return None;
    }
    let row_bytes = byte_count(&chunks[axis + 1..], all[0])?;
    Some(Layout::Divided { chunks, row_bytes })
}

/// The greatest common divisor; that of 0 and a number is the number.
fn greatest_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Whether chunks are the elements' bytes in C order, and nothing else.
fn is_raw(metadata: &ArrayMetadata) -> bool {
    let has_only_bytes = metadata.codecs.iter().all(|codec| codec.name == "bytes");
    has_only_bytes && metadata.shards.is_none() && element_size(metadata).is_some()
}

/// The bytes of an element of fixed size.
fn element_size(metadata: &ArrayMetadata) -> Option<u64> {
    match metadata.data_type.repr()? {
        Repr::Scalar(scalar) => Some(scalar.size() as u64),
        Repr::Opaque(size) => Some(size as u64),
        _ => None,
    }
}

/// The bytes of an array of this shape; of texts, whose lengths are not known, about as many.
fn byte_count(shape: &[u64], metadata: &ArrayMetadata) -> Option<u64> {
    const TEXT_BYTES: u64 = 256;
    let size = element_size(metadata).unwrap_or(TEXT_BYTES);
    shape.iter().try_fold(size, |bytes, length| bytes.checked_mul(*length))
}

/// Whether the elements can be written as one chunk of little-endian bytes, or of texts.
fn can_be_inlined(metadata: &ArrayMetadata, axis: usize) -> bool {
    match &metadata.data_type {
        DataType::Core(_) | DataType::FixedBytes { .. } => true,
        // Texts of several files follow each other only along the first axis.
        DataType::String => axis == 0 && metadata.codecs.first().is_some_and(is_vlen_utf8),
        _ => false,
    }
}

fn is_vlen_utf8(codec: &zarr_core::codec::CodecSpec) -> bool {
    codec.dialect == zarr_core::Dialect::V3 && codec.name == "vlen-utf8"
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use zarr_core::grid::{ChunkExtent, ChunkGrid};
    use zarr_core::{Dialect, Json};

    use super::*;

    fn metadata(shape: &[u64], chunks: &[u64]) -> ArrayMetadata {
        ArrayMetadata::new(shape, zarr_core::CoreType::Int16.into(), chunks).unwrap()
    }

    #[test]
    fn files_but_the_last_have_whole_chunks() {
        let first = metadata(&[6, 4], &[3, 4]);
        assert_eq!(misfit(&first, &first, 0, false), None);
        let short = metadata(&[5, 4], &[3, 4]);
        assert_eq!(misfit(&first, &short, 0, true), None);
        assert_eq!(misfit(&first, &short, 0, false).unwrap(), "5 elements in chunks of 3");
        let other = metadata(&[6, 4], &[2, 4]);
        assert_eq!(misfit(&first, &other, 0, true).unwrap(), "chunks of 2 × 4, expected 3 × 4");
    }

    #[test]
    fn uncompressed_chunks_are_divided_by_a_common_length() {
        let months = [metadata(&[30, 4], &[30, 4]), metadata(&[12, 4], &[12, 4])];
        let all: Vec<&ArrayMetadata> = months.iter().collect();
        let Some(Layout::Divided { chunks, row_bytes }) = divided(&all, &[42, 4], 0) else {
            panic!("not divided");
        };
        assert_eq!((&chunks[..], row_bytes), (&[6, 4][..], 8));
        // Along an inner axis the bytes of a part are not one run.
        let inner = [metadata(&[4, 30], &[4, 30]), metadata(&[4, 12], &[4, 12])];
        let all: Vec<&ArrayMetadata> = inner.iter().collect();
        assert!(divided(&all, &[4, 42], 1).is_none());
    }

    /// A grid of a third party, whose first chunk begins two elements before the array.
    #[derive(Debug)]
    struct Overhanging;

    impl ChunkGrid for Overhanging {
        fn rank(&self) -> usize {
            1
        }

        fn count(&self, _: usize, len: u64) -> u64 {
            (len + 2).div_ceil(6)
        }

        fn span(&self, _: usize, ordinal: u64) -> ChunkExtent {
            let before = if ordinal == 0 { 2 } else { 0 };
            let start = (ordinal * 6).saturating_sub(2);
            ChunkExtent { index: ordinal as i64, before, start, len: 6 - before, stored: 6 }
        }

        fn locate(&self, _: usize, coordinate: u64) -> u64 {
            (coordinate + 2) / 6
        }

        fn chunk_shape(&self) -> Option<Vec<u64>> {
            Some(vec![6])
        }

        fn to_metadata(&self, _: Dialect) -> Option<Json> {
            None
        }
    }

    /// The bytes of such a chunk begin with what is no element of the array.
    #[test]
    fn a_chunk_that_begins_before_the_array_is_not_divided() {
        let mut first = metadata(&[10], &[6]);
        assert!(divided(&[&first], &[10], 0).is_some());
        first.grid = Some(Arc::new(Overhanging));
        assert!(divided(&[&first], &[10], 0).is_none());
    }

    #[test]
    fn divisors() {
        for (a, b, divisor) in [(0, 31, 31), (31, 28, 1), (30, 12, 6), (6, 0, 6)] {
            assert_eq!(greatest_divisor(a, b), divisor);
        }
    }
}
