//! Elements as values: attributes, fill values and text.

use crate::error::{Place, Result};
use crate::heap::global::{GlobalHeap, HeapObject};
use crate::messages::datatype::{Class, Datatype, Order, Padding, Reference, Text};
use crate::object::File;
use crate::source::{Source, text};
use crate::{Blocks, Dataspace};

/// The bytes that all values of one call take at most, as far as they are counted: text, and this many for each number.
const MAX_VALUE_BYTES: usize = 64 << 20;
const ELEMENT_BYTES: usize = size_of::<Value>();

/// Enumerations of more members have values without names: finding them would take too long.
const MAX_NAMED_MEMBERS: usize = 256;

/// One element.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// An integer of any size up to 16 bytes.
    Integer(i128),
    /// A number of 16 or 32 bits. Its shortest decimal form is that of an `f32`.
    Float32(f32),
    /// A number of 64 bits.
    Float64(f64),
    /// A member of an enumeration: its name, if the value has one and the members are at most 256.
    Enumeration(i128, Option<String>),
    /// Text without its padding.
    Text(Vec<u8>),
    /// Bytes without a meaning to us: opaque ones, bit fields, and numbers of unusual formats.
    Bytes(Vec<u8>),
    /// A complex number.
    Complex(Box<(Value, Value)>),
    /// The fields of a compound.
    Record(Vec<(String, Value)>),
    /// A sequence, or the elements of an array type in C order.
    List(Vec<Value>),
    /// The address of an object, `None` if it refers to none.
    Object(Option<u64>),
    /// The address of the dataset of a region, `None` if it refers to none.
    Region(Option<u64>),
}

impl File {
    /// The elements of an attribute or of some bytes of a dataset, in C order.
    ///
    /// # Errors
    /// The bytes are no whole elements, the global heap is damaged, or the values take more than 64 MiB.
    pub fn values(&self, blocks: &Blocks, datatype: &Datatype, raw: &[u8]) -> Result<Vec<Value>> {
        let source = self.source(blocks);
        let mut decoder =
            Decoder { source, heap: GlobalHeap::default(), used: 0, place: Place::new("value", 0) };
        decoder.elements(datatype, raw)
    }

    /// Texts of variable length, one per element of 4 + 4 bytes and an address: `raw` is a decoded chunk of such a dataset.
    ///
    /// # Errors
    /// The bytes are no whole elements, the global heap is damaged, or the texts have more than `max_bytes`.
    pub fn variable_texts(
        &self,
        blocks: &Blocks,
        raw: &[u8],
        max_bytes: usize,
    ) -> Result<Vec<Vec<u8>>> {
        let source = self.source(blocks);
        let place = Place::new("text of variable length", 0);
        let size = 4 + source.sizes.offset + 4;
        if !raw.len().is_multiple_of(size) {
            let what = format!("expected a multiple of {size} bytes, found {}", raw.len());
            return Err(place.damaged(what));
        }
        let mut heap = GlobalHeap::default();
        let mut texts = Vec::with_capacity(raw.len() / size);
        let mut used = 0;
        for element in raw.chunks_exact(size) {
            let text = variable(&source, &mut heap, element, 1, place)?;
            used += text.len();
            if used > max_bytes {
                return Err(place.limit(format!("the texts have more than {max_bytes} bytes")));
            }
            texts.push(until_zero(&text).to_vec());
        }
        Ok(texts)
    }
}

impl crate::Attribute {
    /// Whether it has one element and no axes.
    pub fn is_scalar(&self) -> bool {
        matches!(&self.dataspace, Dataspace::Simple { shape, .. } if shape.is_empty())
    }
}

struct Decoder<'a> {
    source: Source<'a>,
    heap: GlobalHeap,
    used: usize,
    place: Place,
}

