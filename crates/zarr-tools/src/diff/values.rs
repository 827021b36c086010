//! Compares two elements by their values.

use zarr_core::Json;
use zarr_core::data_type::{DataType, ElementText, Endian, Field, Scalar, ScalarValue};

/// A part of an element that is compared by itself: all of it, or one value of a field of a record.
#[derive(Clone, Debug)]
pub(super) struct ElementPart {
    /// The names of the fields, with periods between them; empty for a whole element.
    pub field: String,
    pub offset: usize,
    pub size: usize,
    pub data_type: DataType,
    /// The kind of number, if it is one.
    pub scalar: Option<Scalar>,
}

impl ElementPart {
    /// The bytes of the part in an element, in which it may be another kind of number.
    pub fn bytes_in<'a>(&self, element: &'a [u8], scalar: Option<Scalar>) -> &'a [u8] {
        let size = scalar.map_or(self.size, Scalar::size);
        element.get(self.offset..self.offset + size).unwrap_or(element)
    }
}

/// The parts of elements of a type that have a fixed size, in their order.
pub(super) fn element_parts(data_type: &DataType) -> Vec<ElementPart> {
    let mut all = Vec::new();
    for leaf in data_type.leaves() {
        let data_type = leaf.data_type();
        all.extend(leaf.values().map(|value| ElementPart {
            field: name(leaf.fields(), &value.items),
            offset: value.offset,
            size: data_type.repr().map_or(1, |repr| repr.size()),
            data_type: data_type.clone(),
            scalar: data_type.scalar(),
        }));
    }
    // The fields of several records alternate.
    all.sort_by_key(|part| part.offset);
    all
}

/// `e.x`, and `q[2].x` in the third of several records.
fn name(fields: &[&Field], items: &[usize]) -> String {
    let mut name = String::new();
    for (field, item) in fields.iter().zip(items) {
        name.push_str(if name.is_empty() { "" } else { "." });
        name.push_str(field.name());
        if !field.shape().is_empty() {
            name.push_str(&format!("[{item}]"));
        }
    }
    name
}

/// How two values of a part differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Difference {
    /// By a number; relative to the larger one.
    Number { absolute: ScalarValue, relative: f64 },
    /// In another way: one is NaN, or they are no numbers.
    Other,
}

/// How far values may be from each other.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tolerance {
    pub absolute: f64,
    pub relative: f64,
    pub bits: bool,
}

impl Tolerance {
    /// How two parts differ, little-endian; `None` if they are equal. Every NaN equals every other, and the zeros are equal.
    pub fn compare(
        &self,
        (one, scalar): (&[u8], Option<Scalar>),
        (other, other_scalar): (&[u8], Option<Scalar>),
    ) -> Option<Difference> {
        if one == other && scalar == other_scalar {
            return None;
        }
        let found = match (scalar, other_scalar) {
            (Some(Scalar::Complex(a)), Some(Scalar::Complex(b))) => {
                self.complex((one, Scalar::Float(a)), (other, Scalar::Float(b)))
            }
            (Some(Scalar::Complex(_)), _) | (_, Some(Scalar::Complex(_))) => {
                Some(Difference::Other)
            }
            (Some(a), Some(b)) => self.real(load(a, one), load(b, other)),
            _ => Some(Difference::Other),
        };
        match found {
            None if self.bits => Some(Difference::Other),
            found => found,
        }
    }

    fn real(&self, a: ScalarValue, b: ScalarValue) -> Option<Difference> {
        use ScalarValue::{Float, Integer};
        let (absolute, larger) = match (a, b) {
            (Integer(a), Integer(b)) if a == b => return None,
            (Integer(a), Integer(b)) => {
                let absolute = a.abs_diff(b) as i128;
                let larger = a.unsigned_abs().max(b.unsigned_abs()) as f64;
                // Not as doubles: 2⁵³ + 1 is beyond a tolerance of 2⁵³.
                if absolute <= self.absolute.floor() as i128 {
                    return None;
                }
                (Integer(absolute), larger)
            }
            // A whole number keeps its value beside an integer that a double cannot hold.
            (Integer(_), Float(x)) if is_whole(x) => return self.real(a, Integer(x as i128)),
            (Float(x), Integer(_)) if is_whole(x) => return self.real(Integer(x as i128), b),
            (a, b) => {
                if a.is_nan() && b.is_nan() || is_same(a, b) {
                    return None;
                }
                let (a, b) = (as_double(a), as_double(b));
                if !a.is_finite() || !b.is_finite() {
                    return Some(Difference::Other);
                }
                (Float((a - b).abs()), a.abs().max(b.abs()))
            }
        };
        let distance = as_double(absolute);
        let is_near = distance <= self.absolute.max(self.relative * larger);
        let is_exact = matches!(absolute, Integer(_)) && self.relative == 0.0;
        (!is_near || is_exact).then(|| Difference::Number { absolute, relative: distance / larger })
    }

