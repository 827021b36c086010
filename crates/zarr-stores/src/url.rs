//! Finds the folder or file that a URL names.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use zarr_core::StoreError;
use zarr_core::store::Result;

use crate::percent::decode;

/// The path that `location` names: a `file://` URL, percent-encoded, or a path as it is.
///
/// # Errors
/// [`StoreError::InvalidUrl`] for a URL of another host or scheme, or one that is not well formed.
pub(crate) fn to_path(location: &str) -> Result<PathBuf> {
    let rest = match location.split_once("://") {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("file") => rest,
        _ if location.is_empty() => return Err(StoreError::invalid_url(location, "it is empty")),
        _ => return Ok(PathBuf::from(location)),
    };
    let path = match rest.split_once('/') {
        Some((host, _)) if host.is_empty() || host.eq_ignore_ascii_case("localhost") => {
            &rest[host.len()..]
        }
        _ => {
            return Err(StoreError::invalid_url(
                location,
                "a file URL has three slashes: `file:///path`",
            ));
        }
    };
    if path.contains(['?', '#']) {
        return Err(StoreError::invalid_url(
            location,
            "a `?` in a path is written `%3F`, a `#` `%23`",
        ));
    }
    let decoded = decode(path).ok_or_else(|| {
        StoreError::invalid_url(location, "`%` must be followed by two hexadecimal digits")
    })?;
    if decoded.contains(&0) {
        return Err(StoreError::invalid_url(location, "it has a NUL"));
    }
    from_bytes(decoded).ok_or_else(|| StoreError::invalid_url(location, "it is not UTF-8"))
}

/// The `file://` URL of an absolute path.
pub(crate) fn from_path(path: &Path) -> String {
    let text = path.as_os_str().as_encoded_bytes();
    if cfg!(windows) { from_text(&as_in_url(text)) } else { from_text(text) }
}

/// A path of Windows with the separators of URLs, and without the `\\?\` that `canonicalize` puts before it.
fn as_in_url(path: &[u8]) -> Vec<u8> {
    let plain = match path.strip_prefix(br"\\?\") {
        None => path.to_owned(),
        Some(rest) => match rest.strip_prefix(br"UNC\") {
            Some(share) => [&br"\\"[..], share].concat(),
            None => rest.to_owned(),
        },
    };
    plain.into_iter().map(|byte| if byte == b'\\' { b'/' } else { byte }).collect()
}

/// The `file://` URL of the text of an absolute path.
fn from_text(text: &[u8]) -> String {
    let mut url = String::from("file://");
    if !text.starts_with(b"/") {
        url.push('/');
    }
    for &byte in text {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'~' | b':' | b'+' | b',' | b'=' | b'@' => {
                url.push(byte.into());
            }
            byte if byte.is_ascii_alphanumeric() => url.push(byte.into()),
            byte => write!(url, "%{byte:02X}").expect("text can always be added to"),
        }
    }
    url
}

/// The store of one file on the way along `path`, by what it is named or by its first bytes, and the prefix of what follows
/// it; `None` if there is none. What is not there is what it is named like, if it is the end of the way.
pub(crate) fn store_on_the_way(path: &Path) -> Option<(Kind, PathBuf, String)> {
    path.ancestors().find_map(|at| {
        let kind = if at.join("data.mdb").is_file() {
            Kind::Lmdb
        } else if at.is_dir() || (at != path && !at.is_file()) {
            return None;
        } else {
            kind_by_name(at).or_else(|| kind_by_signature(at))?
        };
        Some((kind, at.into(), inside(path, at)?))
    })
}

/// What a store of one file is by the end of its name. `.ozx` are the archives of OME-Zarr.
fn kind_by_name(path: &Path) -> Option<Kind> {
    if ["zip", "ozx"].iter().any(|name| has_extension(path, name)) {
        Some(Kind::Zip)
    } else if ["lmdb", "mdb"].iter().any(|name| has_extension(path, name)) {
        Some(Kind::Lmdb)
    } else {
        None
    }
}

