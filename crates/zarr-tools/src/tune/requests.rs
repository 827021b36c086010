//! Counts the requests of a read, and their bytes, from how an array is stored: the model that advice rests on.
//!
//! It follows what the reader of a remote store does when it knows nothing yet (docs/internals/design/reading.md): a chunk that is
//! an object is one request. Of a shard, the whole object is one request if all of it is read and it is not large; else the index
//! is, and then the inner chunks, of which neighbours, and those with small gaps between them, are one. Parts of more than
//! 8 MiB of a shard are fetched in groups of about 4 MiB. Inner chunks are taken to be all of the same size.

use std::ops::Range;

use super::reads::ReadPattern;
use super::service::Service;

/// How an array is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredLayout {
    /// The array's shape.
    pub shape: Vec<u64>,
    /// The chunks that are decoded: in shards, the inner ones.
    pub chunks: Vec<u64>,
    /// The shards, made of whole chunks, if there are any.
    pub shards: Option<Vec<u64>>,
    /// Bytes of the elements of a chunk.
    pub decoded_chunk_bytes: u64,
    /// Bytes of a chunk as it is stored, on average.
    pub stored_chunk_bytes: f64,
}

/// What a read takes; means, if that depends on its place.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReadCount {
    /// Objects that are touched.
    pub objects: f64,
    /// Requests to the store.
    pub requests: f64,
    /// Chunks that are decoded.
    pub chunks: f64,
    /// Bytes that are fetched.
    pub bytes: f64,
    /// How many times requests wait for the answers of earlier ones: 2 where an index comes first.
    pub rounds: f64,
}

/// A part of a shard of more decoded bytes is fetched in groups, each of about so many as half of that
/// (`zarr-core/src/array/read/large_parts.rs`).
const LARGE_PART_BYTES: u64 = 8 << 20;
const GROUP_BYTES: u64 = 4 << 20;

/// The most inner chunks of a shard that are walked over one by one.
const MAX_INNER_CHUNKS: u64 = 1 << 18;

/// Places over which requests to shards are averaged.
const PLACES: usize = 64;
const PLACES_SEED: u64 = 0x7a61_7272;

/// Shards of which the same inner chunks are touched: along one axis, from and to which one, and how many such shards.
type Touched = (Range<u64>, u64);

impl StoredLayout {
    /// How many objects the array has if all chunks are stored.
    pub fn objects(&self) -> u64 {
        let stored = self.shards.as_ref().unwrap_or(&self.chunks);
        let counts = self.shape.iter().zip(stored).map(|(&len, &side)| len.div_ceil(side.max(1)));
        counts.fold(1, u64::saturating_mul)
    }

    /// How many chunks the array has.
    pub fn chunk_count(&self) -> u64 {
        let counts =
            self.shape.iter().zip(&self.chunks).map(|(&len, &side)| len.div_ceil(side.max(1)));
        counts.fold(1, u64::saturating_mul)
    }

    /// How many chunks a shard has; 1 without shards.
    pub fn chunks_of_object(&self) -> u64 {
        let shards = self.shards.as_ref().unwrap_or(&self.chunks);
        let counts = shards.iter().zip(&self.chunks).map(|(&shard, &side)| shard / side.max(1));
        counts.fold(1, u64::saturating_mul)
    }

    /// What the read of a box takes that is inside the array. Every chunk is taken to be stored.
    pub fn count(&self, region: &[Range<u64>], service: &Service) -> ReadCount {
        if region.iter().any(Range::is_empty) {
            return ReadCount::default();
        }
        let chunks = region
            .iter()
            .zip(&self.chunks)
            .map(|(range, &side)| ((range.end - 1) / side - range.start / side + 1) as f64);
        let chunks: f64 = chunks.product();
        let Some(shards) = &self.shards else {
            let bytes = chunks * self.stored_chunk_bytes;
            return ReadCount { objects: chunks, requests: chunks, chunks, bytes, rounds: 1.0 };
        };
        let per_shard: Vec<u64> =
            shards.iter().zip(&self.chunks).map(|(&shard, &side)| (shard / side).max(1)).collect();
        let touched: Vec<Vec<Touched>> = region
            .iter()
            .zip(&self.chunks)
            .zip(&per_shard)
            .map(|((range, &side), &count)| touched_shards(range, side, count))
            .collect();
        let mut all = ReadCount { chunks, ..ReadCount::default() };
        let mut at = vec![0; touched.len()];
        loop {
            let classes: Vec<&Touched> =
                touched.iter().zip(&at).map(|(axis, &n)| &axis[n]).collect();
            let shards: f64 = classes.iter().map(|(_, shards)| *shards as f64).product();
            let inner: Vec<Range<u64>> = classes.iter().map(|(inner, _)| inner.clone()).collect();
            let one = self.count_in_shard(&per_shard, &inner, service);
            all.objects += shards;
            all.requests += shards * one.requests;
            all.bytes += shards * one.bytes;
            all.rounds = all.rounds.max(one.rounds);
            if !next(&mut at, &touched) {
                return all;
            }
        }
    }

