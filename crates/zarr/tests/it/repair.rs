//! What `repair` does about each kind of damage: nothing is found afterwards, every byte is kept, and what was sound is unchanged.

#![cfg(all(
    feature = "memory",
    feature = "filesystem",
    feature = "zip",
    feature = "lmdb",
    feature = "sharding"
))]

use crate::repairs;
use crate::repairs::{
    KINDS, Place, Values, chunk, document, edit, fill, fill_shards, key, set, shard_numbers, stray,
};
use std::fs::File;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use zarr::tools::repair::{RepairAction, RepairOptions, StepState, restore};

use zarr::store::{Capabilities, Payload, Precondition, Store, StoreKey, SyncStore, from_sync};
use zarr::tools::{Level, ProblemKind};
use zarr::{Dialect, Guard, StoreError};

type Damage = fn(&dyn SyncStore, Dialect);

const DIALECTS: [Dialect; 3] = [Dialect::V3, Dialect::V2, Dialect::Draft];

/// Damage that is repaired at once, by its name.
const DAMAGES: [(&str, Damage); 9] = [
    ("a truncated chunk", |store, dialect| {
        edit(store, &chunk(dialect, 0, 1), |bytes| bytes.truncate(9));
    }),
    ("a chunk with a wrong checksum", |store, dialect| {
        edit(store, &chunk(dialect, 1, 1), |bytes| {
            let at = bytes.len() - 6;
            bytes[at] ^= 1;
        });
    }),
    ("an empty chunk", |store, dialect| set(store, &chunk(dialect, 2, 2), b"")),
    ("a chunk outside the grid", |store, dialect| set(store, &chunk(dialect, 0, 3), b"bytes")),
    ("strays", |store, dialect| {
        set(store, stray(dialect), b"x");
        set(store, "notes.txt", b"notes of a person");
    }),
    ("a broken document with a copy", |store, dialect| {
        edit(store, document(dialect), |bytes| bytes.truncate(bytes.len() / 2));
    }),
    ("a lost document with a copy", |store, dialect| {
        store.erase(&key(document(dialect))).expect("erased");
    }),
    ("copies that are out of date", |store, dialect| {
        edit(store, document(dialect), |bytes| {
            let text = String::from_utf8(bytes.clone()).expect("text");
            *bytes = text.replacen('{', "{ ", 1).into_bytes();
            let at = text.find("\"shape\"").expect("a shape");
            let end = at + text[at..].find('6').expect("a length");
            bytes[end + 2] = b'5';
        });
    }),
    ("several at once", |store, dialect| {
        edit(store, &chunk(dialect, 0, 0), |bytes| bytes.truncate(3));
        edit(store, &chunk(dialect, 2, 1), |bytes| bytes.push(7));
        set(store, &chunk(dialect, 9, 9), b"outside");
        set(store, stray(dialect), b"a stray");
    }),
];

/// Every value that was there is there still, at its key or in the quarantine.
fn assert_all_kept(before: &Values, after: &Values, what: &str) {
    let quarantined: Vec<&Vec<u8>> = after
        .iter()
        .filter(|(key, _)| key.starts_with(".zarr-quarantine/"))
        .map(|(_, bytes)| bytes)
        .collect();
    for (key, bytes) in before {
        let is_kept = after.get(key) == Some(bytes) || quarantined.contains(&bytes);
        assert!(is_kept, "{what}: the {} bytes of {key} are lost", bytes.len());
    }
}

