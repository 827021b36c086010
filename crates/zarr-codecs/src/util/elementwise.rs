//! Applies a step to the elements of a chunk, for final v3's `cast_value` and `scale_offset`.
//!
//! They compute with values, not with bits: exactly, then rounded once. [`zarr_core::data_type::Scalar`] loads and
//! casts one.

use zarr_core::codec::{DecodedSize, Parameters};
use zarr_core::data_type::{DataType, FillValue, Scalar};
use zarr_core::view::{View, ViewMut};
use zarr_core::{CodecError, Dialect, Json, MetadataError};

use zarr_core::codec::buffer_pool::zeroed;

/// The real numbers that elements of a type are; `None` if they are none.
pub(crate) fn real(data_type: &DataType) -> Option<Scalar> {
    data_type.scalar().filter(|scalar| !matches!(scalar, Scalar::Bool | Scalar::Complex(_)))
}

/// The element of type `data_type` in a parameter, written as a fill value is.
pub(crate) fn element(
    data_type: &DataType,
    json: &Json,
    name: &str,
    parameters: &Parameters<'_>,
) -> Result<FillValue, MetadataError> {
    data_type.element_from_json(json, Dialect::V3).map_err(|error| match error {
        MetadataError::Invalid { why, .. } => parameters.invalid(name, why),
        other => other,
    })
}

/// Makes native elements from as many others, or returns why it cannot.
pub(crate) type Step<'a> = &'a dyn Fn(&[u8], &mut [u8]) -> Result<(), String>;

/// Applies `one` to each element of `from`, of `size` bytes; it gives one of `to`, of `to_size` bytes.
pub(crate) fn for_each(
    (from, size): (&[u8], usize),
    (to, to_size): (&mut [u8], usize),
    one: impl Fn(&[u8], &mut [u8]) -> Result<(), String>,
) -> Result<(), String> {
    let mut pairs = from.chunks_exact(size).zip(to.chunks_exact_mut(to_size));
    pairs.try_for_each(|(from, to)| one(from, to))
}

/// Applies `step` to the elements of a chunk; it gives elements of `size` bytes.
pub(crate) fn encode_each(
    codec: &'static str,
    chunk: &View<'_>,
    size: usize,
    step: Step<'_>,
) -> Result<Vec<u8>, CodecError> {
    let mut out = zeroed(codec, (chunk.len() as u64).saturating_mul(size as u64))?;
    step(&chunk.to_bytes(), &mut out).map_err(|why| CodecError::Value { codec, why })?;
    Ok(out)
}

/// Applies `step` to encoded elements, of `size` bytes; it gives those of `out`.
pub(crate) fn decode_each(
    codec: &'static str,
    encoded: &[u8],
    size: usize,
    mut out: ViewMut<'_>,
    step: Step<'_>,
) -> Result<(), CodecError> {
    let expected = (out.len() as u64).saturating_mul(size as u64);
    DecodedSize::Exactly(expected).check(codec, encoded.len() as u64)?;
    let all =
        |memory: &mut [u8]| step(encoded, memory).map_err(|why| CodecError::corrupt(codec, why));
    if let Some(memory) = out.as_bytes_mut() {
        return all(memory);
    }
    let mut decoded = zeroed(codec, (out.len() * out.element_size()) as u64)?;
    all(&mut decoded)?;
    out.copy_from(&View::new(&decoded, &out.shape(), out.element_size()));
    Ok(())
}
