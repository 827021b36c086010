//! The keys of a web server are found by the indices that it gives for its folders, if it gives any.

#![cfg(all(feature = "http", feature = "memory"))]

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Arc;

use crate::server::{Request, Server};
use zarr::store::{ListOptions, Store, StorePrefix, from_sync};
use zarr::stores::{MemoryStore, ObjectStore};
use zarr::{
    Access, Dialect, Error, ErrorKind, Hierarchy, NodePath, Object, OpenOptions, Result, StoreError,
};

/// How a server says what is in a folder.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Style {
    /// Hides names that begin with a dot.
    Apache,
    NginxJson,
    Python,
    ServeJson,
    /// Long indices in parts only.
    ServeParts,
    /// Sends an own page for every folder.
    Site,
    /// Refuses folders.
    Forbidden,
    /// Knows no folders.
    None,
}

const LISTING: [Style; 5] =
    [Style::Apache, Style::NginxJson, Style::Python, Style::ServeJson, Style::ServeParts];
const NOT_LISTING: [Style; 3] = [Style::Site, Style::Forbidden, Style::None];

/// The folders and files directly below a folder.
fn below(keys: &[String], folder: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    let (mut folders, mut files) = (BTreeSet::new(), BTreeSet::new());
    for rest in keys.iter().filter_map(|key| key.strip_prefix(folder)) {
        match rest.split_once('/') {
            Some((name, _)) => folders.insert(name.to_owned()),
            None => files.insert(rest.to_owned()),
        };
    }
    (folders, files)
}

fn encoded(name: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'_' | b'-' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    name.bytes().map(byte).collect()
}

/// The index of a folder: status, other headers, body.
fn index(style: Style, keys: &[String], request: &Request) -> (String, String, String) {
    let folder = &request.path;
    let (mut folders, mut files) = below(keys, folder);
    let found = |body: String| ("200 OK".to_owned(), String::new(), body);
    let absent = || ("404 Not Found".to_owned(), String::new(), String::new());
    match style {
        Style::Site => {
            return found("<html><title>Our data</title><a href=\"x/\">x</a></html>".into());
        }
        Style::Forbidden => return ("403 Forbidden".into(), String::new(), String::new()),
        Style::None => return absent(),
        _ if folders.is_empty() && files.is_empty() => return absent(),
        _ => {}
    }
    if matches!(style, Style::Apache | Style::NginxJson) {
        folders.retain(|name| !name.starts_with('.'));
        files.retain(|name| !name.starts_with('.'));
    }
    let json = |names: &BTreeSet<String>| {
        names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(",")
    };
    let link = |name: &String, slash: &str| {
        format!("<li><a href=\"{}{slash}\">{name}</a></li>\n", encoded(name))
    };
    let links =
        folders.iter().map(|name| link(name, "/")).chain(files.iter().map(|name| link(name, "")));
    match style {
        Style::Apache => found(format!(
            "<html><head><title>Index of /{folder}</title></head><body><a href=\"?C=N;O=D\">Name</a><a href=\"/\">Parent Directory</a>{}",
            links.collect::<String>()
        )),
        Style::Python => found(format!(
            "<!DOCTYPE HTML>\n<html><head><title>Directory listing for /{folder}</title></head><body>{}",
            links.collect::<String>()
        )),
        Style::NginxJson => {
            let entry = |name: &String, kind| format!("{{\"name\":{name:?},\"type\":\"{kind}\"}}");
            let folders = folders.iter().map(|name| entry(name, "directory"));
            let all: Vec<_> = folders.chain(files.iter().map(|name| entry(name, "file"))).collect();
            found(format!("[{}]", all.join(",\n")))
        }
        Style::ServeParts if request.query.is_empty() => {
            ("413 Payload Too Large".into(), String::new(), "in parts".into())
        }
        Style::ServeParts => {
            let from =
                request.query.split_once("from=").map_or(0, |(_, from)| from.parse().unwrap_or(0));
            let all = folders
                .iter()
                .map(|name| (name, true))
                .chain(files.iter().map(|name| (name, false)));
            let all: Vec<_> = all.skip(from).collect();
            let next = (all.len() > 2)
                .then(|| format!("Link: <?limit=2&from={}>; rel=\"next\"\r\n", from + 2));
            let all = &all[..all.len().min(2)];
            let of_kind = |is_folder| {
                all.iter().filter(|it| it.1 == is_folder).map(|it| it.0.clone()).collect()
            };
            let body = format!(
                "{{\"prefix\":\"\",\"folders\":[{}],\"keys\":[{}]}}",
                json(&of_kind(true)),
                json(&of_kind(false))
            );
            ("200 OK".into(), next.unwrap_or_default(), body)
        }
        _ => found(format!(
            "{{\"prefix\":\"\",\"folders\":[{}],\"keys\":[{}]}}",
            json(&folders),
            json(&files)
        )),
    }
}

