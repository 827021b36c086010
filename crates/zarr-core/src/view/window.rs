//! Describes which bytes of memory the elements of a view are, and walks over them.

use smallvec::smallvec;

use crate::region::{ByAxis, Region};

/// Shape and strides of a window, in elements and bytes.
#[derive(Debug)]
pub(super) struct Window {
    pub shape: ByAxis<usize>,
    pub strides: ByAxis<isize>,
    pub element_size: usize,
}

impl Clone for Window {
    fn clone(&self) -> Window {
        // As a copy of memory, and not number by number.
        let (shape, strides) = (ByAxis::from_slice(&self.shape), ByAxis::from_slice(&self.strides));
        Window { shape, strides, element_size: self.element_size }
    }
}

impl Window {
    pub fn contiguous(shape: ByAxis<usize>, element_size: usize) -> Window {
        let mut strides = smallvec![0; shape.len()];
        let mut step = element_size as isize;
        for (stride, &len) in strides.iter_mut().zip(&shape).rev() {
            *stride = step;
            step *= len as isize;
        }
        Window { shape, strides, element_size }
    }

    pub fn len(&self) -> usize {
        if self.shape.contains(&0) { 0 } else { self.shape.iter().product() }
    }

    pub fn is_contiguous(&self) -> bool {
        let mut step = self.element_size as isize;
        self.shape.iter().zip(&self.strides).rev().all(|(&len, &stride)| {
            let fits = len == 1 || stride == step;
            step *= len as isize;
            fits
        }) || self.len() == 0
    }

    pub fn transposed(self, order: &[usize]) -> Window {
        assert!(is_permutation(order, self.shape.len()), "an axis order names every axis once");
        Window {
            shape: order.iter().map(|&a| self.shape[a]).collect(),
            strides: order.iter().map(|&a| self.strides[a]).collect(),
            element_size: self.element_size,
        }
    }

    /// The window on `region` of this one, and how many bytes further it begins.
    pub fn part(&self, region: &Region) -> (Window, isize) {
        assert_eq!(region.rank(), self.shape.len(), "a part has the rank of the whole");
        let mut offset = 0;
        let mut window = self.clone();
        for (axis, r) in region.intervals().iter().enumerate() {
            assert!(r.end <= self.shape[axis] as u64, "a part lies inside the whole");
            window.shape[axis] = (r.end - r.start) as usize;
            offset += r.start as isize * self.strides[axis];
        }
        // An empty part must not move the pointer past the memory.
        if window.len() == 0 { (window, 0) } else { (window, offset) }
    }

    /// The window on `size` bytes of every element of this one, and how many bytes further it begins.
    pub fn span(&self, offset: usize, size: usize) -> (Window, isize) {
        let end = offset.checked_add(size);
        assert!(end.is_some_and(|end| end <= self.element_size), "a span lies inside an element");
        let window = Window { element_size: size, ..self.clone() };
        let offset = if window.len() == 0 { 0 } else { offset as isize };
        (window, offset)
    }
}

/// Whether `order` names each of `rank` axes once.
pub fn is_permutation(order: &[usize], rank: usize) -> bool {
    let mut seen = vec![false; rank];
    order.len() == rank
        && order.iter().all(|&a| a < rank && !std::mem::replace(&mut seen[a.min(rank - 1)], true))
}

pub(super) fn checked_window(len: usize, shape: &[u64], element_size: usize) -> Window {
    let shape: ByAxis<usize> =
        shape.iter().map(|&n| usize::try_from(n).expect("a view's shape fits memory")).collect();
    let size = if shape.contains(&0) {
        Some(0)
    } else {
        shape.iter().try_fold(element_size, |size, &n| size.checked_mul(n))
    };
    assert_eq!(size, Some(len), "a view covers its memory exactly");
    Window::contiguous(shape, element_size)
}

/// Calls `visit` with the byte offsets, in each of `N` windows of one shape, of runs of elements that are
/// contiguous in all of them, and with the run's length in bytes; stops when `visit` returns false.
pub(super) fn walk<const N: usize>(
    shape: &[usize],
    strides: [&[isize]; N],
    element_size: usize,
    visit: &mut impl FnMut([isize; N], usize) -> bool,
) {
    if shape.contains(&0) || element_size == 0 {
        return;
    }
    let (axes, run) = merged(shape, strides, element_size);
    steps(&axes, [0; N], run, visit);
}

/// An axis: its length, and its stride in each of `N` windows.
pub(super) type Axis<const N: usize> = (usize, [isize; N]);

/// The axes to step over, those that can be as one, and how many bytes are contiguous in all windows.
pub(super) fn merged<const N: usize>(
    shape: &[usize],
    strides: [&[isize]; N],
    element_size: usize,
) -> (Vec<Axis<N>>, usize) {
    let mut axes: Vec<Axis<N>> = Vec::with_capacity(shape.len());
    for (axis, &len) in shape.iter().enumerate() {
        let stride: [isize; N] = std::array::from_fn(|w| strides[w][axis]);
        if len == 1 {
            continue;
        }
        match axes.last_mut() {
            Some((outer, s)) if (0..N).all(|w| s[w] == stride[w] * len as isize) => {
                (*outer, *s) = (*outer * len, stride);
            }
            _ => axes.push((len, stride)),
        }
    }
    let mut run = element_size;
    if let Some((len, stride)) = axes.last()
        && stride.iter().all(|&s| s == element_size as isize)
    {
        run = len * element_size;
        axes.pop();
    }
    // Long strides outside: the first window (the target) is walked in its own order.
    axes.sort_by_key(|(_, stride)| std::cmp::Reverse(stride[0].unsigned_abs()));
    (axes, run)
}

pub(super) fn steps<const N: usize>(
    axes: &[Axis<N>],
    at: [isize; N],
    run: usize,
    visit: &mut impl FnMut([isize; N], usize) -> bool,
) -> bool {
    rows(axes, at, &mut |mut at, step, count| {
        for _ in 0..count {
            if !visit(at, run) {
                return false;
            }
            for w in 0..N {
                at[w] += step[w];
            }
        }
        true
    })
}

/// Calls `visit` with the offsets of the first of some runs, how far they are from each other, and how many they
/// are; stops when it returns false.
pub(super) fn rows<const N: usize>(
    axes: &[Axis<N>],
    at: [isize; N],
    visit: &mut impl FnMut([isize; N], [isize; N], usize) -> bool,
) -> bool {
    let ((len, stride), inner) = match axes {
        [] => return visit(at, [0; N], 1),
        [(len, stride)] => return visit(at, *stride, *len),
        [axis, inner @ ..] => (axis, inner),
    };
    let mut at = at;
    for _ in 0..*len {
        if !rows(inner, at, visit) {
            return false;
        }
        for w in 0..N {
            at[w] += stride[w];
        }
    }
    true
}
