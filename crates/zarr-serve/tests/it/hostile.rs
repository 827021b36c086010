//! Requests that no honest client sends have clean refusals, and cost the server little.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use zarr::{Dialect, Object};
use zarr_serve::{ServeOptions, Server, Targets, TargetsOptions};
use zarr_testkit::sample;

/// A server, and the lines that it tells the person at it.
struct Running {
    address: SocketAddr,
    told: Arc<Mutex<Vec<String>>>,
}

/// Serves a folder for as long as the tests run.
fn serve(path: &Path, memory: u64) -> Running {
    let open = zarr::OpenOptions::new(zarr::standard());
    let options = TargetsOptions { open, kept: memory / 4, ..TargetsOptions::default() };
    let targets = Targets::open(&[path.display().to_string()], &options).unwrap();
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let of_server = told.clone();
    let tell = Arc::new(move |line: &str| of_server.lock().unwrap().push(line.to_owned()));
    let options =
        ServeOptions { port: Some(0), memory, tell: Some(tell), ..ServeOptions::default() };
    let server = Server::new(targets, options).unwrap();
    let address = server.address().unwrap();
    std::thread::spawn(move || server.run(std::future::pending(), std::future::pending()));
    Running { address, told }
}

impl Running {
    /// What comes back for these bytes, after which nothing follows.
    fn sent(&self, bytes: &[u8]) -> Vec<u8> {
        self.exchange(bytes, true)
    }

    /// What comes back for these bytes until the server closes; `ends` tells it that nothing follows.
    fn exchange(&self, bytes: &[u8], ends: bool) -> Vec<u8> {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        // The server may have refused it before all was sent.
        let _ = stream.write_all(bytes);
        if ends {
            let _ = stream.shutdown(std::net::Shutdown::Write);
        }
        let mut answer = Vec::new();
        match stream.read_to_end(&mut answer) {
            Ok(_) => {}
            Err(e) if matches!(e.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => {}
            Err(e) => panic!("{e}"),
        }
        answer
    }

    /// The status and the whole answer for a path.
    fn get(&self, path: &str) -> (u16, String) {
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        let answer =
            String::from_utf8_lossy(&self.exchange(request.as_bytes(), false)).into_owned();
        let status = answer.get(9..12).and_then(|status| status.parse().ok());
        (status.unwrap_or_else(|| panic!("{path}: {answer:?}")), answer)
    }

    fn is_well(&self) {
        assert_eq!(self.get("/-/names").0, 200);
    }
}

/// `x.zarr` with an array `/a` of 4 × 5 × 6 and an empty one.
fn hierarchy(folder: &Path) -> std::path::PathBuf {
    let path = folder.join("x.zarr");
    let hierarchy = zarr::create(path.to_str().unwrap(), Dialect::V3).unwrap();
    let array = hierarchy.create_array("/a").shape(&[4, 5, 6]).chunks(&[2, 5, 3]);
    let array = array.data_type_named("float32").create().unwrap();
    array.write(.., &(0..120).map(|n| n as f32).collect::<Vec<_>>()).unwrap();
    let empty = hierarchy.create_array("/empty").shape(&[0, 3]).chunks(&[1, 3]);
    empty.data_type_named("int8").create().unwrap();
    hierarchy.create_group("/g", Object::new()).unwrap();
    path
}

/// The next number of a sequence that looks random.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

#[test]
fn broken_requests_are_refused_and_harm_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let server = serve(&hierarchy(folder.path()), 1 << 30);
    let good = b"GET /x.zarr/a/zarr.json?limit=1 HTTP/1.1\r\nHost: localhost\r\nRange: bytes=0-9\r\nConnection: close\r\n\r\n";
    assert!(server.exchange(good, false).starts_with(b"HTTP/1.1 206"));
    let mut state = 7;
    for n in 0..2_000 {
        let mut bytes = good.to_vec();
        for _ in 0..1 + next(&mut state) % 8 {
            let at = (next(&mut state) as usize) % bytes.len().max(1);
            match next(&mut state) % 4 {
                0 if !bytes.is_empty() => bytes[at] = next(&mut state) as u8,
                1 if !bytes.is_empty() => drop(bytes.remove(at)),
                2 if n % 16 == 0 => bytes.truncate(at),
                _ => bytes.insert(at, next(&mut state) as u8),
            }
        }
        let answer = server.sent(&bytes);
        let is_answer = answer.is_empty() || answer.starts_with(b"HTTP/1.");
        assert!(is_answer, "{bytes:?}: {answer:?}");
        assert!(!answer.starts_with(b"HTTP/1.1 500"), "{}", String::from_utf8_lossy(&bytes));
    }
    for bytes in [
        &b"\0\0\0\0"[..],
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    ] {
        let answer = server.sent(bytes);
        let refused = answer.is_empty() || answer.starts_with(b"HTTP/1.1 4");
        assert!(refused, "{}", String::from_utf8_lossy(&answer));
    }
    let long = format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "a".repeat(1 << 20));
    assert!(server.sent(long.as_bytes()).starts_with(b"HTTP/1.1 4"));
    server.is_well();
}

