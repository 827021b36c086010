//! What a path or URL means that a netCDF program gives: which Zarr data, in which mode.
//!
//! netcdf-c opens files whose first bytes it can read. So programs name a document of the data, an archive, or a small file
//! that names the data, a *link file*: `{"zarr_link": "s3://bucket/data.zarr"}`.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use zarr::{Dialect, Json};

use crate::codes::{EINVAL, ENOTNC, Failure, Result};

/// The documents whose names stand for the folder that they are in.
const DOCUMENTS: [&str; 5] = ["zarr.json", ".zgroup", ".zarray", ".zattrs", ".zmetadata"];

/// The member of a link file that says where the data are.
const LINK: &str = "zarr_link";

/// The most bytes of a link file.
const MAX_LINK_BYTES: u64 = 4096;

/// Where Zarr data are: a URL or path of NCZarr's, `data.zarr#mode=zarr`.
#[derive(Debug, PartialEq, Eq)]
pub struct Location {
    pub url: String,
    /// Whether the data are in a file that others may be in, too, so that it may be no Zarr data at all.
    pub may_be_foreign: bool,
}

/// The data that `typed` means.
///
/// # Errors
/// [`ENOTNC`] without a sentence for a JSON file that is neither a document nor a link file: another reader may know it.
pub fn locate(typed: &str) -> Result<Location> {
    let (place, fragment) = typed.split_once('#').unwrap_or((typed, ""));
    let fragment = without_own_modes(fragment);
    let with_modes = |place: &str, may_be_foreign| {
        let url =
            if fragment.is_empty() { place.to_owned() } else { format!("{place}#{fragment}") };
        Ok(Location { url, may_be_foreign })
    };
    let Some(path) = local(place) else {
        return with_modes(&without_document(place), false);
    };
    if is_document(&path) {
        return with_modes(&without_document(place), false);
    }
    match first_bytes(&path) {
        Some([b'{', _]) => match link(&path) {
            Some(target) => {
                let target = beside(&path, target);
                let (place, modes) = target.split_once('#').unwrap_or((&target, ""));
                let place = without_document(place);
                if modes.is_empty() {
                    return with_modes(&place, false);
                }
                Ok(Location { url: format!("{place}#{modes}"), may_be_foreign: false })
            }
            None => Err(ENOTNC.into()),
        },
        Some([b'P', b'K']) => with_modes(place, true),
        _ => with_modes(place, false),
    }
}

/// The fragment without the modes by which netcdf-c chose this library; `netcdf-4` stands beside them because 4.9.2 to 4.10.1
/// need the name of a format.
fn without_own_modes(fragment: &str) -> String {
    let parts: Vec<String> = fragment
        .split('&')
        .filter(|it| !it.is_empty())
        .filter_map(|part| {
            let (name, modes) = part.split_once('=').unwrap_or(("mode", part));
            if name != "mode" {
                return Some(part.to_owned());
            }
            let kept: Vec<&str> = modes.split(',').filter(|mode| !is_own_mode(mode)).collect();
            (!kept.is_empty()).then(|| format!("mode={}", kept.join(",")))
        })
        .collect();
    parts.join("&")
}

/// What a fragment says behind a name: of `format`, `zarr-v3` in `#mode=v3&format=zarr-v3`. netCDF's library does not come here with
/// `mode=zarr`: it takes that for its own Zarr.
pub fn word<'a>(url: &'a str, name: &str) -> Option<&'a str> {
    let (_, fragment) = url.split_once('#')?;
    fragment.split('&').find_map(|part| part.strip_prefix(name)?.strip_prefix('='))
}

/// The most bytes of a shard that a fragment asks for by `shard=64MiB`.
///
/// # Errors
/// [`EINVAL`] for what is no size, and in a dialect that has no shards.
pub fn shard_bytes(typed: &str, url: &str, dialect: Dialect) -> Result<Option<u64>> {
    let Some(text) = word(url, "shard") else { return Ok(None) };
    let refused = |why: &str| Failure::new(EINVAL, format!("{typed}: `shard={text}`: {why}"));
    if dialect != Dialect::V3 {
        return Err(refused(
            "only Zarr v3 has shards; leave it out, or choose `format=nczarr-v3` or `format=zarr-v3`",
        ));
    }
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit: Option<u64> = match &text[digits.len()..] {
        "" | "B" => Some(1),
        "KiB" => Some(1 << 10),
        "MiB" => Some(1 << 20),
        "GiB" => Some(1 << 30),
        _ => None,
    };
    let number = digits.parse::<u64>().ok().filter(|number| *number > 0);
    let bytes = number.zip(unit).and_then(|(number, unit)| number.checked_mul(unit));
    bytes.map(Some).ok_or_else(|| refused("expected a size, such as `64MiB`"))
}

/// Whether a mode is the one of a user-defined format, or the name of a format that it needs.
fn is_own_mode(mode: &str) -> bool {
    let mode = mode.trim().to_ascii_lowercase();
    let slot =
        mode.strip_prefix("udf").is_some_and(|n| n.len() == 1 && n.as_bytes()[0].is_ascii_digit());
    slot || mode == "netcdf-4" || mode == "netcdf4"
}

/// The path, if it is one of this machine.
fn local(place: &str) -> Option<PathBuf> {
    match place.strip_prefix("file://") {
        Some(path) => Some(path.into()),
        None if place.contains("://") => None,
        None => Some(place.into()),
    }
}

fn is_document(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| DOCUMENTS.contains(&name))
}

