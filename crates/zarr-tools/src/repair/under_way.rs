//! Finds copies under way, whose nodes have chunks and no documents yet, and keeps repairs away from them.

use zarr_core::format::{CopyHead, Format};
use zarr_core::store::SyncStore;
use zarr_core::{NodePath, Result};

use crate::copy::Plans;
use crate::validate::{Problem, ProblemKind};

/// A copy under way.
pub(super) struct CopyUnderWay {
    /// Where it writes.
    at: NodePath,
    pub problem: Problem,
}

/// The copies that have a plan in a store.
pub(super) fn find(store: &dyn SyncStore, limit: u64) -> Result<Vec<CopyUnderWay>> {
    let mut found = Vec::new();
    for (key, plan) in Plans::of(store, limit)?.plans {
        let head = CopyHead::parse(&plan);
        // A plan that cannot be read may be of any node.
        let at = head.as_ref().map_or_else(NodePath::root, |head| head.at.clone());
        let message = match head {
            Some(head) => {
                let resume = head.resume(&store.name());
                format!("a copy has not ended; finish it with `{resume}`, then run the repair again")
            }
            None => "a copy has not ended, and its plan cannot be read; move the plan elsewhere to repair what is here".into(),
        };
        let problem = Problem::new(&at, ProblemKind::CopyUnderWay, message).at(key);
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
