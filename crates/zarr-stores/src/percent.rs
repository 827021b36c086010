//! Decodes percent-encoded text, such as `%20`.

use percent_encoding::percent_decode_str;

/// The decoded text; `None` if it is not UTF-8, or if anything but two digits follows a `%`.
#[cfg(any(feature = "s3", feature = "azure", feature = "http", feature = "zip"))]
pub(crate) fn decoded_text(text: &str) -> Option<String> {
    String::from_utf8(decode(text)?).ok()
}

/// The decoded bytes; `None` if anything but two hexadecimal digits follows a `%`.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    // The crate leaves a `%` without digits as it is.
    let is_valid = text.split('%').skip(1).all(|rest| {
        rest.as_bytes().first_chunk::<2>().is_some_and(|d| d.iter().all(u8::is_ascii_hexdigit))
    });
    is_valid.then(|| percent_decode_str(text).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percent_sign_without_two_digits_is_refused() {
        for (text, bytes) in
            [("", &b""[..]), ("a%20b", b"a b"), ("%E9%41x", b"\xe9Ax"), ("%2525", b"%25")]
        {
            assert_eq!(decode(text).as_deref(), Some(bytes));
        }
        for text in ["%", "100%", "%2", "a%zz", "%%41", "%4%31", "%+1"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
