//! A copy under way is found by no reader as a complete one, and is gone on with.
#![cfg(all(feature = "memory", feature = "gzip"))]

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use zarr::format::of_dialect;
use zarr::store::{
    Call, Capabilities, ObservedStore, Observer, Outcome, Payload, Precondition, Request, Store,
    StoreKey, StorePrefix, SyncStore, async_trait, from_sync, from_sync_arc,
};
use zarr::stores::MemoryStore;
use zarr::tools::{CopyOptions, Plan, Verify};
use zarr::{Dialect, ErrorKind, Hierarchy, Node, NodePath, Object, OpenOptions, StoreError};
use zarr_testkit::{Counters, sample};

const DIALECTS: [Dialect; 3] = [Dialect::V2, Dialect::V3, Dialect::Draft];

fn writing() -> OpenOptions {
    OpenOptions::new(zarr::standard()).read_write()
}

fn path(text: &str) -> NodePath {
    NodePath::new(text).unwrap()
}

/// A hierarchy with groups, arrays, holes, and elements that are all different.
fn source(dialect: Dialect) -> Hierarchy {
    let store = from_sync(MemoryStore::new());
    let hierarchy = Hierarchy::create(store, of_dialect(dialect), &writing()).unwrap();
    hierarchy.root().unwrap().update_attributes(|all| drop(all.insert("n", 1u64))).unwrap();
    for (at, shape, chunks) in
        [("/a", &[40u64, 30][..], &[7u64, 8][..]), ("/g/b", &[100], &[3]), ("/g/h/c", &[], &[])]
    {
        let array = hierarchy.create_array(at).shape(shape).chunks(chunks).data_type_named("int32");
        let array = array.codec(zarr::tools::codec("gzip:1").unwrap()).create().unwrap();
        let all: Vec<i32> = (1..).take(array.len() as usize).collect();
        array.write(.., &all).unwrap();
    }
    // A hole.
    hierarchy.array("/g/b").unwrap().write(30..60, &[0i32; 30]).unwrap();
    hierarchy
}

fn same(a: &Hierarchy, b: &Hierarchy, at: &str) {
    for node in a.nodes("/").unwrap() {
        let place = format!("{}{}", at.trim_end_matches('/'), node.path().as_str());
        let other = b.node(place.trim_end_matches('/')).unwrap();
        assert_eq!(other.attributes().get("n"), node.attributes().get("n"), "{place}");
        let (Node::Array(a), Node::Array(b)) = (node, other) else { continue };
        assert_eq!(a.read::<i32>(..).unwrap(), b.read::<i32>(..).unwrap(), "{place}");
    }
}

/// Lets the first changes of a store through, and then fails all, as if the process had been killed.
#[derive(Debug)]
struct Killed(AtomicU64);

const CHANGES: [&str; 7] =
    ["put", "erase", "put_unchecked", "erase_unchecked", "put_if", "create", "erase_prefix"];

#[async_trait]
impl Observer for Killed {
    async fn before(&self, request: &Request<'_>) -> Result<(), StoreError> {
        let is_change = CHANGES.contains(&request.operation);
        let one_less = |left: u64| left.checked_sub(1);
        if is_change && self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less).is_err() {
            let dead = std::io::Error::other("the process is dead");
            return Err(StoreError::io("set", request.key)(dead));
        }
        Ok(())
    }

    async fn after(&self, _: &Call<'_>) -> Result<(), StoreError> {
        Ok(())
    }
}

/// A place in a store, for a new hierarchy or in one that is there.
fn target(store: Arc<dyn Store>, dialect: Dialect, is_new: bool) -> Hierarchy {
    if is_new {
        Hierarchy::of_format(store, of_dialect(dialect), &writing())
    } else {
        Hierarchy::open(store, &writing()).unwrap()
    }
}

fn keys(store: &Arc<dyn Store>) -> BTreeSet<String> {
    store.to_sync().list().unwrap().iter().map(|key| key.as_str().to_owned()).collect()
}

fn is_document(key: &str) -> bool {
    [".json", ".zarray", ".zgroup", ".zattrs", ".zmetadata"].iter().any(|end| key.ends_with(end))
}

