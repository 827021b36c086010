//! The grid of chunks of a dataset, and how chunks are numbered in it.

use crate::error::{Place, Result};

/// The chunks along each axis, and their numbers.
#[derive(Clone, Debug)]
pub(crate) struct Grid {
    pub chunk_shape: Vec<u64>,
    /// The number of chunks along each axis at present.
    counts: Vec<u64>,
    /// The same for the largest shape; for an unlimited axis it is not used.
    max_counts: Vec<u64>,
    /// The axes from the slowest to the fastest: the unlimited one comes first, since all others must be limited for chunks
    /// to have numbers.
    order: Vec<usize>,
}

impl Grid {
    pub fn new(
        place: Place,
        shape: &[u64],
        max_shape: &[Option<u64>],
        chunk_shape: Vec<u64>,
    ) -> Result<Grid> {
        if shape.len() != chunk_shape.len() {
            return Err(place.damaged(format!(
                "expected a chunk's shape with {} axes, found {}",
                shape.len(),
                chunk_shape.len()
            )));
        }
        let counts = shape.iter().zip(&chunk_shape).map(|(n, chunk)| n.div_ceil(*chunk)).collect();
        let max_counts: Vec<u64> = max_shape
            .iter()
            .zip(&chunk_shape)
            .map(|(n, chunk)| n.map_or(u64::MAX, |n| n.div_ceil(*chunk)))
            .collect();
        let mut order: Vec<usize> = (0..shape.len()).collect();
        // A stable sort: the others keep their order.
        order.sort_by_key(|axis| max_shape[*axis].is_some());
        Ok(Grid { chunk_shape, counts, max_counts, order })
    }

    /// Errors if chunks have no numbers: a second axis is unlimited, or there would be more than 2^64.
    pub fn check_numbers(&self, place: Place) -> Result<()> {
        let mut others = self.order.iter().skip(1).map(|axis| self.max_counts[*axis]);
        let product = others.try_fold(1, |product: u64, count| {
            if count == u64::MAX { None } else { product.checked_mul(count.max(1)) }
        });
        let first = self.order.first().map_or(0, |axis| self.counts[*axis]);
        if product.is_some_and(|product| product.checked_mul(first.max(1)).is_some()) {
            return Ok(());
        }
        Err(place.damaged("an array of chunks has more than 2^64 places"))
    }

    pub fn rank(&self) -> usize {
        self.counts.len()
    }

    pub fn contains(&self, coordinates: &[u64]) -> bool {
        coordinates.len() == self.counts.len()
            && coordinates.iter().zip(&self.counts).all(|(coordinate, count)| coordinate < count)
    }

    /// The number of a chunk within the present shape.
    pub fn number(&self, coordinates: &[u64]) -> u64 {
        let mut number = 0_u64;
        for axis in &self.order {
            number = number.wrapping_mul(self.max_counts[*axis]).wrapping_add(coordinates[*axis]);
        }
        number
    }

    /// The place of the chunk with this number.
    pub fn coordinates(&self, mut number: u64) -> Vec<u64> {
        let mut coordinates = vec![0; self.rank()];
        for (position, axis) in self.order.iter().enumerate().rev() {
            if position == 0 {
                coordinates[*axis] = number;
            } else {
                let count = self.max_counts[*axis].max(1);
                coordinates[*axis] = number % count;
                number /= count;
            }
        }
        coordinates
    }

    /// One more than the highest number of the largest shape, or of the present one along an unlimited axis.
    pub fn max_count(&self) -> u64 {
        let mut product = 1_u64;
        for axis in &self.order {
            let (max, present) = (self.max_counts[*axis], self.counts[*axis]);
            product = product.saturating_mul(if max == u64::MAX { present } else { max });
        }
        product
    }
}

#[cfg(test)]
mod tests {
    use super::{Grid, Place};

    #[test]
    fn unlimited_axis_is_the_slowest() {
        let place = Place::new("dataset", 0);
        let max = [Some(6), None, Some(4)];
        let grid = Grid::new(place, &[6, 5, 4], &max, vec![2, 5, 1]).expect("it is valid");
        grid.check_numbers(place).expect("one axis is unlimited");
        assert_eq!(grid.number(&[0, 0, 1]), 1);
        assert_eq!(grid.number(&[1, 0, 0]), 4);
        assert_eq!(grid.number(&[0, 1, 0]), 12);
        for number in 0..12 {
            assert_eq!(grid.number(&grid.coordinates(number)), number);
        }
    }
}
