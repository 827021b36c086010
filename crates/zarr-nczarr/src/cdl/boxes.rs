//! Cuts a variable into pieces that are read or written one at a time, so that little memory is held.

use crate::model::slab::Slab;

/// About how many elements a piece has.
const USUAL: u64 = 1 << 20;

/// How many elements a row of chunks may have, so that it is a piece, and no chunk is read or written twice.
const MOST: u64 = 1 << 24;

/// Pieces of a shape whose elements follow each other in C order, cut along one axis between chunks.
pub(super) struct Boxes {
    shape: Vec<u64>,
    /// The axis that is cut. Along those before it a piece has one element, along those behind it all.
    axis: usize,
    /// How many elements a piece has along the axis, but for the last.
    len: u64,
}

impl Boxes {
    pub fn new(shape: &[u64], chunks: &[u64]) -> Boxes {
        Boxes::within(USUAL, MOST, shape, chunks)
    }

    fn within(usual: u64, most: u64, shape: &[u64], chunks: &[u64]) -> Boxes {
        let behind = |axis: usize| {
            shape[axis + 1..].iter().fold(1, |all: u64, &len| all.saturating_mul(len))
        };
        let chunk =
            |axis: usize| chunks.get(axis).copied().unwrap_or(1).clamp(1, shape[axis].max(1));
        let fits = |axis: &usize| chunk(*axis).saturating_mul(behind(*axis)) <= most;
        let last = shape.len().saturating_sub(1);
        let axis = (0..last).find(fits).unwrap_or(last);
        let len = match shape.get(axis) {
            Some(_) if fits(&axis) => {
                let rows = usual / behind(axis).max(1);
                chunk(axis).max(rows - rows % chunk(axis))
            }
            Some(_) => usual,
            None => 1,
        };
        Boxes { shape: shape.to_vec(), axis, len }
    }

    /// The piece that has the element `at`, and the number of its first element. No length of the shape is 0.
    pub fn around(&self, at: u64) -> (u64, Slab) {
        let Some(&rows) = self.shape.get(self.axis) else { return (0, Slab::all(&[])) };
        let behind: u64 = self.shape[self.axis + 1..].iter().product();
        let (before, row) = (at / behind / rows, at / behind % rows);
        let first = row - row % self.len;
        let count = self.len.min(rows - first);
        let mut slab = Slab::all(&self.shape);
        (slab.start[self.axis], slab.count[self.axis]) = (first, count);
        let mut rest = before;
        for axis in (0..self.axis).rev() {
            slab.start[axis] = rest % self.shape[axis];
            slab.count[axis] = 1;
            rest /= self.shape[axis];
        }
        ((before * rows + first) * behind, slab)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(limits: [u64; 2], shape: &[u64], chunks: &[u64]) -> Vec<(Vec<u64>, Vec<u64>)> {
        let boxes = Boxes::within(limits[0], limits[1], shape, chunks);
        let total: u64 = shape.iter().product();
        let (mut at, mut pieces) = (0, Vec::new());
        while at < total {
            let (first, slab) = boxes.around(at);
            let len = slab.len().unwrap();
            // Each element of a piece leads to the piece.
            assert_eq!((first, boxes.around(at + len - 1).0), (at, at));
            at += len;
            pieces.push((slab.start, slab.count));
        }
        pieces
    }

    #[test]
    fn pieces_follow_each_other_and_end_at_chunks() {
        assert_eq!(pieces([100, 100], &[5, 4], &[2, 2]), [(vec![0, 0], vec![5, 4])]);
        assert_eq!(
            pieces([9, 9], &[5, 4], &[2, 2]),
            [(vec![0, 0], vec![2, 4]), (vec![2, 0], vec![2, 4]), (vec![4, 0], vec![1, 4])]
        );
        assert_eq!(
            pieces([3, 3], &[2, 5], &[2, 2]),
            [
                (vec![0, 0], vec![1, 2]),
                (vec![0, 2], vec![1, 2]),
                (vec![0, 4], vec![1, 1]),
                (vec![1, 0], vec![1, 2]),
                (vec![1, 2], vec![1, 2]),
                (vec![1, 4], vec![1, 1])
            ]
        );
        // A row of chunks is a piece, if it is not too long.
        assert_eq!(
            pieces([3, 10], &[3, 5], &[2, 2]),
            [(vec![0, 0], vec![2, 5]), (vec![2, 0], vec![1, 5])]
        );
        assert_eq!(pieces([3, 3], &[], &[]), [(vec![], vec![])]);
        assert_eq!(pieces([7, 7], &[10], &[]), [(vec![0], vec![7]), (vec![7], vec![3])]);
    }

    #[test]
    fn the_last_of_very_many_is_found_at_once() {
        let boxes = Boxes::new(&[1 << 30, 1 << 30], &[1, 1 << 20]);
        let (first, slab) = boxes.around((1 << 60) - 1);
        assert_eq!((slab.start[0], slab.len()), ((1 << 30) - 1, Some(1 << 20)));
        assert_eq!(first, (1 << 60) - (1 << 20));
    }
}
