//! Runs the conformance cases of the folder above through the library.
//!
//! `cargo test -p conformance` runs the cases, each as a test of its own name.
//! `cargo test -p conformance -- NAME` runs those whose names hold `NAME`. What can be called here reads
//! the requirements of `docs/internals/spec`, and finds which test names which: `target/conformance.md` is made of it.
//! The test `citations` fails where a comment, a page or a case cites what does not exist.

#![forbid(unsafe_code)]

pub mod citations;
pub mod requirements;
pub mod sources;

/// The code of the guide compiles; CI makes the crates of it that the guide tells of, and tests them.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/extending.md")]
struct Extending;

/// So does that of the page on netCDF datasets.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/nczarr.md")]
struct NetCdf;

/// So does the code of the page on selections, and it is right.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/indexing.md")]
struct Indexing;

/// So does that of the first ten minutes.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/start/rust.md")]
struct Start;

/// The code of the README compiles; the page before has the same, and runs.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// So does that of the tour.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/internals/tour.md")]
struct Tour;

/// So does that of the page on CDL.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/cdl.md")]
struct Cdl;
