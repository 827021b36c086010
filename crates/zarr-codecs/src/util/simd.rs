//! Holds the loops that use the machine's own vector instructions.
//!
//! Only those that the compiler does not find by itself, and only what every machine of an architecture has.
#![allow(unsafe_code)]

use std::arch::x86_64::{__m128i, _mm_unpackhi_epi8, _mm_unpacklo_epi8};

/// Elements that are put together at once.
const AT_ONCE: usize = 16;

/// Puts bytes that were gathered by significance back into elements of `SIZE` bytes, a power of two, as far as
/// there are sixteen elements together; returns how many it made.
pub(crate) fn scatter<const SIZE: usize>(from: &[u8], to: &mut [[u8; SIZE]]) -> usize {
    // SAFETY: every x86-64 machine has SSE2.
    unsafe { interleave(from, to) }
}

#[target_feature(enable = "sse2")]
fn interleave<const SIZE: usize>(from: &[u8], to: &mut [[u8; SIZE]]) -> usize {
    const { assert!(SIZE.is_power_of_two()) };
    let count = to.len();
    let planes: [&[[u8; AT_ONCE]]; SIZE] =
        std::array::from_fn(|byte| from[byte * count..][..count].as_chunks().0);
    let (groups, _) = to.as_chunks_mut::<AT_ONCE>();
    for (group, out) in groups.iter_mut().enumerate() {
        let mut rows: [__m128i; SIZE] =
            std::array::from_fn(|byte| bytemuck::must_cast(planes[byte][group]));
        let mut distance = SIZE;
        while distance > 1 {
            let before = rows;
            for pair in 0..SIZE / 2 {
                let (low, high) = (before[pair], before[pair + SIZE / 2]);
                rows[2 * pair] = _mm_unpacklo_epi8(low, high);
                rows[2 * pair + 1] = _mm_unpackhi_epi8(low, high);
            }
            distance /= 2;
        }
        let (out, _) = out.as_flattened_mut().as_chunks_mut::<AT_ONCE>();
        for (out, row) in out.iter_mut().zip(rows) {
            *out = bytemuck::must_cast(row);
        }
    }
    count / AT_ONCE * AT_ONCE
}