/// A server that answers in this style what ends in `/`.
fn serving(keys: &[(&str, &[u8])], style: Style) -> Server {
    let server = Server::start();
    for (key, value) in keys {
        server.set(&format!("data/{key}"), value);
    }
    let here = server.clone();
    server.manners(|manners| {
        manners.instead = Some(Arc::new(move |request, stream| {
            if !request.path.ends_with('/') {
                return None;
            }
            let (status, headers, body) = index(style, &here.keys(), request);
            let head =
                format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n{headers}\r\n", body.len());
            Some(stream.write_all((head + &body).as_bytes()).is_ok())
        }));
    });
    server
}

fn open(server: &Server) -> Arc<dyn Store> {
    let options = [("max_retries", "1"), ("retry_timeout", "5")];
    ObjectStore::open(&server.url("data"), Access::ReadOnly, options)
        .expect("it opens")
        .into_store()
}

const KEYS: [(&str, &[u8]); 8] = [
    (".zgroup", b"{}"),
    ("a b/.zarray", b"{}"),
    ("a b/.zattrs", b"{}"),
    ("a b/0.0", b"x"),
    ("a b/0.1", b"y"),
    ("x&y/<z>/k#1", b""),
    ("x&y/more", b"1"),
    ("é/c/0/0", b"2"),
];

#[test]
fn every_key_is_listed_where_the_server_gives_indices() {
    for style in LISTING {
        let server = serving(&KEYS, style);
        let store = open(&server).to_sync();
        let listed = store.list().expect("it lists");
        let listed: Vec<_> = listed.iter().map(|key| key.as_str()).collect();
        assert_eq!(listed, KEYS.map(|(key, _)| key), "{style:?}");
        let dir = |prefix: &str| {
            let prefix = StorePrefix::new(prefix).expect("a good prefix");
            store.list_dir(&prefix, ListOptions::default()).expect("it lists")
        };
        let root = dir("");
        let prefixes: Vec<_> = root.prefixes.iter().map(|prefix| prefix.as_str()).collect();
        assert_eq!(prefixes, ["a b/", "x&y/", "é/"], "{style:?}");
        assert_eq!(root.keys.len(), 1);
        let nothing = dir("absent/");
        assert!(nothing.keys.is_empty() && nothing.prefixes.is_empty());
    }
}

#[test]
fn a_server_without_indices_says_so_and_is_asked_once() {
    for style in NOT_LISTING {
        let server = serving(&KEYS, style);
        let store = open(&server).to_sync();
        let prefix = StorePrefix::new("x&y/").expect("a good prefix");
        for _ in 0..3 {
            let error =
                store.list_dir(&prefix, ListOptions::default()).expect_err("it does not list");
            assert!(matches!(error, StoreError::NotCapable { .. }), "{style:?}: {error}");
            assert!(matches!(store.list(), Err(StoreError::NotCapable { .. })));
        }
        // The folder, and then that of the store.
        assert_eq!(server.asked().0.len(), 2, "{style:?}");
    }
}

fn made(dialect: Dialect) -> Result<Vec<(String, Vec<u8>)>> {
    let store: Arc<dyn Store> = from_sync(MemoryStore::new());
    let options = OpenOptions::new(zarr::standard()).read_write();
    let hierarchy = Hierarchy::begin(store.clone(), options.format(dialect), &options)?;
    for group in ["/g", "/g/deep", "/h"] {
        hierarchy.create_group(&NodePath::new(group)?, Object::new())?;
    }
    for path in ["/g/deep/a", "/b"] {
        let array = hierarchy.create_array(&NodePath::new(path)?).shape(&[4]).chunks(&[2]);
        array.data_type_named("int16").create()?.write(.., &[1i16, 2, 3, 4])?;
    }
    let calls = store.to_sync();
    let value = |key: zarr::store::StoreKey| {
        Ok((key.to_string(), calls.value(&key)?.expect("it is there").to_vec()))
    };
    calls.list()?.into_iter().map(value).collect()
}

