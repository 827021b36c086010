//! A repair dies at each change that it makes, or meets other writers: every byte is kept, and what others write stays.

#![cfg(all(
    feature = "memory",
    feature = "filesystem",
    feature = "zip",
    feature = "lmdb",
    feature = "sharding"
))]

use crate::repairs;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::repairs::{KINDS, Place, chunk, document, edit, fill, key, set};
use zarr::store::{
    Call, GetOptions, ObservedStore, Observer, Payload, Request, Store, async_trait,
};
use zarr::tools::repair::{RepairOptions, RepairStep, StepState};
use zarr::{Dialect, OpenOptions, StoreError};
use zarr_testkit::sample;

fn is_change(operation: &str) -> bool {
    ["put", "erase", "create"].iter().any(|start| operation.starts_with(start))
}

fn died(request: &Request<'_>) -> StoreError {
    let source = std::io::Error::other("the process died here, on purpose");
    StoreError::Io { operation: request.operation, key: request.key.to_owned(), source }
}

/// After some changes, every further call fails: what a killed process leaves.
#[derive(Clone, Debug)]
struct Dies {
    after: u64,
    changes: Arc<AtomicU64>,
}

#[async_trait]
impl Observer for Dies {
    async fn before(&self, request: &Request<'_>) -> Result<(), StoreError> {
        let made = if is_change(request.operation) {
            self.changes.fetch_add(1, Ordering::Relaxed)
        } else {
            self.changes.load(Ordering::Relaxed)
        };
        if made > self.after || made == self.after && is_change(request.operation) {
            return Err(died(request));
        }
        Ok(())
    }

    async fn after(&self, _: &Call<'_>) -> Result<(), StoreError> {
        Ok(())
    }
}

fn through(observer: impl Observer + Clone) -> OpenOptions {
    repairs::options()
        .wrap(move |store| Arc::new(ObservedStore::new(store, observer.clone())) as Arc<dyn Store>)
}

/// Chunks, documents, shards and strays, all damaged.
fn damaged(kind: &str, dialect: Dialect) -> Place {
    let place = Place::new(kind);
    fill(&place, dialect);
    if dialect == Dialect::V3 {
        let array = zarr::open_rw(&place.url).expect("opened").into_group().expect("a group");
        let array = array.create_array("s").shape(&[8, 8]).chunks(&[2, 2]);
        let array = array.shards(&[4, 4]).data_type_named("int32");
        let array =
            array.codec(zarr::tools::codec("gzip").expect("known")).create().expect("created");
        array.write(.., &repairs::shard_numbers()).expect("written");
        array.hierarchy().flush().expect("flushed");
    }
    place.change(|store| {
        edit(store, &chunk(dialect, 0, 1), |bytes| bytes.truncate(9));
        set(store, &chunk(dialect, 7, 7), b"outside the grid");
        set(store, "notes.txt", b"notes of a person");
        edit(store, document(dialect), |bytes| bytes.truncate(bytes.len() / 2));
        if dialect == Dialect::V3 {
            edit(store, "s/c/0/0", |bytes| bytes[3] ^= 0xff);
            edit(store, "s/c/0/1", |bytes| {
                let end = bytes.len() - 1;
                bytes[end] ^= 1;
            });
            edit(store, "s/c/1/1", |bytes| bytes.truncate(30));
        }
    });
    place
}

#[test]
fn a_repair_that_dies_at_any_change_loses_nothing_and_is_finished_by_the_next() {
    for (n, kind) in KINDS.into_iter().enumerate() {
        // What differs between dialects does not depend on the store.
        let others = [Dialect::V2, Dialect::Draft].into_iter().filter(|_| kind == "memory");
        for (which, dialect) in [Dialect::V3].into_iter().chain(others).enumerate() {
            // Each change, or every third from another one on for each kind.
            let first = sample((n + which) as u64 % 3, 0);
            for after in (first..).step_by(sample(3, 1)) {
                let place = damaged(kind, dialect);
                let before = place.values();
                let dies = Dies { after, changes: Arc::default() };
                let how = RepairOptions::new().apply(true);
                let ended = place.repair_through(&through(dies.clone()), &how);
                let what = format!("{kind} {dialect}, dead after {after} changes");
                let left = place.values();
                let kept: Vec<&Vec<u8>> = left
                    .iter()
                    .filter(|(key, _)| key.starts_with(".zarr-quarantine/"))
                    .map(|(_, value)| value)
                    .collect();
                for (key, value) in &before {
                    let is_kept = left.get(key) == Some(value) || kept.contains(&value);
                    assert!(is_kept, "{what}: {key} is lost: {ended:?}");
                }
                let (report, steps) = place.repair(&how);
                assert!(report.left == 0, "{what}: {report:?} {steps:?}");
                let (report, steps) = place.repair(&how);
                assert!(report.steps == 0, "{what}: {report:?} {steps:?}");
                assert!(place.problems().is_empty(), "{what}: {:?}", place.problems());
                let changes = dies.changes.load(Ordering::Relaxed);
                if changes <= after {
                    assert!(changes >= 9, "{kind} {dialect}: {changes}");
                    break;
                }
            }
        }
    }
}

