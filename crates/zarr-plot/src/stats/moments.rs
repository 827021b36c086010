//! Adds up numbers so that parts can be merged: count, sum, and the squares of what they are off their mean.
//!
//! Integers of up to 32 bits are exact. Of longer ones the sum is exact, and squares are added in f64 around the exact mean. Sums of
//! floats are kept in two f64, which together have about 106 bits. Parts are merged by Chan's formula (Chan, Golub and LeVeque 1979).

/// The moments of some numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Moments {
    /// Integers of at most 32 bits.
    Exact { count: u64, sum: i128, squares: u128 },
    /// Integers of up to 64 bits.
    Long { count: u64, sum: i128, m2: f64 },
    /// Floats.
    Float { count: u64, sum: Twofold, m2: f64 },
}

/// A sum and what rounding has cut off it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Twofold {
    high: f64,
    low: f64,
}

impl Twofold {
    pub fn of(high: f64) -> Twofold {
        Twofold { high, low: 0.0 }
    }

    /// A product with what rounding cuts off it.
    pub fn product(one: f64, other: f64) -> Twofold {
        let high = one * other;
        let low = one.mul_add(other, -high);
        if low.is_finite() { Twofold { high, low } } else { Twofold::of(high) }
    }

    /// The mean of numbers with this sum, and what rounding has cut off it.
    fn divided(self, count: u64) -> (f64, f64) {
        let count = count as f64;
        let mean = self.value() / count;
        let rest = ((-mean).mul_add(count, self.high) + self.low) / count;
        (mean, if rest.is_finite() { rest } else { 0.0 })
    }

    /// The sum with a further number, whose rounding error is kept (Knuth's two-sum).
    pub fn plus(self, other: Twofold) -> Twofold {
        let high = self.high + other.high;
        let part = high - self.high;
        let error = (self.high - (high - part)) + (other.high - part);
        let low = self.low + other.low + error;
        // Infinity and NaN have no error.
        if low.is_finite() { Twofold { high, low } } else { Twofold::of(high) }
    }

    pub fn value(self) -> f64 {
        self.high + self.low
    }
}

impl Moments {
    pub fn count(&self) -> u64 {
        match *self {
            Moments::Exact { count, .. }
            | Moments::Long { count, .. }
            | Moments::Float { count, .. } => count,
        }
    }

    /// The moments of both; they are of one kind.
    pub fn merged(self, other: Moments) -> Moments {
        if self.count() == 0 {
            return other;
        }
        if other.count() == 0 {
            return self;
        }
        match (self, other) {
            (
                Moments::Exact { count, sum, squares },
                Moments::Exact { count: n, sum: s, squares: q },
            ) => Moments::Exact { count: count + n, sum: sum + s, squares: squares + q },
            (Moments::Long { count, sum, m2 }, Moments::Long { count: n, sum: s, m2: q }) => {
                let (one, other) = (mean_of(sum, count), mean_of(s, n));
                let delta = (one.0 - other.0) as f64 + (one.1 - other.1);
                Moments::Long { count: count + n, sum: sum + s, m2: chan(m2, count, q, n, delta) }
            }
            (Moments::Float { count, sum, m2 }, Moments::Float { count: n, sum: s, m2: q }) => {
                // Means that are close to each other differ in what rounding cuts off them.
                let (one, other) = (sum.divided(count), s.divided(n));
                let delta = (one.0 - other.0) + (one.1 - other.1);
                Moments::Float {
                    count: count + n,
                    sum: sum.plus(s),
                    m2: chan(m2, count, q, n, delta),
                }
            }
            _ => unreachable!("the elements of a column are of one kind"),
        }
    }

    /// The sum: an exact one, or in f64.
    pub fn sum(&self) -> Result<i128, f64> {
        match *self {
            Moments::Exact { sum, .. } | Moments::Long { sum, .. } => Ok(sum),
            Moments::Float { sum, .. } => Err(sum.value()),
        }
    }

    /// NaN of nothing.
    pub fn mean(&self) -> f64 {
        match *self {
            Moments::Exact { count, sum, .. } | Moments::Long { count, sum, .. } => {
                if count == 0 {
                    return f64::NAN;
                }
                let (whole, rest) = mean_of(sum, count);
                whole as f64 + rest
            }
            Moments::Float { count, sum, .. } => sum.value() / count as f64,
        }
    }

