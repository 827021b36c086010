//! Standard base64, as v2 and final v3 spell raw bytes (Z2-052, F-046).

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// What is no digit.
const NONE: u8 = 0xff;

/// The value of each digit.
const VALUES: [u8; 256] = {
    let mut values = [NONE; 256];
    let mut digit = 0;
    while digit < BASE64.len() {
        values[BASE64[digit] as usize] = digit as u8;
        digit += 1;
    }
    values
};

/// Standard base64 with padding.
pub fn base64_encode(bytes: &[u8]) -> String {
    let digit = |bits: u32, n: u32| char::from(BASE64[(bits >> (18 - 6 * n) & 63) as usize]);
    let mut out = String::with_capacity(bytes.len().div_ceil(3).saturating_mul(4));
    let (whole, rest) = bytes.as_chunks::<3>();
    for &[a, b, c] in whole {
        let bits = u32::from_be_bytes([0, a, b, c]);
        out.extend([digit(bits, 0), digit(bits, 1), digit(bits, 2), digit(bits, 3)]);
    }
    match *rest {
        [a] => {
            let bits = u32::from_be_bytes([0, a, 0, 0]);
            out.extend([digit(bits, 0), digit(bits, 1), '=', '=']);
        }
        [a, b] => {
            let bits = u32::from_be_bytes([0, a, b, 0]);
            out.extend([digit(bits, 0), digit(bits, 1), digit(bits, 2), '=']);
        }
        _ => {}
    }
    out
}

/// The bytes of standard base64 with padding; `None` if it is not.
pub fn base64_decode(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let inner = text.strip_suffix("==").or(text.strip_suffix('=')).unwrap_or(text);
    let value = |digit: u8| u32::from(VALUES[usize::from(digit)]);
    let join = |digits: &[u8]| digits.iter().fold(0, |bits, &digit| bits << 6 | value(digit));
    let bad = |digits: &[u8]| digits.iter().any(|&digit| VALUES[usize::from(digit)] == NONE);
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (whole, rest) = inner.as_bytes().as_chunks::<4>();
    for digits in whole {
        if bad(digits) {
            return None;
        }
        let [_, bytes @ ..] = join(digits).to_be_bytes();
        out.extend(bytes);
    }
    match rest {
        [] => {}
        [_, _] if !bad(rest) && join(rest) & 0xf == 0 => out.push((join(rest) >> 4) as u8),
        [_, _, _] if !bad(rest) && join(rest) & 3 == 0 => {
            out.extend(((join(rest) >> 2) as u16).to_be_bytes());
        }
        _ => return None,
    }
    Some(out)
}
