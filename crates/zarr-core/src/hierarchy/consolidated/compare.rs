//! Uses the consolidated copies of a hierarchy: reads documents from them, or compares both.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::copies;
use super::view::{ConsolidatedView, agree};
use crate::context::StoreContext;
use crate::dialect::{Dialect, Strictness};
use crate::error::{AccessError, Error, Result};
use crate::format::Documents;
use crate::format::consolidated::{ConsolidatedDocument, is_optional};
use crate::hierarchy::context::HierarchyContext;
use crate::hierarchy::options::Consolidated;
use crate::metadata::NodeMetadata;
use crate::path::NodePath;
use crate::registry::Access;
use crate::store::StoreKey;
use crate::sync::lock;

/// Reads documents from their copies, if the options say so, or else compares them with their copies. `found` are the
/// documents that were read before.
pub async fn with_consolidated(
    hierarchy: HierarchyContext,
    found: &Documents,
    consolidated: &Consolidated,
) -> Result<HierarchyContext> {
    let dialect = hierarchy.context.format.dialect();
    let usual = ConsolidatedDocument::usual(dialect)?;
    let (holder, required) = match consolidated {
        Consolidated::Ignore => return Ok(hierarchy),
        Consolidated::IfFound | Consolidated::Check => (usual, false),
        Consolidated::Use => (usual, true),
        Consolidated::At(key) => (usual.moved(key.clone()), true),
    };
    let writing = hierarchy.context.access == Access::ReadWrite;
    if required && writing {
        let why = "consolidated metadata are for reading; open without them to write";
        return Err(error_at(&hierarchy, &holder, AccessError::Argument(why.into())));
    }
    let checks = *consolidated == Consolidated::Check;
    let known = found.iter().find(|(key, _)| *key == holder.key);
    let bytes = match known {
        Some((_, bytes)) => Some(bytes.clone()),
        None if required || (dialect == Dialect::Draft && checks) => {
            let document = copies::live_document(&hierarchy, &holder.key).await;
            document.map_err(|e| error_at(&hierarchy, &holder, e))?
        }
        None => None,
    };
    let tolerant = !required && hierarchy.context.options.strictness == Strictness::Tolerant;
    let view = match copies::parse_view(&*hierarchy.context.format, &holder, bytes) {
        Err(e) if tolerant => {
            let what = format!("ignoring consolidated metadata: {e}");
            hierarchy.context.warn(holder.key.as_str(), vec![what]);
            return Ok(hierarchy);
        }
        view => view.map_err(|e| error_at(&hierarchy, &holder, e))?,
    };
    let Some(view) = view.map(Arc::new) else {
        if required {
            return Err(error_at(&hierarchy, &holder, copies::no_copies(&holder)));
        }
        return Ok(hierarchy);
    };
    hierarchy.draft_copies.store(dialect == Dialect::Draft && writing, Ordering::Relaxed);
    if writing || checks {
        *lock(&hierarchy.watched) = Some(view);
        Ok(hierarchy)
    } else {
        Ok(hierarchy.read_from(view, holder.key))
    }
}

/// The error, at a consolidated document.
fn error_at(
    hierarchy: &HierarchyContext,
    holder: &ConsolidatedDocument,
    error: impl Into<Error>,
) -> Error {
    error.into().at_store(hierarchy.context.store.name()).at_key(&holder.key)
}

/// Whether a writer has found copies of v2 or v3 documents here.
pub fn has_copies(hierarchy: &HierarchyContext) -> bool {
    lock(&hierarchy.watched).is_some() && hierarchy.context.format.dialect() != Dialect::Draft
}

/// The warnings about documents that hold nothing but copies.
pub fn warnings_of_copies(context: &StoreContext) -> Vec<String> {
    let mut found = context.warnings();
    found.retain(|warning| StoreKey::new(&*warning.place).is_ok_and(|key| is_optional(&key)));
    found.into_iter().map(|warning| warning.what).collect()
}

/// Warns if the copies of a node differ from its documents, if copies are compared at all.
pub async fn compare_with_copies(
    hierarchy: &HierarchyContext,
    path: &NodePath,
    node: &NodeMetadata,
) -> Result<()> {
    let context = &hierarchy.context;
    let Some(watched) = lock(&hierarchy.watched).clone() else { return Ok(()) };
    if agrees(context, &watched, path, node)? {
        return Ok(());
    }
    // Another writer may have refreshed them since they were read.
    let holder = ConsolidatedDocument::usual(context.format.dialect())?;
    let bytes = copies::live_document(hierarchy, &holder.key).await?;
    let Ok(Some(now)) = copies::parse_view(&*context.format, &holder, bytes) else { return Ok(()) };
    if !agrees(context, &now, path, node)? {
        let what = "its copy in the consolidated metadata differs; consolidate again";
        context.warn(path.as_str(), vec![what.into()]);
    }
    *lock(&hierarchy.watched) = Some(Arc::new(now));
    Ok(())
}

fn agrees(
    context: &StoreContext,
    copied: &ConsolidatedView,
    path: &NodePath,
    node: &NodeMetadata,
) -> Result<bool> {
    let Some(found) = copied.documents(&context.format.document_keys(path)?) else {
        return Ok(true);
    };
    let copy = context.format.parse(path, &found, &mut context.reading());
    Ok(matches!(copy, Ok(Some(copy)) if agree(&copy, node)))
}

/// Warns of a node that was read from its copy, as `found`, and that has no document. A store that is not local is not asked: who reads
/// copies there does so to save requests.
pub async fn warn_if_only_copied(
    hierarchy: &HierarchyContext,
    path: &NodePath,
    found: &Documents,
) -> Result<()> {
    if hierarchy.copied.is_none() {
        return Ok(());
    }
    let Some((key, _)) = found.first() else { return Ok(()) };
    // One is named: a hierarchy may have no other nodes.
    if !hierarchy.live.capabilities().local || hierarchy.is_only_copied_told.load(Ordering::Relaxed)
    {
        return Ok(());
    }
    // Copies replace what is got, not what is opened.
    if hierarchy.context.size(key).await?.is_none() {
        hierarchy.is_only_copied_told.store(true, Ordering::Relaxed);
        let what = format!(
            "its document `{key}` is missing, and only consolidated metadata describe it, and perhaps other nodes; `zarr repair \
             --apply` writes such documents"
        );
        hierarchy.context.warn(path.as_str(), vec![what]);
    }
    Ok(())
}

/// Whether the copies at the root describe a node. A writer knows them.
pub fn has_watched_copy(hierarchy: &HierarchyContext, path: &NodePath) -> Result<bool> {
    let Some(watched) = lock(&hierarchy.watched).clone() else { return Ok(false) };
    let found =
        watched.documents(&hierarchy.context.format.document_keys(path)?).unwrap_or_default();
    Ok(found.iter().any(|(key, _)| !key.as_str().ends_with(".zattrs")))
}
