//! Finds files that are not Zarr's where a node is erased, and warns of those that a new node is put among.

use zarr::format::is_zarr_key;
use zarr::store::{ListOptions, StoreKey, StorePrefix};
use zarr::tools::NewPlace;
use zarr::tools::other_format::other_format;
use zarr::{Era, Error, ErrorKind, Hierarchy, NodePath, Warning};

use crate::failure::Failure;
use crate::human;
use crate::session::Session;

/// At most this many are listed by name.
const LISTED: usize = 10;

/// The files at the node at `path` and below it that are not Zarr's, as far as they can be told; of drafts that are not written
/// none.
pub(crate) fn keys(hierarchy: &Hierarchy, path: &NodePath) -> Result<Vec<StoreKey>, Failure> {
    if hierarchy.era().is_some_and(|era| era < Era::E4) {
        // The older drafts are not written, and erasing says so.
        return Ok(Vec::new());
    }
    match hierarchy.foreign_keys(path) {
        Ok(foreign) => Ok(foreign),
        // What cannot be listed cannot be distinguished.
        Err(e) if e.kind() == ErrorKind::NotCapable => Ok(Vec::new()),
        Err(e) => Err(e.into()),
    }
}

/// Erases files of which the node is gone.
pub(crate) fn erase(hierarchy: &Hierarchy, keys: &[StoreKey]) -> Result<(), Failure> {
    let store = hierarchy.store().to_sync();
    for key in keys {
        store.erase(key).map_err(|e| Error::from(e).at_store(store.name()).at_key(key))?;
    }
    Ok(())
}

/// Names the files that stay where a node was erased.
pub(crate) fn tell_kept(session: &Session, path: &NodePath, kept: &[StoreKey]) {
    if kept.is_empty() {
        return;
    }
    tell(
        session,
        path,
        kept,
        "--force erases such files, too; delete them with the tools of the store if you do not need them",
    );
}

/// Names the files that look like chunks and stayed where a copy has replaced a node, though no array has them. Other files
/// may have come with the copy.
pub(crate) fn tell_kept_by_copy(session: &Session, path: &NodePath, kept: &[StoreKey]) {
    if !kept.is_empty() {
        tell(session, path, kept, "they look like chunks, but no array has them");
    }
}

/// As [`keys`], those that have names of chunks; none if they cannot be told.
pub(crate) fn chunk_like_keys(hierarchy: &Hierarchy, path: &NodePath) -> Vec<StoreKey> {
    let mut found = keys(hierarchy, path).unwrap_or_default();
    found.retain(is_zarr_key);
    found
}

fn tell(session: &Session, path: &NodePath, kept: &[StoreKey], hint: &str) {
    let files = human::plural(kept.len() as u64, "file");
    let what = format!("kept {files} that Zarr did not write: {}; {hint}", names(kept));
    session.warn_of(&[Warning { place: path.to_string(), what }]);
}

/// Warns if data of another format, or files that are not Zarr's, are at `url`, where a hierarchy or a node is about to be
/// created. Of the files in `told` nothing is said: they are erased, or named later.
pub(crate) fn warn(session: &Session, place: &NewPlace, url: &str, told: &[StoreKey]) {
    let hierarchy = &place.hierarchy;
    // The folders of some formats hold nothing but folders.
    let options = session.options().ok().filter(|_| place.begun);
    if let Some(format) = options.and_then(|options| other_format(url, &options)) {
        let what = format!(
            "this is {format}; new nodes are stored among its files, and other programs will not see them"
        );
        session.warn_of(&[Warning { place: place.path.to_string(), what }]);
    }
    let format = zarr::format::of_dialect(hierarchy.dialect());
    let mut prefixes = format.erasure(&place.path).map_or(Vec::new(), |(_, prefixes)| prefixes);
    if place.begun {
        prefixes.push(StorePrefix::root());
    }
    // Of what cannot be listed there is nothing to say; if the store failed, creating says so.
    let store = hierarchy.store().to_sync();
    let listings =
        prefixes.iter().filter_map(|prefix| store.list_dir(prefix, ListOptions::default()).ok());
    let mut foreign: Vec<StoreKey> =
        listings.flat_map(|listing| listing.keys).filter(|key| !is_zarr_key(key)).collect();
    foreign.retain(|key| !told.contains(key));
    foreign.sort();
    foreign.dedup();
    if foreign.is_empty() {
        return;
    }
    let what = format!(
        "the folder holds files that are not Zarr's: {}; they stay, and `zarr copy` takes them along",
        names(&foreign)
    );
    session.warn_of(&[Warning { place: place.path.to_string(), what }]);
}

fn names(keys: &[StoreKey]) -> String {
    let listed = keys.iter().take(LISTED).map(|key| format!("`{key}`"));
    let listed = listed.collect::<Vec<_>>().join(", ");
    match keys.len().saturating_sub(LISTED) {
        0 => listed,
        more => format!("{listed} and {} more", human::count(more as u64)),
    }
}
