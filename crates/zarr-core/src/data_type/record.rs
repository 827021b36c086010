//! The data type of records: their fields, and the offset of each.
//!
//! A record is its fields one after the other, packed, in the order in which they were declared. In
//! memory each field is native. Most records are stored in one byte order, which belongs to the chain;
//! v2 and the drafts may say another for each field, and then the field knows it (Z2-035, Z2-036).

use std::fmt;

use super::{DataType, Endian, Field, MAX_ELEMENT, Record};
use crate::error::MetadataError;

/// The most levels of records in records.
pub(crate) const MAX_DEPTH: usize = 16;

impl Field {
    /// A field that holds one element; a record gives it its place.
    pub fn new(name: impl Into<String>, data_type: DataType) -> Field {
        Field { name: name.into(), data_type, shape: Vec::new(), endian: None, offset: 0, size: 0 }
    }

    /// The same field, holding a small array of elements in C order. Final v3 cannot represent that.
    #[must_use]
    pub fn with_shape(mut self, shape: &[u64]) -> Field {
        self.shape = shape.to_vec();
        self
    }

    /// The same field, stored in its own byte order. Final v3 cannot represent that.
    #[must_use]
    pub fn with_endian(mut self, endian: Endian) -> Field {
        self.endian = Some(endian);
        self
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The type of what it holds: of one element, if it has a shape.
    pub fn data_type(&self) -> &DataType {
        &self.data_type
    }

    /// How many elements along each axis it holds; empty for one element.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// How many elements it holds, along all axes; 1 without a shape.
    pub fn element_count(&self) -> usize {
        // A record has checked that they fit.
        self.shape.iter().product::<u64>() as usize
    }

    /// The byte order in which it is stored, if that is its own and not the array's.
    pub fn endian(&self) -> Option<Endian> {
        self.endian
    }

    /// How many bytes of the record come before it.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// How many bytes it has.
    pub fn size(&self) -> usize {
        self.size
    }

    fn measure(&self) -> Option<usize> {
        // Fields have a fixed size, and are always there.
        if !self.data_type.is_stored_whole() {
            return None;
        }
        let mut size = self.data_type.repr()?.size();
        for &len in &self.shape {
            let len = usize::try_from(len).ok().filter(|&len| len > 0)?;
            size = size.checked_mul(len)?;
        }
        Some(size)
    }
}

impl Record {
    /// A record of these fields.
    ///
    /// # Errors
    /// [`MetadataError::Invalid`] without a field, for names that are empty or repeated, for types of unknown size, for
    /// more than 16 MiB, and for records more than 16 deep.
    pub fn new(fields: impl IntoIterator<Item = Field>) -> Result<Record, MetadataError> {
        Record::from_fields(fields.into_iter().collect())
            .map_err(|why| MetadataError::invalid("data_type", why))
    }

    /// What [`Record::new`] does; an error says why the fields are none.
    fn from_fields(mut fields: Vec<Field>) -> Result<Record, String> {
        let mut size = 0usize;
        let mut depth = 1;
        let mut names = std::collections::HashSet::new();
        for field in &mut fields {
            let name = &field.name;
            if name.is_empty() {
                return Err("a field has no name".into());
            }
            if !names.insert(name.clone()) {
                return Err(format!("duplicate field `{name}`"));
            }
            let own = field.measure();
            let end = own.and_then(|own| size.checked_add(own)).filter(|&end| end <= MAX_ELEMENT);
            let (Some(own), Some(end)) = (own, end) else {
                return Err(format!("field `{name}` is too large, or has an invalid shape"));
            };
            field.offset = size;
            field.size = own;
            size = end;
            if let DataType::Record(inner) = &field.data_type {
                depth = depth.max(inner.depth + 1);
            }
        }
        if size == 0 {
            return Err("a record has at least one field".into());
        }
        if depth > MAX_DEPTH {
            return Err(format!("records nest deeper than {MAX_DEPTH} levels"));
        }
        Ok(Record { fields, size, depth })
    }

    /// Its fields, in their order.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// How many bytes it has.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The field of this name, or with a period between names the field of a record inside: `e.x`. Its
    /// offset is that in the whole record.
    pub fn field(&self, path: &str) -> Option<Field> {
        if let Some(field) = self.fields.iter().find(|field| field.name == path) {
            return Some(field.clone());
        }
        self.fields.iter().filter(|field| field.shape.is_empty()).find_map(|outer| {
            let DataType::Record(inner) = &outer.data_type else { return None };
            let rest = path.strip_prefix(&*outer.name)?.strip_prefix('.')?;
            let mut field = inner.field(rest)?;
            field.offset += outer.offset;
            Some(field)
        })
    }