#[test]
fn damage_is_gone_afterwards_and_every_byte_is_kept() {
    for (n, kind) in KINDS.into_iter().enumerate() {
        for (which, dialect) in DIALECTS.into_iter().enumerate() {
            // What differs between damages does not depend on the store: others than memory meet every third.
            let is_all = kind == "memory" || zarr_testkit::sample(false, true);
            let first = if is_all { 0 } else { (n + which) % 3 };
            for (name, damage) in
                DAMAGES.into_iter().skip(first).step_by(if is_all { 1 } else { 3 })
            {
                let what = format!("{kind} {dialect} {name}");
                let place = Place::new(kind);
                fill(&place, dialect);
                assert!(place.problems().is_empty(), "{what}: {:?}", place.problems());
                let sound = place.values();
                place.change(|store| damage(store, dialect));
                let damaged = place.values();
                assert!(!place.problems().is_empty(), "{what}: not found");

                let (planned, steps) = place.repair(&RepairOptions::new());
                assert!(planned.steps > 0 && planned.done == 0 && !planned.is_sound(), "{what}");
                let all_planned = steps.iter().all(|step| step.state == StepState::Planned);
                assert!(all_planned, "{what}: {steps:?}");
                assert_eq!(place.values(), damaged, "{what}: a plan writes nothing");

                let (report, steps) = place.repair(&RepairOptions::new().apply(true));
                assert!(report.is_sound(), "{what}: {report:?} {steps:?}");
                assert_eq!(report.done, report.steps, "{what}: {steps:?}");
                let after = place.values();
                assert_all_kept(&damaged, &after, &what);
                assert!(place.problems().is_empty(), "{what}: {:?}", place.problems());
                // What was not damaged is what it was.
                let is_changed = |key: &String| damaged.get(key) != sound.get(key);
                for (key, bytes) in sound.iter().filter(|(key, _)| !is_changed(key)) {
                    let is_holder = key.ends_with(".zmetadata") || key == "zarr.json";
                    assert!(is_holder || after.get(key) == Some(bytes), "{what}: {key} changed");
                }
                let (again, steps) = place.repair(&RepairOptions::new().apply(true));
                assert_eq!(again.steps, 0, "{what}: {steps:?}");
            }
        }
    }
}

/// A document that consolidated metadata have is written from them, in the place of a lost or a broken one.
#[test]
fn documents_come_back_with_all_their_chunks() {
    for dialect in DIALECTS {
        for (name, damage) in &DAMAGES[5..7] {
            let place = Place::new("memory");
            fill(&place, dialect);
            place.change(|store| damage(store, dialect));
            let (_, steps) = place.repair(&RepairOptions::new().apply(true));
            let restored = steps.iter().filter(|s| s.action == RepairAction::RestoreDocument);
            assert_eq!(restored.count(), 1, "{dialect} {name}: {steps:?}");
            let array = zarr::open(&place.url).expect("opened").into_group().expect("a group");
            let numbers: Vec<i32> = array.array("g/a").expect("there").read(..).expect("read");
            assert_eq!(numbers, (1..=36).collect::<Vec<i32>>(), "{dialect} {name}");
        }
    }
}

/// What is moved comes back, key by key.
#[test]
fn all_can_be_moved_back() {
    for kind in KINDS {
        let place = Place::new(kind);
        fill(&place, Dialect::V3);
        place.change(|store| DAMAGES[8].1(store, Dialect::V3));
        let damaged = place.values();
        for round in 0..2 {
            let (report, _) = place.repair(&RepairOptions::new().apply(true));
            assert_eq!(report.done, 4, "{kind} {round}");
            let mut told = 0;
            let left = restore(&place.url, "/", &repairs::options(), true, &mut |value| {
                assert!(value.is_back, "{kind}: {value:?}");
                told += 1;
            });
            assert_eq!((left.expect("restored"), told), (0, 4), "{kind} {round}");
            assert_eq!(place.values(), damaged, "{kind} {round}");
        }
        // A key that has a value again keeps it.
        place.repair(&RepairOptions::new().apply(true));
        let stray = stray(Dialect::V3);
        place.change(|store| set(store, stray, b"a new one"));
        let left = restore(&place.url, "/", &repairs::options(), true, &mut |_| {});
        assert_eq!(left.expect("restored"), 1, "{kind}");
        assert_eq!(place.values()[stray], b"a new one", "{kind}");
        let aside = format!(".zarr-quarantine/{stray}");
        assert_eq!(place.values()[&aside], b"a stray", "{kind}");
    }
}

