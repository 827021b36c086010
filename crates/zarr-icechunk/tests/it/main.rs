//! Sessions as stores, and commits by several threads and processes.

mod commits;
mod committers;
mod fixtures;
mod killed;
mod python;
mod store;
