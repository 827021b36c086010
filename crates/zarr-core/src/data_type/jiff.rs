//! Converts counts of time to jiff's times and back.
//!
//! Nothing is rounded: a time that the other side cannot tell apart from its neighbours is an error.

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp, tz::TimeZone};

use super::{NumpyTime, TimeKind, TimeUnit};
use crate::error::{AccessError, Result};

/// How long a unit is.
enum Length {
    /// A unit of `n` nanoseconds.
    Nanoseconds(i128),
    /// A unit of which `n` are a nanosecond.
    PerNanosecond(i128),
    /// A unit of `n` months.
    Months(i128),
}

impl TimeUnit {
    fn length(self) -> Option<Length> {
        const SECOND: i128 = 1_000_000_000;
        Some(match self {
            TimeUnit::Year => Length::Months(12),
            TimeUnit::Month => Length::Months(1),
            TimeUnit::Week => Length::Nanoseconds(7 * 86_400 * SECOND),
            TimeUnit::Day => Length::Nanoseconds(86_400 * SECOND),
            TimeUnit::Hour => Length::Nanoseconds(3600 * SECOND),
            TimeUnit::Minute => Length::Nanoseconds(60 * SECOND),
            TimeUnit::Second => Length::Nanoseconds(SECOND),
            TimeUnit::Millisecond => Length::Nanoseconds(1_000_000),
            TimeUnit::Microsecond => Length::Nanoseconds(1000),
            TimeUnit::Nanosecond => Length::Nanoseconds(1),
            TimeUnit::Picosecond => Length::PerNanosecond(1000),
            TimeUnit::Femtosecond => Length::PerNanosecond(1_000_000),
            TimeUnit::Attosecond => Length::PerNanosecond(1_000_000_000),
            TimeUnit::Generic => return None,
        })
    }
}

/// `a / b`, where that is whole.
fn whole(a: i128, b: i128) -> Option<i128> {
    (a % b == 0).then(|| a / b)
}

impl NumpyTime {
    /// The moment that an element is; `None` for NaT. NumPy's moments have no time zone; they are taken for
    /// UTC.
    ///
    /// ```
    /// use zarr_core::data_type::NumpyTime;
    ///
    /// let days = NumpyTime::from_typestr("<M8[D]").ok_or("no time")?;
    /// let moment = days.timestamp(19_000)?.ok_or("NaT")?;
    /// assert_eq!(moment.to_string(), "2022-01-08T00:00:00Z");
    /// assert_eq!(days.count_of_timestamp(moment)?, 19_000);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`AccessError::Argument`] for spans and units of no length, for moments outside the years -9999 to
    /// 9999, and for such as lie between two nanoseconds.
    pub fn timestamp(&self, count: i64) -> Result<Option<Timestamp>> {
        self.is_of(TimeKind::Datetime)?;
        if count == NumpyTime::NAT {
            return Ok(None);
        }
        let moment = match self.length()? {
            Length::Months(each) => first_of_month(each * self.units(count)),
            _ => self.nanoseconds(count).and_then(|n| Timestamp::from_nanosecond(n).ok()),
        };
        moment
            .map(Some)
            .ok_or_else(|| self.wrong(format!("{count} is out of range for a timestamp of jiff")))
    }

    /// The element that a moment is.
    ///
    /// # Errors
    /// [`AccessError::Argument`] for spans and units of no length, for moments that are no whole number of
    /// steps since 1970, and for such as 64 bits cannot count.
    pub fn count_of_timestamp(&self, moment: Timestamp) -> Result<i64> {
        self.is_of(TimeKind::Datetime)?;
        let units = match self.length()? {
            Length::Months(each) => months(moment).and_then(|months| whole(months, each)),
            length => units(length, moment.as_nanosecond()),
        };
        self.count(units)
            .ok_or_else(|| self.wrong(format!("{moment} is not a multiple of the step")))
    }

