//! Checks that a chunk key encoding keeps what [`ChunkKeyEncoding`](zarr_core::grid::ChunkKeyEncoding) promises.

use std::collections::BTreeMap;

use crate::memory::{Home, described};
use crate::shared::{Random, calm, good};
use zarr_core::grid::ChunkKeys;
use zarr_core::store::StoreKey;
use zarr_core::{Dialect, ErrorKind, Registry};

/// Indices of chunks along an axis: small ones, long ones, and those of a grid that begins below zero.
const INDICES: [i64; 8] = [0, 1, 2, 10, 11, -1, i64::MAX, i64::MIN];

/// Checks every promise of a chunk key encoding, which `registry` can build: no two chunks have one key, each key is one that a
/// store takes and no document's, and each is parsed to its indices; nothing else is parsed; and an array of final v3 that has
/// the encoding is read as it was written, by those who know the encoding only.
///
/// # Panics
/// At the first broken promise, naming it.
pub fn check_key_encoding(registry: &Registry, keys: &ChunkKeys) {
    for rank in 0..4 {
        check_keys(keys, rank);
    }
    check_array(registry, keys);
}

fn check_keys(keys: &ChunkKeys, rank: usize) {
    let mut found: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for number in 0..INDICES.len().pow(rank as u32) {
        let indices: Vec<i64> = (0..rank)
            .map(|axis| INDICES[number / INDICES.len().pow(axis as u32) % INDICES.len()])
            .collect();
        let what = format!("{keys:?}: the chunk {indices:?}");
        let key = calm(format_args!("{what}: key"), || keys.key(&indices));
        good(StoreKey::new(format!("a/{key}")), format_args!("{what}: its key `{key}`"));
        assert!(key != "zarr.json", "{what} has the key of a document, `{key}`");
        let parsed = calm(format_args!("{what}: parse"), || keys.parse(&key, rank));
        assert!(
            parsed.as_ref() == Some(&indices),
            "{what}: its key `{key}` is parsed to {parsed:?}"
        );
        if let Some(other) = found.insert(key.clone(), indices) {
            panic!("{what} has the same key as {other:?}, `{key}`");
        }
    }
    let mut others = vec!["zarr.json".to_owned(), String::new(), "/".into(), "\u{e9}".into()];
    for key in found.keys().take(40) {
        others.extend(["0", "/", "x", " "].map(|more| format!("{key}{more}")));
        others.extend(["0", "/", "+", "x"].map(|more| format!("{more}{key}")));
        others.extend((0..=key.len()).filter_map(|end| key.get(..end).map(str::to_owned)));
        others.push(key.to_uppercase());
    }
    for key in others {
        let what = format!("{keys:?}: `{key}`");
        let parsed = calm(format_args!("{what}: parse"), || keys.parse(&key, rank));
        let Some(indices) = parsed else { continue };
        assert!(
            indices.len() == rank,
            "{what} is parsed to {indices:?}, of another rank than {rank}"
        );
        let own = keys.key(&indices);
        assert!(own == key, "{what} is parsed to {indices:?}, whose key is `{own}`");
    }
}

fn check_array(registry: &Registry, keys: &ChunkKeys) {
    let what = format!("{keys:?}: an array");
    let mut metadata = described(&[7, 5], &[3, 2]);
    metadata.chunk_keys = keys.clone();
    let created = Home::create(registry, Dialect::V3, metadata);
    let (home, array) = good(created, format_args!("{what}, created,"));
    let elements = Random::new(1).bytes(7 * 5 * 2);
    let written = calm(format_args!("{what}, written,"), || array.write_bytes(.., &elements));
    good(written, format_args!("{what}, written,"));
    let again = good(home.open(registry), format_args!("{what}, opened again,"));
    let read = calm(format_args!("{what}, read,"), || again.read_bytes(..));
    let read = good(read, format_args!("{what}, read,"));
    assert!(read == elements, "{what}: its elements are not those that were written");
    let mut expected: Vec<String> = Vec::new();
    for (row, column) in (0..3).flat_map(|row| (0..3).map(move |column| (row, column))) {
        expected.push(format!("a/{}", keys.key(&[row, column])));
    }
    expected.sort_unstable();
    let stored = home.keys().into_iter().filter(|key| !key.ends_with("zarr.json"));
    let stored: Vec<String> = stored.collect();
    assert!(stored == expected, "{what} has the keys {stored:?}, expected {expected:?}");
    let unknowing = good(home.open(&Registry::new()), format_args!("{what}, opened by others,"));
    let own = Registry::new().build_key_encoding(&name_of(&again), &zarr_core::Object::new());
    if own.is_none() {
        let refused = unknowing.read_bytes(..).map_err(|error| error.kind());
        assert!(
            refused == Err(ErrorKind::Unsupported),
            "{what}: those who do not know the encoding read {refused:?}"
        );
    }
}