/// Spoils the first value that is put into the quarantine, as soon as it is there.
#[derive(Clone)]
struct Spoils {
    store: Arc<dyn Store>,
    is_done: Arc<AtomicBool>,
}

#[async_trait]
impl Observer for Spoils {
    async fn after(&self, call: &Call<'_>) -> Result<(), StoreError> {
        let is_copy = call.key.starts_with(".zarr-quarantine/g/") && is_change(call.operation);
        if is_copy && !self.is_done.swap(true, Ordering::Relaxed) {
            edit(&*self.store.to_sync(), call.key, |bytes| bytes[0] ^= 1);
        }
        Ok(())
    }
}

/// The copy in the quarantine is read back before the value is erased.
#[test]
fn a_value_whose_copy_is_spoiled_stays() {
    for kind in ["memory", "folder", "lmdb"] {
        let place = Place::new(kind);
        fill(&place, Dialect::V3);
        let name = chunk(Dialect::V3, 0, 1);
        place.change(|store| edit(store, &name, |bytes| bytes.truncate(9)));
        let before = place.values()[&name].clone();
        let spoils = Spoils { store: place.store(), is_done: Arc::default() };
        let how = RepairOptions::new().apply(true);
        let (report, steps) =
            place.repair_through(&through(spoils.clone()), &how).expect("it ends");
        assert!(spoils.is_done.load(Ordering::Relaxed), "{kind}: {steps:?}");
        assert!(report.left > 0, "{kind}: {steps:?}");
        assert_eq!(steps[0].state, StepState::Failed, "{kind}: {steps:?}");
        assert_eq!(place.values().get(&name), Some(&before), "{kind}: {steps:?}");
        // The next repair makes another copy.
        let (report, steps) = place.repair(&how);
        assert_eq!(report.left, 0, "{kind}: {steps:?}");
        let kept = place.values();
        let kept = kept.iter().filter(|(key, _)| key.starts_with(".zarr-quarantine/"));
        assert!(kept.map(|(_, value)| value).any(|value| *value == before), "{kind}");
    }
}

/// Another program writes some keys right before a change of one of them, or of its copy.
#[derive(Clone)]
struct Meddles {
    store: Arc<dyn Store>,
    /// What the other program writes, by key; `None` for an erase.
    writes: Arc<BTreeMap<String, Option<Vec<u8>>>>,
    /// Before the change of the key, or, if not, before its copy is made.
    late: bool,
}

#[async_trait]
impl Observer for Meddles {
    async fn before(&self, request: &Request<'_>) -> Result<(), StoreError> {
        if !is_change(request.operation) {
            return Ok(());
        }
        for (name, value) in self.writes.iter() {
            let copy = format!(".zarr-quarantine/{name}");
            let is_now =
                if self.late { request.key == name } else { request.key.starts_with(&copy) };
            let now = self.store.get(&key(name), GetOptions::default()).await?;
            let now = now.and_then(|got| got.bytes).map(|bytes| bytes.to_vec());
            if is_now && now != *value {
                let value = value.clone().map(Payload::new);
                self.store.put(&key(name), value, zarr::store::Precondition::Always).await?;
            }
        }
        Ok(())
    }

    async fn after(&self, _: &Call<'_>) -> Result<(), StoreError> {
        Ok(())
    }
}

#[test]
fn what_another_program_writes_stays() {
    // A zip archive has one writer at a time.
    for kind in ["memory", "folder", "lmdb"] {
        for late in [false, true] {
            let sound = Place::new("memory");
            fill(&sound, Dialect::V3);
            let sound = sound.values();
            let place = damaged(kind, Dialect::V3);
            let shard = place.values()["s/c/1/0"].clone();
            let names = [chunk(Dialect::V3, 0, 1), document(Dialect::V3).to_owned()];
            let mut writes: BTreeMap<String, Option<Vec<u8>>> =
                names.iter().map(|name| (name.clone(), Some(sound[name].clone()))).collect();
            // A shard that is written anew, one that is mended, and a chunk outside the grid that another program erases.
            writes.insert("s/c/0/0".into(), Some(shard.clone()));
            writes.insert("s/c/0/1".into(), Some(shard));
            writes.insert(chunk(Dialect::V3, 7, 7), None);
            let meddles = Meddles { store: place.store(), writes: Arc::new(writes.clone()), late };
            let how = RepairOptions::new().apply(true);
            let (_, steps) = place.repair_through(&through(meddles), &how).expect("repaired");
            let what = format!("{kind} {late}: {steps:?}");
            let after = place.values();
            for (name, value) in &writes {
                assert_eq!(after.get(name), value.as_ref(), "{what}: {name}");
                let step = steps.iter().find(|step| step.key.as_ref() == Some(name));
                let state = step.map(|step| step.state);
                assert_eq!(state, Some(StepState::Overtaken), "{what}: {name}");
            }
            assert!(place.problems().is_empty(), "{what}: {:?}", place.problems());
        }
    }
}

