//! Swaps the bytes of elements between byte orders.

use super::{DataType, Endian, Record};

/// The runs of bytes in an element that a change of byte order reverses.
///
/// ```
/// use zarr_core::data_type::{ByteSwap, CoreType, Endian, Field, Record};
///
/// let fields = [Field::new("n", CoreType::Uint8.into()), Field::new("x", CoreType::Int16.into())];
/// let swap = ByteSwap::between(&Record::new(fields)?.into(), Endian::Big, Endian::Little);
/// let mut elements = [1, 2, 3, 4, 5, 6];
/// swap.apply(&mut elements);
/// assert_eq!(elements, [1, 3, 2, 4, 6, 5]);
/// # Ok::<(), zarr_core::MetadataError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByteSwap {
    element_size: usize,
    runs: Vec<SwapRun>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum SwapRun {
    /// Units one after the other.
    Units { offset: usize, size: usize, unit: usize },
    /// Records one after the other, each swapped in the same way.
    Each { offset: usize, size: usize, stride: usize, runs: Vec<SwapRun> },
}

impl ByteSwap {
    /// Swaps elements that are stored as `stored` into ones as `wanted`. A field with its own byte order is swapped from that.
    pub fn between(data_type: &DataType, stored: Endian, wanted: Endian) -> ByteSwap {
        ByteSwap::new(data_type, &|own: Option<Endian>| own.unwrap_or(stored) != wanted)
    }

    /// Swaps everything that has a byte order: between native elements and ones of the other order.
    pub fn of_all(data_type: &DataType) -> ByteSwap {
        ByteSwap::new(data_type, &|_| true)
    }

    fn new(data_type: &DataType, is_swapped: &dyn Fn(Option<Endian>) -> bool) -> ByteSwap {
        let mut runs = Vec::new();
        let element_size = data_type.repr().map_or(1, |repr| repr.size());
        of_one(data_type, is_swapped, 0, &mut runs);
        ByteSwap { element_size, runs }
    }

    /// The unit, if elements are nothing but units of one size; 1 if nothing is swapped.
    pub fn unit(&self) -> Option<usize> {
        match self.runs[..] {
            [] => Some(1),
            [SwapRun::Units { offset: 0, size, unit }] if size == self.element_size => Some(unit),
            _ => None,
        }
    }

    /// Swaps elements, one after the other.
    pub fn apply(&self, elements: &mut [u8]) {
        match self.unit() {
            Some(1) => {}
            Some(unit) => elements.chunks_exact_mut(unit).for_each(<[u8]>::reverse),
            None => {
                elements.chunks_exact_mut(self.element_size).for_each(|one| apply(&self.runs, one))
            }
        }
    }
}

fn apply(runs: &[SwapRun], element: &mut [u8]) {
    for step in runs {
        match step {
            SwapRun::Units { offset, size, unit } => {
                let units = element[*offset..offset + size].chunks_exact_mut(*unit);
                units.for_each(<[u8]>::reverse);
            }
            SwapRun::Each { offset, size, stride, runs } => {
                let records = element[*offset..offset + size].chunks_exact_mut(*stride);
                records.for_each(|record| apply(runs, record));
            }
        }
    }
}

/// The runs of one element behind `offset` bytes.
fn of_one(
    data_type: &DataType,
    is_swapped: &dyn Fn(Option<Endian>) -> bool,
    offset: usize,
    runs: &mut Vec<SwapRun>,
) {
    let size = data_type.repr().map_or(1, |repr| repr.size());
    match data_type {
        DataType::Record(record) => of_record(record, is_swapped, offset, runs),
        DataType::Optional(optional) => of_one(optional.inner(), is_swapped, offset + 1, runs),
        plain if is_swapped(None) => of_plain(plain, offset, size, runs),
        _ => {}
    }
}