    /// The same record, each field with the byte order that `order` returns for its present one.
    pub(crate) fn reordered(&self, order: &dyn Fn(Option<Endian>) -> Option<Endian>) -> Record {
        let mut record = self.clone();
        for field in &mut record.fields {
            match &field.data_type {
                DataType::Record(inner) => field.data_type = inner.reordered(order).into(),
                plain if plain.has_byte_order() => field.endian = order(field.endian),
                _ => field.endian = None,
            }
        }
        record
    }
}

/// Records are equal if their elements are, however those are stored.
impl PartialEq for Record {
    fn eq(&self, other: &Self) -> bool {
        self.fields.len() == other.fields.len()
            && self
                .fields
                .iter()
                .zip(&other.fields)
                .all(|(a, b)| a.name == b.name && a.data_type == b.data_type && a.shape == b.shape)
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, field) in self.fields.iter().enumerate() {
            write!(f, "{}{}: {}", if n == 0 { "{" } else { ", " }, field.name, field.data_type)?;
            if !field.shape.is_empty() {
                write!(f, "{:?}", field.shape)?;
            }
        }
        f.write_str("}")
    }
}

impl From<Record> for DataType {
    fn from(record: Record) -> Self {
        DataType::Record(std::sync::Arc::new(record))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data_type::CoreType::*;
    use crate::data_type::Origin;

    fn nested() -> Record {
        let inner = [Field::new("x", Int16.into()), Field::new("y", Uint8.into())];
        let inner = DataType::from(Record::new(inner).unwrap());
        Record::new([
            Field::new("a", Int32.into()),
            Field::new("e", inner.clone()),
            Field::new("q", inner).with_shape(&[2]),
            Field::new("e.y", Bool.into()),
        ])
        .unwrap()
    }

    #[test]
    fn fields_are_packed_in_their_order() {
        let record = nested();
        let places: Vec<_> = record.fields().iter().map(|f| (f.offset(), f.size())).collect();
        assert_eq!(places, [(0, 4), (4, 3), (7, 6), (13, 1)]);
        assert_eq!(record.size(), 14);
        let text = "{a: int32, e: {x: int16, y: uint8}, q: {x: int16, y: uint8}[2], e.y: bool}";
        assert_eq!(record.to_string(), text);
    }

    #[test]
    fn a_field_is_found_by_its_path() {
        let place =
            |path: &str| nested().field(path).map(|f| (f.offset(), f.data_type().to_string()));
        assert_eq!(place("e.x"), Some((4, "int16".into())));
        // A name that is there as it stands comes first.
        assert_eq!(place("e.y"), Some((13, "bool".into())));
        // An element of a field's shape has no name.
        for none in ["q.x", "b", "e.z", "a.x", "e.", ".x", ""] {
            assert_eq!(place(none), None, "{none}");
        }
    }

    /// Z2-035, F-050.
    #[test]
    fn a_record_that_cannot_be_is_refused() {
        let field = |name: &str| Field::new(name, Uint8.into());
        let why = |fields: Vec<Field>| Record::new(fields).unwrap_err().to_string();
        assert!(why(vec![]).contains("at least one field"));
        assert!(why(vec![field("a"), field("a")]).contains("duplicate field `a`"));
        assert!(why(vec![field("")]).contains("no name"));
        for shape in [vec![0], vec![1 << 40, 1 << 40], vec![MAX_ELEMENT as u64 + 1]] {
            assert!(why(vec![field("a").with_shape(&shape)]).contains("too large"));
        }
        let half = MAX_ELEMENT as u64 / 2 + 1;
        let halves = ["a", "b"].map(|name| field(name).with_shape(&[half]));
        assert!(why(halves.to_vec()).contains("`b` is too large"));
        let unknown = DataType::Unknown { declared: "zork".into(), fallback: None };
        assert!(why(vec![Field::new("a", unknown)]).contains("`a`"));
        let deeper = |record: Record| Record::new([Field::new("r", record.into())]);
        let mut record = Record::new([field("a")]).unwrap();
        for _ in 1..MAX_DEPTH {
            record = deeper(record).unwrap();
        }
        assert!(deeper(record).unwrap_err().to_string().contains("deeper than 16"));
    }

    #[test]
    fn bools_and_text_are_checked_wherever_they_lie() {
        let record = DataType::from(nested());
        assert!(record.needs_check());
        let mut elements = vec![9; 28];
        elements[13] = 1;
        assert!(record.check(&mut elements.clone(), Origin::Store).is_err());
        record.check(&mut elements, Origin::LenientStore).unwrap();
        assert_eq!((elements[12], elements[13], elements[27]), (9, 1, 1));
        assert!(
            !DataType::from(Record::new([Field::new("a", Int8.into())]).unwrap()).needs_check()
        );
    }
}
