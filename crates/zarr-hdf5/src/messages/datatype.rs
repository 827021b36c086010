//! Data types of HDF5.

use std::fmt;

use crate::error::Result;
use crate::source::{Cursor, bytes_for, text};

/// How deep types may lie within types.
const MAX_DEPTH: usize = 32;

/// A data type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datatype {
    /// The length of an element in bytes.
    pub size: u32,
    /// What its bytes mean.
    pub class: Class,
}

/// The classes of data types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Class {
    /// An integer, two's complement.
    Integer {
        /// The order of its bytes.
        order: Order,
        /// Whether it has a sign.
        signed: bool,
        /// Which of its bits are used.
        bits: Bits,
    },
    /// A floating-point number.
    Float(Float),
    /// A time, which the library never finished.
    Time,
    /// Text of a fixed length.
    String(Text),
    /// Bits.
    BitField {
        /// The order of its bytes.
        order: Order,
        /// Which of its bits are used.
        bits: Bits,
    },
    /// Bytes that only their writer understands.
    Opaque {
        /// What the writer calls them.
        tag: String,
    },
    /// Fields, which may leave gaps between them.
    Compound(Vec<Field>),
    /// A reference to an object or a part of it.
    Reference(Reference),
    /// An integer with names for some of its values.
    Enumeration {
        /// The integer.
        base: Box<Datatype>,
        /// Names, and values in the order of bytes of `base`.
        members: Vec<(String, Vec<u8>)>,
    },
    /// As many elements as each element says. They lie in the global heap.
    Sequence(Box<Datatype>),
    /// Text of any length. It lies in the global heap.
    VariableString(Text),
    /// An array as an element.
    Array {
        /// The lengths of its axes.
        shape: Vec<u32>,
        /// Its elements.
        base: Box<Datatype>,
    },
    /// A complex number: two of `base`.
    Complex(Box<Datatype>),
}

/// The order of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The least significant byte first.
    Little,
    /// The most significant byte first.
    Big,
    /// VAX: neither.
    Vax,
}

/// The bits of a number that are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bits {
    /// The number of unused bits below.
    pub offset: u16,
    /// The number of used bits.
    pub precision: u16,
}

/// The layout of a floating-point number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Float {
    /// The order of its bytes.
    pub order: Order,
    /// Which of its bits are used.
    pub bits: Bits,
    /// The position of the sign bit.
    pub sign_position: u8,
    /// The lowest bit of the exponent.
    pub exponent_position: u8,
    /// The exponent's length in bits.
    pub exponent_size: u8,
    /// The lowest bit of the mantissa.
    pub mantissa_position: u8,
    /// The mantissa's length in bits.
    pub mantissa_size: u8,
    /// What is added to the exponent.
    pub exponent_bias: u32,
    /// Whether the mantissa's highest bit is implied.
    pub implied_bit: bool,
}

/// How text is padded and encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text {
    /// What follows the text.
    pub padding: Padding,
    /// Whether it is UTF-8 rather than ASCII.
    pub is_utf8: bool,
}

/// What follows a text that is shorter than its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding {
    /// A zero at least.
    NullTerminated,
    /// Zeros, or nothing.
    NullPadded,
    /// Spaces, or nothing.
    SpacePadded,
}

/// What is referred to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    /// An object: its address.
    Object,
    /// A region of a dataset: a place in the global heap.
    Region,
    /// An object, region or attribute as HDF5 1.12 writes it.
    Tagged,
}

/// A field of a compound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Where it begins within an element, in bytes.
    pub offset: u32,
    /// Its type.
    pub datatype: Datatype,
}

impl Datatype {
    pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Result<Datatype> {
        parse_at(cursor, 0)
    }

