//! Checks that a data type's fill values are exact in both directions.

use super::Subject;
use crate::shared::{Random, calm, good, junk};
use zarr_core::data_type::{DataType, FillValue};
use zarr_core::{Dialect, Json, MetadataError};

/// Checks the samples, which are fill values of `dialect`. Returns zero bytes and the samples.
pub(super) fn check(subject: &Subject<'_>, dialect: Dialect, samples: &[Json]) -> Vec<FillValue> {
    let name = &subject.name;
    let zero = subject.data_type.repr().map(FillValue::zero_of);
    let mut fills = vec![zero.unwrap_or_else(|| FillValue::zero(0))];
    for dialect in subject.dialects() {
        let written = to_json(subject, &fills[0], dialect);
        good(written, format_args!("{name}: the fill value of zero bytes in {dialect}"));
    }
    for json in samples {
        let what = format!("{name}: the fill value {}", json.brief());
        let fill = good(read(subject, json, dialect), format_args!("{what} in {dialect}"));
        good(to_json(subject, &fill, dialect), format_args!("{what} in {dialect}, written again,"));
        fills.push(fill);
    }
    for fill in &fills {
        for dialect in subject.dialects() {
            there_and_back(subject, fill, dialect);
        }
    }
    for dialect in subject.dialects() {
        junk_is_refused(subject, dialect);
    }
    fills
}

/// Checks that a written fill value is parsed as the same bytes.
fn there_and_back(subject: &Subject<'_>, fill: &FillValue, dialect: Dialect) {
    let Ok(json) = to_json(subject, fill, dialect) else { return };
    let bytes = fill.as_bytes();
    let what = format!("{}: the fill value {bytes:?}, in {dialect} {}", subject.name, json.brief());
    let back = good(read(subject, &json, dialect), format_args!("{what}, read again,"));
    let found = back.as_bytes();
    assert!(found == bytes, "{what}, is read again as {found:?}");
}

fn junk_is_refused(subject: &Subject<'_>, dialect: Dialect) {
    let name = &subject.name;
    for json in junk() {
        let found = read(subject, &json, dialect);
        let deep =
            json.to_string().contains("[[[[") || json.to_string().contains("{\"a\":{\"a\":{");
        // Only nullable types have a value `null`.
        let is_null = json == Json::Null && !matches!(subject.data_type, DataType::Optional(_));
        let never = deep || is_null && dialect == Dialect::V3;
        let refused = found.is_err() || !never;
        assert!(refused, "{name}: {} is no fill value in {dialect}", json.brief());
    }
    let mut random = Random::new(7);
    for _ in 0..16 {
        // Bytes that may not be an element.
        let fill = FillValue::new(random.bytes(subject.sizes().0));
        let _ = to_json(subject, &fill, dialect);
    }
}

/// Parses a fill value, which is an element or an error.
fn read(subject: &Subject<'_>, json: &Json, dialect: Dialect) -> Result<FillValue, MetadataError> {
    let (name, (size, _)) = (&subject.name, subject.sizes());
    let what = format!("{name}: the fill value {} in {dialect}", json.brief());
    let fill = calm(format_args!("{what}"), || subject.data_type.element_from_json(json, dialect))?;
    let found = fill.as_bytes().len();
    let fits = found == size || subject.data_type.is_variable();
    assert!(fits, "{what} has {found} bytes, an element has {size}");
    let checked = subject.data_type.check_element(fill.as_bytes());
    assert!(checked.is_ok(), "{what} is an element");
    Ok(fill)
}

fn to_json(
    subject: &Subject<'_>,
    fill: &FillValue,
    dialect: Dialect,
) -> Result<Json, MetadataError> {
    let bytes = fill.as_bytes();
    let what = format_args!("{}: spelling the fill value {bytes:?} in {dialect}", subject.name);
    calm(what, || subject.data_type.element_to_json(fill, dialect))
}
