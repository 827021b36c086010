//! Walks the values in an element: an element is one, or a record of fields, which may be records themselves.

use super::{DataType, Field};

/// A part of an element that is no record: a field of a record, a field of a record in it, or the whole of an element of another
/// type. A field with a shape is one leaf of several values.
///
/// ```
/// use zarr_core::data_type::{CoreType, DataType, Field, Record};
///
/// let point = Record::new([
///     Field::new("x", CoreType::Float32.into()),
///     Field::new("y", CoreType::Float32.into()),
/// ])?;
/// let line = DataType::from(Record::new([
///     Field::new("id", CoreType::Uint16.into()),
///     Field::new("ends", point.into()).with_shape(&[2]),
/// ])?);
/// let leaves = line.leaves();
/// let names: Vec<_> = leaves.iter().map(|leaf| leaf.path()).collect();
/// assert_eq!(names, ["id", "ends.x", "ends.y"]);
/// let offsets: Vec<_> = leaves[1].values().map(|value| value.offset).collect();
/// assert_eq!(offsets, [2, 10]);
/// # Ok::<(), zarr_core::MetadataError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Leaf<'a> {
    fields: Vec<&'a Field>,
    data_type: &'a DataType,
    offset: usize,
}

/// One value of a [`Leaf`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeafValue {
    /// How many bytes of the element come before it.
    pub offset: usize,
    /// For each of [`Leaf::fields`], the index among its elements, in C order; 0 for a field without a shape.
    pub items: Vec<usize>,
}

/// As [`DataType::leaves`].
pub(super) fn leaves(data_type: &DataType) -> Vec<Leaf<'_>> {
    let mut leaves = Vec::new();
    add_leaves(Leaf { fields: Vec::new(), data_type, offset: 0 }, &mut leaves);
    leaves
}

fn add_leaves<'a>(at: Leaf<'a>, leaves: &mut Vec<Leaf<'a>>) {
    let DataType::Record(record) = at.data_type else {
        leaves.push(at);
        return;
    };
    for field in record.fields() {
        let mut fields = at.fields.clone();
        fields.push(field);
        let inner =
            Leaf { fields, data_type: field.data_type(), offset: at.offset + field.offset() };
        add_leaves(inner, leaves);
    }
}

impl<'a> Leaf<'a> {
    /// The fields that lead to it, the outermost first; none for an element that is no record.
    pub fn fields(&self) -> &[&'a Field] {
        &self.fields
    }

    /// The names of [`Leaf::fields`], with periods between them: `e.x`.
    pub fn path(&self) -> String {
        let names: Vec<&str> = self.fields.iter().map(|field| field.name()).collect();
        names.join(".")
    }

    /// The type of one value.
    pub fn data_type(&self) -> &'a DataType {
        self.data_type
    }

    /// How many bytes of the element come before the first value.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// How many values it has.
    pub fn value_count(&self) -> usize {
        self.fields.iter().map(|field| field.element_count()).product()
    }

    /// Its values in the order in which they are in the element. Between those of a field of several records are the records'
    /// other fields.
    pub fn values(&self) -> impl Iterator<Item = LeafValue> + use<'_, 'a> {
        (0..self.value_count()).map(move |number| self.value(number))
    }

    fn value(&self, mut number: usize) -> LeafValue {
        let mut value = LeafValue { offset: self.offset, items: vec![0; self.fields.len()] };
        for (item, field) in value.items.iter_mut().zip(&self.fields).rev() {
            let count = field.element_count();
            *item = number % count;
            number /= count;
            value.offset += *item * (field.size() / count);
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data_type::CoreType::{Int16, Uint8};
    use crate::data_type::{Optional, Record};

    fn field(name: &str) -> Field {
        Field::new(name, Uint8.into())
    }

    fn record(fields: impl IntoIterator<Item = Field>) -> DataType {
        Record::new(fields).unwrap().into()
    }

    fn places(data_type: &DataType) -> Vec<(String, Vec<usize>)> {
        let places = |leaf: &Leaf<'_>| leaf.values().map(|value| value.offset).collect();
        data_type.leaves().iter().map(|leaf| (leaf.path(), places(leaf))).collect()
    }

    #[test]
    fn what_is_no_record_is_one_leaf() {
        for data_type in
            [Int16.into(), DataType::String, Optional::new(record([field("a")])).unwrap().into()]
        {
            assert_eq!(places(&data_type), [(String::new(), vec![0])], "{data_type}");
        }
    }

    #[test]
    fn each_value_of_a_field_has_its_place() {
        let inner = record([field("x").with_shape(&[2]), Field::new("y", Int16.into())]);
        let outer = Field::new("q", inner).with_shape(&[1, 3]);
        let data_type = record([field("a"), Field::new("r", record([field("b"), outer]))]);
        let due = [
            ("a", vec![0]),
            ("r.b", vec![1]),
            ("r.q.x", vec![2, 3, 6, 7, 10, 11]),
            ("r.q.y", vec![4, 8, 12]),
        ];
        assert_eq!(places(&data_type), due.map(|(name, places)| (name.to_owned(), places)));
        let leaves = data_type.leaves();
        let items: Vec<_> = leaves[2].values().map(|value| value.items).collect();
        assert_eq!(items[..3], [[0, 0, 0], [0, 0, 1], [0, 1, 0]]);
    }

    /// A document of a few bytes may declare a field of millions of values.
    #[test]
    fn a_large_shape_makes_no_leaves() {
        let many = record([Field::new("r", record([field("a")])).with_shape(&[1 << 24])]);
        let leaves = many.leaves();
        assert_eq!((leaves.len(), leaves[0].value_count()), (1, 1 << 24));
    }
}
