//! Finds the positions along an axis that a text selects by coordinates: `2020-03-01`, `40:60`.

use zarr_core::{AccessError, Result};

use super::axes::{Axis, Coordinates};
use super::{Calendar, Date, TimeUnits};
use crate::stats::Along;

/// The most coordinates that are looked through.
const MAX_COORDINATES: u64 = 1 << 27;

impl Axis {
    /// The positions that a text selects: those of all coordinates from one to another, both among them, as in `40:60` or
    /// `2020-03:2020-05`, each of which may be left out; or the one nearest to a number or a date, and the text of its coordinate
    /// if that is another one; of texts the equal one.
    ///
    /// The end `2020-05` is the end of that month, and `2020-05-17` that of the day. Of a date that names a year, a month or a day,
    /// coordinates in it are nearer than all others.
    ///
    /// # Errors
    /// [`AccessError::Argument`] if the text is no such selection, the axis has no coordinates, or none is selected; what reading
    /// the coordinates fails with.
    pub fn select(&self, text: &str) -> Result<(Along, Option<String>)> {
        let name = self.name.as_deref().unwrap_or("without a name");
        let refuse = |why: String| AccessError::Argument(format!("axis `{name}`: {why}"));
        if self.len > MAX_COORDINATES {
            return Err(
                refuse(format!("{} coordinates are too many to look through", self.len)).into()
            );
        }
        let found = match self.read(0..self.len)? {
            Some(found) => found,
            None => return Err(refuse("it has no coordinates; select by position".into()).into()),
        };
        positions(&found, text.trim()).map_err(|why| refuse(why).into())
    }
}

/// A coordinate in a text: its number, and that of the end of the time that the text names.
type Point = (f64, f64);

fn positions(found: &Coordinates, text: &str) -> Result<(Along, Option<String>), String> {
    if let Some(texts) = &found.texts {
        let at = texts.iter().position(|other| other == text);
        let at = at.ok_or_else(|| format!("no coordinate is `{text}`"))? as u64;
        return Ok((Along::range(at..at + 1), None));
    }
    let point = |text: &str| point(text.trim(), found.time);
    let known = || found.numbers.iter().enumerate().filter(|(_, number)| !number.is_nan());
    if let Some((number, end)) = point(text) {
        let is_outside = |other: f64| !(number..=end).contains(&other);
        let far = |other: f64| (other - number).abs();
        let nearest = known().min_by(|(_, a), (_, b)| {
            is_outside(**a).cmp(&is_outside(**b)).then(far(**a).total_cmp(&far(**b)))
        });
        let (at, &taken) = nearest.ok_or("it has no coordinates")?;
        // A coordinate of 32 bits is what its shortest text says.
        let is_equal = taken == number || taken == f64::from(number as f32);
        let taken = (!is_equal).then(|| found.text(at));
        return Ok((Along::range(at as u64..at as u64 + 1), taken));
    }
    let ends = text.match_indices(':').find_map(|(at, _)| {
        let (low, high) = (text[..at].trim(), text[at + 1..].trim());
        let low = if low.is_empty() { f64::NEG_INFINITY } else { point(low)?.0 };
        let high = if high.is_empty() { f64::INFINITY } else { point(high)?.1 };
        Some((low, high))
    });
    let Some((low, high)) = ends else {
        let example =
            if found.time.is_some() { "2020-03-01 or 2020-03:2020-05" } else { "45.5 or 40:60" };
        return Err(format!("invalid coordinate `{text}`: expected one like {example}"));
    };
    let range = low.min(high)..=low.max(high);
    let list: Vec<u64> =
        known().filter(|(_, n)| range.contains(*n)).map(|(at, _)| at as u64).collect();
    match (list.first(), list.last()) {
        (Some(&first), Some(&last)) if last - first + 1 == list.len() as u64 => {
            Ok((Along::range(first..last + 1), None))
        }
        (Some(_), _) => Ok((Along::List(list), None)),
        (None, _) => Err(match found.numbers.len().checked_sub(1) {
            Some(last) => format!(
                "no coordinate is in `{text}`; they go from {} to {}",
                found.text(0),
                found.text(last)
            ),
            None => "it has no coordinates".into(),
        }),
    }
}

fn point(text: &str, time: Option<TimeUnits>) -> Option<Point> {
    let Some(units) = time else {
        let number: f64 = text.parse().ok().filter(|number: &f64| number.is_finite())?;
        return Some((number, number));
    };
    // A year has four digits, so that the minutes of 12:30 are none.
    let year = text.trim_start_matches('-').split('-').next()?;
    let digits = year.bytes().take_while(u8::is_ascii_digit).count();
    if digits < 4 {
        return None;
    }
    let date = Date::parse(text, units.calendar)?;
    let number = units.number(date)?;
    let end = end_of(text, date, units.calendar).and_then(|date| units.number(date));
    // Just before the next one begins.
    Some((number, end.map_or(number, f64::next_down)))
}