/// Chunks of the copy among keys.
fn chunks(keys: &BTreeSet<String>) -> BTreeSet<&String> {
    keys.iter().filter(|key| !is_document(key) && !key.starts_with(".zarr-copy/")).collect()
}

fn options(resume: bool) -> CopyOptions<'static> {
    CopyOptions { resume, parts: Some(5), ..CopyOptions::default() }
}

/// Parts end where chunks of the source do: no two of them decode one.
#[test]
fn parts_read_no_chunk_of_the_source_twice() {
    let counters = Counters::default();
    let store = Arc::new(ObservedStore::new(from_sync(MemoryStore::new()), counters.clone()));
    let from = Hierarchy::create(store, of_dialect(Dialect::V3), &writing()).unwrap();
    let array = from.create_array("/a").shape(&[64, 64, 64]).chunks(&[1, 64, 64]);
    let array = array.data_type_named("int32").create().unwrap();
    array.write(.., &vec![7i32; 1 << 18]).unwrap();
    let options =
        CopyOptions { chunks: Some(vec![16, 16, 16]), parts: Some(3), ..CopyOptions::default() };
    let to = target(from_sync(MemoryStore::new()), Dialect::V3, true);
    let plan = zarr::tools::plan_copy(&from.node("/").unwrap(), &to, "/", &options).unwrap();
    let plan = plan.begin(&to, &options).unwrap();
    counters.take();
    for part in 0..3 {
        plan.run(&[part], &from, &to, &options).unwrap();
    }
    let documents = 6;
    let reads = counters.of("get").calls;
    assert!((64..=64 + documents).contains(&reads), "{reads}");
    plan.finish(&to).unwrap();
    same(&from, &Hierarchy::open(to.store().clone(), &writing()).unwrap(), "/");
}

/// Each place at which a copy can be killed, or every seventh of them: no document is there before all chunks are; what is there is found by no reader
/// as a complete copy, and a second run writes only the chunks that are missing.
#[test]
fn a_copy_that_is_killed_anywhere_is_gone_on_with() {
    let from = source(Dialect::V3);
    let root = from.node("/").unwrap();
    let kinds = DIALECTS.into_iter().flat_map(|it| [(it, true), (it, false)]);
    for (kind, (dialect, is_new)) in kinds.enumerate() {
        let at = if is_new { "/" } else { "/x/y" };
        let store = || {
            let store = from_sync(MemoryStore::new());
            if !is_new {
                let there = Hierarchy::create(store.clone(), of_dialect(dialect), &writing());
                let there = there.unwrap();
                there.create_group("/other", Object::new()).unwrap();
                there.consolidate().unwrap();
            }
            store
        };
        let whole = store();
        zarr::tools::copy(&root, &target(whole.clone(), dialect, is_new), at, &options(false))
            .unwrap();
        let whole = keys(&whole);
        let (mut seen, mut changes) = (BTreeSet::new(), sample(kind as u64, 0));
        loop {
            let store = store();
            let before = keys(&store);
            let killed = ObservedStore::new(store.clone(), Killed(AtomicU64::new(changes)));
            let place = format!("{dialect:?} at {at}, killed after {changes} changes");
            let first = zarr::tools::copy(
                &root,
                &target(Arc::new(killed), dialect, is_new),
                at,
                &options(false),
            );
            let left = keys(&store);
            let is_done = chunks(&left) == chunks(&whole);
            let new: BTreeSet<_> = left.difference(&before).collect();
            let has_documents =
                new.iter().any(|key| is_document(key) && !key.starts_with(".zarr-copy"));
            assert!(is_done || !has_documents, "{place}: {new:?}");
            // What a reader of ours finds.
            let found = Hierarchy::open(store.clone(), &OpenOptions::new(zarr::standard()));
            match found.and_then(|found| found.node(at)) {
                Ok(_) => {
                    let found = Hierarchy::open(store.clone(), &writing()).unwrap();
                    same(&from, &found, at);
                    seen.insert("complete");
                }
                Err(e) if e.hint_id() == Some("resume_copy") => {
                    let text = e.to_string();
                    assert!(
                        text.contains("copy under way, ") && text.contains(" % done"),
                        "{text}"
                    );
                    assert!(
                        text.contains("zarr copy memory:") && text.contains("--resume"),
                        "{text}"
                    );
                    assert_eq!(e.kind(), ErrorKind::NotFound);
                    seen.insert("under way");
                }
                Err(e) => {
                    assert_eq!(e.kind(), ErrorKind::NotFound, "{place}: {e}");
                    assert!(chunks(&left).len() == chunks(&before).len(), "{place}: {left:?}");
                    seen.insert("absent");
                }
            }
            if let Ok(progress) = first {
                assert_eq!(progress.bytes_done, progress.bytes_total);
                break;
            }
            // The second run.
            let put = Arc::new(Mutex::new(Vec::new()));
            let noted = put.clone();
            let counted = ObservedStore::new(store.clone(), move |call: &Call<'_>| {
                if call.operation.starts_with("put") && matches!(call.outcome, Outcome::Done) {
                    noted.lock().unwrap().push(call.key.to_owned());
                }
            });
            let again = target(Arc::new(counted), dialect, is_new);
            // After the plan is erased only the end of the journal is left.
            let is_whole = Plan::under_way(&again, &path(at)).unwrap().is_none() && is_done;
            if !is_whole {
                zarr::tools::copy(&root, &again, at, &options(true)).unwrap();
            }
            let put: BTreeSet<String> = put.lock().unwrap().iter().cloned().collect();
            let twice: Vec<_> =
                chunks(&put).intersection(&chunks(&left)).cloned().cloned().collect();
            assert_eq!(twice, Vec::<String>::new(), "{place}");
            let mut now = keys(&store);
            now.retain(|key| !is_whole || !key.starts_with(".zarr-copy/"));
            assert_eq!(now, whole, "{place}");
            same(&from, &Hierarchy::open(store, &writing()).unwrap(), at);
            changes += sample(7, 1);
        }
        assert!(seen.contains("under way") && seen.contains("complete"), "{seen:?}");
        assert!(changes > 60, "{changes}");
    }
}

