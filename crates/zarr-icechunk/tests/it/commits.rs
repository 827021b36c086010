//! Commits, branches, tags, and what is said of those that cannot be made.

use std::sync::Arc;

use zarr::ErrorKind;
use zarr::store::{Payload, Store, StoreKey, StorePrefix};
use zarr_icechunk::{IcechunkSession, MAIN, Repository, Version, icechunk};

use crate::fixtures::{
    Folder, create_array, elements, hierarchy, history, main_branch, with_shared_array, write,
};

#[test]
fn nobody_sees_a_session_before_its_commit() {
    let folder = Folder::new();
    let repository = Repository::create(folder.path()).unwrap();
    let first = with_shared_array(&repository);
    let reader = repository.readonly_session(&main_branch()).unwrap();
    let session = repository.writable_session(MAIN).unwrap();
    assert!(!session.has_changes().unwrap());
    write(&session, "shared", 0, &[1, 2, 3]);
    assert!(session.has_changes().unwrap());
    assert_eq!(elements(&folder.path(), &main_branch(), "shared"), [0; 8]);
    assert_eq!(session.snapshot().unwrap(), first);
    // Libraries flush where nobody meant to commit.
    hierarchy(&session).flush().unwrap();
    assert_eq!(history(&folder.path())[0], first);

    let second = session.commit("three elements").unwrap();
    assert_eq!(session.snapshot().unwrap(), second);
    assert_eq!(elements(&folder.path(), &main_branch(), "shared"), [1, 2, 3, 0, 0, 0, 0, 0]);
    let before = Version::Snapshot(first.clone());
    assert_eq!(elements(&folder.path(), &before, "shared"), [0; 8]);
    let array = reader.hierarchy(&crate::fixtures::options()).unwrap().array("/shared").unwrap();
    assert_eq!(array.read::<i32>(..).unwrap(), [0; 8], "a session shows one snapshot");

    let commits = repository.history(&main_branch()).unwrap();
    let messages: Vec<&str> = commits.iter().map(|commit| &commit.message[..]).collect();
    assert_eq!(messages[..2], ["three elements", "the shared array"]);
    assert_eq!((&commits[0].id, commits[0].parent.as_ref()), (&second, Some(&first)));
    assert_eq!(commits.last().unwrap().parent, None);
}

#[test]
fn a_committed_session_reads_and_says_how_to_go_on() {
    let folder = Folder::new();
    let repository = Repository::create(folder.path()).unwrap();
    with_shared_array(&repository);
    let session = repository.writable_session(MAIN).unwrap();
    let array = hierarchy(&session).array("/shared").unwrap();
    array.write(0..1, &[5]).unwrap();
    let id = session.commit("one").unwrap();
    assert_eq!(array.read::<i32>(0..2).unwrap(), [5, 0]);
    let store = session.store().to_sync();
    let errors = [
        array.write(0..1, &[6]).unwrap_err().to_string(),
        session.commit("again").unwrap_err().to_string(),
        store.erase(&StoreKey::new("shared/c/0").unwrap()).unwrap_err().to_string(),
        store.erase_prefix(&StorePrefix::root()).unwrap_err().to_string(),
    ];
    for error in errors {
        assert!(error.contains(&id) && error.contains("Repository::writable_session"), "{error}");
    }
    assert_eq!(history(&folder.path())[0], id);
}

#[test]
fn a_session_without_changes_is_not_committed() {
    let folder = Folder::new();
    let repository = Repository::create(folder.path()).unwrap();
    let first = with_shared_array(&repository);
    let session = repository.writable_session(MAIN).unwrap();
    // Erasing what is absent changes nothing.
    let store = session.store().to_sync();
    for absent in ["shared/c/3", "absent/zarr.json", "shared/c/9"] {
        store.erase(&StoreKey::new(absent).unwrap()).unwrap();
    }
    store.erase_prefix(&StorePrefix::new("absent/").unwrap()).unwrap();
    for refused in [session.commit("nothing"), session.commit_with_rebase("nothing", 3)] {
        let refused = refused.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Argument);
        assert!(refused.to_string().contains("nothing to commit"), "{refused}");
    }
    let reader = repository.readonly_session(&main_branch()).unwrap();
    assert_eq!(reader.commit("a reader").unwrap_err().kind(), ErrorKind::ReadOnly);
    assert_eq!(history(&folder.path())[0], first);
}

