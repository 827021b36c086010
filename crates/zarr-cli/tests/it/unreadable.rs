//! What may not be read, and links to nothing: an error with its place in every verb, never fill, and the rest is still looked at.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Output;

use crate::common::{FORMATS, Folder, Run};
use zarr::Json;

/// The user and the group `nobody`, who may read what all may.
const NOBODY: u32 = 65534;

/// Runs the program as a user who is not root, since root may read everything.
fn as_nobody(folder: &Folder, line: &str) -> Run {
    let root = folder.path("");
    fs::set_permissions(&root, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = folder.command(line);
    if fs::metadata(&root).unwrap().uid() == 0 {
        // The program may be in a folder that others may not enter.
        let program = folder.path("zarr-program");
        if !program.exists() {
            // By another process: one that another test forks meanwhile would keep a file of ours open for writing, and no such
            // file can be run.
            let mut copy = std::process::Command::new("cp");
            let copied = copy.args([env!("CARGO_BIN_EXE_zarr").as_ref(), &*program]).status();
            assert!(copied.unwrap().success());
        }
        let arguments: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
        let mut other = std::process::Command::new(program);
        other.current_dir(&root).args(arguments).uid(NOBODY).gid(NOBODY);
        command = other;
    }
    let Output { status, stdout, stderr } = command.output().unwrap();
    let err = String::from_utf8(stderr).unwrap();
    assert!(!err.contains("panicked"), "{err}");
    Run { code: status.code().unwrap_or(-1), out: stdout, err }
}

fn forbid(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o0)).unwrap();
}

fn allow(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// The kind and the key of each problem.
fn problems(run: &Run) -> Vec<(String, String)> {
    let json = run.json();
    let list = json.as_object().unwrap().get("problems").unwrap().as_array().unwrap().to_vec();
    let text = |problem: &Json, name: &str| {
        let member = problem.as_object().unwrap().get(name).and_then(Json::as_str);
        member.unwrap_or_default().to_owned()
    };
    list.iter().map(|problem| (text(problem, "kind"), text(problem, "key"))).collect()
}

/// Groups with arrays, of which one cannot be read, and another has a chunk that is cut short.
fn made(folder: &Folder, format: &str) {
    for path in ["g/a", "g/b", "c"] {
        let shape = "--shape 4 --chunks 2 --dtype int32 --codec gzip:1";
        folder.good(&format!("create x.zarr --path {path} {shape} --format {format}"));
        let put = folder.feed(&format!("put x.zarr --path {path}"), b"[1,2,3,4]");
        assert_eq!(put.code, 0, "{put:?}");
    }
    folder.good("consolidate x.zarr");
}

#[test]
fn a_folder_that_may_not_be_read_is_an_error_with_its_place() {
    for format in FORMATS {
        let folder = Folder::new();
        made(&folder, format);
        let (hidden, cut) = match format {
            "v3" => ("g/a", "g/b/c/1"),
            "v2" => ("g/a", "g/b/1"),
            _ => ("data/root/g/a", "data/root/g/b/c1"),
        };
        fs::write(folder.path("x.zarr").join(cut), "cut").unwrap();
        let hidden_path = folder.path("x.zarr").join(hidden);
        forbid(&hidden_path);
        let run = as_nobody(&folder, "validate x.zarr --json");
        let found = problems(&run);
        let expected = [("unreadable", format!("{hidden}/")), ("undecodable", cut.to_owned())];
        let expected = expected.map(|(kind, key)| (kind.to_owned(), key)).to_vec();
        assert_eq!((run.code, found), (5, expected), "{format}: {}", run.err);
        let run = as_nobody(&folder, "validate x.zarr -q");
        assert_eq!(run.code, 5);
        assert!(run.text().contains("Permission denied"), "{run:?}");
        assert!(run.err.contains("1 could not be read"), "{run:?}");
        if format != "draft-2020" {
            for verb in ["tree", "ls -R", "stats"] {
                let run = as_nobody(&folder, &format!("{verb} x.zarr --no-consolidated"));
                assert_eq!(run.code, 5, "{format} {verb}: {run:?}");
                assert!(run.text().contains('c'), "the others are shown: {run:?}");
                assert!(run.err.contains("/g/a"), "{format} {verb}: {run:?}");
            }
        }
        for line in ["get x.zarr --path g/a", "checksum x.zarr", "diff x.zarr x.zarr"] {
            let run = as_nobody(&folder, line);
            assert!(run.code > 3, "{format} {line}: {run:?}");
        }
        allow(&hidden_path);
        // The whole of it.
        let root = folder.path("x.zarr");
        forbid(&root);
        let run = as_nobody(&folder, "validate x.zarr");
        assert_eq!(run.code, 5, "{format}: {run:?}");
        allow(&root);
    }
}

/// One that may be entered, but not listed, hides what is in it all the same.
#[test]
fn a_folder_that_may_not_be_listed_is_an_error() {
    let folder = Folder::new();
    made(&folder, "v3");
    for hidden in ["x.zarr/g/a/c", "x.zarr/g", "x.zarr"] {
        let path = folder.path(hidden);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o711)).unwrap();
        let run = as_nobody(&folder, "validate x.zarr --json");
        assert_eq!(run.code, 5, "{hidden}: {run:?}");
        let key = hidden.strip_prefix("x.zarr/").map_or(String::new(), |key| format!("{key}/"));
        assert_eq!(problems(&run), [("unreadable".to_owned(), key)], "{hidden}");
        allow(&path);
    }
    assert_eq!(as_nobody(&folder, "validate x.zarr").code, 0);
}

