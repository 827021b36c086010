//! Servers that send more than was asked for, something else, or without an end: each ends with an error that says so.

#![cfg(all(feature = "http", feature = "s3", feature = "gcs", feature = "azure"))]

use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use crate::server::{Instead, Request, Server};
use zarr::store::{ByteRange, Store, StoreKey, StorePrefix};
use zarr::stores::ObjectStore;
use zarr::{Access, StoreError};
use zarr_testkit::ShortCalls;

const FEW_RETRIES: [(&str, &str); 2] = [("max_retries", "1"), ("retry_timeout", "5")];
/// What the system may hold between a server and a client, and a few parts of a body.
const IN_BETWEEN: u64 = 32 << 20;

fn key(key: &str) -> StoreKey {
    StoreKey::new(key).expect("a good key")
}

fn web(server: &Server) -> Arc<dyn Store> {
    let store = ObjectStore::open(&server.url("data"), Access::ReadOnly, FEW_RETRIES);
    store.expect("it opens").into_store()
}

/// A bucket of S3 that the server shows, by session credentials.
fn bucket(server: &Server, secrets: bool) -> Arc<dyn Store> {
    let endpoint = server.url("");
    let endpoint = ("endpoint", endpoint.trim_end_matches('/'));
    let mut options = vec![endpoint, ("region", "us-east-1"), ("allow_http", "true")];
    options.extend(FEW_RETRIES);
    if secrets {
        options.extend([
            ("access_key_id", "id"),
            ("secret_access_key", "secret"),
            ("session_token", "token"),
        ])
    } else {
        options.push(("skip_signature", "true"))
    }
    let store = ObjectStore::open("s3://bucket", Access::ReadWrite, options);
    store.expect("it opens").into_store()
}

fn azure(server: &Server) -> Arc<dyn Store> {
    let endpoint = server.url("container");
    let mut options = vec![
        ("azure_storage_account_name", "account"),
        ("azure_storage_endpoint", endpoint.trim_end_matches("/container")),
        ("azure_storage_account_key", "c2VjcmV0"),
        ("allow_http", "true"),
    ];
    options.extend(FEW_RETRIES);
    ObjectStore::open("az://container", Access::ReadWrite, options).expect("it opens").into_store()
}

fn google(server: &Server) -> Arc<dyn Store> {
    let url = server.url("");
    let account = format!(
        r#"{{"gcs_base_url":"{}","disable_oauth":true,"client_email":"","private_key":"","private_key_id":""}}"#,
        url.trim_end_matches('/')
    );
    let mut options =
        vec![("google_service_account_key", account.as_str()), ("allow_http", "true")];
    options.extend(FEW_RETRIES);
    ObjectStore::open("gs://bucket", Access::ReadWrite, options).expect("it opens").into_store()
}

fn get(store: &Arc<dyn Store>, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
    let value = store.to_sync().value(&key(name))?;
    Ok(value.map(|value| value.to_vec()))
}

fn part(
    store: &Arc<dyn Store>,
    name: &str,
    range: ByteRange,
) -> Result<Option<Vec<u8>>, StoreError> {
    let readable = store.to_sync();
    let parts = readable.ranges(&key(name), &[range])?;
    Ok(parts.map(|parts| parts[0].to_vec()))
}

fn list(store: &Arc<dyn Store>) -> Result<Vec<String>, StoreError> {
    let keys = store.to_sync().list()?;
    Ok(keys.iter().map(ToString::to_string).collect())
}

/// Answers every request like this.
fn always(
    server: &Server,
    answer: impl Fn(&Request, &mut TcpStream) -> Option<bool> + Send + Sync + 'static,
) {
    let instead: Instead = Arc::new(answer);
    server.manners(|manners| manners.instead = Some(instead));
}

fn answer(stream: &mut TcpStream, head: &str, body: &str) -> Option<bool> {
    let length = body.len();
    let answer = format!("HTTP/1.1 {head}\r\nContent-Length: {length}\r\n\r\n{body}");
    Some(stream.write_all(answer.as_bytes()).is_ok())
}

