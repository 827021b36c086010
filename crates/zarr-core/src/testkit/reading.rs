//! Checks that parts of values are right, and that a pinned value stays the one that it was (F-111, decision 0108).

use std::sync::Arc;

use super::store::{key, ok};
use crate::error::StoreError;
use crate::store::{
    ByteRange, ConditionalStore, Payload, Pinned, ReadableStore, Store, StoreKey, aio, wait,
};

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

/// The sets of ranges that are asked for at once: each alone, as a shard's index is, those of one kind, and all.
fn calls(size: u64) -> Vec<Vec<ByteRange>> {
    let all = inside(size);
    let of_one_kind = |is: fn(&ByteRange) -> bool| all.iter().copied().filter(is).collect();
    let mut calls: Vec<Vec<ByteRange>> = all.iter().map(|&range| vec![range]).collect();
    calls.push(of_one_kind(|range| matches!(range, ByteRange::Bounded { .. })));
    calls.push(of_one_kind(|range| matches!(range, ByteRange::Suffix(_))));
    calls.push(all.iter().rev().copied().collect());
    calls.push(all);
    calls.push(vec![]);
    calls
}

/// That these parts are what the ranges mean in the value.
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

/// That parts of a value are read right, by every call that reads some.
#[track_caller]
pub(super) fn check_ranges(store: &dyn ReadableStore, key: &StoreKey, value: &[u8]) {
    let size = value.len() as u64;
    for ranges in calls(size) {
        let parts = ok(store.get_partial_values(key, &ranges), "get_partial_values");
        let parts = parts.unwrap_or_else(|| panic!("get_partial_values: `{key}` is there"));
        are(&parts, &ranges, value, "get_partial_values", key);
    }
    for range in outside(size) {
        for ranges in [&[range][..], &[ByteRange::ALL, range], &[range, bounded(0, 0)]] {
            assert!(
                is_range(&store.get_partial_values(key, ranges)),
                "{range} leaves `{key}`, which has {size} bytes, and must be an error (F-111)",
            );
        }
    }
    let pinned = ok(store.pin(key), "pin").unwrap_or_else(|| panic!("pin: `{key}` is there"));
    are(&ok(pinned.read(&[]), "read"), &[], value, "pin", key);
    assert_eq!(
        pinned.size(),
        size,
        "pin: the size of `{key}`, once it was read, be it of no ranges"
    );
    check_pinned(&*pinned, key, value, "pin");
    // The first reading may be another request than those that follow.
    for ranges in calls(size) {
        let pinned = ok(store.pin(key), "pin").unwrap_or_else(|| panic!("pin: `{key}` is there"));
        are(&ok(pinned.read(&ranges), "read"), &ranges, value, "pin", key);
    }
    let Some(version) = pinned.version() else { return };
    let again = ok(store.pin_as(key, &version), "pin_as");
    let again = again.unwrap_or_else(|| panic!("pin_as: `{key}` still is what it was"));
    check_pinned(&*again, key, value, "pin_as");
    assert!(
        again.version().as_ref() == Some(&version),
        "pin_as of `{key}`: the version is the one that was asked for",
    );
}

/// That an absent key has no parts, and cannot be pinned.
#[track_caller]
pub(super) fn check_absent(store: &dyn ReadableStore, key: &StoreKey) {
    for range in [ByteRange::ALL, ByteRange::Suffix(3), bounded(0, 1), bounded(0, 0)] {
        let parts = ok(store.get_partial_values(key, &[range]), "get_partial_values");
        assert!(parts.is_none(), "a range of an absent key is absent");
    }
    assert!(ok(store.pin(key), "pin").is_none(), "pin: `{key}` is absent");
}

/// That a pinned value is read right.
#[track_caller]
fn check_pinned(pinned: &dyn Pinned, key: &StoreKey, value: &[u8], call: &str) {
    let size = value.len() as u64;
    for ranges in calls(size) {
        are(&ok(pinned.read(&ranges), "read"), &ranges, value, call, key);
    }
    assert_eq!(pinned.size(), size, "{call}: the size of `{key}`, once it was read");
    for range in inside(size) {
        let mut buf = b"what an earlier value left behind".to_vec();
        ok(pinned.read_into(range, &mut buf), "read_into");
        are(&[&buf], &[range], value, &format!("{call}, read_into"), key);
    }
    for range in outside(size) {
        assert!(
            is_range(&pinned.read(&[range])) && is_range(&pinned.read_into(range, &mut Vec::new())),
            "{call}: {range} leaves `{key}`, which has {size} bytes, and must be an error (F-111)",
        );
    }
}

const ONE: &[u8] = b"the first value, of a certain length";
const TWO: &[u8] = b"THE SECOND VALUE, OF THE SAME LENGTH";
const END: ByteRange = ByteRange::Suffix(6);

/// That a pinned value is the old one, or is known to be gone.
#[track_caller]
fn is_old_or_gone(read: Result<Vec<bytes::Bytes>, StoreError>, what: &str) {
    match read {
        Err(StoreError::Changed { .. }) => {}
        Err(e) => panic!("{what}: a value that was replaced is read, or has changed, but: {e}"),
        Ok(parts) => assert!(
            parts.concat() == ONE[ONE.len() - 6..],
            "{what}: what was pinned is never another value",
        ),
    }
}

