//! Gives a chunk another shape while its elements stay in C order.

use zarr_core::CodecError;
use zarr_core::codec::DecodedSize;
use zarr_core::view::{View, ViewMut};

/// Puts elements in C order into `out`, whatever shape they had.
pub(crate) fn decode(
    codec: &'static str,
    encoded: &[u8],
    mut out: ViewMut<'_>,
) -> Result<(), CodecError> {
    let expected = (out.len() * out.element_size()) as u64;
    DecodedSize::Exactly(expected).check(codec, encoded.len() as u64)?;
    out.copy_from(&View::new(encoded, &out.shape(), out.element_size()));
    Ok(())
}
