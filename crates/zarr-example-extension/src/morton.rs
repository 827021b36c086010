//! A memory layout: orders the elements of a chunk along a Z-order curve.
//!
//! Elements are ordered by their Morton codes: the bits of their coordinates, taken in turn from each
//! axis, the last axis giving the lowest. Codes that lie outside the chunk are passed over, so that a
//! chunk of any shape has such an order. There are no parameters.

use zarr_core::codec::{ArrayToArray, ChunkContext, Codec, CodecSpec, Names, Parameters};
use zarr_core::view::{View, ViewMut};
use zarr_core::{CodecError, Dialect, Json, MetadataError, Object};

/// The layout's name: a codec's in final v3, a `chunk_memory_layout`'s in the drafts.
pub const URI: &str = "https://example.org/zarr/memory-layout/morton/1.0";

/// What the codec is called in each dialect; v2 has no place for it.
pub const NAMES: Names = Names { v3: &[URI], v2: &[], draft: &[URI] };

/// The layout's `type` in the drafts.
const TYPE: &str = "morton";

/// The codec.
#[derive(Clone, Copy, Debug)]
struct Morton;

/// Makes the codec from its metadata.
///
/// # Errors
/// [`MetadataError::Invalid`] for another `type` in a draft, for any parameter in final v3.
pub fn build(spec: &CodecSpec, _: &ChunkContext) -> Result<Codec, MetadataError> {
    let mut parameters = Parameters::new(spec);
    if spec.dialect == Dialect::Draft && parameters.get("type") != Some(&Json::from(TYPE)) {
        return Err(parameters.invalid("type", format!("is `{TYPE}`")));
    }
    parameters.finish()?;
    Ok(Codec::array_to_array(Morton))
}

/// One bit of a Morton code.
struct Bit {
    axis: usize,
    /// What the bit adds to the coordinate on its axis.
    step: u64,
    /// What it adds to the place in C order.
    stride: u64,
}

/// The bits of the codes of a chunk, highest first. There are at most 126, since a chunk fits in memory.
fn bits(shape: &[u64]) -> Vec<Bit> {
    let mut bits = Vec::new();
    for level in 0..u64::BITS {
        let step = 1 << level;
        let mut unit = 1;
        for (axis, &len) in shape.iter().enumerate().rev() {
            if step < len {
                bits.push(Bit { axis, step, stride: step * unit });
            }
            unit *= len;
        }
    }
    bits.reverse();
    bits
}

/// Calls `visit` with the places in C order of the elements, in the order of their codes.
fn walk(shape: &[u64], bits: &[Bit], at: &mut [u64], place: u64, visit: &mut impl FnMut(usize)) {
    let Some((bit, lower)) = bits.split_first() else {
        return visit(place as usize);
    };
    walk(shape, lower, at, place, visit);
    if at[bit.axis] + bit.step < shape[bit.axis] {
        at[bit.axis] += bit.step;
        walk(shape, lower, at, place + bit.stride, visit);
        at[bit.axis] -= bit.step;
    }
}

/// Copies cells between two orders of a chunk: `copy` gets the place along the curve and that in C order.
fn along_the_curve(shape: &[u64], mut copy: impl FnMut(usize, usize)) {
    let mut along = 0..;
    if !shape.contains(&0) {
        walk(shape, &bits(shape), &mut vec![0; shape.len()], 0, &mut |place| {
            copy(along.next().expect("a range without end"), place);
        });
    }
}

impl ArrayToArray for Morton {
    fn encoded(&self, decoded: &ChunkContext) -> Result<ChunkContext, MetadataError> {
        Ok(decoded.clone())
    }

    fn encode(&self, chunk: View<'_>) -> Result<Vec<u8>, CodecError> {
        let (cells, size) = (chunk.to_bytes(), chunk.element_size());
        let mut curve = Vec::with_capacity(cells.len());
        along_the_curve(&chunk.shape(), |_, place| {
            curve.extend_from_slice(&cells[place * size..][..size]);
        });
        Ok(curve)
    }

    fn decode(&self, encoded: &[u8], mut out: ViewMut<'_>) -> Result<(), CodecError> {
        let (expected, found) = ((out.len() * out.element_size()) as u64, encoded.len() as u64);
        if found != expected {
            return Err(CodecError::Length { codec: "morton", expected, found });
        }
        let (mut cells, size) = (vec![0; encoded.len()], out.element_size());
        along_the_curve(&out.shape(), |along, place| {
            cells[place * size..][..size].copy_from_slice(&encoded[along * size..][..size]);
        });
        out.copy_from(&View::new(&cells, &out.shape(), size));
        Ok(())
    }

