//! The stores that list their keys: a folder, an archive, an LMDB file, and a bucket if a server is named.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::sync::Arc;

use zarr::OpenOptions;
use zarr::store::{Store, StorePrefix};

use super::Folder;

/// A store: its name, the URL of a place in it, and what the program finds it by.
pub struct TestStore {
    pub name: &'static str,
    pub url: Box<dyn Fn(u32) -> String>,
    pub options: Vec<(String, String)>,
    /// Options of a copy to there.
    pub to: &'static str,
}

impl TestStore {
    pub fn new(name: &'static str, url: impl Fn(u32) -> String + 'static) -> TestStore {
        TestStore { name, url: Box::new(url), options: Vec::new(), to: "" }
    }

    /// The store at a place, if something is there.
    pub fn open(&self, url: &str) -> Option<Arc<dyn Store>> {
        let with =
            |open: OpenOptions, (name, value): &(String, String)| open.store_option(name, value);
        let open = OpenOptions::new(zarr::standard()).read_write();
        self.options.iter().fold(open, with).store(url).ok()
    }

    /// The keys of a place; none if nothing is there.
    pub fn keys(&self, url: &str) -> BTreeSet<String> {
        let Some(store) = self.open(url) else { return BTreeSet::new() };
        store.to_sync().list().unwrap().iter().map(|key| key.as_str().to_owned()).collect()
    }

    /// Erases all that is at a place.
    pub fn erase(&self, url: &str) {
        let Some(store) = self.open(url) else { return };
        let store = store.to_sync();
        store.erase_prefix(&StorePrefix::root()).unwrap();
        store.flush().unwrap();
    }

    pub fn command(&self, folder: &Folder, line: &str) -> Command {
        let mut command = folder.command(line);
        for (name, value) in &self.options {
            command.env(format!("AWS_{}", name.to_uppercase()), value);
        }
        command
    }

    pub fn run(&self, folder: &Folder, line: &str) -> (i32, String, String) {
        let output = self.command(folder, line).stdin(Stdio::null()).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }
}

/// Folders, archives, LMDB files, and the bucket of `ZARR_TEST_S3`, if that names one.
pub fn stores(folder: &Folder) -> Vec<TestStore> {
    let at = |name: &str| folder.path(name).display().to_string();
    let (folders, archives, files) = (at("f"), at("z"), at("l"));
    let mut stores = vec![
        TestStore::new("folder", move |n| format!("{folders}{n}")),
        TestStore::new("zip", move |n| format!("zip://{archives}{n}.zip")),
        TestStore::new("lmdb", move |n| format!("lmdb://{files}{n}.mdb")),
    ];
    let servers = std::env::var("ZARR_TEST_S3").unwrap_or_default();
    if let Some(server) = servers.split_whitespace().find_map(|text| text.strip_prefix("s3s=")) {
        let (bucket, options) = server.split_once('?').unwrap_or((server, ""));
        let bucket = format!("{}/killed-{}", bucket.trim_end_matches('/'), std::process::id());
        let mut store = TestStore::new("bucket", move |n| format!("{bucket}/{n}"));
        let option = |text: &str| text.split_once('=').map(|(n, v)| (n.into(), v.into()));
        store.options = options.split('&').filter_map(option).collect();
        stores.push(store);
    }
    stores
}
