//! Converts elements of Zarr to values of netCDF and back.

use zarr_core::data_type::{DataType, Endian, Repr, utf32_chars};
use zarr_core::metadata::ArrayMetadata;
use zarr_core::{AccessError, Array, Element, Result, Selection};

use crate::model::options::Conventions;
use crate::model::types::Type;
use crate::model::values::{Values, each_number, with_number};

/// The type that an array's elements are to netCDF (N-003 … N-006, N-063, N-065).
///
/// # Errors
/// Why they are none.
pub(crate) fn type_of(
    metadata: &ArrayMetadata,
    alias: Option<Type>,
    conventions: Conventions,
) -> Result<Type, String> {
    let data_type = &metadata.data_type;
    let none = || Err(format!("netCDF has no type for `{data_type}`; read it as a Zarr array"));
    // Only the byte order tells one byte of `char` from a string of one (N-005).
    let is_char = (conventions.nczarr || conventions.narrow_u1)
        && metadata.declared_type.as_str() == Some(">S1");
    let core = match data_type {
        DataType::Core(core) => core,
        DataType::FixedBytes { .. } if is_char => return Ok(Type::Char),
        DataType::FixedBytes { len: 1 } if alias == Some(Type::Char) => return Ok(Type::Char),
        DataType::String | DataType::FixedBytes { .. } | DataType::FixedUtf32 { .. } => {
            return Ok(Type::String);
        }
        DataType::Raw { .. } if alias == Some(Type::String) => return Ok(Type::String),
        _ => return none(),
    };
    match Type::of_core(*core) {
        Some(Type::Ubyte) if alias == Some(Type::Char) => Ok(Type::Char),
        Some(ty) => Ok(ty),
        None => none(),
    }
}

/// Native numbers.
fn numbers<T: Element>(bytes: &[u8]) -> Vec<T> {
    bytes.chunks_exact(T::SIZE).map(T::from_bytes).collect()
}

/// The values of native elements of fixed size.
pub(crate) fn decode(ty: Type, repr: Repr, bytes: &[u8]) -> Values {
    with_number!(ty, T => numbers::<T>(bytes).into(),
        Type::Char => Values::Char(bytes.to_vec()),
        Type::Bool => Values::Bool(bytes.iter().map(|&byte| byte != 0).collect()),
        Type::Complex64 => Values::Complex64(numbers::<f32>(bytes).as_chunks().0.to_vec()),
        Type::Complex128 => Values::Complex128(numbers::<f64>(bytes).as_chunks().0.to_vec()),
        Type::String => {
            let elements = bytes.chunks_exact(repr.size().max(1));
            let texts = elements.map(|element| match repr {
                Repr::Utf32(_) => utf32(element),
                _ => String::from_utf8_lossy(text_in(element)).into_owned(),
            });
            Values::String(texts.collect())
        }
    )
}

/// N-061: a text ends at the first NUL.
pub(crate) fn text_in(element: &[u8]) -> &[u8] {
    let end = element.iter().position(|&byte| byte == 0).unwrap_or(element.len());
    &element[..end]
}

pub(crate) fn utf32(element: &[u8]) -> String {
    utf32_chars(element, Endian::NATIVE).take_while(|&character| character != '\0').collect()
}

/// The value of an element that was never written.
pub(crate) fn fill(metadata: &ArrayMetadata, ty: Type) -> Values {
    let bytes = metadata.fill_bytes();
    match metadata.data_type.repr() {
        Some(Repr::Variable) => Values::String(vec![String::from_utf8_lossy(&bytes).into_owned()]),
        Some(repr) => decode(ty, repr, &bytes),
        None => ty.default_fill(),
    }
}

