//! In which order do the axes of a chunk follow each other? (F-081)
//!
//! Encoded axis `i` is decoded axis `order[i]`. In v2 and the drafts this is the member `order` or
//! `chunk_memory_layout` of the array, so the codec itself has no words there.

use zarr_core::codec::{ArrayToArray, ChunkContext, Codec, CodecSpec, Parameters};
use zarr_core::view::{View, ViewMut, is_permutation};
use zarr_core::{CodecError, Dialect, Json, MetadataError, Object};

const CODEC: &str = "transpose";

/// The transpose codec.
#[derive(Clone, Debug)]
struct Transpose {
    order: Vec<usize>,
}

/// Makes the codec. `"C"` and `"F"`, words of a draft of v3 that tensorstore still reads, are taken for
/// the orders they mean.
pub(crate) fn build(spec: &CodecSpec, context: &ChunkContext) -> Result<Codec, MetadataError> {
    let rank = context.rank();
    let mut parameters = Parameters::new(spec);
    let order: Option<Vec<usize>> = match parameters.get("order") {
        None => return Err(parameters.wrong("order", "is missing")),
        Some(Json::String(word)) if word == "C" => Some((0..rank).collect()),
        Some(Json::String(word)) if word == "F" => Some((0..rank).rev().collect()),
        Some(Json::Array(axes)) => axes
            .iter()
            .map(|a| a.as_u64().and_then(|a| usize::try_from(a).ok()))
            .collect(),
        Some(_) => None,
    };
    let order = order.filter(|order| is_permutation(order, rank));
    let why = format!("names each of the {rank} axes once");
    let order = order.ok_or_else(|| parameters.wrong("order", why))?;
    parameters.finish()?;
    Ok(Codec::array_to_array(Transpose { order }))
}

impl ArrayToArray for Transpose {
    fn encoded(&self, decoded: &ChunkContext) -> Result<ChunkContext, MetadataError> {
        if decoded.rank() != self.order.len() {
            let why = format!(
                "{} axes are transposed where there are {}",
                self.order.len(),
                decoded.rank()
            );
            return Err(MetadataError::invalid("codecs: transpose: order", why));
        }
        Ok(ChunkContext {
            data_type: decoded.data_type.clone(),
            shape: self.order.iter().map(|&a| decoded.shape[a]).collect(),
        })
    }

    fn axis_order(&self) -> Option<&[usize]> {
        Some(&self.order)
    }

    fn encode(&self, chunk: View<'_>) -> Result<Vec<u8>, CodecError> {
        Ok(chunk.permuted(&self.order).to_bytes().into_owned())
    }

    fn decode(&self, encoded: &[u8], out: ViewMut<'_>) -> Result<(), CodecError> {
        let cell = out.cell();
        let mut turned = out.permuted(&self.order);
        if encoded.len() != turned.len() * cell {
            return Err(CodecError::Length {
                codec: CODEC,
                expected: (turned.len() * cell) as u64,
                found: encoded.len() as u64,
            });
        }
        let shape = turned.shape();
        turned.copy_from(&View::new(encoded, &shape, cell));
        Ok(())
    }

    fn spelling(&self, dialect: Dialect) -> Option<CodecSpec> {
        let order: Json = self.order.iter().map(|&a| Json::from(a as u64)).collect();
        let configuration = Object::new().with("order", order);
        (dialect == Dialect::V3).then(|| CodecSpec::v3("transpose", configuration))
    }
}
