//! Makes of stored elements what CF says they stand for: unpacked numbers, dates, null for missing ones.

use zarr::Array;
use zarr::data_type::{CoreType, DataType, NumpyTime, Optional, Scalar, ScalarValue, TimeUnit};
use zarr::nczarr::Values;
use zarr::nczarr::cdl::{Show, TextForm};
use zarr_plot::meaning::{Calendar, Date, Meaning, MissingRule, TimeUnits};

use crate::commands::get::Format;
use crate::digits::Digits;

/// Bytes of the text of any date or number: a year has at most 13 digits.
const DATE_BYTES: usize = 48;

/// How the elements of an array become others.
pub(crate) struct Decoded {
    meaning: Meaning,
    scalar: Scalar,
    form: Form,
}

/// What elements become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Numbers in f64, of which NaN is missing.
    Floats,
    /// Numbers in f64, each behind a byte that says whether it is there.
    NullableFloats,
    /// Elements as they are, each behind such a byte.
    Nullable,
    /// Texts of dates, each behind such a byte.
    Dates,
    /// Moments as NumPy counts them.
    Moments(NumpyTime),
}

impl Decoded {
    /// How the elements of an array become those that its attributes say; `None` if they stay as they are. In bytes missing ones are
    /// NaN and times are numbers, but moments in NumPy's files. Also returns what was found and cannot be applied.
    pub fn of(array: &Array, format: Format) -> (Option<Decoded>, Vec<String>) {
        let mut meaning = Meaning::of(array, MissingRule::Declared);
        let mut warnings = std::mem::take(&mut meaning.warnings);
        if let (Format::Npy, Some(time)) = (format, meaning.time)
            && numpy_time(time).is_none()
        {
            let calendar = time.calendar.name();
            warnings
                .push(format!("times are numbers: NumPy does not have the calendar `{calendar}`"));
        }
        (Decoded::by(meaning, array, format), warnings)
    }

    fn by(meaning: Meaning, array: &Array, format: Format) -> Option<Decoded> {
        let data_type = array.data_type();
        let scalar = meaning.scalar(&data_type)?;
        if matches!(scalar, Scalar::Time(_)) {
            return None;
        }
        let plain = meaning.affine.is_identity() && !meaning.unsigned;
        let moments = meaning.time.filter(|_| format == Format::Npy).and_then(numpy_time);
        // Bytes of times stay integers where nothing is declared to be missing.
        let is_all_there =
            meaning.missing.is_empty() || format.is_binary() && meaning.has_only_no_time;
        let form = match (moments, &meaning.time, plain, is_all_there) {
            (Some(moments), ..) => Form::Moments(moments),
            (_, Some(_), ..) if !format.is_binary() => Form::Dates,
            (.., true, true) => return None,
            _ if format.is_binary() => Form::Floats,
            (.., true, false) => Form::Nullable,
            (.., false, true) => Form::Floats,
            (.., false, false) => Form::NullableFloats,
        };
        Some(Decoded { meaning, scalar, form })
    }

    /// The type of the elements that these become.
    pub fn data_type(&self, stored: &DataType) -> DataType {
        match self.form {
            Form::Floats => CoreType::Float64.into(),
            Form::NullableFloats => {
                optional(CoreType::Float64.into()).unwrap_or(CoreType::Float64.into())
            }
            Form::Nullable => optional(stored.clone()).unwrap_or(stored.clone()),
            Form::Dates => optional(DataType::FixedBytes { len: DATE_BYTES })
                .unwrap_or(DataType::FixedBytes { len: DATE_BYTES }),
            Form::Moments(time) => time.into(),
        }
    }

    /// How many digits of unpacked numbers are shown.
    pub fn digits(&self, digits: Digits) -> Digits {
        let affine = self.meaning.affine;
        digits.unpacked((!affine.is_identity()).then_some((affine.scale, affine.offset)))
    }

    /// The elements that little-endian ones become, little-endian, too.
    pub fn apply(&self, stored: &[u8]) -> Vec<u8> {
        let size = self.scalar.size();
        let mut out = Vec::with_capacity(stored.len() / size.max(1) * 9);
        let mut native = vec![0; size];
        for element in stored.chunks_exact(size.max(1)) {
            native.copy_from_slice(element);
            if cfg!(target_endian = "big") {
                native.reverse();
            }
            let value = self.scalar.load(&native);
            let number = self.meaning.decode(value);
            match self.form {
                Form::Floats => out.extend(number.unwrap_or(f64::NAN).to_le_bytes()),
                Form::NullableFloats => {
                    out.push(number.is_some().into());
                    out.extend(number.unwrap_or(0.0).to_le_bytes());
                }
                Form::Nullable => {
                    out.push(number.is_some().into());
                    match number {
                        Some(_) => out.extend(element),
                        None => out.resize(out.len() + size, 0),
                    }
                }
                Form::Moments(time) => {
                    let count = number.and_then(|number| self.count(value, number, time));
                    out.extend(count.unwrap_or(NumpyTime::NAT).to_le_bytes());
                }
                Form::Dates => {
                    let text = self.date(value, number);
                    out.push(text.is_some().into());
                    let start = out.len();
                    out.extend(text.unwrap_or_default().bytes().take(DATE_BYTES));
                    out.resize(start + DATE_BYTES, 0);
                }
            }
        }
        out
    }

