//! Finds the numbers of given ranks by counting: exact, in memory that does not grow with the array.
//!
//! Numbers have keys, bits in their order. One pass counts the first 16 bits of all keys, which tells those of the number that is
//! looked for; the next pass counts the following 16 bits of keys that begin so, until all bits are known: one pass for numbers of 8
//! and 16 bits, two for 32, four for 64.

use super::scan::Number;

/// Bits that one pass finds.
const DIGIT: u32 = 16;
/// Tables of counts at a time: 2 MiB.
const TABLES: usize = 4;

/// A rank, and the bits of its number that are known.
#[derive(Clone, Copy, Debug)]
struct Target {
    rank: u64,
    prefix: u64,
}

/// Counts for each of the known beginnings of keys.
#[derive(Clone, Debug)]
pub(crate) struct Counts {
    prefixes: Vec<u64>,
    shift: u32,
    tables: Vec<Vec<u64>>,
}

impl Counts {
    /// Counts `times` times a number.
    #[inline(always)]
    pub fn add<T: Number>(&mut self, value: T, times: u64) {
        let key = value.key();
        let digit = (key >> self.shift) & 0xffff;
        let prefix = key.checked_shr(self.shift + DIGIT).unwrap_or(0);
        for (known, table) in self.prefixes.iter().zip(&mut self.tables) {
            if *known == prefix {
                table[digit as usize] += times;
            }
        }
    }

    /// Adds the counts of another thread.
    fn merge(&mut self, other: &Counts) {
        for (table, other) in self.tables.iter_mut().zip(&other.tables) {
            table.iter_mut().zip(other).for_each(|(count, other)| *count += other);
        }
    }
}

/// The numbers of `ranks`, counted from 0, each below the count of numbers. `pass` goes through all numbers with copies of the
/// counts that it gets, and returns them.
pub(crate) fn numbers_of<T: Number, E>(
    ranks: &[u64],
    mut pass: impl FnMut(&Counts) -> Result<Vec<Counts>, E>,
) -> Result<Vec<T>, E> {
    let bits = 8 * T::SIZE as u32;
    let mut targets: Vec<Target> = ranks.iter().map(|&rank| Target { rank, prefix: 0 }).collect();
    let mut shift = bits;
    while shift > 0 {
        shift = shift.saturating_sub(DIGIT);
        let mut prefixes: Vec<u64> = targets.iter().map(|target| target.prefix).collect();
        prefixes.sort_unstable();
        prefixes.dedup();
        let mut found = targets.clone();
        for prefixes in prefixes.chunks(TABLES) {
            let tables = vec![vec![0; 1 << DIGIT.min(bits)]; prefixes.len()];
            let mut counts = Counts { prefixes: prefixes.to_vec(), shift, tables };
            for other in pass(&counts)? {
                counts.merge(&other);
            }
            for (target, found) in targets.iter().zip(&mut found) {
                let Some(at) = prefixes.iter().position(|&prefix| prefix == target.prefix) else {
                    continue;
                };
                let mut rank = target.rank;
                for (digit, &count) in counts.tables[at].iter().enumerate() {
                    if rank < count {
                        let prefix = target.prefix.checked_shl(DIGIT).unwrap_or(0) | digit as u64;
                        *found = Target { rank, prefix };
                        break;
                    }
                    rank -= count;
                }
            }
        }
        targets = found;
    }
    Ok(targets.iter().map(|target| T::of_key(target.prefix)).collect())
}

/// Where a percentile is among `count` sorted numbers, as NumPy's method `linear` has it: the ranks around it, and how far it is
/// from the first to the second.
pub(crate) fn position(percent: f64, count: u64) -> (u64, u64, f64) {
    let last = count.saturating_sub(1);
    let at = last as f64 * (percent / 100.0);
    let low = (at.floor() as u64).min(last);
    (low, (low + 1).min(last), at - at.floor())
}

/// The number between two, as NumPy rounds it.
pub(crate) fn between(low: f64, high: f64, part: f64) -> f64 {
    let away = high - low;
    if part >= 0.5 { high - away * (1.0 - part) } else { low + away * part }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check<T: Number + std::fmt::Debug>(values: Vec<T>) {
        let mut sorted = values.clone();
        sorted.sort_by_key(|value| value.key());
        let ranks: Vec<u64> = (0..values.len() as u64).step_by(3).collect();
        let mut passes = 0;
        let found = numbers_of::<T, ()>(&ranks, |counts| {
            passes += 1;
            let (left, right) = values.split_at(values.len() / 2);
            let count = |values: &[T]| {
                let mut counts = counts.clone();
                values.iter().for_each(|&value| counts.add(value, 1));
                counts
            };
            Ok(vec![count(left), count(right)])
        });
        let expected: Vec<u64> = ranks.iter().map(|&rank| sorted[rank as usize].key()).collect();
        let found: Vec<u64> = found.unwrap().iter().map(|value| value.key()).collect();
        assert_eq!(found, expected);
        assert!(passes >= T::SIZE.div_ceil(2));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 8, failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn ranks_are_those_of_sorted_numbers(
            bytes in prop::collection::vec(any::<i8>(), 1..40),
            longs in prop::collection::vec(any::<i64>(), 1..12),
            floats in prop::collection::vec(-1e3f32..1e3, 1..12),
        ) {
            check(bytes);
            check(longs);
            check(floats);
        }
    }

    /// What `numpy.percentile` returns for [1, 2, 4, 8].
    #[test]
    fn percentiles_are_between_ranks() {
        let sorted = [1.0, 2.0, 4.0, 8.0];
        let percentile = |percent| {
            let (low, high, part) = position(percent, 4);
            between(sorted[low as usize], sorted[high as usize], part)
        };
        assert_eq!(
            [0.0, 25.0, 50.0, 90.0, 100.0].map(percentile),
            [1.0, 1.75, 3.0, 6.800000000000001, 8.0]
        );
        assert_eq!(position(50.0, 1), (0, 0, 0.0));
    }
}
