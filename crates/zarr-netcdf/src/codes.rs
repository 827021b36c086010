//! The status codes of netCDF's library, and which of them an error is.

use std::ffi::c_int;

use zarr::ErrorKind;

pub const NOERR: c_int = 0;
/// C's ENOENT: netCDF passes on positive codes of the operating system.
pub const ENOENT: c_int = 2;
pub const EBADID: c_int = -33;
pub const EEXIST: c_int = -35;
pub const EINVAL: c_int = -36;
pub const EPERM: c_int = -37;
pub const EINVALCOORDS: c_int = -40;
pub const EMAXDIMS: c_int = -41;
pub const ENAMEINUSE: c_int = -42;
pub const ENOTATT: c_int = -43;
pub const EBADTYPE: c_int = -45;
pub const EBADDIM: c_int = -46;
pub const ENOTVAR: c_int = -49;
pub const ENOTNC: c_int = -51;
pub const EMAXNAME: c_int = -53;
pub const ECHAR: c_int = -56;
pub const EEDGE: c_int = -57;
pub const ESTRIDE: c_int = -58;
pub const EBADNAME: c_int = -59;
pub const ERANGE: c_int = -60;
pub const ENOMEM: c_int = -61;
pub const EDIMSIZE: c_int = -63;
pub const EIO: c_int = -68;
pub const EINTERNAL: c_int = -92;
pub const ENOTNC4: c_int = -111;
pub const ENOPAR: c_int = -114;
pub const EBADGRPID: c_int = -116;
pub const EBADFIELD: c_int = -119;
pub const ELATEFILL: c_int = -122;
pub const ELATEDEF: c_int = -123;
pub const ENOGRP: c_int = -125;
pub const EBADCHUNK: c_int = -127;
pub const ENOTBUILT: c_int = -128;
pub const EDISKLESS: c_int = -129;
pub const ENOFILTER: c_int = -136;
pub const ENCZARR: c_int = -137;

/// Why a call did not succeed: netCDF's code, and the sentence of this project where it says more than the code.
#[derive(Debug)]
pub struct Failure {
    pub code: c_int,
    pub sentence: Option<String>,
}

/// A result of a call of netCDF's.
pub type Result<T, E = Failure> = std::result::Result<T, E>;

impl From<c_int> for Failure {
    fn from(code: c_int) -> Failure {
        Failure { code, sentence: None }
    }
}

impl Failure {
    pub fn new(code: c_int, sentence: impl Into<String>) -> Failure {
        Failure { code, sentence: Some(sentence.into()) }
    }

    /// What went wrong while a dataset was opened.
    pub fn at_open(error: &zarr::Error) -> Failure {
        let code = match error.kind() {
            ErrorKind::NotFound => ENOENT,
            ErrorKind::Unsupported => ENOTBUILT,
            kind => code_of(kind),
        };
        Failure::new(code, error.to_string())
    }

    /// What went wrong while elements were read. Their codec may be one that this build does not have.
    pub fn in_read(error: &zarr::Error) -> Failure {
        let code = match error.kind() {
            ErrorKind::Unsupported => ENOFILTER,
            kind => code_of(kind),
        };
        Failure::new(code, error.to_string())
    }

    /// What went wrong while something was defined.
    pub fn in_definition(error: &zarr::Error) -> Failure {
        let code = match error.kind() {
            ErrorKind::Exists => ENAMEINUSE,
            ErrorKind::Unsupported => ENOFILTER,
            kind => code_of(kind),
        };
        Failure::new(code, error.to_string())
    }

    /// What went wrong while elements were written.
    pub fn in_write(error: &zarr::Error) -> Failure {
        Failure::in_read(error)
    }
}

fn code_of(kind: ErrorKind) -> c_int {
    match kind {
        ErrorKind::Argument => EINVAL,
        ErrorKind::ReadOnly | ErrorKind::NotCapable => EPERM,
        ErrorKind::Exists => EEXIST,
        ErrorKind::InvalidMetadata | ErrorKind::CorruptData => ENCZARR,
        ErrorKind::Limit => ENOMEM,
        _ => EIO,
    }
}
