//! CDL, the text form of netCDF: read as `ncgen` reads it, written as `ncdump` writes it.
//!
//! ```
//! use zarr_nczarr::cdl::{Document, Printing};
//!
//! let text = "netcdf sea { dimensions: x = 3 ; variables: float t(x) ; t:units = \"K\" ; data: t = 280.5, _, 281 ; }";
//! let document = Document::parse(text)?;
//! let mut printed = Vec::new();
//! document.print(&Printing::default(), &mut printed)?;
//! assert!(String::from_utf8(printed)?.ends_with("data:\n\n t = 280.5, _, 281 ;\n}\n"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Types that a file declares itself (enum, opaque, vlen, compound) are refused. A text is held in memory as it is;
//! its data are read from there piece by piece.

mod constant;
mod data;
mod document;
mod dump;
mod error;
mod escape;
mod generate;
mod number;
mod own_types;
mod parse;
mod print;
mod printf_g;
mod rows;
mod scope;
mod special;
mod token;

pub use document::{Document, Provenance};
pub use error::CdlError;
pub use print::{Printing, print};
/// About how many elements of a variable are read or written in one call.
const PIECE: u64 = 1 << 20;

pub use printf_g::Precision;
pub use rows::{Rows, Show, TextForm};
