//! Finds copies under way, whose nodes have chunks and no documents yet, and keeps repairs away from them.

use zarr_core::format::Format;
use zarr_core::store::{GetOptions, StorePrefix, SyncStore};
use zarr_core::{Json, NodePath, StoreError};

use crate::validate::{Problem, ProblemKind};

/// A copy under way.
pub(super) struct CopyUnderWay {
    /// Where it writes.
    at: NodePath,
    pub problem: Problem,
}

/// The copies that have a plan in a store.
pub(super) fn find(store: &dyn SyncStore, limit: u64) -> Result<Vec<CopyUnderWay>, StoreError> {
    let mut found = Vec::new();
    if !store.capabilities().list {
        return Ok(found);
    }
    let listing = store.list_prefix(&StorePrefix::new(".zarr-copy/")?)?;
    for key in listing.keys.iter().filter(|key| key.as_str().ends_with("/plan.json")) {
        let Some(got) = store.get(key, GetOptions::at_most(limit))? else { continue };
        let plan = Json::parse(&got.bytes.unwrap_or_default()).ok();
        let text = |of: &str, member: &str| {
            let of = plan.as_ref()?.as_object()?.get(of)?.as_object()?;
            of.get(member)?.as_str().map(str::to_owned)
        };
        // A plan that cannot be read may be of any node.
        let at = text("target", "path").and_then(|path| NodePath::new(&path).ok());
        let at = at.unwrap_or_else(NodePath::root);
        let from = text("source", "store").unwrap_or_else(|| "SOURCE".into());
        let from = format!("{from}{}", text("source", "path").unwrap_or_default());
        let to = format!("{}{at}", store.name());
        let [from, to] = [&from, &to].map(|url| url.trim_end_matches('/'));
        let problem = Problem {
            path: at.clone(),
            key: Some(key.to_string()),
            kind: ProblemKind::CopyUnderWay,
            message: format!(
                "a copy has not ended; go on with `zarr copy {from} {to} --resume`, then repair again"
            ),
            clause: None,
        };
        found.push(CopyUnderWay { at, problem });
    }
    Ok(found)
}

impl CopyUnderWay {
    /// Whether a problem is of a node of the copy, or of a key that the copy may write.
    pub fn has(&self, format: &dyn Format, problem: &Problem) -> bool {
        if problem.path.is_within(&self.at) {
            return true;
        }
        let Some(key) = &problem.key else { return false };
        let documents = format.document_keys(&self.at).unwrap_or_default();
        let prefixes = format.erasure(&self.at).map(|(_, prefixes)| prefixes).unwrap_or_default();
        documents.iter().any(|document| document.as_str() == key)
            || prefixes.iter().any(|prefix| key.starts_with(prefix.as_str()))
    }
}