/// A body of 1 GiB, after a head that promises what it likes; how much of it was sent is counted.
fn flood(
    server: &Server,
    head: &'static str,
    chunked: bool,
    piece: &'static [u8],
) -> Arc<AtomicU64> {
    let sent = Arc::new(AtomicU64::new(0));
    let count = sent.clone();
    always(server, move |_, stream| {
        let mut write = || -> std::io::Result<()> {
            stream.write_all(format!("HTTP/1.1 {head}\r\n\r\n").as_bytes())?;
            let block = piece.repeat((1 << 20) / piece.len());
            while count.load(SeqCst) < 1 << 30 {
                if chunked {
                    stream.write_all(format!("{:x}\r\n", block.len()).as_bytes())?;
                }
                stream.write_all(&block)?;
                if chunked {
                    stream.write_all(b"\r\n")?;
                }
                count.fetch_add(block.len() as u64, SeqCst);
            }
            Ok(())
        };
        let _ = write();
        Some(false)
    });
    sent
}

/// What is received is bounded to what was asked for and 64 KiB.
#[test]
fn a_body_without_an_end_is_not_read_on() {
    const WHOLE: &str = "200 OK\r\nContent-Length: 10\r\nTransfer-Encoding: chunked";
    const PART: &str = "206 Partial Content\r\nContent-Range: bytes 0-9/100\r\nETag: \"1\"\r\nLast-Modified: \
                        Mon, 05 Jan 2026 00:00:00 GMT\r\nContent-Length: 1073741824";
    const S3: &str = "200 OK\r\nETag: \"1\"\r\nLast-Modified: Mon, 05 Jan 2026 00:00:00 GMT\r\n\
                      Content-Length: 10\r\nTransfer-Encoding: chunked";
    let server = Server::start();
    for (store, head) in [(web(&server), WHOLE), (bucket(&server, false), S3)] {
        let sent = flood(&server, head, true, b"x");
        let error = get(&store, "k").expect_err("it has no end").to_string();
        assert!(error.contains("more than 10 bytes"), "{error}");
        assert!(sent.load(SeqCst) < IN_BETWEEN, "{} bytes", sent.load(SeqCst));
        let sent = flood(&server, PART, false, b"x");
        let error = part(&store, "k", ByteRange::Bounded { start: 0, len: 10 });
        let error = error.expect_err("it has no end").to_string();
        assert!(error.contains("more than 10 bytes"), "{error}");
        assert!(sent.load(SeqCst) < IN_BETWEEN, "{} bytes", sent.load(SeqCst));
    }
}

/// Pages of listings, and what a server says of an error, are bounded, too.
#[test]
fn a_listing_and_an_error_without_an_end_are_not_read_on() {
    let server = Server::start();
    for store in [bucket(&server, false), google(&server), azure(&server)] {
        let sent =
            flood(&server, "200 OK\r\nTransfer-Encoding: chunked", true, b"<Contents></Contents>");
        let error = list(&store).expect_err("it has no end").to_string();
        assert!(error.contains("the server sent more than"), "{error}");
        assert!(sent.load(SeqCst) < (64 << 20) + IN_BETWEEN, "{} bytes", sent.load(SeqCst));
        let sent = flood(&server, "403 Forbidden\r\nTransfer-Encoding: chunked", true, b"no ");
        let error = get(&store, "k").expect_err("it is forbidden").to_string();
        assert!(error.contains("403 Forbidden"), "{error}");
        assert!(sent.load(SeqCst) < IN_BETWEEN, "{} bytes", sent.load(SeqCst));
    }
}

/// A document of more than 64 MiB is refused before its bytes come.
#[test]
fn a_document_without_an_end_is_refused() {
    let server = Server::start();
    const HEAD: &str = "200 OK\r\nContent-Length: 1073741824";
    let sent = flood(&server, HEAD, false, b" ");
    let options = zarr::OpenOptions::new(zarr::standard());
    let error = zarr::Hierarchy::open(web(&server), &options).map(drop).expect_err("it is large");
    assert_eq!(error.kind(), zarr::ErrorKind::Limit, "{error}");
    assert!(error.to_string().contains("1073741824 bytes"), "{error}");
    assert!(sent.load(SeqCst) < IN_BETWEEN, "{} bytes", sent.load(SeqCst));
}

