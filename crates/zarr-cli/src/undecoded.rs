//! Leaves elements as they are stored, in builds without the feature `plot`.

use zarr::Array;
use zarr::data_type::DataType;
use zarr::nczarr::cdl::Show;

use crate::commands::get::Format;
use crate::digits::Digits;

/// No decoding is known.
pub(crate) enum Decoded {}

impl Decoded {
    pub fn of(_: &Array, _: Format) -> (Option<Decoded>, Vec<String>) {
        (None, Vec::new())
    }

    pub fn data_type(&self, stored: &DataType) -> DataType {
        stored.clone()
    }

    pub fn digits(&self, digits: Digits) -> Digits {
        digits
    }

    pub fn apply(&self, stored: &[u8]) -> Vec<u8> {
        stored.to_vec()
    }

    pub fn show(self) -> Show {
        match self {}
    }

    pub fn is_dates(&self) -> bool {
        false
    }
}
