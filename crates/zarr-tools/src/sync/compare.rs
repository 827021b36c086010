//! Compares what two places store by their listings.

use std::cmp::Ordering;

use super::inventory::{Inventory, Object};
use super::{Compared, SyncCompare, is_document};

/// Whether an object of the target is that of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The target does not have it.
    New,
    Same,
    Differs,
    /// Only its bytes can tell.
    Unknown,
}

/// An object of the source, and what is known of the target's.
#[derive(Debug)]
pub(super) struct Pair {
    pub name: String,
    pub size: Option<u64>,
    pub verdict: Verdict,
    /// What is known of the target's, where a closer look at the source's may tell whether it is the same.
    pub here: Option<Object>,
}

/// Compares all objects of two places. Both listings are sorted.
pub(super) fn compare(source: &Inventory, target: &Inventory, by: SyncCompare) -> Compared {
    let versions = tells_by_versions(&source.store.name(), &target.store.name());
    let mut compared = Compared { pairs: Vec::new(), only_here: Vec::new() };
    let mut here = target.objects.iter().peekable();
    for there in &source.objects {
        let (mut verdict, mut known) = (Verdict::New, None);
        while let Some(object) = here.peek() {
            match object.name.cmp(&there.name) {
                Ordering::Less => compared.only_here.extend(here.next().cloned()),
                Ordering::Equal => {
                    verdict = verdict_on(there, object, by, versions);
                    // Documents are small and say what all else means: of those a later time is no proof.
                    let is_by_time = by == SyncCompare::Times && verdict == Verdict::Same;
                    let has_version = versions && there.version.is_some();
                    if is_by_time
                        && is_document(source.dialect, &there.name)
                        && !(has_version && there.version == object.version)
                    {
                        verdict = Verdict::Unknown;
                    }
                    known = (verdict == Verdict::Unknown).then(|| (*object).clone());
                    here.next();
                    break;
                }
                Ordering::Greater => break,
            }
        }
        let (name, size) = (there.name.clone(), there.size);
        compared.pairs.push(Pair { name, size, verdict, here: known });
    }
    compared.only_here.extend(here.cloned());
    compared
}

/// Whether equal versions in the listings of both stores mean equal values: ETags of S3 are hashes of the content, and
/// archives have checksums.
fn tells_by_versions(source: &str, target: &str) -> bool {
    ["s3://", "zip:"].iter().any(|kind| source.starts_with(kind) && target.starts_with(kind))
}

/// Compares an object of the source with the target's by what their stores tell of them.
pub(super) fn verdict_on(
    there: &Object,
    here: &Object,
    by: SyncCompare,
    versions: bool,
) -> Verdict {
    if let (Some(a), Some(b)) = (there.size, here.size)
        && a != b
    {
        return Verdict::Differs;
    }
    let are_sizes_known = there.size.is_some() && here.size.is_some();
    match by {
        SyncCompare::Content => Verdict::Unknown,
        SyncCompare::Sizes if are_sizes_known => Verdict::Same,
        SyncCompare::Sizes => Verdict::Unknown,
        SyncCompare::Times if !are_sizes_known => Verdict::Unknown,
        SyncCompare::Times => {
            let is_version = versions && there.version.is_some();
            if is_version && there.version == here.version {
                return Verdict::Same;
            }
            match (there.time, here.time) {
                // What was set in the same instant may have been set before the source was changed.
                (Some(changed), Some(set)) if changed < set => Verdict::Same,
                (Some(_), Some(_)) => Verdict::Differs,
                _ => Verdict::Unknown,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    fn object(size: u64, seconds: Option<u64>, version: Option<&str>) -> Object {
        let time = seconds.map(|n| SystemTime::UNIX_EPOCH + Duration::from_secs(n));
        let version = version.map(str::to_owned);
        Object { name: "c/0".into(), size: Some(size), time, version }
    }

    #[test]
    fn equal_sizes_are_told_apart_by_times_and_versions() {
        let by_times = |there: &Object, here: &Object, versions| {
            verdict_on(there, here, SyncCompare::Times, versions)
        };
        let old = object(8, Some(10), Some("a"));
        assert_eq!(by_times(&old, &object(9, Some(99), Some("a")), true), Verdict::Differs);
        assert_eq!(by_times(&old, &object(8, Some(11), None), true), Verdict::Same);
        assert_eq!(by_times(&old, &object(8, Some(10), None), true), Verdict::Differs);
        assert_eq!(by_times(&old, &object(8, Some(9), Some("a")), true), Verdict::Same);
        assert_eq!(by_times(&old, &object(8, Some(9), Some("a")), false), Verdict::Differs);
        assert_eq!(by_times(&old, &object(8, None, Some("b")), true), Verdict::Unknown);
        let sizes = verdict_on(&old, &object(8, None, None), SyncCompare::Sizes, false);
        assert_eq!(sizes, Verdict::Same);
        let content = verdict_on(&old, &object(8, Some(11), None), SyncCompare::Content, false);
        assert_eq!(content, Verdict::Unknown);
    }
}
