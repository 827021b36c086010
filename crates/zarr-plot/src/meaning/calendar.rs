//! Converts dates to counts of days, and back, in the calendars of CF.
//!
//! CF 4.4.1 names the calendars. Days are counted from 1970-01-01 of the calendar itself: 0 is that date in each of them.

use std::fmt;

use zarr_core::data_type::{gregorian_date, gregorian_days};

/// Nanoseconds in a day.
pub(crate) const DAY: i128 = 86_400_000_000_000;
/// Years further off are not computed with.
const MAX_YEAR: i64 = 1 << 40;
/// Days of 4 Julian years.
const JULIAN_ERA: i64 = 1_461;
/// The first day of the Gregorian calendar, 1582-10-15, in days before 1970-01-01.
const REFORM: i64 = -141_427;
/// How many days before the Gregorian 1970-01-01 the Julian year 0 began, if years begin in March.
const JULIAN_MARCH_OF_0: i64 = 719_470;
/// Days before each month of a year without a leap day.
const BEFORE: [i64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];

/// A calendar of CF.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Calendar {
    /// Julian until 1582-10-04, and Gregorian from 1582-10-15, the day after. There is no year 0.
    #[default]
    Standard,
    /// Gregorian, also before 1582. The year before 1 is 0.
    ProlepticGregorian,
    /// A leap day every fourth year. There is no year 0.
    Julian,
    /// Years of 365 days.
    NoLeap,
    /// Years of 366 days.
    AllLeap,
    /// Twelve months of 30 days.
    Days360,
}

/// A moment in a calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Date {
    /// The year, as the calendar counts it.
    pub year: i64,
    /// From 1 to 12.
    pub month: u8,
    /// From 1 to 31.
    pub day: u8,
    /// Nanoseconds since midnight.
    pub nanoseconds: u64,
}

impl Calendar {
    /// Every calendar.
    pub const ALL: [Calendar; 6] = [
        Calendar::Standard,
        Calendar::ProlepticGregorian,
        Calendar::Julian,
        Calendar::NoLeap,
        Calendar::AllLeap,
        Calendar::Days360,
    ];

    /// The calendar that the attribute `calendar` names, in any case of letters.
    pub fn from_name(name: &str) -> Option<Calendar> {
        Some(match name.to_ascii_lowercase().as_str() {
            "standard" | "gregorian" => Calendar::Standard,
            "proleptic_gregorian" => Calendar::ProlepticGregorian,
            "julian" => Calendar::Julian,
            "noleap" | "365_day" => Calendar::NoLeap,
            "all_leap" | "366_day" => Calendar::AllLeap,
            "360_day" => Calendar::Days360,
            _ => return None,
        })
    }

