//! Writes a fixed-point number as exact decimal text, and reads such text.

use super::FixedPoint;

impl FixedPoint {
    /// The number that an element stands for, in decimals, exactly.
    pub fn text(self, element: i32) -> String {
        // With n bits behind the point there are at most n decimals: 1/2 is 5/10.
        let n = self.fraction_bits;
        let decimals = i128::from(element).unsigned_abs() * 5u128.pow(n);
        let (whole, rest) = (decimals / 10u128.pow(n), decimals % 10u128.pow(n));
        let fraction = format!("{rest:0>width$}", width = n as usize);
        let text = format!("{}{whole}.{fraction}", if element < 0 { "-" } else { "" });
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }

    /// The element that decimal text means; `None` if it means none, or none exactly.
    pub fn element(self, text: &str) -> Option<i32> {
        let (sign, digits) = text.strip_prefix('-').map_or((1, text), |digits| (-1, digits));
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
        if !(is_digits(whole) && is_digits(fraction)) {
            return None;
        }
        let fraction = fraction.trim_end_matches('0');
        let decimals: i128 = format!("{whole}{fraction}").parse().ok()?;
        // Each decimal takes one bit behind the point, and a 5 out of the digits.
        let bits_left = u64::from(self.fraction_bits).checked_sub(fraction.len() as u64)?;
        let fives = 5i128.pow(fraction.len() as u32);
        let element = (decimals / fives).checked_mul(sign << bits_left)?;
        i32::try_from(element).ok().filter(|_| decimals % fives == 0)
    }
}

/// Whether the text has digits, and nothing else.
fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_is_a_decimal_and_every_such_decimal_an_element() {
        for bits in 0..32 {
            let fixed_point = FixedPoint::new(bits).unwrap();
            for element in [0, 1, -1, 7, 128, -384, 1 << 20, i32::MAX, i32::MIN] {
                let text = fixed_point.text(element);
                assert_eq!(fixed_point.element(&text), Some(element), "{text}");
                let exact = f64::from(element) / 2f64.powi(bits as i32);
                assert_eq!(text.parse::<f64>().unwrap(), exact, "{text}");
            }
        }
        let eight = FixedPoint::new(8).unwrap();
        assert_eq!(eight.text(-384), "-1.5");
        assert_eq!(eight.text(512), "2");
        assert_eq!(eight.element("1.500"), Some(384));
        assert_eq!(eight.element("-0.00390625"), Some(-1));
        assert_eq!(FixedPoint::new(32), None);
    }

    #[test]
    fn what_is_no_value_is_refused() {
        let eight = FixedPoint::new(8).unwrap();
        let long = "1".repeat(4000);
        let deep = format!("0.{}1", "0".repeat(4000));
        for text in
            ["", "-", ".", "1.", ".5", "+1", "1e2", "0.1", "8388608", "--1", "1.-5", &long, &deep]
        {
            assert_eq!(eight.element(text), None, "{text}");
        }
        assert_eq!(eight.element("8388607.99609375"), Some(i32::MAX));
        assert_eq!(eight.element("-8388608"), Some(i32::MIN));
    }
}
