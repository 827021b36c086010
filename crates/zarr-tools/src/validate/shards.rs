//! Checks the indices of shards, and decodes their inner chunks one by one.

use std::ops::Range;

use zarr_core::StoreError;
use zarr_core::codec::{ChunkIndex, CodecChain, PartialRead};
use zarr_core::store::{ByteRange, SyncSnapshot};

use super::chunks::{ChunkPlace, Looked};
use super::problem::{Level, ProblemKind};

/// Bytes of one entry in the footer of a draft's shard: an offset and a length, little-endian.
const ENTRY: u64 = 16;

/// Checks a shard of `size` bytes, and at level `data` what is in it.
pub(super) fn check(
    place: &ChunkPlace<'_>,
    partial: &PartialRead<'_>,
    opened: &dyn SyncSnapshot,
    size: u64,
    looked: &mut Looked,
) {
    check_within(place, partial, opened, 0..size, "", looked);
}

/// Checks the shard in these bytes of an object: the whole of it, or an inner chunk that is a shard itself.
fn check_within(
    place: &ChunkPlace<'_>,
    partial: &PartialRead<'_>,
    opened: &dyn SyncSnapshot,
    bytes: Range<u64>,
    part: &str,
    looked: &mut Looked,
) {
    let decoder = partial.decoder();
    let size = bytes.end - bytes.start;
    let broken =
        |what: String| place.problem(ProblemKind::ShardIndex, format!("{part}{what}")).by("F-091");
    let index_range = match decoder.index() {
        Ok(Some(range)) => range,
        Ok(None) => return,
        Err(e) => return looked.problems.push(place.undecodable(part, &e)),
    };
    let index_size = match index_range {
        ByteRange::Bounded { len, .. } | ByteRange::Suffix(len) => len,
        ByteRange::From(_) => 0,
    };
    if index_size > size {
        let what = format!("{part}has {size} bytes, and its index needs {index_size}");
        return looked.problems.push(place.problem(ProblemKind::WrongSize, what).by("F-088"));
    }
    let at = index_range.within(size).unwrap_or(0..0);
    let index = read(opened, bytes.start + at.start..bytes.start + at.end);
    let index: ChunkIndex = match index.map(|index| decoder.parse_index(&index)) {
        Ok(Ok(index)) => index,
        Ok(Err(e)) => return looked.problems.push(broken(format!("its index: {e}"))),
        Err(e) => return looked.problems.push(place.unreadable(&e)),
    };
    let mut used: Vec<(Range<u64>, Vec<i64>)> = vec![(at.clone(), Vec::new())];
    for tile in partial.chunk_projections() {
        if place.context.check_cancelled().is_err() {
            return;
        }
        let name = format!("{part}inner chunk {:?}: ", tile.key_index);
        let range = match decoder.segment(Some(&index), &tile) {
            Ok(Some(range)) => range,
            Ok(None) => continue,
            Err(e) => {
                looked.problems.push(broken(format!("inner chunk {:?}: {e}", tile.key_index)));
                continue;
            }
        };
        if range.end > size || range.end < range.start {
            let what = format!(
                "inner chunk {:?} is at bytes {} to {}, but the shard has {size} bytes",
                tile.key_index, range.start, range.end
            );
            looked.problems.push(broken(what));
            continue;
        }
        looked.inner_chunks += 1;
        used.push((range.clone(), tile.key_index.clone()));
        let here = bytes.start + range.start..bytes.start + range.end;
        if let Some(inner) = decoder.inner(&tile)
            && !matches!(inner.decoder().index(), Ok(None))
        {
            check_within(place, &inner, opened, here, &name, looked);
        } else if place.context.has(Level::Data) {
            let encoded = match read(opened, here) {
                Ok(encoded) => encoded,
                Err(e) => {
                    looked.problems.push(place.unreadable(&e));
                    continue;
                }
            };
            looked.bytes += encoded.len() as u64;
            let shape = tile.within.shape();
            if let Err(e) = place.decode_with(&shape, |out| decoder.decode(&encoded, &tile, out)) {
                looked.problems.push(place.undecodable(&name, &e));
            }
        }
    }
    spaces(place, used, size, part, looked);
}

