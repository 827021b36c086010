//! Parses the header of netCDF files of the classic format, of its variant with 64-bit offsets, and of CDF-5 (V-060 … V-062).

use std::fmt;

/// A dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Dimension {
    pub name: String,
    /// `None` for the record dimension.
    pub length: Option<u64>,
}

/// The types of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Byte,
    Char,
    Short,
    Int,
    Float,
    Double,
    UByte,
    UShort,
    UInt,
    Int64,
    UInt64,
}

impl Type {
    /// Bytes in a value.
    pub fn size(self) -> u64 {
        match self {
            Type::Byte | Type::Char | Type::UByte => 1,
            Type::Short | Type::UShort => 2,
            Type::Int | Type::UInt | Type::Float => 4,
            Type::Double | Type::Int64 | Type::UInt64 => 8,
        }
    }
}

/// An attribute; its values as stored, most significant byte first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Attribute {
    pub name: String,
    pub data_type: Type,
    pub values: Vec<u8>,
}

/// A variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Variable {
    pub name: String,
    /// Indices of [`Header::dimensions`].
    pub dimensions: Vec<usize>,
    pub attributes: Vec<Attribute>,
    pub data_type: Type,
    /// The first byte of its values.
    pub begin: u64,
    pub is_record: bool,
}

/// What the beginning of a file tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// 1, 2 or 5.
    pub version: u8,
    /// Records that are stored; all ones in a file that was being written, whose length then tells.
    pub records: Option<u64>,
    pub dimensions: Vec<Dimension>,
    pub attributes: Vec<Attribute>,
    pub variables: Vec<Variable>,
}

/// Why a header was not parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It has at least this many bytes.
    Needs(u64),
    /// It is damaged.
    Damaged { offset: u64, why: String },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Needs(bytes) => write!(f, "its header ends after {bytes} bytes"),
            Fault::Damaged { offset, why } => write!(f, "{why} at byte {offset}"),
        }
    }
}

const DIMENSIONS: u32 = 10;
const VARIABLES: u32 = 11;
const ATTRIBUTES: u32 = 12;
/// The most dimensions of a variable.
const MAX_RANK: u64 = 1024;

/// What is parsed, and how far.
struct Parser<'a> {
    bytes: &'a [u8],
    at: usize,
    version: u8,
}

impl<'a> Parser<'a> {
    fn take(&mut self, count: u64) -> Result<&'a [u8], Fault> {
        let end = usize::try_from(count).ok().and_then(|count| self.at.checked_add(count));
        let end = end.ok_or_else(|| self.damaged("a length that exceeds the address space"))?;
        let taken = self.bytes.get(self.at..end).ok_or(Fault::Needs(end as u64))?;
        self.at = end;
        Ok(taken)
    }

    fn damaged(&self, why: impl Into<String>) -> Fault {
        Fault::Damaged { offset: self.at as u64, why: why.into() }
    }

    fn u32(&mut self) -> Result<u32, Fault> {
        let bytes = self.take(4)?;
        Ok(bytes.iter().fold(0, |number, byte| (number << 8) | u32::from(*byte)))
    }

    fn u64(&mut self) -> Result<u64, Fault> {
        let bytes = self.take(8)?;
        Ok(bytes.iter().fold(0, |number, byte| (number << 8) | u64::from(*byte)))
    }

    /// A count or a length: 64 bits in CDF-5, else 32.
    fn count(&mut self) -> Result<u64, Fault> {
        if self.version == 5 { self.u64() } else { Ok(self.u32()?.into()) }
    }

    /// Passes over zero bytes, to the next multiple of 4.
    fn pad(&mut self, count: u64) -> Result<(), Fault> {
        self.take(count.wrapping_neg() % 4).map(drop)
    }

    fn name(&mut self) -> Result<String, Fault> {
        let length = self.count()?;
        let start = self.at as u64;
        let bytes = self.take(length)?;
        self.pad(length)?;
        let name = String::from_utf8(bytes.to_vec());
        name.map_err(|_| Fault::Damaged { offset: start, why: "a name that is not UTF-8".into() })
    }

    fn data_type(&mut self) -> Result<Type, Fault> {
        let number = self.u32()?;
        Ok(match (number, self.version) {
            (1, _) => Type::Byte,
            (2, _) => Type::Char,
            (3, _) => Type::Short,
            (4, _) => Type::Int,
            (5, _) => Type::Float,
            (6, _) => Type::Double,
            (7, 5) => Type::UByte,
            (8, 5) => Type::UShort,
            (9, 5) => Type::UInt,
            (10, 5) => Type::Int64,
            (11, 5) => Type::UInt64,
            _ => {
                let why = format!("data type {number} in a file of version {}", self.version);
                return Err(self.damaged(why));
            }
        })
    }

    /// The number of items of a list, which begins with `tag`.
    fn list(&mut self, tag: u32) -> Result<u64, Fault> {
        let found = self.u32()?;
        let count = self.count()?;
        match (found, count) {
            (0, 0) => Ok(0),
            (found, count) if found == tag => Ok(count),
            (found, _) => Err(self.damaged(format!("a list of kind {found}, expected {tag}"))),
        }
    }

    /// Items of a list. Memory is taken for what was read, never for what the count says.
    fn items<T>(
        &mut self,
        tag: u32,
        mut item: impl FnMut(&mut Self) -> Result<T, Fault>,
    ) -> Result<Vec<T>, Fault> {
        let count = self.list(tag)?;
        let mut items = Vec::new();
        for _ in 0..count {
            items.push(item(self)?);
        }
        Ok(items)
    }

    fn attribute(&mut self) -> Result<Attribute, Fault> {
        let name = self.name()?;
        let data_type = self.data_type()?;
        let count = self.count()?;
        let size = count.checked_mul(data_type.size());
        let size = size.ok_or_else(|| self.damaged("more values than can be counted"))?;
        let values = self.take(size)?.to_vec();
        self.pad(size)?;
        Ok(Attribute { name, data_type, values })
    }

    fn variable(&mut self, dimensions: &[Dimension]) -> Result<Variable, Fault> {
        let name = self.name()?;
        let rank = self.count()?;
        if rank > MAX_RANK {
            return Err(self.damaged(format!("variable `{name}` of {rank} dimensions")));
        }
        let mut of_variable = Vec::new();
        for axis in 0..rank {
            let index = self.count()?;
            let found = usize::try_from(index).ok().filter(|index| *index < dimensions.len());
            let index = found.ok_or_else(|| {
                self.damaged(format!(
                    "`{name}` refers to dimension {index} of {}",
                    dimensions.len()
                ))
            })?;
            if axis > 0 && dimensions[index].length.is_none() {
                let why = format!("the record dimension is not the first of `{name}`");
                return Err(self.damaged(why));
            }
            of_variable.push(index);
        }
        let attributes = self.items(ATTRIBUTES, Self::attribute)?;
        let data_type = self.data_type()?;
        // The size, which overflows in files of large variables.
        self.count()?;
        let begin = if self.version == 1 { self.u32()?.into() } else { self.u64()? };
        let is_record =
            of_variable.first().is_some_and(|index| dimensions[*index].length.is_none());
        Ok(Variable { name, dimensions: of_variable, attributes, data_type, begin, is_record })
    }
}

