//! What is served: hierarchies, and folders of them, each hierarchy under a name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use zarr::store::{ListOptions, Store, StoreKey, StorePrefix};
use zarr::stores::PrefixStore;
use zarr::sync::lock;
use zarr::{
    AccessError, Error, ErrorKind, Hierarchy, Node, NodePath, OpenOptions, Result, StoreError,
};

use crate::api::KnownNodes;
use crate::hidden::Hidden;
use crate::inside;
use crate::tiles::KnownLayers;
use crate::warm::Warm;

/// How long an opened hierarchy is used before its root is read anew.
const FRESH: Duration = Duration::from_secs(1);
/// How deep below a folder hierarchies are looked for by name.
const DEEPEST: usize = 8;
/// How deep below a folder hierarchies are listed.
const DEEPEST_LISTED: usize = 3;
/// How many hierarchies of a folder are listed, and how many names are remembered.
const MAX_HIERARCHIES: usize = 1_000;
/// Names that paths of the server begin with, and therefore no target has.
const RESERVED: [&str; 6] = ["v3", "-", "tiles", "metrics", "favicon.ico", "robots.txt"];

/// How targets are opened.
#[derive(Clone, Default)]
pub struct TargetsOptions {
    /// How hierarchies are opened and read.
    pub open: OpenOptions,
    /// Whether symbolic links that lead out of a target are followed.
    pub follow_links: bool,
    /// Bytes of decoded chunks that are kept between two answers below `/-/`; 0 for none.
    pub kept: u64,
}

/// All that is served.
#[derive(Debug)]
pub struct Targets {
    roots: Vec<Root>,
    pub(crate) hidden: Hidden,
    pub(crate) warm: Warm,
    pub(crate) nodes: KnownNodes,
    pub(crate) layers: KnownLayers,
}

/// One target, as it was named at the start.
#[derive(Debug)]
enum Root {
    Hierarchy(Arc<Served>),
    Folder(Box<Folder>),
}

/// A folder of hierarchies, which may come and go.
#[derive(Debug)]
struct Folder {
    name: String,
    /// Its path, if it is one on this machine.
    path: Option<PathBuf>,
    /// What nothing may lead out of.
    root: Option<PathBuf>,
    store: Arc<dyn Store>,
    options: OpenOptions,
    /// What was found, or not, below it, and when.
    known: Mutex<Known>,
}

type Known = BTreeMap<String, (Instant, Option<Arc<Served>>)>;

/// One hierarchy, under its name.
pub struct Served {
    name: String,
    options: OpenOptions,
    opened: Mutex<Opened>,
    /// How its archive is opened anew.
    reopen: Option<Reopen>,
    turn: Mutex<()>,
    /// Set when something could not be read: its archive may be another one now.
    pub(crate) is_doubtful: AtomicBool,
}

type Reopen = Box<dyn Fn() -> Result<Arc<dyn Store>> + Send + Sync>;

/// A hierarchy, its store, and when both were looked at.
struct Opened {
    at: Instant,
    store: Arc<dyn Store>,
    /// The file of an archive on this machine: which one, and when it changed.
    file: Option<Stamp>,
    hierarchy: Hierarchy,
}

impl std::fmt::Debug for Served {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Served").field("name", &self.name).field("store", &self.store()).finish()
    }
}

impl Served {
    /// Its name: the last segment of the target, or what a folder is called and the way to it from there, `data/x.zarr`.
    /// It is part of URLs, where it is percent-encoded.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The store of its keys.
    pub fn store(&self) -> Arc<dyn Store> {
        lock(&self.opened).store.clone()
    }

    /// Opens the archive that took the place of the one that was opened, if it is one and there is such; it may block.
    pub(crate) fn refresh(&self) -> Result<()> {
        if self.reopen.is_some() { self.hierarchy().map(drop) } else { Ok(()) }
    }

