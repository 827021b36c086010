//! Files that are not Zarr's stay where nodes are erased, and are named; creating among them warns.

use crate::common::{FORMATS, Folder};

/// Where a format keeps the chunks of `/g/a`, and where those of `/g`.
fn places(format: &str) -> (&'static str, &'static str) {
    match format {
        "draft-2020" => ("data/root/g/a", "data/root/g"),
        _ => ("g/a", "g"),
    }
}

fn hierarchy(folder: &Folder, target: &str, format: &str) {
    for node in ["g/a", "g/b/c"] {
        folder.good(&format!(
            "create {target} --path {node} --format {format} --shape 4,5 --chunks 2,3 --dtype int8 --fill 7"
        ));
        let list = vec!["1"; 20].join(",");
        assert_eq!(
            folder
                .feed(&format!("put {target} --path {node}"), format!("[{list}]").as_bytes())
                .code,
            0
        );
    }
}

/// As [`hierarchy`], where files lie of which creating warns.
fn again(folder: &Folder, format: &str) {
    let array = "--shape 4,5 --chunks 2,3 --dtype int8 --fill 7";
    let run = folder.run(&format!("create t.zarr --path g/a --format {format} {array}"));
    assert_eq!(run.code, 0, "{}", run.err);
}

#[test]
fn rm_erases_what_is_zarrs_without_a_word() {
    for format in FORMATS {
        let folder = Folder::new();
        hierarchy(&folder, "t.zarr", format);
        // A scalar, a hierarchy with consolidated copies, and a group with attributes have keys of their own.
        folder.good("create t.zarr --path g/scalar --shape '' --dtype int8");
        assert_eq!(folder.feed("put t.zarr/g/scalar", b"3").code, 0);
        folder.good("create t.zarr --path g/d --group --attr a=1");
        folder.good("rm t.zarr --path g");
        folder.bad("info t.zarr --path g", 3);
    }
    let folder = Folder::new();
    hierarchy(&folder, "t.zarr", "v2");
    folder.good("consolidate t.zarr");
    folder.good("copy t.zarr nc.zarr --to nczarr-v2");
    folder.good("rm t.zarr --all");
    folder.good("rm nc.zarr --all");
}

#[test]
fn rm_and_overwrite_keep_and_name_files_that_are_not_zarrs() {
    for format in FORMATS {
        let folder = Folder::new();
        hierarchy(&folder, "t.zarr", format);
        let (array, group) = places(format);
        let foreign = [format!("{array}/notes.txt"), format!("{group}/more/thesis.tex")];
        for name in &foreign {
            folder.write(&format!("t.zarr/{name}"), "years of work");
        }
        let are_there = |expected: bool, when: &str| {
            for name in &foreign {
                let is_there = folder.path(&format!("t.zarr/{name}")).exists();
                assert_eq!(is_there, expected, "{format}, {when}: {name}");
            }
        };
        // Of another node nothing is said.
        folder.good("rm t.zarr --path g/b");
        let run = folder.run("create t.zarr --path g --group --overwrite");
        assert_eq!(run.code, 0, "{format}: {}", run.err);
        are_there(true, "create");
        folder.bad("info t.zarr --path g/a", 3);
        again(&folder, format);
        let run = folder.run("rm t.zarr --path g");
        assert_eq!(run.code, 0, "{format}: {}", run.err);
        for name in &foreign {
            assert!(run.err.contains(&format!("`{name}`")), "{format}: {}", run.err);
        }
        assert!(run.err.contains("kept 2 files"), "{format}: {}", run.err);
        are_there(true, "rm");
        folder.bad("info t.zarr --path g", 3);
        // Nothing of the node is left but these files.
        let (array, _) = places(format);
        let left = std::fs::read_dir(folder.path(&format!("t.zarr/{array}"))).unwrap();
        assert_eq!(left.count(), 1, "{format}");
        again(&folder, format);
        folder.good("rm t.zarr --path g --force");
        are_there(false, "rm --force");
        again(&folder, format);
        folder.write(&format!("t.zarr/{}", foreign[0]), "years of work");
        let run = folder.run("create t.zarr --path g --group --overwrite --force");
        assert_eq!(run.code, 0, "{format}: {}", run.err);
        are_there(false, "create --force");
    }
}

#[test]
fn the_root_goes_with_files_that_are_not_zarrs_only_by_force() {
    let folder = Folder::new();
    hierarchy(&folder, "t.zarr", "v3");
    for n in 0..30 {
        folder.write(&format!("t.zarr/{n}.txt"), "");
    }
    let run = folder.run("rm t.zarr --all");
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.err.contains("30 files") && run.err.contains("and 20 more"), "{}", run.err);
    assert!(folder.path("t.zarr/29.txt").exists());
    assert!(!folder.path("t.zarr/zarr.json").exists() && !folder.path("t.zarr/g").exists());
    again(&folder, "v3");
    folder.good("rm t.zarr --all --force");
    assert!(!folder.path("t.zarr/29.txt").exists());
}

