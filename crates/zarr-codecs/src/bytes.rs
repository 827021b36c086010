//! How do elements become bytes? In C order, in a byte order (F-080).
//!
//! v2 and the drafts say the byte order in the data type; there this codec is implied and has no words.

use std::borrow::Cow;

use zarr_core::codec::{ArrayToBytes, ChunkContext, Codec, CodecSpec, Parameters};
use zarr_core::data_type::Endian;
use zarr_core::region::element_count;
use zarr_core::view::{View, ViewMut};
use zarr_core::{CodecError, Dialect, MetadataError, Object, Region};

use crate::stream::zeroed;

const CODEC: &str = "bytes";

/// The bytes codec.
#[derive(Clone, Copy, Debug)]
struct Bytes {
    /// As the document says it; `None` only if no unit has more than one byte.
    endian: Option<Endian>,
    /// Bytes in an element.
    cell: usize,
    /// Bytes that are turned round together: 1 if stored elements are native ones.
    swap: usize,
    /// Whether elements have a byte order at all.
    ordered: bool,
}

/// Makes the codec.
pub(crate) fn build(spec: &CodecSpec, context: &ChunkContext) -> Result<Codec, MetadataError> {
    let cell = context.element_size()?;
    let unit = context.data_type.repr().map_or(1, |r| r.swap_unit());
    let mut parameters = Parameters::new(spec);
    let endian = match parameters.string("endian")? {
        Some("little") => Some(Endian::Little),
        Some("big") => Some(Endian::Big),
        Some(other) => {
            let why = format!("`{other}` is neither `little` nor `big`");
            return Err(parameters.wrong("endian", why));
        }
        None if unit > 1 => {
            let why = format!("is missing, but `{}` needs it", context.data_type);
            return Err(parameters.wrong("endian", why));
        }
        None => None,
    };
    parameters.finish()?;
    let native = endian.is_none_or(|e| e == Endian::NATIVE);
    Ok(Codec::array_to_bytes(Bytes {
        endian,
        cell,
        swap: if native { 1 } else { unit },
        ordered: unit > 1,
    }))
}

impl ArrayToBytes for Bytes {
    fn encode<'a>(&self, chunk: View<'a>) -> Result<Cow<'a, [u8]>, CodecError> {
        if self.swap == 1 {
            return Ok(chunk.to_bytes());
        }
        let mut out = zeroed(CODEC, (chunk.len() * self.cell) as u64)?;
        ViewMut::new(&mut out, &chunk.shape(), self.cell).copy_swapped(&chunk, self.swap);
        Ok(Cow::Owned(out))
    }

    fn decode_into(
        &self,
        encoded: &[u8],
        shape: &[u64],
        within: &Region,
        mut out: ViewMut<'_>,
    ) -> Result<(), CodecError> {
        let found = encoded.len() as u64;
        match self.encoded_size(shape) {
            Some(expected) if expected == found => {}
            expected => {
                return Err(CodecError::Length {
                    codec: CODEC,
                    expected: expected.unwrap_or(u64::MAX),
                    found,
                });
            }
        }
        let chunk = View::new(encoded, shape, self.cell);
        out.copy_swapped(&chunk.part(within), self.swap);
        Ok(())
    }

    fn encoded_size(&self, shape: &[u64]) -> Option<u64> {
        element_count(shape)?.checked_mul(self.cell as u64)
    }

    fn is_memory(&self) -> bool {
        self.swap == 1
    }

    fn spelling(&self, dialect: Dialect) -> Option<CodecSpec> {
        // T-38: no byte order is made up for elements that have none.
        let endian = self.endian.filter(|_| self.ordered);
        let configuration =
            endian.map_or_else(Object::new, |e| Object::new().with("endian", e.name()));
        (dialect == Dialect::V3).then(|| CodecSpec::v3("bytes", configuration))
    }
}
