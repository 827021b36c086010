//! Finds the stores that others wrote, and copies each into memory.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::read::GzDecoder;
use zarr::store::{Payload, Store, StoreKey, SyncStore, from_sync};
use zarr::stores::MemoryStore;
use zarr::{Json, Object, OpenOptions};

/// Families that hold no hierarchies, or broken ones only.
const OTHERS: [&str; 3] = ["malformed", "peer-zarr-metadata", "peer-tensorstore-zip"];

/// A store that another implementation wrote.
#[derive(Clone, Debug)]
pub struct Fixture {
    /// The family and the path in its archive.
    pub id: String,
    pub path: PathBuf,
}

impl Fixture {
    /// The store as it is on the disk.
    pub fn open(&self) -> Result<Arc<dyn Store>, String> {
        let options = OpenOptions::new(zarr::standard());
        options.store(&self.path.display().to_string()).map_err(|e| format!("{}: {e}", self.id))
    }

    /// Its keys and values.
    pub fn values(&self) -> Result<Vec<(StoreKey, Vec<u8>)>, String> {
        let store = self.open()?.to_sync();
        let place = |e: zarr::StoreError| format!("{}: {e}", self.id);
        let keys = store.list().map_err(place)?;
        let value = |key: StoreKey| {
            let value = store.value(&key).map_err(place)?.unwrap_or_default();
            Ok((key, value.to_vec()))
        };
        keys.into_iter().map(value).collect()
    }
}

/// A store in memory.
pub fn in_memory(values: &[(StoreKey, Vec<u8>)]) -> (Arc<MemoryStore>, Arc<dyn Store>) {
    let memory = Arc::new(MemoryStore::new());
    for (key, value) in values {
        memory.set(key, Payload::from(&value[..])).expect("memory takes values");
    }
    let store: Arc<dyn Store> = from_sync(MemoryStore::clone(&memory));
    (memory, store)
}

/// The families in a folder, unpacked below `scratch`: those whose names `is_taken`.
pub fn of_families(
    folder: &Path,
    scratch: &Path,
    is_taken: impl Fn(&str) -> bool,
) -> Result<Vec<Fixture>, String> {
    let place = |e: std::io::Error| format!("{}: {e}", folder.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(place)? {
        let name = entry.map_err(place)?.file_name().to_string_lossy().into_owned();
        names.extend(name.strip_suffix(".expected.json").map(str::to_owned));
    }
    names.sort();
    names.retain(|name| !OTHERS.contains(&name.as_str()) && is_taken(name));
    let mut fixtures = Vec::new();
    for name in names {
        fixtures.extend(of_family(folder, scratch, &name)?);
    }
    Ok(fixtures)
}

/// The stores of one family, unpacked.
pub fn of_family(folder: &Path, scratch: &Path, name: &str) -> Result<Vec<Fixture>, String> {
    let to = scratch.join(name);
    let archive = folder.join(format!("{name}.tar.gz"));
    let opened = File::open(&archive).map_err(|e| format!("{}: {e}", archive.display()))?;
    let unpacked = tar::Archive::new(GzDecoder::new(opened)).unpack(&to);
    unpacked.map_err(|e| format!("{}: {e}", archive.display()))?;
    let expected = folder.join(format!("{name}.expected.json"));
    let text = fs::read(&expected).map_err(|e| format!("{}: {e}", expected.display()))?;
    let json = Json::parse(&text).map_err(|e| format!("{}: {e}", expected.display()))?;
    let cases = json.as_object().and_then(|object| object.get("cases"));
    let cases = cases.and_then(Json::as_array).unwrap_or_default();
    let path = |case: &Object| case.get("store_path").and_then(Json::as_str).map(str::to_owned);
    let paths = cases.iter().filter_map(Json::as_object).filter_map(path);
    let fixture = |path: String| Fixture { id: format!("{name}/{path}"), path: to.join(path) };
    Ok(paths.map(fixture).collect())
}
