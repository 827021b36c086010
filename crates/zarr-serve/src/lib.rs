//! Serves Zarr hierarchies over HTTP, read-only, any dialect as v3 too, with a page to look at them.
//!
//! - [`Targets`] are what is served: hierarchies, or folders of them, each under a name ([`Served`]).
//! - `http` answers requests for keys, with ranges, validators, CORS and limits.
//! - `view` shows a hierarchy of any dialect as final v3.
//! - `api` answers `/-/…`, for the page and for programs; `page` is what `/` shows.

#![forbid(unsafe_code)]

mod answer;
mod api;
mod http;
mod inside;
mod listing;
mod page;
mod targets;
mod view;

pub use self::answer::{Answer, Question};
pub use self::http::{Access, Ended, Log, Origins, ServeOptions, Server, Tell};
pub use self::listing::encoded;
pub use self::targets::{Served, Targets, TargetsOptions};
