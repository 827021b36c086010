//! Documents that exist as consolidated copies only are lost by no operation (Z2-073), and an erase that is cut short leaves no copy of an
//! array that has lost chunks.
#![cfg(all(feature = "memory", feature = "filesystem"))]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use zarr::format::of_dialect;
use zarr::store::{ObservedStore, Store, StoreKey, from_sync};
use zarr::stores::MemoryStore;
use zarr::tools::repair::{RepairAction, RepairOptions, RepairStep};
use zarr::tools::validate::{Problem, ValidateOptions};
use zarr::tools::{Level, ProblemKind};
use zarr::{Consolidated, Dialect, ErrorKind, Hierarchy, Json, NodePath, Object, OpenOptions};
use zarr_testkit::Faults;

const DIALECTS: [Dialect; 3] = [Dialect::V2, Dialect::V3, Dialect::Draft];

fn reading() -> OpenOptions {
    OpenOptions::new(zarr::standard()).threads(1)
}

fn writing() -> OpenOptions {
    reading().read_write()
}

fn path(text: &str) -> NodePath {
    NodePath::new(text).unwrap()
}

fn key(text: &str) -> StoreKey {
    StoreKey::new(text).unwrap()
}

fn holder(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::V2 => ".zmetadata",
        Dialect::V3 => "zarr.json",
        _ => "meta/root/consolidated/.zmetadata",
    }
}

/// The document of the array at a path.
fn document(dialect: Dialect, at: &str) -> String {
    match dialect {
        Dialect::V2 => format!("{at}/.zarray"),
        Dialect::V3 => format!("{at}/zarr.json"),
        _ => format!("meta/root/{at}.array.json"),
    }
}

fn get(store: &Arc<dyn Store>, at: &str) -> Option<String> {
    let bytes = store.to_sync().value(&key(at)).unwrap()?;
    Some(String::from_utf8(bytes.to_vec()).unwrap())
}

fn set(store: &Arc<dyn Store>, at: &str, text: &str) {
    store.to_sync().set(&key(at), text.as_bytes().into()).unwrap();
}

fn erase(store: &Arc<dyn Store>, at: &str) {
    store.to_sync().erase(&key(at)).unwrap();
}

/// A root, a group `/g` with an array `/g/a`, and an array `/b`, with elements and attributes, consolidated.
fn fill(store: &Arc<dyn Store>, dialect: Dialect) -> Hierarchy {
    let hierarchy = Hierarchy::create(store.clone(), of_dialect(dialect), &writing()).unwrap();
    hierarchy.create_group(path("/g"), Object::new().with("n", 1u64)).unwrap();
    for at in ["/g/a", "/b"] {
        let attributes = Object::new().with("units", "K");
        let array = hierarchy.create_array(path(at)).shape(&[6]).chunks(&[2]);
        let array = array.data_type_named("int16").attributes(attributes).create().unwrap();
        array.write(.., &[1i16, 2, 3, 4, 5, 6]).unwrap();
    }
    hierarchy.consolidate().unwrap();
    hierarchy
}

fn small(dialect: Dialect) -> (Arc<dyn Store>, Hierarchy) {
    let store: Arc<dyn Store> = from_sync(MemoryStore::new());
    let hierarchy = fill(&store, dialect);
    (store, hierarchy)
}

fn writer(store: &Arc<dyn Store>) -> Hierarchy {
    Hierarchy::open(store.clone(), &writing()).unwrap()
}

/// The names of the copies at the root.
fn copied(store: &Arc<dyn Store>, dialect: Dialect) -> Vec<String> {
    let Some(text) = get(store, holder(dialect)) else { return Vec::new() };
    let whole = Json::parse(text.as_bytes()).unwrap();
    let whole = whole.as_object().unwrap();
    let held = match dialect {
        Dialect::V3 => whole.get("consolidated_metadata").and_then(Json::as_object),
        _ => Some(whole),
    };
    let entries = held.and_then(|held| held.get("metadata")).and_then(Json::as_object);
    let key = |name: &str| match dialect {
        Dialect::V3 => format!("{name}/zarr.json"),
        _ => name.to_owned(),
    };
    entries.into_iter().flat_map(|entries| entries.iter()).map(|(name, _)| key(name)).collect()
}

