//! Checks that parts of values are right, and that a snapshot does not change (F-111).

use std::sync::Arc;

use super::store::{key, ok};
use zarr_core::StoreError;
use zarr_core::runtime::block_on;
use zarr_core::store::{
    ByteRange, Payload, Precondition, Snapshot, SnapshotOptions, Store, StoreKey, SyncSnapshot,
    SyncStore, Version,
};

type Opened = Option<Box<dyn SyncSnapshot>>;

fn open(store: &dyn SyncStore, key: &StoreKey) -> Result<Opened, StoreError> {
    store.open(key, SnapshotOptions::default())
}

fn open_version(
    store: &dyn SyncStore,
    key: &StoreKey,
    version: &Version,
) -> Result<Opened, StoreError> {
    store.open(key, SnapshotOptions::expect(version))
}

fn bounded(start: u64, len: u64) -> ByteRange {
    ByteRange::Bounded { start, len }
}

/// Ranges inside a value of this size.
fn inside(size: u64) -> Vec<ByteRange> {
    vec![
        ByteRange::ALL,
        ByteRange::From(size),
        ByteRange::From(size / 2),
        ByteRange::Suffix(0),
        ByteRange::Suffix(size / 3),
        ByteRange::Suffix(size),
        ByteRange::Suffix(size + 50),
        ByteRange::Suffix(u64::MAX),
        bounded(0, 0),
        bounded(size, 0),
        bounded(size / 4, size / 2),
        bounded(size / 4, size / 2),
        bounded(size - size / 3, size / 3),
        bounded(0, size / 3),
        bounded(0, size),
    ]
}

/// Ranges that leave a value of this size.
fn outside(size: u64) -> [ByteRange; 4] {
    [ByteRange::From(size + 1), bounded(size, 1), bounded(0, size + 1), bounded(u64::MAX, u64::MAX)]
}

/// The sets of ranges that are requested in one call: each range, as for a shard's index, those of one kind, and all.
fn calls(size: u64) -> Vec<Vec<ByteRange>> {
    let all = inside(size);
    let mut calls: Vec<Vec<ByteRange>> = all.iter().map(|&range| vec![range]).collect();
    calls.push(of_one_kind(&all, |range| matches!(range, ByteRange::Bounded { .. })));
    calls.push(of_one_kind(&all, |range| matches!(range, ByteRange::Suffix(_))));
    calls.push(all.iter().rev().copied().collect());
    calls.push(all);
    calls.push(vec![]);
    calls
}

/// The ranges for which the function is true.
fn of_one_kind(ranges: &[ByteRange], is_of_kind: fn(&ByteRange) -> bool) -> Vec<ByteRange> {
    ranges.iter().copied().filter(is_of_kind).collect()
}

/// Checks that these parts are the ranges of the value.
#[track_caller]
fn are(parts: &[impl AsRef<[u8]>], ranges: &[ByteRange], value: &[u8], call: &str, key: &StoreKey) {
    let size = value.len() as u64;
    assert_eq!(parts.len(), ranges.len(), "{call} gives one part for each range of `{key}`");
    for (part, range) in parts.iter().zip(ranges) {
        let due = range.within(size).expect("the kit's ranges lie inside the value");
        let due = &value[due.start as usize..due.end as usize];
        assert!(
            part.as_ref() == due,
            "{call}: {range} of `{key}`, which has {size} bytes, must be {} bytes as the value has them (F-111), and are {} bytes, or others",
            due.len(),
            part.as_ref().len(),
        );
    }
}

fn is_range<T>(result: &Result<T, StoreError>) -> bool {
    matches!(result, Err(StoreError::Range { .. }))
}

/// Checks every call that reads parts of a value.
#[track_caller]
pub(super) fn check_ranges(store: &dyn SyncStore, key: &StoreKey, value: &[u8]) {
    let size = value.len() as u64;
    for ranges in calls(size) {
        are(
            &ok(open_and_read(store, key, &ranges), "open for ranges"),
            &ranges,
            value,
            "open for ranges",
            key,
        );
    }
    for range in outside(size) {
        for ranges in [&[range][..], &[ByteRange::ALL, range], &[range, bounded(0, 0)]] {
            assert!(
                is_range(&open_and_read(store, key, ranges)),
                "{range} leaves `{key}`, which has {size} bytes, and must be an error (F-111)",
            );
        }
    }
    let opened = ok(open(store, key), "open").unwrap_or_else(|| panic!("open: `{key}` is there"));
    are(&ok(opened.read(&[]), "read"), &[], value, "open", key);
    assert_eq!(
        opened.size(),
        size,
        "open: the size of `{key}`, once it was read, be it of no ranges"
    );
    check_snapshot(&*opened, key, value, "open");
    // The first reading may be another request than the next ones.
    for ranges in calls(size) {
        let opened =
            ok(open(store, key), "open").unwrap_or_else(|| panic!("open: `{key}` is there"));
        are(&ok(opened.read(&ranges), "read"), &ranges, value, "open", key);
    }
    let Some(version) = opened.version() else { return };
    let again = ok(open_version(store, key, &version), "open of a version");
    let again = again.unwrap_or_else(|| panic!("open of a version: `{key}` still is what it was"));
    check_snapshot(&*again, key, value, "open of a version");
    assert!(
        again.version().as_ref() == Some(&version),
        "open of a version of `{key}`: the version is the one that was asked for",
    );
    assert!(
        ok(store.is_unchanged(key, &version), "is_unchanged"),
        "is_unchanged: `{key}` still is what it was"
    );
}

