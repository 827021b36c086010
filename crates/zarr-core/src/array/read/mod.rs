//! Reads chunks: [`reader`] has the way from top to bottom.

mod ahead;
mod cached;
mod copy_decoded;
mod decode;
mod large_parts;
mod local;
mod missing;
mod reader;
mod reading_order;
mod remote;
mod segments;
mod source;
mod storage_transformer;
mod whole_chunk;

pub(super) use self::ahead::read_ahead;
pub(super) use self::reader::{Reader, read_encoded};
pub(super) use self::reading_order::ReadingOrder;
