//! Servers give back what was copied to them.
//!
//! Of each family, one folder and one archive are copied to every server that the environment names, and compared from there; to the one
//! of `ZARR_TEST_CORPUS` all cases are, or of the further ones a sample: with `ZARR_TEST_SAMPLE=12` those whose names have a checksum that
//! 12 divides. `.ci/full servers` starts such servers and takes a sample; `.ci/full corpus` takes all.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use flate2::Crc;
use libtest_mimic::{Completion, Trial};
use zarr::store::{Payload, Store, StoreKey, SyncStore};
use zarr::stores::FilesystemStore;
use zarr::{Access, Object};

use crate::compare::{same, text};
use crate::family::Family;
use crate::{Case, Check, node, servers};

/// How many cases could be copied to the server of `ZARR_TEST_CORPUS`, and how many are.
static CORPUS: AtomicUsize = AtomicUsize::new(0);
static TAKEN: AtomicUsize = AtomicUsize::new(0);

/// What a case's store is, by how it comes to a server.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Folder,
    Archive,
}

/// Adds a case for each server that it is to be copied to.
pub fn add(
    family: &Arc<Family>,
    store_path: &str,
    case: &Object,
    format: &str,
    cases: &mut Vec<Case>,
) {
    let kind = match text(case, "store") {
        Some("lmdb") => return,
        _ if store_path.ends_with(".zip") => Kind::Archive,
        _ => Kind::Folder,
    };
    if ["malformed", "peer-zarr-metadata"].contains(&family.name.as_str()) {
        return;
    }
    let web = servers::of("ZARR_TEST_HTTP");
    let corpus = servers::of("ZARR_TEST_CORPUS");
    for name in servers::all().iter().chain(&web).chain(&corpus).map(|server| server.name.clone()) {
        let all = corpus.iter().any(|server| server.name == name);
        let id = format!("through/{name}/{}/{store_path}", family.name);
        let is_first = is_first(&name, &family.name, kind);
        let is_taken = is_first || (all && is_in_sample(&id, every()));
        if all {
            CORPUS.fetch_add(1, Ordering::Relaxed);
            TAKEN.fetch_add(usize::from(is_taken), Ordering::Relaxed);
        }
        if !is_taken {
            continue;
        }
        let (family, case, format) = (family.clone(), case.clone(), format.to_owned());
        let store_path = store_path.to_owned();
        cases.push(Case::new(id, move || {
            let from = family.store(&store_path)?;
            // The fixtures of anndata are archives that were unpacked into folders of their names.
            let kind = if from.is_dir() { Kind::Folder } else { kind };
            let below = format!("{}/{store_path}", family.name);
            let url = match std::env::var("ZARR_TEST_HTTP_ROOT") {
                Ok(root) if name == "web" => put_on_web(&from, Path::new(&root), &below)?,
                _ => put(&from, &name, &below, kind)?,
            };
            if all {
                servers::reached("ZARR_TEST_CORPUS", &name);
            }
            let url = format!("{}{url}", if kind == Kind::Archive { "zip::" } else { "" });
            match family.name.as_str() {
                // Datasets are compared at home.
                "nczarr-v2" | "peer-netcdf-c" => comes_back(&from.display().to_string(), &url),
                _ => node::check_store(&url, &case, &format),
            }
        }));
    }
}

/// One case in how many `ZARR_TEST_SAMPLE` asks for; without it, every case.
fn every() -> u32 {
    static EVERY: LazyLock<u32> = LazyLock::new(|| match std::env::var("ZARR_TEST_SAMPLE") {
        Ok(every) => {
            every.parse().ok().filter(|&every| every > 0).expect("`ZARR_TEST_SAMPLE` is a number")
        }
        Err(_) => 1,
    });
    *EVERY
}

/// Whether a case is one in so many: the same ones each time, whichever others there are.
fn is_in_sample(id: &str, every: u32) -> bool {
    let mut crc = Crc::new();
    crc.update(id.as_bytes());
    crc.sum().is_multiple_of(every)
}

