//! Memory that a read fills: written already, or cleared piece by piece by the threads that fill the pieces.

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::window::{checked_window, walk};
use super::{View, ViewMut};
use crate::selection::ResolvedSelection;
use crate::var_buffer::VarBuffer;

/// What memory holds that was cleared to be overwritten. A build with debug assertions, and so every test, has another value
/// than zero there, so that an element that nobody writes is noticed.
pub(crate) const CLEARED: u8 = if cfg!(debug_assertions) { 0xa5 } else { 0 };

/// A box of elements that a read fills. Nobody may have written them yet: then whoever takes the box as a [`ViewMut`] clears it
/// first, or overwrites it as a whole without seeing what it holds.
#[derive(Debug)]
pub(crate) struct Output<'a> {
    /// Shown to nobody while there is a counter.
    view: ViewMut<'a>,
    /// Counts the bytes that are written; `None` once these are.
    unwritten: Option<&'a AtomicUsize>,
}

impl<'a> From<ViewMut<'a>> for Output<'a> {
    fn from(view: ViewMut<'a>) -> Output<'a> {
        Output { view, unwritten: None }
    }
}

impl<'a> Output<'a> {
    /// Memory in C order that nobody has written. `written` counts the bytes of it that are.
    ///
    /// # Panics
    /// If `memory` is not exactly as long as `shape` elements of `element_size` bytes.
    pub fn unwritten(
        memory: &'a mut [MaybeUninit<u8>],
        shape: &[u64],
        element_size: usize,
        written: &'a AtomicUsize,
    ) -> Output<'a> {
        let window = checked_window(memory.len(), shape, element_size);
        let at = memory.as_mut_ptr().cast();
        let view = ViewMut { at, window, memory: PhantomData, var_buffer: None };
        Output { view, unwritten: Some(written) }
    }

    /// The same elements, which refer to elements of variable length in `var_buffer`.
    #[must_use]
    pub fn with_var_buffer(self, var_buffer: Option<&'a VarBuffer>) -> Self {
        Output { view: self.view.with_var_buffer(var_buffer), ..self }
    }

    /// Takes the elements out; none are left.
    pub fn take(&mut self) -> Output<'a> {
        let nothing = ViewMut::new(&mut [], &[0], self.view.element_size());
        std::mem::replace(self, nothing.into())
    }

    /// How many elements along one axis.
    pub fn len_along(&self, axis: usize) -> usize {
        self.view.len_along(axis)
    }

    /// How many bytes the elements have.
    pub fn size(&self) -> u64 {
        self.view.size()
    }

    /// Two boxes: the first `at` elements along `axis`, and the rest.
    ///
    /// # Panics
    /// If there is no such axis or it is shorter than `at`.
    pub fn split_at(self, axis: usize, at: u64) -> (Self, Self) {
        let Output { view, unwritten } = self;
        let (first, second) = view.split_at(axis, at);
        (Output { view: first, unwritten }, Output { view: second, unwritten })
    }

    /// The elements, which are cleared if nobody has written them.
    pub fn view(&mut self) -> &mut ViewMut<'a> {
        if self.unwritten.is_some() {
            self.clear();
            self.count_written();
        }
        &mut self.view
    }

    /// The bytes of all elements in C order, cleared as those of [`Self::view`]. `None`, and nothing is cleared, if the elements are not
    /// beside each other: most pieces of a larger output are not.
    pub fn as_bytes_mut(&mut self) -> Option<&mut [u8]> {
        if !self.view.window.is_contiguous() {
            return None;
        }
        self.view().as_bytes_mut()
    }

    /// The elements, as [`Self::view`] has them.
    pub fn into_view(mut self) -> ViewMut<'a> {
        self.view();
        self.view
    }

    /// Overwrites all elements with `bytes`, which are as many in C order. Returns whether it did: it does not if they are more or
    /// fewer bytes.
    pub fn overwrite(&mut self, bytes: &[u8]) -> bool {
        if bytes.len() as u64 != self.view.size() {
            return false;
        }
        if self.view.window.is_contiguous() {
            // SAFETY: contiguous elements of the view are as many bytes, to which it has exclusive access.
            unsafe { self.view.at.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        } else {
            // It writes every element and reads none.
            self.view.copy_from(&View::new(bytes, &self.view.shape(), self.view.element_size()));
        }
        self.count_written();
        true
    }

    /// Overwrites all elements with those of `part` of `source`, in their order.
    ///
    /// # Panics
    /// If the output has not the part's shape, elements differ, or the part leaves `source`.
    pub fn gather(&mut self, part: &ResolvedSelection, source: &View<'_>) {
        // It writes every element and reads none.
        self.view.gather(part, source);
        self.count_written();
    }

    fn count_written(&mut self) {
        if let Some(written) = self.unwritten.take() {
            written.fetch_add(self.view.size() as usize, Ordering::Relaxed);
        }
    }

    fn clear(&mut self) {
        let ViewMut { at, window, .. } = &self.view;
        walk(&window.shape, [&window.strides], window.element_size, &mut |[offset], run| {
            // SAFETY: `walk` visits runs of contiguous elements inside the window. Nothing is read.
            unsafe { at.offset(offset).write_bytes(CLEARED, run) };
            true
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unwritten_memory_is_cleared_or_overwritten_piece_by_piece_and_counted() {
        let mut memory = [MaybeUninit::uninit(); 24];
        let written = AtomicUsize::new(0);
        let output = Output::unwritten(&mut memory, &[3, 4], 2, &written);
        let (mut first, rest) = output.split_at(0, 1);
        let (left, mut right) = rest.split_at(1, 3);
        assert!(first.overwrite(&[7; 8]) && !first.overwrite(&[7; 6]));
        assert_eq!((written.load(Ordering::Relaxed), right.size(), right.len_along(0)), (8, 4, 2));
        assert!(right.view().as_view().is_all(&[CLEARED; 2]));
        right.view().fill(&[8, 9]);
        assert_eq!(written.load(Ordering::Relaxed), 12);
        assert!(right.view().as_view().is_all(&[8, 9]), "it is cleared once");
        assert!(right.overwrite(&[6, 7, 8, 9]), "its elements do not follow each other");
        assert_eq!(right.view().as_view().to_bytes(), &[6, 7, 8, 9][..]);
        assert!(left.into_view().as_view().is_all(&[CLEARED; 2]));
        assert_eq!(written.load(Ordering::Relaxed), 24);
        assert_eq!(first.into_view().as_bytes_mut().unwrap(), [7; 8]);
    }

    #[test]
    fn written_memory_keeps_what_it_holds() {
        let mut memory = [1, 2, 3, 4];
        let mut output = Output::from(ViewMut::new(&mut memory, &[4], 1));
        assert_eq!(output.view().as_bytes_mut().unwrap(), [1, 2, 3, 4]);
        assert!(output.overwrite(&[5, 6, 7, 8]));
        assert_eq!(memory, [5, 6, 7, 8]);
    }
}
