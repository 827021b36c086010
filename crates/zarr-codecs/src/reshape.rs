//! Gives a chunk another shape (F-100).
//!
//! Final v3's `reshape`: the elements stay in C order. A length of the new shape is a number, or a list of
//! axes whose lengths are multiplied, or -1 for what is left.

use zarr_core::codec::{ChunkContext, Codec, CodecSpec, Parameters};
use zarr_core::region::element_count;
use zarr_core::{Json, MetadataError, Object};

use crate::util::reshape_common::{Reshaping, reshape};

/// A length of the new shape.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Length {
    Size(u64),
    Axes(Vec<usize>),
    Rest,
}

/// The reshape codec.
#[derive(Clone, Debug)]
struct Reshape {
    lengths: Vec<Length>,
    /// The lengths as the document writes them.
    configuration: Json,
}

/// Makes the codec.
pub(crate) fn build(spec: &CodecSpec, context: &ChunkContext) -> Result<Codec, MetadataError> {
    let mut parameters = Parameters::new(spec);
    let configuration = parameters.get("shape").cloned().unwrap_or(Json::Null);
    if configuration.as_array().is_some_and(|list| list.len() > MOST_AXES) {
        return Err(parameters.invalid("shape", "has more than 1,024 axes"));
    }
    let lengths = configuration.as_array().and_then(|list| list.iter().map(length_of).collect());
    let lengths: Vec<Length> = lengths.ok_or_else(|| {
        parameters.invalid("shape", "is not a list of positive integers, lists of axes, and -1")
    })?;
    let axes: Vec<usize> = lengths.iter().flat_map(axes_of).copied().collect();
    if axes.windows(2).any(|pair| pair[0] >= pair[1]) {
        return Err(parameters.invalid("shape", "axes are not in increasing order"));
    }
    if lengths.iter().filter(|length| **length == Length::Rest).count() > 1 {
        return Err(parameters.invalid("shape", "duplicate -1"));
    }
    parameters.finish()?;
    let codec = Reshape { lengths, configuration };
    codec.shape(&context.shape)?;
    Ok(reshape(codec))
}

/// What the configuration says of one axis.
fn length_of(json: &Json) -> Option<Length> {
    match json {
        Json::Array(axes) => axes
            .iter()
            .map(|json| json.as_u64().and_then(|axis| usize::try_from(axis).ok()))
            .collect::<Option<_>>()
            .map(Length::Axes),
        json if json.as_i64() == Some(-1) => Some(Length::Rest),
        json => json.as_u64().filter(|&size| size > 0).map(Length::Size),
    }
}

/// A chunk gets no more axes than an array may have (docs/internals/design/limits.md).
const MOST_AXES: usize = 1024;

fn axes_of(length: &Length) -> &[usize] {
    match length {
        Length::Axes(axes) => axes,
        _ => &[],
    }
}

impl Reshaping for Reshape {
    const CODEC: &'static str = "reshape";

    fn configuration(&self) -> Object {
        Object::new().with("shape", self.configuration.clone())
    }

    fn shape(&self, from: &[u64]) -> Result<Vec<u64>, MetadataError> {
        let wrong = |why: &str| {
            let why = format!(
                "a chunk of shape {from:?} cannot take {}: {why}",
                self.configuration.brief()
            );
            MetadataError::invalid("codecs: reshape: shape", why)
        };
        let few = "the number of elements is another";
        let count = element_count(from).ok_or_else(|| wrong("it has too many elements"))?;
        let mut shape = self
            .lengths
            .iter()
            .map(|length| match length {
                Length::Size(size) => Ok(*size),
                Length::Axes(axes) => {
                    let product = axes
                        .iter()
                        .try_fold(1u64, |product, &axis| product.checked_mul(*from.get(axis)?));
                    product.ok_or_else(|| wrong("the array has no such axis"))
                }
                Length::Rest => Ok(1),
            })
            .collect::<Result<Vec<u64>, _>>()?;
        if let Some(rest) = self.lengths.iter().position(|length| *length == Length::Rest) {
            let others = element_count(&shape).ok_or_else(|| wrong(few))?;
            let fits = others > 0 && count % others == 0;
            shape[rest] = if fits { count / others } else { return Err(wrong(few)) };
        }
        if element_count(&shape) != Some(count) {
            return Err(wrong(few));
        }
        // An axis made of others is where those are: as much precedes and follows them.
        for (out, length) in self.lengths.iter().enumerate() {
            let (Some(&first), Some(&last)) = (axes_of(length).first(), axes_of(length).last())
            else {
                continue;
            };
            let before = element_count(&shape[..out]) == element_count(&from[..first]);
            let behind = element_count(&shape[out + 1..]) == element_count(&from[last + 1..]);
            if !before || !behind {
                return Err(wrong("axes would not stay where they are"));
            }
        }
        Ok(shape)
    }
}

