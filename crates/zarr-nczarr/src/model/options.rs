//! How a dataset is opened, and by which conventions its documents are read.

use std::sync::Arc;

use zarr_core::{OpenOptions, Registry};

/// How a dataset says what plain Zarr does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Profile {
    /// In documents of NCZarr's own: dimensions, types of attributes, the order of things.
    Nczarr,
    /// Not at all: dimensions are those that xarray and final v3 name.
    Pure,
    /// In documents of NCZarr's own, as netcdf-c wrote them before 4.9.3. Read, not written.
    Legacy,
}

impl Profile {
    /// `nczarr`, `pure`, `legacy`.
    pub fn name(self) -> &'static str {
        match self {
            Profile::Nczarr => "nczarr",
            Profile::Pure => "pure",
            Profile::Legacy => "legacy",
        }
    }
}

/// How long an unlimited dimension is to a reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lengths {
    /// As long as its longest array: what a writer who was cut short has begun is there, and reads as fill (N-013).
    #[default]
    Longest,
    /// As long as its group says, which a writer says last: so a concurrent reader sees only whole records.
    Published,
}

/// How a dataset is opened.
#[derive(Clone, Debug)]
pub struct DatasetOptions {
    /// How the hierarchy below is opened: access, registry, strictness, consolidated metadata.
    ///
    /// A strict reader refuses a dataset with a variable that is broken; a tolerant one sets it apart.
    pub zarr: OpenOptions,
    /// Whether to look past all documents of NCZarr's own (`mode=zarr`).
    pub pure: bool,
    /// Whether xarray's `_ARRAY_DIMENSIONS` are read and written.
    pub xarray: bool,
    /// Whether an array without references takes a dimension of the same name and length from a group above.
    pub share_dimensions: bool,
    /// How long unlimited dimensions are.
    pub lengths: Lengths,
    /// Whether texts that are too long for their variable are cut, at the end of a character (N-062).
    pub truncate: bool,
    /// Whether a netCDF file also says what its documents in Zarr do not: which dimensions are unlimited, the types of attributes, and
    /// which variables are `char`. A copy to NCZarr keeps them.
    pub file_types: bool,
    /// Whether new strings in v3 are of a fixed width; see [`crate::NewDataset::fixed_strings`].
    pub fixed_strings: bool,
}

impl DatasetOptions {
    /// Read-only, as the dataset says, knowing what `registry` knows.
    pub fn new(registry: impl Into<Arc<Registry>>) -> Self {
        Self::of(OpenOptions::new(registry))
    }

    /// As the dataset says, the hierarchy being opened so.
    pub fn of(zarr: OpenOptions) -> Self {
        DatasetOptions {
            zarr,
            pure: false,
            xarray: true,
            share_dimensions: false,
            lengths: Lengths::default(),
            truncate: false,
            file_types: false,
            fixed_strings: false,
        }
    }

    /// Handles may write, too.
    #[must_use]
    pub fn read_write(mut self) -> Self {
        self.zarr = self.zarr.read_write();
        self
    }

    /// Looks past all documents of NCZarr's own.
    #[must_use]
    pub fn pure(mut self) -> Self {
        self.pure = true;
        self
    }

    /// Asks a netCDF file for what its documents in Zarr do not say; see [`DatasetOptions::file_types`].
    #[must_use]
    pub fn file_types(mut self) -> Self {
        self.file_types = true;
        self
    }

    /// Says how long unlimited dimensions are.
    #[must_use]
    pub fn lengths(mut self, lengths: Lengths) -> Self {
        self.lengths = lengths;
        self
    }
}

/// How a dataset's documents are to be understood, which its root determines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Conventions {
    /// Whether fill values of text are plain text, and `>S1` is `char`.
    pub nczarr: bool,
    /// Whether `U1` is one byte (N-081).
    pub narrow_u1: bool,
}
