//! Writes one element as text, for people.

use zarr::data_type::{DataType, ElementText, Endian, Scalar, ScalarValue};
use zarr::var_buffer::VarStream;
use zarr_plot::meaning::{Meaning, units_of_numpy};

/// Longer texts are cut.
const MAX_TEXT_LENGTH: usize = 200;

/// The elements of native bytes, each by itself.
pub(crate) fn split<'a>(data_type: &DataType, bytes: &'a [u8]) -> Vec<&'a [u8]> {
    let size = data_type.repr().map_or(1, |repr| repr.size());
    if !data_type.is_variable() {
        return bytes.chunks_exact(size.max(1)).collect();
    }
    VarStream::new(bytes).collect()
}

/// An element as it is decoded: unpacked, a date, a text; `None` if it is missing.
pub(crate) fn shown(data_type: &DataType, meaning: &Meaning, element: &[u8]) -> Option<String> {
    let Some(scalar) = meaning.scalar(data_type) else { return Some(stored(data_type, element)) };
    let value = scalar.load(element);
    if meaning.missing.contains(value) {
        return None;
    }
    let date = match (meaning.time, value) {
        (Some(units), _) => units.date(meaning.affine.apply(as_f64(value))),
        (None, _) => None,
    };
    Some(match date {
        Some(date) => date.to_string(),
        None if !meaning.affine.is_identity() => format!("{}", meaning.affine.apply(as_f64(value))),
        None if meaning.unsigned => match value {
            ScalarValue::Integer(value) => value.to_string(),
            ScalarValue::Float(value) => value.to_string(),
        },
        None => stored(data_type, element),
    })
}

/// An element as it is stored.
pub(crate) fn stored(data_type: &DataType, element: &[u8]) -> String {
    match data_type {
        DataType::Time(time) => {
            let ScalarValue::Integer(count) = Scalar::Time(*time).load(element) else {
                return "NaT".into();
            };
            let date = units_of_numpy(*time)
                .and_then(|units| units.date_of_integer(i64::try_from(count).ok()?));
            date.map_or_else(|| count.to_string(), |date| date.to_string())
        }
        DataType::Record(record) => {
            let fields = record.fields().iter().map(|field| {
                let bytes =
                    element.get(field.offset()..field.offset() + field.size()).unwrap_or_default();
                let parts: Vec<String> = split(field.data_type(), bytes)
                    .iter()
                    .take(4)
                    .map(|part| stored(field.data_type(), part))
                    .collect();
                let all = if field.shape().is_empty() {
                    parts.join(", ")
                } else {
                    format!("[{}…]", parts.join(", "))
                };
                format!("{}: {all}", field.name())
            });
            cut(&fields.collect::<Vec<_>>().join(", "))
        }
        _ => match data_type.element_text(element, Endian::NATIVE) {
            ElementText::Number(scalar, native) => scalar.to_text(&native),
            ElementText::Text(text) => cut(&text),
            ElementText::Bytes(bytes) if matches!(data_type, DataType::String | DataType::Json) => {
                cut(&String::from_utf8_lossy(bytes))
            }
            ElementText::Bytes(bytes) => hexadecimal(bytes),
        },
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_TEXT_LENGTH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    let more = if bytes.len() > 16 { "…" } else { "" };
    format!("{} bytes: {digits}{more}", bytes.len())
}

/// A stored number in f64.
pub(crate) fn as_f64(value: ScalarValue) -> f64 {
    match value {
        ScalarValue::Integer(value) => value as f64,
        ScalarValue::Float(value) => value,
    }
}
