//! Reads numbers as times by CF's `units` and `calendar`: `days since 2000-01-01`.

use super::calendar::{Calendar, DAY, Date, is_packed};

/// What a number means that counts time: `UNIT since DATE` in a calendar (CF 4.4).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeUnits {
    /// Nanoseconds of one unit.
    unit: i128,
    /// The date from which is counted, in nanoseconds from 1970-01-01.
    epoch: i128,
    /// The calendar.
    pub calendar: Calendar,
}

/// The names of each unit, and its nanoseconds. CF follows UDUNITS.
const UNITS: [(&[&str], i128); 8] = [
    (&["nanosecond", "nanoseconds", "nsec", "nsecs", "ns"], 1),
    (&["microsecond", "microseconds", "microsec", "microsecs", "us"], 1_000),
    (&["millisecond", "milliseconds", "millisec", "millisecs", "msec", "msecs", "ms"], 1_000_000),
    (&["second", "seconds", "sec", "secs", "s"], 1_000_000_000),
    (&["minute", "minutes", "min", "mins"], 60_000_000_000),
    (&["hour", "hours", "hr", "hrs", "h"], 3_600_000_000_000),
    (&["day", "days", "d"], DAY),
    (&["week", "weeks"], 7 * DAY),
];

impl TimeUnits {
    /// Counts of nanoseconds since a moment, itself in nanoseconds since 1970-01-01, in the proleptic Gregorian calendar.
    pub fn of_nanoseconds(unit: i128) -> TimeUnits {
        TimeUnits { unit, epoch: 0, calendar: Calendar::ProlepticGregorian }
    }

    /// Whether units are those of a span of time, as in `days`.
    pub fn is_span(units: &str) -> bool {
        let name = units.to_ascii_lowercase();
        UNITS.iter().any(|(names, _)| names.contains(&name.as_str()))
    }

    /// What the attributes `units` and `calendar` say; `None` if the units are none of time since a date.
    ///
    /// # Errors
    /// Why times in such units are not decoded: months and years have no fixed length, the calendar is not known, or the
    /// date is none.
    pub fn parse(units: &str, calendar: Option<&str>) -> Result<Option<TimeUnits>, String> {
        let words: Vec<&str> = units.split_whitespace().collect();
        let [name, since, date @ ..] = &words[..] else { return Ok(None) };
        let is_since =
            ["since", "after", "from", "ref"].contains(&since.to_ascii_lowercase().as_str());
        if date.is_empty() || !is_since {
            return Ok(None);
        }
        let name = name.to_ascii_lowercase();
        let known = match calendar {
            None => Calendar::default(),
            Some(calendar) => Calendar::from_name(calendar)
                .ok_or_else(|| format!("the calendar `{calendar}` is not known"))?,
        };
        let unit = UNITS.iter().find(|(names, _)| names.contains(&name.as_str()));
        let unit = match (unit, name.trim_end_matches('s'), known) {
            (Some((_, unit)), ..) => *unit,
            // Where each is as long as the others, as cftime has it.
            (_, "month", Calendar::Days360) => 30 * DAY,
            (_, "common_year", Calendar::NoLeap) => 365 * DAY,
            (_, "month" | "year" | "common_year" | "decade", _) => {
                return Err(format!("`{units}` is not decoded: months and years differ in length"));
            }
            _ => return Err(format!("`{units}` is not decoded: the unit is not known")),
        };
        let date = date.join(" ");
        let epoch = Date::parse(&date, known).filter(|_| !has_odd_digits(&date));
        let epoch = epoch.and_then(|date| known.nanoseconds(date));
        let epoch = epoch.ok_or_else(|| {
            format!(
                "`{units}` is not decoded: `{date}` is not a date of the calendar {}",
                known.name()
            )
        })?;
        Ok(Some(TimeUnits { unit, epoch, calendar: known }))
    }

    /// The moment that a number means, to the microsecond where the number is no whole one; `None` for NaN, infinity, and
    /// what is further off than any date.
    pub fn date(&self, number: f64) -> Option<Date> {
        if !number.is_finite() || number.abs() > 1e18 {
            return None;
        }
        let (whole, rest) = (number.trunc(), number.fract());
        let rest = match rest * self.unit as f64 {
            0.0 => 0,
            rest => (rest / 1_000.0).round() as i128 * 1_000,
        };
        self.calendar.moment(self.epoch + whole as i128 * self.unit + rest)
    }

    /// The moment that a whole number means.
    pub fn date_of_integer(&self, number: i64) -> Option<Date> {
        self.calendar.moment(self.epoch + i128::from(number) * self.unit)
    }

