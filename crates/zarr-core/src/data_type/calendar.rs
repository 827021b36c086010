//! Writes counts of time as dates, and reads them back.
//!
//! As NumPy prints it: ISO 8601 in the proleptic Gregorian calendar, without a time zone, as fine as the
//! type's unit: `2020`, `2020-01`, `2020-01-01`, `2020-01-01T00`, … `2020-01-01T00:00:00.000000000`;
//! `NaT` for no time. A year has at least four characters, a minus among them, and may have more.

use super::{NumpyTime, TimeKind, TimeUnit};

/// Years further off than any count reaches are not computed with.
const MAX_YEAR: i128 = 1 << 100;

const ATTOSECONDS_A_DAY: i128 = 86_400_000_000_000_000_000_000;

/// What [`NumpyTime::text_of`] does.
pub(super) fn text(time: NumpyTime, count: i64) -> String {
    if count == NumpyTime::NAT {
        return "NaT".into();
    }
    if time.kind == TimeKind::Timedelta {
        return count.to_string();
    }
    let units = i128::from(count) * i128::from(time.scale_factor);
    match time.unit {
        TimeUnit::Year => format!("{:04}", 1970 + units),
        TimeUnit::Month => {
            let (year, month) = (1970 + units.div_euclid(12), units.rem_euclid(12) + 1);
            format!("{year:04}-{month:02}")
        }
        TimeUnit::Week => date(7 * units),
        TimeUnit::Day => date(units),
        unit => match units_a_day(unit) {
            Some(a_day) => {
                let clock = clock(units.rem_euclid(a_day) * (ATTOSECONDS_A_DAY / a_day), unit);
                format!("{}T{clock}", date(units.div_euclid(a_day)))
            }
            // A moment in no unit is only a number, in NumPy, too.
            None => count.to_string(),
        },
    }
}

/// The count that a text of [`text`]'s means, or says why it means none. A date may be less fine than
/// the unit, or end in `Z`.
pub(super) fn count(time: NumpyTime, text: &str) -> Result<i64, String> {
    if text == "NaT" {
        return Ok(NumpyTime::NAT);
    }
    if time.kind == TimeKind::Timedelta || time.unit == TimeUnit::Generic {
        return Err(format!("`{}` is neither an integer nor NaT", brief(text)));
    }
    let moment = Moment::parse(text).ok_or_else(|| {
        format!("invalid date `{}`: expected one like 2020-12-31T23:59:59.5, or NaT", brief(text))
    })?;
    let units = moment.units(time.unit).ok_or_else(|| too(text, time, "finer than"))?;
    let scale = i128::from(time.scale_factor);
    if units % scale != 0 {
        return Err(too(text, time, "not a multiple of the steps of"));
    }
    i64::try_from(units / scale)
        .ok()
        .filter(|&count| count != NumpyTime::NAT)
        .ok_or_else(|| too(text, time, "out of range of"))
}

fn too(text: &str, time: NumpyTime, what: &str) -> String {
    format!("{} is {what} {time}", brief(text))
}

/// Not more of a text than a message bears.
fn brief(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text.into(),
    }
}

/// How many of a unit are in a day; `None` for units that are longer, or none.
fn units_a_day(unit: TimeUnit) -> Option<i128> {
    Some(match unit {
        TimeUnit::Hour => 24,
        TimeUnit::Minute => 1_440,
        unit => 86_400 * 10i128.pow(digits(unit)?),
    })
}

/// How many digits a unit adds behind a second; `None` for units longer than one.
fn digits(unit: TimeUnit) -> Option<u32> {
    match unit {
        TimeUnit::Second => Some(0),
        TimeUnit::Millisecond => Some(3),
        TimeUnit::Microsecond => Some(6),
        TimeUnit::Nanosecond => Some(9),
        TimeUnit::Picosecond => Some(12),
        TimeUnit::Femtosecond => Some(15),
        TimeUnit::Attosecond => Some(18),
        _ => None,
    }
}

/// The time of day after a number of attoseconds, as fine as the unit.
fn clock(attoseconds: i128, unit: TimeUnit) -> String {
    let seconds = attoseconds / 10i128.pow(18);
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match digits(unit) {
        None if unit == TimeUnit::Hour => format!("{hour:02}"),
        None => format!("{hour:02}:{minute:02}"),
        Some(0) => format!("{hour:02}:{minute:02}:{second:02}"),
        Some(digits) => {
            let fraction = attoseconds % 10i128.pow(18) / 10i128.pow(18 - digits);
            let width = digits as usize;
            format!("{hour:02}:{minute:02}:{second:02}.{fraction:0width$}")
        }
    }
}

/// Days of 400 years.
const ERA: i128 = 146_097;

fn date(days: i128) -> String {
    let (year, month, day) = gregorian_date(days);
    format!("{year:04}-{month:02}-{day:02}")
}

