//! Finds one field of records: which bytes of each element are meant.

use super::{ArrayCore, ChunkLayout};
use crate::data_type::{DataType, Field, Repr};
use crate::element::Element;
use crate::error::{AccessError, Result};

/// Which bytes of an element are meant: all, or those of one field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FieldBytes {
    pub offset: usize,
    pub size: usize,
    /// Bytes of a whole element.
    pub element: usize,
}

impl FieldBytes {
    /// All bytes.
    pub fn of(repr: Repr) -> FieldBytes {
        FieldBytes { offset: 0, size: repr.size(), element: repr.size() }
    }

    pub fn is_whole(self) -> bool {
        self.size == self.element
    }
}

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

    /// The same, refusing elements of another type than the field's.
    pub fn field_as<T: Element>(
        &self,
        layout: &ChunkLayout,
        path: &str,
    ) -> Result<(Field, FieldBytes)> {
        let (field, span) = self.field(layout, path)?;
        if T::is(field.data_type()) {
            Ok((field, span))
        } else {
            let array = format!("the field `{path}` of type `{}`", field.data_type());
            Err(self.at(AccessError::ElementType { array, asked: T::NAME }))
        }
    }
}
