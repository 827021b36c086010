//! How are numbers stored as differences from their neighbours?
//!
//! numcodecs' `delta`: the first number, then each less the one before it, computed in `dtype` and cast
//! to `astype`; decoding adds them up in `dtype`. Integers wrap, so that the round trip is exact as
//! long as `astype` has room. Elements are taken in C order.

use zarr_core::codec::{ChunkContext, Codec, CodecSpec, Parameters};
use zarr_core::{MetadataError, Object};

use crate::arithmetic::{self, Kernel, Types};
use crate::number::{Number, cast, each, with_number};

/// The delta codec.
#[derive(Clone, Copy, Debug)]
struct Delta;

/// Makes the codec.
pub(crate) fn build(spec: &CodecSpec, context: &ChunkContext) -> Result<Codec, MetadataError> {
    arithmetic::build::<Delta>(spec, context)
}

impl Kernel for Delta {
    const CODEC: &'static str = "delta";
    const V3: &'static str = "numcodecs.delta";

    fn read(_: &mut Parameters<'_>) -> Result<Self, MetadataError> {
        Ok(Delta)
    }

    fn configuration(&self) -> Object {
        Object::new()
    }

    fn encode(&self, types: Types, mut decoded: Vec<u8>) -> Vec<u8> {
        with_number!(types.decoded.core, T => differences::<T>(&mut decoded));
        cast(types.decoded.core, types.encoded.core, decoded)
    }

    fn decode(&self, types: Types, encoded: Vec<u8>) -> Vec<u8> {
        let mut out = cast(types.encoded.core, types.decoded.core, encoded);
        with_number!(types.decoded.core, T => sums::<T>(&mut out));
        out
    }
}

/// The first number stays as it is, to the sign of its zero.
fn differences<T: Number>(numbers: &mut [u8]) {
    let mut before: Option<T> = None;
    each::<T>(numbers, |here| {
        let out = before.map_or(here, |before| here.minus(before));
        before = Some(here);
        out
    });
}

fn sums<T: Number>(numbers: &mut [u8]) {
    let mut sum: Option<T> = None;
    each::<T>(numbers, |here| {
        let next = sum.map_or(here, |sum| sum.plus(here));
        sum = Some(next);
        next
    });
}
