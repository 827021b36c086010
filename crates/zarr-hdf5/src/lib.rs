//! Reads HDF5's metadata and chunk indices: which objects a file has, and where the bytes of each chunk lie.
//!
//! There is no input or output here. The parser reads [`Blocks`] that are cached and returns the range that it misses; a driver
//! fetches that range and calls again. So the same parser serves blocking and asynchronous callers, local files and object
//! stores. [`complete`] is that loop for blocking callers.
//!
//! Elements are not decoded: a [`Chunk`] says where its bytes are, and [`Dataset::filters`] what was done with them.
//!
//! Files of every version of the library are read, HDF5 1.0 to 2.0. What is not supported, such as a virtual dataset, is an error
//! of that object alone.
//!
//! ```
//! use zarr_hdf5::{Blocks, File, ObjectKind};
//!
//! # fn read(bytes: Vec<u8>) -> Result<(), zarr_hdf5::Fault> {
//! // A file in memory as a whole never misses anything.
//! let blocks = Blocks::whole(bytes);
//! let file = File::parse(&blocks)?;
//! let root = file.object(&blocks, file.root())?;
//! assert_eq!(root.kind, ObjectKind::Group);
//! for link in file.links(&blocks, &root)? {
//!     println!("{}", link.name);
//! }
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod blocks;
mod checksum;
mod driver;
mod error;
mod group;
mod header;
mod heap;
mod index;
mod messages;
mod object;
mod shared;
mod source;
mod superblock;
mod tree;
pub mod value;
pub mod walk;
pub mod zarr_view;

pub use self::blocks::{Blocks, MAX_FETCH_BYTES};
pub use self::driver::{Failure, complete};
pub use self::error::{Error, ErrorKind, Fault, Result};
pub use self::index::{Chunk, ChunkCursor};
pub use self::messages::attribute::Attribute;
pub use self::messages::dataspace::Dataspace;
pub use self::messages::datatype;
pub use self::messages::datatype::Datatype;
pub use self::messages::fill::Fill;
pub use self::messages::filters::Filter;
pub use self::messages::link::{Link, Target};
pub use self::object::{ChunkedStorage, Dataset, File, Object, ObjectKind, Storage};
pub use self::superblock::{SIGNATURE, Superblock};