    /// What the read of a box of inner chunks of one shard takes.
    fn count_in_shard(
        &self,
        per_shard: &[u64],
        inner: &[Range<u64>],
        service: &Service,
    ) -> ReadCount {
        let touched =
            inner.iter().fold(1u64, |all, range| all.saturating_mul(range.end - range.start));
        let in_shard = per_shard.iter().fold(1u64, |all, &count| all.saturating_mul(count));
        let index = 16.0 * in_shard as f64 + 4.0;
        let stored = self.stored_chunk_bytes;
        let data = touched as f64 * stored;
        if service.is_local {
            // The file is opened once; each inner chunk is read by itself, which is no request.
            return ReadCount {
                requests: 1.0,
                bytes: index + data,
                rounds: 1.0,
                ..ReadCount::default()
            };
        }
        let decoded = touched.saturating_mul(self.decoded_chunk_bytes);
        let is_large = decoded > LARGE_PART_BYTES;
        if touched == in_shard && !is_large {
            return ReadCount {
                requests: 1.0,
                bytes: index + data,
                rounds: 1.0,
                ..ReadCount::default()
            };
        }
        let (ranges, wasted) = if is_large {
            let held = (self.decoded_chunk_bytes as f64).max(stored).max(1.0);
            let group = ((GROUP_BYTES as f64 / held) as u64).max(1);
            grouped_ranges(per_shard, inner, (stored, service.gap), group)
        } else {
            ranges_of_box(per_shard, inner, stored, service.gap)
        };
        ReadCount {
            requests: 1.0 + ranges,
            bytes: index + data + wasted,
            rounds: 2.0,
            ..ReadCount::default()
        }
    }

    /// What a read takes on average over the places where it can be. Without shards that is exact; with shards it is the mean
    /// over 64 places.
    pub fn expect(&self, read: &ReadPattern, service: &Service) -> ReadCount {
        if self.shards.is_none() {
            let met = self.shape.iter().zip(&self.chunks).zip(&read.lengths);
            let chunks = met.map(|((&len, &side), &length)| mean_chunks(len, side, length));
            let chunks: f64 = chunks.product();
            let bytes = chunks * self.stored_chunk_bytes;
            return ReadCount { objects: chunks, requests: chunks, chunks, bytes, rounds: 1.0 };
        }
        let places = read.places(&self.shape, PLACES, PLACES_SEED);
        let mut mean = ReadCount::default();
        for place in &places {
            let count = self.count(place, service);
            mean.objects += count.objects;
            mean.requests += count.requests;
            mean.chunks += count.chunks;
            mean.bytes += count.bytes;
            mean.rounds += count.rounds;
        }
        let n = places.len().max(1) as f64;
        ReadCount {
            objects: mean.objects / n,
            requests: mean.requests / n,
            chunks: mean.chunks / n,
            bytes: mean.bytes / n,
            rounds: mean.rounds / n,
        }
    }
}

/// Goes to the next combination of one class of each axis; `false` after the last.
fn next(at: &mut [usize], touched: &[Vec<Touched>]) -> bool {
    for (n, axis) in at.iter_mut().zip(touched).rev() {
        *n += 1;
        if *n < axis.len() {
            return true;
        }
        *n = 0;
    }
    false
}

/// The shards that a range touches along an axis, of `count` chunks of `side` elements each.
fn touched_shards(range: &Range<u64>, side: u64, count: u64) -> Vec<Touched> {
    let (first, last) = (range.start / side, (range.end - 1) / side);
    let (from, to) = (first / count, last / count);
    if from == to {
        return vec![(first % count..last % count + 1, 1)];
    }
    let mut touched = vec![(first % count..count, 1)];
    if to - from > 1 {
        touched.push((0..count, to - from - 1));
    }
    touched.push((0..last % count + 1, 1));
    touched
}