    /// How it is opened and read.
    pub(crate) fn options(&self) -> &OpenOptions {
        &self.options
    }

    /// The hierarchy, at most a second old: what others change is seen.
    ///
    /// # Errors
    /// As [`Hierarchy::open`].
    pub fn hierarchy(&self) -> Result<Hierarchy> {
        let fresh =
            |opened: &Opened| (opened.at.elapsed() < FRESH).then(|| opened.hierarchy.clone());
        if let Some(hierarchy) = fresh(&lock(&self.opened)) {
            return Ok(hierarchy);
        }
        // An archive is opened once, for all who wait.
        let _turn = self.reopen.as_ref().map(|_| lock(&self.turn));
        let (mut store, was) = {
            let opened = lock(&self.opened);
            if let Some(hierarchy) = fresh(&opened) {
                return Ok(hierarchy);
            }
            (opened.store.clone(), opened.file)
        };
        let file = stamp(&*store);
        if let Some(reopen) = &self.reopen
            && (file != was || self.is_doubtful.swap(false, Ordering::Relaxed))
        {
            store = reopen()?;
        }
        let hierarchy = Hierarchy::open(store.clone(), &self.options)?;
        let at = Instant::now();
        *lock(&self.opened) = Opened { at, store, file, hierarchy: hierarchy.clone() };
        Ok(hierarchy)
    }

    /// The node at a path.
    ///
    /// # Errors
    /// As [`Hierarchy::node`].
    pub fn node(&self, path: impl AsRef<str>) -> Result<Node> {
        self.hierarchy()?.node(path)
    }

    /// `reopen` opens its store anew.
    fn new(
        name: String,
        store: Arc<dyn Store>,
        options: &OpenOptions,
        reopen: impl Fn() -> Result<Arc<dyn Store>> + Send + Sync + 'static,
    ) -> Result<Served> {
        // Before it is read: what changes in between is seen the next time.
        let file = stamp(&*store);
        let mut options = options.clone();
        let mut hierarchy = Hierarchy::open(store.clone(), &options)?;
        if let Ok(root) = hierarchy.node(NodePath::root())
            && let Some(narrow) = zarr::nczarr::narrow_characters(&root, &options)
        {
            options = narrow;
            hierarchy = Hierarchy::open(store.clone(), &options)?;
        }
        let is_archive = store.name().starts_with("zip:");
        let reopen = is_archive.then(|| Box::new(reopen) as Reopen);
        let opened = Mutex::new(Opened { at: Instant::now(), store, file, hierarchy });
        Ok(Served {
            name,
            options,
            opened,
            reopen,
            turn: Mutex::default(),
            is_doubtful: AtomicBool::new(false),
        })
    }
}

/// When a file changed, and how many bytes it has.
type Stamp = (SystemTime, u64, u64);

/// That of the archive of a store, if it is on this machine. A file that is put in its place has another number.
fn stamp(store: &dyn Store) -> Option<Stamp> {
    let name = store.name();
    let path =
        percent_encoding::percent_decode_str(name.strip_prefix("zip://")?).decode_utf8().ok()?;
    let file = Path::new(&*path)
        .ancestors()
        .find_map(|path| std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file))?;
    #[cfg(unix)]
    let number = std::os::unix::fs::MetadataExt::ino(&file);
    #[cfg(not(unix))]
    let number = 0;
    Some((file.modified().ok()?, file.len(), number))
}

