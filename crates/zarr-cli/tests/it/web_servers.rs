//! Headers, tokens and queries are sent to the web server that they are for, and nowhere else, and nothing prints them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::sync::{Arc, Mutex};

use crate::common::Folder;
use crate::server::{Request, Server};

/// Part of every secret here.
const SECRET: &str = "hush";

/// What came with a request.
#[derive(Clone, Debug)]
struct Came {
    path: String,
    query: String,
    /// Names in lower case and values.
    headers: Vec<(String, String)>,
}

impl Came {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn has_secret(&self) -> bool {
        self.query.contains(SECRET) || self.headers.iter().any(|(_, value)| value.contains(SECRET))
    }
}

/// What is answered instead: `None` is the value that the server has.
type Answer = Arc<dyn Fn(&Request) -> Option<String> + Send + Sync>;

/// A web server that notes what comes with requests.
struct Watched {
    server: Server,
    came: Arc<Mutex<Vec<Came>>>,
}

impl Watched {
    fn start(answer: impl Fn(&Request) -> Option<String> + Send + Sync + 'static) -> Watched {
        let server = Server::start();
        let came = Arc::<Mutex<Vec<Came>>>::default();
        let (noted, answer): (_, Answer) = (came.clone(), Arc::new(answer));
        server.manners(|manners| {
            manners.instead = Some(Arc::new(move |request, stream| {
                let (path, query) = (request.path.clone(), request.query.clone());
                let headers = request.headers.clone();
                noted.lock().unwrap().push(Came { path, query, headers });
                let answer = answer(request).or_else(|| index(&request.path))?;
                Some(stream.write_all(answer.as_bytes()).is_ok())
            }));
        });
        Watched { server, came }
    }

    /// One that has a hierarchy below `data`.
    fn with_data(answer: impl Fn(&Request) -> Option<String> + Send + Sync + 'static) -> Watched {
        let folder = Folder::new();
        folder.table("a.zarr", "v3");
        folder.good("consolidate a.zarr");
        let watched = Watched::start(answer);
        let root = folder.path("a.zarr");
        for name in ["zarr.json", "a/zarr.json", "a/c/0/0", "a/c/0/1", "a/c/1/0", "a/c/1/1"] {
            watched.server.set(&format!("data/{name}"), &std::fs::read(root.join(name)).unwrap());
        }
        watched
    }

    fn url(&self, path: &str) -> String {
        self.server.url(path)
    }

    /// What came since the last look; something must have.
    fn came(&self) -> Vec<Came> {
        let came = std::mem::take(&mut *self.came.lock().unwrap());
        assert!(!came.is_empty(), "nothing was asked for");
        came
    }
}

