//! Options of stores are plain data. None of their values that may be secret, nor one of the URL or the environment, is
//! printed or described.
#![cfg(all(
    feature = "s3",
    feature = "azure",
    feature = "http",
    feature = "zip",
    feature = "memory"
))]

use std::sync::{Arc, Mutex};

use zarr::stores::PrefixStore;
use zarr::{Hierarchy, OpenOptions, standard};

use crate::server::Server;

const MARK: &str = "ZARR_TEST_STORE_OPTIONS";
/// Part of every secret here.
const SECRET: &str = "hush";

fn check(printed: &str) {
    assert!(!printed.contains(SECRET), "{printed}");
}

/// What is printed of a store at this URL, and what describes it.
fn described(url: &str, options: &[(&str, &str)]) -> (String, Vec<(String, String)>) {
    let set = |all: OpenOptions, (name, value): &(&str, &str)| all.store_option(*name, *value);
    let all = options.iter().fold(OpenOptions::new(standard()).read_write(), set);
    check(&format!("{all:?} {:?}", all.registry));
    let store = all.store(url).unwrap_or_else(|e| panic!("{e}"));
    check(&format!("{store:?} {} {:?}", store.name(), store.public_options()));
    let hierarchy = Hierarchy::of_format(store.clone(), all.format(zarr::Dialect::V3), &all);
    check(&format!("{hierarchy:?}"));
    (store.name(), store.public_options())
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn with_secrets_everywhere() {
    let s3 = [
        ("aws_access_key_id", "hush-id"),
        ("aws_secret_access_key", "hush-key"),
        ("session_token", "hush-token"),
        ("AWS_REGION", "eu-central-1"),
        ("endpoint", "http://127.0.0.1:9"),
        ("in_flight", "7"),
        ("max_retries", "0"),
    ];
    let public = pairs(&[
        ("aws_region", "eu-central-1"),
        ("endpoint", "http://127.0.0.1:9"),
        ("in_flight", "7"),
        ("max_retries", "0"),
    ]);
    assert_eq!(described("s3://bucket/a.zarr", &s3), ("s3://bucket/a.zarr".into(), public.clone()));
    // The description opens the same store; a part of it has the same options.
    let (url, options) = described("s3://bucket/a.zarr", &s3);
    let options: Vec<(&str, &str)> =
        options.iter().map(|(name, value)| (&name[..], &value[..])).collect();
    assert_eq!(described(&url, &options), (url.clone(), public.clone()));
    let all = s3.iter().fold(OpenOptions::new(standard()), |all, (k, v)| all.store_option(*k, *v));
    let store = all.store("s3://bucket/a.zarr").unwrap();
    let prefix = zarr::store::StorePrefix::new("group/").unwrap();
    let part = PrefixStore::new(store, prefix);
    assert_eq!(zarr::store::Store::public_options(&part), public);
    // An error of a request, which a server that is not there cannot answer.
    let error = Hierarchy::open(all.store("s3://bucket/a.zarr").unwrap(), &all).unwrap_err();
    check(&format!("{error} {error:?}"));

    let azure =
        [("account_name", "people"), ("account_key", "aHVzaA=="), ("sas_token", "sig=hush")];
    let (_, options) = described("az://container/a.zarr", &azure);
    assert_eq!(options, pairs(&[("account_name", "people")]));
    // A password in an address, or in the URL.
    let (url, options) = described(
        "https://me:hush@host/data",
        &[("proxy_url", "http://me:hush@proxy"), ("timeout", "3s")],
    );
    assert_eq!((&url[..], options), ("https://host/data", pairs(&[("timeout", "3s")])));
    let endpoint = [("endpoint", "https://me:hush@host"), ("region", "x")];
    assert_eq!(described("s3://me:hush@bucket", &endpoint).1, pairs(&[("region", "x")]));
    // Headers and a token of a web server, and the query of its URL.
    let headers = [
        ("header.x-api-key", "hush"),
        ("Header.Accept-Language", "hush"),
        ("bearer_token", "hush"),
        ("in_flight", "7"),
    ];
    let (url, options) = described("https://host/data/?sig=hush", &headers);
    assert_eq!((&url[..], options), ("https://host/data?…", pairs(&[("in_flight", "7")])));
    // A later value replaces an earlier one.
    let (_, options) = described("s3://bucket", &[("region", "a"), ("region", "b")]);
    assert_eq!(options, pairs(&[("region", "b")]));
}

fn refused(url: &str, name: &str, value: &str) -> String {
    let error = OpenOptions::new(standard()).store_option(name, value).store(url).unwrap_err();
    check(&format!("{error} {error:?}"));
    error.to_string()
}

#[test]
fn no_secret_is_printed_or_described() {
    if std::env::var_os(MARK).is_some() {
        return with_secrets_everywhere();
    }
    let mut again = zarr_testkit::test_command(module_path!(), "no_secret_is_printed_or_described");
    again.env(MARK, "1");
    for name in ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"] {
        again.env(name, "hush-of-the-environment");
    }
    let output = again.output().unwrap();
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}{err}");
    check(&format!("{out}{err}"));
}