    /// What CDL has in place of elements.
    pub fn show(self) -> Show {
        Box::new(move |values, at| {
            let Some(stored) = self.stored(values, at) else { return TextForm::Itself };
            let number = self.meaning.decode(stored);
            match (self.form, number) {
                (_, None) => TextForm::Missing,
                (Form::Nullable, Some(_)) => TextForm::Itself,
                (Form::Dates, Some(number)) => self
                    .moment(stored, number)
                    .map_or(TextForm::Itself, |date| TextForm::Text(as_ncdump(&date))),
                (_, Some(number)) => TextForm::Number(number),
            }
        })
    }

    /// Whether elements become dates.
    pub fn is_dates(&self) -> bool {
        self.form == Form::Dates
    }

    /// A number as it is stored; `None` for other values.
    fn stored(&self, values: &Values, at: usize) -> Option<ScalarValue> {
        let is_unsigned = self.meaning.unsigned;
        macro_rules! integer {
            ($value:expr, $unsigned:ty) => {
                if is_unsigned { ($value as $unsigned).into() } else { $value.into() }
            };
        }
        Some(ScalarValue::Integer(match values {
            Values::Byte(values) => integer!(values[at], u8),
            Values::Short(values) => integer!(values[at], u16),
            Values::Int(values) => integer!(values[at], u32),
            Values::Int64(values) => integer!(values[at], u64),
            Values::Ubyte(values) => values[at].into(),
            Values::Ushort(values) => values[at].into(),
            Values::Uint(values) => values[at].into(),
            Values::Uint64(values) => values[at].into(),
            Values::Float(values) => return Some(ScalarValue::Float(values[at].into())),
            Values::Double(values) => return Some(ScalarValue::Float(values[at])),
            _ => return None,
        }))
    }

    /// A date; the number itself if that is further off than any, an integer with all its digits; `None` if there is none.
    fn date(&self, stored: ScalarValue, number: Option<f64>) -> Option<String> {
        let number = number.filter(|number| !number.is_nan())?;
        let is_plain = self.meaning.affine.is_identity();
        Some(match (self.moment(stored, number), stored) {
            (Some(date), _) => date,
            (None, ScalarValue::Integer(count)) if is_plain => count.to_string(),
            (None, _) => format!("{number:?}"),
        })
    }

    /// The moment that a number stands for, as NumPy counts it; `None` if that is further off than it can count.
    fn count(&self, stored: ScalarValue, number: f64, time: NumpyTime) -> Option<i64> {
        let nanoseconds =
            Calendar::ProlepticGregorian.nanoseconds(self.date_of(stored, number)?)?;
        let unit = if time.unit == TimeUnit::Nanosecond { 1 } else { 1_000 };
        i64::try_from(nanoseconds.div_euclid(unit)).ok()
    }

    /// The date that a number stands for, as text, if there is one.
    fn moment(&self, stored: ScalarValue, number: f64) -> Option<String> {
        self.date_of(stored, number).map(|date| format!("{date:#}"))
    }

    fn date_of(&self, stored: ScalarValue, number: f64) -> Option<Date> {
        let time = self.meaning.time?;
        match stored {
            // Whole numbers are exact.
            ScalarValue::Integer(count) if self.meaning.affine.is_identity() => {
                i64::try_from(count).ok().and_then(|count| time.date_of_integer(count))
            }
            _ => time.date(number),
        }
    }
}

/// The data type whose elements may be missing, if there is one.
fn optional(inner: DataType) -> Option<DataType> {
    Optional::new(inner).map(DataType::from).ok()
}

/// NumPy's type for times in such units: microseconds, which reach 292,000 years, or nanoseconds where these are counted. `None`
/// if NumPy does not have the calendar.
fn numpy_time(time: TimeUnits) -> Option<NumpyTime> {
    if !matches!(time.calendar, Calendar::Standard | Calendar::ProlepticGregorian) {
        return None;
    }
    NumpyTime::from_typestr(if time.seconds() < 1e-6 { "<M8[ns]" } else { "<M8[us]" })
}

/// A date as `ncdump -t` writes it: a blank before the time, of which zeros at the end are left out.
fn as_ncdump(date: &str) -> String {
    let Some((day, time)) = date.split_once('T') else { return date.to_owned() };
    let time = time.strip_suffix(":00").unwrap_or(time);
    match time.strip_suffix(":00").unwrap_or(time) {
        "00" => day.to_owned(),
        time => format!("{day} {time}"),
    }
}
