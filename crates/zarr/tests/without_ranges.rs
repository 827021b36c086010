//! Servers that give no parts of values, such as `python3 -m http.server`, are read as any other: shards by parts, and zip archives.
//!
//! Without `python3` its tests are reported as ignored, which only a harness of its own can do: so this is a program of its own.

#[path = "it/server/mod.rs"]
mod server;

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread::sleep;
use std::time::Duration;

use libtest_mimic::{Arguments, Completion, Trial};
use server::Server;
use zarr::store::{ByteRange, StoreKey};
use zarr::stores::ObjectStore;
use zarr::{Access, Array, Dialect, NodePath, OpenOptions, Result};
use zarr_testkit::ShortCalls;

const LEN: u64 = 4000;

fn elements() -> Vec<u16> {
    (0..LEN as u16).map(|i| i.wrapping_mul(77)).collect()
}

/// A folder with an array of ten shards of ten chunks, `x.zarr`, and the same in `x.zip`.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["x.zarr", "x.zip"] {
        let url = folder.path().join(name).display().to_string();
        let options = OpenOptions::new(zarr::standard()).read_write();
        let hierarchy = zarr::create_with(&url, Dialect::V3, &options).expect("it is created");
        let array = hierarchy.create_array(NodePath::new("/a").expect("a path"));
        let array = array.shape(&[LEN]).chunks(&[40]).shards(&[400]).data_type_named("uint16");
        array.create().and_then(|array| array.write(.., &elements())).expect("it is written");
        hierarchy.flush().expect("it is flushed");
    }
    folder
}

fn check_array(array: &Array) -> Result<()> {
    let all = elements();
    assert_eq!(array.read::<u16>(1234..1300)?, &all[1234..1300]);
    assert_eq!(array.read::<u16>(3999)?, &all[3999..]);
    assert_eq!(array.read::<u16>(..)?, all);
    Ok(())
}

/// What a server shows of such a folder is what is in it.
fn check(url: &str, folder: &Path) {
    let array = |url: &str| zarr::open(url).and_then(|node| node.into_array());
    let shards = array(&format!("{url}/x.zarr/a"));
    check_array(&shards.expect("it opens")).expect("a part of a shard is read");
    let zip = array(&format!("zip::{url}/x.zip/a")).expect("an archive opens");
    check_array(&zip).expect("an archive is read");
    let key = StoreKey::new("x.zarr/a/c/3").expect("a key");
    let value = fs::read(folder.join(key.as_str())).expect("it is there");
    let size = value.len() as u64;
    // Each range alone, of a store that knows nothing yet.
    for (range, due) in [
        (ByteRange::Bounded { start: 7, len: 5 }, &value[7..12]),
        (ByteRange::From(size - 3), &value[value.len() - 3..]),
        (ByteRange::Suffix(9), &value[value.len() - 9..]),
        (ByteRange::ALL, &value[..]),
    ] {
        let store = ObjectStore::open(url, Access::ReadOnly, [("", ""); 0]).expect("it opens");
        let store = store.into_store();
        let readable = store.to_sync();
        for _ in 0..2 {
            let found = readable.ranges(&key, &[range]).expect("it is read");
            assert_eq!(found.expect("it is there"), [due], "{range:?}");
        }
        let version =
            readable.snapshot(&key).expect("it is pinned").expect("it is there").version();
        let version = version.expect("it has a date and a size");
        let pinned =
            readable.snapshot_of(&key, &version).expect("it is pinned").expect("it is there");
        let apart = [range, ByteRange::Bounded { start: 0, len: 1 }];
        assert_eq!(pinned.read(&apart).expect("it is read"), [due, &value[..1]], "{range:?}");
        let beyond = ByteRange::Bounded { start: size - 1, len: 2 };
        readable.ranges(&key, &[beyond]).expect_err("it leaves the value");
    }
}

/// A server of this process that ignores ranges, as some do, with each kind of tag.
fn a_server_without_ranges_is_read() {
    let folder = folder();
    for etag in [Some(""), Some("W/"), None] {
        let server = Server::start();
        server.manners(|manners| (manners.ranges, manners.etag) = (false, etag));
        show(&server, folder.path(), "");
        check(server.url("").trim_end_matches('/'), folder.path());
    }
}

fn show(server: &Server, folder: &Path, above: &str) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let name = format!("{above}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            show(server, &entry.path(), &format!("{name}/"))
        } else {
            server.set(&name, &fs::read(entry.path()).expect("a file"))
        }
    }
}

/// One small value that came whole does not make a server one without ranges.
fn a_whole_answer_of_no_more_than_was_asked_for_means_nothing() {
    let folder = folder();
    let server = Server::start();
    show(&server, folder.path(), "");
    server.set("small", b"abc");
    let url = server.url("");
    let store = ObjectStore::open(url.trim_end_matches('/'), Access::ReadOnly, [("", ""); 0]);
    let store = store.expect("it opens").into_store();
    let readable = store.to_sync();
    server.manners(|manners| manners.ranges = false);
    let small = StoreKey::new("small").expect("a key");
    let last = [ByteRange::Suffix(3)];
    assert_eq!(readable.ranges(&small, &last).unwrap().unwrap(), [&b"abc"[..]]);
    server.manners(|manners| manners.ranges = true);
    server.asked();
    let key = StoreKey::new("x.zarr/a/c/3").expect("a key");
    readable.ranges(&key, &last).expect("it is read").expect("it is there");
    assert_eq!(server.asked().0, ["GET x.zarr/a/c/3 bytes=-3"]);
}

/// `python3 -m http.server` in a folder, ended with its guard.
struct Python(Child);

impl Drop for Python {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn has_python() -> bool {
    let version = Command::new("python3").args(["-c", "import http.server"]).output();
    version.is_ok_and(|output| output.status.success())
}

fn python_is_read() {
    let folder = folder();
    let port = || TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port");
    let port = port().port();
    let server = Command::new("python3")
        .args(["-m", "http.server", "--bind", "127.0.0.1", &port.to_string()])
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let mut server = Python(server);
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(server.0.try_wait().expect("it is ours").is_none(), "it ended");
        sleep(Duration::from_millis(20));
    }
    check(&format!("http://127.0.0.1:{port}"), folder.path());
}

fn main() -> ExitCode {
    let trial = |name: &str, run: fn()| {
        Trial::test(name, move || {
            run();
            Ok(())
        })
    };
    let python = Trial::ignorable_test("python3_m_http_server_is_read", || {
        if !has_python() {
            return Ok(Completion::ignored_with("python3 is not here"));
        }
        python_is_read();
        Ok(Completion::Completed)
    });
    let trials = vec![
        trial("a_server_without_ranges_is_read", a_server_without_ranges_is_read),
        trial(
            "a_whole_answer_of_no_more_than_was_asked_for_means_nothing",
            a_whole_answer_of_no_more_than_was_asked_for_means_nothing,
        ),
        python,
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
