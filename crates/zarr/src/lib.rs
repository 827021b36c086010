//! Reads, writes and converts Zarr arrays of every dialect: v2, final v3, and the v3 draft of October 2020; older drafts are read and converted.
//!
//! ```
//! # fn main() -> zarr::Result<()> {
//! # let dir = tempfile::tempdir().unwrap();
//! # let path = dir.path().join("example.zarr");
//! let array = zarr::create_array(path.join("temperature"))?
//!     .shape([365, 180, 360])
//!     .chunks([1, 90, 90])
//!     .data_type(zarr::DataType::Float32)
//!     .codec("zstd:3")
//!     .create()?;
//! array.write((0, 10..12, ..), &vec![21.5f32; 2 * 360])?;
//!
//! let array = zarr::open_group(&path)?.array("temperature")?;
//! let row: Vec<f32> = array.read((0, 10, ..))?;
//! assert_eq!(row, vec![21.5; 360]);
//! # Ok(())
//! # }
//! ```
//!
//! # Four nouns
//!
//! - A [`Hierarchy`] is a tree of groups and arrays in one store, in one [`Dialect`]. [`create`] makes one; [`create_array`] and [`create_group`] make
//!   one with its first node.
//! - A [`Group`] has children and attributes.
//! - An [`Array`] has a shape, a data type, attributes and elements. It reads and writes [selections](Selection): ranges, steps, lists, masks,
//!   points; as vectors, bytes or `ndarray` arrays.
//! - A [`Chunk`] is the part of an array that the store keeps under one key, encoded by codecs.
//!
//! [`open`] gives the [`Node`], a group or an array, at a path or URL; [`open_array`] and [`open_group`] give the one or the other, [`open_rw`] a node to
//! be written. Handles are cheap to clone and can be shared by threads.
//!
//! ```
//! # fn main() -> zarr::Result<()> {
//! let hierarchy = zarr::create("memory://nouns", zarr::Dialect::V2)?;
//! hierarchy.create_array("/ocean/depth").shape(&[4, 6]).chunks(&[2, 3]).data_type_named("int16").create()?;
//!
//! let ocean = zarr::open_rw("memory://nouns")?.into_group()?.group("ocean")?;
//! ocean.update_attributes(|attributes| {
//!     attributes.insert("units", "m");
//! })?;
//! let depth = ocean.array("depth")?;
//! depth.write((.., 0..3), &[7i16; 12])?;
//! assert_eq!(depth.read::<i16>((0, ..))?, [7, 7, 7, 0, 0, 0]);
//! assert_eq!(depth.chunk(&[1, 0])?.read::<i16>()?, [7; 6]);
//! # Ok(())
//! # }
//! ```
//!
//! # Blocking and async
//!
//! The types at this crate's root block; [`aio`] has the same ones for async code, under any runtime. Both take every store: a blocking call
//! on a bucket keeps many requests going, and an async call on a folder leaves the executor's threads free.
//!
//! # Errors
//!
//! Calls return [`Error`], which names the store, the path, the chunk and the key, and says what to do. [`Error::kind`] is one of a few
//! [`ErrorKind`]s, for programs; [`Cause`] has the details. What a reader tolerates is in [`Hierarchy::warnings`]; with [`OpenOptions::strict`] it is an error.
//!
//! ```
//! use zarr::ErrorKind;
//!
//! let error = zarr::open("nowhere.zarr").unwrap_err();
//! assert_eq!(error.kind(), ErrorKind::NotFound);
//! ```
//!
//! # Threads and writers
//!
//! Chunks are encoded and decoded on a pool of all cores, or on as many threads as [`OpenOptions::threads`] allows. Writers, threads or processes, that
//! write different parts of one chunk, or change one document, never lose each other's changes ([`Guard`]).
//!
//! # Features
//!
//! Each codec and each store is a feature of its name. `default` has folders, memory, and the codecs that most data use; `pure` needs no C compiler;
//! `full` has everything but `zfp`. `ndarray`, `half`, `num-complex` and `jiff` add types of these crates, `nczarr` netCDF datasets. An error that a missing feature causes names it.
//!
//! # Stores
//!
//! A URL or path chooses the store: `data.zarr`, `file:///data.zarr`, `memory://name`, `zip:///data.zip`, `lmdb:///data.lmdb`, `s3://bucket/data.zarr`,
//! `gs://…`, `az://…`, `https://…`. [`stores`] has their types, to be opened with options. [`store::SyncStore`] is the trait for your own.
//!
//! Data of other formats are read in place, as if they were Zarr, with a feature each: netCDF-3 files (`netcdf3`), HDF5 and netCDF-4 files (`hdf5`), N5 containers (`n5`), kerchunk's
//! references (`references`), Icechunk repositories (`icechunk`). `open("x.nc")` finds what it is; `netcdf3::s3://bucket/x.nc` says so.
//!
//! # Further
//!
//! - [`tools`] copies, converts, validates, repairs and compares hierarchies; [`tools::codec`] takes codecs as the program does.
//! - Everything of `zarr-core` is in this crate, too: [`data_type`], [`grid`], [`selection`], [`metadata`]. [`codecs`] and [`stores`] are the crates of these names.
//! - [`standard`] is the [`Registry`] of this build; give [`OpenOptions::new`] one with your own codecs, data types, grids or stores.
//! - The repository has more pages: `docs/indexing.md`, `docs/formats.md`, `docs/stores`, `docs/codecs.md`, `docs/errors.md`, `docs/reliability.md` and, for
//!   your own codec, data type, grid or store, `docs/extending.md`.

