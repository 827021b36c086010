//! Values of a web server are read right, whatever the server and the connection do.

#![cfg(all(feature = "http", feature = "memory"))]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::server::{Fault, Server};
use zarr::store::{ByteRange, Capabilities, StoreKey};
use zarr::stores::ObjectStore;
use zarr::{Access, StoreError};
use zarr_testkit::{ShortCalls, sample};

fn open(server: &Server, options: &[(&str, &str)]) -> ObjectStore {
    ObjectStore::open(&server.url("data"), Access::ReadOnly, options.iter().copied()).unwrap()
}

fn key(key: &str) -> StoreKey {
    StoreKey::new(key).unwrap()
}

fn contents() -> BTreeMap<String, Vec<u8>> {
    let value = |size: usize| (0..size).map(|i| (i * 7 / 3) as u8).collect::<Vec<u8>>();
    let names = ["zarr.json", "a/c/0/1", "with space/ünï", "q?a=b&c#d+e", "100%/%2f", "empty"];
    let sizes = [10, 100_000, 300, 70_000, 5, 0];
    names.iter().map(|name| name.to_string()).zip(sizes.map(value)).collect()
}

fn serving() -> Server {
    let server = Server::start();
    for (name, value) in contents() {
        server.set(&format!("data/{name}"), &value);
    }
    server
}

/// F-110, F-111: any server, with and without ranges, with strong, weak and no tags.
#[test]
fn keys_keep_their_spelling_and_ranges_their_meaning() {
    for (n, ranges) in [true, false].into_iter().enumerate() {
        // Each tag once, or with both.
        for etag in
            [Some(""), Some("W/"), None].into_iter().skip(sample(n, 0)).step_by(sample(2, 1))
        {
            let server = serving();
            server.manners(|manners| (manners.ranges, manners.etag) = (ranges, etag));
            zarr_testkit::check_contents(&open(&server, &[]).into_store(), &contents());
        }
    }
}

#[test]
fn a_web_server_is_read_and_nothing_else() {
    let store = open(&serving(), &[]).into_store();
    let Capabilities { write, list, swap, .. } = store.capabilities();
    assert!(!write && !list && !swap);
}

/// What broke off is asked for again; what is short is never taken for a value.
#[test]
fn faults_on_the_wire_are_got_over() {
    for fault in [
        Fault::Status(503),
        Fault::Status(429),
        Fault::Drop,
        Fault::Truncate,
        Fault::Stall(Duration::from_secs(3)),
    ] {
        for etag in [Some(""), None] {
            let server = serving();
            server.manners(|manners| {
                manners.etag = etag;
                manners.fault = Arc::new(move |n| if n % 5 == 2 { fault } else { Fault::None });
            });
            let store = open(&server, &[("read_timeout", "0.5")]).into_store();
            let readable = store.to_sync();
            for _ in 0..sample(2, 4) {
                for (name, value) in contents() {
                    let found = readable.value(&key(&name)).unwrap();
                    assert!(found.as_deref() == Some(&value[..]), "{name} with {fault:?}");
                }
            }
        }
    }
}

