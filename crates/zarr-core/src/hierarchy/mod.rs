//! Finds, reads, creates and changes the nodes of a hierarchy and their documents, for the handles of both faces.
//!
//! Each file has functions of what they need: of a [`HierarchyContext`], where consolidated copies matter; else of the
//! [`StoreContext`](crate::context::StoreContext) in it, or of a format alone. They call each other in one direction:
//!
//! ```text
//! open ─> probe, node ─> list ─> consolidated/compare ─> consolidated/copies
//! prepend ─> resize, attributes ─> edit ─> consolidated/refresh ─> consolidated/copies
//! create ─> erase ─> {list, consolidated/refresh};   create ─> {check, edit, leftovers, new_document}
//! consolidated/{consolidate, inspect} ─> {create, list}
//! ```

pub mod array_document;
pub mod attributes;
pub mod check;
pub mod consolidated;
mod context;
pub mod create;
mod edit;
pub mod erase;
pub mod leftovers;
pub mod list;
mod near_name;
mod new_document;
pub mod node;
pub mod open;
mod options;
pub mod prepend;
mod probe;
pub mod resize;
mod single_document;
mod under_way;

pub(crate) use self::context::HierarchyContext;
pub(crate) use self::leftovers::CreateMode;
pub(crate) use self::node::{GroupCore, NodeCore};
pub use self::options::{Consolidated, OpenOptions};
