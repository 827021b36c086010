//! Changes the attributes of an array, and the names of its axes.

use super::ArrayNode;
use crate::dialect::Dialect;
use crate::error::{AccessError, Result};
use crate::format::{DIMENSION_NAMES, XARRAY_DIMENSIONS};
use crate::json::{Json, Object};
use crate::metadata::NodeKind;

impl ArrayNode {
    /// Changes the user's attributes; returns what they are afterwards.
    pub async fn update_attributes(
        &self,
        change: impl FnMut(&mut Object) + Send,
    ) -> Result<Object> {
        let before = self.state();
        let kind = NodeKind::Array;
        let attributes = self.context.update_attributes(&self.path, kind, change).await?;
        self.settle(&before, |metadata| metadata.attributes = attributes.clone()).await?;
        Ok(attributes)
    }

    /// Sets one of the attributes.
    pub async fn set_attribute(&self, name: &str, value: Json) -> Result<()> {
        self.update_attributes(|attributes| {
            attributes.insert(name, value.clone());
        })
        .await?;
        Ok(())
    }

    /// Gives the axes other names.
    pub async fn rename_dimensions(&self, names: &[String]) -> Result<()> {
        let expected = self.state().metadata.rank();
        if names.len() != expected {
            return Err(self.at(AccessError::Rank { expected, found: names.len() }));
        }
        let names: Json = names.iter().map(|name| Json::from(name.as_str())).collect();
        match self.context.format.dialect() {
            Dialect::V3 => {
                let format = &self.context.format;
                let mut place = format.attributes_member(&self.path, NodeKind::Array)?;
                place.member = Some(DIMENSION_NAMES);
                self.context.edit(&self.path, &place, |_| Ok(names.clone())).await?;
            }
            Dialect::V2 | Dialect::Draft => {
                self.update_attributes(|attributes| {
                    attributes.insert(XARRAY_DIMENSIONS, names.clone());
                })
                .await?;
            }
        }
        self.refresh().await
    }
}
