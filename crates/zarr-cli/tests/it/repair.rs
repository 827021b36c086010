//! `zarr repair`: plans, steps, exit codes, JSON; and what is left when it is killed.

use std::collections::BTreeMap;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::common::Folder;
use zarr::store::{Payload, StoreKey};
use zarr::{Dialect, Json, OpenOptions};

fn options() -> OpenOptions {
    OpenOptions::new(zarr::standard()).read_write()
}

fn values(url: &str) -> BTreeMap<String, Vec<u8>> {
    let store = options().store(url).unwrap().to_sync();
    let value = |key: StoreKey| (key.to_string(), store.value(&key).unwrap().unwrap().to_vec());
    store.list().unwrap().into_iter().map(value).collect()
}

/// An array of `count` chunks, every second of which is cut short.
fn damaged(url: &str, count: u64) {
    let hierarchy = zarr::create_with(url, Dialect::V3, &options()).unwrap();
    let array = hierarchy.create_array("/a").shape(&[count * 4]).chunks(&[4]);
    let array = array.data_type_named("int32").codec(zarr::tools::codec("gzip").unwrap());
    let numbers: Vec<i32> = (1..=(count * 4) as i32).collect();
    array.create().unwrap().write(.., &numbers).unwrap();
    hierarchy.flush().unwrap();
    let store = options().store(url).unwrap().to_sync();
    for chunk in (0..count).step_by(2) {
        let key = StoreKey::new(format!("a/c/{chunk}")).unwrap();
        let bytes = store.value(&key).unwrap().unwrap();
        // Each is different, so that each can be looked for.
        let cut = bytes[..bytes.len() - 5].to_vec();
        store.set(&key, Payload::new(cut)).unwrap();
    }
    store.flush().unwrap();
}

#[test]
fn a_plan_writes_nothing_and_a_repair_tells_what_it_did() {
    let folder = Folder::new();
    let url = folder.path("x.zarr").to_str().unwrap().to_owned();
    damaged(&url, 4);
    folder.write("x.zarr/a/c/7/7", "no chunk");
    let before = values(&url);

    let plan = folder.run("repair x.zarr");
    assert_eq!(plan.code, 1, "{plan:?}");
    assert!(plan.text().contains("/a, `a/c/0`: undecodable: gzip"), "{plan:?}");
    assert!(plan.text().contains(
        "    planned: move it to the quarantine; its elements then read as the fill value"
    ));
    assert!(
        plan.err
            .ends_with("x.zarr: 3 steps planned; nothing was changed: run again with --apply\n"),
        "{plan:?}"
    );
    let plan = folder.run("repair x.zarr --json");
    assert_eq!(plan.code, 1);
    let json = plan.json();
    let member = |name: &str| json.as_object().unwrap().get(name).unwrap().clone();
    assert_eq!(member("applied"), Json::from(false));
    let steps = member("steps");
    assert_eq!(steps.as_array().unwrap().len(), 3);
    let step = steps.as_array().unwrap()[0].as_object().unwrap();
    let text = |name: &str| step.get(name).and_then(Json::as_str).unwrap_or_default().to_owned();
    let told = ["path", "key", "problem", "action", "state"].map(text);
    assert_eq!(told, ["/a", "a/c/0", "undecodable", "quarantine", "planned"]);
    assert_eq!(values(&url), before);

    let repaired = folder.good("repair x.zarr --apply");
    assert!(repaired.text().contains(
        "    done: moved to `.zarr-quarantine/a/c/0`; its elements now read as the fill value"
    ));
    assert_eq!(
        folder.good("get x.zarr --path a --region 0:8 --format csv").text().trim(),
        "0,0,0,0,5,6,7,8".replace(',', "\n")
    );
    assert_eq!(folder.good("repair x.zarr").text(), "nothing to repair at level data\n");
    folder.good("validate x.zarr -q");

    let back = folder.run("repair x.zarr --restore");
    assert_eq!(back.code, 1);
    assert_eq!(back.text().lines().count(), 3, "{back:?}");
    folder.good("repair x.zarr --restore --apply");
    assert_eq!(values(&url), before);
    assert_eq!(folder.good("repair x.zarr --restore").text(), "the quarantine is empty\n");
    assert_eq!(folder.run("repair nowhere.zarr").code, 3);
    assert_eq!(folder.run("repair x.zarr --level deep").code, 2);
}