/// Reads what is selected.
pub(crate) fn read(array: &Array, ty: Type, selection: Selection) -> Result<Values> {
    Ok(with_number!(ty, T => array.read::<T>(selection)?.into(),
        Type::Bool => array.read::<bool>(selection)?.into(),
        Type::Char => Values::Char(array.read_bytes(selection)?),
        Type::String if array.data_type().is_variable() => array.read::<String>(selection)?.into(),
        Type::String | Type::Complex64 | Type::Complex128 => {
            let repr = array.data_type().repr().unwrap_or(Repr::Opaque(1));
            decode(ty, repr, &array.read_bytes(selection)?)
        }
    ))
}

/// Writes what is selected; `values` are of the array's type, and as many as it needs.
///
/// # Errors
/// [`AccessError::Argument`] for a text that is too long, unless it is to be cut (N-062); [`AccessError::ElementType`].
pub(crate) fn write(
    array: &Array,
    ty: Type,
    selection: Selection,
    values: &Values,
    truncate: bool,
) -> Result<()> {
    if values.ty() != ty {
        let array = format!("{} of {ty}", array.path());
        return Err(AccessError::ElementType { array, asked: values.ty().name() }.into());
    }
    each_number!(values, list => array.write(selection, list),
        Values::Bool(list) => array.write(selection, list),
        Values::Char(bytes) => array.write_bytes(selection, bytes),
        Values::String(list) => match array.data_type().repr() {
            Some(Repr::Variable) => array.write(selection, list),
            repr => {
                let repr = repr.unwrap_or(Repr::Opaque(1));
                let bytes = encode_texts(list, repr, truncate);
                let bytes = bytes.map_err(|e| zarr_core::Error::from(e).at_path(array.path()))?;
                array.write_bytes(selection, &bytes)
            }
        },
        Values::Complex64(_) | Values::Complex128(_) => {
            array.write_bytes(selection, &values.to_ne_bytes())
        }
    )
}

/// Texts padded to a fixed width (N-060, N-062).
pub(crate) fn encode_texts(
    list: &[String],
    repr: Repr,
    truncate: bool,
) -> Result<Vec<u8>, AccessError> {
    let width = repr.size();
    let mut out = Vec::new();
    for text in list {
        let mut text = text.as_str();
        if size_as(repr, text) > width && !truncate {
            let why = format!(
                "text {:?} has {} bytes, of which {width} fit; make `_nczarr_maxstrlen` larger, or ask to cut texts",
                text,
                text.len()
            );
            return Err(AccessError::Argument(why));
        }
        while size_as(repr, text) > width {
            let last = text.chars().next_back().map_or(1, char::len_utf8);
            text = &text[..text.len() - last];
        }
        let start = out.len();
        match repr {
            Repr::Utf32(_) => out.extend(text.chars().flat_map(|c| u32::from(c).to_ne_bytes())),
            _ => out.extend_from_slice(text.as_bytes()),
        }
        out.resize(start + width, 0);
    }
    Ok(out)
}

/// The bytes of a text as an element.
fn size_as(repr: Repr, text: &str) -> usize {
    match repr {
        Repr::Utf32(_) => 4 * text.chars().count(),
        _ => text.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// N-061, N-062.
    #[test]
    fn texts_are_padded_and_never_cut_unasked() {
        let repr = Repr::Opaque(6);
        let texts = ["north".to_owned(), "é漢字x".to_owned(), String::new()];
        assert!(encode_texts(&texts, repr, false).is_err());
        let bytes = encode_texts(&texts, repr, true).unwrap();
        assert_eq!(bytes, b"north\0\xc3\xa9\xe6\xbc\xa2\0\0\0\0\0\0\0");
        let due = Values::String(vec!["north".into(), "é漢".into(), "".into()]);
        assert_eq!(decode(Type::String, repr, &bytes), due);
        assert_eq!(decode(Type::String, repr, b"a\0bcde"), Values::String(vec!["a".into()]));
        let repr = Repr::Utf32(2);
        let bytes = encode_texts(&texts[1..], repr, true).unwrap();
        let due = Values::String(vec!["é漢".into(), "".into()]);
        assert_eq!(decode(Type::String, repr, &bytes), due);
    }
}
