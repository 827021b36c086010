//! The Zarr model: metadata of every dialect, chunk grids, codec chains, stores, hierarchies, arrays.
//!
//! A format translates documents to one model and back. A codec is a pure function on bytes. A store does all input and output. An array combines
//! the three.
//!
//! - [`Hierarchy`], [`Group`], [`Array`]: handles that read and write; [`aio`] has the async ones.
//! - [`selection`]: which elements a caller selects. [`data_type`], [`grid`], [`region`], [`view`], [`var_buffer`]: elements, chunks, boxes of
//!   elements, memory.
//! - [`metadata`]: the model. [`mod@format`]: the documents of each dialect. [`registry`]: names of codecs, data types, grids and stores, and what they build.
//! - [`store`]: keys and values. [`codec`]: how a chunk becomes bytes. [`runtime`]: threads, time, forks.
//!
//! ```
//! use zarr_core::{Dialect, NodePath, Region, Registry};
//!
//! # fn main() -> zarr_core::Result<()> {
//! let path: NodePath = "/ocean/temperature".parse()?;
//! assert_eq!(path.parent().unwrap().as_str(), "/ocean");
//!
//! let region = Region::new([0..1, 0..180, 10..20]);
//! assert_eq!(region.shape(), [1, 180, 10]);
//!
//! let parsed = Registry::new().parse_data_type(&">f8".into(), Dialect::V2)?;
//! assert_eq!(parsed.data_type.to_string(), "float64");
//! # Ok(())
//! # }
//! ```
//!
//! Codecs and stores are in other crates: `zarr-codecs`, `zarr-stores`, or your own, which needs
//! only this crate. The repository's guide `docs/extending.md` leads from `cargo new` to a published crate:
//! its code, its test with the crate `zarr-testkit`, its names and its promises.

mod array;
pub mod codec;
mod context;
mod control;
pub mod data_type;
mod dialect;
mod element;
mod error;
pub mod format;
pub mod grid;
mod handles;
mod hierarchy;
mod json;
mod limits;
mod memory;
pub mod metadata;
pub mod missing_value;
mod options;
mod path;
mod primitives;
mod printable;
mod record_element;
pub mod region;
pub mod registry;
pub mod runtime;
pub mod selection;
mod shape;
pub mod store;
mod suggestion;
#[doc(hidden)]
pub mod sync;
pub mod var_buffer;
pub mod view;
mod web_address;

pub use array::{ChunkPart, StoredSize};
pub use control::{CancelToken, ChunkProgress, ProgressCallback};
pub use data_type::{CoreType, DataType, Scalar, ToDataType};
pub use dialect::{Dialect, Era, Strictness, Warning};
pub use element::Element;
pub use error::{
    AccessError, Backend, Cause, CodecError, Error, ErrorKind, MetadataError, Result, StoreError,
    Unsupported, without_secrets,
};
pub use format::Reading;
#[cfg(feature = "ndarray")]
pub use handles::AsNdarray;
#[doc(hidden)]
pub use handles::tree_names;
pub use handles::{Array, ArrayBuilder, Chunk, DimensionName, Group, Hierarchy, Node, aio};
pub use hierarchy::{Consolidated, OpenOptions};
pub use json::{Json, Number, Object, Oddities};
pub use limits::Limits;
pub use metadata::{ArrayMetadata, GroupMetadata, NodeKind, NodeMetadata};
pub use options::{Guard, MissingChunks, Options};
pub use path::NodePath;
pub use printable::{is_printable, printable};
pub use record_element::{FieldElement, RecordElement, StructField};
pub use region::Region;
pub use registry::{Access, Registry};
pub use runtime::fork;
pub use selection::{AxisSelection, Selection, steps};
pub use shape::ToShape;
pub use suggestion::did_you_mean;
pub use view::strided::StridedBuffer;
pub use view::{View, ViewMut};
pub use web_address::{split_query, split_server, url_below, web_server};

#[cfg(feature = "half")]
pub use half;
#[cfg(feature = "jiff")]
pub use jiff;
#[cfg(feature = "ndarray")]
pub use ndarray;
#[cfg(feature = "num-complex")]
pub use num_complex;