/// Reports inner chunks that share bytes, and notes bytes to which no entry refers.
fn spaces(
    place: &ChunkPlace<'_>,
    mut used: Vec<(Range<u64>, Vec<i64>)>,
    size: u64,
    part: &str,
    looked: &mut Looked,
) {
    used.retain(|(range, _)| !range.is_empty());
    used.sort_by_key(|(range, _)| (range.start, range.end));
    let (mut end, mut gaps) = (0, 0);
    let mut last: Option<(Range<u64>, Vec<i64>)> = None;
    for (range, indices) in used {
        gaps += range.start.saturating_sub(end);
        if range.start < end
            && let Some((before, other)) = &last
        {
            let what =
                format!("{part}{} and {} share bytes", part_name(other), part_name(&indices));
            let clause = "F-090";
            // Writers may store equal inner chunks once.
            if *before != range || other.is_empty() || indices.is_empty() {
                looked.problems.push(place.problem(ProblemKind::ShardOverlap, what).by(clause));
            }
        }
        if range.end >= end {
            end = range.end;
            last = Some((range, indices));
        }
    }
    gaps += size.saturating_sub(end);
    if gaps > 0 {
        let what = format!("{part}its index does not refer to {gaps} of {size} bytes");
        looked.problems.push(place.problem(ProblemKind::ShardGap, what).by("F-090"));
    }
}

/// What the bytes of a shard are: an inner chunk, or the index.
fn part_name(indices: &[i64]) -> String {
    match indices {
        [] => "the index".to_owned(),
        indices => format!("inner chunk {indices:?}"),
    }
}

fn read(opened: &dyn SyncSnapshot, range: Range<u64>) -> Result<Vec<u8>, StoreError> {
    if range.is_empty() {
        return Ok(Vec::new());
    }
    let mut bytes = Vec::new();
    opened.read_into(ByteRange::from(range), &mut bytes)?;
    Ok(bytes)
}

/// Checks an object of the sharding storage transformer of zarr-python 2.13 to 2.18 (draft-v3.md 3.4): chunks, and behind
/// them a footer with an entry for each.
pub(super) fn check_object(
    place: &ChunkPlace<'_>,
    chain: &CodecChain,
    opened: &dyn SyncSnapshot,
    size: u64,
    shape: &[u64],
    looked: &mut Looked,
) {
    let per_object = place.array.metadata.shards.clone().unwrap_or_default();
    let slots = per_object.iter().try_fold(1u64, |product, &count| product.checked_mul(count));
    let footer = slots.and_then(|slots| slots.checked_mul(ENTRY));
    let Some((slots, begin)) = slots.zip(footer.and_then(|footer| size.checked_sub(footer))) else {
        let due = footer.map_or("too many".to_owned(), |footer| footer.to_string());
        let what = format!("has {size} bytes, but its footer needs {due}");
        return looked.problems.push(place.problem(ProblemKind::WrongSize, what).by("Q27"));
    };
    let footer = match read(opened, begin..size) {
        Ok(footer) => footer,
        Err(e) => return looked.problems.push(place.unreadable(&e)),
    };
    let (numbers, _) = footer.as_chunks::<8>();
    let numbers: Vec<u64> = numbers.iter().map(|number| u64::from_le_bytes(*number)).collect();
    let mut used = vec![(begin..size, Vec::new())];
    for (slot, entry) in (0..slots).zip(numbers.as_chunks::<2>().0) {
        if *entry == [u64::MAX; 2] {
            continue;
        }
        let indices = indices_of(slot, &per_object);
        let range = entry[0].checked_add(entry[1]).filter(|&end| end <= begin);
        let Some(range) = range.map(|end| entry[0]..end) else {
            let [offset, length] = entry;
            let what =
                format!("inner chunk {indices:?} has {length} bytes at {offset}, of {begin}");
            looked.problems.push(place.problem(ProblemKind::ShardIndex, what).by("Q27"));
            continue;
        };
        looked.inner_chunks += 1;
        used.push((range.clone(), indices.clone()));
        if !place.context.has(Level::Data) {
            continue;
        }
        let decoded = read(opened, range).map(|encoded| {
            looked.bytes += encoded.len() as u64;
            place.decode_bytes(chain, &encoded, shape)
        });
        match decoded {
            Err(e) => looked.problems.push(place.unreadable(&e)),
            Ok(Err(e)) => {
                let part = format!("inner chunk {indices:?}: ");
                looked.problems.push(place.undecodable(&part, &e));
            }
            Ok(Ok(())) => {}
        }
    }
    spaces(place, used, size, "", looked);
}

/// The indices of an entry, in C order.
fn indices_of(slot: u64, counts: &[u64]) -> Vec<i64> {
    let mut rest = slot;
    let indices = counts.iter().rev().map(|&count| {
        let index = rest % count.max(1);
        rest /= count.max(1);
        index as i64
    });
    let mut indices: Vec<i64> = indices.collect();
    indices.reverse();
    indices
}
