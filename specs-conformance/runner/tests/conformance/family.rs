//! Makes cases of the archives in `families/`, and of the `peer-*` archives, which this repository does not hold.

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

/// The cases of every family in a folder, to be unpacked below `scratch`.
pub fn cases(families: &Path, scratch: &Path) -> Result<Vec<Case>, String> {
    let mut cases = Vec::new();
    for name in names(families)? {
        add_family(families, name, scratch, &mut cases)?;
    }
    Ok(cases)
}

/// The cases of the `peer-*` families in the folder that is shared beside this repository. Without the folder, each family that `peers.txt` lists
/// is a case that is ignored; with it, each of them must be there.
pub fn peers(home: &Path, scratch: &Path) -> Result<Vec<Case>, String> {
    let list = home.join("families/peers.txt");
    let list = fs::read_to_string(&list).map_err(|e| format!("{}: {e}", list.display()))?;
    let lines = list.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let listed = lines.filter_map(|line| line.split_whitespace().next().map(str::to_owned));
    let shared = home.join("../../shared/fixtures");
    let mut cases = Vec::new();
    let is_shared = shared.is_dir();
    let found: Vec<String> = if is_shared {
        names(&shared)?.into_iter().filter(|name| name.starts_with("peer-")).collect()
    } else {
        Vec::new()
    };
    for name in listed.filter(|name| !found.contains(name)) {
        let place = "../shared/fixtures";
        cases.push(if is_shared {
            Case::new(&*name, move || Err(format!("it is missing in {place}")))
        } else {
            Case::ignored(&*name, format!("{place} is not here"))
        });
    }
    for name in found {
        add_family(&shared, name, scratch, &mut cases)?;
    }
    Ok(cases)
}

/// The families in a folder, sorted.
fn names(folder: &Path) -> Result<Vec<String>, String> {
    let place = |e| format!("{}: {e}", folder.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(place)? {
        let name = entry.map_err(place)?.file_name().to_string_lossy().into_owned();
        names.extend(name.strip_suffix(".expected.json").map(str::to_owned));
    }
    names.sort();
    Ok(names)
}

fn add_family(
    families: &Path,
    name: String,
    scratch: &Path,
    cases: &mut Vec<Case>,
) -> Result<(), String> {
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
    add(&family, &expected, cdl.as_ref(), cases);
    Ok(())
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
