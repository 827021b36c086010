//! What distinguishes a single-file OME-Zarr (OME's RFC-9), `.ozx`, from other archives: an order of its entries, and a comment.
//!
//! The documents come first, the root's before all others and these level by level, in the file as in its directory. A reader
//! that trusts the comment knows all nodes before it has read the directory of the chunks.

use std::io::{self, Read, Seek};
use std::path::Path;

use zarr_core::{Json, Object};
use zip::ZipArchive;

use super::archive::Archive;

/// The document of the root, and of any other node behind its path.
const DOCUMENT: &str = "zarr.json";
/// The version that the comment has if the root says none: the first that can be in such an archive.
const VERSION: &str = "0.5";
/// Documents larger than this are not read for a version.
const MAX_DOCUMENT: u64 = 16 << 20;

/// Whether an archive is a single-file OME-Zarr.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SingleFile {
    /// It is another one, and stays as it is.
    No,
    /// It says that it is one, and has no document of the root any more; its comment is to say so.
    NoMore { comment: Box<[u8]> },
    /// It is one, and has this comment.
    Ordered { comment: Box<[u8]> },
}

impl SingleFile {
    /// What the archive at a path is to be, by its name or by its comment.
    ///
    /// # Errors
    /// What kept the document of the root from being read.
    pub fn of(path: &Path, archive: &Archive) -> io::Result<SingleFile> {
        let old = &archive.directory.comment;
        let is_named = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("ozx"));
        if !is_named && !says_json_first(old) {
            return Ok(SingleFile::No);
        }
        let Some(document) = archive.directory.find_at_top(&archive.file, DOCUMENT) else {
            // Of a copy that is under way the documents are written last.
            return Ok(if says_json_first(old) {
                SingleFile::NoMore { comment: comment(old, None) }
            } else {
                SingleFile::No
            });
        };
        let version = match document.size()? {
            0..=MAX_DOCUMENT => version(&document.read()?),
            _ => None,
        };
        let comment = comment(old, Some(version.as_deref().unwrap_or(VERSION)));
        Ok(SingleFile::Ordered { comment })
    }

    /// The comment that the archive gets; `None` if it keeps its own.
    pub fn comment(&self) -> Option<&[u8]> {
        match self {
            SingleFile::No => None,
            SingleFile::NoMore { comment } | SingleFile::Ordered { comment } => Some(comment),
        }
    }
}

/// The comment of an archive of this version that had another one, of which the members stay. Without a version the documents are
/// not first any more. What is no JSON stays whole.
fn comment(old: &[u8], version: Option<&str>) -> Box<[u8]> {
    let members = match Json::parse(old) {
        Ok(Json::Object(members)) => members,
        _ if old.is_empty() => Object::new(),
        _ => return old.into(),
    };
    let mut ome = member(&members, "ome");
    let file = member(&ome, "zipFile");
    let directory = member(&file, "centralDirectory").with("jsonFirst", version.is_some());
    let file = file.with("centralDirectory", directory);
    if let Some(version) = version {
        ome.insert("version", version);
    }
    let ome = ome.with("zipFile", file);
    let new = Json::from(members.with("ome", ome)).to_string().into_bytes();
    // No archive has a longer one.
    if new.len() > usize::from(u16::MAX) { old.into() } else { new.into() }
}

/// A member that is an object, else an empty one.
fn member(object: &Object, name: &str) -> Object {
    object.get(name).and_then(Json::as_object).cloned().unwrap_or_default()
}

/// The version of OME-Zarr that the document of the root says.
fn version(document: &[u8]) -> Option<String> {
    let document = Json::parse(document).ok()?;
    let ome = document.as_object()?.get("attributes")?.as_object()?.get("ome")?.as_object()?;
    ome.get("version")?.as_str().filter(|version| version.len() <= 100).map(str::to_owned)
}

/// Whether a comment says that the documents are the first entries.
fn says_json_first(comment: &[u8]) -> bool {
    json_first(comment) == Some(true)
}

fn json_first(comment: &[u8]) -> Option<bool> {
    let comment = Json::parse(comment).ok()?;
    let file = comment.as_object()?.get("ome")?.as_object()?.get("zipFile")?.as_object()?;
    file.get("centralDirectory")?.as_object()?.get("jsonFirst")?.as_bool()
}

/// The numbers of an archive's entries in the order of a single-file OME-Zarr. What is no document keeps its order.
pub(super) fn order<R: Read + Seek>(archive: &ZipArchive<R>) -> Vec<usize> {
    let mut order: Vec<usize> = (0..archive.len()).collect();
    order.sort_by_cached_key(|&index| {
        let name = archive.name_for_index(index).and_then(Result::ok).unwrap_or_default();
        match name.strip_suffix(DOCUMENT) {
            Some(above) if above.is_empty() || above.ends_with('/') => {
                // Level by level, those of one group together.
                (above.matches('/').count(), Some(above.to_owned()))
            }
            _ => (usize::MAX, None),
        }
    });
    order
}

/// Whether the entries have that order already, in the file as in its directory.
pub(super) fn is_ordered<R: Read + Seek>(archive: &ZipArchive<R>) -> bool {
    order(archive).is_sorted() && starts(archive).is_ok_and(|starts| starts.is_sorted())
}

/// Where each entry begins in the file.
fn starts<R: Read + Seek>(archive: &ZipArchive<R>) -> Result<Vec<u64>, zip::result::ZipError> {
    let entries = archive.metadata();
    (0..entries.len()).map(|index| Ok(entries.entry(index)?.header_start())).collect()
}
