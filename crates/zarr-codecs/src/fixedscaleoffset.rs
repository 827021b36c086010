//! How are numbers stored as whole steps from an offset?
//!
//! numcodecs' `fixedscaleoffset`: `(x - offset) * scale`, rounded to the nearest integer (ties to even)
//! and cast to `astype`; decoding gives `e / scale + offset`, cast to `dtype`. Each step is done in the
//! type that NumPy does it in: a Python number takes an array's float type; with integers, a whole
//! number takes their type and anything else makes them 64-bit floats.

use zarr_core::codec::{ChunkContext, Codec, CodecSpec, Parameters};
use zarr_core::data_type::{CoreType, Repr};
use zarr_core::{Json, MetadataError, Object};

use crate::arithmetic::{self, Kernel, Types};
use crate::number::{Number, Wide, cast, each, with_number};

/// A number as Python reads it: without fraction and exponent it is an integer.
#[derive(Clone, Debug)]
struct Scalar {
    value: Wide,
    /// As the document spells it.
    text: Json,
}

/// The fixedscaleoffset codec.
#[derive(Clone, Debug)]
struct FixedScaleOffset {
    scale: Scalar,
    offset: Scalar,
}

/// Makes the codec.
pub(crate) fn build(spec: &CodecSpec, context: &ChunkContext) -> Result<Codec, MetadataError> {
    arithmetic::build::<FixedScaleOffset>(spec, context)
}

impl Scalar {
    fn read(parameters: &mut Parameters<'_>, name: &'static str) -> Result<Self, MetadataError> {
        let Some(json) = parameters.get(name) else {
            return Err(parameters.wrong(name, "is missing"));
        };
        let text = json.as_number().unwrap_or_default();
        let value = match (text.parse(), text.parse::<f64>()) {
            (Ok(integer), _) => Wide::Integer(integer),
            (_, Ok(float)) if float.is_finite() => Wide::Float(float),
            _ => return Err(parameters.wrong(name, format!("{} is not a number", json.brief()))),
        };
        let text = json.clone();
        Ok(Scalar { value, text })
    }

    /// In integers of type `core`, if it and they are.
    fn in_integers(&self, core: CoreType) -> Option<Wide> {
        let Wide::Integer(value) = self.value else {
            return None;
        };
        let fits = with_number!(core, T => match <T as Number>::narrow(self.value).wide() {
            Wide::Integer(narrowed) => narrowed == value,
            Wide::Float(_) => false,
        });
        fits.then_some(self.value)
    }
}

/// The float type in which numbers of type `core` are scaled.
fn float_of(core: CoreType) -> CoreType {
    match core.repr() {
        Repr::Float(_) => core,
        _ => CoreType::Float64,
    }
}

impl Kernel for FixedScaleOffset {
    const CODEC: &'static str = "fixedscaleoffset";
    const V3: &'static str = "numcodecs.fixedscaleoffset";

    fn read(parameters: &mut Parameters<'_>) -> Result<Self, MetadataError> {
        let scale = Scalar::read(parameters, "scale")?;
        let offset = Scalar::read(parameters, "offset")?;
        match scale.value {
            Wide::Integer(0) => Err(parameters.wrong("scale", "is 0")),
            Wide::Float(0.0) => Err(parameters.wrong("scale", "is 0")),
            _ => Ok(FixedScaleOffset { scale, offset }),
        }
    }

    fn configuration(&self) -> Object {
        Object::new()
            .with("scale", self.scale.text.clone())
            .with("offset", self.offset.text.clone())
    }

    fn encode(&self, types: Types, mut decoded: Vec<u8>) -> Vec<u8> {
        let (from, to) = (types.decoded.core, types.encoded.core);
        let whole_offset = self.offset.in_integers(from);
        if let Some(offset) = whole_offset {
            with_number!(from, T => each::<T>(&mut decoded, |x| x.minus(T::narrow(offset))));
            if let Some(scale) = self.scale.in_integers(from) {
                with_number!(from, T => each::<T>(&mut decoded, |x| x.times(T::narrow(scale))));
                return cast(from, to, decoded);
            }
        }
        let float = float_of(from);
        let mut out = cast(from, float, decoded);
        with_number!(float, T => {
            let (offset, scale) = (T::narrow(self.offset.value), T::narrow(self.scale.value));
            match whole_offset {
                Some(_) => each::<T>(&mut out, |x| x.times(scale).rounded()),
                None => each::<T>(&mut out, |x| x.minus(offset).times(scale).rounded()),
            }
        });
        cast(float, to, out)
    }

    fn decode(&self, types: Types, encoded: Vec<u8>) -> Vec<u8> {
        let (from, to) = (types.encoded.core, types.decoded.core);
        let float = float_of(from);
        let mut out = cast(from, float, encoded);
        with_number!(float, T => {
            let (offset, scale) = (T::narrow(self.offset.value), T::narrow(self.scale.value));
            each::<T>(&mut out, |e| e.over(scale).plus(offset));
        });
        cast(float, to, out)
    }
}