    /// The span that an element is; `None` for NaT.
    ///
    /// # Errors
    /// [`AccessError::Argument`] for moments, for years, months and units of no length, for spans that jiff
    /// does not hold, and for such as lie between two nanoseconds.
    pub fn duration(&self, count: i64) -> Result<Option<SignedDuration>> {
        self.is_of(TimeKind::Timedelta)?;
        self.length()?;
        if count == NumpyTime::NAT {
            return Ok(None);
        }
        let span = self.nanoseconds(count).and_then(SignedDuration::try_from_nanos_i128);
        span.map(Some)
            .ok_or_else(|| self.wrong(format!("{count} is out of range for a duration of jiff")))
    }

    /// The element that a span is.
    ///
    /// # Errors
    /// [`AccessError::Argument`] for moments, for years, months and units of no length, for spans that are no
    /// whole number of steps, and for such as 64 bits cannot count.
    pub fn count_of_duration(&self, span: SignedDuration) -> Result<i64> {
        self.is_of(TimeKind::Timedelta)?;
        let units = units(self.length()?, span.as_nanos());
        self.count(units).ok_or_else(|| self.wrong(format!("{span} is not a multiple of the step")))
    }

    fn wrong(&self, why: String) -> crate::Error {
        AccessError::Argument(format!("{self}: {why}")).into()
    }

    fn is_of(&self, kind: TimeKind) -> Result<()> {
        if self.kind == kind {
            Ok(())
        } else {
            Err(self.wrong(format!("its elements are none of {}", kind.name())))
        }
    }

    fn length(&self) -> Result<Length> {
        let length = self.unit.length();
        length.ok_or_else(|| self.wrong("its unit has no length".into()))
    }

    fn units(&self, count: i64) -> i128 {
        i128::from(count) * i128::from(self.scale_factor)
    }

    fn nanoseconds(&self, count: i64) -> Option<i128> {
        match self.unit.length()? {
            Length::Nanoseconds(each) => self.units(count).checked_mul(each),
            Length::PerNanosecond(many) => whole(self.units(count), many),
            Length::Months(_) => None,
        }
    }

    /// The count of a span; `None` for NaT.
    fn count(&self, units: Option<i128>) -> Option<i64> {
        let count = whole(units?, self.scale_factor.into())?;
        i64::try_from(count).ok().filter(|&count| count != NumpyTime::NAT)
    }
}

/// Converts nanoseconds to units.
fn units(length: Length, nanoseconds: i128) -> Option<i128> {
    match length {
        Length::Nanoseconds(each) => whole(nanoseconds, each),
        Length::PerNanosecond(many) => nanoseconds.checked_mul(many),
        Length::Months(_) => None,
    }
}

/// The beginning of a month, counted from January 1970.
fn first_of_month(months: i128) -> Option<Timestamp> {
    let year = i16::try_from(months.div_euclid(12) + 1970).ok()?;
    let month = i8::try_from(months.rem_euclid(12) + 1).ok()?;
    let date = Date::new(year, month, 1).ok()?;
    TimeZone::UTC.to_timestamp(date.at(0, 0, 0, 0)).ok()
}

