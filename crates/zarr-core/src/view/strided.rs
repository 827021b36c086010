//! Makes views of memory with any strides, as NumPy, C and Fortran programs have it.

#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::ops::Range;

use smallvec::smallvec;

use super::window::Window;
use super::{View, ViewMut};
use crate::error::AccessError;
use crate::region::{ByAxis, byte_count};

fn refused<T>(why: String) -> Result<T, AccessError> {
    Err(AccessError::Argument(why))
}

impl Window {
    /// A window with these strides, and the bytes that it covers, counted from its first element.
    fn strided(
        shape: &[u64],
        strides: &[isize],
        element_size: usize,
    ) -> Result<(Window, Range<i128>), AccessError> {
        if shape.len() != strides.len() {
            let (axes, found) = (shape.len(), strides.len());
            return refused(format!("a view of {axes} axes has one stride for each, not {found}"));
        }
        if byte_count(shape, element_size).is_none_or(|size| isize::try_from(size).is_err()) {
            return refused(format!(
                "elements of {element_size} bytes in the shape {shape:?} do not fit into memory"
            ));
        }
        if shape.contains(&0) {
            // Lengths that no other axis bounds may be more than memory has.
            let shape: ByAxis<usize> =
                shape.iter().map(|&len| usize::try_from(len).unwrap_or(usize::MAX)).collect();
            let strides = smallvec![0; strides.len()];
            return Ok((Window { shape, strides, element_size }, 0..0));
        }
        let mut covered = 0..element_size as i128;
        for (&len, &stride) in shape.iter().zip(strides).filter(|(len, _)| **len > 1) {
            let along = (i128::from(len) - 1) * stride as i128;
            if isize::try_from(along + stride as i128).is_err() {
                return refused(format!(
                    "an axis of {len} elements with stride {stride} does not fit into memory"
                ));
            }
            covered.start += along.min(0);
            covered.end += along.max(0);
        }
        // An axis of one element is never stepped along.
        let strides = shape
            .iter()
            .zip(strides)
            .map(|(&len, &stride)| if len > 1 { stride } else { 0 })
            .collect();
        let shape = shape.iter().map(|&len| len as usize).collect();
        Ok((Window { shape, strides, element_size }, covered))
    }

    /// An error unless it is in memory of `len` bytes, its first element at `start`.
    fn check_inside(covered: Range<i128>, start: usize, len: usize) -> Result<(), AccessError> {
        let (first, end) = (start as i128 + covered.start, start as i128 + covered.end);
        if !covered.is_empty() && (first < 0 || end > len as i128) {
            return refused(format!(
                "a view of the bytes {first}..{end} leaves memory of {len} bytes"
            ));
        }
        Ok(())
    }

    /// An error unless each axis, from the one with the smallest step on, steps over all elements along those before it.
    /// So does whatever slices, reverses and transposes an array that has its elements side by side.
    fn check_disjoint(&self) -> Result<(), AccessError> {
        if self.len() == 0 {
            return Ok(());
        }
        let mut axes: Vec<(usize, usize)> =
            self.shape.iter().copied().zip(self.strides.iter().map(|s| s.unsigned_abs())).collect();
        axes.retain(|(len, _)| *len > 1);
        axes.sort_by_key(|(_, stride)| *stride);
        let mut covered = self.element_size;
        for (len, stride) in axes {
            if stride < covered {
                let (shape, strides) = (&self.shape, &self.strides);
                return refused(format!(
                    "memory of shape {shape:?} with strides {strides:?} cannot be written to: elements of {} bytes overlap or interleave",
                    self.element_size
                ));
            }
            covered += (len - 1) * stride;
        }
        Ok(())
    }
}

impl Window {
    /// The same elements with axes of length 1 added, so that the shape is `shape`.
    pub(super) fn with_axes_of_one(&self, shape: &[u64]) -> Window {
        let mut own = self.shape.iter().zip(&self.strides).filter(|(len, _)| **len != 1);
        let axes = shape.iter().map(|&len| {
            let axis = if len == 1 { None } else { own.next() };
            axis.map_or((1, 0), |(&len, &stride)| (len, stride))
        });
        let (lens, strides) = axes.unzip();
        let window = Window { shape: lens, strides, element_size: self.element_size };
        assert!(own.next().is_none() && window.len() == self.len(), "only axes of length 1 differ");
        window
    }
}

