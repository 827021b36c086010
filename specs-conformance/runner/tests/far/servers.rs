//! Finds the servers that `specs-conformance/servers/run.py` started, by the environment.

use std::collections::HashMap;
use std::env;
use std::fs::OpenOptions;
use std::io::Write;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use zarr::store::{Store, StorePrefix};
use zarr::stores::{ObjectStore, PrefixStore, ReadOnlyStore};
use zarr::{Access, Registry, StoreError};

/// A server, and how to reach an empty place on it.
#[derive(Clone, Debug)]
pub struct Server {
    /// Also the scheme under which [`registry`] knows it.
    pub name: String,
    /// Where it is.
    pub url: String,
    pub options: Vec<(String, String)>,
}

/// The servers that a variable names: `NAME=URL?OPTION=VALUE`, with spaces between.
pub fn of(variable: &str) -> Vec<Server> {
    let server = |text: &str| {
        let (name, url) = text.split_once('=').expect("servers are `NAME=URL`");
        let (url, options) = url.split_once('?').unwrap_or((url, ""));
        let option = |text: &str| text.split_once('=').map(|(k, v)| (k.into(), v.into()));
        let options = options.split('&').filter_map(option).collect();
        Server { name: name.to_owned(), url: url.trim_end_matches('/').to_owned(), options }
    };
    env::var(variable).unwrap_or_default().split_whitespace().map(server).collect()
}

/// The variables with servers that several may write to.
pub const WRITEABLE: [&str; 3] = ["ZARR_TEST_S3", "ZARR_TEST_AZURE", "ZARR_TEST_GCS"];

/// Those that several may write to.
pub fn all() -> &'static [Server] {
    static ALL: LazyLock<Vec<Server>> =
        LazyLock::new(|| WRITEABLE.map(of).into_iter().flatten().collect());
    &ALL
}

/// Tells whoever started the servers that this one was reached.
pub fn reached(variable: &str, name: &str) {
    let Some(file) = env::var_os("ZARR_TEST_REACHED") else { return };
    let file = OpenOptions::new().create(true).append(true).open(file);
    writeln!(file.expect("it can be written"), "{variable} {name}").expect("it is written");
}

/// Every one of a name: those, the one for the corpus, and as `faulty-NAME` those whose wires fail.
fn named() -> Vec<Server> {
    let faulty = of("ZARR_TEST_FAULTS").into_iter().map(|mut server| {
        server.name.insert_str(0, "faulty-");
        server
    });
    all().iter().cloned().chain(of("ZARR_TEST_CORPUS")).chain(faulty).collect()
}

/// What the program knows, and every server by its name: `moto://prefix`.
pub fn registry() -> Registry {
    zarr::standard().with(|registry| {
        for server in named() {
            registry.scheme(&server.name, open);
        }
    })
}

/// What lies below a prefix of a server. Connections to it are made once.
fn open(url: &str, access: Access) -> Result<Arc<dyn Store>, StoreError> {
    static OPEN: LazyLock<Mutex<HashMap<String, Arc<dyn Store>>>> = LazyLock::new(Mutex::default);
    let (name, prefix) = url.split_once("://").expect("it is opened by its scheme");
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    if !open.contains_key(name) {
        let server = named().into_iter().find(|server| server.name == name);
        let Server { url, options, .. } = server.expect("it was registered");
        let store = ObjectStore::open(&url, Access::ReadWrite, options)?.into_store();
        open.insert(name.to_owned(), store);
    }
    let prefix = StorePrefix::new(format!("{}/", prefix.trim_end_matches('/')))?;
    let store = Arc::new(PrefixStore::new(open[name].clone(), prefix));
    Ok(match access {
        Access::ReadWrite => store,
        Access::ReadOnly => Arc::new(ReadOnlyStore::new(store)),
    })
}
