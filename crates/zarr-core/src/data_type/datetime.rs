//! Reads and writes NumPy's times as metadata of each dialect.
//!
//! NumPy's `datetime64` and `timedelta64` count a unit of time with 64 bits, from 1970-01-01T00:00Z or
//! from anywhere. v2 says `<M8[ns]` and `<m8[25s]`, final v3 `numpy.datetime64` and `numpy.timedelta64`;
//! the drafts have an extension with the text of v2 (Z2-033, F-047, draft-v3.md 3.3).

use std::fmt;

use super::{Endian, calendar};
use crate::dialect::Dialect;
use crate::json::{Json, Object};

/// A count of units of time: `datetime64[ns]`, `timedelta64[25s]`. Elements are [`i64`].
///
/// ```
/// use zarr_core::data_type::{DataType, NumpyTime};
///
/// let time = NumpyTime::from_typestr("<M8[25s]").ok_or("no time")?;
/// assert_eq!(time.to_string(), "datetime64[25s]");
/// let data_type = DataType::Time(time);
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NumpyTime {
    /// Moments or spans.
    pub kind: TimeKind,
    /// The unit.
    pub unit: TimeUnit,
    /// How many units one step is, from 1 to 2147483647.
    pub scale_factor: u32,
}

/// What a count of time means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeKind {
    /// A moment, counted from 1970-01-01T00:00Z: `datetime64`.
    Datetime,
    /// A span: `timedelta64`.
    Timedelta,
}

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names say it")]
pub enum TimeUnit {
    Year,
    Month,
    Week,
    Day,
    Hour,
    Minute,
    Second,
    Millisecond,
    Microsecond,
    Nanosecond,
    Picosecond,
    Femtosecond,
    Attosecond,
    /// None in particular; only final v3 has a word for it.
    Generic,
}

/// Where zarr-python since 2.13 says that a draft's times come from (draft-v3.md 3.3).
const DRAFT_TIME: &str =
    "https://zarr-specs.readthedocs.io/en/latest/extensions/data-types/datetime/v1.0.html";

/// The most units that one step may be (F-047).
const MAX_SCALE: u32 = i32::MAX as u32;

/// Every unit with its name in NumPy, in the order of the variants.
const UNITS: [(TimeUnit, &str); 14] = [
    (TimeUnit::Year, "Y"),
    (TimeUnit::Month, "M"),
    (TimeUnit::Week, "W"),
    (TimeUnit::Day, "D"),
    (TimeUnit::Hour, "h"),
    (TimeUnit::Minute, "m"),
    (TimeUnit::Second, "s"),
    (TimeUnit::Millisecond, "ms"),
    (TimeUnit::Microsecond, "us"),
    (TimeUnit::Nanosecond, "ns"),
    (TimeUnit::Picosecond, "ps"),
    (TimeUnit::Femtosecond, "fs"),
    (TimeUnit::Attosecond, "as"),
    (TimeUnit::Generic, "generic"),
];

impl TimeUnit {
    /// The unit as NumPy says it: `D`, `us`.
    pub fn name(self) -> &'static str {
        UNITS[self as usize].1
    }

    /// The unit of this name; microseconds have a Greek letter in two encodings, too (Z2-033, F-047).
    pub fn from_name(name: &str) -> Option<TimeUnit> {
        match name {
            "\u{3bc}s" | "\u{b5}s" => Some(TimeUnit::Microsecond),
            _ => UNITS.iter().find(|(_, known)| *known == name).map(|(unit, _)| *unit),
        }
    }
}

impl NumpyTime {
    /// The count that stands for no time at all: NaT.
    pub const NAT: i64 = i64::MIN;

    /// The type that `text` such as `<M8[ns]` or `m8[25s]` means, whatever its byte order (Z2-033).
    pub fn from_typestr(text: &str) -> Option<NumpyTime> {
        let unmarked = text.strip_prefix(['<', '>', '|', '=']).unwrap_or(text);
        let (kind, unit) = match (unmarked.strip_prefix("M8"), unmarked.strip_prefix("m8")) {
            (Some(unit), _) => (TimeKind::Datetime, unit),
            (_, Some(unit)) => (TimeKind::Timedelta, unit),
            _ => return None,
        };
        NumpyTime::with_unit(kind, unit)
    }

    /// The type of this name: `datetime64[ns]`.
    pub(crate) fn from_name(name: &str) -> Option<NumpyTime> {
        let kinds = [TimeKind::Datetime, TimeKind::Timedelta];
        kinds
            .into_iter()
            .find_map(|kind| NumpyTime::with_unit(kind, name.strip_prefix(kind.name())?))
    }

