//! Symbolic links in data of others: what is behind one is neither moved, nor erased, nor written to.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::common::Folder;
use zarr::Json;

fn member(object: &Json, name: &str) -> String {
    let member = object.as_object().unwrap().get(name).and_then(Json::as_str);
    member.unwrap_or_default().to_owned()
}

/// Every file and link below a folder, with what it holds or where it leads.
fn content(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.to_str().unwrap().to_owned();
        if path.is_symlink() {
            found.push((name, fs::read_link(&path).unwrap().to_str().unwrap().into()));
        } else if path.is_dir() {
            found.extend(content(&path));
        } else {
            found.push((name, fs::read(&path).unwrap()));
        }
    }
    found.sort();
    found
}

/// A folder of the user, `home`, and data of a stranger, `x.zarr`, with links that lead there.
fn strangers(folder: &Folder) {
    folder.table("x.zarr", "v3");
    folder.good("create x.zarr --path /b --shape 4 --chunks 2 --dtype int32 --overwrite");
    folder.table("home/real.zarr", "v3");
    for (name, text) in [
        ("home/thesis.txt", "all of it"),
        ("home/keys/id", "secret"),
        ("home/chunks/c/0", "short"),
        ("home/chunks/c/7", "outside"),
        ("home/broken/zarr.json", "{\"zarr_format\": 3, \"node_ty"),
        ("home/lost/c/0/0", "an orphan"),
        ("home/.zarr-tmp-0123456789abcdef", "unfinished"),
    ] {
        folder.write(name, text);
    }
    let home = folder.path("home");
    symlink(&home, folder.path("x.zarr/a/up")).unwrap();
    symlink(home.join("chunks/c"), folder.path("x.zarr/b/c")).unwrap();
    symlink(home.join("broken"), folder.path("x.zarr/broken")).unwrap();
    symlink(home.join("keys/id"), folder.path("x.zarr/a/c/0/9")).unwrap();
    symlink(home.join("keys/id"), folder.path("x.zarr/a/notes")).unwrap();
    fs::write(folder.path("x.zarr/a/c/1/0"), "cut short").unwrap();
}

#[test]
fn a_repair_changes_nothing_that_is_reached_through_a_link() {
    let folder = Folder::new();
    strangers(&folder);
    let before = content(&folder.path("home"));
    for options in ["", " --orphans", " --path a", " --path a/up", " --path b"] {
        let run = folder.run(&format!("repair x.zarr --apply --json{options}"));
        assert_eq!(content(&folder.path("home")), before, "{options}: {run:?}");
        let json = run.json();
        let steps = json.as_object().unwrap().get("steps").unwrap().as_array().unwrap();
        for step in steps.iter().filter(|step| {
            let key = member(step, "key");
            ["a/up/", "b/c/", "broken/", "a/notes", "a/c/0/9"].iter().any(|at| key.starts_with(at))
        }) {
            assert_eq!(member(step, "state"), "by_hand", "{step}");
        }
    }
    for link in ["a/up", "b/c", "broken", "a/c/0/9", "a/notes"] {
        assert!(folder.path("x.zarr").join(link).is_symlink(), "{link} stays");
    }
    let quarantine = content(&folder.path("x.zarr/.zarr-quarantine"));
    assert!(quarantine.iter().all(|(_, bytes)| bytes != b"secret"), "{quarantine:?}");
    // What is damaged itself was mended.
    assert!(!folder.path("x.zarr/a/c/1/0").exists());
    let plan = folder.run("repair x.zarr");
    assert!(
        plan.text().contains("by hand: it is reached through the symbolic link `b/c`"),
        "{plan:?}"
    );
}

#[test]
fn a_quarantine_or_a_journal_that_is_a_link_is_refused() {
    for name in [".zarr-quarantine", ".zarr-copy"] {
        let folder = Folder::new();
        folder.table("x.zarr", "v3");
        folder.write(
            "home/.records/a/c/0/0.json",
            r#"{"key": "a/new", "moved_to": ".zarr-quarantine/x"}"#,
        );
        folder.write("home/x", "x");
        symlink(folder.path("home"), folder.path("x.zarr").join(name)).unwrap();
        fs::write(folder.path("x.zarr/a/c/1/0"), "cut short").unwrap();
        let before = content(folder.path("").as_path());
        for line in ["repair x.zarr --apply", "repair x.zarr", "repair x.zarr --restore --apply"] {
            if name == ".zarr-copy" && line.contains("restore") {
                continue;
            }
            let error = folder.bad(line, 5);
            assert!(error.contains(&format!("`{name}` is a symbolic link")), "{line}: {error}");
        }
        assert_eq!(content(folder.path("").as_path()), before);
        if name == ".zarr-copy" {
            let error = folder.bad("copy x.zarr/a x.zarr/b", 5);
            assert!(error.contains("`.zarr-copy` is a symbolic link"), "{error}");
            assert_eq!(content(folder.path("").as_path()), before);
        }
    }
}

