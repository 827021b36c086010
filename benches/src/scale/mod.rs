//! Simulates the library at a scale that no machine here has: its own planner, reader, writer and compare-and-swap, over a
//! store that is a model, in virtual time.
//!
//! `clock` runs futures without ever sleeping; `service` says how fast, how limited and how dear a store is; `bucket` is the
//! store. The others are what is simulated. Everything random has a seed: a run gives the same figures each time.

pub mod bucket;
pub mod clock;
pub mod hierarchy;
pub mod petabyte;
pub mod service;
pub mod writers;
