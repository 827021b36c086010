//! Do far stores keep what near ones keep, with many writers, over a wire that fails, and from one to another?
//!
//! `specs-conformance/servers/run.py cargo test -p conformance --test far` has the servers; without them, there is nothing
//! to do but with a zip archive and an LMDB file.

mod servers;

use std::env;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;

use zarr::store::Store;
use zarr::{Access, Array, Dialect, NodePath, OpenOptions, Registry};

const CHILD: &str = "ZARR_TEST_WRITER";
const WRITERS: usize = 4;
const WRITES: usize = 200;

fn options() -> OpenOptions {
    OpenOptions::new(servers::registry()).read_write()
}

fn path() -> NodePath {
    NodePath::new("/a").expect("it is a path")
}

/// An array of one chunk, which is all fill, in an empty place.
fn create(url: &str) -> zarr::Result<Array> {
    let hierarchy = zarr::create_with(url, Dialect::V3, &options())?;
    let len = (WRITERS * WRITES) as u64;
    let builder = hierarchy.create_array(&path()).shape(&[len]).chunks(&[len]);
    let array = builder.data_type_named("int32").codec(zarr::codec("zstd:1")?).create()?;
    hierarchy.flush()?;
    Ok(array)
}

fn open(url: &str) -> zarr::Result<Array> {
    zarr::open_with(&format!("{url}/a"), &options())?.into_array()
}

/// A writer of every fourth element, one at a time.
fn write(url: &str, writer: usize) -> zarr::Result<()> {
    let array = open(url)?;
    for n in (writer..WRITERS * WRITES).step_by(WRITERS) {
        let n = n as u64;
        array.write(n..n + 1, &[n as i32 + 1])?;
    }
    Ok(())
}

/// Runs this test's program again, as writers beside each other.
fn writers(url: &str) -> Vec<Child> {
    let writer = |writer: usize| {
        let mut command = Command::new(env::current_exe().expect("this program has a path"));
        command.args(["a_writer", "--exact", "--nocapture", "--test-threads=1"]);
        command.env(CHILD, format!("{writer} {url}"));
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs")
    };
    (0..WRITERS).map(writer).collect()
}

/// What a child does; nothing, if this is none.
#[test]
fn a_writer() {
    if let Ok(task) = env::var(CHILD) {
        let (writer, url) = task.split_once(' ').expect("a number and a URL");
        write(url, writer.parse().expect("a number")).expect("it writes");
    }
}

fn lose_nothing(url: &str) {
    create(url).expect("it is created");
    for writer in writers(url) {
        let done = writer.wait_with_output().expect("it ends");
        assert!(done.status.success(), "{url}: {}", String::from_utf8_lossy(&done.stderr));
    }
    let found: Vec<i32> = open(url).and_then(|array| array.read(..)).expect("it is read");
    let lost = (1..).zip(&found).filter(|(n, found)| n != *found).count();
    assert_eq!((found.len(), lost), (WRITERS * WRITES, 0), "{url}");
}

/// Four processes write 200 parts each of one chunk, and nothing is lost.
#[test]
fn processes_that_write_one_chunk_lose_nothing() {
    let near = tempfile::tempdir().expect("a folder");
    lose_nothing(&near.path().join("x.lmdb").display().to_string());
    for server in servers::all() {
        lose_nothing(&format!("{}://writers-{}", server.name, std::process::id()));
    }
}

/// An archive has one writer at a time; another is told so.
#[test]
fn a_second_writer_of_an_archive_is_refused() {
    let near = tempfile::tempdir().expect("a folder");
    let url = near.path().join("x.zip").display().to_string();
    create(&url).expect("it is created");
    let first = open(&url).expect("it opens");
    first.write(0..1, &[1]).expect("the first writes");
    let done: Vec<_> = writers(&url).into_iter().map(|child| child.wait_with_output()).collect();
    assert!(done.into_iter().all(|done| !done.expect("it ends").status.success()));
    drop(first);
    write(&url, 0).expect("whoever comes after writes");
    let found: Vec<i32> = open(&url).and_then(|array| array.read(..)).expect("it is read");
    assert_eq!(found.iter().filter(|&&n| n != 0).count(), WRITES);
}

fn zarr(arguments: &[&str]) {
    let arguments = ["zarr"].iter().chain(arguments).map(Into::into);
    let code = zarr_cli::run(servers::registry(), arguments);
    assert_eq!(format!("{code:?}"), format!("{:?}", ExitCode::SUCCESS));
}