/// Chunks without an array may be an array that lost its document; they are moved when a person asks for it.
#[test]
fn orphans_move_only_when_asked() {
    for dialect in DIALECTS {
        let place = Place::new("folder");
        fill(&place, dialect);
        zarr::open_rw(&place.url)
            .and_then(|node| node.hierarchy().remove_consolidated().map(drop))
            .expect("removed");
        place.change(|store| {
            store.erase(&key(document(dialect))).expect("erased");
            if dialect == Dialect::V2 {
                set(store, "g/a/.zattrs", b"{\"units\": \"K\"}");
            }
        });
        let before = place.values();
        let (report, steps) = place.repair(&RepairOptions::new().apply(true));
        assert!(!report.is_sound() && report.done == 0, "{dialect}: {steps:?}");
        assert_eq!(place.values(), before, "{dialect}");
        let (report, steps) = place.repair(&RepairOptions::new().apply(true).orphans(true));
        assert!(report.is_sound(), "{dialect}: {report:?} {steps:?}");
        assert_all_kept(&before, &place.values(), "orphans");
        assert!(place.problems().is_empty(), "{dialect}: {:?}", place.problems());
    }
}

/// A second value of one key has another name in the quarantine, and so has one that would be a folder there.
#[test]
fn names_in_the_quarantine_are_free() {
    let place = Place::new("folder");
    fill(&place, Dialect::V3);
    let stray = stray(Dialect::V3);
    let (below, numbered) = (format!("{stray}/7"), format!("{stray}.1"));
    for (stray, bytes) in
        [(stray, "1"), (stray, "2"), (&below, "3"), (&below, "4"), (&numbered, "5")]
    {
        place.change(|store| set(store, stray, bytes.as_bytes()));
        let (report, steps) = place.repair(&RepairOptions::new().level(Level::Keys).apply(true));
        assert_eq!((report.steps, report.done), (1, 1), "{stray}: {steps:?}");
    }
    // One in a folder that is called like that of the records.
    place.change(|store| set(store, ".records/0", b"6"));
    let how = RepairOptions::new().level(Level::Keys).apply(true).orphans(true);
    let (report, steps) = place.repair(&how);
    assert_eq!(report.done, 1, "{steps:?}");
    let values = place.values();
    for bytes in ["1", "2", "3", "4", "5", "6"] {
        let found = values.values().filter(|value| **value == bytes.as_bytes()).count();
        assert_eq!(found, 1, "{bytes}: {:?}", values.keys());
    }
    let mut back = 0;
    restore(&place.url, "/", &repairs::options(), true, &mut |value| {
        back += u64::from(value.is_back);
    })
    .expect("restored");
    assert!(back >= 2, "{back}");
    assert!(!place.values().keys().any(|key| key.starts_with(".zarr-quarantine/x/zarr.json")));
}

/// The shards of `/s` with one of them changed; then repaired.
fn with_shard(place: &Place, name: &str, bytes: &[u8], what: &str) -> (Vec<i32>, Vec<StepState>) {
    place.change(|store| set(store, name, bytes));
    let damaged = place.values();
    let (report, steps) = place.repair(&RepairOptions::new().apply(true));
    assert!(report.is_sound(), "{what}: {steps:?}");
    assert_all_kept(&damaged, &place.values(), what);
    let group = zarr::open_group(&place.url).expect("opened");
    let numbers = group.array("s").expect("there").read(..).expect("read");
    (numbers, steps.iter().map(|step| step.state).collect())
}

/// Each byte of an index, changed: the shard is what it was, byte for byte.
#[test]
fn an_index_with_a_wrong_byte_is_found_again() {
    for codec in [None, Some("gzip"), Some("zstd:3")] {
        let place = Place::new("memory");
        fill_shards(&place, codec);
        let name = "s/c/1/0";
        let sound = place.values()[name].clone();
        for at in sound.len() - 68..sound.len() {
            let mut bytes = sound.clone();
            bytes[at] ^= 1 << (at % 8);
            let what = format!("{codec:?}, byte {at} of {}", sound.len());
            let (numbers, _) = with_shard(&place, name, &bytes, &what);
            assert_eq!(numbers, shard_numbers(), "{what}");
            assert_eq!(place.values()[name], sound, "{what}");
        }
    }
}

