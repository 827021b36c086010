//! How do JSON values become bytes? (Z2-042)
//!
//! numcodecs' `json2` writes a chunk as one JSON list: its elements, then the data type `|O` and the chunk's
//! shape. In memory an element is compact JSON.

use std::borrow::Cow;

use zarr_core::codec::{ArrayToBytes, ChunkContext, Codec, CodecSpec, Parameters};
use zarr_core::heap::CELL;
use zarr_core::region::element_count;
use zarr_core::view::{View, ViewMut};
use zarr_core::{CodecError, Dialect, Json, MetadataError, Object, Region};

use crate::stream::zeroed;

const CODEC: &str = "json2";

/// The json2 codec.
#[derive(Clone, Debug)]
struct Json2 {
    /// How the text was made, which does not matter to who reads it.
    configuration: Object,
}

/// Makes the codec.
pub(crate) fn build(spec: &CodecSpec, context: &ChunkContext) -> Result<Codec, MetadataError> {
    let parameters = Parameters::new(spec);
    if !context.data_type.is_variable() || context.data_type.to_string() != "json" {
        let why = format!("`{}` is stored otherwise", context.data_type);
        return Err(parameters.wrong("data type", why));
    }
    Ok(Codec::array_to_bytes(Json2 { configuration: spec.configuration.clone() }))
}

impl ArrayToBytes for Json2 {
    fn encode<'a>(&self, chunk: View<'a>) -> Result<Cow<'a, [u8]>, CodecError> {
        let heap = chunk.heap().ok_or_else(|| CodecError::corrupt(CODEC, "these are no values"))?;
        let elements = heap.elements();
        let value = |cell: &[u8]| match elements.get(cell) {
            [] => Ok(Json::Null),
            text => Json::parse(text).map_err(|why| CodecError::corrupt(CODEC, why)),
        };
        let cells = chunk.to_bytes();
        let mut list: Vec<Json> = cells.chunks_exact(CELL).map(value).collect::<Result<_, _>>()?;
        list.push("|O".into());
        list.push(Json::from(&chunk.shape()[..]));
        Ok(Cow::Owned(Json::Array(list).to_string().into_bytes()))
    }

    fn decode_into(
        &self,
        encoded: &[u8],
        shape: &[u64],
        within: &Region,
        mut out: ViewMut<'_>,
    ) -> Result<(), CodecError> {
        let corrupt = |why: String| CodecError::corrupt(CODEC, why);
        let heap = out.heap().ok_or_else(|| corrupt("these are no values".into()))?;
        let (json, _) = Json::parse_tolerant(encoded).map_err(corrupt)?;
        let Some([values @ .., Json::String(kind), Json::Array(_)]) = json.as_array() else {
            return Err(corrupt("the list does not end in a data type and a shape".into()));
        };
        let found = values.len() as u64;
        if kind != "|O" || element_count(shape) != Some(found) {
            return Err(corrupt(format!(
                "{found} elements of {kind} are none of a chunk of {shape:?}"
            )));
        }
        let (mut texts, mut ends) = (String::new(), Vec::new());
        for value in values {
            texts.push_str(&value.to_string());
            ends.push(texts.len() as u64);
        }
        let buffer = heap.add(texts.into_bytes().into())?;
        let mut cells = zeroed(CODEC, found * CELL as u64)?;
        let mut start = 0;
        for (cell, end) in cells.chunks_exact_mut(CELL).zip(ends) {
            cell.copy_from_slice(buffer.cell(start, end - start)?.as_bytes());
            start = end;
        }
        out.copy_from(&View::new(&cells, shape, CELL).part(within));
        Ok(())
    }

    fn spelling(&self, dialect: Dialect) -> Option<CodecSpec> {
        let words = || CodecSpec::new(dialect, CODEC, self.configuration.clone());
        (dialect == Dialect::V2).then(words)
    }
}
