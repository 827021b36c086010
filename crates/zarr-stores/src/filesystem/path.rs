//! Finds the file that holds the value of a key.
//!
//! The rules of [`StoreKey`](zarr_core::store::StoreKey) already keep `..`, empty segments and NUL out
//! (docs/internals/design/stores.md). What a disk adds to them is checked here, before the disk is touched, and the same
//! way on every platform wherever that refuses no plain name.

use std::io;
use std::path::{Path, PathBuf};

use zarr_core::StoreError;
use zarr_core::format::TOOL_FOLDERS;
use zarr_core::store::Result;

/// The file that is locked, one in each folder.
pub(super) const LOCK: &str = ".zarr-lock";

/// How the names of unfinished files begin.
pub(super) const TEMP: &str = ".zarr-tmp-";

/// Room for the longest name of our own: `/`, [`TEMP`] and 16 digits.
const OWN_NAME: usize = 1 + TEMP.len() + 16;

/// The longest segment that common file systems hold, in bytes.
const LONGEST_SEGMENT: usize = 255;

/// The longest path that the system takes, in bytes, without the NUL at its end.
const LONGEST_PATH: usize = if cfg!(any(target_os = "linux", target_os = "android")) {
    4095
} else if cfg!(windows) {
    32_000
} else {
    1023
};

/// Whether a file of this name is the store's own, and so neither a key nor a part of one.
///
/// In any case of letters, since some disks do not tell cases apart.
pub(super) fn is_own(name: &str) -> bool {
    begins_like(name, TEMP) || (begins_like(name, LOCK) && name.len() == LOCK.len())
}

/// Whether a name begins so, in any case of letters.
pub(super) fn begins_like(name: &str, with: &str) -> bool {
    let start = name.as_bytes().get(..with.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(with.as_bytes()))
}

/// What keeps `segment` from being the name of a file.
pub(super) fn flaw(segment: &str) -> Option<&'static str> {
    let bytes = segment.as_bytes();
    if segment.contains('\\') {
        return Some("it has a `\\`, which separates folders on some systems");
    }
    if bytes.len() > LONGEST_SEGMENT {
        return Some("a segment is longer than 255 bytes");
    }
    if is_own(segment) {
        return Some("names like `.zarr-lock` and `.zarr-tmp-...` are reserved for the store");
    }
    if cfg!(windows) {
        return windows_flaw(segment);
    }
    None
}

/// What Windows takes for something else than the name of a file.
fn windows_flaw(segment: &str) -> Option<&'static str> {
    if segment.contains(['<', '>', ':', '"', '|', '?', '*']) {
        return Some("Windows has no files with any of `<>:\"|?*` in their names");
    }
    if segment.chars().any(char::is_control) {
        return Some("Windows has no files with control characters in their names");
    }
    if segment.ends_with(['.', ' ']) {
        return Some("Windows drops a `.` or a space at the end of a name");
    }
    let stem = segment.split('.').next().unwrap_or(segment).trim_end();
    let stem = stem.to_ascii_uppercase();
    let is_device = ["CON", "PRN", "AUX", "NUL"].contains(&&*stem);
    if is_device || is_numbered(&stem, "COM") || is_numbered(&stem, "LPT") {
        return Some("Windows reserves this name for a device");
    }
    None
}

/// Whether a name is that of a device and a digit.
fn is_numbered(name: &str, device: &str) -> bool {
    let rest = name.strip_prefix(device);
    rest.is_some_and(|rest| rest.len() == 1 && rest.bytes().all(|b| b.is_ascii_digit()))
}

/// The path of `key` below `root`: a key's text, or a prefix's without its last `/`.
///
/// # Errors
/// [`StoreError::InvalidKey`], naming the rule that is broken.
pub(super) fn below(root: &Path, key: &str) -> Result<PathBuf> {
    let size = root.as_os_str().len() + 1 + key.len() + OWN_NAME;
    if let Some(why) = key.split('/').find_map(flaw) {
        return Err(invalid_key(key, why));
    }
    if size > LONGEST_PATH {
        return Err(invalid_key(key, "its path is longer than the system allows"));
    }
    let mut path = PathBuf::with_capacity(size);
    path.push(root);
    if cfg!(windows) {
        path.extend(key.split('/'))
    } else {
        path.push(key)
    }
    Ok(path)
}

/// The error of a key that cannot be a file's path.
fn invalid_key(key: &str, why: &str) -> StoreError {
    StoreError::InvalidKey { key: key.to_owned(), why: why.to_owned() }
}

/// Refuses the path of a tool's value, such as a journal or what a repair moved away, where a link is in it: from the tool's folder on
/// all is ours, and who may place links here must not decide where we write.
pub(super) fn check_tools(root: &Path, key: &str) -> io::Result<()> {
    if !key.contains(".zarr") {
        return Ok(());
    }
    let mut place = root.to_owned();
    let mut is_tools = false;
    for (at, segment) in key.split('/').enumerate() {
        place.push(segment);
        is_tools |= TOOL_FOLDERS.contains(&segment);
        if is_tools && place.is_symlink() {
            let link = key.split('/').take(at + 1).collect::<Vec<_>>().join("/");
            let why = format!(
                "`{link}` is a symbolic link, which is not allowed in a tool's folder; see where it leads, then remove the link"
            );
            return Err(io::Error::other(why));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// T-60.
    #[test]
    fn what_is_no_file_name_is_refused() {
        let root = Path::new("/data");
        let long = "9".repeat(256);
        let deep = vec!["d".repeat(200); 200].join("/");
        for bad in ["a\\b", "a/Z:\\x", "a/.zarr-lock", ".ZARR-Lock/a", ".zarr-tmp-00", &long, &deep]
        {
            let refused = below(root, bad);
            assert!(matches!(refused, Err(StoreError::InvalidKey { .. })), "{bad}");
        }
        // Ordinary names, but on Windows.
        for good in [
            "zarr.json",
            "a b/é",
            "...",
            ".zarr-locks",
            "é:",
            "1:2",
            "x:y",
            "T:1",
            "a\nb",
            &long[1..],
        ] {
            let is_plain = !good.contains([':', '\n']);
            assert_eq!(below(root, good).is_ok(), !cfg!(windows) || is_plain, "{good}");
        }
        assert_eq!(below(root, "foo/bar").unwrap(), root.join("foo").join("bar"));
    }

    /// T-60.
    #[test]
    fn names_that_windows_reads_differently() {
        for bad in ["NUL", "con.txt", "lpt1", "a.", "a ", "a:b", "c:", "a?", "a\n"] {
            assert!(windows_flaw(bad).is_some(), "{bad}");
        }
        for good in ["null", "com", "com10", ".zarray", "c0.0"] {
            assert!(windows_flaw(good).is_none(), "{good}");
        }
    }
}
