//! Holds what `json2` and `msgpack2` share: JSON values in a chunk (Z2-042).
//!
//! numcodecs makes one list of a chunk: nested lists of its elements, one level for each axis, then the data
//! type `|O` and the chunk's shape. The first versions, `json` and `msgpack`, end with the data type. In
//! memory an element is compact JSON.

use zarr_core::codec::{ChunkContext, CodecSpec, Parameters};
use zarr_core::data_type::DataType;
use zarr_core::region::element_count;
use zarr_core::var_buffer::VAR_REF_SIZE;
use zarr_core::view::{View, ViewMut};
use zarr_core::{CodecError, Json, MetadataError, Object, Region};

use zarr_core::codec::buffer_pool::zeroed;

/// What numcodecs says of objects.
const OBJECTS: &str = "|O";

/// How a chunk's values are stored in its list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Values {
    pub codec: &'static str,
    /// Whether the shape is at the end.
    pub has_shape: bool,
}

impl Values {
    /// Refuses elements that are no JSON values.
    pub fn check(spec: &CodecSpec, context: &ChunkContext) -> Result<(), MetadataError> {
        if context.data_type == DataType::Json {
            return Ok(());
        }
        let why = format!("`{}` is stored otherwise", context.data_type);
        Err(Parameters::new(spec).invalid("data type", why))
    }

    /// The parameters of these names that are given, unchanged.
    pub fn said(spec: &CodecSpec, names: &[&str]) -> Object {
        let members = spec.configuration.clone().into_iter();
        members
            .filter(|(name, value)| names.contains(&name.as_str()) && *value != Json::Null)
            .collect()
    }

    fn corrupt(&self, why: impl Into<String>) -> CodecError {
        CodecError::corrupt(self.codec, why.into())
    }

    /// The list that a chunk becomes. Elements that were never written are null.
    pub fn list(&self, chunk: &View<'_>) -> Result<Vec<Json>, CodecError> {
        let var_buffer =
            chunk.var_buffer().ok_or_else(|| self.corrupt("the elements are not values"))?;
        let (elements, shape) = (var_buffer.elements(), chunk.shape());
        let cells = chunk.to_bytes();
        let values = cells.chunks_exact(VAR_REF_SIZE).map(|cell| match elements.get(cell) {
            [] => Ok(Json::Null),
            text => Json::parse_element(text).map_err(|why| self.corrupt(why)),
        });
        let mut values: Vec<Json> = values.collect::<Result<_, _>>()?;
        let levels = shape.len().max(1);
        if values.iter().any(|value| levels + depth(value) > Json::MAX_DEPTH) {
            let why = format!(
                "a value nests so deep that its chunk has more than {} levels",
                Json::MAX_DEPTH
            );
            return Err(CodecError::Value { codec: self.codec, why });
        }
        for &len in shape.iter().skip(1).rev().filter(|&&len| len > 0) {
            let mut rest = values.into_iter();
            let lists = std::iter::from_fn(|| {
                let list: Vec<Json> = rest.by_ref().take(len as usize).collect();
                (!list.is_empty()).then_some(Json::Array(list))
            });
            values = lists.collect();
        }
        values.push(OBJECTS.into());
        if self.has_shape {
            values.push(Json::from(&shape[..]));
        }
        Ok(values)
    }

    /// Lays the part `within` of the chunk of `shape` elements that a list stands for into `out`.
    ///
    /// Values follow each other in the order of the list, whatever shape of as many elements it ends with,
    /// as zarr-python takes them.
    pub fn lay(
        &self,
        list: &Json,
        shape: &[u64],
        within: &Region,
        out: &mut ViewMut<'_>,
    ) -> Result<(), CodecError> {
        let var_buffer =
            out.var_buffer().ok_or_else(|| self.corrupt("the elements are not values"))?;
        let values = self.flat(list, shape)?;
        let (mut texts, mut ends) = (String::new(), Vec::new());
        for value in &values {
            texts.push_str(&value.to_string());
            ends.push(texts.len() as u64);
        }
        let buffer = var_buffer.add(texts.into_bytes().into())?;
        let mut cells = zeroed(self.codec, (values.len() * VAR_REF_SIZE) as u64)?;
        let mut start = 0;
        for (cell, end) in cells.chunks_exact_mut(VAR_REF_SIZE).zip(ends) {
            cell.copy_from_slice(buffer.reference(start, end - start)?.as_bytes());
            start = end;
        }
        out.copy_from(&View::new(&cells, shape, VAR_REF_SIZE).part(within));
        Ok(())
    }

    /// The values of a list, as many as a chunk of `shape` has.
    fn flat<'a>(&self, list: &'a Json, shape: &[u64]) -> Result<Vec<&'a Json>, CodecError> {
        let items = list.as_array().ok_or_else(|| self.corrupt("it is not a list"))?;
        let (values, kind, stored) = match items {
            [values @ .., kind, stored] if self.has_shape => (values, kind, Some(stored)),
            [values @ .., kind] if !self.has_shape => (values, kind, None),
            _ => return Err(self.corrupt("the list does not end in a data type and a shape")),
        };
        if kind.as_str() != Some(OBJECTS) {
            return Err(self.corrupt(format!(
                "expected elements of {}, found {}",
                OBJECTS,
                kind.brief()
            )));
        }
        let expected = element_count(shape);
        let many = |stored: &[u64]| {
            let expected = expected.map_or("too many".into(), |expected| expected.to_string());
            self.corrupt(format!("elements of shape {stored:?} are stored, expected {expected}"))
        };
        let mut flat = Vec::new();
        match stored {
            Some(stored) => {
                let lengths = stored.as_array().and_then(|s| s.iter().map(Json::as_u64).collect());
                let Some(lengths): Option<Vec<u64>> = lengths else {
                    return Err(self.corrupt(format!("invalid shape {}", stored.brief())));
                };
                if element_count(&lengths) != expected || expected.is_none() {
                    return Err(many(&lengths));
                }
                if !flatten(values, &lengths, &mut flat) {
                    return Err(
                        self.corrupt(format!("the lists do not have the shape {lengths:?}"))
                    );
                }
            }
            // Nothing tells lists that are elements from such that are rows.
            None => {
                if !flatten(values, shape, &mut flat) {
                    flat = values.iter().collect();
                }
                if expected != Some(flat.len() as u64) {
                    return Err(many(&[flat.len() as u64]));
                }
            }
        }
        Ok(flat)
    }
}

/// Adds the values in nested lists of this shape; `false` if they have another. A scalar is one item.
fn flatten<'a>(items: &'a [Json], shape: &[u64], out: &mut Vec<&'a Json>) -> bool {
    let (len, inner) = shape.split_first().unwrap_or((&1, &[]));
    if items.len() as u64 != *len {
        return false;
    }
    if inner.is_empty() {
        out.extend(items);
        return true;
    }
    items.iter().all(|item| item.as_array().is_some_and(|items| flatten(items, inner, out)))
}

/// How many levels a value nests.
fn depth(value: &Json) -> usize {
    match value {
        Json::Array(items) => items.iter().map(|item| 1 + depth(item)).max().unwrap_or(0),
        Json::Object(members) => members.iter().map(|(_, item)| 1 + depth(item)).max().unwrap_or(0),
        _ => 0,
    }
}
