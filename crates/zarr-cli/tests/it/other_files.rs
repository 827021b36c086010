//! Files among the nodes that are not Zarr's belong to the data: every verb keeps them, or names what it leaves.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::common::stores::stores;
use crate::common::{FORMATS, Folder};

/// The files of the sources, by their names from the node on, and what they hold.
const FILES: [(&str, &str); 4] = [
    ("README.md", "# What this is\n"),
    ("g/OME/METADATA.ome.xml", "<OME/>"),
    ("g/table.parquet/part.0.parquet", "PAR1 \u{0} PAR1"),
    ("g/a/notes.txt", "of the array"),
];

/// A hierarchy of v2 or v3 with an array, and files among the nodes.
fn source(folder: &Folder, target: &str, format: &str) {
    folder.good(&format!(
        "create {target} --path g/a --shape 4,5 --chunks 2,3 --dtype int32 --dims y,x --codec none --format {format}"
    ));
    let list: Vec<String> = (1..=20).map(|n| n.to_string()).collect();
    let put = folder
        .feed(&format!("put {target} --path g/a"), format!("[{}]", list.join(",")).as_bytes());
    assert_eq!((put.code, &*put.err), (0, ""));
    for (name, content) in FILES {
        folder.write(&format!("{target}/{name}"), content);
    }
}

/// The files of a folder that are none of v2 or v3, with what they hold.
fn others(folder: &Folder, name: &str) -> BTreeMap<String, String> {
    fn walk(at: &Path, root: &Path, found: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, root, found);
                continue;
            }
            let key = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            let name = key.rsplit('/').next().unwrap();
            let is_zarrs = ["zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata"]
                .contains(&name)
                || name.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
            if !is_zarrs {
                found.insert(key, String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned());
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(&folder.path(name), &folder.path(name), &mut found);
    found
}

fn expected() -> BTreeMap<String, String> {
    FILES.iter().map(|(name, content)| ((*name).to_owned(), (*content).to_owned())).collect()
}

#[test]
fn copies_take_files_along_in_every_store_and_format() {
    for from in ["v3", "v2"] {
        let folder = Folder::new();
        source(&folder, "s", from);
        for (n, store) in (1..).zip(stores(&folder)) {
            for (m, to) in
                ["v3", "v2", "draft-2020", "nczarr-v2", "zarr-v3"].into_iter().enumerate()
            {
                let there = (store.url)(n * 10 + m as u32);
                let case = format!("{from} to {to} in {}", store.name);
                let line = format!("copy s {there} --to {to} --verify");
                let (code, _, err) = store.run(&folder, &line);
                assert_eq!(code, 0, "{case}: {err}");
                assert!(!err.contains("not kept"), "{case}: {err}");
                // And back, into a folder.
                let back = format!("back-{from}-{n}-{m}");
                let (code, _, err) =
                    store.run(&folder, &format!("copy {there} {back} --to {from} --verify"));
                assert_eq!(code, 0, "{case}: {err}");
                assert_eq!(others(&folder, &back), expected(), "{case}");
                let (code, out, _) =
                    store.run(&folder, &format!("diff s {there} --ignore attributes"));
                assert_eq!(code, 0, "{case}: {out}");
                store.erase(&there);
            }
        }
        folder.good("copy s strict.zip --strict");
    }
}

#[test]
fn a_part_of_a_hierarchy_is_copied_with_its_own_files() {
    let folder = Folder::new();
    source(&folder, "s", "v3");
    let below: BTreeMap<String, String> = expected()
        .into_iter()
        .filter_map(|(name, content)| Some((name.strip_prefix("g/")?.to_owned(), content)))
        .collect();
    folder.good("copy s one --path g");
    folder.good("copy s/g two");
    assert_eq!(others(&folder, "one"), below);
    assert_eq!(others(&folder, "two"), below);
    folder.good("copy s three --path g/a --at deep/b");
    let of_array = BTreeMap::from([("deep/b/notes.txt".to_owned(), "of the array".to_owned())]);
    assert_eq!(others(&folder, "three"), of_array);
    // A draft keeps what belongs to a node below that.
    folder.good("copy s draft --path g --at x --to draft-2020");
    assert!(folder.path("draft/data/root/x/OME/METADATA.ome.xml").exists());
    folder.good("copy draft four --path x --to v3");
    assert_eq!(others(&folder, "four"), below);
}

