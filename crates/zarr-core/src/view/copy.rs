//! Copies elements from one window to another.
//!
//! Run by run where elements follow each other in both. Where they follow each other along one axis in the one and along
//! another in the other, as behind a transposition, in squares: so that each line of the cache that is touched is
//! used as a whole.

#![allow(unsafe_code)]

use super::window::Axis;

/// Copies `count` runs of `len` bytes; the next are `step` bytes further in the target and in the source. Runs of
/// usual lengths are copied without a call.
///
/// # Safety
/// Each run is good for `len` bytes at both ends, which do not overlap.
pub(super) unsafe fn copy_runs(
    from: *const u8,
    to: *mut u8,
    step: [isize; 2],
    count: usize,
    len: usize,
) {
    /// # Safety
    /// As without a fixed length.
    unsafe fn fixed<const LEN: usize>(
        from: *const u8,
        to: *mut u8,
        step: [isize; 2],
        count: usize,
    ) {
        for n in 0..count as isize {
            // SAFETY: the caller's promise, for each run.
            unsafe {
                let (from, to) = (from.offset(n * step[1]), to.offset(n * step[0]));
                (to as *mut [u8; LEN]).write(*(from as *const [u8; LEN]));
            }
        }
    }
    // SAFETY: the caller's promise, for each run.
    unsafe {
        match len {
            1 => fixed::<1>(from, to, step, count),
            2 => fixed::<2>(from, to, step, count),
            4 => fixed::<4>(from, to, step, count),
            8 => fixed::<8>(from, to, step, count),
            16 => fixed::<16>(from, to, step, count),
            32 => fixed::<32>(from, to, step, count),
            64 => fixed::<64>(from, to, step, count),
            128 => fixed::<128>(from, to, step, count),
            _ => {
                for n in 0..count as isize {
                    let (from, to) = (from.offset(n * step[1]), to.offset(n * step[0]));
                    std::ptr::copy_nonoverlapping(from, to, len);
                }
            }
        }
    }
}

/// As [`copy_runs`], reversing each `unit` bytes.
///
/// # Safety
/// As there; `len` is a multiple of `unit`.
pub(super) unsafe fn swap_runs(
    from: *const u8,
    to: *mut u8,
    step: [isize; 2],
    count: usize,
    len: usize,
    unit: usize,
) {
    for n in 0..count as isize {
        // SAFETY: the caller's promise, for each run.
        let (from, to) = unsafe {
            let (from, to) = (from.offset(n * step[1]), to.offset(n * step[0]));
            (std::slice::from_raw_parts(from, len), std::slice::from_raw_parts_mut(to, len))
        };
        fn fixed<const N: usize>(from: &[u8], to: &mut [u8]) {
            let units = from.as_chunks().0.iter().zip(to.as_chunks_mut().0);
            units.for_each(|(from, to)| *to = reversed::<N>(*from));
        }
        match unit {
            2 => fixed::<2>(from, to),
            4 => fixed::<4>(from, to),
            8 => fixed::<8>(from, to),
            _ => {
                to.copy_from_slice(from);
                swap(to, unit);
            }
        }
    }
}

/// Reverses each `unit` of some bytes.
fn swap(bytes: &mut [u8], unit: usize) {
    fn fixed<const N: usize>(bytes: &mut [u8]) {
        bytes.as_chunks_mut().0.iter_mut().for_each(|unit| *unit = reversed::<N>(*unit));
    }
    match unit {
        1 => {}
        2 => fixed::<2>(bytes),
        4 => fixed::<4>(bytes),
        8 => fixed::<8>(bytes),
        _ => bytes.chunks_exact_mut(unit).for_each(<[u8]>::reverse),
    }
}

fn reversed<const N: usize>(mut unit: [u8; N]) -> [u8; N] {
    unit.reverse();
    unit
}

/// Squares are used where both axes have this many elements.
const MIN_SQUARE_LENGTH: usize = 4;

/// Two axes of a copy: along the one elements follow each other in the source, along the other in the target.
#[derive(Debug)]
pub(super) struct TransposedCopy {
    element_size: usize,
    /// How many elements they have: the source's, and the target's.
    lens: [usize; 2],
    /// The stride of the source's in the target.
    to_step: isize,
    /// The stride of the target's in the source.
    from_step: isize,
}

impl TransposedCopy {
    /// Takes the two axes out of those of a copy of runs of `run` bytes; `None`, and all stay, if it has none.
    pub fn of(axes: &mut Vec<Axis<2>>, element_size: usize, run: usize) -> Option<TransposedCopy> {
        if run != element_size {
            return None;
        }
        let [target, source] = [0, 1].map(|window| {
            axes.iter().position(|axis| {
                axis.1[window] == element_size as isize && axis.0 >= MIN_SQUARE_LENGTH
            })
        });
        let (source, target) = source.zip(target).filter(|(source, target)| source != target)?;
        let (target_axis, source_axis) = (axes[target], axes[source]);
        axes.remove(source.max(target));
        axes.remove(source.min(target));
        Some(TransposedCopy {
            element_size,
            lens: [source_axis.0, target_axis.0],
            to_step: source_axis.1[0],
            from_step: target_axis.1[1],
        })
    }