impl<'a> View<'a> {
    /// A view of elements of `element_size` bytes in `memory`: the first is at byte `start`, the next along axis `n` is
    /// `strides[n]` bytes further. A stride may be negative; with 0, all elements along the axis are the same bytes.
    ///
    /// ```
    /// # use zarr_core::View;
    /// // The columns of a matrix of 2 by 3, from right to left.
    /// let matrix = [1, 2, 3, 4, 5, 6];
    /// let view = View::strided(&matrix, 2, &[3, 2], &[-1, 3], 1)?;
    /// assert_eq!(view.to_bytes()[..], [3, 6, 2, 5, 1, 4]);
    /// // The same element four times.
    /// assert_eq!(View::strided(&[7], 0, &[4], &[0], 1)?.to_bytes()[..], [7; 4]);
    /// assert!(View::strided(&matrix, 0, &[4], &[2], 1).is_err());
    /// # Ok::<(), zarr_core::AccessError>(())
    /// ```
    ///
    /// # Errors
    /// [`AccessError::Argument`] if there is not one stride for each axis, or an element is outside of `memory`.
    pub fn strided(
        memory: &'a [u8],
        start: usize,
        shape: &[u64],
        strides: &[isize],
        element_size: usize,
    ) -> Result<Self, AccessError> {
        let (window, covered) = Window::strided(shape, strides, element_size)?;
        Window::check_inside(covered, start, memory.len())?;
        // SAFETY: the first element is inside the memory, or there is none and nothing is read.
        let at = unsafe { memory.as_ptr().add(start.min(memory.len())) };
        Ok(View { at, window, memory: PhantomData, var_buffer: None })
    }

    /// As [`View::strided`], of memory that another language owns; `first` is where its first element is.
    ///
    /// # Errors
    /// [`AccessError::Argument`] if there is not one stride for each axis, or an axis is longer than memory can be.
    ///
    /// # Safety
    /// For `'a`, all bytes of all elements can be read, and no other thread changes them.
    pub unsafe fn from_raw(
        first: *const u8,
        shape: &[u64],
        strides: &[isize],
        element_size: usize,
    ) -> Result<Self, AccessError> {
        let (window, _) = Window::strided(shape, strides, element_size)?;
        Ok(View { at: first, window, memory: PhantomData, var_buffer: None })
    }

    /// The same elements, each that repeats along an axis of stride 0 only once along it.
    pub(crate) fn without_repeats(&self) -> View<'a> {
        let mut view = self.clone();
        if !view.is_empty() {
            let axes = view.window.shape.iter_mut().zip(&view.window.strides);
            axes.filter(|(_, stride)| **stride == 0).for_each(|(len, _)| *len = 1);
        }
        view
    }
}

impl<'a> ViewMut<'a> {
    /// A view of elements of `element_size` bytes in `memory`: the first is at byte `start`, the next along axis `n` is
    /// `strides[n]` bytes further. A stride may be negative. No two elements may share a byte.
    ///
    /// ```
    /// # use zarr_core::ViewMut;
    /// // Every other byte, from the last one on.
    /// let mut memory = [0; 6];
    /// ViewMut::strided(&mut memory, 5, &[3], &[-2], 1)?.split_at(0, 1).0.fill(&[9]);
    /// assert_eq!(memory, [0, 0, 0, 0, 0, 9]);
    /// assert!(ViewMut::strided(&mut memory, 0, &[4], &[0], 1).is_err());
    /// # Ok::<(), zarr_core::AccessError>(())
    /// ```
    ///
    /// # Errors
    /// [`AccessError::Argument`] if there is not one stride for each axis, an element is outside of `memory`, or elements
    /// overlap. Layouts in which the elements along two axes interleave without a shared byte are refused, too; no slice
    /// or transposition of an array has one.
    pub fn strided(
        memory: &'a mut [u8],
        start: usize,
        shape: &[u64],
        strides: &[isize],
        element_size: usize,
    ) -> Result<Self, AccessError> {
        let (window, covered) = Window::strided(shape, strides, element_size)?;
        Window::check_inside(covered, start, memory.len())?;
        window.check_disjoint()?;
        // SAFETY: the first element is inside the memory, or there is none and nothing is written.
        let at = unsafe { memory.as_mut_ptr().add(start.min(memory.len())) };
        Ok(ViewMut { at, window, memory: PhantomData, var_buffer: None })
    }

