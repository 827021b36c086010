//! Keeps what the handles of an array know in step with its document.

use std::sync::Arc;

use super::context::HierarchyContext;
use super::list;
use crate::array::{ArrayCore, ArrayState, MOST_READINGS, wrong_kind};
use crate::error::{AccessError, MetadataError, Result};
use crate::format::Layout;
use crate::metadata::{ArrayMetadata, NodeKind, NodeMetadata};

/// Reads the document of an array again.
pub async fn refresh_array(hierarchy: &HierarchyContext, array: &Arc<ArrayCore>) -> Result<()> {
    for _ in 0..MOST_READINGS {
        let before = array.state();
        let state = match list::read_node(hierarchy, &array.path).await? {
            NodeMetadata::Array(metadata) => array.state_of(*metadata)?,
            NodeMetadata::Group(_) => return Err(array.at(wrong_kind(NodeKind::Group))),
        };
        if array.replace_state(&before, &state) {
            break;
        }
    }
    Ok(())
}

/// Changes the state of the handles as a swap has changed the document that it describes; returns the state after the
/// swap. Handles may get a later one.
pub async fn settle(
    hierarchy: &HierarchyContext,
    array: &Arc<ArrayCore>,
    before: &Arc<ArrayState>,
    change: impl FnOnce(&mut ArrayMetadata),
) -> Result<Arc<ArrayState>> {
    let mut metadata = (*before.metadata).clone();
    change(&mut metadata);
    let state = array.state_of(metadata)?;
    if !array.replace_state(before, &state) {
        // The swap is done, whatever the store answers now. If it fails, the handles keep the state that they have.
        let _ = refresh_array(hierarchy, array).await;
    }
    Ok(state)
}

/// The array and its layout, both from one reading of its documents: a change that is worked out from the state is made
/// only while the document still has this layout. The handles get this state, or a newer one.
pub async fn read_state(array: &Arc<ArrayCore>) -> Result<(Arc<ArrayState>, Layout)> {
    let mut first = None;
    for _ in 0..MOST_READINGS {
        let before = array.state();
        let found = read_state_once(array).await?;
        if array.replace_state(&before, &found.0) {
            return Ok(found);
        }
        first.get_or_insert(found);
    }
    Ok(first.expect("the document was read"))
}

async fn read_state_once(array: &Arc<ArrayCore>) -> Result<(Arc<ArrayState>, Layout)> {
    let context = &array.context;
    let document = array.document()?;
    let found = context.documents(&array.path).await.map_err(|e| array.at(e))?;
    let Some((_, bytes)) = found.iter().find(|(key, _)| *key == document.key) else {
        let looked_for = format!("`{}`", document.key);
        return Err(array.at(AccessError::NotFound { looked_for }));
    };
    let decoded = context.format.encoding().decode(bytes);
    let (json, _) = decoded.map_err(|e| array.at(MetadataError::Json(e)))?;
    let layout = context.format.layout(&json);
    match context.parse(&array.path, &found).map_err(|e| array.at(e))? {
        Some(NodeMetadata::Array(metadata)) => Ok((array.state_of(*metadata)?, layout)),
        _ => Err(array.at(wrong_kind(NodeKind::Group))),
    }
}
