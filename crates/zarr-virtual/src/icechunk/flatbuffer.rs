//! Reads tables of FlatBuffers. Every offset is checked: what leaves the buffer is an error, never a panic.

/// What is wrong with a buffer.
pub(super) type Result<T> = std::result::Result<T, String>;

/// A table in a buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table<'b> {
    buffer: &'b [u8],
    /// Where it begins.
    at: usize,
    /// Where its fields lie, two bytes each.
    fields: &'b [u8],
}

/// Values that follow each other in a buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Vector<'b> {
    buffer: &'b [u8],
    /// Where the first value begins.
    at: usize,
    pub len: usize,
}

fn bytes<const N: usize>(buffer: &[u8], at: usize) -> Result<[u8; N]> {
    let found = buffer.get(at..).and_then(|rest| rest.first_chunk::<N>());
    found.copied().ok_or_else(|| format!("offset {at} leaves a buffer of {} bytes", buffer.len()))
}

fn u32_at(buffer: &[u8], at: usize) -> Result<u32> {
    bytes(buffer, at).map(u32::from_le_bytes)
}

/// Where the offset that is stored at `at` leads.
fn follow(buffer: &[u8], at: usize) -> Result<usize> {
    let to = at.saturating_add(u32_at(buffer, at)? as usize);
    if to < buffer.len() {
        return Ok(to);
    }
    Err(format!("an offset at {at} leaves a buffer of {} bytes", buffer.len()))
}

impl<'b> Table<'b> {
    /// The table that a buffer is of.
    pub fn root(buffer: &'b [u8]) -> Result<Table<'b>> {
        Table::at(buffer, follow(buffer, 0)?)
    }

    fn at(buffer: &'b [u8], at: usize) -> Result<Table<'b>> {
        let back = i64::from(i32::from_le_bytes(bytes(buffer, at)?));
        let start = usize::try_from(at as i64 - back);
        let start =
            start.map_err(|_| format!("the table at {at} has its fields before the buffer"))?;
        let length = usize::from(u16::from_le_bytes(bytes(buffer, start)?));
        let fields = buffer.get(start..start.saturating_add(length)).and_then(|all| all.get(4..));
        let fields =
            fields.ok_or_else(|| format!("the fields of the table at {at} are truncated"))?;
        Ok(Table { buffer, at, fields })
    }

    /// Where a field lies; `None` if the table has none.
    fn field(&self, index: usize) -> Option<usize> {
        let (fields, _) = self.fields.as_chunks::<2>();
        let offset = u16::from_le_bytes(*fields.get(index)?);
        (offset > 0).then(|| self.at.saturating_add(usize::from(offset)))
    }

    fn missing(&self, index: usize) -> String {
        format!("field {index} of the table at {} is missing", self.at)
    }

    /// Whether the table has a field.
    pub fn has(&self, index: usize) -> bool {
        self.field(index).is_some()
    }

    /// A number; 0 if it is left out.
    pub fn u8(&self, index: usize) -> Result<u8> {
        let Some(at) = self.field(index) else { return Ok(0) };
        bytes::<1>(self.buffer, at).map(|[byte]| byte)
    }

    /// A number; 0 if it is left out.
    pub fn u32(&self, index: usize) -> Result<u32> {
        self.field(index).map_or(Ok(0), |at| u32_at(self.buffer, at))
    }

    /// A number; 0 if it is left out.
    pub fn u64(&self, index: usize) -> Result<u64> {
        let Some(at) = self.field(index) else { return Ok(0) };
        bytes(self.buffer, at).map(u64::from_le_bytes)
    }

    /// An identifier.
    pub fn id<const N: usize>(&self, index: usize) -> Result<[u8; N]> {
        bytes(self.buffer, self.field(index).ok_or_else(|| self.missing(index))?)
    }

    /// A table, also one of a union.
    pub fn table(&self, index: usize) -> Result<Table<'b>> {
        let at = self.field(index).ok_or_else(|| self.missing(index))?;
        Table::at(self.buffer, follow(self.buffer, at)?)
    }

    /// Values that begin every `size` bytes; none if they are left out.
    pub fn vector(&self, index: usize, size: usize) -> Result<Vector<'b>> {
        let Some(field) = self.field(index) else {
            return Ok(Vector { buffer: self.buffer, at: 0, len: 0 });
        };
        let start = follow(self.buffer, field)?;
        let len = u32_at(self.buffer, start)? as usize;
        let at = start + 4;
        let end = len.checked_mul(size).and_then(|length| length.checked_add(at));
        if end.is_none_or(|end| end > self.buffer.len()) {
            return Err(format!("{len} values at {start} leave the buffer"));
        }
        Ok(Vector { buffer: self.buffer, at, len })
    }

    /// Bytes; none if they are left out.
    pub fn bytes(&self, index: usize) -> Result<&'b [u8]> {
        let vector = self.vector(index, 1)?;
        Ok(&self.buffer[vector.at..vector.at + vector.len])
    }

    /// A text.
    pub fn text(&self, index: usize) -> Result<&'b str> {
        if !self.has(index) {
            return Err(self.missing(index));
        }
        std::str::from_utf8(self.bytes(index)?)
            .map_err(|_| format!("the text of field {index} at {} is not UTF-8", self.at))
    }
}

impl<'b> Vector<'b> {
    /// Value `index`, a table. The vector must have values of 4 bytes.
    pub fn table(&self, index: usize) -> Result<Table<'b>> {
        Table::at(self.buffer, follow(self.buffer, self.at + 4 * index)?)
    }

    /// The numbers of a vector of pairs, which has values of 8 bytes.
    pub fn pairs(self) -> impl Iterator<Item = u32> + 'b {
        Vector { len: 2 * self.len, ..self }.u32s()
    }

    /// The numbers of the vector. It must have values of 4 bytes.
    pub fn u32s(self) -> impl Iterator<Item = u32> + 'b {
        let bytes = &self.buffer[self.at..self.at + 4 * self.len];
        bytes.as_chunks::<4>().0.iter().map(|number| u32::from_le_bytes(*number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_leaves_the_buffer_is_an_error() {
        // A root at 8 whose table of fields, at 4, says one field, at 4 of the table: the number 7.
        let good = [12, 0, 0, 0, 6, 0, 8, 0, 4, 0, 0, 0, 8, 0, 0, 0, 7, 0, 0, 0];
        let table = Table::root(&good).unwrap();
        assert_eq!((table.u32(0), table.u32(1), table.has(1)), (Ok(7), Ok(0), false));
        for at in 0..good.len() {
            for byte in [0, 1, 0x7f, 0x80, 0xff] {
                let mut damaged = good;
                damaged[at] = byte;
                if let Ok(table) = Table::root(&damaged) {
                    let _ = (table.u64(0), table.text(0), table.table(0), table.id::<12>(0));
                    if let Ok(vector) = table.vector(0, 4)
                        && vector.len > 0
                    {
                        let _ = (vector.table(0), vector.u32s().count());
                    }
                }
            }
        }
        for end in 0..good.len() {
            let _ = Table::root(&good[..end]).and_then(|table| table.u32(0));
        }
    }
}
