//! A process that is killed leaves the branch as it was, or with a whole commit.

use std::io::Read;
use std::path::Path;
use std::process::{Child, ChildStdout, Stdio};

use zarr_icechunk::{MAIN, Repository};

use crate::fixtures::{
    Folder, create_array, elements, hierarchy, history, main_branch, with_shared_array, write,
};

/// Reads what a process prints until a line ends in this text; returns that line.
pub fn wait_for_line(output: &mut ChildStdout, end: &str) -> String {
    let mut line = Vec::new();
    let mut byte = [0];
    loop {
        assert_eq!(output.read(&mut byte).unwrap(), 1, "the process prints `{end}`");
        match byte {
            [b'\n'] if line.ends_with(end.as_bytes()) => return String::from_utf8(line).unwrap(),
            [b'\n'] => line.clear(),
            [byte] => line.push(byte),
        }
    }
}

fn part() -> Option<String> {
    std::env::var("ZARR_ICECHUNK_TEST_KILLED").ok()
}

fn start(function: &str, folder: &Path) -> Child {
    let mut command = zarr_testkit::test_command(module_path!(), function);
    command.env("ZARR_ICECHUNK_TEST_KILLED", folder);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
}

#[test]
fn a_process_killed_before_its_commit_leaves_the_branch_as_it_was() {
    if let Some(folder) = part() {
        let session = Repository::open(folder).unwrap().writable_session(MAIN).unwrap();
        // One value in a manifest, and one in a file, which is stored before the commit.
        write(&session, "shared", 0, &[9; 8]);
        let array = hierarchy(&session).create_array("/large").shape(&[4096]).chunks(&[4096]);
        let array = array.data_type(zarr::DataType::Int32).create().unwrap();
        array.write(.., &(0..4096).collect::<Vec<i32>>()).unwrap();
        println!("\nwritten");
        // Until it is killed.
        std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
        panic!("the process should have been killed");
    }
    let folder = Folder::new();
    with_shared_array(&Repository::create(folder.path()).unwrap());
    let before = history(&folder.path());
    let function = "a_process_killed_before_its_commit_leaves_the_branch_as_it_was";
    let mut child = start(function, &folder.path());
    wait_for_line(child.stdout.as_mut().unwrap(), "written");
    assert!(folder.path().join("chunks").read_dir().unwrap().next().is_some(), "a chunk is stored");
    child.kill().unwrap();
    child.wait().unwrap();

    assert_eq!(history(&folder.path()), before);
    assert_eq!(elements(&folder.path(), &main_branch(), "shared"), [0; 8]);
    let session = Repository::open(folder.path()).unwrap().writable_session(MAIN).unwrap();
    write(&session, "shared", 0, &[1]);
    let id = session.commit("after the kill").unwrap();
    assert_eq!(history(&folder.path()), [&[id], &before[..]].concat());
}

/// Wherever the kill hits: every commit that the process reported is there, with its data, and the lock is free.
#[test]
fn a_process_killed_during_commits_loses_none_that_it_reported() {
    if let Some(folder) = part() {
        let repository = Repository::open(folder).unwrap();
        for number in 0.. {
            let session = repository.writable_session(MAIN).unwrap();
            let name = format!("n{number}");
            create_array(&hierarchy(&session), &name, 2);
            write(&session, &name, 0, &[number, -number]);
            println!("\n{number} {} is committed", session.commit("one more").unwrap());
        }
    }
    for round in 0..4 {
        let folder = Folder::new();
        with_shared_array(&Repository::create(folder.path()).unwrap());
        let function = "a_process_killed_during_commits_loses_none_that_it_reported";
        let mut child = start(function, &folder.path());
        let mut reported = Vec::new();
        while reported.len() < 2 + round {
            let line = wait_for_line(child.stdout.as_mut().unwrap(), " is committed");
            reported.push(line.split(' ').nth(1).unwrap().to_owned());
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let commits = history(&folder.path());
        for (number, id) in reported.iter().enumerate() {
            assert!(commits.contains(id), "{id}: {commits:?}");
            let number = number as i32;
            let name = format!("n{number}");
            assert_eq!(elements(&folder.path(), &main_branch(), &name), [number, -number]);
        }
        let session = Repository::open(folder.path()).unwrap().writable_session(MAIN).unwrap();
        write(&session, "shared", 0, &[1]);
        let id = session.commit("after the kill").unwrap();
        assert_eq!(history(&folder.path()), [&[id], &commits[..]].concat());
    }
}
