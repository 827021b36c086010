//! Permutes the axes of a chunk (F-081).
//!
//! Encoded axis `i` is decoded axis `order[i]`. In v2 and the drafts this is the member `order` or
//! `chunk_memory_layout` of the array, so the codec itself is not written there.

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
        None => return Err(parameters.invalid("order", "is missing")),
        Some(Json::String(word)) if word == "C" => Some((0..rank).collect()),
        Some(Json::String(word)) if word == "F" => Some((0..rank).rev().collect()),
        Some(Json::Array(axes)) => {
            axes.iter().map(|a| a.as_u64().and_then(|a| usize::try_from(a).ok())).collect()
        }
        Some(_) => None,
    };
    let order = order.filter(|order| is_permutation(order, rank));
    let why = format!("must name each of the {rank} axes once");
    let order = order.ok_or_else(|| parameters.invalid("order", why))?;
    parameters.finish()?;
    Ok(Codec::array_to_array(Transpose { order }))
}

impl ArrayToArray for Transpose {
    fn encoded(&self, decoded: &ChunkContext) -> Result<ChunkContext, MetadataError> {
        if decoded.rank() != self.order.len() {
            let why = format!(
                "it has length {}, chunks here have rank {}",
                self.order.len(),
                decoded.rank()
            );
            return Err(MetadataError::invalid("codecs: transpose: order", why));
        }
        let shape: Vec<u64> = self.order.iter().map(|&a| decoded.shape[a]).collect();
        Ok(ChunkContext::new(decoded.data_type.clone(), shape).with_fill(decoded.fill.clone()))
    }

    fn axis_order(&self) -> Option<&[usize]> {
        Some(&self.order)
    }

    fn encode(&self, chunk: View<'_>) -> Result<Vec<u8>, CodecError> {
        Ok(chunk.transposed(&self.order).to_bytes().into_owned())
    }

    fn decode(&self, encoded: &[u8], out: ViewMut<'_>) -> Result<(), CodecError> {
        let cell = out.element_size();
        let mut turned = out.transposed(&self.order);
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

    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
        let order: Json = self.order.iter().map(|&a| Json::from(a as u64)).collect();
        let configuration = Object::new().with("order", order);
        (dialect == Dialect::V3).then(|| CodecSpec::v3("transpose", configuration))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use zarr_core::data_type::CoreType;

    use super::*;
    use crate::testing::{build_on, context, hex};

    fn transpose(shape: &[u64], configuration: &str) -> Result<Arc<dyn ArrayToArray>, String> {
        let context = context(CoreType::Uint8, shape);
        match build_on(Dialect::V3, "transpose", configuration, &context) {
            Ok(Codec::ArrayToArray(codec)) => Ok(codec),
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error.to_string()),
        }
    }

    /// F-081, T-45: orders that are not their own inverse, too.
    #[test]
    fn axes_are_turned_there_and_back() {
        let cases: [(&[u64], &str, &[u64], &str); 3] = [
            (&[2, 3], "[1,0]", &[3, 2], "000301040205"),
            (
                &[2, 3, 4],
                "[2,0,1]",
                &[4, 2, 3],
                "0004080c1014 0105090d1115 02060a0e1216 03070b0f1317",
            ),
            (&[2, 1, 3, 1], "[1,2,3,0]", &[1, 3, 1, 2], "000301040205"),
        ];
        for (shape, order, turned, stored) in cases {
            let codec = transpose(shape, &format!("{{\"order\":{order}}}")).unwrap();
            let context = context(CoreType::Uint8, shape);
            assert_eq!(codec.encoded(&context).unwrap().shape, turned);
            let elements: Vec<u8> = (0..shape.iter().product::<u64>() as u8).collect();
            let encoded = codec.encode(View::new(&elements, shape, 1)).unwrap();
            assert_eq!(encoded, hex(stored));
            let by_view = View::new(&elements, shape, 1).transposed(codec.axis_order().unwrap());
            assert_eq!(by_view.to_bytes()[..], encoded);
            let mut back = vec![0; elements.len()];
            codec.decode(&encoded, ViewMut::new(&mut back, shape, 1)).unwrap();
            assert_eq!(back, elements);
            let short = codec.decode(&encoded[1..], ViewMut::new(&mut back, shape, 1));
            assert!(matches!(short, Err(CodecError::Length { .. })));
        }
    }

    /// F-081: an order names every axis once; the words of an older draft are read.
    #[test]
    fn orders_are_permutations() {
        for order in
            ["[0,0]", "[0]", "[0,1,2]", "[0,2]", "[1,-1]", "[1.0,0]", "\"A\"", "null", "{}"]
        {
            let error = transpose(&[2, 3], &format!("{{\"order\":{order}}}")).unwrap_err();
            assert!(error.contains("transpose: order"), "{error}");
        }
        assert!(transpose(&[2, 3], "{}").is_err());
        assert!(transpose(&[2, 3], r#"{"order":[1,0],"x":1}"#).is_err());
        let order = |word: &str| {
            let codec = transpose(&[2, 3, 4], word).unwrap();
            codec.to_metadata(Dialect::V3).unwrap().to_string()
        };
        assert_eq!(order(r#"{"order":"F"}"#), r#"transpose {"order":[2,1,0]}"#);
        assert_eq!(order(r#"{"order":"C"}"#), r#"transpose {"order":[0,1,2]}"#);
        let scalar = transpose(&[], r#"{"order":[]}"#).unwrap();
        assert_eq!(scalar.axis_order(), Some(&[][..]));
        assert!(scalar.encoded(&context(CoreType::Uint8, &[1])).is_err());
        assert!(scalar.to_metadata(Dialect::V2).is_none());
    }
}
