//! Defines what a data type brings that the core does not know.

use std::any::Any;
use std::fmt::{Debug, Display};

use super::{Endian, FillValue, Repr, fill_value};
use crate::codec::CodecSpec;
use crate::dialect::Dialect;
use crate::error::{CodecError, MetadataError};
use crate::json::Json;

/// A data type of a third party: a name, and the representation it rests on.
///
/// Its `Display` is a short name for people. Two are equal if they have the same representation and the same
/// metadata, a name and a configuration, in every dialect.
pub trait ExtensionType: Any + Debug + Display + Send + Sync {
    /// The type as a dialect's metadata; `endian` is the stored byte order, where the metadata hold it. `None` if the
    /// dialect cannot represent the type.
    fn to_metadata(&self, dialect: Dialect, endian: Endian) -> Option<Json>;

    /// The representation: all that codecs ask.
    fn repr(&self) -> Repr;

    /// The codec that makes bytes of such elements, where `bytes` cannot.
    fn serializer(&self) -> Option<CodecSpec> {
        None
    }

    /// The fill value in `json`, in native byte order; by default that of the representation: a number, or raw bytes.
    ///
    /// # Errors
    /// When `json` is no fill value. The default always fails for representations of text and of variable length.
    fn fill_value_from_json(
        &self,
        json: &Json,
        dialect: Dialect,
    ) -> Result<FillValue, MetadataError> {
        fill_value::parse_repr(self.repr(), json, dialect).map_err(|why| {
            let why = format!("{} is not a value of {self}: {why}", json.brief());
            MetadataError::invalid("fill_value", why)
        })
    }

    /// The fill value as a dialect's metadata; by default that of the representation.
    ///
    /// # Errors
    /// When the dialect cannot represent it.
    fn fill_value_to_json(
        &self,
        value: &FillValue,
        dialect: Dialect,
    ) -> Result<Json, MetadataError> {
        let size = self.repr().size();
        if value.as_bytes().len() == size {
            fill_value::repr_to_json(self.repr(), value.as_bytes(), dialect)
        } else {
            let why = format!("an element of {self} has {size} bytes");
            Err(MetadataError::invalid("fill_value", why))
        }
    }

    /// Brings native elements that were stored into the form that memory has, where a store may hold one
    /// element in several forms. Called before [`ExtensionType::check`], if that looks at elements at all.
    fn normalize(&self, elements: &mut [u8]) {
        let _ = elements;
    }

    /// Whether [`ExtensionType::check`] looks at elements.
    fn needs_check(&self) -> bool {
        false
    }

    /// Makes sure that native elements, C order, are ones of this type.
    ///
    /// # Errors
    /// [`CodecError::Corrupt`] for invalid elements.
    fn check(&self, elements: &[u8]) -> Result<(), CodecError> {
        let _ = elements;
        Ok(())
    }

    /// Makes sure that these bytes are an element of this variable-length type.
    ///
    /// # Errors
    /// [`CodecError::Corrupt`] if they are not.
    fn check_element(&self, element: &[u8]) -> Result<(), CodecError> {
        let _ = element;
        Ok(())
    }
}

impl dyn ExtensionType {
    /// The type as the Rust type that implements it; `None` if that is another.
    pub fn downcast_ref<T: ExtensionType>(&self) -> Option<&T> {
        (self as &dyn Any).downcast_ref()
    }
}

impl PartialEq for dyn ExtensionType {
    fn eq(&self, other: &Self) -> bool {
        self.repr() == other.repr()
            && [Dialect::V3, Dialect::V2, Dialect::Draft].into_iter().all(|dialect| {
                self.to_metadata(dialect, Endian::Little)
                    == other.to_metadata(dialect, Endian::Little)
            })
    }
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use super::*;
    use crate::data_type::Scalar;

    #[derive(Debug)]
    struct Resting(Repr);

    impl Display for Resting {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("resting")
        }
    }

    impl ExtensionType for Resting {
        fn to_metadata(&self, _: Dialect, _: Endian) -> Option<Json> {
            None
        }
        fn repr(&self) -> Repr {
            self.0
        }
    }

    #[test]
    fn fill_values_are_those_of_the_representation() {
        for (repr, fill, words) in [
            (Scalar::Int(16).into(), (-7i16).to_ne_bytes().to_vec(), Json::from(-7i64)),
            (Scalar::Bool.into(), vec![1], Json::from(true)),
            (Repr::Opaque(3), vec![1, 2, 3], Json::from(&[1u64, 2, 3][..])),
        ] {
            let (resting, fill) = (Resting(repr), FillValue::new(fill));
            let said = resting.fill_value_to_json(&fill, Dialect::V3).unwrap();
            assert_eq!(said, words);
            assert_eq!(resting.fill_value_from_json(&said, Dialect::V3).unwrap(), fill);
            for dialect in [Dialect::V2, Dialect::Draft] {
                let said = resting.fill_value_to_json(&fill, dialect).unwrap();
                assert_eq!(resting.fill_value_from_json(&said, dialect).unwrap(), fill);
                assert!(resting.fill_value_from_json(&Json::Null, dialect).is_err());
            }
            assert!(resting.fill_value_to_json(&FillValue::zero(99), Dialect::V3).is_err());
            assert!(resting.fill_value_from_json(&Json::from("?"), Dialect::V3).is_err());
        }
        for (repr, due) in [(Repr::Utf32(2), ">U2"), (Scalar::Uint(16).into(), ">u2")] {
            let descr = crate::DataType::extension(Resting(repr)).numpy_descr(Endian::Big);
            assert_eq!(descr, Some(due.into()));
        }
        for repr in [Repr::Utf32(1), Repr::Variable, Scalar::Int(792).into()] {
            let fill = Resting(repr).fill_value_from_json(&Json::from(0u64), Dialect::V3);
            assert!(fill.is_err(), "{repr:?}");
            let fill = FillValue::zero(repr.size());
            assert!(Resting(repr).fill_value_to_json(&fill, Dialect::V3).is_err());
        }
    }
}
