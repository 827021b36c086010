//! Says whether a node may be created, and which documents it gets; the store is not read.

use crate::context::StoreContext;
use crate::error::{AccessError, MetadataError, Result};
use crate::format::{Documents, TOOL_FOLDERS};
use crate::json::{MAX_DEPTH, Object};
use crate::metadata::{ArrayMetadata, GroupMetadata, NodeKind, NodeMetadata};
use crate::path::NodePath;

/// How deep an attribute may nest: its document, and a consolidated copy of that, nest some levels themselves.
const ATTRIBUTE_DEPTH: usize = MAX_DEPTH - 8;

/// Removes what the format hides among a node's attributes; returns it.
pub fn take_hidden(context: &StoreContext, kind: NodeKind, attributes: &mut Object) -> Object {
    if context.options.ignore_hidden_filters {
        Object::new()
    } else {
        context.format.take_hidden(kind, attributes)
    }
}

/// Whether a node's attributes may become `after`, if the format keeps `hidden` ones among them. Attributes that the
/// format would read as hidden ones are refused, unless they were there `before`.
pub fn check_attributes(
    context: &StoreContext,
    kind: NodeKind,
    before: &Object,
    after: &Object,
    hidden: &Object,
) -> Result<(), AccessError> {
    let taken = context.format.take_hidden(kind, &mut after.clone());
    let taken_before = context.format.take_hidden(kind, &mut before.clone());
    let clash = if taken == taken_before {
        hidden.iter().find(|(name, _)| after.contains(name))
    } else {
        taken.iter().next()
    };
    if let Some((name, _)) = clash {
        let why = format!(
            "attribute `{name}` would be read as codecs in this format; choose another name"
        );
        return Err(AccessError::Argument(why));
    }
    for (name, value) in after.iter() {
        if before.get(name) == Some(value) || value.nests_within(ATTRIBUTE_DEPTH) {
            continue;
        }
        let why = format!(
            "attribute `{name}` nests deeper than {ATTRIBUTE_DEPTH} levels, and documents can have at most {MAX_DEPTH}; store \
             the inner part as a string"
        );
        return Err(AccessError::Argument(why));
    }
    context.format.check_attributes(after)
}

/// The documents of a new node, if it may have its name and the format can represent it.
pub fn new_documents(
    context: &StoreContext,
    path: &NodePath,
    node: &NodeMetadata,
) -> Result<Documents> {
    for name in path.names() {
        if TOOL_FOLDERS.contains(&name) {
            let why = format!(
                "`{name}` cannot name a node: tools use this name, and listings do not show it; choose another name"
            );
            return Err(AccessError::Argument(why).into());
        }
        context.format.check_name(name)?;
    }
    if let NodeMetadata::Array(array) = node {
        context.options.limits.check_new_rank(array.rank())?;
    }
    let none = Object::new();
    check_attributes(context, node.kind(), &none, node.attributes(), &none)?;
    let documents = context.format.create(path, node)?;
    for (_, bytes) in &documents {
        check_document_size(context, bytes.len())?;
    }
    Ok(documents)
}

/// Refuses to write a document of more bytes than readers take.
pub fn check_document_size(context: &StoreContext, bytes: usize) -> Result<(), MetadataError> {
    let (found, limit) = (bytes as u64, context.options.limits.document);
    if found <= limit {
        return Ok(());
    }
    let what = "the document to write, in bytes,";
    Err(MetadataError::Limit { what, found, limit, name: "document" })
}

/// Whether an array like this could be created; the store is not read.
pub fn check_array(
    context: &StoreContext,
    path: &NodePath,
    metadata: &ArrayMetadata,
) -> Result<()> {
    check_new_array(context, path, metadata).map_err(|e| context.with_context(path, e))
}

fn check_new_array(
    context: &StoreContext,
    path: &NodePath,
    metadata: &ArrayMetadata,
) -> Result<()> {
    let chain = metadata.chain(&context.registry, context.format.dialect())?;
    // Else the first write would be the first to tell, or the first read.
    chain.check_encodes()?;
    let limit = context.options.limits.decoded;
    if let Some(found) = chain.decoded_at_once().filter(|&size| size > limit) {
        let what = "the size of a chunk in bytes, which readers decode at once,";
        return Err(MetadataError::Limit { what, found, limit, name: "decoded" }.into());
    }
    let node = NodeMetadata::Array(Box::new(metadata.clone()));
    new_documents(context, path, &node)?;
    Ok(())
}

/// Whether a group like this could be created; the store is not read.
pub fn check_group(context: &StoreContext, path: &NodePath, attributes: &Object) -> Result<()> {
    let group = GroupMetadata { attributes: attributes.clone(), ..GroupMetadata::default() };
    match new_documents(context, path, &NodeMetadata::Group(group)) {
        Ok(_) => Ok(()),
        Err(e) => Err(context.with_context(path, e)),
    }
}