/// Opens a value for these ranges, and reads them.
fn open_and_read(
    store: &dyn SyncStore,
    key: &StoreKey,
    ranges: &[ByteRange],
) -> Result<Vec<bytes::Bytes>, StoreError> {
    let opened = ok(store.open(key, SnapshotOptions::first(ranges)), "open for ranges");
    opened.unwrap_or_else(|| panic!("open for ranges: `{key}` is there")).read(ranges)
}

/// Checks that an absent key has no parts, and cannot be opened.
#[track_caller]
pub(super) fn check_absent(store: &dyn SyncStore, key: &StoreKey) {
    for range in [ByteRange::ALL, ByteRange::Suffix(3), bounded(0, 1), bounded(0, 0)] {
        let opened = ok(store.open(key, SnapshotOptions::first(&[range])), "open for ranges");
        assert!(opened.is_none(), "a range of an absent key is absent");
    }
    assert!(ok(open(store, key), "open").is_none(), "open: `{key}` is absent");
}

/// Checks all readings of a snapshot.
#[track_caller]
fn check_snapshot(opened: &dyn SyncSnapshot, key: &StoreKey, value: &[u8], call: &str) {
    let size = value.len() as u64;
    for ranges in calls(size) {
        are(&ok(opened.read(&ranges), "read"), &ranges, value, call, key);
    }
    assert_eq!(opened.size(), size, "{call}: the size of `{key}`, once it was read");
    for range in inside(size) {
        let mut buf = b"what an earlier value left behind".to_vec();
        ok(opened.read_into(range, &mut buf), "read_into");
        are(&[&buf], &[range], value, &format!("{call}, read_into"), key);
    }
    for range in outside(size) {
        assert!(
            is_range(&opened.read(&[range])) && is_range(&opened.read_into(range, &mut Vec::new())),
            "{call}: {range} leaves `{key}`, which has {size} bytes, and must be an error (F-111)",
        );
    }
}

const ONE: &[u8] = b"the first value, of a certain length";
const TWO: &[u8] = b"THE SECOND VALUE, OF THE SAME LENGTH";
const END: ByteRange = ByteRange::Suffix(6);

/// Checks that a snapshot has the old value, or fails with [`StoreError::Changed`].
#[track_caller]
fn is_old_or_gone(read: Result<Vec<bytes::Bytes>, StoreError>, what: &str) {
    match read {
        Err(StoreError::Changed { .. }) => {}
        Err(e) => panic!("{what}: a value that was replaced is read, or has changed, but: {e}"),
        Ok(parts) => assert!(
            parts.concat() == ONE[ONE.len() - 6..],
            "{what}: a snapshot is never of another value",
        ),
    }
}

/// Checks that a snapshot does not change while others set the key, and that versions differ.
pub(super) fn check_snapshots(store: &dyn SyncStore) {
    let key = key("pinned/value");
    assert!(ok(open(store, &key), "open").is_none(), "open: an absent key cannot be opened");
    for change in ["set", "erase"] {
        set(store, &key, ONE);
        let (unread, begun) = (opened(store, &key), opened(store, &key));
        ok(begun.read(&[bounded(0, 3)]), "read");
        let version = begun.version();
        match change {
            "set" => set(store, &key, TWO),
            _ => ok(store.erase(&key), "erase"),
        }
        is_old_or_gone(unread.read(&[END]), "open");
        is_old_or_gone(begun.read(&[END]), "open");
        let mut buf = Vec::new();
        let read = begun.read_into(END, &mut buf);
        is_old_or_gone(read.map(|()| vec![buf.into()]), "open, read_into");
        if let Some(version) = &version {
            match open_version(store, &key, version) {
                Ok(None) | Err(StoreError::Changed { .. }) => {}
                Ok(Some(value)) => is_old_or_gone(value.read(&[END]), "open of a version"),
                Err(e) => {
                    panic!("open of a version of a value that was replaced must not fail, but: {e}")
                }
            }
            assert!(
                !ok(store.is_unchanged(&key, version), "is_unchanged"),
                "is_unchanged: `{key}` was replaced"
            );
        }
        if change == "set" {
            check_ranges(store, &key, TWO);
            assert!(
                version.is_none() || opened(store, &key).version() != version,
                "another value of the same length has another version",
            );
        }
    }
    if store.capabilities().swap {
        check_versioned(store);
    }
}

/// Sets a value.
fn set(store: &dyn SyncStore, key: &StoreKey, value: &'static [u8]) {
    ok(store.set(key, Payload::new(value)), "set");
}