/// The year, month and day of a day counted from 1970-01-01, in the proleptic Gregorian calendar; there is a year 0.
///
/// ```
/// use zarr_core::data_type::{gregorian_date, gregorian_days};
///
/// assert_eq!(gregorian_date(19_000), (2022, 1, 8));
/// assert_eq!(gregorian_days(2022, 1, 8), 19_000);
/// ```
pub fn gregorian_date(days: i128) -> (i128, i128, i128) {
    // Years are taken to begin in March, so that the odd day is their last.
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(ERA), days.rem_euclid(ERA));
    let leap_days = day_of_era / 1_460 - day_of_era / 36_524 + day_of_era / (ERA - 1);
    let year_of_era = (day_of_era - leap_days) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (400 * era + year_of_era + i128::from(month <= 2), month, day)
}

/// The day of a date in the proleptic Gregorian calendar, counted from 1970-01-01.
pub fn gregorian_days(year: i128, month: i128, day: i128) -> i128 {
    let year = year - i128::from(month <= 2);
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let from_march = (month + 9) % 12;
    let day_of_year = (153 * from_march + 2) / 5 + day - 1;
    let day_of_era = 365 * year_of_era + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * ERA + day_of_era - 719_468
}

fn days_in(year: i128, month: i128) -> i128 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// A date and a time of day.
struct Moment {
    year: i128,
    month: i128,
    day: i128,
    attoseconds: i128,
}

impl Moment {
    fn parse(text: &str) -> Option<Moment> {
        let (date, clock) = match text.split_once(['T', ' ']) {
            Some((date, clock)) => (date, Some(clock)),
            None => (text, None),
        };
        let (sign, unsigned) = date.strip_prefix('-').map_or((1, date), |rest| (-1, rest));
        let mut parts = unsigned.split('-');
        let year = parts.next().filter(|year| year.len() + usize::from(sign < 0) >= 4)?;
        let year = sign * number(year).filter(|&year| year <= MAX_YEAR)?;
        let (month, day) = (parts.next(), parts.next());
        let whole = parts.next().is_none() && (clock.is_none() || day.is_some());
        let month = month.map_or(Some(1), |month| two(month, 1, 12))?;
        let day = day.map_or(Some(1), |day| two(day, 1, days_in(year, month)))?;
        let attoseconds = clock.map_or(Some(0), time_of_day)?;
        whole.then_some(Moment { year, month, day, attoseconds })
    }

    /// The units since 1970-01-01T00:00; `None` if those are not whole.
    fn units(&self, unit: TimeUnit) -> Option<i128> {
        let months = (self.year - 1970) * 12 + self.month - 1;
        let days = gregorian_days(self.year, self.month, self.day);
        let is_midnight = self.attoseconds == 0;
        let (is_whole, units) = match unit {
            TimeUnit::Year => (is_midnight && self.day == 1 && self.month == 1, months / 12),
            TimeUnit::Month => (is_midnight && self.day == 1, months),
            TimeUnit::Week => (is_midnight && days % 7 == 0, days / 7),
            TimeUnit::Day => (is_midnight, days),
            unit => {
                let a_day = units_a_day(unit)?;
                let unit = ATTOSECONDS_A_DAY / a_day;
                // What overflows is out of every count's range, whichever number stands for it.
                let units = days.saturating_mul(a_day).saturating_add(self.attoseconds / unit);
                (self.attoseconds % unit == 0, units)
            }
        };
        is_whole.then_some(units)
    }
}

/// `12`, `12:30`, `12:30:59`, `12:30:59.123456789`, each also with a `Z`: attoseconds since midnight.
fn time_of_day(text: &str) -> Option<i128> {
    let text = text.strip_suffix('Z').unwrap_or(text);
    let (clock, fraction) = match text.split_once('.') {
        Some((clock, fraction)) => (clock, Some(fraction)),
        None => (text, None),
    };
    let parts: Vec<&str> = clock.split(':').collect();
    let [hour, minute, second] = match parts[..] {
        [hour] => [hour, "00", "00"],
        [hour, minute] => [hour, minute, "00"],
        [hour, minute, second] => [hour, minute, second],
        _ => return None,
    };
    let seconds = two(hour, 0, 23)? * 3_600 + two(minute, 0, 59)? * 60 + two(second, 0, 59)?;
    let attoseconds = match fraction {
        None => 0,
        Some(digits) if digits.len() <= 18 && parts.len() == 3 => {
            number(digits)? * 10i128.pow(18 - digits.len() as u32)
        }
        Some(_) => return None,
    };
    Some(seconds * 10i128.pow(18) + attoseconds)
}

fn number(digits: &str) -> Option<i128> {
    digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?
}