fn of_plain(data_type: &DataType, offset: usize, size: usize, runs: &mut Vec<SwapRun>) {
    let unit = data_type.repr().map_or(1, |repr| repr.swap_unit());
    if unit == 1 {
        return;
    }
    match runs.last_mut() {
        Some(SwapRun::Units { offset: from, size: before, unit: same })
            if *from + *before == offset && *same == unit =>
        {
            *before += size;
        }
        _ => runs.push(SwapRun::Units { offset, size, unit }),
    }
}

fn of_record(
    record: &Record,
    is_swapped: &dyn Fn(Option<Endian>) -> bool,
    base: usize,
    runs: &mut Vec<SwapRun>,
) {
    for field in record.fields() {
        let (offset, size) = (base + field.offset(), field.size());
        match field.data_type() {
            DataType::Record(inner) if inner.size() == size => {
                of_record(inner, is_swapped, offset, runs);
            }
            // Not one by one: a short document may describe a million records.
            DataType::Record(inner) => {
                let mut each = Vec::new();
                of_record(inner, is_swapped, 0, &mut each);
                if !each.is_empty() {
                    runs.push(SwapRun::Each { offset, size, stride: inner.size(), runs: each });
                }
            }
            plain if is_swapped(field.endian()) => of_plain(plain, offset, size, runs),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data_type::{CoreType::*, Field};

    fn record(fields: impl IntoIterator<Item = Field>) -> DataType {
        Record::new(fields).unwrap().into()
    }

    fn turned(data_type: &DataType, stored: Endian) -> Vec<u8> {
        let mut element: Vec<u8> = (0..data_type.repr().unwrap().size() as u8).collect();
        ByteSwap::between(data_type, stored, Endian::Little).apply(&mut element);
        element
    }

    #[test]
    fn plain_types_are_turned_in_their_units() {
        let unit = |data_type: DataType| ByteSwap::of_all(&data_type).unit();
        assert_eq!(unit(Int32.into()), Some(4));
        assert_eq!(unit(Complex128.into()), Some(8));
        assert_eq!(unit(Bool.into()), Some(1));
        assert_eq!(unit(DataType::Raw { size: 6 }), Some(1));
        assert_eq!(turned(&Complex64.into(), Endian::Big), [3, 2, 1, 0, 7, 6, 5, 4]);
        assert_eq!(turned(&Int16.into(), Endian::Little), [0, 1]);
    }

    /// Z2-036, T-48.
    #[test]
    fn fields_are_turned_each_by_itself() {
        let mixed = record([
            Field::new("a", Int32.into()),
            Field::new("b", Uint8.into()),
            Field::new("c", Int16.into()).with_endian(Endian::Big),
            Field::new("d", Int16.into()).with_endian(Endian::Little),
        ]);
        assert_eq!(turned(&mixed, Endian::Little), [0, 1, 2, 3, 4, 6, 5, 7, 8]);
        assert_eq!(turned(&mixed, Endian::Big), [3, 2, 1, 0, 4, 6, 5, 7, 8]);
        assert_eq!(ByteSwap::of_all(&mixed).unit(), None);
    }

    #[test]
    fn records_of_one_unit_are_as_fast_as_plain_types() {
        let point = record(["x", "y"].map(|name| Field::new(name, Float64.into())));
        let line = record([Field::new("from", point.clone()), Field::new("to", point)]);
        assert_eq!(ByteSwap::of_all(&line).unit(), Some(8));
        assert_eq!(ByteSwap::between(&line, Endian::Big, Endian::Big).unit(), Some(1));
    }

    #[test]
    fn many_records_in_one_are_turned_without_a_list_of_them() {
        let inner = record([Field::new("x", Int16.into()), Field::new("y", Int8.into())]);
        let few = record([
            Field::new("q", inner.clone()).with_shape(&[2]),
            Field::new("z", Int16.into()),
        ]);
        assert_eq!(turned(&few, Endian::Big), [1, 0, 2, 4, 3, 5, 7, 6]);
        let many = record([Field::new("q", inner).with_shape(&[1000, 1000])]);
        assert_eq!(ByteSwap::of_all(&many).runs.len(), 1);
    }
}
