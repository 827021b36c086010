//! Guesses which node was meant where none is.

use crate::context::StoreContext;
use crate::did_you_mean;
use crate::error::{AccessError, Cause, Error};
use crate::path::NodePath;
use crate::store::{ListOptions, StorePrefix};

/// The most names beside a missing node that are looked at.
const MAX_NAMES: usize = 1000;

/// The same error; if no node is at `path`, and one beside it has a name like the one that was asked for, with a hint. Only
/// stores of this machine are asked: a request to a server costs more than a wrong name.
pub async fn with_near_name(context: &StoreContext, path: &NodePath, error: Error) -> Error {
    let is_absent = matches!(error.cause(), Cause::Access(AccessError::NotFound { .. }));
    let name = context.store.name();
    let is_near = name.starts_with("file:") || name.starts_with("memory:");
    if !is_absent || !is_near || error.hint().is_some() || !context.store.capabilities().list {
        return error;
    }
    match near_name(context, path).await {
        Some(near) => error.with_hint(format!("did you mean `{near}`?")),
        None => error,
    }
}

async fn near_name(context: &StoreContext, path: &NodePath) -> Option<NodePath> {
    let above = path.parent()?;
    // Documents of v2 and final v3 are stored at their nodes; those of a draft are all in one place.
    if !context.format.groups_are_explicit() {
        return None;
    }
    let prefix = above.prefix().ok()?;
    // A look below each name would cost more than it tells.
    let names = ListOptions { candidates: true, ..ListOptions::at_most(MAX_NAMES) };
    let listing = context.store.list_dir(&prefix, names).await.ok()?;
    // A folder of the name itself may be there, without a document.
    let wanted = path.name()?;
    let names = listing.prefixes.iter().map(StorePrefix::name).filter(|name| *name != wanted);
    above.child(did_you_mean(wanted, names)?).ok()
}
