//! Tells keys that some dialect may have written from those of other files, by their names.

use std::collections::{BTreeSet, HashSet};

use crate::dialect::Dialect;
use crate::path::NodePath;
use crate::store::{StoreKey, StorePrefix};

/// Documents of v2 and v3, of NCZarr, and what a writer that was killed may have left.
const DOCUMENTS: [&str; 5] = ["zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata"];

/// The folders of tools, which hold no nodes: copies under way, what a repair moved away, runs of `zarrkit.dask.store` under way.
pub const TOOL_FOLDERS: [&str; 3] = [".zarr-copy", ".zarr-quarantine", ".zarrkit-run"];

/// Where the journal of a copy to `path` is, at the root of the target: below `.zarr-copy/`, in the folder that the 64-bit
/// FNV-1a hash of the path names in 16 hexadecimal digits (docs/internals/design/copies.md).
pub fn copy_journal(path: &NodePath) -> StorePrefix {
    // FNV-1a, of 64 bits.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in path.as_str().bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    StorePrefix::new(format!(".zarr-copy/{hash:016x}/")).expect("hexadecimal digits make a prefix")
}

/// Whether a key is below one of [`TOOL_FOLDERS`].
pub fn is_tool_key(key: &StoreKey) -> bool {
    key.parent().as_str().split('/').any(|folder| TOOL_FOLDERS.contains(&folder))
}

/// Files and folders of version control and of desktops, which are no part of the data that they lie among.
const SYSTEM_NAMES: [&str; 8] =
    [".git", ".datalad", ".svn", ".hg", "__MACOSX", ".DS_Store", "Thumbs.db", "desktop.ini"];

/// The part of a key up to the file or folder of version control, of a desktop or of a tool of Zarr that it is or is in, if it
/// is: that is no part of the data. Locks and unfinished values count.
pub fn system_part(key: &str) -> Option<&str> {
    let mut start = 0;
    for (end, _) in key.match_indices('/').chain([(key.len(), "")]) {
        let name = &key[start..end];
        if SYSTEM_NAMES.contains(&name)
            || TOOL_FOLDERS.contains(&name)
            || name.starts_with("._")
            || name == ".zarr-lock"
            || name.starts_with(".zarr-tmp-")
        {
            return Some(&key[..end]);
        }
        start = end + 1;
    }
    None
}

/// The names of documents that would make a node of another dialect of the folder in which `key` is a document of this one
/// (docs/internals/design/crash-safety.md).
pub(crate) fn documents_of_other_dialects(
    dialect: Dialect,
    key: &StoreKey,
) -> &'static [&'static str] {
    match dialect {
        Dialect::V2 => &["zarr.json"],
        Dialect::V3 => &[".zarray", ".zgroup"],
        // A draft has its nodes below `meta/`, and its entry point where the others have the root.
        Dialect::Draft if key.as_str() == "zarr.json" => &[".zarray", ".zgroup"],
        Dialect::Draft => &[],
    }
}

/// Whether the last part of a key is the name of a document of v2, v3 or NCZarr.
pub fn is_document_name(name: &str) -> bool {
    DOCUMENTS.contains(&name) || name.starts_with(".ncz")
}

/// The folders, of these keys, that are nodes of v3 alone in a hierarchy of v2, or the reverse: nodes of another hierarchy, which every
/// reader of this one passes over. The drafts have none.
pub fn folders_of_another_format(dialect: Dialect, keys: &[StoreKey]) -> BTreeSet<&str> {
    let (own, others): (&[&str], &[&str]) = match dialect {
        Dialect::V2 => (&[".zarray", ".zgroup"], &["zarr.json"]),
        Dialect::V3 => (&["zarr.json"], &[".zarray", ".zgroup"]),
        Dialect::Draft => return BTreeSet::new(),
    };
    let folders = |names: &[&str]| -> BTreeSet<&str> {
        let keys = keys.iter().filter_map(|key| key.as_str().rsplit_once('/'));
        keys.filter(|(_, name)| names.contains(name)).map(|(folder, _)| folder).collect()
    };
    &folders(others) - &folders(own)
}

