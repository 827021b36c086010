//! A storage transformer of final v3: every stored object is run-length encoded.
//!
//! The codecs of the document say what a chunk is without that. A reader that knows the transformer adds the codec
//! [`crate::run_length`] behind them; one that does not must not take the objects for chunks. There are no parameters.

use zarr_core::codec::CodecSpec;
use zarr_core::{ArrayMetadata, MetadataError, Object};

use crate::run_length;

/// The transformer's name.
pub const URI: &str = "https://example.org/zarr/storage-transformer/squeezed/1.0";

/// Gives the array the codecs that its stored objects have.
///
/// # Errors
/// [`MetadataError::Invalid`] for any parameter.
pub fn apply(configuration: &Object, array: &mut ArrayMetadata) -> Result<(), MetadataError> {
    if !configuration.is_empty() {
        let why = format!("{URI} has no parameters");
        return Err(MetadataError::invalid("storage_transformers", why));
    }
    array.codecs.push(CodecSpec::v3(run_length::URI, Object::new()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use zarr_core::Registry;
    use zarr_core::data_type::CoreType;

    use super::*;

    #[test]
    fn arrays_are_read_as_they_were_written() {
        let registry = Registry::new().with(crate::register);
        let transformer = Object::new().with("name", URI).into();
        zarr_testkit::check_storage_transformer(&registry, &transformer);
    }

    #[test]
    fn adds_the_codec_of_the_stored_objects() {
        let mut array = ArrayMetadata::new(&[4], CoreType::Uint8.into(), &[2]).unwrap();
        apply(&Object::new(), &mut array).unwrap();
        assert_eq!(array.codecs.last().map(|codec| &*codec.name), Some(run_length::URI));
        assert!(apply(&Object::new().with("level", 3u64), &mut array).is_err());
    }
}