    /// The squares of the differences from the mean, added up.
    fn m2(&self) -> f64 {
        match *self {
            Moments::Long { m2, .. } | Moments::Float { m2, .. } => m2,
            Moments::Exact { count: 0, .. } => 0.0,
            Moments::Exact { count, sum, squares } => {
                let (whole, _) = mean_of(sum, count);
                // Around the whole number next to the mean all is exact: at most 64 bits times the count.
                let rest = sum - whole * i128::from(count);
                let around = squares as i128 - 2 * whole * sum + whole * whole * i128::from(count);
                around as f64 - (rest as f64) * (rest as f64 / count as f64)
            }
        }
    }

    /// The standard deviation, divided by the count less `ddof`; NaN if that is not above 0.
    pub fn std(&self, ddof: u64) -> f64 {
        match self.count().checked_sub(ddof) {
            None | Some(0) => f64::NAN,
            // Rounding may leave a little below 0; NaN, of infinite numbers, stays.
            Some(_) if self.m2() < 0.0 => 0.0,
            Some(by) => (self.m2() / by as f64).sqrt(),
        }
    }
}

/// The mean of integers: the nearest whole number below, and the rest.
fn mean_of(sum: i128, count: u64) -> (i128, f64) {
    let count = i128::from(count);
    let whole = sum.div_euclid(count);
    (whole, sum.rem_euclid(count) as f64 / count as f64)
}

fn chan(m2: f64, count: u64, other_m2: f64, other_count: u64, delta: f64) -> f64 {
    let (n, m) = (count as f64, other_count as f64);
    m2 + other_m2 + delta * delta * (n * m / (n + m))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_keep_what_rounding_cuts_off() {
        let mut sum = Twofold::default();
        for n in [1e16, 1.0, -1e16, 1.0] {
            sum = sum.plus(Twofold::of(n));
        }
        assert_eq!(sum.value(), 2.0);
        let infinite = sum.plus(Twofold::of(f64::INFINITY)).plus(Twofold::of(1.0));
        assert_eq!(infinite.value(), f64::INFINITY);
    }

    /// Steps of 2^-20 around a thousand million are exact in f64; so are sums of their integers.
    #[test]
    fn the_deviation_of_numbers_far_from_zero_is_exact() {
        let mut seed = 1u64;
        let steps: Vec<i64> = (0..100_000)
            .map(|_| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (seed >> 60) as i64
            })
            .collect();
        let unit = 2f64.powi(-20);
        let values: Vec<f64> = steps.iter().map(|&step| 1e9 + step as f64 * unit).collect();
        let count = steps.len() as i128;
        let sum: i128 = steps.iter().map(|&step| i128::from(step)).sum();
        let squares: i128 = steps.iter().map(|&step| i128::from(step * step)).sum();
        let expected = ((count * squares - sum * sum) as f64).sqrt() / count as f64 * unit;
        for len in [777, 1024] {
            let parts =
                values.chunks(len).map(|part| <f64 as super::super::scan::Number>::tally(part).0);
            let all = parts.reduce(Moments::merged).unwrap();
            let error = (all.std(0) - expected).abs() / expected;
            assert!(error < 1e-11, "{len}: {error}");
        }
    }

    #[test]
    fn moments_of_parts_are_those_of_the_whole() {
        let exact = |values: &[i64]| Moments::Exact {
            count: values.len() as u64,
            sum: values.iter().map(|&v| i128::from(v)).sum(),
            squares: values.iter().map(|&v| (v * v) as u128).sum(),
        };
        let all = exact(&[1, -2, 3, 10]);
        assert_eq!(exact(&[1, -2]).merged(exact(&[3, 10])), all);
        assert_eq!(all.mean(), 3.0);
        assert_eq!(all.std(0), 19.5f64.sqrt());
        assert!(exact(&[]).mean().is_nan() && exact(&[1]).std(1).is_nan());
        // A large offset costs nothing.
        let far = exact(&[2_000_000_001, 1_999_999_998, 2_000_000_003, 2_000_000_010]);
        assert_eq!(far.std(0), 19.5f64.sqrt());
    }
}