#[test]
fn parameters_of_any_kind_have_answers() {
    let folder = tempfile::tempdir().unwrap();
    let server = serve(&hierarchy(folder.path()), 1 << 30);
    let questions = [
        "node", "children", "find", "axis", "slice", "plot.png", "line", "value", "table", "stats",
        "chunks",
    ];
    let names = [
        "path",
        "x",
        "y",
        "at",
        "axis",
        "across",
        "down",
        "from",
        "to",
        "count",
        "text",
        "range",
        "map",
        "size",
        "reduce",
        "percentile",
        "histogram",
        "line",
        "bare",
        "labels",
        "log",
    ];
    let values = [
        "",
        "0",
        "1",
        "-1",
        "2",
        "NaN",
        "inf",
        "-0",
        "1e999",
        "18446744073709551615",
        "18446744073709551616",
        "%00",
        "%ff",
        "%F0%9F%A6%80",
        "%",
        "0:6",
        "6:0",
        "0:6:2",
        "0:18446744073709551615:1",
        "0,0,0",
        "9,9,9",
        "0,0,0,0",
        "2,98%25",
        "100,-100%25",
        "1x1",
        "4000x4000",
        "mean",
        "x.zarr/a",
        "x.zarr/empty",
        "x.zarr/g",
        "x.zarr/../x.zarr",
        "..",
        "viridis",
        "%E2%80%AE",
        "a%26b%3Dc",
    ];
    let mut state = 11;
    let mut pick = |all: &[&'static str]| all[(next(&mut state) as usize) % all.len()];
    for n in 0..sample(400, 1_500) {
        let question = pick(&questions);
        let mut query = format!("path={}", ["x.zarr/a", "x.zarr/empty"][n % 2]);
        // A parameter may come twice.
        for _ in 0..n % 5 {
            query += &format!("&{}={}", pick(&names), pick(&values));
        }
        let path = format!("/-/{question}?{query}");
        let (status, answer) = server.get(&path);
        assert!([200, 400, 404, 413, 422].contains(&status), "{path}: {answer}");
    }
    for part in ["limit=0", "limit=-1", "limit=100001", "limit=a", "after=%00&limit="] {
        let (status, answer) = server.get(&format!("/x.zarr/?{part}"));
        assert_eq!(status, 400, "{part}: {answer}");
    }
    server.is_well();
}

#[test]
fn ten_thousand_connections_and_silent_ones_leave_the_server_well() {
    let folder = tempfile::tempdir().unwrap();
    let server = serve(&hierarchy(folder.path()), 1 << 30);
    // A hundred connections at a time: two thousand, or all.
    for _ in 0..sample(20, 100) {
        // Each sends nothing, a part of a request, or goes away in the middle of the answer.
        let all: Vec<TcpStream> = (0..100)
            .map(|n| {
                let mut stream = TcpStream::connect(server.address).unwrap();
                let parts: [&[u8]; 3] =
                    [b"", b"GET /x.zarr/a", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"];
                let _ = stream.write_all(parts[n % 3]);
                stream
            })
            .collect();
        drop(all);
        // Its answer comes after all of them were accepted: the system's queue for them never gets full, which would cost a second.
        server.is_well();
    }
}

#[test]
fn answers_name_what_is_served_and_no_path() {
    let folder = tempfile::tempdir().unwrap();
    let path = hierarchy(folder.path());
    std::fs::write(path.join("g/zarr.json"), "{").unwrap();
    // What a folder is in place of cannot be read.
    std::fs::remove_file(path.join("a/c/0/0/0")).unwrap();
    std::fs::create_dir_all(path.join("a/c/0/0/0")).unwrap();
    let server = serve(&path, 1 << 30);
    let secret = folder.path().file_name().unwrap().to_str().unwrap().to_owned();
    let mut told_of = 0;
    for question in [
        "/-/node?path=x.zarr/g",
        "/-/slice?path=x.zarr/a&at=0,0,0",
        "/-/stats?path=x.zarr/a",
        "/-/children?path=x.zarr",
        "/-/node?path=x.zarr/absent",
        "/-/node?path=x.zarr/a",
        "/-/find?text=a",
        "/v3/x.zarr/g/zarr.json",
        "/v3/x.zarr/",
        "/v3/x.zarr/g/",
        "/x.zarr/a/c/0/0/0",
        "/x.zarr/absent",
        "/",
    ] {
        let (status, answer) = server.get(question);
        assert!(!answer.contains(&secret), "{question}: {answer}");
        told_of += usize::from(status >= 500);
    }
    assert!(told_of > 0);
    let told = server.told.lock().unwrap();
    assert!(told.len() >= told_of && told.iter().any(|line| line.contains(&secret)), "{told:?}");
}

#[test]
fn long_listings_come_in_parts() {
    let folder = tempfile::tempdir().unwrap();
    let path = hierarchy(folder.path());
    for n in 0..25 {
        std::fs::write(path.join(format!("g/k{n:02}")), "x").unwrap();
    }
    let server = serve(&path, 1 << 30);
    let mut seen = Vec::new();
    let mut query = "limit=10".to_owned();
    loop {
        let (status, answer) = server.get(&format!("/x.zarr/g/?{query}"));
        assert_eq!(status, 200, "{answer}");
        let links = answer.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
        seen.extend(links.map(str::to_owned));
        let Some(link) = answer.split("link: <?").nth(1) else { break };
        query = link.split('>').next().unwrap().to_owned();
    }
    let expected: Vec<String> = (0..25).map(|n| format!("k{n:02}")).collect();
    assert_eq!(&seen[..25], expected);
    assert_eq!(&seen[25..], ["zarr.json"]);
    // The view's listings, too.
    let (status, answer) = server.get("/v3/x.zarr/?limit=1");
    assert_eq!((status, answer.matches("href").count()), (200, 1), "{answer}");
    let next = answer.split("link: <?limit=1&after=").nth(1).unwrap().split('>').next().unwrap();
    let (_, answer) = server.get(&format!("/v3/x.zarr/?limit=9&after={next}"));
    assert!(answer.contains("href=\"zarr.json\"") && !answer.contains("rel=\"next\""), "{answer}");
    assert_eq!(server.get("/v3/x.zarr/?limit=0").0, 400);
}

#[test]
fn an_unknown_path_is_answered_with_those_that_there_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = hierarchy(folder.path());
    let server = serve(&path, 64 << 20);
    for unknown in ["/help", "/v3/help", "/help/me"] {
        let (status, answer) = server.get(unknown);
        assert_eq!(status, 404, "{answer}");
        assert!(answer.contains("`/-/names` lists the hierarchies"), "{unknown}: {answer}");
    }
}

/// As in a clone of git-annex before its files are fetched: neither absent, so that clients would take it for fill, nor a link that leads out.
#[cfg(unix)]
#[test]
fn a_chunk_that_is_a_link_to_nothing_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.zarr");
    let hierarchy = zarr::create(path.to_str().unwrap(), Dialect::V3).unwrap();
    let array = hierarchy.create_array("/a").shape(&[4]).chunks(&[2]);
    array.data_type_named("int32").create().unwrap().write(.., &[1i32; 4]).unwrap();
    std::fs::remove_file(path.join("a/c/0")).unwrap();
    std::os::unix::fs::symlink("../../gone", path.join("a/c/0")).unwrap();
    let server = serve(&path, 64 << 20);
    let (status, answer) = server.get("/x.zarr/a/c/0");
    assert_eq!(status, 500, "{answer}");
    assert!(answer.contains("is a symbolic link to"), "{answer}");
    assert_eq!(server.get("/x.zarr/a/c/1").0, 200);
    assert_eq!(server.get("/x.zarr/a/c/9").0, 404);
}