/// Nothing replaces or removes the only copy of a document: not consolidating, not what refreshes copies, and no new node in its place.
#[test]
fn no_operation_loses_a_document_that_only_copies_have() {
    for dialect in DIALECTS {
        let (store, _) = small(dialect);
        let b = document(dialect, "b");
        erase(&store, &b);
        let before = get(&store, holder(dialect)).unwrap();
        let hierarchy = writer(&store);
        let refused = [
            hierarchy.consolidate().map(drop),
            hierarchy.remove_consolidated().map(drop),
            hierarchy
                .create_array(path("/b"))
                .shape(&[1])
                .data_type_named("int8")
                .create()
                .map(drop),
        ];
        for (n, refused) in refused.into_iter().enumerate() {
            let e = refused.expect_err("refused");
            assert_eq!(get(&store, holder(dialect)).unwrap(), before, "{dialect} {n}");
            if dialect == Dialect::V2 && e.kind() == ErrorKind::Exists {
                // Its attributes are there.
                continue;
            }
            assert_eq!(e.kind(), ErrorKind::Argument, "{dialect} {n}: {e}");
            let text = e.to_string();
            assert!(text.contains(&b) && text.contains("zarr repair --apply"), "{dialect}: {text}");
        }
        assert_eq!(hierarchy.only_copied_nodes("/").unwrap(), [path("/b")], "{dialect}");
        let absent = hierarchy.array(path("/b")).unwrap_err();
        assert_eq!(absent.kind(), ErrorKind::NotFound, "{dialect}");
        assert!(absent.to_string().contains("zarr repair --apply"), "{dialect}: {absent}");
        // Changes of other nodes keep the copy.
        let a = hierarchy.array(path("/g/a")).unwrap();
        a.update_attributes(|attributes| drop(attributes.insert("k", 1u64))).unwrap();
        a.append(0, &[7i16]).unwrap();
        hierarchy.create_group(path("/h"), Object::new()).unwrap();
        hierarchy.erase(path("/h")).unwrap();
        assert!(copied(&store, dialect).contains(&b), "{dialect}");
        // Options that remove the copies remove none that is the only one.
        let mut dropping = writing();
        dropping.options.drop_consolidated = true;
        let dropping = Hierarchy::open(store.clone(), &dropping).unwrap();
        let refused = dropping.create_group(path("/k"), Object::new()).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Argument, "{dialect}: {refused}");
        assert!(copied(&store, dialect).contains(&b), "{dialect}");
        // Erasing the node is meant.
        hierarchy.erase(path("/b")).unwrap();
        assert!(
            !copied(&store, dialect)
                .iter()
                .any(|name| name.contains('b') && name.contains("arr") && name.starts_with('b')),
            "{dialect}"
        );
        assert_eq!(hierarchy.only_copied_nodes("/").unwrap(), [], "{dialect}");
        hierarchy.consolidate().unwrap();
        assert_eq!(hierarchy.erase(path("/b")).unwrap_err().kind(), ErrorKind::NotFound);
    }
}

/// A group that only copies describe is not created anew, without its attributes, above a new node.
#[test]
fn a_group_that_only_copies_have_is_not_created_anew() {
    for (dialect, group) in [(Dialect::V2, "g/.zgroup"), (Dialect::V3, "g/zarr.json")] {
        let (store, _) = small(dialect);
        erase(&store, group);
        let before = get(&store, holder(dialect)).unwrap();
        let new = writer(&store);
        let refused = new.create_array(path("/g/new")).shape(&[1]).data_type_named("int8").create();
        assert_eq!(refused.err().map(|e| e.kind()), Some(ErrorKind::Argument), "{dialect}");
        assert_eq!(get(&store, holder(dialect)).unwrap(), before, "{dialect}");
    }
}

/// A group below the root has copies of its own.
#[test]
fn copies_of_groups_are_looked_at_like_those_of_the_root() {
    for dialect in [Dialect::V2, Dialect::V3] {
        let store: Arc<dyn Store> = from_sync(MemoryStore::new());
        let hierarchy = fill(&store, dialect);
        hierarchy.remove_consolidated().unwrap();
        let group = hierarchy.group(path("/g")).unwrap();
        group.consolidate().unwrap();
        erase(&store, &document(dialect, "g/a"));
        let group = writer(&store).group(path("/g")).unwrap();
        for refused in [group.consolidate().map(drop), group.remove_consolidated().map(drop)] {
            assert_eq!(refused.unwrap_err().kind(), ErrorKind::Argument, "{dialect}");
        }
        assert_eq!(hierarchy.only_copied_nodes("/g").unwrap(), [path("/g/a")], "{dialect}");
        assert_eq!(hierarchy.only_copied_nodes("/").unwrap(), [path("/g/a")], "{dialect}");
        assert_eq!(hierarchy.only_copied_nodes("/b").unwrap(), [], "{dialect}");
        // Those of the root are another document.
        hierarchy.consolidate().unwrap();
        hierarchy.erase(path("/g/a")).unwrap();
        group.consolidate().unwrap();
        assert!(group.check_consolidated().unwrap().is_empty(), "{dialect}");
        assert!(group.remove_consolidated().unwrap() && !group.is_consolidated().unwrap());
    }
}