/// A store that once keeps another value than it was given, as a disk does that loses a bit.
#[derive(Debug)]
struct Spoiling {
    inner: MemoryStore,
    /// The key of the value.
    spoils: Mutex<Option<StoreKey>>,
}

impl SyncStore for Spoiling {
    zarr_testkit::forward_calls!(inner: name get erase_prefix list_prefix list_dir);

    fn capabilities(&self) -> Capabilities {
        Capabilities { create: false, ..self.inner.capabilities() }
    }
    fn put(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        only_if: Precondition<'_>,
    ) -> Result<bool, StoreError> {
        let Some(value) = value else { return self.inner.put(key, None, only_if) };
        let mut bytes = value.into_bytes()?.to_vec();
        let mut spoils = self.spoils.lock().unwrap();
        if spoils.as_ref() == Some(key) {
            *spoils = None;
            spoil(&mut bytes);
        }
        self.inner.put(key, Some(Payload::new(bytes)), only_if)
    }
}

/// Changes an element of a chunk that is stored without compression.
fn spoil(chunk: &mut [u8]) {
    chunk[0] ^= 0x40;
}

/// Each chunk that is written is read back, and one that the store has otherwise is erased and copied again.
#[test]
fn a_copy_that_verifies_notices_what_the_store_spoils() {
    let from = source(Dialect::V3);
    let root = from.node("/").unwrap();
    let key = StoreKey::new("g/b/c/2").unwrap();
    for verify in [Verify::Stored, Verify::No] {
        let spoils = Mutex::new(Some(key.clone()));
        let spoiling = Arc::new(Spoiling { inner: MemoryStore::new(), spoils });
        let to = || target(from_sync_arc(spoiling.clone()), Dialect::V3, true);
        let options =
            CopyOptions { codecs: Some(Vec::new()), verify, resume: true, ..options(true) };
        let copied = zarr::tools::copy(&root, &to(), "/", &options);
        assert!(spoiling.spoils.lock().unwrap().is_none());
        if verify == Verify::Stored {
            let error = copied.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::CorruptData, "{error}");
            assert!(error.to_string().contains("differs from the source"), "{error}");
            assert_eq!(spoiling.inner.value(&key).unwrap(), None);
            zarr::tools::copy(&root, &to(), "/", &options).unwrap();
            same(&from, &Hierarchy::open(from_sync_arc(spoiling), &writing()).unwrap(), "/");
        } else {
            copied.unwrap();
            let found = Hierarchy::open(from_sync_arc(spoiling), &writing()).unwrap();
            assert_ne!(found.array("/g/b").unwrap().read::<i32>(6).unwrap(), [7]);
        }
    }
}