/// Entries that look like those of other inner chunks: only the checksum tells whose each is.
#[test]
fn exchanged_offsets_do_not_mislead() {
    for codec in [None, Some("gzip")] {
        let place = Place::new("memory");
        fill_shards(&place, codec);
        let name = "s/c/1/1";
        let sound = place.values()[name].clone();
        let index = sound.len() - 68;
        let entry = |number: usize| index + 16 * number..index + 16 * number + 8;
        for (one, other) in [(0, 1), (1, 3), (2, 0)] {
            let mut bytes = sound.clone();
            bytes[entry(one)].copy_from_slice(&sound[entry(other)]);
            bytes[entry(other)].copy_from_slice(&sound[entry(one)]);
            for number in [one, other] {
                bytes[entry(number).end + 5] ^= 1;
            }
            let what = format!("{codec:?}, {one} and {other}");
            let (numbers, _) = with_shard(&place, name, &bytes, &what);
            assert_eq!(numbers, shard_numbers(), "{what}");
            assert_eq!(place.values()[name], sound, "{what}");
        }
    }
}

/// Whatever is changed in a shard, each inner chunk is what it was, or fill. None is in another's place.
#[test]
fn no_inner_chunk_is_in_the_place_of_another() {
    let mut random = 7u64;
    let mut next = move |below: usize| {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % below
    };
    // Its checksum tells a changed byte.
    for codec in [Some("gzip")] {
        let place = Place::new("memory");
        fill_shards(&place, codec);
        let name = "s/c/0/1";
        let sound = place.values()[name].clone();
        let (mut mended, mut kept) = (0, 0);
        for round in 0..150 {
            let mut bytes = sound.clone();
            for _ in 0..=next(2) {
                match next(9) {
                    0 => bytes.truncate(bytes.len() - next(bytes.len() / 8).min(bytes.len())),
                    1 => {
                        let (at, byte) = (next(bytes.len()), next(256) as u8);
                        bytes.insert(at, byte);
                    }
                    2 => {
                        // Entries of the index change places.
                        let index = bytes.len().saturating_sub(68);
                        let (one, other) = (index + 16 * next(4), index + 16 * next(4));
                        if other + 16 <= bytes.len() && one != other {
                            let entry = bytes[one..one + 16].to_vec();
                            bytes[one..one + 8].fill(next(256) as u8);
                            bytes[other + 8..other + 16].copy_from_slice(&entry[8..]);
                        }
                    }
                    _ => {
                        let at = next(bytes.len());
                        bytes[at] = next(256) as u8;
                    }
                }
            }
            if bytes == sound {
                continue;
            }
            let what = format!("{codec:?}, round {round}");
            place.change(|store| set(store, name, &bytes));
            if place.problems().is_empty() {
                continue;
            }
            let (numbers, _) = with_shard(&place, name, &bytes, &what);
            mended += 1;
            for (at, (is, was)) in numbers.iter().zip(shard_numbers()).enumerate() {
                let is_other = at / 8 < 4 && at % 8 >= 4;
                assert!(
                    *is == was || is_other && *is == 0,
                    "{what}: element {at} is {is}, was {was}"
                );
                kept += u64::from(is_other && *is == was);
            }
        }
        assert!(mended > 100 && kept > 800, "{mended} mended, {kept} elements kept");
    }
}