#[test]
fn creating_among_files_that_are_not_zarrs_warns() {
    for format in FORMATS {
        let folder = Folder::new();
        folder.write("mine/notes.txt", "");
        for line in [
            format!("create mine --path a --shape 2 --dtype int8 --format {format}"),
            format!("create other --group --format {format}"),
        ] {
            folder.write("other/notes.txt", "");
            let run = folder.run(&line);
            assert_eq!(run.code, 0, "{}", run.err);
            assert!(run.err.starts_with("warning: "), "{format}: {}", run.err);
            assert!(run.err.contains("`notes.txt`"), "{format}: {}", run.err);
        }
        // The folder is known by now, and so is a new one.
        folder.good("create mine --path b --shape 2 --dtype int8");
        folder.good(&format!("create new --path b --shape 2 --dtype int8 --format {format}"));
        let (array, _) = places(format);
        folder.write(&format!("new/{array}/notes.txt"), "");
        let run = folder.run("create new --path g/a --shape 2 --dtype int8");
        assert!(run.code == 0 && run.err.contains("notes.txt`"), "{format}: {}", run.err);
    }
}

/// Issue 13, point 12: folders of other formats may hold nothing but folders.
#[test]
fn creating_in_a_folder_of_another_format_names_the_format() {
    let folder = Folder::new();
    folder.write("ice/refs/branch.main/ref.json", "{}");
    folder.write("ice/snapshots/1CECHNKREP0F1RSTCMT0", "");
    folder.write("n5/attributes.json", r#"{"n5": "2.5.1"}"#);
    folder.write("other-n5/attributes.json", r#"{"n5": "2.5.1"}"#);
    folder.write("delta/_delta_log/0.json", "{}");
    for (target, format) in [
        ("ice", "an Icechunk repository"),
        ("n5", "an N5 container"),
        ("other-n5/g", "an N5 container"),
        ("delta", "a Delta table"),
    ] {
        for line in [
            format!("create {target} --path a --shape 2 --dtype int8"),
            format!("create {target} --path b --shape 2 --dtype int8"),
        ] {
            let run = folder.run(&line);
            assert_eq!(run.code, 0, "{}", run.err);
            // The second one lies in a hierarchy.
            let is_first = line.contains("--path a");
            assert_eq!(
                run.err.contains(&format!("this is {format}")),
                is_first,
                "{line}: {}",
                run.err
            );
        }
    }
    folder.good("create new --group");
    folder.write("ice2/repo", "");
    folder.write("ice2/snapshots/1CECHNKREP0F1RSTCMT0", "");
    let copied = folder.run("copy new ice2");
    assert!(copied.code == 0 && copied.err.contains("this is an Icechunk"), "{}", copied.err);
}

/// Of a link only the link goes, so that files behind it are none of this question.
#[test]
#[cfg(unix)]
fn rm_of_a_link_asks_nothing_of_the_files_behind_it() {
    use std::os::unix::fs::symlink;

    for format in FORMATS {
        let folder = Folder::new();
        hierarchy(&folder, "t.zarr", format);
        hierarchy(&folder, "other.zarr", format);
        let (array, _) = places(format);
        let behind = folder.path(&format!("other.zarr/{array}"));
        folder.write(&format!("other.zarr/{array}/notes.txt"), "years of work");
        let link = folder.path(&format!("t.zarr/{array}"));
        let put_link = || {
            let _ = std::fs::remove_dir_all(&link);
            std::fs::create_dir_all(link.parent().unwrap()).unwrap();
            symlink(&behind, &link).unwrap();
        };
        // The node itself is a link.
        put_link();
        folder.good("rm t.zarr --path g/a");
        assert!(!link.is_symlink() && behind.join("notes.txt").exists(), "{format}");
        // A link lies below the node, beside a file that stays.
        put_link();
        folder.write(&format!("t.zarr/{}/thesis.tex", places(format).1), "");
        let run = folder.run("rm t.zarr --path g");
        assert_eq!(run.code, 0, "{format}: {}", run.err);
        let told = run.err.contains("1 file ") && run.err.contains("thesis.tex");
        assert!(told, "{format}: {}", run.err);
        assert!(!link.is_symlink() && behind.join("notes.txt").exists(), "{format}");
        // The whole hierarchy is a link.
        symlink(folder.path("other.zarr"), folder.path("link.zarr")).unwrap();
        folder.good("rm link.zarr --all");
        assert!(!folder.path("link.zarr").is_symlink() && behind.join("notes.txt").exists());
    }
}

/// Numbered files of the user are no leftovers of an array: nothing erases them unasked.
#[test]
fn numbered_files_of_a_plain_folder_stay() {
    let array = "--shape 4 --chunks 2 --dtype int8";
    for (format, mine) in [("v2", ["1", "2", "10"]), ("v3", ["c/0", "c/7", "c/12"])] {
        let folder = Folder::new();
        folder.good(&format!("create s.zarr/x --format {format} {array}"));
        for place in ["pics", "s.zarr/h"] {
            for name in mine {
                folder.write(&format!("{place}/{name}"), "my data");
            }
            folder.write(&format!("{place}/readme"), "my data");
        }
        for line in [
            format!("create pics --format {format} {array}"),
            "copy s.zarr/x pics".to_owned(),
            "copy s.zarr/x s.zarr/h".to_owned(),
            "rename s.zarr --path x h".to_owned(),
        ] {
            let run = folder.run(&line);
            assert_eq!(run.code, 2, "{line}: {}", run.err);
            assert!(run.err.contains(&format!("{}`", mine[0])), "{line}: {}", run.err);
            for place in ["pics", "s.zarr/h"] {
                for name in mine.into_iter().chain(["readme"]) {
                    let read = std::fs::read(folder.path(&format!("{place}/{name}")));
                    assert_eq!(read.unwrap(), b"my data", "{line}: {name}");
                }
            }
            assert!(!folder.path("pics/zarr.json").exists(), "{line}");
        }
        folder.good("info s.zarr/x");
    }
}

/// The blocks of an N5 container and numbered files are no chunks, since no array has them.
/// A copy that overwrites erases what looks like chunks at a place without a document of its own, and says so.
#[test]
fn an_overwriting_copy_names_the_numbered_files_that_it_erases() {
    let array = "--shape 4 --chunks 2 --dtype int8";
    for (format, mine) in [("v2", ["1", "2", "10"]), ("v3", ["c/0", "c/7", "c/12"])] {
        let folder = Folder::new();
        folder.good(&format!("create s.zarr/x --format {format} {array}"));
        let put = || {
            for name in mine.into_iter().chain(["readme"]) {
                folder.write(&format!("pics/{name}"), "my data");
            }
        };
        let copied = || {
            let run = folder.run("copy s.zarr/x pics --overwrite");
            assert_eq!(run.code, 0, "{format}: {}", run.err);
            assert!(folder.path("pics/readme").exists());
            run.err
        };
        put();
        let told = copied();
        let line = told.lines().find(|line| line.contains("were erased")).expect("it is told");
        assert!(line.contains("3 objects, such as") && line.contains(mine[0]), "{line}");
        assert!(mine[1..].iter().all(|name| !folder.path(&format!("pics/{name}")).exists()));
        // Chunks of an array that is there are what is asked for.
        assert!(!copied().contains("erased"), "{told}");
        // The folder of a node that is there, without a document of its own.
        let document = if format == "v2" { ".zarray" } else { "zarr.json" };
        std::fs::remove_file(folder.path(&format!("pics/{document}"))).unwrap();
        folder.good(&format!("create s2.zarr/a --format {format} {array}"));
        folder.good("put s2.zarr/a --value 3");
        std::fs::rename(folder.path("s2.zarr/a"), folder.path("pics/a")).unwrap();
        put();
        let told = copied();
        assert!(told.contains("3 objects, such as"), "{told}");
        assert!(!folder.path("pics/a").exists());
    }
}

#[test]
fn numbered_files_below_a_group_go_only_by_force() {
    let mine = ["g/scan.n5/volume/0/0", "g/scan.n5/attributes.json", "g/frames/1", "g/frames/2"];
    for line in [
        "copy new.zarr a.zarr --overwrite",
        "create a.zarr --group --overwrite",
        "rm a.zarr --all",
        "rm a.zarr --path g",
        "sync new.zarr a.zarr --delete --no-extra-files",
    ] {
        let folder = Folder::new();
        folder.good("create new.zarr --group --format v2");
        folder.good("create a.zarr --group --format v2");
        if !line.starts_with("sync") {
            folder.good("create a.zarr --path g/a --shape 4 --chunks 2 --dtype int8");
            folder.feed("put a.zarr --path g/a", b"[1,2,3,4]");
        }
        for name in mine {
            folder.write(&format!("a.zarr/{name}"), "my data");
        }
        let run = folder.run(line);
        assert_eq!(run.code, 0, "{line}: {}", run.err);
        // What only the target has is no matter of a sync that leaves such files out.
        let is_named = run.err.contains("frames/2`");
        assert!(is_named || line.starts_with("sync"), "{line}: {}", run.err);
        for name in mine {
            assert!(folder.path(&format!("a.zarr/{name}")).exists(), "{line}: {name}");
        }
        assert!(!folder.path("a.zarr/g/a").exists(), "{line}");
    }
    let folder = Folder::new();
    folder.good("create a.zarr/g --group");
    folder.write("a.zarr/g/frames/1", "my data");
    folder.good("rm a.zarr/g --force");
    assert!(!folder.path("a.zarr/g/frames/1").exists());
}

#[test]
fn an_overwriting_create_says_which_files_stay() {
    let folder = Folder::new();
    let create = "create d --shape 3 --dtype int8";
    folder.good(create);
    folder.write("d/me.txt", "hi");
    let run = folder.run(&format!("{create} --overwrite"));
    assert!(run.code == 0 && run.err.contains("kept 1 file"), "{}", run.err);
    assert!(folder.path("d/me.txt").exists());
    let run = folder.run(&format!("{create} --overwrite --force"));
    assert!(run.code == 0 && !run.err.contains("stay"), "{}", run.err);
    assert!(!folder.path("d/me.txt").exists());
}
