//! Defines what a format brings to a [`ReferenceStore`](crate::ReferenceStore): where the bytes of each key lie.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use zarr_core::StoreError;
use zarr_core::store::{Bytes, Capabilities, Listing, Result, StoreKey, StorePrefix, async_trait};

use crate::target::Target;

/// The key beside a node's document, in no listing, of what netCDF knows of the node and the document does not say:
/// `{"attributes": {"scale": "float32"}, "unlimited": [true, false]}`, and of a group
/// `{"attributes": {}, "unlimited": [], "dimensions": [{"name": "x", "size": 3, "unlimited": false}]}`. `zarr-nczarr` reads it for
/// a copy to NCZarr, and `zarr-tools` for what other copies do not keep.
#[cfg(any(feature = "hdf5", feature = "netcdf3"))]
pub(crate) const NETCDF_TYPES: &str = "netcdf_types.json";

/// How many reads are best under way of references whose targets may be in several stores. Neighbours are read together, and each
/// store itself bounds its requests.
#[cfg(feature = "references")]
pub(crate) const IN_FLIGHT: usize = 256;

/// A format whose data lie in other files: finds the bytes of a key, and the keys in a folder.
///
/// A source holds what it must, a parsed header for example, and makes the rest when it is asked: documents of nodes are
/// made one by one, and references to chunks are computed from an index.
#[async_trait]
pub trait Source: fmt::Debug + Send + Sync + 'static {
    /// Its name in messages: the URL that opens it again, such as `netcdf3::file:///data/x.nc`.
    fn name(&self) -> String;

    /// The options that open it again together with its name, without those that may be secret.
    fn public_options(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// What a reader should know of the data, in a sentence each.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// The URLs of the places that its bytes are in: the files of the format itself, and all that their references lead to, whether
    /// they may be read or not (see [`Store::places`](zarr_core::store::Store::places)).
    ///
    /// # Errors
    /// If the source could not be read.
    async fn places(&self) -> Result<Vec<String>> {
        Ok(vec![self.name()])
    }

    /// The references that may not be followed, as far as that is known without a request to a server: for each place that they lead
    /// to, the error that reading one of them gives.
    ///
    /// # Errors
    /// If the source could not be read.
    async fn refused_targets(&self) -> Result<Vec<StoreError>> {
        Ok(Vec::new())
    }

    /// What the store can do: reading, and listing where the format tells all keys. `local` and `cheap_ranges` only if all
    /// targets are local (see [`capabilities_over`]).
    fn capabilities(&self) -> Capabilities;

    /// Where the bytes of `key` are; `None` if the key is absent.
    ///
    /// # Errors
    /// If the source could not be read, or is damaged where the key is described; not for a key that it does not have.
    async fn find(&self, key: &StoreKey) -> Result<Option<Reference>>;

    /// The keys and prefixes directly below `prefix`.
    ///
    /// # Errors
    /// If the source could not be read.
    async fn list_dir(&self, prefix: &StorePrefix) -> Result<Listing>;
}

/// Where the bytes of a key are.
#[derive(Clone, Debug)]
pub enum Reference {
    /// Here.
    Inline(Bytes),
    /// A range of the bytes of a target. A target that ends before the range does is an error, never a shorter value.
    Part {
        /// What contains the bytes.
        target: Target,
        /// The first byte.
        offset: u64,
        /// How many bytes.
        length: u64,
    },
    /// All bytes of a target.
    Whole {
        /// What contains the bytes.
        target: Target,
        /// Whether the key is absent if the target is. Else that is an error.
        may_be_absent: bool,
    },
    /// Computed from ranges of targets.
    Made(Made),
}

/// Makes a value of the bytes of its parts, in their order.
pub type Make = Arc<dyn Fn(Vec<Bytes>) -> Result<Bytes> + Send + Sync>;

/// A value that is stored in no place as it is read.
#[derive(Clone)]
pub struct Made {
    /// The ranges that are read, each with the target that it is in.
    pub parts: Vec<(Target, Range<u64>)>,
    /// Makes the value of them.
    pub make: Make,
}

impl fmt::Debug for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Made").field("parts", &self.parts).finish_non_exhaustive()
    }
}

/// What a source can do whose targets are all in a store of these capabilities, and which can list all of its keys.
pub fn capabilities_over(store: Capabilities) -> Capabilities {
    let Capabilities { local, cheap_ranges, in_flight, .. } = store;
    Capabilities { local, cheap_ranges, in_flight, ..Capabilities::READ_ONLY }
}
