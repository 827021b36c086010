//! Links: the names within a group.

use crate::error::Result;
use crate::source::{Cursor, text};

/// A name within a group, and what it leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The name; it is not empty.
    pub name: String,
    /// Where it leads.
    pub target: Target,
}

/// Where a link leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// To the object at this address.
    Hard(u64),
    /// To a path in the same file: from the root if it begins with `/`, else from the link's group.
    Soft(String),
    /// To a path in another file.
    External {
        /// The other file's name, as the writer gave it.
        file: String,
        /// The path in it.
        path: String,
    },
    /// To something that a program defined; the number is its class.
    UserDefined(u8),
}

impl Link {
    pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Result<Link> {
        cursor.version(1..=1)?;
        let flags = cursor.u8()?;
        let class = if flags & 0x08 != 0 { cursor.u8()? } else { 0 };
        if flags & 0x04 != 0 {
            cursor.skip(8)?;
        }
        if flags & 0x10 != 0 {
            cursor.skip(1)?;
        }
        let name_length = cursor.uint(1 << (flags & 3))?;
        let name_length = usize::try_from(name_length).unwrap_or(usize::MAX);
        let name = text(cursor.take(name_length)?);
        let target = match class {
            0 => Target::Hard(cursor.defined_address("linked object")?),
            1 => {
                let length = cursor.u16()?;
                Target::Soft(text(cursor.take(length.into())?))
            }
            64 => {
                let length = cursor.u16()?;
                let value = cursor.take(length.into())?;
                external(cursor, value)?
            }
            class => Target::UserDefined(class),
        };
        Ok(Link { name, target })
    }
}

fn external(cursor: &Cursor<'_>, value: &[u8]) -> Result<Target> {
    let mut parts = value.get(1..).unwrap_or(&[]).split(|byte| *byte == 0);
    let (Some(file), Some(path)) = (parts.next(), parts.next()) else {
        return Err(cursor.place.damaged("an external link has no file and path"));
    };
    Ok(Target::External { file: text(file), path: text(path) })
}
