//! Chooses the shapes of chunks and shards that are tried, from the reads that they are to serve.

use zarr_core::grid::default_chunk_shape_named;

use super::reads::ReadPattern;
use super::requests::mean_chunks;
use super::service::Service;

/// Chunks are this large, in bytes of elements; as far as the array has so many.
const CHUNK_TARGETS: [u64; 4] = [256 << 10, 1 << 20, 4 << 20, 16 << 20];

/// Chunks for one read alone are about as large.
const SINGLE_READ_TARGET: u64 = 1 << 20;

/// Shards are this large, in bytes of elements.
const SHARD_TARGETS: [u64; 2] = [32 << 20, 128 << 20];

/// No shard has more bytes of elements, nor fewer chunks.
const MAX_SHARD_BYTES: u64 = 256 << 20;
const MIN_CHUNKS_OF_SHARD: u64 = 4;

/// What shapes are judged by before anything is measured: a chunk takes half of its elements' bytes, and decodes at 1 GB/s.
const ASSUMED_RATIO: f64 = 0.5;
const ASSUMED_SPEED: f64 = 1e9;

/// What shapes are chosen for.
pub(super) struct ShapeRequest<'a> {
    pub shape: &'a [u64],
    pub names: &'a [Option<String>],
    /// Bytes of an element; of variable-length ones the mean.
    pub element: u64,
    pub reads: &'a [ReadPattern],
    pub service: &'a Service,
    pub threads: usize,
}