/// The months since January 1970 at whose end a moment lies.
fn months(moment: Timestamp) -> Option<i128> {
    let date = TimeZone::UTC.to_datetime(moment).date();
    let months = (i128::from(date.year()) - 1970) * 12 + i128::from(date.month()) - 1;
    (first_of_month(months)? == moment).then_some(months)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(typestr: &str) -> NumpyTime {
        NumpyTime::from_typestr(typestr).unwrap()
    }

    fn moment(typestr: &str, count: i64) -> Option<String> {
        let moment = time(typestr).timestamp(count).ok()?.unwrap();
        assert_eq!(time(typestr).count_of_timestamp(moment).unwrap(), count, "{typestr}");
        Some(moment.to_string())
    }

    /// F-047, Z2-033: NumPy 2.4 prints these counts so.
    #[test]
    fn moments_are_numpys() {
        for (typestr, count, due) in [
            ("M8[Y]", -1, "1969-01-01T00:00:00Z"),
            ("M8[Y]", 8029, "9999-01-01T00:00:00Z"),
            ("M8[3M]", 5, "1971-04-01T00:00:00Z"),
            ("M8[M]", -1, "1969-12-01T00:00:00Z"),
            ("M8[W]", -1, "1969-12-25T00:00:00Z"),
            ("M8[D]", 19_000, "2022-01-08T00:00:00Z"),
            ("M8[h]", 1, "1970-01-01T01:00:00Z"),
            ("M8[25s]", -1, "1969-12-31T23:59:35Z"),
            ("M8[ms]", 1_577_836_800_001, "2020-01-01T00:00:00.001Z"),
            ("M8[us]", -1, "1969-12-31T23:59:59.999999Z"),
            ("M8[ns]", i64::MAX, "2262-04-11T23:47:16.854775807Z"),
            ("M8[ps]", 5000, "1970-01-01T00:00:00.000000005Z"),
            ("M8[as]", -2_000_000_000, "1969-12-31T23:59:59.999999998Z"),
        ] {
            assert_eq!(moment(typestr, count).as_deref(), Some(due), "{count} of {typestr}");
        }
    }

    #[test]
    fn spans_are_exact() {
        for (typestr, count, nanoseconds) in [
            ("m8[W]", -1, -604_800_000_000_000),
            ("m8[25s]", 2, 50_000_000_000),
            ("m8[ns]", i64::MAX, i128::from(i64::MAX)),
            ("m8[fs]", 7_000_000, 7),
        ] {
            let span = time(typestr).duration(count).unwrap().unwrap();
            assert_eq!(span.as_nanos(), nanoseconds, "{typestr}");
            assert_eq!(time(typestr).count_of_duration(span).unwrap(), count, "{typestr}");
        }
    }

    #[test]
    fn nat_is_no_time_and_no_time_is_nat() {
        assert_eq!(time("M8[ns]").timestamp(NumpyTime::NAT).unwrap(), None);
        assert_eq!(time("m8[ns]").duration(NumpyTime::NAT).unwrap(), None);
        let least = SignedDuration::try_from_nanos_i128(i64::MIN.into()).unwrap();
        assert!(time("m8[ns]").count_of_duration(least).is_err());
    }

    #[test]
    fn nothing_is_rounded_or_wrapped() {
        for (typestr, count) in [
            ("M8[ps]", 1),
            ("M8[Y]", 8030),
            ("M8[Y]", i64::MAX),
            ("M8[M]", i64::MIN + 1),
            ("M8[2147483647W]", i64::MAX),
            ("M8[s]", i64::MAX),
            ("m8[s]", 0),
        ] {
            assert!(time(typestr).timestamp(count).is_err(), "{count} of {typestr}");
        }
        for (typestr, count) in
            [("m8[as]", 1), ("m8[M]", 1), ("m8[Y]", 0), ("m8[2147483647W]", i64::MAX), ("M8[s]", 0)]
        {
            assert!(time(typestr).duration(count).is_err(), "{count} of {typestr}");
        }
        let generic = NumpyTime { unit: TimeUnit::Generic, ..time("M8[s]") };
        let error = generic.timestamp(1).unwrap_err().to_string();
        assert!(error.contains("its unit has no length"), "{error}");
        let late = Timestamp::from_nanosecond(1).unwrap();
        for typestr in ["M8[us]", "M8[D]", "M8[M]", "M8[2ns]", "m8[ns]"] {
            assert!(time(typestr).count_of_timestamp(late).is_err(), "{typestr}");
        }
        assert!(time("M8[as]").count_of_timestamp(Timestamp::MAX).is_err());
        let span = SignedDuration::from_secs(i64::MAX);
        assert!(time("m8[ns]").count_of_duration(span).is_err());
        assert!(time("m8[Y]").count_of_duration(SignedDuration::ZERO).is_err());
    }
}
