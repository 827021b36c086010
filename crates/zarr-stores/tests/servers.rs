//! Real servers keep what stores promise.
//!
//! `ZARR_TEST_S3`, `ZARR_TEST_AZURE`, `ZARR_TEST_GCS` and `ZARR_TEST_HTTP` each hold some `NAME=URL` with spaces between them: empty
//! buckets, or prefixes in some, that these tests fill and empty. How they are reached the usual variables say
//! (`AWS_…`, `AZURE_…`, `GOOGLE_…`); what differs from server to server stands after a `?` in the URL, as in
//! `moto=s3://bucket?endpoint=http://127.0.0.1:5000`. `specs-conformance/servers` starts such servers. Without a
//! variable its tests are reported as ignored; with `ZARR_TEST_REQUIRED` they fail. A server that was reached is written
//! to the file `ZARR_TEST_REACHED`.
//!
//! A program of its own: its tests are made when it runs, one for each promise and server.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use zarr_core::Access;
use zarr_core::store::{ByteRange, Payload, Store, StoreKey};
use zarr_stores::ObjectStore;
use zarr_testkit::ShortCalls;

#[derive(Clone)]
struct Server {
    name: String,
    url: String,
    options: Vec<(String, String)>,
}

/// The servers that a variable names.
fn servers(variable: &str) -> Vec<Server> {
    let text = std::env::var(variable).unwrap_or_default();
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
    store.into_store()
}

/// One test for each server that a variable names; without any, one that is ignored.
fn for_each(trials: &mut Vec<Trial>, test: &str, variable: &'static str, check: fn(&Server)) {
    let servers = servers(variable);
    if servers.is_empty() {
        let none = format!("`{variable}` names no server");
        let is_required = std::env::var_os("ZARR_TEST_REQUIRED").is_some();
        let ignored = move || {
            if is_required { Err(Failed::from(none)) } else { Ok(Completion::ignored_with(none)) }
        };
        trials.push(Trial::ignorable_test(format!("{test} ({variable})"), ignored));
    }
    for server in servers {
        let name = format!("{test} ({})", server.name);
        let run = move || {
            check(&server);
            reached(variable, &server);
            Ok(())
        };
        trials.push(Trial::test(name, run));
    }
}

/// Tells the program that started the servers that this one was reached.
fn reached(variable: &str, server: &Server) {
    let Some(file) = std::env::var_os("ZARR_TEST_REACHED") else { return };
    let file = fs::OpenOptions::new().create(true).append(true).open(file);
    writeln!(file.expect("it can be written"), "{variable} {}", server.name)
        .expect("it is written");
}

fn main() -> ExitCode {
    if let Ok(child) = std::env::var(CHILD) {
        let (variable, place) = child.split_once(' ').expect("a variable and a place");
        change_parts(variable, place);
        return ExitCode::SUCCESS;
    }
    let mut trials = Vec::new();
    let promises: fn(&Server) = |server| zarr_testkit::check_store(|| fresh(server));
    // fake-gcs-server 1.54 without a proxy keeps conditional PUTs after a DELETE between its comparison and its change; the
    // proxy before it forwards one change at a time.
    for variable in ["ZARR_TEST_S3", "ZARR_TEST_AZURE", "ZARR_TEST_GCS"] {
        for_each(&mut trials, "keeps_what_stores_promise", variable, promises);
    }
    for_each(&mut trials, "is_read", "ZARR_TEST_HTTP", is_read);
    for variable in ["ZARR_TEST_S3", "ZARR_TEST_AZURE"] {
        for_each(&mut trials, "takes_large_values_in_parts", variable, takes_large_values);
    }
    for_each(&mut trials, "loses_no_part", "ZARR_TEST_S3", |s| loses_no_part("ZARR_TEST_S3", s));
    let azure = "ZARR_TEST_AZURE";
    for_each(&mut trials, "loses_no_part", azure, |s| loses_no_part("ZARR_TEST_AZURE", s));
    for_each(&mut trials, "loses_no_part", "ZARR_TEST_GCS", |s| loses_no_part("ZARR_TEST_GCS", s));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// The web server shows the folder `ZARR_TEST_HTTP_ROOT`.
fn is_read(server: &Server) {
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
    zarr_testkit::check_contents(&store.expect("it opens").into_store(), &contents);
}

/// A value of more than 64 MiB is sent in parts, and is what it was.
fn takes_large_values(server: &Server) {
    let store = fresh(server);
    let key = StoreKey::new("large").expect("it is a key");
    let value: Vec<u8> = (0..(65u32 << 20) + 7).map(|i| (i / 977) as u8).collect();
    let writeable = store.to_sync();
    writeable.set(&key, Payload::new(&value)).expect("it is set");
    let readable = store.to_sync();
    let ends = [ByteRange::Bounded { start: (16 << 20) - 3, len: 7 }, ByteRange::From(65 << 20)];
    let read = readable.ranges(&key, &ends).expect("it is read");
    let read = read.expect("it is there");
    let at = (16 << 20) - 3;
    assert_eq!(read, [&value[at..at + 7], &value[65 << 20..]]);
    let whole = readable.value(&key).expect("it is read").expect("it is there");
    assert!(whole == value);
    writeable.erase(&key).expect("it is erased");
}

const PROCESSES: usize = 4;
const ROUNDS: usize = 200;
/// The variable with a child's arguments: the server's variable and name, the process and the run.
const CHILD: &str = "ZARR_TEST_CHILD";

/// Processes that change parts of one value, each its own, lose nothing. s3s-fs 0.14 and moto 5 compare an
/// ETag, and only then begin to write; the wire before each lets one request through at a time.
fn loses_no_part(variable: &str, server: &Server) {
    let run = format!("run-{}", std::process::id());
    let child = |process: usize| {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.env(CHILD, format!("{variable} {} {process} {run}", server.name));
        command.spawn().expect("it starts")
    };
    let children: Vec<_> = (0..PROCESSES).map(child).collect();
    for mut child in children {
        assert!(child.wait().expect("it ends").success());
    }
    let url = format!("{}/{run}", server.url);
    let store = ObjectStore::open(&url, Access::ReadOnly, server.options.clone());
    let store = store.expect("it opens").into_store();
    let key = StoreKey::new("value").expect("it is a key");
    let value = store.to_sync().value(&key).expect("it is read");
    let lost = value.expect("it is there").iter().filter(|&&byte| byte == 0).count();
    assert_eq!(lost, 0, "of {} parts", PROCESSES * ROUNDS);
}

/// What a child does: its own bytes of the value, one after the other.
fn change_parts(variable: &str, place: &str) {
    let words: Vec<&str> = place.split_whitespace().collect();
    let [server, process, run] = words[..] else { panic!("what is `{place}`?") };
    let process: usize = process.parse().expect("a process");
    let server = servers(variable).into_iter().find(|s| s.name == server).expect("a server");
    let url = format!("{}/{run}", server.url);
    let store = ObjectStore::open(&url, Access::ReadWrite, server.options.clone());
    let store = store.expect("it opens").into_store();
    let conditional = store.to_sync();
    let key = StoreKey::new("value").expect("it is a key");
    for round in 0..ROUNDS {
        loop {
            let found = conditional.versioned(&key).expect("it is read");
            let (value, was) = found.unzip();
            let mut value = value.map_or(vec![0; PROCESSES * ROUNDS], |value| value.to_vec());
            value[round * PROCESSES + process] = 1;
            if conditional.swap(&key, Some(value.into()), was.as_ref()).expect("it is set") {
                break;
            }
        }
    }
}