/// A copy of five parts, all chunks of which are stored, without compression, and no document.
fn copied_in_parts(from: &Hierarchy) -> (Arc<dyn Store>, Plan) {
    copied_in_parts_with(from, Some(Vec::new()))
}

/// The same with these codecs; those of the source where there are none.
fn copied_in_parts_with(from: &Hierarchy, codecs: Option<Vec<String>>) -> (Arc<dyn Store>, Plan) {
    let store: Arc<dyn Store> = from_sync(MemoryStore::new());
    let to = target(store.clone(), Dialect::V3, true);
    let options = CopyOptions { codecs, ..options(false) };
    let plan = zarr::tools::plan_copy(&from.node("/").unwrap(), &to, "/", &options).unwrap();
    let plan = plan.begin(&to, &options).unwrap();
    plan.run(&[0, 1, 2, 3, 4], from, &to, &options).unwrap();
    assert_eq!(plan.missing(&to).unwrap(), Vec::<usize>::new());
    (store, plan)
}

/// Erases the values whose keys have a part.
fn erase(store: &Arc<dyn Store>, part: &str) {
    let store = store.to_sync();
    let keys = store.list().unwrap().into_iter().filter(|key| key.as_str().contains(part));
    let keys: Vec<StoreKey> = keys.collect();
    assert!(!keys.is_empty(), "{part}");
    keys.iter().for_each(|key| store.erase(key).unwrap());
}

/// Chunks that a killed copy has stored are looked at, too, before their part counts as done: those that are encoded again,
/// and those that are copied as they are stored.
#[test]
fn a_resumed_copy_that_verifies_looks_at_what_is_there() {
    let from = source(Dialect::V3);
    let root = from.node("/").unwrap();
    let key = StoreKey::new("a/c/1/2").unwrap();
    let codecs = [Some(Vec::new()), None];
    let cases = codecs.iter().flat_map(|codecs| [(codecs, Verify::Stored), (codecs, Verify::No)]);
    for (codecs, verify) in cases {
        let (store, plan) = copied_in_parts_with(&from, codecs.clone());
        assert_eq!(plan.recoded().next().is_none(), codecs.is_none());
        // It was killed before it had noted that the parts are done.
        erase(&store, "/done/");
        let mut chunk = store.to_sync().value(&key).unwrap().unwrap().to_vec();
        spoil(&mut chunk);
        store.to_sync().set(&key, Payload::new(&chunk)).unwrap();
        let to = || target(store.clone(), Dialect::V3, true);
        let options = CopyOptions { codecs: codecs.clone(), verify, ..options(true) };
        let copied = zarr::tools::copy(&root, &to(), "/", &options);
        if verify == Verify::Stored {
            let error = copied.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::CorruptData, "{error}");
            assert_eq!(store.to_sync().value(&key).unwrap(), None);
            zarr::tools::copy(&root, &to(), "/", &options).unwrap();
            same(&from, &Hierarchy::open(store, &writing()).unwrap(), "/");
        } else {
            copied.unwrap();
            let kept = store.to_sync().value(&key).unwrap();
            assert_eq!(kept.as_deref(), Some(&chunk[..]), "nothing looked at it");
        }
    }
}