/// A chunk has no more bytes than its array justifies, whatever the server announces.
#[test]
fn a_chunk_without_an_end_is_refused() {
    let server = Server::start();
    let document = |data_type: &str, fill: &str, codec: &str| {
        format!(
            r#"{{"zarr_format":3,"node_type":"array","shape":[10],"data_type":"{data_type}","chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[10]}}}},"chunk_key_encoding":{{"name":"default"}},"fill_value":{fill},"codecs":[{codec}]}}"#
        )
    };
    let zstd = r#"{"name":"bytes"},{"name":"zstd","configuration":{"level":1,"checksum":false}}"#;
    const HEAD: &str = "200 OK\r\nContent-Length: 1073741824";
    for (document, what) in [
        (document("uint8", "0", zstd), "zstd"),
        (document("uint8", "0", r#"{"name":"bytes"}"#), "bytes"),
        (document("string", "\"\"", r#"{"name":"vlen-utf8"}"#), "texts"),
    ] {
        let limits = zarr::Limits { decoded: 1 << 20, ..zarr::Limits::default() };
        let options = zarr::OpenOptions::new(zarr::standard()).limits(limits);
        server.set("data/zarr.json", document.as_bytes());
        server.manners(|manners| manners.instead = None);
        let hierarchy = zarr::Hierarchy::open(web(&server), &options).expect("it opens");
        let array = hierarchy.array(zarr::NodePath::root()).expect("it is an array");
        let sent = flood(&server, HEAD, false, b"x");
        let error = match what {
            "texts" => array.read::<String>(..).map(drop),
            _ => array.read::<u8>(..).map(drop),
        };
        let error = error.expect_err("it is too large");
        assert!(error.to_string().contains("1073741824 bytes"), "{what}: {error}");
        assert!(sent.load(SeqCst) < IN_BETWEEN, "{what}: {} bytes", sent.load(SeqCst));
    }
}

/// The old value is bounded, too, before a part of it is changed, guarded or not, be it a chunk or a document.
#[test]
fn an_old_value_without_an_end_is_refused() {
    let server = Server::start();
    const HEAD: &str = "200 OK\r\nETag: \"1\"\r\nLast-Modified: Mon, 05 Jan 2026 00:00:00 GMT\r\n\
                        Content-Length: 1073741824";
    let document = r#"{"zarr_format":3,"node_type":"array","shape":[10],"data_type":"uint8","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[10]}},"chunk_key_encoding":{"name":"default"},"fill_value":0,"codecs":[{"name":"bytes"}]}"#;
    for guard in [zarr::Guard::On, zarr::Guard::Off] {
        let mut options = zarr::OpenOptions::new(zarr::standard()).read_write();
        options.options.guard = guard;
        server.set("bucket/zarr.json", document.as_bytes());
        server.manners(|manners| manners.instead = None);
        let hierarchy = zarr::Hierarchy::open(bucket(&server, false), &options).expect("it opens");
        let array = hierarchy.array(zarr::NodePath::root()).expect("it is an array");
        for what in ["a chunk", "a document"] {
            let sent = flood(&server, HEAD, false, b"x");
            let error = match what {
                "a chunk" => array.write(1..2, &[1u8]),
                _ => array.update_attributes(|_| ()).map(drop),
            };
            let error = error.expect_err("it is too large");
            assert_eq!(error.kind(), zarr::ErrorKind::Limit, "{guard:?}, {what}: {error}");
            assert!(error.to_string().contains("1073741824 bytes"), "{guard:?}, {what}: {error}");
            assert!(sent.load(SeqCst) < IN_BETWEEN, "{what}: {} bytes", sent.load(SeqCst));
        }
    }
}

/// An array of one shard of four inner chunks of one byte, or of as many shards of one.
fn sharded(inner: &str) -> String {
    let sharding = |shape: &str, codec: &str| {
        format!(
            r#"{{"name":"sharding_indexed","configuration":{{"chunk_shape":{shape},"codecs":[{codec}],"index_codecs":[{{"name":"bytes","configuration":{{"endian":"little"}}}}]}}}}"#
        )
    };
    let codec = match inner {
        "a shard" => sharding("[1]", &sharding("[1]", r#"{"name":"bytes"}"#)),
        "zstd" => {
            let zstd =
                r#"{"name":"bytes"},{"name":"zstd","configuration":{"level":1,"checksum":false}}"#;
            sharding("[1]", zstd)
        }
        _ => sharding("[1]", r#"{"name":"bytes"}"#),
    };
    format!(
        r#"{{"zarr_format":3,"node_type":"array","shape":[4],"data_type":"uint8","chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[4]}}}},"chunk_key_encoding":{{"name":"default"}},"fill_value":0,"codecs":[{codec}]}}"#
    )
}

/// An inner chunk has no more bytes than its elements justify, whatever the shard's index says, and
/// neither have all inner chunks together.
#[test]
fn an_inner_chunk_without_an_end_is_refused() {
    let server = Server::start();
    const TIB: u64 = 1 << 40;
    let large = [[0, TIB], [u64::MAX; 2], [u64::MAX; 2], [u64::MAX; 2]];
    let many = [0, 1, 2, 3].map(|n| [n * (61 << 20), 60 << 20]);
    let cases = [("zstd", large, "inner chunk [0]"), ("bytes", large, "inner chunk [0]")];
    let cases = cases.into_iter().chain([
        ("a shard", large, "inner chunk [0]"),
        ("zstd", many, "its inner chunks are said to have 188743680 bytes"),
    ]);
    for (inner, index, says) in cases {
        server.manners(|manners| manners.instead = None);
        server.set("data/zarr.json", sharded(inner).as_bytes());
        let options = zarr::OpenOptions::new(zarr::standard());
        let hierarchy = zarr::Hierarchy::open(web(&server), &options).expect("it opens");
        let array = hierarchy.array(zarr::NodePath::root()).expect("it is an array");
        let sent = Arc::new(AtomicU64::new(0));
        let count = sent.clone();
        let index: Vec<u8> = index.iter().flatten().flat_map(|n| n.to_le_bytes()).collect();
        always(&server, move |request, stream| {
            let range = request.header("range").unwrap_or_default();
            let size = TIB + 64;
            let wanted = range.trim_start_matches("bytes=");
            if wanted == "-64" || wanted.starts_with(&TIB.to_string()) {
                let head = format!(
                    "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {TIB}-{}/{size}\r\nETag: \"1\"\r\n\
                     Last-Modified: Mon, 05 Jan 2026 00:00:00 GMT\r\nContent-Length: 64\r\n\r\n",
                    size - 1
                );
                let _ = stream.write_all(&[head.as_bytes(), &index].concat());
                return Some(true);
            }
            let (first, last) = wanted.split_once('-').expect("a range");
            let (first, last): (u64, u64) = (first.parse().unwrap(), last.parse().unwrap());
            let due = last + 1 - first;
            let head = format!(
                "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {wanted}/{size}\r\nETag: \"1\"\r\n\
                 Last-Modified: Mon, 05 Jan 2026 00:00:00 GMT\r\nContent-Length: {due}\r\n\r\n"
            );
            let _ = stream.write_all(head.as_bytes());
            let block = vec![0; 1 << 20];
            // A reader that goes on and on is given an end after all.
            for _ in 0..due.div_ceil(1 << 20).min(256) {
                if stream.write_all(&block).is_err() {
                    break;
                }
                count.fetch_add(1 << 20, SeqCst);
            }
            Some(false)
        });
        let error = array.read::<u8>(0..3).expect_err("it is too large");
        let text = error.to_string();
        assert!(text.contains(says) && text.contains("more than the limit of"), "{inner}: {text}");
        assert_eq!(error.kind(), zarr::ErrorKind::CorruptData, "{inner}: {text}");
        assert_eq!(sent.load(SeqCst), 0, "{inner}");
    }
}

/// Nothing is allocated because a server announces it.
#[test]
fn an_announced_size_is_not_believed() {
    let server = Server::start();
    always(&server, |_, stream| {
        let head = "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nLast-Modified: Mon, 05 Jan 2026 00:00:00 GMT\r\n\
                    Content-Length: 9000000000000000000\r\n\r\nabc";
        let _ = stream.write_all(head.as_bytes());
        Some(false)
    });
    for store in [web(&server), bucket(&server, false)] {
        get(&store, "k").expect_err("it breaks off");
    }
}

/// A part is not taken for the whole.
#[test]
fn a_part_that_nobody_asked_for_is_an_error() {
    let server = Server::start();
    always(&server, |request, stream| {
        assert_eq!(request.header("range"), None);
        let head = "206 Partial Content\r\nContent-Range: bytes 0-2/1000\r\nETag: \"1\"\r\nLast-Modified: Mon, 05 \
                    Jan 2026 00:00:00 GMT";
        answer(stream, head, "abc")
    });
    for store in [web(&server), bucket(&server, false), google(&server), azure(&server)] {
        let error = get(&store, "k").expect_err("it is a part").to_string();
        assert!(error.contains("206") && error.contains("instead of the whole value"), "{error}");
    }
}

const S3_PAGE: &str = "<ListBucketResult><IsTruncated>true</IsTruncated><Contents><Key>a</Key><Size>1</Size><LastModified>\
                       2026-01-05T00:00:00.000Z</LastModified></Contents><NextContinuationToken>again\
                       </NextContinuationToken></ListBucketResult>";
const AZURE_PAGE: &str = "<EnumerationResults><Blobs><Blob><Name>a</Name><Properties><Last-Modified>Mon, 05 Jan 2026 \
                          00:00:00 GMT</Last-Modified><Content-Length>1</Content-Length><Content-Type>x</Content-Type>\
                          </Properties></Blob></Blobs><NextMarker>again</NextMarker></EnumerationResults>";

/// Pages must advance.
#[test]
fn a_listing_that_repeats_its_token_ends_with_an_error() {
    let server = Server::start();
    for (store, page) in [
        (bucket(&server, false), S3_PAGE),
        (google(&server), S3_PAGE),
        (azure(&server), AZURE_PAGE),
    ] {
        // A reader that goes on and on is given an end after all.
        let pages = AtomicU64::new(0);
        always(&server, move |_, stream| match pages.fetch_add(1, SeqCst) {
            0..50 => answer(stream, "200 OK", page),
            _ => answer(stream, "200 OK", &page.replace("again", "")),
        });
        server.asked();
        let error = list(&store).expect_err("it repeats itself").to_string();
        assert!(error.contains("repeats a page"), "{error}");
        assert!(server.asked().0.len() <= 3);
        let listable = store.to_sync();
        let error = listable.dir(&StorePrefix::root()).expect_err("it repeats itself");
        assert!(error.to_string().contains("repeats a page"), "{error}");
    }
}

/// New tokens alone are no advance, neither are pages without a key.
#[test]
fn a_listing_whose_tokens_are_always_new_ends_with_an_error() {
    const MAX_REQUESTS: u64 = 3000;
    let server = Server::start();
    let page_of = |kind: &str, key: &str, token: &str| match (kind, key) {
        ("az", "") => format!(
            "<EnumerationResults><Blobs></Blobs><NextMarker>{token}</NextMarker></EnumerationResults>"
        ),
        ("az", _) => AZURE_PAGE.replace("again", token),
        (_, "") => format!(
            "<ListBucketResult><IsTruncated>{}</IsTruncated><NextContinuationToken>{token}</NextContinuationToken>\
             </ListBucketResult>",
            !token.is_empty()
        ),
        _ => S3_PAGE.replace("again", token),
    };
    for (kind, store) in
        [("s3", bucket(&server, false)), ("gs", google(&server)), ("az", azure(&server))]
    {
        for (key, says, most) in [("a", "repeats a page", 3), ("", "empty pages", 1002)] {
            let pages = AtomicU64::new(0);
            always(&server, move |_, stream| {
                // A reader that goes on and on is given an end after all.
                let token = match pages.fetch_add(1, SeqCst) {
                    page @ 0..MAX_REQUESTS => format!("t{page}"),
                    _ => String::new(),
                };
                answer(stream, "200 OK", &page_of(kind, key, &token))
            });
            server.asked();
            let error = list(&store).expect_err("it has no end").to_string();
            assert!(error.contains(says), "{kind}: {error}");
            assert!(server.asked().0.len() <= most, "{kind}: {says}");
        }
    }
}

/// A listing that gives new keys without an end ends where its keys have more bytes than the caller allows.
#[test]
fn a_listing_of_ever_new_keys_ends_with_an_error() {
    const MAX_REQUESTS: u64 = 3000;
    let server = Server::start();
    let endpoint = server.url("");
    let mut options =
        vec![("endpoint", endpoint.trim_end_matches('/')), ("skip_signature", "true")];
    options.extend([("region", "us-east-1"), ("allow_http", "true"), ("max_listed", "65536")]);
    options.extend(FEW_RETRIES);
    let store = ObjectStore::open("s3://bucket", Access::ReadWrite, options).expect("it opens");
    let store = store.into_store().to_sync();
    let listings: [&dyn Fn() -> Result<(), StoreError>; 3] =
        [&|| store.list().map(drop), &|| store.dir(&StorePrefix::root()).map(drop), &|| {
            store.erase_prefix(&StorePrefix::root())
        }];
    for list in listings {
        let pages = AtomicU64::new(0);
        always(&server, move |request, stream| {
            if request.query.contains("delete") {
                return answer(stream, "200 OK", "<DeleteResult></DeleteResult>");
            }
            // A reader that goes on and on is given an end after all.
            let page = pages.fetch_add(1, SeqCst);
            let body = S3_PAGE.replace("again", &format!("t{page}"));
            let body = body.replace("<Key>a<", &format!("<Key>{}{page}<", "a".repeat(900)));
            let last = || body.replace("<IsTruncated>true", "<IsTruncated>false");
            answer(stream, "200 OK", &if page < MAX_REQUESTS { body.clone() } else { last() })
        });
        server.asked();
        let error = list().expect_err("it has no end").to_string();
        assert!(error.contains("more than 65536 bytes of keys"), "{error}");
        assert!(error.contains("`max_listed`"), "{error}");
        assert!(server.asked().0.len() <= 200);
    }
}

/// Pages without a key among others are no fault: servers skip what was erased.
#[test]
fn a_listing_may_have_empty_pages() {
    let server = Server::start();
    let pages = AtomicU64::new(0);
    always(&server, move |_, stream| {
        let page = match pages.fetch_add(1, SeqCst) {
            page if page % 3 == 0 => S3_PAGE.replace("<Key>a<", &format!("<Key>a{page}<")),
            _ => "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>again</NextContinuationToken>\
                  </ListBucketResult>"
                .to_owned(),
        };
        let at = pages.load(SeqCst);
        let token = "<NextContinuationToken>again</NextContinuationToken>";
        let page = match at {
            0..10 => page.replace("again", &format!("t{at}")),
            _ => page.replace("true", "false").replace(token, ""),
        };
        answer(stream, "200 OK", &page)
    });
    assert_eq!(list(&bucket(&server, false)).expect("it ends"), ["a0", "a3", "a6", "a9"]);
}

/// A name that is no valid key is reported, and hides no other.
#[test]
fn a_key_with_dots_hides_no_other() {
    let server = Server::start();
    let entry = |key: &str| {
        format!(
            "<Contents><Key>{key}</Key><Size>1</Size><LastModified>2026-01-05T00:00:00.000Z</LastModified></Contents>"
        )
    };
    let page = format!(
        "<ListBucketResult>{}{}{}<CommonPrefixes><Prefix>g/</Prefix></CommonPrefixes><CommonPrefixes><Prefix>../\
         </Prefix></CommonPrefixes></ListBucketResult>",
        entry("a"),
        entry("x/../y"),
        entry("zarr.json")
    );
    let group = r#"{"zarr_format":3,"node_type":"group"}"#;
    always(&server, move |request, stream| match (request.query.as_str(), request.path.as_str()) {
        ("", "bucket/zarr.json" | "bucket/g/zarr.json") => answer(
            stream,
            "200 OK\r\nETag: \"1\"\r\nLast-Modified: Mon, 05 Jan 2026 00:00:00 GMT",
            group,
        ),
        ("", _) => answer(stream, "404 Not Found", ""),
        (query, _) if query.contains("prefix=g") => {
            answer(stream, "200 OK", "<ListBucketResult></ListBucketResult>")
        }
        _ => answer(stream, "200 OK", &page),
    });
    let store = bucket(&server, false);
    assert_eq!(list(&store).expect("it is listed"), ["a", "zarr.json"]);
    let listing = store.to_sync().dir(&StorePrefix::root());
    let listing = listing.expect("it is listed");
    assert_eq!(listing.left_out, ["x/../y", "../"]);
    let below = store.to_sync().list_prefix(&StorePrefix::root());
    let below = below.expect("it is listed");
    assert_eq!(below.keys.len(), 2);
    assert_eq!(below.left_out, ["x/../y", "../"]);
    let options = zarr::OpenOptions::new(zarr::standard());
    let hierarchy = zarr::Hierarchy::open(store, &options).expect("it opens");
    let root = hierarchy.group(zarr::NodePath::root()).expect("it is a group");
    assert_eq!(root.children().expect("it is listed").len(), 1);
    let warnings: Vec<_> = hierarchy.warnings().iter().map(ToString::to_string).collect();
    assert!(warnings.iter().any(|warning| warning.contains("skipped `x/../y`")), "{warnings:?}");
}

/// Nor does it in the tree of a draft, nor where all is erased, which says what stays.
#[test]
fn a_draft_with_such_a_key_names_it_and_erasing_does_too() {
    let server = Server::start();
    let entry = |key: &str| {
        format!(
            "<Contents><Key>{key}</Key><Size>1</Size><LastModified>2026-01-05T00:00:00.000Z</LastModified></Contents>"
        )
    };
    let keys = ["meta/root/../a.array.json", "data/./b", "meta/root/g.group.json", "zarr.json"];
    let keys = keys.map(entry);
    let page = format!("<ListBucketResult>{}</ListBucketResult>", keys.concat());
    const CORE: &str = "https://purl.org/zarr/spec/protocol/core/3.0";
    let root = format!(
        r#"{{"zarr_format":"{CORE}","metadata_encoding":"{CORE}","metadata_key_suffix":".json","extensions":[]}}"#
    );
    always(&server, move |request, stream| {
        let head = "200 OK\r\nETag: \"1\"\r\nLast-Modified: Mon, 05 Jan 2026 00:00:00 GMT";
        match (request.query.as_str(), request.path.as_str()) {
            ("", "bucket/zarr.json") => answer(stream, head, &root),
            ("", "bucket/meta/root/g.group.json") => answer(stream, head, r#"{"attributes":{}}"#),
            ("", _) => answer(stream, "404 Not Found", ""),
            (query, _) if query.contains("delete") => answer(
                stream,
                "200 OK",
                "<DeleteResult><Deleted><Key>zarr.json</Key></Deleted></DeleteResult>",
            ),
            _ => answer(stream, "200 OK", &page),
        }
    });
    let store = bucket(&server, false);
    let options = zarr::OpenOptions::new(zarr::standard());
    let hierarchy = zarr::Hierarchy::open(store.clone(), &options).expect("it opens");
    let tree = hierarchy.tree(zarr::NodePath::root()).expect("it is listed");
    assert!(tree.iter().any(|child| child.path.as_str() == "/g"), "{tree:?}");
    let warnings: Vec<_> = hierarchy.warnings().iter().map(ToString::to_string).collect();
    let names = |text: &String| text.contains("skipped `meta/root/../a.array.json`");
    assert!(warnings.iter().any(names), "{warnings:?}");
    let erased = store.to_sync().erase_prefix(&StorePrefix::root());
    let error = erased.expect_err("a key stays").to_string();
    assert!(error.contains("meta/root/../a.array.json"), "{error}");
    assert!(server.asked().0.iter().any(|request| request.starts_with("POST")));
}

/// What another host was told.
type Told = Arc<Mutex<Vec<Vec<(String, String)>>>>;

/// Another host, which gives `abc` to everybody, and remembers what it was told.
fn elsewhere() -> (Server, Told) {
    let (server, told) = (Server::start(), Told::default());
    let remember = told.clone();
    always(&server, move |request, stream| {
        remember.lock().expect("no panic").push(request.headers.clone());
        let dates = "ETag: \"1\"\r\nLast-Modified: Mon, 05 Jan 2026 00:00:00 GMT";
        match request.header("range") {
            Some(_) => {
                let head = format!("206 Partial Content\r\nContent-Range: bytes 1-1/3\r\n{dates}");
                answer(stream, &head, "b")
            }
            None => answer(stream, &format!("200 OK\r\n{dates}"), "abc"),
        }
    });
    (server, told)
}

fn redirect_to(server: &Server, to: String, status: u16) {
    always(server, move |_, stream| {
        answer(stream, &format!("{status} Elsewhere\r\nLocation: {to}"), "")
    });
}

/// Plain HTTP follows redirects, and tells the other host nothing that might be a secret.
#[test]
fn redirects_of_web_servers_are_followed_without_credentials() {
    let (server, (other, told)) = (Server::start(), elsewhere());
    let url = server.url("data").replace("//", "//user:secret@");
    let store =
        ObjectStore::open(&url, Access::ReadOnly, FEW_RETRIES).expect("it opens").into_store();
    for status in [301, 302, 303, 307, 308] {
        redirect_to(&server, other.url("x").replace("//", "//them:theirs@"), status);
        assert_eq!(get(&store, "k").expect("it is read").as_deref(), Some(&b"abc"[..]), "{status}");
        let one = ByteRange::Bounded { start: 1, len: 1 };
        assert_eq!(part(&store, "k", one).expect("it is read").as_deref(), Some(&b"b"[..]));
    }
    let told = std::mem::take(&mut *told.lock().expect("no panic"));
    assert_eq!(told.len(), 10);
    let known = ["host", "accept", "range", "user-agent", "if-match"];
    for (name, value) in told.iter().flatten() {
        assert!(known.contains(&name.as_str()), "{name}: {value}");
    }
}

/// Redirects are followed to http and https only, and not for ever.
#[test]
fn redirects_to_anything_else_are_refused() {
    let server = Server::start();
    let store = web(&server);
    for to in ["ftp://host/x", "file:///etc/passwd", "data:,abc"] {
        redirect_to(&server, to.into(), 302);
        let error = get(&store, "k").expect_err("it is no web server").to_string();
        assert!(error.contains("not http or https"), "{to}: {error}");
    }
    redirect_to(&server, "/data/k".into(), 302);
    server.asked();
    let error = get(&store, "k").expect_err("it has no end").to_string();
    assert!(error.contains("too many times"), "{error}");
    assert!(server.asked().0.len() <= 12);
}

/// A signed request is for the host that it was signed for.
#[test]
fn redirects_of_buckets_are_not_followed() {
    let (server, (other, told)) = (Server::start(), elsewhere());
    for store in [bucket(&server, true), google(&server), azure(&server)] {
        for status in [301, 302, 307, 308] {
            redirect_to(&server, other.url("bucket/k"), status);
            let error = get(&store, "k").expect_err("it is elsewhere").to_string();
            assert!(error.contains("redirects to another address"), "{error}");
            list(&store).expect_err("it is elsewhere");
            let writeable = store.to_sync();
            writeable.set(&key("k"), b"x"[..].into()).expect_err("it is elsewhere");
        }
    }
    assert!(told.lock().expect("no panic").is_empty(), "the other host was asked");
}

/// What is wrong is told by type and status: words in the URL mean nothing.
#[test]
fn words_in_a_url_are_no_diagnosis() {
    let server = Server::start();
    for word in ["metadata", "timed out", "deadline", "expecting", "dns error", "169.254.169.254"] {
        let url = server.url(&format!("{word}/data")).replace(' ', "%20");
        let store =
            ObjectStore::open(&url, Access::ReadOnly, FEW_RETRIES).expect("it opens").into_store();
        always(&server, |_, stream| answer(stream, "500 Broken", ""));
        let error = get(&store, word).expect_err("it is broken").to_string();
        let is = format!("cannot read `{word}`: the server answered 500 Internal Server Error");
        assert_eq!(error, is);
        always(&server, |_, stream| answer(stream, "404 Not Found", ""));
        assert_eq!(get(&store, word).expect("it is absent"), None);
        always(&server, |_, stream| {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc");
            Some(false)
        });
        let error = get(&store, word).expect_err("it breaks off").to_string();
        assert!(!error.contains("credentials") && !error.contains("in time"), "{error}");
    }
    // What S3 says of a key `NoSuchBucket` that is absent.
    always(&server, |_, stream| {
        let body = "<Error><Code>NoSuchKey</Code><Key>NoSuchBucket</Key><Resource>/NoSuchBucket/k</Resource></Error>";
        answer(stream, "404 Not Found", body)
    });
    assert_eq!(get(&bucket(&server, false), "NoSuchBucket").expect("it is absent"), None);
    always(&server, |_, stream| {
        answer(stream, "404 Not Found", "<Error><Code>NoSuchBucket</Code></Error>")
    });
    let missing = bucket(&server, false);
    let error = get(&missing, "k").expect_err("there is no bucket").to_string();
    assert!(error.contains("there is no such bucket"), "{error}");
    let writeable = missing.to_sync();
    let set = writeable.set(&key("k"), b"x"[..].into());
    for error in [set, writeable.erase(&key("k"))].map(|done| done.expect_err("no bucket")) {
        assert!(error.to_string().contains("there is no such bucket"), "{error}");
    }
}

/// A silent server is told of as such, whatever the retries make of it.
#[test]
fn a_server_that_says_nothing_is_told_of_in_time() {
    let server = Server::start();
    always(&server, |_, _| {
        std::thread::sleep(std::time::Duration::from_secs(2));
        Some(false)
    });
    let options = [("read_timeout", "0.2"), ("max_retries", "0")];
    let store = ObjectStore::open(&server.url("x"), Access::ReadOnly, options).expect("it opens");
    let error = get(&store.into_store(), "k").expect_err("it is silent").to_string();
    assert!(error.contains("did not respond in time"), "{error}");
}