/// The name of an array's encoding, from its document.
fn name_of(array: &zarr_core::Array) -> String {
    let encoding = match &array.metadata().chunk_keys {
        ChunkKeys::Registered(keys) => keys.0.to_metadata(Dialect::V3),
        _ => None,
    };
    let name = encoding.and_then(|json| json.as_object()?.get("name")?.as_str().map(str::to_owned));
    name.unwrap_or_else(|| "default".into())
}

#[cfg(test)]
mod tests {
    use zarr_core::grid::ChunkKeyEncoding;
    use zarr_core::{Json, MetadataError, Object};

    use super::*;
    use crate::shared::verdict;

    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Flaw {
        None,
        JoinsWithoutSeparator,
        IsADocument,
        ParsesLeadingZeros,
        ParsesNothing,
        Panics,
        ForgetsItsName,
    }

    #[derive(Debug)]
    struct Flawed(Flaw);

    impl ChunkKeyEncoding for Flawed {
        fn key(&self, indices: &[i64]) -> String {
            let parts: Vec<String> = indices.iter().map(ToString::to_string).collect();
            match self.0 {
                Flaw::JoinsWithoutSeparator => format!("k{}", parts.concat()),
                Flaw::IsADocument if indices.is_empty() => "zarr.json".into(),
                _ => format!("k{}", parts.join("_")),
            }
        }

        fn parse(&self, key: &str, rank: usize) -> Option<Vec<i64>> {
            assert!(self.0 != Flaw::Panics || key.is_ascii(), "no such letter");
            let rest = key.strip_prefix('k')?;
            if rank == 0 {
                return rest.is_empty().then(Vec::new);
            }
            let indices: Vec<i64> =
                rest.split('_').map(|part| part.parse().ok()).collect::<Option<_>>()?;
            let is_own = self.key(&indices) == key || self.0 == Flaw::ParsesLeadingZeros;
            (is_own && self.0 != Flaw::ParsesNothing).then_some(indices)
        }

        fn to_metadata(&self, dialect: Dialect) -> Option<Json> {
            let name = if self.0 == Flaw::ForgetsItsName { "other" } else { "kept" };
            (dialect == Dialect::V3).then(|| Object::new().with("name", name).into())
        }
    }

    fn build(_: &Object) -> Result<ChunkKeys, MetadataError> {
        Ok(ChunkKeys::registered(Flawed(Flaw::None)))
    }

    #[test]
    fn notices_each_broken_promise() {
        let registry = Registry::new().with(|registry| registry.key_encoding("kept", build));
        let check = |keys: ChunkKeys| verdict(|| check_key_encoding(&registry, &keys));
        assert_eq!(check(ChunkKeys::registered(Flawed(Flaw::None))), None);
        assert_eq!(check(ChunkKeys::V2 { separator: '.' }), None);
        assert_eq!(check(ChunkKeys::Default { separator: '/' }), None);
        for (flaw, expected) in [
            (Flaw::JoinsWithoutSeparator, "is parsed to"),
            (Flaw::IsADocument, "has the key of a document"),
            (Flaw::ParsesLeadingZeros, "whose key is"),
            (Flaw::ParsesNothing, "is parsed to None"),
            (Flaw::Panics, "must not panic"),
            (Flaw::ForgetsItsName, "must not fail"),
        ] {
            let said = check(ChunkKeys::registered(Flawed(flaw))).unwrap_or_default();
            assert!(said.contains(expected), "{flaw:?}: {said}");
        }
    }
}