/// Only the damaged inner chunk is lost to readers.
#[test]
fn a_shard_keeps_its_sound_inner_chunks() {
    for kind in KINDS {
        let place = Place::new(kind);
        fill_shards(&place, Some("gzip"));
        let name = "s/c/0/0";
        let mut bytes = place.values()[name].clone();
        bytes[3] ^= 0xff;
        let (numbers, states) = with_shard(&place, name, &bytes, kind);
        assert_eq!(states, [StepState::Done], "{kind}");
        for (at, (is, was)) in numbers.iter().zip(shard_numbers()).enumerate() {
            let is_bad = at / 8 < 2 && at % 8 < 2;
            assert_eq!(*is, if is_bad { 0 } else { was }, "{kind}: element {at}");
        }
        assert_eq!(place.values()[&format!(".zarr-quarantine/{name}")], bytes, "{kind}");
    }
}

/// The chunks of a copy under way have no document yet, and are no orphans.
#[test]
fn a_copy_under_way_is_left_to_go_on() {
    for dialect in DIALECTS {
        for at in ["/g/new", "/g"] {
            let place = Place::new("memory");
            fill(&place, dialect);
            let plan = format!(
                r#"{{"source": {{"store": "file:///from.zarr", "path": "/x"}}, "target": {{"path": "{at}"}}}}"#
            );
            let copied = chunk(dialect, 0, 0).replace("/a/", "/new/");
            place.change(|store| {
                set(store, ".zarr-copy/0123456789abcdef/plan.json", plan.as_bytes());
                set(store, &copied, b"a chunk of the copy");
                set(store, "g/new/stray", b"that the copy will clear");
                set(store, stray(dialect), b"elsewhere");
            });
            let (report, steps) = place.repair(&RepairOptions::new().apply(true).orphans(true));
            assert!(!report.is_sound(), "{dialect} {at}");
            let values = place.values();
            assert_eq!(values[&copied], b"a chunk of the copy", "{dialect} {at}: {steps:?}");
            // Outside the place of the copy.
            let is_below = at == "/g";
            assert_eq!(values.contains_key(stray(dialect)), is_below, "{dialect} {at}: {steps:?}");
            let resume = "--resume";
            let step = steps.iter().find(|step| step.message.contains(resume)).expect("a step");
            assert_eq!(step.state, StepState::ByHand, "{dialect} {at}: {step:?}");
            assert!(step.message.contains("zarr copy file:///from.zarr/x memory://"), "{step:?}");
        }
    }
}

/// A bucket: it replaces a value on a condition, and erases without.
#[derive(Debug)]
struct Bucket(Arc<dyn SyncStore>);

impl SyncStore for Bucket {
    zarr_testkit::forward_calls!(0: name get open create erase_prefix list_prefix link flush);

    fn capabilities(&self) -> Capabilities {
        Capabilities { swap_erase: false, ..self.0.capabilities() }
    }

    fn put(
        &self,
        key: &StoreKey,
        value: Option<Payload<'_>>,
        only_if: Precondition<'_>,
    ) -> std::result::Result<bool, StoreError> {
        assert!(
            value.is_some() || !only_if.compares(),
            "{key}: no erase is asked for on a condition"
        );
        self.0.put(key, value, only_if)
    }
}

#[test]
fn a_bucket_is_repaired_with_the_guard_as_far_as_it_can_be() {
    let place = Place::new("memory");
    fill(&place, Dialect::V3);
    let group = zarr::open_rw(&place.url).expect("opened").into_group().expect("a group");
    let array = group.create_array("s").shape(&[4, 4]).chunks(&[2, 2]);
    let array = array.shards(&[4, 4]).data_type_named("int32").create().expect("created");
    array.write(.., &[7i32; 16]).expect("written");
    place.change(|store| {
        edit(store, "s/c/0/0", |bytes| {
            let end = bytes.len() - 1;
            bytes[end] ^= 1;
        });
        edit(store, document(Dialect::V3), |bytes| bytes.truncate(40));
        edit(store, &chunk(Dialect::V3, 0, 0), |bytes| bytes.truncate(4));
        set(store, stray(Dialect::V3), b"a stray");
    });
    let before = place.values();
    let open = |guard| {
        let bucket = |store: Arc<dyn Store>| from_sync(Bucket(store.to_sync()));
        repairs::options().guard(guard).wrap(bucket)
    };
    let how = RepairOptions::new().apply(true);
    let (report, steps) = place.repair_through(&open(Guard::On), &how).expect("repaired");
    let of = |state| steps.iter().filter(|step| step.state == state).count();
    assert_eq!((of(StepState::Done), of(StepState::Failed)), (3, 1), "{report:?} {steps:?}");
    assert_all_kept(&before, &place.values(), "guarded");
    // A chunk of fill is in place of the one that was cut short.
    let filled = zarr::open(&place.url).expect("opened").into_group().expect("a group");
    let filled: Vec<i32> = filled.array("g/a").expect("an array").read((..2, ..)).expect("read");
    assert_eq!(filled, [0, 0, 3, 4, 5, 6, 0, 0, 9, 10, 11, 12]);
    let (report, steps) = place.repair_through(&open(Guard::Off), &how).expect("repaired");
    assert!(report.is_sound() && report.done == 1, "{report:?} {steps:?}");
    assert_all_kept(&before, &place.values(), "without the guard");
    assert!(place.problems().is_empty(), "{:?}", place.problems());
}

