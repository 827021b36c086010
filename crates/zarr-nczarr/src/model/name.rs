//! Checks and compares the names of netCDF.

use std::borrow::Cow;
use std::collections::HashMap;

use unicode_normalization::{UnicodeNormalization, is_nfc};
use zarr_core::AccessError;

/// The longest name, in bytes.
const MAX_NAME: usize = 256;

/// Attributes that hold the model itself: they cannot be created, and no listing shows them (N-055).
const RESERVED: [&str; 14] = [
    "_nczarr_superblock",
    "_nczarr_group",
    "_nczarr_array",
    "_nczarr_attr",
    "_nczarr_attrs",
    "_ARRAY_DIMENSIONS",
    "_NCProperties",
    "CLASS",
    "NAME",
    "DIMENSION_LIST",
    "REFERENCE_LIST",
    "_Netcdf4Coordinates",
    "_Netcdf4Dimid",
    "_nc3_strict",
];

/// Attributes that are computed, never stored (N-055).
const VIRTUAL: [&str; 12] = [
    "_Format",
    "_IsNetcdf4",
    "_SuperblockVersion",
    "_Codecs",
    "_Storage",
    "_ChunkSizes",
    "_Endianness",
    "_DeflateLevel",
    "_Shuffle",
    "_Fletcher32",
    "_Filter",
    "_NoFill",
];

/// Checks the name of a group, a dimension, a variable or an attribute: 1 to 256 bytes of UTF-8, first a letter, a
/// digit, `_` or what is not ASCII, no `/`, no control character, no space at the end.
///
/// # Errors
/// [`AccessError::Argument`] naming the rule.
///
/// Specification: N-001.
pub fn check_name(name: &str) -> Result<(), AccessError> {
    let why = match name.chars().next() {
        None => "it is empty",
        Some(first) if first.is_ascii() && !first.is_ascii_alphanumeric() && first != '_' => {
            "it begins with neither a letter, a digit nor `_`"
        }
        _ if name.len() > MAX_NAME => "it is longer than 256 bytes",
        _ if name.contains('/') => "it has a `/`",
        _ if name.chars().any(char::is_control) => "it has a control character",
        _ if name.ends_with(char::is_whitespace) => "it ends with a space",
        _ => return Ok(()),
    };
    Err(AccessError::Argument(format!("invalid netCDF name `{}`: {why}", name.escape_debug())))
}

/// A name as a dataset keeps it: its characters are composed (Unicode's form NFC), so that `é` is one name however it
/// was typed (N-001).
///
/// Whatever is defined or renamed is called so. What others have named otherwise keeps its name, and is found by
/// either form.
pub fn composed(name: &str) -> Cow<'_, str> {
    if is_nfc(name) { Cow::Borrowed(name) } else { Cow::Owned(name.nfc().collect()) }
}

/// Whether two names are one when their characters are composed.
pub(crate) fn is_same(one: &str, other: &str) -> bool {
    one == other || (!(one.is_ascii() && other.is_ascii()) && composed(one) == composed(other))
}

/// Which of these names `name` refers to: the very same one, or else the first that is the same when composed.
pub(crate) fn position<'a>(
    mut names: impl Iterator<Item = &'a str> + Clone,
    name: &str,
) -> Option<usize> {
    let exact = names.clone().position(|other| other == name);
    exact.or_else(|| names.position(|other| is_same(other, name)))
}

/// Finds names in a list, in the same time however many there are: the very same one, or else the first that is the same
/// when composed.
///
/// ```
/// let names: zarr_nczarr::NameIndex = ["x", "caf\u{e9}"].into_iter().collect();
/// assert_eq!(names.position("cafe\u{301}"), Some(1));
/// assert_eq!(names.position("y"), None);
/// ```
// As `position` does by a search.
#[derive(Clone, Debug, Default)]
pub struct NameIndex {
    exact: HashMap<String, usize>,
    composed: HashMap<String, usize>,
}