    /// The float that is neither VAX's nor oddly built, as its length in bytes: 2, 4 or 8.
    pub fn ieee_float(&self) -> Option<(usize, Order)> {
        let Class::Float(float) = &self.class else { return None };
        let expected: (u8, u8, u32) = match self.size {
            2 => (5, 10, 15),
            4 => (8, 23, 127),
            8 => (11, 52, 1023),
            _ => return None,
        };
        let found = (float.exponent_size, float.mantissa_size, float.exponent_bias);
        let is_ieee = found == expected && float.is_packed(self.size) && float.order != Order::Vax;
        is_ieee.then_some((self.size as usize, float.order))
    }

    /// Google's 16-bit float with eight bits of exponent.
    pub fn is_bfloat16(&self) -> bool {
        let Class::Float(float) = &self.class else { return false };
        let found = (float.exponent_size, float.mantissa_size, float.exponent_bias);
        self.size == 2 && found == (8, 7, 127) && float.is_packed(2)
    }

    /// Whether all bits of an integer or bit field are used.
    pub fn uses_all_bits(&self) -> bool {
        match &self.class {
            Class::Integer { bits, .. } | Class::BitField { bits, .. } => {
                bits.offset == 0 && u32::from(bits.precision) == 8 * self.size
            }
            _ => false,
        }
    }
}

impl Float {
    /// Whether mantissa, exponent and sign follow each other and fill `size` bytes.
    fn is_packed(&self, size: u32) -> bool {
        let bits = 8 * size;
        self.implied_bit
            && self.bits.offset == 0
            && u32::from(self.bits.precision) == bits
            && self.mantissa_position == 0
            && self.exponent_position == self.mantissa_size
            && u32::from(self.sign_position) == bits - 1
    }
}

fn parse_at(cursor: &mut Cursor<'_>, depth: usize) -> Result<Datatype> {
    if depth > MAX_DEPTH {
        return Err(cursor.place.limit(format!("a data type has more than {MAX_DEPTH} levels")));
    }
    let first = cursor.u8()?;
    let (version, number) = (first >> 4, first & 0x0f);
    if !(1..=5).contains(&version) {
        let what = format!("expected a data type of version 1 to 5, found {version}");
        return Err(cursor.place.unsupported(what));
    }
    let flags = cursor.uint(3)? as u32;
    let size = cursor.u32()?;
    if size == 0 && number != 3 {
        return Err(cursor.place.damaged("a data type has no bytes"));
    }
    let order = if flags & 1 == 0 { Order::Little } else { Order::Big };
    let class = match number {
        0 => Class::Integer { order, signed: flags & 8 != 0, bits: bits(cursor)? },
        1 => Class::Float(float(cursor, flags)?),
        2 => {
            cursor.skip(2)?;
            Class::Time
        }
        3 => Class::String(fixed_text(flags)),
        4 => Class::BitField { order, bits: bits(cursor)? },
        5 => {
            let tag = cursor.take((flags & 0xff) as usize)?;
            let end = tag.iter().position(|byte| *byte == 0).unwrap_or(tag.len());
            Class::Opaque { tag: text(&tag[..end]) }
        }
        6 => Class::Compound(fields(cursor, version, flags & 0xffff, size, depth)?),
        7 => Class::Reference(match flags & 0x0f {
            0 => Reference::Object,
            1 => Reference::Region,
            _ => Reference::Tagged,
        }),
        8 => enumeration(cursor, version, flags & 0xffff, depth)?,
        9 => variable(cursor, flags, size, depth)?,
        10 => array(cursor, version, size, depth)?,
        11 => {
            let base = parse_at(cursor, depth + 1)?;
            if base.size.checked_mul(2) != Some(size) {
                let what = format!("a complex number of {size} bytes has parts of {}", base.size);
                return Err(cursor.place.damaged(what));
            }
            Class::Complex(Box::new(base))
        }
        _ => {
            let what = format!("expected the class of a data type, 0 to 11, found {number}");
            return Err(cursor.place.unsupported(what));
        }
    };
    let datatype = Datatype { size, class };
    check_bits(cursor, &datatype)?;
    Ok(datatype)
}

