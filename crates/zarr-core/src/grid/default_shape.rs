//! Chooses a chunk shape for callers who gave none (docs/internals/design/chunks.md).

/// The size that is aimed at, in bytes of elements.
const TARGET_CHUNK_BYTES: u64 = 1 << 20;
/// No chunk of more than one element is larger.
const MAX_CHUNK_BYTES: u64 = 4 << 20;

/// The names of axes that count planes: those of images, and of fields over time.
const PLANES: [&str; 5] = ["t", "c", "z", "time", "channel"];

/// A chunk shape for an array of `shape` with elements of `item` bytes: about 1 MiB, between 128 KiB and 4 MiB,
/// as near to a cube as the axes let it be, in powers of two.
///
/// An axis shorter than the cube's side is not cut; nor is one that would leave a sliver. A smaller array is one
/// chunk; an element of more than 4 MiB is one, too. An axis of length 0 counts as long: it is there to grow.
pub fn default_chunk_shape(shape: &[u64], item: u64) -> Vec<u64> {
    let lengths: Vec<u64> =
        shape.iter().map(|&len| if len == 0 { u64::MAX } else { len }).collect();
    let (mut chunks, mut size) = grown(shape.len(), item, |axis, side| {
        let len = lengths[axis];
        (side < len).then(|| side.saturating_mul(2).min(len))
    });
    for (chunk, &len) in chunks.iter_mut().zip(&lengths) {
        let larger = resized(size, *chunk, len);
        if len - *chunk <= *chunk / 4 && larger <= MAX_CHUNK_BYTES {
            (*chunk, size) = (len, larger);
        }
    }
    chunks
}

/// As [`default_chunk_shape`], of an array whose axes have names. Images and fields are mostly read plane by plane: a chunk has one
/// position along an axis that counts planes, unless its planes are so small that several make one chunk.
pub fn default_chunk_shape_named(shape: &[u64], item: u64, names: &[Option<String>]) -> Vec<u64> {
    let (planes, others): (Vec<usize>, Vec<usize>) = (0..shape.len()).partition(|&axis| {
        let name = names.get(axis).and_then(Option::as_deref);
        name.is_some_and(|name| PLANES.iter().any(|plane| plane.eq_ignore_ascii_case(name)))
    });
    if others.is_empty() {
        return default_chunk_shape(shape, item);
    }
    let of_others: Vec<u64> = others.iter().map(|&axis| shape[axis]).collect();
    let mut chunks = vec![1u64; shape.len()];
    let mut size = item.max(1);
    for (&axis, chunk) in others.iter().zip(default_chunk_shape(&of_others, item)) {
        chunks[axis] = chunk;
        size = size.saturating_mul(chunk);
    }
    // The planes that lie next to each other in C order first.
    for &axis in planes.iter().rev() {
        let len = if shape[axis] == 0 { u64::MAX } else { shape[axis] };
        while chunks[axis] < len {
            let longer = chunks[axis].saturating_mul(2).min(len);
            let larger = resized(size, chunks[axis], longer);
            if larger > TARGET_CHUNK_BYTES {
                return chunks;
            }
            (chunks[axis], size) = (longer, larger);
        }
    }
    chunks
}

/// As [`default_chunk_shape`], of chunks of which shards of this shape are made.
pub(crate) fn default_inner_shape(shards: &[u64], item: u64) -> Vec<u64> {
    let (inner, _) = grown(shards.len(), item, |axis, side| {
        // The next divisor.
        let len = shards[axis];
        (side + 1..=len.min(MAX_CHUNK_BYTES)).find(|&longer| len.is_multiple_of(longer))
    });
    inner
}

/// A chunk grown from one element: the shortest side is made longer, as `longer` has it, until that would lead
/// further away from the size than leaving it. With its size in bytes.
fn grown(rank: usize, item: u64, longer: impl Fn(usize, u64) -> Option<u64>) -> (Vec<u64>, u64) {
    let mut chunks = vec![1u64; rank];
    let mut size = item.max(1);
    let mut open: Vec<usize> = (0..rank).rev().collect();
    while let Some(at) = (0..open.len()).min_by_key(|&at| chunks[open[at]]) {
        let axis = open[at];
        let side = longer(axis, chunks[axis]);
        let grown = side.map(|side| (side, resized(size, chunks[axis], side)));
        let Some((side, larger)) = grown.filter(|&(_, larger)| larger <= MAX_CHUNK_BYTES) else {
            open.remove(at);
            continue;
        };
        if u128::from(larger) * u128::from(size)
            > u128::from(TARGET_CHUNK_BYTES) * u128::from(TARGET_CHUNK_BYTES)
        {
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
    fn axes_that_count_planes_have_one_position_in_a_chunk() {
        let cases: [(&[u64], u64, &str, &[u64]); 8] = [
            (&[10, 3, 50, 1024, 1024], 2, "t,c,z,y,x", &[1, 1, 1, 512, 1024]),
            (&[3, 2000, 2000], 1, "C,y,x", &[1, 1024, 1024]),
            // Small planes: several make a chunk, along the last of their axes first.
            (&[365, 180, 360], 4, "time,lat,lon", &[4, 180, 360]),
            (&[7, 3, 5, 64, 64], 1, "t,c,z,y,x", &[7, 3, 5, 64, 64]),
            (&[700, 3, 5, 64, 64], 1, "t,c,z,y,x", &[16, 3, 5, 64, 64]),
            (&[0, 180, 360], 4, "time,lat,lon", &[4, 180, 360]),
            // An axis that is alone is no plane's.
            (&[1_000_000_000], 8, "time", &[131_072]),
            (&[100_000, 100_000], 8, "y,x", &[256, 512]),
        ];
        for (shape, item, names, chunks) in cases {
            let given: Vec<_> = names.split(',').map(|name| Some(name.to_owned())).collect();
            assert_eq!(default_chunk_shape_named(shape, item, &given), chunks, "{shape:?} {names}");
        }
        assert_eq!(default_chunk_shape_named(&[64, 64], 1, &[None]), [64, 64]);
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
        /// Whatever the shape and the size of an element.
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
            prop_assert!(size <= MAX_CHUNK_BYTES.into() || one, "{:?} of {}", chunks, item);
            prop_assert!(size >= 128 << 10 || whole, "{:?} of {}", chunks, item);
            for (&len, &chunk) in shape.iter().zip(&chunks) {
                prop_assert!(chunk > 0);
                prop_assert!(len == 0 || chunk <= len);
                prop_assert!(chunk == len || chunk.is_power_of_two());
            }
        }
    }
}