#![forbid(unsafe_code)]

pub mod aio;
mod location;
mod near_name;

pub use location::Location;
pub use zarr_codecs as codecs;
pub use zarr_core::*;
#[cfg(feature = "nczarr")]
pub use zarr_nczarr as nczarr;
pub use zarr_stores as stores;
pub use zarr_tools as tools;
#[cfg(any(
    feature = "references",
    feature = "n5",
    feature = "netcdf3",
    feature = "hdf5",
    feature = "icechunk"
))]
pub use zarr_virtual as r#virtual;

/// Everything that this build brings: the core's data types, the codecs, the stores and the other formats of its features.
pub fn standard() -> Registry {
    let registry = Registry::new().with(zarr_codecs::register).with(zarr_stores::register);
    #[cfg(any(
        feature = "references",
        feature = "n5",
        feature = "netcdf3",
        feature = "hdf5",
        feature = "icechunk"
    ))]
    let registry = registry.with(zarr_virtual::register);
    #[cfg(not(any(
        feature = "references",
        feature = "n5",
        feature = "netcdf3",
        feature = "hdf5",
        feature = "icechunk"
    )))]
    let registry = registry.with(|registry| {
        for (name, feature) in [
            ("kerchunk", "references"),
            ("n5", "n5"),
            ("netcdf3", "netcdf3"),
            ("hdf5", "hdf5"),
            ("icechunk", "icechunk"),
        ] {
            registry.chain_left_out(name, feature);
        }
    });
    registry
}

/// The group or array that a path or URL names, for reading: the root of a hierarchy, or a node inside.
///
/// # Errors
/// [`AccessError::NotFound`] listing what was looked for; for documents that break their specification.
pub fn open(location: impl Location) -> Result<Node> {
    open_with(location, &OpenOptions::new(standard()))
}

/// The array that a path or URL names, for reading.
///
/// # Errors
/// As [`open`]; [`AccessError::NodeKind`] if it is a group.
pub fn open_array(location: impl Location) -> Result<Array> {
    open(location)?.into_array()
}

/// The group that a path or URL names, for reading.
///
/// # Errors
/// As [`open`]; [`AccessError::NodeKind`] if it is an array.
pub fn open_group(location: impl Location) -> Result<Group> {
    open(location)?.into_group()
}

/// The group or array that a path or URL names, for reading and writing.
///
/// # Errors
/// As [`open`].
pub fn open_rw(location: impl Location) -> Result<Node> {
    open_with(location, &OpenOptions::new(standard()).read_write())
}

