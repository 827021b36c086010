//! Finds the positions along an axis that a text selects by coordinates: `2020-03-01`, `40:60`.

use std::borrow::Cow;
use std::ops::Range;

use zarr_core::{AccessError, Result};

use super::axes::{Axis, Coordinates};
use super::calendar::is_packed;
use super::{Calendar, Date, TimeUnits};
use crate::stats::Along;

/// The most coordinates that are looked through.
const MAX_COORDINATES: u64 = 1 << 27;

/// How far the coordinate may be that is taken for a point that is not there itself.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Reach {
    /// Up to half a step of the coordinates: any point between the first and the last, and half a step beyond these.
    #[default]
    HalfStep,
    /// However far.
    Any,
    /// So many of the coordinates' units.
    Within(f64),
    /// So many seconds, of times; of others half a step.
    Seconds(f64),
}

impl Axis {
    /// The positions that a text selects: those of all coordinates from one to another, both among them, as in `40:60` or
    /// `2020-03:2020-05`, each of which may be left out; or the one nearest to a number or a date, and the text of its coordinate
    /// if that is another one; of texts the equal one, or all from one to another. `reach` says how far the nearest one may be. Of coordinates that occur
    /// several times all that are equal to the text are selected, as in xarray.
    ///
    /// The end `2020-05` is the end of that month, and `2020-05-17` that of the day. A date that names a year, a month or a day selects
    /// all coordinates in it, as in xarray; if there is none, none but with another `reach` than half a step. Longitudes that differ by 360 degrees are the same: `-10` is `350`, and `350:10` of
    /// ascending coordinates crosses the meridian, in the order of the text. Channels of an OME image are selected by their labels.
    ///
    /// # Errors
    /// [`AccessError::Argument`] if the text is no such selection, the axis has no coordinates, or none is selected; what reading
    /// the coordinates fails with.
    pub fn select(&self, text: &str, reach: Reach) -> Result<(Along, Option<String>)> {
        if self.len > MAX_COORDINATES {
            let why = format!("{} coordinates are too many to look through", self.len);
            return Err(self.refusal(why).into());
        }
        let found = match self.read(0..self.len)? {
            Some(found) => found,
            None if !self.labels.is_empty() => {
                Coordinates { texts: Some(self.labels.clone()), ..Coordinates::default() }
            }
            None => {
                let why = match &self.unfit {
                    Some((path, shape)) => format!(
                        "its length is {}, but {path}, which should have its coordinates, has the shape {shape:?}; select by position, with \
                         --by-name",
                        self.len
                    ),
                    None => {
                        "no array has its coordinates; select by position, with --by-name".into()
                    }
                };
                return Err(self.refusal(why).into());
            }
        };
        let wraps = super::geo::is_longitude(self);
        positions(&found, text.trim(), reach, wraps).map_err(|why| self.refusal(why).into())
    }

    /// The error of a selection along this axis.
    fn refusal(&self, why: String) -> AccessError {
        let name = self.name.as_deref().unwrap_or("without a name");
        AccessError::Argument(format!("axis `{name}`: {why}"))
    }
}

/// A coordinate in a text: its number, and that of the end of the time that the text names.
type Point = (f64, f64);

/// Degrees after which a longitude is the same again.
const TURN: f64 = 360.0;

