//! A file or a hierarchy that references are written to.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;
use std::sync::Arc;

use zarr_core::runtime::block_on;
use zarr_core::store::{
    Bytes, Capabilities, ListOptions, Listing, Store, StoreKey, StorePrefix, async_trait,
};
use zarr_core::{
    Array, Consolidated, Dialect, Error, Hierarchy, MetadataError, NodeKind, OpenOptions, Result,
    StoreError,
};

use super::refused;
#[cfg(any(feature = "netcdf3", feature = "hdf5"))]
use crate::location::split_file;
use crate::source::{Reference, Source, capabilities_over};
use crate::store::ReferenceStore;
use crate::target::Target;

/// The names of documents, in v3 and in v2.
const DOCUMENTS: [&str; 4] = ["zarr.json", ".zgroup", ".zarray", ".zattrs"];

/// The most keys of a hierarchy that is stored as Zarr.
const MAX_KEYS: usize = 10_000_000;

/// A file or a hierarchy.
pub(super) struct Input {
    /// As the caller names it.
    pub name: String,
    source: Arc<dyn Source>,
    pub hierarchy: Hierarchy,
    pub arrays: BTreeMap<String, Array>,
    pub groups: BTreeSet<String>,
    /// Nodes whose elements cannot be read, and why.
    pub unreadable: BTreeMap<String, String>,
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Input {
    /// Opens a file, and the document of each node in it.
    pub fn open(url: &str, options: &OpenOptions) -> Result<Input> {
        let name = zarr_core::without_secrets(url);
        let source = open_source(url, options).map_err(|error| error.at_store(url))?;
        let store = ReferenceStore::over_shared(source.clone());
        // Consolidated copies may be out of date, and are not written.
        let options = options.clone().consolidated(Consolidated::Ignore);
        let hierarchy = Hierarchy::open(store, &options)?;
        if !matches!(hierarchy.dialect(), Dialect::V2 | Dialect::V3) {
            let format = hierarchy.format_name();
            return Err(refused(format!(
                "{name} is in {format}, and references have documents of v2 or v3; copy it with `zarr copy`"
            )));
        }
        let (mut arrays, mut groups) = (BTreeMap::new(), BTreeSet::new());
        let mut unreadable = BTreeMap::new();
        let (nodes, failed) = hierarchy.tree_and_unreadable("/")?;
        for (path, error) in failed {
            unreadable.insert(path.to_string(), error.message());
        }
        for node in nodes {
            let path = node.path.to_string();
            if node.kind != Some(NodeKind::Array) {
                groups.insert(path);
                continue;
            }
            match hierarchy.array(&path) {
                Ok(array) => match lack(&array) {
                    None => drop(arrays.insert(path, array)),
                    Some(why) => drop(unreadable.insert(path, why)),
                },
                Err(error) => drop(unreadable.insert(path, error.message())),
            }
        }
        Ok(Input { name, source, hierarchy, arrays, groups, unreadable })
    }

    /// How many nodes there are, those that cannot be read among them.
    pub fn node_count(&self) -> usize {
        self.arrays.len() + self.groups.len() + self.unreadable.len()
    }

    /// The array at a path that all files have.
    pub fn array(&self, path: &str) -> Result<&Array> {
        self.arrays
            .get(path)
            .ok_or_else(|| refused(format!("{} has no array at {path}", self.name)))
    }

    /// Where the bytes of a chunk are.
    pub fn find(&self, key: &StoreKey) -> Result<Option<Reference>> {
        let found = block_on(self.source.find(key));
        found.map_err(|error| Error::from(error).at_store(&self.name).at_key(key))
    }

    /// The documents of a node.
    pub fn documents(&self, path: &str) -> Result<Vec<(StoreKey, Bytes)>> {
        let store = self.hierarchy.store().to_sync();
        let mut documents = Vec::new();
        for name in DOCUMENTS {
            let key = StoreKey::new(key_below(path, name))?;
            let text = store.value(&key);
            let text =
                text.map_err(|error| Error::from(error).at_store(&self.name).at_key(&key))?;
            documents.extend(text.map(|text| (key, text)));
        }
        Ok(documents)
    }
}

/// Why the elements of an array cannot be read, if so.
fn lack(array: &Array) -> Option<String> {
    let hierarchy = array.hierarchy();
    match array.metadata().chain(hierarchy.registry(), hierarchy.dialect()) {
        Ok(_) => None,
        // Without the list of what is supported.
        Err(MetadataError::Unsupported(lack)) => {
            Some(format!("{} `{}` is not supported", lack.what, lack.name))
        }
        Err(other) => Some(other.to_string()),
    }
}

/// The key of a name below a node.
pub(super) fn key_below(path: &str, name: &str) -> String {
    let path = path.trim_matches('/');
    if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") }
}

/// The places that a file or a hierarchy is read from. No keys are listed.
pub(super) fn places(url: &str, options: &OpenOptions) -> Result<Vec<String>> {
    Ok(match chain(url, options) {
        Some(chain) => block_on(open_chain(&chain, options)?.places())?,
        None => options.store(url)?.to_sync().places()?,
    })
}

/// The source that knows where the chunks of a file lie.
fn open_source(url: &str, options: &OpenOptions) -> Result<Arc<dyn Source>> {
    match chain(url, options) {
        Some(chain) => open_chain(&chain, options),
        None => Ok(Arc::new(StoredHierarchy::open(options.store(url)?)?)),
    }
}

/// The URL of a file with the link that says its format; `None` of a hierarchy that is stored as Zarr.
fn chain(url: &str, options: &OpenOptions) -> Option<String> {
    if url.contains("::") {
        return Some(url.to_owned());
    }
    options.registry.recognize(url, &|url| options.store(url)).map(|found| found.url)
}

fn open_chain(chain: &str, options: &OpenOptions) -> Result<Arc<dyn Source>> {
    let (link, place) = chain.split_once("::").unwrap_or_default();
    #[cfg(feature = "netcdf3")]
    if link == "netcdf3" {
        let source = crate::netcdf3::Netcdf3::open(file(place, options)?);
        return Ok(Arc::new(block_on(source)?));
    }
    #[cfg(feature = "hdf5")]
    if link == "hdf5" {
        let registry = zarr_core::Registry::clone(&options.registry);
        let source = crate::hdf5::Hdf5::open(file(place, options)?, registry);
        return Ok(Arc::new(block_on(source)?));
    }
    let place = zarr_core::without_secrets(place);
    Err(refused(format!(
        "references are written to netCDF and HDF5 files and to Zarr hierarchies, and {place} is read as `{link}::`; copy it \
         first: `zarr copy {link}::{place} NEW.zarr`"
    )))
}

/// The file that a URL names, as a value of the store that it is in.
#[cfg(any(feature = "netcdf3", feature = "hdf5"))]
fn file(url: &str, options: &OpenOptions) -> Result<Target> {
    let (store, key) = split_file(url)?;
    Ok(Target::new(options.store(&store)?, key))
}

/// A hierarchy that is stored as Zarr: each key is a whole value of its store.
#[derive(Debug)]
struct StoredHierarchy {
    store: Arc<dyn Store>,
    keys: HashSet<StoreKey>,
}

impl StoredHierarchy {
    fn open(store: Arc<dyn Store>) -> Result<StoredHierarchy> {
        let listing = store.to_sync().list_prefix(&StorePrefix::root())?;
        if listing.keys.len() > MAX_KEYS {
            return Err(refused(format!("it has more than {MAX_KEYS} keys")));
        }
        Ok(StoredHierarchy { store, keys: listing.keys.into_iter().collect() })
    }
}

#[async_trait]
impl Source for StoredHierarchy {
    fn name(&self) -> String {
        self.store.name()
    }

    fn public_options(&self) -> Vec<(String, String)> {
        self.store.public_options()
    }

    fn capabilities(&self) -> Capabilities {
        capabilities_over(self.store.capabilities())
    }

    async fn find(&self, key: &StoreKey) -> Result<Option<Reference>, StoreError> {
        if !self.keys.contains(key) {
            return Ok(None);
        }
        let target = Target::new(self.store.clone(), key.clone());
        Ok(Some(Reference::Whole { target, may_be_absent: false }))
    }

    async fn list_dir(&self, prefix: &StorePrefix) -> Result<Listing, StoreError> {
        self.store.list_dir(prefix, ListOptions::default()).await
    }
}