/// How many cases go to the server of `ZARR_TEST_CORPUS`, for the log; nothing without such a server.
pub fn sampled() -> Option<String> {
    let (taken, all) = (TAKEN.load(Ordering::Relaxed), CORPUS.load(Ordering::Relaxed));
    let left = all.checked_sub(taken)?;
    (all > 0).then(|| format!("sample of through/: {taken} of {all} cases, {left} left out"))
}

/// Whether every value is there as it is at home.
fn comes_back(home: &str, far: &str) -> Check {
    let open = |url: &str| {
        servers::registry().open_store(url, Access::ReadOnly).map_err(|e| e.to_string())
    };
    let (home, far) = (open(home)?, open(far)?);
    for key in home.to_sync().list().map_err(|e| e.to_string())? {
        let get = |store: &Arc<dyn Store>| {
            let readable = store.to_sync();
            readable.value(&key).map_err(|e| e.to_string())
        };
        same(key.as_str(), get(&far)?, get(&home)?)?;
    }
    Ok(())
}

/// Whether no case of this family and kind was given to the server before.
fn is_first(server: &str, family: &str, kind: Kind) -> bool {
    static SEEN: LazyLock<Mutex<HashSet<String>>> = LazyLock::new(Default::default);
    let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    seen.insert(format!("{server} {family} {}", kind == Kind::Archive))
}

/// Copies every key to a server; the URL of what is there then.
fn put(from: &Path, server: &str, below: &str, kind: Kind) -> Result<String, String> {
    let url = format!("{server}://{below}");
    let set = |store: &Arc<dyn Store>, key: &StoreKey, value: Vec<u8>| -> Check {
        let writeable = store.to_sync();
        writeable.set(key, Payload::from(value)).map_err(|e| e.to_string())
    };
    let open = |url: &str| {
        servers::registry().open_store(url, Access::ReadWrite).map_err(|e| e.to_string())
    };
    if kind == Kind::Archive {
        let (above, name) = url.rsplit_once('/').ok_or("it lies in no folder")?;
        let value = fs::read(from).map_err(|e| e.to_string())?;
        let key = StoreKey::new(name).map_err(|e| e.to_string())?;
        set(&open(above)?, &key, value)?;
        return Ok(url);
    }
    let (store, folder) = (open(&url)?, FilesystemStore::new(from));
    let keys = folder.list().map_err(|e| e.to_string())?;
    for key in keys {
        let value = folder.value(&key).map_err(|e| e.to_string())?;
        set(&store, &key, value.unwrap_or_default().to_vec())?;
    }
    Ok(url)
}

/// Puts the files where the web server shows them; their URL.
fn put_on_web(from: &Path, root: &Path, below: &str) -> Result<String, String> {
    copy_files(from, &root.join(below)).map_err(|e| e.to_string())?;
    let web = servers::of("ZARR_TEST_HTTP").pop().ok_or("no web server")?;
    Ok(format!("{}/{below}", web.url))
}

fn copy_files(from: &Path, to: &Path) -> std::io::Result<()> {
    if from.is_file() {
        if let Some(above) = to.parent() {
            fs::create_dir_all(above)?;
        }
        return fs::copy(from, to).map(drop);
    }
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copy_files(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

/// One ignored test for each variable that names no server, in the place of those that would be copied to it.
pub fn without_servers() -> Vec<Trial> {
    let variables = servers::WRITEABLE.iter().chain(&["ZARR_TEST_HTTP", "ZARR_TEST_CORPUS"]);
    let missing = variables.filter(|variable| servers::of(variable).is_empty());
    let ignored = |variable: &&'static str| {
        let none = format!("`{variable}` names no server");
        let is_required = std::env::var_os("ZARR_TEST_REQUIRED").is_some();
        Trial::ignorable_test(format!("through/{variable}"), move || {
            if is_required { Err(none.into()) } else { Ok(Completion::ignored_with(none)) }
        })
    };
    missing.map(ignored).collect()
}