/// Whatever is wrong with a URL, the error does not show its password.
#[test]
fn no_error_about_a_url_shows_its_password() {
    for url in [
        "https://me:hush@",
        "https://hush@host/x?y=hush",
        "https://me:hush/x@host/x",
        "https://me:hu sh/hush@host/x",
        "https://me:x/hush@ho st/x",
        "https://me:hush@a..b c/x",
        "http://me:hush@",
        "htp://me:hush@host/x",
        "s3://me:hush@/x",
        "s3://me:hush@host/x?y",
        "file://me:hush@host/x",
        "zip::https://me:hush@host/x",
        "zip::htp://me:hush@host/x.zip",
        "zip://a::https://me:hush@ho st/x.zip",
        "https://me:hush@host/x#mode=bytes",
        "https://me:hush@host/%zz",
    ] {
        let store = OpenOptions::new(standard()).store(url).map(|store| store.name());
        check(&format!("{store:?} {store:#?}"));
        let found =
            zarr::open_with(url, &OpenOptions::new(standard()).store_option("max_retries", "0"));
        check(&format!("{found:?}"));
        check(&found.map_or_else(|e| e.to_string(), |_| String::new()));
        check(&format!("{:?}", zarr::nczarr::NcUrl::parse(url).map(|_| ())));
    }
}

#[test]
fn options_that_a_store_does_not_know_are_errors_without_their_values() {
    let file = refused("memory://", "region", "hush");
    assert!(
        file.contains("stores of `memory://` take no options, but `region` was given"),
        "{file}"
    );
    let unknown = refused("s3://bucket", "aws_sceret_access_key", "hush");
    assert!(unknown.contains("aws_sceret_access_key"), "{unknown}");
    let number = refused("s3://bucket", "in_flight", "hush");
    assert!(number.contains("option `in_flight` must be a number"), "{number}");
    refused("s3://bucket", "allow_http", "hush");
    refused("s3://me:hush@bucket/?token=hush", "in_flight", "x");
    for (url, name, value, why) in [
        ("https://me:hush@host/?token=hush", "in_flight", "x", "must be a number"),
        ("https://host", "header.x", "hush\r\ny: hush", "option `header.x` has a line end"),
        (
            "https://host",
            "header.x",
            "hush\u{e9}",
            "option `header.x` has a character in its value",
        ),
        ("https://host", "header.x hush", "a", "is not a header name"),
        ("https://host", "header.", "hush", "is not a header name"),
        ("https://host", "header.Range", "hush", "the header `range` is set by the store itself"),
        ("https://host", "bearer_token", "hush\nx: y", "option `bearer_token` has a line end"),
        ("https://host", "bearer_token", " ", "option `bearer_token` is empty"),
        ("https://me:hush@host", "bearer_token", "hush", "the URL has a user and password"),
        ("s3://bucket", "header.x", "hush", "option `header.x` is not known here"),
    ] {
        let error = refused(url, name, value);
        assert!(error.contains(why), "{error}");
    }
}

/// An option of one server is given to the stores there, whatever else the options open.
#[test]
fn options_of_one_server_are_for_its_stores_alone() {
    let (asked, other) = (Server::start(), Server::start());
    let options = OpenOptions::new(standard())
        .store_option("header.x", "all")
        .server_option("memory://", "header.x", "hush-nowhere")
        .server_option(&asked.url("any/path"), "header.x", "hush-old")
        .server_option(&asked.url(""), "header.x", "hush-new")
        .server_option("https://127.0.0.1", "bearer_token", "hush");
    check(&format!("{options:?}"));
    let came = |server: &Server, url: &str| {
        let values = Arc::<Mutex<Vec<String>>>::default();
        let noted = values.clone();
        server.manners(|manners| {
            manners.instead = Some(Arc::new(move |request, _| {
                let header = |name| request.header(name).unwrap_or("none").to_owned();
                let both = format!("{} {}", header("x"), header("authorization"));
                noted.lock().unwrap().push(both);
                None
            }));
        });
        let error = zarr::open_with(url, &options).unwrap_err();
        check(&format!("{error} {error:?}"));
        let mut values = values.lock().unwrap().clone();
        values.dedup();
        values
    };
    let zipped = |server: &Server| format!("zip::{}", server.url("x.zip"));
    assert_eq!(came(&asked, &asked.url("x")), ["hush-new none"]);
    assert_eq!(came(&asked, &zipped(&asked)), ["hush-new none"]);
    assert_eq!(came(&other, &other.url("x")), ["all none"]);
    assert_eq!(came(&other, &zipped(&other)), ["all none"]);
    // Other stores are not given what is for a server.
    let options = OpenOptions::new(standard()).server_option("http://h", "header.x", "hush");
    assert!(options.store("memory://").is_ok());
}