impl Targets {
    /// Opens paths and URLs. A name that is taken, or that the server needs itself, gets `-2`, `-3`, … at its end.
    ///
    /// # Errors
    /// As [`Hierarchy::open`] for what is neither a hierarchy nor a folder; [`AccessError::Argument`] for a node inside a
    /// draft.
    pub fn open(targets: &[String], options: &TargetsOptions) -> Result<Targets> {
        let mut names: BTreeSet<String> = RESERVED.map(str::to_owned).into();
        let (mut roots, mut hidden) = (Vec::new(), Hidden::default());
        for target in targets {
            let name = free_name(&name_of(target), &names);
            names.insert(name.clone());
            let root = open_root(target, name.clone(), options)?;
            let (store, path) = match &root {
                Root::Hierarchy(served) => (served.store(), inside::folder_of(&*served.store())),
                Root::Folder(folder) => (folder.store.clone(), folder.path.clone()),
            };
            hidden.add(&*store, path.as_deref(), &name);
            roots.push(root);
        }
        let (warm, nodes) = (Warm::new(options.kept), KnownNodes::default());
        Ok(Targets { roots, hidden, warm, nodes, layers: KnownLayers::default() })
    }

    /// The names of the targets, with whether each is a folder of hierarchies.
    pub fn roots(&self) -> impl Iterator<Item = (&str, bool)> {
        self.roots.iter().map(|root| match root {
            Root::Hierarchy(served) => (served.name(), false),
            Root::Folder(folder) => (folder.name.as_str(), true),
        })
    }

    /// The references in targets that may not be followed under the options with which these were opened, each with the name of the
    /// target: requests for them would fail, and no other error would tell before.
    pub fn refused(&self) -> Vec<(&str, StoreError)> {
        let mut refused = Vec::new();
        for root in &self.roots {
            let Root::Hierarchy(served) = root else { continue };
            // References that cannot be read now are named when they are requested.
            let found = served.store().to_sync().refused_targets().unwrap_or_default();
            refused.extend(found.into_iter().map(|error| (served.name(), error)));
        }
        refused
    }

    /// The hierarchy whose name a path of segments begins with, and what follows the name, without a `/` before it.
    ///
    /// # Errors
    /// When a folder could not be looked into.
    pub fn find<'p>(&self, path: &'p str) -> Result<Option<(Arc<Served>, &'p str)>> {
        let (first, rest) = path.split_once('/').unwrap_or((path, ""));
        for root in &self.roots {
            match root {
                Root::Hierarchy(served) if served.name == first => {
                    return Ok(Some((served.clone(), rest)));
                }
                Root::Folder(folder) if folder.name == first => return folder.find(rest),
                _ => {}
            }
        }
        Ok(None)
    }

    /// The store of a folder, by the name of the folder, and what follows the name.
    pub(crate) fn folder<'p>(&self, path: &'p str) -> Option<(&Arc<dyn Store>, &'p str)> {
        let (first, rest) = path.split_once('/').unwrap_or((path, ""));
        self.roots.iter().find_map(|root| match root {
            Root::Folder(folder) if folder.name == first => Some((&folder.store, rest)),
            _ => None,
        })
    }

    /// Has archives looked at anew: something could not be read.
    pub(crate) fn doubt(&self) {
        for root in &self.roots {
            match root {
                Root::Hierarchy(served) => served.is_doubtful.store(true, Ordering::Relaxed),
                Root::Folder(folder) => {
                    let known = lock(&folder.known);
                    let all = known.values().filter_map(|(_, served)| served.as_ref());
                    all.for_each(|served| served.is_doubtful.store(true, Ordering::Relaxed));
                }
            }
        }
    }

    /// All hierarchies, those in folders looked for now: up to three levels deep, and at most 1,000 of each folder.
    ///
    /// # Errors
    /// When a folder could not be listed.
    pub fn list(&self) -> Result<Vec<Arc<Served>>> {
        let mut all = Vec::new();
        for root in &self.roots {
            match root {
                Root::Hierarchy(served) => all.push(served.clone()),
                Root::Folder(folder) => folder.list("", DEEPEST_LISTED, &mut all)?,
            }
        }
        Ok(all)
    }
}