#[cfg(test)]
mod tests {
    use zarr_core::data_type::CoreType;
    use zarr_core::view::{View, ViewMut};
    use zarr_core::{CodecError, Dialect};

    use super::*;
    use crate::testing::{build_on, context};

    fn reshaped(from: &[u64], lengths: &str) -> Result<Vec<u64>, String> {
        let here = context(CoreType::Int16, from);
        let configuration = format!(r#"{{"shape":{lengths}}}"#);
        match build_on(Dialect::V3, Reshape::CODEC, &configuration, &here) {
            Ok(Codec::ArrayToArray(codec)) => {
                let metadata = codec.to_metadata(Dialect::V3).unwrap().to_string();
                assert_eq!(metadata, format!("reshape {configuration}"));
                assert!(codec.to_metadata(Dialect::V2).is_none());
                Ok(codec.encoded(&here).unwrap().shape)
            }
            Ok(other) => panic!("{other:?}"),
            Err(error) => Err(error.to_string()),
        }
    }

    /// F-100, and the registry's own example.
    #[test]
    fn lengths_are_numbers_axes_or_the_rest() {
        for (from, lengths, shape) in [
            (&[100, 50, 64, 3][..], "[[0,1],[2],3]", &[5000, 64, 3][..]),
            (&[100, 50, 64, 3], "[[0,1],-1,3]", &[5000, 64, 3]),
            (&[2, 3, 4], "[-1]", &[24]),
            (&[2, 3, 4], "[[0],2,6]", &[2, 2, 6]),
            (&[2, 3], "[[0],1,[1]]", &[2, 1, 3]),
            (&[1], "[]", &[]),
            (&[], "[1,1]", &[1, 1]),
            (&[0, 3], "[[0,1]]", &[0]),
        ] {
            assert_eq!(reshaped(from, lengths).as_deref(), Ok(shape), "{from:?} {lengths}");
        }
    }

    /// F-100.
    #[test]
    fn what_would_move_elements_is_refused() {
        for (from, lengths) in [
            (&[2, 3][..], "[[1],[0]]"),
            (&[2, 3, 4], "[[1,0],4]"),
            (&[2, 3], "[[0],[0],3]"),
            (&[2, 3], "[7]"),
            (&[2, 3], "[-1,-1]"),
            (&[2, 3], "[-1,4]"),
            (&[2, 3], "[[0],[2]]"),
            (&[2, 3], "[0]"),
            (&[2, 3], "[-2]"),
            (&[2, 3], "[2.0,3]"),
            (&[2, 2, 3], "[3,[0,1]]"),
            (&[2, 3], "[18446744073709551615,18446744073709551615]"),
            (&[0, 3], "[0,-1]"),
            (&[2, 3], "6"),
            (&[2, 3], "null"),
        ] {
            assert!(reshaped(from, lengths).is_err(), "{from:?} {lengths}");
        }
        let more = r#"{"shape":[-1],"order":"C"}"#;
        assert!(
            build_on(Dialect::V3, Reshape::CODEC, more, &context(CoreType::Int8, &[2])).is_err()
        );
    }

    #[test]
    fn elements_stay_in_c_order() {
        let here = context(CoreType::Uint8, &[2, 3]);
        let built = build_on(Dialect::V3, Reshape::CODEC, r#"{"shape":[3,2]}"#, &here);
        let Ok(Codec::ArrayToArray(codec)) = built else { panic!("{built:?}") };
        let turned = [0, 3, 1, 4, 2, 5];
        let chunk = View::new(&turned, &[3, 2], 1).transposed(&[1, 0]);
        assert_eq!(codec.encode(chunk).unwrap(), [0, 1, 2, 3, 4, 5]);
        let mut back = [9; 6];
        let out = ViewMut::new(&mut back, &[3, 2], 1).transposed(&[1, 0]);
        codec.decode(&[0, 1, 2, 3, 4, 5], out).unwrap();
        assert_eq!(back, turned);
        let out = ViewMut::new(&mut back, &[2, 3], 1);
        assert!(matches!(codec.decode(&[0; 5], out), Err(CodecError::Length { .. })));
    }
}