/// Whether a file's name ends so, in any case.
fn has_extension(path: &Path, name: &str) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(name))
}

/// How an archive begins: with an entry, or, if it is empty, with its end.
const ZIP_SIGNATURES: [&[u8]; 2] = [b"PK\x03\x04", b"PK\x05\x06"];

/// The number behind the header of the first page of an LMDB file.
const LMDB_MAGIC: u32 = 0xbeef_c0de;
const LMDB_MAGIC_AT: usize = 16;

/// What a file is by its first bytes.
fn kind_by_signature(path: &Path) -> Option<Kind> {
    // A pipe is not waited for.
    let file = Some(path).filter(|path| path.is_file())?;
    let mut head = [0; LMDB_MAGIC_AT + 4];
    let mut file = std::fs::File::open(file).ok()?;
    let mut len = 0;
    while len < head.len() {
        match std::io::Read::read(&mut file, &mut head[len..]).ok()? {
            0 => break,
            more => len += more,
        }
    }
    let head = &head[..len];
    if ZIP_SIGNATURES.iter().any(|signature| head.starts_with(signature)) {
        return Some(Kind::Zip);
    }
    let magic = head.get(LMDB_MAGIC_AT..)?.try_into().ok()?;
    (u32::from_ne_bytes(magic) == LMDB_MAGIC).then_some(Kind::Lmdb)
}

/// The prefix of what follows `at` on the way along `path`.
fn inside(path: &Path, at: &Path) -> Option<String> {
    let inside = path.strip_prefix(at).ok()?.to_str()?.replace('\\', "/");
    Some(if inside.is_empty() { inside } else { format!("{inside}/") })
}

/// The archive that is to be made along `path`, by its name, and the prefix of what follows it.
#[cfg(feature = "zip")]
pub(crate) fn new_archive(path: &Path) -> Option<(PathBuf, String)> {
    let at = path.ancestors().find(|at| kind_by_name(at) == Some(Kind::Zip) && !at.exists())?;
    Some((at.into(), inside(path, at)?))
}

/// What a store of one file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Zip,
    Lmdb,
}

#[cfg(unix)]
fn from_bytes(path: Vec<u8>) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    Some(std::ffi::OsString::from_vec(path).into())
}

/// Elsewhere a path is text, and `/C:/x` is the drive's.
#[cfg(not(unix))]
fn from_bytes(path: Vec<u8>) -> Option<PathBuf> {
    let text = String::from_utf8(path).ok()?;
    let drive = text.strip_prefix('/').filter(|t| t.as_bytes().get(1) == Some(&b':'));
    Some(PathBuf::from(drive.unwrap_or(&text)))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// F-112.
    #[test]
    fn urls_and_paths() {
        for (location, path) in [
            ("file:///data/a%20b.zarr", "/data/a b.zarr"),
            ("FILE://localhost/data/%C3%A9", "/data/é"),
            ("/data/a%20b.zarr", "/data/a%20b.zarr"),
            ("data/x#1", "data/x#1"),
        ] {
            assert_eq!(to_path(location).unwrap(), Path::new(path), "{location}");
        }
        for bad in [
            "",
            "file://",
            "file://host/x",
            "file:///a%2",
            "file:///%zz",
            "file:///%00",
            "file:///a#b",
        ] {
            assert!(to_path(bad).is_err(), "{bad}");
        }
        let path = Path::new("/data/a b/50%#é?");
        assert_eq!(from_path(path), "file:///data/a%20b/50%25%23%C3%A9%3F");
        assert_eq!(to_path(&from_path(path)).unwrap(), path);
    }

    #[test]
    fn paths_of_windows_become_urls() {
        for (path, url) in [
            (r"C:\data\a b.zarr", "file:///C:/data/a%20b.zarr"),
            (r"\\?\C:\data\x.zip", "file:///C:/data/x.zip"),
            (r"\\server\share\x", "file:////server/share/x"),
            (r"\\?\UNC\server\share\x", "file:////server/share/x"),
        ] {
            assert_eq!(from_text(&as_in_url(path.as_bytes())), url);
        }
    }
}
