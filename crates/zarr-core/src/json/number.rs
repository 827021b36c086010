//! The text of a number.

use std::fmt;
use std::ops::Deref;

/// The text of a number as the document has it. Short texts, which most are, are not allocated.
#[derive(Clone)]
pub struct Number(Text);

const MAX_INLINE_LENGTH: usize = 22;

#[derive(Clone)]
enum Text {
    Short { len: u8, bytes: [u8; MAX_INLINE_LENGTH] },
    Long(Box<str>),
}

impl Number {
    /// Whether it is a bare `NaN`, `Infinity` or `-Infinity`, which JSON does not have.
    pub fn is_bare_float(&self) -> bool {
        matches!(&**self, "NaN" | "Infinity" | "-Infinity")
    }
}

impl Deref for Number {
    type Target = str;

    fn deref(&self) -> &str {
        match &self.0 {
            Text::Short { len, bytes } => {
                std::str::from_utf8(&bytes[..usize::from(*len)]).expect("it was made of text")
            }
            Text::Long(text) => text,
        }
    }
}

impl From<&str> for Number {
    fn from(text: &str) -> Number {
        let mut bytes = [0; MAX_INLINE_LENGTH];
        match bytes.get_mut(..text.len()) {
            Some(place) => {
                place.copy_from_slice(text.as_bytes());
                Number(Text::Short { len: text.len() as u8, bytes })
            }
            None => Number(Text::Long(text.into())),
        }
    }
}

impl From<String> for Number {
    fn from(text: String) -> Number {
        text.as_str().into()
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Number) -> bool {
        **self == **other
    }
}

impl Eq for Number {}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_any_length_are_kept() {
        for len in [0, 1, MAX_INLINE_LENGTH - 1, MAX_INLINE_LENGTH, MAX_INLINE_LENGTH + 1, 100] {
            let text = "1".repeat(len);
            assert_eq!(*Number::from(text.as_str()), text);
            assert_eq!(Number::from(text.clone()), Number::from(text.as_str()));
        }
        assert_eq!(size_of::<Number>(), 24);
    }
}