/// Files that are not Zarr's belong to parts as chunks do. One that is lost, cut off or changed after its part was done is copied
/// again; the others are not.
#[test]
fn files_of_parts_that_are_done_are_compared() {
    let from = source(Dialect::V3);
    let names = ["README.md", "g/notes.txt", "g/movie.bin", "g/table.csv"];
    // The third is compared in several pieces.
    let content = |name: &str| name.repeat(if name.ends_with(".bin") { 400_000 } else { 9 });
    for name in names {
        let key = StoreKey::new(name).unwrap();
        from.store().to_sync().set(&key, content(name).into_bytes().into()).unwrap();
    }
    let (store, _) = copied_in_parts(&from);
    let [lost, cut_off, changed, whole] = names.map(|name| StoreKey::new(name).unwrap());
    let sync = store.to_sync();
    assert_eq!(sync.value(&whole).unwrap().unwrap(), content("g/table.csv"));
    sync.erase(&lost).unwrap();
    sync.set(&cut_off, b"g/no"[..].into()).unwrap();
    let mut other = content("g/movie.bin").into_bytes();
    *other.last_mut().unwrap() ^= 1;
    sync.set(&changed, other.into()).unwrap();
    let put = Arc::new(Mutex::new(BTreeSet::new()));
    let noted = put.clone();
    let observed = ObservedStore::new(store.clone(), move |call: &Call<'_>| {
        if call.operation.starts_with("put") {
            noted.lock().unwrap().insert(call.key.to_owned());
        }
    });
    let to = target(Arc::new(observed), Dialect::V3, true);
    let options = CopyOptions { codecs: Some(Vec::new()), ..options(true) };
    zarr::tools::copy(&from.node("/").unwrap(), &to, "/", &options).unwrap();
    for name in names {
        let value = sync.value(&StoreKey::new(name).unwrap()).unwrap();
        assert!(value.unwrap() == content(name), "{name}");
    }
    let put = put.lock().unwrap();
    assert_eq!(names.map(|name| put.contains(name)), [true, true, true, false], "{put:?}");
    same(&from, &Hierarchy::open(store, &writing()).unwrap(), "/");
}

/// Files are read back as chunks are.
#[test]
fn a_copy_that_verifies_notices_a_file_that_the_store_spoils() {
    let from = source(Dialect::V3);
    let key = StoreKey::new("g/notes.txt").unwrap();
    from.store().to_sync().set(&key, b"of the data"[..].into()).unwrap();
    for verify in [Verify::Stored, Verify::Elements, Verify::No] {
        let spoils = Mutex::new(Some(key.clone()));
        let spoiling = Arc::new(Spoiling { inner: MemoryStore::new(), spoils });
        let to = target(from_sync_arc(spoiling.clone()), Dialect::V3, true);
        let options = CopyOptions { verify, ..options(false) };
        let copied = zarr::tools::copy(&from.node("/").unwrap(), &to, "/", &options);
        assert!(spoiling.spoils.lock().unwrap().is_none());
        assert_eq!(copied.is_err(), verify != Verify::No, "{verify:?}");
        assert_eq!(spoiling.inner.value(&key).unwrap().is_none(), verify != Verify::No);
    }
}

/// A store that is killed while it erases many keys: only the first of them is gone.
#[derive(Debug)]
struct KilledWhileErasing(MemoryStore);

impl SyncStore for KilledWhileErasing {
    zarr_testkit::forward_calls!(0: name capabilities get put create list_prefix list_dir);

    fn erase_prefix(&self, prefix: &StorePrefix) -> Result<(), StoreError> {
        let listing = self.0.list_prefix(prefix)?;
        let Some(first) = listing.keys.first() else { return Ok(()) };
        self.0.erase(first)?;
        if listing.keys.len() == 1 {
            return Ok(());
        }
        Err(StoreError::io("erase_prefix", prefix)(std::io::Error::other("the process is dead")))
    }
}

/// What is left of the journal of a finished copy is no copy under way: to go on with that would erase its chunks first.
#[test]
fn a_copy_that_was_killed_while_its_journal_was_erased_is_finished() {
    let from = source(Dialect::V3);
    let store = Arc::new(KilledWhileErasing(MemoryStore::new()));
    let to = || target(from_sync_arc(store.clone()), Dialect::V3, true);
    let root = from.node("/").unwrap();
    let killed = zarr::tools::copy(&root, &to(), "/", &options(false)).unwrap_err();
    assert!(killed.to_string().contains("the process is dead"), "{killed}");
    let left = keys(&from_sync_arc(store.clone()));
    assert!(left.iter().any(|key| key.starts_with(".zarr-copy/")), "{left:?}");
    assert!(Plan::under_way(&to(), &path("/")).unwrap().is_none(), "{left:?}");
    same(&from, &Hierarchy::open(from_sync_arc(store), &writing()).unwrap(), "/");
}

