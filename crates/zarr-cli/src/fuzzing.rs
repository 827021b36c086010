//! Elements in and out, as the fuzzers of this repository need them. No part of the public interface.

use clap::ValueEnum;
use zarr::Array;

use crate::commands::{get, put};
use crate::failure::Failure;
use crate::region::Elements;

fn elements(array: &Array, region: Option<&str>) -> Result<Elements, String> {
    Elements::of_region(region, &array.shape())
}

fn line(failure: Failure) -> String {
    failure.line().unwrap_or_default()
}

/// What `zarr put` does with an input.
///
/// # Errors
/// What it would say.
pub fn put(array: &Array, region: Option<&str>, format: &str, input: &[u8]) -> Result<(), String> {
    let elements = elements(array, region)?;
    let format = put::Format::from_str(format, false)?;
    put::write(array, &elements, format, (put::STDIN, &mut &*input)).map_err(line)
}

/// What `zarr get` writes.
///
/// # Errors
/// What it would say.
pub fn get(array: &Array, region: Option<&str>, format: &str) -> Result<Vec<u8>, String> {
    let elements = elements(array, region)?;
    let format = get::Format::from_str(format, false)?;
    let mut out = Vec::new();
    get::write(array, &elements, format, &mut out).map_err(line)?;
    Ok(out)
}