fn positions(
    found: &Coordinates,
    text: &str,
    reach: Reach,
    wraps: bool,
) -> Result<(Along, Option<String>), String> {
    if let Some(texts) = &found.texts {
        let equal = equal_positions(texts, |other| other == text);
        if equal.is_empty() {
            if let Some(range) = between_texts(texts, text) {
                return Ok((Along::range(range), None));
            }
            let near = zarr_core::did_you_mean(text, texts.iter().map(String::as_str));
            let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            let known: Vec<String> =
                texts.iter().take(20).map(|text| format!("`{text}`")).collect();
            let more = if texts.len() > known.len() { ", …" } else { "" };
            let known = known.join(", ");
            return Err(format!(
                "there is no coordinate `{text}`; the coordinates are {known}{more}{near}"
            ));
        }
        return Ok((along(equal), None));
    }
    if let Some(wanted) = point(text, found.time) {
        // A year, a month or a day is a range, of which an element beside it is no part; whoever wants the nearest says so.
        if wanted.1 > wanted.0 {
            let inside = between(&found.numbers, wanted.0, wanted.1);
            if inside.len() > 1 {
                return Ok((along(inside), None));
            }
            if inside.is_empty() && reach == Reach::HalfStep {
                let why = format!("no coordinate is in `{text}`; {}", range(found)?);
                let taken = nearest(found, text, wanted, Reach::Any, wraps)?.1;
                let taken =
                    taken.map_or(String::new(), |taken| format!("; --nearest takes {taken}"));
                return Err(why + &taken);
            }
        }
        return nearest(found, text, wanted, reach, wraps);
    }
    let ends = text.match_indices(':').find_map(|(at, _)| {
        let (low, high) = (text[..at].trim(), text[at + 1..].trim());
        let low = if low.is_empty() { f64::NEG_INFINITY } else { point(low, found.time)?.0 };
        let high = if high.is_empty() { f64::INFINITY } else { point(high, found.time)?.1 };
        Some((low, high))
    });
    let Some((low, high)) = ends else {
        let example =
            if found.time.is_some() { "2020-03-01 or 2020-03:2020-05" } else { "45.5 or 40:60" };
        return Err(format!("invalid coordinate `{text}`: expected one like {example}"));
    };
    let list = if wraps && low.is_finite() && high.is_finite() {
        around(&unwrapped(&found.numbers), low, high)
    } else {
        between(&found.numbers, low.min(high), low.max(high))
    };
    if list.is_empty() {
        return Err(format!("no coordinate is in `{text}`; {}", range(found)?));
    }
    Ok((along(list), None))
}

/// The positions from one text to another, both among them, as in `DAPI:Cy5`, either of which may be left out; `None` if the ends are not
/// such, or occur several times.
fn between_texts(texts: &[String], text: &str) -> Option<Range<u64>> {
    let place = |end: &str| match equal_positions(texts, |other| other == end)[..] {
        [at] => Some(at),
        _ => None,
    };
    text.match_indices(':').find_map(|(at, _)| {
        let (low, high) = (text[..at].trim(), text[at + 1..].trim());
        let low = if low.is_empty() { 0 } else { place(low)? };
        let high = if high.is_empty() { texts.len() as u64 - 1 } else { place(high)? };
        (low <= high).then_some(low..high + 1)
    })
}

/// What selects these positions: a range where each follows the one before.
fn along(positions: Vec<u64>) -> Along {
    match (positions.first(), positions.last()) {
        (Some(&first), Some(&last)) if positions.iter().copied().eq(first..=last) => {
            Along::range(first..last + 1)
        }
        _ => Along::List(positions),
    }
}

/// The positions of coordinates from one number to another.
fn between(numbers: &[f64], low: f64, high: f64) -> Vec<u64> {
    let inside = numbers.iter().enumerate().filter(|(_, number)| (low..=high).contains(*number));
    inside.map(|(at, _)| at as u64).collect()
}

/// Longitudes that begin anew once, such as `350, 355, 0, 5`, without the jump: `350, 355, 360, 365`. Others are as they are.
fn unwrapped(numbers: &[f64]) -> Cow<'_, [f64]> {
    for turn in [TURN, -TURN] {
        let is_jump = |pair: &[f64]| (pair[1] - pair[0]) * turn < 0.0;
        let mut jumps = numbers.windows(2).enumerate().filter(|(_, pair)| is_jump(pair));
        let (Some((before, _)), None) = (jumps.next(), jumps.next()) else { continue };
        let mut moved = numbers.to_vec();
        moved[before + 1..].iter_mut().for_each(|number| *number += turn);
        let span = moved[moved.len() - 1] - moved[0];
        // Two coordinates have a direction, and no jump.
        if moved.len() > 2 && !moved.windows(2).any(is_jump) && span.abs() <= TURN {
            return Cow::Owned(moved);
        }
    }
    Cow::Borrowed(numbers)
}