/// The journal of a copy may end before all of it is erased. What is left of it says nothing of the next copy.
#[test]
fn marks_of_an_older_copy_are_not_those_of_a_new_one() {
    let from = source(Dialect::V3);
    let (store, _) = copied_in_parts(&from);
    erase(&store, "/plan.json");
    for chunks in ["a/c/", "g/b/c/", "g/h/c/c"] {
        erase(&store, chunks);
    }
    assert!(keys(&store).iter().any(|key| key.contains("/done/")), "marks are left");
    let to = target(store.clone(), Dialect::V3, true);
    let options = CopyOptions { codecs: Some(Vec::new()), ..options(false) };
    let plan = zarr::tools::plan_copy(&from.node("/").unwrap(), &to, "/", &options).unwrap();
    let plan = plan.begin(&to, &options).unwrap();
    assert_eq!(plan.missing(&to).unwrap(), [0, 1, 2, 3, 4]);
    let refused = plan.finish(&to).unwrap_err();
    assert!(refused.to_string().contains("not all parts are done"), "{refused}");
    assert!(!keys(&store).contains("zarr.json"));
    plan.run(&[0, 1, 2, 3, 4], &from, &to, &options).unwrap();
    plan.finish(&to).unwrap();
    same(&from, &Hierarchy::open(store, &writing()).unwrap(), "/");
}

/// A copy that was killed before it had cleared its place does not take what others have left there for its own.
#[test]
fn what_others_have_left_is_erased_before_a_copy_is_gone_on_with() {
    let from = source(Dialect::V3);
    let (store, _) = copied_in_parts(&from);
    erase(&store, "/done/");
    erase(&store, "/cleared-");
    let key = StoreKey::new("g/b/c/2").unwrap();
    store.to_sync().set(&key, Payload::new(vec![9; 12])).unwrap();
    let root = from.node("/").unwrap();
    let to = || target(store.clone(), Dialect::V3, true);
    let in_parts = CopyOptions { codecs: Some(Vec::new()), ..options(true) };
    // One of several processes does not: another one may be erasing them, and copy at once.
    let refused = zarr::tools::copy(&root, &to(), "/", &in_parts).unwrap_err();
    assert!(refused.to_string().contains("leftover chunks where the copy"), "{refused}");
    let whole = CopyOptions { parts: None, ..in_parts };
    zarr::tools::copy(&root, &to(), "/", &whole).unwrap();
    same(&from, &Hierarchy::open(store, &writing()).unwrap(), "/");
}

/// Of two copies that are planned at the same time the second does not go on with the first, unless they are the same.
#[test]
fn a_copy_does_not_go_on_with_another_one() {
    let from = source(Dialect::V3);
    let root = from.node("/").unwrap();
    let to = target(from_sync(MemoryStore::new()), Dialect::V3, true);
    let other = CopyOptions { codecs: Some(Vec::new()), ..options(true) };
    let planned = |options| zarr::tools::plan_copy(&root, &to, "/", options).unwrap();
    let [first, same, second] = [&options(true), &options(true), &other].map(planned);
    first.begin(&to, &options(true)).unwrap();
    same.begin(&to, &options(true)).unwrap();
    let refused = second.begin(&to, &other).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Argument);
    assert!(refused.to_string().contains("a different one"), "{refused}");
}

/// A part whose chunks were erased after it was done is copied again.
#[test]
fn a_part_that_is_done_is_looked_at() {
    let from = source(Dialect::V3);
    let (store, plan) = copied_in_parts(&from);
    erase(&store, "g/b/c/");
    erase(&store, "g/h/c/c");
    let to = target(store.clone(), Dialect::V3, true);
    let options = CopyOptions { codecs: Some(Vec::new()), ..options(true) };
    plan.run(&[0, 1, 2, 3, 4], &from, &to, &options).unwrap();
    plan.finish(&to).unwrap();
    same(&from, &Hierarchy::open(store, &writing()).unwrap(), "/");
}

