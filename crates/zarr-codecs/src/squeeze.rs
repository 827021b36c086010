//! Removes the axes of length 1 from a chunk.
//!
//! As zarrs does it: the elements stay where they are, and what follows sees only the other axes; of a chunk of
//! one element, one axis.

use zarr_core::MetadataError;
use zarr_core::codec::{ChunkContext, Codec, CodecSpec, Parameters};

use crate::util::reshape_common::{Reshaping, reshape};

/// The squeeze codec.
#[derive(Clone, Copy, Debug)]
struct Squeeze;

/// Makes the codec.
pub(crate) fn build(spec: &CodecSpec, _: &ChunkContext) -> Result<Codec, MetadataError> {
    Parameters::new(spec).finish()?;
    Ok(reshape(Squeeze))
}

impl Reshaping for Squeeze {
    const CODEC: &'static str = "zarrs.squeeze";

    fn shape(&self, from: &[u64]) -> Result<Vec<u64>, MetadataError> {
        let shape: Vec<u64> = from.iter().copied().filter(|&length| length != 1).collect();
        Ok(if shape.is_empty() { vec![1] } else { shape })
    }
}

#[cfg(test)]
mod tests {
    use zarr_core::Dialect;
    use zarr_core::data_type::CoreType;
    use zarr_core::view::{View, ViewMut};

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
            let built = build_on(Dialect::V3, Squeeze::CODEC, "{}", &here);
            let Ok(Codec::ArrayToArray(codec)) = built else { panic!("{built:?}") };
            assert_eq!(codec.encoded(&here).unwrap().shape, shape, "{from:?}");
        }
        let more = r#"{"axis":0}"#;
        assert!(
            build_on(Dialect::V3, Squeeze::CODEC, more, &context(CoreType::Int8, &[2])).is_err()
        );
    }

    #[test]
    fn elements_stay_in_c_order() {
        let Codec::ArrayToArray(codec) = reshape(Squeeze) else { panic!("it makes arrays") };
        let turned = [0, 3, 1, 4, 2, 5];
        let chunk = View::new(&turned, &[3, 2], 1).transposed(&[1, 0]);
        assert_eq!(codec.encode(chunk).unwrap(), [0, 1, 2, 3, 4, 5]);
        let mut out = [0; 3];
        codec.decode(&[7, 8, 9], ViewMut::new(&mut out, &[1, 3, 1], 1)).unwrap();
        assert_eq!(out, [7, 8, 9]);
        assert!(codec.decode(&[7, 8], ViewMut::new(&mut out, &[1, 3, 1], 1)).is_err());
    }
}
