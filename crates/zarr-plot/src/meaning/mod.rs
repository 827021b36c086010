//! What CF and OME say of an array: missing values, scale and offset, times, axes, channels; where on Earth it is ([`geo`]); and
//! which wells a [`Plate`] has.
//!
//! [`Meaning::of`] looks at an array's own attributes and reads nothing from the store. [`axes_of`] opens the variables that have
//! the coordinates, and [`Image::of_array`] the groups above it.
//!
//! ```
//! use zarr_plot::meaning::{Meaning, MissingRule};
//!
//! # fn example(array: &zarr_core::Array) {
//! let meaning = Meaning::of(array, MissingRule::Declared);
//! // The elements that mean nothing, and the number that a stored 17 stands for.
//! println!("{:?} {}", meaning.missing.values(), meaning.affine.apply(17.0));
//! # }
//! ```

mod affine;
mod axes;
mod calendar;
mod flags;
pub mod geo;
mod missing;
mod ome;
mod plate;
mod select;
mod time;

use zarr_core::data_type::{DataType, NumpyTime, Scalar, ScalarValue, TimeKind, TimeUnit};
use zarr_core::{Array, Dialect, Json, Object, missing_value};

pub use self::affine::Affine;
pub(crate) use self::axes::axes_of_image;
pub use self::axes::{Axis, AxisKind, Coordinates, Positive, axes_of};
pub use self::calendar::{Calendar, Date};
pub use self::flags::Flags;
pub(crate) use self::missing::{MAX_COMPARED, number, unsigned};
pub use self::missing::{Missing, MissingRule};
pub(crate) use self::ome::color;
pub use self::ome::{Channel, Image, Images, Level, label_images};
pub use self::plate::{Acquisition, Field, Plate, PlateWell, fields_of_well};
pub use self::select::Reach;
pub use self::time::TimeUnits;

/// What the elements of an array stand for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Meaning {
    /// Which of them are missing.
    pub missing: Missing,
    /// Whether only -2^63 of a time is missing, which nothing declares.
    pub has_only_no_time: bool,
    /// How numbers are unpacked.
    pub affine: Affine,
    /// Whether integers are read as unsigned: netCDF's `_Unsigned` is `"true"`.
    pub unsigned: bool,
    /// How numbers, unpacked, are times.
    pub time: Option<TimeUnits>,
    /// The attribute `units`.
    pub units: Option<String>,
    /// The attribute `long_name`, else `standard_name`.
    pub title: Option<String>,
    /// The names of values (CF 3.5).
    pub flags: Flags,
    /// What was found and cannot be applied, for people.
    pub warnings: Vec<String>,
}

impl Meaning {
    /// What an array's attributes say. Of an array in v2 or a draft whose fill value may stand for missing elements, the documents of the
    /// groups above it are read: the fill value of an image's level is an element like any other.
    pub fn of(array: &Array, rule: MissingRule) -> Meaning {
        let metadata = array.metadata();
        let attributes = &metadata.attributes;
        let mut warnings = Vec::new();
        let scalar = metadata.data_type.scalar();
        let unsigned = matches!(scalar, Some(Scalar::Int(_))) && is_unsigned(attributes);
        let dialect = array.hierarchy().dialect();
        let is_masked = missing_value::is_fill_value(dialect)
            && missing_value::has_names(&metadata)
            && !(metadata.fill_value.is_some()
                && ome::may_be_level(&metadata)
                && ome::is_level(array));
        let masked = if is_masked { dialect } else { Dialect::V3 };
        let missing = Missing::of(&metadata, masked, rule, unsigned, &mut warnings);
        let is_number = matches!(
            scalar,
            Some(Scalar::Int(_) | Scalar::Uint(_) | Scalar::Float(_) | Scalar::Complex(_))
        );
        let affine =
            if is_number { Affine::of(attributes, &mut warnings) } else { Affine::default() };
        let units = text(attributes, "units");
        let is_real = is_number && !matches!(scalar, Some(Scalar::Complex(_)));
        let time = units.as_deref().filter(|_| is_real).and_then(|units| {
            let calendar = text(attributes, "calendar");
            TimeUnits::parse(units, calendar.as_deref()).unwrap_or_else(|why| {
                warnings.push(why);
                None
            })
        });
        let title = text(attributes, "long_name").or_else(|| text(attributes, "standard_name"));
        let flags = Flags::of(attributes);
        let mut meaning = Meaning {
            missing,
            has_only_no_time: false,
            affine,
            unsigned,
            time,
            units,
            title,
            flags,
            warnings,
        };
        if rule != MissingRule::None {
            meaning.mark_no_time(&metadata.data_type);
        }
        meaning
    }

