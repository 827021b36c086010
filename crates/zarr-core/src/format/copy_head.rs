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
        let source = plan.get("source")?;
        let from = NodePath::new(source.get("path")?.as_str()?).ok()?;
        let at = NodePath::new(plan.get("target")?.get("path")?.as_str()?).ok()?;
        let parts = plan.get("parts").and_then(Json::as_array).map_or(0, <[Json]>::len);
        Some(CopyHead { at, source: (source.get("store")?.as_str()?.to_owned(), from), parts })
    }

    /// Whether a key of the target's store is that of a plan.
    pub fn is_plan(key: &StoreKey) -> bool {
        key.as_str().starts_with(".zarr-copy/") && key.as_str().ends_with("/plan.json")
    }

    /// How much of the copy is done, by the marks of its parts among the keys of the target's store.
    pub fn percent(&self, keys: &[StoreKey]) -> u8 {
        let journal = copy_journal(&self.at);
        let names = keys.iter().filter_map(|key| journal.strip(key));
        let done = names.filter(|name| name.starts_with("done/")).count();
        (100 * done).checked_div(self.parts).unwrap_or(100).min(100) as u8
    }

    /// The command that goes on with the copy into the store of this URL.
    pub fn resume(&self, store: &str) -> String {
        let (url, from) = &self.source;
        format!("zarr copy {} {} --resume", url_of(url, from), url_of(store, &self.at))
    }
}

/// The URL of a node in the store of this URL.
fn url_of(store: &str, path: &NodePath) -> String {
    match path.relative() {
        "" => store.to_owned(),
        below if store.ends_with('/') => format!("{store}{below}"),
        below => format!("{store}/{below}"),
    }
}
