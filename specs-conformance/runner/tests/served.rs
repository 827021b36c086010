//! What others wrote, in any dialect, is the same through `zarr serve`: its keys, and its elements as v3.
//!
//! A program of its own: it serves for as long as it runs, and the programs beside it make their tests themselves.

#![forbid(unsafe_code)]

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::future::pending;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use zarr::runtime::block_on;
use zarr::store::{GetOptions, StorePrefix};
use zarr::tools::CopyOptions;
use zarr::{Dialect, ErrorKind, Hierarchy, Node, OpenOptions};
use zarr_serve::{ServeOptions, Server, Targets, TargetsOptions};
use zarr_testkit::sample;

fn options() -> OpenOptions {
    OpenOptions::new(zarr::standard())
}

/// Serves paths until the process ends; returns the URL, and their names.
fn serve(targets: &[String]) -> (String, Vec<String>) {
    let how = TargetsOptions { open: options(), ..TargetsOptions::default() };
    let targets = Targets::open(targets, &how).expect("the targets open");
    let options = ServeOptions { port: Some(0), ..ServeOptions::default() };
    let server = Server::new(targets, options).expect("a port is free");
    let url = server.url().expect("it listens");
    let names = server.targets().roots().map(|(name, _)| name.to_owned()).collect();
    std::thread::spawn(move || server.run(pending(), pending()));
    (url, names)
}

/// Unpacks the families; returns the paths of their stores, and whether each is meant to be sound.
fn stores(scratch: &Path) -> Vec<(PathBuf, bool)> {
    let families = Path::new(env!("CARGO_MANIFEST_DIR")).join("../families");
    let mut all = Vec::new();
    for entry in fs::read_dir(&families).expect("the families are here") {
        let path = entry.expect("it is listed").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(name) = name.strip_suffix(".tar.gz") else { continue };
        let folder = scratch.join(name);
        let archive = GzDecoder::new(File::open(&path).expect("it opens"));
        tar::Archive::new(archive).unpack(&folder).expect("it unpacks");
        for store in fs::read_dir(&folder).expect("it is a folder") {
            all.push((store.expect("it is listed").path(), name != "malformed"));
        }
    }
    all.sort();
    all
}

/// The nodes of a hierarchy, those that can be read.
fn nodes(hierarchy: &Hierarchy) -> Vec<Node> {
    let children = hierarchy.tree("/").unwrap_or_default();
    children.iter().filter_map(|child| hierarchy.node(&child.path).ok()).collect()
}

/// Whether a copy to v3 refuses the node, whatever its codecs become.
fn is_refused(node: &Node) -> bool {
    let store = zarr::store::from_sync(zarr::stores::MemoryStore::new());
    let target = Hierarchy::of_format(store, zarr::format::of_dialect(Dialect::V3), &options());
    let codecs = [None, Some(vec!["zstd".to_owned()])];
    codecs.into_iter().all(|codecs| {
        let how = CopyOptions { codecs, ..CopyOptions::default() };
        zarr::tools::node_copy(node, std::slice::from_ref(node), &target, &how).is_err()
    })
}

/// How many hierarchies are compared at a time.
const WORKERS: usize = 6;

/// What came of some hierarchies.
#[derive(Default)]
struct Compared {
    hierarchies: usize,
    arrays: usize,
    /// Nodes that v3 cannot represent.
    refused: BTreeSet<String>,
    wrong: Vec<String>,
}

