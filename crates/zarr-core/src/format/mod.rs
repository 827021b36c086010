//! Defines a format: where a dialect stores its documents, and how they become the model.
//!
//! A format is pure: keys and bytes, never input or output. Adding one is one file here and a line in
//! `detect.rs`.

mod children;
mod codec_shorthand;
pub(crate) mod consolidated;
mod copy_head;
mod corrections;
mod data_type;
mod detect;
mod draft;
mod encoding;
mod flat_chain;
mod interface;
mod members;
mod names;
mod reading;
pub(crate) mod template;
mod v2;
mod v3;

pub use self::copy_head::CopyHead;
pub(crate) use self::data_type::{VARIABLE_TYPES, parse_data_type};
pub use self::detect::of_dialect;
pub(crate) use self::detect::{Found, PROBES, array_documents, detect};
pub use self::draft::Draft;
pub(crate) use self::draft::{SingleDocument, node_below_entry_point};
pub use self::encoding::{JsonEncoding, MetadataEncoding};
pub use self::interface::{Child, Correction, DocumentMember, Documents, Format, Layout};
pub(crate) use self::members::{DIMENSION_NAMES, XARRAY_DIMENSIONS};
pub use self::names::{
    TOOL_FOLDERS, copy_journal, folders_of_another_format, is_document_name, is_tool_key,
    is_zarr_key, system_part,
};
pub(crate) use self::names::{documents_of_other_dialects, has_chunk_name, may_be_chunk_of};
pub use self::reading::Reading;
pub use self::v2::V2;
pub use self::v3::V3;
