//! Decodes percent-encoded text, such as `%20`.

/// The decoded text; `None` if it is no UTF-8.
#[cfg(any(feature = "s3", feature = "azure", feature = "http", feature = "zip"))]
pub(crate) fn decoded_text(text: &str) -> Option<String> {
    String::from_utf8(decode(text)?).ok()
}

/// The decoded bytes of `%20` and the like; `None` if anything but two digits follows a `%`.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut pieces = text.as_bytes().split(|&b| b == b'%');
    let mut decoded = pieces.next()?.to_vec();
    for piece in pieces {
        let digits = piece.get(..2).filter(|d| d.iter().all(u8::is_ascii_hexdigit))?;
        decoded.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
        decoded.extend_from_slice(&piece[2..]);
    }
    Some(decoded)
}
