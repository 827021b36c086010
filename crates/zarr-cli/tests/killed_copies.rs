//! Copies of the program that are killed: none is taken for complete, and all are gone on with (decision 0017).
#![cfg(unix)]

mod common;

use std::collections::BTreeSet;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use common::Folder;
use zarr::Json;

/// An array of 600 chunks, and a small one beside it, all elements different.
fn source(folder: &Folder) -> String {
    folder
        .good("create a.zarr --path big --shape 600,40 --chunks 1,40 --dtype int32 --codec gzip:1");
    folder.good("create a.zarr --path g/small --shape 9 --chunks 2 --dtype int32");
    let numbers = |count: u64| {
        let list: Vec<String> = (1..=count).map(|n| n.to_string()).collect();
        format!("[{}]", list.join(","))
    };
    for (path, count) in [("big", 24_000), ("g/small", 9)] {
        let put = folder.feed(&format!("put a.zarr --path {path}"), numbers(count).as_bytes());
        assert_eq!(put.code, 0, "{}", put.err);
    }
    folder.good("get a.zarr --path big").text().to_owned()
}

fn start(folder: &Folder, line: &str) -> Child {
    folder.command(line).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Whether it ended by itself.
fn kill_after(mut child: Child, delay: Duration) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < delay {
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success(), "{status}");
            return true;
        }
        thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    false
}

fn keys(folder: &Folder, target: &str) -> BTreeSet<String> {
    fn walk(folder: &std::path::Path, base: &std::path::Path, found: &mut BTreeSet<String>) {
        for entry in folder.read_dir().into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                walk(&path, base, found);
            } else if !path.display().to_string().contains("/.zarr-tmp")
                && !path.ends_with(".zarr-lock")
            {
                found.insert(path.strip_prefix(base).unwrap().display().to_string());
            }
        }
    }
    let mut found = BTreeSet::new();
    let base = folder.path(target);
    walk(&base, &base, &mut found);
    found
}

/// Kills copies into each store at different moments. Each is read, gone on with, and compared.
#[test]
fn killed_copies_are_never_complete_and_always_gone_on_with() {
    let folder = Folder::new();
    let all = source(&folder);
    let begun = Instant::now();
    folder.good("copy a.zarr whole.zarr");
    let whole = begun.elapsed();
    // `ZARR_COPY_KILLS=67` makes 201 kills.
    let rounds = std::env::var("ZARR_COPY_KILLS").ok().and_then(|text| text.parse().ok());
    let rounds: u32 = rounds.unwrap_or(3);
    let (mut under_way, mut absent, mut ended) = (0, 0, 0);
    for round in 0..rounds {
        for (store, url) in [
            ("folder", format!("f{round}")),
            ("zip", format!("z{round}.zip")),
            ("lmdb", format!("lmdb://{}", folder.path(&format!("l{round}.mdb")).display())),
        ] {
            let child = start(&folder, &format!("copy a.zarr {url}"));
            if kill_after(child, whole.mul_f64(0.1 + 0.9 * f64::from(round) / f64::from(rounds))) {
                ended += 1;
                continue;
            }
            let info = folder.run(&format!("get {url} --path big"));
            if info.code == 0 {
                assert!(info.text() == all, "{store}: an incomplete copy was read");
                continue;
            }
            assert_eq!(info.code, 3, "{store}: {}", info.err);
            let is_told = info.err.contains("copy under way, ") && info.err.contains("--resume");
            under_way += u32::from(is_told);
            absent += u32::from(!is_told);
            let before = keys(&folder, &url);
            if store == "folder" && !is_told {
                assert!(before.is_empty(), "{before:?}");
            }
            let again = folder.run(&format!("copy a.zarr {url} --resume --verify --trace"));
            assert_eq!(again.code, 0, "{store}: {}", again.err);
            if store == "folder" {
                let puts = again.err.lines().filter(|line| {
                    line.starts_with("trace: put")
                        && line.contains(" big/c/")
                        && line.contains("bytes")
                });
                let there = before.iter().filter(|key| key.starts_with("big/c/")).count();
                assert!(puts.count() <= 600 - there, "finished chunks were written again");
                assert!(!folder.path(&url).join(".zarr-copy").exists());
            }
            assert!(folder.good(&format!("get {url} --path big")).text() == all, "{store}");
            assert_eq!(
                folder.good(&format!("get {url} --path g/small")).text(),
                "[1,2,3,4,5,6,7,8,9]\n"
            );
        }
    }
    println!(
        "kills: copies: {under_way} under way, {absent} before anything was there, {ended} ended before the kill"
    );
    assert!(under_way > 0, "no copy was killed while it was under way");
}