    /// Its name in CF.
    pub fn name(self) -> &'static str {
        match self {
            Calendar::Standard => "standard",
            Calendar::ProlepticGregorian => "proleptic_gregorian",
            Calendar::Julian => "julian",
            Calendar::NoLeap => "noleap",
            Calendar::AllLeap => "all_leap",
            Calendar::Days360 => "360_day",
        }
    }

    /// Whether the year before 1 is -1.
    fn lacks_year_0(self) -> bool {
        matches!(self, Calendar::Standard | Calendar::Julian)
    }

    /// The day of a date, counted from 1970-01-01; `None` if the calendar has no such date.
    pub fn day_of(self, year: i64, month: u8, day: u8) -> Option<i64> {
        if !(1..=12).contains(&month) || !(1..=31).contains(&day) || year.abs() > MAX_YEAR {
            return None;
        }
        let counted = match self.lacks_year_0() {
            true if year == 0 => return None,
            true if year < 0 => year + 1,
            _ => year,
        };
        let days = self.count(counted, i64::from(month), i64::from(day));
        // A date that is none, as February 30, is another one's count.
        let back = self.date_of(days)?;
        (back == (year, month, day)).then_some(days)
    }

    /// The day's count, the year 0 being before 1.
    fn count(self, year: i64, month: i64, day: i64) -> i64 {
        let fixed = |a_year: i64, leap: i64| {
            let leap_day = if month > 2 { leap } else { 0 };
            (year - 1970) * a_year + BEFORE[month as usize - 1] + leap_day + day - 1
        };
        match self {
            Calendar::NoLeap => fixed(365, 0),
            Calendar::AllLeap => fixed(366, 1),
            Calendar::Days360 => (year - 1970) * 360 + (month - 1) * 30 + day - 1,
            Calendar::ProlepticGregorian => gregorian(year, month, day),
            Calendar::Julian => {
                // The count of this calendar begins with its own 1970-01-01.
                julian(year, month, day) - 13
            }
            Calendar::Standard => match gregorian(year, month, day) {
                days if days >= REFORM => days,
                _ => julian(year, month, day).min(REFORM - 1),
            },
        }
    }

    /// Year, month and day of a count of days; `None` if it is further off than any date.
    pub fn date_of(self, days: i64) -> Option<(i64, u8, u8)> {
        if days.abs() / 365 > MAX_YEAR {
            return None;
        }
        let (year, month, day) = match self {
            Calendar::NoLeap => date_of_equal_years(days, 365, 0),
            Calendar::AllLeap => date_of_equal_years(days, 366, 1),
            Calendar::Days360 => {
                let rest = days.rem_euclid(360);
                (1970 + days.div_euclid(360), rest / 30 + 1, rest % 30 + 1)
            }
            Calendar::ProlepticGregorian => of_gregorian(days),
            Calendar::Julian => of_julian(days + 13),
            Calendar::Standard if days >= REFORM => of_gregorian(days),
            Calendar::Standard => of_julian(days),
        };
        let year = if self.lacks_year_0() && year <= 0 { year - 1 } else { year };
        Some((year, month as u8, day as u8))
    }

    /// The moment this many nanoseconds after 1970-01-01T00:00; `None` if it is further off than any date.
    pub fn moment(self, nanoseconds: i128) -> Option<Date> {
        let days = i64::try_from(nanoseconds.div_euclid(DAY)).ok()?;
        let (year, month, day) = self.date_of(days)?;
        Some(Date { year, month, day, nanoseconds: nanoseconds.rem_euclid(DAY) as u64 })
    }

    /// Nanoseconds from 1970-01-01T00:00 to a date; `None` if the calendar has no such date.
    pub fn nanoseconds(self, date: Date) -> Option<i128> {
        let days = self.day_of(date.year, date.month, date.day)?;
        (i128::from(date.nanoseconds) < DAY)
            .then(|| i128::from(days) * DAY + i128::from(date.nanoseconds))
    }
}

/// The date in a calendar of years that are all as long, with a leap day or without.
fn date_of_equal_years(days: i64, a_year: i64, leap: i64) -> (i64, i64, i64) {
    let (year, rest) = (1970 + days.div_euclid(a_year), days.rem_euclid(a_year));
    let month = (0..12).rev().find(|&month| days_before(month, leap) <= rest).unwrap_or(0);
    (year, month as i64 + 1, rest - days_before(month, leap) + 1)
}

/// The days of a year before a month, of which January is 0.
fn days_before(month: usize, leap: i64) -> i64 {
    BEFORE[month] + if month > 1 { leap } else { 0 }
}

/// Year, month and day in a year that begins in March, which has its odd day last.
fn of_march(year: i64, day_of_year: i64) -> (i64, i64, i64) {
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year + i64::from(month <= 2), month, day)
}

/// The year that begins in March, and the day in it.
fn to_march(year: i64, month: i64, day: i64) -> (i64, i64) {
    let from_march = (month + 9) % 12;
    (year - i64::from(month <= 2), (153 * from_march + 2) / 5 + day - 1)
}

fn gregorian(year: i64, month: i64, day: i64) -> i64 {
    // Years are at most `MAX_YEAR` from 0.
    gregorian_days(year.into(), month.into(), day.into()) as i64
}

fn of_gregorian(days: i64) -> (i64, i64, i64) {
    let (year, month, day) = gregorian_date(days.into());
    (year as i64, month as i64, day as i64)
}