fn two(digits: &str, low: i128, high: i128) -> Option<i128> {
    number(digits).filter(|n| digits.len() == 2 && (low..=high).contains(n))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(typestr: &str) -> NumpyTime {
        NumpyTime::from_typestr(typestr).unwrap()
    }

    /// What NumPy 1.26 and 2.4 print.
    #[test]
    fn dates_are_those_of_numpy() {
        for (typestr, number, expected) in [
            ("M8[Y]", 50, "2020"),
            ("M8[Y]", -1975, "-005"),
            ("M8[Y]", 8030, "10000"),
            ("M8[7Y]", 100, "2670"),
            ("M8[M]", 600, "2020-01"),
            ("M8[3M]", -100, "1945-01"),
            ("M8[2W]", 100, "1973-11-01"),
            ("M8[2W]", -100, "1966-03-03"),
            ("M8[D]", 18262, "2020-01-01"),
            ("M8[D]", 18321, "2020-02-29"),
            ("M8[D]", -719528, "0000-01-01"),
            ("M8[D]", -719529, "-001-12-31"),
            ("M8[D]", -1, "1969-12-31"),
            ("M8[h]", -100, "1969-12-27T20"),
            ("M8[m]", 100, "1970-01-01T01:40"),
            ("M8[25s]", 100, "1970-01-01T00:41:40"),
            ("M8[25s]", 63_113_472, "2020-01-01T00:00:00"),
            ("M8[10ms]", -100, "1969-12-31T23:59:59.000"),
            ("M8[us]", 1, "1970-01-01T00:00:00.000001"),
            ("M8[ns]", 1_577_836_800_000_000_000, "2020-01-01T00:00:00.000000000"),
            ("M8[ns]", -308_744, "1969-12-31T23:59:59.999691256"),
            ("M8[ps]", 1, "1970-01-01T00:00:00.000000000001"),
            ("M8[2fs]", -100, "1969-12-31T23:59:59.999999999999800"),
            ("M8[5as]", 100, "1970-01-01T00:00:00.000000000000000500"),
            ("M8[as]", i64::MAX, "1970-01-01T00:00:09.223372036854775807"),
            ("M8[s]", i64::MIN, "NaT"),
            ("m8[25s]", i64::MIN, "NaT"),
            ("m8[25s]", -100, "-100"),
        ] {
            let time = time(typestr);
            assert_eq!(text(time, number), expected, "{typestr}");
            if time.kind == TimeKind::Datetime {
                assert_eq!(count(time, expected), Ok(number), "{expected}");
            }
        }
    }

    #[test]
    fn the_furthest_dates_read_back() {
        let units = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"];
        for unit in units {
            for scale in [1, 7, i32::MAX] {
                let time = time(&format!("M8[{scale}{unit}]"));
                for number in [i64::MAX, i64::MIN + 1, 0, -1, 1 << 40] {
                    assert_eq!(count(time, &text(time, number)), Ok(number), "{time}");
                }
            }
        }
        let generic = NumpyTime { unit: TimeUnit::Generic, ..time("M8[s]") };
        assert_eq!(text(generic, -5), "-5");
    }

    #[test]
    fn every_day_has_a_date_of_its_own() {
        let day = time("M8[D]");
        for at in (-800_000..800_000).step_by(7).chain(-400..800) {
            assert_eq!(count(day, &text(day, at)), Ok(at));
        }
    }

    #[test]
    fn less_fine_dates_are_read() {
        let ns = time("M8[ns]");
        for expected in
            ["2020", "2020-01", "2020-01-01", "2020-01-01T00", "2020-01-01 00:00", "2020-01-01T00Z"]
        {
            assert_eq!(count(ns, expected), Ok(1_577_836_800_000_000_000), "{expected}");
        }
        assert_eq!(count(ns, "1970-01-01T00:00:00.5"), Ok(500_000_000));
        assert_eq!(count(time("M8[D]"), "2020-01-01T00:00:00.000"), Ok(18262));
    }

    #[test]
    fn what_is_no_date_says_why() {
        for bad in [
            "",
            "-",
            "20",
            "today",
            "2020-",
            "2020-1",
            "2020-13",
            "2020-00-01",
            "2019-02-29",
            "1900-02-29",
            "2020-01-01T",
            "2020-01T00",
            "2020-01-01T24",
            "2020-01-01T00:60",
            "2020-01-01T00:00:60",
            "2020-01-01T00.5",
            "2020-01-01T00:00:00.",
            "2020-01-01T00:00:00.0000000000000000000",
            "2020-01-01T00:00:00+01",
            "+2020-01-01",
            "2020-01-01-01",
            "é",
            "99999999999999999999999999999999999999999999999999",
            "2020-01-01T00:00:00:00",
        ] {
            assert!(count(time("M8[s]"), bad).unwrap_err().contains("invalid date"), "{bad}");
        }
        let why = |typestr: &str, text: &str| count(time(typestr), text).unwrap_err();
        assert!(why("M8[s]", "2020-01-01T00:00:00.5").contains("finer than datetime64[s]"));
        assert!(why("M8[Y]", "2020-02").contains("finer than"));
        assert!(why("M8[W]", "2020-01-03").contains("finer than"));
        assert!(why("M8[25s]", "1970-01-01T00:00:01").contains("not a multiple"));
        assert!(why("M8[ns]", "3000-01-01").contains("out of range of"));
        assert!(
            why("M8[as]", "-1267650600228229401496703205376-01-01").contains("out of range of")
        );
        assert!(why("m8[s]", "2020-01-01").contains("neither an integer nor NaT"));
    }
}