/// Whether the key of a document or of a chunk may look like this, in any dialect.
///
/// A name of numbers only, such as `7` or `1.23`, counts as a chunk's, below any prefix.
pub fn is_zarr_key(key: &StoreKey) -> bool {
    let text = key.as_str();
    let name = text.rsplit('/').next().unwrap_or_default();
    let is_of_draft = (text.starts_with("meta/") || text.contains("/meta/"))
        && [".array", ".group", ".array.json", ".group.json"].iter().any(|end| name.ends_with(end));
    is_document_name(name)
        || name == ".zarr-lock"
        || name.starts_with(".zarr-tmp-")
        || is_of_draft
        || is_chunk(name)
        || is_tool_key(key)
}

/// Whether a key may be that of a chunk of one of the arrays whose chunks have these prefixes, by its name alone.
pub(crate) fn may_be_chunk_of(arrays: &HashSet<String>, key: &StoreKey) -> bool {
    let mut name = key.as_str();
    loop {
        let (folder, part) = name.rsplit_once('/').unwrap_or(("", name));
        if !is_chunk(part) {
            return false;
        }
        let prefix = &key.as_str()[..name.len() - part.len()];
        if arrays.contains(prefix) {
            return true;
        }
        if prefix.is_empty() {
            return false;
        }
        name = folder;
    }
}

/// Whether it is by the name of a chunk alone that a key may be one that some dialect has written.
pub(crate) fn has_chunk_name(key: &StoreKey) -> bool {
    is_chunk(key.as_str().rsplit('/').next().unwrap_or_default()) && !is_tool_key(key)
}

/// The last part of a chunk's key: `c`, `c0`, `0`, `c.1.2`, `c1.2`, `-1.2`.
fn is_chunk(name: &str) -> bool {
    let numbers = match name.strip_prefix('c') {
        Some(rest) => rest.strip_prefix('.').unwrap_or(rest),
        None => name,
    };
    name == "c"
        || numbers.split('.').all(|number| {
            let digits = number.strip_prefix('-').unwrap_or(number);
            !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_part_of_the_data_is_known_by_a_part_of_its_key() {
        for (key, part) in [
            (".git/objects/00/1", Some(".git")),
            ("a/.datalad/config", Some("a/.datalad")),
            ("a/.DS_Store", Some("a/.DS_Store")),
            ("__MACOSX/a/._zarr.json", Some("__MACOSX")),
            ("a/._x", Some("a/._x")),
            (".zarr-copy/0/plan.json", Some(".zarr-copy")),
            ("a/.zarr-lock", Some("a/.zarr-lock")),
            (".gitignore", None),
            ("a.git/x", None),
            ("README.md", None),
        ] {
            assert_eq!(system_part(key), part, "{key}");
        }
    }

    #[test]
    fn a_chunk_is_below_an_array_with_nothing_but_indices_between() {
        let arrays = HashSet::from(["a/".to_owned(), "g/0/".to_owned()]);
        let is = |key: &str| may_be_chunk_of(&arrays, &StoreKey::new(key).unwrap());
        for key in ["a/0", "a/c/0/1", "a/c", "a/0/0.0", "g/0/c/1", "g/0/7"] {
            assert!(is(key), "{key}");
        }
        for key in ["0", "c/0", "ab/0", "g/1", "g/frames/1", "a/scan.n5/volume/0/0", "a/0/x/1"] {
            assert!(!is(key), "{key}");
        }
        let root = HashSet::from([String::new()]);
        assert!(may_be_chunk_of(&root, &StoreKey::new("c/0").unwrap()));
    }

    #[test]
    fn documents_and_chunks_of_all_dialects_are_zarrs_and_nothing_else_is() {
        let is = |key: &str| is_zarr_key(&StoreKey::new(key).unwrap());
        for key in [
            "zarr.json",
            "a/zarr.json",
            "a/.zarray",
            ".zmetadata",
            "a/.nczarray",
            "meta/root/a.array.json",
            "meta/root/a/b.group",
            "meta/root/consolidated/.zmetadata",
            "a/c/0/1",
            "a/c.0.1",
            "a/0.1",
            "a/0/1",
            "a/c",
            "data/root/a/c0/1",
            "data/root/a/c0.-1",
            ".zarr-copy/0123/plan.json",
            "a/.zarr-quarantine/notes.txt",
        ] {
            assert!(is(key), "{key}");
        }
        for key in [
            "notes.txt",
            "a/c/0/notes",
            "a/0.1.bak",
            "a/c0.1x",
            "a/.0.1",
            "a/0..1",
            "c.txt",
            "a.zarray",
            "a.array.json",
            "meta/root/notes.json",
            "a/-",
            "a/c.",
            "a/.zarr-quarantine",
        ] {
            assert!(!is(key), "{key}");
        }
    }
}