    /// The number that means a date; `None` if the calendar has no such date.
    pub fn number(&self, date: Date) -> Option<f64> {
        let away = self.calendar.nanoseconds(date)? - self.epoch;
        let (whole, rest) = (away.div_euclid(self.unit), away.rem_euclid(self.unit));
        Some(whole as f64 + rest as f64 / self.unit as f64)
    }

    /// The whole number that means a date; `None` if none does, or if the calendar has no such date.
    pub fn integer(&self, date: Date) -> Option<i128> {
        let away = self.calendar.nanoseconds(date)? - self.epoch;
        (away.rem_euclid(self.unit) == 0).then(|| away.div_euclid(self.unit))
    }

    /// The number of seconds in a unit.
    pub fn seconds(&self) -> f64 {
        self.unit as f64 / 1e9
    }
}

/// Whether a date begins with digits alone that are neither a year nor a packed date: UDUNITS takes `200001` for a month, others for
/// a year.
fn has_odd_digits(date: &str) -> bool {
    let date = date.trim_start_matches(['-', '+']);
    let first = date.split(['T', 't', ' ']).next().unwrap_or(date);
    first.bytes().all(|byte| byte.is_ascii_digit()) && first.len() > 4 && !is_packed(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(units: &str, calendar: &str, number: f64) -> String {
        let units = TimeUnits::parse(units, Some(calendar)).unwrap().unwrap();
        units.date(number).unwrap().to_string()
    }

    /// What cftime 1.6 prints.
    #[test]
    fn numbers_are_the_dates_of_cftime() {
        assert_eq!(date("days since 2000-01-01", "standard", 15.5), "2000-01-16T12:00:00");
        assert_eq!(date("hours since 1900-01-01 00:00:0.0", "gregorian", 876_576.0), "2000-01-01");
        assert_eq!(date("days since 1850-01-01", "360_day", 59.0), "1850-02-30");
        assert_eq!(date("days since 2000-02-28", "noleap", 1.0), "2000-03-01");
        assert_eq!(date("days since 1582-10-04", "standard", 1.0), "1582-10-15");
        assert_eq!(date("months since 2000-01-01", "360_day", 14.5), "2001-03-16");
        assert_eq!(date("common_years since 2000-01-01", "noleap", 4.0), "2004-01-01");
        assert_eq!(
            date("seconds since 1970-01-01", "julian", 0.000_001),
            "1970-01-01T00:00:00.000001"
        );
    }

    /// As UDUNITS 2 has them: `YYYYMMDD`, and `HH`, `HHMM` or `HHMMSS`.
    #[test]
    fn packed_dates_are_those_of_udunits() {
        let first = |epoch: &str| date(&format!("days since {epoch}"), "standard", 1.0);
        assert_eq!(first("20000101"), "2000-01-02");
        assert_eq!(first("20000101T120000"), "2000-01-02T12:00:00");
        assert_eq!(first("20000101T1230"), "2000-01-02T12:30:00");
        assert_eq!(first("20000101 06"), "2000-01-02T06:00:00");
        assert_eq!(first("20000101T120000.5Z"), "2000-01-02T12:00:00.5");
        assert_eq!(first("20000101 120000 +0100"), "2000-01-02T11:00:00");
        assert_eq!(first("2000-01-01T120000"), "2000-01-02T12:00:00");
        assert_eq!(first("2000-01-01T1230"), "2000-01-02T12:30:00");
        assert_eq!(first("2000"), "2000-01-02");
        for odd in ["200001", "2000010", "200001011", "20001301", "20000101T123", "20000101T126000"]
        {
            let why = TimeUnits::parse(&format!("days since {odd}"), None).unwrap_err();
            assert!(why.contains("is not decoded"), "{odd}: {why}");
        }
        assert!(TimeUnits::is_span("Days") && !TimeUnits::is_span("m"));
    }

    #[test]
    fn what_is_no_time_says_why() {
        assert_eq!(TimeUnits::parse("m s-1", None), Ok(None));
        assert_eq!(TimeUnits::parse("days", None), Ok(None));
        assert_eq!(TimeUnits::parse("days since", None), Ok(None));
        let why = |units, calendar| TimeUnits::parse(units, calendar).unwrap_err();
        assert!(why("months since 2000-01-01", None).contains("differ in length"));
        assert!(why("common_years since 2000-01-01", Some("360_day")).contains("differ in length"));
        assert!(why("fortnights since 2000-01-01", None).contains("not known"));
        assert!(why("days since 2000-01-01", Some("maya")).contains("`maya`"));
        assert!(why("days since 2000-02-30", None).contains("is not a date"));
        let units = TimeUnits::parse("days since 2000-01-01", None).unwrap().unwrap();
        assert_eq!(units.date(f64::NAN), None);
        assert_eq!(units.date(1e300), None);
        assert_eq!(units.number(units.date(7.25).unwrap()), Some(7.25));
    }
}
