//! Checks a storage transformer of final v3.

use crate::memory::{Home, described};
use crate::shared::{Random, calm, good};
use zarr_core::{Dialect, ErrorKind, Json, Registry};

/// Checks that an array whose document has this storage transformer, which `registry` knows, is read as it was written, and
/// that its elements are refused to those who do not know it. `transformer` is as in the document: `{"name": …}`.
///
/// # Panics
/// At the first broken promise, naming it.
pub fn check_storage_transformer(registry: &Registry, transformer: &Json) {
    let what = format!("{transformer}: an array");
    let created = Home::create(registry, Dialect::V3, described(&[7, 5], &[3, 2]));
    let (home, _) = good(created, format_args!("{what}, created,"));
    home.edit_document(|document| {
        document.insert("storage_transformers", Json::Array(vec![transformer.clone()]));
    });
    let opened = calm(format_args!("{what}, opened,"), || home.open(registry));
    let array = good(opened, format_args!("{what}, opened,"));
    let elements = Random::new(1).bytes(7 * 5 * 2);
    let written = calm(format_args!("{what}, written,"), || array.write_bytes(.., &elements));
    good(written, format_args!("{what}, written,"));
    let again = good(home.open(registry), format_args!("{what}, opened again,"));
    let read = calm(format_args!("{what}, read,"), || again.read_bytes(..));
    let read = good(read, format_args!("{what}, read,"));
    assert!(read == elements, "{what}: its elements are not those that were written");
    let unknowing = good(home.open(&Registry::new()), format_args!("{what}, opened by others,"));
    let refused = unknowing.read_bytes(..).map_err(|error| error.kind());
    assert!(
        refused == Err(ErrorKind::Unsupported),
        "{what}: those who do not know the transformer read {refused:?}"
    );
}

#[cfg(test)]
mod tests {
    use zarr_core::codec::CodecSpec;
    use zarr_core::grid::ChunkKeys;
    use zarr_core::{ArrayMetadata, MetadataError, Object};

    use super::*;
    use crate::shared::verdict;

    /// The keys of v2; and, if `flawed`, a codec that is not known.
    fn apply(configuration: &Object, array: &mut ArrayMetadata) -> Result<(), MetadataError> {
        array.chunk_keys = ChunkKeys::V2 { separator: '.' };
        if configuration.contains("flawed") {
            array.codecs.push(CodecSpec::v3("unknown", Object::new()));
        }
        Ok(())
    }

    #[test]
    fn notices_elements_that_cannot_be_written() {
        let registry = Registry::new().with(|registry| registry.storage_transformer("old", apply));
        let check = |transformer: Object| {
            verdict(|| check_storage_transformer(&registry, &transformer.into()))
        };
        assert_eq!(check(Object::new().with("name", "old")), None);
        let flawed = Object::new().with("flawed", true);
        let said = check(Object::new().with("name", "old").with("configuration", flawed));
        assert!(said.is_some_and(|said| said.contains("written, must not fail")));
        let said = check(Object::new().with("name", "unknown"));
        assert!(said.is_some_and(|said| said.contains("must not fail")));
    }
}