/// The date after the year, the month or the day that a text names; `None` if it has a time of day.
fn end_of(text: &str, date: Date, calendar: Calendar) -> Option<Date> {
    if text.contains(['T', 't', ' ', ':']) {
        return None;
    }
    let begin = |year, month, day| {
        let next = Date { year, month, day, nanoseconds: 0 };
        calendar.nanoseconds(next).map(|_| next)
    };
    let next_year = || begin(date.year + 1, 1, 1).or_else(|| begin(date.year + 2, 1, 1));
    match text.trim_start_matches('-').matches('-').count() {
        0 => next_year(),
        1 if date.month == 12 => next_year(),
        1 => begin(date.year, date.month + 1, 1),
        _ => {
            let (year, month, day) =
                calendar.date_of(calendar.day_of(date.year, date.month, date.day)? + 1)?;
            begin(year, month, day)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn positions(found: &Coordinates, text: &str) -> Result<Along, String> {
        super::positions(found, text).map(|(along, _)| along)
    }

    /// What was taken instead of a coordinate that is not there.
    #[test]
    fn a_coordinate_that_is_near_is_told() {
        let taken = |found: &Coordinates, text: &str| super::positions(found, text).unwrap();
        let lat = numbers(&[90.0, f64::from(0.1_f32), -30.0]);
        assert_eq!(taken(&lat, "40"), (Along::range(1..2), Some("0.10000000149011612".into())));
        assert_eq!(taken(&lat, "0.1"), (Along::range(1..2), None));
        assert_eq!(taken(&lat, "-30"), (Along::range(2..3), None));
        assert_eq!(taken(&lat, "0:90").1, None);
        let mut time = numbers(&[-0.5, 0.5, 1.5, 45.0]);
        time.time = TimeUnits::parse("days since 1850-01-01", None).unwrap();
        // As far from the noon before; but that is no time of this day.
        assert_eq!(
            taken(&time, "1850-01-01"),
            (Along::range(1..2), Some("1850-01-01T12:00:00".into()))
        );
        assert_eq!(taken(&time, "1850-01-01T12:00"), (Along::range(1..2), None));
        assert_eq!(taken(&time, "1850-02"), (Along::range(3..4), Some("1850-02-15".into())));
        assert_eq!(taken(&time, "1870").1, Some("1850-02-15".into()));
    }

    fn numbers(numbers: &[f64]) -> Coordinates {
        Coordinates { numbers: numbers.to_vec(), ..Coordinates::default() }
    }

    #[test]
    fn numbers_select_the_nearest_or_all_between() {
        let lat = numbers(&[90.0, 60.0, 30.0, 0.0, -30.0]);
        assert_eq!(positions(&lat, "40"), Ok(Along::range(2..3)));
        assert_eq!(positions(&lat, "30:60"), Ok(Along::range(1..3)));
        assert_eq!(positions(&lat, "60:30"), Ok(Along::range(1..3)));
        assert_eq!(positions(&lat, ":0"), Ok(Along::range(3..5)));
        assert_eq!(positions(&lat, "1e9"), Ok(Along::range(0..1)));
        let odd = numbers(&[1.0, f64::NAN, 3.0, 9.0, 2.0]);
        assert_eq!(positions(&odd, "1:3"), Ok(Along::List(vec![0, 2, 4])));
        assert!(positions(&lat, "40:50").unwrap_err().contains("from 90 to -30"));
        assert!(positions(&lat, "x").unwrap_err().contains("invalid coordinate `x`"));
        assert!(positions(&numbers(&[]), "1").is_err());
    }

    #[test]
    fn dates_select_whole_months_and_days() {
        let units = TimeUnits::parse("days since 2000-01-01", Some("noleap")).unwrap();
        let mut time = numbers(&(0..365).map(f64::from).collect::<Vec<_>>());
        time.time = units;
        assert_eq!(positions(&time, "2000-02-01"), Ok(Along::range(31..32)));
        assert_eq!(positions(&time, "2000-02:2000-03"), Ok(Along::range(31..90)));
        assert_eq!(positions(&time, "2000-12:2000-12"), Ok(Along::range(334..365)));
        assert_eq!(positions(&time, "2000-01-02T12:00:2000-01-04"), Ok(Along::range(2..4)));
        assert_eq!(positions(&time, "2000-01-02T11:00"), Ok(Along::range(1..2)));
        assert!(positions(&time, "1999").is_ok_and(|found| found == Along::range(0..1)));
        assert!(positions(&time, "2000-02-29").is_err(), "no such day in this calendar");
        assert!(positions(&time, "2001:").unwrap_err().contains("from 2000-01-01 to 2000-12-31"));
    }
}
