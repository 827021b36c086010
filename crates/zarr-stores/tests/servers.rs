//! Do real servers keep what stores promise?
//!
//! `ZARR_TEST_S3`, `ZARR_TEST_AZURE` and `ZARR_TEST_GCS` each hold some `NAME=URL` with spaces between them: empty
//! buckets, or prefixes in some, that these tests fill and empty. How they are reached the usual variables say
//! (`AWS_…`, `AZURE_…`, `GOOGLE_…`); what differs from server to server stands after a `?` in the URL, as in
//! `moto=s3://bucket?endpoint=http://127.0.0.1:5000`. `specs-conformance/servers` starts such servers. Without a
//! variable its tests say so and check nothing.

#![cfg(all(feature = "s3", feature = "gcs", feature = "azure", feature = "http"))]

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use zarr_core::store::Store;
use zarr_core::{Access, testkit};
use zarr_stores::ObjectStore;

struct Server {
    name: String,
    url: String,
    options: Vec<(String, String)>,
}

/// The servers that a variable names.
fn servers(variable: &str) -> Vec<Server> {
    let Ok(text) = std::env::var(variable) else {
        // Past the test's own output, so that it is seen.
        let _ = writeln!(std::io::stderr(), "not checked: `{variable}` names no server");
        return Vec::new();
    };
    let server = |text: &str| {
        let (name, url) = text.split_once('=').expect("servers are `NAME=URL`");
        let (url, options) = url.split_once('?').unwrap_or((url, ""));
        let option = |text: &str| text.split_once('=').map(|(k, v)| (k.into(), v.into()));
        let options = options.split('&').filter_map(option).collect();
        Server { name: name.to_owned(), url: url.to_owned(), options }
    };
    text.split_whitespace().map(server).collect()
}

fn fresh(Server { url, options, .. }: &Server) -> Arc<dyn Store> {
    static STORES: AtomicUsize = AtomicUsize::new(0);
    let n = STORES.fetch_add(1, Ordering::Relaxed);
    let url = format!("{}/{}-{n}", url.trim_end_matches('/'), std::process::id());
    let store = ObjectStore::open(&url, Access::ReadWrite, options.clone()).expect("it opens");
    store.into_blocking()
}

fn check(variable: &str) {
    for server in servers(variable) {
        let _ = writeln!(std::io::stderr(), "checked: {}", server.name);
        testkit::check_store(|| fresh(&server));
    }
}

#[test]
fn s3() {
    check("ZARR_TEST_S3");
}

#[test]
fn azure() {
    check("ZARR_TEST_AZURE");
}

#[test]
fn gcs() {
    check("ZARR_TEST_GCS");
}
