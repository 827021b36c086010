//! Texts of fixed length, `U5` and `S4`, as Rust's strings.

use std::borrow::Cow;

use super::{DataType, Endian, unpadded, utf32_chars};
use crate::error::AccessError;

impl DataType {
    /// Whether elements are texts that NULs pad to the length of the type (Z2-034).
    pub(crate) fn is_fixed_text(&self) -> bool {
        matches!(self, DataType::FixedUtf32 { .. } | DataType::FixedBytes { .. })
    }

    /// The text of an element, without its padding, in UTF-8.
    pub(crate) fn fixed_text<'a>(&self, element: &'a [u8]) -> Result<Cow<'a, str>, AccessError> {
        if let DataType::FixedUtf32 { .. } = self {
            // What is no code point was refused when the chunk was decoded.
            return Ok(utf32_chars(unpadded(element, 4), Endian::NATIVE).collect());
        }
        match std::str::from_utf8(unpadded(element, 1)) {
            Ok(text) => Ok(text.into()),
            Err(_) => {
                let why = format!(
                    "an element of type `{self}` is not UTF-8: `{}`; read it as `[u8; {}]` or with `read_bytes`",
                    element.escape_ascii(),
                    element.len()
                );
                Err(AccessError::Argument(why))
            }
        }
    }

    /// Adds the element of this text to native memory.
    pub(crate) fn push_fixed_text(
        &self,
        text: &str,
        memory: &mut Vec<u8>,
    ) -> Result<(), AccessError> {
        let start = memory.len();
        let (most, found, unit) = match self {
            DataType::FixedUtf32 { len } => {
                text.chars().for_each(|c| memory.extend_from_slice(&u32::from(c).to_ne_bytes()));
                (*len, (memory.len() - start) / 4, 4)
            }
            DataType::FixedBytes { len } => {
                memory.extend_from_slice(text.as_bytes());
                (*len, text.len(), 1)
            }
            _ => return Err(AccessError::Argument(format!("`{self}` is not a type of texts"))),
        };
        if found > most {
            let length =
                if unit == 4 { format!("{found} characters") } else { format!("{found} bytes") };
            let why = format!("the text {text:?} has {length}; `{self}` has room for {most}");
            return Err(AccessError::Argument(why));
        }
        if text.ends_with('\0') {
            let why =
                format!("the text {text:?} ends with NUL, which `{self}` cannot tell from padding");
            return Err(AccessError::Argument(why));
        }
        memory.resize(start + most * unit, 0);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back_without_padding() {
        for data_type in [DataType::FixedUtf32 { len: 3 }, DataType::FixedBytes { len: 3 }] {
            let mut memory = Vec::new();
            for text in ["", "ab", "a\0b"] {
                memory.clear();
                data_type.push_fixed_text(text, &mut memory).unwrap();
                assert_eq!(memory.len(), data_type.repr().unwrap().size());
                assert_eq!(data_type.fixed_text(&memory).unwrap(), text);
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let why = |data_type: DataType, text: &str| {
            data_type.push_fixed_text(text, &mut Vec::new()).unwrap_err().to_string()
        };
        assert_eq!(
            why(DataType::FixedUtf32 { len: 2 }, "äöü"),
            "the text \"äöü\" has 3 characters; `U2` has room for 2"
        );
        assert_eq!(
            why(DataType::FixedBytes { len: 3 }, "äö"),
            "the text \"äö\" has 4 bytes; `|S3` has room for 3"
        );
        assert_eq!(
            why(DataType::FixedBytes { len: 3 }, "a\0"),
            "the text \"a\\0\" ends with NUL, which `|S3` cannot tell from padding"
        );
        let latin = DataType::FixedBytes { len: 2 }.fixed_text(b"\xe4\0").unwrap_err();
        assert_eq!(
            latin.to_string(),
            "an element of type `|S2` is not UTF-8: `\\xe4\\x00`; read it as `[u8; 2]` or with `read_bytes`"
        );
    }
}