/// How many ranges hold a box of inner chunks that are stored in C order, and how many bytes between them are fetched, too.
fn ranges_of_box(counts: &[u64], inner: &[Range<u64>], stored: f64, gap: u64) -> (f64, f64) {
    // From the last axis on: the ranges of the box over the axes so far, the chunks from its first to its last, and the chunks of
    // all these axes.
    let (mut ranges, mut wasted, mut span, mut stride) = (1.0, 0.0, 1u64, 1u64);
    for (&count, range) in counts.iter().zip(inner).rev() {
        let length = range.end - range.start;
        let between = stride.saturating_sub(span) as f64 * stored;
        let joins = (length - 1) as f64;
        ranges *= length as f64;
        wasted *= length as f64;
        if between <= gap as f64 {
            ranges -= joins;
            wasted += joins * between;
        }
        span = span.saturating_add((length - 1).saturating_mul(stride));
        stride = stride.saturating_mul(count);
    }
    (ranges, wasted)
}

/// As [`ranges_of_box`], where every `group` inner chunks are fetched by themselves.
fn grouped_ranges(
    counts: &[u64],
    inner: &[Range<u64>],
    (stored, gap): (f64, u64),
    group: u64,
) -> (f64, f64) {
    let touched = inner.iter().fold(1u64, |all, range| all.saturating_mul(range.end - range.start));
    if touched > MAX_INNER_CHUNKS {
        let (ranges, wasted) = ranges_of_box(counts, inner, stored, gap);
        return (ranges + (touched.div_ceil(group) - 1) as f64, wasted);
    }
    let (mut ranges, mut wasted, mut before) = (0u64, 0.0, None);
    for n in 0..touched {
        let (mut rest, mut place, mut stride) = (n, 0, 1);
        for (&count, range) in counts.iter().zip(inner).rev() {
            let length = range.end - range.start;
            place += (range.start + rest % length) * stride;
            rest /= length;
            stride = u64::saturating_mul(stride, count);
        }
        let between = before.map(|before: u64| (place - before - 1) as f64 * stored);
        match between.filter(|between| n % group != 0 && *between <= gap as f64) {
            Some(between) => wasted += between,
            None => ranges += 1,
        }
        before = Some(place);
    }
    (ranges as f64, wasted)
}

/// How many chunks of `side` elements a range of `length` meets along an axis of `len`, on average over all places.
pub(super) fn mean_chunks(len: u64, side: u64, length: u64) -> f64 {
    if length == 0 || len < length || side == 0 {
        return 0.0;
    }
    let places = u128::from(len - length) + 1;
    let last = u128::from(length) - 1;
    let crossed = (sum_of_floors(last + places, side) - sum_of_floors(last, side))
        .saturating_sub(sum_of_floors(places, side));
    1.0 + crossed as f64 / places as f64
}

