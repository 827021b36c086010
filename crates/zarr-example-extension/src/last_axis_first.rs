//! A chunk key encoding: names the last axis first.
//!
//! The chunk at row 1 and column 23 has the key `c/23/1`, so that a listing of `c/23/` has the chunks of a column. There are
//! no parameters.

use zarr_core::grid::{ChunkKeyEncoding, ChunkKeys};
use zarr_core::{Dialect, Json, MetadataError, Object};

/// The encoding's name in final v3.
pub const URI: &str = "https://example.org/zarr/chunk-key-encoding/last-axis-first/1.0";

/// The encoding.
#[derive(Clone, Copy, Debug)]
pub struct LastAxisFirst;

/// Makes the encoding from its configuration.
///
/// # Errors
/// [`MetadataError::Invalid`] for any parameter.
pub fn build(configuration: &Object) -> Result<ChunkKeys, MetadataError> {
    if configuration.is_empty() {
        Ok(ChunkKeys::registered(LastAxisFirst))
    } else {
        let why = format!("{URI} has no parameters");
        Err(MetadataError::invalid("chunk_key_encoding", why))
    }
}

impl ChunkKeyEncoding for LastAxisFirst {
    fn key(&self, indices: &[i64]) -> String {
        let mut key = String::from("c");
        for index in indices.iter().rev() {
            key.push('/');
            key.push_str(&index.to_string());
        }
        key
    }

    fn parse(&self, key: &str, _: usize) -> Option<Vec<i64>> {
        let mut indices = Vec::new();
        for index in key.strip_prefix('c')?.split('/').skip(1) {
            indices.push(index.parse().ok()?);
        }
        indices.reverse();
        // Leading zeros and signs are other forms of an index, and no chunk's key.
        (self.key(&indices) == key).then_some(indices)
    }

    fn to_metadata(&self, dialect: Dialect) -> Option<Json> {
        (dialect == Dialect::V3).then(|| Object::new().with("name", URI).into())
    }
}

#[cfg(test)]
mod tests {
    use zarr_core::Registry;

    use super::*;

    #[test]
    fn keeps_the_promises_of_an_encoding() {
        let registry = Registry::new().with(crate::register);
        zarr_testkit::check_key_encoding(&registry, &ChunkKeys::registered(LastAxisFirst));
    }

    #[test]
    fn names_the_last_axis_first() {
        assert_eq!(LastAxisFirst.key(&[1, 23, -4]), "c/-4/23/1");
        assert_eq!(LastAxisFirst.parse("c/-4/23/1", 3), Some(vec![1, 23, -4]));
        assert_eq!(LastAxisFirst.key(&[]), "c");
        for wrong in ["c/01/2", "c/+1/2", "c1/2", "1/2", "c/1/", "c//1", "c/x/1"] {
            assert_eq!(LastAxisFirst.parse(wrong, 2), None, "{wrong}");
        }
    }

    #[test]
    fn rejects_parameters() {
        assert!(build(&Object::new().with("separator", ".")).is_err());
    }
}