/// Compares hierarchies with what is served of them below `base`.
fn compare(stores: &[(PathBuf, bool)], base: &str, root: &Path) -> Compared {
    let mut compared = Compared::default();
    let Compared { hierarchies, arrays, refused, wrong } = &mut compared;
    for (path, is_sound) in stores {
        let Ok(local) = zarr::tools::find_node(&path.to_string_lossy(), "/", &options()) else {
            continue;
        };
        let local = local.hierarchy().clone();
        let below = path.strip_prefix(root).expect("it is there").display().to_string();
        let url = format!("{base}/{below}");
        // What cannot be read is not asked for again.
        let how = options().dialect(Dialect::V3).store_option("max_retries", "0");
        let remote = zarr::open_with(&url, &how);
        let remote = match remote {
            Ok(remote) => remote.hierarchy().clone(),
            Err(e) if !*is_sound || local.node("/").is_ok_and(|node| is_refused(&node)) => {
                refused.insert(format!("{below}: {}", e.kind().name()));
                continue;
            }
            Err(e) => {
                wrong.push(format!("{url}: {e}"));
                continue;
            }
        };
        *hierarchies += 1;
        for node in nodes(&local) {
            let at = format!("{below}{}", node.path());
            let shown = match remote.node(node.path()) {
                Ok(shown) => shown,
                Err(e) if e.kind() == ErrorKind::NotFound && is_refused(&node) => {
                    refused.insert(at);
                    continue;
                }
                Err(_) if !*is_sound => continue,
                Err(e) => {
                    wrong.push(format!("{at}: {e}"));
                    continue;
                }
            };
            if let (Node::Array(local), Node::Array(shown)) = (&node, &shown) {
                let (here, there) = (local.read_bytes(..), shown.read_bytes(..));
                match (here, there) {
                    (Ok(here), Ok(there)) if here == there => *arrays += 1,
                    // What cannot be read cannot be read through the view either.
                    (Err(_), Err(_)) => {}
                    (Ok(_), Ok(_)) => wrong.push(format!("{at}: other elements")),
                    (Err(e), Ok(_)) => wrong.push(format!("{at}: only the view reads it: {e}")),
                    (Ok(_), Err(e)) => wrong.push(format!("{at}: {e}")),
                }
            }
        }
    }
    compared
}

#[test]
fn whatever_others_wrote_is_the_same_as_v3() {
    let scratch = tempfile::tempdir().expect("a folder");
    // Every fourth, or all.
    let stores: Vec<_> = stores(scratch.path()).into_iter().step_by(sample(4, 1)).collect();
    let root = scratch.path().join("").display().to_string();
    let (base, names) = serve(&[root]);
    let families = stores.chunks(stores.len().div_ceil(WORKERS));
    let base = format!("{base}v3/{}", names[0]);
    let compared: Vec<Compared> = std::thread::scope(|scope| {
        let compare = |some| {
            let (base, root) = (&base, scratch.path());
            scope.spawn(move || compare(some, base, root))
        };
        let workers: Vec<_> = families.map(compare).collect();
        workers.into_iter().map(|worker| worker.join().expect("it ends")).collect()
    });
    let hierarchies: usize = compared.iter().map(|some| some.hierarchies).sum();
    let arrays: usize = compared.iter().map(|some| some.arrays).sum();
    let refused: BTreeSet<_> = compared.iter().flat_map(|some| &some.refused).collect();
    let wrong: Vec<_> = compared.iter().flat_map(|some| &some.wrong).collect();
    println!(
        "served: {hierarchies} hierarchies, {arrays} arrays equal as v3; v3 cannot represent: {refused:#?}"
    );
    assert!(wrong.is_empty(), "{wrong:#?}");
    let least = sample(100, 400);
    assert!(hierarchies > least && arrays > least, "{hierarchies} hierarchies, {arrays} arrays");
}

#[test]
fn keys_are_as_they_are_stored() {
    let scratch = tempfile::tempdir().expect("a folder");
    let stores: Vec<_> = stores(scratch.path()).into_iter().filter(|(_, sound)| *sound).collect();
    let named = |path: &PathBuf| path.to_string_lossy().into_owned();
    // One of each dialect and store, and every twentieth of the rest.
    let is_other = |path: &PathBuf| path.extension().is_some() || named(path).contains("lmdb");
    let chosen = stores.iter().enumerate().filter(|(i, (path, _))| i % 20 == 0 || is_other(path));
    let chosen: Vec<PathBuf> = chosen.map(|(_, (path, _))| path.clone()).collect();
    let targets: Vec<String> = chosen.iter().map(named).collect();
    let (url, names) = serve(&targets);
    let mut compared = 0;
    for (path, name) in chosen.iter().zip(&names) {
        let local = options().store(&named(path)).expect("it opens");
        let remote = options().store(&format!("{url}{name}")).expect("it opens");
        let listing = block_on(local.list_prefix(&StorePrefix::root())).expect("it is listed");
        for key in listing.keys.iter().take(40) {
            let [here, there] = [&local, &remote].map(|store| {
                let got = block_on(store.get(key, GetOptions::default())).expect("it is read");
                got.and_then(|got| got.bytes)
            });
            assert_eq!(here, there, "{name}: {key}");
            compared += 1;
        }
    }
    assert!(compared > 100, "{compared}");
}
