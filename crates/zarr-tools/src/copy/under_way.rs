//! Finds the copies that are under way in a store.

use std::io::ErrorKind::{PermissionDenied, Unsupported};

use zarr_core::format::CopyHead;
use zarr_core::store::{Bytes, GetOptions, StoreKey, StorePrefix, SyncStore};
use zarr_core::{Error, Hierarchy, NodePath, Result, StoreError};

use crate::errors::at_key;

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
/// store cannot list, or lets this caller not. Plans that cannot be read are passed over.
///
/// # Errors
/// What the store reports.
pub fn copies_under_way(hierarchy: &Hierarchy, path: &NodePath) -> Result<Vec<CopyUnderWay>> {
    let store = hierarchy.store().to_sync();
    let found = match Plans::of(&*store, hierarchy.options().limits.document) {
        Err(e) if is_refused(&e) => return Ok(Vec::new()),
        found => found?,
    };
    let heads = found.plans.iter().filter_map(|(_, plan)| CopyHead::parse(plan));
    let near = heads.filter(|copy| copy.at.is_within(path) || path.is_within(&copy.at));
    Ok(near
        .map(|copy| CopyUnderWay {
            percent: copy.percent(&found.keys),
            resume: copy.resume(&store.name()),
            path: copy.at,
        })
        .collect())
}

/// The plans of the copies that are under way in a store, by one listing.
pub(crate) struct Plans {
    /// The plans, as they are stored, with their keys.
    pub plans: Vec<(StoreKey, Bytes)>,
    /// All keys of journals.
    keys: Vec<StoreKey>,
}

/// Whether a store refuses a request altogether.
fn is_refused(error: &Error) -> bool {
    match error.cause() {
        zarr_core::Cause::Store(StoreError::Io { source, .. }) => {
            [PermissionDenied, Unsupported].contains(&source.kind())
        }
        _ => false,
    }
}

impl Plans {
    /// Looks for plans of at most `limit` bytes; finds none in a store that cannot list or read.
    ///
    /// # Errors
    /// What the store reports.
    pub fn of(store: &dyn SyncStore, limit: u64) -> Result<Plans> {
        let mut found = Plans { plans: Vec::new(), keys: Vec::new() };
        if !store.capabilities().list || !store.capabilities().read {
            return Ok(found);
        }
        let listed = store.list_prefix(&StorePrefix::new(".zarr-copy/")?);
        found.keys = listed.map_err(|e| Error::from(e).at_store(store.name()))?.keys;
        for key in found.keys.iter().filter(|key| CopyHead::is_plan(key)) {
            let got =
                store.get(key, GetOptions::at_most(limit)).map_err(|e| at_key(e, store, key))?;
            let Some(got) = got else { continue };
            found.plans.push((key.clone(), got.bytes.unwrap_or_default()));
        }
        Ok(found)
    }
}
