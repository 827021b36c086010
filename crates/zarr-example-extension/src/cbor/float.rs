//! Reads and writes numbers in half, single and double precision (RFC 8949, section 3.3).

/// The number that the bits behind an item's head are, whose additional information tells how many.
pub(super) fn read(info: u8, bits: u64) -> f64 {
    match info {
        25 => half(bits as u16),
        26 => f32::from_bits(bits as u32).into(),
        _ => f64::from_bits(bits),
    }
}

/// A finite number, in half, single or double precision: the shortest that has its value.
pub(super) fn write(number: f64, out: &mut Vec<u8>) {
    let single = number as f32;
    match half_of(single) {
        _ if f64::from(single) != number => {
            out.push(0xfb);
            out.extend_from_slice(&number.to_be_bytes());
        }
        None => {
            out.push(0xfa);
            out.extend_from_slice(&single.to_be_bytes());
        }
        Some(half) => {
            out.push(0xf9);
            out.extend_from_slice(&half.to_be_bytes());
        }
    }
}

/// The bits of a number in half precision; `None` if it has none.
fn half_of(number: f32) -> Option<u16> {
    let bits = number.to_bits();
    let magnitude = match (bits >> 23 & 255) as i32 - 127 {
        16.. => return None,
        exponent @ -14.. => ((exponent + 15) as u32) << 10 | bits >> 13 & 0x3ff,
        _ => (number.abs() * 16_777_216.0) as u32,
    };
    let found = (bits >> 16 & 0x8000 | magnitude) as u16;
    (half(found) == f64::from(number)).then_some(found)
}

/// A number of half precision (RFC 8949, appendix D).
fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 0x3ff));
    let magnitude = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    if bits >> 15 == 1 { -magnitude } else { magnitude }
}