/// Whether a writer left an unfinished file in a folder or below it.
fn has_unfinished(folder: &Path) -> bool {
    folder.read_dir().unwrap().flatten().any(|entry| {
        let is_folder = entry.file_type().unwrap().is_dir();
        let is_unfinished = entry.file_name().to_string_lossy().starts_with(".zarr-tmp-");
        if is_folder { has_unfinished(&entry.path()) } else { is_unfinished }
    })
}

/// The repair is killed at many moments: each value is at its key or in the quarantine, and the next repair does the rest.
#[cfg(unix)]
#[test]
fn a_killed_repair_loses_nothing() {
    let rounds: u32 = std::env::var("ZARR_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(4);
    for kind in ["folder", "lmdb", "zip"] {
        let folder = Folder::new();
        let at = |name: &str| folder.path(name).to_str().unwrap().to_owned();
        let url = |round: &str| match kind {
            "folder" => at(&format!("{round}.zarr")),
            "lmdb" => format!("lmdb://{}", at(&format!("{round}.lmdb"))),
            _ => format!("zip://{}", at(&format!("{round}.zip"))),
        };
        // How long a whole repair takes.
        damaged(&url("whole"), 120);
        let begin = Instant::now();
        folder.good(&format!("repair '{}' --apply", url("whole")));
        let whole = begin.elapsed();
        let mut cut_off = 0;
        for round in 0..rounds {
            let url = url(&round.to_string());
            damaged(&url, 120);
            let before = values(&url);
            let mut child = folder.command(&format!("repair '{url}' --apply")).spawn().unwrap();
            thread::sleep(
                whole * (round + 1) / (rounds + 1) + Duration::from_micros(u64::from(round) * 137),
            );
            child.kill().unwrap();
            child.wait().unwrap();
            let after = values(&url);
            let kept: Vec<&Vec<u8>> = after
                .iter()
                .filter(|(key, _)| key.starts_with(".zarr-quarantine/a/"))
                .map(|(_, value)| value)
                .collect();
            cut_off += u32::from(!kept.is_empty() && kept.len() < 60);
            for (key, value) in &before {
                let is_there = after.get(key) == Some(value) || kept.contains(&value);
                assert!(is_there, "{kind} {round}: {key} is lost");
            }
            // An unfinished file of the killed one stays for an hour.
            let is_left =
                kind == "folder" && has_unfinished(&folder.path(&format!("{round}.zarr")));
            let again = folder.run(&format!("repair '{url}' --apply"));
            assert_eq!(again.code, i32::from(is_left), "{kind} {round}: {again:?}");
            let copies =
                values(&url).into_keys().filter(|key| key.starts_with(".zarr-quarantine/a/"));
            assert!((60..=61).contains(&copies.count()), "{kind} {round}");
            let found = folder.run(&format!("validate '{url}' --json"));
            assert_eq!(found.code, i32::from(is_left), "{kind} {round}: {found:?}");
            let report = found.json();
            let problems = report.as_object().unwrap().get("problems").unwrap().as_array().unwrap();
            let kind_of = |problem: &Json| {
                problem.as_object().unwrap().get("kind").and_then(Json::as_str).map(str::to_owned)
            };
            assert!(
                problems.iter().all(|p| kind_of(p).as_deref() == Some("leftover")),
                "{found:?}"
            );
        }
        eprintln!("{kind}: {cut_off} of {rounds} repairs were killed between two steps");
    }
}