    fn complex(&self, a: (&[u8], Scalar), b: (&[u8], Scalar)) -> Option<Difference> {
        let (a, b) = (complex_parts(a), complex_parts(b));
        let equal = |n: usize| a[n].is_nan() && b[n].is_nan() || is_same(a[n], b[n]);
        if equal(0) && equal(1) {
            return None;
        }
        let [a, b] = [a, b].map(|parts| parts.map(as_double));
        if [a, b].as_flattened().iter().any(|part| !part.is_finite()) {
            return Some(Difference::Other);
        }
        let distance = (a[0] - b[0]).hypot(a[1] - b[1]);
        let larger = a[0].hypot(a[1]).max(b[0].hypot(b[1]));
        let is_near = distance <= self.absolute.max(self.relative * larger);
        let absolute = ScalarValue::Float(distance);
        (!is_near).then(|| Difference::Number { absolute, relative: distance / larger })
    }
}

/// The real and the imaginary part of a complex number.
fn complex_parts((bytes, scalar): (&[u8], Scalar)) -> [ScalarValue; 2] {
    let (real, imaginary) = bytes.split_at(scalar.size());
    [load(scalar, real), load(scalar, imaginary)]
}

/// Whether two numbers have the same value; an integer is not rounded to a double.
fn is_same(a: ScalarValue, b: ScalarValue) -> bool {
    use ScalarValue::{Float, Integer};
    match (a, b) {
        (Integer(a), Integer(b)) => a == b,
        (Float(a), Float(b)) => a == b,
        (Integer(n), Float(x)) | (Float(x), Integer(n)) => is_whole(x) && x as i128 == n,
    }
}

/// Whether it is a whole number that 128 bits hold.
fn is_whole(x: f64) -> bool {
    x.fract() == 0.0 && x.abs() < 1e30
}

pub(super) fn as_double(value: ScalarValue) -> f64 {
    match value {
        ScalarValue::Integer(value) => value as f64,
        ScalarValue::Float(value) => value,
    }
}

/// The value of a little-endian number.
fn load(scalar: Scalar, bytes: &[u8]) -> ScalarValue {
    scalar.load(&scalar.to_native(bytes, Endian::Little))
}

/// The value of a part as text: a number, a text in quotes, or hexadecimal bytes.
pub(super) fn text(bytes: &[u8], data_type: &DataType) -> String {
    let is_text = matches!(data_type, DataType::FixedBytes { .. } | DataType::String);
    match data_type.element_text(bytes, Endian::Little) {
        ElementText::Number(scalar, native) => scalar.to_text(&native),
        ElementText::Text(text) => quoted(&text),
        ElementText::Bytes(bytes) if is_text => quoted(&String::from_utf8_lossy(bytes)),
        ElementText::Bytes(bytes) => {
            let shown = bytes.iter().take(24).map(|byte| format!("{byte:02x}")).collect::<String>();
            let more = if bytes.len() > 24 { "…" } else { "" };
            format!("0x{shown}{more}")
        }
    }
}

/// A text as JSON, cut where it is long.
fn quoted(text: &str) -> String {
    Json::from(text.trim_end_matches('\0')).brief()
}

#[cfg(test)]
mod tests {
    use super::*;
    use zarr_core::CoreType;
    use zarr_core::CoreType::*;

    fn with(absolute: f64, relative: f64) -> Tolerance {
        Tolerance { absolute, relative, bits: false }
    }

    fn differ(tolerance: Tolerance, core: CoreType, a: &[u8], b: &[u8]) -> bool {
        let scalar = Some(core.scalar());
        tolerance.compare((a, scalar), (b, scalar)).is_some()
    }

