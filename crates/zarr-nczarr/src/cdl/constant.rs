//! Reads the constants of CDL as values of a type.

use crate::{Type, Values};

use super::escape;
use super::number::{Number, largest, number_of};
use super::token::Token;

/// A constant as a list of values has it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Constant<'a> {
    /// A number with its suffix, or one written as a word.
    Number(&'a str),
    /// Between double quotes, escapes as written.
    Text(&'a str),
    /// Between single quotes: one byte.
    Byte(u8),
    /// `_`.
    Fill,
    /// No text at all, which is taken for the empty one.
    Nil,
    /// `TRUE` or `FALSE`.
    Truth(bool),
    /// Two numbers between braces: a complex one.
    Pair(&'a str, &'a str),
}

const PAIR: &str = "expected a complex number: two numbers in braces, as in `{1, -2}`";

impl<'a> Constant<'a> {
    /// The constant that a token is, if it is one.
    pub fn of(token: Token<'a>) -> Result<Option<Constant<'a>>, String> {
        Ok(Some(match token {
            Token::Number(number) => Constant::Number(number),
            Token::Text(text) => Constant::Text(text),
            Token::Char(written) => {
                let bytes = escape::unescape_text(written).map_err(|(_, why)| why)?;
                let [byte] = bytes[..] else {
                    let why = "single quotes hold one character of one byte; use double quotes for a text";
                    return Err(why.into());
                };
                Constant::Byte(byte)
            }
            Token::Word("_") => Constant::Fill,
            Token::Word("NIL" | "Nil" | "nil") => Constant::Nil,
            Token::Word("TRUE") => Constant::Truth(true),
            Token::Word("FALSE") => Constant::Truth(false),
            Token::Word(word) if number_of(word).is_some() => Constant::Number(word),
            _ => return Ok(None),
        }))
    }

    /// The type of an attribute of these constants: that of the widest number, `char` for text.
    pub fn infer(constants: &[Constant<'_>]) -> Result<Type, String> {
        let texts =
            constants.iter().filter(|constant| matches!(constant, Constant::Text(_))).count();
        if texts == constants.len() {
            return Ok(Type::Char);
        }
        let (mut widest, mut least, mut most) = (None, 0, 0);
        for constant in constants {
            let ty = match constant {
                Constant::Number(number) => {
                    let number = Number::read(number)?;
                    if let Number::Integer(value, _) = number {
                        (least, most) = (value.min(least), value.max(most));
                    }
                    number.ty()
                }
                Constant::Byte(_) => Type::Byte,
                Constant::Text(_) => {
                    return Err(
                        "a list cannot have both texts and numbers; make two attributes of it"
                            .into(),
                    );
                }
                Constant::Fill => {
                    return Err("an attribute cannot hold `_`; write the value".into());
                }
                Constant::Truth(_) | Constant::Pair(..) => {
                    return Err("an attribute holds numbers or texts; write one of them".into());
                }
                Constant::Nil => {
                    return Err(
                        "`NIL` is a string; write `string` before the attribute's name".into()
                    );
                }
            };
            widest = Some(widest.map_or(ty, |widest| wider(widest, ty)));
        }
        Ok(match widest {
            Some(Type::Uint64 | Type::Int64) if most > i128::from(i64::MAX) => Type::Uint64,
            Some(Type::Uint64) if least < 0 => Type::Int64,
            Some(Type::Uint) if least < 0 => Type::Int,
            Some(Type::Ushort) if least < 0 => Type::Short,
            other => other.unwrap_or(Type::Char),
        })
    }

    /// The number that stands between quotes, if one does.
    pub fn unquoted(self) -> Constant<'a> {
        match self {
            Constant::Text(text) if Number::read(text.trim()).is_ok() => {
                Constant::Number(text.trim())
            }
            other => other,
        }
    }

    /// Whether the type of a number is written with it.
    pub fn has_suffix(&self) -> bool {
        matches!(self, Constant::Number(number) if number_of(number).is_none()
            && number.ends_with(|last: char| last.is_ascii_alphabetic())
            && !number.starts_with("0x"))
    }

    /// Appends the constant to `values`, as one of their type. `fill` holds what `_` stands for. Of type
    /// `char`, a text is as many values as it has bytes.
    pub fn push(&self, values: &mut Values, fill: &Values) -> Result<(), String> {
        macro_rules! number {
            ($values:expr, $fill:ident, $as:ident) => {
                match self {
                    Constant::Fill => match fill {
                        Values::$fill(fill) if !fill.is_empty() => $values.push(fill[0]),
                        _ => return Err("there is no fill value for `_`; write the value".into()),
                    },
                    _ => $values.push(self.$as()?),
                }
            };
        }
        match values {
            Values::Byte(values) => number!(values, Byte, integer),
            Values::Ubyte(values) => number!(values, Ubyte, integer),
            Values::Short(values) => number!(values, Short, integer),
            Values::Ushort(values) => number!(values, Ushort, integer),
            Values::Int(values) => number!(values, Int, integer),
            Values::Uint(values) => number!(values, Uint, integer),
            Values::Int64(values) => number!(values, Int64, integer),
            Values::Uint64(values) => number!(values, Uint64, integer),
            Values::Float(values) => number!(values, Float, float),
            Values::Double(values) => number!(values, Double, double),
            Values::Char(bytes) => match (self, fill) {
                (Constant::Text(text), _) => {
                    bytes.extend(escape::unescape_text(text).map_err(|(_, why)| why)?);
                }
                (Constant::Byte(byte), _) => bytes.push(*byte),
                (Constant::Fill, Values::Char(fill)) => {
                    bytes.push(fill.first().copied().unwrap_or(0))
                }
                (Constant::Number(_), _) => match self.integer::<i16>()? {
                    byte @ -128..=255 => bytes.push(byte as u8),
                    _ => return Err("a number in text is one byte; write it between quotes".into()),
                },
                _ => return Err("expected text; put it in double quotes".into()),
            },
            Values::String(strings) => match (self, fill) {
                (Constant::Text(text), _) => {
                    let bytes = escape::unescape_text(text).map_err(|(_, why)| why)?;
                    let why = "a string is UTF-8, and this one is not; use type char for bytes";
                    strings.push(String::from_utf8(bytes).map_err(|_| why.to_owned())?);
                }
                (Constant::Nil, _) => strings.push(String::new()),
                (Constant::Fill, Values::String(fill)) => strings.extend(fill.first().cloned()),
                _ => return Err("expected a string; put it in double quotes".into()),
            },
            Values::Bool(values) => match (self, fill) {
                (Constant::Truth(value), _) => values.push(*value),
                (Constant::Fill, Values::Bool(fill)) => values.extend(fill.first()),
                (Constant::Number(_), _) => match self.integer::<u8>()? {
                    number @ (0 | 1) => values.push(number == 1),
                    number => return Err(format!("expected TRUE or FALSE, found {number}")),
                },
                _ => return Err("expected TRUE or FALSE".into()),
            },
            Values::Complex64(values) => match (self.pair(), fill) {
                (Some([r, i]), _) => values.push([r.float()?, i.float()?]),
                (None, Values::Complex64(fill)) if *self == Constant::Fill => {
                    values.extend(fill.first());
                }
                _ => return Err(PAIR.into()),
            },
            Values::Complex128(values) => match (self.pair(), fill) {
                (Some([r, i]), _) => values.push([r.double()?, i.double()?]),
                (None, Values::Complex128(fill)) if *self == Constant::Fill => {
                    values.extend(fill.first());
                }
                _ => return Err(PAIR.into()),
            },
        }
        Ok(())
    }

    fn pair(&self) -> Option<[Constant<'a>; 2]> {
        match *self {
            Constant::Pair(r, i) => Some([r, i].map(Constant::Number)),
            _ => None,
        }
    }

    fn number(&self) -> Result<Number<'a>, String> {
        match self {
            Constant::Number(number) => Number::read(number),
            Constant::Byte(byte) => Ok(Number::Integer(i128::from(*byte), Type::Byte)),
            _ => Err("expected a number; remove the quotes".into()),
        }
    }

    fn integer<T: TryFrom<i128>>(&self) -> Result<T, String> {
        let value = match self.number()? {
            Number::Integer(value, _) => value,
            Number::NotFinite(..) => return Err("expected an integer".into()),
            Number::Float(digits) | Number::Double(digits) => {
                let value: f64 = digits.parse().unwrap_or(f64::NAN);
                if value.fract() != 0.0 || value.abs() > 1e30 {
                    let why = format!("expected an integer, found {digits}");
                    return Err(why);
                }
                value as i128
            }
        };
        let bits = 8 * size_of::<T>();
        T::try_from(value).ok().or_else(|| self.without_sign(value, bits)).ok_or_else(|| {
            format!("{value} does not fit into an integer of {bits} bits; use a wider type")
        })
    }

    /// Bytes have no sign, and hexadecimal numbers give bits: the value with the same bits.
    fn without_sign<T: TryFrom<i128>>(&self, value: i128, bits: usize) -> Option<T> {
        let hex = matches!(self, Constant::Number(number) if number.starts_with("0x") || number.starts_with("0X"));
        let range = 1_i128 << bits;
        let other = if value < 0 { value + range } else { value - range };
        let fits = (-range / 2..range).contains(&value) && (-range / 2..range).contains(&other);
        if fits && (bits == 8 || hex) { T::try_from(other).ok() } else { None }
    }

    /// Whether it has a minus, which a zero that becomes a floating-point number keeps.
    fn is_negative(&self) -> bool {
        matches!(self, Constant::Number(number) if number.starts_with('-'))
    }

    fn float(&self) -> Result<f32, String> {
        Ok(match self.number()? {
            Number::Integer(0, _) if self.is_negative() => -0.0,
            Number::Integer(value, _) => value as f32,
            Number::NotFinite(value, _) => value as f32,
            Number::Float(digits) | Number::Double(digits) => {
                let value: f32 = digits.parse().unwrap_or(f32::NAN);
                Some(value).filter(|value| value.is_finite()).ok_or_else(|| {
                    format!("{digits} is too large for a float; write `Infinity`, or use double")
                })?
            }
        })
    }

    fn double(&self) -> Result<f64, String> {
        Ok(match self.number()? {
            Number::Integer(0, _) if self.is_negative() => -0.0,
            Number::Integer(value, _) => value as f64,
            Number::NotFinite(value, _) => value,
            // What is written as a float has a float's precision.
            Number::Float(_) => f64::from(self.float()?),
            Number::Double(digits) => {
                let value: f64 = digits.parse().unwrap_or(f64::NAN);
                Some(value)
                    .filter(|value| value.is_finite())
                    .or_else(|| largest(digits))
                    .ok_or_else(|| {
                        format!("{digits} is too large for a double; write `Infinity`")
                    })?
            }
        })
    }
}

/// The type that holds values of both, as netCDF's own reader finds it: of two integers, the longer, or the later.
fn wider(one: Type, other: Type) -> Type {
    if rank(other) < rank(one) { one } else { other }
}

/// The place of a type among those of numbers.
fn rank(ty: Type) -> usize {
    match ty {
        Type::Double => 10,
        Type::Float => 9,
        ty => ty.size().unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute(list: &[&str]) -> Result<Values, String> {
        let constants: Vec<_> = list.iter().map(|number| Constant::Number(number)).collect();
        let mut values = Values::none(Constant::infer(&constants)?);
        for constant in &constants {
            constant.push(&mut values, &Type::Int.default_fill())?;
        }
        Ok(values)
    }

    /// As ncgen 4.9.0 makes them, where it makes what is written.
    #[test]
    fn types_are_those_of_suffix_and_size() {
        let one = |number| attribute(&[number]).unwrap();
        assert_eq!(one("3"), Values::Int(vec![3]));
        assert_eq!(one("+3"), Values::Int(vec![3]));
        assert_eq!(one("4294967295"), Values::Uint(vec![u32::MAX]));
        assert_eq!(one("5000000000"), Values::Uint64(vec![5_000_000_000]));
        assert_eq!(one("-5000000000"), Values::Int64(vec![-5_000_000_000]));
        assert_eq!(one("18446744073709551615"), Values::Uint64(vec![u64::MAX]));
        assert_eq!(one("-9223372036854775808"), Values::Int64(vec![i64::MIN]));
        assert_eq!(one("017"), Values::Int(vec![15]));
        assert_eq!(one("-017"), Values::Int(vec![-15]));
        assert_eq!(one("0xff"), Values::Int(vec![255]));
        assert_eq!(one("0x7fs"), Values::Ushort(vec![127]));
        assert_eq!(one("255b"), Values::Byte(vec![-1]));
        assert_eq!(one("65535s"), Values::Short(vec![-1]));
        assert_eq!(one("5UB"), Values::Ubyte(vec![5]));
        assert_eq!(one("5bu"), Values::Ubyte(vec![5]));
        assert_eq!(one("5ULL"), Values::Uint64(vec![5]));
        assert_eq!(one("5L"), Values::Int(vec![5]));
        assert_eq!(one("1.5f"), Values::Float(vec![1.5]));
        assert_eq!(one("-1.79769313486232e+308"), Values::Double(vec![f64::MIN]));
        assert_eq!(one("-.5e3"), Values::Double(vec![-500.0]));
        assert_eq!(one("5.d"), Values::Double(vec![5.0]));
        assert_eq!(one("-Infinityf"), Values::Float(vec![f32::NEG_INFINITY]));
        assert_eq!(attribute(&["1b", "2s"]).unwrap(), Values::Short(vec![1, 2]));
        assert_eq!(attribute(&["1s", "1"]).unwrap(), Values::Int(vec![1, 1]));
        assert_eq!(
            attribute(&["5000000000", "-1"]).unwrap(),
            Values::Int64(vec![5_000_000_000, -1])
        );
        assert_eq!(attribute(&["1", "1.5f"]).unwrap(), Values::Float(vec![1.0, 1.5]));
        assert_eq!(attribute(&["1.f", "0.1"]).unwrap(), Values::Double(vec![1.0, 0.1]));
        assert_eq!(
            attribute(&["0.1f", "1."]).unwrap(),
            Values::Double(vec![f64::from(0.1_f32), 1.0])
        );
    }

    #[test]
    fn numbers_that_are_none_are_told() {
        for wrong in [
            "08",
            "18446744073709551616",
            "-9223372036854775809",
            "300b",
            "-5U",
            "1e400",
            "1.5x",
            "123f",
            "0x",
            "0xfg",
            "-0x1",
            "+-1",
            "1.2.3",
            "1e",
            ".",
            "5LLL",
            "--Infinity",
            "99999999999999999999999999999",
            "1e400f",
            "1infinity",
        ] {
            assert!(attribute(&[wrong]).is_err(), "{wrong}");
        }
        assert!(attribute(&["18446744073709551615", "-1"]).is_err());
    }

    #[test]
    fn constants_become_the_variable_s_type() {
        let push = |constant: Constant<'_>, ty: Type| {
            let mut values = Values::none(ty);
            constant.push(&mut values, &ty.default_fill()).map(|()| values)
        };
        use Constant::{Byte, Fill, Nil, Number, Text};
        assert_eq!(push(Number("1e3"), Type::Short), Ok(Values::Short(vec![1000])));
        assert_eq!(push(Number("255"), Type::Byte), Ok(Values::Byte(vec![-1])));
        assert_eq!(push(Number("-2"), Type::Ubyte), Ok(Values::Ubyte(vec![254])));
        assert_eq!(push(Number("0xabcd"), Type::Short), Ok(Values::Short(vec![-21555])));
        assert_eq!(push(Byte(255), Type::Byte), Ok(Values::Byte(vec![-1])));
        assert_eq!(push(Byte(255), Type::Ubyte), Ok(Values::Ubyte(vec![255])));
        assert_eq!(push(Fill, Type::Int), Ok(Values::Int(vec![-2147483647])));
        assert_eq!(push(Text("a\\000"), Type::Char), Ok(Values::Char(vec![b'a', 0])));
        assert_eq!(push(Nil, Type::String), Ok(Values::String(vec![String::new()])));
        assert_eq!(push(Number("16777217"), Type::Float), Ok(Values::Float(vec![16777216.0])));
        for (constant, ty) in [
            (Number("1.5"), Type::Int),
            (Number("256"), Type::Ubyte),
            (Number("-129"), Type::Ubyte),
            (Number("65535"), Type::Short),
            (Number("0x1ffff"), Type::Short),
            (Number("NaN"), Type::Int),
            (Text("1"), Type::Int),
            (Number("1"), Type::String),
            (Number("1000"), Type::Char),
            (Text("\\377"), Type::String),
            (Number("1e39"), Type::Float),
            (Nil, Type::Double),
        ] {
            assert!(push(constant, ty).is_err(), "{constant:?} as {ty}");
        }
    }
}