/// Attributes of v2 that only the copies have are written before anything refreshes them.
#[test]
fn attributes_that_only_copies_have_are_written() {
    let changes: [fn(&zarr::Array) -> zarr::Result<()>; 3] = [
        |b| b.resize(&[9]),
        |b| b.append(0, &[7i16]).map(drop),
        |b| b.update_attributes(|attributes| drop(attributes.insert("k", 1u64))).map(drop),
    ];
    for change in changes {
        let (store, _) = small(Dialect::V2);
        erase(&store, "b/.zattrs");
        change(&writer(&store).array(path("/b")).unwrap()).unwrap();
        assert!(get(&store, "b/.zattrs").unwrap().contains("units"));
        let copies = reading().consolidated(Consolidated::Use);
        let b = Hierarchy::open(store.clone(), &copies).unwrap().array(path("/b")).unwrap();
        assert_eq!(b.attributes().get("units").and_then(Json::as_str), Some("K"));
    }
    let (store, hierarchy) = small(Dialect::V2);
    erase(&store, "b/.zattrs");
    assert_eq!(hierarchy.consolidate().unwrap_err().kind(), ErrorKind::Argument);
}

/// Copies of a form that is not known, or cut short, may be the only ones, too.
#[test]
fn copies_that_cannot_be_read_are_not_replaced_if_they_may_be_the_only_ones() {
    for cut in [false, true] {
        let (store, hierarchy) = small(Dialect::V2);
        let text = get(&store, ".zmetadata").unwrap();
        let broken = if cut {
            text[..text.len() - 9].to_owned()
        } else {
            text.replace("\"zarr_consolidated_format\": 1", "\"zarr_consolidated_format\": 2")
        };
        assert_ne!(text, broken);
        set(&store, ".zmetadata", &broken);
        // As long as all documents are there, consolidating mends them.
        erase(&store, "b/.zarray");
        let refused = writer(&store).consolidate().unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Argument, "{refused}");
        assert_eq!(get(&store, ".zmetadata").unwrap(), broken);
        hierarchy.erase(path("/b")).unwrap();
        set(&store, ".zmetadata", &broken.replace("b/.z", "g/a/.z"));
        writer(&store).consolidate().unwrap();
    }
}

/// What other writers put beside the copies stays.
#[test]
fn entries_that_are_no_documents_stay() {
    let (store, hierarchy) = small(Dialect::V2);
    let text = get(&store, ".zmetadata").unwrap();
    let text = text.replacen("\"metadata\": {", "\"metadata\": {\".nczmeta\": {\"x\": 1},", 1);
    set(&store, ".zmetadata", &text);
    hierarchy.create_group(path("/h"), Object::new()).unwrap();
    assert!(copied(&store, Dialect::V2).contains(&".nczmeta".to_owned()));
    hierarchy.consolidate().unwrap();
    assert!(copied(&store, Dialect::V2).contains(&".nczmeta".to_owned()));
}

/// Nodes below a folder without a document are not hidden by the copies.
#[test]
fn nodes_below_a_folder_without_a_document_are_copied() {
    for (dialect, group) in [(Dialect::V2, "g/.zgroup"), (Dialect::V3, "g/zarr.json")] {
        let (store, hierarchy) = small(dialect);
        hierarchy.remove_consolidated().unwrap();
        erase(&store, group);
        hierarchy.consolidate().unwrap();
        let read = Hierarchy::open(store.clone(), &reading()).unwrap();
        assert_eq!(read.array(path("/g/a")).unwrap().read::<i16>(..).unwrap(), [1, 2, 3, 4, 5, 6]);
    }
}

/// A reader is told of a node that has no document.
#[test]
fn a_node_that_only_copies_have_is_read_with_a_warning() {
    for dialect in DIALECTS {
        let (store, _) = small(dialect);
        let options = reading().consolidated(Consolidated::Use);
        let read = || {
            let read = Hierarchy::open(store.clone(), &options).unwrap();
            assert_eq!(
                read.array(path("/b")).unwrap().read::<i16>(..).unwrap(),
                [1, 2, 3, 4, 5, 6]
            );
            read.nodes(NodePath::root()).unwrap();
            read.warnings()
        };
        assert_eq!(read(), [], "{dialect}");
        erase(&store, &document(dialect, "b"));
        let warnings = read();
        assert_eq!(warnings.len(), 1, "{dialect}: {warnings:?}");
        assert_eq!(warnings[0].place, "/b");
        assert!(warnings[0].what.contains("only consolidated metadata"), "{warnings:?}");
    }
}

