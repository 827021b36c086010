//! Reads Thrift's compact protocol, in which Parquet's metadata are written.

/// How deep structures may nest.
const MAX_DEPTH: usize = 16;

/// What is read, and how far.
#[derive(Debug)]
pub(super) struct Reader<'b> {
    bytes: &'b [u8],
    pub at: usize,
}

/// A value of a field. What is not needed is passed over.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value<'b> {
    Integer(i64),
    Boolean(bool),
    Bytes(&'b [u8]),
    List(Vec<Value<'b>>),
    Structure(Fields<'b>),
    /// A float, a set or a map.
    Other,
}

/// The fields of a structure by their numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Fields<'b>(Vec<(i16, Value<'b>)>);

impl<'b> Fields<'b> {
    pub fn get(&self, number: i16) -> Option<&Value<'b>> {
        self.0.iter().find(|(known, _)| *known == number).map(|(_, value)| value)
    }

    pub fn integer(&self, number: i16) -> Option<i64> {
        match self.get(number)? {
            Value::Integer(value) => Some(*value),
            _ => None,
        }
    }

    pub fn boolean(&self, number: i16) -> Option<bool> {
        match self.get(number)? {
            Value::Boolean(value) => Some(*value),
            _ => None,
        }
    }

    pub fn structure(&self, number: i16) -> Option<&Fields<'b>> {
        match self.get(number)? {
            Value::Structure(fields) => Some(fields),
            _ => None,
        }
    }

    pub fn list(&self, number: i16) -> Option<&[Value<'b>]> {
        match self.get(number)? {
            Value::List(values) => Some(values),
            _ => None,
        }
    }

    pub fn text(&self, number: i16) -> Option<&'b str> {
        match self.get(number)? {
            Value::Bytes(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }
}

impl<'b> Reader<'b> {
    pub fn new(bytes: &'b [u8]) -> Self {
        Reader { bytes, at: 0 }
    }

    fn byte(&mut self) -> Result<u8, String> {
        let byte = self.bytes.get(self.at).copied();
        self.at += 1;
        byte.ok_or_else(|| "the metadata are truncated".into())
    }

    fn take(&mut self, count: usize) -> Result<&'b [u8], String> {
        let taken = self.at.checked_add(count).and_then(|end| self.bytes.get(self.at..end));
        let taken = taken.ok_or("the metadata are truncated")?;
        self.at += count;
        Ok(taken)
    }

    fn unsigned(&mut self) -> Result<u64, String> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err("a number in the metadata has more than 64 bits".into())
    }

    /// A number whose lowest bit is the sign.
    fn signed(&mut self) -> Result<i64, String> {
        let value = self.unsigned()?;
        Ok((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// The fields of a structure.
    pub fn structure(&mut self) -> Result<Fields<'b>, String> {
        self.fields(0)
    }

    fn fields(&mut self, depth: usize) -> Result<Fields<'b>, String> {
        if depth > MAX_DEPTH {
            return Err(format!("the metadata nest more than {MAX_DEPTH} levels deep"));
        }
        let (mut fields, mut number) = (Vec::new(), 0i16);
        loop {
            let head = self.byte()?;
            if head == 0 {
                return Ok(Fields(fields));
            }
            number = match head >> 4 {
                0 => i16::try_from(self.signed()?).map_err(|_| "a field has no number")?,
                step => number.wrapping_add(step.into()),
            };
            let value = match head & 15 {
                1 => Value::Boolean(true),
                2 => Value::Boolean(false),
                kind => self.value(kind, depth + 1)?,
            };
            fields.push((number, value));
        }
    }

    fn value(&mut self, kind: u8, depth: usize) -> Result<Value<'b>, String> {
        if depth > MAX_DEPTH {
            return Err(format!("the metadata nest more than {MAX_DEPTH} levels deep"));
        }
        match kind {
            1 | 2 => Ok(Value::Boolean(self.byte()? == 1)),
            3 => Ok(Value::Integer((self.byte()? as i8).into())),
            4..=6 => Ok(Value::Integer(self.signed()?)),
            7 => self.take(8).map(|_| Value::Other),
            8 => {
                let length = self.unsigned()?;
                let length = usize::try_from(length).map_err(|_| "a text beyond all memory")?;
                self.take(length).map(Value::Bytes)
            }
            9 | 10 => {
                let head = self.byte()?;
                let count = match head >> 4 {
                    15 => self.unsigned()?,
                    count => count.into(),
                };
                let mut values = Vec::new();
                // Each takes a byte at least, and memory is taken for what was read.
                for _ in 0..count {
                    values.push(self.value(head & 15, depth + 1)?);
                }
                Ok(Value::List(values))
            }
            11 => {
                let count = self.unsigned()?;
                if count > 0 {
                    let kinds = self.byte()?;
                    for _ in 0..count {
                        self.value(kinds >> 4, depth + 1)?;
                        self.value(kinds & 15, depth + 1)?;
                    }
                }
                Ok(Value::Other)
            }
            12 => self.fields(depth + 1).map(Value::Structure),
            other => Err(format!("a value of kind {other} in the metadata")),
        }
    }
}
