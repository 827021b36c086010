//! Reads of a copy's plan what every reader of its target must know: where it writes, and how it goes on
//! (docs/internals/design/copies.md).

use super::names::copy_journal;
use crate::json::Json;
use crate::path::NodePath;
use crate::store::StoreKey;

/// What the plan of a copy under way says to those who do not go on with it: the beginning of `.zarr-copy/<id>/plan.json`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyHead {
    /// The node that the copy makes.
    pub at: NodePath,
    /// The URL of the source's store, and the node in it.
    source: (String, NodePath),
    /// How many parts the copy has.
    pub parts: usize,
}

impl CopyHead {
    /// Reads a plan; `None` if it is none. Members that only those need who go on with the copy are not looked at.
    pub fn parse(plan: &[u8]) -> Option<CopyHead> {
        let plan = Json::parse(plan).ok()?;
        let plan = plan.as_object()?;
        let text = |of: &str, member| plan.get(of)?.as_object()?.get(member)?.as_str();
        let path = |of| NodePath::new(text(of, "path")?).ok();
        let parts = plan.get("parts").and_then(Json::as_array).map_or(0, <[Json]>::len);
        let source = (text("source", "store")?.to_owned(), path("source")?);
        Some(CopyHead { at: path("target")?, source, parts })
    }

    /// Whether a key of the target's store is that of a plan.
    pub fn is_plan(key: &StoreKey) -> bool {
        key.as_str().starts_with(".zarr-copy/") && key.as_str().ends_with("/plan.json")
    }

    /// How much of the copy is done, by the marks of its parts among the keys of the target's store.
    pub fn percent(&self, keys: &[StoreKey]) -> u8 {
        let journal = copy_journal(&self.at);
        let is_done =
            |key: &&StoreKey| journal.strip(key).is_some_and(|name| name.starts_with("done/"));
        let done = keys.iter().filter(is_done).count();
        (100 * done).checked_div(self.parts).unwrap_or(100).min(100) as u8
    }

    /// The command that goes on with the copy into the store of this URL.
    pub fn resume(&self, store: &str) -> String {
        let place = |url: &str, path: &NodePath| match path.relative() {
            "" => url.to_owned(),
            below if url.ends_with('/') => format!("{url}{below}"),
            below => format!("{url}/{below}"),
        };
        let (url, from) = &self.source;
        format!("zarr copy {} {} --resume", place(url, from), place(store, &self.at))
    }
}
