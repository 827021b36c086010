//! Finds one field of records: which bytes of each element are meant.

use super::{Opened, State, zeroed};
use crate::data_type::{DataType, Field, Repr};
use crate::element::Element;
use crate::error::{AccessError, Result};
use crate::grid::Tile;
use crate::view::{View, ViewMut};

/// Which bytes of an element are meant: all, or those of one field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub offset: usize,
    pub size: usize,
    /// Bytes of a whole element.
    pub element: usize,
}

impl Span {
    /// All bytes.
    pub fn of(repr: Repr) -> Span {
        Span { offset: 0, size: repr.size(), element: repr.size() }
    }

    pub fn is_whole(self) -> bool {
        self.size == self.element
    }
}

impl State {
    /// All bytes of an element.
    pub fn span(&self) -> Result<Span> {
        self.access().map(|(_, _, repr)| Span::of(repr))
    }
}

impl Opened {
    /// The field that a path names.
    pub fn field(&self, state: &State, path: &str) -> Result<(Field, Span)> {
        let argument = |why: String| Err(self.at(AccessError::Argument(why)));
        let element = state.span().map_err(|e| self.at(e))?.element;
        let record = match &state.metadata.data_type {
            DataType::Record(record) => record,
            other => return argument(format!("elements are `{other}` and have no fields")),
        };
        match record.field(path) {
            Some(field) => {
                let span = Span { offset: field.offset(), size: field.size(), element };
                Ok((field, span))
            }
            None => argument(format!("there is no field `{path}` in `{record}`")),
        }
    }

    /// The same, refusing elements of another type than the field's.
    pub fn field_as<T: Element>(&self, state: &State, path: &str) -> Result<(Field, Span)> {
        let (field, span) = self.field(state, path)?;
        match T::is(field.data_type()) {
            true => Ok((field, span)),
            false => {
                let array = format!("the field `{path}` of type `{}`", field.data_type());
                Err(self.at(AccessError::ElementType { array, asked: T::NAME }))
            }
        }
    }

    /// Reads one tile of a blocking store, or one field of it, into `out`.
    pub fn read_span(
        &self,
        state: &State,
        tile: &Tile,
        span: Span,
        buffer: &mut Vec<u8>,
        mut out: ViewMut<'_>,
    ) -> Result<()> {
        if span.is_whole() {
            return self.read_tile(state, tile, buffer, out);
        }
        let shape = tile.within.shape();
        let mut records = zeroed(&shape, span.element, "a chunk").map_err(|e| self.at(e))?;
        self.read_tile(state, tile, buffer, ViewMut::new(&mut records, &shape, span.element))?;
        out.copy_from(&View::new(&records, &shape, span.element).span(span.offset, span.size));
        Ok(())
    }
}