/// A server that keeps failing is reported, in time, and without the part of its URL before `@`.
#[test]
fn what_cannot_be_read_says_why() {
    let server = serving();
    server.manners(|manners| manners.fault = Arc::new(|_| Fault::Truncate));
    let url = server.url("data").replace("//", "//user:secret@");
    let options = [("max_retries", "2")];
    let store = ObjectStore::open(&url, Access::ReadOnly, options).unwrap().into_store();
    assert_eq!(store.name(), server.url("data"));
    let error = store.to_sync().value(&key("a/c/0/1")).unwrap_err().to_string();
    assert!(error.starts_with("cannot read `a/c/0/1`: "), "{error}");
    assert!(!error.contains("secret"), "{error}");
    server.manners(|manners| manners.fault = Arc::new(|_| Fault::Status(403)));
    let error = store.to_sync().value(&key("zarr.json")).unwrap_err().to_string();
    assert!(error.contains("403") && error.contains("check that the server"), "{error}");
    assert!(!error.contains("secret"), "{error}");
    let nobody = ObjectStore::open("http://127.0.0.1:1/x", Access::ReadOnly, options).unwrap();
    let error = nobody.into_store().to_sync().value(&key("k")).unwrap_err();
    assert!(error.to_string().contains("cannot connect"), "{error}");
    for (url, options, why) in [
        ("http://host/x#y", vec![], "what follows a `#`"),
        (
            "http://host/x?token=secret",
            vec![("no_such_option", "1")],
            "`no_such_option` is not known",
        ),
        ("http://", vec![], "names no bucket or host"),
        ("http://host/a//b", vec![("no_such_option", "1")], "`no_such_option` is not known"),
        ("http://host/%zz", vec![], "two hexadecimal digits"),
        ("http://host", vec![("in_flight", "many")], "must be a number"),
    ] {
        let error = ObjectStore::open(url, Access::ReadOnly, options).unwrap_err().to_string();
        assert!(error.contains(why) && !error.contains("secret"), "{error}");
    }
}

/// All bytes are of one version, by its tag or, where there is none, by its date and size.
#[test]
fn a_value_that_is_replaced_while_it_is_read_is_noticed() {
    for (etag, conditions) in
        [(Some(""), true), (Some(""), false), (Some("W/"), true), (None, true)]
    {
        let server = serving();
        server.manners(|manners| (manners.etag, manners.conditions) = (etag, conditions));
        let store = open(&server, &[]);
        let blocking = store.into_store();
        let pinned = blocking.to_sync().snapshot(&key("a/c/0/1")).unwrap().unwrap();
        let range = [ByteRange::Bounded { start: 50_000, len: 10 }];
        assert_eq!(pinned.read(&range).unwrap()[0].len(), 10);
        let version = pinned.version().expect("it has one");
        server.set("data/a/c/0/1", &[1; 100_000]);
        let changed = |read: std::result::Result<_, StoreError>| {
            assert!(matches!(read, Err(StoreError::Changed { .. })), "{etag:?}: {read:?}");
        };
        changed(pinned.read(&range));
        let readable = blocking.to_sync();
        let expected = readable.snapshot_of(&key("a/c/0/1"), &version).unwrap().unwrap();
        changed(expected.read(&range));
        let expected = readable.snapshot_of(&key("a/c/0/1"), &version).unwrap().unwrap();
        changed(expected.read(&[]));
        let now = readable.snapshot(&key("a/c/0/1")).unwrap().unwrap().version().unwrap();
        let expected = readable.snapshot_of(&key("a/c/0/1"), &now).unwrap().unwrap();
        assert_eq!(expected.read(&range).unwrap()[0][..], [1; 10]);
        assert_eq!(expected.size(), 100_000);
    }
}

/// Near ranges are fetched with one request; the surplus bytes are counted.
#[test]
fn near_ranges_are_fetched_together() {
    let server = serving();
    let store = open(&server, &[]);
    let bounded = |start, len| ByteRange::Bounded { start, len };
    let ranges = [bounded(90_000, 10), bounded(0, 10), bounded(10, 20), bounded(20_030, 5)];
    let blocking = store.clone().into_store();
    let parts = blocking.to_sync().ranges(&key("a/c/0/1"), &ranges);
    let value = &contents()["a/c/0/1"];
    let due = [&value[90_000..90_010], &value[..10], &value[10..30], &value[20_030..20_035]];
    assert_eq!(parts.unwrap().unwrap(), due);
    let (asked, _) = server.asked();
    let path = "GET data/a/c/0/1 bytes=";
    assert_eq!(asked, [format!("{path}0-20034"), format!("{path}90000-90009")]);
    let traffic = store.traffic();
    assert_eq!((traffic.requests, traffic.received, traffic.wasted), (2, 20_045, 20_000));
}
