//! `zarr rm` and `zarr create --overwrite` that are killed leave no consolidated copy of an array that has lost chunks, and no repair brings one
//! back.
#![cfg(unix)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::common::Folder;
use zarr::Json;
use zarr_testkit::sample;

/// Chunks of the array: enough that erasing them takes a while.
const CHUNKS: usize = 600;

fn make(folder: &Folder, format: &str) {
    folder.good(&format!(
        "create x.zarr --format {format} --path a --shape {CHUNKS} --chunks 1 --dtype int8"
    ));
    let numbers: Vec<u8> = (0..CHUNKS).map(|n| 1 + (n % 100) as u8).collect();
    folder.feed("put x.zarr --path a --format raw", &numbers);
    folder.good("create x.zarr --path b --shape 2 --dtype int8");
    folder.good("consolidate x.zarr");
}

/// Gives a folder what [`make`] made in another, which takes many times as long.
fn copy_from(original: &Folder, folder: &Folder) {
    let mut copy = Command::new("cp");
    copy.arg("-r").args([original.path("x.zarr"), folder.path("x.zarr")]);
    assert!(copy.status().unwrap().success());
}

/// Whether the copies that other programs read have the array, as it was.
fn is_copied(folder: &Folder, format: &str) -> bool {
    let at = if format == "v2" { "x.zarr/.zmetadata" } else { "x.zarr/zarr.json" };
    let whole = Json::parse(&fs::read(folder.path(at)).unwrap()).unwrap();
    let whole = whole.as_object().unwrap();
    let held = match format {
        "v2" => whole,
        _ => whole.get("consolidated_metadata").and_then(Json::as_object).unwrap(),
    };
    let name = if format == "v2" { "a/.zarray" } else { "a" };
    let copy = held.get("metadata").and_then(Json::as_object).unwrap().get(name);
    copy.and_then(Json::as_object).and_then(|copy| copy.get("shape")).is_some_and(|shape| {
        *shape == [CHUNKS as u64].into_iter().map(Json::from).collect::<Json>()
    })
}

fn chunks(folder: &Folder, format: &str) -> usize {
    let at = if format == "v2" { "x.zarr/a" } else { "x.zarr/a/c" };
    let entries = fs::read_dir(folder.path(at)).into_iter().flatten().flatten();
    entries.filter(|entry| !entry.file_name().to_string_lossy().contains(['.', 'z'])).count()
}

#[test]
fn an_erase_that_is_killed_leaves_no_copy_of_an_array_without_chunks() {
    let rounds: u64 = std::env::var("ZARR_KILLS")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or_else(|| sample(2, 4));
    let (mut partly, mut killed) = (0, 0);
    for format in ["v2", "v3"] {
        let original = Folder::new();
        make(&original, format);
        for line in [
            "rm x.zarr --path a --trace",
            "create x.zarr --path a --shape 3 --dtype int8 --overwrite --trace",
        ] {
            for round in 0..rounds * 3 {
                let folder = Folder::new();
                copy_from(&original, &folder);
                let (changes, delay) = (1 + round % 6, Duration::from_micros(round * 700));
                let mut command = folder.command(line);
                let mut child =
                    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
                let lines =
                    BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
                let is_change = |line: &String| {
                    ["put", "erase", "create"]
                        .iter()
                        .any(|call| line.starts_with(&format!("trace: {call}")))
                };
                lines.filter(is_change).take(changes as usize).for_each(drop);
                thread::sleep(delay);
                let was_running = child.try_wait().unwrap().is_none();
                child.kill().unwrap();
                child.wait().unwrap();
                let what = format!("{line}, {format}, round {round}");
                killed += u32::from(was_running);
                let left = chunks(&folder, format);
                partly += u32::from(left > 0 && left < CHUNKS);
                assert!(!is_copied(&folder, format) || left == CHUNKS, "{what}: {left} chunks");
                folder.run("repair x.zarr --apply");
                let array = folder.run("get x.zarr --path a --format raw");
                let is_whole =
                    array.code == 0 && array.out.len() == CHUNKS && !array.out.contains(&0);
                let is_new = array.code == 0 && array.out == [0, 0, 0];
                assert!(array.code == 3 || is_whole || is_new, "{what}: {}", array.err);
                assert!(!is_copied(&folder, format) || is_whole, "{what}");
                let again = folder.run(line.trim_end_matches(" --trace"));
                assert!(again.code == 0 || again.code == 3, "{what}: {again:?}");
                // An unfinished file of the killed writer may stay for an hour.
                let found = folder.run("validate x.zarr");
                let is_leftover = |line: &str| {
                    line.starts_with("note:")
                        || line.starts_with("no problems found")
                        || line.contains(": leftover: ")
                };
                let is_sound = found.code <= 1 && found.text().lines().all(is_leftover);
                assert!(is_sound, "{what}: {}{}", found.text(), found.err);
                folder.good("get x.zarr --path b");
            }
        }
    }
    assert!(killed > 0, "no process was killed while it ran");
    println!("{killed} killed, {partly} of them amid their chunks");
}
