//! Runs the conformance cases of the folder above through the library.
//!
//! There is nothing to call: `cargo test -p conformance` runs the cases, each as a test of its own
//! name. `cargo test -p conformance -- NAME` runs those whose names hold `NAME`.

#![forbid(unsafe_code)]
