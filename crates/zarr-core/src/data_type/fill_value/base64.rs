//! Standard base64 with padding, the form of raw bytes in v2 and final v3 metadata (Z2-052, F-046).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Standard base64 with padding.
pub fn base64_encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// The bytes of standard base64; `None` if a character is not of the alphabet, if padding is missing or
/// if bits after the last byte are set.
pub fn base64_decode(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}
