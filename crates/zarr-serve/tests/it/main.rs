//! The integration tests of `zarr-serve`: one program, a module for each subject.

mod hostile;