#[test]
fn branches_and_tags_are_made_and_read() {
    let folder = Folder::new();
    let repository = Repository::create(folder.path()).unwrap();
    let first = with_shared_array(&repository);
    repository.create_branch("side", &first).unwrap();
    repository.create_tag("v1", &first).unwrap();
    let session = repository.writable_session("side").unwrap();
    write(&session, "shared", 0, &[7]);
    let side = session.commit("on the side").unwrap();
    repository.create_tag("v2", &side).unwrap();
    let first_element = |version: &Version| elements(&folder.path(), version, "shared")[0];
    for (version, expected) in [
        (main_branch(), 0),
        (Version::Branch("side".into()), 7),
        (Version::Tag("v1".into()), 0),
        (Version::Tag("v2".into()), 7),
        (Version::Snapshot(side.clone()), 7),
    ] {
        assert_eq!(first_element(&version), expected, "{version}");
        let session = repository.readonly_session(&version).unwrap();
        let array = session.hierarchy(&crate::fixtures::options()).unwrap();
        let array = array.array("/shared").unwrap();
        assert_eq!(array.read::<i32>(0..1).unwrap(), [expected], "{version}");
        assert!(session.name().contains(&version.to_string()), "{}", session.name());
    }
    for exists in [repository.create_branch("side", &first), repository.create_tag("v1", &side)] {
        assert_eq!(exists.unwrap_err().kind(), ErrorKind::Exists);
    }
    assert_eq!(first_element(&Version::Tag("v1".into())), 0);
}

#[test]
fn what_is_not_there_is_named_with_what_is() {
    let folder = Folder::new();
    let missing = Repository::open(folder.path()).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
    assert!(missing.to_string().contains("Repository::create"), "{missing}");
    assert!(!folder.path().exists(), "opening makes no folder");
    std::fs::create_dir(folder.path()).unwrap();
    let missing = Repository::open(folder.path()).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound, "{missing}");

    let repository = Repository::create(folder.path()).unwrap();
    let first = with_shared_array(&repository);
    repository.create_tag("v1", &first).unwrap();
    let unknown = Version::Snapshot("1CECHNKREP0F1RSTCMTX".into());
    for error in [
        repository.writable_session("absent").unwrap_err(),
        repository.readonly_session(&Version::Branch("absent".into())).unwrap_err(),
        repository.readonly_session(&Version::Tag("absent".into())).unwrap_err(),
        repository.readonly_session(&unknown).unwrap_err(),
        repository.history(&Version::Tag("absent".into())).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        let text = error.to_string();
        assert!(text.contains("`main`") && text.contains("`v1`"), "{text}");
        assert!(text.contains(repository.name()) && !text.contains('\n'), "{text}");
    }
    assert_eq!(
        repository.create_branch("x", "1CECHNKREP0F1RSTCMTX").unwrap_err().kind(),
        ErrorKind::NotFound
    );
    let no_id = repository.readonly_session(&Version::Snapshot("no id".into())).unwrap_err();
    assert_eq!(no_id.kind(), ErrorKind::Argument, "{no_id}");
}

#[test]
fn a_repository_is_created_only_where_nothing_is() {
    let folder = Folder::new();
    let first = with_shared_array(&Repository::create(folder.path()).unwrap());
    let exists = Repository::create(folder.path()).unwrap_err();
    assert_eq!(exists.kind(), ErrorKind::Exists, "{exists}");
    assert!(exists.to_string().contains("Repository::open"), "{exists}");
    assert_eq!(history(&folder.path())[0], first);

    let other = Folder::new();
    std::fs::create_dir(other.path()).unwrap();
    std::fs::write(other.path().join("notes.txt"), "mine").unwrap();
    let refused = Repository::create(other.path()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Argument, "{refused}");
    assert_eq!(std::fs::read_dir(other.path()).unwrap().count(), 1);
}

/// A session, in which something is changed.
type Change<'a> = &'a dyn Fn(&IcechunkSession);

/// What two sessions from the same commit do, one after the other; the text of the conflict, if the second cannot be rebased on the first.
fn rebased(first: Change<'_>, second: Change<'_>) -> (Folder, Option<String>) {
    let folder = Folder::new();
    let repository = Repository::create(folder.path()).unwrap();
    with_shared_array(&repository);
    let session = repository.writable_session(MAIN).unwrap();
    let root = hierarchy(&session);
    root.create_group("/g", zarr::Object::new()).unwrap();
    create_array(&root, "g/a", 4);
    session.commit("a group with an array").unwrap();

    let sessions = [(); 2].map(|()| repository.writable_session(MAIN).unwrap());
    first(&sessions[0]);
    second(&sessions[1]);
    let winner = sessions[0].commit("first").unwrap();
    let began = sessions[1].snapshot().unwrap();

    // Without a rebase it is refused in any case, and says what to do.
    let refused = sessions[1].commit("second").unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Conflict, "{refused}");
    let text = refused.to_string();
    for part in [&winner, &began, "`main`", "commit_with_rebase", repository.name()] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(history(&folder.path())[0], winner);

    match sessions[1].commit_with_rebase("second", 3) {
        Ok(id) => {
            assert_eq!(history(&folder.path())[..2], [id, winner]);
            (folder, None)
        }
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
            let text = error.to_string();
            assert!(text.contains(&winner) && text.contains("new session"), "{text}");
            assert_eq!(history(&folder.path())[0], winner);
            // The session has its changes still.
            assert!(sessions[1].has_changes().unwrap());
            assert_eq!(sessions[1].snapshot().unwrap(), began);
            (folder, Some(text))
        }
    }
}

