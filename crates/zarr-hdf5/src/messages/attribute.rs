//! Attribute messages.

use crate::error::Result;
use crate::messages::dataspace::Dataspace;
use crate::messages::datatype::Datatype;
use crate::shared;
use crate::source::{Source, text};
use crate::{error::Place, header::kind};

/// An attribute of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// Its name.
    pub name: String,
    /// The type of its elements.
    pub datatype: Datatype,
    /// Its shape.
    pub dataspace: Dataspace,
    /// Its elements as stored. Those of variable length refer to the global heap.
    pub raw: Vec<u8>,
}

impl Attribute {
    pub(crate) fn parse(
        source: &Source<'_>,
        table: Option<&shared::Table>,
        body: &[u8],
        place: Place,
    ) -> Result<Attribute> {
        let mut cursor = source.cursor(body, place);
        let version = cursor.version(1..=3)?;
        let flags = if version == 1 { 0 } else { cursor.u8()? };
        if version == 1 {
            cursor.skip(1)?;
        }
        let name_length = usize::from(cursor.u16()?);
        let datatype_length = usize::from(cursor.u16()?);
        let dataspace_length = usize::from(cursor.u16()?);
        if version == 3 {
            cursor.skip(1)?;
        }
        let padded = |length: usize| {
            if version == 1 { length.next_multiple_of(8) } else { length }
        };
        let name = cursor.take(padded(name_length))?;
        let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
        let name = text(&name[..end]);
        let part = |bytes: &[u8], kind: u16, is_shared: bool| {
            if is_shared {
                shared::resolve(source, table, kind, bytes, place)
            } else {
                Ok(bytes.to_vec())
            }
        };
        let datatype = cursor.take(padded(datatype_length))?;
        let datatype = part(datatype, kind::DATATYPE, flags & 1 != 0)?;
        let datatype = Datatype::parse(&mut source.cursor(&datatype, place))?;
        let dataspace = cursor.take(padded(dataspace_length))?;
        let dataspace = part(dataspace, kind::DATASPACE, flags & 2 != 0)?;
        let dataspace = Dataspace::parse(&mut source.cursor(&dataspace, place))?;
        let length = dataspace
            .element_count()
            .and_then(|count| count.checked_mul(datatype.size.into()))
            .and_then(|length| usize::try_from(length).ok());
        let Some(length) = length else {
            return Err(place.damaged(format!("the attribute \"{name}\" has 2^64 bytes or more")));
        };
        let raw = cursor.take(length)?.to_vec();
        Ok(Attribute { name, datatype, dataspace, raw })
    }
}