/// Files of dead writers go, those of live ones stay.
#[cfg(unix)]
#[test]
fn what_dead_writers_left_is_removed() {
    let place = Place::new("folder");
    fill(&place, Dialect::V2);
    let root = std::path::Path::new(&place.url);
    let old = SystemTime::now() - Duration::from_secs(2 * 3600);
    for (name, age) in [("g/.zarr-tmp-dead", old), ("b/.zarr-tmp-live", SystemTime::now())] {
        let file = File::create(root.join(name)).expect("made");
        file.set_modified(age).expect("dated");
    }
    File::create(root.join("g/a/.zarr-lock")).expect("made");
    let held = File::create(root.join("b/.zarr-lock")).expect("made");
    held.lock().expect("locked");
    let (plan, steps) = place.repair(&RepairOptions::new());
    assert_eq!(plan.steps, 2, "{steps:?}");
    let (report, steps) = place.repair(&RepairOptions::new().apply(true));
    assert!(report.is_sound() && report.done == 2, "{report:?} {steps:?}");
    let there = |name: &str| root.join(name).exists();
    let gone = ["g/.zarr-tmp-dead", "g/a/.zarr-lock"];
    assert!(!gone.iter().any(|name| there(name)), "{steps:?}");
    assert!(there("b/.zarr-tmp-live") && there("b/.zarr-lock"));
}

/// An unfinished archive goes once no writer holds it.
#[cfg(unix)]
#[test]
fn what_a_dead_writer_left_beside_an_archive_is_removed() {
    let place = Place::new("zip");
    fill(&place, Dialect::V3);
    let part = format!("{}.zarr-part", place.url.trim_start_matches("zip://"));
    let before = place.values();
    let held = File::create(&part).expect("made");
    held.lock().expect("locked");
    assert_eq!(place.repair(&RepairOptions::new()).0.steps, 0);
    drop(held);
    assert_eq!(place.repair(&RepairOptions::new()).0.steps, 1);
    let (report, steps) = place.repair(&RepairOptions::new().apply(true));
    assert!(report.is_sound() && report.done == 1, "{report:?} {steps:?}");
    assert!(!std::path::Path::new(&part).exists());
    assert_eq!(place.values(), before);
}

/// Without the documents of the root nothing tells a chunk from a stray: nothing but documents is touched.
#[test]
fn a_broken_root_is_no_reason_to_move_all_that_is_below_it() {
    for (dialect, root) in
        [(Dialect::V3, "zarr.json"), (Dialect::V2, ".zgroup"), (Dialect::Draft, "zarr.json")]
    {
        for broken in [&b"{"[..], b"", b"[]", b"{\"zarr_format\": 9}"] {
            let place = Place::new("memory");
            fill(&place, dialect);
            place.change(|store| set(store, root, broken));
            let before = place.values();
            let (_, steps) = place.repair(&RepairOptions::new().apply(true).orphans(true));
            let after = place.values();
            for (key, value) in &before {
                let is_document = key == root || key == ".zmetadata";
                let is_there = is_document || after.get(key) == Some(value);
                assert!(is_there, "{dialect} {broken:?}: {key} moved: {steps:?}");
            }
            assert_all_kept(&before, &after, "a broken root");
        }
    }
}