impl NameIndex {
    /// Adds the name at `at`, behind those that are there.
    pub fn add(&mut self, name: &str, at: usize) {
        self.exact.entry(name.to_owned()).or_insert(at);
        if !name.is_ascii() {
            self.composed.entry(composed(name).into_owned()).or_insert(at);
        }
    }

    /// Where exactly this name is.
    pub fn exact(&self, name: &str) -> Option<usize> {
        self.exact.get(name).copied()
    }

    /// Which name `name` refers to.
    pub fn position(&self, name: &str) -> Option<usize> {
        if let Some(&at) = self.exact.get(name) {
            return Some(at);
        }
        let composed = composed(name);
        let found = [
            self.composed.get(&*composed),
            self.exact.get(&*composed).filter(|_| composed.is_ascii()),
        ];
        found.into_iter().flatten().min().copied()
    }
}

impl<'a> FromIterator<&'a str> for NameIndex {
    fn from_iter<I: IntoIterator<Item = &'a str>>(names: I) -> NameIndex {
        let mut index = NameIndex::default();
        names.into_iter().enumerate().for_each(|(at, name)| index.add(name, at));
        index
    }
}

/// Whether an attribute of this name holds a part of the model: it cannot be created, and no listing shows it (N-055).
pub fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name)
}

/// Whether an attribute of this name is HDF5's or the netCDF library's own, so that no listing shows what users of plain
/// Zarr keep there.
pub(crate) fn is_hidden(name: &str) -> bool {
    is_reserved(name)
        && !name.starts_with("_nczarr_")
        && !matches!(name, "_ARRAY_DIMENSIONS" | "_NCProperties")
}

/// Whether an attribute of this name is computed and never stored (N-055).
pub fn is_virtual(name: &str) -> bool {
    VIRTUAL.contains(&name)
}

/// The full name of what is called `name` in the group at `path`.
pub(crate) fn full_name(path: &str, name: &str) -> String {
    format!("{}/{name}", path.trim_end_matches('/'))
}

/// A path as it is kept: `/`, or names each preceded by `/`.
pub(crate) fn normal(path: &str) -> String {
    format!("/{}", path.trim_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// N-001.
    #[test]
    fn names_have_rules() {
        for good in ["a", "_x", "9lives", "v 1", "a b", "温度", "x.y+z-@", &"n".repeat(256)] {
            check_name(good).unwrap();
        }
        for bad in ["", " a", "a ", "-a", ".a", "a/b", "a\nb", "a\u{7f}", &"n".repeat(257)] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }

    /// N-001: the characters of Unicode's own examples (UAX 15, figures 3 to 5).
    #[test]
    fn characters_are_composed() {
        for (typed, kept) in [
            ("e\u{301}", "\u{e9}"),
            ("A\u{30a}", "\u{c5}"),
            ("\u{212b}", "\u{c5}"),
            ("\u{2126}", "\u{3a9}"),
            ("s\u{307}\u{323}", "\u{1e69}"),
            ("\u{1112}\u{1161}\u{11ab}", "\u{d55c}"),
            ("\u{fb01}", "\u{fb01}"),
            ("t 1", "t 1"),
        ] {
            assert_eq!(composed(typed), kept);
            assert!(is_same(typed, kept) && is_same(kept, typed));
        }
        assert!(!is_same("e", "\u{e9}"));
        let names = ["e\u{301}", "\u{e9}", "x"];
        let position = |name| position(names.into_iter(), name);
        assert_eq!(position("\u{e9}"), Some(1), "the very same one comes first");
        assert_eq!(position("e\u{301}"), Some(0));
        assert_eq!((position("x"), position("y")), (Some(2), None));
        // KELVIN SIGN is composed as the letter.
        let all =
            ["e\u{301}", "\u{e9}", "x", "\u{212a}", "K", "e\u{301}", "A\u{30a}", "\u{212a}2", "x"];
        let index: NameIndex = all.into_iter().collect();
        for name in all.into_iter().chain(["\u{c5}", "\u{212b}", "K2", "y", "\u{fb01}", ""]) {
            let expected = super::position(all.into_iter(), name);
            assert_eq!(index.position(name), expected, "{name}");
        }
    }
}
