//! Views a box of elements in memory, without a copy.
//!
//! A [`View`] is a strided window on elements of equal size; a [`ViewMut`] one that may be written and
//! can be cut into disjoint pieces, each owned by one thread. Bounds are established when a view is
//! made and only ever shrink, so using one is safe.
#![allow(unsafe_code)]

mod copy;
pub(crate) mod output;
mod pairs;
pub(crate) mod strided;
mod window;

use std::borrow::Cow;
use std::marker::PhantomData;

use self::copy::{TransposedCopy, copy_runs, swap_runs};
use self::pairs::pairs;
pub use self::window::is_permutation;
use self::window::{Window, checked_window, merged, rows, steps, walk};
use crate::codec::buffer_pool;
use crate::error::CodecError;
use crate::region::{Region, byte_count};
use crate::selection::ResolvedSelection;
use crate::var_buffer::VarBuffer;

/// A window on elements that others may read, too.
#[derive(Clone, Debug)]
pub struct View<'a> {
    at: *const u8,
    window: Window,
    memory: PhantomData<&'a [u8]>,
    /// The buffer of variable-length elements, if the view has references to such.
    var_buffer: Option<&'a VarBuffer>,
}

/// A window on elements that no other view reads or writes.
#[derive(Debug)]
pub struct ViewMut<'a> {
    at: *mut u8,
    window: Window,
    memory: PhantomData<&'a mut [u8]>,
    /// The buffer of variable-length elements, if the view has references to such.
    var_buffer: Option<&'a VarBuffer>,
}

// SAFETY: a View stands for a `&[u8]`, a ViewMut for a `&mut [u8]`; both may go to other threads.
unsafe impl Send for View<'_> {}
// SAFETY: as above; nothing can be written through a shared View.
unsafe impl Sync for View<'_> {}
// SAFETY: as above; a ViewMut has exclusive access to its elements.
unsafe impl Send for ViewMut<'_> {}
// SAFETY: a shared ViewMut gives out nothing but its shape.
unsafe impl Sync for ViewMut<'_> {}

/// What views have in common, for reading and for writing.
macro_rules! properties {
    ($($view:ident)+) => {$(
        impl<'a> $view<'a> {
            /// The same elements, which refer to elements of variable length in `var_buffer`.
            #[must_use]
            pub fn with_var_buffer(self, var_buffer: Option<&'a VarBuffer>) -> Self {
                Self { var_buffer, ..self }
            }

            /// The buffer of variable-length elements, if the view has references to such.
            pub fn var_buffer(&self) -> Option<&'a VarBuffer> {
                self.var_buffer
            }

            /// The same elements in another shape, from which only axes of length 1 differ.
            pub(crate) fn with_axes_of_one(self, shape: &[u64]) -> Self {
                Self { window: self.window.with_axes_of_one(shape), ..self }
            }

            /// How many elements along each axis.
            pub fn shape(&self) -> Vec<u64> {
                self.window.shape.iter().map(|&n| n as u64).collect()
            }

            /// How many elements.
            pub fn len(&self) -> usize {
                self.window.len()
            }

            /// Whether there is no element.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// How many bytes an element has.
            pub fn element_size(&self) -> usize {
                self.window.element_size
            }

            /// How many bytes they have.
            pub fn size(&self) -> u64 {
                self.len() as u64 * self.element_size() as u64
            }

            /// The same elements with their axes in another order: axis `i` is what axis `order[i]` was.
            ///
            /// # Panics
            /// If `order` is not a permutation of the axes.
            pub fn transposed(self, order: &[usize]) -> Self {
                Self { window: self.window.transposed(order), ..self }
            }
        }
    )+};
}

properties!(View ViewMut);

impl<'a> View<'a> {
    /// A view in C order of all of `memory`: `shape` elements of `element_size` bytes.
    ///
    /// # Panics
    /// If `memory` is not exactly as long as that.
    pub fn new(memory: &'a [u8], shape: &[u64], element_size: usize) -> Self {
        let window = checked_window(memory.len(), shape, element_size);
        View { at: memory.as_ptr(), window, memory: PhantomData, var_buffer: None }
    }

