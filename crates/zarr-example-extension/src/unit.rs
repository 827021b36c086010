//! A protocol extension of the drafts: a document says in which unit its numbers are.
//!
//! `{"extension": URI, "must_understand": true, "configuration": {"unit": "K"}}` in the `extensions` of an
//! array. A reader that understands it finds the unit as the attribute `units`, as in other conventions; one that
//! does not must not take the numbers for something else.

use zarr_core::{ArrayMetadata, Json, MetadataError, Object};

/// The extension's name.
pub const URI: &str = "https://example.org/zarr/extension/unit/1.0";

/// Understands the extension of an array; of a whole hierarchy there is nothing more to know.
///
/// # Errors
/// [`MetadataError::Invalid`] when `configuration` has no text `unit`.
pub fn understand(
    extension: &Object,
    array: Option<&mut ArrayMetadata>,
) -> Result<(), MetadataError> {
    let configuration = extension.get("configuration").and_then(Json::as_object);
    let unit = configuration.and_then(|configuration| configuration.get("unit"));
    let Some(unit @ Json::String(_)) = unit else {
        return Err(MetadataError::invalid("extensions", format!("{URI}: `unit` is a text")));
    };
    if let Some(array) = array.filter(|array| !array.attributes.contains("units")) {
        array.attributes.insert("units", unit.clone());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use zarr_core::data_type::CoreType;

    use super::*;

    #[test]
    fn the_unit_becomes_an_attribute_where_none_says_it() {
        let configuration = Object::new().with("unit", "K");
        let extension = Object::new().with("extension", URI).with("configuration", configuration);
        let mut array = ArrayMetadata::new(&[2], CoreType::Int8.into(), &[2]).unwrap();
        understand(&extension, Some(&mut array)).unwrap();
        assert_eq!(array.attributes.get("units"), Some(&Json::from("K")));
        array.attributes.insert("units", "kelvin");
        understand(&extension, Some(&mut array)).unwrap();
        assert_eq!(array.attributes.get("units"), Some(&Json::from("kelvin")));
        understand(&extension, None).unwrap();
    }

    #[test]
    fn a_unit_is_a_text() {
        for configuration in [Object::new(), Object::new().with("unit", 7u64)] {
            let extension = Object::new().with("configuration", configuration);
            assert!(understand(&extension, None).is_err());
        }
        assert!(understand(&Object::new(), None).is_err());
    }
}