/// The day of a Julian date, counted from the Gregorian 1970-01-01.
fn julian(year: i64, month: i64, day: i64) -> i64 {
    let (year, day_of_year) = to_march(year, month, day);
    year.div_euclid(4) * JULIAN_ERA + 365 * year.rem_euclid(4) + day_of_year - JULIAN_MARCH_OF_0
}

fn of_julian(days: i64) -> (i64, i64, i64) {
    let days = days + JULIAN_MARCH_OF_0;
    let (era, day) = (days.div_euclid(JULIAN_ERA), days.rem_euclid(JULIAN_ERA));
    let year = (day - day / 1_460) / 365;
    of_march(4 * era + year, day - 365 * year)
}

impl Date {
    /// The date that a text says, as in `2000-1-16`, `2000-01-16T12:30`, `2000-01-16 12:30:00.5 +01:00`; a zone is taken off.
    /// Eight digits are a packed date of UDUNITS, `20000116`, and four or six of a time are packed, too: `T1230`, `T123000`.
    /// `None` if it says none.
    pub fn parse(text: &str, calendar: Calendar) -> Option<Date> {
        let text = text.trim();
        let text = text.strip_suffix("UTC").or(text.strip_suffix("GMT")).unwrap_or(text);
        let text = text.trim().strip_suffix(['Z', 'z']).unwrap_or(text).trim();
        let (sign, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (-1, rest),
            None => (1, text.strip_prefix('+').unwrap_or(text)),
        };
        let (date, clock) = match unsigned.find(['T', 't', ' ']) {
            Some(at) => (&unsigned[..at], unsigned[at + 1..].trim()),
            None => (unsigned, ""),
        };
        let parts = if is_packed(date) {
            vec![&date[..4], &date[4..6], &date[6..]]
        } else {
            date.split('-').collect()
        };
        let mut parts = parts.into_iter();
        let year = sign * number(parts.next()?)?;
        let month = parts.next().map_or(Some(1), number)?;
        let day = parts.next().map_or(Some(1), number)?;
        if parts.next().is_some() {
            return None;
        }
        let (clock, zone) = match clock.find(['+', '-']) {
            Some(at) => (clock[..at].trim(), zone(&clock[at..])?),
            None => (clock, 0),
        };
        let date = Date {
            year,
            month: u8::try_from(month).ok()?,
            day: u8::try_from(day).ok()?,
            nanoseconds: time_of_day(clock)?,
        };
        calendar.moment(calendar.nanoseconds(date)?.checked_sub(zone)?)
    }
}

/// Whether a text is a date of UDUNITS without hyphens, `YYYYMMDD`.
pub(crate) fn is_packed(date: &str) -> bool {
    date.len() == 8 && date.bytes().all(|byte| byte.is_ascii_digit())
}

/// A whole number of digits only.
fn number(digits: &str) -> Option<i64> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok())?
}

/// Nanoseconds of `+01:00`, `-0130`, `+1`.
fn zone(text: &str) -> Option<i128> {
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let text = &text[1..];
    let (hours, minutes) = match text.split_once(':') {
        Some((hours, minutes)) => (number(hours)?, number(minutes)?),
        None => match number(text)? {
            hours if text.len() <= 2 => (hours, 0),
            both => (both / 100, both % 100),
        },
    };
    let minutes = (hours <= 24 && minutes < 60).then_some(hours * 60 + minutes)?;
    Some(sign * i128::from(minutes) * 60_000_000_000)
}

