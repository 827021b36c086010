//! Sessions and commits in Icechunk repositories, as stores of Zarr.
//!
//! A [`Repository`] is in a folder or a bucket. A [session](IcechunkSession) of it is a [`Store`](zarr_core::store::Store): create and change a hierarchy
//! in it as in any other, then [commit](IcechunkSession::commit) all of it in one step. Two committers never lose each other's commits.
//!
//! ```
//! use zarr::{OpenOptions, Result};
//! use zarr_icechunk::{MAIN, Repository, Version};
//!
//! # fn main() -> Result<()> {
//! # let folder = tempfile::tempdir().unwrap();
//! # let folder = folder.path().join("repository");
//! let repository = Repository::create(&folder)?;
//! let session = repository.writable_session(MAIN)?;
//!
//! let hierarchy = session.hierarchy(&OpenOptions::new(zarr::standard()))?;
//! let array = hierarchy.create_array("/temperature").shape([4]).data_type(zarr::DataType::Float32).create()?;
//! array.write(.., &[20.5f32, 21.0, 21.5, 22.0])?;
//!
//! let first = session.commit("temperatures")?;
//! assert_eq!(repository.history(&Version::Branch(MAIN.into()))?[0].id, first);
//! # Ok(())
//! # }
//! ```
//!
//! `zarr` itself reads such repositories, without this crate: `zarr::open("repository")`.

#![forbid(unsafe_code)]

mod conflicts;
mod error;
mod key;
mod lock;
mod repository;
mod runtime;
mod session;
mod value;

pub use icechunk;

pub use self::repository::{Commit, DynStorage, MAIN, Repository, Version};
pub use self::session::IcechunkSession;

/// The code of the pages is tested, too.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../../docs/tasks/from-icechunk.md")]
    struct FromIcechunk;

    #[doc = include_str!("../README.md")]
    struct Readme;
}