/// A client that goes away leaves its place to others: the work for it stops within the chunk that it is at.
#[test]
fn work_for_a_client_that_is_gone_stops() {
    let folder = tempfile::tempdir().unwrap();
    let path = hierarchy(folder.path());
    let root = zarr::open_rw(path.to_str().unwrap()).unwrap();
    // One chunk that is decoded at once, and looked through for some time.
    let len = 16_000_000_u64;
    let array = root.hierarchy().create_array("/large").shape(&[len]).chunks(&[len]);
    let array = array
        .data_type_named("uint8")
        .codec(zarr::tools::codec("gzip:1").unwrap())
        .create()
        .unwrap();
    array.write(.., &vec![7_u8; len as usize]).unwrap();
    let server = serve(&path, 1 << 30);
    let ask =
        "GET /-/stats?path=x.zarr/large HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let began = std::time::Instant::now();
    let answer = server.exchange(ask.as_bytes(), false);
    assert_eq!(answer.get(9..12), Some(&b"200"[..]));
    let whole = began.elapsed();
    // More than the server has threads.
    let clients: Vec<TcpStream> = (0..64)
        .map(|_| {
            let mut stream = TcpStream::connect(server.address).unwrap();
            stream.write_all(ask.as_bytes()).unwrap();
            stream
        })
        .collect();
    std::thread::sleep(whole / 4);
    drop(clients);
    let began = std::time::Instant::now();
    server.is_well();
    let waited = began.elapsed();
    assert!(waited < whole * 3 / 4, "{waited:?} after clients left; one answer takes {whole:?}");
}