fn bits(cursor: &mut Cursor<'_>) -> Result<Bits> {
    Ok(Bits { offset: cursor.u16()?, precision: cursor.u16()? })
}

/// Errors if a number uses bits that it does not have.
fn check_bits(cursor: &Cursor<'_>, datatype: &Datatype) -> Result<()> {
    let bits = match &datatype.class {
        Class::Integer { bits, .. } | Class::BitField { bits, .. } => bits,
        Class::Float(float) => &float.bits,
        _ => return Ok(()),
    };
    let end = u64::from(bits.offset) + u64::from(bits.precision);
    if bits.precision == 0 || end > 8 * u64::from(datatype.size) {
        let what = format!("a number of {} bytes uses {end} bits", datatype.size);
        return Err(cursor.place.damaged(what));
    }
    Ok(())
}

fn float(cursor: &mut Cursor<'_>, flags: u32) -> Result<Float> {
    let order = match flags & 0x41 {
        0x00 => Order::Little,
        0x01 => Order::Big,
        _ => Order::Vax,
    };
    Ok(Float {
        order,
        sign_position: (flags >> 8) as u8,
        implied_bit: (flags >> 4) & 3 == 2,
        bits: bits(cursor)?,
        exponent_position: cursor.u8()?,
        exponent_size: cursor.u8()?,
        mantissa_position: cursor.u8()?,
        mantissa_size: cursor.u8()?,
        exponent_bias: cursor.u32()?,
    })
}

fn fixed_text(flags: u32) -> Text {
    let padding = match flags & 0x0f {
        0 => Padding::NullTerminated,
        1 => Padding::NullPadded,
        _ => Padding::SpacePadded,
    };
    Text { padding, is_utf8: (flags >> 4) & 0x0f == 1 }
}

fn variable(cursor: &mut Cursor<'_>, flags: u32, size: u32, depth: usize) -> Result<Class> {
    let expected = 4 + cursor.sizes.offset as u32 + 4;
    if size != expected {
        let what = format!("expected {expected} bytes of a variable length, found {size}");
        return Err(cursor.place.damaged(what));
    }
    let base = parse_at(cursor, depth + 1)?;
    if flags & 0x0f == 1 {
        return Ok(Class::VariableString(fixed_text(flags >> 4)));
    }
    Ok(Class::Sequence(Box::new(base)))
}

/// A name, which versions 1 and 2 pad to a multiple of eight bytes.
fn name(cursor: &mut Cursor<'_>, version: u8) -> Result<String> {
    let name = cursor.c_string()?;
    if version < 3 {
        let used = name.len() + 1;
        cursor.skip(used.next_multiple_of(8) - used)?;
    }
    Ok(text(name))
}

fn fields(
    cursor: &mut Cursor<'_>,
    version: u8,
    count: u32,
    size: u32,
    depth: usize,
) -> Result<Vec<Field>> {
    let mut fields = Vec::new();
    for _ in 0..count {
        let name = name(cursor, version)?;
        let offset_size = if version < 3 { 4 } else { bytes_for(size.into()) };
        let offset = cursor.uint(offset_size)? as u32;
        let mut shape = Vec::new();
        if version == 1 {
            let rank = usize::from(cursor.u8()?);
            // Reserved bytes and a permutation that nobody used.
            cursor.skip(3 + 4 + 4)?;
            for _ in 0..4 {
                shape.push(cursor.u32()?);
            }
            if rank > shape.len() {
                let what = format!("a field has {rank} axes, expected at most 4");
                return Err(cursor.place.damaged(what));
            }
            shape.truncate(rank);
        }
        let mut datatype = parse_at(cursor, depth + 1)?;
        if !shape.is_empty() {
            let size = array_size(cursor, &shape, datatype.size)?;
            datatype = Datatype { size, class: Class::Array { shape, base: Box::new(datatype) } };
        }
        if u64::from(offset) + u64::from(datatype.size) > u64::from(size) {
            return Err(cursor.place.damaged(format!(
                "the field \"{name}\" has {} bytes at {offset}, the compound only {size}",
                datatype.size
            )));
        }
        fields.push(Field { name, offset, datatype });
    }
    Ok(fields)
}