/// A document that readers take, though it does not follow its dialect to the letter, and of which it is not certain what it
/// should be, stays.
#[test]
fn a_document_that_can_be_read_stays() {
    let place = Place::new("memory");
    fill(&place, Dialect::V3);
    place.change(|store| {
        edit(store, document(Dialect::V3), |bytes| {
            let text = String::from_utf8(bytes.clone()).expect("text");
            let bare = text.replacen("\"attributes\": {}", "\"attributes\": {\"n\": NaN}", 1);
            assert_ne!(bare, text);
            *bytes = bare.into_bytes();
        });
        set(store, stray(Dialect::V3), b"passed over");
    });
    let found = place.problems();
    let deviates = |problem: &zarr::tools::Problem| problem.kind == ProblemKind::DeviatingDocument;
    assert!(found.iter().any(deviates), "{found:?}");
    let before = place.values();
    let skip = [ProblemKind::StrayKey, ProblemKind::ConsolidatedDiffers];
    let how = RepairOptions::new().apply(true).skip(skip);
    let (report, steps) = place.repair(&how);
    assert_eq!((report.steps, report.left), (1, 1), "{steps:?}");
    assert_eq!(place.values(), before, "{steps:?}");
}

/// A document that is JSON, and that this library cannot use, may be one of another program: it stays.
#[test]
fn a_document_that_another_program_may_read_stays() {
    for text in [
        r#"{"zarr_format": 3, "node_type": "table"}"#,
        r#"{"zarr_format": 3, "node_type": "array", "shape": "many"}"#,
    ] {
        let place = Place::new("memory");
        fill(&place, Dialect::V3);
        zarr::open_rw(&place.url)
            .and_then(|node| node.hierarchy().remove_consolidated().map(drop))
            .expect("removed");
        place.change(|store| set(store, document(Dialect::V3), text.as_bytes()));
        let before = place.values();
        let (report, steps) = place.repair(&RepairOptions::new().apply(true));
        assert_eq!(place.values(), before, "{text}: {steps:?}");
        assert!(report.left > 0 && report.done == 0, "{text}: {steps:?}");
    }
}

/// A value that comes again after it was moved away has a copy of its own: the first may be moved back at this moment.
#[test]
fn the_same_value_is_kept_twice_if_it_was_moved_twice() {
    let place = Place::new("memory");
    fill(&place, Dialect::V3);
    for count in 1..4 {
        place.change(|store| set(store, stray(Dialect::V3), b"the same"));
        place.repair(&RepairOptions::new().level(Level::Keys).apply(true));
        let values = place.values();
        assert_eq!(values.values().filter(|value| *value == b"the same").count(), count);
        let is_record = |key: &&String| key.starts_with(".zarr-quarantine/.records/");
        assert_eq!(values.keys().filter(is_record).count(), count);
    }
}

/// Readers that look for documents in the whole store find none in the quarantine.
#[test]
fn no_document_in_the_quarantine_is_called_like_one() {
    for dialect in DIALECTS {
        let place = Place::new("memory");
        fill(&place, dialect);
        zarr::open_rw(&place.url)
            .and_then(|node| node.hierarchy().remove_consolidated().map(drop))
            .expect("removed");
        place.change(|store| set(store, document(dialect), b"{\"zarr_"));
        place.repair(&RepairOptions::new().apply(true));
        let after = place.values();
        let aside =
            |key: &&String| key.starts_with(".zarr-quarantine/") && after[*key] == b"{\"zarr_";
        let aside: Vec<&String> = after.keys().filter(aside).collect();
        let name = document(dialect).rsplit('/').next().expect("a name");
        assert!(aside.len() == 1 && !aside[0].ends_with(name), "{dialect}: {aside:?}");
        let mut nodes = zarr::open(&place.url).and_then(|node| node.into_group()?.nodes());
        let nodes = nodes.as_mut().expect("listed").iter().map(|node| node.path().to_string());
        assert!(nodes.collect::<Vec<_>>().iter().all(|path| !path.contains("quarantine")));
    }
}

