//! Changes the attributes of nodes, and the names of an array's axes.

use std::sync::Arc;

use super::context::HierarchyContext;
use super::{array_document, check, edit, list};
use crate::array::ArrayCore;
use crate::dialect::Dialect;
use crate::error::{AccessError, Result};
use crate::format::{DIMENSION_NAMES, XARRAY_DIMENSIONS};
use crate::json::{Json, Object};
use crate::metadata::NodeKind;
use crate::path::NodePath;

/// Sets one of a node's attributes in its newest document.
pub async fn set_attribute(
    hierarchy: &HierarchyContext,
    path: &NodePath,
    kind: NodeKind,
    name: &str,
    value: Json,
) -> Result<()> {
    update_attributes(hierarchy, path, kind, |attributes| {
        attributes.insert(name, value.clone());
    })
    .await?;
    Ok(())
}

/// Changes a node's attributes in its newest document; returns what they are afterwards.
pub async fn update_attributes(
    hierarchy: &HierarchyContext,
    path: &NodePath,
    kind: NodeKind,
    mut change: impl FnMut(&mut Object) + Send,
) -> Result<Object> {
    let context = &hierarchy.context;
    let place = context.format.attributes_member(path, kind);
    let place = place.map_err(|e| context.with_context(path, e))?;
    if place.may_be_absent {
        // A document of attributes makes no node, and none must be left where a node was erased.
        list::read_node(hierarchy, path).await?;
    }
    let edited = edit::edit(hierarchy, path, &place, |json| {
        let mut attributes = match json {
            Json::Object(attributes) => attributes,
            _ => Object::new(),
        };
        let hidden = check::take_hidden(context, kind, &mut attributes);
        let before = attributes.clone();
        change(&mut attributes);
        check::check_attributes(context, kind, &before, &attributes, &hidden)?;
        Ok(Json::Object(attributes.into_iter().chain(hidden).collect()))
    });
    let mut attributes = edited.await?.as_object().cloned().unwrap_or_default();
    check::take_hidden(context, kind, &mut attributes);
    Ok(attributes)
}

/// Changes an array's attributes, and the state of its handles; returns what the attributes are afterwards.
pub async fn update_array_attributes(
    hierarchy: &HierarchyContext,
    array: &Arc<ArrayCore>,
    change: impl FnMut(&mut Object) + Send,
) -> Result<Object> {
    let before = array.state();
    let attributes = update_attributes(hierarchy, &array.path, NodeKind::Array, change).await?;
    let settled = array_document::settle(hierarchy, array, &before, |metadata| {
        metadata.attributes = attributes.clone();
    });
    settled.await?;
    Ok(attributes)
}

/// Sets one of an array's attributes.
pub async fn set_array_attribute(
    hierarchy: &HierarchyContext,
    array: &Arc<ArrayCore>,
    name: &str,
    value: Json,
) -> Result<()> {
    update_array_attributes(hierarchy, array, |attributes| {
        attributes.insert(name, value.clone());
    })
    .await?;
    Ok(())
}

/// Gives an array's axes other names.
pub async fn rename_dimensions(
    hierarchy: &HierarchyContext,
    array: &Arc<ArrayCore>,
    names: &[String],
) -> Result<()> {
    let expected = array.state().metadata.rank();
    if names.len() != expected {
        let found = names.len();
        return Err(array.at(AccessError::Argument(format!(
            "expected {expected} {}, found {found}; give one for each axis",
            if expected == 1 { "dimension name" } else { "dimension names" }
        ))));
    }
    let names: Json = names.iter().map(|name| Json::from(name.as_str())).collect();
    match hierarchy.context.format.dialect() {
        Dialect::V3 => {
            let format = &hierarchy.context.format;
            let mut place = format.attributes_member(&array.path, NodeKind::Array)?;
            place.member = Some(DIMENSION_NAMES);
            edit::edit(hierarchy, &array.path, &place, |_| Ok(names.clone())).await?;
        }
        Dialect::V2 | Dialect::Draft => {
            update_array_attributes(hierarchy, array, |attributes| {
                attributes.insert(XARRAY_DIMENSIONS, names.clone());
            })
            .await?;
        }
    }
    array_document::refresh_array(hierarchy, array).await
}