/// That a pinned value stays what it was while others set the key, and that no value passes for another.
pub(super) fn check_pins(store: &dyn Store) {
    let key = key("pinned/value");
    let readable = store.readable().expect("the store is readable");
    let writeable = store.writeable().expect("the store is writeable");
    let set = |value: &'static [u8]| ok(writeable.set(&key, Payload::new(value)), "set");
    let pin = || ok(readable.pin(&key), "pin").expect("pin: the key is there");
    assert!(ok(readable.pin(&key), "pin").is_none(), "pin: an absent key cannot be pinned");
    for change in ["set", "erase"] {
        set(ONE);
        let (unread, begun) = (pin(), pin());
        ok(begun.read(&[bounded(0, 3)]), "read");
        let version = begun.version();
        match change {
            "set" => set(TWO),
            _ => ok(writeable.erase(&key), "erase"),
        }
        is_old_or_gone(unread.read(&[END]), "pin");
        is_old_or_gone(begun.read(&[END]), "pin");
        let mut buf = Vec::new();
        let read = begun.read_into(END, &mut buf);
        is_old_or_gone(read.map(|()| vec![buf.into()]), "pin, read_into");
        if let Some(version) = &version {
            match readable.pin_as(&key, version) {
                Ok(None) | Err(StoreError::Changed { .. }) => {}
                Ok(Some(value)) => is_old_or_gone(value.read(&[END]), "pin_as"),
                Err(e) => panic!("pin_as of a value that was replaced must not fail, but: {e}"),
            }
        }
        if change == "set" {
            check_ranges(readable, &key, TWO);
            assert!(
                version.is_none() || pin().version() != version,
                "another value of the same length has another version",
            );
        }
    }
    if let Some(conditional) = store.conditional() {
        check_versioned(store, conditional);
    }
}

/// That `pin_versioned` gives a value and the version of that very value.
fn check_versioned(store: &dyn Store, conditional: &dyn ConditionalStore) {
    let key = key("pinned/swapped");
    let writeable = store.writeable().expect("the store is writeable");
    let set = |value: &'static [u8]| ok(writeable.set(&key, Payload::new(value)), "set");
    let pin = || ok(conditional.pin_versioned(&key, u64::MAX), "pin_versioned");
    let swap = |value: &'static [u8], was| {
        ok(conditional.set_if(&key, Some(Payload::new(value)), Some(was)), "set_if")
    };
    assert!(pin().is_none(), "pin_versioned: an absent key cannot be pinned");
    set(ONE);
    let (value, version) = pin().expect("pin_versioned: the key is there");
    check_pinned(&*value, &key, ONE, "pin_versioned");
    set(TWO);
    is_old_or_gone(value.read(&[END]), "pin_versioned");
    assert!(
        !swap(ONE, &version),
        "pin_versioned: the version is that of the value, not of a later one"
    );
    let (value, version) = pin().expect("pin_versioned: the key is there");
    check_pinned(&*value, &key, TWO, "pin_versioned");
    assert!(
        swap(ONE, &version),
        "pin_versioned: set_if knows the version while the value is there"
    );
    let (value, _) = pin().expect("pin_versioned: the key is there");
    check_pinned(&*value, &key, ONE, "pin_versioned");
}

/// Checks what async stores alone have: `pin_for`, whose first ranges may come with the first request.
pub(super) fn check_pin_for(store: &dyn aio::ReadableStore, key: &StoreKey, value: &[u8]) {
    let size = value.len() as u64;
    let pin = |first: &[ByteRange]| -> Arc<dyn Pinned> {
        let pinned = ok(wait(store.pin_for(key, first)), "pin_for");
        let pinned = pinned.unwrap_or_else(|| panic!("pin_for: `{key}` is there"));
        Arc::<dyn aio::Pinned>::from(pinned).into_blocking()
    };
    for first in calls(size) {
        let pinned = pin(&first);
        are(&ok(pinned.read(&first), "pin_for: read"), &first, value, "pin_for", key);
        // What came along is not what is asked for.
        let other = [bounded(size / 2, size / 4), ByteRange::Suffix(size / 5)];
        are(&ok(pin(&first).read(&other), "pin_for: read"), &other, value, "pin_for", key);
    }
    for first in [&[][..], &[ByteRange::Suffix(size / 3)], &[bounded(size / 4, size / 2)]] {
        check_pinned(&*pin(first), key, value, "pin_for");
    }
    for range in outside(size) {
        assert!(
            is_range(&pin(&[range]).read(&[range])),
            "pin_for: {range} leaves `{key}`, which has {size} bytes, and its reading must be an error (F-111)",
        );
        are(&ok(pin(&[range]).read(&[END]), "pin_for: read"), &[END], value, "pin_for", key);
    }
}

/// That `pin_for` finds nothing of an absent key.
pub(super) fn check_pin_for_absent(store: &dyn aio::ReadableStore, key: &StoreKey) {
    for first in [&[][..], &[ByteRange::ALL], &[ByteRange::Suffix(3)], &[bounded(0, 1)]] {
        let pinned = ok(wait(store.pin_for(key, first)), "pin_for");
        assert!(pinned.is_none(), "pin_for: `{key}` is absent");
    }
}

/// That a value which `pin_for` pinned stays what it was.
pub(super) fn check_async_pins(store: &dyn aio::Store) {
    let key = key("pinned/ahead");
    let readable = store.readable().expect("the store is readable");
    let writeable = store.writeable().expect("the store is writeable");
    let set = |value: &'static [u8]| ok(wait(writeable.set(&key, Payload::new(value))), "set");
    check_pin_for_absent(readable, &key);
    for first in [&[][..], &[ByteRange::ALL], &[ByteRange::Suffix(3)], &[bounded(0, 1)]] {
        set(ONE);
        let pinned = ok(wait(readable.pin_for(&key, first)), "pin_for");
        let pinned = pinned.expect("pin_for: the key is there");
        set(TWO);
        is_old_or_gone(wait(pinned.read(&[END])), "pin_for");
        check_pin_for(readable, &key, TWO);
    }
}
