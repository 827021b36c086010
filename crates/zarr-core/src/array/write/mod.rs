//! Writes chunks: [`writer`] has the way from top to bottom.

mod clear;
mod elements;
mod encode;
mod merge;
pub(crate) mod swap;
mod write_key;
mod writer;

pub(super) use self::clear::clear_outside;
pub(super) use self::elements::Memory;
pub(super) use self::write_key::write_key;
pub(super) use self::writer::{WriteInput, Writer, erase_chunk};