/// Opens a value that is there.
fn opened(store: &dyn SyncStore, key: &StoreKey) -> Box<dyn SyncSnapshot> {
    ok(open(store, key), "open").expect("open: the key is there")
}

/// Checks that a value opened for an update has its own version.
fn check_versioned(store: &dyn SyncStore) {
    let key = key("pinned/swapped");
    assert!(
        open_for_update(store, &key).is_none(),
        "open for an update: an absent key cannot be opened"
    );
    set(store, &key, ONE);
    let (value, version) =
        open_for_update(store, &key).expect("open for an update: the key is there");
    check_snapshot(&*value, &key, ONE, "open for an update");
    set(store, &key, TWO);
    is_old_or_gone(value.read(&[END]), "open for an update");
    assert!(
        !swap(store, &key, ONE, &version),
        "open for an update: the version is that of the value, not of a later one"
    );
    let (value, version) =
        open_for_update(store, &key).expect("open for an update: the key is there");
    check_snapshot(&*value, &key, TWO, "open for an update");
    assert!(
        swap(store, &key, ONE, &version),
        "open for an update: put accepts the version while the snapshot exists"
    );
    let (value, _) = open_for_update(store, &key).expect("open for an update: the key is there");
    check_snapshot(&*value, &key, ONE, "open for an update");
}

/// Opens a value with its version.
fn open_for_update(
    store: &dyn SyncStore,
    key: &StoreKey,
) -> Option<(Box<dyn SyncSnapshot>, Version)> {
    let opened = ok(store.open(key, SnapshotOptions::for_update()), "open for an update")?;
    let version = opened.version().expect("open for an update: it has a version");
    Some((opened, version))
}

/// Sets a value if the present one has a version still.
fn swap(store: &dyn SyncStore, key: &StoreKey, value: &'static [u8], was: &Version) -> bool {
    ok(store.put(key, Some(Payload::new(value)), Precondition::Version(was)), "set_if")
}

/// Checks `open` of an async store, which may fetch the first ranges with its first request.
pub(super) fn check_open_ahead(store: &dyn Store, key: &StoreKey, value: &[u8]) {
    let size = value.len() as u64;
    for first in calls(size) {
        let opened = open_ahead(store, key, &first);
        are(&ok(opened.read(&first), "open ahead: read"), &first, value, "open ahead", key);
        // Ranges other than those that were fetched first.
        let other = [bounded(size / 2, size / 4), ByteRange::Suffix(size / 5)];
        are(
            &ok(open_ahead(store, key, &first).read(&other), "open ahead: read"),
            &other,
            value,
            "open ahead",
            key,
        );
    }
    for first in [&[][..], &[ByteRange::Suffix(size / 3)], &[bounded(size / 4, size / 2)]] {
        check_snapshot(&*open_ahead(store, key, first), key, value, "open ahead");
    }
    for range in outside(size) {
        assert!(
            is_range(&open_ahead(store, key, &[range]).read(&[range])),
            "open ahead: {range} leaves `{key}`, which has {size} bytes, and its reading must be an error (F-111)",
        );
        are(
            &ok(open_ahead(store, key, &[range]).read(&[END]), "open ahead: read"),
            &[END],
            value,
            "open ahead",
            key,
        );
    }
}

/// Opens a value of which some ranges are read at once.
fn open_ahead(store: &dyn Store, key: &StoreKey, first: &[ByteRange]) -> Arc<dyn SyncSnapshot> {
    let opened = ok(block_on(store.open(key, SnapshotOptions::first(first))), "open ahead");
    let opened = opened.unwrap_or_else(|| panic!("open ahead: `{key}` is there"));
    Arc::<dyn Snapshot>::from(opened).blocking_on()
}

/// Checks that `open` with ranges does not find an absent key.
pub(super) fn check_open_ahead_absent(store: &dyn Store, key: &StoreKey) {
    for first in [&[][..], &[ByteRange::ALL], &[ByteRange::Suffix(3)], &[bounded(0, 1)]] {
        let opened = ok(block_on(store.open(key, SnapshotOptions::first(first))), "open ahead");
        assert!(opened.is_none(), "open ahead: `{key}` is absent");
    }
}

/// Checks that a value which was opened with ranges does not change.
pub(super) fn check_async_snapshots(store: &dyn Store) {
    let key = key("pinned/ahead");
    check_open_ahead_absent(store, &key);
    for first in [&[][..], &[ByteRange::ALL], &[ByteRange::Suffix(3)], &[bounded(0, 1)]] {
        put(store, &key, ONE);
        let opened = ok(block_on(store.open(&key, SnapshotOptions::first(first))), "open ahead");
        let opened = opened.expect("open ahead: the key is there");
        put(store, &key, TWO);
        is_old_or_gone(block_on(opened.read(&[END])), "open ahead");
        check_open_ahead(store, &key, TWO);
    }
}

/// Sets a value of an asynchronous store.
fn put(store: &dyn Store, key: &StoreKey, value: &'static [u8]) {
    let put = store.put(key, Some(Payload::new(value)), Precondition::Always);
    assert!(ok(block_on(put), "put"), "a put without a condition is done");
}