    /// The elements of `region`, whose coordinates are this view's.
    ///
    /// # Panics
    /// If `region` leaves the view.
    pub fn part(&self, region: &Region) -> View<'a> {
        let (window, offset) = self.window.part(region);
        // SAFETY: the part lies inside this view, so the pointer stays inside the memory.
        let at = unsafe { self.at.offset(offset) };
        View { at, window, memory: PhantomData, var_buffer: self.var_buffer }
    }

    /// Of every element the `size` bytes that follow its first `offset`.
    ///
    /// # Panics
    /// If an element is not so long.
    pub fn span(&self, offset: usize, size: usize) -> View<'a> {
        let (window, offset) = self.window.span(offset, size);
        // SAFETY: the span lies inside the view's first element, or the view is empty and nothing moves.
        let at = unsafe { self.at.offset(offset) };
        View { at, window, memory: PhantomData, var_buffer: self.var_buffer }
    }

    /// The bytes, if the elements follow each other in C order.
    pub fn as_bytes(&self) -> Option<&'a [u8]> {
        let size = self.len() * self.window.element_size;
        // SAFETY: contiguous elements of this view are `size` bytes of the borrowed memory.
        self.window.is_contiguous().then(|| unsafe { std::slice::from_raw_parts(self.at, size) })
    }

    /// The elements in C order: borrowed if memory has them so, else copied.
    pub fn to_bytes(&self) -> Cow<'a, [u8]> {
        match self.as_bytes() {
            Some(bytes) => Cow::Borrowed(bytes),
            None => {
                let size = self.len() * self.window.element_size;
                let mut bytes = buffer_pool::acquire(size).unwrap_or_else(|| vec![0; size]);
                ViewMut::new(&mut bytes, &self.shape(), self.window.element_size).copy_from(self);
                Cow::Owned(bytes)
            }
        }
    }

    /// Whether every element has exactly the bytes of `element` (bit by bit: F-041, T-20, T-21).
    ///
    /// # Panics
    /// If `element` is not one element long.
    pub fn is_all(&self, element: &[u8]) -> bool {
        assert_eq!(
            element.len(),
            self.window.element_size,
            "an element is compared with an element"
        );
        let mut same = true;
        let mut window = Cow::Borrowed(&self.window);
        if window.strides.contains(&0) {
            window = Cow::Owned(self.without_repeats().window);
        }
        walk(&window.shape, [&window.strides], window.element_size, &mut |[offset], run| {
            // SAFETY: `walk` visits runs of contiguous elements inside the window.
            let bytes = unsafe { std::slice::from_raw_parts(self.at.offset(offset), run) };
            same = is_repetition(bytes, element);
            same
        });
        same
    }
}

/// Whether `bytes` is `element` again and again.
fn is_repetition(bytes: &[u8], element: &[u8]) -> bool {
    match (bytes.get(..element.len()), bytes.len() - element.len().min(bytes.len())) {
        (Some(first), rest) => first == element && bytes[element.len()..] == bytes[..rest],
        (None, _) => bytes.is_empty(),
    }
}

impl<'a> ViewMut<'a> {
    /// A view in C order of all of `memory`: `shape` elements of `element_size` bytes.
    ///
    /// # Panics
    /// If `memory` is not exactly as long as that.
    pub fn new(memory: &'a mut [u8], shape: &[u64], element_size: usize) -> Self {
        let window = checked_window(memory.len(), shape, element_size);
        ViewMut { at: memory.as_mut_ptr(), window, memory: PhantomData, var_buffer: None }
    }

    /// How many elements along one axis.
    pub(crate) fn len_along(&self, axis: usize) -> usize {
        self.window.shape[axis]
    }

    /// Whether the elements along no other axis are farther from each other.
    pub(crate) fn is_outermost(&self, axis: usize) -> bool {
        let step = self.window.strides[axis].unsigned_abs();
        self.window.strides.iter().all(|stride| stride.unsigned_abs() <= step)
    }