impl ShapeRequest<'_> {
    /// Chunk shapes, each once: the one that serves all reads best for each size, those that serve one of them, and the default of
    /// new arrays. The first is the one of about 1 MiB for all reads.
    pub fn chunks(&self) -> Vec<Vec<u64>> {
        let all: Vec<&ReadPattern> = self.reads.iter().collect();
        let mut found = vec![self.grown(&all, CHUNK_TARGETS[1])];
        let mut add = |chunks: Vec<u64>| {
            if !found.contains(&chunks) {
                found.push(chunks);
            }
        };
        CHUNK_TARGETS.iter().for_each(|&target| add(self.grown(&all, target)));
        for read in self.reads.iter().take(4) {
            add(self.grown(&[read], SINGLE_READ_TARGET));
        }
        add(default_chunk_shape_named(self.shape, self.element, self.names));
        found.retain(|chunks| !chunks.contains(&0));
        found
    }

    /// Seconds that a read with chunks of a shape is assumed to take, each weighted.
    fn cost(&self, reads: &[&ReadPattern], chunks: &[u64]) -> f64 {
        let decoded = chunks.iter().fold(self.element as f64, |bytes, &side| bytes * side as f64);
        reads
            .iter()
            .map(|read| {
                let axes = self.shape.iter().zip(chunks).zip(&read.lengths);
                let met: f64 =
                    axes.map(|((&len, &side), &length)| mean_chunks(len, side, length)).product();
                let threads = (self.threads.max(1) as f64).min(met.max(1.0));
                let requests = self.service.seconds(met, met * decoded * ASSUMED_RATIO);
                read.weight * (requests + met * decoded / ASSUMED_SPEED / threads)
            })
            .sum()
    }

    /// A chunk grown from one element: the axis is made twice as long whose growth makes the reads fastest, until the chunk has about
    /// `target` bytes. Of axes that are equally good the one that is shorter as yet, and then the later one.
    fn grown(&self, reads: &[&ReadPattern], target: u64) -> Vec<u64> {
        let mut chunks = vec![1u64; self.shape.len()];
        loop {
            let mut best: Option<(f64, Vec<u64>, u64)> = None;
            for axis in (0..chunks.len()).rev() {
                let len = self.shape[axis];
                if chunks[axis] >= len {
                    continue;
                }
                let mut longer = chunks.clone();
                longer[axis] = chunks[axis].saturating_mul(2).min(len);
                if len - longer[axis] <= longer[axis] / 4 {
                    // No sliver is left.
                    longer[axis] = len;
                }
                let bytes =
                    longer.iter().fold(self.element.max(1), |all, &n| all.saturating_mul(n));
                if bytes > target.saturating_add(target / 4) {
                    continue;
                }
                let cost = self.cost(reads, &longer);
                let is_better = best.as_ref().is_none_or(|(least, _, side)| {
                    let is_equal = (cost - least).abs() <= 1e-9 * least.abs();
                    !is_equal && cost < *least || is_equal && chunks[axis] < *side
                });
                if is_better {
                    best = Some((cost, longer, chunks[axis]));
                }
            }
            match best {
                Some((_, longer, _)) => chunks = longer,
                None => return chunks,
            }
        }
    }

    /// Shards of chunks of a shape: whole numbers of chunks, as many along each axis as keeps the numbers of shards along the axes
    /// alike. None if the array has few chunks.
    pub fn shards(&self, chunks: &[u64]) -> Vec<Vec<u64>> {
        let mut found: Vec<Vec<u64>> = Vec::new();
        for target in SHARD_TARGETS {
            let mut shard = chunks.to_vec();
            loop {
                let count = |axis: usize, shard: &[u64]| self.shape[axis].div_ceil(shard[axis]);
                let open = (0..shard.len()).filter(|&axis| count(axis, &shard) > 1);
                let Some(axis) = open.max_by_key(|&axis| (count(axis, &shard), axis)) else {
                    break;
                };
                let mut longer = shard.clone();
                let whole = self.shape[axis].div_ceil(chunks[axis]).saturating_mul(chunks[axis]);
                longer[axis] = shard[axis].saturating_mul(2).min(whole);
                let bytes =
                    longer.iter().fold(self.element.max(1), |all, &n| all.saturating_mul(n));
                if bytes > target.min(MAX_SHARD_BYTES) {
                    break;
                }
                shard = longer;
            }
            let inner = shard.iter().zip(chunks).map(|(&shard, &chunk)| shard / chunk);
            let inner = inner.fold(1, u64::saturating_mul);
            if inner >= MIN_CHUNKS_OF_SHARD && !found.contains(&shard) {
                found.push(shard);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request<'a>(shape: &'a [u64], reads: &'a [ReadPattern]) -> ShapeRequest<'a> {
        ShapeRequest { shape, names: &[], element: 4, reads, service: &Service::S3, threads: 2 }
    }

    fn read(text: &str, shape: &[u64]) -> ReadPattern {
        ReadPattern::parse(text, shape, &[]).unwrap()
    }

    #[test]
    fn chunks_have_the_shape_of_the_reads() {
        let shape = [8760, 720, 1440];
        let reads = [read("series", &shape)];
        let chunks = &request(&shape, &reads).chunks()[0];
        assert_eq!(chunks[0], 8760, "{chunks:?}");
        let reads = [read("map", &shape)];
        let chunks = &request(&shape, &reads).chunks()[0];
        assert_eq!(chunks[0], 1, "{chunks:?}");
        // Both: neither is as in the other.
        let reads = [read("series", &shape), read("map", &shape)];
        let both = &request(&shape, &reads).chunks()[0];
        assert!(both[0] > 1 && both[0] < 8760, "{both:?}");
    }

    #[test]
    fn sizes_are_near_the_targets_and_inside_the_array() {
        for shape in
            [vec![100, 200, 300], vec![1 << 40], vec![7, 3], vec![], vec![1, 1, 5000, 5000]]
        {
            let reads = ReadPattern::presets(&shape, &[]);
            let request = request(&shape, &reads);
            for chunks in request.chunks() {
                let bytes: u64 = chunks.iter().product::<u64>() * 4;
                assert!(bytes <= 20 << 20, "{chunks:?}");
                assert!(chunks.iter().zip(&shape).all(|(side, len)| side <= len), "{chunks:?}");
                for shard in request.shards(&chunks) {
                    assert!(shard.iter().zip(&chunks).all(|(shard, side)| shard % side == 0));
                    assert!(shard.iter().product::<u64>() * 4 <= 128 << 20);
                }
            }
        }
    }

    #[test]
    fn few_chunks_are_not_put_into_shards() {
        let shape = [100, 100];
        let reads = ReadPattern::presets(&shape, &[]);
        assert!(request(&shape, &reads).shards(&[100, 100]).is_empty());
        assert_eq!(request(&shape, &reads).shards(&[25, 25]), [[100, 100]]);
    }
}