/// The group or array that a path or URL names, opened as the caller chooses.
///
/// # Errors
/// As [`open`].
pub fn open_with(location: impl Location, options: &OpenOptions) -> Result<Node> {
    let url = location.to_url()?;
    Hierarchy::open_node(&url, options).map_err(|e| near_name::with_near_name(e, &url))
}

/// The hierarchy that a path or URL names, and the node in it.
///
/// # Errors
/// As [`open`], but for the node itself.
pub fn locate(location: impl Location, options: &OpenOptions) -> Result<(Hierarchy, NodePath)> {
    let url = location.to_url()?;
    Hierarchy::locate(&url, options).map_err(|e| near_name::with_near_name(e, &url))
}

/// The hierarchy at a path or URL, to be written to: a new one, or the one of that dialect that is there.
///
/// In v2 and v3 nothing is stored before the first node is created through it, which may be the root: an array, a group, or what
/// [`tools::copy`] copies there. `create(path, Dialect::V2)?.create_group("/", Object::new())` makes an empty hierarchy of v2.
///
/// A path inside a store, such as `data.zarr/ocean`, is refused unless a hierarchy begins there: a second hierarchy inside
/// `data.zarr` could not be seen from its root. [`create_array`] and [`create_group`] take such paths.
///
/// # Errors
/// [`AccessError::Argument`] if one of another dialect is there, or for a path inside a store.
pub fn create(location: impl Location, dialect: Dialect) -> Result<Hierarchy> {
    create_with(location, dialect, &OpenOptions::new(standard()))
}

/// As [`create`], opened as the caller chooses.
///
/// # Errors
/// As [`create`].
pub fn create_with(
    location: impl Location,
    dialect: Dialect,
    options: &OpenOptions,
) -> Result<Hierarchy> {
    let url = location.to_url()?;
    if let Some(refused) = is_inside_store(&url)
        && Hierarchy::locate(&url, &options.clone().any_dialect()).is_err()
    {
        return Err(refused);
    }
    Hierarchy::open_or_create(&url, dialect, options)
}

/// Describes a new array at a path or URL: in the hierarchy that is there, or else in a new one of final v3, which begins at the
/// first component of the path that ends in `.zarr`, `.zip`, `.lmdb` or `.n5`. Groups above the array are made.
///
/// ```
/// # fn main() -> zarr::Result<()> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("new.zarr");
/// let array = zarr::create_array(path.join("ocean/temperature"))?
///     .shape([365, 180, 360])
///     .data_type(zarr::DataType::Float32)
///     .create()?;
/// assert_eq!(array.path().as_str(), "/ocean/temperature");
/// assert_eq!(zarr::open_group(&path)?.children()?.len(), 1);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`AccessError::Argument`] if a file of another format is there; what the store reports. [`ArrayBuilder::create`] reports
/// a node that is there already.
pub fn create_array(location: impl Location) -> Result<ArrayBuilder> {
    let place = place_of_new(&location.to_url()?)?;
    Ok(place.hierarchy.create_array(place.path))
}

/// Creates a group at a path or URL: in the hierarchy that is there, or else in a new one, as [`create_array`] does.
///
/// # Errors
/// As [`create_array`]; [`AccessError::Exists`].
pub fn create_group(location: impl Location) -> Result<Group> {
    let place = place_of_new(&location.to_url()?)?;
    place.hierarchy.create_group(place.path, Object::new())
}

fn place_of_new(url: &str) -> Result<tools::NewPlace> {
    tools::new_place((url, "/"), None, Dialect::V3, &OpenOptions::new(standard()).read_write())
}

/// Why no hierarchy begins at a URL: it is inside another store.
fn is_inside_store(url: &str) -> Option<Error> {
    let (store, inside) = tools::split_at_store(url);
    if inside.is_empty() {
        return None;
    }
    let why =
        format!("`{inside}` is a node of the hierarchy `{store}`, not a hierarchy of its own");
    let hint = format!(
        "create `{store}` and a node in it, or call `zarr::create_array` or `zarr::create_group` with this path"
    );
    Some(Error::from(AccessError::Argument(why)).at_store(url).with_hint(hint))
}
