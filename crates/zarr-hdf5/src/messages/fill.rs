//! Fill values.

use crate::error::Result;
use crate::source::Cursor;

/// The value of elements that were never written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Fill {
    /// HDF5's default: zeros.
    #[default]
    Zero,
    /// The writer said that there is none, so that what was never written is undefined. The library returns zeros.
    Undefined,
    /// One element, as bytes of the dataset's type.
    Value(Vec<u8>),
}

impl Fill {
    /// The message of HDF5 1.4 and before.
    pub(crate) fn parse_old(cursor: &mut Cursor<'_>) -> Result<Fill> {
        let size = cursor.u32()?;
        value(cursor, size)
    }

    pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Result<Fill> {
        let version = cursor.version(1..=3)?;
        if version == 3 {
            let flags = cursor.u8()?;
            return match flags & 0x30 {
                0x20 => {
                    let size = cursor.u32()?;
                    value(cursor, size)
                }
                0x10 => Ok(Fill::Undefined),
                _ => Ok(Fill::Zero),
            };
        }
        // When space is allocated, and when the value is written.
        cursor.skip(2)?;
        let is_defined = cursor.u8()? != 0;
        if version == 2 && !is_defined {
            return Ok(Fill::Undefined);
        }
        let size = cursor.u32()?;
        value(cursor, size)
    }
}

/// A size of 0 is the default, a negative one is none.
fn value(cursor: &mut Cursor<'_>, size: u32) -> Result<Fill> {
    match size as i32 {
        0 => Ok(Fill::Zero),
        ..0 => Ok(Fill::Undefined),
        _ => Ok(Fill::Value(cursor.take(size as usize)?.to_vec())),
    }
}
