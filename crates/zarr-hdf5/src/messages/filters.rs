//! Filter pipelines: what was done with a chunk before it was stored.

use crate::error::Result;
use crate::source::{Cursor, text};

/// HDF5's own limit.
const MAX_FILTERS: usize = 32;

/// One filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// Its registered number: 1 deflate, 2 shuffle, 3 fletcher32, …
    pub id: u16,
    /// Its name, if it is stored.
    pub name: Option<String>,
    /// Whether a chunk may be stored without it.
    pub is_optional: bool,
    /// Its parameters, called client data.
    pub parameters: Vec<u32>,
}

/// The filters in the order in which a writer applies them.
pub(crate) fn parse(cursor: &mut Cursor<'_>) -> Result<Vec<Filter>> {
    let version = cursor.version(1..=2)?;
    let count = usize::from(cursor.u8()?);
    if count > MAX_FILTERS {
        let what = format!("expected at most {MAX_FILTERS} filters, found {count}");
        return Err(cursor.place.damaged(what));
    }
    if version == 1 {
        cursor.skip(6)?;
    }
    let mut filters = Vec::with_capacity(count);
    for _ in 0..count {
        let id = cursor.u16()?;
        let has_name = version == 1 || id >= 256;
        let name_length = if has_name { usize::from(cursor.u16()?) } else { 0 };
        let flags = cursor.u16()?;
        let parameter_count = cursor.u16()?;
        let padded_length =
            if version == 1 { name_length.next_multiple_of(8) } else { name_length };
        let name = cursor.take(padded_length)?;
        let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
        let name = (end > 0).then(|| text(&name[..end]));
        let mut parameters = Vec::new();
        for _ in 0..parameter_count {
            parameters.push(cursor.u32()?);
        }
        if version == 1 && parameter_count % 2 == 1 {
            cursor.skip(4)?;
        }
        filters.push(Filter { id, name, is_optional: flags & 1 != 0, parameters });
    }
    Ok(filters)
}
