//! Counts and adds up the numbers of a part of an array, and merges that of several parts.

use zarr_core::data_type::ScalarValue;

use super::column::as_f64;
use super::moments::{Moments, Twofold};
use super::scan::{Class, Number, Rule, scan};

/// A number, and the coordinates where it is first.
pub(crate) type Place = (ScalarValue, Vec<u64>);

/// What is known of some numbers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tally {
    pub moments: Moments,
    pub missing: u64,
    pub nan: u64,
    pub pos_inf: u64,
    pub neg_inf: u64,
    /// Numbers in chunks that are not stored.
    pub never_written: u64,
    pub least: Option<Place>,
    pub most: Option<Place>,
}

impl Tally {
    /// Of nothing.
    pub fn empty<T: Number>() -> Tally {
        let moments = match T::ZERO.value() {
            ScalarValue::Float(_) => Moments::Float { count: 0, sum: Twofold::default(), m2: 0.0 },
            ScalarValue::Integer(_) if T::SIZE == 8 => Moments::Long { count: 0, sum: 0, m2: 0.0 },
            ScalarValue::Integer(_) => Moments::Exact { count: 0, sum: 0, squares: 0 },
        };
        Tally {
            moments,
            missing: 0,
            nan: 0,
            pos_inf: 0,
            neg_inf: 0,
            never_written: 0,
            least: None,
            most: None,
        }
    }

    /// Of the numbers in native bytes. `place` has the coordinates of a number by its position.
    pub fn of<T: Number>(
        bytes: &[u8],
        present: Option<&[bool]>,
        rule: &Rule<T>,
        place: impl Fn(usize) -> Vec<u64>,
    ) -> Tally {
        let mut tally = Tally::empty::<T>();
        let mut least: Option<(T, usize)> = None;
        let mut most: Option<(T, usize)> = None;
        scan(bytes, present, rule, |block| {
            tally.nan += block.nan;
            tally.missing += block.missing;
            if block.valid.is_empty() {
                return;
            }
            let (moments, low, high) = T::tally(block.valid);
            tally.moments = tally.moments.merged(moments);
            let first = |value: T| {
                let position = block.all.iter().enumerate().position(|(n, &other)| {
                    other == value && present.is_none_or(|present| present[block.at + n])
                });
                block.at + position.unwrap_or(0)
            };
            if least.is_none_or(|(least, _)| low < least) {
                least = Some((low, first(low)));
            }
            if most.is_none_or(|(most, _)| high > most) {
                most = Some((high, first(high)));
            }
            if low.value() == ScalarValue::Float(f64::NEG_INFINITY) {
                tally.neg_inf += block.count(low);
            }
            if high.value() == ScalarValue::Float(f64::INFINITY) {
                tally.pos_inf += block.count(high);
            }
        });
        tally.least = least.map(|(value, at)| (value.value(), place(at)));
        tally.most = most.map(|(value, at)| (value.value(), place(at)));
        tally
    }

    /// Of the same number again and again, in a chunk that is not stored, the first of which has these coordinates.
    pub fn of_fill<T: Number>(fill: T, count: u64, rule: &Rule<T>, first: Vec<u64>) -> Tally {
        let mut tally = Tally { never_written: count, ..Tally::empty::<T>() };
        match rule.class(fill) {
            Class::Missing => tally.missing = count,
            Class::Nan => tally.nan = count,
            Class::Valid => {
                tally.moments = fill.repeated(count);
                let value = fill.value();
                tally.pos_inf = if as_f64(value) == f64::INFINITY { count } else { 0 };
                tally.neg_inf = if as_f64(value) == f64::NEG_INFINITY { count } else { 0 };
                tally.least = Some((value, first.clone()));
                tally.most = Some((value, first));
            }
        }
        tally
    }

    /// Adds what is known of further numbers. Of equal ends the one with the lower coordinates stays.
    pub fn merge(&mut self, other: Tally) {
        self.moments = self.moments.merged(other.moments);
        self.missing += other.missing;
        self.nan += other.nan;
        self.pos_inf += other.pos_inf;
        self.neg_inf += other.neg_inf;
        self.never_written += other.never_written;
        end(&mut self.least, other.least, |new, old| new < old);
        end(&mut self.most, other.most, |new, old| new > old);
    }
}

fn end(kept: &mut Option<Place>, other: Option<Place>, beyond: fn(f64, f64) -> bool) {
    let Some((new, at)) = other else { return };
    let replaces = match kept {
        None => true,
        Some((old, place)) => match (new, *old) {
            (ScalarValue::Integer(new), ScalarValue::Integer(old)) => {
                // The same test, on whole numbers, which f64 may not tell apart.
                let order = beyond(new.cmp(&old) as i8 as f64, 0.0);
                order || (new == old && at < *place)
            }
            (new, old) => {
                let (new, old) = (as_f64(new), as_f64(old));
                beyond(new, old) || (new == old && at < *place)
            }
        },
    };
    if replaces {
        *kept = Some((new, at));
    }
}
