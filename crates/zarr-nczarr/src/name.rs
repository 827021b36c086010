//! What may things of netCDF be called?

use zarr_core::AccessError;

/// The longest name, in bytes.
const MAX_NAME: usize = 256;

/// Attributes that hold the model itself: nobody creates them, and no listing shows them (N-055).
const RESERVED: [&str; 14] = [
    "_nczarr_superblock",
    "_nczarr_group",
    "_nczarr_array",
    "_nczarr_attr",
    "_nczarr_attrs",
    "_ARRAY_DIMENSIONS",
    "_NCProperties",
    "CLASS",
    "NAME",
    "DIMENSION_LIST",
    "REFERENCE_LIST",
    "_Netcdf4Coordinates",
    "_Netcdf4Dimid",
    "_nc3_strict",
];

/// Attributes that are computed, never stored (N-055).
const VIRTUAL: [&str; 12] = [
    "_Format",
    "_IsNetcdf4",
    "_SuperblockVersion",
    "_Codecs",
    "_Storage",
    "_ChunkSizes",
    "_Endianness",
    "_DeflateLevel",
    "_Shuffle",
    "_Fletcher32",
    "_Filter",
    "_NoFill",
];

/// Checks the name of a group, a dimension, a variable or an attribute: 1 to 256 bytes of UTF-8, first a letter, a
/// digit, `_` or what is not ASCII, no `/`, no control character, no space at the end.
///
/// # Errors
/// [`AccessError::Argument`] naming the rule.
///
/// Specification: N-001. netCDF's own library also composes characters (NFC); here a name is taken as it is.
pub fn check_name(name: &str) -> Result<(), AccessError> {
    let why = match name.chars().next() {
        None => "it is empty",
        Some(first) if first.is_ascii() && !first.is_ascii_alphanumeric() && first != '_' => {
            "it begins with neither a letter, a digit nor `_`"
        }
        _ if name.len() > MAX_NAME => "it is longer than 256 bytes",
        _ if name.contains('/') => "it has a `/`",
        _ if name.chars().any(char::is_control) => "it has a control character",
        _ if name.ends_with(char::is_whitespace) => "it ends with a space",
        _ => return Ok(()),
    };
    Err(AccessError::Argument(format!("`{}` is no netCDF name: {why}", name.escape_debug())))
}

/// Whether an attribute of this name holds a part of the model: it cannot be created, and no listing shows it (N-055).
pub fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name)
}

/// Whether an attribute of this name is computed and never stored (N-055).
pub fn is_virtual(name: &str) -> bool {
    VIRTUAL.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// N-001.
    #[test]
    fn names_have_rules() {
        for good in ["a", "_x", "9lives", "v 1", "a b", "温度", "x.y+z-@", &"n".repeat(256)] {
            check_name(good).unwrap();
        }
        for bad in ["", " a", "a ", "-a", ".a", "a/b", "a\nb", "a\u{7f}", &"n".repeat(257)] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }
}