/// Nanoseconds of `12`, `12:30`, `12:30:59.5`, and of `1230`, `123059.5`; of nothing, 0.
fn time_of_day(text: &str) -> Option<u64> {
    if text.is_empty() {
        return Some(0);
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let mut parts = match (digits, &text[digits..]) {
        (4, "") => vec![&text[..2], &text[2..]],
        (6, rest) if rest.is_empty() || rest.starts_with('.') => {
            vec![&text[..2], &text[2..4], &text[4..]]
        }
        _ => text.split(':').collect(),
    }
    .into_iter();
    let hour = number(parts.next()?)?;
    let minute = parts.next().map_or(Some(0), number)?;
    let seconds = parts.next().unwrap_or("0");
    let (second, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
    let second = number(second)?;
    if parts.next().is_some() || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let digits = &fraction[..fraction.len().min(9)];
    let fraction = match digits {
        "" => 0,
        digits => number(digits)? * 10i64.pow(9 - digits.len() as u32),
    };
    Some((((hour * 60 + minute) * 60 + second) * 1_000_000_000 + fraction) as u64)
}

impl fmt::Display for Date {
    /// `2000-01-16`, at midnight; `2000-01-16T12:00:00`, `2000-01-16T12:00:00.5`. With `#`, the time of midnight, too.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.year < 0 { "-" } else { "" };
        write!(f, "{sign}{:04}-{:02}-{:02}", self.year.unsigned_abs(), self.month, self.day)?;
        if self.nanoseconds == 0 && !f.alternate() {
            return Ok(());
        }
        let (seconds, fraction) =
            (self.nanoseconds / 1_000_000_000, self.nanoseconds % 1_000_000_000);
        write!(f, "T{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60)?;
        match fraction {
            0 => Ok(()),
            fraction => write!(f, ".{}", format!("{fraction:09}").trim_end_matches('0')),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_has_one_date_and_the_next_day_follows() {
        for calendar in Calendar::ALL {
            assert_eq!(calendar.date_of(0), Some((1970, 1, 1)), "{calendar:?}");
            let mut last = None;
            for days in (-1_000_000..1_000_000).step_by(1) {
                let (year, month, day) = calendar.date_of(days).unwrap();
                assert!(last < Some((year, month, day)), "{calendar:?} {days}");
                last = Some((year, month, day));
                if days % 7 == 0 {
                    assert_eq!(calendar.day_of(year, month, day), Some(days), "{calendar:?}");
                }
            }
        }
    }

    #[test]
    fn dates_that_a_calendar_does_not_have_are_refused() {
        use Calendar::*;
        for (calendar, year, month, day) in [
            (Standard, 1582, 10, 5),
            (Standard, 1582, 10, 14),
            (Standard, 0, 1, 1),
            (Standard, 1900, 2, 29),
            (Julian, 0, 1, 1),
            (NoLeap, 2000, 2, 29),
            (Days360, 2000, 1, 31),
            (ProlepticGregorian, 2001, 2, 29),
            (ProlepticGregorian, 2001, 13, 1),
            (ProlepticGregorian, i64::MAX, 1, 1),
        ] {
            assert_eq!(calendar.day_of(year, month, day), None, "{calendar:?} {year}");
        }
        assert!(Standard.day_of(1500, 2, 29).is_some());
        assert!(AllLeap.day_of(2001, 2, 29).is_some());
        assert!(Days360.day_of(2001, 2, 30).is_some());
        assert_eq!(Standard.moment(i128::MAX), None);
    }

    #[test]
    fn dates_are_read_and_printed() {
        let date = |text: &str| Date::parse(text, Calendar::Standard).map(|date| date.to_string());
        for (text, printed) in [
            ("2000-1-16", "2000-01-16"),
            ("2000-01-16 00:00:00", "2000-01-16"),
            ("2000-01-16T12:30", "2000-01-16T12:30:00"),
            ("2000-01-16 12:30:01.5 +01:00", "2000-01-16T11:30:01.5"),
            ("2000-01-01 00:00 +0130", "1999-12-31T22:30:00"),
            ("2000-01-01 00:00:00 UTC", "2000-01-01"),
            ("2000-01-01T00:00:00Z", "2000-01-01"),
            ("-44-03-15", "-0044-03-15"),
            ("1999", "1999-01-01"),
            ("20000116", "2000-01-16"),
            ("20000116T123001.5", "2000-01-16T12:30:01.5"),
            ("2000-01-16 1230", "2000-01-16T12:30:00"),
        ] {
            assert_eq!(date(text).as_deref(), Some(printed), "{text}");
        }
        for text in
            ["", "x", "2000-01-32", "2000-01-01 24:00", "1-2-3-4", "0000-01-01", "2000-01-01 x"]
        {
            assert_eq!(date(text), None, "{text}");
        }
    }
}
