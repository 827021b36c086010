//! Takes URLs apart: the store that a file is in, and its key there.

#[cfg(any(feature = "references", feature = "icechunk"))]
use std::path::{Path, PathBuf};

use zarr_core::store::{Result, StoreKey};
use zarr_core::{StoreError, split_query};

/// The URL of the store that contains a file, and the file's key there. What encodes names with `%`, web addresses and
/// `file` URLs, is decoded.
///
/// # Errors
/// [`StoreError::InvalidUrl`] for a URL that names no file.
pub fn split_file(url: &str) -> Result<(String, StoreKey)> {
    let (place, query) = split_query(url);
    let place = place.trim_end_matches('/');
    let (above, name) = match place.rsplit_once('/') {
        // A path without a folder.
        None => (".".to_owned(), place),
        Some((above, name)) if above.ends_with([':', '/']) => {
            if place.contains("://") && !place.starts_with("file:") {
                return Err(StoreError::invalid_url(url, "it names no file in a store"));
            }
            (format!("{above}/"), name)
        }
        Some(("", name)) => ("/".to_owned(), name),
        Some((above, name)) => (above.to_owned(), name),
    };
    let name = if is_encoded(url) {
        decoded(name).ok_or_else(|| {
            StoreError::invalid_url(url, "`%` must be followed by two hexadecimal digits")
        })?
    } else {
        name.to_owned()
    };
    Ok((format!("{above}{query}"), StoreKey::new(name)?))
}

/// Whether names in a URL are written with `%`.
pub(crate) fn is_encoded(url: &str) -> bool {
    let scheme = url.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
    matches!(scheme.as_deref(), Some("http" | "https" | "file"))
}

/// The path of a local file: a path as it is, or that of a `file` URL; `None` for other URLs.
#[cfg(any(feature = "references", feature = "icechunk"))]
pub(crate) fn local_path(url: &str) -> Option<PathBuf> {
    match url.split_once("://") {
        None => Some(PathBuf::from(url)),
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("file") => {
            let path = rest.strip_prefix("localhost").unwrap_or(rest);
            path.starts_with('/').then(|| decoded(path).map(PathBuf::from)).flatten()
        }
        Some(_) => None,
    }
}

/// The `file` URL of an absolute path; `None` for one that is not UTF-8.
#[cfg(any(feature = "references", feature = "icechunk"))]
pub(crate) fn file_url(path: &Path) -> Option<String> {
    let text = path.to_str()?.replace('\\', "/");
    let begin = if text.starts_with('/') { "file://" } else { "file:///" };
    Some(format!("{begin}{}", encoded(&text)))
}

/// A text as names in URLs are written.
pub(crate) fn encoded(text: &str) -> String {
    let mut url = String::new();
    for byte in text.bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'~' | b':' | b'+' | b',' | b'=' | b'@' => {
                url.push(byte.into());
            }
            byte if byte.is_ascii_alphanumeric() => url.push(byte.into()),
            byte => url.push_str(&format!("%{byte:02X}")),
        }
    }
    url
}

/// A text in which `%20` and the like stand for bytes of UTF-8.
pub(crate) fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        rest = behind;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let digits = std::str::from_utf8(behind.get(..2)?).ok()?;
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &behind[2..];
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_a_key_in_the_store_above() {
        for (url, store, key) in [
            ("x.nc", ".", "x.nc"),
            ("a%20b/x.nc", "a%20b", "x.nc"),
            ("/x.nc", "/", "x.nc"),
            ("/data/x.nc/", "/data", "x.nc"),
            ("file:///data/a%20b.nc", "file:///data", "a b.nc"),
            ("file:///x.nc", "file:///", "x.nc"),
            ("s3://b/a/x%20.nc", "s3://b/a", "x%20.nc"),
            ("s3://b/x.nc", "s3://b", "x.nc"),
            ("https://host/a/x%20y.nc?v=1", "https://host/a?v=1", "x y.nc"),
        ] {
            let split = split_file(url).unwrap();
            assert_eq!((split.0.as_str(), split.1.as_str()), (store, key), "{url}");
        }
        for wrong in ["s3://b", "https://host/", "https://host/%zz", ""] {
            assert!(split_file(wrong).is_err(), "{wrong}");
        }
    }

    #[cfg(any(feature = "references", feature = "icechunk"))]
    #[test]
    fn paths_and_file_urls() {
        let path = Path::new("/data/a b#é");
        let url = file_url(path).unwrap();
        assert_eq!(url, "file:///data/a%20b%23%C3%A9");
        assert_eq!(local_path(&url).as_deref(), Some(path));
        assert_eq!(local_path("a%20b").as_deref(), Some(Path::new("a%20b")));
        assert_eq!(local_path("s3://b/x"), None);
        assert_eq!(local_path("file://host/x"), None);
    }
}
