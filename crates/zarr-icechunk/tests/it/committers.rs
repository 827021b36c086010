//! Of several committers none loses a commit of another: threads and processes, in a folder and in storage with conditional writes.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Barrier;

use zarr::ErrorKind;
use zarr_icechunk::{MAIN, Repository, Version, icechunk};

use crate::fixtures::{
    Folder, create_array, elements, hierarchy, history, main_branch, with_shared_array, write,
};

const COMMITTERS: usize = 6;
const COMMITS: usize = 4;

/// The array that a committer makes in its nth commit.
fn name(committer: usize, nth: usize) -> String {
    format!("of_{committer}_{nth}")
}

/// Makes an array in each commit, and returns the identifiers of the commits.
fn commit_arrays(repository: &Repository, committer: usize) -> Vec<String> {
    let commit = |nth| {
        let session = repository.writable_session(MAIN).unwrap();
        create_array(&hierarchy(&session), &name(committer, nth), 4);
        write(&session, &name(committer, nth), 1, &[committer as i32 + 1, nth as i32]);
        session.commit_with_rebase(name(committer, nth), u16::MAX).unwrap()
    };
    (0..COMMITS).map(commit).collect()
}

/// Checks that the history is the commits before and these, each once, and that the arrays of all committers are read.
fn check(before: &[String], committed: &[String], now: &[String], read: impl Fn(&str) -> Vec<i32>) {
    assert_eq!(committed.len(), COMMITTERS * COMMITS);
    assert_eq!(now.len(), before.len() + committed.len(), "{now:?}");
    assert_eq!(now[committed.len()..], *before);
    let mut sorted = [now[..committed.len()].to_vec(), committed.to_vec()];
    sorted.iter_mut().for_each(|ids| ids.sort());
    assert_eq!(sorted[0], sorted[1], "every commit that succeeded is in the history");
    for committer in 0..COMMITTERS {
        for nth in 0..COMMITS {
            let expected = [0, committer as i32 + 1, nth as i32, 0];
            assert_eq!(read(&name(committer, nth)), expected, "{}", name(committer, nth));
        }
    }
}

#[test]
fn threads_that_commit_to_a_folder() {
    let folder = Folder::new();
    let repository = Repository::create(folder.path()).unwrap();
    with_shared_array(&repository);
    commit_by_threads(&repository, || Repository::open(folder.path()).unwrap());
    // This library's own reader agrees.
    for committer in 0..COMMITTERS {
        let found = elements(&folder.path(), &main_branch(), &name(committer, 0));
        assert_eq!(found, [0, committer as i32 + 1, 0, 0]);
    }
}

/// Version 1 of the specification has a file for each branch, and none for all of them.
#[test]
fn threads_that_commit_to_a_folder_of_version_1() {
    let folder = Folder::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let storage = icechunk::new_local_filesystem_storage(&folder.path()).await.unwrap();
        let create = icechunk::Repository::create(storage);
        let create = create.spec_version(icechunk::format::format_constants::SpecVersionBin::V1);
        create.execute().await.unwrap();
    });
    assert!(!folder.path().join("repo").exists(), "it is of version 1");
    let repository = Repository::open(folder.path()).unwrap();
    with_shared_array(&repository);
    commit_by_threads(&repository, || Repository::open(folder.path()).unwrap());
    assert_eq!(elements(&folder.path(), &main_branch(), &name(1, 1)), [0, 2, 1, 0]);
    let first = history(&folder.path()).pop().unwrap();
    for exists in [repository.create_branch(MAIN, &first), {
        repository.create_tag("v1", &first).unwrap();
        repository.create_tag("v1", &first)
    }] {
        assert_eq!(exists.unwrap_err().kind(), ErrorKind::Exists);
    }
    assert!(!folder.path().join("repo").exists(), "it still is of version 1");
}

#[test]
fn threads_that_commit_to_storage_with_conditional_writes() {
    let storage = zarr::runtime::block_on(icechunk::new_in_memory_storage()).unwrap();
    let repository = Repository::create_storage(storage.clone()).unwrap();
    with_shared_array(&repository);
    commit_by_threads(&repository, || Repository::open_storage(storage.clone()).unwrap());
}

