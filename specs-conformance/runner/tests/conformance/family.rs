//! Which cases lie in the archives of `families/`?

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use flate2::read::GzDecoder;
use zarr::{Json, Object};

use crate::compare::{objects, parse, text};
use crate::{Case, documents, far, keys, malformed, memory, netcdf, node};

/// An archive of stores, unpacked when its first case runs.
pub struct Family {
    /// The archive's name without its ending.
    pub name: String,
    archive: PathBuf,
    folder: PathBuf,
    unpacked: OnceLock<Result<(), String>>,
}

impl Family {
    /// Where the store of a case lies, unpacked.
    pub fn store(&self, store_path: &str) -> Result<PathBuf, String> {
        let unpack = || {
            let archive = File::open(&self.archive)?;
            tar::Archive::new(GzDecoder::new(archive)).unpack(&self.folder)
        };
        let unpack = || unpack().map_err(|e| format!("{}: {e}", self.archive.display()));
        self.unpacked.get_or_init(unpack).clone()?;
        Ok(self.folder.join(store_path))
    }
}

/// The cases of every family, to be unpacked below `scratch`.
pub fn cases(families: &Path, scratch: &Path) -> Result<Vec<Case>, String> {
    let place = |e| format!("{}: {e}", families.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(families).map_err(place)? {
        let name = entry.map_err(place)?.file_name().to_string_lossy().into_owned();
        names.extend(name.strip_suffix(".expected.json").map(str::to_owned));
    }
    names.sort();
    let mut cases = Vec::new();
    for name in names {
        let path = families.join(format!("{name}.expected.json"));
        let text = fs::read(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let Json::Object(expected) = parse(&text, &path.display().to_string())? else {
            return Err(format!("{}: not an object", path.display()));
        };
        let family = Arc::new(Family {
            archive: families.join(format!("{name}.tar.gz")),
            folder: scratch.join(&name),
            unpacked: OnceLock::new(),
            name,
        });
        let cdl = netcdf::texts(families, &family.name);
        add(&family, &expected, cdl.as_ref(), &mut cases);
    }
    Ok(cases)
}

fn add(family: &Arc<Family>, expected: &Object, cdl: Option<&Object>, cases: &mut Vec<Case>) {
    let format = text(expected, "format").unwrap_or_default().to_owned();
    if let Some(bad) = expected.get("bad_keys").and_then(Json::as_object) {
        let bad = bad.get("keys").and_then(Json::as_array).unwrap_or_default().to_vec();
        cases.push(Case::new(format!("{}/bad_keys", family.name), move || keys::check(&bad)));
    }
    let all = objects(expected, "cases");
    for case in &all {
        let store_path = text(case, "store_path").unwrap_or_default();
        let case = with_nodes_of_its_twin(case, &all);
        far::add(family, store_path, &case, &format, cases);
        let (family, format) = (family.clone(), format.clone());
        let id = format!("{}/{store_path}", family.name);
        let cdl = netcdf::cdl_of(&case, cdl);
        cases.push(Case::new(id.clone(), move || {
            let store = family.store(text(&case, "store_path").unwrap_or_default())?;
            match family.name.as_str() {
                "malformed" => {
                    malformed::check(&store, &case).and_then(|()| memory::check(&id, &store, &case))
                }
                "peer-zarr-metadata" => {
                    documents::check(&store, text(&case, "store_path").unwrap_or_default())
                }
                "nczarr-v2" | "peer-netcdf-c" => {
                    node::check_keys(&store.display().to_string(), &case)
                        .and_then(|()| netcdf::check(&store, &case, cdl.as_deref()))
                }
                _ => node::check_store(&store.display().to_string(), &case, &format),
            }
        }));
    }
}

/// An archive of a folder that is a case of its own holds that folder's nodes: `data.zipped.zarr.zip` is of `data.zarr`.
fn with_nodes_of_its_twin(case: &Object, all: &[&Object]) -> Object {
    let mut case = case.clone();
    let path = text(&case, "store_path").unwrap_or_default();
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let twin = format!("{folder}/{}.zarr", name.split('.').next().unwrap_or_default());
    let twin =
        all.iter().find(|other| name.ends_with(".zip") && text(other, "store_path") == Some(&twin));
    if let Some(nodes) = twin.and_then(|twin| twin.get("nodes")) {
        case.insert("nodes", nodes.clone());
    }
    case
}
