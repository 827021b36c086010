//! Finds what an element says: a number, a text, or bytes.

use std::borrow::Cow;

use super::{DataType, Endian, Scalar};

/// The value of an element, as a number, text or bytes. How it is written is up to the notation: JSON and CSV quote text, and
/// have no number for NaN.
///
/// ```
/// use zarr_core::data_type::{CoreType, DataType, ElementText, Endian};
///
/// fn show(data_type: &DataType, element: &[u8]) -> String {
///     match data_type.element_text(element, Endian::Little) {
///         ElementText::Number(scalar, native) => scalar.to_text(&native),
///         ElementText::Text(text) => format!("{text:?}"),
///         ElementText::Bytes(bytes) => format!("{bytes:x?}"),
///     }
/// }
/// assert_eq!(show(&DataType::Int16, &[0xfe, 0xff]), "-2");
/// assert_eq!(show(&DataType::FixedBytes { len: 4 }, b"ab\0\0"), "\"ab\"");
/// assert_eq!(show(&DataType::Raw { size: 2 }, &[0x0a, 0xff]), "[a, ff]");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum ElementText<'a> {
    /// A number, a truth value or a time, which [`Scalar::to_text`] prints: its kind, and its native bytes.
    Number(Scalar, Cow<'a, [u8]>),
    /// A text, without the NULs that pad it. A unit of UTF-32 that is not a code point is U+FFFD.
    Text(Cow<'a, str>),
    /// All bytes of an element that is neither: of a raw or a nullable type, a record or a list, or a text that is not UTF-8.
    Bytes(&'a [u8]),
}

/// As [`DataType::element_text`].
pub(super) fn element_text<'a>(
    data_type: &DataType,
    element: &'a [u8],
    endian: Endian,
) -> ElementText<'a> {
    let text = match data_type {
        DataType::String | DataType::Json => std::str::from_utf8(element).ok(),
        DataType::FixedBytes { .. } => std::str::from_utf8(unpadded(element, 1)).ok(),
        DataType::FixedUtf32 { .. } => {
            let text: String = utf32_chars(unpadded(element, 4), endian).collect();
            return ElementText::Text(text.into());
        }
        other => match other.scalar() {
            Some(scalar) => return ElementText::Number(scalar, scalar.to_native(element, endian)),
            None => None,
        },
    };
    match text {
        Some(text) => ElementText::Text(text.into()),
        None => ElementText::Bytes(element),
    }
}

/// The characters of UTF-32, NULs among them. A unit that is not a code point is U+FFFD.
pub fn utf32_chars(element: &[u8], endian: Endian) -> impl Iterator<Item = char> {
    let code = move |unit: &[u8; 4]| match endian {
        Endian::Little => u32::from_le_bytes(*unit),
        Endian::Big => u32::from_be_bytes(*unit),
    };
    let codes = element.as_chunks::<4>().0.iter().map(code);
    codes.map(|code| char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER))
}

/// A text of characters of `unit` bytes without the NULs at its end, which pad it to the length of its type (Z2-034).
pub fn unpadded(element: &[u8], unit: usize) -> &[u8] {
    let last = element.iter().rposition(|&byte| byte != 0);
    let len = last.map_or(0, |last| (last / unit + 1) * unit);
    &element[..len.min(element.len())]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data_type::CoreType::{Bool, Complex64, Int16};

    fn text(text: &str) -> ElementText<'_> {
        ElementText::Text(text.into())
    }

    #[test]
    fn texts_are_without_their_padding() {
        let fixed = DataType::FixedBytes { len: 4 };
        let say = |element: &'static [u8]| fixed.element_text(element, Endian::NATIVE);
        assert_eq!(say(b"a\0b\0"), text("a\0b"));
        assert_eq!(say(b"\0\0\0\0"), text(""));
        assert_eq!(say(b"\xff\0\0\0"), ElementText::Bytes(b"\xff\0\0\0"));
        assert_eq!(DataType::String.element_text(b"a\0", Endian::NATIVE), text("a\0"));
        assert_eq!(unpadded(b"\0\0\0a\0\0\0\0\0\0", 4), b"\0\0\0a");
        assert_eq!(unpadded(b"\0\0\0\0a", 4), b"\0\0\0\0a");
    }

    #[test]
    fn utf_32_is_read_in_either_byte_order() {
        let fixed = DataType::FixedUtf32 { len: 3 };
        let units = [u32::from('é'), 0xd800, 0];
        let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        let big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
        assert_eq!(fixed.element_text(&little, Endian::Little), text("é\u{fffd}"));
        assert_eq!(fixed.element_text(&big, Endian::Big), text("é\u{fffd}"));
        assert_eq!(utf32_chars(&big, Endian::Big).last(), Some('\0'));
    }

    #[test]
    fn numbers_are_native() {
        let number = |data_type: DataType, element: &[u8]| match data_type
            .element_text(element, Endian::Big)
        {
            ElementText::Number(scalar, native) => scalar.to_text(&native),
            other => panic!("{other:?}"),
        };
        assert_eq!(number(Bool.into(), &[1]), "true");
        assert_eq!(number(Int16.into(), &[0xff, 0xfe]), "-2");
        let complex = [1f32.to_be_bytes(), (-0.5f32).to_be_bytes()].concat();
        assert_eq!(number(Complex64.into(), &complex), "1.0-0.5j");
    }

    #[test]
    fn what_is_neither_is_bytes() {
        for data_type in [DataType::Raw { size: 2 }, DataType::Bytes] {
            assert_eq!(data_type.element_text(b"ab", Endian::NATIVE), ElementText::Bytes(b"ab"));
        }
    }
}
