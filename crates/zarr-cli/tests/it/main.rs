//! The integration tests of the program: one program, a module for each subject.

mod absent;
mod archives;
mod by_name;
mod cdl;
mod cf;
mod checksum;
mod common;
mod contract;
mod copies;
mod copies_under_way;
mod credentials;
mod csv;
mod datasets;
mod drafts;
mod durable;
mod elements;
mod escaping;
mod examples;
mod foreign;
mod images;
mod json_output;
mod killed_copies;
mod killed_erases;
mod killed_moves;
mod limits;
mod links;
mod lock_files;
mod losses;
mod ls;
mod manifests;
mod manners;
mod migrations;
mod missing_chunks;
mod netcdf;
mod other_files;
mod pages;
mod pictures;
mod plot;
mod process_credentials;
mod pyramids;
mod remedies;
mod repair;
mod reshape;
mod round_trips;
mod scale;
mod shells;
mod site;
mod stats;
mod summary;
mod syncs;
mod tune;
mod unreadable;
mod validate;
mod validate_stores;
mod verbs;
mod web_servers;
mod words;

// Shared with the tests of the library.
#[path = "../../../zarr/tests/it/server/mod.rs"]
mod server;
#[path = "../../../zarr/tests/it/traced/mod.rs"]
mod traced;
