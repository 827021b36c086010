//! Tells whether the place of a copy is that of its source, so that to erase the one would erase the other.
//!
//! Files and folders are compared by their identity in the system, so that links, hard links and mounts make no difference. Other stores
//! are compared by name, and, before something is erased, by a key that is put into the target: the source must not have it. What a store
//! of references leads to is a part of the source.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use zarr_core::format::copy_journal;
use zarr_core::store::{GetOptions, Store, StoreKey};
use zarr_core::{AccessError, Error, Hierarchy, NodePath, Result};

use super::plan::Plan;
use crate::errors::at_key;
use crate::local_path::local_path;
use crate::target::split_at_store;

/// The store of a plan's source; a plan that was read from JSON has none.
#[derive(Clone, Default)]
pub(super) struct SourceStore(pub Option<Arc<dyn Store>>);

impl std::fmt::Debug for SourceStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SourceStore")
    }
}

/// Plans that say the same are equal, whatever store they read.
impl PartialEq for SourceStore {
    fn eq(&self, _: &SourceStore) -> bool {
        true
    }
}

/// What a file or folder is, whatever its name.
#[cfg(unix)]
pub(super) type Identity = (u64, u64);
#[cfg(not(unix))]
pub(super) type Identity = PathBuf;

#[cfg(unix)]
pub(super) fn identity(path: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    let found = std::fs::metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

#[cfg(not(unix))]
pub(super) fn identity(path: &Path) -> Option<Identity> {
    std::fs::canonicalize(path).ok()
}

impl Plan {
    /// Refuses to erase the place of the copy if that would erase the source, as far as that is known without a change of either.
    ///
    /// # Errors
    /// [`AccessError::Argument`]; what reading the source's references reports.
    pub(super) fn check_source_stays(&self, target: &Hierarchy) -> Result<()> {
        let is_lost = self.is_in_target(target)
            || match &self.reader.0 {
                Some(source) => leads_to(source, (target, &self.at))?,
                None => false,
            };
        if is_lost { Err(self.refusal(target)) } else { Ok(()) }
    }

    /// As [`Plan::check_source_stays`]; puts a key into the target and erases it, where only that tells.
    ///
    /// # Errors
    /// [`AccessError::Argument`]; what the target's store reports.
    pub(super) fn prove_source_stays(&self, target: &Hierarchy) -> Result<()> {
        self.check_source_stays(target)?;
        if self.is_seen_in_source(target)? { Err(self.refusal(target)) } else { Ok(()) }
    }

    fn refusal(&self, target: &Hierarchy) -> Error {
        let why = "it contains its source, or is inside it: overwriting it would erase what is to be copied";
        let error = Error::from(AccessError::Argument(why.into()));
        let hint = "copy to another place, and put the copy in place of the source afterwards";
        error.at_store(target.store().name()).at_path(&self.at).with_hint(hint)
    }

    fn is_in_target(&self, target: &Hierarchy) -> bool {
        let (from, to) = (&self.store, &target.store().name());
        let is_one_store = self.reader.0.as_ref().is_some_and(|source| {
            let (a, b) = (source.as_sync(), target.store().as_sync());
            Arc::ptr_eq(source, target.store()) || a.zip(b).is_some_and(|(a, b)| Arc::ptr_eq(a, b))
        });
        if is_one_store {
            return self.nodes_meet();
        }
        if let (Some(from), Some(to)) = (Local::of(from), Local::of(to)) {
            return from.scheme == to.scheme && self.files_meet(target, &from, &to);
        }
        if to == "memory://"
            || endpoint(&target.store().public_options()) != endpoint(&self.store_options)
        {
            return false;
        }
        self.names_meet(from, to)
    }

    /// Whether one place is in the other, for stores of these names on one server.
    fn names_meet(&self, from: &str, to: &str) -> bool {
        places_in_one((from, &self.from), (to, &self.at))
    }

    /// Whether one node is in the other, if both are in one hierarchy.
    fn nodes_meet(&self) -> bool {
        self.from.is_within(&self.at) || self.at.is_within(&self.from)
    }

    /// Whether one place is in the other, for stores of these files or folders.
    fn files_meet(&self, target: &Hierarchy, from: &Local<'_>, to: &Local<'_>) -> bool {
        if identity(&from.path).is_some() && identity(&from.path) == identity(&to.path) {
            return self.names_meet(&from.inner, &to.inner);
        }
        if from.scheme != "file" {
            return false;
        }
        let (from, to) = (&from.path, &to.path);
        let roots = ["", "meta/root", "data/root"].map(|root| from.join(root));
        let own = roots.iter().filter_map(|root| identity(&folder(root, &self.from)));
        let own: Vec<Identity> = own.collect();
        if self.folders_of(to, &self.at).iter().any(|place| is_below_any(place, &own)) {
            return true;
        }
        // A node of the target may be the source by another mount.
        let below = target.tree(&self.at).unwrap_or_default();
        let erased = std::iter::once(&self.at).chain(below.iter().map(|child| &child.path));
        let erased = erased.flat_map(|path| self.folders_of(to, path));
        let erased: Vec<Identity> = erased.filter_map(|place| identity(&place)).collect();
        let nodes = std::iter::once(&self.from).chain(self.arrays.iter().map(|array| &array.from));
        let mut sources = nodes.flat_map(|node| roots.iter().map(|root| folder(root, node)));
        sources.any(|place| is_below_any(&place, &erased))
    }

    /// The folders in which a node of the target is stored.
    fn folders_of(&self, to: &Path, path: &NodePath) -> Vec<PathBuf> {
        match &*self.format {
            "v2" | "v3" => vec![folder(to, path)],
            _ if path.is_root() => vec![to.to_owned()],
            _ => ["meta/root", "data/root"].map(|root| folder(&to.join(root), path)).into(),
        }
    }

    /// Whether a key that is put into the target is in the source.
    fn is_seen_in_source(&self, target: &Hierarchy) -> Result<bool> {
        let Some(source) = &self.reader.0 else { return Ok(false) };
        let (from, to) = (source.name(), target.store().name());
        let is_archive = to.starts_with("zip:") || to.starts_with("lmdb:");
        if is_archive || Local::of(&from).is_some() && Local::of(&to).is_some() {
            return Ok(false);
        }
        let name = format!("{}same-place-{}", copy_journal(&self.at).as_str(), self.begun);
        // Where one of the stores is in the other by its name, the key is put into the inner one.
        let nested = (key_below(&to, &from, &name), key_below(&from, &to, &name));
        let is_nested = nested.0.is_some() || nested.1.is_some();
        let (seen, put) = match nested {
            (Some(seen), _) => (seen, name.clone()),
            (None, Some(put)) => (name.clone(), put),
            (None, None) => (name.clone(), name.clone()),
        };
        let (seen, put) = (StoreKey::new(seen)?, StoreKey::new(put)?);
        let (source, store) = (source.to_sync(), target.store().to_sync());
        store.set(&put, b"{}"[..].into()).map_err(|e| at_key(e, &*store, &put))?;
        // A source that refuses the key is not the target.
        let is_seen = source.get(&seen, GetOptions::default()).is_ok_and(|found| found.is_some());
        store.erase(&put).map_err(|e| at_key(e, &*store, &put))?;
        let meet =
            if from == to || !is_nested { self.nodes_meet() } else { self.names_meet(&from, &to) };
        Ok(is_seen && meet)
    }
}

/// Whether a place is one of these folders, or in one.
fn is_below_any(place: &Path, folders: &[Identity]) -> bool {
    above(place).iter().any(|it| folders.contains(it))
}

/// The key of a name in the inner store, as the outer one has it.
fn key_below(inner: &str, outer: &str, name: &str) -> Option<String> {
    let rest = inner.trim_end_matches('/').strip_prefix(outer.trim_end_matches('/'))?;
    let is_below = rest.is_empty() || rest.starts_with('/');
    is_below.then(|| format!("{rest}/{name}").trim_start_matches('/').to_owned())
}

/// Whether a store of references reads from the place of a node, or the place is in what it reads. Other stores are compared by their
/// names and those of the nodes.
fn leads_to(source: &Arc<dyn Store>, (target, at): (&Hierarchy, &NodePath)) -> Result<bool> {
    let name = source.name();
    let places = source.to_sync().places().map_err(|e| Error::from(e).at_store(&name))?;
    if places == [name] {
        return Ok(false);
    }
    let (to, root) = (target.store().name(), NodePath::root());
    let Some(to_local) = Local::of(&to) else {
        let meet = places.iter().any(|place| places_in_one((place, &root), (&to, at)));
        return Ok(to != "memory://" && meet);
    };
    let read: Vec<Local<'_>> = places.iter().filter_map(|place| Local::of(place)).collect();
    if to_local.scheme != "file" {
        let archive = identity(&to_local.path);
        return Ok(archive.is_some()
            && read.iter().any(|place| {
                let is_all_of_it = place.scheme == "file";
                identity(&place.path) == archive
                    && (is_all_of_it || places_in_one((&place.inner, &root), (&to_local.inner, at)))
            }));
    }
    let nodes = ["", "meta/root", "data/root"].map(|root| folder(&to_local.path.join(root), at));
    let erased: Vec<Identity> = nodes.iter().filter_map(|node| identity(node)).collect();
    // A link in what is erased is erased, too, wherever it leads.
    let is_erased = |path: &Path| {
        let mut named = path.ancestors().filter_map(identity);
        named.any(|it| erased.contains(&it)) || above(path).iter().any(|it| erased.contains(it))
    };
    let outer = above(&nodes[0]);
    let mut folders = HashSet::new();
    Ok(read.iter().any(|place| {
        let path = place.path.as_path();
        if path.is_dir() {
            return is_erased(path) || identity(path).is_some_and(|it| outer.contains(&it));
        }
        // References may lead to millions of files, in few folders.
        let is_new = path.parent().is_some_and(|folder| folders.insert(folder.to_owned()));
        path.is_symlink() && is_erased(path) || is_new && path.parent().is_some_and(is_erased)
    }))
}

/// Whether one of some places, as [`Store::places`] names them, is this file, or a folder or an archive that it is in. The file may
/// be absent. Links and hard links make no difference. The folder of a node stands for its whole hierarchy.
pub fn is_in_places(file: &Path, places: &[String]) -> bool {
    let own = identity(file);
    let outer = above(&std::path::absolute(file).unwrap_or_else(|_| file.to_owned()));
    let is_or_holds = |path: &Path| {
        identity(path).is_some_and(|it| own.as_ref() == Some(&it) || outer.contains(&it))
    };
    places.iter().any(|name| {
        let Some(place) = Local::of(name) else { return false };
        // A folder of LMDB has a file with locks beside the data.
        let lmdb = place.path.parent().filter(|_| place.path.ends_with(DATA));
        if is_or_holds(&place.path) || lmdb.is_some_and(is_or_holds) {
            return true;
        }
        // A file of others may lie in a hierarchy, and is no node.
        place.path.is_dir()
            && (is_or_holds(hierarchy_of(&place.path))
                || Local::of(split_at_store(name).0).is_some_and(|top| is_or_holds(&top.path)))
    })
}

/// The folder of the hierarchy that a node's folder is in, as far up as there are documents.
fn hierarchy_of(node: &Path) -> &Path {
    node.ancestors().take_while(|folder| is_node(folder)).last().unwrap_or(node)
}

/// Whether the folder has a document of a node.
fn is_node(folder: &Path) -> bool {
    ["zarr.json", ".zgroup", ".zarray"].iter().any(|name| folder.join(name).is_file())
}

/// Whether one of two nodes' places is in the other, as far as the names of their stores and the files of this machine tell.
///
/// # Errors
/// What reading the source's references reports.
pub(crate) fn places_meet(
    (source, from): (&Hierarchy, &NodePath),
    (target, to): (&Hierarchy, &NodePath),
) -> Result<bool> {
    if leads_to(source.store(), (target, to))? {
        return Ok(true);
    }
    Ok(names_of_places_meet((source, from), (target, to)))
}

fn names_of_places_meet(
    (source, from): (&Hierarchy, &NodePath),
    (target, to): (&Hierarchy, &NodePath),
) -> bool {
    let stores = (source.store(), target.store());
    let same = stores.0.as_sync().zip(stores.1.as_sync()).is_some_and(|(a, b)| Arc::ptr_eq(a, b));
    if same || Arc::ptr_eq(stores.0, stores.1) {
        return from.is_within(to) || to.is_within(from);
    }
    let names = (stores.0.name(), stores.1.name());
    if let (Some(a), Some(b)) = (Local::of(&names.0), Local::of(&names.1)) {
        let (place_a, place_b) = (place_of(&a, from), place_of(&b, to));
        let identities = (identity(&place_a), identity(&place_b));
        if a.scheme != "file" && a.scheme == b.scheme && identities.0 == identities.1 {
            return identities.0.is_some() && places_in_one((&a.inner, from), (&b.inner, to));
        }
        let a_is_within = identities.1.is_some_and(|outer| above(&place_a).contains(&outer));
        let b_is_within = identities.0.is_some_and(|outer| above(&place_b).contains(&outer));
        return a_is_within || b_is_within;
    }
    let endpoints = (stores.0.public_options(), stores.1.public_options());
    names.1 != "memory://"
        && endpoint(&endpoints.0) == endpoint(&endpoints.1)
        && places_in_one((&names.0, from), (&names.1, to))
}

/// Where a node of a local store is: its folder, or the file of the whole store.
fn place_of(local: &Local<'_>, node: &NodePath) -> PathBuf {
    match local.scheme {
        "file" => folder(&local.path, node),
        _ => local.path.clone(),
    }
}

/// Whether one of two nodes' places is in the other, for stores of these names on one server or in one archive.
fn places_in_one(from: (&str, &NodePath), to: (&str, &NodePath)) -> bool {
    let (from, to) = (place_name(from), place_name(to));
    from.starts_with(&to) || to.starts_with(&from)
}

/// The name of a node's place, which ends in `/`.
fn place_name((store, path): (&str, &NodePath)) -> String {
    let place = format!("{}/{}", store.trim_end_matches('/'), path.relative());
    format!("{}/", place.trim_end_matches('/'))
}

/// The file or folder of a store.
pub(crate) struct Local<'a> {
    pub scheme: &'a str,
    pub path: PathBuf,
    /// Where in an archive or an LMDB file the store begins.
    inner: String,
}