fn url() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("memory://only copies {}", NEXT.fetch_add(1, Ordering::Relaxed))
}

fn repair(url: &str) -> Vec<RepairStep> {
    let mut steps = Vec::new();
    let how = RepairOptions::new().apply(true);
    zarr::tools::repair::repair(url, "/", &writing(), &how, &mut |step| steps.push(step.clone()))
        .unwrap();
    steps
}

fn problems(url: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    let how = ValidateOptions::new(Level::Data);
    zarr::tools::validate::validate(url, "/", &reading(), &how, &mut |problem| {
        if !problem.kind.is_note() {
            problems.push(problem.clone());
        }
    })
    .unwrap();
    problems
}

/// All documents but the root's are in the copies alone, as some writers have them; in v2 the root's, too.
#[test]
fn a_repair_writes_the_documents_that_only_copies_have() {
    for dialect in DIALECTS {
        for below in [false, true] {
            if below && dialect == Dialect::Draft {
                continue;
            }
            let url = url();
            let store = writing().store(&url).unwrap();
            let hierarchy = fill(&store, dialect);
            if below {
                hierarchy.remove_consolidated().unwrap();
                hierarchy.group(path("/g")).unwrap().consolidate().unwrap();
            }
            let sound: BTreeMap<StoreKey, _> = documents(&store);
            let is_kept = |name: &str| match dialect {
                Dialect::V3 => name == "zarr.json" || below && name == "g/zarr.json",
                Dialect::V2 => name.ends_with(".zmetadata"),
                _ => name == "zarr.json" || name.contains("consolidated"),
            };
            let is_copied = |name: &str| !below || name.starts_with("g/");
            for name in sound.keys().filter(|name| !is_kept(name.as_str())) {
                if is_copied(name.as_str()) {
                    store.to_sync().erase(name).unwrap();
                }
            }
            let what = format!("{dialect}, below: {below}");
            let found = problems(&url);
            let extra = |problem: &&Problem| problem.kind == ProblemKind::ConsolidatedExtra;
            assert!(
                found.iter().filter(extra).count() >= 2 - usize::from(below),
                "{what}: {found:?}"
            );
            let steps = repair(&url);
            let restored = steps.iter().filter(|step| step.action == RepairAction::RestoreDocument);
            assert!(restored.count() >= 2 - usize::from(below), "{what}: {steps:?}");
            assert_eq!(problems(&url), [], "{what}: {steps:?}");
            let meanings = |all: BTreeMap<StoreKey, String>| -> Vec<(StoreKey, Json)> {
                let parse = |text: String| Json::parse(text.as_bytes()).unwrap();
                let named = all.into_iter().filter(|(name, _)| !is_kept(name.as_str()));
                named.map(|(name, text)| (name, parse(text))).collect()
            };
            assert_eq!(meanings(documents(&store)), meanings(sound), "{what}");
            let read = writer(&store).array(path("/g/a")).unwrap();
            assert_eq!(read.read::<i16>(..).unwrap(), [1, 2, 3, 4, 5, 6], "{what}");
            assert_eq!(repair(&url).len(), 0, "{what}");
        }
    }
}

fn documents(store: &Arc<dyn Store>) -> BTreeMap<StoreKey, String> {
    let sync = store.to_sync();
    let is_document = |key: &StoreKey| {
        let name = key.as_str();
        !name.starts_with(".zarr-quarantine/")
            && (name.ends_with(".json") || name.rsplit('/').next().unwrap().starts_with(".z"))
    };
    let keys = sync.list().unwrap().into_iter().filter(is_document);
    keys.map(|key| {
        let text = get(store, key.as_str()).unwrap();
        (key, text)
    })
    .collect()
}

/// Copies of a form that is not known are used, if nothing else describes a node.
#[test]
fn a_repair_uses_copies_that_readers_pass_over() {
    let url = url();
    let store = writing().store(&url).unwrap();
    fill(&store, Dialect::V2);
    let text = get(&store, ".zmetadata").unwrap();
    let text = text.replace("\"zarr_consolidated_format\": 1", "\"zarr_consolidated_format\": 2");
    set(&store, ".zmetadata", &text);
    erase(&store, "b/.zarray");
    let steps = repair(&url);
    assert_eq!(problems(&url), [], "{steps:?}");
    let b = writer(&store).array(path("/b")).unwrap();
    assert_eq!(b.read::<i16>(..).unwrap(), [1, 2, 3, 4, 5, 6]);
}

