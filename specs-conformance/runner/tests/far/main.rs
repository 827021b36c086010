//! Remote stores keep what local ones keep, with many writers, over a wire that fails, and from one to another.
//!
//! `specs-conformance/servers/run.py cargo test -p conformance --test far` has the servers. Without one its tests are
//! reported as ignored, or fail with `ZARR_TEST_REQUIRED`; those of a zip archive and an LMDB file run anyway.
//!
//! A program of its own: its tests are made when it runs, and ignored without servers.

#![forbid(unsafe_code)]

mod servers;

use std::env;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use servers::Server;
use zarr::store::Store;
use zarr::{Access, Array, Dialect, NodePath, OpenOptions, Registry};

const CHILD: &str = "ZARR_TEST_WRITER";
const WRITERS: usize = 4;
const WRITES: usize = 200;
const APPENDS: i32 = 60;

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
    let builder = hierarchy.create_array(path()).shape(&[len]).chunks(&[len]);
    let array = builder.data_type_named("int32").codec(zarr::tools::codec("zstd:1")?).create()?;
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
        command.env(CHILD, format!("{writer} {url}"));
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs")
    };
    (0..WRITERS).map(writer).collect()
}

/// One test for each of the servers; without any, one that is ignored.
fn for_each(
    trials: &mut Vec<Trial>,
    test: &str,
    variable: &'static str,
    servers: &[Server],
    check: fn(&Server),
) {
    if servers.is_empty() {
        let none = format!("`{variable}` names no server");
        let is_required = env::var_os("ZARR_TEST_REQUIRED").is_some();
        let ignored = move || {
            if is_required { Err(Failed::from(none)) } else { Ok(Completion::ignored_with(none)) }
        };
        trials.push(Trial::ignorable_test(format!("{test} ({variable})"), ignored));
    }
    for server in servers {
        let (name, server) = (format!("{test} ({})", server.name), server.clone());
        let run = move || {
            check(&server);
            servers::reached(variable, &server.name);
            Ok(())
        };
        trials.push(Trial::test(name, run));
    }
}