    /// Takes the count that xarray writes for NaT, -2^63, for missing where integers of 64 bits are times or spans of time. xarray
    /// declares it with no attribute; no moment is so far from any date, and xarray reads it as NaT whatever is declared.
    fn mark_no_time(&mut self, data_type: &DataType) {
        let is_span = self.units.as_deref().is_some_and(TimeUnits::is_span);
        let is_int64 = self.scalar(data_type) == Some(Scalar::Int(64));
        if is_int64 && (self.time.is_some() || is_span) {
            self.has_only_no_time = self.missing.is_empty();
            self.missing.add(ScalarValue::Integer(NumpyTime::NAT.into()));
        }
    }

    /// Takes the units and the times of another array, whose bounds the elements of this one are.
    pub fn set_units_of(&mut self, owner: Meaning, data_type: &DataType) {
        (self.units, self.time) = (owner.units, owner.time);
        self.mark_no_time(data_type);
    }

    /// The stored values as they are, nothing missing but NaT.
    pub fn raw(array: &Array) -> Meaning {
        let mut missing = Missing::default();
        if let Some(Scalar::Time(_)) = array.data_type().scalar() {
            missing.add(ScalarValue::Float(f64::NAN));
        }
        Meaning { missing, ..Meaning::default() }
    }

    /// The number that a stored value stands for; `None` if it is missing.
    pub fn decode(&self, stored: ScalarValue) -> Option<f64> {
        (!self.missing.contains(stored)).then(|| self.affine.apply(number(stored)))
    }

    /// The kind of number that stored elements are read as; `None` if they are no real numbers.
    pub fn scalar(&self, data_type: &DataType) -> Option<Scalar> {
        let scalar = data_type.scalar().filter(|scalar| !matches!(scalar, Scalar::Complex(_)))?;
        Some(unsigned(scalar, self.unsigned))
    }
}

/// The moments that NumPy's counts of time are; `None` for spans, and for years, months and no unit.
pub fn units_of_numpy(time: NumpyTime) -> Option<TimeUnits> {
    let unit = match time.unit {
        TimeUnit::Week => 7 * 86_400_000_000_000,
        TimeUnit::Day => 86_400_000_000_000,
        TimeUnit::Hour => 3_600_000_000_000,
        TimeUnit::Minute => 60_000_000_000,
        TimeUnit::Second => 1_000_000_000,
        TimeUnit::Millisecond => 1_000_000,
        TimeUnit::Microsecond => 1_000,
        TimeUnit::Nanosecond => 1,
        _ => return None,
    };
    (time.kind == TimeKind::Datetime)
        .then(|| TimeUnits::of_nanoseconds(unit * i128::from(time.scale_factor)))
}

/// `_Unsigned` counts only if it is true: `"false"` is a text, too, and no yes.
fn is_unsigned(attributes: &Object) -> bool {
    match attributes.get("_Unsigned") {
        Some(Json::String(text)) => text.eq_ignore_ascii_case("true"),
        Some(other) => other.as_bool() == Some(true),
        None => false,
    }
}

/// The text of an attribute, if it is one that says something.
pub(crate) fn text(attributes: &Object, name: &str) -> Option<String> {
    let text = attributes.get(name)?.as_str()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}