/// What erases nodes.
#[derive(Clone, Copy, Debug)]
enum Eraser {
    Array,
    Group,
    Overwrite,
}

impl Eraser {
    fn run(self, hierarchy: &Hierarchy) -> zarr::Result<()> {
        match self {
            Eraser::Array => hierarchy.erase(path("/g/a")),
            Eraser::Group => hierarchy.erase(path("/g")),
            Eraser::Overwrite => {
                let new = hierarchy.create_array(path("/g/a")).shape(&[6]).chunks(&[2]);
                new.data_type_named("int16").fill_value(-1i64).overwrite(true).create().map(drop)
            }
        }
    }
}

/// A process dies at each call of the store while it erases: no copy that other programs would use describes an array that has lost chunks,
/// and no repair brings such an array back.
#[test]
fn an_erase_that_dies_at_any_call_leaves_no_copy_of_an_array_without_chunks() {
    for dialect in DIALECTS {
        for eraser in [Eraser::Array, Eraser::Group, Eraser::Overwrite] {
            let (mut interrupted, mut calls) = (0, 0);
            loop {
                let url = url();
                let store = writing().store(&url).unwrap();
                fill(&store, dialect);
                let faults = Faults::dead_after(calls);
                let dying: Arc<dyn Store> =
                    Arc::new(ObservedStore::new(store.clone(), faults.clone()));
                let opened = Hierarchy::open(dying, &writing());
                let done = opened.and_then(|hierarchy| eraser.run(&hierarchy));
                let what = format!("{eraser:?} in {dialect}, dead after {calls} calls: {done:?}");
                calls += 1;

                let chunks = |store: &Arc<dyn Store>| {
                    let folder = if dialect == Dialect::Draft { "data/root/g/a/" } else { "g/a/" };
                    let keys = store.to_sync().list().unwrap();
                    let is_chunk = |key: &&StoreKey| {
                        let name = key.as_str().strip_prefix(folder);
                        name.is_some_and(|name| name.ends_with(['0', '1', '2']))
                    };
                    keys.iter().filter(is_chunk).count()
                };
                let document = document(dialect, "g/a");
                // The document of the new array has another fill value.
                let is_old = |text: &str| !text.contains("-1");
                let live = get(&store, &document);
                if copied(&store, dialect).contains(&document) && live.as_deref().is_none_or(is_old)
                {
                    assert_eq!(chunks(&store), 3, "{what}: a copy of an array without chunks");
                    assert!(live.is_some(), "{what}: a copy of an array without a document");
                }
                let found = problems(&url);
                interrupted += usize::from(
                    found.iter().any(|problem| problem.kind == ProblemKind::InterruptedErase),
                );
                let steps = repair(&url);
                let read = Hierarchy::open(store.clone(), &reading()).unwrap();
                if let Ok(array) = read.array(path("/g/a")) {
                    let elements = array.read::<i16>(..).unwrap();
                    let is_new = live.is_some_and(|text| !is_old(&text)) && elements == [-1; 6];
                    assert!(
                        is_new || elements == [1, 2, 3, 4, 5, 6],
                        "{what}: {elements:?} {steps:?}"
                    );
                }
                let b = read.array(path("/b")).unwrap();
                assert_eq!(b.read::<i16>(..).unwrap(), [1, 2, 3, 4, 5, 6], "{what}");
                let left = problems(&url);
                let is_of_group = |problem: &Problem| problem.kind == ProblemKind::InterruptedErase;
                assert!(
                    left.is_empty() || left.iter().any(is_of_group),
                    "{what}: {left:?} {steps:?}"
                );
                // The same erase finishes what is left.
                let again = eraser.run(&writer(&store));
                let is_gone = |e: &zarr::Error| e.kind() == ErrorKind::NotFound;
                assert!(again.as_ref().err().is_none_or(is_gone), "{what}: {again:?}");
                if !matches!(eraser, Eraser::Overwrite) {
                    assert_eq!(chunks(&store), 0, "{what}");
                }
                assert_eq!(problems(&url), [], "{what}");
                if done.is_ok() {
                    break;
                }
                assert!(calls < 200, "{what}: it is never done");
            }
            assert!(
                interrupted > 0,
                "{eraser:?} in {dialect}: {calls} calls, none was interrupted"
            );
        }
    }
}
