//! Names versions of values, and reads the headers with which clients ask for one (RFC 9110, section 13).

use std::hash::{Hash, Hasher};

use hyper::HeaderMap;
use hyper::header::{HeaderName, IF_MATCH, IF_NONE_MATCH, IF_RANGE};
use sha2::{Digest, Sha256};
use zarr::store::Version;

/// The entity tag of a value of this version: a hash of what its store tells values apart by.
pub(crate) fn of_version(version: &Version) -> String {
    let mut hasher = Hashing(Sha256::new());
    version.hash(&mut hasher);
    quoted(hasher.0)
}

/// The entity tag of a value that was made here.
pub(crate) fn of_bytes(bytes: &[u8]) -> String {
    quoted(Sha256::new_with_prefix(bytes))
}

fn quoted(hash: Sha256) -> String {
    let hash = hash.finalize();
    let hex: String = hash[..16].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("\"{hex}\"")
}

struct Hashing(Sha256);

impl Hasher for Hashing {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        0
    }
}

/// What a request's conditions come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The value is sent, or the part of it that is asked for.
    Send,
    /// It is sent whole: it is not the one that a part is wanted of.
    SendWhole,
    /// The client has it: 304.
    NotModified,
    /// It is another one than the client means: 412.
    Failed,
}

/// Compares a value's tag with a request's conditions.
pub(crate) fn outcome(headers: &HeaderMap, tag: Option<&str>) -> Outcome {
    if let Some(wanted) = all(headers, IF_MATCH)
        && !matches(&wanted, tag, false)
    {
        return Outcome::Failed;
    }
    if let Some(known) = all(headers, IF_NONE_MATCH)
        && matches(&known, tag, true)
    {
        return Outcome::NotModified;
    }
    match headers.get(IF_RANGE) {
        // A date never is one of ours: values have tags only.
        Some(wanted) if tag.is_none_or(|tag| wanted.as_bytes() != tag.as_bytes()) => {
            Outcome::SendWhole
        }
        _ => Outcome::Send,
    }
}

/// All values of a header, joined.
fn all(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    let values: Vec<_> = headers.get_all(name).iter().collect();
    if values.is_empty() {
        return None;
    }
    let texts = values.iter().map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    Some(texts.collect::<Vec<_>>().join(","))
}

/// Whether a list of tags has this one. Ours are strong and have no commas; weak ones of the list count where that is enough.
fn matches(list: &str, tag: Option<&str>, weak: bool) -> bool {
    let Some(tag) = tag else { return list.trim() == "*" && !weak };
    list.split(',')
        .map(str::trim)
        .any(|one| one == "*" || one == tag || weak && one.strip_prefix("W/") == Some(tag))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, value.parse().unwrap())])
    }

    #[test]
    fn conditions_are_those_of_the_rfc() {
        let tag = Some("\"a\"");
        for (name, value, expected) in [
            (IF_NONE_MATCH, "\"a\"", Outcome::NotModified),
            (IF_NONE_MATCH, "W/\"a\"", Outcome::NotModified),
            (IF_NONE_MATCH, "\"b\", \"a\"", Outcome::NotModified),
            (IF_NONE_MATCH, "*", Outcome::NotModified),
            (IF_NONE_MATCH, "\"b\"", Outcome::Send),
            (IF_MATCH, "\"a\"", Outcome::Send),
            (IF_MATCH, "*", Outcome::Send),
            (IF_MATCH, "W/\"a\"", Outcome::Failed),
            (IF_MATCH, "\"b\"", Outcome::Failed),
            (IF_RANGE, "\"a\"", Outcome::Send),
            (IF_RANGE, "W/\"a\"", Outcome::SendWhole),
            (IF_RANGE, "\"b\"", Outcome::SendWhole),
            (IF_RANGE, "Sun, 06 Nov 1994 08:49:37 GMT", Outcome::SendWhole),
        ] {
            assert_eq!(outcome(&with(name.clone(), value), tag), expected, "{name}: {value}");
        }
        assert_eq!(outcome(&with(IF_MATCH, "\"a\""), None), Outcome::Failed);
        assert_eq!(outcome(&with(IF_NONE_MATCH, "\"a\""), None), Outcome::Send);
        assert_eq!(outcome(&with(IF_RANGE, "\"a\""), None), Outcome::SendWhole);
    }

    #[test]
    fn tags_tell_versions_apart() {
        let of_file = |mark| of_version(&Version::of_mark(mark));
        assert_eq!(of_file([1, 2, 3, 4]), of_file([1, 2, 3, 4]));
        assert_ne!(of_file([1, 2, 3, 4]), of_file([1, 2, 3, 5]));
        let of_server = |token: &'static str| of_version(&Version::new(token));
        assert_ne!(of_server("a"), of_server("b"));
    }
}