/// As in a clone of git-annex before its files are fetched.
#[test]
fn a_chunk_that_is_a_link_to_nothing_is_an_error_that_names_it() {
    for (format, chunk) in [("v3", "a/c/0/0"), ("v2", "a/0.0"), ("draft-2020", "data/root/a/c0/0")]
    {
        let folder = Folder::new();
        folder.table("x.zarr", format);
        let path = folder.path("x.zarr").join(chunk);
        fs::remove_file(&path).unwrap();
        symlink("../.git/annex/objects/MD5E-s16--0", &path).unwrap();
        let lines = [
            "get x.zarr --path a",
            "get x.zarr --path a --region 0,0",
            "stats x.zarr --path a",
            "checksum x.zarr",
            "diff x.zarr x.zarr",
            "copy x.zarr y.zarr",
            "copy x.zarr y.zip --chunks 4,4",
            "dump x.zarr",
        ];
        for line in lines {
            let run = folder.run(line);
            assert_eq!(run.code, 5, "{format} {line}: {run:?}");
            assert!(run.err.contains("is a symbolic link to"), "{format} {line}: {run:?}");
        }
        let run = folder.run("validate x.zarr --json");
        assert_eq!(problems(&run), [("unreadable".to_owned(), chunk.to_owned())], "{format}");
        assert_eq!(run.code, 5);
        // A repair leaves it to its owner.
        let run = folder.run("repair x.zarr --apply");
        assert_eq!(run.code, 1, "{format}: {run:?}");
        assert!(run.text().contains("by hand"), "{run:?}");
        assert!(path.is_symlink());
    }
}

/// Documents, too: such a node is not absent.
#[test]
fn a_document_that_is_a_link_to_nothing_is_an_error_that_names_it() {
    let folder = Folder::new();
    made(&folder, "v3");
    let document = folder.path("x.zarr/g/a/zarr.json");
    fs::remove_file(&document).unwrap();
    symlink("gone", &document).unwrap();
    let error = folder.bad("get x.zarr/g/a", 5);
    assert!(error.contains("is a symbolic link to `gone`"), "{error}");
    let run = folder.run("validate x.zarr --json");
    assert_eq!(
        (run.code, problems(&run)),
        (5, vec![("unreadable".to_owned(), "g/a/zarr.json".to_owned())])
    );
    symlink("unmounted", folder.path("y.zarr")).unwrap();
    for line in ["get y.zarr", "tree y.zarr", "validate y.zarr", "create y.zarr --group"] {
        let error = folder.bad(line, 5);
        assert!(error.contains("is a symbolic link to `unmounted`"), "{line}: {error}");
    }
}