/// The positions of longitudes from one to another, eastwards if the range leaves the coordinates.
fn around(numbers: &[f64], low: f64, high: f64) -> Vec<u64> {
    let known = numbers.iter().filter(|number| !number.is_nan());
    let (least, most) =
        known.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &n| (a.min(n), b.max(n)));
    let is_ascending = numbers.first() <= numbers.last();
    let high = if low > high && is_ascending { high + TURN } else { high };
    let (low, high) = (low.min(high), low.max(high));
    if least <= low && high <= most {
        return between(numbers, low, high);
    }
    if high - low >= TURN {
        return between(numbers, f64::NEG_INFINITY, f64::INFINITY);
    }
    let mut list = Vec::new();
    for (at, &number) in numbers.iter().enumerate() {
        // The same longitude, the first at or after the beginning of the range.
        let eastward = low + (number - low).rem_euclid(TURN);
        let is_at_end = eastward > high && (eastward - TURN - low).abs() < 1e-9;
        if eastward <= high {
            list.push((eastward, at as u64));
        } else if is_at_end {
            list.push((low, at as u64));
        }
    }
    if is_ascending {
        list.sort_by(|a, b| a.0.total_cmp(&b.0));
    } else {
        list.sort_by(|a, b| b.0.total_cmp(&a.0));
    }
    list.into_iter().map(|(_, at)| at).collect()
}

/// The positions of all coordinates of which this is true.
fn equal_positions<T>(coordinates: &[T], is_equal: impl Fn(&T) -> bool) -> Vec<u64> {
    let equal = coordinates.iter().enumerate().filter(|(_, coordinate)| is_equal(coordinate));
    equal.map(|(at, _)| at as u64).collect()
}

/// The position of the coordinate nearest to a point, and its text if it is another one. If several coordinates are equal to the
/// point, their positions; if several equal ones are near, no one of them is the nearest.
fn nearest(
    found: &Coordinates,
    text: &str,
    (number, end): Point,
    reach: Reach,
    wraps: bool,
) -> Result<(Along, Option<String>), String> {
    let turns: &[f64] = if wraps { &[0.0, TURN, -TURN] } else { &[0.0] };
    let mut best: Option<(usize, f64)> = None;
    for (at, &coordinate) in found.numbers.iter().enumerate() {
        if coordinate.is_nan() {
            continue;
        }
        for turn in turns {
            let here = coordinate + turn;
            if best.is_none_or(|(_, taken)| {
                distance((number, end), here) < distance((number, end), taken)
            }) {
                best = Some((at, here));
            }
        }
    }
    let (at, taken) = best.ok_or("all of its coordinates are missing")?;
    let equal = equal_positions(&found.numbers, |&other| other == found.numbers[at]);
    let count = equal.len();
    let selected = along(equal);
    // A coordinate of 32 bits is what its shortest text says.
    let is_equal = taken == number || taken == f64::from(number as f32);
    if is_equal {
        return Ok((selected, None));
    }
    // A time that a text names, such as a month, is as far as its beginning, unless the coordinate is in it.
    let (is_outside, away) = distance((number, end), taken);
    let away = if is_outside { away } else { 0.0 };
    let half_step = step(found, at, taken < number) / 2.0;
    let limit = match (reach, found.time) {
        (Reach::HalfStep, _) | (Reach::Seconds(_), None) => half_step,
        (Reach::Any, _) => f64::INFINITY,
        (Reach::Within(limit), _) => limit,
        (Reach::Seconds(limit), Some(units)) => limit / units.seconds(),
    };
    let taken = found.text(at);
    // The sum of a few roundings is no distance.
    if away <= limit * (1.0 + 1e-9) {
        if count > 1 {
            return Err(format!(
                "{count} coordinates are {taken}, the nearest to `{text}`: select all of them with `{taken}`, or one by its \
                 position"
            ));
        }
        return Ok((selected, Some(taken)));
    }
    let range = range(found)?;
    Err(match (reach, found.time) {
        (Reach::HalfStep, _) | (Reach::Seconds(_), None) => {
            format!("`{text}` is out of range; {range}; --nearest takes {taken}")
        }
        _ => format!(
            "no coordinate is within the tolerance of `{text}`; the nearest is {taken}, {range}"
        ),
    })
}

