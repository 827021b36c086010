//! Checks that elements are values of their type.

use super::{CoreType, DataType, Field, Optional, Record, Scalar, optional};
use crate::error::CodecError;
use crate::json::Json;

/// Where elements come from that are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// From the caller, who gives them as memory has them.
    Caller,
    /// From a store: bits that a store may hold in several forms become those of memory.
    Store,
    /// From a store whose dialect lets a bool be any byte: what is not 0 becomes 1.
    LenientStore,
}

/// What [`DataType::check`] does.
pub(super) fn check(
    data_type: &DataType,
    elements: &mut [u8],
    from: Origin,
) -> Result<(), CodecError> {
    match data_type {
        DataType::Core(CoreType::Bool) => {
            for element in elements.iter_mut().filter(|e| **e > 1) {
                if from != Origin::LenientStore {
                    let why = format!("a bool is stored as {element}, not 0 or 1");
                    return Err(CodecError::corrupt("data type", why));
                }
                *element = 1;
            }
            Ok(())
        }
        DataType::Record(record) if needs_check(data_type) => check_record(record, elements, from),
        DataType::Optional(optional) => check_optional(optional, elements, from),
        DataType::FixedUtf32 { .. } => check_utf32(elements),
        DataType::Extension(extension) => {
            if from != Origin::Caller {
                extension.normalize(elements);
            }
            extension.check(elements)
        }
        _ => match padded(data_type) {
            Some(scalar) if from == Origin::Caller => check_padded(data_type, scalar, elements),
            Some(scalar) => {
                normalize(scalar, elements);
                Ok(())
            }
            None => Ok(()),
        },
    }
}

/// Whether [`check`] looks at elements at all.
pub(super) fn needs_check(data_type: &DataType) -> bool {
    match data_type {
        DataType::Core(core) => *core == CoreType::Bool,
        DataType::Record(record) => {
            record.fields().iter().any(|field| needs_check(field.data_type()))
        }
        DataType::Optional(_) | DataType::FixedUtf32 { .. } => true,
        DataType::Extension(extension) => extension.needs_check(),
        _ => padded(data_type).is_some(),
    }
}

/// The numbers of a type, if they have fewer bits than their bytes: a store may hold one element in several forms (F-053).
fn padded(data_type: &DataType) -> Option<Scalar> {
    match data_type {
        DataType::Extension(_) | DataType::Unknown { .. } => None,
        _ => data_type.scalar().filter(|scalar| scalar.stored_mask() != 0xff),
    }
}

fn check_record(record: &Record, elements: &mut [u8], from: Origin) -> Result<(), CodecError> {
    let checked: Vec<&Field> =
        record.fields().iter().filter(|field| needs_check(field.data_type())).collect();
    for element in elements.chunks_exact_mut(record.size()) {
        for field in &checked {
            let place = field.offset()..field.offset() + field.size();
            check(field.data_type(), &mut element[place], from)?;
        }
    }
    Ok(())
}

/// What is missing becomes zeros.
fn check_optional(
    optional: &Optional,
    elements: &mut [u8],
    from: Origin,
) -> Result<(), CodecError> {
    let is_checked = needs_check(optional.inner());
    for element in elements.chunks_exact_mut(optional.size()) {
        match element.split_first_mut() {
            Some((0, inner)) => inner.fill(0),
            Some((1, inner)) if is_checked => check(optional.inner(), inner, from)?,
            Some((2.., _)) => {
                let why = format!("an element begins with {}, not with 0 or 1", element[0]);
                return Err(CodecError::corrupt(optional::NAMES[0], why));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Refuses units that are no code points.
fn check_utf32(elements: &[u8]) -> Result<(), CodecError> {
    let (units, _) = elements.as_chunks::<4>();
    match units.iter().map(|u| u32::from_ne_bytes(*u)).find(|&u| char::from_u32(u).is_none()) {
        Some(unit) => {
            Err(CodecError::corrupt("data type", format!("{unit:#x} is not a code point")))
        }
        None => Ok(()),
    }
}

/// What [`DataType::check_element`] does.
pub(super) fn check_element(data_type: &DataType, element: &[u8]) -> Result<(), CodecError> {
    match data_type {
        DataType::Extension(extension) => extension.check_element(element),
        _ => check_variable(data_type, element),
    }
}

/// Refuses bytes that are no element of this variable-length type.
fn check_variable(data_type: &DataType, element: &[u8]) -> Result<(), CodecError> {
    let is_good = match data_type {
        DataType::String => std::str::from_utf8(element).is_ok(),
        // One that was never written is empty, which is no JSON.
        DataType::Json => element.is_empty() || Json::parse_element(element).is_ok(),
        DataType::List(items) => {
            items.repr().is_some_and(|repr| element.len().is_multiple_of(repr.size()))
        }
        _ => true,
    };
    if is_good {
        return Ok(());
    }
    Err(CodecError::corrupt("data type", format!("an element is not a valid {data_type}")))
}

/// A stored byte as memory has it.
fn normalized(scalar: Scalar, byte: u8) -> u8 {
    match scalar {
        Scalar::Int(bits) => ((byte << (8 - bits)) as i8 >> (8 - bits)) as u8,
        _ => byte & scalar.stored_mask(),
    }
}

/// Brings stored elements into the form that memory has.
fn normalize(scalar: Scalar, elements: &mut [u8]) {
    elements.iter_mut().for_each(|byte| *byte = normalized(scalar, *byte));
}

/// Refuses bytes that are no number in the form of memory.
fn check_padded(data_type: &DataType, scalar: Scalar, elements: &[u8]) -> Result<(), CodecError> {
    match elements.iter().find(|byte| normalized(scalar, **byte) != **byte) {
        Some(byte) => {
            let why = format!("{byte:#04x} is not a value of {data_type}");
            Err(CodecError::corrupt("data type", why))
        }
        None => Ok(()),
    }
}