impl Decoder<'_> {
    fn elements(&mut self, datatype: &Datatype, raw: &[u8]) -> Result<Vec<Value>> {
        let size = datatype.size as usize;
        // Text of length 0 has no bytes to count.
        if size == 0 {
            return Ok(vec![Value::Text(Vec::new())]);
        }
        if !raw.len().is_multiple_of(size) {
            let what = format!("expected a multiple of {size} bytes, found {}", raw.len());
            return Err(self.place.damaged(what));
        }
        self.count(raw.len() / size * ELEMENT_BYTES)?;
        let mut values = Vec::with_capacity(raw.len() / size);
        for element in raw.chunks_exact(size) {
            values.push(self.element(datatype, element)?);
        }
        Ok(values)
    }

    /// Counts memory, so that a small file whose elements all refer to the same large one cannot take all of it.
    fn count(&mut self, bytes: usize) -> Result<()> {
        self.used = self.used.saturating_add(bytes);
        if self.used <= MAX_VALUE_BYTES {
            return Ok(());
        }
        Err(self.place.limit(format!("the values take more than {MAX_VALUE_BYTES} bytes")))
    }

    /// One element. The depth of types is limited where they are parsed.
    fn element(&mut self, datatype: &Datatype, raw: &[u8]) -> Result<Value> {
        match &datatype.class {
            Class::Integer { order, signed, .. } => {
                Ok(match integer(datatype, raw, *order, *signed) {
                    Some(value) => Value::Integer(value),
                    None => self.bytes(raw)?,
                })
            }
            Class::Float(_) => Ok(match float(datatype, raw) {
                Some(value) => value,
                None => self.bytes(raw)?,
            }),
            Class::Enumeration { base, members } => {
                let mut name = None;
                if members.len() <= MAX_NAMED_MEMBERS {
                    let found = members.iter().find(|(_, value)| value == raw);
                    name = found.map(|(name, _)| name.clone());
                    self.count(name.as_ref().map_or(0, String::len))?;
                }
                match self.element(base, raw)? {
                    Value::Integer(value) => Ok(Value::Enumeration(value, name)),
                    other => Ok(other),
                }
            }
            Class::String(kind) => {
                self.count(raw.len())?;
                Ok(Value::Text(trimmed(raw, *kind).to_vec()))
            }
            Class::VariableString(_) => {
                let text = variable(&self.source, &mut self.heap, raw, 1, self.place)?;
                self.count(text.len())?;
                Ok(Value::Text(until_zero(&text).to_vec()))
            }
            Class::Sequence(base) => {
                let bytes =
                    variable(&self.source, &mut self.heap, raw, base.size.into(), self.place)?;
                Ok(Value::List(self.elements(base, &bytes)?))
            }
            Class::Array { base, .. } => Ok(Value::List(self.elements(base, raw)?)),
            Class::Complex(base) => {
                let (real, imaginary) = raw.split_at(base.size as usize);
                let parts = (self.element(base, real)?, self.element(base, imaginary)?);
                Ok(Value::Complex(Box::new(parts)))
            }
            Class::Compound(fields) => {
                self.count(fields.len() * ELEMENT_BYTES)?;
                let mut values = Vec::with_capacity(fields.len());
                for field in fields {
                    self.count(field.name.len())?;
                    let start = field.offset as usize;
                    let bytes = &raw[start..start + field.datatype.size as usize];
                    values.push((field.name.clone(), self.element(&field.datatype, bytes)?));
                }
                Ok(Value::Record(values))
            }
            Class::Reference(Reference::Object) => Ok(Value::Object(address(&self.source, raw)?)),
            Class::Reference(Reference::Region) => self.region(raw),
            Class::Reference(Reference::Tagged)
            | Class::Time
            | Class::BitField { .. }
            | Class::Opaque { .. } => self.bytes(raw),
        }
    }

    fn bytes(&mut self, raw: &[u8]) -> Result<Value> {
        self.count(raw.len())?;
        Ok(Value::Bytes(raw.to_vec()))
    }

    /// A region's dataset: the first thing in its heap object.
    fn region(&mut self, raw: &[u8]) -> Result<Value> {
        let mut cursor = self.source.cursor(raw, self.place);
        let collection = cursor.address()?.unwrap_or(0);
        let index = cursor.u32()? as u16;
        if collection == 0 {
            return Ok(Value::Region(None));
        }
        let object = self.heap.object(&self.source, HeapObject { collection, index }, 8)?;
        Ok(Value::Region(address(&self.source, &object)?))
    }
}

/// The address of a referenced object. 0 and the undefined address refer to none.
fn address(source: &Source<'_>, raw: &[u8]) -> Result<Option<u64>> {
    let address = source.cursor(raw, Place::new("object reference", 0)).address()?;
    Ok(address.filter(|address| *address != 0))
}

