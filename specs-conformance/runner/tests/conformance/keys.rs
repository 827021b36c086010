//! Checks that no key leads out of a store.

use std::path::Path;

use zarr::store::{Payload, StoreKey};
use zarr::{Access, Json};

use crate::Check;

/// Every bad key is refused, or taken for a plain name that stays inside the store.
pub fn check(bad: &[Json]) -> Check {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let root = folder.path().join("outer").join("store");
    std::fs::create_dir_all(&root).map_err(|e| e.to_string())?;
    let registry = zarr::standard();
    for url in [root.display().to_string(), "memory://".to_owned()] {
        let store = registry.open_store(&url, Access::ReadWrite).map_err(|e| e.to_string())?;
        for key in bad.iter().filter_map(Json::as_str) {
            let Ok(key) = StoreKey::new(key) else {
                continue;
            };
            let readable = store.to_sync();
            let writeable = store.to_sync();
            let _ = readable.value(&key);
            if writeable.set(&key, Payload::from(b"x".as_slice())).is_ok() {
                let found = readable.value(&key).map_err(|e| e.to_string())?;
                if found.as_deref() != Some(b"x".as_slice()) {
                    return Err(format!("{url}: `{key}` was set and is not there"));
                }
                writeable.erase(&key).map_err(|e| e.to_string())?;
            }
        }
    }
    only_inside(folder.path())
}

fn only_inside(folder: &Path) -> Check {
    for (at, only) in [(folder.to_path_buf(), "outer"), (folder.join("outer"), "store")] {
        for entry in std::fs::read_dir(&at).map_err(|e| e.to_string())? {
            let name = entry.map_err(|e| e.to_string())?.file_name();
            if name != only {
                return Err(format!("{} was written outside the store", at.join(name).display()));
            }
        }
    }
    Ok(())
}
