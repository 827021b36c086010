//! Repositories for the tests, and what other readers find in them.

use std::path::{Path, PathBuf};

use tempfile::TempDir;
use zarr::{Array, Hierarchy, OpenOptions};
use zarr_icechunk::{IcechunkSession, MAIN, Repository, Version};

pub fn main_branch() -> Version {
    Version::Branch(MAIN.into())
}

pub fn options() -> OpenOptions {
    OpenOptions::new(zarr::standard())
}

/// A folder that is removed at the end of the test, and the path of a repository in it.
pub struct Folder(TempDir);

impl Folder {
    pub fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    pub fn path(&self) -> PathBuf {
        self.0.path().join("repository")
    }
}

/// A new repository whose first commit has a root group and the array `shared`: 8 elements in 4 chunks, all 0.
pub fn with_shared_array(repository: &Repository) -> String {
    let session = repository.writable_session(MAIN).unwrap();
    create_array(&hierarchy(&session), "shared", 8);
    session.commit("the shared array").unwrap()
}

/// The hierarchy in a session, for writing.
pub fn hierarchy(session: &IcechunkSession) -> Hierarchy {
    session.hierarchy(&options()).unwrap()
}

/// A new array of 32-bit integers, in chunks of two.
pub fn create_array(hierarchy: &Hierarchy, name: &str, len: u64) -> Array {
    let new = hierarchy.create_array(format!("/{name}")).shape(&[len]).chunks(&[2]);
    new.data_type(zarr::DataType::Int32).create().unwrap()
}

/// Writes into an array of a session.
pub fn write(session: &IcechunkSession, name: &str, start: u64, elements: &[i32]) {
    let array = hierarchy(session).array(format!("/{name}")).unwrap();
    array.write(start..start + elements.len() as u64, elements).unwrap();
}

/// The elements of an array, as this library's own reader has them, which shares no code with the crate `icechunk`.
pub fn elements(repository: &Path, version: &Version, name: &str) -> Vec<i32> {
    let url = format!("icechunk://{version}::{}", repository.display());
    let array = zarr::open(url).unwrap().into_group().unwrap().array(name).unwrap();
    array.read::<i32>(..).unwrap()
}

/// The identifiers of the commits of the branch `main`, the latest first.
pub fn history(repository: &Path) -> Vec<String> {
    let commits = Repository::open(repository).unwrap().history(&main_branch()).unwrap();
    commits.into_iter().map(|commit| commit.id).collect()
}