/// Whether a program gives the path of a document, and not that of a folder.
pub fn names_document(typed: &str) -> bool {
    let (place, _) = typed.split_once('#').unwrap_or((typed, ""));
    let (place, _) = if place.contains("://") { zarr::split_query(place) } else { (place, "") };
    is_document(Path::new(place))
}

/// A path or URL without the name of a document at its end: that of the folder.
fn without_document(place: &str) -> String {
    let (path, query) = if place.contains("://") { zarr::split_query(place) } else { (place, "") };
    let separator = path.rfind(|c: char| c == '/' || (cfg!(windows) && c == '\\'));
    let (folder, name) = match separator {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (".", path),
    };
    if !DOCUMENTS.contains(&name) {
        return place.to_owned();
    }
    // The root of a file system is no empty path.
    let folder = if folder.is_empty() { "/" } else { folder };
    format!("{folder}{query}")
}

fn first_bytes(path: &Path) -> Option<[u8; 2]> {
    let mut bytes = [0; 2];
    if !path.is_file() {
        return None;
    }
    File::open(path).ok()?.read_exact(&mut bytes).ok()?;
    Some(bytes)
}

/// What a link file names.
fn link(path: &Path) -> Option<String> {
    let mut text = Vec::new();
    File::open(path).ok()?.take(MAX_LINK_BYTES + 1).read_to_end(&mut text).ok()?;
    if text.len() as u64 > MAX_LINK_BYTES {
        return None;
    }
    let json = Json::parse(&text).ok()?;
    let target = json.as_object()?.get(LINK)?.as_str()?;
    (!target.is_empty()).then(|| target.to_owned())
}

/// The target of a link file: a path is counted from the folder of the file.
fn beside(file: &Path, target: String) -> String {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    match folder {
        Some(folder) if !target.contains("://") => folder.join(&target).display().to_string(),
        _ => target,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(typed: &str) -> String {
        locate(typed).unwrap().url
    }

    #[test]
    fn documents_stand_for_their_folders() {
        assert_eq!(url("data.zarr/zarr.json"), "data.zarr");
        assert_eq!(url("zarr.json"), ".");
        assert_eq!(url("/zarr.json"), "/");
        assert_eq!(url("/a b/.zmetadata"), "/a b");
        assert_eq!(url("/a/my.zarr.json"), "/a/my.zarr.json");
        assert_eq!(url("file:///a/.zgroup#mode=netcdf-4,udf0"), "file:///a");
        assert_eq!(
            url("http://h/a/zarr.json?key=1#mode=nczarr,udf7"),
            "http://h/a?key=1#mode=nczarr"
        );
        assert_eq!(
            url("/a/zarr.json#mode=udf0&aws.profile=x&mode=zarr"),
            "/a#aws.profile=x&mode=zarr"
        );
        assert_eq!(url("/a/zarr.json#udf2"), "/a");
        assert_eq!(url("/nowhere.nc"), "/nowhere.nc");
        assert!(names_document("file:///a/zarr.json#mode=udf0") && names_document(".zgroup"));
        assert!(names_document("http://h/a/zarr.json?key=1") && !names_document("/a/my.zarr"));
    }

    #[test]
    fn shards_have_a_size() {
        let bytes = |text: &str, dialect| {
            shard_bytes("x", &format!("x#mode=v3&shard={text}"), dialect).map_err(|e| e.code)
        };
        assert_eq!(shard_bytes("x", "x#mode=v3", Dialect::V2).unwrap(), None);
        assert_eq!(bytes("64MiB", Dialect::V3), Ok(Some(64 << 20)));
        assert_eq!(bytes("1000", Dialect::V3), Ok(Some(1000)));
        assert_eq!(bytes("64MiB", Dialect::V2), Err(EINVAL));
        for text in ["", "0", "MiB", "64 MiB", "64Mb", "-1", "99999999999GiB", "2,2"] {
            assert_eq!(bytes(text, Dialect::V3), Err(EINVAL), "{text}");
        }
    }

    #[test]
    fn link_files_are_followed_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("link");
        let typed = path.to_str().unwrap();
        let write = |text: &str| std::fs::write(&path, text).unwrap();
        write(r#"{"zarr_link": "s3://bucket/data.zarr"}"#);
        assert_eq!(url(typed), "s3://bucket/data.zarr");
        let with_format = url(&format!("file://{typed}#mode=netcdf-4,udf1&format=zarr-v3"));
        assert_eq!(with_format, "s3://bucket/data.zarr#format=zarr-v3");
        write(r#"{"zarr_link": "sub/data.zarr/zarr.json#mode=zarr"}"#);
        let expected = folder.path().join("sub/data.zarr");
        assert_eq!(url(typed), format!("{}#mode=zarr", expected.display()));
        let too_long = format!(r#"{{"zarr_link": "{}"}}"#, "a".repeat(5000));
        // netcdf-c asks for no file of fewer than nine bytes.
        let cut_off = r#"{"zarr_link": "#;
        for foreign in [
            r#"{"zarr_link": 1}"#,
            r#"{"zarr_link": ""}"#,
            r#"{"type": "FeatureCollection"}"#,
            cut_off,
            &too_long,
        ] {
            write(foreign);
            let failure = locate(typed).unwrap_err();
            assert_eq!((failure.code, failure.sentence), (ENOTNC, None), "{foreign}");
        }
        write("PK\u{3}\u{4}");
        assert!(locate(typed).unwrap().may_be_foreign);
    }
}
