//! The integration tests of the tools: one program, a module for each subject.

mod geo_pyramid;
mod geo_validation;
mod ome_validation;
mod pyramid;
mod tune;