    /// As [`ViewMut::strided`], of memory that another language owns; `first` is where its first element is.
    ///
    /// # Errors
    /// [`AccessError::Argument`] if there is not one stride for each axis, an axis is longer than memory can be, or
    /// elements overlap.
    ///
    /// # Safety
    /// For `'a`, all bytes of all elements can be read and written, and nothing else reads or writes them. Bytes between
    /// the elements are not touched.
    pub unsafe fn from_raw(
        first: *mut u8,
        shape: &[u64],
        strides: &[isize],
        element_size: usize,
    ) -> Result<Self, AccessError> {
        let (window, _) = Window::strided(shape, strides, element_size)?;
        window.check_disjoint()?;
        Ok(ViewMut { at: first, window, memory: PhantomData, var_buffer: None })
    }
}

/// Memory with a layout, for async calls, which own what they read into and write from.
///
/// ```
/// # use zarr_core::StridedBuffer;
/// // Room for 2 by 3 elements of 4 bytes in Fortran order.
/// let mut buffer = StridedBuffer::new(vec![0; 24], 0, &[2, 3], &[4, 8], 4)?;
/// buffer.view_mut()?.fill(&1u32.to_ne_bytes());
/// assert_eq!(buffer.into_memory(), 1u32.to_ne_bytes().repeat(6));
/// # Ok::<(), zarr_core::AccessError>(())
/// ```
#[derive(Clone, Debug)]
pub struct StridedBuffer {
    memory: Vec<u8>,
    start: usize,
    window: Window,
}

impl Default for StridedBuffer {
    /// No element.
    fn default() -> Self {
        let window = Window { shape: smallvec![0], strides: smallvec![0], element_size: 0 };
        StridedBuffer { memory: Vec::new(), start: 0, window }
    }
}

impl StridedBuffer {
    /// Memory that is laid out as for [`View::strided`].
    ///
    /// # Errors
    /// As [`View::strided`].
    pub fn new(
        memory: Vec<u8>,
        start: usize,
        shape: &[u64],
        strides: &[isize],
        element_size: usize,
    ) -> Result<Self, AccessError> {
        let window = View::strided(&memory, start, shape, strides, element_size)?.window;
        Ok(StridedBuffer { memory, start, window })
    }

