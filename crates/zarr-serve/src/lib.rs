//! Serves Zarr hierarchies over HTTP, read-only, any dialect as v3 too, with a page to look at them.
//!
//! - [`Targets`] are what is served: hierarchies, or folders of them, each under a name ([`Served`]).
//! - `http` answers requests for keys, with ranges, validators, CORS and limits.
//! - `view` shows a hierarchy of any dialect as final v3.
//! - `api` answers `/-/…`, for the page and for programs; `page` is what `/` shows.
//! - `tiles` answers `/tiles/…`: tiles of maps.
//!
//! ```
//! use zarr_serve::{ServeOptions, Server, Targets, TargetsOptions};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("x.zarr").display().to_string();
//! zarr::create(&path, zarr::Dialect::V2)?.create_group("/a", zarr::Object::new())?;
//!
//! let open = zarr::OpenOptions::new(zarr::standard());
//! let targets = Targets::open(&[path], &TargetsOptions { open, follow_links: false, kept: 0 })?;
//! let server = Server::new(targets, ServeOptions { port: Some(0), ..ServeOptions::default() })?;
//! assert!(server.url()?.starts_with("http://127.0.0.1:"));
//! // Until one of these futures is ready; `run_until_interrupted` serves until Ctrl-C.
//! server.run(async {}, std::future::pending())?;
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod answer;
mod api;
mod budget;
mod hidden;
mod http;
mod inside;
mod listing;
mod page;
mod targets;
mod tiles;
mod view;
mod warm;
mod workers;

pub use self::answer::{Answer, Question};
pub use self::http::{Access, Ended, Log, Logger, Origins, ServeOptions, Server};
pub use self::listing::encoded;
pub use self::targets::{Served, Targets, TargetsOptions};