    fn to_metadata(&self, dialect: Dialect) -> Option<CodecSpec> {
        match dialect {
            Dialect::V3 => Some(CodecSpec::v3(URI, Object::new())),
            Dialect::Draft => Some(CodecSpec::new(dialect, URI, Object::new().with("type", TYPE))),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(shape: &[u64]) -> Vec<u8> {
        let len: u64 = shape.iter().product();
        let elements: Vec<u8> = (0..len as u8).collect();
        Morton.encode(View::new(&elements, shape, 1)).unwrap()
    }

    #[test]
    fn the_curve_is_that_of_the_books() {
        assert_eq!(order(&[2, 2]), [0, 1, 2, 3]);
        assert_eq!(order(&[4, 4]), [0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15]);
        assert_eq!(order(&[2, 2, 2]), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(order(&[3, 3]), [0, 1, 3, 4, 2, 5, 6, 7, 8]);
        assert_eq!(order(&[2, 5]), [0, 1, 5, 6, 2, 3, 7, 8, 4, 9]);
        assert_eq!(order(&[1, 1, 3]), [0, 1, 2]);
        assert_eq!(order(&[]), [0]);
        assert_eq!(order(&[3, 0]), [0u8; 0]);
    }

    /// The same, sorted by codes that are put together bit by bit.
    #[test]
    fn the_order_is_that_of_the_codes() {
        for shape in [[3, 5, 6], [1, 7, 4], [8, 2, 3], [9, 1, 1]] {
            let place = |i: u64| [i / (shape[1] * shape[2]), i / shape[2] % shape[1], i % shape[2]];
            let code = |i: u64| {
                let bit = |n: u64| place(i)[2 - n as usize % 3] >> (n / 3) & 1;
                (0..30).map(|n| bit(n) << n).sum::<u64>()
            };
            let mut places: Vec<u64> = (0..shape.iter().product()).collect();
            places.sort_by_key(|&i| code(i));
            let places: Vec<u8> = places.into_iter().map(|i| i as u8).collect();
            assert_eq!(order(&shape), places);
        }
    }

    #[test]
    fn chunks_come_back_whatever_their_strides() {
        let elements: Vec<u8> = (0..60).collect();
        let chunk = View::new(&elements, &[5, 3], 4);
        let encoded = Morton.encode(chunk.clone()).unwrap();
        let mut out = vec![0; 60];
        Morton.decode(&encoded, ViewMut::new(&mut out, &[5, 3], 4)).unwrap();
        assert_eq!(out, elements);
        let turned = Morton.encode(chunk.transposed(&[1, 0])).unwrap();
        out.fill(0);
        let out_turned = ViewMut::new(&mut out, &[5, 3], 4).transposed(&[1, 0]);
        Morton.decode(&turned, out_turned).unwrap();
        assert_eq!(out, elements);
        let short = Morton.decode(&encoded[4..], ViewMut::new(&mut out, &[5, 3], 4));
        assert!(matches!(short, Err(CodecError::Length { expected: 60, found: 56, .. })));
    }

    #[test]
    fn many_axes_are_no_burden() {
        let mut shape = vec![1; 50_000];
        shape[7] = 2;
        assert_eq!(order(&shape), [0, 1]);
    }

    #[test]
    fn words_are_checked() {
        let context = ChunkContext::new(zarr_core::data_type::CoreType::Int8, vec![2]);
        let made = |dialect, configuration: Object| {
            build(&CodecSpec::new(dialect, URI, configuration), &context)
        };
        let typed = |text: &str| Object::new().with("type", text);
        let codec = made(Dialect::Draft, typed("morton")).unwrap();
        assert_eq!(codec.to_metadata(Dialect::V3).unwrap().to_string(), URI);
        let draft = codec.to_metadata(Dialect::Draft).unwrap().to_string();
        assert_eq!(draft, format!(r#"{URI} {{"type":"morton"}}"#));
        assert!(codec.to_metadata(Dialect::V2).is_none());
        made(Dialect::V3, Object::new()).unwrap();
        assert!(made(Dialect::V3, typed("morton")).is_err());
        assert!(made(Dialect::Draft, typed("hilbert")).is_err());
        assert!(made(Dialect::Draft, Object::new()).is_err());
    }
}
