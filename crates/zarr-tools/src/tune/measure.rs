//! Encodes and decodes pieces of the sample with a chain of codecs: how many bytes they take, and how long it takes.

use std::borrow::Cow;
use std::time::Instant;

use zarr_core::codec::CodecChain;
use zarr_core::metadata::ArrayMetadata;
use zarr_core::selection::ResolvedSelection;
use zarr_core::{AccessError, Dialect, ViewMut};
use zarr_core::{CancelToken, CodecError, MetadataError, Region, Registry, Result};

use super::bits::FloatBits;
use super::random::Random;
use super::sample::{Piece, Pieces, Sample};

/// Pieces that are measured at first, and how close their ratio must be known for that to be enough.
const FIRST_PIECES: u64 = 16;
const MAX_INTERVAL: f64 = 0.05;

/// Bytes of elements of one candidate after which no more is measured, once it has some pieces.
const MAX_BYTES: u64 = 48 << 20;
const MIN_PIECES: u64 = 4;

/// Resamples of the bootstrap.
const RESAMPLES: usize = 400;
const BOOTSTRAP_SEED: u64 = 0x626f_6f74;

/// What was found of a chain of codecs with chunks of one shape.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    /// Stored bytes for each element of the sample, and the interval that holds it in 95 of 100 samples.
    pub per_element: f64,
    pub interval: (f64, f64),
    /// The share of the chunks that are stored at all: others have nothing but the fill value.
    pub stored_share: f64,
    /// Stored bytes of a chunk that is stored, on average.
    pub chunk_bytes: f64,
    /// Seconds on one thread for a chunk that is stored.
    pub encode_seconds: f64,
    pub decode_seconds: f64,
    /// How many chunks were encoded, and how many the sample has.
    pub pieces: (u64, u64),
    /// Whether the chunks are larger than the boxes of the sample, and were measured in part.
    pub is_cut: bool,
    /// The greatest error, absolute and relative, of what was decoded, if floats were rounded.
    pub error: Option<(f64, f64)>,
}

/// What is measured.
pub(super) struct Measurement<'a> {
    pub sample: &'a Sample,
    pub registry: &'a Registry,
    pub dialect: Dialect,
    pub seed: u64,
    pub cancel: Option<&'a CancelToken>,
}

/// Bytes and elements of one piece.
type PieceSize = (u64, u64);

impl Measurement<'_> {
    /// Measures an array of this metadata, which has no shards, with chunks of a shape. `floats` says that decoded floats are
    /// compared with the sample.
    ///
    /// # Errors
    /// A codec that cannot encode or decode the elements; the caller cancelled.
    pub fn of(
        &self,
        metadata: &ArrayMetadata,
        chunks: &[u64],
        floats: Option<FloatBits>,
    ) -> Result<Measured> {
        let pieces = self.sample.pieces(chunks);
        let mut metadata = metadata.clone();
        metadata.grid = Some(std::sync::Arc::new(zarr_core::grid::RegularGrid::new(
            &pieces.shape,
            &metadata.shape,
        )?));
        let chain = metadata.chain(self.registry, self.dialect)?;
        let mut run = Run {
            chain,
            shape: pieces.shape.clone(),
            cell: metadata.data_type.repr().map_or(1, |repr| repr.size()),
            fill: metadata.fill_bytes(),
            is_variable: metadata.data_type.is_variable(),
            floats,
            sizes: Vec::new(),
            encode: 0.0,
            decode: 0.0,
            error: (0.0, 0.0),
        };
        let (count, mut order) = (pieces.len(), pieces.order(self.seed));
        let mut goal = FIRST_PIECES.min(count);
        let piece_bytes = run.shape.iter().fold(run.cell as u64, |all, &n| all.saturating_mul(n));
        let interval = loop {
            while (run.sizes.len() as u64) < goal {
                let Some(number) = order.next() else { break };
                if self.cancel.is_some_and(CancelToken::is_cancelled) {
                    return Err(AccessError::Cancelled.into());
                }
                run.measure(&pieces.piece(number))?;
                let measured = run.sizes.len() as u64;
                if measured >= MIN_PIECES && measured.saturating_mul(piece_bytes) >= MAX_BYTES {
                    goal = measured;
                }
            }
            let measured = run.sizes.len() as u64;
            let (low, high) = bootstrap(&run.sizes, count);
            let middle = per_element(&run.sizes);
            let is_close = high - low <= 2.0 * MAX_INTERVAL * middle;
            let is_spent = measured.saturating_mul(piece_bytes) >= MAX_BYTES;
            if measured >= count || is_close || is_spent {
                break (low, high);
            }
            goal = goal.saturating_mul(2).min(count);
        };
        Ok(run.result(&pieces, chunks, interval))
    }
}

/// A measurement under way.
struct Run {
    chain: CodecChain,
    shape: Vec<u64>,
    cell: usize,
    fill: Vec<u8>,
    is_variable: bool,
    floats: Option<FloatBits>,
    sizes: Vec<PieceSize>,
    encode: f64,
    decode: f64,
    error: (f64, f64),
}