/// Commits from several threads, of which each opens the repository for itself, and checks what is there then.
fn commit_by_threads(repository: &Repository, open: impl Fn() -> Repository + Sync) {
    let ids = || {
        let commits = repository.history(&main_branch()).unwrap();
        commits.into_iter().map(|commit| commit.id).collect::<Vec<_>>()
    };
    let before = ids();
    let barrier = Barrier::new(COMMITTERS);
    let committed = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..COMMITTERS)
            .map(|committer| {
                let (barrier, open) = (&barrier, &open);
                scope.spawn(move || {
                    // A repository of its own shares no cache with the others.
                    let repository = open();
                    barrier.wait();
                    commit_arrays(&repository, committer)
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    let reader = repository.readonly_session(&main_branch()).unwrap();
    let reader = reader.hierarchy(&crate::fixtures::options()).unwrap();
    check(&before, &committed, &ids(), |name| {
        reader.array(format!("/{name}")).unwrap().read::<i32>(..).unwrap()
    });
}

/// A bucket of a server for tests, by its URL and the variables of the environment that lead to it.
#[test]
fn threads_that_commit_to_a_bucket() {
    if let Ok(url) = std::env::var("ZARR_ICECHUNK_TEST_BUCKET") {
        with_shared_array(&Repository::create(&url).unwrap());
        assert_eq!(Repository::create(&url).unwrap_err().kind(), ErrorKind::Exists);
        let repository = Repository::open(&url).unwrap();
        assert_eq!(repository.name(), url);
        commit_by_threads(&repository, || Repository::open(&url).unwrap());
        return;
    }
    // `NAME=URL?endpoint=…`, with spaces between.
    let servers = std::env::var("ZARR_TEST_S3").unwrap_or_default();
    let Some(moto) = servers.split(' ').find_map(|server| server.strip_prefix("moto=")) else {
        let why =
            "`ZARR_TEST_S3` names no server `moto`; specs-conformance/servers/run.py starts it";
        return zarr_testkit::skipped("threads_that_commit_to_a_bucket", why);
    };
    let (bucket, endpoint) = moto.split_once("?endpoint=").unwrap();
    let url = format!("{bucket}/icechunk-{}", std::process::id());
    let variables = [("ZARR_ICECHUNK_TEST_BUCKET", &url[..]), ("AWS_ENDPOINT_URL", endpoint)];
    zarr_testkit::run_test_again(module_path!(), "threads_that_commit_to_a_bucket", variables);
}

/// What a process of the tests below does; nothing in the process that starts them.
fn part() -> Option<(String, usize)> {
    let folder = std::env::var("ZARR_ICECHUNK_TEST_FOLDER").ok()?;
    Some((folder, std::env::var("ZARR_ICECHUNK_TEST_COMMITTER").unwrap().parse().unwrap()))
}

/// A process that does its part of a test when its standard input ends.
fn start(function: &str, folder: &Path, committer: usize) -> Child {
    let mut command = zarr_testkit::test_command(module_path!(), function);
    command.env("ZARR_ICECHUNK_TEST_FOLDER", folder);
    command.env("ZARR_ICECHUNK_TEST_COMMITTER", committer.to_string());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap()
}

/// Waits until the standard input ends.
fn wait_for_start() {
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

/// The lines that processes printed after `commit: `.
fn printed(children: Vec<Child>) -> Vec<String> {
    let mut children = children;
    // All begin at about the same time.
    children.iter_mut().for_each(|child| drop(child.stdin.take()));
    let mut lines = Vec::new();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).unwrap();
        lines.extend(
            text.lines().filter_map(|line| line.split("commit: ").nth(1)).map(str::to_owned),
        );
    }
    lines
}

#[test]
fn processes_that_commit_to_a_folder() {
    if let Some((folder, committer)) = part() {
        wait_for_start();
        for id in commit_arrays(&Repository::open(folder).unwrap(), committer) {
            println!("\ncommit: {id}");
        }
        return;
    }
    let folder = Folder::new();
    with_shared_array(&Repository::create(folder.path()).unwrap());
    let before = history(&folder.path());
    let start = |committer| start("processes_that_commit_to_a_folder", &folder.path(), committer);
    let committed = printed((0..COMMITTERS).map(start).collect());
    check(&before, &committed, &history(&folder.path()), |name| {
        elements(&folder.path(), &main_branch(), name)
    });
}

#[test]
fn of_processes_that_write_the_same_chunk_one_commits() {
    if let Some((folder, committer)) = part() {
        let session = Repository::open(folder).unwrap().writable_session(MAIN).unwrap();
        write(&session, "shared", 0, &[committer as i32 + 1; 2]);
        println!("\nready");
        std::io::stdout().flush().unwrap();
        wait_for_start();
        let plain = session.commit("plain");
        match plain {
            Ok(id) => println!("\ncommit: {committer} {id}"),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
                let rebased = session.commit_with_rebase("rebased", u16::MAX).unwrap_err();
                assert_eq!(rebased.kind(), ErrorKind::Conflict, "{rebased}");
                assert!(rebased.to_string().contains("`shared/c/0`"), "{rebased}");
            }
        }
        return;
    }
    let folder = Folder::new();
    with_shared_array(&Repository::create(folder.path()).unwrap());
    let before = history(&folder.path());
    let function = "of_processes_that_write_the_same_chunk_one_commits";
    let mut children: Vec<Child> =
        (0..COMMITTERS).map(|committer| start(function, &folder.path(), committer)).collect();
    // All sessions began at the same commit.
    for child in &mut children {
        crate::killed::wait_for_line(child.stdout.as_mut().unwrap(), "ready");
    }
    let committed = printed(children);
    let [winner] = &committed[..] else { panic!("one commit succeeds: {committed:?}") };
    let (committer, id) = winner.split_once(' ').unwrap();
    let now = history(&folder.path());
    assert_eq!((now[0].as_str(), &now[1..]), (id, &before[..]));
    let value = committer.parse::<i32>().unwrap() + 1;
    let expected = [value, value, 0, 0, 0, 0, 0, 0];
    assert_eq!(elements(&folder.path(), &main_branch(), "shared"), expected);
}

#[test]
fn one_of_several_creators_makes_the_repository() {
    let folder = Folder::new();
    let barrier = Barrier::new(COMMITTERS);
    let created: Vec<_> = std::thread::scope(|scope| {
        let create = || {
            barrier.wait();
            Repository::create(folder.path()).map(drop).map_err(|error| error.kind())
        };
        let threads: Vec<_> = (0..COMMITTERS).map(|_| scope.spawn(create)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(created.iter().filter(|result| result.is_ok()).count(), 1, "{created:?}");
    with_shared_array(&Repository::open(folder.path()).unwrap());
    assert_eq!(elements(&folder.path(), &main_branch(), "shared"), [0; 8]);
}

#[test]
fn branches_and_tags_that_are_made_during_commits_are_not_lost() {
    let folder = Folder::new();
    let first = with_shared_array(&Repository::create(folder.path()).unwrap());
    let barrier = Barrier::new(3);
    std::thread::scope(|scope| {
        for kind in ["branch", "tag"] {
            let (barrier, path, first) = (&barrier, folder.path(), &first);
            scope.spawn(move || {
                let repository = Repository::open(path).unwrap();
                barrier.wait();
                for number in 0..8 {
                    match kind {
                        "branch" => repository.create_branch(&format!("b{number}"), first).unwrap(),
                        _ => repository.create_tag(&format!("t{number}"), first).unwrap(),
                    }
                }
            });
        }
        let repository = Repository::open(folder.path()).unwrap();
        barrier.wait();
        commit_arrays(&repository, 0);
    });
    let repository = Repository::open(folder.path()).unwrap();
    for number in 0..8 {
        for version in [Version::Branch(format!("b{number}")), Version::Tag(format!("t{number}"))] {
            assert_eq!(repository.history(&version).unwrap()[0].id, first, "{version}");
        }
    }
    assert_eq!(repository.history(&main_branch()).unwrap().len(), 2 + COMMITS);
}
