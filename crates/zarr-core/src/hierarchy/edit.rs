//! Changes documents of nodes, and their consolidated copies with them.

use bytes::Bytes;
use futures::future::BoxFuture;

use super::check;
use super::consolidated::refresh::{self, AffectedNodes, Change};
use super::context::HierarchyContext;
use crate::array::swap::{self, Edited};
use crate::context::StoreContext;
use crate::error::{AccessError, MetadataError, Result};
use crate::format::DocumentMember;
use crate::json::{Json, Object};
use crate::path::NodePath;

/// Changes one value in the newest version of a document, and again if another writer was faster
/// (docs/internals/design/concurrency.md). Returns the value afterwards.
pub async fn edit(
    hierarchy: &HierarchyContext,
    path: &NodePath,
    place: &DocumentMember,
    change: impl FnMut(Json) -> Result<Json> + Send,
) -> Result<Json> {
    let (after, refreshed) = edit_and_refresh(hierarchy, path, place, change).await?;
    refreshed?;
    Ok(after)
}

/// As [`edit`]; the second result says whether the consolidated copies could be refreshed after the
/// change was made.
pub async fn edit_and_refresh(
    hierarchy: &HierarchyContext,
    path: &NodePath,
    place: &DocumentMember,
    mut change: impl FnMut(Json) -> Result<Json> + Send,
) -> Result<(Json, Result<()>)> {
    hierarchy
        .context
        .writeable()
        .map_err(|e| hierarchy.context.with_context(path, e).at_key(&place.key))?;
    let affected = AffectedNodes { path, above: &[], change: Change::Edit };
    refresh::change_and_refresh(
        hierarchy,
        affected,
        edit_document(&hierarchy.context, path, place, &mut change),
    )
    .await
}

/// As [`edit`]; the consolidated copies stay as they are.
pub fn edit_document<'a>(
    context: &'a StoreContext,
    path: &'a NodePath,
    place: &'a DocumentMember,
    change: &'a mut (dyn FnMut(Json) -> Result<Json> + Send),
) -> BoxFuture<'a, Result<Json>> {
    Box::pin(async move {
        let mut after = Json::Null;
        let encoding = context.format.encoding();
        let updated = swap::update(context, &place.key, &mut |old: Option<&Bytes>| {
            let mut whole = match old {
                Some(bytes) => encoding.decode(bytes).map_err(MetadataError::Json)?.0,
                None if place.may_be_absent => Json::Object(Object::new()),
                None => {
                    let looked_for = format!("`{}`", place.key);
                    return Err(AccessError::NotFound { looked_for }.into());
                }
            };
            match (place.member, &mut whole) {
                (None, whole) => {
                    *whole = change(std::mem::replace(whole, Json::Null))?;
                    after = whole.clone();
                }
                (Some(member), Json::Object(object)) => {
                    after = change(object.get(member).cloned().unwrap_or(Json::Null))?;
                    object.insert(member, after.clone());
                }
                _ => return Err(MetadataError::Json("expected an object".into()).into()),
            }
            let encoded = encoding.encode(&whole).map_err(MetadataError::Json)?;
            check::check_document_size(context, encoded.len())?;
            Ok(Edited::Set(encoded.into()))
        })
        .await;
        updated.map_err(|e| context.with_context(path, e).at_key(&place.key))?;
        Ok(after)
    })
}