/// An array of which this build cannot tell which keys its chunks have: everything below it is copied into the same format.
#[test]
fn arrays_with_unknown_keys_are_copied_whole() {
    let folder = Folder::new();
    let document = |what: &str| {
        let mut members = BTreeMap::from([
            ("chunk_grid", r#"{"name": "regular", "configuration": {"chunk_shape": [2]}}"#),
            ("chunk_key_encoding", r#"{"name": "default"}"#),
            ("storage_transformers", "[]"),
        ]);
        match what {
            "chunk_grid" => members.insert("chunk_grid", r#"{"name": "example.hexagons"}"#),
            "chunk_key_encoding" => {
                members.insert("chunk_key_encoding", r#"{"name": "example.hilbert"}"#)
            }
            _ => members.insert("storage_transformers", r#"[{"name": "example.packs"}]"#),
        };
        let members: Vec<String> =
            members.iter().map(|(name, value)| format!("\"{name}\": {value}")).collect();
        format!(
            r#"{{"zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "int8", "fill_value": 0,
            "codecs": [{{"name": "bytes"}}], {}}}"#,
            members.join(", ")
        )
    };
    let group = r#"{"zarr_format": 3, "node_type": "group", "attributes": {}}"#;
    for what in ["chunk_grid", "chunk_key_encoding", "storage_transformers"] {
        let (from, to) = (format!("{what}.zarr"), format!("{what}-copy.zarr"));
        folder.write(&format!("{from}/zarr.json"), group);
        folder.write(&format!("{from}/a/zarr.json"), document(what));
        let chunks = [("c/0", "ab"), ("h/17", "cd"), ("pack-3.bin", "efgh")];
        for (key, chunk) in chunks {
            folder.write(&format!("{from}/a/{key}"), chunk);
        }
        folder.write(&format!("{from}/notes.txt"), "of the data");
        let copied = folder.run(&format!("copy {from} {to} --verify"));
        assert_eq!(copied.code, 0, "{}", copied.err);
        assert!(copied.err.contains("copied as it is stored"), "{}", copied.err);
        assert!(!copied.err.contains("not kept"), "{}", copied.err);
        for (key, chunk) in chunks.into_iter().chain([("zarr.json", &*document(what))]) {
            let read = fs::read_to_string(folder.path(&format!("{to}/a/{key}"))).unwrap();
            assert_eq!(read, chunk, "{what} {key}");
        }
        // A copy in parts, the second by `--resume`.
        let parts = format!("{what}-parts.zarr");
        assert_eq!(folder.run(&format!("copy {from} {parts} --part 1/3")).code, 0);
        assert_eq!(folder.run(&format!("copy {from} {parts} --resume")).code, 0);
        for (key, chunk) in chunks {
            assert_eq!(
                fs::read_to_string(folder.path(&format!("{parts}/a/{key}"))).unwrap(),
                chunk
            );
        }
        // Nothing that already exists is taken for a chunk.
        folder.write(&format!("{what}-old.zarr/a/h/99"), "of another array");
        let why = folder.bad(&format!("copy {from} {what}-old.zarr"), 2);
        assert!(why.contains("h/99"), "{why}");
        folder.bad(&format!("copy {from} {what}-v2.zarr --to v2"), 4);
        folder.bad(&format!("copy {from} {what}-part.zarr --path a --region 0:2"), 4);
    }
}

#[test]
fn copies_without_extra_files_name_each() {
    let folder = Folder::new();
    source(&folder, "a.zarr", "v3");
    let copied = folder.run("copy a.zarr b.zarr --to v2 --no-extra-files");
    assert_eq!(copied.code, 0, "{}", copied.err);
    assert_eq!(others(&folder, "b.zarr"), BTreeMap::new());
    for (name, _) in FILES {
        let line = format!("left out: `{name}`, which is not Zarr's");
        assert!(copied.err.contains(&line), "{}", copied.err);
    }
    folder.good("diff a.zarr b.zarr --ignore files");
    // A copy that is gone on with leaves them out, too.
    for next in ["--no-extra-files --part 1/2", "--resume"] {
        let copied = folder.run(&format!("copy a.zarr c.zarr {next}"));
        assert_eq!(copied.code, 0, "{}", copied.err);
    }
    assert_eq!(others(&folder, "c.zarr"), BTreeMap::new());
}

#[test]
fn patterns_choose_among_files_too() {
    let folder = Folder::new();
    source(&folder, "s", "v3");
    folder.good("create s --path g/b --shape 2 --dtype int8");
    let names = |name: &str| others(&folder, name).into_keys().collect::<Vec<_>>();
    folder.good("copy s a --select b");
    assert!(names("a").is_empty());
    folder.good("copy s b --select a");
    assert_eq!(names("b"), ["g/a/notes.txt"]);
    folder.good("copy s c --exclude '**.parquet' --exclude README.md");
    assert_eq!(names("c"), ["g/OME/METADATA.ome.xml", "g/a/notes.txt"]);
    folder.good("copy s d --include g");
    assert_eq!(names("d").len(), 3);
    let why = folder.bad("copy s e --exclude README.mb", 2);
    assert!(why.contains("did you mean `README.md`?"), "{why}");
}

#[test]
fn a_file_of_the_target_is_not_overwritten() {
    let folder = Folder::new();
    source(&folder, "s", "v3");
    folder.write("d/README.md", "another text");
    let why = folder.bad("copy s d", 2);
    assert!(why.contains("README.md") && why.contains("--exclude"), "{why}");
    assert!(!folder.path("d/g").exists());
    assert_eq!(folder.run("copy s d --exclude README.md").code, 0);
    assert_eq!(others(&folder, "d")["README.md"], "another text");
    // With the same content nothing is to be done.
    folder.write("e/README.md", FILES[0].1);
    assert_eq!(folder.run("copy s e").code, 0);
    assert_eq!(others(&folder, "e"), expected());
    // What is only there stays, what the copy has is replaced.
    folder.write("d/mine.txt", "mine");
    let run = folder.run("copy s d --overwrite");
    assert_eq!(run.code, 0, "{}", run.err);
    let mut all = expected();
    all.insert("mine.txt".into(), "mine".into());
    assert_eq!(others(&folder, "d"), all);
}

#[test]
fn interrupted_copies_go_on_with_their_files() {
    for to in ["--to v3", "--to v2", "--to zarr-v3"] {
        let folder = Folder::new();
        source(&folder, "s", "v3");
        folder.good(&format!("copy s d {to} --part 1/2"));
        let some = others(&folder, "d");
        let count = some.keys().filter(|name| !name.starts_with(".zarr-copy")).count();
        assert_eq!(count, 2, "{to}: {some:?}");
        // One that is lost meanwhile is copied again, and so is one that was changed.
        let first = some.keys().find(|name| name.ends_with(".xml") || name.ends_with(".md"));
        fs::remove_file(folder.path(&format!("d/{}", first.unwrap()))).unwrap();
        folder.good("copy s d --resume --verify");
        assert_eq!(others(&folder, "d"), expected(), "{to}");
        folder.good("diff s d");

        // What is given up is taken away, and nothing else.
        folder.good(&format!("copy s e {to} --part 2/2"));
        folder.write("e/g/mine.txt", "mine");
        folder.good("repair e --undo-copies --apply");
        let mine = BTreeMap::from([("g/mine.txt".to_owned(), "mine".to_owned())]);
        assert_eq!(others(&folder, "e"), mine, "{to}");

        // Another set of files is another copy.
        folder.good(&format!("copy s h {to} --part 1/2"));
        folder.write("s/late.txt", "late");
        let why = folder.bad("copy s h --resume", 2);
        assert!(why.contains("files of the source have been added or erased"), "{to}: {why}");
    }
}

#[test]
fn what_is_no_part_of_the_data_is_left_out_and_named() {
    let folder = Folder::new();
    source(&folder, "s", "v3");
    for name in [".git/objects/00/1", "g/.DS_Store", ".datalad/config", "g/a/._x"] {
        folder.write(&format!("s/{name}"), "no data");
    }
    folder.write("s/.zarr-quarantine/x", "put aside");
    let run = folder.run("copy s d --strict");
    assert_eq!(run.code, 0, "{}", run.err);
    for part in ["`.git`", "`g/.DS_Store`", "`.datalad`", "`g/a/._x`", "`.zarr-quarantine`"] {
        let told = run.err.matches(&format!("left out: {part} ")).count();
        assert_eq!(told, 1, "{part}: {}", run.err);
    }
    assert_eq!(others(&folder, "d"), expected());
    assert_eq!(folder.run("diff s d").code, 0);
}

#[test]
#[cfg(unix)]
fn links_that_lead_out_are_named_and_not_followed() {
    use std::os::unix::fs::symlink;

    let folder = Folder::new();
    source(&folder, "s", "v3");
    folder.write("outside/secret.txt", "secret");
    symlink("../outside", folder.path("s/folder")).unwrap();
    symlink("../../outside/secret.txt", folder.path("s/g/file.txt")).unwrap();
    symlink("nowhere", folder.path("s/g/a/dead.txt")).unwrap();
    symlink("README.md", folder.path("s/inside.txt")).unwrap();
    for line in ["copy s d", "copy s q --quiet"] {
        let run = folder.run(line);
        assert_eq!(run.code, 0, "{}", run.err);
        for link in ["`folder`", "`g/file.txt`", "`g/a/dead.txt`"] {
            let told = run.err.lines().any(|it| it.starts_with("not kept") && it.contains(link));
            assert!(told, "{line}: {link}: {}", run.err);
        }
    }
    let mut all = expected();
    all.insert("inside.txt".into(), FILES[0].1.into());
    assert_eq!(others(&folder, "d"), all);
    assert!(!folder.path("d/inside.txt").is_symlink());
    folder.bad("copy s e --strict", 4);
    assert!(!folder.path("e").exists());
    assert!(folder.run("diff s d").text().contains("`g/file.txt`"));
}

/// A pipe in the place of a chunk is an error of every verb that needs the chunk; copies name and leave out one that lies among
/// other files.
#[test]
#[cfg(unix)]
fn pipes_are_no_values() {
    let make_pipe = |path: std::path::PathBuf| {
        let _ = fs::remove_file(&path);
        assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    };
    let folder = Folder::new();
    source(&folder, "s", "v3");
    make_pipe(folder.path("s/g/pipe"));
    for line in ["copy s d", "copy s e --to v2", "sync s f"] {
        let run = folder.run(line);
        assert_eq!(run.code, 0, "{line}: {}", run.err);
        assert!(
            run.err.contains("not kept: `g/pipe` is neither a file nor a folder"),
            "{line}: {}",
            run.err
        );
    }
    make_pipe(folder.path("s/g/a/c/1/1"));
    for line in [
        "get s --path g/a",
        "copy s x",
        "copy s y --to v2",
        "sync s z",
        "checksum s",
        "stats s",
        "validate s",
        "diff s d",
    ] {
        let run = folder.run(line);
        let text = run.text().to_owned() + &run.err;
        assert_eq!(run.code, 5, "{line}: {text}");
        assert!(text.contains("c/1/1`: it is neither a file nor a folder"), "{line}: {text}");
    }
}

#[test]
fn validate_notes_files_and_repair_leaves_them() {
    for format in ["v3", "v2"] {
        let folder = Folder::new();
        source(&folder, "s", format);
        folder.write("s/.git/HEAD", "ref");
        folder.write("s/g/table.parquet/part.1.parquet", "PAR1");
        let run = folder.run("validate s");
        assert_eq!(run.code, 0, "{format}: {}", run.text());
        let single = FILES.iter().map(|(name, _)| *name).filter(|name| !name.contains("table"));
        for key in single.chain(["g/table.parquet/", ".git"]) {
            let is_noted = run.text().lines().any(|line| {
                line.starts_with("note: ") && line.contains(&format!("`{key}`: other_file"))
            });
            assert!(is_noted, "{key}: {}", run.text());
        }
        assert_eq!(folder.run("repair s --apply").code, 0);
        assert!(folder.path("s/g/table.parquet/part.1.parquet").exists());
        fs::remove_file(folder.path("s/g/table.parquet/part.1.parquet")).unwrap();
        assert_eq!(folder.path("s/.git/HEAD").metadata().unwrap().len(), 3);
        fs::remove_dir_all(folder.path("s/.git")).unwrap();
        assert_eq!(others(&folder, "s"), expected(), "{format}");
    }
}

#[test]
fn rename_moves_files_along() {
    for format in FORMATS {
        for target in ["t", "t.zip"] {
            let folder = Folder::new();
            source(&folder, "s", "v3");
            folder.good(&format!("copy s {target} --to {format}"));
            folder.good(&format!("rename {target} --path g h/k"));
            folder.good(&format!("copy {target} back --to v3"));
            let moved = expected()
                .into_iter()
                .map(|(name, content)| (name.replacen("g/", "h/k/", 1), content));
            assert_eq!(
                others(&folder, "back"),
                moved.collect::<BTreeMap<_, _>>(),
                "{format} {target}"
            );
        }
    }
}

#[test]
fn diff_compares_files() {
    let folder = Folder::new();
    source(&folder, "s", "v3");
    folder.good("copy s d --to v2");
    folder.good("diff s d");
    folder.write("d/g/a/notes.txt", "Of the array");
    fs::remove_file(folder.path("d/README.md")).unwrap();
    folder.write("s/g/new/0.txt", "");
    let run = folder.run("diff s d");
    assert_eq!(run.code, 1);
    let text = run.text();
    for line in [
        "/\n  only in A: the file README.md\n",
        "/g\n  only in A: the file g/new/0.txt\n",
        "/g/a\n  file g/a/notes.txt differs\n",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    folder.good("diff s d --ignore files");
    assert_eq!(folder.run("diff s d --json").json().as_object().unwrap().len(), 3);
}
