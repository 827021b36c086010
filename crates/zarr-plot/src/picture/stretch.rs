//! Places values between the two ends of a colour map.

use std::str::FromStr;

use super::{PictureError, Plane};

/// Which values get the first and the last colour.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ends {
    /// Percentiles of what is shown, from 0 to 100.
    Percentiles(f64, f64),
    /// The least and the greatest value that is shown.
    Full,
    /// These values.
    Limits(f64, f64),
}

impl Default for Ends {
    fn default() -> Ends {
        Ends::Percentiles(2.0, 98.0)
    }
}

/// `full`, `0,300` or `1%,99%`.
impl FromStr for Ends {
    type Err = PictureError;

    fn from_str(text: &str) -> Result<Ends, PictureError> {
        if text.eq_ignore_ascii_case("full") {
            return Ok(Ends::Full);
        }
        let (low, high) = text.split_once(',').ok_or_else(|| invalid_range(text))?;
        let ends = match (percent(low), percent(high)) {
            (Some(low), Some(high)) if low < high => Some(Ends::Percentiles(low, high)),
            (None, None) => number(low)
                .zip(number(high))
                .filter(|(low, high)| low <= high)
                .map(|(low, high)| Ends::Limits(low, high)),
            _ => None,
        };
        ends.ok_or_else(|| invalid_range(text))
    }
}

/// The error of a range that is not understood.
fn invalid_range(text: &str) -> PictureError {
    PictureError::Refused(format!(
        "invalid range `{text}`: write it as in `full`, `0,300` or `1%,99%`, the lower end first"
    ))
}

/// A finite number.
fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| number.is_finite())
}

/// A percentage from 0 to 100.
fn percent(text: &str) -> Option<f64> {
    number(text.trim().strip_suffix('%')?).filter(|number| (0.0..=100.0).contains(number))
}

/// How values become places on a colour map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// The value of the first colour.
    pub low: f64,
    /// The value of the last colour.
    pub high: f64,
    /// Whether places follow the logarithms of values, which must be above 0.
    pub is_log: bool,
    /// Whether some values that are shown are below `low`.
    pub is_cut_below: bool,
    /// Whether some values that are shown are above `high`.
    pub is_cut_above: bool,
    /// Whether places are computed in 32 bits, as matplotlib does with arrays of such.
    is_single: bool,
}

impl Stretch {
    /// How the values of a plane are placed; `None` if it has no finite ones, or with `is_log` none above 0. With `center`, this
    /// value is in the middle.
    ///
    /// # Errors
    /// Limits that have no logarithm.
    pub fn of(
        plane: &Plane,
        ends: Ends,
        is_log: bool,
        center: Option<f64>,
    ) -> Result<Option<Stretch>, PictureError> {
        if is_log && center.is_some() {
            return Err(PictureError::Refused(
                "a logarithmic range has no middle value; leave out --center or --log".into(),
            ));
        }
        let mut known: Vec<f64> = plane
            .values
            .iter()
            .copied()
            .filter(|value| value.is_finite() && (!is_log || *value > 0.0))
            .collect();
        let (mut low, mut high) = match ends {
            Ends::Limits(low, _) if is_log && low <= 0.0 => {
                return Err(PictureError::Refused(format!(
                    "a logarithmic range begins above 0, not at {low}"
                )));
            }
            Ends::Limits(low, high) => (low, high),
            _ if known.is_empty() => return Ok(None),
            Ends::Full => (least(&known), greatest(&known)),
            Ends::Percentiles(low, high) => {
                (percentile(&mut known, low), percentile(&mut known, high))
            }
        };
        if let Some(center) = center {
            let half = (high - center).abs().max((center - low).abs());
            (low, high) = (center - half, center + half);
        }
        let is_cut_below = plane.values.iter().any(|&value| value < low);
        let is_cut_above = plane.values.iter().any(|&value| value > high);
        Ok(Some(Stretch {
            low,
            high,
            is_log,
            is_cut_below,
            is_cut_above,
            is_single: plane.is_single,
        }))
    }

    /// Of values from `low` to `high`.
    pub fn between(low: f64, high: f64) -> Stretch {
        Stretch {
            low,
            high,
            is_log: false,
            is_cut_below: false,
            is_cut_above: false,
            is_single: false,
        }
    }

    /// Where a value is: 0 at `low`, 1 at `high`, beyond that less or more. NaN has no place, nor has a value without logarithm.
    pub fn place(&self, value: f64) -> Option<f64> {
        let place = match self {
            _ if value.is_nan() || self.is_log && value <= 0.0 => return None,
            _ if self.low == self.high => 0.0,
            _ if self.is_log => (value / self.low).ln() / (self.high / self.low).ln(),
            _ if self.is_single => {
                let from_low = (value - self.low) as f32;
                f64::from((f64::from(from_low) / (self.high - self.low)) as f32)
            }
            _ => {
                let width = self.high - self.low;
                // Ends further apart than f64 reaches.
                if width.is_finite() {
                    (value - self.low) / width
                } else {
                    (value / 2.0 - self.low / 2.0) / (self.high / 2.0 - self.low / 2.0)
                }
            }
        };
        (!place.is_nan()).then_some(place)
    }

