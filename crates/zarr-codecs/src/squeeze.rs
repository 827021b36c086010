//! Removes the axes of length 1 from a chunk.
//!
//! As zarrs does it: the elements stay where they are, and what follows sees only the other axes; of a chunk of
//! one element, one axis.

use zarr_core::codec::{ArrayToArray, ChunkContext, Codec, CodecSpec, Parameters};
use zarr_core::view::{View, ViewMut};
use zarr_core::{CodecError, Dialect, MetadataError, Object};

use crate::util::reshape_common;

const CODEC: &str = "zarrs.squeeze";

/// The squeeze codec.
#[derive(Clone, Copy, Debug)]
struct Squeeze;

/// Makes the codec.
pub(crate) fn build(spec: &CodecSpec, _: &ChunkContext) -> Result<Codec, MetadataError> {
    Parameters::new(spec).finish()?;
    Ok(Codec::array_to_array(Squeeze))
}

impl ArrayToArray for Squeeze {
    fn encoded(&self, decoded: &ChunkContext) -> Result<ChunkContext, MetadataError> {
        let mut shape = decoded.shape.clone();
        shape.retain(|&length| length != 1);
        if shape.is_empty() {
            shape.push(1);
        }
        Ok(ChunkContext::new(decoded.data_type.clone(), shape).with_fill(decoded.fill.clone()))
    }

    fn encode(&self, chunk: View<'_>) -> Result<Vec<u8>, CodecError> {
        Ok(chunk.to_bytes().into_owned())
    }

    fn decode(&self, encoded: &[u8], out: ViewMut<'_>) -> Result<(), CodecError> {
        reshape_common::decode(CODEC, encoded, out)
    }

    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
        (dialect == Dialect::V3).then(|| CodecSpec::v3(CODEC, Object::new()))
    }
}

#[cfg(test)]
mod tests {
    use zarr_core::data_type::CoreType;

    use super::*;
    use crate::testing::{build_on, context};

    /// The shapes that zarrs 0.23.14 gives.
    #[test]
    fn axes_of_length_one_go() {
        for (from, shape) in [
            (&[1, 2, 1, 3][..], &[2, 3][..]),
            (&[2, 3], &[2, 3]),
            (&[1, 1], &[1]),
            (&[], &[1]),
            (&[4, 1], &[4]),
        ] {
            let here = context(CoreType::Int16, from);
            let built = build_on(Dialect::V3, CODEC, "{}", &here);
            let Ok(Codec::ArrayToArray(codec)) = built else { panic!("{built:?}") };
            assert_eq!(codec.encoded(&here).unwrap().shape, shape, "{from:?}");
        }
        let more = r#"{"axis":0}"#;
        assert!(build_on(Dialect::V3, CODEC, more, &context(CoreType::Int8, &[2])).is_err());
    }

    #[test]
    fn elements_stay_in_c_order() {
        let turned = [0, 3, 1, 4, 2, 5];
        let chunk = View::new(&turned, &[3, 2], 1).transposed(&[1, 0]);
        assert_eq!(Squeeze.encode(chunk).unwrap(), [0, 1, 2, 3, 4, 5]);
        let mut out = [0; 3];
        Squeeze.decode(&[7, 8, 9], ViewMut::new(&mut out, &[1, 3, 1], 1)).unwrap();
        assert_eq!(out, [7, 8, 9]);
        assert!(Squeeze.decode(&[7, 8], ViewMut::new(&mut out, &[1, 3, 1], 1)).is_err());
    }
}
