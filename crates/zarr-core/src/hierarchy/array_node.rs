//! Keeps an array together with its hierarchy, so that changes of its document reach the consolidated copies.

use std::ops::Deref;
use std::sync::Arc;

use super::context::HierarchyContext;
use crate::array::{ArrayCore, ArrayState, MOST_READINGS, MetadataOrigin, wrong_kind};
use crate::error::{AccessError, MetadataError, Result};
use crate::format::Layout;
use crate::metadata::{ArrayMetadata, NodeKind, NodeMetadata};
use crate::options::Options;
use crate::path::NodePath;

/// An array as a node of its hierarchy. Its handles share it.
#[derive(Clone, Debug)]
pub(crate) struct ArrayNode {
    pub context: Arc<HierarchyContext>,
    core: Arc<ArrayCore>,
}

impl Deref for ArrayNode {
    type Target = Arc<ArrayCore>;

    fn deref(&self) -> &Arc<ArrayCore> {
        &self.core
    }
}

impl ArrayNode {
    pub fn new(
        context: Arc<HierarchyContext>,
        path: NodePath,
        metadata: ArrayMetadata,
        origin: MetadataOrigin,
    ) -> Result<ArrayNode> {
        let core = Arc::new(ArrayCore::new(context.context.clone(), path, metadata, origin)?);
        Ok(ArrayNode { context, core })
    }

    /// The same array, its chunks read and written with other options.
    pub fn with_options(&self, change: impl FnOnce(&mut Options)) -> ArrayNode {
        let core = Arc::new(self.core.with_options(change));
        ArrayNode { context: self.context.clone(), core }
    }

    /// Reads the document again.
    pub async fn refresh(&self) -> Result<()> {
        for _ in 0..MOST_READINGS {
            let before = self.state();
            let state = match self.context.node(&self.path).await? {
                NodeMetadata::Array(metadata) => self.state_of(*metadata)?,
                NodeMetadata::Group(_) => return Err(self.at(wrong_kind(NodeKind::Group))),
            };
            if self.replace_state(&before, &state) {
                break;
            }
        }
        Ok(())
    }

    /// Changes the state of the handles as a swap has changed the document that it describes; returns the state after the
    /// swap. Handles may get a later one.
    pub(super) async fn settle(
        &self,
        before: &Arc<ArrayState>,
        change: impl FnOnce(&mut ArrayMetadata),
    ) -> Result<Arc<ArrayState>> {
        let mut metadata = (*before.metadata).clone();
        change(&mut metadata);
        let state = self.state_of(metadata)?;
        if !self.replace_state(before, &state) {
            // The swap is done, whatever the store answers now. If it fails, the handles keep the state that they have.
            let _ = self.refresh().await;
        }
        Ok(state)
    }

    /// The array and its layout, both from one reading of its documents: a change that is worked out from the state is made
    /// only while the document still has this layout. The handles get this state, or a newer one.
    pub(super) async fn read_state(&self) -> Result<(Arc<ArrayState>, Layout)> {
        let mut first = None;
        for _ in 0..MOST_READINGS {
            let before = self.state();
            let found = self.read_state_once().await?;
            if self.replace_state(&before, &found.0) {
                return Ok(found);
            }
            first.get_or_insert(found);
        }
        Ok(first.expect("the document was read"))
    }

    async fn read_state_once(&self) -> Result<(Arc<ArrayState>, Layout)> {
        let (context, document) = (&self.context, self.document()?);
        let found = context.documents(&self.path).await.map_err(|e| self.at(e))?;
        let bytes = found.iter().find(|(key, _)| *key == document.key).map(|(_, bytes)| bytes);
        let looked_for = || AccessError::NotFound { looked_for: format!("`{}`", document.key) };
        let bytes = bytes.ok_or_else(|| self.at(looked_for()))?;
        let json = context.format.encoding().decode(bytes).map_err(MetadataError::Json);
        let layout = context.format.layout(&json.map_err(|e| self.at(e))?.0);
        match context.parse(&self.path, &found).map_err(|e| self.at(e))? {
            Some(NodeMetadata::Array(metadata)) => Ok((self.state_of(*metadata)?, layout)),
            _ => Err(self.at(wrong_kind(NodeKind::Group))),
        }
    }
}