impl<'a> Local<'a> {
    /// The file or folder of a store with this name, if it has one.
    pub fn of(url: &'a str) -> Option<Local<'a>> {
        let (scheme, _) = url.split_once("://")?;
        let path = local_path(url, &url[..scheme.len() + "://".len()])?;
        let path = Some(path).filter(|path| path.has_root())?;
        if scheme == "file" {
            return Some(Local { scheme, path, inner: String::new() });
        }
        if !["zip", "lmdb"].contains(&scheme) {
            return None;
        }
        let found = path.ancestors().find(|path| path.exists())?;
        let is_archive = found.is_file() || found.join(DATA).exists();
        let found = if is_archive { found } else { &path };
        let inner = format!("/{}", path.strip_prefix(found).ok()?.display());
        let data = found.join(DATA);
        let path = if data.exists() { data } else { found.to_owned() };
        Some(Local { scheme, path, inner })
    }
}

/// The file of a folder of LMDB.
const DATA: &str = "data.mdb";

fn folder(root: &Path, node: &NodePath) -> PathBuf {
    root.join(node.relative())
}

/// The folders that a place is in, and itself; the first that there is, if it is absent.
fn above(place: &Path) -> Vec<Identity> {
    let found = place.ancestors().find_map(|folder| std::fs::canonicalize(folder).ok());
    found.iter().flat_map(|found| found.ancestors()).filter_map(identity).collect()
}

/// The server of a store's options, in its shortest form; `None` for that of the service itself.
fn endpoint(options: &[(String, String)]) -> Option<String> {
    let (_, url) = options.iter().find(|(name, _)| name.ends_with("endpoint"))?;
    let url = url.trim_end_matches('/').to_ascii_lowercase();
    let (scheme, rest) = url.split_once("://").unwrap_or(("https", &url));
    let rest = rest.strip_suffix(if scheme == "http" { ":80" } else { ":443" }).unwrap_or(rest);
    let of_service = [".amazonaws.com", "storage.googleapis.com"];
    if of_service.iter().any(|end| rest.ends_with(end)) {
        return None;
    }
    let rest = ["127.0.0.1", "[::1]"]
        .iter()
        .find_map(|own| rest.strip_prefix(own))
        .map(|port| format!("localhost{port}"))
        .unwrap_or_else(|| rest.to_owned());
    Some(format!("{scheme}://{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_has_one_form() {
        let of = |url: &str| endpoint(&[("aws_endpoint".into(), url.into())]);
        for url in ["http://127.0.0.1:9000/", "HTTP://localhost:9000", "http://[::1]:9000"] {
            assert_eq!(of(url), of("http://localhost:9000"), "{url}");
        }
        assert_eq!(of("https://s3.example.org:443/"), of("https://s3.example.org"));
        assert_eq!(of("https://s3.eu-west-1.amazonaws.com"), endpoint(&[]));
        assert_ne!(of("http://localhost:9000"), of("http://localhost:9001"));
        assert_ne!(of("http://localhost:9000"), endpoint(&[]));
    }
}
