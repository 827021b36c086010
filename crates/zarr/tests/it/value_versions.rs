//! What is read of a remote value is of one version of it, and what is written is written once, however large it is.

#![cfg(all(feature = "http", feature = "s3"))]

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{Arc, Mutex};

use crate::server::{Instead, Server};
use zarr::store::{ByteRange, Bytes, Payload, Store, StoreKey};
use zarr::stores::ObjectStore;
use zarr::{Access, StoreError};
use zarr_testkit::ShortCalls;

const SIZE: usize = 300_000;

fn key() -> StoreKey {
    StoreKey::new("k").expect("a good key")
}

/// The value `k` over plain HTTP, and in a bucket of S3 that the server shows.
fn stores(server: &Server) -> [(&'static str, Arc<dyn Store>); 2] {
    let web = ObjectStore::open(&server.url("bucket"), Access::ReadOnly, [("max_retries", "1")]);
    [("http", web.expect("it opens").into_store()), ("s3", bucket(server))]
}

fn bucket(server: &Server) -> Arc<dyn Store> {
    let endpoint = server.url("");
    let options = [
        ("endpoint", endpoint.trim_end_matches('/')),
        ("region", "us-east-1"),
        ("allow_http", "true"),
        ("access_key_id", "id"),
        ("secret_access_key", "secret"),
        ("max_retries", "1"),
    ];
    let store = ObjectStore::open("s3://bucket", Access::ReadWrite, options);
    store.expect("it opens").into_store()
}

fn bounded(start: usize, len: usize) -> ByteRange {
    ByteRange::Bounded { start: start as u64, len: len as u64 }
}

/// How servers say which version a value has, and whether they heed a condition.
const MANNERS: [(Option<&str>, bool); 4] =
    [(Some(""), true), (Some(""), false), (Some("W/"), true), (None, true)];

/// Whenever the value is replaced, no answer has bytes of both.
#[test]
fn answers_of_two_versions_are_never_mixed() {
    let apart = [bounded(0, 10), bounded(100_000, 10), bounded(200_000, 10), ByteRange::Suffix(10)];
    for (etag, conditions) in MANNERS {
        for replaced_at in 0..6 {
            let server = Server::start();
            server.manners(|manners| (manners.etag, manners.conditions) = (etag, conditions));
            for (kind, store) in stores(&server) {
                if kind == "s3" && etag.is_none() {
                    continue;
                }
                server.set("bucket/k", &vec![1; SIZE]);
                let (here, count) = (server.clone(), Mutex::new(0));
                let replace: Instead = Arc::new(move |_, _| {
                    let mut count = count.lock().expect("no panic");
                    if *count == replaced_at {
                        here.set("bucket/k", &vec![2; SIZE]);
                    }
                    *count += 1;
                    None
                });
                server.manners(|manners| manners.instead = Some(replace));
                let readable = store.to_sync();
                let first = [apart[0]];
                let pinned = readable.snapshot(&key()).expect("it is pinned");
                let pinned = pinned.expect("it is there");
                let read = pinned.read(&first).and_then(|first| {
                    let rest = pinned.read(&apart)?;
                    Ok(first.into_iter().chain(rest).collect::<Vec<_>>())
                });
                let read = read.or_else(|e| match e {
                    StoreError::Changed { .. } => Ok(Vec::new()),
                    other => Err(other),
                });
                let read = read.expect("it is read, or has changed").concat();
                let one = read.first().copied();
                let mixed = read.iter().any(|&byte| Some(byte) != one);
                assert!(!mixed, "{kind}, {etag:?}, replaced before request {replaced_at}");
                server.manners(|manners| manners.instead = None);
            }
        }
    }
}

/// RFC 9110, 13.1.1: a weak tag in `If-Match` never matches, so it is compared here and not sent.
#[test]
fn weak_tags_are_not_sent_as_conditions() {
    let server = Server::start();
    let sent: Arc<Mutex<Vec<String>>> = Arc::default();
    let remember = sent.clone();
    let look: Instead = Arc::new(move |request, _| {
        let condition = request.header("if-match").map(str::to_owned);
        remember.lock().expect("no panic").extend(condition);
        None
    });
    server.set("bucket/k", &[7; SIZE]);
    for (etag, due) in [("W/", 0), ("", 1)] {
        server.manners(|manners| {
            (manners.etag, manners.instead) = (Some(etag), Some(look.clone()));
        });
        for (kind, store) in stores(&server) {
            let readable = store.to_sync();
            let read = |pinned: Box<dyn zarr::store::SyncSnapshot>| {
                pinned.read(&[bounded(200_000, 10)]).expect("it is read")
            };
            let pinned = readable.snapshot(&key()).expect("it is pinned");
            let pinned = pinned.expect("it is there");
            let version = pinned.version().expect("it has one");
            assert_eq!(read(pinned), [&[7; 10][..]], "{kind}");
            assert_eq!(std::mem::take(&mut *sent.lock().expect("no panic")).len(), due, "{kind}");
            let pinned = readable.snapshot_of(&key(), &version).expect("it is pinned");
            assert_eq!(read(pinned.expect("it is there")), [&[7; 10][..]], "{kind}");
            assert_eq!(std::mem::take(&mut *sent.lock().expect("no panic")).len(), due, "{kind}");
        }
    }
}

/// What only weak tags tell apart cannot be changed under a condition; nothing is sent that could never succeed.
#[test]
fn a_guarded_change_of_a_weakly_tagged_value_is_refused() {
    let server = Server::start();
    server.manners(|manners| manners.etag = Some("W/"));
    server.set("bucket/k", b"old");
    let store = bucket(&server);
    let conditional = store.to_sync();
    let (_, version) = conditional.versioned(&key()).expect("it is read").expect("it is there");
    let error = conditional.swap(&key(), Some(b"new"[..].into()), Some(&version));
    let error = error.expect_err("it cannot be guarded").to_string();
    assert!(error.contains("weak"), "{error}");
    assert_eq!(server.value("bucket/k").as_deref(), Some(&b"old"[..]));
}

/// A range that begins beyond the end (416) of a value that was longer before: it was replaced.
#[test]
fn a_value_that_became_shorter_has_changed() {
    for (etag, conditions) in MANNERS {
        let server = Server::start();
        server.manners(|manners| (manners.etag, manners.conditions) = (etag, conditions));
        for (kind, store) in stores(&server) {
            if kind == "s3" && etag.is_none() {
                continue;
            }
            server.set("bucket/k", &[1; SIZE]);
            let readable = store.to_sync();
            let pinned = readable.snapshot(&key()).expect("it is pinned").expect("it is there");
            let version = pinned.version().expect("it has one");
            let again = readable.snapshot_of(&key(), &version).expect("it is pinned");
            server.set("bucket/k", &[2; 10]);
            for pinned in [pinned, again.expect("it is there")] {
                let read = pinned.read(&[bounded(200_000, 10)]);
                assert!(matches!(read, Err(StoreError::Changed { .. })), "{kind}: {read:?}");
            }
        }
    }
}

/// s3s-fs 0.14 answers 500 for a suffix that is longer than the value, or closes the connection, where others give all
/// of it.
#[test]
fn a_range_that_the_server_fails_at_is_read_by_the_size() {
    let server = Server::start();
    server.set("bucket/k", b"0123456789");
    for answer in ["HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n", ""] {
        let fail: Instead = Arc::new(move |request, stream| {
            let fails = request.header("range").is_some_and(|range| range == "bytes=-100");
            fails.then(|| stream.write_all(answer.as_bytes()).is_ok() && !answer.is_empty())
        });
        server.manners(|manners| manners.instead = Some(fail));
        for (kind, store) in stores(&server) {
            let readable = store.to_sync();
            let read = readable.ranges(&key(), &[ByteRange::Suffix(100)]);
            let read = read.expect("it is read").expect("it is there");
            assert_eq!(read, [&b"0123456789"[..]], "{kind} {answer:?}");
        }
    }
}

/// The parts of uploads, as S3 takes them.
#[derive(Default)]
struct Upload {
    begun: usize,
    parts: BTreeMap<usize, Vec<u8>>,
    completed: usize,
}

/// Lets the server take uploads in parts.
fn takes_parts(server: &Server) -> Arc<Mutex<Upload>> {
    let upload: Arc<Mutex<Upload>> = Arc::default();
    let (here, kept) = (server.clone(), upload.clone());
    let take: Instead = Arc::new(move |request, stream| {
        let mut upload = kept.lock().expect("no panic");
        let part = request.query.split('&').find_map(|word| word.strip_prefix("partNumber="));
        let body = match (request.method.as_str(), part) {
            ("POST", _) if request.query.starts_with("uploads") => {
                upload.begun += 1;
                "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>"
            }
            ("PUT", Some(part)) => {
                upload.parts.insert(part.parse().expect("a number"), request.body.clone());
                ""
            }
            ("POST", _) => {
                upload.completed += 1;
                let whole: Vec<u8> = upload.parts.values().flatten().copied().collect();
                here.set(&request.path, &whole);
                "<CompleteMultipartUploadResult><ETag>\"u\"</ETag></CompleteMultipartUploadResult>"
            }
            _ => return None,
        };
        let head =
            format!("HTTP/1.1 200 OK\r\nETag: \"p\"\r\nContent-Length: {}\r\n\r\n", body.len());
        Some(stream.write_all(format!("{head}{body}").as_bytes()).is_ok())
    });
    server.manners(|manners| manners.instead = Some(take));
    upload
}

/// Beyond 64 MiB in parts of 16 MiB; up to that with one request.
#[test]
fn large_values_are_sent_in_parts() {
    let server = Server::start();
    let upload = takes_parts(&server);
    let store = bucket(&server);
    let writeable = store.to_sync();
    let value: Vec<u8> = (0..(64u32 << 20) + 5).map(|i| (i / 977) as u8).collect();
    let value = Bytes::from(value);
    writeable.set(&key(), Payload::new(&value[..])).expect("it is set");
    {
        let upload = upload.lock().expect("no panic");
        let sizes: Vec<usize> = upload.parts.values().map(Vec::len).collect();
        assert_eq!((upload.begun, upload.completed), (1, 1));
        assert_eq!(sizes, [16 << 20, 16 << 20, 16 << 20, 16 << 20, 5]);
    }
    assert!(server.value("bucket/k").as_deref() == Some(&value[..]), "another value arrived");
    writeable.set(&key(), Payload::new(&value[..64 << 20])).expect("it is set");
    assert_eq!(upload.lock().expect("no panic").begun, 1, "one request was enough");
}
