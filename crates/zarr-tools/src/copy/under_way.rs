//! Finds the copies that are under way in a hierarchy.

use std::io::ErrorKind::{PermissionDenied, Unsupported};

use zarr_core::store::{GetOptions, StoreKey, StorePrefix};
use zarr_core::{Error, Hierarchy, Json, NodePath, Result, StoreError};

use super::journal::Journal;
use super::plan::Plan;

/// A copy that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CopyUnderWay {
    /// The node that it makes.
    pub path: NodePath,
    /// How much of it is done, by its parts.
    pub percent: u8,
    /// The command that goes on with it.
    pub resume: String,
}

/// The copies that are under way to the node at `path`, to nodes below it and to those that it is in, by one listing; none if the
/// store cannot list, or lets this caller not. Journals that this version does not read are passed over.
///
/// # Errors
/// What the store reports.
pub fn copies_under_way(hierarchy: &Hierarchy, path: &NodePath) -> Result<Vec<CopyUnderWay>> {
    let store = hierarchy.store().to_sync();
    if !store.capabilities().list || !store.capabilities().read {
        return Ok(Vec::new());
    }
    let limit = hierarchy.options().limits.document;
    let mut found = Vec::new();
    let listed = match store.list_prefix(&StorePrefix::new(".zarr-copy/")?) {
        Err(StoreError::Io { source, .. })
            if [PermissionDenied, Unsupported].contains(&source.kind()) =>
        {
            return Ok(Vec::new());
        }
        listed => listed.map_err(|e| Error::from(e).at_store(store.name()))?,
    };
    for key in listed.keys {
        if !is_plan(&key) {
            continue;
        }
        let at = |e| Error::from(e).at_store(store.name()).at_key(&key);
        let Some(got) = store.get(&key, GetOptions::at_most(limit)).map_err(at)? else { continue };
        let json = Json::parse(&got.bytes.unwrap_or_default());
        let Ok(plan) = json.and_then(|json| Plan::from_value(&json)) else { continue };
        if plan.at.is_within(path) || path.is_within(&plan.at) {
            found.push(plan.under_way_in(hierarchy)?);
        }
    }
    Ok(found)
}

/// Whether a key is that of a plan.
pub(super) fn is_plan(key: &StoreKey) -> bool {
    key.as_str().starts_with(".zarr-copy/") && key.as_str().ends_with("/plan.json")
}

impl Plan {
    fn under_way_in(&self, target: &Hierarchy) -> Result<CopyUnderWay> {
        let done = Journal::new(target, &self.at).parts_done(self)?.len();
        let percent = (100 * done).checked_div(self.parts.len()).unwrap_or(100).min(100) as u8;
        let store = target.store().name();
        let [from, to] = [(&self.store, &self.from), (&store, &self.at)].map(|(store, path)| {
            let url = format!("{}{path}", store.trim_end_matches('/'));
            url.trim_end_matches('/').to_owned()
        });
        let resume = format!("zarr copy {from} {to} --resume");
        Ok(CopyUnderWay { path: self.at.clone(), percent, resume })
    }
}
