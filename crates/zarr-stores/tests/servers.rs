//! Do real servers keep what stores promise?
//!
//! `ZARR_TEST_S3`, `ZARR_TEST_AZURE`, `ZARR_TEST_GCS` and `ZARR_TEST_HTTP` each hold some `NAME=URL` with spaces between them: empty
//! buckets, or prefixes in some, that these tests fill and empty. How they are reached the usual variables say
//! (`AWS_…`, `AZURE_…`, `GOOGLE_…`); what differs from server to server stands after a `?` in the URL, as in
//! `moto=s3://bucket?endpoint=http://127.0.0.1:5000`. `specs-conformance/servers` starts such servers. Without a
//! variable its tests say so and check nothing.

#![cfg(all(feature = "s3", feature = "gcs", feature = "azure", feature = "http"))]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use zarr_core::store::{ByteRange, Payload, Store, StoreKey};
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

/// Calls `check` for each server, and says so.
fn for_each(variable: &str, check: impl Fn(&Server)) {
    for server in servers(variable) {
        let _ = writeln!(std::io::stderr(), "checked: {}", server.name);
        check(&server);
    }
}

#[test]
fn s3() {
    for_each("ZARR_TEST_S3", |server| testkit::check_store(|| fresh(server)));
}

#[test]
fn azure() {
    for_each("ZARR_TEST_AZURE", |server| testkit::check_store(|| fresh(server)));
}

/// fake-gcs-server 1.54 alone keeps conditional PUTs after a DELETE that came between its comparing and its setting;
/// the proxy before it lets one change through at a time.
#[test]
fn gcs() {
    for_each("ZARR_TEST_GCS", |server| testkit::check_store(|| fresh(server)));
}

/// The web server shows the folder `ZARR_TEST_HTTP_ROOT`.
#[test]
fn http() {
    for_each("ZARR_TEST_HTTP", |server| {
        let root = std::env::var("ZARR_TEST_HTTP_ROOT").expect("the folder that it shows");
        let folder = format!("stores-{}", std::process::id());
        let mut contents = BTreeMap::new();
        for (name, size) in [("zarr.json", 20), ("a/c/0/1", 100_000), ("with space/ünï", 5)] {
            let value: Vec<u8> = (0..size).map(|i: u32| (i / 3) as u8).collect();
            let path = Path::new(&root).join(&folder).join(name);
            fs::create_dir_all(path.parent().expect("it has one")).expect("a folder");
            fs::write(&path, &value).expect("a file");
            contents.insert(name.to_owned(), value);
        }
        let url = format!("{}/{folder}", server.url.trim_end_matches('/'));
        let store = ObjectStore::open(&url, Access::ReadOnly, server.options.clone());
        testkit::check_contents(&store.expect("it opens").into_blocking(), &contents);
    });
}

/// A value of more than 64 MiB is sent in parts, and is what it was.
#[test]
fn large_values_are_sent_in_parts() {
    for variable in ["ZARR_TEST_S3", "ZARR_TEST_AZURE"] {
        for_each(variable, |server| {
            let store = fresh(server);
            let key = StoreKey::new("large").expect("it is a key");
            let value: Vec<u8> = (0..(65u32 << 20) + 7).map(|i| (i / 977) as u8).collect();
            let writeable = store.writeable().expect("it can be written");
            writeable.set(&key, Payload::new(&value)).expect("it is set");
            let readable = store.readable().expect("it can be read");
            let ends =
                [ByteRange::Bounded { start: (16 << 20) - 3, len: 7 }, ByteRange::From(65 << 20)];
            let read = readable.get_partial_values(&key, &ends).expect("it is read");
            let read = read.expect("it is there");
            let at = (16 << 20) - 3;
            assert_eq!(read, [&value[at..at + 7], &value[65 << 20..]], "{}", server.name);
            let whole = readable.get(&key).expect("it is read").expect("it is there");
            assert!(whole == value, "{}", server.name);
            writeable.erase(&key).expect("it is erased");
        });
    }
}

const PROCESSES: usize = 4;
const ROUNDS: usize = 200;
/// What a child is told: the server's place in its variable, and the process.
const CHILD: &str = "ZARR_TEST_CHILD";

/// DECISIONS 4: processes that change parts of one value, each its own, lose nothing. s3s-fs 0.14 and moto 5 compare an
/// ETag, and only then begin to write; the wire before each lets one request through at a time.
#[test]
fn processes_change_parts_of_one_value() {
    for variable in ["ZARR_TEST_S3", "ZARR_TEST_AZURE", "ZARR_TEST_GCS"] {
        if let Ok(child) = std::env::var(CHILD) {
            if let Some(place) = child.strip_prefix(variable) {
                change_parts(variable, place);
            }
            continue;
        }
        for (n, server) in servers(variable).iter().enumerate() {
            let run = format!("run-{}", std::process::id());
            let child = |process: usize| {
                let mut command = Command::new(std::env::current_exe().expect("this program"));
                command.args(["processes_change_parts_of_one_value", "--exact"]);
                command.env(CHILD, format!("{variable} {n} {process} {run}"));
                command.spawn().expect("it starts")
            };
            let children: Vec<_> = (0..PROCESSES).map(child).collect();
            for mut child in children {
                assert!(child.wait().expect("it ends").success(), "{}", server.name);
            }
            let url = format!("{}/{run}", server.url);
            let store = ObjectStore::open(&url, Access::ReadOnly, server.options.clone());
            let store = store.expect("it opens").into_blocking();
            let key = StoreKey::new("value").expect("it is a key");
            let value = store.readable().expect("it can be read").get(&key).expect("it is read");
            let lost = value.expect("it is there").iter().filter(|&&byte| byte == 0).count();
            assert_eq!(lost, 0, "of {} parts on {}", PROCESSES * ROUNDS, server.name);
        }
    }
}

/// What a child does: its own bytes of the value, one after the other.
fn change_parts(variable: &str, place: &str) {
    let words: Vec<&str> = place.split_whitespace().collect();
    let [server, process, run] = words[..] else { panic!("what is `{place}`?") };
    let process: usize = process.parse().expect("a process");
    let server = &servers(variable)[server.parse::<usize>().expect("a server")];
    let url = format!("{}/{run}", server.url);
    let store = ObjectStore::open(&url, Access::ReadWrite, server.options.clone());
    let store = store.expect("it opens").into_blocking();
    let conditional = store.conditional().expect("it compares and swaps");
    let key = StoreKey::new("value").expect("it is a key");
    for round in 0..ROUNDS {
        loop {
            let found = conditional.get_versioned(&key).expect("it is read");
            let (value, was) = found.unzip();
            let mut value = value.map_or(vec![0; PROCESSES * ROUNDS], |value| value.to_vec());
            value[round * PROCESSES + process] = 1;
            if conditional.set_if(&key, Some(value.into()), was.as_ref()).expect("it is set") {
                break;
            }
        }
    }
}
