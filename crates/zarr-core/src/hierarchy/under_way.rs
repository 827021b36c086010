//! Finds the copy that is under way where a document is absent (decision 0017).
//!
//! A copy writes chunks first and documents last, and keeps a journal in the target below `.zarr-copy/`. Nothing is
//! requested here as long as documents are found.

use crate::error::{AccessError, Error};
use crate::format::copy_journal;
use crate::json::Json;
use crate::limits::Limits;
use crate::path::NodePath;
use crate::store::{Store, StoreKey, StorePrefix};

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
    for key in keys.iter().filter(|key| key.as_str().ends_with("/plan.json")) {
        let Ok(Some(bytes)) = store.get_at_most(key, limits.document).await else { continue };
        let Ok(plan) = Json::parse(&bytes) else { continue };
        if let Some(error) = under_way(&plan, key, &keys, path, &store.name()) {
            return Some(error.at_store(store.name()).at_path(path));
        }
    }
    None
}

/// The error, if a plan is of a copy to a node at, above or below `path`.
fn under_way(
    plan: &Json,
    key: &StoreKey,
    keys: &[StoreKey],
    path: &NodePath,
    store: &str,
) -> Option<Error> {
    let plan = plan.as_object()?;
    let text = |of: &str, member| plan.get(of)?.as_object()?.get(member)?.as_str();
    let at = NodePath::new(text("target", "path")?).ok()?;
    if !at.is_within(path) && !path.is_within(&at) {
        return None;
    }
    let done = copy_journal(&at).key("done/0").ok()?.parent();
    let done = keys.iter().filter(|key| done.strip(key).is_some()).count();
    let member = |name| plan.get(name);
    let parts = member("parts").and_then(Json::as_array).map_or(0, <[Json]>::len);
    let percent = (100 * done).checked_div(parts).unwrap_or(100).min(100) as u8;
    let place = |url: &str, path: &NodePath| match path.relative() {
        "" => url.to_owned(),
        below if url.ends_with('/') => format!("{url}{below}"),
        below => format!("{url}/{below}"),
    };
    let from = NodePath::new(text("source", "path")?).ok()?;
    let from = place(text("source", "store")?, &from);
    let resume = format!("zarr copy {from} {} --resume", place(store, &at));
    Some(Error::from(AccessError::CopyUnderWay { percent, resume }).at_key(key))
}
