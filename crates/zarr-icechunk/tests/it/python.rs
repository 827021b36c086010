//! The Python packages icechunk and zarr read what is committed here, and the other way round.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use zarr::Json;
use zarr_icechunk::{MAIN, Repository};

use crate::fixtures::{
    Folder, create_array, elements, hierarchy, history, main_branch, with_shared_array, write,
};

/// A Python with the packages of `tests/python.txt`, if the environment names one.
fn python(test: &str) -> Option<OsString> {
    let python = std::env::var_os("ZARR_ICECHUNK_PYTHON");
    if python.is_none() {
        let why = "`ZARR_ICECHUNK_PYTHON` names no Python with the packages of crates/zarr-icechunk/tests/python.txt";
        zarr_testkit::skipped(test, why);
    }
    python
}

/// What `witness.py` prints.
fn witness(python: &OsString, command: &str, repository: &Path, arguments: &[&str]) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/witness.py");
    let mut run = Command::new(python);
    let output = run.arg(script).arg(command).arg(repository).arg(MAIN).args(arguments).output();
    let output = output.unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}: {stdout}{stderr}", output.status);
    stdout.trim_end().to_owned()
}

/// The identifiers of the commits, the latest first, and the elements of all arrays, as Python has them.
fn read(python: &OsString, repository: &Path) -> (Vec<String>, BTreeMap<String, Vec<i64>>) {
    let found = Json::parse(witness(python, "read", repository, &[]).as_bytes()).unwrap();
    let found = found.as_object().unwrap();
    let commits = found.get("commits").unwrap().as_array().unwrap();
    let commits = commits.iter().map(|commit| commit.as_array().unwrap()[0].as_str().unwrap());
    let integers = |elements: &Json| {
        let elements = elements.as_array().unwrap().iter();
        elements.map(|element| element.to_string().parse::<i64>().unwrap()).collect::<Vec<_>>()
    };
    let arrays = found.get("arrays").unwrap().as_object().unwrap();
    let arrays = arrays.iter().map(|(name, elements)| (name.to_string(), integers(elements)));
    (commits.map(str::to_owned).collect(), arrays.collect())
}

#[test]
fn python_reads_commits_of_concurrent_committers() {
    let Some(python) = python("python_reads_commits_of_concurrent_committers") else { return };
    let folder = Folder::new();
    with_shared_array(&Repository::create(folder.path()).unwrap());
    std::thread::scope(|scope| {
        for committer in 0..4 {
            let path = folder.path();
            scope.spawn(move || {
                let session = Repository::open(path).unwrap().writable_session(MAIN).unwrap();
                let name = format!("g{committer}/a");
                let root = hierarchy(&session);
                root.create_group(format!("/g{committer}"), zarr::Object::new()).unwrap();
                // Of 8 bytes, which go into a manifest, and of 4,000, which go into a file.
                create_array(&root, &name, 4);
                write(&session, &name, 0, &[committer, 1, 2, 3]);
                let large = root.create_array(format!("/g{committer}/large")).shape([1000]);
                let large = large.data_type(zarr::DataType::Int32).chunks([1000]);
                large.create().unwrap().write(.., &vec![committer; 1000]).unwrap();
                write(&session, "shared", 2 * committer as u64, &[committer + 1; 2]);
                session.commit_with_rebase(name, 100).unwrap();
            });
        }
    });
    let (commits, mut arrays) = read(&python, &folder.path());
    assert_eq!(commits, history(&folder.path()));
    assert_eq!(commits.len(), 6);
    assert_eq!(arrays.remove("shared").unwrap(), [1, 1, 2, 2, 3, 3, 4, 4]);
    for committer in 0..4 {
        let a = arrays.remove(&format!("g{committer}/a")).unwrap();
        assert_eq!(a, [committer, 1, 2, 3]);
        let large = arrays.remove(&format!("g{committer}/large")).unwrap();
        assert_eq!(large, vec![committer; 1000]);
    }
    assert_eq!(arrays, BTreeMap::new());
}

#[test]
fn a_session_is_rebased_on_a_commit_by_python() {
    let Some(python) = python("a_session_is_rebased_on_a_commit_by_python") else { return };
    let folder = Folder::new();
    let repository = Repository::create(folder.path()).unwrap();
    with_shared_array(&repository);
    let session = repository.writable_session(MAIN).unwrap();
    write(&session, "shared", 0, &[5, 5]);
    let theirs = witness(&python, "write", &folder.path(), &["theirs", "7"]);
    assert_eq!(session.commit("ours").unwrap_err().kind(), zarr::ErrorKind::Conflict);
    let ours = session.commit_with_rebase("ours", 1).unwrap();
    assert_eq!(history(&folder.path())[..2], [ours, theirs]);
    let (commits, arrays) = read(&python, &folder.path());
    assert_eq!(commits, history(&folder.path()));
    assert_eq!(arrays["shared"], [5, 5, 0, 0, 0, 0, 0, 0]);
    assert_eq!(arrays["theirs"], [7; 4]);
    assert_eq!(elements(&folder.path(), &main_branch(), "theirs"), [7; 4]);
}