    /// `[25s]`: a multiple and a unit, which is mandatory.
    fn with_unit(kind: TimeKind, text: &str) -> Option<NumpyTime> {
        let inner = text.strip_prefix('[')?.strip_suffix(']')?;
        let name = inner.trim_start_matches(|c: char| c.is_ascii_digit());
        let scale_factor = match &inner[..inner.len() - name.len()] {
            "" => 1,
            digits => digits.parse().ok().filter(|n| (1..=MAX_SCALE).contains(n))?,
        };
        let unit = TimeUnit::from_name(name).filter(|&unit| unit != TimeUnit::Generic)?;
        Some(NumpyTime { kind, unit, scale_factor })
    }

    /// `[25s]`; `None` for what NumPy has no unit for.
    fn unit_text(&self) -> Option<String> {
        match (self.unit, self.scale_factor) {
            (TimeUnit::Generic, _) => None,
            (unit, 1) => Some(format!("[{}]", unit.name())),
            (unit, scale @ 2..=MAX_SCALE) => Some(format!("[{scale}{}]", unit.name())),
            _ => None,
        }
    }

    /// The text of an element as NumPy prints it: a date, or the count itself where it is a span; `NaT`.
    ///
    /// ```
    /// use zarr_core::data_type::NumpyTime;
    ///
    /// let days = NumpyTime::from_typestr("<M8[D]").ok_or("no time")?;
    /// assert_eq!(days.text_of(19_000), "2022-01-08");
    /// assert_eq!(days.count_of("2022-01-08T00:00"), Ok(19_000));
    /// # Ok::<(), &str>(())
    /// ```
    pub fn text_of(&self, count: i64) -> String {
        calendar::text(*self, count)
    }

    /// The element that a date or `NaT` stands for. A date may be less fine than the unit, or end in `Z`.
    ///
    /// # Errors
    /// A sentence, for text that is no date, for dates of spans, and for such as lie between two elements or beyond them.
    pub fn count_of(&self, text: &str) -> Result<i64, String> {
        calendar::count(*self, text)
    }

    /// The type as a dialect's metadata; `endian` is the stored byte order.
    pub(super) fn to_metadata(self, dialect: Dialect, endian: Endian) -> Option<Json> {
        Some(match dialect {
            Dialect::V2 => Json::from(self.typestr(endian)?),
            Dialect::V3 if !(1..=MAX_SCALE).contains(&self.scale_factor) => return None,
            Dialect::V3 => {
                let configuration = Object::new()
                    .with("unit", self.unit.name())
                    .with("scale_factor", u64::from(self.scale_factor));
                Object::extension(&format!("numpy.{}", self.kind.name()), configuration).into()
            }
            // Readers that do not know the extension read integers (D-102).
            Dialect::Draft => Object::new()
                .with("extension", DRAFT_TIME)
                .with("type", self.typestr(endian)?)
                .with("fallback", format!("{}i8", endian.mark()))
                .into(),
        })
    }

    /// `<M8[25s]`; `None` for a type without a unit.
    pub(super) fn typestr(&self, endian: Endian) -> Option<String> {
        Some(format!("{}{}8{}", endian.mark(), self.kind.letter(), self.unit_text()?))
    }
}

impl TimeKind {
    /// `datetime64` or `timedelta64`.
    pub(super) fn name(self) -> &'static str {
        match self {
            TimeKind::Datetime => "datetime64",
            TimeKind::Timedelta => "timedelta64",
        }
    }

    pub(super) fn letter(self) -> char {
        match self {
            TimeKind::Datetime => 'M',
            TimeKind::Timedelta => 'm',
        }
    }
}

impl fmt::Display for NumpyTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name())?;
        match self.unit_text() {
            Some(unit) => f.write_str(&unit),
            None => write!(f, "[{} {}]", self.scale_factor, self.unit.name()),
        }
    }
}

/// `<M8[ns]`, `>m8[25s]`, also with `=`, `|` or no mark at all, which mean little-endian; `None` for
/// other words, an error without a unit of time (Z2-031, Z2-033).
pub(crate) fn from_typestr(text: &str) -> Option<Result<(NumpyTime, Endian), String>> {
    let unmarked = text.strip_prefix(['<', '>', '|', '=']).unwrap_or(text);
    if !unmarked.starts_with(['m', 'M']) {
        return None;
    }
    let endian = if text.starts_with('>') { Endian::Big } else { Endian::Little };
    Some(match NumpyTime::from_typestr(text) {
        Some(time) => Ok((time, endian)),
        None => Err(format!(
            "invalid time type `{text}`: expected one like `<M8[ns]` or `<m8[25s]`, with one of the units Y M W D h m s ms \
             us ns ps fs as"
        )),
    })
}