#[test]
fn nodes_without_consolidated_metadata_are_found() -> Result<()> {
    for dialect in [Dialect::V3, Dialect::V2, Dialect::Draft] {
        let keys = made(dialect)?;
        let keys: Vec<_> =
            keys.iter().map(|(key, value)| (key.as_str(), value.as_slice())).collect();
        for style in LISTING {
            let server = serving(&keys, style);
            let root = zarr::open(&server.url("data"))?.into_group()?;
            let tree = root.hierarchy().tree(NodePath::root())?;
            let paths: Vec<_> = tree.iter().map(|child| child.path.as_str()).collect();
            assert_eq!(
                paths,
                ["/", "/b", "/g", "/g/deep", "/g/deep/a", "/h"],
                "{dialect:?} {style:?}"
            );
            assert_eq!(root.array("g/deep/a")?.read::<i16>(..)?, [1, 2, 3, 4]);
        }
        for style in NOT_LISTING {
            let server = serving(&keys, style);
            let root = zarr::open(&server.url("data"))?.into_group()?;
            let error: Error = root.children().expect_err("nobody knows");
            assert_eq!(error.kind(), ErrorKind::NotCapable, "{dialect:?} {style:?}");
            assert!(error.hint().is_some_and(|hint| hint.contains("zarr consolidate")), "{error}");
        }
    }
    Ok(())
}

/// Opening and reading ask for no index.
#[test]
fn no_index_is_asked_for_before_somebody_lists() -> Result<()> {
    let keys = made(Dialect::V3)?;
    let keys: Vec<_> = keys.iter().map(|(key, value)| (key.as_str(), value.as_slice())).collect();
    let server = serving(&keys, Style::Python);
    let array = zarr::open(&server.url("data"))?.into_group()?.array("b")?;
    assert_eq!(array.read::<i16>(..)?, [1, 2, 3, 4]);
    let (asked, _) = server.asked();
    assert!(!asked.iter().any(|asked| asked.ends_with('/')), "{asked:?}");
    Ok(())
}

/// A folder inside that may not be read is no empty one.
#[test]
fn a_folder_that_is_refused_is_an_error() {
    let server = serving(&KEYS, Style::Python);
    let here = server.clone();
    server.manners(|manners| {
        manners.instead = Some(Arc::new(move |request, stream| {
            let (status, _, body) = match request.path.as_str() {
                "data/x&y/" => ("403 Forbidden".to_owned(), String::new(), String::new()),
                path if path.ends_with('/') => index(Style::Python, &here.keys(), request),
                _ => return None,
            };
            let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n", body.len());
            Some(stream.write_all((head + &body).as_bytes()).is_ok())
        }));
    });
    let error = open(&server).to_sync().list().expect_err("it is refused");
    assert!(error.to_string().contains("x&y/") && error.to_string().contains("403"), "{error}");
}

/// A link of the server's file system that leads back, and parts of an index that never end.
#[test]
fn a_listing_without_an_end_ends_with_an_error() {
    let bodies: [(&str, &str); 3] = [
        ("the server has too many folders", r#"{"prefix":"","folders":["loop"],"keys":["k"]}"#),
        ("repeats", r#"{"prefix":"","folders":[],"keys":["k"]}"#),
        ("`max_listed`", ""),
    ];
    for (wanted, body) in bodies {
        let server = Server::start();
        let goes_on = wanted != bodies[0].0;
        server.manners(|manners| {
            manners.instead = Some(Arc::new(move |request, stream| {
                let n: usize = request.query.parse().unwrap_or(0);
                let body = match body {
                    "" => format!("{{\"prefix\":\"\",\"folders\":[],\"keys\":[\"{n:01000}\"]}}"),
                    body => body.to_owned(),
                };
                let next = if goes_on {
                    format!("Link: <?{}>; rel=next\r\n", n + 1)
                } else {
                    String::new()
                };
                let head =
                    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n{next}\r\n", body.len());
                Some(stream.write_all((head + &body).as_bytes()).is_ok())
            }));
        });
        let options: &[(&str, &str)] =
            if body.is_empty() { &[("max_listed", "65536")] } else { &[] };
        let store =
            ObjectStore::open(&server.url("data"), Access::ReadOnly, options.iter().copied());
        let error = store.expect("it opens").into_store().to_sync().list();
        let error = error.expect_err("it has no end").to_string();
        assert!(error.contains(wanted), "{error}");
        assert!(server.asked().0.len() < 1000);
    }
}
