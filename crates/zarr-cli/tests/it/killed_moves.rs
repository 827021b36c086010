//! Copies of several ways and migrations that are killed: what is there is the old hierarchy, the new one, or a copy that says that
//! it is under way; and the same command goes on.
#![cfg(unix)]

use crate::common::Folder;
use crate::common::copied::source;
use crate::common::killed::kill_all;

/// How many chunks the source has.
const CHUNKS: usize = 60;

/// What a reader finds of `big` at a place: all of it, or a copy under way, or nothing. Whether it was all.
fn is_whole(folder: &Folder, target: &str, all: &str, place: &str) -> bool {
    let run = folder.run(&format!("get {target} --path big"));
    if run.code == 0 {
        assert!(run.text() == all, "{place}: an incomplete copy was read");
        return true;
    }
    assert_eq!(run.code, 3, "{place}: {}", run.err);
    let is_told = run.err.contains("copy under way, ") && run.err.contains("--resume");
    let is_empty = || std::fs::read_dir(folder.path(target)).map_or(0, Iterator::count) == 0;
    // Before its plan is put, a copy has made no more than folders.
    assert!(is_told || is_empty() || no_files(folder, target), "{place}: {}", run.err);
    false
}

/// Whether a folder has no files but unfinished ones, which the store's own names tell.
fn no_files(folder: &Folder, target: &str) -> bool {
    fn walk(at: &std::path::Path) -> bool {
        std::fs::read_dir(at).into_iter().flatten().all(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if path.is_dir() { walk(&path) } else { name.starts_with('.') }
        })
    }
    walk(&folder.path(target))
}

/// How many documents of v2 are below a folder.
fn old_documents(at: &std::path::Path) -> usize {
    let names = [".zarray", ".zgroup", ".zattrs", ".zmetadata"];
    let entries = std::fs::read_dir(at).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| match entry.path() {
            path if path.is_dir() => old_documents(&path),
            _ => usize::from(names.iter().any(|name| entry.file_name() == *name)),
        })
        .sum()
}

fn killed_copy(name: &str, options: &str) {
    let folder = Folder::new();
    let all = source(&folder, CHUNKS);
    folder.write("a.zarr/README.md", "about");
    let line = |target: &str| format!("copy a.zarr {target} {options}");
    kill_all(
        &folder,
        name,
        line,
        |_| {},
        |target, place| {
            let was_whole = is_whole(&folder, target, &all, place);
            let run = folder.run(&format!("copy a.zarr {target} {options} --resume --verify"));
            // The kill may have come after the last document; before it `big` may be there, and others not yet.
            let is_done =
                was_whole && run.code == 2 && run.err.contains("no copy to it is under way");
            assert!(run.code == 0 || is_done, "{place}: {}", run.err);
            assert!(is_whole(&folder, target, &all, place), "{place}");
            let run = folder.run(&format!("diff a.zarr {target}"));
            assert_eq!(run.code, 0, "{place}: {}", run.text());
        },
    );
}

#[test]
fn copies_of_stored_chunks_go_on() {
    killed_copy("copies as stored", "");
}

#[test]
fn copies_to_v2_go_on() {
    killed_copy("copies as stored, v3 to v2", "--to v2");
}

#[test]
fn copies_with_another_codec_go_on() {
    killed_copy("copies with another codec", "--codec zstd:1");
}

#[test]
fn copies_with_other_chunks_go_on() {
    killed_copy("copies with other chunks", "--chunks big=7,11");
}

#[test]
fn copies_with_shards_go_on() {
    killed_copy("copies with shards", "--shards big=10,40");
}

/// In place, before and after the old documents are erased: a reader finds all of one of the two hierarchies.
#[test]
fn migrations_go_on() {
    let folder = Folder::new();
    let all = source(&folder, CHUNKS);
    folder.good("copy a.zarr v2.zarr --to v2");
    let documents = |target: &str| {
        folder.good(&format!("copy v2.zarr {target}"));
        // Many documents, so that kills are among them.
        for n in 0..12 {
            folder.good(&format!("create {target} --path more/n{n} --shape 4 --dtype int8"));
        }
        folder.good(&format!("consolidate {target}"));
    };
    let line = |target: &str| format!("migrate {target} --to v3");
    kill_all(&folder, "migrations", line, documents, |target, place| {
        assert!(is_whole(&folder, target, &all, place), "{place}");
        let old = folder.run(&format!("get {target} --path big --as v2"));
        assert!(old.text() == all, "{place}: {}", old.err);
        folder.good(&line(target));
        let new = folder.run(&format!("get {target} --path big --as v3"));
        assert!(new.text() == all, "{place}: {}", new.err);
    });
    let written = |target: &str| {
        documents(target);
        folder.good(&line(target));
    };
    let finish = |target: &str| format!("migrate {target} --to v3 --finish");
    kill_all(&folder, "migrations, old documents", finish, written, |target, place| {
        assert!(is_whole(&folder, target, &all, place), "{place}");
        let run = folder.run(&finish(target));
        // The kill may have come after the last of them.
        let is_done = run.code == 2 && run.err.contains("already");
        assert!(run.code == 0 || is_done, "{place}: {}", run.err);
        assert!(is_whole(&folder, target, &all, place), "{place}");
        assert_eq!(old_documents(&folder.path(target)), 0, "{place}: old documents are left");
    });
    let into = |target: &str| format!("migrate v2.zarr --to v3 --into {target}");
    kill_all(
        &folder,
        "migrations into another place",
        into,
        |_| {},
        |target, place| {
            let was_whole = is_whole(&folder, target, &all, place);
            let run = folder.run(&into(target));
            let is_done = was_whole && run.code == 2 && run.err.contains("already exists");
            assert!(run.code == 0 || is_done, "{place}: {}", run.err);
            assert!(is_whole(&folder, target, &all, place), "{place}");
            folder.good(&format!("diff v2.zarr {target}"));
        },
    );
}
