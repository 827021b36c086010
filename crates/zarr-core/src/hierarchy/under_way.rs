//! Finds the copy that is under way where a document is absent (docs/internals/design/copies.md).
//!
//! A copy writes chunks first and documents last, and keeps a journal in the target below `.zarr-copy/`. Nothing is
//! requested here as long as documents are found.

use crate::error::{AccessError, Error};
use crate::format::{CopyHead, copy_journal};
use crate::limits::Limits;
use crate::path::NodePath;
use crate::store::{Store, StorePrefix};

/// The error of a node at `path` that is absent since a copy to it, or to one above or below it, is under way. What fails
/// here counts as no journal.
pub(super) async fn copy_under_way(
    store: &dyn Store,
    path: &NodePath,
    limits: &Limits,
) -> Option<Error> {
    let keys = match store.listable() {
        Ok(listable) => {
            listable.list_prefix(&StorePrefix::new(".zarr-copy/").ok()?).await.ok()?.keys
        }
        Err(_) => {
            let places = [path.clone()].into_iter().chain(path.ancestors());
            places.filter_map(|path| copy_journal(&path).key("plan.json").ok()).collect()
        }
    };
    for key in keys.iter().filter(|key| CopyHead::is_plan(key)) {
        let Ok(Some(bytes)) = store.get_at_most(key, limits.document).await else { continue };
        let Some(copy) = CopyHead::parse(&bytes) else { continue };
        if copy.at.is_within(path) || path.is_within(&copy.at) {
            let percent = copy.percent(&keys);
            let resume = copy.resume(&store.name());
            let error = Error::from(AccessError::CopyUnderWay { percent, resume }).at_key(key);
            return Some(error.at_store(store.name()).at_path(path));
        }
    }
    None
}
