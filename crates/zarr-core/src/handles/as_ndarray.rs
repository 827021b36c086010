//! What may be written as an `ndarray` array.

use ndarray::{ArrayBase, ArrayView, Data, Dimension};

/// An array of `ndarray`, a view of one, or a reference to either.
pub trait AsNdarray {
    /// The type of an element.
    type Element;
    /// The number of axes.
    type Dimension: Dimension;

    /// A view of it.
    fn as_view(&self) -> ArrayView<'_, Self::Element, Self::Dimension>;
}

impl<S: Data, D: Dimension> AsNdarray for ArrayBase<S, D> {
    type Element = S::Elem;
    type Dimension = D;

    fn as_view(&self) -> ArrayView<'_, S::Elem, D> {
        self.view()
    }
}

impl<A: AsNdarray> AsNdarray for &A {
    type Element = A::Element;
    type Dimension = A::Dimension;

    fn as_view(&self) -> ArrayView<'_, A::Element, A::Dimension> {
        (**self).as_view()
    }
}