fn array_size(cursor: &Cursor<'_>, shape: &[u32], element: u32) -> Result<u32> {
    let size = shape.iter().try_fold(element, |size, length| size.checked_mul(*length));
    size.ok_or_else(|| cursor.place.damaged("an array type has more than 4 GiB"))
}

fn enumeration(cursor: &mut Cursor<'_>, version: u8, count: u32, depth: usize) -> Result<Class> {
    let base = parse_at(cursor, depth + 1)?;
    let mut names = Vec::new();
    for _ in 0..count {
        names.push(name(cursor, version)?);
    }
    let mut members = Vec::new();
    for name in names {
        members.push((name, cursor.take(base.size as usize)?.to_vec()));
    }
    Ok(Class::Enumeration { base: Box::new(base), members })
}

fn array(cursor: &mut Cursor<'_>, version: u8, size: u32, depth: usize) -> Result<Class> {
    let rank = usize::from(cursor.u8()?);
    if rank > super::dataspace::MAX_RANK {
        return Err(cursor.place.damaged(format!("an array type has {rank} axes")));
    }
    if version < 3 {
        cursor.skip(3)?;
    }
    let mut shape = Vec::new();
    for _ in 0..rank {
        shape.push(cursor.u32()?);
    }
    if version < 3 {
        cursor.skip(4 * rank)?;
    }
    let base = parse_at(cursor, depth + 1)?;
    let expected = array_size(cursor, &shape, base.size)?;
    if expected != size {
        let what = format!("an array type of {size} bytes has elements of {expected}");
        return Err(cursor.place.damaged(what));
    }
    Ok(Class::Array { shape, base: Box::new(base) })
}

/// NumPy's way of saying it where there is one: `<i4`, `>f8`, `enum(|i1)`, `{x: <f4 at 0, y: <f4 at 4}`.
impl fmt::Display for Datatype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.size;
        match &self.class {
            Class::Integer { order, signed, .. } => {
                let order = if size == 1 { "|" } else { order.sign() };
                write!(f, "{order}{}{size}", if *signed { 'i' } else { 'u' })
            }
            Class::Float(float) if self.is_bfloat16() => {
                write!(f, "{}bfloat16", float.order.sign())
            }
            Class::Float(float) => write!(f, "{}f{size}", float.order.sign()),
            Class::Time => write!(f, "time{size}"),
            Class::String(_) => write!(f, "string{size}"),
            Class::BitField { order, .. } => write!(f, "{}b{size}", order.sign()),
            Class::Opaque { tag } => write!(f, "opaque{size}({tag})"),
            Class::Compound(fields) => {
                for (i, field) in fields.iter().enumerate() {
                    f.write_str(if i == 0 { "{" } else { ", " })?;
                    write!(f, "{}: {} at {}", field.name, field.datatype, field.offset)?;
                }
                f.write_str("}")
            }
            Class::Reference(Reference::Object) => f.write_str("object reference"),
            Class::Reference(Reference::Region) => f.write_str("region reference"),
            Class::Reference(Reference::Tagged) => f.write_str("reference"),
            Class::Enumeration { base, .. } => write!(f, "enum({base})"),
            Class::Sequence(base) => write!(f, "vlen({base})"),
            Class::VariableString(_) => f.write_str("string"),
            Class::Array { shape, base } => write!(f, "array({base}, {shape:?})"),
            Class::Complex(base) => write!(f, "complex({base})"),
        }
    }
}

impl Order {
    fn sign(self) -> &'static str {
        match self {
            Order::Little => "<",
            Order::Big => ">",
            Order::Vax => "vax",
        }
    }
}