/// Eight processes, two of which are killed and run again.
#[test]
fn parts_of_eight_processes_are_one_copy() {
    let folder = Folder::new();
    let all = source(&folder);
    let part = |n: u32| start(&folder, &format!("copy a.zarr b.zarr --part {n}/8"));
    let mut children: Vec<Child> = (1..=8).map(part).collect();
    for child in [1, 4] {
        children[child].kill().unwrap();
    }
    let ended: Vec<bool> =
        children.iter_mut().map(|child| child.wait().unwrap().success()).collect();
    let refused = folder.run("copy a.zarr b.zarr --finish");
    if refused.code != 0 {
        assert_eq!(refused.code, 2, "{}", refused.err);
        assert!(refused.err.contains("not all parts are done: 2/8"), "{}", refused.err);
        let absent = folder.run("info b.zarr");
        assert_eq!(absent.code, 3, "{}", absent.err);
        assert!(absent.err.contains("copy under way, "), "{}", absent.err);
        let other = folder.run("copy a.zarr b.zarr --part 1/9");
        assert!(other.code == 2 && other.err.contains("it has 8 parts"), "{}", other.err);
        for n in (1..=8).filter(|n| !ended[*n - 1]) {
            let again = folder.run(&format!("copy a.zarr b.zarr --part {n}/8"));
            assert_eq!(again.code, 0, "{}", again.err);
        }
        let finished = folder.run("copy a.zarr b.zarr --finish");
        assert_eq!(finished.code, 0, "{}", finished.err);
    }
    assert!(folder.good("get b.zarr --path big").text() == all);
    assert_eq!(folder.good("get b.zarr --path g/small").text(), "[1,2,3,4,5,6,7,8,9]\n");
    assert!(!folder.path("b.zarr/.zarr-copy").exists());
}

/// What is asked for, what is refused, and what is said.
#[test]
fn options_choose_what_is_copied() {
    let folder = Folder::new();
    source(&folder);
    let told = folder.good("copy a.zarr b.zarr --select small --dry-run --json").json();
    let told = told.as_object().unwrap();
    assert_eq!(told.get("nodes").and_then(Json::as_u64), Some(3));
    assert_eq!(told.get("chunks").and_then(Json::as_u64), Some(5));
    assert_eq!(told.get("bytes").and_then(Json::as_u64), Some(36));
    assert!(!folder.path("b.zarr").exists(), "a dry run writes nothing");
    folder.good("copy a.zarr b.zarr --exclude big");
    assert_eq!(folder.good("tree b.zarr").text(), "/\n└── g\n    └── small  int32 (9,)\n");
    let refused = folder.bad("copy a.zarr b.zarr", 2);
    assert!(refused.contains("--overwrite"), "{refused}");
    folder.good("copy a.zarr b.zarr --overwrite --include 'g/*'");
    folder.good("copy a.zarr c.zarr --path g/small --region 1:8:3");
    assert_eq!(folder.good("get c.zarr").text(), "[2,5,8]\n");
    folder.good("copy a.zarr d.zarr --path g/small --region ::-2");
    assert_eq!(folder.good("get d.zarr").text(), "[9,7,5,3,1]\n");
    assert!(folder.bad("copy a.zarr e.zarr --region 1:2", 2).contains("one array"));
    assert!(folder.bad("copy a.zarr e.zarr --select smal", 2).contains("names no node"));
    assert!(folder.bad("copy a.zarr e.zarr --finish", 2).contains("no copy to"));
    assert!(folder.bad("copy a.zarr e.zarr --to nczarr-v2 --resume", 2).contains("not for netCDF"));
    assert!(folder.bad("copy a.zarr e.zarr --part 9/8", 2).contains("I/N"));
    assert!(!folder.path("e.zarr").exists());
}

/// Decision 0017: SIGINT stops between two chunks, and the program says how to go on.
#[test]
fn a_copy_that_is_interrupted_says_how_it_is_resumed() {
    let folder = Folder::new();
    let all = source(&folder);
    for attempt in 0..8 {
        let target = format!("s{attempt}.zarr");
        let child = folder.command(&format!("copy a.zarr {target}")).spawn().unwrap();
        let journal = folder.path(&target).join("big/c");
        let begun = Instant::now();
        while !journal.exists() && begun.elapsed() < Duration::from_secs(10) {
            thread::sleep(Duration::from_millis(1));
        }
        let signal =
            std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(signal.is_ok());
        let output = child.wait_with_output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        if output.status.success() {
            continue;
        }
        assert_eq!(output.status.code(), Some(130), "{err}");
        assert!(err.starts_with("stopped: ") && err.contains("resume with `zarr copy "), "{err}");
        folder.good(&format!("copy a.zarr {target} --resume"));
        assert!(folder.good(&format!("get {target} --path big")).text() == all);
        return;
    }
    panic!("each copy was done before the signal came");
}
