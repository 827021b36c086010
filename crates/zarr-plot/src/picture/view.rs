//! Chooses what of an array is shown: elements along each axis, and which axes go across and down.

use zarr_core::{AxisSelection, steps};

use super::PictureError;
use crate::meaning::{Axis, AxisKind};

/// Positions along an axis: `len` of them from `start`, each `step` further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Along {
    /// The first.
    pub start: u64,
    /// How far from one to the next; below 0 backwards.
    pub step: i64,
    /// How many.
    pub len: u64,
}

impl Along {
    /// All of an axis.
    pub fn all(len: u64) -> Along {
        Along { start: 0, step: 1, len }
    }

    /// One position.
    pub fn one(at: u64) -> Along {
        Along { start: at, step: 1, len: 1 }
    }

    /// The position at a place in the order, which there is.
    pub fn at(&self, n: u64) -> u64 {
        // Right modulo 2^64.
        self.start.wrapping_add((self.step as u64).wrapping_mul(n))
    }

    /// `len` of them from place `from`.
    pub fn part(&self, from: u64, len: u64) -> Along {
        Along { start: self.at(from), step: self.step, len }
    }

    /// One of each block of `by`: that in its middle, or as near as all blocks have one.
    pub(crate) fn thinned(&self, by: u64) -> Along {
        if by <= 1 || self.len == 0 {
            return *self;
        }
        let len = self.len.div_ceil(by);
        let first = (by / 2).min(self.len - 1 - (len - 1) * by);
        let step = i64::try_from(by).ok().and_then(|by| self.step.checked_mul(by));
        Along { start: self.at(first), step: step.unwrap_or(i64::MAX), len }
    }

    /// The positions as a range, ascending, and whether they are met backwards.
    pub(crate) fn bounds(&self) -> std::ops::Range<u64> {
        match self.len {
            0 => 0..0,
            len => {
                let (first, last) = (self.start, self.at(len - 1));
                first.min(last)..first.max(last) + 1
            }
        }
    }
}

impl From<&Along> for AxisSelection {
    fn from(along: &Along) -> AxisSelection {
        match along.bounds() {
            bounds if bounds.is_empty() => (0..0).into(),
            bounds => steps(bounds, along.step),
        }
    }
}

/// What of an array is shown. Of axes that go neither across nor down, the first selected position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// Positions along each axis.
    pub along: Vec<Along>,
    /// The axis that goes across; a scalar has none.
    pub x: Option<usize>,
    /// The axis that goes down; a line has none.
    pub y: Option<usize>,
}

