//! What must a data type bring that the core does not know?

use std::fmt::{Debug, Display};

use super::{Endian, FillValue, Repr};
use crate::codec::CodecSpec;
use crate::dialect::Dialect;
use crate::error::{CodecError, MetadataError};
use crate::json::Json;

/// A data type from an extension: a name, and the representation it rests on.
///
/// Its `Display` is a short name for people and must tell it from every other type.
pub trait ExtensionType: Debug + Display + Send + Sync {
    /// The type in a dialect's words; `endian` is the stored byte order, where the words say it.
    /// `None` if the dialect has none.
    fn spelling(&self, dialect: Dialect, endian: Endian) -> Option<Json>;

    /// The representation: all that codecs ask.
    fn repr(&self) -> Repr;

    /// The codec that makes bytes of such elements, where `bytes` cannot.
    fn serializer(&self) -> Option<CodecSpec> {
        None
    }

    /// The fill value that `json` means, in native byte order.
    ///
    /// # Errors
    /// A sentence, when it means none.
    fn fill_value_from_json(
        &self,
        json: &Json,
        dialect: Dialect,
    ) -> Result<FillValue, MetadataError>;

    /// The fill value in a dialect's words.
    ///
    /// # Errors
    /// When the dialect has none for it.
    fn fill_value_to_json(
        &self,
        value: &FillValue,
        dialect: Dialect,
    ) -> Result<Json, MetadataError>;

    /// Whether [`ExtensionType::check`] looks at elements.
    fn needs_check(&self) -> bool {
        false
    }

    /// Makes sure that native elements, C order, are ones of this type.
    ///
    /// # Errors
    /// [`CodecError::Corrupt`] for elements that cannot be.
    fn check(&self, elements: &[u8]) -> Result<(), CodecError> {
        let _ = elements;
        Ok(())
    }

    /// Makes sure that these bytes are an element of this type, one of any length.
    ///
    /// # Errors
    /// [`CodecError::Corrupt`] if they cannot be.
    fn check_element(&self, element: &[u8]) -> Result<(), CodecError> {
        let _ = element;
        Ok(())
    }
}

/// What an extension made of a document's words.
#[derive(Clone, Debug)]
pub struct ParsedType {
    /// The type.
    pub data_type: super::DataType,
    /// The byte order, if the words said one.
    pub endian: Option<Endian>,
}
