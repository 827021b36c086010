//! Writes a JSON document as a CBOR data item (RFC 8949, sections 3 and 4.1).

use zarr_core::Json;

use super::{MAX_DEPTH, float};

/// The bytes of a document, or what it is that they cannot hold.
pub(super) fn document(json: &Json) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    value(json, 0, &mut out)?;
    Ok(out)
}

/// An item's major type and its argument, in as few bytes as hold it.
fn head(major: u8, argument: u64, out: &mut Vec<u8>) {
    let (info, size) = match argument {
        0..24 => (argument as u8, 0),
        24..0x100 => (24, 1),
        0x100..0x1_0000 => (25, 2),
        0x1_0000..0x1_0000_0000 => (26, 4),
        _ => (27, 8),
    };
    out.push(major << 5 | info);
    out.extend_from_slice(&argument.to_be_bytes()[8 - size..]);
}

fn text(text: &str, out: &mut Vec<u8>) {
    head(3, text.len() as u64, out);
    out.extend_from_slice(text.as_bytes());
}

fn value(json: &Json, depth: usize, out: &mut Vec<u8>) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Err(format!("what nests deeper than {MAX_DEPTH} levels"));
    }
    match json {
        Json::Bool(false) => out.push(0xf4),
        Json::Bool(true) => out.push(0xf5),
        Json::Null => out.push(0xf6),
        Json::String(string) => text(string, out),
        Json::Number(digits) => number(digits, out)?,
        Json::Array(items) => {
            head(4, items.len() as u64, out);
            for item in items {
                value(item, depth + 1, out)?;
            }
        }
        Json::Object(object) => {
            head(5, object.len() as u64, out);
            for (name, member) in object.iter() {
                text(name, out);
                value(member, depth + 1, out)?;
            }
        }
    }
    Ok(())
}

fn number(digits: &str, out: &mut Vec<u8>) -> Result<(), String> {
    // Of whole numbers only -0 is a float: no integer has that sign.
    if !digits.contains(['.', 'e', 'E']) && digits != "-0" {
        let whole: Option<i128> = digits.parse().ok();
        let positive = whole.and_then(|n| u64::try_from(n).ok());
        let negative = whole.and_then(|n| u64::try_from(-1 - n).ok());
        match (positive, negative) {
            (Some(n), _) => head(0, n, out),
            (_, Some(n)) => head(1, n, out),
            _ => return Err(format!("{digits}: it is an integer beyond 64 bits")),
        }
        return Ok(());
    }
    let number: f64 = digits.parse().map_err(|_| format!("{digits}: it is not a number"))?;
    // What the double is, in the fewest digits that tell it, or in as many as there are.
    let count = decimal(digits).1.len().clamp(1, 1100);
    let said = [format!("{number:?}"), format!("{number:.*e}", count - 1)];
    if !number.is_finite() || said.iter().all(|said| decimal(said) != decimal(digits)) {
        return Err(format!("{digits}: a double has another value"));
    }
    float::write(number, out);
    Ok(())
}

/// A number's sign, its digits without zeros at either end, and its power of ten: the same for all texts
/// of one number.
fn decimal(text: &str) -> (bool, String, i64) {
    let (mantissa, power) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{}{fraction}", whole.trim_start_matches('-'));
    let trimmed = digits.trim_end_matches('0');
    let shift = digits.len() as i64 - trimmed.len() as i64 - fraction.len() as i64;
    let power = power.parse::<i64>().unwrap_or(i64::MAX).saturating_add(shift);
    let trimmed = trimmed.trim_start_matches('0').to_owned();
    (text.starts_with('-'), trimmed.clone(), if trimmed.is_empty() { 0 } else { power })
}