/// `numpy.datetime64`, `numpy.timedelta64` of final v3; `None` for other names (F-047).
pub(crate) fn from_v3(
    name: &str,
    configuration: Option<&Object>,
) -> Option<Result<NumpyTime, String>> {
    let kind = match name {
        "numpy.datetime64" => TimeKind::Datetime,
        "numpy.timedelta64" => TimeKind::Timedelta,
        _ => return None,
    };
    let unit_and_scale = configuration.and_then(unit_and_scale);
    Some(match unit_and_scale {
        Some((unit, scale_factor)) => Ok(NumpyTime { kind, unit, scale_factor }),
        None => Err(format!(
            "`{name}` needs a configuration of `unit`, one of Y M W D h m s ms us ns ps fs as and generic, \
             and `scale_factor`, from 1 to {MAX_SCALE}, and no more"
        )),
    })
}

/// `unit` and `scale_factor`, if they are all that a configuration has.
fn unit_and_scale(configuration: &Object) -> Option<(TimeUnit, u32)> {
    let unit = TimeUnit::from_name(configuration.get("unit")?.as_str()?)?;
    let scale = u32::try_from(configuration.get("scale_factor")?.as_u64()?).ok()?;
    let is_valid = configuration.len() == 2 && (1..=MAX_SCALE).contains(&scale);
    is_valid.then_some((unit, scale))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data_type::{DataType, FillValue};

    fn parsed(text: &str) -> (String, Option<Endian>) {
        let (time, endian) = from_typestr(text).unwrap().unwrap();
        (time.to_string(), Some(endian))
    }

    fn v3(text: &str) -> Result<NumpyTime, String> {
        let json = Json::parse(text.as_bytes()).unwrap();
        from_v3("numpy.datetime64", json.as_object()).unwrap()
    }

    /// Z2-031, Z2-033: what `numpy.dtype` of NumPy 2.4 reads, but for `[0s]` and `[s/2]`.
    #[test]
    fn a_unit_of_time_is_mandatory() {
        assert_eq!(parsed("<M8[ns]"), ("datetime64[ns]".into(), Some(Endian::Little)));
        assert_eq!(parsed(">m8[25s]"), ("timedelta64[25s]".into(), Some(Endian::Big)));
        assert_eq!(parsed("<M8[1D]").0, "datetime64[D]");
        assert_eq!(parsed("<M8[01s]").0, "datetime64[s]");
        assert_eq!(parsed("<M8[2147483647as]").0, "datetime64[2147483647as]");
        for odd in ["M8[s]", "=M8[s]", "|M8[s]"] {
            assert_eq!(parsed(odd), ("datetime64[s]".into(), Some(Endian::Little)));
        }
        for micro in ["<m8[us]", "<m8[\u{3bc}s]", "<m8[\u{b5}s]"] {
            assert_eq!(parsed(micro).0, "timedelta64[us]");
        }
        for bad in [
            "<M8",
            "M8",
            "<M8[]",
            "<M8[parsec]",
            "<M8[0s]",
            "<M8[2147483648s]",
            "<M8[-1s]",
            "<M8[+1s]",
            "<M8[s",
            "<M8s]",
            "<M8[ s]",
            "<M8[s/2]",
            "<M8[generic]",
            "<M4[s]",
            "<M",
            "mé",
            "<M8[é]",
        ] {
            assert!(from_typestr(bad).unwrap().is_err(), "{bad}");
        }
        for other in ["<i8", "|S8", "", "<", "é"] {
            assert!(from_typestr(other).is_none(), "{other}");
        }
    }

    /// F-047: both members, no others, nothing out of range.
    #[test]
    fn final_v3_demands_both_members() {
        let seconds = v3(r#"{"unit":"s","scale_factor":10}"#).unwrap();
        assert_eq!(seconds.to_string(), "datetime64[10s]");
        assert_eq!(v3(r#"{"unit":"μs","scale_factor":1}"#).unwrap().to_string(), "datetime64[us]");
        let generic = v3(r#"{"unit":"generic","scale_factor":1}"#).unwrap();
        assert!(generic.to_metadata(Dialect::V3, Endian::Little).is_some());
        assert!(generic.to_metadata(Dialect::V2, Endian::Little).is_none());
        assert!(generic.to_metadata(Dialect::Draft, Endian::Little).is_none());
        for bad in [
            "{}",
            r#"{"unit":"s"}"#,
            r#"{"scale_factor":1}"#,
            r#"{"unit":"s","scale_factor":0}"#,
            r#"{"unit":"s","scale_factor":2147483648}"#,
            r#"{"unit":"s","scale_factor":1.0}"#,
            r#"{"unit":"s","scale_factor":"1"}"#,
            r#"{"unit":"parsec","scale_factor":1}"#,
            r#"{"unit":"10s","scale_factor":1}"#,
            r#"{"unit":"s","scale_factor":1,"endian":"little"}"#,
        ] {
            assert!(v3(bad).is_err(), "{bad}");
        }
        assert!(from_v3("numpy.timedelta64", None).unwrap().is_err());
        assert!(from_v3("datetime64", None).is_none());
    }

    /// Z2-033, F-047, D-101.
    #[test]
    fn every_unit_reads_back_from_its_own_words() {
        let registry = crate::Registry::new();
        for kind in [TimeKind::Datetime, TimeKind::Timedelta] {
            for (n, (unit, name)) in UNITS.into_iter().enumerate() {
                assert_eq!((unit as usize, unit.name()), (n, name));
                for scale_factor in [1, 2, MAX_SCALE] {
                    let time = NumpyTime { kind, unit, scale_factor };
                    for dialect in [Dialect::V2, Dialect::V3, Dialect::Draft] {
                        let Some(words) = time.to_metadata(dialect, Endian::Big) else {
                            assert_eq!(unit, TimeUnit::Generic);
                            continue;
                        };
                        let back = registry.parse_data_type(&words, dialect).unwrap();
                        assert_eq!(back.data_type, DataType::Time(time), "{words}");
                        let says_order = dialect != Dialect::V3;
                        assert_eq!(back.endian, says_order.then_some(Endian::Big));
                    }
                    if unit != TimeUnit::Generic {
                        assert_eq!(NumpyTime::from_name(&time.to_string()), Some(time));
                    }
                }
            }
        }
        let none = NumpyTime { kind: TimeKind::Datetime, unit: TimeUnit::Day, scale_factor: 0 };
        for dialect in [Dialect::V2, Dialect::V3, Dialect::Draft] {
            assert!(none.to_metadata(dialect, Endian::Little).is_none());
        }
    }

    /// D-101, D-102, V16: a draft's times are known by `type`, wherever they say they come from.
    #[test]
    fn a_draft_knows_times_by_their_type() {
        let registry = crate::Registry::new();
        let parse = |what: &str, fallback: &str| {
            let text =
                format!(r#"{{"extension":"http://e/x","type":"{what}","fallback":{fallback}}}"#);
            let json = Json::parse(text.as_bytes()).unwrap();
            registry.parse_data_type(&json, Dialect::Draft).unwrap()
        };
        let big = parse(">M8[ns]", r#""<i8""#);
        assert_eq!(
            (big.data_type.to_string(), big.endian),
            ("datetime64[ns]".into(), Some(Endian::Big))
        );
        assert_eq!(parse("<m8[μs]", "null").data_type.to_string(), "timedelta64[us]");
        // Byte order and unit are mandatory; what is not understood is read as its fallback.
        for other in ["M8[ns]", "|M8[ns]", "<M8", "<M8[parsec]"] {
            let parsed = parse(other, r#""<i8""#).data_type;
            assert!(matches!(parsed, DataType::Unknown { fallback: Some(_), .. }), "{other}");
            assert_eq!(parse(other, "null").data_type.repr(), None, "{other}");
        }
    }

    /// Z2-030, Z2-053, F-047.
    #[test]
    fn fill_values_are_counts_or_nat() {
        let time = DataType::Time(NumpyTime::from_typestr("<M8[s]").unwrap());
        let read = |text: &str, dialect| {
            let json = Json::parse(text.as_bytes()).unwrap();
            let fill = time.element_from_json(&json, dialect).ok()?;
            Some(i64::from_ne_bytes(fill.as_bytes().try_into().unwrap()))
        };
        for dialect in [Dialect::V2, Dialect::V3, Dialect::Draft] {
            assert_eq!(read("\"NaT\"", dialect), Some(i64::MIN));
            assert_eq!(read("-9223372036854775808", dialect), Some(i64::MIN));
            assert_eq!(read("9223372036854775807", dialect), Some(i64::MAX));
            assert_eq!(read("0", dialect), Some(0));
            for bad in ["9223372036854775808", "1.5", "\"nat\"", "\"2020\"", "true", "[]", "null"] {
                assert_eq!(read(bad, dialect), None, "{bad}");
            }
            let nat = FillValue::new(NumpyTime::NAT.to_ne_bytes());
            let words = time.element_to_json(&nat, dialect).unwrap();
            assert_eq!(words.to_string(), "-9223372036854775808");
        }
    }
}
