//! How do elements of any length become bytes? (F-095, Z2-041)
//!
//! `vlen-utf8`, `vlen-bytes` and `vlen-array` differ in what an element is, not in how it is stored: how
//! many elements there are, then each after its length, every number a little-endian u32.

use std::borrow::Cow;

use zarr_core::codec::{ArrayToBytes, ChunkContext, Codec, CodecSpec, Parameters};
use zarr_core::heap::{CELL, Heap};
use zarr_core::region::element_count;
use zarr_core::view::{View, ViewMut};
use zarr_core::{CodecError, Dialect, MetadataError, Object, Region};

use crate::stream::zeroed;

const NUMBER: usize = size_of::<u32>();

/// The three codecs.
#[derive(Clone, Debug)]
struct Vlen {
    name: &'static str,
    /// The parameters, which only `vlen-array` has.
    configuration: Object,
    data_type: zarr_core::data_type::DataType,
}

/// Makes the codec.
pub(crate) fn build(spec: &CodecSpec, context: &ChunkContext) -> Result<Codec, MetadataError> {
    let data_type = context.data_type.clone();
    let mut parameters = Parameters::new(spec);
    let mut configuration = Object::new();
    let (name, due) = match spec.name.as_str() {
        "vlen-utf8" => ("vlen-utf8", "string"),
        "vlen-bytes" => ("vlen-bytes", "variable_length_bytes"),
        _ => {
            if let Some(dtype) = parameters.get("dtype") {
                configuration.insert("dtype", dtype.clone());
            }
            ("vlen-array", "array of")
        }
    };
    if !data_type.is_variable() || !data_type.to_string().starts_with(due) {
        return Err(parameters.wrong("data type", format!("`{data_type}` is stored otherwise")));
    }
    parameters.finish()?;
    Ok(Codec::array_to_bytes(Vlen { name, configuration, data_type }))
}

impl Vlen {
    fn heap<'a>(&self, heap: Option<&'a Heap>) -> Result<&'a Heap, CodecError> {
        heap.ok_or_else(|| CodecError::corrupt(self.name, "the elements have no lengths"))
    }

    /// The number at the beginning of `bytes`, and what follows.
    fn number<'a>(&self, bytes: &'a [u8], of: &str) -> Result<(u32, &'a [u8]), CodecError> {
        match bytes.split_first_chunk::<NUMBER>() {
            Some((number, rest)) => Ok((u32::from_le_bytes(*number), rest)),
            None => Err(CodecError::corrupt(self.name, format!("the bytes end within {of}"))),
        }
    }
}

impl ArrayToBytes for Vlen {
    fn encode<'a>(&self, chunk: View<'a>) -> Result<Cow<'a, [u8]>, CodecError> {
        let elements = self.heap(chunk.heap())?.elements();
        let number = |n: usize| {
            let limit = CodecError::Limit { codec: self.name, limit: u32::MAX.into() };
            u32::try_from(n).map(u32::to_le_bytes).map_err(|_| limit)
        };
        let cells = chunk.to_bytes();
        let mut out = number(chunk.len())?.to_vec();
        for cell in cells.chunks_exact(CELL) {
            let element = elements.get(cell);
            out.extend_from_slice(&number(element.len())?);
            out.extend_from_slice(element);
        }
        Ok(Cow::Owned(out))
    }

    fn decode_into(
        &self,
        encoded: &[u8],
        shape: &[u64],
        within: &Region,
        mut out: ViewMut<'_>,
    ) -> Result<(), CodecError> {
        let corrupt = |why: String| CodecError::corrupt(self.name, why);
        let heap = self.heap(out.heap())?;
        let (found, mut rest) = self.number(encoded, "the number of elements")?;
        let due = element_count(shape);
        if due != Some(found.into()) {
            let due = due.map_or("too many".into(), |due| due.to_string());
            return Err(corrupt(format!("{found} elements are stored, where {due} are due")));
        }
        if (found as usize).checked_mul(NUMBER).is_none_or(|lengths| lengths > rest.len()) {
            return Err(corrupt(format!("{} bytes do not hold {found} elements", encoded.len())));
        }
        let buffer = heap.add(encoded.to_vec().into())?;
        let mut cells = zeroed(self.name, (found as usize * CELL) as u64)?;
        for cell in cells.chunks_exact_mut(CELL) {
            let (len, after) = self.number(rest, "a length")?;
            let Some((element, after)) = after.split_at_checked(len as usize) else {
                return Err(corrupt(format!(
                    "an element of {len} bytes ends after {}",
                    after.len()
                )));
            };
            self.data_type.check_element(element)?;
            let offset = (encoded.len() - after.len() - element.len()) as u64;
            cell.copy_from_slice(buffer.cell(offset, len.into())?.as_bytes());
            rest = after;
        }
        if !rest.is_empty() {
            return Err(corrupt(format!("{} bytes follow the last element", rest.len())));
        }
        out.copy_from(&View::new(&cells, shape, CELL).part(within));
        Ok(())
    }

    fn spelling(&self, dialect: Dialect) -> Option<CodecSpec> {
        let is_known =
            dialect == Dialect::V2 || dialect == Dialect::V3 && self.name != "vlen-array";
        is_known.then(|| CodecSpec::new(dialect, self.name, self.configuration.clone()))
    }
}