/// The header at the beginning of `bytes`.
///
/// # Errors
/// [`Fault::Needs`] if more bytes are needed.
pub(super) fn parse(bytes: &[u8]) -> Result<Header, Fault> {
    let mut parser = Parser { bytes, at: 0, version: 0 };
    let magic = parser.take(4)?;
    let version = match magic {
        [b'C', b'D', b'F', version @ (1 | 2 | 5)] => *version,
        _ => return Err(Fault::Damaged { offset: 0, why: "no netCDF-3 signature".into() }),
    };
    parser.version = version;
    let records = parser.count()?;
    let unknown = if version == 5 { u64::MAX } else { u32::MAX.into() };
    let dimensions = parser.items(DIMENSIONS, |parser| {
        let name = parser.name()?;
        let length = parser.count()?;
        Ok(Dimension { name, length: (length > 0).then_some(length) })
    })?;
    if dimensions.iter().filter(|dimension| dimension.length.is_none()).count() > 1 {
        return Err(parser.damaged("two record dimensions"));
    }
    let attributes = parser.items(ATTRIBUTES, Parser::attribute)?;
    let variables = parser.items(VARIABLES, |parser| parser.variable(&dimensions))?;
    let records = (records != unknown).then_some(records);
    Ok(Header { version, records, dimensions, attributes, variables })
}

impl Header {
    /// The lengths of a variable's dimensions but for the record dimension, and the bytes of its values: of a record, or of
    /// all. `None` if they cannot be counted.
    pub fn extent(&self, variable: &Variable) -> Option<(Vec<u64>, u64)> {
        let lengths = variable.dimensions.iter().filter_map(|index| self.dimensions[*index].length);
        let lengths: Vec<u64> = lengths.collect();
        let mut size = variable.data_type.size();
        for length in &lengths {
            size = size.checked_mul(*length)?;
        }
        Some((lengths, size))
    }

    /// Bytes from one record to the next. Each variable is padded to 4 bytes, but not if it is alone.
    pub fn record_size(&self) -> Option<u64> {
        let variables: Vec<&Variable> = self.variables.iter().filter(|v| v.is_record).collect();
        if let [alone] = &variables[..] {
            return Some(self.extent(alone)?.1);
        }
        variables.iter().try_fold(0u64, |total, variable| {
            total.checked_add(self.extent(variable)?.1.checked_next_multiple_of(4)?)
        })
    }

    /// The number of records, which a file of `size` bytes tells if its header does not.
    pub fn record_count(&self, size: u64) -> Option<u64> {
        if let Some(records) = self.records {
            return Some(records);
        }
        let first = self.variables.iter().filter(|v| v.is_record).map(|v| v.begin).min();
        let (Some(first), record) = (first, self.record_size()?) else { return Some(0) };
        Some(size.saturating_sub(first).checked_div(record).unwrap_or(0))
    }
}
