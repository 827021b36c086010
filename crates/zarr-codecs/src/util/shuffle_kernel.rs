//! Gathers the bytes of elements by significance, and puts them back.
//!
//! Gathered, the first bytes of all elements come first, then all second bytes, and so on. Bytes after
//! the last whole element stay where they are.

/// Gathers the bytes of `from`, elements of `size` bytes, into `to`, which is as long.
pub(crate) fn gather(size: usize, from: &[u8], to: &mut [u8]) {
    fn fixed<const N: usize>(count: usize, from: &[[u8; N]], to: &mut [u8]) {
        for (byte, plane) in to.chunks_exact_mut(count).enumerate() {
            for (to, element) in plane.iter_mut().zip(from) {
                *to = element[byte];
            }
        }
    }
    let count = from.len() / size;
    let whole = count * size;
    to[whole..].copy_from_slice(&from[whole..]);
    let (from, to) = (&from[..whole], &mut to[..whole]);
    match (count, size) {
        (0, _) => {}
        (_, 2) => fixed::<2>(count, from.as_chunks().0, to),
        (_, 4) => fixed::<4>(count, from.as_chunks().0, to),
        (_, 8) => fixed::<8>(count, from.as_chunks().0, to),
        _ => {
            for (byte, plane) in to.chunks_exact_mut(count).enumerate() {
                for (to, element) in plane.iter_mut().zip(from.chunks_exact(size)) {
                    *to = element[byte];
                }
            }
        }
    }
}

/// Puts gathered bytes back into elements of `size` bytes.
pub(crate) fn scatter(size: usize, from: &[u8], to: &mut [u8]) {
    fn fixed<const N: usize>(count: usize, from: &[u8], to: &mut [[u8; N]]) {
        let planes: [&[u8]; N] = std::array::from_fn(|byte| &from[byte * count..][..count]);
        #[cfg(target_arch = "x86_64")]
        let done = crate::util::simd::scatter(from, to);
        #[cfg(not(target_arch = "x86_64"))]
        let done = 0;
        for (i, element) in to.iter_mut().enumerate().skip(done) {
            *element = std::array::from_fn(|byte| planes[byte][i]);
        }
    }
    let count = from.len() / size;
    let whole = count * size;
    to[whole..].copy_from_slice(&from[whole..]);
    let (from, to) = (&from[..whole], &mut to[..whole]);
    match (count, size) {
        (0, _) => {}
        (_, 2) => fixed::<2>(count, from, to.as_chunks_mut().0),
        (_, 4) => fixed::<4>(count, from, to.as_chunks_mut().0),
        (_, 8) => fixed::<8>(count, from, to.as_chunks_mut().0),
        (_, 16) => fixed::<16>(count, from, to.as_chunks_mut().0),
        _ => {
            for (byte, plane) in from.chunks_exact(count).enumerate() {
                for (element, from) in to.chunks_exact_mut(size).zip(plane) {
                    element[byte] = *from;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_gathered_by_significance_and_put_back() {
        let from: Vec<u8> = (0..11).collect();
        let mut gathered = [0; 11];
        gather(4, &from, &mut gathered);
        assert_eq!(gathered, [0, 4, 1, 5, 2, 6, 3, 7, 8, 9, 10]);
        for size in 1..=17 {
            for len in [0, 1, 7, 8, 63, 64, 65, 1000] {
                let from: Vec<u8> = (0..len).map(|i| (i * 37 % 251) as u8).collect();
                let (mut there, mut back) = (vec![0; len], vec![0; len]);
                gather(size, &from, &mut there);
                scatter(size, &there, &mut back);
                assert_eq!(from, back, "{size} {len}");
            }
        }
    }
}
