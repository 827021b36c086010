//! A bucket of S3 in another region than was set is found there, by what the server says.
#![cfg(feature = "s3")]

use std::io::Write;
use std::sync::{Arc, Mutex};

use zarr::Access;
use zarr::store::{Payload, StoreKey, SyncStore};
use zarr::stores::ObjectStore;

use crate::server::Server;

/// How a server says which region a bucket is in: a status, and what follows it.
const ANSWERS: [(&str, &str); 3] = [
    ("301 Moved Permanently", "x-amz-bucket-region: REGION\r\n\r\n"),
    ("403 Forbidden", "x-amz-bucket-region: REGION\r\n\r\n"),
    (
        "400 Bad Request",
        "\r\n<Error><Code>AuthorizationHeaderMalformed</Code><Message>no</Message><Region>REGION</Region></Error>",
    ),
];

/// A server whose bucket is in `region`, and the regions that requests were signed for.
fn serving(region: &str, answer: (&str, &str)) -> (Server, Arc<Mutex<Vec<String>>>) {
    let server = Server::start();
    server.set("bucket/data/k", b"value");
    let signed = Arc::<Mutex<Vec<String>>>::default();
    let (noted, wanted) = (signed.clone(), region.to_owned());
    let (status, rest) = (answer.0.to_owned(), answer.1.replace("REGION", region));
    let body = rest.split_once("\r\n\r\n").map_or(rest.trim_start(), |(_, body)| body).len();
    server.manners(|manners| {
        manners.instead = Some(Arc::new(move |request, stream| {
            // `Credential=KEY/20261129/us-east-1/s3/aws4_request`.
            let region = request.header("authorization")?.split('/').nth(2)?.to_owned();
            noted.lock().unwrap().push(region.clone());
            if region == wanted {
                return None;
            }
            let head = format!("HTTP/1.1 {status}\r\nContent-Length: {body}\r\n");
            Some(stream.write_all(format!("{head}{rest}").as_bytes()).is_ok())
        }));
    });
    (server, signed)
}

fn open(server: &Server, more: &[(&str, &str)]) -> Arc<dyn SyncStore> {
    let endpoint = server.url("");
    let options = [
        ("access_key_id", "me"),
        ("secret_access_key", "secret"),
        ("endpoint", endpoint.trim_end_matches('/')),
        ("max_retries", "0"),
    ];
    let options = options.iter().chain(more).copied();
    let store = ObjectStore::open("s3://bucket/data", Access::ReadWrite, options).unwrap();
    store.into_store().to_sync()
}

fn taken(signed: &Mutex<Vec<String>>) -> Vec<String> {
    std::mem::take(&mut *signed.lock().unwrap())
}

#[test]
fn the_region_that_a_server_names_is_used() {
    let key = StoreKey::new("k").unwrap();
    for answer in ANSWERS {
        for set in [&[][..], &[("region", "us-west-2")]] {
            let (server, signed) = serving("eu-west-1", answer);
            let store = open(&server, set);
            assert_eq!(store.value(&key).unwrap().as_deref(), Some(&b"value"[..]), "{answer:?}");
            let first = if set.is_empty() { "us-east-1" } else { "us-west-2" };
            assert_eq!(taken(&signed), [first, "eu-west-1"]);
            // From then on at once.
            assert!(store.value(&key).unwrap().is_some());
            assert_eq!(taken(&signed), ["eu-west-1"]);
            // What is written first is written once.
            let store = open(&server, set);
            let other = StoreKey::new("other").unwrap();
            store.set(&other, Payload::from(b"new".as_slice())).unwrap();
            assert_eq!(taken(&signed), [first, "eu-west-1"]);
            assert_eq!(server.value("bucket/data/other").as_deref(), Some(&b"new"[..]));
        }
    }
}

/// A server that names one region after the other, or what is no region, does not keep requests going.
#[test]
fn a_server_that_lies_about_the_region_is_not_followed() {
    let key = StoreKey::new("k").unwrap();
    for answer in ANSWERS {
        let (server, signed) =
            serving("none/", (answer.0, &answer.1.replace("REGION", "eu-west-9")));
        let error = open(&server, &[]).value(&key).unwrap_err().to_string();
        assert!(!error.contains("secret"), "{error}");
        assert_eq!(taken(&signed), ["us-east-1", "eu-west-9"], "{error}");
        for wrong in ["evil.example/", "a@b", "EU"] {
            let (server, signed) = serving("none/", (answer.0, &answer.1.replace("REGION", wrong)));
            let error = open(&server, &[]).value(&key).unwrap_err().to_string();
            assert_eq!(taken(&signed), ["us-east-1"], "{wrong}: {error}");
        }
    }
}

/// A listing may be empty, in the region that was set and in the one that the server names.
#[test]
fn an_empty_listing_ends() {
    for region in ["us-east-1", "eu-west-1"] {
        let (server, _) = serving(region, ANSWERS[0]);
        let refusing = server.clone();
        server.manners(|manners| {
            let before = manners.instead.take().unwrap();
            manners.instead = Some(Arc::new(move |request, stream| {
                if let Some(goes_on) = before(request, stream) {
                    return Some(goes_on);
                }
                if !request.query.contains("list-type=2") {
                    return None;
                }
                let key = refusing.keys().into_iter().find(|key| key.starts_with("bucket/data/"));
                let time = "2026-01-05T00:00:00.000Z";
                let entry = key.map_or(String::new(), |key| {
                    let key = key.trim_start_matches("bucket/");
                    format!("<Contents><Key>{key}</Key><LastModified>{time}</LastModified><ETag>e</ETag><Size>5</Size></Contents>")
                });
                let body = format!(
                    "<ListBucketResult><IsTruncated>false</IsTruncated>{entry}</ListBucketResult>"
                );
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
                Some(stream.write_all(format!("{head}{body}").as_bytes()).is_ok())
            }));
        });
        let store = open(&server, &[]);
        assert_eq!(store.list().unwrap(), [StoreKey::new("k").unwrap()], "{region}");
        server.forget("bucket/data/k");
        assert_eq!(store.list().unwrap(), [], "{region}");
        // Nothing was listed before.
        assert_eq!(open(&server, &[]).list().unwrap(), [], "{region}");
    }
}
