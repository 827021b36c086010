//! Encodes one setting or erasing of a key as bytes.
//!
//! The key's size (4 bytes, little-endian), the value's (8 bytes; all ones for an erased key), a checksum
//! of those and of all that follows (8 bytes), the key, the value.

use std::io::{self, Read};

const HEAD: usize = 20;
const ERASED: u64 = u64::MAX;

/// Appends a record to `out`; returns where in `out` its value begins.
pub(super) fn write(key: &str, value: Option<&[u8]>, out: &mut Vec<u8>) -> u64 {
    let begin = out.len();
    out.extend_from_slice(&(key.len() as u32).to_le_bytes());
    out.extend_from_slice(&value.map_or(ERASED, |value| value.len() as u64).to_le_bytes());
    out.extend_from_slice(&[0; 8]);
    out.extend_from_slice(key.as_bytes());
    let at = out.len() as u64;
    out.extend_from_slice(value.unwrap_or_default());
    let sum = checksum(&out[begin..begin + 12], &out[begin + HEAD..]);
    out[begin + 12..begin + HEAD].copy_from_slice(&sum.to_le_bytes());
    at
}

/// The key of the next record, its value's size, and its own; `None` at the end or at what a crash left of
/// a record. `left` bytes of the file remain.
pub(super) fn read(
    file: &mut impl Read,
    left: u64,
    at: u64,
) -> io::Result<Option<(String, Option<u64>, u64)>> {
    let mut head = [0; HEAD];
    if left < HEAD as u64 {
        return Ok(None);
    }
    file.read_exact(&mut head)?;
    let number = |range: std::ops::Range<usize>| {
        head[range].iter().rev().fold(0u64, |n, &byte| n << 8 | u64::from(byte))
    };
    let (key_size, size) = (number(0..4), Some(number(4..12)).filter(|&size| size != ERASED));
    let whole =
        size.unwrap_or(0).checked_add(HEAD as u64 + key_size).filter(|&whole| whole <= left);
    // No key is empty: zeros are what the system had not written yet.
    let Some(whole) = whole.filter(|_| key_size > 0) else { return Ok(None) };
    let mut body = vec![0; whole as usize - HEAD];
    file.read_exact(&mut body)?;
    let sound = checksum(&head[..12], &body) == number(12..20);
    body.truncate(key_size as usize);
    match String::from_utf8(body) {
        Ok(key) if sound => Ok(Some((key, size, whole))),
        _ if whole == left => Ok(None),
        _ => Err(io::Error::other(format!("the record at byte {at} is damaged"))),
    }
}

/// FNV-1a of 64 bits.
fn checksum(head: &[u8], body: &[u8]) -> u64 {
    head.iter().chain(body).fold(0xcbf2_9ce4_8422_2325, |sum: u64, &byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}