/// The sum of ⌊t / side⌋ for t from 0 to `end` - 1.
fn sum_of_floors(end: u128, side: u64) -> u128 {
    let side = u128::from(side);
    let whole = end / side;
    (whole * whole.saturating_sub(1) / 2)
        .saturating_mul(side)
        .saturating_add(whole * (end - whole * side))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(shape: &[u64], chunks: &[u64], shards: Option<&[u64]>, stored: f64) -> StoredLayout {
        StoredLayout {
            shape: shape.to_vec(),
            chunks: chunks.to_vec(),
            shards: shards.map(<[u64]>::to_vec),
            decoded_chunk_bytes: chunks.iter().product::<u64>() * 4,
            stored_chunk_bytes: stored,
        }
    }

    #[test]
    fn mean_chunks_are_those_of_all_places() {
        for len in 1..30u64 {
            for side in 1..12 {
                for length in 1..=len {
                    let met = |start: u64| (start + length - 1) / side - start / side + 1;
                    let sum: u64 = (0..=len - length).map(met).sum();
                    let mean = sum as f64 / (len - length + 1) as f64;
                    let found = mean_chunks(len, side, length);
                    assert!((found - mean).abs() < 1e-9, "{len} {side} {length}: {found}, {mean}");
                }
            }
        }
        // About 1 + (l - 1) / c on a long axis.
        assert!((mean_chunks(1 << 40, 100, 51) - 1.5).abs() < 1e-6);
        assert!(mean_chunks(u64::MAX, 1, u64::MAX) > 1e19);
    }

    /// The ranges of a box, one inner chunk after the other.
    fn slow_ranges(counts: &[u64], inner: &[Range<u64>], stored: f64, gap: u64) -> f64 {
        grouped_ranges(counts, inner, (stored, gap), u64::MAX).0
    }

    #[test]
    fn ranges_of_boxes_are_those_of_each_chunk() {
        let counts = [3, 4, 5];
        for gap in [0, 1000, 2500, 7000, 100_000] {
            for (a, b, c) in
                (0..3).flat_map(|a| (0..4).flat_map(move |b| (0..5).map(move |c| (a, b, c))))
            {
                for (d, e, f) in
                    (a..3).flat_map(|d| (b..4).flat_map(move |e| (c..5).map(move |f| (d, e, f))))
                {
                    let inner = [a..d + 1, b..e + 1, c..f + 1];
                    let (fast, _) = ranges_of_box(&counts, &inner, 1000.0, gap);
                    assert_eq!(fast, slow_ranges(&counts, &inner, 1000.0, gap), "{inner:?} {gap}");
                }
            }
        }
    }

    #[test]
    fn shards_take_an_index_and_ranges() {
        let s3 = Service { gap: 0, ..Service::S3 };
        let stored = layout(&[64, 64], &[8, 8], Some(&[32, 32]), 100.0);
        // One inner chunk of one shard.
        let one = stored.count(&[0..8, 0..8], &s3);
        assert_eq!((one.objects, one.requests, one.chunks, one.rounds), (1.0, 2.0, 1.0, 2.0));
        // A shard that is read whole.
        let whole = stored.count(&[0..32, 0..32], &s3);
        assert_eq!((whole.objects, whole.requests, whole.chunks), (1.0, 1.0, 16.0));
        // Four shards, of which one row of inner chunks each, or one column each.
        let row = stored.count(&[0..1, 0..64], &s3);
        assert_eq!((row.objects, row.requests, row.chunks), (2.0, 4.0, 8.0));
        let column = stored.count(&[0..64, 0..1], &s3);
        assert_eq!((column.objects, column.requests, column.chunks), (2.0, 10.0, 8.0));
        // With gaps the column is one range of each shard, and more bytes.
        let gaps = stored.count(&[0..64, 0..1], &Service::S3);
        assert_eq!((gaps.requests, gaps.bytes), (4.0, 2.0 * (16.0 * 16.0 + 4.0 + 1300.0)));
        // Files are opened, whatever is read of them.
        assert_eq!(stored.count(&[0..64, 0..1], &Service::DISK).requests, 2.0);
        assert_eq!(
            (stored.objects(), stored.chunk_count(), stored.chunks_of_object()),
            (4, 64, 16)
        );
    }

    #[test]
    fn large_parts_are_fetched_in_groups() {
        // Inner chunks of 1 MiB: four in a group.
        let stored = layout(&[4096, 4096], &[512, 512], Some(&[4096, 4096]), 300_000.0);
        let all = stored.count(&[0..4096, 0..4096], &Service::S3);
        assert_eq!(all.requests, 1.0 + 16.0);
        // Small enough to be one request.
        let small = layout(&[1024, 1024], &[512, 512], Some(&[1024, 1024]), 300_000.0);
        assert_eq!(small.count(&[0..1024, 0..1024], &Service::S3).requests, 1.0);
    }

    #[test]
    fn nothing_is_quadratic_or_endless() {
        let huge = layout(&[u64::MAX; 3], &[1, 1, 1], Some(&[1 << 20, 1 << 20, 1 << 20]), 1.0);
        let all = [0..u64::MAX, 0..u64::MAX, 0..u64::MAX];
        assert!(huge.count(&all, &Service::S3).requests > 1e30);
        assert_eq!(huge.count(&[0..0, 0..1, 0..1], &Service::S3), ReadCount::default());
        let scalar = layout(&[], &[], None, 8.0);
        assert_eq!(scalar.count(&[], &Service::S3).requests, 1.0);
    }
}
