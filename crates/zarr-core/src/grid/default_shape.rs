//! Chooses a chunk shape for callers who gave none (decision 0145).

/// The size that is aimed at, in bytes of elements.
const SIZE: u64 = 1 << 20;
/// No chunk of more than one element is larger.
const LARGEST: u64 = 4 << 20;

/// A chunk shape for an array of `shape` with elements of `item` bytes: about 1 MiB, between 128 KiB and 4 MiB,
/// as near to a cube as the axes let it be, in powers of two.
///
/// An axis shorter than the cube's side is not cut; nor is one that would leave a sliver. A smaller array is one
/// chunk; an element of more than 4 MiB is one, too. An axis of length 0 counts as long: it is there to grow.
pub fn default_chunk_shape(shape: &[u64], item: u64) -> Vec<u64> {
    let lengths: Vec<u64> =
        shape.iter().map(|&len| if len == 0 { u64::MAX } else { len }).collect();
    let double = |axis: usize, side: u64| {
        let len: u64 = lengths[axis];
        (side < len).then(|| side.saturating_mul(2).min(len))
    };
    let (mut chunks, mut size) = grown(shape.len(), item, double);
    for (chunk, &len) in chunks.iter_mut().zip(&lengths) {
        let larger = resized(size, *chunk, len);
        if len - *chunk <= *chunk / 4 && larger <= LARGEST {
            (*chunk, size) = (len, larger);
        }
    }
    chunks
}

/// As [`default_chunk_shape`], of chunks of which shards of this shape are made.
pub(crate) fn default_inner_shape(shards: &[u64], item: u64) -> Vec<u64> {
    let next_divisor = |axis: usize, side: u64| {
        let len = shards[axis];
        (side + 1..=len.min(LARGEST)).find(|&longer| len.is_multiple_of(longer))
    };
    grown(shards.len(), item, next_divisor).0
}

/// A chunk grown from one element: the shortest side is made longer, as `longer` has it, until that would lead
/// further away from the size than leaving it. With its size in bytes.
fn grown(rank: usize, item: u64, longer: impl Fn(usize, u64) -> Option<u64>) -> (Vec<u64>, u64) {
    let (mut chunks, mut size) = (vec![1u64; rank], item.max(1));
    let mut open: Vec<usize> = (0..rank).rev().collect();
    while let Some(at) = (0..open.len()).min_by_key(|&at| chunks[open[at]]) {
        let axis = open[at];
        let side = longer(axis, chunks[axis]);
        let grown = side.map(|side| (side, resized(size, chunks[axis], side)));
        let Some((side, larger)) = grown.filter(|&(_, larger)| larger <= LARGEST) else {
            open.remove(at);
            continue;
        };
        if u128::from(larger) * u128::from(size) > u128::from(SIZE) * u128::from(SIZE) {
            break;
        }
        (chunks[axis], size) = (side, larger);
    }
    (chunks, size)
}

/// The size of a chunk of `size` bytes, one side of which becomes `longer`.
fn resized(size: u64, side: u64, longer: u64) -> u64 {
    (size / side).saturating_mul(longer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn chunks_are_about_a_mebibyte_near_cubic_and_powers_of_two() {
        let cases: [(&[u64], u64, &[u64]); 16] = [
            (&[100_000, 100_000], 8, &[256, 512]),
            (&[10_000, 10_000], 4, &[512, 512]),
            (&[1_000_000_000], 8, &[131_072]),
            (&[4000, 5000, 6000], 1, &[64, 128, 128]),
            // Short axes are not cut, and the others are longer for it.
            (&[100_000, 3, 4000], 4, &[256, 3, 256]),
            (&[1, 1, 2000, 2000], 2, &[1, 1, 512, 1024]),
            // No slivers: 65 is not 64 and 1.
            (&[65, 100_000, 100_000], 4, &[65, 64, 64]),
            // Small arrays are one chunk.
            (&[300, 200], 4, &[300, 200]),
            (&[], 8, &[]),
            (&[7], 2, &[7]),
            // Axes that are yet to grow are as good as long.
            (&[0], 8, &[131_072]),
            (&[0, 720, 1440], 4, &[64, 64, 64]),
            (&[0, 3], 1, &[262_144, 3]),
            // Elements larger than a chunk.
            (&[10, 10], 5 << 20, &[1, 1]),
            (&[10, 10], u64::MAX, &[1, 1]),
            (&[u64::MAX, u64::MAX], 1, &[1024, 1024]),
        ];
        for (shape, item, chunks) in cases {
            assert_eq!(default_chunk_shape(shape, item), chunks, "{shape:?} of {item} bytes");
        }
        assert_eq!(default_chunk_shape(&[2; 1000], 1)[..979], [1; 979]);
        assert_eq!(default_chunk_shape(&[2; 1000], 1)[980..], [2; 20]);
    }

    #[test]
    fn chunks_of_shards_divide_them() {
        assert_eq!(default_inner_shape(&[1000, 1000], 8), [250, 500]);
        assert_eq!(default_inner_shape(&[4096, 4096], 4), [512, 512]);
        assert_eq!(default_inner_shape(&[100, 100], 4), [100, 100]);
        assert_eq!(default_inner_shape(&[0, u64::MAX], 4).len(), 2);
        assert_eq!(default_inner_shape(&[1021, 1021, 10], 8), [1, 1021, 10]);
    }

    proptest! {
        /// Decision 0145.
        #[test]
        fn sizes_stay_between_128_kib_and_4_mib(
            shape in prop::collection::vec(prop_oneof![0..5u64, 0..200u64, any::<u64>()], 0..12),
            item in prop_oneof![1..17u64, any::<u64>()],
        ) {
            let chunks = default_chunk_shape(&shape, item);
            prop_assert_eq!(chunks.len(), shape.len());
            let size = chunks.iter().fold(u128::from(item), |size, &len| size.saturating_mul(len.into()));
            let whole = shape.iter().zip(&chunks).all(|(len, chunk)| len == chunk);
            let one = chunks.iter().all(|&len| len == 1);
            prop_assert!(size <= LARGEST.into() || one, "{:?} of {}", chunks, item);
            prop_assert!(size >= 128 << 10 || whole, "{:?} of {}", chunks, item);
            for (&len, &chunk) in shape.iter().zip(&chunks) {
                prop_assert!(chunk > 0);
                prop_assert!(len == 0 || chunk <= len);
                prop_assert!(chunk == len || chunk.is_power_of_two());
            }
        }
    }
}
