//! Writers that share chunks lose nothing of one another when some of them are killed, or the system refuses their calls.
//!
//! Four processes write their own elements of the same chunks and their own attribute, with values that only grow, and say what they begin
//! and what is done. The parent kills them at any moment and starts others in their place; one of them has system calls that fail. In
//! the end each element has the value that was last done, or one that was begun after it. A sample runs at once;
//! `ZARR_KILLS=500` kills as many in each store (`.ci/full kills`).

#![cfg(all(
    target_os = "linux",
    feature = "filesystem",
    feature = "zip",
    feature = "lmdb",
    feature = "sharding",
    feature = "crc32c"
))]

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::changes::Random;
use crate::injected::{ERRORS, KINDS, Kind, injector};
use zarr::{Array, Dialect, OpenOptions, Result};

const WRITERS: u64 = 4;
const LEN: u64 = 64;
const CHUNK: u64 = 24;
const ARRAYS: [&str; 2] = ["a", "s"];

fn kills() -> u64 {
    env::var("ZARR_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(24)
}

/// A place is a URL, and after a `?` options of its store.
fn options(place: &str) -> (&str, OpenOptions) {
    let (url, words) = place.split_once('?').unwrap_or((place, ""));
    let words = words.split('&').filter_map(|word| word.split_once('='));
    let begun = OpenOptions::new(zarr::standard()).read_write();
    (url, words.fold(begun, |options, (name, value)| options.store_option(name, value)))
}

fn array(place: &str, name: &str) -> Result<Array> {
    let (url, options) = options(place);
    zarr::open_with(url, &options)?.into_group()?.array(name)
}

/// An array of compressed chunks, and one of shards with checksums.
fn begin(place: &str) -> Result<()> {
    let (url, options) = options(place);
    let hierarchy = zarr::create_with(url, Dialect::V3, &options)?;
    let make = |name: &str| hierarchy.create_array(name).shape(&[LEN]).data_type_named("int64");
    make("a").chunks(&[CHUNK]).codec(zarr::tools::codec("gzip:1")?).create()?;
    make("s").shards(&[CHUNK]).chunks(&[6]).codec(zarr::tools::codec("crc32c")?).create()?;
    hierarchy.flush()
}

/// What a writer does, one after the other, from its number and the count of changes: the array, an element that belongs to it or its
/// attribute, the value.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Change {
    array: usize,
    /// From `LEN` on: the attribute of a writer.
    at: u64,
    value: i64,
}

/// The child: begins at a value, and goes on until it is killed.
fn write(url: &str, writer: u64, first: i64) {
    let mut random = Random::new(writer * 1_000_003 + first as u64);
    let mut out = std::io::stdout();
    let mut say = |word: &str, change: Change| {
        let line = format!("{word} {} {} {}\n", change.array, change.at, change.value);
        out.write_all(line.as_bytes()).and_then(|()| out.flush()).expect("the parent reads");
    };
    let mut handles: Option<Vec<Array>> = None;
    for value in first.. {
        if random.below(20) == 0 {
            handles = None;
        }
        let own = random.below(LEN / WRITERS + 1) * WRITERS + writer;
        let change = Change { array: random.below(2) as usize, at: own, value };
        say("begin", change);
        let made = (|| {
            let handles = match &mut handles {
                Some(handles) => handles,
                none => none.insert(ARRAYS.iter().map(|n| array(url, n)).collect::<Result<_>>()?),
            };
            let array = &handles[change.array];
            if change.at < LEN {
                return array.write(change.at..change.at + 1, &[value]);
            }
            array.update_attributes(|a| {
                a.insert(format!("of-{writer}"), value);
            })?;
            Ok(())
        })();
        match made {
            Ok(()) => say("done", change),
            // Only a writer whose calls fail may meet errors.
            Err(e) => {
                assert!(env::var_os("FAIL_CALL").is_some(), "writer {writer}, {change:?}: {e}");
                handles = None;
            }
        }
    }
}

/// A writer, and what it says.
struct Writer {
    child: Child,
    said: Receiver<String>,
}

fn start(url: &str, writer: u64, first: i64, random: &mut Random) -> Writer {
    let mut command = zarr_testkit::test_command(module_path!(), "writers_lose_nothing");
    command.env("ZARR_KILLS_IN", url).env("ZARR_WRITER", format!("{writer} {first}"));
    if writer == 0 {
        let (errno, always) = ERRORS[random.below(3) as usize];
        let call = if errno == -1 { "write" } else { KINDS[random.below(10) as usize] };
        command.env("LD_PRELOAD", injector()).env("FAIL_CALL", call);
        command.env("FAIL_AT", (3 + random.below(60)).to_string());
        command.env("FAIL_ERRNO", errno.to_string());
        if always {
            command.env("FAIL_ALWAYS", "1");
        }
    }
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("a child");
    let (sender, said) = channel();
    let out = BufReader::new(child.stdout.take().expect("it is piped"));
    std::thread::spawn(move || {
        // The last line of one that is killed may be cut off, which the count of its words shows.
        for line in out.lines().map_while(|line| line.ok()) {
            let _ = sender.send(line);
        }
    });
    Writer { child, said }
}

