//! Tests of the reader against what h5py and netCDF4-python wrote and see.

mod common;
mod damaged;
mod equal;
mod view;
