//! Tells which elements of an array are missing.
//!
//! CF 2.5.1 and netCDF's conventions have `_FillValue`, `missing_value`, `valid_min`, `valid_max` and `valid_range`, all in the
//! packed type: that of the stored elements. Which fill values count is in `zarr_core::missing_value`
//! (docs/internals/design/missing-data.md).

use std::collections::HashSet;

use zarr_core::data_type::{DataType, Scalar, ScalarValue};
use zarr_core::missing_value;
use zarr_core::{ArrayMetadata, Dialect, Json};

/// Which values of an array are taken for missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissingRule {
    /// What attributes say; and the array's fill value where netCDF and xarray take it for missing: in v2 and the drafts, if
    /// all axes have names.
    #[default]
    Declared,
    /// These, and the array's fill value in every dialect.
    Fill,
    /// None.
    None,
}

/// The elements that are missing, as stored values of the array's type. NaN is missing only where it is declared to be.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Missing {
    values: Vec<ScalarValue>,
    /// The keys of the values: a document can list thousands.
    keys: HashSet<(bool, u64)>,
    /// Less is missing.
    pub valid_min: Option<ScalarValue>,
    /// More is missing.
    pub valid_max: Option<ScalarValue>,
}

/// Up to this many values, comparing a number with each is faster than hashing it.
pub(crate) const MAX_COMPARED: usize = 16;

impl Missing {
    /// What an array's metadata say to readers of a dialect; what cannot be applied goes to `warnings`. `is_unsigned` if elements are read as unsigned
    /// (`_Unsigned`).
    pub(crate) fn of(
        metadata: &ArrayMetadata,
        dialect: Dialect,
        rule: MissingRule,
        is_unsigned: bool,
        warnings: &mut Vec<String>,
    ) -> Missing {
        let mut missing = Missing::default();
        let scalar = metadata.data_type.scalar();
        let real = scalar.filter(|scalar| !matches!(scalar, Scalar::Complex(_) | Scalar::Bool));
        let (Some(scalar), true) = (real, rule != MissingRule::None) else { return missing };
        let declared = missing_value::of(metadata, dialect);
        let fill = metadata.fill_value.clone().filter(|_| rule == MissingRule::Fill);
        for value in declared.iter().chain(&fill) {
            missing.add(unsigned(scalar, is_unsigned).load(value.as_bytes()));
        }
        let attribute = metadata.attributes.get(missing_value::FILL_VALUE);
        let mut refuse = |name: &str, json: &Json| {
            let (found, data_type) = (json.brief(), &metadata.data_type);
            warnings.push(format!("`{name}` is not applied: {found} is not of type {data_type}"));
        };
        if let (None, Some(json)) = (&declared, attribute) {
            refuse(missing_value::FILL_VALUE, json);
        }
        let value = |json: &Json| value_of(&metadata.data_type, scalar, is_unsigned, json);
        if let Some(json) = metadata.attributes.get("missing_value") {
            for item in items(json) {
                match value(item) {
                    Some(value) => missing.add(value),
                    None => refuse("missing_value", item),
                }
            }
        }
        let mut limit = |name: &str, json: Option<&Json>| {
            let json = json?;
            let found = value(json).filter(|value| !value.is_nan());
            if found.is_none() {
                refuse(name, json);
            }
            found
        };
        let range = metadata.attributes.get("valid_range");
        if let Some([low, high]) = range.map(items) {
            missing.valid_min = limit("valid_range", Some(low));
            missing.valid_max = limit("valid_range", Some(high));
        } else {
            missing.valid_min = limit("valid_min", metadata.attributes.get("valid_min"));
            missing.valid_max = limit("valid_max", metadata.attributes.get("valid_max"));
            if let Some(json) = range {
                let found = json.brief();
                warnings
                    .push(format!("`valid_range` is not applied: {found} is not a list of two"));
            }
        }
        if let (Some(low), Some(high)) = (missing.valid_min, missing.valid_max)
            && is_less(high, low)
        {
            let (low, high) = (number(low), number(high));
            warnings.push(format!(
                "the range of valid values is not applied: it goes from {low} down to {high}"
            ));
            (missing.valid_min, missing.valid_max) = (None, None);
        }
        if let Scalar::Time(_) = scalar {
            missing.add(ScalarValue::Float(f64::NAN));
        }
        missing
    }

    /// Takes a value for missing.
    pub fn add(&mut self, value: ScalarValue) {
        if self.keys.insert(value.key()) {
            self.values.push(value);
        }
    }

    /// Values that stand for a missing one, none twice.
    pub fn values(&self) -> &[ScalarValue] {
        &self.values
    }

    /// Whether a stored value is one of [`Missing::values`].
    pub(crate) fn is_listed(&self, value: ScalarValue) -> bool {
        if self.values.len() <= MAX_COMPARED {
            return self.values.iter().any(|missing| missing.key() == value.key());
        }
        self.keys.contains(&value.key())
    }

    /// Whether nothing is missing.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty() && self.valid_min.is_none() && self.valid_max.is_none()
    }

    /// Whether a stored value is missing.
    pub fn contains(&self, value: ScalarValue) -> bool {
        self.is_listed(value)
            || self.valid_min.is_some_and(|least| is_less(value, least))
            || self.valid_max.is_some_and(|most| is_less(most, value))
    }
}

fn is_less(a: ScalarValue, b: ScalarValue) -> bool {
    match (a, b) {
        (ScalarValue::Integer(a), ScalarValue::Integer(b)) => a < b,
        (a, b) => number(a) < number(b),
    }
}

/// The value in f64.
pub(crate) fn number(value: ScalarValue) -> f64 {
    match value {
        ScalarValue::Integer(value) => value as f64,
        ScalarValue::Float(value) => value,
    }
}

/// The kind of number that a stored one is read as.
pub(crate) fn unsigned(scalar: Scalar, is_unsigned: bool) -> Scalar {
    match scalar {
        Scalar::Int(bits) if is_unsigned => Scalar::Uint(bits),
        other => other,
    }
}

/// The items of a list, or the one value.
pub(crate) fn items(json: &Json) -> &[Json] {
    match json {
        Json::Array(items) => items,
        one => std::slice::from_ref(one),
    }
}

/// The value of an attribute in the array's type; `None` if it is none. With `_Unsigned` it may be signed or unsigned.
fn value_of(
    data_type: &DataType,
    scalar: Scalar,
    is_unsigned: bool,
    json: &Json,
) -> Option<ScalarValue> {
    let [json] = items(json) else { return None };
    let kind = unsigned(scalar, is_unsigned);
    if let Some(value) = missing_value::from_json(data_type, json) {
        return Some(kind.load(value.as_bytes()));
    }
    // netCDF's attributes in JSON lose their type: -9999.0 may be a whole number, 255 the -1 of unsigned bytes.
    let value: f64 = json.as_number()?.parse().ok()?;
    let integer = (value.fract() == 0.0 && value.abs() < 1e18).then_some(value as i128)?;
    let bits = kind.cast(ScalarValue::Integer(integer), Default::default(), None)?;
    let mut element = vec![0; kind.size()];
    kind.store(bits, &mut element);
    Some(kind.load(&element))
}