impl Folder {
    /// The outermost hierarchy on the way along `path`.
    fn find<'p>(&self, path: &'p str) -> Result<Option<(Arc<Served>, &'p str)>> {
        let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
        for end in ends.take(DEEPEST) {
            if let Some(served) = self.served(&path[..end])? {
                return Ok(Some((served, path[end..].trim_start_matches('/'))));
            }
        }
        Ok(None)
    }

    /// The hierarchy at `below`, if one is there.
    fn served(&self, below: &str) -> Result<Option<Arc<Served>>> {
        if StoreKey::new(below).is_err() {
            return Ok(None);
        }
        let known = lock(&self.known).get(below).cloned();
        match known {
            Some((at, known)) if at.elapsed() < FRESH => return Ok(known),
            // It is looked for anew: another one may be there.
            Some((_, Some(served))) if served.hierarchy().is_ok() => {
                lock(&self.known).insert(below.to_owned(), (Instant::now(), Some(served.clone())));
                return Ok(Some(served));
            }
            _ => {}
        }
        let found = match self.open(below) {
            Ok(served) => Some(Arc::new(served)),
            Err(e) if e.kind() == ErrorKind::NotFound => None,
            Err(e) => return Err(e),
        };
        let mut known = lock(&self.known);
        if known.len() >= MAX_HIERARCHIES {
            known.clear();
        }
        known.insert(below.to_owned(), (Instant::now(), found.clone()));
        Ok(found)
    }

    fn open(&self, below: &str) -> Result<Served> {
        let name = format!("{}/{below}", self.name);
        match &self.path {
            // The store of a path is an archive or a database where that is one.
            Some(path) => {
                let at = path.join(below);
                let Some(at) = at.to_str().filter(|_| at.exists()) else {
                    return Err(AccessError::NotFound { looked_for: below.to_owned() }.into());
                };
                let (at, options, root) = (at.to_owned(), self.options.clone(), self.root.clone());
                let open = move || {
                    let store = options.store(&at)?;
                    Ok(match &root {
                        Some(root) => inside::guarded(&store, Path::new(&at), root),
                        None => store,
                    })
                };
                Served::new(name, open()?, &self.options, open)
            }
            None => {
                let prefix = StorePrefix::new(format!("{below}/"))?;
                let store: Arc<dyn Store> = Arc::new(PrefixStore::new(self.store.clone(), prefix));
                let same = store.clone();
                Served::new(name, store, &self.options, move || Ok(same.clone()))
            }
        }
    }

    fn list(&self, below: &str, depth: usize, all: &mut Vec<Arc<Served>>) -> Result<()> {
        let prefix = if below.is_empty() { String::new() } else { format!("{below}/") };
        let prefix = StorePrefix::new(prefix)?;
        let listing =
            zarr::runtime::block_on(self.store.list_dir(&prefix, ListOptions::CANDIDATES))?;
        let files = listing.keys.iter().map(StoreKey::as_str).filter(|key| is_archive(key));
        let folders = listing.prefixes.iter().map(|it| (it.as_str().trim_end_matches('/'), true));
        let mut entries: Vec<_> = files.map(|key| (key, false)).chain(folders).collect();
        entries.sort_unstable();
        for (entry, is_folder) in entries {
            if all.len() >= MAX_HIERARCHIES {
                return Ok(());
            }
            match self.served(entry) {
                Ok(Some(served)) => all.push(served),
                Ok(None) if is_folder && depth > 1 => self.list(entry, depth - 1, all)?,
                // What cannot be opened is reported when it is requested.
                Ok(None) | Err(_) => {}
            }
        }
        Ok(())
    }
}

/// Whether a file is opened as a store by its name.
fn is_archive(name: &str) -> bool {
    let ending = name.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    ["zip", "ozx", "lmdb", "mdb"].contains(&ending.as_str())
}