    /// Which of 256 colours a value has: the whole part of 256 times its place, at least the first and at most the last.
    pub fn index(&self, value: f64) -> Option<u8> {
        // A cast cuts at both ends.
        self.place(value).map(|place| (place * 256.0).floor() as u8)
    }

    /// The value at a place: the inverse of [`Stretch::place`].
    pub fn value(&self, place: f64) -> f64 {
        if self.is_log {
            self.low * (self.high / self.low).powf(place)
        } else {
            self.low + place * (self.high - self.low)
        }
    }
}

fn least(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

fn greatest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// As NumPy's `percentile`, by linear interpolation. The values change their order.
fn percentile(values: &mut [f64], percent: f64) -> f64 {
    let at = percent / 100.0 * (values.len() - 1) as f64;
    let (_, &mut below, rest) = values.select_nth_unstable_by(at as usize, f64::total_cmp);
    match at.fract() {
        0.0 => below,
        part => {
            let above = least(rest);
            let step = (above - below) * part;
            if step.is_finite() { below + step } else { below * (1.0 - part) + above * part }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stretch(values: &[f64], ends: &str) -> Option<Stretch> {
        Stretch::of(&Plane::of(values.len(), values.to_vec()), ends.parse().unwrap(), false, None)
            .unwrap()
    }

    /// `np.percentile(range(101), [2, 98])`, and of six values.
    #[test]
    fn percentiles_are_numpys() {
        let values: Vec<f64> = (0..101).rev().map(f64::from).collect();
        let found = stretch(&values, "2%,98%").unwrap();
        assert_eq!(
            (found.low, found.high, found.is_cut_below, found.is_cut_above),
            (2.0, 98.0, true, true)
        );
        let found =
            stretch(&[5.0, 1.0, f64::NAN, 9.0, 2.0, f64::INFINITY, 4.0, 7.0], "10%,75%").unwrap();
        assert_eq!((found.low, found.high), (1.5, 6.5));
    }

    #[test]
    fn colours_are_cut_at_both_ends() {
        let found = Stretch::between(0.0, 256.0);
        let index = |value| found.index(value);
        assert_eq!(
            [index(-1.0), index(0.0), index(0.999), index(1.0)],
            [Some(0), Some(0), Some(0), Some(1)]
        );
        assert_eq!([index(255.9), index(256.0), index(f64::INFINITY)], [Some(255); 3]);
        assert_eq!((index(f64::NEG_INFINITY), index(f64::NAN)), (Some(0), None));
        let log = Stretch { is_log: true, ..Stretch::between(1.0, 100.0) };
        assert_eq!((log.place(10.0), log.place(0.0)), (Some(0.5), None));
        assert!((log.value(0.5) - 10.0).abs() < 1e-12);
        assert_eq!(Stretch::between(f64::MIN, f64::MAX).index(0.0), Some(128));
    }

    #[test]
    fn constant_and_missing_values_have_a_range_or_none() {
        assert_eq!(stretch(&[3.0, 3.0], "full").unwrap().index(3.0), Some(0));
        assert_eq!(stretch(&[f64::NAN, f64::INFINITY], "full"), None);
        assert_eq!(stretch(&[], "2%,98%"), None);
        let plane = Plane::of(2, vec![-1.0, 3.0]);
        let centred = Stretch::of(&plane, Ends::Full, false, Some(0.0)).unwrap().unwrap();
        assert_eq!((centred.low, centred.high), (-3.0, 3.0));
        let log = Stretch::of(&plane, Ends::Full, true, None).unwrap().unwrap();
        assert_eq!((log.low, log.high), (3.0, 3.0));
        assert!(Stretch::of(&plane, Ends::Limits(0.0, 1.0), true, None).is_err());
        assert!(Stretch::of(&plane, Ends::Full, true, Some(0.0)).is_err());
    }

    #[test]
    fn ranges_that_are_none_are_refused() {
        for text in [
            "", "1", "2,1", "1%,99", "5%,5%", "-1%,99%", "1%,101%", "a,b", "nan,1", "0,inf",
            "1,2,3",
        ] {
            assert!(text.parse::<Ends>().is_err(), "{text}");
        }
        assert_eq!("-5, 1e3".parse::<Ends>().unwrap(), Ends::Limits(-5.0, 1000.0));
    }
}