/// A group whose document is lost is written back, but not where chunks are beside its nodes: it was an array then, or its nodes are not
/// where they belong.
#[test]
fn no_group_is_written_where_chunks_are() {
    for (at, chunk) in [("", "c/0"), ("g/", "g/c/0")] {
        for has_chunk in [false, true] {
            let place = Place::new("memory");
            place.with_arrays(Dialect::V3, ["g/one", "two"]);
            let lost = format!("{at}zarr.json");
            place.change(|store| {
                store.erase(&key(&lost)).expect("erased");
                if has_chunk {
                    set(store, chunk, b"chunk");
                }
            });
            let before = place.values();
            place.repair(&RepairOptions::new().apply(true));
            let after = place.values();
            assert_eq!(after.contains_key(&lost), !has_chunk, "{lost}: {:?}", after.keys());
            assert_all_kept(&before, &after, &lost);
            assert!(after.contains_key(chunk) == has_chunk, "{:?}", after.keys());
        }
    }
}

/// Where two groups have different copies of a lost document, that of the outermost is written: it is the one that readers use.
#[test]
fn of_two_copies_the_outermost_is_written() {
    for dialect in [Dialect::V2, Dialect::V3] {
        let place = Place::new("memory");
        let names = place.with_arrays(dialect, ["g/one", "g/two"]);
        let open = zarr::open_rw(&place.url).expect("opened").into_group().expect("a group");
        open.hierarchy().consolidate().expect("consolidated");
        open.group("g").expect("a group").consolidate().expect("consolidated");
        let inner = if dialect == Dialect::V2 { "g/.zmetadata" } else { "g/zarr.json" };
        let original = place.values()[&names[0]].clone();
        place.change(|store| {
            edit(store, inner, |bytes| {
                let text = String::from_utf8(bytes.clone()).expect("text");
                let start = text.find("one").expect("a copy");
                let (head, tail) = text.split_at(start);
                let tail = tail.replacen("[4]", "[8]", 1).replacen("[\n", "[", 1);
                *bytes = format!("{head}{tail}").into_bytes();
            });
            store.erase(&key(&names[0])).expect("erased");
        });
        place.repair(&RepairOptions::new().apply(true));
        let written = String::from_utf8(place.values()[&names[0]].clone()).expect("text");
        let shape = |text: &str| {
            let rest = &text[text.find("\"shape\"").expect("a shape")..];
            rest.split(['[', ']']).nth(1).expect("a list").trim().to_owned()
        };
        let original = String::from_utf8(original).expect("text");
        assert_eq!(shape(&written), shape(&original), "{dialect:?}: {written}");
    }
}

/// Consolidated metadata that are made again are kept first.
#[test]
fn copies_that_are_made_again_are_kept() {
    for (dialect, holder) in [(Dialect::V3, "zarr.json"), (Dialect::V2, ".zmetadata")] {
        let place = Place::new("memory");
        fill(&place, dialect);
        place.change(|store| {
            edit(store, document(dialect), |bytes| {
                let text = String::from_utf8(bytes.clone()).expect("text");
                let at = text.find("\"shape\"").expect("a shape");
                let end = at + text[at..].find('6').expect("a length");
                bytes[end] = b'5';
            });
        });
        let before = place.values()[holder].clone();
        let (_, steps) = place.repair(&RepairOptions::new().apply(true));
        let after = place.values();
        assert_ne!(after[holder], before, "{steps:?}");
        let kept = after.iter().any(|(name, value)| {
            name.starts_with(".zarr-quarantine/") && value.as_slice() == before
        });
        assert!(kept, "{dialect:?}: {steps:?} {:?}", after.keys());
    }
}