    /// The same elements, borrowed again.
    pub fn reborrow(&mut self) -> ViewMut<'_> {
        let at = self.at;
        let window = self.window.clone();
        let var_buffer = self.var_buffer;
        ViewMut { at, window, memory: PhantomData, var_buffer }
    }

    /// The same elements, to be read.
    pub fn as_view(&self) -> View<'_> {
        let at = self.at;
        let window = self.window.clone();
        let var_buffer = self.var_buffer;
        View { at, window, memory: PhantomData, var_buffer }
    }

    /// The elements of `region`, whose coordinates are this view's.
    ///
    /// # Panics
    /// If `region` leaves the view.
    pub fn part(self, region: &Region) -> Self {
        let (window, offset) = self.window.part(region);
        // SAFETY: the part lies inside this view, so the pointer stays inside the memory.
        let at = unsafe { self.at.offset(offset) };
        ViewMut { at, window, ..self }
    }

    /// Of every element the `size` bytes that follow its first `offset`.
    ///
    /// # Panics
    /// If an element is not so long.
    pub fn span(self, offset: usize, size: usize) -> Self {
        let (window, offset) = self.window.span(offset, size);
        // SAFETY: the span lies inside the view's first element, or the view is empty and nothing moves.
        let at = unsafe { self.at.offset(offset) };
        ViewMut { at, window, ..self }
    }

    /// Two views: the first `at` elements along `axis`, and the rest.
    ///
    /// # Panics
    /// If there is no such axis or it is shorter than `at`.
    pub fn split_at(self, axis: usize, at: u64) -> (Self, Self) {
        let len = self.window.shape[axis];
        let at =
            usize::try_from(at).ok().filter(|&at| at <= len).expect("a cut lies inside the view");
        let (mut first, mut second) = (self.window.clone(), self.window);
        first.shape[axis] = at;
        second.shape[axis] = len - at;
        let offset = if second.len() == 0 { 0 } else { at as isize * second.strides[axis] };
        // SAFETY: the second piece begins inside the memory unless it is empty; the pieces share no
        // coordinate along `axis`, and the window maps different coordinates to different elements.
        let second_at = unsafe { self.at.offset(offset) };
        (ViewMut { window: first, ..self }, ViewMut { at: second_at, window: second, ..self })
    }

    /// The bytes, if the elements follow each other in C order.
    pub fn as_bytes_mut(&mut self) -> Option<&mut [u8]> {
        let size = self.len() * self.window.element_size;
        // SAFETY: contiguous elements of this view are `size` bytes to which it has exclusive access.
        self.window
            .is_contiguous()
            .then(|| unsafe { std::slice::from_raw_parts_mut(self.at, size) })
    }

    /// Sets every element to the bytes of `element`.
    ///
    /// # Panics
    /// If `element` is not one element long.
    pub fn fill(&mut self, element: &[u8]) {
        assert_eq!(element.len(), self.window.element_size, "an element is filled with an element");
        let uniform = element.iter().all(|&b| b == element[0]);
        let at = self.at;
        walk(
            &self.window.shape,
            [&self.window.strides],
            self.window.element_size,
            &mut |[offset], run| {
                // SAFETY: `walk` visits runs of contiguous elements inside the window.
                let bytes = unsafe { std::slice::from_raw_parts_mut(at.offset(offset), run) };
                if uniform {
                    bytes.fill(element[0]);
                } else {
                    bytes.chunks_exact_mut(element.len()).for_each(|c| c.copy_from_slice(element));
                }
                true
            },
        );
    }

    /// Copies every element of `source`, which has the same shape.
    ///
    /// # Panics
    /// If shapes or elements differ.
    pub fn copy_from(&mut self, source: &View<'_>) {
        self.copy_swapped(source, 1);
    }

    /// Copies every element of `source`, which has the same shape, reversing the bytes of each
    /// `unit` of an element; a unit of 1 leaves them as they are.
    ///
    /// # Panics
    /// If shapes or elements differ, or an element is not made of whole units.
    pub fn copy_swapped(&mut self, source: &View<'_>, unit: usize) {
        assert_eq!(self.window.shape, source.window.shape, "a copy has the shape of its source");
        assert_eq!(
            self.window.element_size, source.window.element_size,
            "a copy has the elements of its source"
        );
        assert!(
            unit > 0 && self.window.element_size.is_multiple_of(unit),
            "an element is made of whole units"
        );
        let (to, from) = (self.at, source.at);
        let strides = [&self.window.strides[..], &source.window.strides[..]];
        let element_size = self.window.element_size;
        if self.is_empty() {
            return;
        }
        let (mut axes, run) = merged(&self.window.shape, strides, element_size);
        if let Some(transposed) = TransposedCopy::of(&mut axes, element_size, run) {
            steps(&axes, [0; 2], run, &mut |[t, f], _| {
                // SAFETY: the axes of the transposition and those around it are those of both windows; a ViewMut shares
                // no memory with a View.
                unsafe { transposed.copy(from.offset(f), to.offset(t), unit) };
                true
            });
            return;
        }
        rows(&axes, [0; 2], &mut |[t, f], step, count| {
            // SAFETY: `rows` visits runs inside both windows; a ViewMut shares no memory with a View.
            unsafe {
                match unit {
                    1 => copy_runs(from.offset(f), to.offset(t), step, count, run),
                    _ => swap_runs(from.offset(f), to.offset(t), step, count, run, unit),
                }
            }
            true
        });
    }
}

