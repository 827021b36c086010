//! The integration tests of `zarr-nczarr`: one program, a module for each subject.

mod cdl_again;
mod cdl_corpus;
mod cdl_hostile;
mod cdl_stored;
mod changes;
mod common;
mod copies;
mod costs;
mod documents;
mod faults;
mod hostile;
mod lent_memory;
mod missing_values;
mod names;
mod one_dataset;
mod round_trip;
mod urls;