    /// Its elements.
    pub fn view(&self) -> View<'_> {
        // SAFETY: `new` saw that the elements are inside the memory, which has not changed its length since.
        let at = unsafe { self.memory.as_ptr().add(self.start.min(self.memory.len())) };
        View { at, window: self.window.clone(), memory: PhantomData, var_buffer: None }
    }

    /// Its elements, to be written.
    ///
    /// # Errors
    /// [`AccessError::Argument`] if elements overlap, as for [`ViewMut::strided`].
    pub fn view_mut(&mut self) -> Result<ViewMut<'_>, AccessError> {
        self.window.check_disjoint()?;
        // SAFETY: as in `view`.
        let at = unsafe { self.memory.as_mut_ptr().add(self.start.min(self.memory.len())) };
        Ok(ViewMut { at, window: self.window.clone(), memory: PhantomData, var_buffer: None })
    }

    /// The same elements in another shape, from which only axes of length 1 differ.
    pub(crate) fn with_axes_of_one(self, shape: &[u64]) -> Self {
        StridedBuffer { window: self.window.with_axes_of_one(shape), ..self }
    }

    /// The memory.
    pub fn into_memory(self) -> Vec<u8> {
        self.memory
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The first byte of every element, by the definition of strides.
    fn places(start: usize, shape: &[u64], strides: &[isize]) -> Vec<i128> {
        shape.iter().zip(strides).fold(vec![start as i128], |places, (&len, &stride)| {
            let along = |at: i128| (0..i128::from(len)).map(move |n| at + n * stride as i128);
            places.into_iter().flat_map(along).collect()
        })
    }

    proptest! {
        #[test]
        fn strided_views_are_refused_or_have_the_elements_of_plain_memory(
            axes in prop::collection::vec((0u64..5, -9isize..10), 0..4),
            start in 0usize..40,
            len in 0usize..60,
            cell in 1usize..4,
        ) {
            let (shape, strides): (Vec<u64>, Vec<isize>) = axes.into_iter().unzip();
            let memory: Vec<u8> = (0..len as u8).collect();
            let places = places(start, &shape, &strides);
            let fits = places.iter().all(|&at| at >= 0 && at + cell as i128 <= len as i128);
            let bytes = |at: &i128| memory[*at as usize..*at as usize + cell].to_vec();
            let view = View::strided(&memory, start, &shape, &strides, cell);
            prop_assert_eq!(view.is_ok(), fits || places.is_empty());
            let Ok(view) = view else { return Ok(()) };
            let expected: Vec<u8> = places.iter().flat_map(bytes).collect();
            prop_assert_eq!(&view.to_bytes()[..], &expected[..]);
            let first = places.first().map_or(vec![0; cell], bytes);
            prop_assert_eq!(view.is_all(&first), places.iter().all(|at| bytes(at) == first));

            let mut touched: Vec<i128> = places.iter().flat_map(|&at| at..at + cell as i128).collect();
            touched.sort_unstable();
            let overlaps = touched.windows(2).any(|pair| pair[0] == pair[1]);
            let mut written = memory.clone();
            let Ok(mut out) = ViewMut::strided(&mut written, start, &shape, &strides, cell) else {
                // Only layouts that interleave are refused without need.
                prop_assert!(overlaps || shape.iter().filter(|len| **len > 1).count() > 1);
                return Ok(());
            };
            prop_assert!(!overlaps);
            let new: Vec<u8> = (0..places.len() * cell).map(|n| 100 + n as u8).collect();
            out.copy_from(&View::new(&new, &shape, cell));
            let mut expected = memory.clone();
            for (at, new) in places.iter().zip(new.chunks_exact(cell)) {
                expected[*at as usize..*at as usize + cell].copy_from_slice(new);
            }
            prop_assert_eq!(written, expected);
        }

        #[test]
        fn slices_and_transpositions_of_an_array_can_be_written_to(
            axes in prop::collection::vec((1u64..6, 1isize..4, any::<bool>()), 1..5),
            cell in 1usize..4,
            order in any::<prop::sample::Index>(),
        ) {
            let (mut strides, mut step, mut start) = (Vec::new(), cell as isize, 0);
            for (len, by, back) in axes.iter().rev() {
                let stride = step * by;
                start += if *back { (*len as isize - 1) * stride } else { 0 };
                strides.insert(0, if *back { -stride } else { stride });
                step *= *len as isize * by;
            }
            let mut shape: Vec<u64> = axes.iter().map(|axis| axis.0).collect();
            let by = order.index(shape.len());
            shape.rotate_left(by);
            strides.rotate_left(by);
            let mut memory = vec![0; step as usize];
            let view = ViewMut::strided(&mut memory, start as usize, &shape, &strides, cell);
            prop_assert!(view.is_ok());
        }
    }

    #[test]
    fn layouts_that_no_memory_has_are_errors() {
        let mut memory = [0; 16];
        for (shape, strides, cell) in [
            (&[2, 2][..], &[1][..], 1),
            (&[u64::MAX], &[1], 1),
            (&[u64::MAX, u64::MAX], &[1, 1], 8),
            (&[1 << 62], &[0], 8),
            (&[3, 1 << 40], &[isize::MAX, 0], 1),
            (&[3], &[isize::MIN], 1),
            (&[17], &[1], 1),
            (&[2], &[15], 2),
        ] {
            assert!(View::strided(&memory, 0, shape, strides, cell).is_err(), "{shape:?}");
            assert!(ViewMut::strided(&mut memory, 0, shape, strides, cell).is_err(), "{shape:?}");
        }
        assert!(View::strided(&memory, usize::MAX, &[1], &[0], 1).is_err());
        assert!(View::strided(&memory, 16, &[], &[], 1).is_err());
        assert!(View::strided(&memory, usize::MAX, &[0], &[9], 1).unwrap().to_bytes().is_empty());
        assert!(
            ViewMut::strided(&mut memory, 0, &[u64::MAX, 2, 0], &[0, 1, 1], 1).unwrap().is_empty()
        );
        assert!(ViewMut::strided(&mut memory, 0, &[1, 2], &[isize::MAX, 8], 8).is_ok());
        let refused = ViewMut::strided(&mut memory, 0, &[2, 2], &[4, 2], 4).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "memory of shape [2, 2] with strides [4, 2] cannot be written to: elements of 4 bytes overlap or interleave"
        );
        let refused = View::strided(&memory, 4, &[2, 2], &[-8, 2], 4).unwrap_err();
        assert_eq!(refused.to_string(), "a view of the bytes -4..10 leaves memory of 16 bytes");
    }
}