fn open_root(target: &str, name: String, options: &TargetsOptions) -> Result<Root> {
    let (url, open) = match zarr::tools::netcdf_url(target)? {
        Some(url) => url.hierarchy(&options.open)?,
        None => (zarr::tools::absolute_url(target), options.open.clone()),
    };
    let store = open.store(&url)?;
    let path = inside::folder_of(&*store);
    let mut store = store;
    let root = path.clone().filter(|_| !options.follow_links);
    if let Some(root) = &root {
        store = inside::guarded(&store, root, root);
    }
    let (of_reopen, at) = (open.clone(), url.clone());
    match Served::new(name.clone(), store.clone(), &open, move || Ok(of_reopen.store(&at)?)) {
        Ok(served) => Ok(Root::Hierarchy(Arc::new(served))),
        Err(e) if e.kind() == ErrorKind::NotFound => {
            if let Ok((hierarchy, path)) = Hierarchy::locate(&url, &open) {
                let at = hierarchy.store().name().to_owned();
                if path.is_root() {
                    // A netCDF file or an N5 container, which its first bytes or its names tell: the store has a URL of its own.
                    let store = open.store(&at)?;
                    let of_reopen = open.clone();
                    let reopen = move || Ok(of_reopen.store(&at)?);
                    let served = Served::new(name, store, &open, reopen)?;
                    return Ok(Root::Hierarchy(Arc::new(served)));
                }
                let why = format!(
                    "{path} is a node of the hierarchy {at}, whose documents are elsewhere; serve that one"
                );
                return Err(Error::from(AccessError::Argument(why)).at_store(url));
            }
            let prefix = StorePrefix::root();
            let listing = zarr::runtime::block_on(store.list_dir(&prefix, ListOptions::CANDIDATES));
            if !listing.is_ok_and(|it| !it.keys.is_empty() || !it.prefixes.is_empty()) {
                return Err(e);
            }
            let known = Mutex::default();
            Ok(Root::Folder(Box::new(Folder { name, path, root, store, options: open, known })))
        }
        Err(e) => Err(e),
    }
}

/// The last segment of a path or URL: `x.zarr`, of a bucket its name.
fn name_of(target: &str) -> String {
    let target = zarr::tools::absolute_url(target);
    let target = target.rsplit("::").next().unwrap_or_default();
    let is_url = target.contains("://");
    let target = if is_url { target.split(['?', '#']).next().unwrap_or_default() } else { target };
    let target = match target.rsplit_once('#') {
        Some((before, mode)) if mode.contains("mode=") => before,
        _ => target,
    };
    let last = target.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or_default();
    let name = if is_url {
        percent_encoding::percent_decode_str(last).decode_utf8_lossy().into_owned()
    } else {
        last.to_owned()
    };
    let name = name.replace(['/', '\\', '\0'], "_");
    if [".", "..", ""].contains(&name.as_str()) { "root".into() } else { name }
}

/// The name, or the first of `name-2`, `name-3`, … that is free.
fn free_name(name: &str, taken: &BTreeSet<String>) -> String {
    let others = (2..).map(|n| format!("{name}-{n}"));
    [name.to_owned()]
        .into_iter()
        .chain(others)
        .find(|name| !taken.contains(name))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_last_segments() {
        for (target, name) in [
            ("/data/x.zarr", "x.zarr"),
            ("/data/x.zarr/", "x.zarr"),
            ("/data/x.zip", "x.zip"),
            ("/data/x.nc#mode=nczarr,file", "x.nc"),
            ("file:///data/a%20b.zarr", "a b.zarr"),
            ("file:///data/a%2F..%2Fb", "a_.._b"),
            ("s3://bucket/path/x.zarr", "x.zarr"),
            ("s3://bucket", "bucket"),
            ("https://host/x.zarr?token=secret", "x.zarr"),
            ("zip::https://host/x.zip", "x.zip"),
            ("/", "root"),
        ] {
            assert_eq!(name_of(target), name, "{target}");
        }
        let taken = ["x", "x-2"].map(str::to_owned).into();
        assert_eq!(free_name("x", &taken), "x-3");
        assert_eq!(free_name("y", &taken), "y");
    }
}