/// Whether a coordinate is outside of what a text names, and how far it is from the beginning of that.
fn distance((number, end): Point, other: f64) -> (bool, f64) {
    (!(number..=end).contains(&other), (other - number).abs())
}

/// How far it is from a coordinate to the next one above or below it, or to that on the other side at an end; 0 if there is no other.
fn step(found: &Coordinates, at: usize, above: bool) -> f64 {
    let here = found.numbers[at];
    let (mut up, mut down) = (f64::INFINITY, f64::INFINITY);
    for &other in &found.numbers {
        if other > here {
            up = up.min(other - here);
        } else if other < here {
            down = down.min(here - other);
        }
    }
    let (first, second) = if above { (up, down) } else { (down, up) };
    let step = if first.is_finite() { first } else { second };
    if step.is_finite() { step } else { 0.0 }
}

/// `they go from 90 to -90`.
fn range(found: &Coordinates) -> Result<String, String> {
    let last = found.numbers.len().checked_sub(1).ok_or("it has no elements")?;
    Ok(format!("coordinates go from {} to {}", found.text(0), found.text(last)))
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
    let text = text.trim_start_matches('-');
    match text.matches('-').count() {
        0 if !is_packed(text) => next_year(date.year, calendar),
        1 if date.month == 12 => next_year(date.year, calendar),
        1 => midnight(calendar, date.year, date.month + 1, 1),
        _ => {
            let (year, month, day) =
                calendar.date_of(calendar.day_of(date.year, date.month, date.day)? + 1)?;
            midnight(calendar, year, month, day)
        }
    }
}

/// The beginning of the year after a year, in a calendar that may have no year 0.
fn next_year(year: i64, calendar: Calendar) -> Option<Date> {
    midnight(calendar, year + 1, 1, 1).or_else(|| midnight(calendar, year + 2, 1, 1))
}