    #[test]
    fn integers_of_64_bits_are_compared_exactly() {
        let (a, b) = (u64::MAX, u64::MAX - 1);
        let (a, b) = (a.to_le_bytes(), b.to_le_bytes());
        assert!(differ(with(0.0, 0.0), Uint64, &a, &b));
        assert!(!differ(with(1.0, 0.0), Uint64, &a, &b));
        let near = ((1i64 << 53) + 1).to_le_bytes();
        let zero = 0i64.to_le_bytes();
        assert!(differ(with((1u64 << 53) as f64, 0.0), Int64, &near, &zero));
        assert!(!differ(with((1u64 << 54) as f64, 0.0), Int64, &near, &zero));
        let found = with(0.0, 0.0).compare(
            (&i64::MIN.to_le_bytes(), Some(Int64.scalar())),
            (&i64::MAX.to_le_bytes(), Some(Int64.scalar())),
        );
        let absolute = ScalarValue::Integer(u64::MAX.into());
        assert!(matches!(found, Some(Difference::Number { absolute: a, .. }) if a == absolute));
    }

    #[test]
    fn nan_equals_nan_and_zeros_are_equal_unless_bits_count() {
        let bytes = f64::to_le_bytes;
        let other_nan = f64::from_bits(f64::NAN.to_bits() ^ 1);
        for (a, b, differs) in [
            (f64::NAN, other_nan, false),
            (0.0, -0.0, false),
            (f64::NAN, 1.0, true),
            (f64::INFINITY, f64::INFINITY, false),
            (f64::INFINITY, f64::NEG_INFINITY, true),
            (f64::INFINITY, 1e300, true),
        ] {
            assert_eq!(differ(with(1e9, 0.5), Float64, &bytes(a), &bytes(b)), differs, "{a} {b}");
        }
        let exact = Tolerance { bits: true, ..Tolerance::default() };
        assert!(differ(exact, Float64, &bytes(0.0), &bytes(-0.0)));
        assert!(!differ(exact, Float64, &bytes(f64::NAN), &bytes(f64::NAN)));
    }

    #[test]
    fn tolerances_are_absolute_or_relative_to_the_larger() {
        let bytes = f64::to_le_bytes;
        for (absolute, relative, a, b, differs) in [
            (0.1, 0.0, 1.0, 1.05, false),
            (0.1, 0.0, 1.0, 1.2, true),
            (0.0, 0.01, 100.0, 101.0, false),
            (0.0, 0.01, 101.0, 100.0, false),
            (0.0, 0.01, 100.0, 102.0, true),
            // The larger of the two counts, not their sum.
            (2.0, 0.02, 100.0, 102.03, false),
            (2.0, 0.02, 100.0, 103.0, true),
            (3.0, 0.01, 100.0, 103.0, false),
        ] {
            assert_eq!(differ(with(absolute, relative), Float64, &bytes(a), &bytes(b)), differs);
        }
        let ints = i32::to_le_bytes;
        assert!(!differ(with(0.0, 0.01), Int32, &ints(100), &ints(101)));
        assert!(differ(with(0.0, 0.01), Int32, &ints(100), &ints(103)));
        assert!(differ(with(2.0, 0.02), Int32, &ints(100), &ints(103)));
        assert!(!differ(with(2.0, 0.03), Int32, &ints(100), &ints(103)));
    }

    #[test]
    fn types_of_numbers_are_compared_by_value() {
        let exact = Tolerance::default();
        let (int, float) = (Some(Int64.scalar()), Some(Float64.scalar()));
        let big = (1i64 << 53) + 1;
        let rounded = (big as f64).to_le_bytes();
        assert!(exact.compare((&big.to_le_bytes(), int), (&rounded, float)).is_some());
        assert!(exact.compare((&7i64.to_le_bytes(), int), (&7f64.to_le_bytes(), float)).is_none());
    }

    #[test]
    fn complex_numbers_are_compared_by_their_distance() {
        let number = |re: f32, im: f32| [re.to_le_bytes(), im.to_le_bytes()].concat();
        let (a, b) = (number(1.0, 0.0), number(1.0, 0.25));
        assert!(differ(with(0.2, 0.0), Complex64, &a, &b));
        assert!(!differ(with(0.3, 0.0), Complex64, &a, &b));
        assert!(differ(with(0.2, 0.2), Complex64, &a, &b));
        assert!(!differ(with(0.2, 0.25), Complex64, &a, &b));
        assert!(!differ(with(0.0, 0.0), Complex64, &number(f32::NAN, 1.0), &number(f32::NAN, 1.0)));
        assert!(differ(with(0.0, 0.0), Complex64, &number(f32::NAN, 1.0), &number(f32::NAN, 2.0)));
    }
}
