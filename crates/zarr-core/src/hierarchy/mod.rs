//! Finds, reads, creates and changes the nodes of a hierarchy and their documents, for the handles of both faces.

mod array_node;
mod attributes;
mod consolidated;
mod context;
mod documents;
mod erase;
mod leftovers;
mod list;
mod locate;
mod near_name;
mod new_document;
mod node;
mod options;
mod prepend;
mod probe;
mod resize;
mod single_document;
mod under_way;

pub(crate) use self::array_node::ArrayNode;
pub(crate) use self::context::HierarchyContext;
pub(crate) use self::leftovers::CreateMode;
pub(crate) use self::node::{GroupCore, NodeCore};
pub use self::options::{Consolidated, OpenOptions};
