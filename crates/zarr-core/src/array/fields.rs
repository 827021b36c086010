//! Finds the bytes of one field in the elements of an array of records.

use super::{ArrayCore, ChunkLayout, FieldBytes};
use crate::data_type::{DataType, Field};
use crate::element::Element;
use crate::error::{AccessError, Result};

impl ArrayCore {
    /// The field that a path names.
    pub fn field(&self, layout: &ChunkLayout, path: &str) -> Result<(Field, FieldBytes)> {
        let argument = |why: String| Err(self.at(AccessError::Argument(why)));
        let element = layout.span().element;
        let record = match &layout.metadata.data_type {
            DataType::Record(record) => record,
            other => return argument(format!("elements are `{other}` and have no fields")),
        };
        match record.field(path) {
            Some(field) => {
                let span = FieldBytes { offset: field.offset(), size: field.size(), element };
                Ok((field, span))
            }
            None => argument(format!("there is no field `{path}` in `{record}`")),
        }
    }

    /// Refuses elements of another type than that of the field at `path`.
    pub fn check_field_type<T: Element>(&self, field: &Field, path: &str) -> Result<()> {
        if T::is(field.data_type()) {
            Ok(())
        } else {
            let array = format!("the field `{path}` of type `{}`", field.data_type());
            Err(self.at(AccessError::ElementType { array, asked: T::NAME }))
        }
    }
}