/// The bytes of an element of variable length.
fn variable(
    source: &Source<'_>,
    heap: &mut GlobalHeap,
    raw: &[u8],
    element_size: u64,
    place: Place,
) -> Result<Vec<u8>> {
    let mut cursor = source.cursor(raw, place);
    let count = u64::from(cursor.u32()?);
    let collection = cursor.address()?;
    let index = cursor.u32()?;
    let Some(collection) = collection.filter(|address| *address != 0 && count > 0) else {
        return Ok(Vec::new());
    };
    let Ok(index) = u16::try_from(index) else {
        return Err(place.damaged(format!("expected an object up to 65535, found {index}")));
    };
    let length = count.saturating_mul(element_size);
    let bytes = heap.object(source, HeapObject { collection, index }, length)?;
    if length > bytes.len() as u64 {
        return Err(Place::new("global heap", collection)
            .damaged(format!("expected {length} bytes in object {index}, found {}", bytes.len())));
    }
    Ok(bytes)
}

fn until_zero(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
    &text[..end]
}

/// Text without its padding.
fn trimmed(raw: &[u8], kind: Text) -> &[u8] {
    match kind.padding {
        Padding::NullTerminated => until_zero(raw),
        Padding::NullPadded => {
            let end = raw.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            &raw[..end]
        }
        Padding::SpacePadded => {
            let end = raw.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
            &raw[..end]
        }
    }
}

/// An integer that uses some or all bits of at most 16 bytes.
pub(crate) fn integer(datatype: &Datatype, raw: &[u8], order: Order, signed: bool) -> Option<i128> {
    let Class::Integer { bits, .. } = &datatype.class else { return None };
    if raw.len() > 16 || order == Order::Vax {
        return None;
    }
    let mut value = 0_u128;
    for position in 0..raw.len() {
        let byte = if order == Order::Big { raw[position] } else { raw[raw.len() - 1 - position] };
        value = value << 8 | u128::from(byte);
    }
    let unused = 128 - u32::from(bits.precision);
    let shifted = (value >> bits.offset) << unused;
    if signed {
        return Some(shifted as i128 >> unused);
    }
    i128::try_from(shifted >> unused).ok()
}

fn float(datatype: &Datatype, raw: &[u8]) -> Option<Value> {
    let mut bytes = [0; 8];
    if datatype.is_bfloat16() {
        let Class::Float(format) = &datatype.class else { return None };
        let pair = [raw[0], raw[1]];
        let half = if format.order == Order::Big {
            u16::from_be_bytes(pair)
        } else {
            u16::from_le_bytes(pair)
        };
        return Some(Value::Float32(f32::from_bits(u32::from(half) << 16)));
    }
    let (size, order) = datatype.ieee_float()?;
    for (to, from) in bytes.iter_mut().zip(raw) {
        *to = *from;
    }
    if order == Order::Big {
        bytes[..size].reverse();
    }
    let bits = u64::from_le_bytes(bytes);
    Some(match size {
        2 => Value::Float32(half_to_f32(bits as u16)),
        4 => Value::Float32(f32::from_bits(bits as u32)),
        _ => Value::Float64(f64::from_bits(bits)),
    })
}

fn half_to_f32(bits: u16) -> f32 {
    let sign = u32::from(bits >> 15) << 31;
    let exponent = u32::from(bits >> 10) & 0x1f;
    let mantissa = u32::from(bits) & 0x3ff;
    match exponent {
        // Subnormal: a multiple of 2^-24.
        0 => {
            let value = mantissa as f32 * f32::from_bits(0x3380_0000);
            if sign == 0 { value } else { -value }
        }
        31 => f32::from_bits(sign | 0x7f80_0000 | mantissa << 13),
        _ => f32::from_bits(sign | (exponent + 112) << 23 | mantissa << 13),
    }
}

/// Text of an element, with what is not UTF-8 replaced.
pub fn lossy_text(bytes: &[u8]) -> String {
    text(bytes)
}

#[cfg(test)]
mod tests {
    use super::half_to_f32;

    #[test]
    fn halves_are_exact() {
        assert_eq!(half_to_f32(0x3c00), 1.0);
        assert_eq!(half_to_f32(0xc000), -2.0);
        assert_eq!(half_to_f32(0x7bff), 65504.0);
        assert_eq!(half_to_f32(0x0001), 2_f32.powi(-24));
        assert!(half_to_f32(0x7e00).is_nan());
    }
}