/// A document that is restored from its copy is not set over one that another program has written meanwhile.
#[test]
fn a_document_that_another_program_writes_first_stays() {
    for kind in ["memory", "folder", "lmdb"] {
        let place = Place::new(kind);
        fill(&place, Dialect::V3);
        let name = document(Dialect::V3).to_owned();
        let text = String::from_utf8(place.values()[&name].clone()).expect("text");
        let theirs = text.replacen('{', r#"{"theirs":{"must_understand":false},"#, 1).into_bytes();
        place.change(|store| store.erase(&key(&name)).expect("erased"));
        let writes = BTreeMap::from([(name.clone(), Some(theirs.clone()))]);
        let meddles = Meddles { store: place.store(), writes: Arc::new(writes), late: true };
        let how = RepairOptions::new().apply(true);
        let (_, steps) = place.repair_through(&through(meddles), &how).expect("repaired");
        let step = steps.iter().find(|step| step.key.as_ref() == Some(&name));
        let state = step.map(|step| step.state);
        assert_eq!(state, Some(StepState::Overtaken), "{kind}: {steps:?}");
        assert_eq!(place.values().get(&name), Some(&theirs), "{kind}: {steps:?}");
    }
}

/// A value that another program has mended since it was found to be damaged is looked at again, and stays.
#[test]
fn a_value_that_was_mended_meanwhile_stays() {
    for kind in ["memory", "folder", "lmdb"] {
        let place = Place::new(kind);
        fill(&place, Dialect::V3);
        let sound = place.values();
        let names = [chunk(Dialect::V3, 0, 0), chunk(Dialect::V3, 2, 1)];
        place.change(|store| {
            names.iter().for_each(|name| edit(store, name, |bytes| bytes.truncate(9)));
        });
        let (mut mended, mut states) = (None, BTreeMap::new());
        // When the first is repaired, the other is mended.
        let mut told = |step: &RepairStep| {
            let name = step.key.clone().expect("a chunk's");
            if mended.is_none() {
                let other = names.iter().find(|other| **other != name).expect("two");
                place.change(|store| set(store, other, &sound[other]));
                mended = Some(other.clone());
            }
            states.insert(name, step.state);
        };
        let how = RepairOptions::new().apply(true);
        zarr::tools::repair::repair(&place.url, "/", &repairs::options(), &how, &mut told)
            .expect("done");
        let mended = mended.expect("there was a step");
        assert_eq!(states.get(&mended), Some(&StepState::Overtaken), "{kind}: {states:?}");
        let values = place.values();
        assert_eq!(values.get(&mended), sound.get(&mended), "{kind}");
        assert!(!values.contains_key(&format!(".zarr-quarantine/{mended}")), "{kind}");
    }
}

/// So do documents: one that was to be corrected, and one that was to be restored from its consolidated copy.
#[test]
fn a_document_that_was_mended_meanwhile_stays() {
    for kind in ["memory", "folder", "lmdb"] {
        for dialect in [Dialect::V2, Dialect::V3] {
            let place = Place::new(kind);
            let names = place.with_arrays(dialect, ["one", "two"]);
            let root = zarr::open_rw(&place.url).expect("opened").into_group().expect("a group");
            let theirs: BTreeMap<String, Vec<u8>> = names
                .iter()
                .map(|name| {
                    let text = String::from_utf8(place.values()[name].clone()).expect("text");
                    (name.clone(), text.replacen("[4]", "[7]", 1).into_bytes())
                })
                .collect();
            match dialect {
                // No reader is sure of this version (a correction).
                Dialect::V2 => place.change(|store| {
                    for name in &names {
                        edit(store, name, |bytes| {
                            let text = String::from_utf8(bytes.clone()).expect("text");
                            *bytes =
                                text.replace("\"zarr_format\": 2", "\"zarr_format\": \"2\"").into();
                        });
                    }
                }),
                _ => {
                    root.hierarchy().consolidate().expect("consolidated");
                    root.hierarchy().flush().expect("flushed");
                    place.change(|store| {
                        for name in &names {
                            edit(store, name, |bytes| bytes.truncate(bytes.len() / 2));
                        }
                    });
                }
            }
            let (mut mended, mut states) = (None, BTreeMap::new());
            let mut told = |step: &RepairStep| {
                let Some(name) = step.key.clone() else { return };
                if mended.is_none() {
                    let other = names.iter().find(|other| **other != name).expect("two");
                    place.change(|store| set(store, other, &theirs[other]));
                    mended = Some(other.clone());
                }
                states.entry(name).or_insert(step.state);
            };
            let how = RepairOptions::new().apply(true);
            zarr::tools::repair::repair(&place.url, "/", &repairs::options(), &how, &mut told)
                .expect("done");
            let mended = mended.expect("there was a step");
            let what = format!("{kind} {dialect:?}: {states:?}");
            assert_eq!(states.get(&mended), Some(&StepState::Overtaken), "{what}");
            assert_eq!(place.values().get(&mended), theirs.get(&mended), "{what}");
            assert!(states.values().any(|state| *state == StepState::Done), "{what}");
        }
    }
}
