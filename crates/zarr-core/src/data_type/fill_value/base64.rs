//! Standard base64, as v2 and final v3 spell raw bytes (Z2-052, F-046).

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Standard base64 with padding.
pub fn base64_encode(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let bits =
            chunk.iter().fold(0u32, |bits, &b| bits << 8 | u32::from(b)) << (8 * (3 - chunk.len()));
        for i in 0..4 {
            let six = (bits >> (18 - 6 * i) & 63) as usize;
            out.push(if i <= chunk.len() { BASE64[six] as char } else { '=' });
        }
    }
    out
}

/// The bytes of standard base64 with padding; `None` if it is not.
pub fn base64_decode(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let inner = text.strip_suffix("==").or(text.strip_suffix('=')).unwrap_or(text);
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count) = (0u32, 0);
    for c in inner.bytes() {
        bits = bits << 6 | BASE64.iter().position(|&b| b == c)? as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    (bits == 0).then_some(out)
}