/// A quarantine is data of whoever made the hierarchy: what it gives back goes nowhere but into the hierarchy.
#[test]
fn a_restore_puts_nothing_behind_a_link() {
    let folder = Folder::new();
    folder.table("x.zarr", "v3");
    folder.write("home/thesis.txt", "all of it");
    symlink(folder.path("home"), folder.path("x.zarr/up")).unwrap();
    folder.write("x.zarr/.zarr-quarantine/up/authorized_keys", "a key");
    let record =
        r#"{"key": "up/authorized_keys", "moved_to": ".zarr-quarantine/up/authorized_keys"}"#;
    folder.write("x.zarr/.zarr-quarantine/.records/up/authorized_keys.json", record);
    let run = folder.run("repair x.zarr --restore --apply");
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.text().contains("reached through the symbolic link `up`"), "{run:?}");
    assert_eq!(content(&folder.path("home")).len(), 1);
}

#[test]
fn a_renamed_link_leads_to_the_same_node() {
    let folder = Folder::new();
    folder.table("real.zarr", "v3");
    folder.table("x.zarr", "v3");
    symlink("../real.zarr/a", folder.path("x.zarr/link")).unwrap();
    symlink(folder.path("real.zarr/a"), folder.path("x.zarr/absolute")).unwrap();
    let expected = folder.good("get real.zarr --path a").out;
    for (old, new) in [
        ("link", "g/deep/link"),
        ("g/deep/link", "back"),
        ("back", "same"),
        ("absolute", "g/absolute"),
    ] {
        folder.good(&format!("rename x.zarr --path {old} {new}"));
        assert!(folder.path("x.zarr").join(new).is_symlink(), "{new}");
        assert!(!folder.path("x.zarr").join(old).is_symlink(), "{old}");
        assert_eq!(folder.good(&format!("get x.zarr --path {new}")).out, expected, "{new}");
    }
    assert_eq!(fs::read_link(folder.path("x.zarr/same")).unwrap(), Path::new("../real.zarr/a"));
}

/// As in a clone of git-annex, where each chunk is a link to `../../.git/annex/objects/…`.
#[test]
fn a_node_whose_links_would_break_is_not_renamed() {
    let folder = Folder::new();
    folder.table("x.zarr", "v3");
    fs::rename(folder.path("x.zarr/a/c/0/0"), folder.path("x.zarr/object")).unwrap();
    symlink("../../../object", folder.path("x.zarr/a/c/0/0")).unwrap();
    // A link inside the node moves with it.
    symlink("0", folder.path("x.zarr/a/c/zero")).unwrap();
    let expected = folder.good("get x.zarr --path a").out;
    let error = folder.bad("rename x.zarr --path a g/a", 2);
    assert!(error.contains("a/c/0/0 is a relative symbolic link"), "{error}");
    assert_eq!(folder.good("get x.zarr --path a").out, expected);
    folder.good("rename x.zarr --path a b");
    assert_eq!(folder.good("get x.zarr --path b").out, expected);

    folder.table("home/y.zarr", "v3");
    symlink(folder.path("home/y.zarr"), folder.path("x.zarr/up")).unwrap();
    for (old, new) in [("up/a", "a"), ("b", "up/b")] {
        let error = folder.bad(&format!("rename x.zarr --path {old} {new}"), 2);
        assert!(error.contains("reached through the symbolic link"), "{error}");
    }
    let error = folder.bad("rm x.zarr --path up/a --force", 2);
    assert!(error.contains("reached through the symbolic link `up`"), "{error}");
    folder.good("get home/y.zarr --path a");
}

/// A link to another hierarchy leads to documents that are not this one's.
#[test]
fn migrations_follow_no_link() {
    let folder = Folder::new();
    folder.table("a.zarr", "v2");
    folder.table("o.zarr", "v2");
    folder.good("copy a.zarr o.zarr --at g");
    symlink("../o.zarr/g", folder.path("a.zarr/lg")).unwrap();
    symlink("a", folder.path("a.zarr/same")).unwrap();
    let before = content(&folder.path("o.zarr"));
    for options in ["", " --finish"] {
        let run = folder.run(&format!("migrate a.zarr --to v3{options}"));
        assert_eq!(run.code, 0, "{}", run.err);
        assert!(run.err.contains("/lg: it is a symbolic link"), "{}", run.err);
        assert!(!run.err.contains("/same"), "{}", run.err);
        assert!(content(&folder.path("o.zarr")) == before, "{options}");
    }
    assert!(!folder.path("a.zarr/a/.zarray").exists());
    folder.good("get a.zarr/same");
    // The advice works: the other hierarchy is migrated by itself, and is then found behind the link.
    folder.good("migrate o.zarr --to v3");
    folder.good("migrate o.zarr --to v3 --finish");
    folder.good("get a.zarr/lg/a");
}