/// The beginning of a day, none if the calendar does not have the day.
fn midnight(calendar: Calendar, year: i64, month: u8, day: u8) -> Option<Date> {
    let date = Date { year, month, day, nanoseconds: 0 };
    calendar.nanoseconds(date).map(|_| date)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn positions(found: &Coordinates, text: &str) -> Result<Along, String> {
        super::positions(found, text, Reach::HalfStep, false).map(|(along, _)| along)
    }

    /// What was taken instead of a coordinate that is not there.
    #[test]
    fn a_coordinate_that_is_near_is_told() {
        let taken = |found: &Coordinates, text: &str| {
            super::positions(found, text, Reach::HalfStep, false).unwrap()
        };
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
        // Half a step is 21.75 days; but no coordinate is in that day, though one is as near as a moment may be.
        assert_eq!(taken(&time, "1850-03-08T00:00").1, Some("1850-02-15".into()));
        for text in ["1850-03-08", "1850-03", "1870", "1849-12-30"] {
            let why = positions(&time, text).unwrap_err();
            let range = "coordinates go from 1849-12-31T12:00:00 to 1850-02-15; --nearest takes 18";
            assert!(why.contains(&format!("no coordinate is in `{text}`; {range}")), "{why}");
            let any = super::positions(&time, text, Reach::Any, false);
            assert!(any.is_ok_and(|(_, taken)| taken.is_some()), "{text}");
        }
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
        assert_eq!(positions(&lat, "105"), Ok(Along::range(0..1)));
        let why = positions(&lat, "105.1").unwrap_err();
        assert_eq!(
            why,
            "`105.1` is out of range; coordinates go from 90 to -30; --nearest takes 90"
        );
        assert!(positions(&lat, "-45.1").is_err());
        assert!(positions(&numbers(&[7.0]), "7.1").is_err(), "one coordinate has no step");
        let odd = numbers(&[1.0, f64::NAN, 3.0, 9.0, 2.0]);
        assert_eq!(positions(&odd, "1:3"), Ok(Along::List(vec![0, 2, 4])));
        assert!(positions(&lat, "40:50").unwrap_err().contains("from 90 to -30"));
        assert!(positions(&lat, "x").unwrap_err().contains("invalid coordinate `x`"));
        assert!(positions(&numbers(&[]), "1").is_err());
    }

    #[test]
    fn the_nearest_is_taken_as_far_as_is_said() {
        let lat = numbers(&[90.0, 60.0, 30.0]);
        let within = |text: &str, reach| super::positions(&lat, text, reach, false);
        assert_eq!(within("1e9", Reach::Any), Ok((Along::range(0..1), Some("90".into()))));
        assert_eq!(within("58.5", Reach::Within(1.5)).unwrap().0, Along::range(1..2));
        let why = within("50", Reach::Within(1.5)).unwrap_err();
        assert!(
            why.contains("no coordinate is within the tolerance of `50`; the nearest is 60"),
            "{why}"
        );
        assert_eq!(within("50", Reach::Seconds(1.5)).unwrap().0, Along::range(1..2));
        assert!(within("10", Reach::Seconds(1.5)).is_err());
        let mut time = numbers(&[0.0, 1.0]);
        time.time = TimeUnits::parse("days since 2000-01-01", None).unwrap();
        let at = |text: &str, seconds| {
            super::positions(&time, text, Reach::Seconds(seconds), false).map(|found| found.0)
        };
        assert_eq!(at("2000-01-02T06:00", 6.0 * 3600.0), Ok(Along::range(1..2)));
        assert!(at("2000-01-02T06:01", 6.0 * 3600.0).is_err());
    }

    /// As xarray's `sel` has it.
    #[test]
    fn all_equal_coordinates_are_selected_and_none_of_them_is_nearest() {
        let odd = numbers(&[1.0, 2.0, 2.0, 5.0, 1.0]);
        assert_eq!(positions(&odd, "2"), Ok(Along::range(1..3)));
        assert_eq!(positions(&odd, "1"), Ok(Along::List(vec![0, 4])));
        assert_eq!(positions(&odd, "5"), Ok(Along::range(3..4)));
        assert_eq!(positions(&odd, "4"), Ok(Along::range(3..4)));
        let why = positions(&odd, "1.9").unwrap_err();
        assert!(why.contains("2 coordinates are 2, the nearest to `1.9`"), "{why}");
        let any = super::positions(&odd, "-7", Reach::Any, false).unwrap_err();
        assert!(any.contains("2 coordinates are 1, the nearest to `-7`"), "{any}");
        let texts = ["a", "b", "a"].map(str::to_owned).to_vec();
        let named = Coordinates { texts: Some(texts), ..Coordinates::default() };
        assert_eq!(positions(&named, "a"), Ok(Along::List(vec![0, 2])));
        assert_eq!(positions(&named, "b"), Ok(Along::range(1..2)));
        let mut time = numbers(&[0.0, 31.0, 31.0]);
        time.time = TimeUnits::parse("days since 2000-01-01", None).unwrap();
        assert_eq!(positions(&time, "2000-02-01T00:00"), Ok(Along::range(1..3)));
        assert_eq!(positions(&time, "2000-02"), Ok(Along::range(1..3)));
        // Of a circle both ends are one meridian, and one of them is enough.
        let closed = numbers(&[0.0, 120.0, 240.0, 360.0]);
        let meridian = super::positions(&closed, "0", Reach::HalfStep, true);
        assert_eq!(meridian, Ok((Along::range(0..1), None)));
    }

    #[test]
    fn longitudes_wrap() {
        let east = numbers(&(0..36).map(|n| f64::from(n) * 10.0).collect::<Vec<_>>());
        let west = numbers(&(0..36).map(|n| f64::from(n) * 10.0 - 180.0).collect::<Vec<_>>());
        let at =
            |found: &Coordinates, text: &str| super::positions(found, text, Reach::HalfStep, true);
        assert_eq!(at(&east, "-10"), Ok((Along::range(35..36), None)));
        assert_eq!(at(&west, "350"), Ok((Along::range(17..18), None)));
        assert_eq!(at(&east, "359"), Ok((Along::range(0..1), Some("0".into()))));
        assert_eq!(at(&east, "-100:-60").unwrap().0, Along::range(26..31));
        assert_eq!(at(&west, "260:300").unwrap().0, Along::range(8..13));
        assert_eq!(at(&east, "10:30").unwrap().0, Along::range(1..4));
        for text in ["-10:10", "350:10", "350:370"] {
            assert_eq!(at(&east, text).unwrap().0, Along::List(vec![35, 0, 1]), "{text}");
        }
        assert_eq!(at(&west, "170:190").unwrap().0, Along::List(vec![35, 0, 1]));
        assert_eq!(at(&east, "-180:180").unwrap().0, Along::range(0..36));
        assert!(positions(&east, "-10").is_err(), "other axes do not wrap");
        let closed = numbers(&[0.0, 120.0, 240.0, 360.0]);
        assert_eq!(at(&closed, "0:130").unwrap().0, Along::range(0..2));
        // Two parts that were joined around the meridian.
        let joined = numbers(&[350.0, 352.5, 355.0, 357.5, 0.0, 2.5, 5.0]);
        for text in ["355:5", "-5:5", "355:365"] {
            assert_eq!(at(&joined, text).unwrap().0, Along::range(2..7), "{text}");
        }
        assert_eq!(at(&joined, "-10:-5").unwrap().0, Along::range(0..3));
        assert_eq!(at(&joined, "0:5").unwrap().0, Along::range(4..7));
        let westward = numbers(&[10.0, 0.0, 350.0]);
        assert_eq!(at(&westward, "-10:0").unwrap().0, Along::range(1..3));
        assert_eq!(at(&numbers(&[20.0, 10.0]), "5:15").unwrap().0, Along::range(1..2));
    }

    #[test]
    fn dates_select_whole_months_and_days() {
        let units = TimeUnits::parse("days since 2000-01-01", Some("noleap")).unwrap();
        let mut time = numbers(&(0..365).map(f64::from).collect::<Vec<_>>());
        time.time = units;
        assert_eq!(positions(&time, "2000-02-01"), Ok(Along::range(31..32)));
        assert_eq!(positions(&time, "2000-02:2000-03"), Ok(Along::range(31..90)));
        assert_eq!(positions(&time, "2000-12:2000-12"), Ok(Along::range(334..365)));
        // As xarray's `sel(time="2000-02")`.
        assert_eq!(positions(&time, "2000-02"), Ok(Along::range(31..59)));
        assert_eq!(positions(&time, "2000"), Ok(Along::range(0..365)));
        assert_eq!(positions(&time, "2000-01-02T12:00:2000-01-04"), Ok(Along::range(2..4)));
        assert_eq!(positions(&time, "2000-01-02T11:00"), Ok(Along::range(1..2)));
        assert!(positions(&time, "1999").unwrap_err().contains("no coordinate is in `1999`"));
        assert_eq!(
            positions(&time, "20000201"),
            Ok(Along::range(31..32)),
            "a packed date is a day"
        );
        assert!(positions(&time, "2000-02-29").is_err(), "no such day in this calendar");
        assert!(positions(&time, "2001:").unwrap_err().contains("from 2000-01-01 to 2000-12-31"));
    }
}