impl View {
    /// The usual view of elements of an array. Across and down are the axes that CF or OME call x and y, else the last two that
    /// are not fixed to one position, are longer than one, and are no channels. With one such axis it is a line, unless `is_plane` asks for a picture.
    /// `x` and `y` choose them.
    ///
    /// # Errors
    /// Axes that are not there, or the same twice.
    pub fn of(
        axes: &[Axis],
        along: Vec<Along>,
        (x, y): (Option<usize>, Option<usize>),
        is_plane: bool,
    ) -> Result<View, PictureError> {
        let rank = axes.len();
        if let Some(axis) = x.iter().chain(&y).find(|&&axis| axis >= rank) {
            return refusal(format!("there is no axis {axis}; the array has {rank}"));
        }
        if x.is_some() && x == y {
            return refusal("x and y are the same axis".into());
        }
        let is_other = |axis: &usize| Some(*axis) != x && Some(*axis) != y;
        let mut free: Vec<usize> = (0..rank)
            .filter(is_other)
            .filter(|axis| along[*axis].len != 1 || axes[*axis].len == 1)
            .collect();
        let named = (0..2 - usize::from(x.is_some()) - usize::from(y.is_some())).len();
        let is_channel = |axis: &usize| axes[*axis].kind == AxisKind::Channel;
        if free.iter().filter(|axis| !is_channel(axis)).count() >= named {
            free.retain(|axis| !is_channel(axis));
        }
        if (is_plane || rank == 2) && free.len() < named {
            free = (0..rank).filter(is_other).collect();
        }
        // Axes of one position are shown where there are no others.
        let long = free.iter().copied().filter(|&axis| axes[axis].len != 1).collect::<Vec<_>>();
        if long.len() >= named || (!is_plane && long.len() == 1 && named == 2) {
            free = long;
        }
        // The axis that is y by its kind does not go across.
        let (x, y) = match (x, y) {
            (Some(x), Some(y)) => (Some(x), Some(y)),
            (Some(x), None) => (Some(x), take_axis(axes, &mut free, AxisKind::Y)),
            (None, Some(y)) => (take_axis(axes, &mut free, AxisKind::X), Some(y)),
            (None, None) => {
                let last = |kind| free.iter().rposition(|&axis| axes[axis].kind == kind);
                // A section from south to north goes down along its vertical axis.
                let has_none_across = last(AxisKind::X).is_none() && last(AxisKind::Y).is_some();
                let vertical = last(AxisKind::Z).filter(|_| has_none_across);
                let y = match vertical.or(last(AxisKind::Y)) {
                    Some(at) if free.len() > 1 => Some(free.remove(at)),
                    _ => None,
                };
                let across = if vertical.is_some() { AxisKind::Y } else { AxisKind::X };
                let x = take_axis(axes, &mut free, across);
                (x, y.or_else(|| take_axis(axes, &mut free, AxisKind::Y)))
            }
        };
        Ok(View { along, x, y })
    }

    /// How many elements across and down.
    pub fn size(&self) -> (u64, u64) {
        (self.len(self.x), self.len(self.y))
    }

    /// How many elements are shown along an axis, 1 without the axis.
    fn len(&self, axis: Option<usize>) -> u64 {
        axis.map_or(1, |axis| self.along[axis].len)
    }

    /// Whether it is a line, not a picture.
    pub fn is_line(&self) -> bool {
        self.y.is_none()
    }

    /// The axes of which one of several positions is shown, though nothing chose it.
    pub fn unchosen(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.along.len()).filter(|&axis| {
            Some(axis) != self.x && Some(axis) != self.y && self.along[axis].len > 1
        })
    }

    /// The same with another position along an axis that goes neither across nor down.
    pub fn at(&self, axis: usize, n: u64) -> View {
        let mut view = self.clone();
        view.along[axis] = self.along[axis].part(n, 1);
        view
    }
}

/// A view that is not possible.
fn refusal(why: String) -> Result<View, PictureError> {
    Err(PictureError::Refused(why))
}

/// Takes the last free axis of this kind, or else the last one.
fn take_axis(axes: &[Axis], free: &mut Vec<usize>, kind: AxisKind) -> Option<usize> {
    let of_kind = free.iter().rposition(|&axis| axes[axis].kind == kind);
    let position = of_kind.or(free.len().checked_sub(1))?;
    Some(free.remove(position))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_thinned_to_the_middle_of_blocks() {
        let thinned = |len, by| {
            let along = Along::all(len).thinned(by);
            (0..along.len).map(|n| along.at(n)).collect::<Vec<_>>()
        };
        assert_eq!(thinned(9, 3), [1, 4, 7]);
        assert_eq!(thinned(7, 3), [0, 3, 6]);
        assert_eq!(thinned(8, 4), [2, 6]);
        assert_eq!(thinned(5, 1), [0, 1, 2, 3, 4]);
        assert!(thinned(0, 4).is_empty());
        let backwards = Along { start: 9, step: -1, len: 9 }.thinned(3);
        assert_eq!((backwards.at(0), backwards.at(2)), (8, 2));
        assert_eq!(backwards.bounds(), 2..9);
        let huge = Along::all(u64::MAX).thinned(u64::MAX / 2);
        assert_eq!(huge.len, 3);
    }
}
