//! Counts numbers in bins.

/// The bins of a histogram.
#[derive(Clone, Debug, PartialEq)]
pub enum Bins {
    /// As many of equal width, from the least to the greatest number.
    Count(usize),
    /// Between these edges, in order. Numbers outside are not counted.
    Edges(Vec<f64>),
}

/// The most bins.
pub const MOST_BINS: usize = 1_000_000;

/// Counts of numbers in bins.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    /// The edges of the bins: one more than there are bins.
    pub edges: Vec<f64>,
    /// How many numbers are in each bin: at least its lower edge, below the upper one; the last bin has its upper edge, too.
    pub counts: Vec<u64>,
}

/// The edges of `bins` bins from the least to the greatest number, as NumPy computes them in f64.
pub(crate) fn edges(least: f64, most: f64, bins: usize) -> Vec<f64> {
    let (least, most) = if least == most { (least - 0.5, most + 0.5) } else { (least, most) };
    // Half of it twice: the whole distance may be no number.
    let step = (most - least) / bins as f64;
    let half = (most / 2.0 - least / 2.0) / bins as f64;
    let mut edges: Vec<f64> = (0..=bins)
        .map(|n| {
            let n = n as f64;
            if step.is_finite() { n * step + least } else { least + n * half + n * half }
        })
        .collect();
    edges[bins] = most;
    edges
}

impl Histogram {
    /// Bins without numbers.
    pub(crate) fn empty(edges: Vec<f64>) -> Histogram {
        Histogram { counts: vec![0; edges.len().saturating_sub(1)], edges }
    }

    /// Counts `times` times a number.
    pub(crate) fn add(&mut self, value: f64, times: u64) {
        let (edges, bins) = (&self.edges, self.counts.len());
        if bins == 0 || !(edges[0]..=edges[bins]).contains(&value) {
            return;
        }
        // A guess for bins of equal width, which the edges then correct.
        let (from_least, all) = (value / 2.0 - edges[0] / 2.0, edges[bins] / 2.0 - edges[0] / 2.0);
        let guess = from_least / all * bins as f64;
        let mut bin = (guess as usize).min(bins - 1);
        if value < edges[bin] || value > edges[bin + 1] {
            bin = edges.partition_point(|&edge| edge <= value).saturating_sub(1).min(bins - 1);
        }
        if value == edges[bin + 1] && bin + 1 < bins {
            bin = (edges.partition_point(|&edge| edge <= value) - 1).min(bins - 1);
        }
        self.counts[bin] += times;
    }

    pub(crate) fn merge(&mut self, other: &Histogram) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, other)| *count += other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_whose_distance_is_no_number_are_counted() {
        let mut histogram = Histogram::empty(edges(-1.5e308, 1.5e308, 3));
        for value in [-1.5e308, 0.0, 1.0, 1.5e308] {
            histogram.add(value, 1);
        }
        assert_eq!(histogram.counts, [1, 2, 1]);
        assert!(histogram.edges.is_sorted() && histogram.edges.iter().all(|edge| edge.is_finite()));
    }

    fn counts(bins: usize, values: &[f64]) -> Vec<u64> {
        let most = values.iter().copied().fold(f64::MIN, f64::max);
        let least = values.iter().copied().fold(f64::MAX, f64::min);
        let mut histogram = Histogram::empty(edges(least, most, bins));
        values.iter().for_each(|&value| histogram.add(value, 1));
        histogram.counts
    }

    /// What `numpy.histogram` returns.
    #[test]
    fn bins_are_those_of_numpy() {
        assert_eq!(counts(3, &[1.0, 2.0, 1.0]), [2, 0, 1]);
        assert_eq!(
            counts(10, &[0.1, 0.2, 0.3, 0.7, 0.8, 0.9, 1.0, 0.0]),
            [1, 1, 2, 0, 0, 0, 1, 0, 1, 2]
        );
        assert_eq!(counts(4, &[7.0, 7.0]), [0, 0, 2, 0]);
        let mut uneven = Histogram::empty(vec![0.0, 1.0, 10.0, 11.0]);
        for value in [-1.0, 0.0, 1.0, 9.9, 10.0, 11.0, 11.5, f64::NAN] {
            uneven.add(value, 1);
        }
        assert_eq!(uneven.counts, [1, 2, 2]);
    }
}