fn main() -> ExitCode {
    if let Ok(task) = env::var(CHILD) {
        let (writer, url) = task.split_once(' ').expect("a number and a URL");
        write(url, writer.parse().expect("a number")).expect("it writes");
        return ExitCode::SUCCESS;
    }
    let local = |name: &str, run: fn()| {
        let run = move || {
            run();
            Ok(())
        };
        Trial::test(name, run)
    };
    let mut trials = vec![
        local("processes_that_write_one_chunk_lose_nothing (lmdb)", || {
            let near = tempfile::tempdir().expect("a folder");
            lose_nothing(&near.path().join("x.lmdb").display().to_string());
        }),
        local("a_second_writer_of_an_archive_is_refused", a_second_writer_of_an_archive_is_refused),
        local("copies_between_any_two_stores_are_equal", copies_between_any_two_stores_are_equal),
    ];
    for variable in servers::WRITEABLE {
        let servers = servers::of(variable);
        let writers = |server: &Server| {
            lose_nothing(&format!("{}://writers-{}", server.name, std::process::id()));
        };
        let test = "processes_that_write_one_chunk_lose_nothing";
        for_each(&mut trials, test, variable, &servers, writers);
        let test = "archives_are_read_by_ranges";
        for_each(&mut trials, test, variable, &servers, archives_are_read_by_ranges);
        // The copies between all of them are one test.
        let test = "copies_are_equal";
        for_each(&mut trials, test, variable, &servers, copies_are_equal);
    }
    let variable = "ZARR_TEST_FAULTS";
    let test = "a_copy_over_a_wire_that_fails_is_whole";
    let check = a_copy_over_a_wire_that_fails_is_whole;
    for_each(&mut trials, test, variable, &servers::of(variable), check);
    let test = "appends_over_a_wire_that_fails_lose_nothing";
    let check = appends_over_a_wire_that_fails_lose_nothing;
    for_each(&mut trials, test, variable, &servers::of(variable), check);
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
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

/// An archive has one writer at a time; another is told so.
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
    let builder = hierarchy.create_array(path()).shape(&[count * 50]).chunks(&[50]);
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
fn a_copy_over_a_wire_that_fails_is_whole(server: &Server) {
    let near = tempfile::tempdir().expect("a folder");
    let at_home = near.path().join("x.zarr").display().to_string();
    let back = near.path().join("back.zarr").display().to_string();
    let values = fill(&at_home, 1000);
    let there = format!("faulty-{}://copy-{}", server.name, std::process::id());
    let before = faults(server);
    zarr(&["copy", &at_home, &there]);
    assert_eq!(read(&there), values);
    zarr(&["copy", &there, &back]);
    assert_eq!(read(&back), values);
    let straight = format!("{}://copy-{}", server.name, std::process::id());
    assert_eq!(read(&straight), values);
    // A thousand chunks went there and came back twice.
    assert!(faults(server) - before >= 500, "{} faults", faults(server) - before);
}

/// Two writers that append as much make equal documents. If the request of one is refused after one without an answer, only
/// the object's metadata tell whose the document is.
fn appends_over_a_wire_that_fails_lose_nothing(server: &Server) {
    let place = format!("{}://appends-{}", server.name, std::process::id());
    let faulty = format!("faulty-{place}");
    let hierarchy = zarr::create_with(&place, Dialect::V3, &options()).expect("it is created");
    let builder = hierarchy.create_array(path()).shape(&[0]).chunks(&[1]);
    builder.data_type_named("int32").create().expect("it is created");
    let before = faults(server);
    // Writers of one store and one process take turns; these know it by two names.
    let writers = [place.as_str(), &faulty].map(|url| open(url).expect("it opens"));
    for n in 1..=APPENDS {
        std::thread::scope(|scope| {
            for (writer, sign) in writers.iter().zip([1, -1]) {
                scope.spawn(move || writer.append(0, &[sign * n]).expect("it appends"));
            }
        });
    }
    let mut found = read(&place);
    let len = found.len();
    // A place that a writer no longer knew to be its own stays fill.
    found.retain(|&n| n != 0);
    found.sort_unstable();
    let expected: Vec<i32> = (-APPENDS..=APPENDS).filter(|&n| n != 0).collect();
    assert_eq!(found, expected, "of {len} elements");
    assert!(faults(server) - before >= 20, "{} faults", faults(server) - before);
}

/// `zarr copy` from each kind of store to each of those.
fn copies(from: &[String], to: &[String]) {
    let near = tempfile::tempdir().expect("a folder");
    let url = |kind: &str, name: &str| match kind {
        "zarr" | "zip" | "lmdb" => near.path().join(format!("{name}.{kind}")).display().to_string(),
        far => {
            let at = near.path().file_name().expect("it has a name").to_string_lossy();
            format!("{far}://copies-{at}/{name}")
        }
    };
    for from in from {
        let begin = url(from, "begin");
        let values = fill(&begin, 3);
        for to in to {
            let end = url(to, &format!("from-{from}"));
            zarr(&["copy", &begin, &end]);
            assert_eq!(read(&end), values, "{begin} to {end}");
        }
    }
}

fn local_kinds() -> Vec<String> {
    ["zarr", "zip", "lmdb"].map(String::from).to_vec()
}

fn copies_between_any_two_stores_are_equal() {
    copies(&local_kinds(), &local_kinds());
}

/// From this server to each kind of store, and from each to it.
fn copies_are_equal(server: &Server) {
    let servers = servers::all().iter().map(|server| server.name.clone());
    let kinds: Vec<String> = local_kinds().into_iter().chain(servers).collect();
    let this = [server.name.clone()];
    copies(&this, &kinds);
    copies(&local_kinds(), &this);
}

/// An archive on a server is read without being fetched.
fn archives_are_read_by_ranges(server: &Server) {
    let near = tempfile::tempdir().expect("a folder");
    let home = near.path().join("x.zip");
    let values = fill(&home.display().to_string(), 2000);
    let bytes = std::fs::read(&home).expect("it is there");
    let above = format!("{}://archives-{}", server.name, std::process::id());
    put(&servers::registry(), &above, &bytes);
    let url = format!("zip::{above}/x.zip");
    let options = OpenOptions::new(servers::registry());
    let array = zarr::open_with(&format!("{url}/a"), &options).and_then(|node| node.into_array());
    let array = array.expect("it opens");
    assert_eq!(array.read::<i32>(..).expect("it is read"), values, "{url}");
}

fn put(registry: &Registry, url: &str, bytes: &[u8]) {
    use zarr::store::{Payload, StoreKey};
    let store: Arc<dyn Store> = registry.open_store(url, Access::ReadWrite).expect("it opens");
    let key = StoreKey::new("x.zip").expect("it is a key");
    store.to_sync().set(&key, Payload::new(bytes)).expect("it is set");
}