/// Erasing the place of a copy under way takes its journal along: no later copy goes on with what is gone.
#[test]
fn erasing_a_copy_under_way_takes_its_journal_along() {
    let from = source(Dialect::V3);
    let root = from.node("/").unwrap();
    for dialect in DIALECTS {
        let store: Arc<dyn Store> = from_sync(MemoryStore::new());
        let there = Hierarchy::create(store.clone(), of_dialect(dialect), &writing()).unwrap();
        there.create_group("/other", Object::new()).unwrap();
        let before = keys(&store);
        let to = target(store.clone(), dialect, false);
        let plan = zarr::tools::plan_copy(&root, &to, "/x/y", &options(false)).unwrap();
        plan.begin(&to, &options(false))
            .unwrap()
            .run(&[1, 3], &from, &to, &options(false))
            .unwrap();
        assert!(keys(&store).len() > before.len() + 2, "{dialect:?}");
        to.erase("/x/y").unwrap();
        assert_eq!(keys(&store), before, "{dialect:?}");
        assert!(Plan::under_way(&to, &path("/x/y")).unwrap().is_none(), "{dialect:?}");
    }
}

/// Arrays that are copied into a group that is there are in its consolidated metadata afterwards.
#[test]
fn nodes_that_are_copied_into_a_consolidated_group_are_in_its_metadata() {
    for dialect in [Dialect::V2, Dialect::V3] {
        let from = source(dialect);
        let store = from_sync(MemoryStore::new());
        let to = Hierarchy::create(store.clone(), of_dialect(dialect), &writing()).unwrap();
        to.create_group("/g", Object::new()).unwrap();
        let only =
            |name: &str| CopyOptions { only: Some([path(name)].into()), ..CopyOptions::default() };
        let root = Node::Group(from.root().unwrap());
        zarr::tools::copy(&root, &to, "/", &only("/a")).unwrap();
        to.consolidate().unwrap();
        zarr::tools::copy(&root, &to, "/", &only("/g/b")).unwrap();
        let found = Hierarchy::open(store, &writing()).unwrap();
        assert!(found.is_consolidated().unwrap());
        assert_eq!(found.check_consolidated().unwrap(), [], "{dialect:?}");
        assert_eq!(found.nodes("/").unwrap().len(), 4, "{dialect:?}");
    }
}

/// Two handles of one store in memory are one place, and what is in it stays.
#[test]
fn a_copy_does_not_overwrite_its_source_in_memory() {
    let memory = MemoryStore::new();
    let open = || Hierarchy::open(from_sync(memory.clone()), &writing()).unwrap();
    let made = Hierarchy::create(from_sync(memory.clone()), of_dialect(Dialect::V3), &writing());
    let array = made.unwrap().create_array("/g/a").shape(&[3]).data_type_named("int8").create();
    array.unwrap().write(.., &[1i8, 2, 3]).unwrap();
    let before = keys(&from_sync(memory.clone()));
    let all = CopyOptions { overwrite: true, ..CopyOptions::default() };
    for (from, at) in [("/", "/"), ("/g", "/"), ("/g/a", "/g"), ("/g", "/g/a"), ("/g/a", "/g/a")] {
        let (source, target) = (open(), open());
        let refused =
            zarr::tools::copy(&source.node(from).unwrap(), &target, at, &all).unwrap_err();
        assert!(refused.to_string().contains("would erase"), "{from} to {at}: {refused}");
        assert_eq!(keys(&from_sync(memory.clone())), before, "{from} to {at}");
        // One handle is told before anything is put.
        assert!(zarr::tools::plan_copy(&source.node(from).unwrap(), &source, at, &all).is_err());
    }
    zarr::tools::copy(&open().node("/g/a").unwrap(), &open(), "/b", &all).unwrap();
    assert_eq!(open().array("/b").unwrap().read::<i8>(..).unwrap(), [1, 2, 3]);
}