/// An array of `count` chunks, no two of them equal.
fn fill(url: &str, count: u64) -> Vec<i32> {
    let hierarchy = zarr::create_with(url, Dialect::V3, &options()).expect("it is created");
    let builder = hierarchy.create_array(&path()).shape(&[count * 50]).chunks(&[50]);
    let array = builder.data_type_named("int32").create().expect("it is created");
    let values: Vec<i32> = (0..count as i32 * 50).map(|n| n * 7919 + 1).collect();
    array.write(.., &values).expect("it is written");
    hierarchy.flush().expect("it is flushed");
    values
}

fn read(url: &str) -> Vec<i32> {
    open(url).and_then(|array| array.read(..)).expect("it is read")
}

/// How many faults a server's wire made so far, as that says itself.
fn faults(server: &servers::Server) -> u64 {
    let endpoint = server.options.iter().find(|(name, _)| name == "endpoint");
    let host = endpoint.and_then(|(_, url)| url.strip_prefix("http://")).expect("a wire");
    let ask = || -> std::io::Result<String> {
        let mut wire = TcpStream::connect(host)?;
        wire.write_all(b"GET /faults HTTP/1.1\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        wire.read_to_string(&mut answer)?;
        Ok(answer)
    };
    let answer = ask().expect("the wire answers");
    answer.rsplit("\r\n").next().and_then(|count| count.parse().ok()).expect("a number")
}

/// A wire of which every fifth request fails: refused, dropped, cut off in the middle, late.
#[test]
fn a_copy_over_a_wire_that_fails_is_whole() {
    let near = tempfile::tempdir().expect("a folder");
    let at_home = near.path().join("x.zarr").display().to_string();
    let back = near.path().join("back.zarr").display().to_string();
    let faulty = servers::of("ZARR_TEST_FAULTS");
    let values = faulty.first().map(|_| fill(&at_home, 1000)).unwrap_or_default();
    for server in faulty {
        let there = format!("faulty-{}://copy-{}", server.name, std::process::id());
        let before = faults(&server);
        zarr(&["copy", &at_home, &there]);
        assert_eq!(read(&there), values);
        zarr(&["copy", &there, &back]);
        assert_eq!(read(&back), values);
        let straight = format!("{}://copy-{}", server.name, std::process::id());
        assert_eq!(read(&straight), values);
        // A thousand chunks went there and came back twice.
        assert!(faults(&server) - before >= 500, "{} faults", faults(&server) - before);
    }
}

/// `zarr copy` from each kind of store to each.
#[test]
fn copies_between_any_two_stores_are_equal() {
    let near = tempfile::tempdir().expect("a folder");
    let id = std::process::id();
    let kinds: Vec<String> = ["zarr", "zip", "lmdb"]
        .map(String::from)
        .into_iter()
        .chain(servers::all().iter().map(|server| server.name.clone()))
        .collect();
    let url = |kind: &str, name: &str| match kind {
        "zarr" | "zip" | "lmdb" => near.path().join(format!("{name}.{kind}")).display().to_string(),
        far => format!("{far}://copies-{id}/{name}"),
    };
    for from in &kinds {
        let begin = url(from, "begin");
        let values = fill(&begin, 3);
        for to in &kinds {
            let end = url(to, &format!("from-{from}"));
            zarr(&["copy", &begin, &end]);
            assert_eq!(read(&end), values, "{begin} to {end}");
        }
    }
}

/// An archive on a server is read without being fetched.
#[test]
fn archives_on_servers_are_read_by_ranges() {
    let near = tempfile::tempdir().expect("a folder");
    let home = near.path().join("x.zip");
    let values = fill(&home.display().to_string(), 2000);
    let bytes = std::fs::read(&home).expect("it is there");
    for server in servers::all() {
        let above = format!("{}://archives-{}", server.name, std::process::id());
        put(&servers::registry(), &above, &bytes);
        let url = format!("zip::{above}/x.zip");
        let options = OpenOptions::new(servers::registry());
        let array =
            zarr::open_with(&format!("{url}/a"), &options).and_then(|node| node.into_array());
        let array = array.expect("it opens");
        assert_eq!(array.read::<i32>(..).expect("it is read"), values, "{url}");
    }
}

fn put(registry: &Registry, url: &str, bytes: &[u8]) {
    use zarr::store::{Payload, StoreKey};
    let store: Arc<dyn Store> = registry.open_store(url, Access::ReadWrite).expect("it opens");
    let key = StoreKey::new("x.zip").expect("it is a key");
    store.writeable().expect("it is written").set(&key, Payload::new(bytes)).expect("it is set");
}
