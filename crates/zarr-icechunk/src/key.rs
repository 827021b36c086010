//! The keys that Icechunk has: documents and chunks of Zarr v3.

use icechunk::format::{ChunkIndices, Path};
use zarr_core::StoreError;
use zarr_core::store::StoreKey;

/// A key that a repository can hold.
///
/// The crate `icechunk` takes more texts for keys of chunks than there are: `abc/0` is the chunk 0 of `ab` for it, and
/// `c/01` is `c/1`. Here every key has one text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key {
    /// `zarr.json` of the node at this path.
    Document(Path),
    /// `c/…` of the array at this path.
    Chunk(Path, ChunkIndices),
}

const DOCUMENT: &str = "zarr.json";
/// What stands between the path of an array and the indices of a chunk.
pub const CHUNKS: &str = "c";

impl Key {
    /// The key of this text; `None` if Icechunk has no such key.
    pub fn parse(key: &StoreKey) -> Option<Key> {
        let mut segments: Vec<&str> = key.as_str().split('/').collect();
        if segments.last() == Some(&DOCUMENT) {
            segments.pop();
            return Some(Key::Document(path(&segments)?));
        }
        let at = segments.iter().rposition(|&segment| segment == CHUNKS)?;
        let indices = segments[at + 1..].iter().map(|segment| index(segment));
        let indices: Vec<u32> = indices.collect::<Option<_>>()?;
        Some(Key::Chunk(path(&segments[..at])?, ChunkIndices(indices)))
    }

    /// The key of this text, to be set.
    ///
    /// # Errors
    /// [`StoreError::InvalidKey`].
    pub fn to_set(key: &StoreKey) -> Result<Key, StoreError> {
        Key::parse(key).ok_or_else(|| {
            let why = "an Icechunk repository holds only Zarr v3: documents named `zarr.json`, and chunks with the chunk key encoding \
                       `default` and the separator `/`, such as `c/0/0`";
            refused(key, why)
        })
    }
}

/// The error of a key that cannot be set.
pub fn refused(key: &StoreKey, why: impl Into<String>) -> StoreError {
    StoreError::InvalidKey { key: key.to_string(), why: why.into() }
}

/// The path of a node, from its names.
fn path(names: &[&str]) -> Option<Path> {
    Path::new(&format!("/{}", names.join("/"))).ok()
}

/// The index of a chunk along an axis: decimal digits, without zeros before others.
fn index(text: &str) -> Option<u32> {
    let is_canonical = text == "0" || !text.starts_with(['0', '+']);
    text.parse().ok().filter(|_| is_canonical)
}

/// The prefix of everything in a node: empty for the root, or ending in `/`.
pub fn prefix_of(path: &Path) -> String {
    match path.as_str().trim_start_matches('/') {
        "" => String::new(),
        inner => format!("{inner}/"),
    }
}

/// The text of the key of a document.
pub fn document_of(path: &Path) -> String {
    prefix_of(path) + DOCUMENT
}

/// The text of the key of a chunk.
pub fn chunk_of(path: &Path, indices: &ChunkIndices) -> String {
    let mut key = prefix_of(path) + CHUNKS;
    for index in &indices.0 {
        key += &format!("/{index}");
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(key: &str) -> Option<Key> {
        Key::parse(&StoreKey::new(key).unwrap())
    }

    fn chunk(path: &str, indices: &[u32]) -> Option<Key> {
        Some(Key::Chunk(Path::new(path).unwrap(), ChunkIndices(indices.to_vec())))
    }

    #[test]
    fn documents_and_chunks_have_one_text_each() {
        assert_eq!(parsed("zarr.json"), Some(Key::Document(Path::root())));
        assert_eq!(parsed("a/b/zarr.json"), Some(Key::Document(Path::new("/a/b").unwrap())));
        assert_eq!(parsed("c"), chunk("/", &[]));
        assert_eq!(parsed("c/1/0"), chunk("/", &[1, 0]));
        assert_eq!(parsed("a/c"), chunk("/a", &[]));
        assert_eq!(parsed("a/c/4294967295"), chunk("/a", &[u32::MAX]));
        assert_eq!(parsed("c/0/c/1"), chunk("/c/0", &[1]), "an array `0` in a group `c`");
        for text in ["zarr.json", "a/b/zarr.json", "c", "c/1/0", "a/c", "a/c/7/12"] {
            let again = match parsed(text).unwrap() {
                Key::Document(path) => document_of(&path),
                Key::Chunk(path, indices) => chunk_of(&path, &indices),
            };
            assert_eq!(again, text);
        }
    }

    #[test]
    fn other_keys_are_none() {
        for other in [
            ".zarray",
            "a/.zgroup",
            "abc/0",
            "c.0.0",
            "a/0.0",
            "c/01",
            "c/+1",
            "c/-1",
            "c/4294967296",
            "a/c/x",
            "notes.txt",
            "a/c/0/zarr.jso",
        ] {
            assert_eq!(parsed(other), None, "{other}");
        }
    }
}
