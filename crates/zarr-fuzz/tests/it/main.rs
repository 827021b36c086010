//! The integration tests of `zarr-fuzz`: one program, a module for each subject.

mod replay;