impl<'a> View<'a> {
    /// The elements of `part`: borrowed if they are a box, else copied into `scratch`.
    ///
    /// # Panics
    /// If the part leaves the view.
    pub fn select(&self, part: &ResolvedSelection, scratch: &'a mut Vec<u8>) -> View<'a> {
        if let Some(region) = part.as_region() {
            return self.part(region);
        }
        let shape = part.shape();
        let element_size = self.element_size();
        // The caller's selection bounds the size.
        *scratch = vec![0; shape.iter().product::<u64>() as usize * element_size];
        ViewMut::new(scratch, &shape, element_size).gather(part, self);
        View::new(scratch, &shape, element_size).with_var_buffer(self.var_buffer)
    }
}

impl ViewMut<'_> {
    /// Has `fill` fill memory of the part's shape: the view's own if the part is a box, else scratch, which is then
    /// copied to the elements of `part`.
    ///
    /// # Errors
    /// Those of `fill`; [`CodecError::Limit`] if there is no memory.
    ///
    /// # Panics
    /// If the part leaves the view.
    pub fn fill_with<E: From<CodecError>>(
        mut self,
        part: &ResolvedSelection,
        fill: impl FnOnce(ViewMut<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        if let Some(region) = part.as_region() {
            return fill(self.part(region));
        }
        let shape = part.shape();
        let element_size = self.element_size();
        let mut memory = buffer_pool::zeroed("memory", byte_count(&shape, element_size))?;
        fill(ViewMut::new(&mut memory, &shape, element_size).with_var_buffer(self.var_buffer))?;
        self.scatter(part, &View::new(&memory, &shape, element_size));
        Ok(())
    }

    /// Copies the elements of `part` of `source`, in their order.
    ///
    /// # Panics
    /// If this view has not the part's shape, elements differ, or the part leaves `source`.
    pub fn gather(&mut self, part: &ResolvedSelection, source: &View<'_>) {
        let (to, from) = (self.at, source.at);
        pairs(part, &source.window, &self.window, &mut |f, t, run| {
            // SAFETY: `pairs` visits runs inside both windows; a ViewMut shares no memory with a View.
            unsafe { copy_runs(from.offset(f), to.offset(t), [0; 2], 1, run) };
        });
    }

    /// Copies the elements of `source`, in their order, over those of `part`: of those that are selected more than once, the
    /// last one stays.
    ///
    /// # Panics
    /// If `source` does not have the part's shape, elements differ, or the part leaves this view.
    pub fn scatter(&mut self, part: &ResolvedSelection, source: &View<'_>) {
        let (to, from) = (self.at, source.at);
        pairs(part, &self.window, &source.window, &mut |t, f, run| {
            // SAFETY: as in `gather`.
            unsafe { copy_runs(from.offset(f), to.offset(t), [0; 2], 1, run) };
        });
    }
}

#[cfg(test)]
mod tests;