/// What may be at each place: the value that was last done, and those begun since.
struct Expected {
    may_be: Vec<Vec<Vec<i64>>>,
    done: u64,
}

impl Expected {
    fn hear(&mut self, line: &str, newest: &mut i64) {
        let Some(at) = line.find("begin ").or_else(|| line.find("done ")) else { return };
        let words: Vec<&str> = line[at..].split(' ').collect();
        let [word, array, place, value] = words[..] else { return };
        let number = |text: &str| text.parse::<i64>().expect("a number");
        let seen = &mut self.may_be[number(array) as usize][number(place) as usize];
        if word == "begin" {
            seen.push(number(value));
        } else {
            seen.retain(|v| *v >= number(value));
            self.done += 1;
        }
        *newest = (*newest).max(number(value));
    }
}

/// Folders, LMDB files, and the buckets of `ZARR_TEST_S3`, and of `ZARR_TEST_FAULTS`, whose server fails at every fifth request.
#[test]
fn writers_lose_nothing() {
    if let (Ok(url), Ok(writer)) = (env::var("ZARR_KILLS_IN"), env::var("ZARR_WRITER")) {
        let (writer, first) = writer.split_once(' ').expect("two numbers");
        return write(&url, writer.parse().expect("a number"), first.parse().expect("a number"));
    }
    let folder = tempfile::tempdir().expect("a folder");
    run("folder", &Kind::Folder.url(folder.path(), "x"), Duration::from_millis(140));
    run("LMDB file", &Kind::Lmdb.url(folder.path(), "x"), Duration::from_millis(140));
    for variable in ["ZARR_TEST_S3", "ZARR_TEST_FAULTS"] {
        for server in env::var(variable).unwrap_or_default().split_whitespace() {
            let (name, url) = server.split_once('=').expect("NAME=URL");
            let (place, options) = url.split_once('?').expect("options");
            let place = format!("{place}/killed-among-others-{variable}?{options}");
            run(&format!("{name} of {variable}"), &place, Duration::from_millis(1400));
        }
    }
}

/// One writer after the other is killed, each after at most `longest`.
fn run(name: &str, url: &str, longest: Duration) {
    begin(url).expect("no fault");
    let places = (LEN + WRITERS) as usize;
    let mut expected = Expected { may_be: vec![vec![vec![0]; places]; ARRAYS.len()], done: 0 };
    let mut random = Random::new(7);
    let mut newest = vec![1; WRITERS as usize];
    let mut writers: Vec<Writer> = (0..WRITERS).map(|n| start(url, n, 1, &mut random)).collect();
    for _ in 0..kills() {
        std::thread::sleep(longest.mul_f64((1 + random.below(100)) as f64 / 100.0));
        let n = random.below(WRITERS) as usize;
        end(&mut writers[n], &mut expected, &mut newest[n]);
        writers[n] = start(url, n as u64, newest[n] + 1, &mut random);
    }
    for (n, writer) in writers.iter_mut().enumerate() {
        end(writer, &mut expected, &mut newest[n]);
    }
    assert!(expected.done > kills() / 2, "only {} changes were done", expected.done);
    check(url, &expected);
    eprintln!(
        "{name}: {} writers killed, {} changes done, none lost",
        kills() + WRITERS,
        expected.done
    );
}

fn end(writer: &mut Writer, expected: &mut Expected, newest: &mut i64) {
    writer.child.kill().expect("it runs, or ran");
    let status = writer.child.wait().expect("it was killed");
    assert!(status.code().is_none(), "a writer ended by itself: {status}");
    for line in writer.said.iter() {
        expected.hear(&line, newest);
    }
}

fn check(url: &str, expected: &Expected) {
    for (name, may_be) in ARRAYS.iter().zip(&expected.may_be) {
        let array = array(url, name).expect("it is there");
        let mut now = array.read::<i64>(..).expect("all chunks are whole");
        for writer in 0..WRITERS {
            let attribute =
                array.attributes().get(&format!("of-{writer}")).map(ToString::to_string);
            now.push(attribute.map_or(0, |text| text.parse().expect("a number")));
        }
        for (at, (value, may_be)) in now.iter().zip(may_be).enumerate() {
            assert!(may_be.contains(value), "{name}, {at}: {value} is not one of {may_be:?}");
        }
    }
}