#[test]
fn changes_of_different_things_are_rebased() {
    let (folder, conflict) = rebased(
        &|session| {
            write(session, "shared", 0, &[1, 1]);
            create_array(&hierarchy(session), "ours", 4);
            write(session, "ours", 0, &[3, 3]);
        },
        &|session| {
            write(session, "shared", 2, &[2, 2]);
            create_array(&hierarchy(session), "theirs", 4);
            write(session, "theirs", 2, &[4, 4]);
        },
    );
    assert_eq!(conflict, None);
    let elements = |name| elements(&folder.path(), &main_branch(), name);
    assert_eq!(elements("shared"), [1, 1, 2, 2, 0, 0, 0, 0]);
    assert_eq!(elements("ours"), [3, 3, 0, 0]);
    assert_eq!(elements("theirs"), [0, 0, 4, 4]);
}

#[test]
fn changes_of_the_same_thing_are_conflicts_that_are_named() {
    let erase = |name: &'static str| {
        move |session: &IcechunkSession| hierarchy(session).erase(name).unwrap()
    };
    let replace = |name: &'static str| {
        move |session: &IcechunkSession| {
            let root = hierarchy(session);
            root.erase(format!("/{name}")).unwrap();
            create_array(&root, name, 4);
        }
    };
    let create = |name: &'static str| {
        move |session: &IcechunkSession| drop(create_array(&hierarchy(session), name, 4))
    };
    let resize = |session: &IcechunkSession| {
        hierarchy(session).array("/g/a").unwrap().resize([6]).unwrap();
    };
    let set = |value: i32| move |session: &IcechunkSession| write(session, "g/a", 0, &[value; 2]);
    let cases: [(Change<'_>, Change<'_>, &str); 9] = [
        (&set(1), &set(2), "both wrote chunk `g/a/c/0`"),
        (&create("new"), &create("new"), "both created `/new`"),
        (&resize, &resize, "both changed `zarr.json` of `/g/a`"),
        (
            &resize,
            &set(2),
            "`zarr.json` of `/g/a`, of which this session writes chunks, was changed",
        ),
        (&erase("/g/a"), &set(2), "`/g/a`, in which this session writes, was erased"),
        (&set(1), &erase("/g/a"), "`/g/a`, which this session erases, was written to"),
        // These three Icechunk's own detector does not find.
        (&replace("g/a"), &replace("g/a"), "both created `/g/a`"),
        (&create("g/new"), &erase("/g"), "`/g`, which this session erases, was written to"),
        (&erase("/g"), &create("g/new"), "`/g`, in which this session writes, was erased"),
    ];
    for (first, second, expected) in cases {
        let (_, conflict) = rebased(first, second);
        let conflict = conflict.unwrap_or_else(|| panic!("no conflict; expected: {expected}"));
        assert!(conflict.contains(expected), "{expected}: {conflict}");
    }
}

#[test]
fn a_rebase_that_may_not_be_repeated_is_a_conflict() {
    let folder = Folder::new();
    let repository = Repository::create(folder.path()).unwrap();
    with_shared_array(&repository);
    let sessions = [(); 2].map(|()| repository.writable_session(MAIN).unwrap());
    write(&sessions[0], "shared", 0, &[1]);
    write(&sessions[1], "shared", 2, &[1]);
    sessions[0].commit("first").unwrap();
    let refused = sessions[1].commit_with_rebase("second", 0).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Conflict);
    assert!(refused.to_string().contains("0 attempts"), "{refused}");
    sessions[1].commit_with_rebase("second", 1).unwrap();
    assert_eq!(elements(&folder.path(), &main_branch(), "shared"), [1, 0, 1, 0, 0, 0, 0, 0]);
}

/// Storage of the crate `icechunk`, and calls from inside an async runtime.
#[test]
fn repositories_in_other_storage_work_inside_any_runtime() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let storage = icechunk::new_in_memory_storage().await.unwrap();
        let repository = Repository::create_storage(Arc::clone(&storage)).unwrap();
        with_shared_array(&repository);
        let session = Repository::open_storage(storage).unwrap().writable_session(MAIN).unwrap();
        write(&session, "shared", 0, &[1]);
        session.commit("inside").unwrap();
        let reader = repository.readonly_session(&main_branch()).unwrap();
        let key = StoreKey::new("shared/zarr.json").unwrap();
        assert!(reader.get(&key, Default::default()).await.unwrap().is_some());
        let value = Some(Payload::new(b"v"));
        let refused = reader.put(&key, value, zarr::store::Precondition::Always).await;
        assert!(refused.is_err());
    });
}
