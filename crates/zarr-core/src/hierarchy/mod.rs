//! Finds, reads, creates and changes the nodes of a hierarchy and their documents, for the handles of both faces.

mod array_node;
mod attributes;
mod consolidate;
mod consolidated;
mod context;
mod foreign;
mod list;
mod locate;
mod node;
mod options;
mod prepend;
mod purge;
mod resize;
mod single_document;

pub(crate) use self::array_node::ArrayNode;
pub(crate) use self::context::HierarchyContext;
pub(crate) use self::node::{GroupCore, NodeCore};
pub use self::options::{Consolidated, OpenOptions};
pub(crate) use self::purge::CreateMode;