/// The index of a folder of the hierarchy below `data`.
fn index(path: &str) -> Option<String> {
    let (prefix, folders, keys) = match path {
        "data/" => ("", r#"["a"]"#, r#"["zarr.json"]"#),
        "data/a/" => ("a/", r#"["c"]"#, r#"["zarr.json"]"#),
        "data/a/c/" => ("a/c/", r#"["0","1"]"#, "[]"),
        "data/a/c/0/" => ("a/c/0/", "[]", r#"["0","1"]"#),
        "data/a/c/1/" => ("a/c/1/", "[]", r#"["0","1"]"#),
        _ => return None,
    };
    let json = format!(r#"{{"prefix":"{prefix}","folders":{folders},"keys":{keys}}}"#);
    answer("200 OK", "", &json)
}

fn answer(status: &str, headers: &str, body: &str) -> Option<String> {
    let length = body.len();
    Some(format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{headers}\r\n{body}"))
}

fn forbidden(body: &str) -> Option<String> {
    answer("403 Forbidden", "", body)
}

/// The exit code and all that was printed, without a secret in it.
fn ended(command: &mut Command) -> (i32, String) {
    let output = command.output().unwrap();
    let printed = [&output.stdout[..], &output.stderr].concat();
    let printed = String::from_utf8_lossy(&printed).into_owned();
    assert!(!printed.contains(SECRET) && !printed.contains("panicked"), "{printed}");
    (output.status.code().unwrap_or(-1), printed)
}

#[test]
fn headers_and_tokens_go_with_every_request() {
    let server = Watched::with_data(|request| {
        let is_known = request.header("authorization") == Some("Bearer hush.token")
            && request.header("x-api-key") == Some("hush key=1:2");
        if is_known { None } else { forbidden("") }
    });
    let folder = Folder::new();
    let url = server.url("data");
    let lines = [
        format!("info {url} --trace --verbose"),
        format!("tree {url}"),
        format!("get {url}/a"),
        format!("get {url} --path a --json"),
        format!("copy {url} copy.zarr"),
        format!("checksum {url}"),
        format!("ls {url}"),
        format!("validate {url}"),
        format!("dump {url}"),
        format!("diff {url} {url}"),
        format!("diff {url} copy.zarr"),
        format!("copy {url} packed.zarr.zip"),
    ];
    for line in &lines {
        let by_option = ["--http-header", "Authorization:Bearer hush.token", "--http-header"];
        let (code, printed) =
            ended(folder.command(line).args(by_option).arg("X-Api-Key:  hush key=1:2"));
        assert_eq!(code, 0, "{line}: {printed}");
        server.came();
        let mut command = folder.command(&line.replace(".zarr", "-2.zarr"));
        command.env("ZARR_HTTP_BEARER_TOKEN", "hush.token\n");
        command.env("ZARR_HTTP_HEADERS", "\r\nx-api-key: hush key=1:2\r\nAccept-Language: en\n");
        let (code, printed) = ended(&mut command);
        assert_eq!(code, 0, "{line}: {printed}");
        assert!(server.came().iter().all(|came| came.header("accept-language") == Some("en")));
    }
    // An option comes before a variable.
    let mut command = folder.command(&lines[0]);
    command.env("ZARR_HTTP_HEADERS", "X-Api-Key: hush.other");
    command.env("ZARR_HTTP_BEARER_TOKEN", "hush.token");
    assert_eq!(ended(command.args(["--http-header", "x-api-key: hush key=1:2"])).0, 0);
    // Without them.
    let (code, printed) = ended(&mut folder.command(&lines[0]));
    assert!(code == 5 && printed.contains("403 Forbidden"), "{printed}");
    assert!(printed.contains("`--http-header`"), "{printed}");
}

/// Another port, another host and plain `http` are other servers.
#[test]
fn a_redirect_to_another_server_takes_no_secret_along() {
    let other = Watched::with_data(|_| None);
    let (to, folder) = (other.url(""), Folder::new());
    let server = Watched::start(move |request| {
        answer("302 Found", &format!("Location: {to}{}\r\n", request.path), "")
    });
    let with_secrets = |url: String| {
        let mut command = folder.command(&format!("get {url}/a --trace"));
        command.env("ZARR_HTTP_BEARER_TOKEN", "hush.token");
        command.args([
            "--http-header",
            "X-Api-Key: hush",
            "--http-header",
            "Accept-Language: hush",
        ]);
        command
    };
    let (code, printed) = ended(&mut with_secrets(server.url("data")));
    assert!(code == 0 && printed.contains("20"), "{printed}");
    assert!(server.came().iter().all(|came| came.header("authorization").is_some()));
    for came in other.came() {
        assert!(!came.has_secret(), "{came:?}");
        for name in ["authorization", "x-api-key", "accept-language"] {
            assert_eq!(came.header(name), None);
        }
    }
    // The same server by another name is another one, too.
    let by_name = server.url("data").replace("127.0.0.1", "localhost");
    let here = server.url("");
    let pointing = Watched::start(move |request| {
        answer("307 Temporary Redirect", &format!("Location: {here}{}\r\n", request.path), "")
    });
    let named = pointing.url("data").replace("127.0.0.1", "localhost");
    assert_eq!(ended(&mut with_secrets(named)).0, 0);
    assert!(!server.came().iter().any(Came::has_secret));
    assert_eq!(ended(&mut with_secrets(by_name)).0, 0);
    assert!(server.came().iter().all(Came::has_secret));
    other.came();

    // There and back again: the other server chose the address.
    let back = Arc::new(Mutex::new(String::new()));
    let target = back.clone();
    let between = Watched::start(move |request| {
        let to = target.lock().unwrap().clone();
        answer("302 Found", &format!("Location: {to}back/{}\r\n", request.path), "")
    });
    let there = between.url("");
    let first = Watched::start(move |request| {
        if request.path.starts_with("back/") {
            return answer("404 Not Found", "", "");
        }
        answer("302 Found", &format!("Location: {there}{}\r\n", request.path), "")
    });
    *back.lock().unwrap() = first.url("");
    assert_eq!(ended(&mut with_secrets(first.url("data"))).0, 3);
    assert!(!between.came().iter().any(Came::has_secret));
    for came in first.came() {
        assert_eq!(came.has_secret(), !came.path.starts_with("back/"), "{came:?}");
    }
}

#[test]
fn a_redirect_on_the_same_server_keeps_headers() {
    let server = Watched::with_data(|request| match request.path.strip_prefix("old/") {
        Some(rest) => answer("301 Moved Permanently", &format!("Location: /data/{rest}\r\n"), ""),
        None if request.header("x-api-key") == Some("hush") => None,
        None => forbidden(""),
    });
    let line = format!("get {}/a", server.url("old"));
    let folder = Folder::new();
    let (code, printed) = ended(folder.command(&line).args(["--http-header", "X-Api-Key: hush"]));
    assert_eq!(code, 0, "{printed}");
    assert!(server.came().iter().any(|came| came.path.starts_with("data/")));
}

#[test]
fn an_error_after_a_redirect_says_that_headers_stayed_behind() {
    let other = Watched::start(|request| forbidden(request.header("authorization").unwrap_or("")));
    let to = other.url("login?hush");
    let server = Watched::start(move |_| answer("302 Found", &format!("Location: {to}\r\n"), ""));
    let folder = Folder::new();
    let mut command = folder.command(&format!("info {}", server.url("data")));
    let (code, printed) = ended(command.env("ZARR_HTTP_BEARER_TOKEN", "hush"));
    let host = other.url("");
    let said =
        format!("redirected to {}, which did not get the headers", host.trim_end_matches('/'));
    assert!(code == 5 && printed.contains(&said), "{printed}");
}

/// A server that repeats what it was sent, in its message, its code, or an address.
#[test]
fn what_a_server_repeats_is_not_shown() {
    let folder = Folder::new();
    let server = Watched::start(|request| {
        let headers: Vec<&str> =
            ["authorization", "x-me"].iter().filter_map(|name| request.header(name)).collect();
        let all = format!("{} {}", headers.join(" "), request.query);
        let body = format!("<Error><Code>{all}</Code><Message>said {all}</Message></Error>");
        if request.path.contains("away") {
            return answer("302 Found", &format!("Location: ftp://{all}/\r\n"), &body);
        }
        answer("401 Unauthorized", &format!("x-amz-bucket-region: {all}\r\n"), &body)
    });
    for path in ["data", "away", "data?sig=hush%2Fa&x=hush.x", "away?hush", "a b?hush hush"] {
        for verb in ["info", "tree", "dump", "validate", "checksum", "ls", "copy"] {
            let mut command = folder.command(&format!("{verb} --json --trace"));
            command.arg(server.url(path));
            if verb == "copy" {
                command.arg("copied.zarr");
            }
            command.args(["--http-header", "Authorization: Basic hush=="]);
            let (code, printed) = ended(command.args(["--http-header", "X-Me: hush.me"]));
            assert!(matches!(code, 3 | 5), "{verb} {path}: {code} {printed}");
            assert!(server.came().iter().all(Came::has_secret));
        }
    }
}

/// As uploads with `gsutil -z` make it.
#[test]
fn a_document_that_is_sent_compressed_is_named_so() {
    let folder = Folder::new();
    let server = Watched::start(|request| {
        let encoding =
            if request.path.ends_with(".json") { "Content-Encoding: gzip\r\n" } else { "" };
        answer("200 OK", encoding, "compressed")
    });
    let (code, printed) = ended(&mut folder.command(&format!("info {}", server.url("data"))));
    assert!(code == 5 && printed.contains("`Content-Encoding`"), "{code} {printed}");
}

#[test]
fn endless_redirects_end() {
    let server = Watched::start(|request| {
        answer("302 Found", &format!("Location: /{}0\r\n", request.path), "")
    });
    let folder = Folder::new();
    let mut command = folder.command(&format!("info {}", server.url("data?sig=hush")));
    let (code, printed) = ended(command.env("ZARR_HTTP_BEARER_TOKEN", "hush"));
    assert!(code == 5 && printed.contains("too many times"), "{printed}");
}

/// Two servers in one command: a header is said to be for one of them.
#[test]
fn a_header_is_for_one_server() {
    let (one, two) = (Watched::with_data(|_| None), Watched::with_data(|_| None));
    let folder = Folder::new();
    let (first, second) = (one.url(""), two.url(""));
    let (first, second) = (first.trim_end_matches('/'), second.trim_end_matches('/'));
    let line = format!("diff {first}/data {second}/data");
    for (name, value, option) in [
        ("ZARR_HTTP_BEARER_TOKEN", "hush", None),
        ("ZARR_HTTP_HEADERS", "x: hush", None),
        ("NOTHING", "", Some("x: hush")),
    ] {
        let mut command = folder.command(&line);
        command.env(name, value).args(option.iter().flat_map(|text| ["--http-header", text]));
        let (code, printed) = ended(&mut command);
        assert!(code == 2 && printed.contains(" and the header `"), "{printed}");
        assert!(
            printed.contains("http://127.0.0.1:")
                && printed.contains("=x: …") == (name != "ZARR_HTTP_BEARER_TOKEN"),
            "{printed}"
        );
    }
    assert!(one.came.lock().unwrap().is_empty() && two.came.lock().unwrap().is_empty());
    let mut command = folder.command(&line);
    command.args(["--http-header", &format!("{first}=X-One: hush"), "--http-header"]);
    command.arg(format!("{}/=X-Two: hush", second.to_uppercase()));
    command.env("ZARR_HTTP_BEARER_TOKEN", format!("{second}=hush="));
    command.env("ZARR_HTTP_HEADERS", "https://elsewhere.example=X-Three: hush");
    assert_eq!(ended(&mut command).0, 0);
    for came in one.came() {
        assert_eq!(came.header("x-one"), Some("hush"));
        assert_eq!((came.header("x-two"), came.header("authorization")), (None, None));
    }
    for came in two.came() {
        assert_eq!((came.header("x-one"), came.header("x-three")), (None, None));
        assert_eq!(came.header("x-two"), Some("hush"));
        assert_eq!(came.header("authorization"), Some("Bearer hush="));
    }
}

#[test]
fn headers_that_cannot_be_sent_are_refused_without_their_values() {
    let server = Watched::with_data(|_| None);
    let folder = Folder::new();
    folder.table("a.zarr", "v3");
    let url = server.url("data");
    let web = format!("info {url}");
    let plain = String::from("info a.zarr");
    for (line, header, why) in [
        (&web, "X: a\r\nY: hush", "the header `X` of --http-header has a line end"),
        (&web, "X: hush\u{7}", "or another control character"),
        (&web, "hush", "a header is written `Name: value`"),
        (&web, "X hush: a", "a header is written `Name: value`"),
        (&web, ": hush", "a header is written `Name: value`"),
        (&web, "X: hush\u{e9}", "option `header.x` has a character in its value that is not sent"),
        (&web, "Range: hush", "the header `range` is set by the store itself"),
        (&web, "Host: hush", "the header `host` is set by the store itself"),
        (&web, "https://hush", "a value that begins with `http` must be a server address"),
        (
            &web,
            "https://host/x?hush=X: y",
            "a value that begins with `http` must be a server address",
        ),
        (&web, "https://host=X: hush", "no path or URL of this command is on https://host"),
        (&plain, "X: hush", "no path or URL of this command is on one"),
    ] {
        let (code, printed) = ended(folder.command(line).args(["--http-header", header]));
        assert!(code == 2 || printed.contains("option `header.x`"), "{header}: {code} {printed}");
        assert!(printed.contains(why), "{header}: {printed}");
    }
    let twice = ["--http-header", "X: hush", "--http-header", "x: hush.2"];
    let (code, printed) = ended(folder.command(&web).args(twice));
    assert!(code == 2 && printed.contains("`x` is given twice in --http-header"), "{printed}");
    let mut both = folder.command(&web);
    both.env("ZARR_HTTP_BEARER_TOKEN", "hush").env("ZARR_HTTP_HEADERS", "Authorization: hush");
    let (code, printed) = ended(&mut both);
    assert!(code == 2 && printed.contains("in ZARR_HTTP_HEADERS and in ZARR_HTTP"), "{printed}");
    for (name, value) in [
        ("ZARR_HTTP_BEARER_TOKEN", "hush\u{1}"),
        ("ZARR_HTTP_HEADERS", "X: hush\ry: hush"),
        ("ZARR_HTTP_HEADERS", "hush"),
    ] {
        let (code, printed) = ended(folder.command(&web).env(name, value));
        assert!(code == 2 && printed.contains(name), "{printed}");
    }
    for line in ["https://hush", "https://host/hush=X: y"] {
        let (code, printed) = ended(folder.command(&web).env("ZARR_HTTP_HEADERS", line));
        let said = printed.contains("ZARR_HTTP_HEADERS has a line that begins with `http`");
        assert!(code != 0 && said, "{code} {printed}");
    }
    let of_server = |header: &str| format!("{}={header}", server.url("").trim_end_matches('/'));
    for (header, why) in [
        ("X hush", "has a line without a `:`"),
        ("Range: hush", "has a header that cannot be sent"),
        ("X: hush\u{7}", "has a header that cannot be sent"),
    ] {
        let (code, printed) =
            ended(folder.command(&web).env("ZARR_HTTP_HEADERS", of_server(header)));
        assert!(code != 0 && printed.contains(why), "{code} {printed}");
    }
    assert!(server.came.lock().unwrap().is_empty());
    // A variable that is set for other commands changes nothing here.
    let (code, printed) = ended(folder.command(&plain).env("ZARR_HTTP_BEARER_TOKEN", "hush"));
    assert_eq!(code, 0, "{printed}");
    let (code, printed) = ended(folder.command("doctor").env("ZARR_HTTP_BEARER_TOKEN", "hush"));
    assert!(code == 0 && printed.contains("ZARR_HTTP_BEARER_TOKEN"), "{printed}");
}

/// The query of a signed URL, encoded and not, with characters that no URL has.
const QUERY: &str = "sig=hush%2Fa/b+c==&user=hush me&hush";
/// The same as a request has it.
const SENT: &str = "sig=hush%2Fa/b+c==&user=hush%20me&hush";

fn is_signed(request: &Request) -> bool {
    request.query.ends_with(SENT)
}

#[test]
fn the_query_of_a_url_goes_with_every_request() {
    let server =
        Watched::with_data(|request| if is_signed(request) { None } else { forbidden("") });
    let folder = Folder::new();
    let url = |path: &str| format!("'{}?{QUERY}'", server.url(path));
    let data = url("data");
    for (n, line) in [
        format!("info {data} --trace --verbose"),
        format!("info {}", url("data/")),
        format!("tree {data} --no-consolidated"),
        format!("ls {data}"),
        format!("get {}", url("data/a")),
        format!("get {data} --path a --json"),
        format!("stats {data} --path a"),
        format!("plot {} -o plot.png", url("data/a")),
        format!("checksum {data}"),
        format!("validate {data}"),
        format!("dump {data}"),
        format!("copy {data} copy.zarr --verbose"),
        format!("copy {data} copy.zip"),
        format!("diff {data} copy.zarr"),
        format!("sync {data} synced.zarr"),
        format!("diff {data} {}", server.url("data?sig=other")),
        format!("get {data} --path none"),
        format!("info {}", url("none")),
    ]
    .iter()
    .enumerate()
    {
        let (code, printed) = ended(&mut folder.command(line));
        assert_eq!(code == 0, n < 15, "{line}: {printed}");
        let shown = printed.contains("/data") && !printed.contains("warning: /data");
        assert!(!shown || printed.contains("?…"), "{line}: {printed}");
        let came = server.came();
        assert!(came.iter().filter(|came| came.query != "sig=other").all(Came::has_secret));
    }
    let copied = folder.good("get copy.zarr --path a");
    assert!(copied.text().contains("20"), "{}", copied.text());
    assert!(!folder.good("info copy.zarr --json").text().contains(SECRET));
}

/// A `?` in a value, `/` in the query, and an archive.
#[test]
fn an_archive_is_read_through_a_signed_url() {
    let folder = Folder::new();
    folder.table("a.zip", "v3");
    let server = Watched::start(|request| if is_signed(request) { None } else { forbidden("") });
    server.server.set("x/a.zip", &std::fs::read(folder.path("a.zip")).unwrap());
    for path in ["x/a.zip", "x/a.zip/a"] {
        let url = format!("zip::{}?{QUERY}", server.url(path));
        let (code, printed) = ended(folder.command("info").arg(&url).arg("--trace"));
        assert_eq!(code, 0, "{printed}");
        assert!(server.came().iter().all(Came::has_secret));
    }
}

/// What another server gets is what the first one says, and not the query that is for the first one.
#[test]
fn a_query_is_not_sent_to_another_server() {
    let other = Watched::with_data(|_| None);
    let to = other.url("");
    let server = Watched::start(move |request| {
        answer("302 Found", &format!("Location: {to}{}?other=1\r\n", request.path), "")
    });
    let folder = Folder::new();
    let line = format!("get '{}?{QUERY}'", server.url("data/a"));
    let (code, printed) = ended(&mut folder.command(&line));
    assert_eq!(code, 0, "{printed}");
    assert!(server.came().iter().all(Came::has_secret));
    assert!(other.came().iter().all(|came| came.query == "other=1"));
}

/// `zarr serve` reads with the query and the headers, and passes neither on.
#[test]
#[cfg(unix)]
fn what_is_served_shows_no_secret() {
    let server = Watched::with_data(|request| {
        let is_known = request.header("authorization") == Some("Bearer hush");
        if is_signed(request) && is_known { None } else { forbidden("") }
    });
    let folder = Folder::new();
    let mut serve = folder
        .command("serve --log")
        .arg(format!("{}?{QUERY}", server.url("data")))
        .env("ZARR_HTTP_BEARER_TOKEN", "hush")
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(serve.stdout.take().unwrap());
    let mut url = String::new();
    lines.read_line(&mut url).unwrap();
    let address = url.trim().trim_start_matches("http://").trim_end_matches('/').to_owned();
    let mut said = url.clone();
    for path in ["/", "/data/zarr.json", "/data/a/c/0/0", "/data/none", "/data/", "/x"] {
        let mut stream = TcpStream::connect(&address).unwrap();
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        said.push_str(&String::from_utf8_lossy(&bytes));
    }
    serve.kill().unwrap();
    let output = serve.wait_with_output().unwrap();
    said.push_str(&String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("\"zarr_format\"") && !said.contains(SECRET), "{said}");
    assert!(server.came().iter().all(Came::has_secret));
}