    /// Copies the elements of the two axes, turning round each `unit` bytes of an element.
    ///
    /// # Safety
    /// They lie inside both windows, which share no memory; an element is made of whole units.
    pub unsafe fn copy(&self, from: *const u8, to: *mut u8, unit: usize) {
        let side = (16 / self.element_size).max(8);
        // Walked along the rows that lie farther apart, so that their lines of the cache stay few.
        let outer = usize::from(self.from_step.unsigned_abs() > self.to_step.unsigned_abs());
        let inner = 1 - outer;
        for o in (0..self.lens[outer]).step_by(side) {
            for i in (0..self.lens[inner]).step_by(side) {
                let mut begin = [o; 2];
                begin[inner] = i;
                let end = [0, 1].map(|axis| self.lens[axis].min(begin[axis] + side));
                // SAFETY: the square lies within both axes.
                unsafe { self.square(from, to, begin, end, unit) };
            }
        }
    }

    /// Copies the elements from `begin` to before `end` along the two axes.
    ///
    /// # Safety
    /// As [`TransposedCopy::copy`].
    unsafe fn square(
        &self,
        from: *const u8,
        to: *mut u8,
        begin: [usize; 2],
        end: [usize; 2],
        unit: usize,
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            match self.element_size {
                1 => self.tiles::<16>(from, to, begin, end),
                2 => self.tiles::<8>(from, to, begin, end),
                4 => self.tiles::<4>(from, to, begin, end),
                8 => self.tiles::<2>(from, to, begin, end),
                _ => self.elements(from, to, begin, end),
            }
            if unit <= 1 {
                return;
            }
            for s in begin[0]..end[0] {
                let (_, row) = self.places(from, to, [s, begin[1]]);
                let len = (end[1] - begin[1]) * self.element_size;
                swap(std::slice::from_raw_parts_mut(row, len), unit);
            }
        }
    }

    /// As [`TransposedCopy::square`], in tiles of `N` rows of 16 bytes, and what is left over element by element.
    ///
    /// # Safety
    /// As [`TransposedCopy::square`].
    unsafe fn tiles<const N: usize>(
        &self,
        from: *const u8,
        to: *mut u8,
        begin: [usize; 2],
        end: [usize; 2],
    ) {
        let whole = [0, 1].map(|axis| end[axis] - (end[axis] - begin[axis]) % N);
        // SAFETY: the caller's promise; each tile lies inside the square.
        unsafe {
            for s in (begin[0]..whole[0]).step_by(N) {
                for t in (begin[1]..whole[1]).step_by(N) {
                    let (from, to) = self.places(from, to, [s, t]);
                    tile::<N>(from, self.from_step, to, self.to_step);
                }
            }
            self.elements(from, to, [begin[0], whole[1]], [whole[0], end[1]]);
            self.elements(from, to, [whole[0], begin[1]], end);
        }
    }

    /// As [`TransposedCopy::square`], element by element.
    ///
    /// # Safety
    /// As [`TransposedCopy::square`].
    unsafe fn elements(&self, from: *const u8, to: *mut u8, begin: [usize; 2], end: [usize; 2]) {
        let element_size = self.element_size;
        let count = end[1] - begin[1];
        for s in begin[0]..end[0] {
            // SAFETY: the caller's promise.
            unsafe {
                let (from, to) = self.places(from, to, [s, begin[1]]);
                copy_runs(from, to, [element_size as isize, self.from_step], count, element_size);
            }
        }
    }

    /// Where an element is in the source and in the target.
    ///
    /// # Safety
    /// As [`TransposedCopy::copy`], of this element.
    unsafe fn places(
        &self,
        from: *const u8,
        to: *mut u8,
        [s, t]: [usize; 2],
    ) -> (*const u8, *mut u8) {
        let (along, across) = ((s * self.element_size) as isize, t as isize * self.from_step);
        let (to_along, to_across) = ((t * self.element_size) as isize, s as isize * self.to_step);
        // SAFETY: the caller's promise.
        unsafe { (from.offset(along + across), to.offset(to_along + to_across)) }
    }
}

/// Copies `N` rows of 16 bytes, `N` elements each, as columns: rows of the source are `from_step` bytes apart, those of
/// the target `to_step`. Shuffling the first half of the rows into the second as often as it takes turns them.
///
/// # Safety
/// All are good for 16 bytes, and those of the source do not overlap those of the target.
#[cfg(target_arch = "x86_64")]
unsafe fn tile<const N: usize>(from: *const u8, from_step: isize, to: *mut u8, to_step: isize) {
    use std::arch::x86_64::*;
    // SAFETY: every processor of this kind has these instructions; the caller's promise.
    unsafe {
        let mut rows: [__m128i; N] =
            std::array::from_fn(|n| _mm_loadu_si128(from.offset(n as isize * from_step).cast()));
        for _ in 0..N.ilog2() {
            rows = std::array::from_fn(|n| {
                let (a, b) = (rows[n / 2], rows[n / 2 + N / 2]);
                let shuffled = match N {
                    16 => [_mm_unpacklo_epi8(a, b), _mm_unpackhi_epi8(a, b)],
                    8 => [_mm_unpacklo_epi16(a, b), _mm_unpackhi_epi16(a, b)],
                    4 => [_mm_unpacklo_epi32(a, b), _mm_unpackhi_epi32(a, b)],
                    _ => [_mm_unpacklo_epi64(a, b), _mm_unpackhi_epi64(a, b)],
                };
                shuffled[n % 2]
            });
        }
        for (n, row) in rows.into_iter().enumerate() {
            _mm_storeu_si128(to.offset(n as isize * to_step).cast(), row);
        }
    }
}

/// As above.
///
/// # Safety
/// As above.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn tile<const N: usize>(from: *const u8, from_step: isize, to: *mut u8, to_step: isize) {
    let element_size = 16 / N;
    for n in 0..N as isize {
        // SAFETY: the caller's promise.
        unsafe {
            let (from, to) = (from.offset(n * element_size as isize), to.offset(n * to_step));
            copy_runs(from, to, [element_size as isize, from_step], N, element_size);
        }
    }
}