impl Run {
    fn measure(&mut self, piece: &Piece<'_>) -> Result<()> {
        let elements = piece.elements.len() as u64;
        if !self.is_variable && piece.elements.is_all(&self.fill) {
            self.sizes.push((0, elements));
            return Ok(());
        }
        let size = zarr_core::region::byte_count(&self.shape, self.cell);
        let size = size.and_then(|size| usize::try_from(size).ok()).ok_or_else(|| {
            MetadataError::invalid("chunk_shape", "a chunk has more bytes than can be counted")
        })?;
        let mut memory = vec![0; size];
        let mut chunk = ViewMut::new(&mut memory, &self.shape, self.cell);
        if !self.is_variable {
            // What is beyond the array is stored as the fill value.
            chunk.fill(&self.fill);
        }
        let inside = Region::new(piece.elements.shape().into_iter().map(|len| 0..len));
        chunk.part(&inside).copy_from(&piece.elements);
        let view = zarr_core::View::new(&memory, &self.shape, self.cell);
        let view = view.with_var_buffer(piece.var_buffer);
        let start = Instant::now();
        let encoded = self.chain.encode(view)?.into_owned();
        self.encode += start.elapsed().as_secs_f64();
        self.sizes.push((encoded.len() as u64, elements));
        self.decode(&encoded, &memory, piece)?;
        Ok(())
    }

    fn decode(
        &mut self,
        encoded: &[u8],
        memory: &[u8],
        piece: &Piece<'_>,
    ) -> Result<(), CodecError> {
        let mut decoded = vec![0; memory.len()];
        let var_buffer = piece.var_buffer.map(|var_buffer| var_buffer.fork());
        let out = ViewMut::new(&mut decoded, &self.shape, self.cell);
        let out = out.with_var_buffer(var_buffer.as_ref());
        let all = ResolvedSelection::all(&self.shape);
        let start = Instant::now();
        self.chain.decode_into(Cow::Borrowed(encoded), &self.shape, &all, out)?;
        self.decode += start.elapsed().as_secs_f64();
        if let Some(float) = self.floats {
            let pairs = memory.chunks_exact(float.size).zip(decoded.chunks_exact(float.size));
            for (before, after) in pairs {
                let (before, after) = (float.to_f64(before), float.to_f64(after));
                let off = (after - before).abs();
                if off > 0.0 && before.is_finite() {
                    self.error.0 = self.error.0.max(off);
                    self.error.1 = self.error.1.max(off / before.abs());
                }
            }
        }
        Ok(())
    }

    fn result(&self, pieces: &Pieces<'_>, chunks: &[u64], interval: (f64, f64)) -> Measured {
        let stored: Vec<u64> =
            self.sizes.iter().map(|size| size.0).filter(|&size| size > 0).collect();
        let count = stored.len().max(1) as f64;
        // Chunks that were cut are as many times larger.
        let scale = element_count(chunks) / element_count(&pieces.shape).max(1.0);
        Measured {
            per_element: per_element(&self.sizes),
            interval,
            stored_share: stored.len() as f64 / self.sizes.len().max(1) as f64,
            chunk_bytes: stored.iter().sum::<u64>() as f64 / count * scale,
            encode_seconds: self.encode / count * scale,
            decode_seconds: self.decode / count * scale,
            pieces: (self.sizes.len() as u64, pieces.len()),
            is_cut: pieces.shape != chunks,
            error: self.floats.map(|_| self.error),
        }
    }
}

/// How many elements a shape has.
fn element_count(shape: &[u64]) -> f64 {
    shape.iter().map(|&side| side as f64).product()
}

fn per_element(sizes: &[PieceSize]) -> f64 {
    let (stored, elements) =
        sizes.iter().fold((0, 0), |(stored, elements), size| (stored + size.0, elements + size.1));
    stored as f64 / elements.max(1) as f64
}

/// The interval in which 95 of 100 resamples have their ratio, narrower as more of all pieces were measured.
fn bootstrap(sizes: &[PieceSize], count: u64) -> (f64, f64) {
    let middle = per_element(sizes);
    let left = 1.0 - sizes.len() as f64 / count.max(1) as f64;
    if sizes.is_empty() || left <= 0.0 {
        return (middle, middle);
    }
    let mut random = Random::new(BOOTSTRAP_SEED);
    let mut ratios: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let (mut stored, mut elements) = (0u64, 0u64);
            for _ in 0..sizes.len() {
                let size = sizes[random.below(sizes.len() as u64) as usize];
                stored += size.0;
                elements += size.1;
            }
            stored as f64 / elements.max(1) as f64
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    let quantile = |share: f64| ratios[(share * (RESAMPLES - 1) as f64).round() as usize];
    let narrowed = |bound: f64| middle + (bound - middle) * left.sqrt();
    (narrowed(quantile(0.025)), narrowed(quantile(0.975)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_hold_the_ratio_and_end_with_the_last_piece() {
        let sizes: Vec<PieceSize> = (0..20).map(|n| (900 + n * 10, 1000)).collect();
        let (low, high) = bootstrap(&sizes, 1000);
        let middle = per_element(&sizes);
        assert!(low < middle && middle < high && high - low < 0.1, "{low} {middle} {high}");
        assert_eq!(bootstrap(&sizes, 20), (middle, middle));
        assert_eq!(bootstrap(&[], 20), (0.0, 0.0));
        let (narrow, _) = bootstrap(&sizes, 21);
        assert!(narrow > low);
    }
}
