//! Takes the numbers out of elements: those of a plain type, the parts of complex ones, the fields of records.

use std::borrow::Cow;
use std::sync::Arc;

use zarr_core::data_type::{DataType, FloatFormat, NumpyTime, Scalar, ScalarValue, load_bits};

use super::scan::Number;

/// Numbers, or texts, at one place in each element.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    /// What tells it from others: `real`, `position.x`; empty for the only one.
    pub name: String,
    pub kind: Kind,
    /// Bytes of the element before it.
    offset: usize,
    /// How many there are in an element, one after the other.
    repeat: usize,
    /// Bytes of the element that are 1 where it is there.
    flags: Vec<usize>,
}

/// What a column holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    /// Numbers or times.
    Number(Scalar),
    /// Bytes of one length, padded with NULs where they are texts.
    Fixed { len: usize, unit: usize, is_text: bool },
    /// Variable-length elements.
    Variable { is_text: bool },
}

/// The columns of elements of a type.
pub(crate) fn columns(data_type: &DataType, is_unsigned: bool) -> Vec<Column> {
    let (mut data_type, mut flags) = (data_type, Vec::new());
    // A field of a record is never nullable.
    while let DataType::Optional(optional) = data_type {
        flags.push(flags.len());
        data_type = optional.inner();
    }
    let mut found = Vec::new();
    for leaf in data_type.leaves() {
        let outer = leaf.fields().split_last().map_or(&[][..], |(_, outer)| outer);
        // Records in a field of several are not next to each other.
        if outer.iter().any(|field| field.element_count() != 1) {
            continue;
        }
        let at = Column {
            name: leaf.path(),
            kind: Kind::Variable { is_text: false },
            offset: flags.len() + leaf.offset(),
            repeat: leaf.value_count(),
            flags: flags.clone(),
        };
        add_columns(leaf.data_type(), at, is_unsigned, &mut found);
    }
    found
}

fn add_columns(data_type: &DataType, at: Column, is_unsigned: bool, found: &mut Vec<Column>) {
    let kind = match data_type {
        DataType::FixedBytes { len } => Kind::Fixed { len: *len, unit: 1, is_text: true },
        DataType::FixedUtf32 { len } => Kind::Fixed { len: 4 * len, unit: 4, is_text: true },
        DataType::Raw { size } => Kind::Fixed { len: *size, unit: 1, is_text: false },
        DataType::String | DataType::Json => Kind::Variable { is_text: true },
        other => match other.scalar() {
            Some(Scalar::Complex(format)) => {
                if at.repeat == 1 {
                    for (name, offset) in [("real", 0), ("imag", format.size())] {
                        let dot = if at.name.is_empty() { "" } else { "." };
                        found.push(Column {
                            name: format!("{}{dot}{name}", at.name),
                            kind: Kind::Number(Scalar::Float(format)),
                            offset: at.offset + offset,
                            ..at.clone()
                        });
                    }
                }
                return;
            }
            Some(Scalar::Int(bits)) if is_unsigned => Kind::Number(Scalar::Uint(bits)),
            Some(scalar) => Kind::Number(scalar),
            None => Kind::Variable { is_text: false },
        },
    };
    found.push(Column { kind, ..at });
}

impl Column {
    /// The bytes of the column's numbers, one after the other, of elements of `size` bytes; and which of them are there, if some
    /// may not be.
    pub fn gather<'a>(
        &self,
        bytes: &'a [u8],
        size: usize,
        shorts: &Shorts,
    ) -> (Cow<'a, [u8]>, Option<Vec<bool>>) {
        let width = self.width();
        let is_all = self.offset == 0 && self.flags.is_empty() && width == size;
        let present = (!self.flags.is_empty()).then(|| {
            let there = bytes
                .chunks_exact(size)
                .map(|element| self.flags.iter().all(|&flag| element[flag] != 0));
            there.flat_map(|there| std::iter::repeat_n(there, self.repeat)).collect()
        });
        let own = if is_all {
            Cow::Borrowed(bytes)
        } else {
            Cow::Owned(
                bytes
                    .chunks_exact(size.max(1))
                    .flat_map(|element| &element[self.offset..self.offset + width])
                    .copied()
                    .collect(),
            )
        };
        (shorts.widen(own), present)
    }

    /// Bytes of the column in an element.
    fn width(&self) -> usize {
        self.repeat
            * match &self.kind {
                Kind::Number(scalar) => scalar.size(),
                Kind::Fixed { len, .. } => *len,
                Kind::Variable { .. } => 0,
            }
    }

    /// How many numbers of the column an element has.
    pub fn repeat(&self) -> usize {
        self.repeat
    }

    /// The kind of its numbers.
    pub fn scalar(&self) -> Option<Scalar> {
        match self.kind {
            Kind::Number(scalar) => Some(scalar),
            _ => None,
        }
    }

    /// The time that its numbers count.
    pub fn numpy_time(&self) -> Option<NumpyTime> {
        match self.kind {
            Kind::Number(Scalar::Time(time)) => Some(time),
            _ => None,
        }
    }
}

/// Floats of 16 bits or fewer become 32 bits, which hold each of them.
#[derive(Clone)]
pub(crate) struct Shorts {
    size: usize,
    table: Arc<[f32]>,
}

impl Shorts {
    /// Elements stay as they are.
    pub fn none() -> Shorts {
        Shorts { size: 0, table: Arc::default() }
    }

    /// The table of a column's numbers; an empty one if they stay as they are.
    pub fn of(column: &Column) -> Shorts {
        match column.scalar() {
            Some(Scalar::Float(format)) if format.bits() <= 16 => {
                // Bits above a narrow number's are ignored.
                let all = 1u64 << (8 * format.size());
                let table =
                    (0..all).map(|bits| format.to_f64(bits & format.mask()) as f32).collect();
                Shorts { size: format.size(), table }
            }
            _ => Shorts::none(),
        }
    }

    fn widen<'a>(&self, bytes: Cow<'a, [u8]>) -> Cow<'a, [u8]> {
        if self.table.is_empty() {
            return bytes;
        }
        Cow::Owned(
            bytes
                .chunks_exact(self.size)
                .flat_map(|bits| self.table[load_bits(bits) as usize].to_ne_bytes())
                .collect(),
        )
    }
}

/// Something that is done with numbers of any kind.
pub(crate) trait Job {
    type Output;
    fn run<T: Number>(self) -> Self::Output;
}

/// Runs a job for the kind of number that a column's become; `None` if the kind is not known.
pub(crate) fn dispatch<J: Job>(scalar: Scalar, job: J) -> Option<J::Output> {
    Some(match scalar {
        Scalar::Bool | Scalar::Uint(1..=8) => job.run::<u8>(),
        Scalar::Int(1..=8) => job.run::<i8>(),
        Scalar::Uint(16) => job.run::<u16>(),
        Scalar::Int(16) => job.run::<i16>(),
        Scalar::Uint(32) => job.run::<u32>(),
        Scalar::Int(32) => job.run::<i32>(),
        Scalar::Uint(64) => job.run::<u64>(),
        Scalar::Int(64) | Scalar::Time(_) => job.run::<i64>(),
        Scalar::Float(FloatFormat::FLOAT64) => job.run::<f64>(),
        Scalar::Float(FloatFormat::FLOAT32) => job.run::<f32>(),
        Scalar::Float(format) if format.bits() <= 16 => job.run::<f32>(),
        _ => return None,
    })
}

/// The value in f64.
pub(crate) fn as_f64(value: ScalarValue) -> f64 {
    crate::meaning::number(value)
}
